use proptest::prelude::*;

use super::*;

#[test]
fn every_template_is_possible_and_listed() {
    for (name, _) in TEMPLATES {
        let policy = template(name).unwrap();
        assert_eq!(policy.name, name);
        assert_eq!(policy.problems(), [], "{name}");
    }
    assert!(template("nosuch").is_none());
}

#[test]
fn templates_keep_what_their_documents_say_beyond_the_steps() {
    let policy = |name| template(name).unwrap();
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let ours = policy("default").breaker;
    assert_eq!((ours.ratio, ours.cooldown, ours.cooldown_max), (0.6, Duration::from_secs(10), minutes(1)));
    let hardened = policy("hardened").breaker;
    assert_eq!((hardened.cooldown, hardened.cooldown_max, hardened.rate_limits_trip), (minutes(5), minutes(5), true));
    for open in ["escalating", "patterns", "council", "session-manager"] {
        assert_eq!(policy(open).breaker, breaker::Settings::default(), "{open}");
    }
    let council = policy("council");
    assert_eq!((council.vendor_boundary, council.stream), (VendorBoundary::Strict, StreamMode::Regenerate));
    assert_eq!(council.deadline, minutes(60));
    for told in ["default", "escalating"] {
        let bad = Failure::new(FailureKind::BadOutput, "test");
        assert!(matches!(policy(told).steps(&bad).1[0].step, Step::Retry(Retry { with_context: true, .. })), "{told}");
    }
}

#[test]
fn the_most_specific_entry_wins() {
    let entry = |trigger| (trigger, vec![StepRule { step: Step::GiveUp, tool: Some(format!("{trigger}")) }]);
    let all = [
        Trigger::Default,
        Trigger::Category(Category::ProviderError),
        Trigger::Kind(FailureKind::Overloaded),
        Trigger::Status(529),
    ];
    let failure = Failure { status: Some(529), ..Failure::new(FailureKind::Overloaded, "test") };
    for most_specific in 1..=all.len() {
        let table = StepTable::new(all[..most_specific].iter().map(|trigger| entry(*trigger)));
        let (_, steps) = table.lookup(&failure);
        assert_eq!(steps[0].tool, Some(format!("{}", all[most_specific - 1])));
    }
    assert!(StepTable::default().lookup(&failure).1.is_empty());
}

proptest! {
    #[test]
    fn lookup_agrees_with_the_plain_definition(
        statuses in proptest::collection::btree_set(400u16..600, 0..6),
        kinds in proptest::collection::btree_set(0usize..18, 0..10),
        categories in proptest::collection::btree_set(0usize..6, 0..4),
        has_default: bool, status in proptest::option::of(400u16..600), kind in 0usize..18,
    ) {
        let mut triggers: Vec<Trigger> = statuses.iter().map(|status| Trigger::Status(*status)).collect();
        triggers.extend(kinds.iter().map(|kind| Trigger::Kind(FailureKind::ALL[*kind])));
        triggers.extend(categories.iter().map(|category| Trigger::Category(Category::ALL[*category])));
        triggers.extend(has_default.then_some(Trigger::Default));
        let table = StepTable::new(triggers.iter().rev().map(|trigger| (*trigger, vec![Step::Fallback.into()])));

        let failure = Failure { status, ..Failure::new(FailureKind::ALL[kind], "test") };
        let wanted = [
            status.map(Trigger::Status),
            Some(Trigger::Kind(failure.kind)),
            Some(Trigger::Category(failure.category())),
            Some(Trigger::Default),
        ];
        let expected = wanted.into_iter().flatten().find(|trigger| triggers.contains(trigger));
        let (trigger, steps) = table.lookup(&failure);
        prop_assert_eq!(trigger, expected.unwrap_or(Trigger::Default));
        prop_assert_eq!(steps.is_empty(), expected.is_none());
    }

    #[test]
    fn trigger_names_read_back(status in 100u16..1000, kind in 0usize..18, category in 0usize..6) {
        for trigger in [
            Trigger::Status(status),
            Trigger::Kind(FailureKind::ALL[kind]),
            Trigger::Category(Category::ALL[category]),
            Trigger::Default,
        ] {
            prop_assert_eq!(trigger.to_string().parse(), Ok(trigger));
        }
    }
}

#[test]
fn names_that_mean_nothing_are_refused() {
    for name in ["http_", "http_99", "http_1000", "http_5xx", "rate-limit", "ratelimit", "Default", ""] {
        assert!(name.parse::<Trigger>().is_err(), "{name}");
    }
}

