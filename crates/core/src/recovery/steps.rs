//! Choosing the step: the policy's list for this failure, from where it was left off.

use std::sync::Arc;
use std::time::Duration;

use super::{Choice, FIRST, Outcome, Progress, Question, Recovery, State, Then};
use crate::backoff::{Backoff, Jitter};
use crate::breaker::{self, Cause};
use crate::cost::Estimate;
use crate::decision::{AllowanceName, Decision, Escalation, EscalationReason, Reason, Refused, Skip, Target};
use crate::failure::Failure;
use crate::kind::FailureKind;
use crate::policy::{Ask, Restart, Retry, Step, Trigger};
use crate::route::{Model, Place};
use crate::time::Instant;
use crate::world::{Endpoint, World};

/// How often an operation waits for an empty allowance before it gives up.
const PATIENCE_MAX: u32 = 5;

/// The waits for an empty allowance: short, because it fills as soon as others succeed.
const PATIENCE_BASE: Duration = Duration::from_millis(500);
const PATIENCE_CAP: Duration = Duration::from_secs(4);

/// The shortest time a request is held when no target is left; and how soon after somebody
/// else's probe began it is asked again.
const PARK_WAIT: Duration = Duration::from_secs(1);

/// What became of one step of the list.
enum Tried {
    /// It is the next thing to do.
    Taken(Decision),
    /// It cannot be taken, now or later, at this target.
    Skipped(Skip),
    /// It could be taken a little later.
    Denied(AllowanceName, Denial),
}

/// Why a step cannot be taken just now.
#[derive(Clone, Copy)]
enum Denial {
    /// Its allowance is empty.
    Empty,
    /// The endpoint keeps failing; its breaker is about to judge.
    KeepsFailing,
}

impl Recovery {
    /// Picks the next step for the last failure.
    pub(super) fn decide(&mut self, world: &World, now: Instant) -> Decision {
        let Some(failure) = self.failure.take() else { return self.give_up(Reason::NothingRunning) };
        let decision = self.choose_step(&failure, world, now);
        self.failure = Some(failure);
        decision
    }

    fn choose_step(&mut self, failure: &Failure, world: &World, now: Instant) -> Decision {
        if failure.kind == FailureKind::Cancelled {
            self.finish(Outcome::Cancelled);
            return self.decision("give_up", Duration::ZERO, Reason::CallerLeft);
        }
        let spent = self.attempts >= self.plan.policy.attempts_max || now >= self.deadline;
        if !spent && let Some(decision) = self.escalate_after_retries(failure) {
            return decision;
        }
        let policy = Arc::clone(&self.plan.policy);
        let (trigger, steps) = policy.steps(failure);
        let reached = self.progress_of(trigger);
        let mut passed_over = None;
        let mut denied = None;
        let may_wait = self.patience < PATIENCE_MAX && now + 2 * PATIENCE_CAP < self.deadline;
        for (index, rule) in steps.iter().enumerate() {
            let for_this_tool = rule.tool.is_some() && rule.applies_to(failure.tool.as_deref());
            if index < reached.step && !for_this_tool {
                continue;
            }
            if denied.is_some() && may_wait && !makes_an_attempt(&rule.step) {
                // What is only denied for a moment comes before a new run, degrading or giving up.
                break;
            }
            let progress = match index {
                _ if for_this_tool => self.progress_for_tool(trigger, index),
                _ if index == reached.step => reached,
                _ => Progress { step: index, used: 0, ..reached },
            };
            let tried = if !rule.applies_to(failure.tool.as_deref()) {
                Tried::Skipped(Skip::OtherTool)
            } else if spent && makes_an_attempt(&rule.step) {
                Tried::Skipped(Skip::UsedUp)
            } else {
                self.try_step(&rule.step, failure, progress, world, now)
            };
            match tried {
                Tried::Taken(decision) => return Decision { passed_over, ..decision },
                Tried::Skipped(skip) => passed_over = Some(skip),
                Tried::Denied(name, denial) => {
                    passed_over = Some(denial.skip(name));
                    denied = denied.or(Some((name, denial, progress)));
                }
            }
        }
        let decision = match denied {
            Some((name, denial, progress)) if may_wait => self.be_patient(name, denial, progress, now),
            Some((name, denial, _)) => self.give_up(denial.reason(name)),
            None => {
                let reason = self.last_reason(passed_over, now);
                self.park(reason, world, now).unwrap_or_else(|| self.give_up(reason))
            }
        };
        Decision { passed_over, ..decision }
    }

