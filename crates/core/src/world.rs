//! What requests share: endpoints with their breakers, projects, sessions.
//!
//! A `World` is plain memory behind short locks that are never held across anything that waits.
//! A replica decides from it alone; whatever spreads knowledge between replicas writes into it.

mod last;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::breaker::{self, Breaker};
use crate::budget::{Allowance, Throttle};
use crate::cost::{AverageUsage, Usage};
use crate::rate::{Learned, RateLimit, Rates, Refusal};
use crate::route::EndpointId;
use crate::spend::SpendBudget;
use crate::time::Instant;

use last::Last;
pub use last::LastFailure;

/// All endpoints, by [`EndpointId`].
#[derive(Debug, Default)]
pub struct World {
    endpoints: Vec<Arc<Endpoint>>,
}

/// A base URL plus a credential at which models are served.
#[derive(Debug)]
pub struct Endpoint {
    /// The name people know it by.
    pub name: Arc<str>,
    /// Refuses it while it keeps failing.
    pub breaker: Breaker,
    /// Retries as a share of its traffic.
    pub retries: Allowance,
    /// Lets a share through while every breaker refuses.
    pub throttle: Throttle,
    /// How fast it may be asked, where somebody said.
    pub rate: Option<RateLimit>,
    /// What it says about its own limits.
    pub learned: Learned,
    /// Clients bring their own keys: limits and quotas are theirs, not the endpoint's.
    pub(crate) keys_differ: bool,
    /// The credential rests until then, in nanoseconds: its quota is exhausted.
    set_aside: AtomicU64,
    /// It asked to be left alone until then, in nanoseconds: its rate limit is reached.
    paused: AtomicU64,
    /// When it last served anybody, in nanoseconds.
    served: AtomicU64,
}

/// What owns budgets and sessions.
#[derive(Debug)]
pub struct Project {
    /// The name people know it by.
    pub name: Arc<str>,
    /// Fallbacks, earned by successes.
    pub fallbacks: Allowance,
    /// Money.
    pub spend: Arc<SpendBudget>,
    /// How fast it may go.
    pub rate: Rates,
}

/// One conversation.
#[derive(Debug)]
pub struct Session {
    /// Money.
    pub spend: SpendBudget,
    memory: Mutex<Memory>,
    /// How its last request ended, for whoever drives it.
    last: Last,
}

/// How long a session stays away from a target that nobody has been served by since it failed.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// A turn that has lasted this long is left to look after itself.
const TURN_MAX: Duration = Duration::from_secs(60 * 60);

/// How many failed targets a session remembers: more than any chain needs.
const SHUNNED_MAX: usize = 16;

/// What a session remembers between its requests.
#[derive(Clone, Debug, Default)]
struct Memory {
    retries: u32,
    usage: AverageUsage,
    /// The model it climbed to, where that is not the one asked for.
    escalated: Option<Arc<str>>,
    /// Targets that failed while others served, and when.
    shunned: Vec<Shunned>,
}

/// A target that failed a session. By name: positions belong to one configuration.
#[derive(Clone, Debug)]
struct Shunned {
    model: Arc<str>,
    endpoint: Arc<str>,
    failed: Instant,
}

/// Whether a request belongs to the turn before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// A new one: what failed before may be asked again if it is well.
    #[default]
    New,
    /// The same: tool results come back. Changing the model in mid-turn costs more than it gains.
    Continues,
}

impl World {
    /// A world of these endpoints; their order gives them their ids.
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self::sharing(endpoints.into_iter().map(Arc::new).collect())
    }

    /// The same of endpoints that another world may hold too: a new configuration keeps what is
    /// known of those that stay.
    pub fn sharing(endpoints: Vec<Arc<Endpoint>>) -> Self {
        Self { endpoints }
    }

    /// The endpoint with this id; `None` for an id of another world.
    pub fn endpoint(&self, id: EndpointId) -> Option<&Endpoint> {
        self.endpoints.get(usize::from(id.0)).map(AsRef::as_ref)
    }

    /// Every endpoint with its id.
    pub fn endpoints(&self) -> impl Iterator<Item = (EndpointId, &Endpoint)> {
        self.endpoints.iter().enumerate().map(|(index, endpoint)| (EndpointId(index as u16), endpoint.as_ref()))
    }
}

