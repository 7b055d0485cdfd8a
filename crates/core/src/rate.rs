//! Rate limits: how many requests may start in any minute, asked before a call.
//!
//! A sliding window of seconds, not a bucket that refills: never more than the limit in any sixty
//! seconds, which is what a person means who writes it down. A second counts until sixty whole ones
//! have passed after it, so a limit that is used to the full gives up to a sixtieth less.
//!
//! Where replicas share a limit, each holds a part of it (`Source::Leased`) and starts nothing beyond
//! that, however long an answer takes: what it holds is counted as used by whoever hands it out, until
//! the replica has said that it holds less. Only one that was never answered has its share unasked. Whoever compares the books calls [`RateLimit::report`] and
//! [`RateLimit::told`]; while nobody does, a replica has what it held, and a minute later its share.

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

/// For so long after it was last confirmed what a replica holds is its own. Whoever hands it out counts it for this
/// long and the span more, so that a replica which was stopped or cut off never starts what others were given.
pub const KEEP: Duration = Duration::from_secs(SPAN_S + 5);

/// How old what is known of a shared limit may get: others may lack what is held here.
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
    Ask {
        /// Nobody has been asked before: whether there is anything to be had is not known at all.
        is_first: bool,
    },
}

/// What a replica says about its part of a shared limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests that were started and that nobody is known to have heard of.
    pub used: u32,
    /// What it may still start without asking.
    pub held: u32,
    /// What requests are waiting for.
    pub short: u32,
    /// Nothing was started for a minute: there is no need to hold anything.
    pub idle: bool,
}

/// What a replica is told about a shared limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// How many requests it may start, all in all.
    pub held: u32,
    /// What nobody has started beyond that.
    pub remaining: u32,
    /// How long until one more may be had, where none is held.
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
    /// Started, and not known to have been heard of.
    unreported: u32,
    /// Could not start for want of a larger part, since the last report.
    short: u32,
}

