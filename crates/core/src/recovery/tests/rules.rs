//! One script per rule of SPEC 2.

use super::templates::endpoint_that_never_trips;
use super::*;
use crate::policy::{Retry, StepTable};

fn fail(kind: &str) -> String {
    format!("{kind}; 200")
}

#[test]
fn a_provider_wait_is_a_floor() {
    check(
        &Script::new("session-manager").on("rate_limit", vec![three_growing()]).play("429 retry-after:7; 200"),
        "0s attempt 1 sonnet@one (first)
         0s rate_limit: retry in 7s: retry 1 of 3, when the provider asked for it
         7s attempt 2 sonnet@one (retry)
         7s succeeded with sonnet@one",
    );
}

#[test]
fn a_provider_wait_longer_than_the_policys_ends_the_step_at_once() {
    check(
        &Script::new("default").play("429 retry-after:31; 200"),
        "0s attempt 1 sonnet@one (first)
         0s rate_limit: fallback to sonnet@two: next target of the chain [the provider asks for 31s, the policy waits at most 30s]
         0s attempt 2 sonnet@two (fallback)
         0s succeeded with sonnet@two",
    );
}

#[test]
fn an_endpoint_that_asked_for_a_pause_is_passed_by_while_others_can_serve() {
    let mut script = Script::new("default");
    script.play("429 retry-after:7; cancel");
    script.now = Instant::from_millis(3_000);
    assert!(script.play("200").starts_with("   3s attempt 1 sonnet@two (rerouted)"));
    script.now = Instant::from_millis(7_000);
    assert!(script.play("200").starts_with("   7s attempt 1 sonnet@one (first)"), "the pause is over");

    let mut alone = Script::new("default").chain(&["haiku"]);
    alone.primary = "haiku";
    alone.play("429 retry-after:7; cancel");
    alone.now = Instant::from_millis(3_000);
    assert!(alone.play("200").starts_with("   3s attempt 1 haiku@three (first)"), "nobody else can serve");
}

#[test]
fn a_pause_is_bounded_whatever_the_provider_asks_for() {
    let mut script = Script::new("default");
    script.play("429 retry-after:3000; 200");
    assert!(script.world.endpoint(EndpointId(0)).unwrap().is_paused(Instant::from_millis(59_999)));
    assert!(!script.world.endpoint(EndpointId(0)).unwrap().is_paused(Instant::from_millis(60_000)));
}

#[test]
fn the_most_specific_entry_decides() {
    let script = Script::new("default").on("http_529", vec![Step::Fallback]).on("overloaded", vec![Step::GiveUp]);
    check(
        &{ script }.play("529; overloaded"),
        "0s attempt 1 sonnet@one (first)
         0s overloaded: fallback to sonnet@two: next target of the chain
         0s attempt 2 sonnet@two (fallback)
         0s overloaded: give_up: the policy gives up on this
         0s gave up: the policy gives up on this",
    );
}

#[test]
fn a_step_may_be_for_one_tool_only() {
    let mut script = Script::new("default").policy(|policy| {
        let bash = StepRule { step: Step::GiveUp, tool: Some("bash".to_owned()) };
        policy.on.set("bad_output".parse().unwrap(), vec![bash, Step::Fallback.into()]);
    });
    check(
        &script.play("bad_output; bad_output tool:read; bad_output tool:bash"),
        "0s attempt 1 sonnet@one (first)
         0s bad_output: fallback to sonnet@two: next target of the chain [the step is for another tool]
         0s attempt 2 sonnet@two (fallback)
         0s bad_output: fallback to haiku@three: next target of the chain [the step is for another tool]
         0s attempt 3 haiku@three (fallback)
         0s bad_output: give_up: the policy gives up on this
         0s gave up: the policy gives up on this",
    );
}

