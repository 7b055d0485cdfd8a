//! Exact counts over a sliding window of time, without a lock on the way of a success.
//!
//! A ring of buckets, each one atomic word that carries its own epoch: adding is one addition,
//! and a bucket left over from an earlier turn of the ring is recognised and replaced. Exact
//! counts, not a moving average: in an average a tight burst has almost no weight and can hide a
//! total outage (resilience.md, decision 4).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::time::Instant;

/// Slots of the ring; a power of two, so that finding one is a mask.
const SLOTS: usize = 16;
const EPOCH_BITS: u32 = 24;
const COUNT_BITS: u32 = 20;
const EPOCH_MASK: u64 = (1 << EPOCH_BITS) - 1;
const ONE_GOOD: u64 = 1 << COUNT_BITS;
const ONE_BAD: u64 = 1;
/// Counts stop here, well before they could spill into their neighbour.
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1024;

/// Counts of good and bad outcomes over the last span, give or take one bucket.
///
/// On a cache line of its own: what is read beside it must not wait for its writers.
#[derive(Debug)]
#[repr(align(64))]
pub struct Window {
    slots: [AtomicU64; SLOTS],
    /// A bucket lasts 2^shift nanoseconds: dividing by it is a shift.
    shift: u32,
    /// How many buckets cover the span.
    buckets: u64,
}

/// What a window holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Good outcomes.
    pub good: u64,
    /// Bad outcomes.
    pub bad: u64,
}

impl Window {
    /// A window over the last `span`.
    pub fn new(span: Duration) -> Self {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX).clamp(SLOTS as u64, 1 << 62);
        let bucket_nanos = nanos.div_ceil(SLOTS as u64).next_power_of_two();
        let buckets = nanos.div_ceil(bucket_nanos);
        Self { slots: Default::default(), shift: bucket_nanos.ilog2(), buckets }
    }

    /// Counts a good outcome.
    pub fn good(&self, now: Instant) {
        self.add(now, ONE_GOOD);
    }

    /// Counts a bad outcome.
    pub fn bad(&self, now: Instant) {
        self.add(now, ONE_BAD);
    }

    /// What the last span holds.
    pub fn counts(&self, now: Instant) -> Counts {
        let epoch = self.epoch(now);
        let mut sum = Counts::default();
        for slot in &self.slots {
            let word = slot.load(Ordering::Relaxed);
            let age = epoch.wrapping_sub(epoch_of(word)) & EPOCH_MASK;
            if age < self.buckets {
                let counts = counts_of(word);
                sum.good += counts.good;
                sum.bad += counts.bad;
            }
        }
        sum
    }

    /// Changes with every count.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.slots.iter().fold(0, |sum, word| mix(sum, word.load(Ordering::Relaxed)))
    }

    /// Forgets everything.
    pub fn clear(&self) {
        for slot in &self.slots {
            slot.store(0, Ordering::Relaxed);
        }
    }

    fn add(&self, now: Instant, one: u64) {
        let epoch = self.epoch(now);
        let slot = &self.slots[epoch as usize % SLOTS];
        let word = slot.load(Ordering::Relaxed);
        if epoch_of(word) == epoch {
            let Counts { good, bad } = counts_of(word);
            if good.max(bad) >= COUNT_MAX {
                // Half of both keeps their ratio. If only one stood still, a busy endpoint with a
                // few failures would look half broken in the end.
                let halved = epoch << (2 * COUNT_BITS) | (good / 2) << COUNT_BITS | (bad / 2);
                _ = slot.compare_exchange(word, halved, Ordering::Relaxed, Ordering::Relaxed);
            }
        } else {
            // If this fails, another thread opened the bucket in between.
            let fresh = epoch << (2 * COUNT_BITS);
            _ = slot.compare_exchange(word, fresh, Ordering::Relaxed, Ordering::Relaxed);
        }
        // Between the load and the addition the slot could only change hands if this thread slept
        // through nearly the whole window; the harm would be one miscount.
        slot.fetch_add(one, Ordering::Relaxed);
    }

    fn epoch(&self, now: Instant) -> u64 {
        // Epoch 0 marks an empty slot.
        ((now.as_nanos() >> self.shift) + 1) & EPOCH_MASK
    }
}

