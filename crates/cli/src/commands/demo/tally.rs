//! What is counted: answers by the clients, failures by the fake, recoveries by both the clients'
//! word and the decision log's.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde_json::{Value, json};
use steadfast_core::record::{Event, Record};
use steadfast_fake::Received;

use super::client::{Asked, OWN};
use super::scene::judged;
use crate::decisions;

/// As many decisions as the tallest screen shows.
const RECENT_MAX: usize = 200;

/// Everything that is counted.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Requests of the demo's clients that ended well, as the clients see it.
    pub(crate) served: u64,
    /// The others, and what the last of them complained about.
    pub(crate) failed: u64,
    pub(crate) complaint: Option<String>,
    /// Served requests that took more than one attempt.
    pub(crate) recovered: u64,
    /// The same by the last step before the attempt that served.
    pub(crate) recovered_by: BTreeMap<String, u64>,
    /// Attempts the fake saw of the demo's clients.
    pub(crate) providers: Side,
    pub(crate) endpoints: HashMap<String, Side>,
    /// Failed attempts by what was played.
    pub(crate) faults: BTreeMap<&'static str, u64>,
    /// Attempts of whoever else plays with the demo.
    pub(crate) others: u64,
    /// Decisions, newest first.
    pub(crate) recent: VecDeque<Record>,
    /// A request whose story is worth telling, and how many attempts it took.
    pub(crate) example: Option<(String, u32)>,
    /// Requests that are under way, as the log tells.
    open: HashMap<String, Option<String>>,
    /// Ends that one of the two sides has told.
    ended: HashMap<String, Ended>,
    ours: HashSet<String>,
}

/// How attempts went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Side {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
}

#[derive(Debug)]
enum Ended {
    /// The client's word.
    Client { served: bool },
    /// The log's word: how many attempts, and the last step.
    Log { attempts: u32, step: Option<String> },
}

impl Side {
    pub(crate) const fn all(&self) -> u64 {
        self.ok + self.failed
    }

    pub(crate) fn share(&self) -> f64 {
        share(self.ok, self.all())
    }

    fn count(&mut self, failed: bool) {
        if failed {
            self.failed += 1;
        } else {
            self.ok += 1;
        }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

impl Tally {
    /// Requests of the demo's clients that are over.
    pub(crate) const fn requests(&self) -> u64 {
        self.served + self.failed
    }

    pub(crate) fn success(&self) -> f64 {
        share(self.served, self.requests())
    }

    pub(crate) fn attempts_per_request(&self) -> f64 {
        if self.requests() == 0 { 0.0 } else { self.providers.all() as f64 / self.requests() as f64 }
    }

    /// A client has its answer, or none.
    pub(crate) fn client(&mut self, asked: Asked) {
        let served = asked.complaint.is_none();
        if served {
            self.served += 1;
        } else {
            self.failed += 1;
            let id = asked.id.as_deref().unwrap_or("a request without an answer");
            self.complaint = asked.complaint.map(|complaint| format!("{id}: {complaint}"));
        }
        let Some(id) = asked.id else { return };
        match self.ended.remove(&id) {
            Some(Ended::Log { attempts, step }) => self.both(id, served, attempts, step),
            _ => drop(self.ended.insert(id, Ended::Client { served })),
        }
    }

    /// A provider is done with an attempt.
    pub(crate) fn provider(&mut self, request: &Received) {
        if request.header(OWN).is_none() {
            self.others += 1;
            return;
        }
        let Some(fault) = judged(request) else { return };
        self.providers.count(fault.is_some());
        self.endpoints.entry(request.endpoint.clone()).or_default().count(fault.is_some());
        if let Some(fault) = fault {
            *self.faults.entry(fault).or_default() += 1;
        }
    }

    /// A line of the decision log.
    pub(crate) fn record(&mut self, record: Record) {
        let id = record.request.to_string();
        match record.event {
            Event::Start => {
                if record.session.as_deref().is_some_and(|session| session.starts_with("demo-")) {
                    self.ours.insert(id.clone());
                    self.open.insert(id, None);
                }
            }
            Event::Decision => {
                if let Some(step) = self.open.get_mut(&id) {
                    *step = record.step.as_deref().map(str::to_owned);
                }
                self.recent.push_front(record);
                self.recent.truncate(RECENT_MAX);
            }
            Event::Outcome if self.ours.remove(&id) => {
                let step = self.open.remove(&id).flatten();
                let attempts = record.attempt.unwrap_or(0);
                match self.ended.remove(&id) {
                    Some(Ended::Client { served }) => self.both(id, served, attempts, step),
                    _ => drop(self.ended.insert(id, Ended::Log { attempts, step })),
                }
            }
            Event::Attempt | Event::Success | Event::Outcome | Event::Breaker | Event::Alert | Event::Escalation => {}
        }
    }

    /// Both sides have told how a request ended.
    fn both(&mut self, id: String, served: bool, attempts: u32, step: Option<String>) {
        if !served || attempts < 2 {
            return;
        }
        self.recovered += 1;
        *self.recovered_by.entry(step.unwrap_or_else(|| "waiting".to_owned())).or_default() += 1;
        if self.example.as_ref().is_none_or(|(_, most)| attempts >= *most) {
            self.example = Some((id, attempts));
        }
    }

    /// The summary for programs.
    pub(crate) fn summary(&self) -> Value {
        let mut faults = self.faults.clone();
        faults.retain(|_, count| *count > 0);
        json!({
            "clients": {
                "requests": self.requests(), "served": self.served, "failed": self.failed,
                "recovered": self.recovered, "success": self.success(), "last_complaint": self.complaint,
            },
            "providers": {
                "attempts": self.providers.all(), "ok": self.providers.ok, "failed": self.providers.failed,
                "success": self.providers.share(), "failures": faults,
            },
            "attempts_per_request": self.attempts_per_request(),
            "recovered_by": self.recovered_by,
            "other_attempts": self.others,
            "example": self.example.as_ref().map(|(id, _)| id),
        })
    }
}

/// Reads a log as it grows.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    offset: u64,
    rest: Vec<u8>,
}

impl Tail {
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self { path, offset: 0, rest: Vec::new() }
    }

    /// What was written since the last time. A log that is begun anew in between is read on from
    /// its beginning: a demo must run for days to get there.
    pub(crate) fn read(&mut self) -> io::Result<Vec<Record>> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file?,
        };
        if file.metadata()?.len() < self.offset {
            (self.offset, self.rest) = (0, Vec::new());
        }
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += file.read_to_end(&mut self.rest)? as u64;
        let Some(last) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
        let rest = self.rest.split_off(last + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        Ok(lines.split(|byte| *byte == b'\n').filter_map(decisions::record).collect())
    }
}
