//! A modelled provider: a pure state machine that answers calls, well or badly, from a seed.
//!
//! It knows nothing of policies and breakers. A failure is built as a value; there is no text to
//! classify here.

use std::time::Duration;

use steadfast_core::cost::Usage;
use steadfast_core::{Failure, FailureKind, Instant};

/// How one endpoint behaves while nothing is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// The median time of a good answer, in milliseconds.
    pub median_ms: f64,
    /// How far answers spread around it: the sigma of a log-normal distribution.
    pub spread: f64,
    /// The median time of a failure, in milliseconds.
    pub failure_ms: f64,
}

/// Something wrong with some endpoints for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Which endpoints, by position.
    pub endpoints: Vec<usize>,
    /// When it begins and ends.
    pub span: Span,
    /// What is wrong.
    pub effect: Effect,
}

/// A stretch of simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From this moment on.
    pub from: Instant,
    /// Up to but not including this one.
    pub to: Instant,
}

/// What may be wrong with an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Nothing gets through: connections refused, 503s.
    Down,
    /// This share of calls fails in this way.
    Failing(f64, FailureKind),
    /// More than this many calls a minute are refused until the minute is over.
    RateLimit {
        /// Calls per minute.
        per_minute: u32,
    },
    /// After this many calls the quota is exhausted until it returns.
    Quota {
        /// Calls before it is exhausted.
        calls: u32,
        /// Seconds from the fault's begin to its return, and to each further one.
        reset_secs: u32,
    },
    /// Up and down in turn.
    Flapping {
        /// Seconds up.
        up_secs: u32,
        /// Seconds down.
        down_secs: u32,
    },
    /// Answers take ever longer: after each this many seconds, twice as long.
    SlowDeath {
        /// Seconds to double.
        doubling_secs: f64,
    },
    /// Above this many calls a second, work is wasted and calls are refused.
    Capacity {
        /// Calls per second.
        per_sec: f64,
    },
    /// This share of answers breaks off in the middle; what was read and written is charged.
    Cut(f64),
    /// This share of calls is never answered.
    Hang(f64),
}

/// One call, as the provider sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Tokens it holds in truth, whatever the caller believed.
    pub tokens: u32,
    /// How many the model holds.
    pub window: Option<u32>,
    /// What it uses if it succeeds.
    pub usage: Usage,
}

/// What the provider answers, and after how long.
#[derive(Clone, Debug)]
pub struct Reply {
    /// How long it takes.
    pub latency: Duration,
    /// When its first content comes, if any does: answers stream.
    pub begins: Option<Duration>,
    /// The failure, if it is one.
    pub failure: Option<Failure>,
    /// What is charged.
    pub usage: Usage,
}

/// One endpoint's provider.
#[derive(Debug)]
pub struct Provider {
    pace: Pace,
    faults: Vec<(Span, Effect)>,
    rng: fastrand::Rng,
    minute: (u64, u32),
    quota: (u64, u32),
    /// Calls a second, decaying.
    load: f64,
    load_at: Instant,
    /// When at least half of the calls last failed by design.
    last_bad: Option<Instant>,
}

/// Half of the calls, give or take the last bit of a product of shares.
const HALF: f64 = 0.5 - 1e-9;

/// Which part of its time an answer takes to its first content.
const FIRST_CONTENT: f64 = 0.25;

/// A breaker that opens this long after the trouble ended still opened for it: calls made during
/// the trouble end later.
const AFTERMATH: Duration = Duration::from_secs(10);

