//! One operation's way through its policy.
//!
//! ```text
//! start ──▶ next ──▶ Attempt ──▶ succeeded ──▶ Done
//!            ▲          │
//!            │          └──▶ failed ──▶ Decision
//!            └── Wait · Defer · Ask · Repair · Restart ◀──┘
//! ```
//!
//! The driver performs what `next` returns and reports back; it holds no policy. The limits of
//! SPEC 2.4 hold whatever the policy says and whatever the driver reports: attempts, deadline,
//! session retries, allowances and money. The first attempt of a request is free; a retry is paid
//! from the endpoint's retry allowance and a fallback from the project's. Climbing, repairing,
//! deferring, asking and restarting are bounded by their own counts.

mod launch;
mod steps;

use std::sync::Arc;
use std::time::Duration;

use crate::breaker::{self, Permit, Transition};
use crate::cost::Usage;
use crate::decision::{Decision, Reason, Target};
use crate::failure::Failure;
use crate::kind::FailureKind;
use crate::policy::{Ask, Policy, Trigger};
use crate::route::{EndpointId, Needs, Place, Route};
use crate::time::Instant;
use crate::world::{Project, Session, Turn, World};

/// Where a route begins.
const FIRST: Place = Place { model: 0, served: 0 };

/// How many failed targets an operation remembers: more than most requests may attempt.
const FAILED_TARGETS_MAX: usize = 8;

/// Everything one operation is planned with.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What to do about failures.
    pub policy: Arc<Policy>,
    /// Where it may go.
    pub route: Arc<Route>,
    /// What the request asks of a model.
    pub needs: Needs,
    /// Which steps the driver can take.
    pub face: Face,
    /// Who pays.
    pub project: Arc<Project>,
    /// The conversation it belongs to.
    pub session: Arc<Session>,
    /// Whether it goes on with the turn before it.
    pub turn: Turn,
    /// The caller's own time limit, where it is known; the policy's holds too.
    pub time_limit: Option<Duration>,
    /// Restarts the task has had before this process knew it.
    pub restarts_used: u32,
    /// All of its randomness.
    pub seed: u64,
}

/// Which steps a driver can take beyond retry, fallback and escalate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Face {
    /// Bring back lost state or a dead service.
    pub repair: bool,
    /// Run the whole task anew.
    pub restart: bool,
    /// Let others speak first.
    pub defer: bool,
    /// Put a question to a person.
    pub ask: bool,
}

/// What the driver must do now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Make this attempt, report `begun` where its answer streams, then `succeeded`, `failed` or `cancelled`.
    Attempt(Attempt),
    /// Call `next` again then.
    Wait(Instant),
    /// Put a question to a person, then report `answered`; call `next` at the latest at `skip`.
    Ask(Question),
    /// Let the others go first, then call `next`.
    Defer,
    /// Bring back what the call needs, then report `repaired`.
    Repair,
    /// Run the task anew: call `next` then.
    Restart(Instant),
    /// A decision was made without a new failure: log it, then call `next` again.
    Decided(Decision),
    /// It is over.
    Done(Outcome),
}

/// One call of one model at one endpoint, or one run of one agent process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Where it goes.
    pub target: Target,
    /// Which attempt of the request this is.
    pub number: u32,
    /// How many there may be.
    pub of: u32,
    /// Why it goes there.
    pub choice: Choice,
    /// Tell the model what failed before.
    pub with_context: bool,
    /// Give it up then.
    pub deadline: Instant,
}

/// Why an attempt goes where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The request's own target.
    First,
    /// The same target again.
    Retry,
    /// The next target after a failure.
    Fallback,
    /// The next rung of the ladder.
    Escalation,
    /// The target before it refused.
    Rerouted,
    /// Every breaker refused, and the throttle let it through.
    Panic,
    /// The target before it failed the session's last requests.
    Remembered,
}

