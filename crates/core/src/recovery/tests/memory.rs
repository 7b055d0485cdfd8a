//! What a session remembers of failures, and requests that are held instead of failing.

use super::*;

#[test]
fn a_target_that_failed_is_not_tried_first_in_the_same_turn() {
    let mut script = Script::new("hardened");
    script.play("server_error; 200");
    script.turn = Turn::Continues;
    script.now = script.now + Duration::from_secs(600);
    check(&script.play("200"), "600s attempt 1 sonnet@two (remembered)\n600s succeeded with sonnet@two");
}

#[test]
fn a_new_turn_returns_to_the_primary_when_that_is_well_again() {
    let mut script = Script::new("hardened");
    script.play("server_error; 200");
    check(&script.play("200"), "0s attempt 1 sonnet@two (remembered)\n0s succeeded with sonnet@two");
    script.now = script.now + Duration::from_secs(1);
    script.world.endpoint(EndpointId(0)).unwrap().serves(script.now);
    check(&script.play("200"), "1s attempt 1 sonnet@one (first)\n1s succeeded with sonnet@one");
    assert!(!script.session.shuns_any(), "what serves is forgiven");
}

#[test]
fn a_new_turn_asks_again_after_a_minute_if_nobody_else_did() {
    let mut script = Script::new("hardened");
    script.play("server_error; 200");
    script.now = script.now + Duration::from_secs(59);
    check(&script.play("cancel"), "59s attempt 1 sonnet@two (remembered)\n59s cancelled");
    script.now = script.now + Duration::from_secs(1);
    check(&script.play("cancel"), "60s attempt 1 sonnet@one (first)\n60s cancelled");
}

#[test]
fn what_was_passed_over_comes_last() {
    let mut script = Script::new("hardened").chain(&["haiku"]);
    let now = script.now;
    script.session.shun(&Arc::from("sonnet"), &Arc::from("one"), now);
    check(
        &script.play("model_unavailable; model_unavailable; model_unavailable"),
        "0s attempt 1 sonnet@two (remembered)
         0s model_unavailable: fallback to haiku@three: next target of the chain
         0s attempt 2 haiku@three (fallback)
         0s model_unavailable: fallback to sonnet@one: next target of the chain
         0s attempt 3 sonnet@one (fallback)
         0s model_unavailable: give_up: no step of the policy is left [the chain ends here]
         0s gave up: no step of the policy is left",
    );
}

#[test]
fn a_client_that_asks_again_after_a_broken_answer_is_served_elsewhere() {
    let mut script = Script::new("hardened");
    check(
        &script.play("begun stream_interrupted"),
        "0s attempt 1 sonnet@one (first)
         0s stream_interrupted: give_up: the answer had begun and cannot be taken back
         0s gave up: the answer had begun and cannot be taken back",
    );
    check(&script.play("200"), "0s attempt 1 sonnet@two (remembered)\n0s succeeded with sonnet@two");
}

#[test]
fn another_session_starts_at_the_primary() {
    let mut script = Script::new("hardened");
    script.play("server_error; 200");
    script.session = Arc::new(Session::new(None));
    check(&script.play("200"), "0s attempt 1 sonnet@one (first)\n0s succeeded with sonnet@one");
}

#[test]
fn where_everything_failed_the_request_begins_at_its_own_target() {
    let mut script = Script::new("hardened").chain(&["sonnet"]);
    let now = script.now;
    for endpoint in ["one", "two"] {
        script.session.shun(&Arc::from("sonnet"), &Arc::from(endpoint), now);
    }
    check(&script.play("200"), "0s attempt 1 sonnet@one (first)\n0s succeeded with sonnet@one");
}

#[test]
fn a_session_remembers_a_bounded_number_of_targets() {
    let session = Session::new(None);
    let (endpoint, now) = (Endpoint::new("one", Settings::default(), 0.2, 1), Instant::ORIGIN);
    for model in 0..100 {
        session.shun(&Arc::from(format!("m{model}")), &endpoint.name, now);
    }
    assert!(session.shuns("m99", &endpoint, Turn::New, now));
    assert!(!session.shuns("m0", &endpoint, Turn::New, now));
}

#[test]
fn with_every_quota_exhausted_a_request_is_held_until_the_first_reset() {
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    let mut script = Script::new("default").chain(&["sonnet"]).policy(|policy| {
        (policy.park, policy.deadline) = (hours(5), hours(6));
    });
    let told = script.play("quota_exhausted retry-after:7200; quota_exhausted retry-after:3600; 200");
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    assert!(lines[3].contains("quota_exhausted: park in 3") && lines[3].contains("held until"), "{told}");
    assert!(lines[4].ends_with("attempt 3 sonnet@two (rerouted)"), "the one whose quota returned: {told}");
    assert!(script.now.as_millis() >= 3_600_000 && script.now.as_millis() < 3_600_000 * 11 / 10 + 2, "{told}");
}

#[test]
fn with_every_breaker_open_a_request_is_held_until_one_may_be_asked() {
    let mut script = Script::new("hardened").chain(&["sonnet"]).policy(|policy| policy.park = Duration::from_secs(60));
    for id in [0_u16, 1] {
        let Endpoint { breaker: endpoint_breaker, throttle, .. } = script.world.endpoint(EndpointId(id)).unwrap();
        for _ in 0..5 {
            let permit = endpoint_breaker.admit(script.now).unwrap();
            _ = endpoint_breaker.record(permit, breaker::Outcome::Failure, None, script.now);
        }
        (0..100).for_each(|_| throttle.record(false, script.now));
    }
    let told = script.play("200");
    assert!(told.contains("park in 2") && told.contains("the breaker is open"), "{told}");
    assert!(told.contains("succeeded with sonnet@"), "{told}");
}

#[test]
fn nobody_is_held_longer_than_the_policy_or_the_deadline_allows() {
    let failing = |park: u64, deadline: u64| {
        let mut script = Script::new("default").chain(&["sonnet"]).policy(|policy| {
            (policy.park, policy.deadline) = (Duration::from_secs(park), Duration::from_secs(deadline));
        });
        script.play("quota_exhausted retry-after:3600; quota_exhausted retry-after:3600")
    };
    for (park, deadline) in [(0, 36_000), (3000, 36_000), (36_000, 3000)] {
        assert!(failing(park, deadline).ends_with("0s gave up: no step of the policy is left\n"));
    }
}

#[test]
fn a_new_run_that_begins_at_the_first_target_again_has_the_whole_chain_before_it() {
    let restart = crate::policy::Restart { max: 3, backoff: Backoff::every(Duration::from_secs(120)) };
    let script = Script::new("hardened").face(Face::TASK).on("timeout", vec![Step::Restart(restart)]);
    let mut script = script.on("http_503", vec![Step::Fallback]);
    script.session.shun(&Arc::from("sonnet"), &Arc::from("one"), script.now);
    check(
        &script.play("timeout; 503; 503; 200"),
        "0s attempt 1 sonnet@two (remembered)
         0s timeout: restart in 120s: restart 1 of 3
         0s restart due
         120s attempt 1 sonnet@one (retry)
         120s server_error: fallback to sonnet@two: next target of the chain
         120s attempt 2 sonnet@two (fallback)
         120s server_error: fallback to haiku@three: next target of the chain
         120s attempt 3 haiku@three (fallback)
         120s succeeded with haiku@three",
    );
}
