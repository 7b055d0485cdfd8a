//! Allowances that keep an outage from being multiplied: retries per endpoint, fallbacks per
//! project, and the throttle of panic mode.
//!
//! Balances are whole thousandths of an attempt, so what is deposited, withdrawn and lost to the
//! cap adds up exactly.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::time::Instant;
use crate::window::mix;

const ATTEMPT: u64 = 1000;

/// An allowance of extra attempts: earned by traffic or success, trickling in slowly, capped.
#[derive(Debug)]
pub struct Allowance {
    /// What each deposit brings, in thousandths of an attempt.
    share: u64,
    /// What trickles in per second, in thousandths of an attempt.
    reserve_per_sec: u64,
    cap: u64,
    /// How many replicas there are: what does not come from traffic is divided among them.
    replicas: AtomicU32,
    balance: AtomicU64,
    /// Up to when the trickle has been paid out, in nanoseconds.
    trickled: AtomicU64,
}

/// What an allowance starts with and holds at most, in attempts. Enough for a lone agent that
/// meets a bad minute; next to a thousand clients it is nothing.
const BURST: u64 = 10;

/// The same for a project's fallbacks. They are given back only when they have served, a call's
/// time later, so this also bounds how many are under way before successes pay for more.
const FALLBACK_BURST: u64 = 100;

/// Attempts that may always be made, per second. At the rates of language models the reserve
/// rules, not the share, so it is small (resilience.md 6.3).
const RESERVE_PER_SEC: f64 = 0.1;

impl Allowance {
    /// Retries at one endpoint: each request brings `share` of an attempt.
    pub fn for_retries(share: f64) -> Self {
        Self::new(share, RESERVE_PER_SEC, BURST)
    }

    /// Fallbacks of one project: each *success* brings `share` of an attempt, so a project can
    /// afford to look elsewhere while somebody serves it, and stops when nobody does. It holds
    /// more than a retry allowance: when a busy primary dies, everything in flight falls back.
    pub fn for_fallbacks(share: f64) -> Self {
        Self::new(share, RESERVE_PER_SEC, FALLBACK_BURST)
    }

    fn new(share: f64, reserve_per_sec: f64, burst: u64) -> Self {
        let thousandths = |attempts: f64| (attempts.clamp(0.0, 1000.0) * ATTEMPT as f64).round() as u64;
        let cap = burst * ATTEMPT;
        Self {
            share: thousandths(share),
            reserve_per_sec: thousandths(reserve_per_sec),
            cap,
            replicas: AtomicU32::new(1),
            balance: AtomicU64::new(cap),
            trickled: AtomicU64::new(0),
        }
    }

    /// Divides what does not come from traffic among so many replicas. Shares of traffic add up by
    /// themselves; bursts and reserves would be multiplied.
    pub fn divide_among(&self, replicas: u32) {
        let replicas = replicas.max(1);
        if self.replicas.swap(replicas, Ordering::Relaxed) != replicas {
            self.balance.fetch_min(self.cap(), Ordering::Relaxed);
        }
    }

    /// Earns one deposit.
    pub fn deposit(&self) {
        self.credit(self.share);
    }

    /// Gives an attempt back: it proved worth it.
    pub fn refund(&self) {
        self.credit(ATTEMPT);
    }

    /// Takes one attempt, if there is one.
    pub fn withdraw(&self, now: Instant) -> bool {
        self.trickle(now);
        let taken =
            self.balance.try_update(Ordering::Relaxed, Ordering::Relaxed, |balance| balance.checked_sub(ATTEMPT));
        taken.is_ok()
    }

    /// Whole attempts left.
    pub fn left(&self) -> u64 {
        self.balance.load(Ordering::Relaxed) / ATTEMPT
    }

    /// The most extra attempts that any `requests` deposits over `span` can ever pay for.
    pub fn bound(&self, deposits: u64, span: Duration) -> u64 {
        let trickled = span.as_millis() as u64 * self.reserve_per_sec / 1000 / self.replicas();
        (self.cap() + deposits * self.share + trickled) / ATTEMPT
    }