/// What a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// The target that failed.
    pub from: Target,
    /// The target it would go to.
    pub to: Target,
    /// A reminder is due then.
    pub nudge: Instant,
    /// No answer by then counts as no.
    pub skip: Instant,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Go to the target asked about.
    Yes,
    /// Do not.
    No,
}

/// How an operation ended. Exactly one per operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was served.
    Succeeded(Target),
    /// It was not.
    GaveUp(Reason),
    /// It goes on without this voice.
    Degraded,
    /// The caller left.
    Cancelled,
}

/// One operation's way through its policy.
#[derive(Debug)]
pub struct Recovery {
    plan: Plan,
    rng: fastrand::Rng,
    deadline: Instant,
    state: State,
    /// Where the next attempt starts looking.
    at: Place,
    /// Why the next attempt goes there.
    choice: Choice,
    with_context: bool,
    attempts: u32,
    /// Retries since the model changed.
    retries_on_model: u32,
    /// How far each list of steps has been worked through at this target.
    progress: Vec<Progress>,
    /// What went wrong last.
    failure: Option<Failure>,
    /// Where it went wrong.
    failed_at: Option<Target>,
    failed_kind: FailureKind,
    /// Only a larger window than this helps: the largest that was too small.
    outgrown_window: u32,
    deferred: bool,
    asked: bool,
    repairs: u32,
    restarts: u32,
    patience: u32,
    /// The next attempt is paid from the project's fallbacks.
    paid_fallback: bool,
    /// The next attempt is paid from this endpoint's retries.
    paid_retry: Option<EndpointId>,
    /// It began on the rung its session had climbed to: the chain has not been tried.
    began_on_rung: bool,
    /// That rung did not serve: if the chain does, the session returns to it.
    rolled_back: bool,
    /// Targets that failed: if another serves, the session remembers them.
    failed_targets: [Option<Target>; FAILED_TARGETS_MAX],
    /// Where it began, where the session shunned what comes before.
    began_at: Option<Place>,
    /// How long it has been held because no target was left.
    parked: Duration,
    /// How often it waited for a rate limit before an attempt.
    limit_waits: u32,
}

#[derive(Debug)]
enum State {
    Ready,
    Running(Running),
    Waiting { until: Instant, then: Then },
    Deferring,
    Asking { question: Question, place: Place, ask: Ask },
    Repairing,
    Restarting { at: Instant },
    Done(Outcome),
}

/// What follows a wait.
#[derive(Clone, Copy, Debug)]
enum Then {
    Attempt,
    /// An allowance was empty: look at the steps again.
    Decide,
}

#[derive(Debug)]
struct Running {
    attempt: Attempt,
    permit: Permit,
    reserved_usd_micros: u64,
    /// Paid from the project's fallbacks; given back if it serves.
    paid_fallback: bool,
    /// Paid from this endpoint's retries; given back if it serves.
    paid_retry: Option<EndpointId>,
}

/// How far a list of steps was worked through at this target; or, apart from it, one of its steps for one tool: the
/// list goes on past it, and a later failure of that tool comes back to it.
#[derive(Clone, Copy, Debug)]
struct Progress {
    trigger: Trigger,
    step: usize,
    for_tool: bool,
    used: u32,
    last_wait: Duration,
}

impl Recovery {
    /// Plans an operation that has not attempted anything yet.
    pub fn start(plan: Plan, now: Instant) -> Self {
        let at = plan.start();
        Self {
            rng: fastrand::Rng::with_seed(plan.seed),
            deadline: now + plan.time_limit(),
            state: State::Ready,
            at,
            choice: Choice::First,
            with_context: false,
            attempts: 0,
            retries_on_model: 0,
            progress: Vec::new(),
            failure: None,
            failed_at: None,
            failed_kind: FailureKind::Unknown,
            outgrown_window: 0,
            deferred: false,
            asked: false,
            repairs: 0,
            restarts: plan.restarts_used,
            patience: 0,
            paid_fallback: false,
            paid_retry: None,
            began_on_rung: plan.route.is_rung(at.model),
            rolled_back: false,
            failed_targets: [None; FAILED_TARGETS_MAX],
            began_at: None,
            parked: Duration::ZERO,
            limit_waits: 0,
            plan,
        }
    }

