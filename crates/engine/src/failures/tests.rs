use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use steadfast_core::breaker;

use super::*;

fn key(number: u64) -> Key {
    Key::for_tests(number)
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn failed(request: &str) -> Failed {
    let answer = Kept {
        status: StatusCode::SERVICE_UNAVAILABLE,
        headers: HeaderMap::new(),
        body: Bytes::from(request.to_owned()),
    };
    let session = Arc::new(Session::new(None));
    Failed { request: request.into(), answer, retry_after: None, broke_off: false, endpoints: Vec::new(), session }
}

/// What is recalled at a moment: `fresh`, `again`, or how long it rests.
fn recall(failures: &Failures, number: u64, millis: u64) -> String {
    match failures.recall(key(number), || true, at(millis)) {
        Recall::Fresh => "fresh".to_owned(),
        Recall::Again(repeat) => format!("again {} of {}", repeat.number, repeat.of),
        Recall::Answer { repeat, rest, .. } => {
            format!("repeat {} of {}, rests {}", repeat.number, repeat.of, rest.as_millis())
        }
    }
}

#[test]
fn a_turn_that_just_failed_rests_and_others_do_not() {
    let failures = Failures::default();
    assert!(failures.is_empty());
    failures.remember(key(1), failed("r1"), at(1000));
    assert_eq!(recall(&failures, 1, 1500), "repeat 1 of r1, rests 1500");
    assert_eq!(recall(&failures, 2, 1500), "fresh");
    assert_eq!(recall(&failures, 1, 3000), "again 2 of r1");
    failures.remember(key(1), failed("r3"), at(3000));
    assert_eq!(recall(&failures, 1, 3000), "repeat 3 of r1, rests 4000");
    assert_eq!(recall(&failures, 1, 3000 + 120_000), "fresh", "after two minutes it is a new request");
    assert!(failures.is_empty());
}

#[test]
fn rests_grow_to_a_bound_and_obey_who_knows() {
    let seconds = |strikes, said: Option<u64>| rest(strikes, said.map(Duration::from_secs), false).as_secs();
    assert_eq!([1, 2, 3, 4, 5, 100, u32::MAX].map(|strikes| seconds(strikes, None)), [2, 4, 8, 15, 15, 15, 15]);
    assert_eq!(seconds(1, Some(0)), 0, "it may be asked at once");
    assert_eq!([1, 2, 4].map(|strikes| seconds(strikes, Some(7))), [7, 7, 15]);
    assert_eq!(seconds(1, Some(3600)), 60);
    let broken = |strikes| rest(strikes, None, true).as_secs();
    assert_eq!([1, 2, 3, 4].map(broken), [0, 4, 8, 15], "what broke off half way is worth one more attempt");
}

#[test]
fn what_broke_off_may_come_again_once_and_then_rests_longer_than_a_client_waits() {
    let failures = Failures::default();
    let broken = || Failed { broke_off: true, ..failed("r1") };
    failures.remember(key(1), broken(), at(0));
    assert!(recall(&failures, 1, 10).starts_with("again"), "only the client can ask again");
    failures.remember(key(1), broken(), at(1_000));
    // Gemini CLI comes a third time after two seconds.
    assert!(recall(&failures, 1, 3_500).starts_with("repeat 2"));
    assert!(recall(&failures, 1, 5_100).starts_with("again"));
}

#[test]
fn somebody_elses_success_ends_the_first_rest_and_no_other() {
    let endpoint = Arc::new(Endpoint::new("a", breaker::Settings::default(), 0.1, 1));
    let at_endpoint = |request| Failed { endpoints: vec![Arc::clone(&endpoint)], ..failed(request) };
    let failures = Failures::default();
    failures.remember(key(1), at_endpoint("r1"), at(1000));
    assert!(recall(&failures, 1, 1100).starts_with("repeat"));
    endpoint.serves(at(1200));
    assert_eq!(recall(&failures, 1, 1300), "again 2 of r1");
    failures.remember(key(1), at_endpoint("r2"), at(1400));
    endpoint.serves(at(1500));
    assert!(recall(&failures, 1, 1600).starts_with("repeat"), "it is the turn itself that fails");
}

#[test]
fn what_was_served_after_all_is_forgotten_and_its_repeats_given_back() {
    let failures = Failures::default();
    failures.remember(key(1), failed("r1"), at(0));
    for _ in 0..3 {
        recall(&failures, 1, 100);
    }
    assert_eq!(failures.forget(key(1)), 3);
    assert_eq!((failures.forget(key(1)), recall(&failures, 1, 200)), (0, "fresh".to_owned()));
    failures.remember(key(1), failed("r1"), at(0));
    failures.clear();
    assert!(failures.is_empty());
}

#[test]
fn memory_is_bounded() {
    let failures = Failures::default();
    for number in 0..ENTRIES_MAX as u64 * 3 {
        failures.remember(key(number), failed("r"), at(number));
        assert!(failures.count.load(Ordering::Relaxed) <= ENTRIES_MAX);
    }
    let newest = ENTRIES_MAX as u64 * 3 - 1;
    assert!(recall(&failures, newest, newest).starts_with("repeat"));
    let large = |number: u64| {
        let mut failed = failed("r");
        failed.answer.body = vec![0; 256 * 1024].into();
        failures.remember(key(number), failed, at(1_000_000 + number));
    };
    (0..200).for_each(large);
    let held: usize = failures.lock().values().map(|entry| entry.answer.body.len()).sum();
    assert!(held <= BYTES_MAX, "{held}");
}
