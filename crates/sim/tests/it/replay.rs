//! A recorded day under another policy.

use steadfast_sim::replay::ReplayError;
use steadfast_sim::{Logging, Setup, replay, simulate};

use crate::{policy, setup};

fn recorded(scenario: &str, template: &str) -> String {
    let mut setup = Setup { log: Logging::All, ..setup(scenario, template, 2) };
    setup.scenario = setup.scenario.with_clients(300).with_seconds(120);
    String::from_utf8(simulate(&setup).log).expect("JSON is UTF-8")
}

#[test]
fn a_log_replayed_under_its_own_policy_comes_out_much_the_same() {
    let log = recorded("primary_down", "default");
    let replayed = replay(&log, &policy("default"), 1).unwrap();
    assert_eq!(replayed.requests, replayed.recorded.served + replayed.recorded.lost);
    assert!(replayed.recorded.served.abs_diff(replayed.replayed.served) * 100 <= replayed.requests, "{replayed}");
    assert!(replayed.recorded.attempts.abs_diff(replayed.replayed.attempts) * 20 <= replayed.requests, "{replayed}");
}

#[test]
fn a_better_policy_rescues_requests_of_a_bad_day() {
    let mut hasty = policy("patterns");
    hasty.attempts_max = 1;
    let mut setup = Setup { log: Logging::All, policy: hasty, ..setup("transient", "patterns", 2) };
    setup.scenario = setup.scenario.with_seconds(30);
    let log = String::from_utf8(simulate(&setup).log).unwrap();
    let replayed = replay(&log, &policy("default"), 1).unwrap();
    assert!(replayed.rescued > replayed.requests / 10, "{replayed}");
    assert!(replayed.to_string().contains("rescued"));
}

/// As a gateway wrote it: a request that could go nowhere, steps and fields the simulator never writes, a line cut off.
#[test]
fn a_log_of_the_gateway_is_replayed() {
    let log = include_str!("../../../cli/tests/fixtures/decisions.jsonl");
    let replayed = replay(log, &policy("default"), 1).unwrap();
    let (recorded, would) = (replayed.recorded, replayed.replayed);
    assert_eq!((replayed.requests, recorded.served, recorded.lost, recorded.attempts), (2, 2, 0, 4));
    assert_eq!((would.served, would.lost, replayed.unknown), (2, 0, 0), "{replayed}");
    let mut once = policy("default");
    once.attempts_max = 1;
    let replayed = replay(log, &once, 1).unwrap();
    assert_eq!((replayed.replayed.served, replayed.newly_lost), (1, 1), "{replayed}");
}

#[test]
fn a_line_that_is_no_record_is_named() {
    let log = recorded("calm", "default");
    let spoiled = format!("{}\nnonsense\n", log.lines().next().unwrap());
    assert!(matches!(replay(&spoiled, &policy("default"), 1), Err(ReplayError::Line { line: 2, .. })));
    let cut = format!("{log}{}", &log[..40]);
    assert_eq!(replay(&cut, &policy("default"), 1).unwrap(), replay(&log, &policy("default"), 1).unwrap());
    assert!(matches!(replay("", &policy("default"), 1), Err(ReplayError::Empty)));
}
