//! Growing waits between attempts: `min(base × multiplier^(n-1), cap)`, then jitter.
//!
//! A `Backoff` validates itself when it is made, so a delay never needs to be checked again:
//! it is finite, never negative, and at most `cap` plus its jitter, for any attempt number.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long to rest before the n-th retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    base: Duration,
    multiplier: f64,
    cap: Duration,
    jitter: Jitter,
}

/// How a delay is spread, so that many callers do not return at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// Up to this share more or less: `0.2` is ± 20 %.
    Spread(f64),
    /// Anywhere between zero and the delay.
    Full,
    /// Between the base and three times the previous delay, under the cap.
    Decorrelated,
}

/// Why a backoff is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackoffError {
    /// The cap is shorter than the base, or longer than a day.
    #[error("cap must be between the base and 24h")]
    Cap,
    /// A shrinking or exploding multiplier.
    #[error("multiplier must be between 1 and 10")]
    Multiplier,
    /// A share outside 0 to 1.
    #[error("jitter must be between 0 and 1, or \"full\" or \"decorrelated\"")]
    Jitter,
}

impl Backoff {
    /// Nothing in Steadfast rests longer than this between two attempts.
    pub const CAP_MAX: Duration = Duration::from_secs(24 * 60 * 60);

    /// A growing delay.
    pub fn new(base: Duration, multiplier: f64, cap: Duration, jitter: Jitter) -> Result<Self, BackoffError> {
        if cap < base || cap > Self::CAP_MAX {
            return Err(BackoffError::Cap);
        }
        if !(1.0..=10.0).contains(&multiplier) {
            return Err(BackoffError::Multiplier);
        }
        if matches!(jitter, Jitter::Spread(share) if !(0.0..=1.0).contains(&share)) {
            return Err(BackoffError::Jitter);
        }
        Ok(Self { base, multiplier, cap, jitter })
    }

    /// The same delay every time.
    pub fn every(delay: Duration) -> Self {
        let delay = delay.min(Self::CAP_MAX);
        Self { base: delay, multiplier: 1.0, cap: delay, jitter: Jitter::Spread(0.0) }
    }

    /// Doubling from `base` to `cap`, spread by `jitter`: what the seed documents call exponential.
    pub(crate) fn doubling(base: Duration, cap: Duration, jitter: Jitter) -> Self {
        Self { base, multiplier: 2.0, cap, jitter }
    }

    /// The delay before retry `n` (the first is 1), given the delay before the one before it.
    pub fn delay(&self, n: u32, previous: Duration, rng: &mut fastrand::Rng) -> Duration {
        let plain = self.plain(n);
        match self.jitter {
            Jitter::Spread(share) => plain.mul_f64(1.0 - share + 2.0 * share * rng.f64()),
            Jitter::Full => plain.mul_f64(rng.f64()),
            Jitter::Decorrelated => {
                let ceiling = previous.max(self.base).saturating_mul(3).min(self.cap);
                self.base + (ceiling.saturating_sub(self.base)).mul_f64(rng.f64())
            }
        }
    }

    /// The delay before retry `n` without jitter.
    pub fn plain(&self, n: u32) -> Duration {
        let exponent = i32::try_from(n.saturating_sub(1)).unwrap_or(i32::MAX);
        // Infinity for large n: the comparison with the cap takes care of it.
        let seconds = self.base.as_secs_f64() * self.multiplier.powi(exponent);
        if seconds < self.cap.as_secs_f64() { Duration::from_secs_f64(seconds) } else { self.cap }
    }

    /// The same delays without their spread.
    pub const fn without_jitter(self) -> Self {
        Self { jitter: Jitter::Spread(0.0), ..self }
    }

    /// The same growth from another first delay.
    #[must_use]
    pub fn beginning_at(self, base: Duration) -> Self {
        let base = base.min(Self::CAP_MAX);
        let grows = self.multiplier > 1.0 || self.jitter == Jitter::Decorrelated;
        Self { base, cap: if grows { self.cap.max(base) } else { base }, ..self }
    }

    /// The first delay.
    pub const fn base(&self) -> Duration {
        self.base
    }

    /// The growth per retry.
    pub const fn multiplier(&self) -> f64 {
        self.multiplier
    }

    /// The longest delay; also the longest "retry after" this backoff is willing to honour.
    pub const fn cap(&self) -> Duration {
        self.cap
    }

