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
use crate::window::mix;

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
            Err(Refusal::Ask { .. }) => match rate.take_unasked(now) {
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

    /// A number that changes with what is remembered of the endpoint beside its breaker and its rate limits: retries,
    /// throttle, rest, pause, and when it served. For tests and simulations.
    pub fn fingerprint(&self) -> u64 {
        let moments = [&self.set_aside, &self.paused, &self.served].map(|moment| moment.load(Ordering::Relaxed));
        moments.into_iter().fold(mix(self.retries.fingerprint(), self.throttle.fingerprint()), mix)
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

    fn endpoint() -> Endpoint {
        Endpoint::new("one", breaker::Settings { failures: 1, ..Default::default() }, 0.2, 1)
    }

    fn at(secs: u64) -> Instant {
        Instant::from_millis(secs * 1000)
    }

    #[test]
    fn a_rest_and_a_pause_end_at_their_moment_and_are_never_shortened() {
        let one = endpoint();
        for until in [at(9), at(5)] {
            one.set_aside(until);
            one.pause(until);
        }
        let just_before = at(9) - Duration::from_nanos(1);
        assert_eq!((one.set_aside_until(just_before), one.paused_until(just_before)), (Some(at(9)), Some(at(9))));
        assert!(one.is_paused(just_before) && !one.is_paused(at(9)));
        assert_eq!((one.set_aside_until(at(9)), one.paused_until(at(9))), (None, None));
        one.take_back();
        assert_eq!(one.set_aside_until(at(0)), None);
    }

    #[test]
    fn a_limit_that_was_set_and_one_that_was_learned_both_hold() {
        let one = endpoint().with_rate(Some(1));
        assert_eq!((one.limited_until(at(0)), one.take_rate(at(0))), (None, Ok(())));
        assert_eq!((one.limited_until(at(1)), one.take_rate(at(1))), (Some(at(61)), Err(at(61))));
        let used_up = |secs| {
            let left = crate::rate::Left { limit: None, remaining: 0, reset: Some(Duration::from_secs(secs)) };
            one.learned.note(&crate::rate::Seen { requests: Some(left), tokens: None }, at(10));
        };
        used_up(20);
        assert_eq!(one.limited_until(at(10)), Some(at(61)), "the later of the two");
        used_up(60);
        assert_eq!(one.limited_until(at(10)), Some(at(70)));
        assert_eq!(endpoint().with_rate(None).take_rate(at(0)), Ok(()));
    }

    #[test]
    fn of_a_shared_limit_nothing_is_started_that_is_not_held() {
        let one = endpoint().with_rate(Some(4));
        let rate = one.rate.as_ref().unwrap();
        let told =
            crate::rate::Slice { held: 1, remaining: 0, wait: Duration::ZERO, reset: Duration::ZERO, replicas: 2 };
        rate.told(&crate::rate::Report::default(), &told, at(0), at(0));
        assert_eq!((0..9).filter(|_| one.take_rate(at(0)).is_ok()).count(), 1);
        rate.on_its_own(at(1));
        assert_eq!((0..9).filter(|_| one.take_rate(at(63)).is_ok()).count(), 2, "its half, once nobody can be asked");
    }

    #[test]
    fn what_an_endpoint_or_project_is_given_it_has() {
        assert!(!endpoint().keys_differ() && endpoint().with_clients_keys().keys_differ());
        let project = Project::new("acme", 1.0, None).with_rates(Rates::per_minute(Some(7), None));
        assert!(project.rate.are(Some(7), None));
    }

    #[test]
    fn an_endpoint_is_well_when_it_served_since_or_has_rested() {
        let failed = at(100);
        let well = |change: fn(&Endpoint), now: Instant| {
            let one = endpoint();
            change(&one);
            one.is_well_since(failed, now)
        };
        assert!(!well(|_| {}, at(159)) && well(|_| {}, at(160)), "a minute later it is asked again");
        assert!(!well(|one| one.serves(at(100)), at(101)), "what it served at that very moment says nothing");
        assert!(well(|one| one.serves(at(101)), at(101)));
        assert!(!well(|one| one.pause(at(999)), at(160)));
        assert!(!well(|one| one.set_aside(at(999)), at(160)));
        let trip = |one: &Endpoint| {
            let permit = one.breaker.admit(at(150)).unwrap();
            _ = one.breaker.record(permit, breaker::Outcome::Failure, None, at(150));
        };
        assert!(!well(trip, at(160)));
    }

    #[test]
    fn a_session_shuns_what_failed_it_and_nothing_else() {
        let (one, two) = (endpoint(), Endpoint::new("two", breaker::Settings::default(), 0.2, 1));
        let session = Session::new(None);
        let shuns = |endpoint: &Endpoint, model: &str, turn, now| session.shuns(model, endpoint, turn, now);
        assert!(!session.shuns_any());
        session.shun(&"sonnet".into(), &one.name, at(0));
        assert!(session.shuns_any() && shuns(&one, "sonnet", Turn::New, at(1)));
        assert!(!shuns(&two, "sonnet", Turn::New, at(1)) && !shuns(&one, "haiku", Turn::New, at(1)));
        assert!(!shuns(&one, "sonnet", Turn::New, at(60)), "it may be asked again");
        assert!(shuns(&one, "sonnet", Turn::Continues, at(3_599)), "but not in the same turn");
        assert!(!shuns(&one, "sonnet", Turn::Continues, at(3_600)), "unless that lasts for ever");
        session.forgive("sonnet", "two");
        session.forgive("haiku", "one");
        assert!(session.shuns_any());
        session.forgive("sonnet", "one");
        assert!(!session.shuns_any());
    }

    #[test]
    fn a_session_remembers_the_last_sixteen_that_failed_each_once() {
        let session = Session::new(None);
        let one = endpoint();
        let shun = |model: u32| session.shun(&model.to_string().into(), &one.name, at(0));
        (0..16).chain([3, 0, 16]).for_each(shun);
        let shunned = |model: &u32| session.shuns(&model.to_string(), &one, Turn::New, at(1));
        let forgotten: Vec<u32> = (0..17).filter(|model| !shunned(model)).collect();
        assert_eq!(forgotten, [1], "the oldest makes room, and what failed again is no longer the oldest");
    }

    #[test]
    fn a_session_knows_how_it_failed_for_good_until_that_model_serves() {
        let session = Session::new(None);
        let failure = LastFailure {
            request: "r".into(),
            asked: "sonnet".into(),
            place: String::new(),
            failure: crate::failure::Failure::new(crate::kind::FailureKind::ServerError, "test"),
        };
        session.failed_for_good(failure.clone());
        session.failed_again();
        assert_eq!(session.last_failure(), (2, Some(failure)));
        session.served("sonnet");
        assert_eq!(session.last_failure(), (2, None));
    }

    #[test]
    fn a_sessions_retries_are_counted_until_they_help() {
        let session = Session::new(None);
        assert_eq!([0, 2, 2, 2].map(|max| session.take_retry(max)), [None, Some(1), Some(2), None]);
        session.give_back_retry();
        assert_eq!((session.retries_used(), session.take_retry(2)), (1, Some(2)));
    }
}