#[test]
fn a_step_for_one_tool_is_due_also_after_failures_of_others() {
    let second = Backoff::every(Duration::from_secs(1));
    let retry = |max| Step::Retry(Retry { max, backoff: second, with_context: false });
    let mut script = Script::new("default").policy(|policy| {
        let bash = StepRule { step: retry(1), tool: Some("bash".to_owned()) };
        policy.on.set("bad_output".parse().unwrap(), vec![bash, retry(2).into(), Step::GiveUp.into()]);
    });
    check(
        &script.play("bad_output; bad_output tool:bash; bad_output tool:bash; bad_output"),
        "0s attempt 1 sonnet@one (first)
         0s bad_output: retry in 1s: retry 1 of 2 [the step is for another tool]
         1s attempt 2 sonnet@one (retry)
         1s bad_output: retry in 1s: retry 1 of 1
         2s attempt 3 sonnet@one (retry)
         2s bad_output: retry in 1s: retry 2 of 2 [the step is used up]
         3s attempt 4 sonnet@one (retry)
         3s bad_output: give_up: the policy gives up on this [the step is used up]
         3s gave up: the policy gives up on this",
    );
}

#[test]
fn a_question_about_another_tool_is_not_asked_where_nobody_admits() {
    let mut script = Script::new("council").face(Face::COUNCIL).chain(&["opus"]).policy(|policy| {
        let bash = StepRule { step: ask(), tool: Some("bash".to_owned()) };
        policy.on = StepTable::new([(Trigger::Default, vec![bash, Step::Degrade.into()])]);
    });
    script.primary = "haiku";
    let word = Override { mode: Mode::ForcedOpen, reason: "drill".to_owned(), until: Instant::from_millis(600_000) };
    script.world.endpoint(EndpointId(2)).unwrap().breaker.set_override(Some(word));
    check(&script.play(""), "0s unknown: degrade: going on without it\n 0s degraded");
}

#[test]
fn an_open_breaker_routes_to_the_next_endpoint_then_the_next_model() {
    let mut script = Script::new("default");
    trip(&script, 0);
    check(
        &script.play("200"),
        "0s attempt 1 sonnet@two (rerouted)
         0s succeeded with sonnet@two",
    );
    trip(&script, 1);
    check(
        &script.play("200"),
        "0s attempt 1 haiku@three (rerouted)
         0s succeeded with haiku@three",
    );
}

#[test]
fn when_every_breaker_is_open_a_throttled_share_still_goes_out() {
    let mut script = Script::new("default");
    (0..4).for_each(|endpoint| trip(&script, endpoint));
    check(
        &script.play("200"),
        "0s attempt 1 sonnet@one (panic)
         0s succeeded with sonnet@one",
    );
}

#[test]
fn when_the_throttle_is_shut_too_the_answer_names_the_breaker_and_when_it_tries_again() {
    let mut script = Script::new("default");
    for endpoint in 0..4 {
        trip(&script, endpoint);
        for _ in 0..1_000 {
            script.world.endpoint(EndpointId(endpoint)).unwrap().throttle.record(false, script.now);
        }
    }
    let told = script.play("");
    assert!(told.starts_with("   0s gave up: `"), "the breaker is named: {told}");
    assert!(told.contains("`: nothing is left to try: the breaker is open, and is asked again in 2"), "{told}");
}

#[test]
fn a_breaker_forced_open_is_not_used_even_in_panic() {
    let mut script = Script::new("default").chain(&["sonnet"]);
    for endpoint in 0..2 {
        let reason = "key rotation".to_owned();
        let until = Instant::from_millis(60_000);
        let word = Override { mode: Mode::ForcedOpen, reason, until };
        script.world.endpoint(EndpointId(endpoint)).unwrap().breaker.set_override(Some(word));
    }
    check(
        &script.play(""),
        "0s gave up: `one`: nothing is left to try: a person forced the breaker open, and is asked again in 1m",
    );
}

#[test]
fn exhausted_quota_sets_the_credential_aside_and_takes_the_next_target_at_once() {
    let mut script = Script::new("default");
    check(
        &script.play("quota_exhausted retry-after:3600; 200"),
        "0s attempt 1 sonnet@one (first)
         0s quota_exhausted: fallback to sonnet@two: next target of the chain
         0s attempt 2 sonnet@two (fallback)
         0s succeeded with sonnet@two",
    );
    check(
        &script.play("200"),
        "0s attempt 1 sonnet@two (remembered)
         0s succeeded with sonnet@two",
    );
    script.now = Instant::from_millis(3_600_000);
    assert!(script.play("200").contains("attempt 1 sonnet@one (first)"), "the credential is back");
}

