//! Rate limits: how many requests may start in any minute, asked before a call.
//!
//! A sliding window of seconds, not a bucket that refills: never more than the limit in any sixty
//! seconds, which is what a person means who writes it down. A second counts until sixty whole ones
//! have passed after it, so a limit that is used to the full gives up to a sixtieth less.
//!
//! Where replicas share a limit, each takes slices of it ahead (`Source::Leased`) and decides from
//! what it holds. Whoever fetches the slices calls [`RateLimit::report`] and [`RateLimit::told`];
//! while nobody does, a replica keeps to its share of the limit by itself.

mod rates;
mod seen;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::time::Instant;

pub use rates::{Rates, Refused, Whose};
pub use seen::{Learned, Left, Seen, seen};

/// The span a limit speaks of, in seconds.
pub const SPAN_S: u64 = 60;

/// One more second than the span: the one under way is not over yet.
const SLOTS: usize = SPAN_S as usize + 1;

/// How long a slice may be held: whoever hands it out counts it from when it was handed out.
pub const HOLD: Duration = Duration::from_secs(1);

/// A slice as old as this is exchanged for a fresh one.
const EXCHANGE: Duration = Duration::from_millis(600);

/// What nobody has used for this long goes back.
const IDLE: Duration = Duration::from_millis(200);

/// How old what is known of a shared limit may get: it is what counts when nobody answers any more.
const REFRESH: Duration = Duration::from_secs(1);

/// After "nothing is left", the question is not repeated for this long.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// At most so many requests in any minute.
#[derive(Debug)]
pub struct RateLimit {
    limit: u32,
    state: Mutex<State>,
}

/// How a limit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Requests per minute.
    pub limit: u32,
    /// How many may start now.
    pub remaining: u32,
    /// How long until all of them may.
    pub reset: Duration,
    /// How long until one may; zero where one may now.
    pub wait: Duration,
}

/// Why a request may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The limit is reached.
    Reached(Standing),
    /// Nothing of the shared limit is at hand; what is left of it must be asked for.
    Ask,
}

/// What a replica says about its part of a shared limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests that were started without asking.
    pub used: u32,
    /// What it held and gives back.
    pub given_back: u32,
    /// What requests are waiting for.
    pub short: u32,
    /// What it would like to hold beyond that.
    pub ahead: u32,
}

/// What a replica is told about a shared limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// How many requests it may start.
    pub granted: u32,
    /// What is left for anybody after that.
    pub remaining: u32,
    /// How long until one more is there, where nothing is left.
    pub wait: Duration,
    /// How long until all are there.
    pub reset: Duration,
    /// How many share the limit.
    pub replicas: u32,
}

#[derive(Debug)]
struct State {
    ring: Ring,
    source: Source,
    /// How many share the limit, as far as is known.
    replicas: u32,
    /// Started without a slice, and not reported.
    unreported: u32,
    /// Could not start for want of a slice, since the last report.
    short: u32,
}

/// Where leave to start comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The window alone.
    Own,
    /// What was left of a shared limit when nobody handed out slices any more: an equal part of it, for
    /// the minute in which what others started still counts.
    Orphaned { spare: u32, until: Instant },
    /// Slices of a limit that others use too.
    Leased(Lease),
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    left: u32,
    since: Instant,
    /// When all of this was told.
    told: Instant,
    /// What others have left over, when it was last told.
    remaining: u32,
    /// Nothing is left before then, as far as is known.
    dry_until: Instant,
    reset_at: Instant,
    /// Until then asking would bring the same answer.
    ask_at: Instant,
}

/// Requests that started, by the second.
#[derive(Debug)]
struct Ring {
    counts: [u32; SLOTS],
    /// The second that the newest count belongs to.
    newest: u64,
    total: u32,
}

impl RateLimit {
    /// A limit that nobody has used.
    pub fn per_minute(limit: u32) -> Self {
        let ring = Ring { counts: [0; SLOTS], newest: 0, total: 0 };
        let state = State { ring, source: Source::Own, replicas: 1, unreported: 0, short: 0 };
        Self { limit: limit.max(1), state: Mutex::new(state) }
    }

    /// Shares the limit from now on: nothing of it is at hand before it is asked for.
    pub fn share(&self, replicas: u32, now: Instant) {
        let mut state = self.lock();
        state.replicas = replicas.max(1);
        if !matches!(state.source, Source::Leased(_)) {
            // Who is not answered may take all of it to be left.
            state.source = Source::Leased(Lease {
                left: 0,
                since: now,
                told: now,
                remaining: self.limit,
                dry_until: now,
                reset_at: now,
                ask_at: now,
            });
        }
    }

    /// Requests per minute.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// How it stands, without taking anything.
    pub fn look(&self, now: Instant) -> Standing {
        let mut state = self.lock();
        state.ring.roll(now);
        state.standing(self.limit, now)
    }