    /// What to do now.
    pub fn next(&mut self, world: &World, now: Instant) -> Action {
        loop {
            match self.state {
                State::Done(outcome) => return Action::Done(outcome),
                State::Running(ref running) => return Action::Attempt(running.attempt),
                State::Ready => {
                    if let Some(decision) = self.launch(world, now) {
                        return Action::Decided(decision);
                    }
                }
                State::Waiting { until, .. } if now < until => return Action::Wait(until),
                State::Waiting { then: Then::Attempt, .. } => self.state = State::Ready,
                State::Waiting { then: Then::Decide, .. } => return Action::Decided(self.decide(world, now)),
                State::Deferring => {
                    self.state = State::Ready;
                    return Action::Defer;
                }
                State::Asking { question, .. } if now < question.skip => return Action::Ask(question),
                State::Asking { .. } => return Action::Decided(self.decide(world, now)),
                State::Repairing => return Action::Repair,
                State::Restarting { at } if now < at => return Action::Restart(at),
                State::Restarting { .. } => self.run_anew(now),
            }
        }
    }

    /// The first content of the running attempt's answer has come; says how that changed the endpoint's
    /// breaker, where it did. It is the verdict of a probe and nothing else: money, allowances and the
    /// attempt itself are settled at its end, which is still to be reported.
    pub fn begun(&mut self, world: &World, now: Instant) -> Option<Transition> {
        let State::Running(running) = &mut self.state else { return None };
        if !running.permit.is_probe() || self.plan.needs.free {
            return None;
        }
        let endpoint = world.endpoint(running.attempt.target.endpoint)?;
        endpoint.breaker.begun(&mut running.permit, now)
    }

    /// The running attempt served; says how that changed the endpoint's breaker, where it did.
    pub fn succeeded(&mut self, usage: Usage, world: &World, now: Instant) -> Option<Transition> {
        let running = self.take_running()?;
        let target = running.attempt.target;
        self.settle(&running, usage);
        let transition = world.endpoint(target.endpoint).and_then(|endpoint| {
            if self.plan.needs.free {
                return endpoint.breaker.record(running.permit, breaker::Outcome::Neutral, None, now);
            }
            endpoint.throttle.record(true, now);
            endpoint.serves(now);
            endpoint.breaker.record(running.permit, breaker::Outcome::Success, None, now)
        });
        self.remember(target, world, now);
        self.plan.project.fallbacks.deposit();
        if running.paid_fallback {
            self.plan.project.fallbacks.refund();
        }
        if let Some(endpoint) = running.paid_retry.and_then(|paid| world.endpoint(paid)) {
            endpoint.retries.refund();
            self.plan.session.give_back_retry();
        }
        if !self.plan.needs.free {
            self.plan.session.finished_turn(usage);
        }
        if self.plan.route.is_rung(self.at.model) || self.rolled_back {
            let rung = self.plan.route.model(self.at.model).filter(|_| self.plan.route.is_rung(self.at.model));
            self.plan.session.stick_to(rung.map(|model| Arc::clone(&model.name)));
        }
        self.state = State::Done(Outcome::Succeeded(target));
        transition
    }

