//! The figures of issue 2, with `default`, 1,000 clients, over 40 seeds.
//!
//! Each bound holds in every single seed, not only on average; where a figure is of all seeds together, its test says so.

use std::time::Duration;

use steadfast_sim::{Report, Scenario, run};

use crate::policy;

const SEEDS: u64 = 40;

fn report(scenario: &str) -> Report {
    let scenario = Scenario::named(scenario).expect("a named scenario");
    assert_eq!(scenario.clients, 1000);
    run(&scenario, &policy("default"), 0, SEEDS).unwrap_or_else(|trouble| panic!("{trouble}"))
}

fn two_cooldowns() -> f64 {
    2.0 * policy("default").breaker.cooldown.as_secs_f64()
}

#[test]
fn a_total_outage_is_not_multiplied_and_is_over_when_it_is_over() {
    let report = report("outage");
    let before = report.before_open.expect("there is an outage");
    let once_open = report.once_open.expect("every breaker opens");
    assert!(before.worst <= 1.3, "{before:?}");
    assert!(once_open.worst <= 0.1, "{once_open:?}");
    let recovered = report.recovered_after_secs.expect("it recovers");
    assert!(recovered <= two_cooldowns(), "normal after {recovered} s");
}

/// By then cooldowns have grown to a minute; the throttle's trickle still notices at once.
#[test]
fn the_end_of_a_long_outage_is_noticed_as_soon() {
    let mut scenario = Scenario::named("outage").expect("a named scenario").with_seconds(780);
    let span = steadfast_sim::provider::Span::secs(60, 660);
    scenario.faults[0].span = span;
    scenario.cause = Some(span);
    let report = run(&scenario, &policy("default"), 0, 5).unwrap_or_else(|trouble| panic!("{trouble}"));
    let recovered = report.recovered_after_secs.expect("it recovers");
    assert!(recovered <= two_cooldowns(), "normal after {recovered} s");
}

#[test]
fn a_dead_primary_with_healthy_fallbacks_is_hardly_noticed() {
    let report = report("primary_down");
    assert!(report.success_worst >= 0.999, "{}", report.success_worst);
    assert!(report.attempts_per_request_worst <= 1.1, "{}", report.attempts_per_request_worst);
}

#[test]
fn endpoints_that_all_fail_half_of_the_time_still_serve() {
    let report = report("brownout");
    assert!(report.success_worst >= 0.95, "{}", report.success_worst);
}

#[test]
fn random_failures_are_hardly_noticed() {
    let report = report("transient");
    assert!(report.success_worst >= 0.999, "{}", report.success_worst);
}

#[test]
fn the_load_that_an_outage_leaves_behind_does_not_keep_it_alive() {
    let report = report("metastable");
    let recovered = report.recovered_after_secs.expect("it recovers");
    assert!(recovered <= two_cooldowns(), "normal after {recovered} s");
}

/// One user, a small team, a large one: requests per second.
const FEW: [f64; 3] = [1.0, 3.0, 10.0];

fn report_of_few(scenario: &str, per_sec: f64) -> Report {
    let scenario = Scenario::named(scenario).expect("a named scenario").with_rate(per_sec);
    run(&scenario, &policy("default"), 0, 20).unwrap_or_else(|trouble| panic!("{trouble}"))
}

/// Nobody waits to see whether everything is down: the fallback shows it.
#[test]
fn a_dead_primary_or_vendor_costs_few_users_no_wait() {
    for per_sec in FEW {
        let calm = report_of_few("calm", per_sec).latency_ms;
        let extra = |scenario| {
            let report = report_of_few(scenario, per_sec);
            // Of a few hundred requests one alone is more than a thousandth, so this is of all seeds together; so are
            // the percentiles.
            assert!(report.success >= 0.999, "{scenario} at {per_sec}/s: {}", report.success);
            (report.latency_ms.p50.saturating_sub(calm.p50), report.latency_ms.p99.saturating_sub(calm.p99))
        };
        // The endpoint that takes over is slower by a fifth.
        let (p50, p99) = extra("primary_down");
        assert!(p50 <= 500 && p99 <= 1_200, "primary down at {per_sec}/s: {p50} and {p99} ms more");
        let (p50, p99) = extra("correlated");
        assert!(p50 <= 100 && p99 <= 300, "vendor down at {per_sec}/s: {p50} and {p99} ms more");
    }
}

/// The fewer requests, the more of them find an outage out; from then on they hardly multiply it,
/// and its end is noticed as soon as with a thousand clients.
#[test]
fn an_outage_is_not_multiplied_by_few_users_either() {
    for (per_sec, bound) in FEW.into_iter().zip([1.1, 0.5, 0.2]) {
        let report = report_of_few("outage", per_sec);
        let once_open = report.once_open.expect("every breaker opens");
        assert!(once_open.worst <= bound, "at {per_sec}/s: {once_open:?}");
        let attempts = report.attempts_per_request_worst;
        assert!(attempts <= 1.1, "at {per_sec}/s: {attempts}");
        let recovered = report.recovered_after_secs.expect("it recovers");
        assert!(recovered <= two_cooldowns(), "at {per_sec}/s normal after {recovered} s");
    }
}

/// What `default` does not reach, and why.
const NOT_REACHED: &[(&str, &str)] = &[
    // Everything is down: whoever fails then has nobody to be served by, and what is let through proves that.
    ("outage", "network failures recovered"),
    ("outage", "transient failures recovered"),
    ("metastable", "network failures recovered"),
    ("metastable", "transient failures recovered"),
    // A fifth of all attempts fails at random and little goes on, so five in a row come about by chance (7 % over 40
    // seeds). To ask for longer rows would let a lone user wait longer for a dead primary.
    ("council", "false opens"),
];

/// The targets of the documents (SPEC 10.3), in every scenario by itself and of all seeds together.
#[test]
fn the_documents_targets_are_met() {
    for (name, _) in steadfast_sim::scenario::NAMES {
        let scenario = Scenario::named(name).expect("a named scenario");
        let report = run(&scenario, &policy("default"), 0, 4).unwrap_or_else(|trouble| panic!("{trouble}"));
        for target in &report.targets {
            let is_reached = !NOT_REACHED.contains(&(name, target.name));
            assert!(target.passed || !is_reached, "{name}: {target:?}");
        }
        // Where nearly nothing opens one false open is a large share, and still only one.
        assert!(report.false_opens <= 1, "{name}: {} of {}", report.false_opens, report.opens);
    }
}

/// Not a figure of its own: the shortest way to see that the simulator notices bad policies.
#[test]
fn a_policy_without_patience_is_worse_in_a_brown_out() {
    let scenario = Scenario::named("brownout").expect("a named scenario").with_seconds(60);
    let mut hasty = policy("default");
    hasty.attempts_max = 2;
    hasty.deadline = Duration::from_secs(5);
    let reports = steadfast_sim::compare(&scenario, &[policy("default"), hasty], 0, 2).unwrap();
    assert!(reports[0].success > reports[1].success + 0.1);
    assert!(reports[0].attempts_per_request > reports[1].attempts_per_request);
}
