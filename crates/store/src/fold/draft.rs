//! One request as far as it is known.

use std::sync::Arc;

use steadfast_core::kind::FailureKind;
use steadfast_core::record::{Event, Place, Record};

use crate::rollup::Share;

/// Lines of one request that are kept; a request has a limit of attempts, this one is for what no limit foresaw.
const RECORDS_BYTES_MAX: usize = 256 * 1024;

/// Where a record names no project.
const DEFAULT_PROJECT: &str = "default";

/// A request that is being gathered, or was.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) id: i64,
    pub(crate) request: Arc<str>,
    pub(crate) started: i64,
    pub(crate) ended: Option<i64>,
    /// The moment of the last record.
    pub(crate) last: i64,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) project: Arc<str>,
    pub(crate) client: Option<Arc<str>>,
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) pattern: Option<Arc<str>>,
    /// The model that was asked for.
    pub(crate) model: Option<Arc<str>>,
    /// Who served.
    pub(crate) served: Option<Place>,
    pub(crate) outcome: Option<String>,
    pub(crate) attempts: u32,
    /// Attempts at another model than the one asked for, climbs aside.
    pub(crate) fallbacks: u32,
    pub(crate) restarts: u32,
    pub(crate) failures: Vec<Failed>,
    /// Each target the request went to.
    pub(crate) visits: Vec<Visit>,
    pub(crate) latency_ms: Option<u64>,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) usd_micros: u64,
    pub(crate) failed_usd_micros: u64,
    pub(crate) events: u32,
    /// The lines of the log, one after the other.
    pub(crate) records: String,
    /// When the first record was taken.
    pub(crate) seen_at: i64,
    /// When what was known was last handed out to be written.
    pub(crate) written_at: Option<i64>,
    /// There is something new since.
    pub(crate) is_changed: bool,
    /// How many of `failures` have been handed out.
    pub(crate) failures_written: usize,
    /// What of it is in the roll-ups already.
    pub(crate) counted: Option<Box<Share>>,
}

/// An attempt that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) time: i64,
    pub(crate) kind: FailureKind,
    pub(crate) place: Option<Place>,
    pub(crate) message: Option<Arc<str>>,
    pub(crate) usd_micros: u64,
}

/// What happened at one target.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) place: Place,
    pub(crate) attempts: u32,
    pub(crate) failures: u32,
    pub(crate) served: bool,
    pub(crate) latency_ms: u64,
    pub(crate) usd_micros: u64,
    pub(crate) failed_usd_micros: u64,
}

impl Draft {
    pub(crate) fn new(id: i64, first: &Record, now: i64) -> Self {
        let time = first.time.as_millis();
        Self {
            id,
            request: Arc::clone(&first.request),
            started: time,
            ended: None,
            last: time,
            session: None,
            project: DEFAULT_PROJECT.into(),
            client: None,
            agent: None,
            pattern: None,
            model: None,
            served: None,
            outcome: None,
            attempts: 0,
            fallbacks: 0,
            restarts: 0,
            failures: Vec::new(),
            visits: Vec::new(),
            latency_ms: None,
            input_tokens: 0,
            output_tokens: 0,
            usd_micros: 0,
            failed_usd_micros: 0,
            events: 0,
            records: String::new(),
            seen_at: now,
            written_at: None,
            is_changed: true,
            failures_written: 0,
            counted: None,
        }
    }

    /// Learns from a record and keeps its line.
    pub(crate) fn take(&mut self, record: &Record) {
        self.keep(record);
        // On each of them: the first one may have been lost.
        if let Some(project) = &record.project {
            self.project = Arc::clone(project);
        }
        if self.session.is_none() {
            self.session.clone_from(&record.session);
        }
        match record.event {
            Event::Start => self.start(record),
            Event::Attempt => self.attempt(record),
            Event::Decision => self.decided(record),
            Event::Success => self.succeeded(record),
            Event::Outcome => {
                self.ended = Some(record.time.as_millis());
                self.outcome = Some(record.outcome.as_deref().unwrap_or("gave_up").to_owned());
                self.latency_ms = record.latency_ms;
                // Of an attempt that was cut short because its client left.
                self.usd_micros += record.usd_micros.unwrap_or(0);
            }
            Event::Breaker | Event::Alert | Event::Escalation => {}
        }
        if let Some(usage) = record.usage {
            self.input_tokens += usage.input_tokens;
            self.output_tokens += usage.output_tokens;
        }
    }

