//! What providers say about their own limits, on every answer: so much is left, until then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::classify::wait;
use crate::time::{Instant, Timestamp};

/// What the headers of one answer say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests.
    pub requests: Option<Left>,
    /// Tokens: whichever of several such limits has least left.
    pub tokens: Option<Left>,
}

/// What is left of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// How many there are in all, where that is said.
    pub limit: Option<u64>,
    /// How many are left.
    pub remaining: u64,
    /// How long until more are there, where that is said.
    pub reset: Option<Duration>,
}

/// The headers of one limit.
struct Names {
    remaining: &'static str,
    reset: &'static str,
    limit: &'static str,
}

const fn names(remaining: &'static str, reset: &'static str, limit: &'static str) -> Names {
    Names { remaining, reset, limit }
}

#[rustfmt::skip]
const REQUESTS: [Names; 4] = [
    names("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests", "x-ratelimit-limit-requests"),
    names("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset", "anthropic-ratelimit-requests-limit"),
    names("x-ratelimit-remaining", "x-ratelimit-reset", "x-ratelimit-limit"),
    names("ratelimit-remaining", "ratelimit-reset", "ratelimit-limit"),
];

#[rustfmt::skip]
const TOKENS: [Names; 4] = [
    names("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", "x-ratelimit-limit-tokens"),
    names("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset", "anthropic-ratelimit-tokens-limit"),
    names("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-input-tokens-limit"),
    names("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset", "anthropic-ratelimit-output-tokens-limit"),
];

/// Reads what an answer says about its provider's limits; `None` where it says nothing, as most do.
pub fn seen<'h>(header: impl Fn(&'static str) -> Option<&'h str>, now: Timestamp) -> Option<Seen> {
    let left = |names: &Names| {
        let remaining: f64 = header(names.remaining)?.trim().parse().ok()?;
        let limit = header(names.limit).and_then(|limit| limit.trim().parse().ok());
        let reset = header(names.reset).and_then(|reset| wait::reset_of(reset, now));
        Some(Left { limit, remaining: remaining.max(0.0) as u64, reset })
    };
    let least = |known: &[Names]| known.iter().filter_map(left).min_by_key(|left| left.remaining);
    let seen = Seen { requests: least(&REQUESTS), tokens: least(&TOKENS) };
    (seen != Seen::default()).then_some(seen)
}

/// What an endpoint's answers said lately. Written by every answer that says something, read by
/// whoever wants to start: plain atomics, and it does not matter whose word is last.
#[derive(Debug)]
pub struct Learned {
    /// Nothing is left until then, in nanoseconds.
    used_up_until: AtomicU64,
    requests: Gauge,
    tokens: Gauge,
}

#[derive(Debug)]
struct Gauge {
    limit: AtomicU64,
    remaining: AtomicU64,
    reset_at: AtomicU64,
}

/// For what nobody has said.
const UNKNOWN: u64 = u64::MAX;

/// A provider's word is taken for this long. If more is true, its next refusal says so in full.
const BELIEVED_MAX: Duration = Duration::from_secs(60);

impl Learned {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { used_up_until: AtomicU64::new(0), requests: Gauge::new(), tokens: Gauge::new() }
    }

    /// Takes in what an answer said.
    pub fn note(&self, seen: &Seen, now: Instant) {
        for (gauge, left) in [(&self.requests, seen.requests), (&self.tokens, seen.tokens)] {
            let Some(left) = left else { continue };
            gauge.note(&left, now);
            if let (0, Some(reset)) = (left.remaining, left.reset) {
                let until = now + reset.min(BELIEVED_MAX);
                self.used_up_until.fetch_max(until.as_nanos(), Ordering::Relaxed);
            }
        }
    }

    /// Until when nothing is left, where that is so.
    pub fn used_up_until(&self, now: Instant) -> Option<Instant> {
        let until = Instant::from_nanos(self.used_up_until.load(Ordering::Relaxed));
        (now < until).then_some(until)
    }

    /// The provider served all the same, or a person knows better.
    pub fn forget(&self) {
        self.used_up_until.store(0, Ordering::Relaxed);
    }

    /// What is known now; a limit whose reset has passed is not.
    pub fn seen(&self, now: Instant) -> Seen {
        Seen { requests: self.requests.left(now), tokens: self.tokens.left(now) }
    }
}

impl Default for Learned {
    fn default() -> Self {
        Self::new()
    }
}

impl Gauge {
    const fn new() -> Self {
        Self { limit: AtomicU64::new(UNKNOWN), remaining: AtomicU64::new(UNKNOWN), reset_at: AtomicU64::new(UNKNOWN) }
    }

    fn note(&self, left: &Left, now: Instant) {
        let reset_at = left.reset.map_or(UNKNOWN, |reset| (now + reset).as_nanos());
        self.limit.store(left.limit.unwrap_or(UNKNOWN), Ordering::Relaxed);
        self.remaining.store(left.remaining.min(UNKNOWN - 1), Ordering::Relaxed);
        self.reset_at.store(reset_at, Ordering::Relaxed);
    }

    fn left(&self, now: Instant) -> Option<Left> {
        let known = |cell: &AtomicU64| Some(cell.load(Ordering::Relaxed)).filter(|value| *value != UNKNOWN);
        let reset_at = known(&self.reset_at).map(Instant::from_nanos);
        if reset_at.is_some_and(|reset| reset <= now) {
            return None;
        }
        let reset = reset_at.map(|reset| reset.since(now));
        Some(Left { limit: known(&self.limit), remaining: known(&self.remaining)?, reset })
    }
}
