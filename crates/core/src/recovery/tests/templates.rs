//! The numbers of the seed documents, template by template.

mod default;

use super::*;
use crate::policy::{TEMPLATES, Trigger};

#[test]
fn hardened_retries_the_network_five_times_then_restarts() {
    let mut script = Script::new("hardened").face(Face::TASK);
    let told = script.play("network_transient; timeout; 502");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s network_transient: retry in 1s: retry 1 of 5
         1s attempt 2 sonnet@one (retry)
         1s timeout: retry in 2s: retry 2 of 5
         3s attempt 3 sonnet@one (retry)
         3s server_error: fallback to sonnet@two: next target of the chain
         3s attempt 4 sonnet@two (fallback)",
    );
    let mut script = Script::new("hardened").face(Face::TASK).chain(&["sonnet"]);
    script.world = World::new(vec![endpoint_that_never_trips("one"), endpoint_that_never_trips("two")]);
    let told = script.play(&"network_transient;".repeat(6));
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s network_transient: retry in 1s: retry 1 of 5
         1s attempt 2 sonnet@one (retry)
         1s network_transient: retry in 2s: retry 2 of 5
         3s attempt 3 sonnet@one (retry)
         3s network_transient: retry in 4s: retry 3 of 5
         7s attempt 4 sonnet@one (retry)
         7s network_transient: retry in 8s: retry 4 of 5
         15s attempt 5 sonnet@one (retry)
         15s network_transient: retry in 16s: retry 5 of 5
         31s attempt 6 sonnet@one (retry)
         31s network_transient: restart in 60s: restart 1 of 3 [the step is used up]
         31s restart due
         91s attempt 1 sonnet@one (retry)",
    );
}

#[test]
fn hardened_restarts_three_times_at_one_two_and_four_minutes() {
    let mut script = Script::new("hardened").face(Face::TASK).on("timeout", vec![restart_of("hardened")]);
    let told = script.play(&"timeout;".repeat(4));
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s timeout: restart in 60s: restart 1 of 3
         0s restart due
         60s attempt 1 sonnet@one (retry)
         60s timeout: restart in 120s: restart 2 of 3
         60s restart due
         180s attempt 1 sonnet@one (retry)
         180s timeout: restart in 240s: restart 3 of 3
         180s restart due
         420s attempt 1 sonnet@one (retry)
         420s timeout: give_up: no step of the policy is left [the step is used up]
         420s gave up: no step of the policy is left",
    );
}

#[test]
fn hardened_counts_rate_limits_against_the_breaker() {
    assert!(template("hardened").unwrap().breaker.rate_limits_trip);
    assert_eq!(template("hardened").unwrap().breaker.cooldown, Duration::from_secs(300));
    assert_eq!(template("hardened").unwrap().breaker.failures, 5);
}

#[test]
fn escalating_retries_three_times_then_falls_back() {
    let told = Script::new("escalating").play("429; 500; timeout; 200");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s rate_limit: retry in 1s: retry 1 of 3
         1s attempt 2 sonnet@one (retry)
         1s server_error: retry in 1s: retry 1 of 3
         2s attempt 3 sonnet@one (retry)
         2s timeout: retry in 1s: retry 1 of 3
         3s attempt 4 sonnet@one (retry)
         3s succeeded with sonnet@one",
    );
    for kind in ESCALATING_RETRIES {
        check(
            &Script::new("escalating").play(&format!("{kind}; {kind}; {kind}; {kind}; 200")),
            &format!(
                "0s attempt 1 sonnet@one (first)
                 0s {kind}: retry in 1s: retry 1 of 3
                 1s attempt 2 sonnet@one (retry)
                 1s {kind}: retry in 2s: retry 2 of 3
                 3s attempt 3 sonnet@one (retry)
                 3s {kind}: retry in 4s: retry 3 of 3
                 7s attempt 4 sonnet@one (retry)
                 7s {kind}: fallback to sonnet@two: next target of the chain [automatic escalation is switched off]
                 7s attempt 5 sonnet@two (fallback)
                 7s succeeded with sonnet@two"
            ),
        );
    }
}