    fn try_step(&mut self, step: &Step, failure: &Failure, progress: Progress, world: &World, now: Instant) -> Tried {
        match step {
            Step::Retry(retry) => self.try_retry(retry, failure, progress, world, now),
            Step::Fallback => self.try_fallback(failure, world, now),
            Step::Escalate => match failure.kind {
                FailureKind::ContextLimit => self.try_escalate(EscalationReason::ContextLimit),
                _ if self.plan.policy.escalate.auto => self.try_escalate(EscalationReason::AutoAfterRetries),
                _ => Tried::Skipped(Skip::EscalationOff),
            },
            Step::Repair { max } => self.try_repair(*max),
            Step::Defer => self.try_defer(),
            Step::Ask(ask) => self.try_ask(*ask, failure, world, now),
            Step::Restart(restart) => self.try_restart(*restart, now),
            Step::Degrade => {
                self.finish(Outcome::Degraded);
                Tried::Taken(self.decision("degrade", Duration::ZERO, Reason::WithoutThisVoice))
            }
            Step::GiveUp => Tried::Taken(self.give_up(Reason::PolicyGivesUp)),
        }
    }

    fn try_retry(
        &mut self,
        retry: &Retry,
        failure: &Failure,
        progress: Progress,
        world: &World,
        now: Instant,
    ) -> Tried {
        if progress.used >= retry.max {
            return Tried::Skipped(Skip::UsedUp);
        }
        if pointless(failure.kind, progress.trigger, retry.with_context) {
            return Tried::Skipped(Skip::Pointless);
        }
        if failure.retried {
            return Tried::Skipped(Skip::Retried);
        }
        let accepted = retry.backoff.cap();
        if let Some(asked) = failure.retry_after.filter(|asked| *asked > accepted) {
            return Tried::Skipped(Skip::WaitTooLong { asked, accepted });
        }
        let number = progress.used + 1;
        let backoff = retry.backoff.delay(number, progress.last_wait, &mut self.rng);
        let asked = failure.retry_after.unwrap_or_default();
        let wait = backoff.max(asked);
        if now + wait >= self.deadline {
            return Tried::Skipped(Skip::Deadline);
        }
        let session_retries = self.plan.policy.session_retries;
        if self.plan.session.retries_used() >= session_retries.max {
            return Tried::Skipped(Skip::SessionSpent);
        }
        let endpoint = self.failed_at.and_then(|target| world.endpoint(target.endpoint));
        if self.in_doubt(world, now) {
            return Tried::Denied(AllowanceName::Retries, Denial::KeepsFailing);
        }
        if endpoint.is_some_and(|endpoint| endpoint.breaker.is_open(now)) && self.could_go_elsewhere(world, now) {
            return Tried::Skipped(Skip::BreakerOpen);
        }
        if !endpoint.is_none_or(|endpoint| endpoint.retries.withdraw(now)) {
            return Tried::Denied(AllowanceName::Retries, Denial::Empty);
        }
        // A request of the same session may have taken the last one in between.
        let Some(used) = self.plan.session.take_retry(session_retries.max) else {
            endpoint.inspect(|endpoint| endpoint.retries.refund());
            return Tried::Skipped(Skip::SessionSpent);
        };
        self.keep_progress(Progress { used: number, last_wait: backoff, ..progress });
        self.retries_on_model += 1;
        self.paid_retry = self.failed_at.map(|target| target.endpoint);
        self.choice = Choice::Retry;
        self.with_context = retry.with_context;
        self.state = State::Waiting { until: now + wait, then: Then::Attempt };
        let of = retry.max;
        let reason = if asked > backoff {
            Reason::ProviderWait { retry: number, of }
        } else {
            Reason::Backoff { retry: number, of }
        };
        let decision = self.decision("retry", wait, reason);
        Tried::Taken(Decision { to: self.failed_at, warning: used >= session_retries.warn, ..decision })
    }