/// The key and the message of each problem after `change`.
fn problems(change: impl FnOnce(&mut Policy)) -> Vec<String> {
    let mut policy = template("default").unwrap();
    change(&mut policy);
    policy.problems().into_iter().map(|problem| format!("{}: {}", problem.key, problem.what)).collect()
}

#[test]
fn impossible_limits_are_refused_by_key() {
    assert_eq!(problems(|p| p.deadline = Duration::ZERO), ["deadline: is zero or longer than 7 days"]);
    assert_eq!(problems(|p| p.deadline = limits::DEADLINE + Duration::from_secs(1)).len(), 1);
    assert!(problems(|p| p.deadline = limits::DEADLINE).is_empty());
    assert_eq!(problems(|p| p.attempts_max = 0), ["attempts_max: is 0 but must be between 1 and 100"]);
    assert_eq!(problems(|p| p.attempts_max = 101).len(), 1);
    assert!(problems(|p| p.attempts_max = 100).is_empty());
    let session = |max, warn| problems(|p| p.session_retries = SessionRetries { max, warn });
    assert_eq!(session(10_001, 1), ["session_retries.max: is 10001 but may be at most 10000"]);
    assert_eq!(session(10, 11), ["session_retries.warn: is above `max`"]);
    assert!(session(10_000, 10_000).is_empty());
    assert_eq!(problems(|p| p.retry_share = 1.1), ["retry_share: is 1.1 but must be between 0 and 1"]);
    assert_eq!(problems(|p| p.fallback_share = -0.1).len(), 1);
    assert_eq!(problems(|p| p.retry_share = f64::NAN).len(), 1);
    assert_eq!(problems(|p| p.quota_rest = Duration::from_secs(86_401)).len(), 1);
    assert!(problems(|p| p.quota_rest = Duration::from_secs(86_400)).is_empty());
}

#[test]
fn what_ends_the_operation_for_one_tool_hides_no_step_of_the_others() {
    let give_up = |tool: Option<&str>| StepRule { step: Step::GiveUp, tool: tool.map(str::to_owned) };
    let bash = |step| StepRule { step, tool: Some("bash".to_owned()) };
    let listed = |steps: Vec<StepRule>| problems(|policy| policy.on.set(Trigger::Default, steps));
    assert_eq!(listed(vec![give_up(Some("bash")), Step::Fallback.into()]), [""; 0]);
    assert_eq!(listed(vec![give_up(Some("bash")), give_up(Some("edit")), give_up(None)]), [""; 0]);
    let hidden = ["on.default[0]: `give_up` ends the operation, so the steps after it can never run"];
    assert_eq!(listed(vec![give_up(Some("bash")), bash(Step::Fallback), Step::Fallback.into()]), hidden);
    assert_eq!(listed(vec![give_up(None), bash(Step::Fallback)]), hidden);
}

#[test]
fn impossible_breakers_are_refused_by_key() {
    let breaker = |change: fn(&mut breaker::Settings)| problems(|policy| change(&mut policy.breaker));
    assert_eq!(breaker(|b| b.failures = 0), ["breaker.failures: is 0 but must be between 1 and 1000"]);
    assert_eq!(breaker(|b| b.failures = 1001).len(), 1);
    assert_eq!(breaker(|b| b.ratio = 0.0), ["breaker.ratio: must be between 0.01 and 1"]);
    assert_eq!(breaker(|b| b.ratio = f64::NAN).len(), 1);
    assert_eq!(breaker(|b| b.window = Duration::ZERO).len(), 1);
    assert_eq!(breaker(|b| b.window = Duration::from_secs(86_401)).len(), 1);
    assert_eq!(breaker(|b| b.floor = 0).len(), 1);
    assert_eq!(breaker(|b| b.cooldown = Duration::ZERO), ["breaker.cooldown: must be above zero, up to 24h"]);
    assert_eq!(breaker(|b| b.cooldown_max = Duration::from_secs(1)).len(), 1);
    assert_eq!(breaker(|b| b.cooldown_max = Duration::from_secs(86_401)).len(), 1);
    assert_eq!(breaker(|b| b.probes = 0).len(), 1);
    assert_eq!(breaker(|b| b.successes = 0).len(), 1);
    assert_eq!(breaker(|b| b.lease = Duration::ZERO).len(), 1);
    assert!(breaker(|b| (b.failures, b.probes, b.successes, b.ratio) = (1000, 100, 100, 1.0)).is_empty());
}

