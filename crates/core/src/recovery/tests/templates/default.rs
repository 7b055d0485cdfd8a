//! Our own best, step by step.

use super::*;

#[test]
pub(super) fn default_takes_the_first_step_of_each_kind() {
    let elsewhere = "fallback to sonnet@two: next target of the chain";
    let here = "retry in 250ms: retry 1 of 2";
    let steps = [
        ("rate_limit", "retry in 1s: retry 1 of 2"),
        ("overloaded", "retry in 1s: retry 1 of 2"),
        ("server_error", here),
        ("network_transient", here),
        ("stream_interrupted", here),
        ("unknown", here),
        ("process_died", "retry in 1s: retry 1 of 1"),
        ("bad_output", "retry in 250ms: retry 1 of 1"),
        ("timeout", elsewhere),
        ("quota_exhausted", elsewhere),
        ("context_limit", "fallback to gpt@four: next target of the chain"),
        ("content_filter", "fallback to haiku@three: next target of the chain"),
        ("model_unavailable", elsewhere),
        ("auth_error", elsewhere),
        ("network_permanent", elsewhere),
        ("invalid_request", "give_up: the policy gives up on this"),
        ("cancelled", "give_up: the caller left"),
        ("state_lost", "repair: what the call needs is brought back first"),
    ];
    for (kind, step) in steps {
        first_step("default", Face::TASK, kind, &format!("{kind}: {step}"));
    }
}

#[test]
pub(super) fn default_retries_twice_here_then_goes_elsewhere() {
    for kind in ["server_error", "network_transient", "stream_interrupted", "unknown"] {
        check(
            &Script::new("default").play(&format!("{kind}; {kind}; {kind}; 200")),
            &format!(
                "0s attempt 1 sonnet@one (first)
                 0s {kind}: retry in 250ms: retry 1 of 2
                 0s attempt 2 sonnet@one (retry)
                 0s {kind}: retry in 500ms: retry 2 of 2
                 0s attempt 3 sonnet@one (retry)
                 0s {kind}: fallback to sonnet@two: next target of the chain [the step is used up]
                 0s attempt 4 sonnet@two (fallback)
                 0s succeeded with sonnet@two"
            ),
        );
    }
    for kind in ["rate_limit", "overloaded"] {
        check(
            &Script::new("default").play(&format!("{kind}; {kind}; {kind}; 200")),
            &format!(
                "0s attempt 1 sonnet@one (first)
                 0s {kind}: retry in 1s: retry 1 of 2
                 1s attempt 2 sonnet@one (retry)
                 1s {kind}: retry in 2s: retry 2 of 2
                 3s attempt 3 sonnet@one (retry)
                 3s {kind}: fallback to sonnet@two: next target of the chain [the step is used up]
                 3s attempt 4 sonnet@two (fallback)
                 3s succeeded with sonnet@two"
            ),
        );
    }
}

#[test]
pub(super) fn default_goes_elsewhere_after_a_timeout_and_retries_where_nothing_else_is_left() {
    check(
        &Script::new("default").chain(&["sonnet"]).play("timeout; timeout; timeout; timeout"),
        "0s attempt 1 sonnet@one (first)
         0s timeout: fallback to sonnet@two: next target of the chain
         0s attempt 2 sonnet@two (fallback)
         0s timeout: retry in 250ms: retry 1 of 2 [the chain ends here]
         0s attempt 3 sonnet@two (retry)
         0s timeout: retry in 500ms: retry 2 of 2
         0s attempt 4 sonnet@two (retry)
         0s timeout: give_up: no step of the policy is left [the step cannot be taken here]
         0s gave up: no step of the policy is left",
    );
}

#[test]
pub(super) fn default_restarts_a_task_that_nothing_else_helped() {
    let task = || Script::new("default").face(Face::TASK).chain(&["sonnet"]);
    check(
        &task().play("timeout; timeout; timeout; timeout"),
        "0s attempt 1 sonnet@one (first)
         0s timeout: fallback to sonnet@two: next target of the chain
         0s attempt 2 sonnet@two (fallback)
         0s timeout: retry in 250ms: retry 1 of 2 [the chain ends here]
         0s attempt 3 sonnet@two (retry)
         0s timeout: retry in 500ms: retry 2 of 2
         0s attempt 4 sonnet@two (retry)
         0s timeout: restart in 60s: restart 1 of 3 [the step is used up]
         0s restart due
         60s attempt 1 sonnet@one (retry)",
    );
    check(
        &task().play(&"network_transient;".repeat(6)),
        "0s attempt 1 sonnet@one (first)
         0s network_transient: retry in 250ms: retry 1 of 2
         0s attempt 2 sonnet@one (retry)
         0s network_transient: retry in 500ms: retry 2 of 2
         0s attempt 3 sonnet@one (retry)
         0s network_transient: fallback to sonnet@two: next target of the chain [the step is used up]
         0s attempt 4 sonnet@two (fallback)
         0s network_transient: retry in 250ms: retry 1 of 2
         1s attempt 5 sonnet@two (retry)
         1s network_transient: retry in 500ms: retry 2 of 2
         1s attempt 6 sonnet@two (retry)
         1s network_transient: restart in 60s: restart 1 of 3 [the chain ends here]
         1s restart due
         61s attempt 1 sonnet@one (retry)",
    );
}

#[test]
pub(super) fn default_climbs_from_a_full_context_where_no_model_of_the_chain_holds_more() {
    check(
        &Script::new("default").chain(&["haiku"]).play("context_limit; 200"),
        "0s attempt 1 sonnet@one (first)
         0s context_limit: escalate to giant@two: the context is full: next rung of the ladder [the next model cannot take the request: its context window is too small]
         0s attempt 2 giant@two (escalation)
         0s succeeded with giant@two",
    );
}

#[test]
pub(super) fn default_restarts_a_task_whose_process_keeps_dying() {
    let told = Script::new("default").face(Face::TASK).chain(&["sonnet"]).play(&"process_died;".repeat(5));
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s process_died: retry in 1s: retry 1 of 1
         1s attempt 2 sonnet@one (retry)
         1s process_died: fallback to sonnet@two: next target of the chain [the step is used up]
         1s attempt 3 sonnet@two (fallback)
         1s process_died: retry in 1s: retry 1 of 1
         2s attempt 4 sonnet@two (retry)
         2s process_died: restart in 60s: restart 1 of 3 [the chain ends here]
         2s restart due
         62s attempt 1 sonnet@one (retry)
         62s process_died: retry in 1s: retry 1 of 1
         63s attempt 2 sonnet@one (retry)",
    );
}

#[test]
pub(super) fn default_repairs_what_is_gone_twice_and_asks_a_bad_answer_again_once() {
    check(
        &Script::new("default").face(Face::TASK).play("state_lost; repaired; state_lost; repaired; state_lost"),
        "0s attempt 1 sonnet@one (first)
         0s state_lost: repair: what the call needs is brought back first
         0s repairing
         0s attempt 2 sonnet@one (retry)
         0s state_lost: repair: what the call needs is brought back first
         0s repairing
         0s attempt 3 sonnet@one (retry)
         0s state_lost: give_up: the policy gives up on this [the step is used up]
         0s gave up: the policy gives up on this",
    );
    check(
        &Script::new("default").play("bad_output; bad_output; 200"),
        "0s attempt 1 sonnet@one (first)
         0s bad_output: retry in 250ms: retry 1 of 1
         0s attempt 2 sonnet@one with context (retry)
         0s bad_output: fallback to sonnet@two: next target of the chain [the step is used up]
         0s attempt 3 sonnet@two (fallback)
         0s succeeded with sonnet@two",
    );
}
