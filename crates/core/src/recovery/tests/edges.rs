//! Where two durations, counts or prices are just equal, and other things that only a mutant of the code would get wrong.

use super::limits::{drain_retries, never_tripping};
use super::*;
use crate::policy::{Restart, Retry};
use crate::rate::{Left, Report, Seen, Slice};
use crate::route::Unfit;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn retries(max: u32, delay: Duration) -> Step {
    Step::Retry(Retry { max, backoff: Backoff::every(delay), with_context: false })
}

#[test]
fn a_retry_earns_no_retry() {
    let mut script = never_tripping("default").on("server_error", vec![retries(1, Duration::ZERO)]);
    drain_retries(&script, 0);
    let allowance = |script: &Script| script.world.endpoint(EndpointId(0)).unwrap().retries.left();
    (0..4 * 5).for_each(|_| script.world.endpoint(EndpointId(0)).unwrap().retries.deposit());
    assert_eq!(allowance(&script), 4);
    for _ in 0..4 {
        script.session = Arc::new(Session::new(None));
        script.play("500; invalid_request");
    }
    assert_eq!(allowance(&script), 0, "four first attempts bring four fifths");
}

#[test]
fn retries_before_a_climb_are_counted_per_model_and_over_its_endpoints() {
    let climbing = || {
        never_tripping("default")
            .policy(|policy| policy.escalate = Escalate { auto: true, after_retries: 2 })
            .on("timeout", vec![retries(1, secs(1)), Step::Fallback])
    };
    check(
        &climbing().play("timeout; timeout; timeout; timeout; 200"),
        "0s attempt 1 sonnet@one (first)
         0s timeout: retry in 1s: retry 1 of 1
         1s attempt 2 sonnet@one (retry)
         1s timeout: fallback to sonnet@two: next target of the chain [the step is used up]
         1s attempt 3 sonnet@two (fallback)
         1s timeout: retry in 1s: retry 1 of 1
         2s attempt 4 sonnet@two (retry)
         2s timeout: escalate to opus@one: retries did not help: next rung of the ladder
         2s attempt 5 opus@one (escalation)
         2s succeeded with opus@one",
    );
    check(
        &climbing().play("timeout; model_unavailable; model_unavailable; timeout; timeout; 200"),
        "0s attempt 1 sonnet@one (first)
         0s timeout: retry in 1s: retry 1 of 1
         1s attempt 2 sonnet@one (retry)
         1s model_unavailable: fallback to sonnet@two: next target of the chain
         1s attempt 3 sonnet@two (fallback)
         1s model_unavailable: fallback to haiku@three: next target of the chain
         1s attempt 4 haiku@three (fallback)
         1s timeout: retry in 1s: retry 1 of 1
         2s attempt 5 haiku@three (retry)
         2s timeout: fallback to gpt@four: next target of the chain [the step is used up]
         2s attempt 6 gpt@four (fallback)
         2s succeeded with gpt@four",
    );
}

#[test]
fn a_provider_may_ask_for_just_as_long_as_the_policy_waits() {
    let told = Script::new("default").play("429 retry-after:30; 200");
    assert!(told.contains("rate_limit: retry in 30s: retry 1 of 2, when the provider asked for it"), "{told}");
}

#[test]
fn a_provider_that_asks_for_what_the_policy_waits_anyway_changes_nothing() {
    let told = Script::new("default").on("rate_limit", vec![retries(1, secs(7))]).play("429 retry-after:7; 200");
    assert!(told.contains("rate_limit: retry in 7s: retry 1 of 1\n"), "{told}");
}

