//! Exact counts over a sliding window of time, without a lock on the way of a success.
//!
//! Ten buckets, each one atomic word that carries its own epoch: adding is one compare-and-swap,
//! and a bucket left over from an earlier turn of the ring is recognised and replaced. Exact
//! counts, not a moving average: in an average a tight burst has almost no weight and can hide a
//! total outage (resilience.md, decision 4).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::time::Instant;

const BUCKETS: u64 = 10;
const EPOCH_BITS: u32 = 24;
const COUNT_BITS: u32 = 20;
const EPOCH_MASK: u64 = (1 << EPOCH_BITS) - 1;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;

/// Counts of good and bad outcomes over the last `span`.
#[derive(Debug)]
pub struct Window {
    bucket_nanos: u64,
    buckets: [AtomicU64; BUCKETS as usize],
}

/// What a window holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Good outcomes.
    pub good: u64,
    /// Bad outcomes.
    pub bad: u64,
}

/// One bucket, unpacked: 24 bits of epoch, then 20 bits for each count.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bucket {
    epoch: u64,
    counts: Counts,
}

impl Window {
    /// A window over the last `span`, in ten steps.
    pub fn new(span: Duration) -> Self {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self { bucket_nanos: (nanos / BUCKETS).max(1), buckets: Default::default() }
    }

    /// Counts a good outcome.
    pub fn good(&self, now: Instant) {
        self.add(now, |counts| counts.good += 1);
    }

    /// Counts a bad outcome.
    pub fn bad(&self, now: Instant) {
        self.add(now, |counts| counts.bad += 1);
    }

    /// What the last span holds.
    pub fn counts(&self, now: Instant) -> Counts {
        let epoch = self.epoch(now);
        let mut sum = Counts::default();
        for word in &self.buckets {
            let bucket = Bucket::unpack(word.load(Ordering::Relaxed));
            let age = epoch.wrapping_sub(bucket.epoch) & EPOCH_MASK;
            if age < BUCKETS {
                sum.good += bucket.counts.good;
                sum.bad += bucket.counts.bad;
            }
        }
        sum
    }

    /// Changes with every count.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, word| mix(sum, word.load(Ordering::Relaxed)))
    }

    /// Forgets everything.
    pub fn clear(&self) {
        for word in &self.buckets {
            word.store(0, Ordering::Relaxed);
        }
    }

    fn add(&self, now: Instant, change: impl Fn(&mut Counts)) {
        let epoch = self.epoch(now);
        let word = &self.buckets[(epoch % BUCKETS) as usize];
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            let mut bucket = Bucket::unpack(seen);
            if bucket.epoch != epoch {
                bucket = Bucket { epoch, counts: Counts::default() };
            }
            if bucket.counts.good.max(bucket.counts.bad) == COUNT_MAX {
                // Full: half of both keeps their ratio. If only one stood still, a busy endpoint
                // with a few failures would look half broken in the end.
                bucket.counts.good /= 2;
                bucket.counts.bad /= 2;
            }
            change(&mut bucket.counts);
            match word.compare_exchange_weak(seen, bucket.pack(), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
    }

    fn epoch(&self, now: Instant) -> u64 {
        (now.as_nanos() / self.bucket_nanos) & EPOCH_MASK
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

impl Bucket {
    fn pack(self) -> u64 {
        self.epoch << (2 * COUNT_BITS) | self.counts.good << COUNT_BITS | self.counts.bad
    }

    fn unpack(word: u64) -> Self {
        let counts = Counts { good: word >> COUNT_BITS & COUNT_MAX, bad: word & COUNT_MAX };
        Self { epoch: word >> (2 * COUNT_BITS), counts }
    }
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
        assert_eq!(window.counts(at(10)), Counts { good: 0, bad: 1 });
        assert_eq!(window.counts(at(15)), Counts::default());
    }

    #[test]
    fn the_event_that_rolls_the_bucket_is_counted() {
        let window = Window::new(Duration::from_secs(10));
        window.bad(at(0));
        window.bad(at(10));
        assert_eq!(window.counts(at(10)), Counts { good: 0, bad: 1 });
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
        let word = Bucket { epoch: 5, counts: Counts { good: COUNT_MAX, bad: COUNT_MAX } }.pack();
        let window = Window::new(Duration::from_nanos(10));
        window.buckets[5].store(word, Ordering::Relaxed);
        window.good(Instant::from_nanos(5));
        window.bad(Instant::from_nanos(5));
        let half = COUNT_MAX / 2;
        assert_eq!(window.counts(Instant::from_nanos(5)), Counts { good: half + 1, bad: half + 1 });
    }

    #[test]
    fn a_very_busy_endpoint_with_a_few_failures_does_not_look_half_broken() {
        let window = Window::new(Duration::from_secs(120));
        for step in 0..12_000_000 {
            if step % 10 == 0 { window.bad(at(1)) } else { window.good(at(1)) }
        }
        let counts = window.counts(at(1));
        let share = counts.bad as f64 / counts.total() as f64;
        assert!((0.09..0.11).contains(&share), "{share}");
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
                let recent = all.iter().filter(|(then, _)| now / 10 - then / 10 < 10);
                let good = recent.clone().filter(|(_, good)| *good).count() as u64;
                let bad = recent.count() as u64 - good;
                prop_assert_eq!(window.counts(at(now)), Counts { good, bad });
            }
        }
    }
}
