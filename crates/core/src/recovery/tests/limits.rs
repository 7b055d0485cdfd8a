//! The limits of SPEC 2.4: they hold whatever the policy says.

use super::templates::endpoint_that_never_trips;
use super::*;

pub(super) fn never_tripping(policy: &str) -> Script {
    let mut script = Script::new(policy);
    script.world = World::new(ENDPOINTS.iter().map(|name| endpoint_that_never_trips(name)).collect());
    script
}

#[test]
fn a_request_makes_no_more_attempts_than_the_policy_allows() {
    let told = never_tripping("default").policy(|policy| policy.attempts_max = 3).play("500; 500; 500");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s server_error: retry in 250ms: retry 1 of 2
         0s attempt 2 sonnet@one (retry)
         0s server_error: retry in 500ms: retry 2 of 2
         0s attempt 3 sonnet@one (retry)
         0s server_error: give_up: the request has made all its attempts [the step is used up]
         0s gave up: the request has made all its attempts",
    );
}

#[test]
fn no_wait_passes_the_deadline() {
    let mut script = never_tripping("session-manager").policy(|policy| policy.deadline = Duration::from_secs(12));
    let told = script.play("429; 429; 429; 200");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s rate_limit: retry in 5s: retry 1 of 3
         5s attempt 2 sonnet@one (retry)
         5s rate_limit: retry in 5s: retry 2 of 3
         10s attempt 3 sonnet@one (retry)
         10s rate_limit: fallback to sonnet@two: next target of the chain [the wait would pass the deadline]
         10s attempt 4 sonnet@two (fallback)
         10s succeeded with sonnet@two",
    );
}

#[test]
fn the_callers_own_time_limit_counts_where_it_is_shorter() {
    let mut script = never_tripping("default");
    script.time_limit = Some(Duration::from_secs(3));
    assert_eq!(script.start().deadline(), Instant::from_millis(3_000));
    script.time_limit = Some(Duration::from_secs(3_600));
    assert_eq!(script.start().deadline(), Instant::from_millis(600_000), "the policy's holds too");
}

#[test]
fn nothing_starts_once_the_deadline_has_passed() {
    let mut script = never_tripping("default");
    let mut recovery = script.start();
    let late = recovery.deadline();
    assert_eq!(recovery.next(&script.world, late), Action::Done(Outcome::GaveUp(Reason::Deadline)));

    let mut recovery = script.start();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    let decision = recovery.failed(failure("500"), Usage::default(), &script.world, late);
    assert_eq!((decision.step, decision.reason), ("give_up", Reason::Deadline));
}

#[test]
fn a_session_stops_retrying_at_its_limit_and_warns_before() {
    let mut script =
        never_tripping("default").policy(|policy| policy.session_retries = SessionRetries { max: 2, warn: 2 });
    let told = script.play("500; 500; 500; 500; 200");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s server_error: retry in 250ms: retry 1 of 2
         0s attempt 2 sonnet@one (retry)
         0s server_error: retry in 500ms: retry 2 of 2 (warning)
         0s attempt 3 sonnet@one (retry)
         0s server_error: fallback to sonnet@two: next target of the chain [the step is used up]
         0s attempt 4 sonnet@two (fallback)
         0s server_error: fallback to haiku@three: next target of the chain [the session has used all its retries]
         0s attempt 5 haiku@three (fallback)
         0s succeeded with haiku@three",
    );
    assert_eq!(script.session.retries_used(), 2, "neither of them helped");
}

#[test]
fn a_retry_that_serves_is_given_back_to_its_session() {
    let mut script = never_tripping("default");
    for _ in 0..100 {
        assert!(script.play("500; 200").contains("(retry)"));
    }
    assert_eq!(script.session.retries_used(), 0);
}

#[test]
fn an_empty_retry_allowance_leads_to_the_next_step() {
    let mut script = never_tripping("default");
    drain_retries(&script, 0);
    let told = script.play("500; 200");
    assert!(told.contains("fallback to sonnet@two: next target of the chain [the retry allowance is empty]"), "{told}");
}

#[test]
fn an_empty_allowance_is_waited_for_and_not_for_ever() {
    let mut script = never_tripping("default").chain(&["sonnet"]);
    script.primary = "haiku";
    let mut script = script.chain(&["haiku"]);
    drain_retries(&script, 2);
    script.project = Project::new("default", 1.0, None);
    let told = script.play("500; 200");
    assert!(told.contains("server_error: retry in"), "{told}");
    assert!(told.contains("the retry allowance is empty and fills as others succeed"), "{told}");
    assert!(told.ends_with("succeeded with haiku@three\n"), "the reserve trickles in:\n{told}");

    // With every trickle taken by others, patience ends.
    let mut recovery = { script }.start();
    let script = never_tripping("default");
    let mut now = Instant::from_millis(1_000_000_000);
    let mut recovery_now = Recovery::start(recovery.plan().clone(), now);
    recovery.cancelled(Usage::default(), &script.world, now);
    assert!(matches!(recovery_now.next(&script.world, now), Action::Attempt(_)));
    let mut waits = 0;
    drain_at(&script, 2, now);
    let mut decision = recovery_now.failed(failure("500"), Usage::default(), &script.world, now);
    while decision.step != "give_up" {
        waits += 1;
        now = now + decision.wait;
        drain_at(&script, 2, now);
        decision = match recovery_now.next(&script.world, now) {
            Action::Decided(decision) => decision,
            other => panic!("patience, not {other:?}"),
        };
    }
    assert_eq!(waits, 5);
    assert_eq!(decision.reason, Reason::AllowanceEmpty(crate::decision::AllowanceName::Retries));
}