    /// Keeps a line.
    pub(crate) fn keep(&mut self, record: &Record) {
        self.events += 1;
        self.is_changed = true;
        self.last = self.last.max(record.time.as_millis());
        if self.records.len() > RECORDS_BYTES_MAX {
            return;
        }
        let mut line = std::mem::take(&mut self.records).into_bytes();
        record.write_line(&mut line);
        self.records = String::from_utf8(line).unwrap_or_default();
    }

    /// What is known at the moment, to be written; the rest is written when more is known.
    pub(crate) fn snapshot(&mut self, now: i64) -> Self {
        let snapshot = self.clone();
        self.written_at = Some(now);
        self.is_changed = false;
        self.failures_written = self.failures.len();
        self.counted = Some(Box::new(Share::of(self)));
        snapshot
    }

    /// How the last failed attempt failed.
    pub(crate) fn kind(&self) -> Option<FailureKind> {
        self.failures.last().map(|failed| failed.kind)
    }

    /// Says whether the request was served in the end.
    pub(crate) fn is_served(&self) -> bool {
        self.outcome.as_deref() == Some("succeeded")
    }

    fn start(&mut self, record: &Record) {
        self.client.clone_from(&record.client);
        self.agent.clone_from(&record.agent);
        self.pattern.clone_from(&record.pattern);
        self.model = record.chain.first().map(|place| Arc::clone(&place.model));
    }

    fn attempt(&mut self, record: &Record) {
        self.attempts += 1;
        let Some(place) = &record.target else { return };
        let asked = self.model.get_or_insert_with(|| Arc::clone(&place.model));
        if *asked != place.model && record.choice.as_deref() != Some("escalation") {
            self.fallbacks += 1;
        }
        self.visit(place).attempts += 1;
    }

    fn decided(&mut self, record: &Record) {
        if record.step.as_deref() == Some("restart") {
            self.restarts += 1;
        }
        // A decision without a rule looks again at an empty allowance: nothing failed anew.
        let (Some(kind), true) = (record.kind, record.rule.is_some()) else { return };
        let usd_micros = record.usd_micros.unwrap_or(0);
        self.failed_usd_micros += usd_micros;
        self.usd_micros += usd_micros;
        if let Some(place) = &record.from {
            let visit = self.visit(place);
            visit.failures += 1;
            visit.usd_micros += usd_micros;
            visit.failed_usd_micros += usd_micros;
        }
        self.failures.push(Failed {
            time: record.time.as_millis(),
            kind,
            place: record.from.clone(),
            message: record.message.clone(),
            usd_micros,
        });
    }

    fn succeeded(&mut self, record: &Record) {
        let usd_micros = record.usd_micros.unwrap_or(0);
        self.usd_micros += usd_micros;
        let Some(place) = &record.target else { return };
        self.served = Some(place.clone());
        let visit = self.visit(place);
        visit.served = true;
        visit.usd_micros += usd_micros;
        visit.latency_ms += record.latency_ms.unwrap_or(0);
    }

    fn visit(&mut self, place: &Place) -> &mut Visit {
        let at = self.visits.iter().position(|visit| visit.place == *place).unwrap_or_else(|| {
            self.visits.push(Visit {
                place: place.clone(),
                attempts: 0,
                failures: 0,
                served: false,
                latency_ms: 0,
                usd_micros: 0,
                failed_usd_micros: 0,
            });
            self.visits.len() - 1
        });
        &mut self.visits[at]
    }
}