#[test]
fn exhausted_quota_is_never_waited_out_whatever_the_policy_says() {
    let mut script = Script::new("default").on("http_429", vec![three_growing(), Step::Fallback]);
    let mut recovery = script.start();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    let quota = Failure { status: Some(429), ..Failure::new(FailureKind::QuotaExhausted, "test") };
    let decision = recovery.failed(quota, Usage::default(), &script.world, script.now);
    assert_eq!((decision.step, decision.passed_over), ("fallback", Some(crate::decision::Skip::Pointless)));
}

#[test]
fn quota_without_a_reset_rests_for_as_long_as_the_policy_says() {
    let mut script = Script::new("default").policy(|policy| policy.quota_rest = Duration::from_secs(100));
    script.play("quota_exhausted; 200");
    let endpoint = script.world.endpoint(EndpointId(0)).unwrap();
    assert_eq!(endpoint.set_aside_until(script.now), Some(Instant::from_millis(100_000)));
    endpoint.take_back();
    assert_eq!(endpoint.set_aside_until(script.now), None);
}

#[test]
fn when_every_credential_is_set_aside_the_answer_says_until_when() {
    let mut script = Script::new("default").chain(&["sonnet"]);
    let told = script.play("quota_exhausted retry-after:300; quota_exhausted retry-after:200");
    assert!(told.ends_with("gave up: no step of the policy is left\n"), "{told}");
    check(
        &script.play(""),
        "0s gave up: `two`: nothing is left to try: the credential's quota is exhausted, and is asked again in 3m 20s",
    );
}

#[test]
fn a_full_context_goes_only_to_a_larger_window() {
    check(
        &Script::new("default").play(&fail("context_limit")),
        "0s attempt 1 sonnet@one (first)
         0s context_limit: fallback to gpt@four: next target of the chain
         0s attempt 2 gpt@four (fallback)
         0s succeeded with gpt@four",
    );
    check(
        &Script::new("default").chain(&["haiku"]).play(&fail("context_limit")),
        "0s attempt 1 sonnet@one (first)
         0s context_limit: escalate to giant@two: the context is full: next rung of the ladder [the next model cannot take the request: its context window is too small]
         0s attempt 2 giant@two (escalation)
         0s succeeded with giant@two",
    );
}

#[test]
fn a_target_is_checked_before_any_change_of_model() {
    let needs =
        |tokens, images| Needs { tokens, abilities: Abilities { images, ..Abilities::NONE }, ..Needs::default() };
    let told = Script::new("default").needs(needs(10, true)).play("model_unavailable; model_unavailable; 200");
    assert!(told.contains("fallback to gpt@four"), "haiku reads no images:\n{told}");
    check(
        &Script::new("default").needs(needs(500_000, false)).play(""),
        "0s gave up: no model of the chain can take the request: its context window is too small",
    );
}

#[test]
fn a_strict_boundary_never_leaves_the_vendor() {
    let script = Script::new("default").chain(&["haiku"]);
    let told = { script }
        .policy(|policy| policy.vendor_boundary = VendorBoundary::Strict)
        .play("model_unavailable; model_unavailable; model_unavailable");
    assert!(told.ends_with("gave up: no step of the policy is left\n"), "{told}");
    assert!(!told.contains("gpt"), "{told}");
}

#[test]
fn a_chain_of_the_model_itself_means_never() {
    let told = Script::new("default").chain(&["sonnet"]).play("model_unavailable; model_unavailable");
    assert!(!told.contains("haiku") && told.contains("[the chain ends here]"), "{told}");
}

#[test]
fn what_would_fail_again_is_not_repeated_by_a_general_rule() {
    let told = Script::new("session-manager").play("auth_error; 200");
    assert!(
        told.contains(
            "auth_error: fallback to sonnet@two: next target of the chain [the same request would fail again]"
        ),
        "{told}"
    );
    let told = Script::new("session-manager").on("auth_error", vec![three_growing()]).play("auth_error; 200");
    assert!(told.contains("auth_error: retry in 1s"), "a list that names the kind is the user's wish:\n{told}");
}

#[test]
fn bad_output_is_retried_with_what_was_wrong() {
    check(
        &Script::new("default").play("bad_output; 200"),
        "0s attempt 1 sonnet@one (first)
         0s bad_output: retry in 250ms: retry 1 of 1
         0s attempt 2 sonnet@one with context (retry)
         0s succeeded with sonnet@one",
    );
}

