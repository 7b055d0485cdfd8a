//! What a run counts, second by second and in all.

use std::time::Duration;

use steadfast_core::breaker::State;
use steadfast_core::recovery::{Choice, Outcome};
use steadfast_core::{FailureKind, Instant};

use crate::op::{Op, Running};
use crate::provider::Span;
use crate::rare::Rarities;

/// What a run counted.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Requests that came in.
    pub requests: u64,
    /// Requests served.
    pub succeeded: u64,
    /// Requests that ended without an answer.
    pub gave_up: u64,
    /// Council turns that went on without the voice.
    pub degraded: u64,
    /// Requests whose caller left.
    pub cancelled: u64,
    /// Attempts made.
    pub attempts: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Retries decided.
    pub retries: u64,
    /// Fallbacks decided.
    pub fallbacks: u64,
    /// Attempts made against all breakers.
    pub panics: u64,
    /// Operations with a network failure, and those of them that were served.
    pub network: Share,
    /// Operations with a failure that may pass, and those of them that were served.
    pub transient: Share,
    /// Tasks that were restarted, and those of them that were served.
    pub restarted: Share,
    /// Extra attempts of operations that were served after a failure.
    pub extra_before_success: u64,
    /// Time from first failure to success, summed over operations served after a failure.
    pub recovery_total: Duration,
    /// Operations served after a failure.
    pub recovered: u64,
    /// Breakers that opened, and those of them that should not have.
    pub opens: Share,
    /// Money spent on failed attempts.
    pub failed_usd_micros: u64,
    /// Money spent altogether.
    pub spent_usd_micros: u64,
    /// Latency of every request served, in milliseconds.
    pub latencies_ms: Vec<u32>,
    /// By second of simulated time.
    pub seconds: Vec<Second>,
    /// By endpoint.
    pub endpoints: Vec<EndpointStats>,
    /// While the cause lasts and not every breaker is open.
    pub before_open: Phase,
    /// While the cause lasts, from the moment every breaker was open.
    pub once_open: Phase,
    /// When every breaker was open for the first time while the cause lasted.
    pub all_open: Option<Instant>,
    /// Rare states reached.
    pub rare: Rarities,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The whole.
    pub of: u64,
    /// The part.
    pub part: u64,
}

/// One second of simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Requests that came in.
    pub requests: u32,
    /// Those of them that were served, whenever that was.
    pub served: u32,
    /// Those of them that were not.
    pub lost: u32,
    /// Attempts started.
    pub attempts: u32,
    /// Attempts that failed.
    pub failures: u32,
}

/// One endpoint's part of a run.
#[derive(Clone, Debug, Default)]
pub struct EndpointStats {
    /// Its name.
    pub name: String,
    /// Attempts made there.
    pub attempts: u64,
    /// Those that failed.
    pub failures: u64,
    /// Its breaker's changes: when, and to what.
    pub changes: Vec<(Instant, State)>,
    /// Attempts started, by second.
    pub seconds: Vec<u32>,
}

/// Requests and attempts of a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Requests that came in.
    pub requests: u64,
    /// Attempts started.
    pub attempts: u64,
}

impl Stats {
    pub(crate) fn new(endpoints: impl Iterator<Item = String>) -> Self {
        let endpoints = endpoints.map(|name| EndpointStats { name, ..EndpointStats::default() }).collect();
        Self { endpoints, ..Self::default() }
    }

    pub(crate) fn request(&mut self, cause: Option<Span>, now: Instant) {
        self.requests += 1;
        self.second(now).requests += 1;
        if let Some(phase) = self.phase(cause, now) {
            phase.requests += 1;
        }
    }

    pub(crate) fn attempt(&mut self, running: &Running, cause: Option<Span>, now: Instant) {
        self.attempts += 1;
        self.panics += u64::from(running.choice == Choice::Panic);
        self.second(now).attempts += 1;
        if let Some(phase) = self.phase(cause, now) {
            phase.attempts += 1;
        }
        let endpoint = &mut self.endpoints[usize::from(running.target.endpoint.0)];
        endpoint.attempts += 1;
        *at_second(&mut endpoint.seconds, now) += 1;
    }