    /// Starts a request, if one may start.
    pub fn take(&self, now: Instant) -> Result<Standing, Refusal> {
        let mut state = self.lock();
        state.ring.roll(now);
        let Source::Leased(lease) = &mut state.source else { return state.take_unasked(self.limit, now) };
        if lease.held(now) > 0 {
            lease.left -= 1;
            state.ring.add();
            return Ok(state.standing(self.limit, now));
        }
        if now < lease.ask_at.min(lease.dry_until) {
            return Err(Refusal::Reached(state.standing(self.limit, now)));
        }
        state.short = state.short.saturating_add(1);
        Err(Refusal::Ask)
    }

    /// The same without asking anybody: of what is known to be left, this replica's share.
    pub fn take_unasked(&self, now: Instant) -> Result<Standing, Standing> {
        let mut state = self.lock();
        state.ring.roll(now);
        let reached = |refusal| match refusal {
            Refusal::Reached(standing) => standing,
            Refusal::Ask => Standing { limit: self.limit, remaining: 0, reset: Duration::ZERO, wait: Duration::ZERO },
        };
        state.take_unasked(self.limit, now).map_err(reached)
    }

    /// Gives back what was taken then: the request did not start after all.
    pub fn give_back(&self, taken: Instant, now: Instant) {
        let mut state = self.lock();
        state.ring.roll(now);
        if !state.ring.remove(second(taken)) {
            return;
        }
        let unreported = state.unreported;
        match &mut state.source {
            Source::Leased(lease) if unreported == 0 => lease.left += 1,
            Source::Leased(_) | Source::Own | Source::Orphaned { .. } => {
                state.unreported = unreported.saturating_sub(1);
            }
        }
    }

    /// What is to be told to whoever hands out slices; what is given back is no longer held. `None`
    /// where there is nothing to say.
    pub fn report(&self, now: Instant) -> Option<Report> {
        let mut state = self.lock();
        state.ring.roll(now);
        let lively = state.ring.lately();
        let short = std::mem::take(&mut state.short);
        let (held, old) = match &state.source {
            Source::Own | Source::Orphaned { .. } => (0, true),
            Source::Leased(lease) => {
                let age = now.since(lease.since);
                (lease.held(now), age >= EXCHANGE || age >= IDLE && lively == 0)
            }
        };
        // About what half a second takes.
        let wanted = lively.div_ceil(2).min(self.limit);
        let report = Report {
            used: state.unreported,
            given_back: if old { held } else { 0 },
            short,
            ahead: if old { wanted } else { wanted.saturating_sub(held) },
        };
        let news = [report.used, report.given_back, report.short];
        let stale = match &state.source {
            Source::Leased(lease) => now.since(lease.told) >= REFRESH,
            Source::Own | Source::Orphaned { .. } => true,
        };
        let says_something = news.iter().any(|count| *count > 0) || old && lively > 0 || stale;
        let runs_low = lively > 0 && held < wanted.div_ceil(2);
        if !says_something && !runs_low {
            return None;
        }
        if let Source::Leased(lease) = &mut state.source {
            lease.left -= report.given_back.min(lease.left);
        }
        Some(report)
    }

    /// Takes the answer to a report that was sent at `sent`.
    pub fn told(&self, report: &Report, slice: &Slice, sent: Instant, now: Instant) {
        let mut state = self.lock();
        let held = state.held(now);
        state.unreported = state.unreported.saturating_sub(report.used);
        state.replicas = slice.replicas.max(1);
        let before = match &state.source {
            Source::Leased(lease) if held > 0 => lease.since,
            Source::Leased(_) | Source::Own | Source::Orphaned { .. } => sent,
        };
        state.source = Source::Leased(Lease {
            left: held.saturating_add(slice.granted),
            // What is held from before is not held for longer than it may be.
            since: before,
            told: now,
            remaining: slice.remaining,
            dry_until: now + slice.wait,
            reset_at: now + slice.reset,
            ask_at: now + ASK_AGAIN,
        });
    }

    /// Nobody hands out slices: this replica keeps to its share of the limit, and in the first minute to
    /// its share of what was left.
    pub fn on_its_own(&self, now: Instant) {
        let mut state = self.lock();
        if let Source::Leased(lease) = state.source {
            let spare = lease.held(now) + lease.remaining / state.replicas;
            state.source = Source::Orphaned { spare, until: now + Duration::from_secs(SPAN_S + 1) };
        }
    }

    /// Whoever handed out slices has forgotten everything: what was started lately is news to it.
    pub fn forgotten(&self, now: Instant) {
        self.on_its_own(now);
        let mut state = self.lock();
        state.ring.roll(now);
        state.unreported = state.ring.total;
    }

    /// What a report says that was started without asking is known now, and nothing more was answered.
    pub fn registered(&self, report: &Report) {
        let mut state = self.lock();
        state.unreported = state.unreported.saturating_sub(report.used);
    }

    /// Whether nothing of a shared limit is at hand and more may be had; that is remembered for the next
    /// report.
    pub fn lacks(&self, now: Instant) -> bool {
        let mut state = self.lock();
        let Source::Leased(lease) = &state.source else { return false };
        let lacks = lease.held(now) == 0 && now >= lease.ask_at.min(lease.dry_until);
        state.short = state.short.saturating_add(u32::from(lacks));
        lacks
    }

