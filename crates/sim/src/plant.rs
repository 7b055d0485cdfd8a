//! Bugs put in on purpose, to prove that the checks see them.
//!
//! Each one makes the driver do something a faulty core or driver might do, or tells the core
//! something else than was promised; the run must end with the invariant that forbids it.

use std::time::Duration;

use steadfast_core::backoff::Backoff;
use steadfast_core::breaker::{News, Outcome as Health, State};
use steadfast_core::decision::{Decision, Reason, Target};
use steadfast_core::policy::{Policy, Retry, Step, Trigger, VendorBoundary};
use steadfast_core::recovery::{Action, Attempt, Choice};
use steadfast_core::{Failure, FailureKind, Instant};

use crate::op::{Op, Running};
use crate::scenario::Scenario;
use crate::stage::Stage;

/// A bug put in on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// Attempts are counted from zero again: one too many gets through.
    ExtraAttempt,
    /// A success is charged twice.
    DoubleSettle,
    /// A reservation is forgotten.
    HeldForEver,
    /// The last reservation is forgotten, and nothing comes after it.
    HeldAtTheEnd,
    /// A project may spend twice its budget.
    Overspends,
    /// A failure at one endpoint is also counted at another.
    WrongEndpoint,
    /// A failure at one endpoint lets another's credential rest.
    RestsAnother,
    /// A success of one project takes a fallback of another's.
    PaysFromAnother,
    /// A result from before a trip counts.
    StragglerCounts,
    /// An attempt goes to an open breaker.
    OpenAdmits,
    /// An open breaker closes before its cooldown is over.
    ClosesUncooled,
    /// A half-open breaker admits one probe more.
    ExtraProbe,
    /// A half-open breaker admits a probe fewer.
    FewerProbes,
    /// A probe that never reports keeps its place.
    EndlessLease,
    /// The same with the last probe, and nobody asks after it.
    EndlessLeaseAtTheEnd,
    /// A strict chain goes to another vendor.
    LeavesVendor,
    /// An attempt goes to a model the route does not have.
    LeavesRoute,
    /// Every retry is made twice and paid once.
    UnpaidRetries,
    /// Every fallback is made twice and paid once.
    UnpaidFallbacks,
    /// The core pays for more retries than the policy's share.
    LargerRetryShare,
    /// The core pays for more fallbacks than the policy's share.
    LargerFallbackShare,
    /// One target is retried more often than its steps say.
    ExtraRetries,
    /// The same, once the request went against all breakers.
    ExtraRetriesAfterPanic,
    /// A session's retries are not counted.
    EndlessSession,
    /// An exhausted quota is waited out.
    RetriesQuota,
    /// A provider's wait is not kept.
    HurriesBack,
    /// A retry is due when its request is over.
    RetriesTooLate,
    /// A wait ends when its request is over.
    WaitsTooLong,
    /// A question stays open after its request is over.
    AsksTooLong,
    /// A request is held longer than was promised.
    ParksTooLong,
    /// A chain is walked backwards.
    Backwards,
    /// The same, once the request went against all breakers.
    BackwardsAfterPanic,
    /// An escalation nobody allowed is made.
    ClimbsAlone,
    /// An escalation nobody allowed is decided on.
    EscalatesUnasked,
    /// Restarts are not counted.
    UncountedRestarts,
    /// A new run starts too early.
    RestartsEarly,
    /// An attempt starts when its request is over.
    StartsLate,
    /// Nobody asks the core again after a wait.
    ForgetsToWake,
    /// The core is asked again after its deadline.
    Oversleeps,
    /// The end of an attempt is reported twice.
    ReportsTwice,
    /// The end of an operation is told twice.
    EndsTwice,
    /// A caller leaves, and its attempt goes on.
    LeavesItRunning,
    /// An attempt whose caller left is not counted as ended.
    LosesCount,
}

impl Plant {
    /// Tells the core something else than was promised; the watch goes by the promise.
    pub(crate) fn mislead(self, scenario: &mut Scenario, policy: &mut Policy) {
        match self {
            Self::LeavesVendor => policy.vendor_boundary = VendorBoundary::Open,
            Self::Overspends => {
                scenario.spend.project_usd_micros = scenario.spend.project_usd_micros.map(|usd| 2 * usd);
            }
            Self::ExtraProbe => policy.breaker.probes += 1,
            Self::FewerProbes => policy.breaker.probes -= 1,
            Self::LargerRetryShare => policy.retry_share = 1.0,
            Self::LargerFallbackShare => policy.fallback_share = 1.0,
            Self::EndlessLease | Self::EndlessLeaseAtTheEnd => policy.breaker.lease = Duration::from_secs(48 * 3600),
            Self::ExtraRetries => {
                let backoff = Backoff::every(Duration::from_secs(1));
                let many = Step::Retry(Retry { max: 10, backoff, with_context: false });
                policy.on.set(Trigger::Kind(FailureKind::ServerError), vec![many.into()]);
            }
            Self::EndlessSession => policy.session_retries.max = u32::MAX,
            Self::ParksTooLong => policy.park *= 10,
            Self::EscalatesUnasked => policy.escalate.auto = true,
            _ => {}
        }
    }