    /// The running attempt failed; `usage` is what it consumed all the same.
    pub fn failed(&mut self, failure: Failure, usage: Usage, world: &World, now: Instant) -> Decision {
        let Some(running) = self.take_running() else { return self.nothing_running(&failure) };
        let target = running.attempt.target;
        self.settle(&running, usage);
        let mut transition = None;
        if let Some(endpoint) = world.endpoint(target.endpoint) {
            // Agents ask side questions in bursts; how these fare must not stop their turns.
            let free = self.plan.needs.free;
            let outcome = if free { breaker::Outcome::Neutral } else { failure.kind.endpoint_outcome() };
            transition = endpoint.breaker.record(running.permit, outcome, failure.retry_after, now);
            if outcome != breaker::Outcome::Neutral {
                endpoint.throttle.record(false, now);
            }
            match (failure.kind, failure.retry_after) {
                _ if free => {}
                // What one client's key has used up says nothing about another's.
                (FailureKind::QuotaExhausted | FailureKind::RateLimit, _) if endpoint.keys_differ => {}
                (FailureKind::QuotaExhausted, wait) => {
                    endpoint.set_aside(now + wait.unwrap_or(self.plan.policy.quota_rest));
                }
                (FailureKind::RateLimit | FailureKind::Overloaded, Some(wait)) => {
                    endpoint.pause(now + wait.min(self.plan.policy.breaker.cooldown_max));
                }
                _ => {}
            }
        }
        if failure.kind == FailureKind::ContextLimit {
            let window = self.plan.route.model(self.at.model).and_then(|model| model.context_window);
            self.outgrown_window = self.outgrown_window.max(window.unwrap_or(0));
        }
        let mut known = self.failed_targets.iter_mut();
        if let Some(slot) = known.find(|known| known.is_none_or(|known| known == target)) {
            *slot = Some(target);
        }
        self.failed_kind = failure.kind;
        self.failed_at = Some(target);
        self.failure = Some(failure);
        Decision { breaker: transition, ..self.decide(world, now) }
    }

    /// The running attempt failed when its answer had begun to arrive and could not be taken back:
    /// counted and charged like any other, and the end.
    pub fn broke_off(&mut self, failure: Failure, usage: Usage, world: &World, now: Instant) -> Decision {
        let decided = self.failed(failure, usage, world, now);
        // The client asks again itself, at once: elsewhere, if there is an elsewhere.
        self.shun_failed(world, now);
        self.give_back(world);
        Decision { breaker: decided.breaker, ..self.give_up(Reason::AlreadyBegun) }
    }

    /// The running attempt was refused because its money is spent: that says nothing about its target, and is the end.
    pub fn out_of_money(&mut self, failure: Failure, usage: Usage, world: &World, now: Instant) -> Decision {
        let Some(running) = self.take_running() else { return self.nothing_running(&failure) };
        let target = running.attempt.target;
        self.settle(&running, usage);
        if let Some(endpoint) = world.endpoint(target.endpoint) {
            endpoint.breaker.record(running.permit, breaker::Outcome::Neutral, None, now);
        }
        self.failed_kind = failure.kind;
        self.failed_at = Some(target);
        self.failure = Some(failure);
        self.give_back(world);
        self.give_up(Reason::Money)
    }

    /// A person answered; an answer nobody asked for changes nothing.
    pub fn answered(&mut self, answer: Answer, world: &World, now: Instant) -> Option<Decision> {
        let State::Asking { question, place, .. } = self.state else { return None };
        match answer {
            Answer::No => Some(self.decide(world, now)),
            Answer::Yes => {
                self.move_to(place, Choice::Fallback);
                self.state = State::Ready;
                let decision = self.decision("fallback", Duration::ZERO, Reason::PersonAgreed);
                Some(Decision { to: Some(question.to), ..decision })
            }
        }
    }

    /// The question is put to the person only now, because another was open: its times count from here.
    pub fn put_question(&mut self, now: Instant) -> Option<Question> {
        let State::Asking { question, ask, .. } = &mut self.state else { return None };
        *question = question.put_at(now, *ask, self.deadline);
        Some(*question)
    }

    /// The repair worked or did not.
    pub fn repaired(&mut self, worked: bool, world: &World, now: Instant) -> Option<Decision> {
        if !matches!(self.state, State::Repairing) {
            return None;
        }
        if worked {
            self.choice = Choice::Retry;
            self.state = State::Ready;
            return None;
        }
        Some(self.decide(world, now))
    }

