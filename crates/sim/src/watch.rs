//! The invariants, checked on every step and not only at the end.
//!
//! The watch keeps its own books beside the core's: what every request may still do, what every
//! budget must hold, and what every breaker may do next. It reads the core and never changes it.
//! Names in brackets are those of resilience.md, section 4.

mod money;
mod probes;
mod shares;

use std::sync::Arc;
use std::time::Duration;

use steadfast_core::breaker::{Outcome as Health, State, Transition};
use steadfast_core::cost::Usage;
use steadfast_core::decision::{Decision, Reason};
use steadfast_core::policy::{Policy, Step, StepRule, VendorBoundary};
use steadfast_core::recovery::{Attempt, Choice, Outcome};
use steadfast_core::world::{Endpoint, Project, World};
use steadfast_core::{Failure, FailureKind, Instant};

use crate::invariant::Invariant;
use crate::op::{Op, Running};
use crate::scenario::Spend;
use crate::stage::{Stage, Way};

pub(crate) use money::Ledger;
use shares::Extra;

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{invariant}: {detail}, at {at}")]
pub struct Broken {
    /// Which one.
    pub invariant: Invariant,
    /// What was seen.
    pub detail: String,
    /// The request that showed it.
    pub request: Option<u64>,
    /// When.
    pub at: Instant,
}

pub(crate) type Checked = Result<(), Box<Broken>>;

/// A breaker's change of state, as seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) endpoint: usize,
    pub(crate) from: State,
    pub(crate) to: State,
}

/// The books kept beside the core's.
#[derive(Debug)]
pub(crate) struct Watch {
    /// What was promised, whatever the core was told.
    policy: Arc<Policy>,
    spend: Spend,
    endpoints: Vec<EndpointBook>,
    projects: Vec<ProjectBook>,
    pub(crate) changes: Vec<Change>,
    operations: Count,
    attempts: Count,
}

/// What began must end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    begun: u64,
    ended: u64,
}

#[derive(Debug)]
struct EndpointBook {
    fingerprint: u64,
    /// The same of what is beside the breaker.
    beside: u64,
    state: State,
    generation: u64,
    /// Requests that probe, and when their leases end.
    probes: Vec<(u64, Instant)>,
    retries: Extra,
}

#[derive(Clone, Copy, Debug, Default)]
struct ProjectBook {
    fingerprint: u64,
    money: Ledger,
    fallbacks: Extra,
}

/// What a step of a request may reach, a bit for each endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Those it is about.
    pub(crate) own: u64,
    /// Of them, those whose breakers may change.
    pub(crate) permitted: u64,
    /// Those whose retries, throttle, rest and pause may change.
    pub(crate) beside: u64,
    /// The project whose fallbacks may change.
    pub(crate) project: usize,
}

/// What the watch saw of a probe that was admitted or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeEnd {
    NoProbe,
    InLease,
    LeaseOver,
}

impl Watch {
    pub(crate) fn new(stage: &Stage, policy: &Policy, spend: Spend) -> Self {
        let book = |endpoint: &Endpoint| EndpointBook {
            fingerprint: endpoint.breaker.fingerprint(),
            beside: endpoint.fingerprint(),
            state: State::Closed,
            generation: endpoint.breaker.generation(),
            probes: Vec::new(),
            retries: Extra::default(),
        };
        let project = |project: &Arc<Project>| ProjectBook {
            fingerprint: project.fallbacks.fingerprint(),
            ..ProjectBook::default()
        };
        Self {
            policy: Arc::new(policy.clone()),
            spend,
            endpoints: stage.world.endpoints().map(|(_, endpoint)| book(endpoint)).collect(),
            projects: stage.projects.iter().map(project).collect(),
            changes: Vec::new(),
            operations: Count::default(),
            attempts: Count::default(),
        }
    }