    /// A number that changes with everything the allowance remembers. For tests and simulations.
    pub fn fingerprint(&self) -> u64 {
        mix(self.balance.load(Ordering::Relaxed), self.trickled.load(Ordering::Relaxed))
    }

    fn credit(&self, thousandths: u64) {
        // In good times the balance is at its cap, and one load is all this costs.
        let cap = self.cap();
        let credited = |balance: u64| (balance < cap).then(|| (balance + thousandths).min(cap));
        _ = self.balance.try_update(Ordering::Relaxed, Ordering::Relaxed, credited);
    }

    /// A replica can always make one attempt more, however many there are.
    fn cap(&self) -> u64 {
        (self.cap / self.replicas()).max(ATTEMPT)
    }

    fn replicas(&self) -> u64 {
        self.replicas.load(Ordering::Relaxed).into()
    }

    fn trickle(&self, now: Instant) {
        let paid = self.trickled.load(Ordering::Relaxed);
        let millis = u64::try_from(now.since(Instant::from_nanos(paid)).as_millis()).unwrap_or(u64::MAX);
        let earned = millis.saturating_mul(self.reserve_per_sec) / 1000 / self.replicas();
        // Only whole thousandths move the mark, or frequent callers would round it all away; and
        // only the caller who moves it is paid, or two at once would earn the same time twice.
        let moved = |paid| self.trickled.compare_exchange(paid, now.as_nanos(), Ordering::Relaxed, Ordering::Relaxed);
        if earned > 0 && moved(paid).is_ok() {
            self.credit(earned);
        }
    }
}

/// Panic mode's throttle: when every breaker refuses, a share of requests still goes out, and the
/// share follows how many of the last attempts the endpoint accepted.
///
/// The SRE book's client-side throttling with a memory of attempts, not of minutes: a window of
/// two minutes takes more than one of them to believe in an outage, at a full attempt per request.
#[derive(Debug)]
pub struct Throttle {
    /// The share of attempts accepted, the latest weighing most, in parts of `WHOLE`.
    accepted: AtomicU64,
    /// About when the last attempt ended, or one was let through for want of any, in nanoseconds.
    last: AtomicU64,
    /// How many attempts have ended badly since one was accepted.
    row: AtomicU32,
}

impl Throttle {
    /// An endpoint that accepts a third of what it is asked is used without limit. At the SRE
    /// book's factor of two, a 50 % brown-out would sit exactly on the edge.
    const FACTOR: u64 = 3;

    /// One attempt weighs a twentieth: about the last twenty count.
    const MEMORY: u64 = 20;

    /// From this many in a row on, each halves the share: a brown-out seldom shows as many, and an
    /// outage nothing else. One that is accepted brings the whole share back.
    const ROW: u32 = 7;

    /// This share always goes out, or the end of a long outage would be noticed late.
    const FLOOR: f64 = 0.01;

    /// After this long without any attempt one goes out: where little is asked for, the share alone
    /// would notice the end of an outage late.
    const STALE: Duration = Duration::from_secs(5);

    /// How exactly `last` is kept: writing it for every attempt would only make threads wait.
    const LAST_WITHIN: Duration = Duration::from_secs(1);

    const WHOLE: u64 = 1 << 32;

    /// A throttle with no history.
    pub fn new() -> Self {
        Self { accepted: AtomicU64::new(Self::WHOLE), last: AtomicU64::new(0), row: AtomicU32::new(0) }
    }

    /// Whether an attempt against all breakers may go out; `chance` is a random number below 1.
    pub fn allow(&self, chance: f64, now: Instant) -> bool {
        let beyond = self.row.load(Ordering::Relaxed).saturating_sub(Self::ROW).min(63);
        let share = ((Self::FACTOR * self.accepted.load(Ordering::Relaxed)) >> beyond) as f64 / Self::WHOLE as f64;
        chance < share.max(Self::FLOOR) || self.is_stale(now)
    }