    /// Whether nothing was started for a minute: it may be forgotten, and nobody will notice.
    pub fn is_idle(&self, now: Instant) -> bool {
        let mut state = self.lock();
        state.ring.roll(now);
        let held = state.held(now);
        state.ring.total == 0 && state.short == 0 && held == 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_unasked(&mut self, limit: u32, now: Instant) -> Result<Standing, Refusal> {
        let (share, replicas) = (self.share(limit), self.replicas);
        let may = match &mut self.source {
            // Every replica may do the same.
            Source::Leased(lease) => match lease.remaining.checked_sub(replicas) {
                Some(rest) => {
                    lease.remaining = rest;
                    true
                }
                None => false,
            },
            Source::Orphaned { spare, until } if now < *until => match spare.checked_sub(1) {
                Some(rest) => {
                    *spare = rest;
                    true
                }
                None => false,
            },
            Source::Own | Source::Orphaned { .. } => self.ring.total < share,
        };
        if !may {
            let standing = Standing { remaining: 0, ..self.standing(limit, now) };
            return Err(Refusal::Reached(standing));
        }
        self.ring.add();
        self.unreported = self.unreported.saturating_add(1);
        Ok(self.standing(limit, now))
    }

    fn held(&self, now: Instant) -> u32 {
        match &self.source {
            Source::Leased(lease) => lease.held(now),
            Source::Own | Source::Orphaned { .. } => 0,
        }
    }

    /// What this replica may start when it must not ask: all replicas together keep the limit, except
    /// that each may always start one.
    fn share(&self, limit: u32) -> u32 {
        (limit / self.replicas.max(1)).max(1)
    }

    fn standing(&self, limit: u32, now: Instant) -> Standing {
        let lease = match &self.source {
            Source::Leased(lease) => lease,
            Source::Orphaned { spare, until } if now < *until => {
                let (reset, wait) = (until.since(now), if *spare > 0 { Duration::ZERO } else { until.since(now) });
                return Standing { limit, remaining: *spare, reset, wait };
            }
            Source::Own | Source::Orphaned { .. } => return self.own_standing(limit, now),
        };
        let remaining = lease.held(now).saturating_add(lease.remaining).min(limit);
        let wait = if remaining > 0 { Duration::ZERO } else { lease.dry_until.since(now) };
        Standing { limit, remaining, reset: lease.reset_at.since(now).max(wait), wait }
    }

    fn own_standing(&self, limit: u32, now: Instant) -> Standing {
        let remaining = self.share(limit).saturating_sub(self.ring.total);
        let wait = if remaining > 0 { Duration::ZERO } else { self.ring.until_oldest_leaves(now) };
        Standing { limit, remaining, reset: self.ring.until_newest_leaves(now), wait }
    }
}

impl Lease {
    /// What may still be used: a slice that was held for too long counts elsewhere again.
    fn held(&self, now: Instant) -> u32 {
        if now.since(self.since) < HOLD { self.left } else { 0 }
    }
}

impl Ring {
    fn roll(&mut self, now: Instant) {
        let this = second(now);
        if this <= self.newest {
            return;
        }
        if this - self.newest >= SLOTS as u64 {
            self.counts = [0; SLOTS];
            self.total = 0;
        } else {
            for passed in self.newest + 1..=this {
                let count = std::mem::take(&mut self.counts[slot(passed)]);
                self.total -= count;
            }
        }
        self.newest = this;
    }

    fn add(&mut self) {
        self.counts[slot(self.newest)] += 1;
        self.total += 1;
    }

    fn remove(&mut self, second: u64) -> bool {
        let known = second <= self.newest && self.newest - second < SLOTS as u64;
        let count = &mut self.counts[slot(second)];
        if !known || *count == 0 {
            return false;
        }
        *count -= 1;
        self.total -= 1;
        true
    }

    /// What the second under way and the one before it have seen.
    fn lately(&self) -> u32 {
        let before = self.newest.saturating_sub(1);
        self.counts[slot(self.newest)].max(self.counts[slot(before)])
    }

    fn until_oldest_leaves(&self, now: Instant) -> Duration {
        let oldest = (0..SLOTS as u64).rev().filter_map(|age| self.newest.checked_sub(age));
        let mut counted = oldest.filter(|second| self.counts[slot(*second)] > 0);
        counted.next().map_or(Duration::ZERO, |second| leaves(second).since(now))
    }

    fn until_newest_leaves(&self, now: Instant) -> Duration {
        let newest = (0..SLOTS as u64).filter_map(|age| self.newest.checked_sub(age));
        let mut counted = newest.filter(|second| self.counts[slot(*second)] > 0);
        counted.next().map_or(Duration::ZERO, |second| leaves(second).since(now))
    }
}

const fn second(moment: Instant) -> u64 {
    moment.as_nanos() / 1_000_000_000
}

const fn slot(second: u64) -> usize {
    (second % SLOTS as u64) as usize
}

/// When what started in this second counts no more.
fn leaves(second: u64) -> Instant {
    Instant::from_millis((second + SLOTS as u64).saturating_mul(1000))
}

#[cfg(test)]
mod tests;