impl Endpoint {
    /// A healthy endpoint; the seed spreads its cooldowns.
    pub fn new(name: &str, breaker: breaker::Settings, retry_share: f64, seed: u64) -> Self {
        Self {
            name: Arc::from(name),
            breaker: Breaker::new(breaker, seed),
            retries: Allowance::for_retries(retry_share),
            throttle: Throttle::new(),
            rate: None,
            learned: Learned::new(),
            keys_differ: false,
            set_aside: AtomicU64::new(0),
            paused: AtomicU64::new(0),
            served: AtomicU64::new(0),
        }
    }

    /// The same where clients bring their own keys.
    #[must_use]
    pub fn with_clients_keys(self) -> Self {
        Self { keys_differ: true, ..self }
    }

    /// The same with a limit of requests per minute.
    #[must_use]
    pub fn with_rate(self, requests_per_minute: Option<u32>) -> Self {
        Self { rate: requests_per_minute.map(RateLimit::per_minute), ..self }
    }

    /// Whether clients bring their own keys.
    pub const fn keys_differ(&self) -> bool {
        self.keys_differ
    }

    /// Until when its rate limit is reached, where it is: the one that was set, or its own.
    pub fn limited_until(&self, now: Instant) -> Option<Instant> {
        let set = self.rate.as_ref().map(|rate| rate.look(now).wait).filter(|wait| !wait.is_zero());
        let set = set.map(|wait| now + wait);
        set.max(self.learned.used_up_until(now))
    }

    /// Counts an attempt against the limit that was set; refused, it says until when. Whoever can
    /// ask for more of a shared limit has done so before.
    pub(crate) fn take_rate(&self, now: Instant) -> Result<(), Instant> {
        let Some(rate) = &self.rate else { return Ok(()) };
        let refused = match rate.take(now) {
            Ok(_) => return Ok(()),
            Err(Refusal::Reached(standing)) => standing,
            Err(Refusal::Ask) => match rate.take_unasked(now) {
                Ok(_) => return Ok(()),
                Err(standing) => standing,
            },
        };
        Err(now + refused.wait)
    }

    /// Lets the credential rest until its quota returns. A later moment is never shortened.
    pub fn set_aside(&self, until: Instant) {
        self.set_aside.fetch_max(until.as_nanos(), Ordering::Relaxed);
    }

    /// Sends others elsewhere until then, where there is an elsewhere: the endpoint asked for it.
    pub fn pause(&self, until: Instant) {
        self.paused.fetch_max(until.as_nanos(), Ordering::Relaxed);
    }

    /// Whether it asked to be left alone.
    pub fn is_paused(&self, now: Instant) -> bool {
        now.as_nanos() < self.paused.load(Ordering::Relaxed)
    }

    /// Until when it asked to be left alone, if it did.
    pub fn paused_until(&self, now: Instant) -> Option<Instant> {
        let until = Instant::from_nanos(self.paused.load(Ordering::Relaxed));
        (now < until).then_some(until)
    }

    /// Remembers that it served.
    pub fn serves(&self, now: Instant) {
        self.served.fetch_max(now.as_nanos(), Ordering::Relaxed);
    }

    /// Whether it is well again after a failure then: it admits attempts, and has served anybody
    /// since, or enough time has passed to ask it again.
    pub fn is_well_since(&self, failed: Instant, now: Instant) -> bool {
        let served = self.served.load(Ordering::Relaxed) > failed.as_nanos();
        let rested = now.since(failed) >= ASK_AGAIN;
        (served || rested) && !self.is_paused(now) && !self.breaker.is_open(now) && self.set_aside_until(now).is_none()
    }

    /// Takes a resting credential back into use.
    pub fn take_back(&self) {
        self.set_aside.store(0, Ordering::Relaxed);
    }

    /// Until when the credential rests, if it does.
    pub fn set_aside_until(&self, now: Instant) -> Option<Instant> {
        let until = Instant::from_nanos(self.set_aside.load(Ordering::Relaxed));
        (now < until).then_some(until)
    }
}

impl Project {
    /// A project that has spent nothing.
    pub fn new(name: &str, fallback_share: f64, limit_usd_micros: Option<u64>) -> Self {
        Self {
            name: Arc::from(name),
            fallbacks: Allowance::for_fallbacks(fallback_share),
            spend: Arc::new(SpendBudget::new(limit_usd_micros)),
            rate: Rates::default(),
        }
    }