    /// Whether nobody has been let through for a while; whoever is told so is let through.
    fn is_stale(&self, now: Instant) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        let moved = || self.last.compare_exchange(last, now.as_nanos(), Ordering::Relaxed, Ordering::Relaxed);
        now.since(Instant::from_nanos(last)) > Self::STALE && moved().is_ok()
    }

    /// A number that changes with everything the throttle remembers. For tests and simulations.
    pub fn fingerprint(&self) -> u64 {
        let row = self.row.load(Ordering::Relaxed).into();
        [self.last.load(Ordering::Relaxed), row].into_iter().fold(self.accepted.load(Ordering::Relaxed), mix)
    }

    /// Whether the last attempt was accepted.
    pub fn served_last(&self) -> bool {
        self.row.load(Ordering::Relaxed) == 0
    }

    /// Takes the end of any attempt at the endpoint.
    pub fn record(&self, accepted: bool, now: Instant) {
        let moved = |share: u64| {
            let moved =
                if accepted { share + (Self::WHOLE - share) / Self::MEMORY } else { share - share / Self::MEMORY };
            // In good times nothing changes, and one load is all this costs.
            (moved != share).then_some(moved)
        };
        if !accepted {
            // Far beyond what counts it may wrap for all that matters: after four thousand million.
            self.row.fetch_add(1, Ordering::Relaxed);
        } else if self.row.load(Ordering::Relaxed) != 0 {
            self.row.store(0, Ordering::Relaxed);
        }
        _ = self.accepted.try_update(Ordering::Relaxed, Ordering::Relaxed, moved);
        if now.since(Instant::from_nanos(self.last.load(Ordering::Relaxed))) > Self::LAST_WITHIN {
            self.last.store(now.as_nanos(), Ordering::Relaxed);
        }
    }
}

impl Default for Throttle {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn an_allowance_starts_full_and_runs_dry() {
        let allowance = Allowance::for_retries(0.2);
        let granted = (0..100).filter(|_| allowance.withdraw(at(0))).count();
        assert_eq!(granted, BURST as usize);
        for _ in 0..5 {
            assert!(!allowance.withdraw(at(0)));
            allowance.deposit();
        }
        assert!(allowance.withdraw(at(0)), "five deposits of a fifth make one attempt");
        assert!(!allowance.withdraw(at(0)));
    }

    #[test]
    fn the_reserve_trickles_in_however_often_one_asks() {
        let allowance = Allowance::for_retries(0.0);
        while allowance.withdraw(at(0)) {}
        let granted = (0..100_000).filter(|millis| allowance.withdraw(at(*millis))).count();
        assert_eq!(granted, 9, "a tenth of an attempt per second over 100 s, the last not yet whole");
    }

    #[test]
    fn a_refund_never_lifts_the_balance_over_the_cap() {
        let allowance = Allowance::for_fallbacks(1.0);
        allowance.refund();
        assert_eq!(allowance.left(), FALLBACK_BURST);
        assert!(allowance.withdraw(at(0)));
        assert_eq!(allowance.left(), FALLBACK_BURST - 1);
        allowance.refund();
        assert_eq!(allowance.left(), FALLBACK_BURST);
    }