#[test]
fn lost_state_is_repaired_and_the_call_repeated_without_a_retry() {
    let mut script = Script::new("default").face(Face::TASK);
    check(
        &script.play("state_lost; repaired; state_lost; broken"),
        "0s attempt 1 sonnet@one (first)
         0s state_lost: repair: what the call needs is brought back first
         0s repairing
         0s attempt 2 sonnet@one (retry)
         0s state_lost: repair: what the call needs is brought back first
         0s repairing
         0s state_lost: give_up: the policy gives up on this [the step is used up]
         0s gave up: the policy gives up on this",
    );
    assert_eq!(script.session.retries_used(), 0);
}

#[test]
fn a_face_takes_only_the_steps_it_can() {
    let every = vec![Step::Repair { max: 1 }, Step::Defer, ask(), three_growing()];
    let told = Script::new("default").on("timeout", every.clone()).play("timeout");
    assert!(told.contains("retry in 1s: retry 1 of 3 [the step cannot be taken here]"), "{told}");
    let told = Script::new("default").face(Face::COUNCIL).on("timeout", every).play("timeout");
    assert!(told.contains("timeout: defer"), "{told}");
}

#[test]
fn a_failed_climb_rolls_the_session_back() {
    let mut script = Script::new("escalating").on("server_error", vec![Step::GiveUp]);
    script.session.stick_to(None);
    let told = script.play("context_limit; 500");
    assert!(told.contains("escalate to giant@two"), "{told}");
    assert_eq!(script.session.escalated(), None, "the climb did not help");

    script.session.stick_to(Some(Arc::from("opus")));
    let told = script.play("context_limit; 500");
    assert!(told.starts_with("   0s attempt 1 opus@one (first)"), "a climb sticks to its session:\n{told}");
    assert_eq!(script.session.escalated().as_deref(), Some("opus"), "back to where it was");
}

#[test]
fn an_escalation_carries_its_estimate() {
    let mut script = Script::new("escalating");
    script.play("200");
    let mut recovery = script.start();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    let full = Failure::new(FailureKind::ContextLimit, "test");
    let decision = recovery.failed(full, Usage::default(), &script.world, script.now);
    let escalation = decision.escalation.expect("a climb");
    assert_eq!(escalation.reason.as_str(), "context_limit");
    let estimate = escalation.estimate.expect("prices and usage are known");
    assert_eq!((estimate.from_usd_micros, estimate.to_usd_micros), (4_500, 45_000));
    assert_eq!(estimate.percent(), Some(900));
}

#[test]
fn a_climb_the_budget_does_not_cover_is_passed_over() {
    let mut script = Script::new("escalating").needs(needs_of_a_turn());
    script.project = Project::new("default", 1.0, Some(20_000));
    let told = script.play("context_limit");
    assert!(told.contains("give_up: the spend budget does not cover another attempt"), "{told}");
}

#[test]
fn money_is_reserved_before_and_settled_after() {
    let mut script = Script::new("default").needs(needs_of_a_turn());
    let session = Arc::clone(&script.session);
    let mut recovery = script.start();
    let project = Arc::clone(&recovery.plan().project);
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    assert_eq!(project.spend.ledger().reserved_usd_micros, 1_000 * 3 + 1_000 * 15);
    let cut = Failure::new(FailureKind::StreamInterrupted, "test");
    recovery.failed(cut, Usage { input_tokens: 1_000, output_tokens: 10 }, &script.world, script.now);
    for spend in [&project.spend, &session.spend] {
        let ledger = spend.ledger();
        assert_eq!((ledger.reserved_usd_micros, ledger.settled_usd_micros), (0, 3_150), "a cut stream is charged too");
    }
}

#[test]
fn money_held_by_a_vanished_driver_is_given_back() {
    let mut script = Script::new("default").needs(needs_of_a_turn());
    let mut recovery = script.start();
    let project = Arc::clone(&recovery.plan().project);
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    drop(recovery);
    assert_eq!(project.spend.ledger().reserved_usd_micros, 0);
}

#[test]
fn an_unknown_price_is_refused_under_a_spend_budget() {
    let mut model = (**catalogue().model("sonnet").unwrap()).clone();
    model.price = None;
    let mut script = Script::new("default");
    script.project = Project::new("default", 1.0, Some(1_000_000));
    let mut plan = script.start().plan().clone();
    plan.route = Arc::new(Route::single(model));
    let mut recovery = Recovery::start(plan, script.now);
    let action = recovery.next(&script.world, script.now);
    assert_eq!(action, Action::Done(Outcome::GaveUp(Reason::PriceUnknown)));
}