    fn try_fallback(&mut self, failure: &Failure, world: &World, now: Instant) -> Tried {
        let (place, to) = match self.next_place(failure.kind, world, now) {
            Ok(next) => next,
            Err(skip) => return Tried::Skipped(skip),
        };
        if self.in_doubt(world, now) && !self.may_look(to, world, now) {
            return Tried::Denied(AllowanceName::Fallbacks, Denial::KeepsFailing);
        }
        if !self.plan.project.fallbacks.withdraw(now) {
            return Tried::Denied(AllowanceName::Fallbacks, Denial::Empty);
        }
        self.paid_fallback = true;
        let rolls_back = self.plan.route.is_rung(self.at.model) && !self.plan.route.is_rung(place.model);
        let reason = if rolls_back { Reason::RolledBack } else { Reason::NextTarget };
        self.move_to(place, Choice::Fallback);
        self.state = State::Ready;
        let decision = self.decision("fallback", Duration::ZERO, reason);
        Tried::Taken(Decision { to: Some(to), ..decision })
    }

    fn try_escalate(&mut self, reason: EscalationReason) -> Tried {
        if self.rolled_back {
            // The ladder had its chance in this operation.
            return Tried::Skipped(Skip::LadderEnds);
        }
        let route = Arc::clone(&self.plan.route);
        let first = route.next_rung(self.at.model);
        let mut skip = Skip::LadderEnds;
        for rung in first.. {
            let place = Place { model: rung, served: 0 };
            let Some((model, to)) = route.look(place) else { break };
            if let Err(unfit) = self.fits(model) {
                skip = Skip::Unfit(unfit);
                continue;
            }
            if !self.affordable(model) {
                return Tried::Skipped(Skip::Money);
            }
            let before = self.plan.route.model(self.at.model).and_then(|model| model.price);
            let usage = self.plan.session.usage_per_turn();
            let prices = usage.zip(before.zip(model.price));
            let estimate = prices.map(|(usage, (from, to))| Estimate::new(usage, from, to));
            self.move_to(place, Choice::Escalation);
            self.state = State::Ready;
            let decision = self.decision("escalate", Duration::ZERO, Reason::Escalated(reason));
            let escalation = Some(Escalation { reason, estimate });
            return Tried::Taken(Decision { to: Some(to), escalation, ..decision });
        }
        Tried::Skipped(skip)
    }

    /// Climbs before the policy's steps go on, where that is switched on and retries did not help.
    fn escalate_after_retries(&mut self, failure: &Failure) -> Option<Decision> {
        let escalate = self.plan.policy.escalate;
        let due = escalate.auto && self.retries_on_model >= escalate.after_retries && failure.kind.may_pass();
        if !due {
            return None;
        }
        match self.try_escalate(EscalationReason::AutoAfterRetries) {
            Tried::Taken(decision) => Some(decision),
            Tried::Skipped(_) | Tried::Denied(..) => None,
        }
    }

    fn try_repair(&mut self, max: u32) -> Tried {
        if !self.plan.face.repair {
            return Tried::Skipped(Skip::NotHere);
        }
        if self.repairs >= max {
            return Tried::Skipped(Skip::UsedUp);
        }
        self.repairs += 1;
        self.state = State::Repairing;
        Tried::Taken(self.decision("repair", Duration::ZERO, Reason::NeedsRepair))
    }