    /// The caller left: whatever was held is given back.
    pub fn cancelled(&mut self, usage: Usage, world: &World, now: Instant) {
        if let Some(running) = self.take_running() {
            self.settle(&running, usage);
            if let Some(endpoint) = world.endpoint(running.attempt.target.endpoint) {
                endpoint.breaker.record(running.permit, breaker::Outcome::Neutral, None, now);
            }
        }
        if !matches!(self.state, State::Done(_)) {
            self.give_back(world);
            self.state = State::Done(Outcome::Cancelled);
        }
    }

    /// Whether the attempt that would start now lacks only a larger part of something replicas share:
    /// money, or the endpoint's rate limit. A driver that can ask for more does so first.
    pub fn lacks(&self, world: &World, now: Instant) -> bool {
        if self.plan.needs.free || !matches!(self.state, State::Ready | State::Waiting { .. }) {
            return false;
        }
        let Some((model, target)) = self.plan.route.look(self.at) else { return false };
        let cost = self.worst_cost(model).unwrap_or(0);
        let budgets = [&self.plan.project.spend, &self.plan.session.spend].map(|budget| budget.lacks(cost));
        let rate = world.endpoint(target.endpoint).and_then(|endpoint| endpoint.rate.as_ref());
        budgets.contains(&true) | rate.is_some_and(|rate| rate.lacks(now))
    }

    /// What a person is asked, while the answer is awaited.
    pub const fn question(&self) -> Option<Question> {
        match self.state {
            State::Asking { question, .. } => Some(question),
            _ => None,
        }
    }

    /// How many attempts have started.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How many restarts the task has had.
    pub const fn restarts(&self) -> u32 {
        self.restarts
    }

    /// When time is up.
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// What it was planned with.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What went wrong last.
    pub fn last_failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    fn take_running(&mut self) -> Option<Running> {
        match std::mem::replace(&mut self.state, State::Ready) {
            State::Running(running) => Some(running),
            other => {
                self.state = other;
                None
            }
        }
    }

    fn settle(&self, running: &Running, usage: Usage) {
        let model = self.plan.route.model(running.attempt.target.model.into()).filter(|_| !self.plan.needs.free);
        let price = model.and_then(|model| model.price);
        let cost = price.map_or(0, |price| price.cost_usd_micros(usage));
        self.plan.project.spend.settle(running.reserved_usd_micros, cost);
        self.plan.session.spend.settle(running.reserved_usd_micros, cost);
    }

    /// What was paid for a step that is not taken goes back.
    fn give_back(&mut self, world: &World) {
        if let Some(endpoint) = self.paid_retry.take().and_then(|paid| world.endpoint(paid)) {
            endpoint.retries.refund();
            self.plan.session.give_back_retry();
        }
        if std::mem::take(&mut self.paid_fallback) {
            self.plan.project.fallbacks.refund();
        }
    }

    /// A new run of the task: the same plan from the beginning, with its own time.
    fn run_anew(&mut self, now: Instant) {
        self.deadline = now + self.plan.time_limit();
        self.attempts = 0;
        self.patience = 0;
        self.repairs = 0;
        self.limit_waits = 0;
        let start = self.plan.start();
        self.move_to(start, Choice::Retry);
        // What its session remembers has changed meanwhile: where this run begins is decided again.
        self.began_on_rung = self.plan.route.is_rung(start.model);
        self.began_at = None;
        self.state = State::Ready;
    }

    /// The places from the current one on. From the rung where it began, the chain comes next; and
    /// where it did not begin at the chain's beginning, what was passed over comes last.
    fn places(&self) -> impl Iterator<Item = Place> {
        let route = &self.plan.route;
        let back = self.began_on_rung && route.is_rung(self.at.model);
        let began = self.began_at.unwrap_or(FIRST);
        let wrapped = self.at < began;
        let rest = (back || !wrapped && !route.is_rung(self.at.model)).then(|| route.places_from(FIRST));
        let rest = rest.into_iter().flatten().take_while(move |place| back || *place < began);
        route.places_from(self.at).take_while(move |place| !wrapped || *place < began).chain(rest)
    }