impl Provider {
    /// The provider at position `index`, with the faults that concern it.
    pub fn new(index: usize, pace: &Pace, faults: &[Fault], seed: u64) -> Self {
        let own = faults.iter().filter(|fault| fault.endpoints.contains(&index));
        Self {
            pace: pace.clone(),
            faults: own.map(|fault| (fault.span, fault.effect.clone())).collect(),
            rng: fastrand::Rng::with_seed(seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            minute: (0, 0),
            quota: (0, 0),
            load: 0.0,
            load_at: Instant::ORIGIN,
            last_bad: None,
        }
    }

    /// Answers one call.
    pub fn answer(&mut self, call: &Call, now: Instant) -> Reply {
        self.count(now);
        if self.failure_share(now) >= HALF {
            self.last_bad = Some(now);
        }
        if call.window.is_some_and(|window| call.tokens > window) {
            return self.fail(FailureKind::ContextLimit, None);
        }
        let mut slower = 1.0;
        for position in 0..self.faults.len() {
            let (span, ref effect) = self.faults[position];
            if !span.contains(now) {
                continue;
            }
            let since = now.since(span.from);
            match *effect {
                Effect::Down => return self.refuse(),
                Effect::Flapping { up_secs, down_secs } if is_down(since, up_secs, down_secs) => return self.refuse(),
                Effect::Flapping { .. } => {}
                Effect::Failing(share, kind) => {
                    if self.rng.f64() < share {
                        return self.fail(kind, None);
                    }
                }
                Effect::RateLimit { per_minute } => {
                    if self.minute.1 > per_minute {
                        let left = Duration::from_secs(60) - Duration::from_nanos(now.as_nanos() % 60_000_000_000);
                        return self.fail(FailureKind::RateLimit, Some(left));
                    }
                }
                Effect::Quota { calls, reset_secs } => {
                    let reset = Duration::from_secs(reset_secs.max(1).into());
                    let period = (since.as_nanos() / reset.as_nanos()) as u64;
                    let used = if self.quota.0 == period { self.quota.1 } else { 0 };
                    if used >= calls {
                        let left = reset.saturating_mul(period as u32 + 1).saturating_sub(since);
                        return self.fail(FailureKind::QuotaExhausted, Some(left));
                    }
                    self.quota = (period, used + 1);
                }
                Effect::SlowDeath { doubling_secs } => {
                    slower *= (since.as_secs_f64() / doubling_secs).min(20.0).exp2();
                }
                Effect::Capacity { per_sec } => {
                    if self.rng.f64() < overload(self.load, per_sec) {
                        return self.fail(FailureKind::Overloaded, None);
                    }
                }
                Effect::Cut(share) => {
                    if self.rng.f64() < share {
                        return self.cut(call, slower);
                    }
                }
                Effect::Hang(share) => {
                    if self.rng.f64() < share {
                        slower = f64::INFINITY;
                    }
                }
            }
        }
        let latency = self.latency(self.pace.median_ms, slower);
        Reply { latency, begins: Some(latency.mul_f64(FIRST_CONTENT)), failure: None, usage: call.usage }
    }

    /// How likely a call fails right now by design, not by bad luck.
    fn failure_share(&self, now: Instant) -> f64 {
        let mut passes = 1.0;
        for (span, effect) in &self.faults {
            if !span.contains(now) {
                continue;
            }
            let since = now.since(span.from);
            passes *= match *effect {
                Effect::Down => 0.0,
                Effect::Flapping { up_secs, down_secs } if is_down(since, up_secs, down_secs) => 0.0,
                Effect::Failing(share, _) | Effect::Cut(share) | Effect::Hang(share) => 1.0 - share,
                Effect::RateLimit { per_minute } if self.minute.1 > per_minute => 0.0,
                Effect::Quota { calls, .. } if self.quota.1 >= calls => 0.0,
                // Answers that take ten times as long as ever run into the time limit.
                Effect::SlowDeath { doubling_secs } if since.as_secs_f64() / doubling_secs > 3.3 => 0.0,
                Effect::Capacity { per_sec } => 1.0 - overload(self.load, per_sec),
                Effect::Flapping { .. }
                | Effect::RateLimit { .. }
                | Effect::Quota { .. }
                | Effect::SlowDeath { .. } => 1.0,
            };
        }
        1.0 - passes
    }

    /// Whether a breaker that opens now does so although nothing much is wrong: fewer than half
    /// of the calls have been failing by design for a while.
    pub fn is_false_open(&self, now: Instant) -> bool {
        let recently = self.last_bad.is_some_and(|bad| now.since(bad) <= AFTERMATH);
        !recently && self.failure_share(now) < HALF
    }

    fn count(&mut self, now: Instant) {
        let minute = now.as_nanos() / 60_000_000_000;
        self.minute = if self.minute.0 == minute { (minute, self.minute.1 + 1) } else { (minute, 1) };
        let passed = now.since(self.load_at).as_secs_f64();
        self.load = self.load * (-passed).exp() + 1.0;
        self.load_at = now;
    }

    fn refuse(&mut self) -> Reply {
        let kind = if self.rng.bool() { FailureKind::NetworkTransient } else { FailureKind::ServerError };
        self.fail(kind, None)
    }

    fn fail(&mut self, kind: FailureKind, retry_after: Option<Duration>) -> Reply {
        let failure = Failure { retry_after, status: status(kind), ..Failure::new(kind, "simulated") };
        let latency = self.latency(self.pace.failure_ms, 1.0);
        Reply { latency, begins: None, failure: Some(failure), usage: Usage::default() }
    }

    fn cut(&mut self, call: &Call, slower: f64) -> Reply {
        let share = self.rng.f64();
        let failure = Failure::new(FailureKind::StreamInterrupted, "simulated");
        let latency = self.latency(self.pace.median_ms * share, slower);
        let output_tokens = (call.usage.output_tokens as f64 * share) as u64;
        let begins = (share > FIRST_CONTENT).then(|| latency.mul_f64(FIRST_CONTENT / share));
        Reply { latency, begins, failure: Some(failure), usage: Usage { output_tokens, ..call.usage } }
    }

    /// Log-normal: four 16-bit numbers added up are near enough to a bell curve.
    fn latency(&mut self, median_ms: f64, slower: f64) -> Duration {
        let bits = self.rng.u64(..);
        let sum: u64 = (0..4).map(|part| bits >> (16 * part) & 0xffff).sum();
        let bell = (sum as f64 / 65535.0 - 2.0) * 3f64.sqrt();
        let millis = median_ms * (self.pace.spread * bell).exp() * slower;
        Duration::from_secs_f64((millis / 1000.0).min(1e6))
    }
}

impl Span {
    /// From one second to another.
    pub const fn secs(from: u64, to: u64) -> Self {
        Self { from: Instant::from_millis(from * 1000), to: Instant::from_millis(to * 1000) }
    }

