//! What another policy would have done with the requests of a decision log.
//!
//! Requests come in when they did and may go where they could. What an attempt would have met is
//! taken from the recorded attempt at the same endpoint that started nearest in time, with its
//! failure, latency and usage. That is honest for weather (an outage, a brown-out, a slow hour)
//! and wrong in three ways the report cannot hide: an endpoint answers differently to more or
//! fewer attempts; nothing is known about an endpoint nobody tried (such attempts fail, and are
//! counted); and prices, windows and vendors are not in the log, so budgets and boundaries do
//! not bind.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use steadfast_core::cost::Usage;
use steadfast_core::policy::{Policy, VendorBoundary};
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::recovery::{Action, Answer, Face, Outcome, Plan, Recovery};
use steadfast_core::route::{Abilities, Catalogue, EndpointId, Model, Needs, Route, RouteError, Served};
use steadfast_core::world::{Endpoint, Project, Session, Turn, World};
use steadfast_core::{Failure, FailureKind, Instant};

use crate::queue::Queue;

/// A log that cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A line that is no record.
    #[error("line {line} is not a record of the decision log")]
    Line {
        /// Which line, from one.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// No request starts in it.
    #[error("the log holds no `start` record")]
    Empty,
    /// A chain that cannot be.
    #[error("cannot build the route of `{request}`")]
    Route {
        /// Whose.
        request: String,
        /// Why.
        #[source]
        source: RouteError,
    },
}

/// What was and what would have been.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Replayed {
    /// The other policy.
    pub policy: String,
    /// Requests in the log.
    pub requests: u64,
    /// What the log tells.
    pub recorded: Tally,
    /// What the other policy would have done.
    pub replayed: Tally,
    /// Not served then, served now.
    pub rescued: u64,
    /// Served then, not served now.
    pub newly_lost: u64,
    /// Attempts at endpoints of which the log knows nothing.
    pub unknown: u64,
    /// How far in time the borrowed attempts lay from those they stand for, on average.
    pub gap_mean_ms: f64,
}

/// Requests and attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Requests served.
    pub served: u64,
    /// Requests not served.
    pub lost: u64,
    /// Attempts made.
    pub attempts: u64,
}

/// Replays a decision log, one JSON record per line, under another policy.
pub fn replay(log: &str, policy: &Policy, seed: u64) -> Result<Replayed, ReplayError> {
    let recording = Recording::read(log)?;
    let mut replay = Replay::new(&recording, policy, seed)?;
    replay.run();
    Ok(replay.result)
}

#[derive(Default)]
struct Recording {
    requests: Vec<Request>,
    endpoints: Vec<Arc<str>>,
    /// By endpoint, by time.
    attempts: Vec<Vec<Recorded>>,
}

struct Request {
    name: Arc<str>,
    at: Instant,
    chain: Vec<Place>,
    session: Option<Arc<str>>,
    served: bool,
    attempts: u64,
}

struct Recorded {
    at: Instant,
    latency: Duration,
    failure: Option<Failure>,
    usage: Usage,
}

impl Recording {
    fn read(log: &str) -> Result<Self, ReplayError> {
        let mut recording = Self::default();
        let mut by_name: HashMap<Arc<str>, usize> = HashMap::new();
        for (index, line) in log.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let record: Record = match serde_json::from_str(line) {
                Ok(record) => record,
                // Cut off: its gateway was killed, or is just writing it.
                Err(source) if source.is_eof() => continue,
                Err(source) => return Err(ReplayError::Line { line: index + 1, source }),
            };
            let at = Instant::from_millis(u64::try_from(record.time.as_millis()).unwrap_or(0));
            // What was answered from memory, or could go nowhere, asks nothing of a policy.
            if record.event == Event::Start && record.chain.is_empty() {
                continue;
            }
            if record.event == Event::Start {
                by_name.insert(Arc::clone(&record.request), recording.requests.len());
                recording.start(record, at);
                continue;
            }
            let Some(request) = by_name.get(&record.request).map(|index| &mut recording.requests[*index]) else {
                continue;
            };
            match record.event {
                Event::Attempt => request.attempts += 1,
                Event::Outcome => request.served = record.outcome.as_deref() == Some("succeeded"),
                Event::Decision | Event::Success => recording.ended(&record, at),
                Event::Start | Event::Breaker | Event::Alert | Event::Escalation => {}
            }
        }
        for attempts in &mut recording.attempts {
            attempts.sort_by_key(|attempt| attempt.at);
        }
        if recording.requests.is_empty() { Err(ReplayError::Empty) } else { Ok(recording) }
    }

    fn start(&mut self, record: Record, at: Instant) {
        for place in &record.chain {
            self.endpoint(&place.endpoint);
        }
        let Record { request: name, chain, session, .. } = record;
        self.requests.push(Request { name, at, chain, session, served: false, attempts: 0 });
    }

    /// An attempt's end; a decision without a latency is not one.
    fn ended(&mut self, record: &Record, at: Instant) {
        let place = if record.event == Event::Success { &record.target } else { &record.from };
        let (Some(place), Some(latency_ms)) = (place, record.latency_ms) else { return };
        let latency = Duration::from_millis(latency_ms);
        let failure = record.kind.filter(|_| record.event == Event::Decision).map(|kind| Failure {
            status: record.status,
            retry_after: record.retry_after_ms.map(Duration::from_millis),
            ..Failure::new(kind, "recorded")
        });
        let endpoint = self.endpoint(&place.endpoint);
        let usage = record.usage.unwrap_or_default();
        self.attempts[endpoint].push(Recorded { at: at - latency, latency, failure, usage });
    }

    fn endpoint(&mut self, name: &Arc<str>) -> usize {
        if let Some(known) = self.endpoints.iter().position(|known| known == name) {
            return known;
        }
        self.endpoints.push(Arc::clone(name));
        self.attempts.push(Vec::new());
        self.endpoints.len() - 1
    }

    /// The recorded attempt at this endpoint that started nearest in time.
    fn nearest(&self, endpoint: usize, now: Instant) -> Option<(usize, &Recorded)> {
        let attempts = self.attempts.get(endpoint)?;
        let after = attempts.partition_point(|attempt| attempt.at < now);
        let neighbours = (after.saturating_sub(1)..attempts.len().min(after + 1)).map(|at| (at, &attempts[at]));
        neighbours.min_by_key(|(_, attempt)| gap(attempt.at, now))
    }
}