#[test]
fn a_session_budget_that_refuses_gives_the_projects_money_back() {
    let mut script = Script::new("default").needs(needs_of_a_turn());
    script.session = Arc::new(Session::new(Some(1)));
    let mut recovery = script.start();
    let action = recovery.next(&script.world, script.now);
    assert_eq!(action, Action::Done(Outcome::GaveUp(Reason::Money)));
    assert_eq!(recovery.plan().project.spend.ledger().reserved_usd_micros, 0);
}

#[test]
fn the_caller_leaving_ends_it_and_counts_against_nobody() {
    let mut script = Script::new("default");
    check(
        &script.play("cancel"),
        "0s attempt 1 sonnet@one (first)
         0s cancelled",
    );
    check(
        &script.play("cancelled"),
        "0s attempt 1 sonnet@one (first)
         0s cancelled: give_up: the caller left
         0s cancelled",
    );
}

#[test]
fn reports_nobody_expects_change_nothing() {
    let mut script = Script::new("default");
    let mut recovery = script.start();
    let decision = recovery.failed(failure("429"), Usage::default(), &script.world, script.now);
    assert_eq!((decision.reason, decision.kind), (Reason::NothingRunning, FailureKind::RateLimit));
    recovery.succeeded(Usage::default(), &script.world, script.now);
    assert_eq!(recovery.answered(Answer::Yes, &script.world, script.now), None);
    assert_eq!(recovery.repaired(true, &script.world, script.now), None);
    let first = recovery.next(&script.world, script.now);
    assert!(matches!(first, Action::Attempt(Attempt { number: 1, .. })));
    assert_eq!(recovery.next(&script.world, script.now), first, "asking again starts nothing new");
}

#[test]
fn a_route_without_endpoints_says_so() {
    let mut model = (**catalogue().model("sonnet").unwrap()).clone();
    model.endpoints.clear();
    let mut script = Script::new("default");
    let mut plan = script.start().plan().clone();
    plan.route = Arc::new(Route::single(model));
    let action = Recovery::start(plan, script.now).next(&script.world, script.now);
    assert_eq!(action, Action::Done(Outcome::GaveUp(Reason::NoEndpoint)));
}

pub(super) fn trip(script: &Script, endpoint: u16) {
    let breaker = &script.world.endpoint(EndpointId(endpoint)).unwrap().breaker;
    while let Ok(permit) = breaker.admit(script.now) {
        breaker.record(permit, breaker::Outcome::Failure, None, script.now);
    }
}

fn three_growing() -> Step {
    let backoff = Backoff::new(Duration::from_secs(1), 2.0, Duration::from_secs(30), Jitter::Spread(0.0)).unwrap();
    Step::Retry(Retry { max: 3, backoff, with_context: false })
}

fn ask() -> Step {
    Step::Ask(Ask { nudge: Duration::from_secs(30), skip: Duration::from_secs(60) })
}

pub(super) fn needs_of_a_turn() -> Needs {
    Needs { tokens: 2_000, input_tokens: 1_000, output_tokens: 1_000, ..Needs::default() }
}

#[test]
fn a_straggling_answer_to_a_question_is_ignored() {
    let mut script =
        Script::new("council").face(Face::COUNCIL).chain(&["opus"]).on("timeout", vec![ask(), Step::Degrade]);
    script.world = World::new(ENDPOINTS.iter().map(|name| endpoint_that_never_trips(name)).collect());
    script.primary = "haiku";
    let mut recovery = script.start();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    recovery.failed(failure("timeout"), Usage::default(), &script.world, script.now);
    let Action::Ask(question) = recovery.next(&script.world, script.now) else { panic!("a question") };
    assert!(matches!(recovery.next(&script.world, question.nudge), Action::Ask(_)), "a nudge changes nothing");
    assert!(matches!(recovery.next(&script.world, question.skip), Action::Decided(_)));
    assert_eq!(recovery.answered(Answer::Yes, &script.world, question.skip), None);
    assert_eq!(recovery.next(&script.world, question.skip), Action::Done(Outcome::Degraded));
}