#[test]
fn a_second_retry_step_of_one_list_has_its_own_count() {
    let steps = vec![retries(2, secs(1)), retries(2, secs(9)), Step::GiveUp];
    check(
        &never_tripping("default").on("timeout", steps).play(&"timeout;".repeat(5)),
        "0s attempt 1 sonnet@one (first)
         0s timeout: retry in 1s: retry 1 of 2
         1s attempt 2 sonnet@one (retry)
         1s timeout: retry in 1s: retry 2 of 2
         2s attempt 3 sonnet@one (retry)
         2s timeout: retry in 9s: retry 1 of 2 [the step is used up]
         11s attempt 4 sonnet@one (retry)
         11s timeout: retry in 9s: retry 2 of 2
         20s attempt 5 sonnet@one (retry)
         20s timeout: give_up: the policy gives up on this [the step is used up]
         20s gave up: the policy gives up on this",
    );
}

/// With decorrelated jitter a delay may be three times the one before it, so some sequence of them passes what the first
/// alone could reach.
#[test]
fn decorrelated_delays_grow_from_the_one_before() {
    let backoff = Backoff::new(secs(1), 1.0, secs(3_600), Jitter::Decorrelated).unwrap();
    let many = Step::Retry(Retry { max: 10, backoff, with_context: false });
    let mut script = never_tripping("default").on("timeout", vec![many]);
    script.policy.attempts_max = 20;
    script.policy.deadline = secs(7 * 24 * 3_600);
    let mut recovery = script.start();
    let mut longest = Duration::ZERO;
    let mut now = script.now;
    for _ in 0..10 {
        assert!(matches!(recovery.next(&script.world, now), Action::Attempt(_)));
        let wait = recovery.failed(failure("timeout"), Usage::default(), &script.world, now).wait;
        longest = longest.max(wait);
        now = now + wait;
    }
    assert!(longest > secs(3), "{longest:?}");
}

#[test]
fn a_retry_says_where_it_goes() {
    let mut script = Script::new("default");
    let mut recovery = script.start();
    let Action::Attempt(attempt) = recovery.next(&script.world, script.now) else { panic!("an attempt") };
    let decision = recovery.failed(failure("500"), Usage::default(), &script.world, script.now);
    assert_eq!((decision.from, decision.to), (attempt.target, Some(attempt.target)));
}

#[test]
fn a_task_that_nobody_admits_runs_anew_when_somebody_may_and_not_before_its_turn() {
    let shut_for = |minutes: u64| {
        let mut script = Script::new("default").face(Face::TASK).chain(&["haiku"]);
        script.primary = "haiku";
        script.now = Instant::from_millis(1_000_000);
        let until = script.now + secs(60 * minutes);
        let word = Override { mode: Mode::ForcedOpen, reason: "drill".to_owned(), until };
        script.world.endpoint(EndpointId(2)).unwrap().breaker.set_override(Some(word));
        let restart = Restart { max: 3, backoff: Backoff::every(secs(120)) };
        script.on("network_transient", vec![Step::Restart(restart)])
    };
    check(
        &shut_for(10).play("200"),
        "1000s unknown: restart in 600s: restart 1 of 3
         1000s restart due
         1600s attempt 1 haiku@three (retry)
         1600s succeeded with haiku@three",
    );
    check(
        &shut_for(1).play("200"),
        "1000s unknown: restart in 120s: restart 1 of 3
         1000s restart due
         1120s attempt 1 haiku@three (retry)
         1120s succeeded with haiku@three",
    );
}

#[test]
fn what_is_about_the_model_goes_to_another_model_and_what_is_not_to_its_next_endpoint() {
    let told = never_tripping("default").play("content_filter; 200");
    assert!(told.contains("content_filter: fallback to haiku@three"), "{told}");
    let told = never_tripping("default").play("auth_error; 200");
    assert!(told.contains("auth_error: fallback to sonnet@two"), "{told}");
}

#[test]
fn a_fallback_passes_an_open_breaker_by_where_another_admits() {
    let mut script = Script::new("default");
    rules::trip(&script, 1);
    let told = script.play("model_unavailable; 200");
    assert!(told.contains("model_unavailable: fallback to haiku@three"), "{told}");
}