    /// How delays are spread.
    pub const fn jitter(&self) -> Jitter {
        self.jitter
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(secs: f64) -> Duration {
        Duration::from_secs_f64(secs)
    }

    fn backoff(base: f64, multiplier: f64, cap: f64, jitter: Jitter) -> Backoff {
        Backoff::new(seconds(base), multiplier, seconds(cap), jitter).unwrap()
    }

    #[test]
    fn grows_by_the_multiplier_up_to_the_cap() {
        let backoff = backoff(1.0, 2.0, 30.0, Jitter::Spread(0.0));
        let delays: Vec<u64> = (1..=8).map(|n| backoff.plain(n).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 30, 30, 30]);
        assert_eq!((backoff.base(), backoff.multiplier(), backoff.cap()), (seconds(1.0), 2.0, seconds(30.0)));
    }

    #[test]
    fn impossible_numbers_are_refused() {
        let second = seconds(1.0);
        let spread = Jitter::Spread(0.0);
        assert_eq!(Backoff::new(second, 2.0, seconds(0.5), spread), Err(BackoffError::Cap));
        assert_eq!(Backoff::new(second, 2.0, Backoff::CAP_MAX + second, spread), Err(BackoffError::Cap));
        assert_eq!(Backoff::new(second, 0.99, second, spread), Err(BackoffError::Multiplier));
        assert_eq!(Backoff::new(second, 10.01, second, spread), Err(BackoffError::Multiplier));
        assert_eq!(Backoff::new(second, f64::NAN, second, spread), Err(BackoffError::Multiplier));
        assert_eq!(Backoff::new(second, 1.0, second, Jitter::Spread(-0.1)), Err(BackoffError::Jitter));
        assert_eq!(Backoff::new(second, 1.0, second, Jitter::Spread(1.1)), Err(BackoffError::Jitter));
        assert!(Backoff::new(second, 1.0, second, Jitter::Spread(1.0)).is_ok());
        assert!(Backoff::new(second, 10.0, Backoff::CAP_MAX, Jitter::Full).is_ok());
    }

    proptest! {
        #[test]
        fn delays_stay_within_their_bounds(
            base in 0.0..100.0f64, multiplier in 1.0..10.0f64, extra in 0.0..1000.0f64, share in 0.0..1.0f64,
            n in 0u32.., previous in 0.0..2000.0f64, seed: u64,
        ) {
            let mut rng = fastrand::Rng::with_seed(seed);
            let cap = base + extra;
            let slack = Duration::from_micros(1);

            let spread = backoff(base, multiplier, cap, Jitter::Spread(share));
            let delay = spread.delay(n, seconds(previous), &mut rng);
            prop_assert!(delay <= spread.plain(n).mul_f64(1.0 + share) + slack);
            prop_assert!(delay + slack >= spread.plain(n).mul_f64(1.0 - share));

            let full = backoff(base, multiplier, cap, Jitter::Full);
            prop_assert!(full.delay(n, seconds(previous), &mut rng) <= full.plain(n));

            let decorrelated = backoff(base, multiplier, cap, Jitter::Decorrelated);
            let delay = decorrelated.delay(n, seconds(previous), &mut rng);
            prop_assert!(delay >= decorrelated.base());
            prop_assert!(delay <= decorrelated.cap() + slack);
            prop_assert!(delay <= seconds(previous).max(decorrelated.base()) * 3 + slack);
        }

        #[test]
        fn plain_delays_never_shrink(base in 0.0..100.0f64, multiplier in 1.0..10.0f64, n in 1u32..2000) {
            let backoff = backoff(base, multiplier, 3600.0, Jitter::Full);
            prop_assert!(backoff.plain(n) <= backoff.plain(n + 1));
            prop_assert!(backoff.plain(n) <= backoff.cap());
        }
    }

    #[test]
    fn from_another_beginning_only_what_grows_keeps_its_cap() {
        let cap = |multiplier, jitter| backoff(5.0, multiplier, 60.0, jitter).beginning_at(seconds(1.0)).cap();
        assert_eq!(cap(2.0, Jitter::Full), seconds(60.0));
        assert_eq!(cap(1.0, Jitter::Decorrelated), seconds(60.0));
        assert_eq!(cap(1.0, Jitter::Full), seconds(1.0));
    }

    #[test]
    fn jitter_reaches_both_ends_of_its_range() {
        let mut rng = fastrand::Rng::with_seed(7);
        let backoff = backoff(10.0, 1.0, 10.0, Jitter::Spread(0.2));
        let delays: Vec<f64> = (0..1000).map(|_| backoff.delay(1, Duration::ZERO, &mut rng).as_secs_f64()).collect();
        assert!(delays.iter().any(|delay| *delay < 8.1) && delays.iter().any(|delay| *delay > 11.9));
        assert!(delays.iter().all(|delay| (8.0..=12.0).contains(delay)));
    }
}
