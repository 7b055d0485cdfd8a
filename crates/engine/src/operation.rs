//! One request under way: its recovery, its line in the log, and what happens if it is dropped.
//!
//! Dropping an operation at any await is safe: the core is told that the caller left, so breakers
//! are not charged, money is settled and the log has an end.

mod story;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use steadfast_core::breaker;
use steadfast_core::context::{FailedAttempt, PartLimits, retry_note};
use steadfast_core::cost::Usage;
use steadfast_core::decision::{Decision, Reason, Refused, Target};
use steadfast_core::policy::{Policy, StreamMode};
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::recovery::{Action, Attempt, Face, Outcome, Plan, Recovery};
use steadfast_core::route::{Needs, Route};
use steadfast_core::world::{self, Endpoint, Session, World};
use steadfast_core::{Failure, FailureKind, Instant};
use steadfast_dialect::{Limit, Operation as Asked};

use crate::Engine;
use crate::call::Call;
use crate::drive::operation_name;
use crate::echo::without_echo;
use crate::failures::{Failed, Repeat};
use crate::journal::Kept;
use crate::last;
use crate::limits::{self, Taken};
use crate::means::{client_waits, effective_policy, is_side_question, needs, only_first, plain_policy, with_margin};
use crate::reply::{ATTEMPTS, ENDPOINT, MODEL, REQUEST_ID, Reply, ReplyBody, STEPS, Verdict};
use crate::shape::is_untouched;
use crate::snapshot::{Reach, Snapshot, dialect_of};
use crate::traces::Trace;
use crate::trouble::Trouble;

/// Heads have limits: a story of more steps than this is in the log.
const STEPS_IN_HEADER_MAX: usize = 16;

/// One request under way.
pub(crate) struct Operation {
    pub(crate) engine: Arc<Engine>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) call: Arc<Call>,
    pub(crate) mode: StreamMode,
    /// Switched off: a plain proxy.
    pub(crate) plain: bool,
    /// What requests share; a plain proxy shares nothing that could refuse.
    world: Arc<World>,
    recovery: Recovery,
    started: Instant,
    attempt: Option<(Attempt, Instant)>,
    served_by: Option<Target>,
    failed_at: Option<Target>,
    steps: Vec<&'static str>,
    last: Option<Trouble>,
    /// When targets that failed may be asked again, as they said last.
    waits: Vec<(Target, Instant)>,
    tokens_seen: u64,
    /// What is said of the translation of the answer under way.
    translated: Option<HeaderValue>,
    over: bool,
    /// Where traces are sent and the caller wants one.
    trace: Option<Box<Trace>>,
    /// Where the same request failed before.
    repeat: Option<Repeat>,
    /// What it took from its project's rate limits.
    taken: Option<Taken>,
}

/// How often a request asks for more of what replicas share before it goes by what there is.
const ASKS_MAX: u32 = 4;

/// What the driver does next.
pub(crate) enum Next {
    Attempt(Attempt),
    Failed(Box<Verdict>),
}