/// What `escalating` retries before anything else.
const ESCALATING_RETRIES: [&str; 7] =
    ["rate_limit", "overloaded", "server_error", "timeout", "network_transient", "stream_interrupted", "process_died"];

#[test]
fn escalating_asks_a_bad_answer_again_once_and_climbs_where_it_may() {
    check(
        &Script::new("escalating").play("bad_output; bad_output"),
        "0s attempt 1 sonnet@one (first)
         0s bad_output: retry in 1s: retry 1 of 1
         1s attempt 2 sonnet@one with context (retry)
         1s bad_output: give_up: no step of the policy is left [automatic escalation is switched off]
         1s gave up: no step of the policy is left",
    );
    let mut climbs = Script::new("escalating").policy(|policy| policy.escalate.auto = true);
    check(
        &climbs.play("bad_output; bad_output; 200"),
        "0s attempt 1 sonnet@one (first)
         0s bad_output: retry in 1s: retry 1 of 1
         1s attempt 2 sonnet@one with context (retry)
         1s bad_output: escalate to opus@one: retries did not help: next rung of the ladder [the step is used up]
         1s attempt 3 opus@one (escalation)
         1s succeeded with opus@one",
    );
}

#[test]
fn escalating_goes_elsewhere_or_gives_up_where_a_retry_does_not_help() {
    for kind in ["quota_exhausted", "model_unavailable"] {
        let expected = format!("{kind}: fallback to sonnet@two: next target of the chain");
        first_step("escalating", Face::GATEWAY, kind, &expected);
    }
    for kind in ["auth_error", "network_permanent", "invalid_request", "content_filter", "unknown"] {
        first_step("escalating", Face::GATEWAY, kind, &format!("{kind}: give_up: the policy gives up on this"));
    }
    first_step("escalating", Face::GATEWAY, "cancelled", "cancelled: give_up: the caller left");
    let repair = "state_lost: repair: what the call needs is brought back first";
    first_step("escalating", Face::TASK, "state_lost", repair);
}

#[test]
fn escalating_climbs_when_the_context_is_full() {
    let mut script = Script::new("escalating");
    let told = script.play("context_limit; 200");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s context_limit: escalate to giant@two: the context is full: next rung of the ladder
         0s attempt 2 giant@two (escalation)
         0s succeeded with giant@two",
    );
    assert_eq!(script.session.escalated().as_deref(), Some("giant"), "opus holds no more than sonnet");
}

#[test]
fn escalating_climbs_after_retries_once_switched_on() {
    for kind in ESCALATING_RETRIES {
        let mut script =
            Script::new("escalating").policy(|policy| policy.escalate = Escalate { auto: true, after_retries: 2 });
        check(
            &script.play(&format!("{kind}; {kind}; {kind}; 200")),
            &format!(
                "0s attempt 1 sonnet@one (first)
                 0s {kind}: retry in 1s: retry 1 of 3
                 1s attempt 2 sonnet@one (retry)
                 1s {kind}: retry in 2s: retry 2 of 3
                 3s attempt 3 sonnet@one (retry)
                 3s {kind}: escalate to opus@one: retries did not help: next rung of the ladder
                 3s attempt 4 opus@one (escalation)
                 3s succeeded with opus@one"
            ),
        );
    }
}

#[test]
fn patterns_retry_quickly_and_never_on_a_500() {
    let told = Script::new("patterns").play("503; 503; 503; 200");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s server_error: retry in 100ms: retry 1 of 3
         0s attempt 2 sonnet@one (retry)
         0s server_error: retry in 200ms: retry 2 of 3
         0s attempt 3 sonnet@one (retry)
         0s server_error: retry in 400ms: retry 3 of 3
         0s attempt 4 sonnet@one (retry)
         0s succeeded with sonnet@one",
    );
    check(
        &Script::new("patterns").play("500"),
        "0s attempt 1 sonnet@one (first)
         0s server_error: give_up: the policy gives up on this
         0s gave up: the policy gives up on this",
    );
}

