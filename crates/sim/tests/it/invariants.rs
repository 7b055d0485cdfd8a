//! The checks see what they are there to see: a bug put in on purpose breaks every invariant, and
//! is reported with its seed and a short trace.

use std::time::Duration;

use steadfast_sim::plant::Plant;
use steadfast_sim::{Invariant, Setup, Trouble, simulate};

use crate::setup;

const SEED: u64 = 3;

/// The bug, where it shows itself, and what it breaks.
const BUGS: &[(Plant, &str, &str, Invariant)] = &[
    (Plant::WrongEndpoint, "transient", "default", Invariant::KeysIsolated),
    (Plant::RestsAnother, "transient", "default", Invariant::KeysIsolated),
    (Plant::PaysFromAnother, "calm", "default", Invariant::KeysIsolated),
    (Plant::StragglerCounts, "outage", "default", Invariant::CountsNowhere),
    (Plant::ClosesUncooled, "outage", "default", Invariant::LegalTransitions),
    (Plant::OpenAdmits, "primary_down", "default", Invariant::OpenAdmitsNothing),
    (Plant::ExtraProbe, "outage", "default", Invariant::ProbesOnly),
    (Plant::FewerProbes, "outage", "default", Invariant::ProbesAdmitted),
    (Plant::EndlessLease, "outage", "default", Invariant::ProbesAdmitted),
    (Plant::EndlessLeaseAtTheEnd, "calm", "default", Invariant::LeasesEnd),
    (Plant::ExtraAttempt, "brownout", "default", Invariant::AttemptsBounded),
    (Plant::StartsLate, "brownout", "default", Invariant::AttemptInTime),
    (Plant::ReportsTwice, "calm", "default", Invariant::AttemptEndsOnce),
    (Plant::LeavesRoute, "brownout", "default", Invariant::WithinRoute),
    (Plant::LeavesVendor, "council", "council", Invariant::VendorKept),
    (Plant::Backwards, "brownout", "default", Invariant::ChainInOrder),
    (Plant::BackwardsAfterPanic, "transient", "escalating", Invariant::ChainInOrder),
    (Plant::LargerFallbackShare, "brownout", "default", Invariant::FallbacksEarned),
    (Plant::UnpaidFallbacks, "brownout", "default", Invariant::FallbacksEarned),
    (Plant::EscalatesUnasked, "brownout", "escalating", Invariant::EscalationPermitted),
    (Plant::ClimbsAlone, "brownout", "default", Invariant::OnlyClimbs),
    (Plant::DoubleSettle, "calm", "default", Invariant::MoneySettledOnce),
    (Plant::HeldForEver, "calm", "default", Invariant::MoneySettledOnce),
    (Plant::Overspends, "budget", "default", Invariant::MoneyWithinBudget),
    (Plant::HeldAtTheEnd, "calm", "default", Invariant::NothingHeld),
    (Plant::RetriesQuota, "quota", "default", Invariant::HopelessNotRetried),
    (Plant::ExtraRetries, "brownout", "default", Invariant::RetriesWithinSteps),
    (Plant::ExtraRetriesAfterPanic, "brownout", "default", Invariant::RetriesWithinSteps),
    (Plant::EndlessSession, "brownout", "default", Invariant::SessionRetriesBounded),
    (Plant::LargerRetryShare, "brownout", "default", Invariant::RetryShareKept),
    (Plant::UnpaidRetries, "transient", "default", Invariant::RetryShareKept),
    (Plant::HurriesBack, "rate_limits", "default", Invariant::WaitIsFloor),
    (Plant::RetriesTooLate, "brownout", "default", Invariant::WaitInTime),
    (Plant::WaitsTooLong, "brownout", "default", Invariant::WaitInTime),
    (Plant::AsksTooLong, "council", "council", Invariant::WaitInTime),
    (Plant::ParksTooLong, "outage", "default", Invariant::ParkedBriefly),
    (Plant::UncountedRestarts, "tasks", "default", Invariant::RestartsBounded),
    (Plant::RestartsEarly, "tasks", "default", Invariant::RestartsApart),
    (Plant::Oversleeps, "brownout", "default", Invariant::EndsInTime),
    (Plant::LeavesItRunning, "calm", "default", Invariant::EndsOnce),
    (Plant::ForgetsToWake, "brownout", "default", Invariant::Ends),
    (Plant::EndsTwice, "calm", "default", Invariant::CountersAgree),
    (Plant::LosesCount, "calm", "default", Invariant::CountersAgree),
];