    pub(crate) fn in_action(self, action: &mut Action, op: &Op, stage: &Stage, now: Instant) {
        match (self, action) {
            (Self::ClosesUncooled, _) => {
                let primary = stage.routes[op.way].route.primary().endpoints[0].endpoint;
                let Some(endpoint) = stage.world.endpoint(primary) else { return };
                if matches!(endpoint.breaker.state(now), State::Open { .. }) {
                    endpoint.breaker.told(News::Closed, now);
                }
            }
            (Self::WaitsTooLong, Action::Wait(until)) => *until = op.recovery.deadline(),
            (Self::AsksTooLong, Action::Ask(question)) => {
                question.skip = op.recovery.deadline() + question.skip.since(now);
            }
            _ => {}
        }
    }

    pub(crate) fn in_attempt(self, attempt: &mut Attempt, op: &Op, stage: &Stage, now: &mut Instant) {
        let route = &stage.routes[op.way].route;
        match self {
            Self::ExtraAttempt if attempt.number > 2 => attempt.number -= 1,
            Self::StartsLate if attempt.number > 1 => *now = op.recovery.deadline(),
            Self::LeavesRoute if attempt.number > 1 => attempt.target.model = u8::MAX,
            Self::OpenAdmits if attempt.number == 1 => {
                let endpoint = route.primary().endpoints[0].endpoint;
                let state = stage.world.endpoint(endpoint).map(|endpoint| endpoint.breaker.state(*now));
                if matches!(state, Some(State::Open { .. })) {
                    attempt.target = Target { model: 0, served: 0, endpoint };
                    attempt.choice = Choice::First;
                }
            }
            Self::Backwards if attempt.choice == Choice::Fallback => {
                attempt.target.model = 0;
                attempt.target.served = 0;
            }
            // Nothing else may lead back: that would be no bug.
            Self::BackwardsAfterPanic
                if op.panicked && attempt.choice == Choice::Fallback && op.began.is_none() && !op.free_return =>
            {
                attempt.target.model = 0;
                attempt.target.served = 0;
            }
            Self::ClimbsAlone if attempt.number > 1 => attempt.choice = Choice::Escalation,
            _ => {}
        }
    }

    pub(crate) fn in_success(self, op: &Op, running: &Running, stage: &Stage, now: Instant) {
        let spend = &stage.projects[op.project].spend;
        match self {
            Self::DoubleSettle => spend.settle(0, 1000),
            Self::HeldForEver => _ = spend.reserve(1),
            Self::PaysFromAnother => {
                let another = (op.project + 1) % stage.projects.len();
                let _ = stage.projects[another].fallbacks.withdraw(now);
            }
            Self::StragglerCounts => {
                let Some(endpoint) = stage.world.endpoint(running.target.endpoint) else { return };
                if endpoint.breaker.generation() != running.generation
                    && let Ok(permit) = endpoint.breaker.admit(now)
                {
                    endpoint.breaker.record(permit, Health::Success, None, now);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn in_failure(self, running: &Running, stage: &Stage, now: Instant) {
        let other = stage.world.endpoints().find(|(id, _)| *id != running.target.endpoint);
        let Some((_, endpoint)) = other else { return };
        match self {
            Self::WrongEndpoint => {
                if let Ok(permit) = endpoint.breaker.admit(now) {
                    endpoint.breaker.record(permit, Health::Failure, None, now);
                }
            }
            Self::RestsAnother => endpoint.set_aside(now + Duration::from_secs(60)),
            _ => {}
        }
    }

    pub(crate) fn in_decision(self, decision: &mut Decision, failure: Option<&Failure>, op: &Op) {
        match (self, decision.step) {
            (Self::RetriesQuota, _) if failure.is_some_and(|failure| failure.kind == FailureKind::QuotaExhausted) => {
                decision.step = "retry";
            }
            (Self::HurriesBack, "retry") => decision.wait = Duration::ZERO,
            (Self::RetriesTooLate, "retry") => decision.wait = op.recovery.plan().policy.deadline,
            (Self::RestartsEarly, "restart") => decision.wait *= 2,
            (Self::UncountedRestarts, "restart") => {
                if let Reason::NewRun { restart, .. } = &mut decision.reason {
                    *restart = 1;
                }
            }
            _ => {}
        }
    }

    /// How often a decision is carried out.
    pub(crate) fn repeats(self, decision: &Decision, op: &Op) -> u32 {
        match (self, decision.step) {
            (Self::ExtraRetriesAfterPanic, "retry") if op.panicked => 10,
            (Self::UnpaidRetries, "retry") | (Self::UnpaidFallbacks, "fallback") => 2,
            _ => 1,
        }
    }

    pub(crate) fn at_the_end(self, stage: &Stage, now: Instant) {
        match self {
            Self::HeldAtTheEnd => _ = stage.projects[0].spend.reserve(1),
            Self::EndlessLeaseAtTheEnd => {
                for (_, endpoint) in stage.world.endpoints() {
                    endpoint.breaker.told(News::Opened { left: Duration::ZERO, trips: 1 }, now);
                    let _ = endpoint.breaker.admit(now);
                }
            }
            _ => {}
        }
    }
}