#[test]
fn council_climbs_its_four_levels() {
    let mut script = Script::new("council").face(Face::COUNCIL);
    script.primary = "haiku";
    script.world = World::new(ENDPOINTS.iter().map(|name| endpoint_that_never_trips(name)).collect());
    let script = script.chain(&["opus"]);
    let level_one = "server_error; server_error; server_error; server_error;";
    let expected_start = "0s attempt 1 haiku@three (first)
         0s server_error: retry in 1s: retry 1 of 3
         1s attempt 2 haiku@three (retry)
         1s server_error: retry in 2s: retry 2 of 3
         3s attempt 3 haiku@three (retry)
         3s server_error: retry in 4s: retry 3 of 3
         7s attempt 4 haiku@three (retry)
         7s server_error: defer: the others go first [the step is used up]
         7s deferred
         7s attempt 5 haiku@three (retry)
         7s server_error: retry in 1s: retry 1 of 3
         8s attempt 6 haiku@three (retry)
         8s server_error: retry in 2s: retry 2 of 3
         10s attempt 7 haiku@three (retry)
         10s server_error: retry in 4s: retry 3 of 3
         14s attempt 8 haiku@three (retry)
         14s server_error: ask to opus@one: a person decides about the next model [the step is used up]
         14s asked about opus@one, nudge in 30s\n";
    let play = |answer: &str| {
        let mut script = Script { session: Arc::new(Session::new(None)), ..clone_of(&script) };
        script.play(&format!("{level_one}{level_one}{answer}"))
    };
    let ending = |lines: &str| format!("{expected_start}{lines}");
    check(
        &play("yes; 200"),
        &ending(
            "14s server_error: fallback to opus@one: the person agreed
             14s attempt 9 opus@one (fallback)
             14s succeeded with opus@one",
        ),
    );
    check(
        &play("no"),
        &ending(
            "14s server_error: degrade: going on without it [the step is used up]
             14s degraded",
        ),
    );
    check(
        &play("silence"),
        &ending(
            "74s server_error: degrade: going on without it [the step is used up]
             74s degraded",
        ),
    );
}

#[test]
fn council_asks_at_once_where_waiting_does_not_help() {
    let council = || {
        let mut script = Script::new("council").face(Face::COUNCIL).chain(&["giant"]);
        script.primary = "haiku";
        script
    };
    for kind in ["quota_exhausted", "auth_error", "model_unavailable", "context_limit", "network_permanent"] {
        check(
            &council().play(&format!("{kind}; no")),
            &format!(
                "0s attempt 1 haiku@three (first)
                 0s {kind}: ask to giant@two: a person decides about the next model
                 0s asked about giant@two, nudge in 30s
                 0s {kind}: degrade: going on without it [the step is used up]
                 0s degraded"
            ),
        );
    }
    check(
        &council().play("content_filter; content_filter; silence"),
        "0s attempt 1 haiku@three (first)
         0s content_filter: defer: the others go first
         0s deferred
         0s attempt 2 haiku@three (retry)
         0s content_filter: ask to giant@two: a person decides about the next model [the step is used up]
         0s asked about giant@two, nudge in 30s
         60s content_filter: degrade: going on without it [the step is used up]
         60s degraded",
    );
    check(
        &council().play("invalid_request"),
        "0s attempt 1 haiku@three (first)
         0s invalid_request: degrade: going on without it
         0s degraded",
    );
    check(
        &council().play("cancelled"),
        "0s attempt 1 haiku@three (first)
         0s cancelled: give_up: the caller left
         0s cancelled",
    );
}

#[test]
fn session_manager_waits_five_seconds_three_times_then_falls_back() {
    let told = Script::new("session-manager").play("429; 429; 429; 429; 200");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s rate_limit: retry in 5s: retry 1 of 3
         5s attempt 2 sonnet@one (retry)
         5s rate_limit: retry in 5s: retry 2 of 3
         10s attempt 3 sonnet@one (retry)
         10s rate_limit: retry in 5s: retry 3 of 3
         15s attempt 4 sonnet@one (retry)
         15s rate_limit: fallback to sonnet@two: next target of the chain [the step is used up]
         15s attempt 5 sonnet@two (fallback)
         15s succeeded with sonnet@two",
    );
}

