//! Turns that just failed for good, for clients that repeat them at once.
//!
//! No answer stops every client (docs/gateway.md), so the same turn that comes again is answered
//! from here without an upstream call: until asking again may help, or for a few seconds that grow
//! while it keeps failing. A request that differs in anything is not affected. Kept in memory and in
//! a bounded amount.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_core::Instant;
use steadfast_core::world::{Endpoint, Session};

use crate::journal::Kept;
use crate::key::Key;

/// The first rest where nobody says how long: longer than a client's own quick repeats.
const REST: Duration = Duration::from_secs(2);

/// Rests grow to this: a provider that is well again must not stay out of reach.
const REST_MAX: Duration = Duration::from_secs(15);

/// And where a provider says how long, to this: then the core is asked, which knows better.
const SAID_MAX: Duration = Duration::from_secs(60);

/// A turn that broke off half way is repeated for a good reason, this many times.
const BREAKS_FREE: u32 = 1;

/// After this long the same request is a new one.
const REPEAT_WITHIN: Duration = Duration::from_secs(120);

const ENTRIES_MAX: usize = 4096;
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Turns that failed for good.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    entries: Mutex<HashMap<Key, Entry>>,
    count: AtomicUsize,
}

/// How a turn failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The request's name.
    pub(crate) request: Arc<str>,
    /// What its client was told.
    pub(crate) answer: Kept,
    /// When asking again may help, where somebody says.
    pub(crate) retry_after: Option<Duration>,
    /// Its client had got a part of the answer.
    pub(crate) broke_off: bool,
    /// Who failed it: somebody else's success there ends the first rest.
    pub(crate) endpoints: Vec<Arc<Endpoint>>,
    /// Whose it was, and what that remembers of its targets.
    pub(crate) session: Arc<Session>,
}

/// What is known of a request that comes in.
#[derive(Debug)]
pub(crate) enum Recall {
    /// Nothing.
    Fresh,
    /// It failed before, and may be tried again.
    Again(Repeat),
    /// It failed just before: this is the answer.
    Answer {
        repeat: Repeat,
        answer: Kept,
        /// How long it will be.
        rest: Duration,
    },
}

/// A request that is the same as one that failed.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    pub(crate) key: Key,
    /// The request that failed first.
    pub(crate) of: Arc<str>,
    /// How many times it has come again.
    pub(crate) number: u32,
    /// The session it failed in: a client that names none goes on in it.
    pub(crate) session: Arc<Session>,
}

#[derive(Debug)]
struct Entry {
    request: Arc<str>,
    answer: Kept,
    endpoints: Vec<Arc<Endpoint>>,
    session: Arc<Session>,
    failed: Instant,
    until: Instant,
    /// How many times it failed.
    strikes: u32,
    /// How many times it came again.
    repeats: u32,
    /// How many of these its session was charged for.
    charged: u32,
}

impl Failures {
    /// Whether anything is remembered: nearly always not, and then no request is hashed.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Remembers a turn that failed.
    pub(crate) fn remember(&self, key: Key, failed: Failed, now: Instant) {
        let mut entries = self.lock();
        let before = entries.remove(&key).filter(|entry| entry.is_known(now));
        let strikes = before.as_ref().map_or(0, |entry| entry.strikes) + 1;
        let rest = rest(strikes, failed.retry_after, failed.broke_off);
        let entry = Entry {
            request: before.as_ref().map_or(failed.request, |entry| Arc::clone(&entry.request)),
            answer: failed.answer,
            endpoints: failed.endpoints,
            session: failed.session,
            failed: now,
            until: now + rest,
            strikes,
            repeats: before.as_ref().map_or(0, |entry| entry.repeats),
            charged: before.as_ref().map_or(0, |entry| entry.charged),
        };
        make_room(&mut entries, entry.answer.body.len(), now);
        entries.insert(key, entry);
        self.count.store(entries.len(), Ordering::Relaxed);
    }

    /// What is known of a request. A repeat is charged to its session; `charge` says whether it could be.
    pub(crate) fn recall(&self, key: Key, charge: impl FnOnce() -> bool, now: Instant) -> Recall {
        let mut entries = self.lock();
        let Some(entry) = entries.get_mut(&key) else { return Recall::Fresh };
        if !entry.is_known(now) {
            entries.remove(&key);
            self.count.store(entries.len(), Ordering::Relaxed);
            return Recall::Fresh;
        }
        entry.repeats += 1;
        entry.charged += u32::from(charge());
        let (of, session) = (Arc::clone(&entry.request), Arc::clone(&entry.session));
        let repeat = Repeat { key, of, number: entry.repeats, session };
        if entry.rests(now) {
            let (answer, rest) = (entry.answer.clone(), entry.until.since(now));
            return Recall::Answer { repeat, answer, rest };
        }
        Recall::Again(repeat)
    }

    /// It was served after all; says how many repeats its session was charged for.
    pub(crate) fn forget(&self, key: Key) -> u32 {
        let mut entries = self.lock();
        let charged = entries.remove(&key).map_or(0, |entry| entry.charged);
        self.count.store(entries.len(), Ordering::Relaxed);
        charged
    }

    /// Forgets everything: another configuration may serve what this one could not.
    pub(crate) fn clear(&self) {
        self.lock().clear();
        self.count.store(0, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_known(&self, now: Instant) -> bool {
        now.since(self.failed) < REPEAT_WITHIN.max(self.until.since(self.failed))
    }

    /// Whether asking again is of no use yet. What others were served counts once: where the turn
    /// itself is what fails, they are served and it is not.
    fn rests(&self, now: Instant) -> bool {
        let well = || self.endpoints.iter().any(|endpoint| endpoint.is_well_since(self.failed, now));
        now < self.until && !(self.strikes == 1 && well())
    }
}

/// How long a turn is not tried again.
fn rest(strikes: u32, said: Option<Duration>, broke_off: bool) -> Duration {
    let grown = match strikes {
        0..=BREAKS_FREE if broke_off => return Duration::ZERO,
        0 | 1 => said.unwrap_or(REST),
        _ => REST.saturating_mul(1 << (strikes - 1).min(8)).min(REST_MAX).max(said.unwrap_or_default()),
    };
    grown.min(SAID_MAX)
}

/// Room for one more: what is over goes, and if that is not enough the older half.
fn make_room(entries: &mut HashMap<Key, Entry>, bytes: usize, now: Instant) {
    let full = |entries: &HashMap<Key, Entry>| {
        let held: usize = entries.values().map(|entry| entry.answer.body.len()).sum();
        entries.len() >= ENTRIES_MAX || held + bytes > BYTES_MAX
    };
    if !full(entries) {
        return;
    }
    entries.retain(|_, entry| entry.is_known(now));
    while full(entries) && !entries.is_empty() {
        let mut ages: Vec<Instant> = entries.values().map(|entry| entry.failed).collect();
        let middle = ages.len() / 2;
        let (_, median, _) = ages.select_nth_unstable(middle);
        let median = *median;
        entries.retain(|_, entry| entry.failed > median);
    }
}

#[cfg(test)]
mod tests;