struct Replay<'a> {
    recording: &'a Recording,
    world: World,
    plans: Vec<Plan>,
    running: Vec<Option<Recovery>>,
    queue: Queue<(usize, Happening)>,
    gap_total: Duration,
    borrowed: u64,
    result: Replayed,
}

#[derive(Clone, Copy)]
enum Happening {
    Start,
    Wake,
    /// The attempt that stands for this recorded one, or for none.
    End(Option<(usize, usize)>),
}

impl<'a> Replay<'a> {
    fn new(recording: &'a Recording, policy: &Policy, seed: u64) -> Result<Self, ReplayError> {
        let endpoint = |(index, name): (usize, &Arc<str>)| {
            Endpoint::new(name, policy.breaker, policy.retry_share, seed.wrapping_add(index as u64))
        };
        let world = World::new(recording.endpoints.iter().enumerate().map(endpoint).collect());
        let shared = Arc::new(policy.clone());
        let project = Arc::new(Project::new("replay", policy.fallback_share, None));
        let mut routes: HashMap<&[Place], Arc<Route>> = HashMap::new();
        let mut sessions: HashMap<Option<Arc<str>>, Arc<Session>> = HashMap::new();
        let mut plans = Vec::new();
        for (index, request) in recording.requests.iter().enumerate() {
            let route = match routes.get(request.chain.as_slice()) {
                Some(route) => Arc::clone(route),
                None => Arc::new(route(request, recording)?),
            };
            routes.insert(&request.chain, Arc::clone(&route));
            let session = sessions.entry(request.session.clone()).or_insert_with(|| Arc::new(Session::new(None)));
            plans.push(Plan {
                policy: Arc::clone(&shared),
                route,
                needs: Needs::default(),
                face: Face::GATEWAY,
                project: Arc::clone(&project),
                session: Arc::clone(session),
                turn: Turn::New,
                time_limit: None,
                restarts_used: 0,
                seed: seed.wrapping_add(index as u64),
            });
        }
        let count = plans.len();
        Ok(Self {
            recording,
            world,
            plans,
            running: (0..count).map(|_| None).collect(),
            queue: Queue::new(),
            gap_total: Duration::ZERO,
            borrowed: 0,
            result: Replayed { policy: policy.name.clone(), requests: count as u64, ..Replayed::default() },
        })
    }

    fn run(&mut self) {
        for (index, request) in self.recording.requests.iter().enumerate() {
            self.queue.push(request.at, (index, Happening::Start));
            self.result.recorded.count(request.served);
            self.result.recorded.attempts += request.attempts;
        }
        while let Some((now, (index, happening))) = self.queue.pop() {
            let mut recovery = match happening {
                Happening::Start => Recovery::start(self.plans[index].clone(), now),
                Happening::Wake | Happening::End(_) => match self.running[index].take() {
                    Some(recovery) => recovery,
                    None => continue,
                },
            };
            if let Happening::End(recorded) = happening {
                self.end(&mut recovery, recorded, now);
            }
            self.step(index, recovery, now);
        }
        self.result.gap_mean_ms = self.gap_total.as_secs_f64() * 1000.0 / self.borrowed.max(1) as f64;
    }

