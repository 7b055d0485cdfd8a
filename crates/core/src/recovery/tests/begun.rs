//! What it means that the answer of the running attempt has begun.

use super::rules::{needs_of_a_turn, trip};
use super::*;

/// The endpoint an operation goes to now.
fn goes_to(recovery: &mut Recovery, script: &Script) -> &'static str {
    match recovery.next(&script.world, script.now) {
        Action::Attempt(attempt) => ENDPOINTS[usize::from(attempt.target.endpoint.0)],
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_probe_lets_others_through_once_its_answer_has_begun_and_settles_the_rest_at_its_end() {
    let mut script = Script::new("hardened").needs(needs_of_a_turn());
    trip(&script, 0);
    script.now = script.now + Duration::from_secs(60);
    let mut probe = script.start();
    let project = Arc::clone(&probe.plan().project);
    assert_eq!([goes_to(&mut probe, &script), goes_to(&mut script.start(), &script)], ["one", "two"]);
    let told = probe.begun(&script.world, script.now).expect("that is the verdict");
    assert_eq!((told.to, told.reason), (breaker::State::Closed, breaker::Reason::ProbesSucceeded));
    assert_eq!(probe.begun(&script.world, script.now), None, "which is given once");
    assert_eq!(goes_to(&mut script.start(), &script), "one");
    assert_eq!(goes_to(&mut probe, &script), "one", "its attempt goes on");
    assert_eq!(project.spend.ledger().reserved_usd_micros, 1_000 * 3 + 1_000 * 15, "and its money is held");
    assert_eq!(probe.succeeded(Usage::default(), &script.world, script.now), None, "the breaker is closed already");
    assert_eq!(project.spend.ledger().reserved_usd_micros, 0);
}

#[test]
fn a_probes_stream_that_breaks_after_it_began_fails_as_any_other() {
    let mut script = Script::new("hardened");
    let settings = Settings { failures: 1, cooldown: Duration::from_secs(20), ..Settings::default() };
    script.world = World::new(ENDPOINTS.iter().map(|name| Endpoint::new(name, settings, 0.2, 1)).collect());
    trip(&script, 0);
    script.now = script.now + Duration::from_secs(60);
    let mut probe = script.start();
    assert_eq!(goes_to(&mut probe, &script), "one");
    assert!(probe.begun(&script.world, script.now).is_some());
    let cut = Failure::new(FailureKind::StreamInterrupted, "test");
    let decision = probe.failed(cut, Usage::default(), &script.world, script.now);
    let reason = decision.breaker.map(|transition| transition.reason);
    assert_eq!(reason, Some(breaker::Reason::InARow(1)), "the first failure of the closed breaker");
}

#[test]
fn an_answer_that_begins_changes_nothing_but_a_probe() {
    let mut script = Script::new("hardened");
    let fingerprint = |script: &Script| script.world.endpoint(EndpointId(0)).unwrap().breaker.fingerprint();
    let mut recovery = script.start();
    let before = fingerprint(&script);
    assert_eq!(recovery.begun(&script.world, script.now), None, "nothing runs");
    assert_eq!(goes_to(&mut recovery, &script), "one");
    assert_eq!((recovery.begun(&script.world, script.now), fingerprint(&script)), (None, before), "it is closed");
    trip(&script, 0);
    script.now = script.now + Duration::from_secs(60);
    let before = fingerprint(&script);
    assert_eq!((recovery.begun(&script.world, script.now), fingerprint(&script)), (None, before), "not its probe");
    let mut aside = script.needs(Needs { free: true, ..Needs::default() });
    let mut question = aside.start();
    assert_eq!(goes_to(&mut question, &aside), "one");
    assert_eq!(question.begun(&aside.world, aside.now), None, "a side question proves nothing");
}