    pub(crate) fn failure(&mut self, op: &mut Op, running: &Running, kind: FailureKind, cost: u64, now: Instant) {
        self.failures += 1;
        self.failed_usd_micros += cost;
        self.second(now).failures += 1;
        self.endpoints[usize::from(running.target.endpoint.0)].failures += 1;
        op.first_failure.get_or_insert(now);
        let category = kind.category();
        op.had_network_failure |= category == steadfast_core::Category::NetworkTransient;
        op.had_transient_failure |= kind.may_pass();
    }

    pub(crate) fn outcome(&mut self, op: &Op, outcome: &Outcome, now: Instant) {
        let served = matches!(outcome, Outcome::Succeeded(_));
        match outcome {
            Outcome::Succeeded(_) => self.succeeded += 1,
            Outcome::GaveUp(_) => self.gave_up += 1,
            Outcome::Degraded => self.degraded += 1,
            Outcome::Cancelled => self.cancelled += 1,
        }
        let second = self.second(op.started);
        match outcome {
            Outcome::Succeeded(_) => second.served += 1,
            Outcome::GaveUp(_) | Outcome::Degraded => second.lost += 1,
            Outcome::Cancelled => return,
        }
        self.network.count(op.had_network_failure, served);
        self.transient.count(op.had_transient_failure, served);
        self.restarted.count(op.restarts > 0, served);
        self.retries += u64::from(op.retries);
        self.fallbacks += u64::from(op.fallbacks);
        if served {
            let latency = u32::try_from(now.since(op.started).as_millis()).unwrap_or(u32::MAX);
            self.latencies_ms.push(latency);
        }
        if let Some(failed) = op.first_failure.filter(|_| served) {
            self.recovered += 1;
            self.recovery_total += now.since(failed);
            self.extra_before_success += u64::from(op.attempts - 1);
        }
    }

    /// From the cause's end to the first moment after which every second is normal again: at
    /// least 99 % served, and no more than 1.2 attempts per request. `None` if that never comes.
    pub fn recovered_after(&self, cause: Span, seconds: u32) -> Option<Duration> {
        let end = cause.to.as_millis().div_ceil(1000) as usize;
        let last = (seconds as usize).min(self.seconds.len());
        let normal = |second: &Second| {
            let ended = f64::from(second.served + second.lost);
            f64::from(second.served) >= 0.99 * ended && f64::from(second.attempts) <= 1.2 * ended.max(1.0) + 5.0
        };
        let bad = self.seconds.get(end..last)?.iter().rposition(|second| !normal(second));
        let after = bad.map_or(0, |bad| bad + 1);
        (end + after < last).then(|| Duration::from_secs(after as u64))
    }

    fn phase(&mut self, cause: Option<Span>, now: Instant) -> Option<&mut Phase> {
        cause.filter(|span| span.contains(now))?;
        Some(if self.all_open.is_some() { &mut self.once_open } else { &mut self.before_open })
    }

    fn second(&mut self, now: Instant) -> &mut Second {
        at_second(&mut self.seconds, now)
    }
}

impl Share {
    fn count(&mut self, of: bool, part: bool) {
        self.of += u64::from(of);
        self.part += u64::from(of && part);
    }

    /// The part as a share of the whole, if there is a whole.
    pub fn ratio(&self) -> Option<f64> {
        (self.of > 0).then(|| self.part as f64 / self.of as f64)
    }

    /// Both added up.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { of: self.of + other.of, part: self.part + other.part }
    }
}

impl Phase {
    /// Attempts per request, if there was a request.
    pub fn amplification(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.attempts as f64 / self.requests as f64)
    }

    /// Both added up.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { requests: self.requests + other.requests, attempts: self.attempts + other.attempts }
    }
}

fn at_second<T: Clone + Default>(seconds: &mut Vec<T>, now: Instant) -> &mut T {
    let second = (now.as_millis() / 1000) as usize;
    if seconds.len() <= second {
        seconds.resize(second + 1, T::default());
    }
    &mut seconds[second]
}
