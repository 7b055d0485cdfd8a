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

/// Longer than until the next request may start.
const LONG: Duration = Duration::from_secs(70);

/// A route of one endpoint that has used up its one request a minute, and a policy that waits so for a rate limit.
fn used_up(delay: Duration, tool: Option<&str>) -> Script {
    let mut script = Script::new("default").chain(&["haiku"]);
    script.primary = "haiku";
    let limited = |name: &&str| endpoint_that_never_trips(name).with_rate(Some(1));
    script.world = World::new(ENDPOINTS.iter().map(limited).collect());
    for id in 0..4 {
        script.world.endpoint(EndpointId(id)).unwrap().take_rate(script.now).unwrap();
    }
    let step = Step::Retry(crate::policy::Retry { max: 1, backoff: Backoff::every(delay), with_context: false });
    let rule = StepRule { step, tool: tool.map(str::to_owned) };
    script.policy(|policy| policy.on.set(Trigger::Kind(FailureKind::RateLimit), vec![rule]))
}

#[test]
fn a_limit_is_waited_out_as_often_as_the_policy_retries() {
    let mut script = used_up(LONG, None);
    let mut recovery = script.start();
    let Action::Decided(decision) = recovery.next(&script.world, script.now) else { panic!("a wait") };
    assert_eq!((decision.step, decision.kind), ("park", FailureKind::RateLimit));
    let (least, most) = (Duration::from_secs(61), Duration::from_millis(67_100));
    assert!(least <= decision.wait && decision.wait <= most, "{:?}", decision.wait);
    let until = script.now + decision.wait;
    assert_eq!(recovery.next(&script.world, script.now), Action::Wait(until));
    script.world.endpoint(EndpointId(2)).unwrap().take_rate(until).expect("another was faster");
    assert!(matches!(recovery.next(&script.world, until), Action::Done(Outcome::GaveUp(_))));
}

#[test]
fn a_limit_is_waited_out_only_within_what_the_policy_allows() {
    let waits = |mut script: Script| match script.start().next(&script.world, script.now) {
        Action::Decided(decision) => Some(decision.wait),
        _ => None,
    };
    let wait = waits(used_up(LONG, None)).expect("there is time");
    let nano = Duration::from_nanos(1);
    assert_eq!(waits(used_up(wait, None)), Some(wait), "just as long as the policy waits at most");
    assert_eq!(waits(used_up(wait - nano, None)), None);
    assert_eq!(waits(used_up(LONG, Some("bash"))), None, "the step is for a tool");
    let hurried = |limit| Script { time_limit: Some(limit), ..used_up(LONG, None) };
    assert_eq!((waits(hurried(wait)), waits(hurried(wait + nano))), (None, Some(wait)), "before time is up");
}

#[test]
fn where_nobody_can_be_asked_a_limit_raises_no_question() {
    let mut script = used_up(Duration::from_secs(1), None);
    script.policy = template("council").unwrap().without_jitter();
    script.primary = "sonnet";
    let told = script.play("");
    assert!(told.ends_with("degraded\n"), "{told}");
}

/// A route of one endpoint, and a policy that holds a request for so long where no target is left.
fn held(park: Duration) -> Script {
    let mut script = never_tripping("default").chain(&["haiku"]).policy(|policy| policy.park = park);
    script.primary = "haiku";
    script
}

/// How long a request is held after this failure, if it is.
fn held_after(mut script: Script, report: &str) -> Option<Duration> {
    let mut recovery = script.start();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    let decision = recovery.failed(failure(report), Usage::default(), &script.world, script.now);
    (decision.step == "park").then_some(decision.wait)
}

#[test]
fn a_request_is_held_where_its_endpoint_failed_and_not_where_it_refused_what_was_asked() {
    let hour = Duration::from_secs(3_600);
    let script = |kind| held(hour).on(kind, vec![Step::Fallback]);
    assert_eq!(held_after(script("content_filter"), "content_filter"), None);
    let wait = held_after(script("server_error"), "server_error").expect("it may be well soon");
    let just = |park| held_after(held(park).on("server_error", vec![Step::Fallback]), "server_error");
    assert_eq!(
        (just(wait), just(wait - Duration::from_nanos(1))),
        (Some(wait), None),
        "no longer than the policy says"
    );
}

#[test]
fn a_request_is_held_only_for_a_moment_while_another_probes() {
    let mut script = held(Duration::from_secs(3_600));
    script.world = Script::new("default").world;
    rules::trip(&script, 2);
    script.world.endpoint(EndpointId(2)).unwrap().throttle.record(false, script.now);
    script.now = script.now + Duration::from_secs(60);
    let mut probe = script.start();
    assert!(matches!(probe.next(&script.world, script.now), Action::Attempt(_)));
    let Action::Decided(decision) = script.start().next(&script.world, script.now) else { panic!("it is held") };
    assert_eq!(decision.step, "park");
    assert!(decision.wait < Duration::from_secs(2), "{:?}: a probe tells before its lease ends", decision.wait);
}
