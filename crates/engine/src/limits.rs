//! Rate limits before a call: who may start, what those are told who may not, and how limits stand.

use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderValue;
use http::{HeaderMap, HeaderName};
use steadfast_core::decision::Reason;
use steadfast_core::rate::{self, Left, RateLimit, Refusal, Refused, Standing};
use steadfast_core::record::{Event, Record};
use steadfast_core::recovery::Outcome;
use steadfast_core::world::Endpoint;
use steadfast_core::{Instant, Timestamp};
use steadfast_dialect::{Family, Limit, error};

use crate::Engine;
use crate::call::Call;
use crate::means::is_side_question;
use crate::reply::{ATTEMPTS, REQUEST_ID, Reply, Verdict, whole_seconds};

/// Requests per minute of the tightest limit.
const LIMIT: HeaderName = HeaderName::from_static("x-steadfast-ratelimit-limit");
/// How many of them may still start.
const REMAINING: HeaderName = HeaderName::from_static("x-steadfast-ratelimit-remaining");
/// In how many seconds all of them may start again.
const RESET: HeaderName = HeaderName::from_static("x-steadfast-ratelimit-reset");

/// How often a request asks for more of a shared limit: once for its agent's, once for its project's.
const ASKS_MAX: usize = 2;

/// How one limit stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateStatus {
    /// Whose limit it is.
    pub of: LimitOf,
    /// What is counted.
    pub unit: Unit,
    /// Who set it.
    pub source: Source,
    /// How many there are per minute, or in the provider's own span, where that is known.
    pub limit: Option<u64>,
    /// How many are left now.
    pub remaining: u64,
    /// When all are there again, where that is known.
    pub reset: Option<Timestamp>,
    /// How long until one more may start; zero where one may now.
    pub wait: Duration,
}

/// Whose limit it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitOf {
    /// A project's.
    Project {
        /// The project.
        project: Arc<str>,
    },
    /// That of one agent in a project.
    Agent {
        /// The project.
        project: Arc<str>,
        /// The agent, or its session where it has no name; empty for those who have neither.
        agent: Arc<str>,
    },
    /// An endpoint's.
    Endpoint {
        /// The endpoint.
        endpoint: Arc<str>,
    },
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Requests.
    Requests,
    /// Tokens.
    Tokens,
}

/// Who set a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The configuration.
    Configured,
    /// The provider, as its answers say.
    Provider,
}

/// What a request took from its project's limits, to be given back if it does not start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) standing: Standing,
    at: Instant,
}

impl Engine {
    /// How every limit stands: projects, the agents in them that were seen lately, endpoints.
    pub fn rate_limits(&self) -> Vec<RateStatus> {
        let (snapshot, now) = (self.snapshot(), self.clock.now());
        let mut limits = Vec::new();
        for project in snapshot.known_projects() {
            let project_name = || Arc::clone(&project.name);
            if let Some(limit) = project.rate.project() {
                limits.push(self.status(LimitOf::Project { project: project_name() }, limit, now));
            }
            for (agent, limit) in project.rate.agents() {
                limits.push(self.status(LimitOf::Agent { project: project_name(), agent }, &limit, now));
            }
        }
        for (_, endpoint) in snapshot.world.endpoints() {
            limits.extend(self.of_endpoint(endpoint, now));
        }
        limits
    }

    fn of_endpoint(&self, endpoint: &Endpoint, now: Instant) -> impl Iterator<Item = RateStatus> {
        let of = LimitOf::Endpoint { endpoint: Arc::clone(&endpoint.name) };
        let configured = endpoint.rate.as_ref().map(|limit| self.status(of.clone(), limit, now));
        let seen = endpoint.learned.seen(now);
        let wall = self.clock.wall();
        let said = [(Unit::Requests, seen.requests), (Unit::Tokens, seen.tokens)];
        let said = said.into_iter().filter_map(move |(unit, left)| Some(said_by(of.clone(), unit, left?, wall)));
        configured.into_iter().chain(said)
    }

    fn status(&self, of: LimitOf, limit: &RateLimit, now: Instant) -> RateStatus {
        let Standing { limit, remaining, reset, wait } = limit.look(now);
        let reset = Some(later(self.clock.wall(), reset));
        let (limit, remaining) = (Some(limit.into()), remaining.into());
        RateStatus { of, unit: Unit::Requests, source: Source::Configured, limit, remaining, reset, wait }
    }

    /// Counts a request against the limits of its project and its agent. An error is what the client is
    /// told.
    pub(crate) async fn count_against_limits(&self, call: &Call) -> Result<Option<Taken>, Reply> {
        let snapshot = self.snapshot();
        let configured = snapshot.config.project(Some(&call.project));
        let Some(project) = snapshot.project(&configured.name).filter(|project| project.rate.is_limited()) else {
            return Ok(None);
        };
        if !snapshot.config.enabled || !configured.enabled || is_side_question(call) {
            return Ok(None);
        }
        let (agent, now) = (agent(call), self.clock.now());
        let mut taken = project.rate.take(agent, now);
        for asked in 0..ASKS_MAX {
            let Err(Refused { refusal: Refusal::Ask { is_first }, .. }) = taken else { break };
            // Boxed: every request has room for what few need.
            if !Box::pin(self.sharing.more(self.clock.now(), is_first && asked == 0)).await {
                break;
            }
            taken = project.rate.take(agent, self.clock.now());
        }
        if let Err(Refused { refusal: Refusal::Ask { .. }, .. }) = taken {
            taken = project.rate.take_unasked(agent, self.clock.now());
        }
        match taken {
            Ok(standing) => Ok(standing.map(|standing| Taken { standing, at: now })),
            Err(refused) => Err(self.refuse(call, &project.name, &refused)),
        }
    }