/// Folds a word into a sum that depends on order and on every bit (the step of FxHash).
pub(crate) const fn mix(sum: u64, word: u64) -> u64 {
    (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

impl Counts {
    /// All outcomes.
    pub const fn total(self) -> u64 {
        self.good + self.bad
    }
}

/// A word holds 24 bits of epoch, then 20 bits for each count.
const fn epoch_of(word: u64) -> u64 {
    word >> (2 * COUNT_BITS)
}

const fn counts_of(word: u64) -> Counts {
    let mask = (1 << COUNT_BITS) - 1;
    Counts { good: word >> COUNT_BITS & mask, bad: word & mask }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::from_millis(secs * 1000)
    }

    #[test]
    fn counts_leave_with_their_bucket() {
        let window = Window::new(Duration::from_secs(10));
        window.good(at(0));
        window.bad(at(5));
        assert_eq!(window.counts(at(9)), Counts { good: 1, bad: 1 });
        assert_eq!(window.counts(at(11)), Counts { good: 0, bad: 1 });
        assert_eq!(window.counts(at(16)), Counts::default());
    }

    #[test]
    fn the_event_that_rolls_the_bucket_is_counted() {
        let window = Window::new(Duration::from_secs(10));
        for secs in 0..100 {
            window.bad(at(secs * 20));
            assert_eq!(window.counts(at(secs * 20)), Counts { good: 0, bad: 1 });
        }
    }

    #[test]
    fn a_window_idle_for_years_still_rolls() {
        let window = Window::new(Duration::from_secs(120));
        window.bad(at(0));
        let later = at(5 * 365 * 24 * 3600);
        assert_eq!(window.counts(later), Counts::default());
        window.good(later);
        assert_eq!(window.counts(later), Counts { good: 1, bad: 0 });
    }

    #[test]
    fn full_counts_are_halved_and_do_not_spill_into_each_other() {
        let window = Window::new(Duration::from_secs(100));
        window.slots[1].store(1 << (2 * COUNT_BITS) | COUNT_MAX << COUNT_BITS | 8, Ordering::Relaxed);
        window.good(at(0));
        assert_eq!(window.counts(at(0)), Counts { good: COUNT_MAX / 2 + 1, bad: 4 });
    }

    #[test]
    fn a_very_busy_endpoint_with_a_few_failures_does_not_look_half_broken() {
        let window = Window::new(Duration::from_secs(100));
        for step in 0..5_000_000 {
            if step % 10 == 0 { window.bad(at(0)) } else { window.good(at(0)) }
        }
        let counts = window.counts(at(0));
        let share = counts.bad as f64 / counts.total() as f64;
        assert!((0.09..0.11).contains(&share), "{share}");
    }

    #[test]
    fn what_was_halved_still_belongs_to_its_time() {
        let window = Window::new(Duration::from_secs(120));
        (0..=COUNT_MAX).for_each(|_| window.good(at(1_000_000)));
        let good = window.counts(at(1_000_000)).good;
        assert!((COUNT_MAX / 2..COUNT_MAX / 2 + 10).contains(&good), "{good}");
    }

    #[test]
    fn a_fingerprint_changes_with_every_count_and_its_place() {
        let window = Window::new(Duration::from_secs(10));
        let mut seen = vec![window.fingerprint()];
        for secs in [0, 0, 3, 5] {
            window.good(at(secs));
            seen.push(window.fingerprint());
            window.bad(at(secs));
            seen.push(window.fingerprint());
        }
        let several: std::collections::BTreeSet<u64> = seen.iter().copied().collect();
        assert_eq!(several.len(), seen.len());
        assert_ne!(mix(mix(0, 1), 2), mix(mix(0, 2), 1));
        assert_ne!(mix(1, 3), mix(1, 1));
        assert_ne!(mix(1, 32), mix(1, 0));
    }

    #[test]
    fn an_empty_window_holds_nothing_at_any_time() {
        let window = Window::new(Duration::from_secs(1));
        for nanos in [0, 1, 1 << 30, 1 << 53, u64::MAX] {
            assert_eq!(window.counts(Instant::from_nanos(nanos)), Counts::default(), "{nanos}");
        }
    }

    proptest! {
        /// The ring agrees with a list of all outcomes, whatever the spacing.
        #[test]
        fn agrees_with_a_naive_model(steps in proptest::collection::vec((0u64..30, any::<bool>()), 0..200)) {
            let window = Window::new(Duration::from_secs(100));
            let mut all: Vec<(u64, bool)> = Vec::new();
            let mut now = 0;
            for (pause, good) in steps {
                now += pause;
                if good { window.good(at(now)) } else { window.bad(at(now)) }
                all.push((now, good));
                let bucket = |secs: u64| (secs * 1_000_000_000) >> window.shift;
                let recent = all.iter().filter(|(then, _)| bucket(now) - bucket(*then) < window.buckets);
                let good = recent.clone().filter(|(_, good)| *good).count() as u64;
                let bad = recent.count() as u64 - good;
                prop_assert_eq!(window.counts(at(now)), Counts { good, bad });
            }
        }
    }
}