#[test]
fn a_retry_at_an_open_breaker_is_planned_only_where_nobody_else_could_serve() {
    let tripping = |chain: &[&'static str]| {
        let mut script =
            Script::new("default").chain(chain).on("server_error", vec![retries(1, secs(60)), Step::Fallback]);
        script.primary = "haiku";
        let settings = Settings { failures: 1, cooldown: secs(20), ..Settings::default() };
        let endpoint = |name: &&str| Endpoint::new(name, settings, 0.2, 1);
        script.world = World::new(ENDPOINTS.iter().map(endpoint).collect());
        script
    };
    let told = tripping(&["haiku"]).play("500; 200");
    assert!(told.contains("server_error: retry in 60s: retry 1 of 1\n"), "{told}");
    let told = tripping(&["gpt"]).play("500; 200");
    assert!(
        told.contains("server_error: fallback to gpt@four: next target of the chain [the endpoint's breaker is open]"),
        "{told}"
    );
}

#[test]
fn a_climb_to_an_unknown_price_is_taken_only_where_nothing_limits_spending() {
    let climbs = |project: Option<u64>, session: Option<u64>| {
        let mut script = never_tripping("escalating");
        script.project = Project::new("default", 1.0, project);
        script.session = Arc::new(Session::new(session));
        let mut plan = script.start().plan().clone();
        let unpriced = |model: Model| Model { price: model.price.filter(|_| &*model.name != "giant"), ..model };
        let catalogue = catalogue_of(unpriced);
        let primary = catalogue.model("sonnet").unwrap();
        plan.route = Arc::new(catalogue.route(primary, None, VendorBoundary::Open).unwrap());
        let mut recovery = Recovery::start(plan, script.now);
        assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
        let decision = recovery.failed(failure("context_limit"), Usage::default(), &script.world, script.now);
        decision.step == "escalate"
    };
    let plenty = Some(1_000_000_000);
    assert!(climbs(None, None));
    assert!(!climbs(plenty, None));
    assert!(!climbs(None, plenty));
}

#[test]
fn a_climb_is_taken_only_where_project_and_session_can_both_pay() {
    let climbs = |project: u64, session: u64| {
        let needs = Needs { tokens: 2_000, input_tokens: 1_000, output_tokens: 1_000, ..Needs::default() };
        let mut script = never_tripping("escalating").needs(needs);
        script.project = Project::new("default", 1.0, Some(project));
        script.session = Arc::new(Session::new(Some(session)));
        script.play("context_limit").contains("escalate to giant@two")
    };
    // A turn on `giant` costs at most 180,000 micro-dollars, and the one on `sonnet` before it cost 4,500.
    let (enough, little) = (184_500, 184_499);
    assert!(climbs(enough, enough));
    assert!(!climbs(little, enough));
    assert!(!climbs(enough, little));
}

#[test]
fn an_answer_that_broke_off_tells_that_it_opened_the_breaker() {
    let mut script = Script::new("default");
    let settings = Settings { failures: 1, ..Settings::default() };
    script.world = World::new(ENDPOINTS.iter().map(|name| Endpoint::new(name, settings, 0.2, 1)).collect());
    let mut recovery = script.start();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    let decision = recovery.broke_off(failure("stream_interrupted"), Usage::default(), &script.world, script.now);
    assert_eq!(decision.breaker.map(|transition| transition.to.name()), Some("open"));
    assert_eq!(decision.reason, Reason::AlreadyBegun);
}

#[test]
fn what_one_clients_key_has_used_up_says_nothing_about_anothers() {
    for theirs in [false, true] {
        let mut script = never_tripping("default");
        let endpoint = |name: &&str| {
            let endpoint = Endpoint::new(name, Settings::default(), 0.2, 1);
            if theirs { endpoint.with_clients_keys() } else { endpoint }
        };
        script.world = World::new(ENDPOINTS.iter().map(endpoint).collect());
        script.play("quota_exhausted; 429 retry-after:40");
        let [one, two] = [0, 1].map(|id| script.world.endpoint(EndpointId(id)).unwrap());
        assert_eq!(one.set_aside_until(script.now).is_none(), theirs);
        assert_eq!(two.paused_until(script.now).is_none(), theirs);
    }
}