/// The run a bug is put into, with what the named scenario lacks for it to show.
fn run_with(plant: Plant, scenario: &str, template: &str) -> Setup {
    let mut setup = Setup { plant: Some(plant), ..setup(scenario, template, SEED) };
    setup.scenario = setup.scenario.with_clients(300);
    match plant {
        Plant::EndlessLease => setup.scenario.vanishes = 0.1,
        Plant::LeavesItRunning | Plant::LosesCount => setup.scenario.leaves = 0.1,
        Plant::Overspends => setup.scenario.spend.project_usd_micros = Some(1_000_000),
        Plant::EndlessSession => setup.policy.session_retries.max = 3,
        Plant::FewerProbes => setup.policy.breaker.probes = 2,
        Plant::UnpaidFallbacks | Plant::LargerFallbackShare => setup.policy.fallback_share = 0.05,
        Plant::ParksTooLong => setup.policy.park = Duration::from_secs(20),
        _ => {}
    }
    setup
}

#[test]
fn every_invariant_is_broken_by_a_bug_and_reported_with_its_seed_and_a_short_trace() {
    for &(plant, scenario, template, invariant) in BUGS {
        let setup = run_with(plant, scenario, template);
        let broken = simulate(&setup).broken.unwrap_or_else(|| panic!("{plant:?} was not caught"));
        assert_eq!(broken.invariant, invariant, "{plant:?}: {broken}");

        let trouble = Trouble::shrink(&setup, broken);
        let text = trouble.to_string();
        assert_eq!(trouble.broken.invariant, invariant, "{text}");
        assert!(text.contains(&format!("seed {SEED}, scenario {scenario}, policy {template}")), "{text}");
        let (small, large) = (&trouble.setup.scenario, &setup.scenario);
        assert!(small.clients * small.seconds < large.clients * large.seconds, "{text}");
        // What is only seen when all is quiet is nobody's in particular.
        assert_eq!(trouble.trace.is_empty(), trouble.broken.request.is_none(), "{text}");
        assert!(trouble.trace.first().is_none_or(|line| line.contains(r#""event":"#)), "{text}");
    }
}

#[test]
fn a_chain_that_cannot_be_is_reported_before_the_first_request() {
    let mut setup = setup("council", "council", SEED);
    let elsewhere = setup.scenario.models.iter().position(|model| model.vendor == "beta").unwrap();
    setup.scenario.models[0].fallback_strict = vec![elsewhere];
    let broken = simulate(&setup).broken.unwrap();
    assert_eq!(broken.invariant, Invariant::RouteMade, "{broken}");
}

#[test]
fn no_invariant_is_without_a_bug_that_breaks_it() {
    let unbroken = |invariant: &&Invariant| {
        **invariant != Invariant::RouteMade && !BUGS.iter().any(|(.., breaks)| breaks == *invariant)
    };
    let unbroken: Vec<_> = Invariant::ALL.iter().filter(unbroken).collect();
    assert!(unbroken.is_empty(), "{unbroken:?}");
}

#[test]
fn a_broken_invariant_is_shown_in_a_small_run() {
    let setup = Setup { plant: Some(Plant::ExtraAttempt), ..setup("brownout", "default", 5) };
    let broken = simulate(&setup).broken.unwrap();
    let trouble = Trouble::shrink(&setup, broken);
    let text = trouble.to_string();
    assert!(text.contains(r#""event":"attempt""#), "{text}");
    assert!(trouble.setup.scenario.clients < 100, "{text}");
    assert!(trouble.setup.scenario.seconds < 60, "{text}");
}

#[test]
fn every_template_keeps_every_invariant_in_every_scenario() {
    for (template, _) in steadfast_core::policy::TEMPLATES {
        for (scenario, _) in steadfast_sim::scenario::NAMES {
            let mut setup = setup(scenario, template, 11);
            setup.scenario = setup.scenario.with_clients(200);
            if let Some(broken) = simulate(&setup).broken {
                panic!("{}", Trouble::shrink(&setup, broken));
            }
        }
    }
}