    fn try_defer(&mut self) -> Tried {
        if !self.plan.face.defer {
            return Tried::Skipped(Skip::NotHere);
        }
        if self.deferred {
            return Tried::Skipped(Skip::UsedUp);
        }
        self.deferred = true;
        self.move_to(self.at, Choice::Retry);
        self.state = State::Deferring;
        Tried::Taken(self.decision("defer", Duration::ZERO, Reason::OthersFirst))
    }

    fn try_ask(&mut self, ask: Ask, failure: &Failure, world: &World, now: Instant) -> Tried {
        if !self.plan.face.ask {
            return Tried::Skipped(Skip::NotHere);
        }
        if self.asked {
            return Tried::Skipped(Skip::UsedUp);
        }
        match self.next_place(failure.kind, world, now) {
            // The same model elsewhere is the same voice: nobody need be asked.
            Ok((place, _)) if place.model == self.at.model => self.try_fallback(failure, world, now),
            Ok((place, to)) => self.ask_about(place, to, ask, now),
            Err(skip) => Tried::Skipped(skip),
        }
    }

    fn ask_about(&mut self, place: Place, to: Target, ask: Ask, now: Instant) -> Tried {
        let here = || self.plan.route.look(self.at).map(|(_, target)| target);
        let Some(from) = self.failed_at.or_else(here) else { return Tried::Skipped(Skip::NotHere) };
        self.asked = true;
        let question = Question { from, to, nudge: now, skip: now }.put_at(now, ask, self.deadline);
        self.state = State::Asking { question, place, ask };
        let decision = self.decision("ask", Duration::ZERO, Reason::PersonDecides);
        Tried::Taken(Decision { to: Some(to), ..decision })
    }

    /// Every endpoint of this model refuses: where a person may be asked, about the next model that admits.
    pub(super) fn ask_elsewhere(&mut self, world: &World, now: Instant) -> Option<Decision> {
        if !self.plan.face.ask || self.asked {
            return None;
        }
        let policy = Arc::clone(&self.plan.policy);
        let unreachable = Failure::new(FailureKind::NetworkTransient, "refused");
        let failure = self.failure.as_ref().unwrap_or(&unreachable);
        let (trigger, steps) = policy.steps(failure);
        let (step, ask) = steps.iter().enumerate().find_map(|(index, rule)| match rule.step {
            Step::Ask(ask) if rule.applies_to(failure.tool.as_deref()) => Some((index, ask)),
            _ => None,
        })?;
        let (place, to) = self.next_place_where(|place| place.model != self.at.model, world, now).ok()?;
        if world.endpoint(to.endpoint).is_none_or(|endpoint| endpoint.breaker.is_open(now)) {
            return None;
        }
        // After a "no" the list goes on from here: what comes before would be refused too.
        self.keep_progress(Progress { trigger, step, for_tool: false, used: 0, last_wait: Duration::ZERO });
        self.failure = self.failure.take().or(Some(unreachable));
        match self.ask_about(place, to, ask, now) {
            Tried::Taken(decision) => Some(decision),
            Tried::Skipped(_) | Tried::Denied(..) => None,
        }
    }

    /// Every endpoint refuses: a task can wait for a new run where its policy knows one, a council
    /// can go on without this voice.
    pub(super) fn restart_or_degrade(&mut self, reason: Reason, now: Instant) -> Option<Decision> {
        let Reason::NoTarget { wait, .. } = reason else { return None };
        let policy = Arc::clone(&self.plan.policy);
        let unreachable = Failure::new(FailureKind::NetworkTransient, "refused");
        let (_, steps) = policy.steps(self.failure.as_ref().unwrap_or(&unreachable));
        let tool = self.failure.as_ref().and_then(|failure| failure.tool.as_deref());
        let steps = steps.iter().filter(|rule| rule.applies_to(tool)).map(|rule| &rule.step);
        let mut last = steps.filter(|step| matches!(step, Step::Restart(_) | Step::Degrade));
        match last.next()? {
            Step::Restart(restart) => {
                let Tried::Taken(decision) = self.try_restart(*restart, now) else { return None };
                let at = (now + wait).max(now + decision.wait);
                self.state = State::Restarting { at };
                Some(Decision { wait: now.until(at), ..decision })
            }
            _ => {
                self.finish(Outcome::Degraded);
                Some(self.decision("degrade", Duration::ZERO, Reason::WithoutThisVoice))
            }
        }
    }

