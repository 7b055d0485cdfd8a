use std::time::Duration;

use tokio::time::Instant;

use super::{Moment, Schedule};
use crate::script::parse;

/// Plays a script: each request after so many seconds; the specs met.
fn play(script: &str, at_seconds: &[u64]) -> Vec<String> {
    let begun = Instant::now();
    let mut schedule = Schedule::new(&parse(script).unwrap(), begun);
    let mut met = Vec::new();
    for seconds in at_seconds {
        let moment = Moment { now: begun + Duration::from_secs(*seconds), running: 1, stream: false };
        met.push(schedule.next(moment).spec.written.to_string());
    }
    met
}

#[track_caller]
fn check(script: &str, at_seconds: &[u64], expected: &str) {
    assert_eq!(play(script, at_seconds).join(" "), expected, "{script}");
}

#[test]
fn sequences() {
    check("reset x2; ok", &[0, 0, 0, 0], "reset reset ok ok");
    check("ok; reset", &[0, 0, 0], "ok reset reset");
    check("reset x2", &[0, 0, 0], "reset reset ok");
    check("ok; reset; loop", &[0, 0, 0, 0], "ok reset ok reset");
    check("ok x2; reset x1; loop", &[0, 0, 0, 0, 0], "ok ok reset ok ok");
    check("", &[0], "ok");
    check("loop", &[0], "ok");
}

#[test]
fn windows_and_flapping() {
    check("5s..10s: reset", &[0, 4, 5, 9, 10], "ok ok reset reset ok");
    check("5s..: reset", &[0, 5, 5000], "ok reset reset");
    check("..5s: reset; close x1; ok", &[0, 5, 5], "reset close ok");
    check("flap=2s/3s: reset", &[0, 1, 2, 4, 5, 6, 7], "reset reset ok ok reset reset ok");
    check("..9s: flap=2s/3s: reset", &[0, 2, 5, 10], "reset ok reset ok");
    check("..5s: reset x1", &[0, 0], "reset ok");
}

#[test]
fn limits() {
    check("rpm=2", &[0, 1, 2, 59, 60, 61, 62], "ok ok rpm=2 rpm=2 ok ok rpm=2");
    check("quota=2", &[0, 0, 0, 9999], "ok ok quota=2 quota=2");
    check("rps=1: overloaded", &[0, 0, 1], "ok overloaded ok");
}

#[test]
fn a_limit_says_exactly_when_it_passes() {
    let begun = Instant::now();
    let mut schedule = Schedule::new(&parse("rpm=1").unwrap(), begun);
    let mut at = |ms: u64| schedule.next(Moment { now: begun + Duration::from_millis(ms), running: 1, stream: false });
    let first = at(0).allowance.unwrap();
    assert_eq!((first.limit, first.remaining, first.reset), (1, 0, Duration::from_secs(60)));
    assert_eq!(at(1500).reset, Some(Duration::from_millis(58_500)));
    assert_eq!(at(60_000).reset, None);
}

#[test]
fn shares_are_kept_and_repeat_from_run_to_run() {
    let met = play("30%: reset", &[0; 1000]);
    let failed = met.iter().filter(|spec| *spec == "reset").count();
    assert!((250..350).contains(&failed), "{failed}");
    assert_eq!(met, play("30%: reset", &[0; 1000]));
    check("0%: reset; 100%: close", &[0, 0], "close close");
}

#[test]
fn what_is_asked_and_what_runs() {
    let begun = Instant::now();
    let mut schedule = Schedule::new(&parse("stream: cut=1; concurrency=2: reset; plain: close").unwrap(), begun);
    let mut met = |running, stream| schedule.next(Moment { now: begun, running, stream }).spec.written.to_string();
    assert_eq!([met(1, true), met(2, false), met(3, false)], ["cut=1", "close", "reset"]);
}

#[test]
fn a_refusal_is_known_before_the_request() {
    let begun = Instant::now();
    let refused = |script: &str, seconds: u64| {
        let mut schedule = Schedule::new(&parse(script).unwrap(), begun);
        schedule.next_if_refused(begun + Duration::from_secs(seconds)).is_some()
    };
    assert!(refused("refuse", 0) && refused("refuse x1; ok", 0) && refused("..5s: refuse", 1));
    assert!(!refused("ok; refuse", 0) && !refused("..5s: refuse", 6) && !refused("..5s: ok; refuse", 1));
    assert!(!refused("50%: ok; refuse", 0), "chance decides first, and only once");
    let mut schedule = Schedule::new(&parse("refuse x2; ok").unwrap(), begun);
    let mut next = || schedule.next_if_refused(begun).is_some();
    assert_eq!([next(), next(), next(), next()], [true, true, false, false]);
}
