//! The checks see what they are there to see: bugs put in on purpose are caught.

use steadfast_sim::plant::Plant;
use steadfast_sim::{Setup, Trouble, simulate};

use crate::setup;

#[track_caller]
fn caught(plant: Plant, scenario: &str, template: &str, invariant: &str) {
    let mut setup = Setup { plant: Some(plant), ..setup(scenario, template, 3) };
    setup.scenario = setup.scenario.with_clients(300);
    let broken = simulate(&setup).broken.unwrap_or_else(|| panic!("{plant:?} was not caught"));
    assert_eq!(broken.invariant, invariant, "{plant:?}: {broken}");
}

#[test]
fn one_attempt_too_many_is_caught() {
    caught(Plant::ExtraAttempt, "brownout", "default", "attempts stay within the policy");
}

#[test]
fn money_charged_twice_or_held_for_ever_is_caught() {
    caught(Plant::DoubleSettle, "calm", "default", "money is held and settled once");
    caught(Plant::HeldForEver, "calm", "default", "money is held and settled once");
}

#[test]
fn counting_at_the_wrong_endpoint_is_caught() {
    caught(Plant::WrongEndpoint, "transient", "default", "what counts nowhere changes nothing");
}

#[test]
fn a_late_result_that_counts_is_caught() {
    caught(Plant::StragglerCounts, "outage", "default", "what counts nowhere changes nothing");
}

#[test]
fn an_attempt_at_an_open_breaker_is_caught() {
    caught(Plant::OpenAdmits, "primary_down", "default", "an open breaker admits nothing");
}

#[test]
fn a_chain_that_leaves_the_vendor_is_caught() {
    caught(Plant::LeavesVendor, "council", "council", "a strict chain never leaves the vendor");
}

#[test]
fn retries_nobody_paid_for_are_caught() {
    caught(Plant::UnpaidRetries, "transient", "default", "retries keep their share of the traffic");
}

#[test]
fn a_chain_walked_backwards_is_caught() {
    caught(Plant::Backwards, "brownout", "default", "a chain is walked in its order");
}

#[test]
fn a_climb_nobody_allowed_is_caught() {
    caught(Plant::ClimbsAlone, "brownout", "default", "escalation only climbs, with permission");
}

#[test]
fn a_broken_invariant_prints_its_seed_and_a_short_trace() {
    let setup = Setup { plant: Some(Plant::ExtraAttempt), ..setup("brownout", "default", 5) };
    let broken = simulate(&setup).broken.unwrap();
    let trouble = Trouble::shrink(&setup, broken);
    let text = trouble.to_string();
    assert!(text.contains("seed 5, scenario brownout, policy default"), "{text}");
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