    /// (B1 B4 B9) Only what is within reach may have changed, and breakers only in legal ways.
    pub(crate) fn touched(&mut self, stage: &Stage, reach: Reach, request: u64, now: Instant) -> Checked {
        for (index, (project, book)) in stage.projects.iter().zip(&mut self.projects).enumerate() {
            let before = std::mem::replace(&mut book.fingerprint, project.fallbacks.fingerprint());
            if book.fingerprint != before && index != reach.project {
                let detail = format!("the fallbacks of {} changed", project.name);
                return broken(Invariant::KeysIsolated, detail, request, now);
            }
        }
        for (id, endpoint) in stage.world.endpoints() {
            let index = usize::from(id.0);
            let book = &mut self.endpoints[index];
            let before = std::mem::replace(&mut book.beside, endpoint.fingerprint());
            if book.beside != before && reach.beside & 1 << index == 0 {
                let detail = format!("retries, throttle, rest or pause of {} changed", endpoint.name);
                return broken(Invariant::KeysIsolated, detail, request, now);
            }
            let fingerprint = endpoint.breaker.fingerprint();
            if fingerprint == book.fingerprint {
                continue;
            }
            if reach.permitted & 1 << index == 0 {
                let is_own = reach.own & 1 << index != 0;
                let invariant = if is_own { Invariant::CountsNowhere } else { Invariant::KeysIsolated };
                return broken(invariant, format!("the breaker of {} changed", endpoint.name), request, now);
            }
            book.fingerprint = fingerprint;
            let (state, generation) = (endpoint.breaker.state(now), endpoint.breaker.generation());
            // An onlooker sees a cooled breaker as half-open.
            let before = match book.state {
                State::Open { until } if now >= until => State::HalfOpen,
                state => state,
            };
            let steps = generation - book.generation;
            let legal = match (before, state, steps) {
                (_, _, 0) => before.name() == state.name(),
                (State::Closed | State::HalfOpen, State::Open { .. }, 1) | (State::HalfOpen, State::Closed, 1) => true,
                _ => false,
            };
            if !legal {
                let detail = format!("{} went from {before:?} to {state:?} in {steps} steps", endpoint.name);
                return broken(Invariant::LegalTransitions, detail, request, now);
            }
            if state.name() != book.state.name() || steps > 0 {
                self.changes.push(Change { endpoint: index, from: before, to: state });
            }
            if steps > 0 {
                book.probes.clear();
            }
            (book.state, book.generation) = (state, generation);
        }
        Ok(())
    }

    /// An operation began.
    pub(crate) fn begun(&mut self) {
        self.operations.begun += 1;
    }

    /// (R2 R3 R7 R8 B2 B3) An attempt starts: says whether it is a probe.
    pub(crate) fn attempt(
        &mut self,
        op: &mut Op,
        attempt: &Attempt,
        way: &Way,
        world: &World,
        now: Instant,
    ) -> Result<bool, Box<Broken>> {
        let id = op.id;
        let policy = &self.policy;
        let fail = |invariant, detail: String| broken(invariant, detail, id, now);
        self.attempts.begun += 1;
        if op.restart_due.take().is_some_and(|due| now < due) {
            fail(Invariant::RestartsApart, "a run started early".to_owned())?;
        }
        op.attempts += 1;
        op.attempts_in_run += 1;
        if op.attempts_in_run > policy.attempts_max || attempt.number != op.attempts_in_run {
            let detail = format!("attempt {} of {}", op.attempts_in_run, policy.attempts_max);
            fail(Invariant::AttemptsBounded, detail)?;
        }
        if now >= op.recovery.deadline() {
            fail(Invariant::AttemptInTime, format!("deadline {}", op.recovery.deadline()))?;
        }
        let Some(model) = way.route.model(attempt.target.model.into()) else {
            return fail(Invariant::WithinRoute, format!("{:?}", attempt.target)).map(|()| false);
        };
        if policy.vendor_boundary == VendorBoundary::Strict && model.vendor != way.route.primary().vendor {
            let detail = format!("{} by {}", model.name, model.vendor);
            fail(Invariant::VendorKept, detail)?;
        }
        check_order(op, attempt, way, now)?;

        let index = usize::from(attempt.target.endpoint.0);
        let book = &mut self.endpoints[index];
        // A repeated attempt earns nothing, also where panic mode let it through.
        let repeats = std::mem::take(&mut op.retrying) && op.last == Some(attempt.target);
        book.retries.deposits += u64::from(!repeats);
        if op.last != Some(attempt.target) {
            op.elsewhere();
        }
        op.last = Some(attempt.target);
        op.free_return = false;
        if attempt.choice == Choice::Panic {
            return Ok(false);
        }
        let Some(endpoint) = world.endpoint(attempt.target.endpoint) else { return Ok(false) };
        match endpoint.breaker.state(now) {
            State::Closed => Ok(false),
            State::Open { until } => {
                fail(Invariant::OpenAdmitsNothing, format!("{} is open until {until}", endpoint.name))?;
                Ok(false)
            }
            State::HalfOpen => {
                self.takes_place(attempt.target.endpoint, endpoint, id, now)?;
                Ok(true)
            }
        }
    }

