//! The decision log of a run, in the same lines the gateway writes.

use std::borrow::Cow;
use std::sync::Arc;

use steadfast_core::decision::{Decision, Target};
use steadfast_core::policy::Policy;
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::recovery::Outcome;
use steadfast_core::route::Route;
use steadfast_core::world::{Project, World};
use steadfast_core::{Failure, Instant, Timestamp};

use crate::op::{Op, Running};

/// Lines of JSON, kept in memory.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) lines: Vec<u8>,
    /// Only this request, where one is asked for.
    only: Option<u64>,
}

/// What names the things in a line.
pub(crate) struct Names<'a> {
    pub(crate) route: &'a Route,
    pub(crate) world: &'a World,
}

impl Log {
    pub(crate) fn new(only: Option<u64>) -> Self {
        Self { lines: Vec::new(), only }
    }

    pub(crate) fn start(&mut self, op: &Op, names: &Names<'_>, policy: &Policy, project: &Project, now: Instant) {
        let models = names.route.chain().iter().enumerate();
        let chain = models.flat_map(|(position, model)| {
            let targets = model.endpoints.iter().enumerate();
            targets.map(move |(served, at)| Target {
                model: position as u8,
                served: served as u8,
                endpoint: at.endpoint,
            })
        });
        let record = Record {
            session: Some(format!("s{}", op.session_id).into()),
            project: Some(Arc::clone(&project.name)),
            policy: Some(policy.name.as_str().into()),
            chain: chain.filter_map(|target| names.place(target)).collect(),
            attempts_max: Some(policy.attempts_max),
            ..line(op, Event::Start, now)
        };
        self.write(op, &record);
    }

    pub(crate) fn attempt(&mut self, op: &Op, running: &Running, names: &Names<'_>, now: Instant) {
        let record = Record {
            attempt: Some(op.attempts_in_run),
            target: names.place(running.target),
            choice: Some(Cow::Borrowed(running.choice.name())),
            ..line(op, Event::Attempt, now)
        };
        self.write(op, &record);
    }

    pub(crate) fn decision(
        &mut self,
        op: &Op,
        failed: Option<(&Failure, &Running)>,
        decision: &Decision,
        names: &Names<'_>,
        now: Instant,
    ) {
        let bare = line(op, Event::Decision, now);
        let bare = failed.map_or(bare.clone(), |(failure, _)| bare.with_failure(failure));
        let record = Record {
            from: names.place(decision.from),
            to: decision.to.and_then(|to| names.place(to)),
            latency_ms: failed.map(|(_, running)| now.since(running.started).as_millis() as u64),
            usage: failed.map(|(_, running)| running.reply.usage).filter(|usage| usage.input_tokens > 0),
            ..bare.with_decision(decision, names.world)
        };
        self.write(op, &record);
    }

    pub(crate) fn success(&mut self, op: &Op, running: &Running, names: &Names<'_>, now: Instant) {
        let record = Record {
            attempt: Some(op.attempts_in_run),
            target: names.place(running.target),
            latency_ms: Some(now.since(running.started).as_millis() as u64),
            usage: Some(running.reply.usage),
            ..line(op, Event::Success, now)
        };
        self.write(op, &record);
    }

    pub(crate) fn outcome(&mut self, op: &Op, outcome: &Outcome, world: &World, now: Instant) {
        let record = Record {
            attempt: Some(op.attempts),
            latency_ms: Some(now.since(op.started).as_millis() as u64),
            ..line(op, Event::Outcome, now)
        };
        self.write(op, &record.with_outcome(outcome, world));
    }

    fn write(&mut self, op: &Op, record: &Record) {
        if self.only.is_some_and(|only| only != op.id) {
            return;
        }
        // Plain data into memory: neither can fail.
        if serde_json::to_writer(&mut self.lines, record).is_ok() {
            self.lines.push(b'\n');
        }
    }
}

impl Names<'_> {
    fn place(&self, target: Target) -> Option<Place> {
        let model = Arc::clone(&self.route.model(target.model.into())?.name);
        let endpoint = Arc::clone(&self.world.endpoint(target.endpoint)?.name);
        Some(Place { model, endpoint })
    }
}

fn line(op: &Op, event: Event, now: Instant) -> Record {
    let time = Timestamp::from_millis(now.as_millis() as i64);
    Record::new(time, event, format!("r{}", op.id).into())
}
