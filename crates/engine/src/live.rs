//! What happened lately, for readers who watch: a ring that everybody reads from his own place.
//!
//! Nobody has a queue of his own, so a reader that does not keep up costs nothing: it is overtaken,
//! and told how much it missed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use steadfast_core::Timestamp;
use steadfast_core::record::Record;
use tokio::sync::watch;

/// How many records are kept for readers that come late or again.
const KEPT_MAX: usize = 8 * 1024;

/// Numbers begin at the time of the start, shifted by this: a later run's are higher, and all are
/// exact in JavaScript.
const SHIFT: u32 = 12;

/// What happened lately.
#[derive(Debug)]
pub struct Live {
    ring: Mutex<VecDeque<Batch>>,
    /// The number the next record will have.
    next: watch::Sender<u64>,
    first: u64,
}

/// Records that happened within a moment.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The number of the first of them; the others count on.
    pub first: u64,
    /// The records.
    pub records: Arc<[Record]>,
}

/// What a reader finds at its place.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// How many records it missed; `None` where the number is of another run, and nobody knows.
    pub missed: Option<u64>,
    /// What comes now; the first may begin before the reader's place.
    pub batches: Vec<Batch>,
    /// The number of the record after them: the reader's next place.
    pub next: u64,
}

impl Live {
    /// A ring with nothing in it.
    pub(crate) fn new(started: Timestamp) -> Arc<Self> {
        let first = u64::try_from(started.as_millis()).unwrap_or(0) << SHIFT;
        Arc::new(Self { ring: Mutex::default(), next: watch::Sender::new(first), first })
    }

    /// The number of the next record: the place of a reader that wants only what is to come.
    pub fn next(&self) -> u64 {
        *self.next.borrow()
    }

    /// Waits until there is a record of this number or a later one.
    pub async fn grown_to(&self, number: u64) {
        // The sender is ours: it does not go away.
        let _ = self.next.subscribe().wait_for(|next| *next > number).await;
    }

    /// What there is from this number on, without waiting.
    pub fn since(&self, number: u64) -> Found {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.next();
        let oldest = ring.front().map_or(next, |batch| batch.first);
        let missed = if number < self.first || number > next { None } else { Some(oldest.saturating_sub(number)) };
        let number = if number > next { oldest } else { number };
        let is_new = |batch: &&Batch| batch.first + batch.records.len() as u64 > number;
        Found { missed, batches: ring.iter().filter(is_new).cloned().collect(), next }
    }

    /// Adds what happened.
    pub(crate) fn publish(&self, records: Arc<[Record]>) {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.next();
        let next = first + records.len() as u64;
        ring.push_back(Batch { first, records });
        while ring.len() > 1 && ring.front().is_some_and(|oldest| next - oldest.first > KEPT_MAX as u64) {
            ring.pop_front();
        }
        // To wake nobody costs as much as to wake somebody. Who subscribes meanwhile reads the number afterwards.
        self.next.send_if_modified(|number| {
            *number = next;
            self.next.receiver_count() > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use steadfast_core::record::Event;

    use super::*;

    fn records(count: usize) -> Arc<[Record]> {
        let record = |number| Record::new(Timestamp::from_millis(0), Event::Start, format!("r{number}").into());
        (0..count).map(record).collect()
    }

    fn numbers(found: &Found) -> Vec<u64> {
        found.batches.iter().flat_map(|batch| batch.first..batch.first + batch.records.len() as u64).collect()
    }

    #[test]
    fn a_reader_goes_on_where_it_was() {
        let live = Live::new(Timestamp::from_millis(1));
        let start = live.next();
        live.publish(records(3));
        live.publish(records(2));
        assert_eq!(numbers(&live.since(start)), [start, start + 1, start + 2, start + 3, start + 4]);
        assert_eq!(live.since(start + 3).missed, Some(0));
        assert_eq!(numbers(&live.since(start + 3)), [start + 3, start + 4]);
        assert!(live.since(live.next()).batches.is_empty());
    }

    #[test]
    fn a_reader_that_was_overtaken_is_told_how_much_it_missed() {
        let live = Live::new(Timestamp::from_millis(1));
        let start = live.next();
        for _ in 0..100 {
            live.publish(records(100));
        }
        let found = live.since(start);
        let missed = found.missed.unwrap();
        assert!(missed >= 10_000 - KEPT_MAX as u64 && missed < 10_000);
        assert_eq!(numbers(&found).first(), Some(&(start + missed)));
    }

    #[test]
    fn numbers_of_another_run_are_known_as_such() {
        let live = Live::new(Timestamp::from_millis(1_800_000_000_000));
        live.publish(records(1));
        assert_eq!(live.since(5).missed, None);
        assert_eq!(live.since(u64::MAX).missed, None);
        assert_eq!(live.since(u64::MAX).batches.len(), 1);
        assert!(live.next() < 1 << 53, "exact in JavaScript");
    }

    #[tokio::test]
    async fn waiting_ends_with_the_next_record() {
        let live = Live::new(Timestamp::from_millis(1));
        let place = live.next();
        let waiting = tokio::spawn({
            let live = Arc::clone(&live);
            async move { live.grown_to(place).await }
        });
        live.publish(records(1));
        waiting.await.unwrap();
    }
}