    fn end(&self, recovery: &mut Recovery, recorded: Option<(usize, usize)>, now: Instant) {
        let known = recorded.and_then(|(endpoint, index)| self.recording.attempts[endpoint].get(index));
        match known {
            Some(Recorded { failure: None, usage, .. }) => _ = recovery.succeeded(*usage, &self.world, now),
            Some(Recorded { failure: Some(failure), usage, .. }) => {
                recovery.failed(failure.clone(), *usage, &self.world, now);
            }
            None => {
                let unknown = Failure::new(FailureKind::Unknown, "never tried");
                recovery.failed(unknown, Usage::default(), &self.world, now);
            }
        }
    }

    fn step(&mut self, index: usize, mut recovery: Recovery, now: Instant) {
        loop {
            match recovery.next(&self.world, now) {
                Action::Attempt(attempt) => {
                    self.result.replayed.attempts += 1;
                    let endpoint = usize::from(attempt.target.endpoint.0);
                    let end = self.meet(endpoint, attempt.deadline, now);
                    self.queue.push(end.0, (index, Happening::End(end.1)));
                }
                Action::Wait(until) | Action::Restart(until) => self.queue.push(until, (index, Happening::Wake)),
                Action::Ask(_) => {
                    // Nobody is there to ask.
                    recovery.answered(Answer::No, &self.world, now);
                    continue;
                }
                Action::Repair => {
                    recovery.repaired(false, &self.world, now);
                    continue;
                }
                Action::Defer | Action::Decided(_) => continue,
                Action::Done(outcome) => {
                    let served = matches!(outcome, Outcome::Succeeded(_));
                    let before = self.recording.requests[index].served;
                    self.result.replayed.count(served);
                    self.result.rescued += u64::from(served && !before);
                    self.result.newly_lost += u64::from(before && !served);
                    return;
                }
            }
            self.running[index] = Some(recovery);
            return;
        }
    }

    /// When an attempt ends that starts now, and which recorded one tells how.
    fn meet(&mut self, endpoint: usize, deadline: Instant, now: Instant) -> (Instant, Option<(usize, usize)>) {
        let Some((position, recorded)) = self.recording.nearest(endpoint, now) else {
            self.result.unknown += 1;
            return (now, None);
        };
        self.gap_total += gap(recorded.at, now);
        self.borrowed += 1;
        ((now + recorded.latency).min(deadline), Some((endpoint, position)))
    }
}

impl Tally {
    fn count(&mut self, served: bool) {
        self.served += u64::from(served);
        self.lost += u64::from(!served);
    }
}

impl std::fmt::Display for Replayed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = |tally: &Tally| {
            let requests = self.requests.max(1) as f64;
            let served = tally.served as f64 * 100.0 / requests;
            format!("{served:7.3} % served, {:.3} attempts per request", tally.attempts as f64 / requests)
        };
        writeln!(f, "{} requests", self.requests)?;
        writeln!(f, "as recorded     {}", line(&self.recorded))?;
        writeln!(f, "under {:9} {}", self.policy, line(&self.replayed))?;
        writeln!(f, "{} rescued, {} newly lost", self.rescued, self.newly_lost)?;
        writeln!(
            f,
            "each attempt stands for a recorded one {:.0} ms away on average; {} went where nothing was recorded",
            self.gap_mean_ms, self.unknown
        )
    }
}

/// The recorded chain as a route. Vendors are not recorded, so all count as one.
fn route(request: &Request, recording: &Recording) -> Result<Route, ReplayError> {
    let mut models: Vec<Model> = Vec::new();
    for place in &request.chain {
        let endpoint = recording.endpoints.iter().position(|known| *known == place.endpoint).unwrap_or(0);
        let served = Served { endpoint: EndpointId(endpoint as u16), alias: None };
        match models.iter_mut().find(|model| model.name == place.model) {
            Some(model) => model.endpoints.push(served),
            None => models.push(Model {
                name: Arc::clone(&place.model),
                vendor: "recorded".into(),
                endpoints: vec![served],
                fallback: Vec::new(),
                context_window: None,
                abilities: Abilities::ALL,
                price: None,
            }),
        }
    }
    let chain: Vec<Arc<str>> = models.iter().skip(1).map(|model| Arc::clone(&model.name)).collect();
    let Some(first) = models.first().map(|model| Arc::clone(&model.name)) else { return Err(ReplayError::Empty) };
    let catalogue = Catalogue::new(models, Vec::new());
    let Some(primary) = catalogue.model(&first) else { return Err(ReplayError::Empty) };
    catalogue
        .route(primary, Some(&chain), VendorBoundary::Open)
        .map_err(|source| ReplayError::Route { request: request.name.to_string(), source })
}

fn gap(one: Instant, other: Instant) -> Duration {
    one.since(other).max(other.since(one))
}