#[test]
fn impossible_steps_are_refused_by_key() {
    let steps = |trigger: &str, steps: Vec<Step>| {
        let steps = steps.into_iter().map(StepRule::from).collect();
        problems(|policy| policy.on.set(trigger.parse().unwrap(), steps))
    };
    let retry = |max| Step::Retry(Retry { max, backoff: Backoff::every(Duration::ZERO), with_context: false });
    let restart = |max| Step::Restart(Restart { max, backoff: Backoff::every(Duration::ZERO) });
    let ask = |nudge, skip| Step::Ask(Ask { nudge: Duration::from_secs(nudge), skip: Duration::from_secs(skip) });
    assert_eq!(
        steps("rate_limit", vec![retry(1_000)]),
        ["on.rate_limit[0].retry: is 1000 but must be between 1 and 20"]
    );
    assert_eq!(steps("rate_limit", vec![retry(0)]).len(), 1);
    assert!(steps("rate_limit", vec![retry(20)]).is_empty());
    assert_eq!(steps("http_503", vec![Step::Fallback, Step::Repair { max: 0 }]).len(), 1);
    assert_eq!(steps("http_503", vec![Step::Repair { max: 21 }]).len(), 1);
    assert_eq!(steps("timeout", vec![restart(0)]).len(), 1);
    assert_eq!(steps("timeout", vec![restart(21)]).len(), 1);
    assert!(steps("timeout", vec![restart(20), Step::Repair { max: 20 }]).is_empty());
    assert_eq!(steps("default", vec![ask(60, 30)]).len(), 1);
    assert_eq!(steps("default", vec![ask(60, 3_601)]).len(), 1);
    assert!(steps("default", vec![ask(60, 3_600)]).is_empty());
    assert_eq!(
        steps("default", vec![Step::GiveUp, Step::Fallback]),
        ["on.default[0]: `give_up` ends the operation, so the steps after it can never run"]
    );
    assert_eq!(steps("default", vec![Step::Degrade, Step::Fallback]).len(), 1);
    for (trigger, word) in [("quota_exhausted", "quota"), ("context_limit", "never fit"), ("cancelled", "stopped")] {
        let found = steps(trigger, vec![retry(1)]);
        assert!(found.len() == 1 && found[0].contains(word), "{found:?}");
    }
}

#[test]
fn a_silent_upstream_leaves_time_for_another() {
    let timeouts = template("default").unwrap().timeouts;
    let seconds = |stream, left| timeouts.head(stream, Duration::from_secs(left)).as_secs();
    assert_eq!([600, 200, 60].map(|left| seconds(false, left)), [300, 120, 60]);
    let first = timeouts.first_token.as_secs();
    assert_eq!([first * 2, first / 2].map(|left| seconds(true, left)), [first, first / 2]);
}

fn retries(policy: &Policy, kind: FailureKind) -> Vec<String> {
    let (_, steps) = policy.steps(&Failure::new(kind, "test"));
    let told = steps.iter().map(|rule| match &rule.step {
        Step::Retry(retry) => format!("{}x{}s", retry.max, retry.backoff.plain(1).as_secs()),
        other => other.name().to_owned(),
    });
    told.collect()
}

#[test]
fn retries_can_be_asked_for_call_by_call() {
    let policy = template("session-manager").unwrap();
    let asked = |max, secs| policy.clone().with_retries(max, Duration::from_secs(secs));
    assert_eq!(asked(3, 5), policy, "the document's own numbers");
    assert_eq!(retries(&asked(7, 1), FailureKind::RateLimit), ["7x1s", "fallback"]);
    assert_eq!(retries(&asked(7, 1), FailureKind::Timeout), ["1x1s", "fallback"], "once is once");
    assert_eq!(retries(&asked(1, 60), FailureKind::ServerError), ["1x60s", "fallback"]);
    assert_eq!(retries(&asked(0, 1), FailureKind::RateLimit), ["fallback"]);
    assert!(asked(1_000, 1_000_000).problems().is_empty());
}

#[test]
fn behind_a_gateway_its_retries_are_not_made_again() {
    let policy = template("default").unwrap().behind_gateway();
    assert_eq!(retries(&policy, FailureKind::RateLimit), ["fallback"]);
    assert_eq!(retries(&policy, FailureKind::NetworkTransient), ["fallback", "restart"]);
    assert_eq!(retries(&policy, FailureKind::ProcessDied), ["1x1s", "fallback", "restart"]);
    assert!(policy.problems().is_empty());
}