/// Where leave to start comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The window alone.
    Own,
    /// What was held of a shared limit when nobody answered any more, and this replica's share of the limit
    /// once the minute is over in which what others started still counts.
    Orphaned { held: u32, held_until: Instant, share_from: Instant },
    /// A part of a limit that others use too.
    Leased(Lease),
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    held: u32,
    /// What is counted elsewhere as held here.
    counted: u32,
    /// When the last report was sent that was answered; never, where none was.
    confirmed: Option<Instant>,
    /// What nobody has started beyond what is held here, when it was last told.
    remaining: u32,
    /// Nothing is to be had before then, as far as is known.
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
        if matches!(state.source, Source::Own) {
            state.source = Source::Leased(Lease {
                held: 0,
                counted: 0,
                confirmed: None,
                remaining: self.limit,
                dry_until: now,
                reset_at: now,
                ask_at: now,
            });
        }
    }

    /// One of so many from now on, of whom nobody can be asked.
    pub(crate) fn divide_among(&self, replicas: u32) {
        self.lock().replicas = replicas.max(1);
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
        self.lock().take(self.limit, now)
    }

    /// The same without asking anybody: who was not answered starts nothing that it does not hold. Who never was has
    /// its share until it is, and says what it started of it.
    pub fn take_unasked(&self, now: Instant) -> Result<Standing, Standing> {
        let mut state = self.lock();
        match state.take(self.limit, now) {
            Ok(standing) => Ok(standing),
            Err(Refusal::Reached(standing)) => Err(standing),
            Err(Refusal::Ask { is_first: true }) if state.ring.total < state.share(self.limit) => {
                // It does not wait any longer.
                state.short = state.short.saturating_sub(1);
                state.started();
                Ok(state.own_standing(self.limit, now))
            }
            Err(Refusal::Ask { .. }) => Err(state.refused(self.limit, now)),
        }
    }

    /// Gives back what was taken then: the request did not start after all.
    pub fn give_back(&self, taken: Instant, now: Instant) {
        let mut state = self.lock();
        state.ring.roll(now);
        // What was heard of elsewhere counts there, started or not.
        if !state.ring.remove(second(taken)) || state.unreported == 0 {
            return;
        }
        state.unreported -= 1;
        match &mut state.source {
            Source::Leased(Lease { held, .. }) | Source::Orphaned { held, .. } => *held += 1,
            Source::Own => {}
        }
    }

    /// What is to be told to whoever hands out parts; `None` where there is nothing to say.
    pub fn report(&self, now: Instant) -> Option<Report> {
        let mut state = self.lock();
        state.ring.roll(now);
        // What is older counts nowhere.
        state.unreported = state.unreported.min(state.ring.total);
        let held = match &state.source {
            // Who has heard of nobody yet is alone until it is told, and asks for nothing that others may hold.
            Source::Own if state.replicas == 1 => 0,
            Source::Own | Source::Orphaned { .. } | Source::Leased(_) => state.held(self.limit, now),
        };
        let is_new = match &state.source {
            Source::Leased(lease) => {
                held != lease.counted || lease.confirmed.is_none_or(|then| now.since(then) >= REFRESH)
            }
            Source::Own | Source::Orphaned { .. } => true,
        };
        let short = std::mem::take(&mut state.short);
        let idle = state.ring.total == 0 && short == 0;
        let report = Report { used: state.unreported, held, short, idle };
        (is_new || report.used > 0 || short > 0).then_some(report)
    }

    /// Takes the answer to a report that was sent at `sent`.
    pub fn told(&self, report: &Report, slice: &Slice, sent: Instant, now: Instant) {
        let mut state = self.lock();
        // What was started since is not in the answer.
        let since = state.heard(report);
        state.replicas = slice.replicas.max(1);
        state.source = Source::Leased(Lease {
            held: slice.held.saturating_sub(since),
            counted: slice.held.max(report.held).saturating_sub(since),
            confirmed: Some(sent),
            remaining: slice.remaining,
            dry_until: now + slice.wait,
            reset_at: now + slice.reset,
            ask_at: now + ASK_AGAIN,
        });
    }

    /// What a report says is known now, and nothing more was answered: whoever hands out parts has forgotten
    /// everything, and listens.
    pub fn registered(&self, report: &Report, sent: Instant, now: Instant) {
        let mut state = self.lock();
        let held = report.held.saturating_sub(state.heard(report));
        if !matches!(state.source, Source::Own) || report.held > 0 {
            state.source = orphaned(held, sent, now);
        }
    }

    /// Nobody hands out parts: this replica keeps to what it holds, and after a minute to its share.
    pub fn on_its_own(&self, now: Instant) {
        let mut state = self.lock();
        if let Source::Leased(lease) = state.source {
            state.source = match lease.confirmed {
                Some(confirmed) => orphaned(lease.held, confirmed, now),
                None => Source::Own,
            };
        }
    }

    /// Whoever hands out parts has forgotten everything: what was started lately is news to it.
    pub fn forgotten(&self, now: Instant) {
        self.on_its_own(now);
        let mut state = self.lock();
        state.ring.roll(now);
        state.unreported = state.ring.total;
    }

    /// Holds nothing any more: this replica stops.
    pub fn let_go(&self, now: Instant) {
        let mut state = self.lock();
        match &mut state.source {
            Source::Leased(lease) => lease.held = 0,
            Source::Own | Source::Orphaned { .. } => state.source = orphaned(0, now, now),
        }
    }

    /// Whether nothing of a shared limit is at hand and more may be had; that is remembered for the next
    /// report.
    pub fn lacks(&self, now: Instant) -> bool {
        let mut state = self.lock();
        let Source::Leased(lease) = &state.source else { return false };
        let lacks = lease.held(now) == 0 && lease.may_ask(now);
        state.short = state.short.saturating_add(u32::from(lacks));
        lacks
    }

    /// Whether nothing was started for a minute, and nothing is held: it may be forgotten, and nobody will notice.
    pub fn is_idle(&self, now: Instant) -> bool {
        let mut state = self.lock();
        state.ring.roll(now);
        let holds = matches!(&state.source, Source::Leased(lease) if lease.held > 0 || lease.counted > 0);
        state.ring.total == 0 && state.short == 0 && !holds
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is held was confirmed then; from now on there is nobody to ask.
fn orphaned(held: u32, confirmed: Instant, now: Instant) -> Source {
    Source::Orphaned { held, held_until: confirmed + KEEP, share_from: now + Duration::from_secs(SPAN_S + 1) }
}

impl State {
    fn take(&mut self, limit: u32, now: Instant) -> Result<Standing, Refusal> {
        self.ring.roll(now);
        if self.held(limit, now) > 0 {
            match &mut self.source {
                Source::Leased(Lease { held, .. }) => *held -= 1,
                Source::Orphaned { held, share_from, .. } if now < *share_from => *held -= 1,
                Source::Own | Source::Orphaned { .. } => {}
            }
            self.started();
            return Ok(self.standing(limit, now));
        }
        match &self.source {
            Source::Leased(lease) if lease.may_ask(now) => {
                self.short = self.short.saturating_add(1);
                Err(Refusal::Ask { is_first: lease.confirmed.is_none() })
            }
            Source::Own | Source::Orphaned { .. } | Source::Leased(_) => {
                Err(Refusal::Reached(self.refused(limit, now)))
            }
        }
    }

    fn started(&mut self) {
        self.ring.add();
        self.unreported = self.unreported.saturating_add(1);
    }

    /// What may be started now without asking anybody.
    fn held(&self, limit: u32, now: Instant) -> u32 {
        match &self.source {
            Source::Leased(lease) => lease.held(now),
            Source::Orphaned { held, held_until, share_from } if now < *share_from => {
                if now < *held_until {
                    *held
                } else {
                    0
                }
            }
            Source::Own | Source::Orphaned { .. } => self.share(limit).saturating_sub(self.ring.total),
        }
    }

    /// What was started after the report that was heard of.
    fn heard(&mut self, report: &Report) -> u32 {
        self.unreported = self.unreported.saturating_sub(report.used);
        self.unreported
    }

    /// What this replica may start when it must not ask: all replicas together keep the limit, except
    /// that each may always start one.
    fn share(&self, limit: u32) -> u32 {
        (limit / self.replicas.max(1)).max(1)
    }

    /// How it stands for one who may not start: others may hold what is left.
    fn refused(&self, limit: u32, now: Instant) -> Standing {
        let standing = self.standing(limit, now);
        let wait = if standing.wait.is_zero() { ASK_AGAIN } else { standing.wait };
        Standing { remaining: 0, wait, reset: standing.reset.max(wait), ..standing }
    }

    fn standing(&self, limit: u32, now: Instant) -> Standing {
        let lease = match &self.source {
            Source::Leased(lease) => lease,
            Source::Orphaned { share_from, .. } if now < *share_from => {
                let (remaining, reset) = (self.held(limit, now), share_from.since(now));
                let wait = if remaining > 0 { Duration::ZERO } else { reset };
                return Standing { limit, remaining, reset, wait };
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
    /// What may still be started: what was not confirmed for too long may be others' by now.
    fn held(&self, now: Instant) -> u32 {
        if self.confirmed.is_some_and(|then| now.since(then) < KEEP) { self.held } else { 0 }
    }

    /// Whether asking might bring something.
    fn may_ask(&self, now: Instant) -> bool {
        now >= self.ask_at.min(self.dry_until)
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