#[test]
fn session_manager_retries_a_timeout_once_and_a_missing_model_never() {
    let told = Script::new("session-manager").play("timeout; timeout; model_unavailable; unknown; unknown; 200");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s timeout: retry in 5s: retry 1 of 1
         5s attempt 2 sonnet@one (retry)
         5s timeout: fallback to sonnet@two: next target of the chain [the step is used up]
         5s attempt 3 sonnet@two (fallback)
         5s model_unavailable: fallback to haiku@three: next target of the chain
         5s attempt 4 haiku@three (fallback)
         5s unknown: retry in 5s: retry 1 of 2
         10s attempt 5 haiku@three (retry)
         10s unknown: retry in 10s: retry 2 of 2
         20s attempt 6 haiku@three (retry)
         20s succeeded with haiku@three",
    );
}

/// One failure of each kind a template has a list for, and what its first step is.
#[track_caller]
fn first_step(template: &str, face: Face, report: &str, expected: &str) {
    let mut script = Script::new(template).face(face);
    let told = script.play(report);
    let decision = told.lines().nth(1).unwrap_or_default().trim();
    assert_eq!(decision, format!("0s {expected}"), "{template}: {report}");
}

#[test]
fn hardened_goes_to_the_next_model_at_once_when_the_provider_fails() {
    for kind in
        ["server_error", "overloaded", "model_unavailable", "auth_error", "network_permanent", "quota_exhausted"]
    {
        let expected = format!("{kind}: fallback to sonnet@two: next target of the chain");
        first_step("hardened", Face::GATEWAY, kind, &expected);
    }
}

#[test]
fn hardened_backs_off_from_a_rate_limit_then_falls_back() {
    let mut script = Script::new("hardened");
    script.world = World::new(ENDPOINTS.iter().map(|name| endpoint_that_never_trips(name)).collect());
    check(
        &script.play("429; 429; 429; 429; 429; 429; 200"),
        "0s attempt 1 sonnet@one (first)
         0s rate_limit: retry in 1s: retry 1 of 5
         1s attempt 2 sonnet@one (retry)
         1s rate_limit: retry in 2s: retry 2 of 5
         3s attempt 3 sonnet@one (retry)
         3s rate_limit: retry in 4s: retry 3 of 5
         7s attempt 4 sonnet@one (retry)
         7s rate_limit: retry in 8s: retry 4 of 5
         15s attempt 5 sonnet@one (retry)
         15s rate_limit: retry in 16s: retry 5 of 5
         31s attempt 6 sonnet@one (retry)
         31s rate_limit: fallback to sonnet@two: next target of the chain [the step is used up]
         31s attempt 7 sonnet@two (fallback)
         31s succeeded with sonnet@two",
    );
}

#[test]
fn hardened_waits_at_most_thirty_seconds() {
    let steps = template("hardened").unwrap().on;
    let retry = steps.iter().flat_map(|(_, rules)| rules.to_vec()).find_map(|rule| match rule.step {
        Step::Retry(retry) => Some(retry),
        _ => None,
    });
    let backoff = retry.unwrap().backoff;
    assert_eq!((backoff.plain(5), backoff.plain(6)), (Duration::from_secs(16), Duration::from_secs(30)));
    assert_eq!(backoff.jitter(), Jitter::Spread(0.2));
}