    /// Waits until a rate limit lets the next request through, as often and as long as the policy would
    /// wait for a provider that refuses for the same reason.
    pub(super) fn wait_out_limit(&mut self, reason: Reason, now: Instant) -> Option<Decision> {
        let Reason::NoTarget { endpoint, cause: cause @ Refused::RateLimit, wait } = reason else { return None };
        let limited = Failure::new(FailureKind::RateLimit, "limit");
        let (_, steps) = self.plan.policy.steps(&limited);
        let retry = steps.iter().find_map(|rule| match &rule.step {
            Step::Retry(retry) if rule.applies_to(None) => Some(retry),
            _ => None,
        })?;
        // Those who wait together must not come back together.
        let wait = wait.mul_f64(1.0 + 0.1 * self.rng.f64());
        if self.limit_waits >= retry.max || wait > retry.backoff.cap() || now + wait >= self.deadline {
            return None;
        }
        self.limit_waits += 1;
        self.state = State::Waiting { until: now + wait, then: Then::Attempt };
        let decision = self.decision("park", wait, Reason::Parked { endpoint, cause: Some(cause) });
        let kind = if self.failure.is_some() { decision.kind } else { FailureKind::RateLimit };
        Some(Decision { kind, ..decision })
    }

    /// Holds the request until asking again may help, where the policy and the deadline allow it.
    ///
    /// The walk begins anew then: whatever failed before may be well.
    pub(super) fn park(&mut self, reason: Reason, world: &World, now: Instant) -> Option<Decision> {
        let endpoint = self.failed_at.map(|target| target.endpoint);
        let (endpoint, cause, wait) = match (reason, self.failed_kind) {
            // Whether a probe succeeds is known long before its lease ends.
            (Reason::NoTarget { endpoint, cause: cause @ Refused::Breaker(Cause::Probing), .. }, _) => {
                (endpoint, Some(cause), PARK_WAIT)
            }
            (Reason::NoTarget { endpoint, cause, wait }, _) => (endpoint, Some(cause), wait),
            (Reason::StepsUsedUp, FailureKind::QuotaExhausted) => {
                let wait = self.first_reset(world, now);
                (endpoint?, wait.map(|_| Refused::SetAside), wait.unwrap_or(PARK_WAIT))
            }
            (Reason::StepsUsedUp, kind) if kind.endpoint_outcome() != breaker::Outcome::Neutral => {
                (endpoint?, None, PARK_WAIT)
            }
            _ => return None,
        };
        // Those who are held together must not come back together.
        let wait = wait.max(PARK_WAIT).mul_f64(1.0 + 0.1 * self.rng.f64());
        let left = self.plan.policy.park.saturating_sub(self.parked);
        let spent = self.attempts >= self.plan.policy.attempts_max;
        if spent || wait > left || now + wait >= self.deadline {
            return None;
        }
        self.parked += wait;
        self.move_to(FIRST, Choice::First);
        self.began_at = None;
        self.state = State::Waiting { until: now + wait, then: Then::Attempt };
        Some(self.decision("park", wait, Reason::Parked { endpoint, cause }))
    }

