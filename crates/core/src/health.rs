//! Health of something that can be pinged: latency, success and failure rate over recent pings.
//!
//! Unhealthy at half of the pings failing. A ping that cannot be made says nothing about the
//! other side, so it counts as healthy: a broken monitor must never take a good worker down.

use std::time::Duration;

use crate::breaker::Outcome;
use crate::kind::FailureKind;
use crate::time::Instant;
use crate::window::Window;

/// How often the seeds' monitors ask.
pub const PING_EVERY: Duration = Duration::from_secs(30);

/// What one ping said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ping {
    /// It answered after this long.
    Answered(Duration),
    /// It did not answer, or answered badly.
    Failed,
    /// The ping could not be made.
    NotMade,
}

impl Ping {
    /// What an answer that came after `took` says; `failure` where it was a bad one.
    ///
    /// Who asks for less, for a key or for another path is there. Who says that it cannot serve is
    /// not: that is what a health check is asked for, so overload counts as failing here.
    pub const fn of(failure: Option<FailureKind>, took: Duration) -> Self {
        let Some(kind) = failure else { return Self::Answered(took) };
        match (kind, kind.endpoint_outcome()) {
            (FailureKind::RateLimit, _) | (_, Outcome::Neutral | Outcome::Success) => Self::Answered(took),
            (_, Outcome::Failure | Outcome::Degraded) => Self::Failed,
        }
    }
}

/// Whether it may be given work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It answers, or nothing speaks against it.
    Healthy,
    /// Half of its recent pings failed.
    Unhealthy,
}

/// Recent pings of one thing.
#[derive(Debug)]
pub struct Health {
    window: Window,
    /// A moving average of the latency; recent pings weigh an eighth.
    latency: Option<Duration>,
    unhealthy_share: f64,
}

impl Health {
    /// How far back it looks: ten pings at the usual pace.
    pub const WINDOW: Duration = Duration::from_secs(300);

    /// Pings below which a failure is not a verdict.
    const FLOOR: u64 = 2;

    /// Nothing known, so healthy; unhealthy once this share of pings failed (the seeds say 0.5).
    pub fn new(unhealthy_share: f64) -> Self {
        Self { window: Window::new(Self::WINDOW), latency: None, unhealthy_share }
    }

    /// The same for something that is pinged at this pace: it looks as many pings back.
    pub fn pinged_every(every: Duration, unhealthy_share: f64) -> Self {
        let pings = (Self::WINDOW.as_secs() / PING_EVERY.as_secs()) as u32;
        Self { window: Window::new(every.saturating_mul(pings)), ..Self::new(unhealthy_share) }
    }

    /// Takes one ping.
    pub fn record(&mut self, ping: Ping, now: Instant) {
        match ping {
            Ping::Answered(latency) => {
                self.window.good(now);
                self.latency = Some(self.latency.map_or(latency, |average| (average * 7 + latency) / 8));
            }
            Ping::Failed => self.window.bad(now),
            Ping::NotMade => self.window.good(now),
        }
    }

    /// Whether it may be given work.
    pub fn verdict(&self, now: Instant) -> Verdict {
        let enough = self.window.counts(now).total() >= Self::FLOOR;
        let failing = self.failure_rate(now).is_some_and(|rate| rate >= self.unhealthy_share);
        if enough && failing { Verdict::Unhealthy } else { Verdict::Healthy }
    }

    /// The share of recent pings that failed, where there were any.
    pub fn failure_rate(&self, now: Instant) -> Option<f64> {
        let counts = self.window.counts(now);
        (counts.total() > 0).then(|| counts.bad as f64 / counts.total() as f64)
    }

    /// The average latency of its answers.
    pub const fn latency(&self) -> Option<Duration> {
        self.latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+` answered in 100 ms, `x` failed, `?` could not be made; one ping every 30 s.
    fn verdicts(script: &str) -> String {
        let mut health = Health::new(0.5);
        let mut now = Instant::from_millis(1_000);
        let mut verdicts = String::new();
        for step in script.chars() {
            let ping = match step {
                '+' => Ping::Answered(Duration::from_millis(100)),
                'x' => Ping::Failed,
                '?' => Ping::NotMade,
                other => panic!("`{other}` is not a ping"),
            };
            health.record(ping, now);
            verdicts.push(if health.verdict(now) == Verdict::Healthy { 'h' } else { 'u' });
            now = now + PING_EVERY;
        }
        verdicts
    }

    #[test]
    fn half_of_the_pings_failing_is_unhealthy() {
        assert_eq!(verdicts("+x+x++"), "huhuhh");
        assert_eq!(verdicts("xx"), "hu", "one failed ping is not a verdict");
        assert_eq!(verdicts("++++x"), "hhhhh");
    }

    #[test]
    fn a_ping_that_cannot_be_made_counts_as_healthy() {
        assert_eq!(verdicts("???x?"), "hhhhh");
    }

    #[test]
    fn old_pings_are_forgotten_and_nothing_known_is_healthy() {
        let mut health = Health::new(0.5);
        assert_eq!(health.verdict(Instant::ORIGIN), Verdict::Healthy);
        assert_eq!(health.failure_rate(Instant::ORIGIN), None);
        for _ in 0..5 {
            health.record(Ping::Failed, Instant::ORIGIN);
        }
        assert_eq!(health.verdict(Instant::ORIGIN), Verdict::Unhealthy);
        assert_eq!(health.verdict(Instant::ORIGIN + 2 * Health::WINDOW), Verdict::Healthy);
    }

    #[test]
    fn a_quicker_pace_looks_back_a_shorter_time() {
        let mut health = Health::pinged_every(Duration::from_secs(1), 0.5);
        let at = |secs| Instant::ORIGIN + Duration::from_secs(secs);
        (0..60).for_each(|second| health.record(Ping::Answered(Duration::ZERO), at(second)));
        (60..70).for_each(|second| health.record(Ping::Failed, at(second)));
        assert_eq!(health.verdict(at(70)), Verdict::Unhealthy, "a minute of good pings does not hide ten bad ones");
        (70..80).for_each(|second| health.record(Ping::Answered(Duration::ZERO), at(second)));
        assert_eq!(health.verdict(at(80)), Verdict::Healthy);
    }

    #[test]
    fn an_answer_that_refuses_us_is_an_answer() {
        let took = Duration::from_millis(5);
        for kind in [FailureKind::AuthError, FailureKind::InvalidRequest, FailureKind::RateLimit] {
            assert_eq!(Ping::of(Some(kind), took), Ping::Answered(took), "{kind:?}");
        }
        for kind in [FailureKind::ServerError, FailureKind::Overloaded, FailureKind::Timeout, FailureKind::Unknown] {
            assert_eq!(Ping::of(Some(kind), took), Ping::Failed, "{kind:?}");
        }
        assert_eq!(Ping::of(None, took), Ping::Answered(took));
    }

    #[test]
    fn latency_is_an_average_that_follows() {
        let mut health = Health::new(0.5);
        health.record(Ping::Answered(Duration::from_millis(800)), Instant::ORIGIN);
        assert_eq!(health.latency(), Some(Duration::from_millis(800)));
        health.record(Ping::Answered(Duration::ZERO), Instant::ORIGIN);
        assert_eq!(health.latency(), Some(Duration::from_millis(700)));
        health.record(Ping::Failed, Instant::ORIGIN);
        assert_eq!(health.latency(), Some(Duration::from_millis(700)));
        health.record(Ping::Answered(Duration::from_millis(1_500)), Instant::ORIGIN);
        assert_eq!(health.latency(), Some(Duration::from_millis(800)));
    }
}