#[test]
fn hardened_climbs_when_the_context_is_full_and_gives_up_on_logic() {
    first_step(
        "hardened",
        Face::GATEWAY,
        "context_limit",
        "context_limit: escalate to giant@two: the context is full: next rung of the ladder",
    );
    first_step("hardened", Face::GATEWAY, "invalid_request", "invalid_request: give_up: the policy gives up on this");
    first_step("hardened", Face::GATEWAY, "content_filter", "content_filter: give_up: the policy gives up on this");
    first_step("hardened", Face::GATEWAY, "bad_output", "bad_output: give_up: the policy gives up on this");
    first_step("hardened", Face::GATEWAY, "unknown", "unknown: give_up: the policy gives up on this");
    let repair = "state_lost: repair: what the call needs is brought back first";
    first_step("hardened", Face::TASK, "state_lost", repair);
}

#[test]
fn patterns_fall_back_when_three_quick_retries_did_not_help() {
    for (report, kind) in
        [("429", "rate_limit"), ("529", "overloaded"), ("503", "server_error"), ("timeout", "timeout")]
    {
        let told = Script::new("patterns").play(&format!("{report}; {report}; {report}; {report}; 200"));
        check(
            &told,
            &format!(
                "0s attempt 1 sonnet@one (first)
                 0s {kind}: retry in 100ms: retry 1 of 3
                 0s attempt 2 sonnet@one (retry)
                 0s {kind}: retry in 200ms: retry 2 of 3
                 0s attempt 3 sonnet@one (retry)
                 0s {kind}: retry in 400ms: retry 3 of 3
                 0s attempt 4 sonnet@one (retry)
                 0s {kind}: fallback to sonnet@two: next target of the chain [the step is used up]
                 0s attempt 5 sonnet@two (fallback)
                 0s succeeded with sonnet@two"
            ),
        );
    }
}

#[test]
fn patterns_repair_what_is_gone_and_repeat_the_call() {
    check(
        &Script::new("patterns").face(Face::TASK).play("process_died; repaired; process_died; repaired; process_died"),
        "0s attempt 1 sonnet@one (first)
         0s process_died: repair: what the call needs is brought back first
         0s repairing
         0s attempt 2 sonnet@one (retry)
         0s process_died: repair: what the call needs is brought back first
         0s repairing
         0s attempt 3 sonnet@one (retry)
         0s process_died: give_up: the policy gives up on this [the step is used up]
         0s gave up: the policy gives up on this",
    );
    let repair = "state_lost: repair: what the call needs is brought back first";
    first_step("patterns", Face::TASK, "state_lost", repair);
}

#[test]
fn patterns_give_up_on_what_would_fail_again() {
    for kind in ["auth_error", "invalid_request", "model_unavailable", "bad_output", "unknown"] {
        let expected = format!("{kind}: give_up: the policy gives up on this");
        first_step("patterns", Face::GATEWAY, kind, &expected);
    }
    let next = "quota_exhausted: fallback to sonnet@two: next target of the chain";
    first_step("patterns", Face::GATEWAY, "quota_exhausted", next);
}

#[test]
fn session_manager_falls_back_at_once_where_waiting_does_not_help() {
    for kind in ["model_unavailable", "overloaded", "quota_exhausted", "invalid_request"] {
        let expected = format!("{kind}: fallback to sonnet@two: next target of the chain");
        first_step("session-manager", Face::GATEWAY, kind, &expected);
    }
    first_step("session-manager", Face::GATEWAY, "cancelled", "cancelled: give_up: the caller left");
}

#[test]
fn session_manager_falls_back_when_two_growing_retries_of_something_unknown_did_not_help() {
    check(
        &Script::new("session-manager").play("unknown; unknown; unknown; 200"),
        "0s attempt 1 sonnet@one (first)
         0s unknown: retry in 5s: retry 1 of 2
         5s attempt 2 sonnet@one (retry)
         5s unknown: retry in 10s: retry 2 of 2
         15s attempt 3 sonnet@one (retry)
         15s unknown: fallback to sonnet@two: next target of the chain [the step is used up]
         15s attempt 4 sonnet@two (fallback)
         15s succeeded with sonnet@two",
    );
}