    proptest! {
        /// Replicas that divide an allowance can never make more extra attempts than one could alone.
        #[test]
        fn replicas_together_keep_the_bound_of_one(
            replicas in 1u32..=10, steps in proptest::collection::vec((0usize..10, 0u64..500, any::<bool>()), 0..500),
        ) {
            let all: Vec<Allowance> = (0..replicas).map(|_| Allowance::for_retries(0.2)).collect();
            all.iter().for_each(|allowance| allowance.divide_among(replicas));
            let (mut now, mut deposits, mut withdrawn) = (0, 0, 0);
            for (who, pause, deposit) in steps {
                now += pause;
                let allowance = &all[who % all.len()];
                if deposit {
                    allowance.deposit();
                    deposits += 1;
                } else if allowance.withdraw(at(now)) {
                    withdrawn += 1;
                }
                let alone = Allowance::for_retries(0.2).bound(deposits, Duration::from_millis(now));
                prop_assert!(withdrawn <= alone, "{withdrawn} of {alone}");
            }
        }

        #[test]
        fn withdrawals_never_pass_the_bound(steps in proptest::collection::vec((0u64..500, any::<bool>()), 0..500)) {
            let allowance = Allowance::for_retries(0.2);
            let (mut now, mut deposits, mut withdrawn) = (0, 0, 0);
            for (pause, deposit) in steps {
                now += pause;
                if deposit {
                    allowance.deposit();
                    deposits += 1;
                } else if allowance.withdraw(at(now)) {
                    withdrawn += 1;
                }
                prop_assert!(withdrawn <= allowance.bound(deposits, Duration::from_millis(now)));
                prop_assert!(allowance.left() <= BURST);
            }
        }
    }

    #[test]
    fn the_throttle_lets_a_brown_out_through_and_holds_an_outage_back() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut sent = |accepts: f64| {
            let throttle = Throttle::new();
            let mut sent = 0;
            for step in 0..10_000 {
                let now = at(step * 10);
                if throttle.allow(rng.f64(), now) {
                    sent += 1;
                    let accepted = rng.f64() < accepts;
                    throttle.record(accepted, now);
                }
            }
            sent
        };
        // Longer rows are held back a little.
        let half = sent(0.5);
        assert!(half > 9_500, "{half}");
        assert!(sent(0.0) < 300);
        let tenth = sent(0.1);
        assert!(tenth < 3_500, "a tenth accepted should send about three tenths, sent {tenth}");
    }

    #[test]
    fn an_outage_is_believed_after_a_row_and_forgotten_with_the_first_that_is_accepted() {
        let throttle = Throttle::new();
        throttle.record(true, at(10_000));
        assert!(throttle.served_last());
        for (failures, share) in [(7, 2.095), (8, 0.995), (10, 0.2245), (13, 0.0241)] {
            let throttle = Throttle::new();
            (0..100).for_each(|_| throttle.record(true, at(10_000)));
            (0..failures).for_each(|_| throttle.record(false, at(10_000)));
            assert!(throttle.allow(share * 0.95, at(10_000)), "{failures}");
            assert!(!throttle.allow(share * 1.05, at(10_000)), "{failures}");
            assert!(!throttle.served_last());
            throttle.record(true, at(10_000));
            assert!(throttle.allow(0.99, at(10_000)) && throttle.served_last());
        }
    }

    #[test]
    fn whom_nobody_asks_is_asked_again_by_one() {
        let throttle = Throttle::new();
        (0..100).for_each(|_| throttle.record(false, at(10_000)));
        assert!(throttle.allow(0.0, at(10_000)), "a hundredth always goes out");
        assert!(!throttle.allow(Throttle::FLOOR, at(10_000)));
        assert!(!throttle.allow(0.5, at(15_000)));
        assert!(throttle.allow(0.5, at(15_001)));
        assert!(!throttle.allow(0.5, at(15_001)), "one goes out, not all");
        // The end of an attempt is noted to the second.
        throttle.record(false, at(16_001));
        assert!(throttle.allow(0.5, at(20_002)));
        throttle.record(false, at(21_003));
        assert!(!throttle.allow(0.5, at(26_002)) && throttle.allow(0.5, at(26_004)));
    }

    #[test]
    fn what_an_allowance_can_ever_pay_for_is_its_cap_its_share_and_its_trickle() {
        let allowance = Allowance::for_retries(0.2);
        assert_eq!(allowance.bound(0, Duration::ZERO), BURST);
        assert_eq!(allowance.bound(50, Duration::ZERO), BURST + 10);
        assert_eq!(allowance.bound(50, Duration::from_secs(100)), BURST + 10 + 10);
        allowance.divide_among(2);
        assert_eq!(allowance.bound(50, Duration::from_secs(100)), BURST / 2 + 10 + 5, "of traffic each has its own");
    }
}
