//! States that seldom come about. A campaign that never reaches one of them proves less than it
//! seems to, so it fails (Antithesis calls this `sometimes`).

use serde::{Serialize, Serializer};

use crate::words::worded;

worded! {
    /// A state that seldom comes about.
    Rare {
        TrippedInARow: "a breaker opened",
        FalseOpen: "a breaker opened without much cause",
        ProbeClosed: "a probe closed a breaker",
        ProbeFailed: "a probe failed",
        BrokeOff: "a probe broke off after its first content had been its verdict",
        ProbeLost: "a probe's lease ended",
        ProbeCancelled: "a probe was cancelled",
        Straggler: "a result from before a trip was dropped",
        Panic: "every breaker refused and the throttle let one through",
        Rerouted: "an attempt was rerouted around an open breaker",
        RetriesEmpty: "a retry allowance was empty",
        FallbacksEmpty: "a fallback allowance was empty",
        Patience: "an operation waited for an allowance",
        Doubt: "an operation waited for a breaker's judgement",
        SetAside: "a credential was set aside",
        WaitTooLong: "a provider asked for a longer wait than the policy accepts",
        SessionSpent: "a session had used all its retries",
        AttemptsSpent: "a request had made all its attempts",
        Deadline: "a deadline passed",
        MoneyRefused: "a spend budget refused an attempt",
        PriceUnknown: "a price was unknown under a spend budget",
        Overran: "a call cost more than was held for it",
        BudgetPassed: "calls under way passed a budget",
        ChargedFailure: "a failed attempt was charged",
        Escalated: "a session climbed",
        RolledBack: "a climb did not help and was rolled back",
        VendorLeftOut: "a strict boundary left out another vendor's model",
        NobodyFits: "no model could take a request",
        Repaired: "a repair worked",
        RepairFailed: "a repair failed",
        Deferred: "a turn was deferred",
        AskedYes: "a person said yes",
        AskedNo: "a person said no",
        AskSkipped: "a question was skipped",
        Degraded: "a council went on without a voice",
        Restarted: "a task was restarted",
        RestartsSpent: "a task had used all its restarts",
        Cancelled: "a caller left",
        Vanished: "a driver vanished",
        Remembered: "a session began elsewhere because its first target had failed",
        Parked: "a request was held because no target was left",
        Warned: "a session used so many retries that a person was warned",
    }
}

/// How often each was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rarities([u64; Rare::ALL.len()]);

impl Rarities {
    pub(crate) fn hit(&mut self, rare: Rare) {
        self.0[rare as usize] += 1;
    }

    /// How often this one was reached.
    pub fn count(&self, rare: Rare) -> u64 {
        self.0[rare as usize]
    }

    /// Those never reached.
    pub fn missed(&self) -> Vec<Rare> {
        Rare::ALL.iter().copied().filter(|rare| self.count(*rare) == 0).collect()
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (sum, count) in self.0.iter_mut().zip(other.0) {
            *sum += count;
        }
    }
}

impl Default for Rarities {
    fn default() -> Self {
        Self([0; Rare::ALL.len()])
    }
}

impl Serialize for Rarities {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Rare::ALL.iter().map(|rare| (rare.words(), self.count(*rare))))
    }
}
