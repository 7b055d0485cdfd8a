//! What requests share: endpoints with their breakers, projects, sessions.
//!
//! A `World` is plain memory behind short locks that are never held across anything that waits.
//! A replica decides from it alone; whatever spreads knowledge between replicas writes into it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::breaker::{self, Breaker};
use crate::budget::{Allowance, Throttle};
use crate::cost::{AverageUsage, Usage};
use crate::route::EndpointId;
use crate::spend::SpendBudget;
use crate::time::Instant;

/// All endpoints, by [`EndpointId`].
#[derive(Debug, Default)]
pub struct World {
    endpoints: Vec<Endpoint>,
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
    /// The credential rests until then, in nanoseconds: its quota is exhausted.
    set_aside: AtomicU64,
    /// It asked to be left alone until then, in nanoseconds: its rate limit is reached.
    paused: AtomicU64,
}

/// What owns budgets and sessions.
#[derive(Debug)]
pub struct Project {
    /// The name people know it by.
    pub name: Arc<str>,
    /// Fallbacks, earned by successes.
    pub fallbacks: Allowance,
    /// Money.
    pub spend: SpendBudget,
}

/// One conversation.
#[derive(Debug)]
pub struct Session {
    /// Money.
    pub spend: SpendBudget,
    memory: Mutex<Memory>,
}

/// What a session remembers between its requests.
#[derive(Clone, Debug, Default)]
struct Memory {
    retries: u32,
    usage: AverageUsage,
    /// The model it climbed to, where that is not the one asked for.
    escalated: Option<Arc<str>>,
}

impl World {
    /// A world of these endpoints; their order gives them their ids.
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self { endpoints }
    }

    /// The endpoint with this id; `None` for an id of another world.
    pub fn endpoint(&self, id: EndpointId) -> Option<&Endpoint> {
        self.endpoints.get(usize::from(id.0))
    }

    /// Every endpoint with its id.
    pub fn endpoints(&self) -> impl Iterator<Item = (EndpointId, &Endpoint)> {
        self.endpoints.iter().enumerate().map(|(index, endpoint)| (EndpointId(index as u16), endpoint))
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
            set_aside: AtomicU64::new(0),
            paused: AtomicU64::new(0),
        }
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
            spend: SpendBudget::new(limit_usd_micros),
        }
    }
}

impl Session {
    /// A session that remembers nothing yet.
    pub fn new(limit_usd_micros: Option<u64>) -> Self {
        Self { spend: SpendBudget::new(limit_usd_micros), memory: Mutex::default() }
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

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
