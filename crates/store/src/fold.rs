//! Records become requests: what comes line by line is gathered until a request is over.
//!
//! ```text
//! start · attempt · decision · attempt · success · outcome ──▶ one Draft ──▶ one row
//! ```
//!
//! Pure: told the time, it returns what is to be written. Memory is bounded: where more requests run
//! at once than may, the longest-running is written as far as it is known and no longer followed.

mod draft;

use std::collections::HashMap;
use std::sync::Arc;

use steadfast_core::record::{Event, Record};

pub(crate) use self::draft::Draft;
use crate::alerts::{AlertChange, BreakerChange};
use crate::escalations::Escalation;
use crate::id::Ids;

/// Requests that run at once.
const OPEN_MAX: usize = 20_000;

/// A request that runs longer than this is written as far as it is known, so that people see it.
const OVERDUE_MS: i64 = 2_000;

/// How often what is known of a running request is written anew, where there is anything new.
const AGAIN_MS: i64 = 10_000;

/// Something to be written.
#[derive(Debug)]
pub(crate) enum Item {
    Request(Box<Draft>),
    Alert(AlertChange),
    Breaker(BreakerChange),
    Escalation(Box<Escalation>),
}

/// Requests that are not over.
#[derive(Debug)]
pub(crate) struct Folding {
    ids: Ids,
    open: HashMap<Arc<str>, Draft>,
}

impl Folding {
    pub(crate) fn new(opening: i64) -> Self {
        Self { ids: Ids::new(opening), open: HashMap::new() }
    }

    /// Ids count on under the number that the store itself gave to this opening of it.
    pub(crate) fn number(&mut self, opening: i64) {
        self.ids = Ids::new(opening);
    }

    /// Takes one record; what it completes goes to `done`.
    pub(crate) fn take(&mut self, record: &Record, now: i64, done: &mut impl FnMut(Item)) {
        let time = record.time.as_millis();
        match record.event {
            Event::Alert => {
                let id = self.ids.next(time);
                done(Item::Alert(AlertChange::of(id, record)));
            }
            Event::Escalation => {
                if let Some(escalation) = Escalation::by_person(record) {
                    done(Item::Escalation(Box::new(escalation)));
                }
            }
            Event::Breaker => {
                let id = self.ids.next(time);
                done(Item::Breaker(BreakerChange::of(id, record)));
                if let Some(draft) = self.open.get_mut(&record.request) {
                    draft.keep(record);
                }
            }
            Event::Start | Event::Attempt | Event::Decision | Event::Success => {
                if record.request.is_empty() {
                    return;
                }
                self.make_room(done);
                let draft = self
                    .open
                    .entry(Arc::clone(&record.request))
                    .or_insert_with(|| Draft::new(self.ids.next(time), record, now));
                draft.take(record);
                if let Some(escalation) = Escalation::by_policy(record, draft) {
                    done(Item::Escalation(Box::new(escalation)));
                }
            }
            Event::Outcome => {
                let draft = self.open.remove(&record.request);
                let mut draft = draft.unwrap_or_else(|| Draft::new(self.ids.next(time), record, now));
                draft.take(record);
                done(Item::Request(Box::new(draft)));
            }
        }
    }

    /// What is known of requests that run for long and were not written since they last did something.
    pub(crate) fn overdue(&mut self, now: i64, done: &mut impl FnMut(Item)) {
        for draft in self.open.values_mut() {
            let due = match draft.written_at {
                None => now - draft.seen_at >= OVERDUE_MS,
                Some(at) => draft.is_changed && now - at >= AGAIN_MS,
            };
            if due {
                done(Item::Request(Box::new(draft.snapshot(now))));
            }
        }
    }

    /// Everything that is not over, as far as it is known: nobody will follow it any more.
    pub(crate) fn abandon(&mut self, done: &mut impl FnMut(Item)) {
        for (_, draft) in self.open.drain() {
            done(Item::Request(Box::new(draft)));
        }
    }

    /// A request that is not over.
    pub(crate) fn open(&self, request: &str) -> Option<&Draft> {
        self.open.get(request)
    }

    /// How many requests are not over.
    pub(crate) fn running(&self) -> usize {
        self.open.len()
    }

    fn make_room(&mut self, done: &mut impl FnMut(Item)) {
        if self.open.len() < OPEN_MAX {
            return;
        }
        let oldest = self.open.values().min_by_key(|draft| draft.id).map(|draft| Arc::clone(&draft.request));
        if let Some(draft) = oldest.and_then(|oldest| self.open.remove(&oldest)) {
            done(Item::Request(Box::new(draft)));
        }
    }
}