    /// Gives back what a request took that could not even be planned.
    pub(crate) fn uncount(&self, call: &Call, taken: Taken) {
        let snapshot = self.snapshot();
        if let Some(project) = snapshot.project(&snapshot.config.project(Some(&call.project)).name) {
            project.rate.give_back(agent(call), taken.at, self.clock.now());
        }
    }

    fn refuse(&self, call: &Call, project: &Arc<str>, refused: &Refused) -> Reply {
        let nothing = Standing { limit: 0, remaining: 0, reset: Duration::ZERO, wait: Duration::ZERO };
        let standing = match refused.refusal {
            Refusal::Reached(standing) => standing,
            Refusal::Ask { .. } => nothing,
        };
        let reason = Reason::RateLimit { whose: refused.whose, standing };
        let outcome = Outcome::GaveUp(reason);
        let snapshot = self.snapshot();
        self.metrics.rate_limited.add([project, &self.word(refused.whose.name())], 1);
        self.count_request(&snapshot, call, &outcome, Duration::ZERO);
        let line = |event| Record::new(self.clock.wall(), event, Arc::clone(&call.id));
        self.record(Record {
            session: call.session.clone(),
            project: Some(Arc::clone(project)),
            client: Some(Arc::clone(&call.client.name)),
            agent: call.agent.clone(),
            ..line(Event::Start)
        });
        let over = Record { attempt: Some(0), latency_ms: Some(0), ..line(Event::Outcome) };
        self.record(over.with_outcome(&outcome, &snapshot.world));
        let verdict = Verdict { limit: Some(self.limit(standing)), ..Verdict::of(reason, &told(reason), None, None) };
        self.note_refusal(call, &verdict, reason);
        let mut headers = HeaderMap::new();
        if let Ok(id) = HeaderValue::from_str(&call.id) {
            headers.insert(REQUEST_ID, id);
        }
        headers.insert(ATTEMPTS, HeaderValue::from(0));
        put_standing(&mut headers, &standing);
        verdict.reply(call, headers)
    }

    /// A standing as clients are told it.
    pub(crate) fn limit(&self, standing: Standing) -> Limit {
        Limit {
            limit: (standing.limit > 0).then_some(standing.limit.into()),
            remaining: standing.remaining.into(),
            reset_s: whole_seconds(standing.reset),
            reset: later(self.clock.wall(), standing.reset).to_string(),
            wait_s: whole_seconds(standing.wait),
        }
    }

    /// How the limit of an endpoint stands that let nobody through.
    pub(crate) fn standing_of(&self, endpoint: &Endpoint, wait: Duration) -> Standing {
        let configured = endpoint.rate.as_ref().map(|limit| limit.look(self.clock.now()));
        let said = Standing { limit: 0, remaining: 0, reset: wait, wait };
        configured.filter(|standing| standing.remaining == 0).unwrap_or(said)
    }
}

/// Says in an answer how the limit stands.
pub(crate) fn put_standing(headers: &mut HeaderMap, standing: &Standing) {
    headers.insert(LIMIT, HeaderValue::from(standing.limit));
    headers.insert(REMAINING, HeaderValue::from(standing.remaining));
    headers.insert(RESET, HeaderValue::from(whole_seconds(standing.reset)));
}

/// The same in the names the client's own vendor has for it.
pub(crate) fn put_own_names(headers: &mut HeaderMap, family: Family, limit: &Limit) {
    for (name, value) in error::limit_headers(family, limit) {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

/// Takes in what an endpoint's answer says about its own limits.
pub(crate) fn learn(endpoint: &Endpoint, headers: &HeaderMap, wall: Timestamp, now: Instant) {
    if endpoint.keys_differ() {
        // What one client's key has left says nothing about another's.
        return;
    }
    if let Some(seen) = rate::seen(|name| headers.get(name)?.to_str().ok(), wall) {
        endpoint.learned.note(&seen, now);
    }
}

/// Whose share of a project's traffic a request is: its agent's, or else its session's.
fn agent(call: &Call) -> &str {
    call.agent.as_deref().or(call.session.as_deref()).unwrap_or("")
}

fn told(reason: Reason) -> String {
    format!("Steadfast refused the request before any call: {reason}")
}

fn said_by(of: LimitOf, unit: Unit, left: Left, wall: Timestamp) -> RateStatus {
    let Left { limit, remaining, reset } = left;
    let wait = reset.filter(|_| remaining == 0).unwrap_or_default();
    let reset = reset.map(|reset| later(wall, reset));
    RateStatus { of, unit, source: Source::Provider, limit, remaining, reset, wait }
}

fn later(wall: Timestamp, wait: Duration) -> Timestamp {
    let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(wall.as_millis().saturating_add(millis))
}