#[test]
fn a_session_is_told_of_every_target_that_failed() {
    let mut script = never_tripping("default");
    script.play("auth_error; auth_error; 200");
    for id in [0, 1] {
        let endpoint = script.world.endpoint(EndpointId(id)).unwrap();
        assert!(script.session.shuns("sonnet", endpoint, Turn::Continues, script.now), "{}", endpoint.name);
    }
}

#[test]
fn an_attempt_lacks_what_more_of_a_shared_budget_or_limit_would_bring() {
    let nothing = Slice { held: 0, remaining: 0, wait: Duration::ZERO, reset: Duration::ZERO, replicas: 2 };
    let lacks = |money: bool, rate: bool, free: bool| {
        let needs = Needs { tokens: 2_000, input_tokens: 1_000, output_tokens: 1_000, free, ..Needs::default() };
        let mut script = never_tripping("default").needs(needs);
        script.project = Project::new("default", 1.0, Some(1_000_000));
        if money {
            script.project.spend.share();
        }
        let limited = |name: &&str| Endpoint::new(name, Settings::default(), 0.2, 1).with_rate(Some(4));
        script.world = World::new(ENDPOINTS.iter().map(limited).collect());
        let limit = script.world.endpoint(EndpointId(0)).unwrap().rate.as_ref().unwrap();
        if rate {
            limit.told(&Report::default(), &nothing, script.now, script.now);
        }
        script.start().lacks(&script.world, script.now)
    };
    assert!(lacks(true, false, false) && lacks(false, true, false) && lacks(true, true, false));
    assert!(!lacks(false, false, false));
    assert!(!lacks(true, true, true), "what is free needs neither");
}

#[test]
fn an_attempt_under_way_lacks_nothing() {
    let mut script = never_tripping("default");
    let mut recovery = script.start();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    recovery.plan().project.spend.set_limit(Some(1));
    recovery.plan().project.spend.share();
    assert!(!recovery.lacks(&script.world, script.now));
}

#[test]
fn a_question_is_known_while_its_answer_is_awaited() {
    let mut script = never_tripping("council").face(Face::COUNCIL);
    script.primary = "haiku";
    let mut script = script.chain(&["sonnet"]);
    let mut recovery = script.start();
    assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
    assert_eq!(recovery.question(), None);
    recovery.failed(failure("auth_error"), Usage::default(), &script.world, script.now);
    let Action::Ask(question) = recovery.next(&script.world, script.now) else { panic!("a question") };
    assert_eq!(recovery.question(), Some(question));
    recovery.answered(Answer::Yes, &script.world, script.now);
    assert_eq!(recovery.question(), None);
}

#[test]
fn who_leaves_before_a_step_is_taken_gets_back_what_it_paid_for_it() {
    let mut script = never_tripping("default");
    for (report, step) in [("500", "retry"), ("model_unavailable", "fallback")] {
        let mut recovery = script.start();
        let paid = |recovery: &Recovery| {
            let retries = script.world.endpoint(EndpointId(0)).unwrap().retries.left();
            (retries, script.session.retries_used(), recovery.plan().project.fallbacks.left())
        };
        let before = paid(&recovery);
        assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
        let decision = recovery.failed(failure(report), Usage::default(), &script.world, script.now);
        assert_eq!(decision.step, step);
        assert_ne!(paid(&recovery), before);
        recovery.cancelled(Usage::default(), &script.world, script.now);
        assert_eq!(paid(&recovery), before, "{step}");
    }
}

#[test]
fn a_chain_that_was_entered_in_the_middle_is_gone_round_once() {
    let mut script = never_tripping("default");
    script.turn = Turn::Continues;
    for endpoint in ["one", "two"] {
        script.session.shun(&"sonnet".into(), &endpoint.into(), script.now);
    }
    check(
        &script.play("auth_error; auth_error; auth_error; auth_error"),
        "0s attempt 1 haiku@three (remembered)
         0s auth_error: fallback to gpt@four: next target of the chain
         0s attempt 2 gpt@four (fallback)
         0s auth_error: fallback to sonnet@one: next target of the chain
         0s attempt 3 sonnet@one (fallback)
         0s auth_error: fallback to sonnet@two: next target of the chain
         0s attempt 4 sonnet@two (fallback)
         0s auth_error: give_up: no step of the policy is left [the chain ends here]
         0s gave up: no step of the policy is left",
    );
}