#[test]
fn a_session_on_a_rung_that_does_not_serve_returns_to_the_model_asked_for() {
    let mut script = Script::new("default");
    script.session.stick_to(Some(Arc::from("opus")));
    let told = script.play("model_unavailable; 200");
    check(
        &told,
        "0s attempt 1 opus@one (first)
         0s model_unavailable: fallback to sonnet@one: the rung does not serve: back to the model asked for
         0s attempt 2 sonnet@one (fallback)
         0s succeeded with sonnet@one",
    );
    assert_eq!(script.session.escalated(), None);
}

#[test]
fn an_escalation_never_goes_sideways_or_down() {
    let mut script =
        Script::new("default").chain(&["giant"]).on("model_unavailable", vec![Step::Fallback, Step::Escalate]);
    script.policy.escalate.auto = true;
    let told = script.play("model_unavailable; model_unavailable; model_unavailable");
    assert!(told.contains("fallback to giant@two"), "{told}");
    assert!(told.contains("[the ladder ends here]"), "giant is the highest rung already:\n{told}");
}

#[test]
fn a_voice_whose_every_target_refuses_is_left_out() {
    let mut script = Script::new("council").face(Face::COUNCIL).chain(&["sonnet"]);
    for endpoint in 0..2 {
        let until = Instant::from_millis(60_000);
        let word = Override { mode: Mode::ForcedOpen, reason: "drill".to_owned(), until };
        script.world.endpoint(EndpointId(endpoint)).unwrap().breaker.set_override(Some(word));
    }
    check(&script.play(""), "0s unknown: degrade: going on without it\n 0s degraded");
}

#[test]
fn a_voice_never_changes_its_model_unasked() {
    let mut script = Script::new("council").face(Face::COUNCIL).chain(&["opus"]);
    script.primary = "haiku";
    let word = Override { mode: Mode::ForcedOpen, reason: "drill".to_owned(), until: Instant::from_millis(600_000) };
    script.world.endpoint(EndpointId(2)).unwrap().breaker.set_override(Some(word));
    check(
        &script.play("no"),
        "0s unknown: ask to opus@one: a person decides about the next model
         0s asked about opus@one, nudge in 30s
         0s unknown: degrade: going on without it [the step is used up]
         0s degraded",
    );
    check(
        &script.play("yes; 200"),
        "0s unknown: ask to opus@one: a person decides about the next model
         0s asked about opus@one, nudge in 30s
         0s unknown: fallback to opus@one: the person agreed
         0s attempt 1 opus@one (fallback)
         0s succeeded with opus@one",
    );
}

#[test]
fn a_voice_goes_to_its_models_next_endpoint_unasked() {
    let mut script = Script::new("council").face(Face::COUNCIL).chain(&["haiku"]).on("timeout", vec![ask()]);
    check(
        &script.play("timeout; timeout; yes; 200"),
        "0s attempt 1 sonnet@one (first)
         0s timeout: fallback to sonnet@two: next target of the chain
         0s attempt 2 sonnet@two (fallback)
         0s timeout: ask to haiku@three: a person decides about the next model
         0s asked about haiku@three, nudge in 30s
         0s timeout: fallback to haiku@three: the person agreed
         0s attempt 3 haiku@three (fallback)
         0s succeeded with haiku@three",
    );
}

#[test]
fn a_question_does_not_outlast_the_deadline() {
    let mut script = Script::new("council").face(Face::COUNCIL).chain(&["opus"]);
    script.policy.deadline = Duration::from_secs(20);
    script.primary = "haiku";
    let mut recovery = script.start();
    let deadline = recovery.deadline();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    let later = script.now + Duration::from_secs(10);
    recovery.failed(failure("auth_error"), Usage::default(), &script.world, later);
    let Action::Ask(question) = recovery.next(&script.world, later) else { panic!("a question") };
    assert_eq!((question.nudge, question.skip), (deadline, deadline));
}

