//! Ids of rows: they grow with time, and two processes never give out the same.
//!
//! ```text
//! milliseconds since the epoch (42 bits) | opening of the store (9 bits) | count within the millisecond (12 bits)
//! ```
//!
//! So a range of time is a range of ids, new rows go to the end of every index, and the newest come
//! first in any list without an index on time.

use std::collections::BTreeMap;

const COUNT_BITS: u32 = 12;
const OPENING_BITS: u32 = 9;
const LOW_BITS: u32 = COUNT_BITS + OPENING_BITS;

/// Milliseconds of which the count is remembered.
const REMEMBERED_MAX: usize = 4096;

/// Gives out ids.
#[derive(Debug)]
pub(crate) struct Ids {
    opening: i64,
    /// How many were given out for a millisecond.
    given: BTreeMap<i64, i64>,
}

impl Ids {
    /// For one opening of the store, as counted by the store itself.
    pub(crate) fn new(opening: i64) -> Self {
        Self { opening: opening & ((1 << OPENING_BITS) - 1), given: BTreeMap::new() }
    }

    /// An id for something that happened at this moment; a full millisecond passes it on to the next.
    pub(crate) fn next(&mut self, millis: i64) -> i64 {
        let mut millis = millis.clamp(0, (1 << 42) - 2);
        loop {
            let given = self.given.entry(millis).or_insert(0);
            if *given < 1 << COUNT_BITS {
                let id = millis << LOW_BITS | self.opening << COUNT_BITS | *given;
                *given += 1;
                self.forget();
                return id;
            }
            millis += 1;
        }
    }

    fn forget(&mut self) {
        if self.given.len() > REMEMBERED_MAX {
            self.given.pop_first();
        }
    }
}

/// The first id of a moment: everything before it is older.
pub(crate) fn first_at(millis: i64) -> i64 {
    millis.clamp(0, (1 << 42) - 1) << LOW_BITS
}

/// Any number: for the ids of what comes before the store is reached, and to be known by.
pub(crate) fn random() -> i64 {
    use std::hash::{BuildHasher as _, RandomState};
    i64::from_ne_bytes(RandomState::new().hash_one(0).to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_time_and_never_come_twice() {
        let mut ids = Ids::new(513);
        let mut seen: Vec<i64> = (0..10_000).map(|_| ids.next(5000)).collect();
        seen.extend((0..100).map(|_| ids.next(4000)));
        assert!(seen[..10_000].is_sorted());
        assert!(seen[10_000..].iter().all(|id| *id < first_at(4001) && *id >= first_at(4000)));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_100);
        assert_ne!(Ids::new(1).next(5000), Ids::new(2).next(5000));
    }
}
