//! The last turn of each session, for a person who wants it tried again.
//!
//! In memory alone, for a set time: nobody writes prompts to a disk for this.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use steadfast_core::{Failure, Instant, Timestamp};

use crate::call::Call;

/// All turns together, and the largest one that is kept.
const BYTES_MAX: usize = 64 * 1024 * 1024;
const TURN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What a turn holds besides its body: headers, and the buffer they were read into.
pub(crate) const BESIDES_BYTES: usize = 16 * 1024;

/// How often turns that are too old are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// A turn as it was asked, and how it ended.
#[derive(Clone, Debug)]
pub struct Turn {
    /// What the client asked.
    pub call: Arc<Call>,
    /// When it ended.
    pub ended: Timestamp,
    /// How its last attempt failed; none where it was served.
    pub failure: Option<Failure>,
}

/// The last turn of each session.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    kept: Mutex<Kept>,
    /// How long a turn is kept, in nanoseconds; nothing is where it is zero.
    keep_nanos: AtomicU64,
}

#[derive(Debug, Default)]
struct Kept {
    turns: HashMap<Key, (Turn, Instant)>,
    bytes: usize,
    looked: Instant,
}

/// Project and session.
type Key = (String, Arc<str>);

impl Turns {
    /// Sets how long turns are kept.
    pub(crate) fn keep_for(&self, time: Duration) {
        self.keep_nanos.store(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        if time.is_zero() {
            *self.lock() = Kept::default();
        }
    }

    /// Keeps a turn in place of the one before it.
    pub(crate) fn keep(&self, turn: Turn, now: Instant) {
        let bytes = turn.bytes();
        let Some(session) = &turn.call.session else { return };
        if self.time().is_zero() || bytes > TURN_BYTES_MAX {
            return;
        }
        let key = (turn.call.project.clone(), Arc::clone(session));
        let mut kept = self.lock();
        let before = kept.turns.insert(key, (turn, now));
        kept.bytes = kept.bytes + bytes - before.map_or(0, |(turn, _)| turn.bytes());
        if kept.bytes > BYTES_MAX || now.since(kept.looked) > LOOK_EVERY {
            kept.make_room(now, self.time());
        }
    }

    /// The last turn of a session, where it is still known.
    pub(crate) fn last(&self, project: &str, session: &str, now: Instant) -> Option<Turn> {
        let kept = self.lock();
        let (turn, ended) = kept.turns.get(&(project.to_owned(), session.into()))?;
        (now.since(*ended) < self.time()).then(|| turn.clone())
    }

    fn time(&self) -> Duration {
        Duration::from_nanos(self.keep_nanos.load(Ordering::Relaxed))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// What is too old goes, and if that is not enough the older half.
    fn make_room(&mut self, now: Instant, time: Duration) {
        self.looked = now;
        self.turns.retain(|_, (_, ended)| now.since(*ended) < time);
        self.count();
        if self.bytes > BYTES_MAX {
            let mut ended: Vec<Instant> = self.turns.values().map(|(_, ended)| *ended).collect();
            let middle = ended.len() / 2;
            let median = *ended.select_nth_unstable(middle).1;
            self.turns.retain(|_, (_, ended)| *ended > median);
            self.count();
        }
    }

    fn count(&mut self) {
        self.bytes = self.turns.values().map(|(turn, _)| turn.bytes()).sum();
    }
}

impl Turn {
    /// What it takes to keep it.
    fn bytes(&self) -> usize {
        self.call.body.len() + BESIDES_BYTES
    }
}