    /// How long until the first credential of the route returns; `None` where one is in use.
    fn first_reset(&self, world: &World, now: Instant) -> Option<Duration> {
        let route = &self.plan.route;
        let places = route.places_from(FIRST).filter_map(|place| route.look(place));
        let resets = places.map(|(_, target)| world.endpoint(target.endpoint)?.set_aside_until(now));
        let first = resets.reduce(|first, next| Some(first?.min(next?)))??;
        Some(now.until(first))
    }

    fn try_restart(&mut self, restart: Restart, now: Instant) -> Tried {
        if !self.plan.face.restart {
            return Tried::Skipped(Skip::NotHere);
        }
        if self.restarts >= restart.max {
            return Tried::Skipped(Skip::UsedUp);
        }
        self.restarts += 1;
        let wait = restart.backoff.delay(self.restarts, Duration::ZERO, &mut self.rng);
        self.state = State::Restarting { at: now + wait };
        let reason = Reason::NewRun { restart: self.restarts, of: restart.max };
        Tried::Taken(self.decision("restart", wait, reason))
    }

    /// Waits a little instead of failing: an allowance fills as soon as others succeed, and an
    /// endpoint that keeps failing is judged soon.
    fn be_patient(&mut self, name: AllowanceName, denial: Denial, progress: Progress, now: Instant) -> Decision {
        let reason = denial.reason(name);
        let wait = self.next_patience();
        self.keep_progress(progress);
        self.state = State::Waiting { until: now + wait, then: Then::Decide };
        self.decision(name.step(), wait, reason)
    }

    fn next_patience(&mut self) -> Duration {
        let backoff = Backoff::doubling(PATIENCE_BASE, PATIENCE_CAP, Jitter::Spread(0.5));
        self.patience += 1;
        backoff.delay(self.patience, Duration::ZERO, &mut self.rng)
    }

    /// The next place that could serve: another endpoint of the same model, where the failure
    /// was not about the model itself, then the next models of the chain.
    /// One whose breaker is open is taken only if there is no other.
    fn next_place(&self, kind: FailureKind, world: &World, now: Instant) -> Result<(Place, Target), Skip> {
        let about_the_model = matches!(kind, FailureKind::ContextLimit | FailureKind::ContentFilter);
        self.next_place_where(|place| !about_the_model || place.model != self.at.model, world, now)
    }

    fn next_place_where(
        &self,
        wanted: impl Fn(Place) -> bool,
        world: &World,
        now: Instant,
    ) -> Result<(Place, Target), Skip> {
        let mut skip = Skip::ChainEnds;
        let mut open = None;
        for place in self.places() {
            if place == self.at || !wanted(place) {
                continue;
            }
            let Some((model, target)) = self.plan.route.look(place) else { continue };
            if let Err(unfit) = self.fits(model) {
                skip = Skip::Unfit(unfit);
                continue;
            }
            let Some(endpoint) = world.endpoint(target.endpoint) else { continue };
            if endpoint.set_aside_until(now).is_some() {
                continue;
            }
            if !endpoint.breaker.is_open(now) {
                return Ok((place, target));
            }
            open = open.or(Some((place, target)));
        }
        open.ok_or(skip)
    }

    /// Whether an outage is just being found out anywhere on this route.
    fn in_doubt(&self, world: &World, now: Instant) -> bool {
        self.endpoints(world).any(|endpoint| endpoint.breaker.in_doubt(now))
    }

    /// Whether a fallback may look elsewhere while an outage is found out: where little goes on, it
    /// costs little, and its result is what tells whether everything is down.
    fn may_look(&self, to: Target, world: &World, now: Instant) -> bool {
        self.endpoints(world).all(|endpoint| endpoint.breaker.is_quiet())
            && world.endpoint(to.endpoint).is_some_and(|endpoint| endpoint.breaker.is_untried(now))
    }

    /// Every endpoint of this route.
    fn endpoints<'a>(&'a self, world: &'a World) -> impl Iterator<Item = &'a Endpoint> {
        let route = &self.plan.route;
        let targets = route.places_from(FIRST).filter_map(|place| route.look(place));
        targets.filter_map(|(_, target)| world.endpoint(target.endpoint))
    }