    /// For as long as the run lasts.
    pub const ALWAYS: Self = Self { from: Instant::ORIGIN, to: Instant::FAR_FUTURE };

    /// Whether a moment lies in it.
    pub fn contains(&self, now: Instant) -> bool {
        self.from <= now && now < self.to
    }
}

fn is_down(since: Duration, up_secs: u32, down_secs: u32) -> bool {
    let turn = u64::from((up_secs + down_secs).max(1)) * 1_000_000_000;
    (since.as_nanos() as u64) % turn >= u64::from(up_secs) * 1_000_000_000
}

/// Overload wastes work: at twice the capacity, three in four calls fail, not two.
fn overload(load: f64, per_sec: f64) -> f64 {
    if load <= per_sec { 0.0 } else { 1.0 - (per_sec / load).powi(2) }
}

fn status(kind: FailureKind) -> Option<u16> {
    match kind {
        FailureKind::RateLimit | FailureKind::QuotaExhausted => Some(429),
        FailureKind::Overloaded => Some(529),
        FailureKind::ServerError => Some(503),
        FailureKind::AuthError => Some(401),
        FailureKind::ModelUnavailable => Some(404),
        FailureKind::InvalidRequest | FailureKind::ContextLimit | FailureKind::ContentFilter => Some(400),
        _ => None,
    }
}