impl Operation {
    /// Plans a request; an error says why it cannot even start.
    pub(crate) fn plan(
        engine: &Arc<Engine>,
        call: Arc<Call>,
        repeat: Option<Repeat>,
        taken: Option<Taken>,
    ) -> Result<Self, Box<Verdict>> {
        let snapshot = engine.snapshot();
        let now = engine.clock.now();
        let configured = snapshot.config.project(Some(&call.project));
        let plain = !snapshot.config.enabled || !configured.enabled;
        let policy = if plain { plain_policy(&configured.policy) } else { effective_policy(&configured.policy, &call) };
        let name = call.envelope.model.as_deref().unwrap_or(operation_name(call.route.operation));
        let reach = match call.route.operation {
            Asked::Generate(_) if !plain => Reach::All,
            _ => Reach::Own,
        };
        let route = match &call.wishes.chain {
            None => snapshot.route(configured, name, call.route.family, reach),
            Some(chain) => {
                let made = snapshot.route_with_chain(policy.vendor_boundary, name, chain, call.route.family, reach);
                Arc::new(made.map_err(|error| Box::new(bad_chain(&error)))?)
            }
        };
        let route = if plain { Arc::new(only_first(&route)) } else { route };
        let project = snapshot.project(&configured.name).ok_or_else(|| Box::new(no_project()))?;
        project.spend.roll(engine.clock.day());
        let session = match &call.session {
            _ if plain => Arc::new(Session::new(None)),
            Some(id) => {
                let session = engine.sessions.get(&project.name, id, configured.usd_micros_per_session, now);
                engine.sharing.uses(&project.name, id, &session, now);
                session
            }
            None => match &repeat {
                Some(repeat) => Arc::clone(&repeat.session),
                None => Arc::new(Session::new(configured.usd_micros_per_session)),
            },
        };
        let plan = Plan {
            needs: if plain { Needs { free: true, ..Needs::default() } } else { needs(&call) },
            face: Face::GATEWAY,
            project: Arc::clone(project),
            session,
            turn: if call.envelope.continues_turn { world::Turn::Continues } else { world::Turn::New },
            time_limit: client_waits(&call).filter(|_| !call.envelope.stream).map(with_margin),
            restarts_used: 0,
            seed: fastrand::u64(..),
            policy: Arc::clone(&policy),
            route,
        };
        let mode = policy.stream;
        let trace = engine.tracer().as_ref().and_then(|tracer| Trace::begin(tracer, &call, &plan.project.name));
        let operation = Self {
            engine: Arc::clone(engine),
            mode,
            plain,
            world: if plain { Arc::new(snapshot.plain_world()) } else { Arc::clone(&snapshot.world) },
            recovery: Recovery::start(plan, now),
            started: now,
            attempt: None,
            served_by: None,
            failed_at: None,
            steps: Vec::new(),
            last: None,
            waits: Vec::new(),
            tokens_seen: 0,
            translated: None,
            over: false,
            trace,
            repeat,
            taken,
            snapshot,
            call,
        };
        operation.log_start();
        Ok(operation)
    }

    /// One attempt that another `Recovery` decided on: this one's is never asked, and nothing is logged.
    pub(crate) fn lone(
        engine: &Arc<Engine>,
        call: Arc<Call>,
        policy: Arc<Policy>,
        route: Arc<Route>,
        attempt: Attempt,
    ) -> Self {
        let (snapshot, now) = (engine.snapshot(), engine.clock.now());
        let plan = Plan {
            needs: Needs { free: true, ..Needs::default() },
            face: Face::GATEWAY,
            project: Arc::new(world::Project::new("", 0.0, None)),
            session: Arc::new(Session::new(None)),
            turn: world::Turn::New,
            time_limit: None,
            restarts_used: 0,
            seed: 0,
            policy,
            route,
        };
        Self {
            engine: Arc::clone(engine),
            mode: plan.policy.stream,
            plain: false,
            world: Arc::clone(&snapshot.world),
            recovery: Recovery::start(plan, now),
            started: now,
            attempt: Some((attempt, now)),
            served_by: None,
            failed_at: None,
            steps: Vec::new(),
            last: None,
            waits: Vec::new(),
            tokens_seen: 0,
            translated: None,
            over: true,
            trace: None,
            repeat: None,
            taken: None,
            snapshot,
            call,
        }
    }