#[test]
fn a_session_that_begins_elsewhere_begins_where_the_request_fits() {
    let mut script = never_tripping("default");
    script.needs.abilities.images = true;
    for endpoint in ["one", "two"] {
        script.session.shun(&"sonnet".into(), &endpoint.into(), script.now);
    }
    let told = script.play("200");
    assert!(told.starts_with("   0s attempt 1 gpt@four (remembered)"), "haiku sees no images: {told}");
}

#[test]
fn where_a_provider_said_that_nothing_is_left_only_side_questions_go() {
    for (free, first) in [(false, "sonnet@two (rerouted)"), (true, "sonnet@one (first)")] {
        let mut script = never_tripping("default").needs(Needs { free, ..Needs::default() });
        let left = Left { limit: None, remaining: 0, reset: Some(secs(30)) };
        let one = script.world.endpoint(EndpointId(0)).unwrap();
        one.learned.note(&Seen { requests: Some(left), tokens: None }, script.now);
        let told = script.play("200");
        assert!(told.contains(first), "{told}");
    }
}

/// Every breaker is open, and every endpoint failed last.
fn shut() -> Script {
    let script = Script::new("default");
    for id in 0..4 {
        rules::trip(&script, id);
        script.world.endpoint(EndpointId(id)).unwrap().throttle.record(false, script.now);
    }
    script
}

#[test]
fn in_panic_an_endpoint_that_is_being_probed_is_left_to_its_probe() {
    let mut script = shut();
    assert!(script.play("200").contains("attempt 1 sonnet@one (panic)"), "nobody asks it meanwhile");
    let mut script = shut();
    script.now = script.now + secs(60);
    let mut probes: Vec<Recovery> = (0..4).map(|_| script.start()).collect();
    for probe in &mut probes {
        let Action::Attempt(attempt) = probe.next(&script.world, script.now) else { panic!("a probe") };
        assert_ne!(attempt.choice, Choice::Panic);
    }
    let mut fifth = script.start();
    assert!(!matches!(fifth.next(&script.world, script.now), Action::Attempt(_)));
    script.world.endpoint(EndpointId(3)).unwrap().throttle.record(true, script.now);
    let Action::Attempt(attempt) = script.start().next(&script.world, script.now) else { panic!("an attempt") };
    assert_eq!((attempt.choice, attempt.target.endpoint), (Choice::Panic, EndpointId(3)), "it served last");
}

#[test]
fn what_kept_the_last_step_from_being_taken_is_why_it_was_given_up() {
    let mut script = never_tripping("default").on("server_error", vec![retries(1, secs(60))]);
    script.time_limit = Some(secs(30));
    let told = script.play("500");
    assert!(told.ends_with("gave up: the deadline leaves no time\n"), "{told}");
    let mut script = never_tripping("default").chain(&["haiku"]);
    script.needs.abilities.images = true;
    let mut recovery = script.start();
    for reason in [Reason::NextTarget, Reason::NobodyFits(Unfit::Images)] {
        assert!(matches!(recovery.next(&script.world, script.now), Action::Attempt(_)));
        let decision = recovery.failed(failure("auth_error"), Usage::default(), &script.world, script.now);
        assert_eq!(decision.reason, reason);
    }
}

#[test]
fn a_full_context_is_retried_only_with_what_failed() {
    for with_context in [false, true] {
        let retry = Step::Retry(Retry { max: 1, backoff: Backoff::every(secs(1)), with_context });
        let told = never_tripping("default").on("context_limit", vec![retry]).play("context_limit;");
        assert_eq!(told.contains("context_limit: retry"), with_context, "{told}");
    }
}
