//! What must hold on every step. The watch checks it; for each there is a bug in `plant` that breaks it.

use std::fmt;

use crate::words::worded;

worded! {
    /// Something that must always hold.
    Invariant {
        RouteMade: "a route can be made",
        KeysIsolated: "what happens at one endpoint or project changes no other",
        CountsNowhere: "what counts nowhere changes nothing",
        LegalTransitions: "breaker transitions are legal",
        OpenAdmitsNothing: "an open breaker admits nothing",
        ProbesOnly: "a half-open breaker admits its probes and no more",
        ProbesAdmitted: "a half-open breaker admits while a probe's place is free",
        LeasesEnd: "every probe's lease ends",
        AttemptsBounded: "attempts stay within the policy",
        AttemptInTime: "no attempt starts after the deadline",
        AttemptEndsOnce: "an attempt ends once",
        WithinRoute: "a chain stays within its route",
        VendorKept: "a strict chain never leaves the vendor",
        ChainInOrder: "a chain is walked in its order",
        FallbacksEarned: "fallbacks are earned",
        EscalationPermitted: "escalation needs permission",
        OnlyClimbs: "escalation only climbs, with permission",
        MoneySettledOnce: "money is held and settled once",
        MoneyWithinBudget: "money stays within its budget, but for what calls under way cost beyond what they held",
        NothingHeld: "nothing stays held",
        HopelessNotRetried: "what cannot pass is not retried",
        RetriesWithinSteps: "retries at one target stay within its steps",
        SessionRetriesBounded: "session retries stay within the policy",
        RetryShareKept: "retries keep their share of the traffic",
        WaitIsFloor: "a provider's wait is a floor",
        WaitInTime: "no wait passes the deadline",
        ParkedBriefly: "nobody is held longer than allowed",
        RestartsBounded: "restarts stay within the policy",
        RestartsApart: "restarts keep their distance",
        EndsInTime: "an operation ends by its deadline",
        EndsOnce: "an operation ends once",
        Ends: "every operation ends",
        CountersAgree: "counters reconcile",
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