    /// Waits as long as the core says, and returns with an attempt to make or the end.
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            let now = self.engine.clock.now();
            if self.engine.sharing.is_up() && self.recovery.lacks(&self.world, now) {
                // Boxed: every request has room for what few need.
                Box::pin(self.ask_for_more()).await;
            }
            match self.recovery.next(&self.world, now) {
                Action::Attempt(attempt) => {
                    self.attempt = Some((attempt, now));
                    self.tokens_seen = 0;
                    self.log_attempt(&attempt);
                    self.trace_attempt(&attempt);
                    return Next::Attempt(attempt);
                }
                Action::Wait(until) | Action::Restart(until) => self.engine.clock.sleep_until(until).await,
                Action::Decided(decision) => self.decided(&decision, None),
                Action::Done(outcome) => return Next::Failed(Box::new(self.finish(&outcome))),
                // A gateway has nobody to ask and nothing to repair: the core is told so by its
                // face. Should it ask all the same, the answer is no.
                Action::Ask(_) | Action::Defer => {
                    let answer = steadfast_core::recovery::Answer::No;
                    if let Some(decision) = self.recovery.answered(answer, &self.world, now) {
                        self.decided(&decision, None);
                    }
                }
                Action::Repair => {
                    if let Some(decision) = self.recovery.repaired(false, &self.world, now) {
                        self.decided(&decision, None);
                    }
                }
            }
        }
    }

    /// Nothing of something replicas share is at hand: asks for more, for a moment.
    async fn ask_for_more(&self) {
        let plan = self.recovery.plan();
        if let Some(id) = &self.call.session {
            // A wait between two attempts may have been long enough for it to be left out of the rounds.
            self.engine.sharing.uses(&plan.project.name, id, &plan.session, self.engine.clock.now());
        }
        for asked in 0..ASKS_MAX {
            let is_first = asked == 0 && plan.session.spend.is_unheard_of();
            let is_answered = self.engine.sharing.more(self.engine.clock.now(), is_first).await;
            // Others who came meanwhile may have taken what was fetched for this one.
            if !is_answered || !self.recovery.lacks(&self.world, self.engine.clock.now()) {
                break;
            }
        }
        // Nothing where it was told of its part.
        plan.session.spend.advance(self.engine.sharing.replicas());
    }

    /// The attempt served.
    pub(crate) fn succeeded(&mut self, usage: Option<steadfast_dialect::watch::Usage>) {
        let Some((attempt, began)) = self.attempt.take() else { return };
        let now = self.engine.clock.now();
        let counted = usage.map(|usage| Usage { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens });
        let climbed = self.recovery.plan().session.escalated();
        let transition = self.recovery.succeeded(counted.unwrap_or_default(), &self.world, now);
        self.served_by = Some(attempt.target);
        self.over = true;
        if let (Asked::Generate(_), Some(model)) = (self.call.route.operation, &self.call.envelope.model) {
            self.recovery.plan().session.served(model);
        }
        if let Some(repeat) = self.repeat.take() {
            for _ in 0..self.engine.failures.forget(repeat.key) {
                self.recovery.plan().session.give_back_retry();
            }
        }
        if let Some(trace) = &mut self.trace {
            trace.succeeded(counted.unwrap_or_default());
        }
        let place = self.place(attempt.target);
        self.engine.count_attempt(place.as_ref(), "ok");
        self.engine.count_tokens(&self.snapshot, place.as_ref(), counted.unwrap_or_default());
        if let (Some(transition), Some(place)) = (transition, &place) {
            self.engine.breaker_changed(&place.endpoint, &transition, &self.call.id);
        }
        self.engine.record(Record {
            attempt: Some(attempt.number),
            target: place,
            latency_ms: Some(millis(now.since(began))),
            usage: counted,
            usd_micros: counted.and_then(|usage| self.cost(attempt.target, usage)),
            reason: self.told_of_translation().map(Cow::Owned),
            ..self.line(Event::Success)
        });
        if let Some(from) = climbed {
            self.tell_roll_back(&from);
        }
        self.log_outcome(&Outcome::Succeeded(attempt.target), None);
    }

    /// An answer passed that nobody looked into: of what it cost, the question is all that is known.
    pub(crate) fn passed(&mut self) {
        let envelope = &self.call.envelope;
        let input_tokens = envelope.input_tokens.into();
        let question = steadfast_dialect::watch::Usage { input_tokens, output_tokens: 0 };
        let asks_a_model = envelope.model.is_some() && !is_side_question(&self.call);
        let target = self.attempt.as_ref().map(|(attempt, _)| attempt.target);
        self.succeeded(asks_a_model.then_some(question));
        if let (true, true, Some(target)) = (self.plain, asks_a_model, target) {
            // No budget refuses a plain proxy anything. What it spends is spent all the same.
            let cost = self.cost(target, Usage { input_tokens, output_tokens: 0 });
            self.recovery.plan().project.spend.settle(0, cost.unwrap_or(0));
        }
    }

    /// Says that the session has left the rung it had climbed to, where it has: the model there did not serve.
    fn tell_roll_back(&self, from: &Arc<str>) {
        let Plan { session, route, project, .. } = self.recovery.plan();
        let Some(id) = self.call.session.as_ref().filter(|_| session.escalated().is_none()) else { return };
        let place = |model: &Arc<str>| Some(Place { model: Arc::clone(model), endpoint: Arc::default() });
        self.engine.record(Record {
            about: Some(Arc::clone(id)),
            session: Some(Arc::clone(id)),
            project: Some(Arc::clone(&project.name)),
            state: Some("rolled_back".into()),
            from: place(from),
            to: place(&route.primary().name),
            reason: Some(format!("`{from}` does not serve: back to `{}`", route.primary().name).into()),
            ..self.line(Event::Escalation)
        });
    }

    /// The attempt failed; what follows is for [`Operation::next`] to say.
    pub(crate) fn failed(&mut self, trouble: Trouble) {
        self.report(trouble, Recovery::failed);
    }

    /// The attempt failed and its answer cannot be taken back.
    pub(crate) fn broke_off(&mut self, trouble: Trouble) -> Box<Verdict> {
        self.report(trouble, Recovery::broke_off);
        Box::new(self.finish(&Outcome::GaveUp(Reason::AlreadyBegun)))
    }

    fn report(&mut self, trouble: Trouble, tell: fn(&mut Recovery, Failure, Usage, &World, Instant) -> Decision) {
        let Some((attempt, began)) = self.attempt.take() else { return };
        let now = self.engine.clock.now();
        let endpoint = self.snapshot.config.endpoint(attempt.target.endpoint);
        let provider = endpoint.map_or("", |e| e.dialect.vendor());
        let trouble = match endpoint {
            Some(endpoint) => trouble.without_secrets(endpoint),
            None => trouble,
        };
        let mut failure = trouble.classify(&self.snapshot.classifier, provider, self.engine.clock.wall());
        if failure.kind == FailureKind::Cancelled {
            // A client that leaves drops the operation: who says "cancelled" here is the provider.
            failure.kind = FailureKind::ServerError;
        }
        failure.message = without_echo(&failure.message, &self.call.body, &self.call.credential);
        let usage = trouble.usage;
        // The words of another vendor are in another shape than the client reads.
        let is_own = endpoint.is_none_or(|endpoint| endpoint.dialect == dialect_of(self.call.route.family));
        self.waits.retain(|(target, _)| *target != attempt.target);
        self.waits.extend(failure.retry_after.map(|wait| (attempt.target, now + wait)));
        let decision = tell(&mut self.recovery, failure.clone(), usage, &self.world, now);
        self.last = is_own.then_some(trouble);
        self.failed_at = Some(attempt.target);
        if let Some(trace) = &mut self.trace {
            trace.failed(&failure, usage);
        }
        let place = self.place(attempt.target);
        self.engine.count_attempt(place.as_ref(), failure.kind.as_str());
        self.decided(&decision, Some((&failure, now.since(began), usage)));
    }

    fn decided(&mut self, decision: &Decision, failed: Option<(&Failure, Duration, Usage)>) {
        self.engine.count_decision(decision);
        if decision.step != "give_up" && self.steps.len() < STEPS_IN_HEADER_MAX {
            self.steps.push(decision.step);
        }
        if let (Some(transition), Some(place)) = (&decision.breaker, self.place(decision.from)) {
            self.engine.breaker_changed(&place.endpoint, transition, &self.call.id);
        }
        if self.trace.is_some() {
            let to = decision.to.and_then(|to| self.place(to));
            let reason = decision.reason.in_world(&self.world).to_string();
            if let Some(trace) = &mut self.trace {
                trace.decided(decision, reason, to.as_ref());
            }
        }
        let bare = self.line(Event::Decision);
        let bare = match failed {
            Some((failure, latency, usage)) => Record {
                latency_ms: Some(millis(latency)),
                usage: (usage != Usage::default()).then_some(usage),
                usd_micros: self.cost(decision.from, usage),
                ..bare.with_failure(failure)
            },
            None => bare,
        };
        self.engine.record(Record {
            // Before the first attempt there is nothing to come from.
            from: self.place(decision.from).filter(|_| self.recovery.attempts() > 0),
            to: decision.to.and_then(|to| self.place(to)),
            ..bare.with_decision(decision, &self.world)
        });
    }

    fn finish(&mut self, outcome: &Outcome) -> Verdict {
        self.over = true;
        self.log_outcome(outcome, None);
        let reason = match outcome {
            Outcome::GaveUp(reason) => *reason,
            Outcome::Succeeded(_) | Outcome::Degraded | Outcome::Cancelled => Reason::CallerLeft,
        };
        let told = reason.in_world(&self.world).to_string();
        let told = match self.recovery.attempts() {
            1 => format!("Steadfast made 1 attempt: {told}"),
            attempts => format!("Steadfast made {attempts} attempts: {told}"),
        };
        let verdict = Verdict::of(reason, &told, self.recovery.last_failure(), self.last.take());
        let retry_after = match reason {
            // Said of all targets already.
            Reason::NoTarget { .. } | Reason::RateLimit { .. } => verdict.retry_after,
            _ => verdict.retry_after.map(|wait| wait.min(self.soonest().unwrap_or(wait))),
        };
        let verdict = Verdict { limit: self.limit_of(reason), retry_after, ..verdict };
        if !self.plain && matches!(outcome, Outcome::GaveUp(_)) {
            let place = self.failed_at.and_then(|target| self.place(target));
            let session = &self.recovery.plan().session;
            last::note(session, &self.call, &verdict, reason, self.recovery.last_failure(), place.as_ref());
        }
        verdict
    }

    /// In how long the first of the targets that asked for patience may be asked again.
    fn soonest(&self) -> Option<Duration> {
        let now = self.engine.clock.now();
        self.waits.iter().map(|(_, until)| until.since(now).max(Duration::from_secs(1))).min()
    }

    /// The endpoint's rate limit, where that is why nothing is left.
    fn limit_of(&self, reason: Reason) -> Option<Limit> {
        let Reason::NoTarget { endpoint, cause: Refused::RateLimit, wait } = reason else { return None };
        let (engine, endpoint) = (&self.engine, self.world.endpoint(endpoint)?);
        engine.metrics.rate_limited.add([&self.recovery.plan().project.name, &engine.word("endpoint")], 1);
        Some(engine.limit(engine.standing_of(endpoint, wait)))
    }

    /// An endpoint answered: its headers may say how its own limits stand.
    pub(crate) fn answered(&self, attempt: &Attempt, headers: &HeaderMap) {
        let id = attempt.target.endpoint;
        let learns = self.snapshot.config.endpoint(id).is_some_and(|endpoint| endpoint.learns_limits);
        if let Some(endpoint) = self.world.endpoint(id).filter(|_| learns && !self.plain) {
            limits::learn(endpoint, headers, self.engine.clock.wall(), self.engine.clock.now());
        }
    }

    /// Remembers how a turn failed, for a client that comes again at once. What is wrong with a request
    /// is not: clients negotiate, and each of their tries counts.
    pub(crate) fn remember(&self, verdict: &Verdict, reply: &Reply) {
        let Asked::Generate(_) = self.call.route.operation else { return };
        let negotiable = verdict.kind != FailureKind::ContextLimit && is_untouched(verdict.status);
        let ReplyBody::Whole(body) = &reply.body else { return };
        if negotiable || verdict.kind == FailureKind::InvalidRequest {
            return;
        }
        let mut headers = reply.headers.clone();
        headers.remove(REQUEST_ID);
        let answer = Kept { status: reply.status, headers, body: body.clone() };
        let failed = Failed {
            request: Arc::clone(&self.call.id),
            answer,
            retry_after: verdict.retry_after,
            broke_off: verdict.broke_off,
            endpoints: self.judged_endpoints(verdict.kind),
            session: Arc::clone(&self.recovery.plan().session),
        };
        let (engine, key) = (&self.engine, self.repeat.as_ref().map(|repeat| repeat.key));
        let key = key.unwrap_or_else(|| engine.keys.of(&self.call));
        engine.failures.remember(key, failed, engine.clock.now());
    }

    /// The endpoints of the chain, where such a failure says something about them.
    fn judged_endpoints(&self, kind: FailureKind) -> Vec<Arc<Endpoint>> {
        if kind.endpoint_outcome() == breaker::Outcome::Neutral {
            return Vec::new();
        }
        let served = self.recovery.plan().route.chain().iter().flat_map(|model| &model.endpoints);
        let known = self.snapshot.known_endpoints();
        served.filter_map(|served| known.get(usize::from(served.endpoint.0))).map(Arc::clone).collect()
    }

    /// The headers that say what happened so far.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(8);
        self.put_headers(&mut headers);
        headers
    }

    /// The same, put among others.
    pub(crate) fn put_headers(&self, headers: &mut HeaderMap) {
        let text = |text: &str| HeaderValue::from_str(text).ok();
        let mut put = |name, value: Option<HeaderValue>| {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        };
        put(REQUEST_ID, text(&self.call.id));
        put(ATTEMPTS, Some(HeaderValue::from(self.recovery.attempts())));
        if !self.steps.is_empty() {
            put(STEPS, text(&self.steps.join(", ")));
        }
        if let Some(taken) = &self.taken {
            limits::put_standing(headers, &taken.standing);
        }
        let mut put = |name, value: Option<HeaderValue>| {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        };
        let target = self.attempt.map(|(attempt, _)| attempt.target).or(self.served_by);
        if let Some(place) = target.and_then(|target| self.place(target)) {
            put(MODEL, text(&place.model).filter(|_| self.call.envelope.model.is_some()));
            put(ENDPOINT, text(&place.endpoint));
        }
    }

    /// How much of the answer has been seen: what a client that leaves is charged for.
    pub(crate) fn note_tokens(&mut self, seen: u64) {
        self.tokens_seen = seen;
    }

    /// What is said of the translation of the answer that comes. The log has it too: a heartbeat may have sent the head.
    pub(crate) fn note_translation(&mut self, told: Option<&HeaderValue>) {
        self.translated = told.cloned();
    }

    fn told_of_translation(&self) -> Option<String> {
        let told = self.translated.as_ref()?.to_str().ok()?;
        Some(format!("translated: {told}"))
    }

    /// The first content of an answer, words or a tool call, came at this moment.
    pub(crate) fn begun(&mut self, came: Instant) {
        let Some(transition) = self.recovery.begun(&self.world, came) else { return };
        if let Some(place) = self.attempt.and_then(|(attempt, _)| self.place(attempt.target)) {
            self.engine.breaker_changed(&place.endpoint, &transition, &self.call.id);
        }
    }

    /// The first content of a stream has come.
    pub(crate) fn first_token(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.first_token();
        }
        let Some((_, began)) = self.attempt else { return };
        self.engine.metrics.first_token_seconds.record(self.engine.clock.now().since(began));
    }

    /// What the model is told about the attempt before.
    pub(crate) fn retry_note(&self) -> Option<String> {
        let failure = self.recovery.last_failure()?;
        let failed = FailedAttempt { kind: Some(failure.kind), message: &failure.message, ..FailedAttempt::default() };
        Some(retry_note(&failed, PartLimits::default()))
    }

    /// The policy in force.
    pub(crate) fn policy(&self) -> &Policy {
        &self.recovery.plan().policy
    }

    /// When the running attempt began.
    pub(crate) fn attempt_began(&self) -> Instant {
        self.attempt.map_or(self.started, |(_, began)| began)
    }

    /// Whether retries are the client's own business: we made none and will make none.
    pub(crate) fn leaves_retries_to_client(&self) -> bool {
        self.plain || !self.may_repeat()
    }

    /// Whether a request that may have reached a provider can be sent again without doing its work twice.
    pub(crate) fn may_repeat(&self) -> bool {
        self.call.route.repeatable(self.call.method.as_str())
    }

    /// The way of this request.
    pub(crate) fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Its trace, where there is one.
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.trace.as_deref()
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // The provider has read the question by now, if an attempt was running.
        let cut = self.attempt.as_ref().map(|(attempt, _)| {
            let input_tokens = self.call.envelope.input_tokens.into();
            (attempt.target, Usage { input_tokens, output_tokens: self.tokens_seen })
        });
        let usage = cut.map_or_else(Usage::default, |(_, usage)| usage);
        self.recovery.cancelled(usage, &self.world, self.engine.clock.now());
        self.log_outcome(&Outcome::Cancelled, cut);
    }
}

fn bad_chain(error: &steadfast_core::route::RouteError) -> Verdict {
    let failure = Failure::new(FailureKind::InvalidRequest, "steadfast.chain");
    Verdict::of(Reason::PolicyGivesUp, &format!("the header `x-steadfast-chain`: {error}"), Some(&failure), None)
}

fn no_project() -> Verdict {
    Verdict::of(Reason::NoEndpoint, "the project is not configured", None, None)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