#[test]
fn a_question_that_waited_for_another_has_its_whole_time() {
    let mut script = Script::new("council").face(Face::COUNCIL).chain(&["opus"]).on("timeout", vec![ask()]);
    script.primary = "haiku";
    let mut recovery = script.start();
    assert_eq!(recovery.put_question(script.now), None);
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    recovery.failed(failure("timeout"), Usage::default(), &script.world, script.now);
    let Action::Ask(first) = recovery.next(&script.world, script.now) else { panic!("a question") };
    let later = first.skip + Duration::from_secs(5);
    let question = recovery.put_question(later).expect("it is open");
    assert_eq!(
        (later.until(question.nudge), later.until(question.skip)),
        (script.now.until(first.nudge), script.now.until(first.skip))
    );
    assert_eq!(recovery.next(&script.world, later), Action::Ask(question));
}

#[test]
fn a_decision_tells_that_it_opened_a_breaker_and_a_success_that_it_closed_one() {
    let mut script = Script::new("hardened").face(Face::TASK);
    let mut recovery = script.start();
    let mut opened = Vec::new();
    let mut now = script.now;
    while opened.is_empty() {
        match recovery.next(&script.world, now) {
            Action::Attempt(_) => {
                let decision = recovery.failed(failure("timeout"), Usage::default(), &script.world, now);
                opened.extend(decision.breaker.map(|transition| transition.to.name()));
            }
            Action::Wait(until) => now = until,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(opened, ["open"]);
    let later = now + Duration::from_secs(30);
    let mut second = script.start();
    assert!(matches!(second.next(&script.world, later), Action::Attempt(_)));
    let closed = second.succeeded(Usage::default(), &script.world, later).expect("the probe closes it");
    assert_eq!(closed.to.name(), "closed");
}

#[test]
fn the_ladder_is_still_there_after_a_fallback_and_gone_after_it_failed() {
    let told = Script::new("default").chain(&["haiku"]).play("model_unavailable; context_limit; model_unavailable");
    check(
        &told,
        "0s attempt 1 sonnet@one (first)
         0s model_unavailable: fallback to sonnet@two: next target of the chain
         0s attempt 2 sonnet@two (fallback)
         0s context_limit: escalate to giant@two: the context is full: next rung of the ladder [the next model cannot take the request: its context window is too small]
         0s attempt 3 giant@two (escalation)
         0s model_unavailable: give_up: no step of the policy is left [the chain ends here]
         0s gave up: no step of the policy is left",
    );
}

#[test]
fn only_what_speaks_against_the_endpoint_closes_its_throttle() {
    for (kind, open) in [("invalid_request", true), ("server_error", false)] {
        let mut script = Script::new("patterns").on(kind, vec![Step::GiveUp]);
        script.world = World::new(ENDPOINTS.iter().map(|name| endpoint_that_never_trips(name)).collect());
        for _ in 0..60 {
            script.play(kind);
        }
        let throttle = &script.world.endpoint(EndpointId(0)).unwrap().throttle;
        assert_eq!(throttle.allow(0.5, script.now), open, "{kind}");
    }
}

#[test]
fn an_operation_tells_how_far_it_is() {
    let mut script = Script::new("default");
    let mut recovery = script.start();
    assert_eq!((recovery.attempts(), recovery.last_failure()), (0, None));
    for number in 1..=2 {
        assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
        recovery.failed(failure("model_unavailable"), Usage::default(), &script.world, script.now);
        assert_eq!(recovery.attempts(), number);
    }
    assert_eq!(recovery.last_failure().map(|failure| failure.kind), Some(FailureKind::ModelUnavailable));
    assert_eq!(catalogue().models().count(), 5);
}

#[test]
fn in_panic_another_endpoint_is_asked_where_this_ones_throttle_is_shut() {
    let mut script = Script::new("default");
    (0..4).for_each(|endpoint| trip(&script, endpoint));
    for _ in 0..1_000 {
        script.world.endpoint(EndpointId(0)).unwrap().throttle.record(false, script.now);
    }
    check(
        &script.play("200"),
        "0s attempt 1 sonnet@two (panic)
         0s succeeded with sonnet@two",
    );
}

#[test]
fn side_questions_trip_no_breaker_and_pause_nobody() {
    let mut script = Script::new("default").needs(Needs { free: true, ..Needs::default() });
    for _ in 0..30 {
        script.play("rate_limit retry-after:40; 500; 529");
    }
    for (_, endpoint) in script.world.endpoints() {
        assert!(!endpoint.breaker.is_open(script.now) && !endpoint.is_paused(script.now), "{}", endpoint.name);
    }
}