    /// Whether a place further on would admit an attempt.
    fn could_go_elsewhere(&self, world: &World, now: Instant) -> bool {
        let next = self.next_place(self.failed_kind, world, now);
        let admits = |target: Target| world.endpoint(target.endpoint).is_some_and(|e| !e.breaker.is_open(now));
        next.is_ok_and(|(_, target)| admits(target))
    }

    fn affordable(&self, model: &Model) -> bool {
        let (project, session) = (&self.plan.project.spend, &self.plan.session.spend);
        match self.worst_cost(model) {
            Some(cost) => project.would_fit(cost) && session.would_fit(cost),
            None => !project.is_limited() && !session.is_limited(),
        }
    }

    fn progress_of(&self, trigger: Trigger) -> Progress {
        self.known_progress(Progress { trigger, step: 0, for_tool: false, used: 0, last_wait: Duration::ZERO })
    }

    fn progress_for_tool(&self, trigger: Trigger, step: usize) -> Progress {
        self.known_progress(Progress { trigger, step, for_tool: true, used: 0, last_wait: Duration::ZERO })
    }

    fn known_progress(&self, fresh: Progress) -> Progress {
        self.progress.iter().find(|known| known.is_of(&fresh)).copied().unwrap_or(fresh)
    }

    /// Remembers how far a list was worked through at this target.
    fn keep_progress(&mut self, progress: Progress) {
        match self.progress.iter_mut().find(|known| known.is_of(&progress)) {
            Some(known) => *known = progress,
            None => self.progress.push(progress),
        }
    }

    /// The reason that tells most about why nothing is left.
    fn last_reason(&self, passed_over: Option<Skip>, now: Instant) -> Reason {
        match passed_over {
            _ if now >= self.deadline => Reason::Deadline,
            _ if self.attempts >= self.plan.policy.attempts_max => Reason::AttemptsSpent,
            Some(Skip::Deadline) => Reason::Deadline,
            Some(Skip::Unfit(unfit)) => Reason::NobodyFits(unfit),
            Some(Skip::Money) => Reason::Money,
            _ => Reason::StepsUsedUp,
        }
    }
}

impl Progress {
    /// Whether both are about the same list, or about the same step for one tool.
    fn is_of(&self, other: &Self) -> bool {
        let same_place = !self.for_tool || self.step == other.step;
        self.trigger == other.trigger && self.for_tool == other.for_tool && same_place
    }
}

impl Denial {
    const fn skip(self, name: AllowanceName) -> Skip {
        match self {
            Self::Empty => Skip::AllowanceEmpty(name),
            Self::KeepsFailing => Skip::KeepsFailing,
        }
    }

    const fn reason(self, name: AllowanceName) -> Reason {
        match self {
            Self::Empty => Reason::AllowanceEmpty(name),
            Self::KeepsFailing => Reason::KeepsFailing,
        }
    }
}

/// Whether a step leads to another attempt of this run. When attempts or time are spent, a new
/// run, degrading and giving up are what is left.
fn makes_an_attempt(step: &Step) -> bool {
    match step {
        Step::Retry(_) | Step::Fallback | Step::Escalate | Step::Repair { .. } | Step::Defer | Step::Ask(_) => true,
        Step::Restart(_) | Step::Degrade | Step::GiveUp => false,
    }
}

/// Whether repeating the same request at the same target cannot help. A list that names the kind
/// or the status is the user's own wish and is honoured, except where waiting is never right.
fn pointless(kind: FailureKind, trigger: Trigger, with_context: bool) -> bool {
    match kind {
        FailureKind::QuotaExhausted | FailureKind::Cancelled => true,
        FailureKind::ContextLimit => !with_context,
        _ => !kind.may_pass() && matches!(trigger, Trigger::Category(_) | Trigger::Default),
    }
}