    /// The same with limits of requests per minute.
    #[must_use]
    pub fn with_rates(self, rate: Rates) -> Self {
        Self { rate, ..self }
    }
}

impl Session {
    /// A session that remembers nothing yet.
    pub fn new(limit_usd_micros: Option<u64>) -> Self {
        Self { spend: SpendBudget::new(limit_usd_micros), memory: Mutex::default(), last: Last::default() }
    }

    /// Takes one retry if fewer than `max` are used, and says how many are used now.
    pub fn take_retry(&self, max: u32) -> Option<u32> {
        let mut memory = self.lock();
        if memory.retries >= max {
            return None;
        }
        memory.retries += 1;
        Some(memory.retries)
    }

    /// Gives a retry back: it served. What remains counted are retries that did not help, so a
    /// session of days is not punished for a hiccup an hour.
    pub fn give_back_retry(&self) {
        let mut memory = self.lock();
        memory.retries = memory.retries.saturating_sub(1);
    }

    /// How many retries this session has used.
    pub fn retries_used(&self) -> u32 {
        self.lock().retries
    }

    /// Counts a finished turn into the average.
    pub fn finished_turn(&self, usage: Usage) {
        self.lock().usage.add(usage);
    }

    /// Tokens per turn so far.
    pub fn usage_per_turn(&self) -> Option<Usage> {
        self.lock().usage.per_turn()
    }

    /// Sticks to a model up the ladder, or returns to the one asked for.
    pub fn stick_to(&self, model: Option<Arc<str>>) {
        self.lock().escalated = model;
    }

    /// The model this session climbed to.
    pub fn escalated(&self) -> Option<Arc<str>> {
        self.lock().escalated.clone()
    }

    /// Remembers that this target failed: another serves, or the client will ask again.
    pub fn shun(&self, model: &Arc<str>, endpoint: &Arc<str>, now: Instant) {
        let mut memory = self.lock();
        memory.shunned.retain(|known| known.model != *model || known.endpoint != *endpoint);
        if memory.shunned.len() == SHUNNED_MAX {
            memory.shunned.remove(0);
        }
        memory.shunned.push(Shunned { model: Arc::clone(model), endpoint: Arc::clone(endpoint), failed: now });
    }

    /// Forgets that it failed: it serves.
    pub fn forgive(&self, model: &str, endpoint: &str) {
        self.lock().shunned.retain(|known| &*known.model != model || &*known.endpoint != endpoint);
    }

    /// Whether a request should not begin at this target.
    pub fn shuns(&self, model: &str, endpoint: &Endpoint, turn: Turn, now: Instant) -> bool {
        let memory = self.lock();
        let mut shunned = memory.shunned.iter();
        let known = shunned.find(|known| &*known.model == model && *known.endpoint == *endpoint.name);
        known.is_some_and(|known| match turn {
            Turn::Continues => now.since(known.failed) < TURN_MAX,
            Turn::New => !endpoint.is_well_since(known.failed, now),
        })
    }

    /// A request of this session failed for good.
    pub fn failed_for_good(&self, failure: LastFailure) {
        self.last.failed(failure);
    }

    /// The same turn came again and got the same answer.
    pub fn failed_again(&self) {
        self.last.again();
    }

    /// A request for this model was served.
    pub fn served(&self, asked: &str) {
        self.last.served(asked);
    }

    /// How many requests have failed for good, and how the last of them did, unless its model has served since.
    pub fn last_failure(&self) -> (u64, Option<LastFailure>) {
        self.last.known()
    }

    /// Whether any target is shunned: most sessions never meet a failure.
    pub fn shuns_any(&self) -> bool {
        !self.lock().shunned.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_lists_its_endpoints_by_their_ids() {
        let endpoint = |name: &str| Endpoint::new(name, breaker::Settings::default(), 0.2, 1);
        let world = World::new(vec![endpoint("one"), endpoint("two")]);
        let listed: Vec<_> = world.endpoints().map(|(id, endpoint)| (id, &*endpoint.name)).collect();
        assert_eq!(listed, [(EndpointId(0), "one"), (EndpointId(1), "two")]);
        assert_eq!(&*world.endpoint(EndpointId(1)).unwrap().name, "two");
    }
}