    /// Which breakers the end of an attempt may change, before it is reported.
    pub(crate) fn may_change(&self, op: &Op, running: &Running, health: Health, now: Instant) -> (Reach, ProbeEnd) {
        let index = usize::from(running.target.endpoint.0);
        let book = &self.endpoints[index];
        let straggler = running.generation != book.generation;
        let in_lease = now.since(running.started) < running.lease;
        let end = match (running.probe, in_lease) {
            (false, _) => ProbeEnd::NoProbe,
            (true, true) => ProbeEnd::InLease,
            (true, false) => ProbeEnd::LeaseOver,
        };
        let counts = match running.choice {
            Choice::Panic => false,
            _ if straggler || end == ProbeEnd::LeaseOver && health != Health::Success => false,
            _ => running.probe || health != Health::Neutral,
        };
        // A retry that served may have been paid where it was decided on, and made elsewhere.
        let paid = running.paid_retry.map_or(0, |endpoint| 1 << endpoint.0);
        let (own, permitted) = (1 << index, u64::from(counts) << index);
        (Reach { own, permitted, beside: own | paid, project: op.project }, end)
    }

    /// Whether a result comes from before a trip.
    pub(crate) fn is_straggler(&self, running: &Running) -> bool {
        running.choice != Choice::Panic
            && running.generation != self.endpoints[usize::from(running.target.endpoint.0)].generation
    }

    /// (S7) A probe's first content was its verdict: its place is free, and where that closed the breaker it is
    /// an attempt like any other from here on.
    pub(crate) fn judged(&mut self, request: u64, running: &mut Running, told: Option<Transition>) {
        let book = &mut self.endpoints[usize::from(running.target.endpoint.0)];
        book.probes.retain(|(id, _)| *id != request);
        (running.probe, running.judged) = (false, true);
        if told.is_some() {
            running.generation = book.generation;
        }
    }

    /// An attempt ended, however it did.
    pub(crate) fn attempt_over(&mut self, op: &Op, running: &Running) {
        self.attempts.ended += 1;
        if running.probe {
            let probes = &mut self.endpoints[usize::from(running.target.endpoint.0)].probes;
            probes.retain(|(id, _)| *id != op.id);
        }
    }