/// Every test here that plays a template as it is shipped.
const SCRIPTS: [fn(); 26] = [
    default::default_takes_the_first_step_of_each_kind,
    default::default_retries_twice_here_then_goes_elsewhere,
    default::default_goes_elsewhere_after_a_timeout_and_retries_where_nothing_else_is_left,
    default::default_restarts_a_task_that_nothing_else_helped,
    default::default_climbs_from_a_full_context_where_no_model_of_the_chain_holds_more,
    default::default_restarts_a_task_whose_process_keeps_dying,
    default::default_repairs_what_is_gone_twice_and_asks_a_bad_answer_again_once,
    hardened_retries_the_network_five_times_then_restarts,
    hardened_goes_to_the_next_model_at_once_when_the_provider_fails,
    hardened_backs_off_from_a_rate_limit_then_falls_back,
    hardened_climbs_when_the_context_is_full_and_gives_up_on_logic,
    escalating_retries_three_times_then_falls_back,
    escalating_asks_a_bad_answer_again_once_and_climbs_where_it_may,
    escalating_goes_elsewhere_or_gives_up_where_a_retry_does_not_help,
    escalating_climbs_when_the_context_is_full,
    escalating_climbs_after_retries_once_switched_on,
    patterns_retry_quickly_and_never_on_a_500,
    patterns_fall_back_when_three_quick_retries_did_not_help,
    patterns_repair_what_is_gone_and_repeat_the_call,
    patterns_give_up_on_what_would_fail_again,
    council_climbs_its_four_levels,
    council_asks_at_once_where_waiting_does_not_help,
    session_manager_waits_five_seconds_three_times_then_falls_back,
    session_manager_retries_a_timeout_once_and_a_missing_model_never,
    session_manager_falls_back_at_once_where_waiting_does_not_help,
    session_manager_falls_back_when_two_growing_retries_of_something_unknown_did_not_help,
];

#[test]
fn every_step_of_every_template_is_taken_in_a_script() {
    for script in SCRIPTS {
        script();
    }
    let taken = TAKEN.take();
    let all = TEMPLATES.iter().flat_map(|(name, _)| steps_of(name));
    let left: Vec<_> = all.filter(|step| !taken.contains(step)).collect();
    assert!(left.is_empty(), "no script takes these: {left:#?}");
}

/// Every step that a failure can lead to: template, trigger, step.
fn steps_of(name: &str) -> BTreeSet<(String, String, &'static str)> {
    let policy = template(name).expect("a shipped template");
    let of_status = policy.on.iter().filter_map(|(trigger, _)| match trigger {
        Trigger::Status(status) => Some(Failure { status: Some(status), ..Failure::new(FailureKind::Unknown, "test") }),
        _ => None,
    });
    let of_kind = FailureKind::ALL.into_iter().map(|kind| Failure::new(kind, "test"));
    let mut steps = BTreeSet::new();
    for failure in of_status.chain(of_kind) {
        let (trigger, rules) = policy.steps(&failure);
        let named: BTreeSet<&str> = rules.iter().map(|rule| rule.step.name()).collect();
        assert_eq!(named.len(), rules.len(), "{name}, {trigger}: steps of one name cannot be told apart");
        steps.extend(rules.iter().map(|rule| (name.to_owned(), trigger.to_string(), rule.step.name())));
    }
    steps
}

fn restart_of(name: &str) -> Step {
    let policy = template(name).unwrap().without_jitter();
    let steps = policy.on.iter().flat_map(|(_, steps)| steps.to_vec());
    steps.map(|rule| rule.step).find(|step| matches!(step, Step::Restart(_))).expect("the template restarts")
}

fn clone_of(script: &Script) -> Script {
    let mut copy = Script::new("council").face(script.face);
    copy.primary = script.primary;
    copy.chain = script.chain.clone();
    copy.world = World::new(ENDPOINTS.iter().map(|name| endpoint_that_never_trips(name)).collect());
    copy
}

/// For scripts about steps, where the breaker would only get in the way.
pub(super) fn endpoint_that_never_trips(name: &str) -> Endpoint {
    Endpoint::new(name, Settings { failures: 1000, floor: 1000, ..Settings::default() }, 0.2, 1)
}
