//! What extra attempts may be made, by the policy's numbers and the traffic counted here: not by what the core says of
//! its own allowances.

use steadfast_core::Instant;
use steadfast_core::decision::Decision;
use steadfast_core::world::World;

use super::{Checked, Watch, broken};
use crate::invariant::Invariant;
use crate::op::{Op, Running};

/// Retries an endpoint has at its beginning, and saves at most.
const RETRIES_AT_ONCE: u64 = 10;

/// The same of a project's fallbacks.
const FALLBACKS_AT_ONCE: u64 = 100;

/// One more of either trickles in after each this many seconds.
const TRICKLE_SECS: u64 = 10;

/// How many of something were counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extra {
    /// What earns.
    pub(super) deposits: u64,
    /// What was paid for.
    pub(super) paid: u64,
    /// What was given back.
    pub(super) refunds: u64,
}

impl Extra {
    /// How many may have been paid for by now.
    fn bound(self, at_once: u64, share: f64, now: Instant) -> u64 {
        // Shares are kept to a thousandth.
        let thousandths = (share * 1000.0).round() as u64;
        let trickled = now.as_millis() / TRICKLE_SECS;
        at_once + (self.deposits * thousandths + trickled) / 1000 + self.refunds
    }
}

impl Watch {
    /// (A1) A success earns a fallback, and gives back what led to it.
    pub(crate) fn succeeded(&mut self, op: &Op, running: &Running) {
        let fallbacks = &mut self.projects[op.project].fallbacks;
        fallbacks.deposits += 1;
        fallbacks.refunds += u64::from(running.paid_fallback);
        if let Some(endpoint) = running.paid_retry {
            self.endpoints[usize::from(endpoint.0)].retries.refunds += 1;
        }
    }

    /// A caller left before the attempt that was paid for: what was paid goes back.
    pub(crate) fn gives_back(&mut self, op: &mut Op) {
        if let Some(endpoint) = op.paid_retry.take() {
            self.endpoints[usize::from(endpoint.0)].retries.refunds += 1;
        }
        if std::mem::take(&mut op.paid_fallback) {
            self.projects[op.project].fallbacks.refunds += 1;
        }
    }

    pub(super) fn count_retry(&mut self, decision: &Decision, world: &World, id: u64, now: Instant) -> Checked {
        let retries = &mut self.endpoints[usize::from(decision.from.endpoint.0)].retries;
        retries.paid += 1;
        let bound = retries.bound(RETRIES_AT_ONCE, self.policy.retry_share, now);
        if retries.paid > bound {
            let name = world.endpoint(decision.from.endpoint).map_or("?", |endpoint| &endpoint.name);
            let detail = format!("{} retries at {name}, {bound} allowed", retries.paid);
            return broken(Invariant::RetryShareKept, detail, id, now);
        }
        Ok(())
    }

    pub(super) fn count_fallback(&mut self, op: &Op, now: Instant) -> Checked {
        let fallbacks = &mut self.projects[op.project].fallbacks;
        fallbacks.paid += 1;
        let bound = fallbacks.bound(FALLBACKS_AT_ONCE, self.policy.fallback_share, now);
        if fallbacks.paid > bound {
            let detail = format!("{} fallbacks of p{}, {bound} allowed", fallbacks.paid, op.project);
            return broken(Invariant::FallbacksEarned, detail, op.id, now);
        }
        Ok(())
    }
}