    /// (A1 R5 R6 R9) A step was chosen.
    pub(crate) fn decided(
        &mut self,
        op: &mut Op,
        failure: Option<&Failure>,
        decision: &Decision,
        world: &World,
        now: Instant,
    ) -> Checked {
        let id = op.id;
        let policy = Arc::clone(&self.policy);
        let fail = |invariant, detail: String| broken(invariant, detail, id, now);
        self.refused(decision.reason, world, id, now)?;
        let waits_for_allowance = matches!(decision.reason, Reason::AllowanceEmpty(_) | Reason::KeepsFailing);
        let known = failure.or(op.recovery.last_failure());
        match decision.step {
            "retry" if !waits_for_allowance => {
                op.retries += 1;
                op.retries_here += 1;
                op.retrying = true;
                op.paid_retry = Some(decision.from.endpoint);
                let Some(failure) = known else { return Ok(()) };
                if failure.kind == FailureKind::QuotaExhausted || failure.kind == FailureKind::Cancelled {
                    fail(Invariant::HopelessNotRetried, failure.kind.to_string())?;
                }
                let (trigger, steps) = policy.steps(failure);
                if !op.triggers_here.contains(&trigger) {
                    op.triggers_here.push(trigger);
                    op.retries_allowed_here += steps.iter().map(|rule| retries_of(&rule.step)).sum::<u32>();
                }
                if op.retries_here > op.retries_allowed_here {
                    let detail = format!("{} of {}", op.retries_here, op.retries_allowed_here);
                    fail(Invariant::RetriesWithinSteps, detail)?;
                }
                if decision.wait < failure.retry_after.unwrap_or_default() {
                    let detail = format!("waits {:?} for {:?}", decision.wait, failure.retry_after);
                    fail(Invariant::WaitIsFloor, detail)?;
                }
                if now + decision.wait >= op.recovery.deadline() {
                    fail(Invariant::WaitInTime, format!("waits {:?}", decision.wait))?;
                }
                if op.purse.session.retries_used() > policy.session_retries.max {
                    fail(Invariant::SessionRetriesBounded, op.purse.session.retries_used().to_string())?;
                }
                self.count_retry(decision, world, id, now)?;
            }
            "fallback" if !waits_for_allowance => {
                op.fallbacks += 1;
                op.free_return |= decision.reason == Reason::PersonAgreed;
                op.elsewhere();
                if matches!(decision.reason, Reason::NextTarget | Reason::RolledBack) {
                    op.paid_fallback = true;
                    self.count_fallback(op, now)?;
                }
            }
            "retry" | "fallback" if now + decision.wait >= op.recovery.deadline() => {
                fail(Invariant::WaitInTime, format!("waits {:?}", decision.wait))?;
            }
            "escalate" => {
                let context = known.is_some_and(|failure| failure.kind == FailureKind::ContextLimit);
                if !policy.escalate.auto && !context {
                    fail(Invariant::EscalationPermitted, decision.reason.to_string())?;
                }
                op.may_escalate = true;
                op.elsewhere();
            }
            "restart" => {
                op.restarts += 1;
                let Reason::NewRun { restart, .. } = decision.reason else { return Ok(()) };
                // A task that nobody admits has no failure yet: it stands as one that cannot get through.
                let refused = Failure::new(FailureKind::NetworkTransient, "refused");
                let allowed = restarts_of(policy.steps(known.unwrap_or(&refused)).1);
                if op.restarts > allowed || restart != op.restarts {
                    fail(Invariant::RestartsBounded, format!("{restart}, really {} of {allowed}", op.restarts))?;
                }
                op.restart_due = Some(now + decision.wait);
            }
            "park" => {
                op.free_return = true;
                op.began = None;
                op.parked += decision.wait;
                op.elsewhere();
                if op.parked > policy.park || now + decision.wait >= op.recovery.deadline() {
                    fail(Invariant::ParkedBriefly, format!("{:?} of {:?}", op.parked, policy.park))?;
                }
            }
            "repair" | "defer" => {
                op.free_return = true;
                op.retrying = true;
                if decision.step == "defer" {
                    op.triggers_here.clear();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A new run of a task: its places and retries start from the beginning.
    pub(crate) fn run_anew(op: &mut Op) {
        op.attempts_in_run = 0;
        op.last = None;
        op.began = None;
        op.panicked = false;
        op.rung = None;
        op.elsewhere();
    }

    /// (R1) An operation ended, in time.
    pub(crate) fn outcome(&mut self, op: &Op, outcome: &Outcome, world: &World, now: Instant) -> Checked {
        self.operations.ended += 1;
        if let Outcome::GaveUp(reason) = outcome {
            self.refused(*reason, world, op.id, now)?;
        }
        if op.running.is_some() {
            return broken(Invariant::EndsOnce, format!("{outcome:?} while an attempt runs"), op.id, now);
        }
        // Between two runs no deadline is set.
        if now > op.recovery.deadline() && op.restart_due.is_none() {
            let detail = format!("{outcome:?}, deadline {}", op.recovery.deadline());
            return broken(Invariant::EndsInTime, detail, op.id, now);
        }
        Ok(())
    }

    /// An operation's driver vanished with its attempt. The attempt's place as a probe stays taken until the lease ends:
    /// only the counts are closed.
    pub(crate) fn vanished(&mut self) {
        self.operations.ended += 1;
        self.attempts.ended += 1;
    }

    /// (M2 E3) Nothing is left over when everything has ended.
    pub(crate) fn quiet(&self, world: &World, projects: &[Arc<Project>], now: Instant) -> Checked {
        for (project, book) in projects.iter().zip(&self.projects) {
            let ledger = project.spend.ledger();
            if ledger.reserved_usd_micros != 0 {
                return all(Invariant::NothingHeld, format!("{}: {ledger:?}", project.name), now);
            }
            let spent = book.money.spent_usd_micros();
            if ledger.settled_usd_micros != spent {
                let detail = format!("{}: {ledger:?}, attempts say {spent} spent", project.name);
                return all(Invariant::MoneySettledOnce, detail, now);
            }
        }
        for (what, Count { begun, ended }) in [("operations", self.operations), ("attempts", self.attempts)] {
            if begun != ended {
                return all(Invariant::CountersAgree, format!("{begun} {what} begun, {ended} ended"), now);
            }
        }
        for (_, endpoint) in world.endpoints() {
            let probes = endpoint.breaker.probes_in_flight(now + Duration::from_secs(24 * 3600));
            if probes != 0 {
                return all(Invariant::LeasesEnd, endpoint.name.to_string(), now);
            }
        }
        Ok(())
    }
}

/// (R8 R9) Places are visited in the chain's order, each once; escalation only climbs.
fn check_order(op: &mut Op, attempt: &Attempt, way: &Way, now: Instant) -> Checked {
    let (target, rung) = (attempt.target, way.route.chain().len());
    let on_ladder = usize::from(target.model) >= rung;
    if op.last.is_none() {
        op.began_on_rung = on_ladder;
    }
    match attempt.choice {
        Choice::Escalation => {
            let climbs = op.rung.is_none_or(|before| target.model > before);
            if !on_ladder || !climbs || !op.may_escalate {
                let detail = format!("from {:?} to {}", op.rung, target.model);
                return broken(Invariant::OnlyClimbs, detail, op.id, now);
            }
            op.rung = Some(target.model);
            op.may_escalate = false;
            return Ok(());
        }
        Choice::Panic => {
            // It may go to any place of the chain, and the walk goes on from there. Where a session may have begun
            // elsewhere, it wraps around once, and never comes back to this place.
            if op.last.is_none() || op.began.is_some() {
                op.began = Some((target.model, target.served));
            }
            op.panicked = true;
            return Ok(());
        }
        Choice::First | Choice::Retry | Choice::Fallback | Choice::Rerouted | Choice::Remembered => {}
    }
    let place = (target.model, target.served);
    // What a session remembers may itself be refused: then the first attempt was rerouted from there.
    if op.last.is_none() && matches!(attempt.choice, Choice::Remembered | Choice::Rerouted) {
        op.began = Some(place);
    }
    let Some(last) = op.last.map(|last| (last.model, last.served)) else { return Ok(()) };
    // A session's rung that does not serve leads back to the chain, as do those above it: the chain was not tried.
    let rolls_back = usize::from(last.0) >= rung && op.began_on_rung && !on_ladder;
    let in_order = match attempt.choice {
        Choice::Retry => place == last,
        _ => place > last || rolls_back || op.began.is_some_and(|began| last >= began && place < began),
    };
    if !in_order && !op.free_return {
        let detail = format!("{:?} from {last:?} to {place:?}", attempt.choice);
        return broken(Invariant::ChainInOrder, detail, op.id, now);
    }
    Ok(())
}

fn retries_of(step: &Step) -> u32 {
    match step {
        Step::Retry(retry) => retry.max,
        _ => 0,
    }
}

fn restarts_of(steps: &[StepRule]) -> u32 {
    let restarts = |rule: &StepRule| if let Step::Restart(restart) = &rule.step { restart.max } else { 0 };
    steps.iter().map(restarts).max().unwrap_or(0)
}

/// What usage costs at the target's price.
pub(crate) fn cost(way: &Way, model: u8, usage: Usage) -> u64 {
    way.route.model(model.into()).and_then(|model| model.price).map_or(0, |price| price.cost_usd_micros(usage))
}

pub(crate) fn broken(invariant: Invariant, detail: String, request: u64, at: Instant) -> Checked {
    Err(Box::new(Broken { invariant, detail, request: Some(request), at }))
}

fn all(invariant: Invariant, detail: String, at: Instant) -> Checked {
    Err(Box::new(Broken { invariant, detail, request: None, at }))
}