    /// Another target: every list of steps starts from its beginning.
    fn move_to(&mut self, place: Place, choice: Choice) {
        if place.model != self.at.model {
            self.retries_on_model = 0;
        }
        self.rolled_back |= self.plan.route.is_rung(self.at.model) && !self.plan.route.is_rung(place.model);
        self.progress.clear();
        self.at = place;
        self.choice = choice;
        self.with_context = false;
    }

    /// Tells the session which targets failed while this one served.
    fn remember(&self, served: Target, world: &World, now: Instant) {
        self.shun_failed(world, now);
        let session = &self.plan.session;
        if session.shuns_any()
            && let Some((model, endpoint)) = self.names(served, world)
        {
            session.forgive(model, endpoint);
        }
    }

    /// Tells the session which targets failed.
    fn shun_failed(&self, world: &World, now: Instant) {
        for failed in self.failed_targets.into_iter().flatten() {
            if let Some((model, endpoint)) = self.names(failed, world) {
                self.plan.session.shun(model, endpoint, now);
            }
        }
    }

    fn names<'a>(&'a self, target: Target, world: &'a World) -> Option<(&'a Arc<str>, &'a Arc<str>)> {
        let model = self.plan.route.model(target.model.into())?;
        Some((&model.name, &world.endpoint(target.endpoint)?.name))
    }

    fn finish(&mut self, outcome: Outcome) {
        self.state = State::Done(outcome);
    }

    fn give_up(&mut self, reason: Reason) -> Decision {
        self.finish(Outcome::GaveUp(reason));
        self.decision("give_up", Duration::ZERO, reason)
    }

    fn decision(&self, step: &'static str, wait: Duration, reason: Reason) -> Decision {
        let nowhere = Target { model: 0, served: 0, endpoint: EndpointId(0) };
        Decision {
            attempt: self.attempts,
            attempts_max: self.plan.policy.attempts_max,
            kind: self.failed_kind,
            step,
            wait,
            from: self.failed_at.unwrap_or(nowhere),
            to: None,
            reason,
            passed_over: None,
            warning: false,
            escalation: None,
            breaker: None,
        }
    }

    fn nothing_running(&self, failure: &Failure) -> Decision {
        Decision { kind: failure.kind, ..self.decision("give_up", Duration::ZERO, Reason::NothingRunning) }
    }
}

impl Drop for Recovery {
    /// A driver that vanished in mid-attempt must not leave money held (its probe has a lease),
    /// nor get the call for free: nobody knows what it cost, so it is charged at its most.
    fn drop(&mut self) {
        if let Some(running) = self.take_running() {
            let needs = &self.plan.needs;
            let (input_tokens, output_tokens) = (needs.input_tokens.into(), needs.output_tokens.into());
            self.settle(&running, Usage { input_tokens, output_tokens });
        }
    }
}

impl Question {
    /// The same question, put at this moment.
    fn put_at(self, now: Instant, ask: Ask, deadline: Instant) -> Self {
        let skip = (now + ask.skip).min(deadline);
        Self { nudge: (now + ask.nudge).min(skip), skip, ..self }
    }
}

impl Plan {
    /// How long one run may take: the shorter of the policy's limit and the caller's own.
    fn time_limit(&self) -> Duration {
        self.time_limit.map_or(self.policy.deadline, |limit| limit.min(self.policy.deadline))
    }

    /// Where to begin: at the model asked for, or at the rung its session climbed to.
    fn start(&self) -> Place {
        let rung = self.session.escalated().and_then(|name| self.route.rung(&name));
        Place { model: rung.unwrap_or(0), served: 0 }
    }
}

impl Face {
    /// A model call through the gateway: nothing to restart, nobody to ask.
    pub const GATEWAY: Self = Self { repair: false, restart: false, defer: false, ask: false };
    /// An agent task.
    pub const TASK: Self = Self { repair: true, restart: true, defer: false, ask: false };
    /// A council turn.
    pub const COUNCIL: Self = Self { repair: false, restart: false, defer: true, ask: true };
}

#[cfg(test)]
mod tests;