/// What stands just at a bound is taken, what passes it by the least is refused by its key.
#[test]
fn every_bound_is_taken_and_nothing_beyond_it() {
    type Set = fn(&mut Policy, Duration);
    let day = Duration::from_secs(86_400);
    let second = Duration::from_secs(1);
    let longest: [(&str, Duration, Set); 9] = [
        ("deadline", 7 * day, |policy, value| policy.deadline = value),
        ("quota_rest", day, |policy, value| policy.quota_rest = value),
        ("park", 7 * day, |policy, value| policy.park = value),
        ("journal", Duration::from_secs(3_600), |policy, value| policy.journal = value),
        ("timeouts.connect", Duration::from_secs(3_600), |policy, value| policy.timeouts.connect = value),
        ("breaker.window", day, |policy, value| policy.breaker.window = value),
        ("breaker.cooldown", day, |policy, value| {
            (policy.breaker.cooldown, policy.breaker.cooldown_max) = (value, Duration::from_secs(86_400).max(value));
        }),
        ("breaker.cooldown_max", day, |policy, value| policy.breaker.cooldown_max = value),
        ("breaker.lease", day, |policy, value| policy.breaker.lease = value),
    ];
    let refused = |set: Set, value: Duration| {
        let mut policy = template("default").unwrap();
        set(&mut policy, value);
        policy.problems().into_iter().map(|problem| problem.key).collect::<Vec<_>>()
    };
    for (key, bound, set) in longest {
        assert!(refused(set, bound).is_empty(), "{key}");
        assert!(refused(set, bound + second).contains(&key.to_owned()), "{key}");
        assert!(refused(set, 2 * bound).contains(&key.to_owned()), "{key}");
    }
    let window: Set = |policy, value| policy.breaker.window = value;
    assert!(refused(window, second).is_empty());
    assert_eq!(refused(window, Duration::from_millis(999)), ["breaker.window"]);
    let timeout: Set = |policy, value| policy.timeouts.idle = value;
    assert_eq!(refused(timeout, Duration::ZERO), ["timeouts.idle"]);
}

#[test]
fn without_jitter_no_wait_is_left_to_chance() {
    use crate::backoff::Jitter;
    let spread = |policy: &Policy| {
        let steps = policy.on.iter().flat_map(|(_, steps)| steps);
        let backoffs = steps.filter_map(|rule| match &rule.step {
            Step::Retry(retry) => Some(retry.backoff),
            Step::Restart(restart) => Some(restart.backoff),
            _ => None,
        });
        backoffs.filter(|backoff| backoff.jitter() != Jitter::Spread(0.0)).count()
    };
    let backoff = Backoff::doubling(Duration::from_secs(1), Duration::from_secs(9), Jitter::Full);
    for step in [Step::Restart(Restart { max: 1, backoff }), Step::Retry(Retry { max: 1, backoff, with_context: true })]
    {
        let mut policy = template("council").unwrap();
        policy.on.set(Trigger::Default, vec![step.into()]);
        assert_eq!((spread(&policy), spread(&policy.without_jitter())), (1, 0));
    }
}

#[test]
fn the_steps_of_a_trigger_are_its_own_and_nobody_elses() {
    let table = StepTable::new([(Trigger::Default, vec![Step::Fallback.into()])]);
    assert_eq!(table.get(Trigger::Default), Some(&[StepRule::from(Step::Fallback)][..]));
    assert_eq!(table.get(Trigger::Status(500)), None);
}

#[test]
fn a_full_context_may_be_retried_only_with_what_failed() {
    let steps = |with_context| {
        let retry = Retry { max: 1, backoff: Backoff::every(Duration::ZERO), with_context };
        problems(|policy| policy.on.set(Trigger::Kind(FailureKind::ContextLimit), vec![Step::Retry(retry).into()]))
    };
    assert_eq!((steps(true).len(), steps(false).len()), (0, 1));
}

#[test]
fn a_question_is_dropped_no_sooner_than_it_is_repeated_and_within_an_hour() {
    let refused = |nudge, skip| {
        let (nudge, skip) = (Duration::from_secs(nudge), Duration::from_secs(skip));
        let steps = vec![Step::Ask(Ask { nudge, skip }).into(), Step::GiveUp.into()];
        problems(|policy| policy.on.set(Trigger::Default, steps)).len()
    };
    assert_eq!((refused(30, 29), refused(30, 30)), (1, 0));
    assert_eq!((refused(30, 3_600), refused(30, 3_601)), (0, 1));
}