#[test]
fn fallbacks_are_paid_for_and_given_back_when_they_serve() {
    let mut script = never_tripping("default");
    let mut recovery = script.start();
    let project = Arc::clone(&recovery.plan().project);
    let full = project.fallbacks.left();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    recovery.failed(failure("model_unavailable"), Usage::default(), &script.world, script.now);
    assert_eq!(project.fallbacks.left(), full - 1);
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    recovery.succeeded(Usage::default(), &script.world, script.now);
    assert_eq!(project.fallbacks.left(), full);
}

#[test]
fn a_first_attempt_deposits_and_a_retry_that_serves_is_given_back() {
    let mut script = never_tripping("default");
    drain_retries(&script, 0);
    for _ in 0..5 {
        script.world.endpoint(EndpointId(0)).unwrap().retries.deposit();
    }
    let left = |script: &Script| script.world.endpoint(EndpointId(0)).unwrap().retries.left();
    assert_eq!(left(&script), 1);
    script.play("500; 200");
    assert_eq!(left(&script), 1, "it served");
    script.play("500; model_unavailable; 200");
    assert_eq!(left(&script), 0, "it failed, and two first attempts bring two fifths");
}

#[test]
fn restarts_from_an_earlier_process_count() {
    let mut script = never_tripping("hardened").face(Face::TASK);
    let mut plan = script.start().plan().clone();
    plan.restarts_used = 2;
    let mut recovery = Recovery::start(plan, script.now);
    let mut steps = Vec::new();
    let mut now = script.now;
    loop {
        match recovery.next(&script.world, now) {
            Action::Attempt(_) => {
                let failure = failure("network_transient");
                steps.push(recovery.failed(failure, Usage::default(), &script.world, now).step);
            }
            Action::Wait(until) | Action::Restart(until) => now = until,
            Action::Done(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(steps.iter().filter(|step| **step == "restart").count(), 1);
    assert_eq!(recovery.restarts(), 3);
}

pub(super) fn drain_retries(script: &Script, endpoint: u16) {
    drain_at(script, endpoint, script.now);
}

fn drain_at(script: &Script, endpoint: u16, now: Instant) {
    while script.world.endpoint(EndpointId(endpoint)).unwrap().retries.withdraw(now) {}
}

#[test]
fn what_is_denied_for_a_moment_is_waited_for_before_giving_up_or_restarting() {
    let restart = crate::policy::Restart { max: 3, backoff: Backoff::every(Duration::from_secs(60)) };
    for last in [Step::GiveUp, Step::Degrade, Step::Restart(restart)] {
        let mut script = never_tripping("default").face(Face::TASK).on("model_unavailable", vec![Step::Fallback, last]);
        let empty = Project::new("default", 1.0, None);
        while empty.fallbacks.withdraw(script.now) {}
        script.project = empty;
        let told = script.play("model_unavailable; 200");
        assert!(told.contains("model_unavailable: fallback in "), "{told}");
        assert!(told.ends_with("succeeded with sonnet@two\n"), "the reserve trickles in:\n{told}");
    }
}

#[test]
fn the_callers_time_limit_holds_for_every_run() {
    let mut script = never_tripping("hardened").face(Face::TASK).on("timeout", vec![restart_now()]);
    script.time_limit = Some(Duration::from_secs(3));
    let mut recovery = script.start();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    recovery.failed(failure("timeout"), Usage::default(), &script.world, script.now);
    let later = Instant::from_millis(10_000);
    assert!(matches!(recovery.next(&script.world, later), Action::Attempt(_)));
    assert_eq!(recovery.deadline(), Instant::from_millis(13_000), "counted from when the run began");
}

fn restart_now() -> Step {
    Step::Restart(crate::policy::Restart { max: 3, backoff: Backoff::every(Duration::from_secs(1)) })
}

#[test]
fn nobody_waits_for_an_allowance_past_the_deadline() {
    let mut script = never_tripping("default").chain(&["haiku"]);
    script.primary = "haiku";
    script.time_limit = Some(Duration::from_secs(8));
    drain_retries(&script, 2);
    let told = script.play("500");
    assert!(told.ends_with("gave up: the retry allowance is empty and fills as others succeed\n"), "{told}");
    assert_eq!(script.now, Instant::from_millis(0), "there was no time for patience");
}
