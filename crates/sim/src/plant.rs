//! Bugs put in on purpose, to prove that the checks see them.
//!
//! Each one makes the driver do something a faulty core or driver might do; the run must end
//! with the invariant that forbids it.

use steadfast_core::Instant;
use steadfast_core::breaker::{Outcome as Health, State};
use steadfast_core::policy::VendorBoundary;
use steadfast_core::recovery::{Attempt, Choice};

use crate::op::{Op, Running};
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
    /// A failure at one endpoint is also counted at another.
    WrongEndpoint,
    /// A result from before a trip counts.
    StragglerCounts,
    /// An attempt goes to an open breaker.
    OpenAdmits,
    /// A strict chain goes to another vendor.
    LeavesVendor,
    /// Every retry is made twice and paid once.
    UnpaidRetries,
    /// A chain is walked backwards.
    Backwards,
    /// An escalation nobody allowed.
    ClimbsAlone,
}

impl Plant {
    /// The boundary routes are made with, whatever the policy says.
    pub(crate) const fn boundary(self) -> Option<VendorBoundary> {
        match self {
            Self::LeavesVendor => Some(VendorBoundary::Open),
            _ => None,
        }
    }

    pub(crate) fn in_attempt(self, attempt: &mut Attempt, op: &Op, stage: &Stage, now: Instant) {
        let route = &stage.routes[op.way].route;
        match self {
            Self::ExtraAttempt if attempt.number > 2 => attempt.number -= 1,
            Self::OpenAdmits if attempt.number == 1 => {
                let open = |endpoint: &steadfast_core::world::Endpoint| {
                    matches!(endpoint.breaker.state(now), State::Open { .. })
                };
                if stage.world.endpoint(route.primary().endpoints[0].endpoint).is_some_and(open) {
                    attempt.target = steadfast_core::decision::Target {
                        model: 0,
                        served: 0,
                        endpoint: route.primary().endpoints[0].endpoint,
                    };
                    attempt.choice = Choice::First;
                }
            }
            Self::Backwards if attempt.choice == Choice::Fallback => {
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
            Self::HeldForEver => drop(spend.reserve(1)),
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
        if self != Self::WrongEndpoint {
            return;
        }
        let other = stage.world.endpoints().find(|(id, _)| *id != running.target.endpoint);
        if let Some((_, endpoint)) = other
            && let Ok(permit) = endpoint.breaker.admit(now)
        {
            endpoint.breaker.record(permit, Health::Failure, None, now);
        }
    }
}
