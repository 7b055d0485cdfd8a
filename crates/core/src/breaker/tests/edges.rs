//! The moments at which one thing ends and the next begins, and what is only seen from outside in the end.

use proptest::prelude::*;

use super::*;

const NANO: Duration = Duration::from_nanos(1);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn fail(breaker: &Breaker, now: Instant) -> Option<Transition> {
    breaker.record(breaker.admit(now).unwrap(), Outcome::Failure, None, now)
}

fn serve(breaker: &Breaker, count: u32, now: Instant) {
    for _ in 0..count {
        breaker.record(breaker.admit(now).unwrap(), Outcome::Success, None, now);
    }
}

/// A breaker that tripped at one second, and the moment at which it is probed.
fn tripped(settings: Settings) -> (Breaker, Instant) {
    let breaker = Breaker::new(settings, 1);
    let now = at(1_000);
    (0..settings.failures).for_each(|_| _ = fail(&breaker, now));
    let State::Open { until } = breaker.state(now) else { panic!("it tripped") };
    (breaker, until)
}

/// One that asks for two failures in a row, for more where much goes on, and never for the ratio.
fn adaptive() -> Settings {
    Settings { adaptive: true, floor: u32::MAX, ..settings() }
}

#[test]
fn a_trip_is_doubtful_for_three_seconds_and_only_to_an_adaptive_breaker() {
    let (breaker, _) = tripped(adaptive());
    let over = at(4_000);
    assert!(breaker.in_doubt(at(1_000)) && breaker.in_doubt(over - NANO));
    assert!(!breaker.in_doubt(over));
    assert!(!Breaker::new(adaptive(), 1).in_doubt(at(1_000)), "nothing has happened");
    assert!(!tripped(settings()).0.in_doubt(at(1_000)));
}

#[test]
fn a_run_of_three_more_than_needed_in_quiet_is_doubtful_for_half_a_second() {
    let breaker = Breaker::new(adaptive(), 1);
    serve(&breaker, 100, at(1_000));
    let mut doubts = Vec::new();
    while fail(&breaker, at(10_000)).is_none() {
        doubts.push(breaker.in_doubt(at(10_000)));
        assert!(!breaker.in_doubt(at(10_500)), "it passes");
        assert_eq!(breaker.in_doubt(at(10_500) - NANO), breaker.in_doubt(at(10_000)));
    }
    assert_eq!(doubts, [false, false, false, false, true, true, true], "the eighth trips it");
}

#[test]
fn it_is_quiet_below_fifteen_outcomes_a_second() {
    for (window_s, others) in [(1, 15), (2, 30), (10, 150)] {
        let quiet_among = |served: u32| {
            let window = Duration::from_secs(window_s);
            let breaker = Breaker::new(Settings { window, ..adaptive() }, 1);
            serve(&breaker, served, at(0));
            fail(&breaker, at(0));
            breaker.is_quiet()
        };
        assert!(quiet_among(others - 2) && !quiet_among(others - 1), "{window_s} s");
    }
}

#[test]
fn the_ratio_counts_for_an_adaptive_breaker_after_a_quarter_of_its_window() {
    let settings = Settings { failures: 100, floor: 4, ratio: 0.6, window: Duration::from_secs(20), ..adaptive() };
    let tripped_at = |millis: u64| {
        let breaker = Breaker::new(settings, 1);
        serve(&breaker, 1, at(0));
        (0..3).for_each(|_| assert_eq!(fail(&breaker, at(1_000)), None));
        fail(&breaker, at(millis)).map(|transition| transition.reason)
    };
    assert_eq!(tripped_at(5_999), None);
    assert_eq!(tripped_at(6_000), Some(Reason::Ratio(80)));
}

#[test]
fn what_is_under_way_asks_for_longer_runs_as_what_has_served_does() {
    let failures = |served: u32, under_way: usize| {
        let breaker = Breaker::new(adaptive(), 1);
        serve(&breaker, served, at(1_000));
        if under_way > 0 {
            fail(&breaker, at(1_000));
            (0..under_way).for_each(|_| _ = breaker.admit(at(1_000)).unwrap());
        }
        (1..).find_map(|_| fail(&breaker, at(1_000))).unwrap().reason
    };
    assert_eq!(failures(0, 0), Reason::InARow(2));
    assert_eq!(failures(7, 0), Reason::InARow(5));
    assert_eq!(failures(0, 7), Reason::InARow(5));
    assert_eq!(failures(7, 8), Reason::InARow(6));
}

#[test]
fn a_breaker_says_what_it_was_told_to_do() {
    assert_eq!(Breaker::new(settings(), 1).settings(), &settings());
}

#[test]
fn a_fingerprint_changes_with_every_attempt_that_is_remembered() {
    let (probed, now) = tripped(Settings { probes: 3, ..settings() });
    let suspected = Breaker::new(Settings { adaptive: true, ..settings() }, 1);
    fail(&suspected, now);
    for breaker in [probed, suspected] {
        let mut seen = Vec::new();
        for _ in 0..3 {
            assert!(breaker.admit(now).is_ok());
            assert!(!seen.contains(&breaker.fingerprint()));
            seen.push(breaker.fingerprint());
        }
    }
}

#[test]
fn a_probe_that_outlasts_its_lease_is_good_news_and_no_bad_news() {
    for (outcome, closes) in [(Outcome::Success, true), (Outcome::Failure, false)] {
        let (breaker, now) = tripped(settings());
        let permit = breaker.admit(now).unwrap();
        let transition = breaker.record(permit, outcome, None, now + settings().lease);
        assert_eq!(transition.map(|transition| transition.to), closes.then_some(State::Closed));
    }
}

#[test]
fn a_closed_breaker_begins_to_count_anew() {
    for adaptive in [false, true] {
        let (breaker, now) = tripped(Settings { adaptive, ..settings() });
        breaker.record(breaker.admit(now).unwrap(), Outcome::Success, None, now);
        assert_eq!(fail(&breaker, now), None, "one failure is one failure");
        assert!(fail(&breaker, now).is_some());
    }
}

#[test]
fn what_was_admitted_before_a_trip_counts_nowhere_after_it() {
    for adaptive in [false, true] {
        let opened = |open: fn(&Breaker)| {
            let breaker = Breaker::new(Settings { adaptive, ..settings() }, 1);
            let early: Vec<Permit> = (0..4).map(|_| breaker.admit(at(0)).unwrap()).collect();
            open(&breaker);
            let before = breaker.fingerprint();
            for (permit, outcome) in early.into_iter().zip([Outcome::Failure, Outcome::Degraded, Outcome::Success]) {
                assert_eq!(breaker.record(permit, outcome, None, at(1_000)), None);
            }
            assert_eq!(breaker.fingerprint(), before);
        };
        opened(|breaker| (0..2).for_each(|_| _ = fail(breaker, at(500))));
        opened(|breaker| _ = breaker.told(News::Opened { left: Duration::from_secs(2), trips: 1 }, at(500)));
        opened(|breaker| _ = breaker.checked(Verdict::Unhealthy, at(2_000), at(500)));
    }
}

#[test]
fn a_new_word_of_another_replica_is_heard_when_the_old_one_has_run_out() {
    let news = News::Opened { left: Duration::from_secs(2), trips: 1 };
    let breaker = Breaker::new(settings(), 1);
    let Some(Transition { to: State::Open { until }, .. }) = breaker.told(news, at(1_000)) else { panic!("it opens") };
    assert_eq!(breaker.told(news, until - NANO), None);
    let again = breaker.told(news, until).expect("nobody has probed yet");
    assert_eq!((again.from, again.reason), (State::HalfOpen, Reason::Told));
}

#[test]
fn own_probes_know_better_for_a_minute() {
    let news = News::Opened { left: Duration::from_secs(1), trips: 1 };
    let breaker = Breaker::new(settings(), 1);
    breaker.told(news, at(0));
    breaker.record(breaker.admit(at(2_000)).unwrap(), Outcome::Success, None, at(2_000));
    assert_eq!(breaker.told(news, at(62_000) - NANO), None);
    assert!(breaker.told(news, at(62_000)).is_some());
}

#[test]
fn another_replicas_probes_close_it_but_not_against_its_own_health_checks() {
    let (breaker, until) = tripped(settings());
    let closed = breaker.told(News::Closed, at(1_500));
    assert_eq!(
        closed,
        Some(Transition { from: State::Open { until }, to: State::Closed, reason: Reason::Told }),
        "who had not cooled yet"
    );
    breaker.checked(Verdict::Unhealthy, at(9_000), at(2_000));
    assert_eq!(breaker.told(News::Closed, at(3_000)), None);
    assert!(breaker.is_open(at(3_000)));
}

#[test]
fn a_probe_reports_for_itself_and_for_no_other() {
    let (breaker, start) = tripped(Settings { probes: 2, ..settings() });
    let first = breaker.admit(start).unwrap();
    let later = start + Duration::from_secs(3);
    let second = breaker.admit(later).unwrap();
    let refusal = breaker.admit(later).unwrap_err();
    let lease_over = start + settings().lease;
    assert_eq!(refusal, Refusal { until: lease_over, cause: Cause::Probing }, "when the first gives up its place");
    for outcome in [Outcome::Failure, Outcome::Neutral, Outcome::Degraded] {
        assert_eq!(breaker.record(first, outcome, None, lease_over), None, "its place was given away");
        assert_eq!(breaker.probes_in_flight(lease_over), 1, "the second still has its own");
    }
    let third = breaker.admit(lease_over).expect("the first place is free at that very moment");
    assert!(breaker.admit(lease_over).is_err());
    assert_eq!(breaker.record(third, Outcome::Neutral, None, lease_over), None);
    assert_eq!(breaker.probes_in_flight(lease_over), 1);
    let failed = breaker.record(second, Outcome::Failure, None, lease_over);
    assert_eq!(failed.map(|transition| transition.reason), Some(Reason::ProbeFailed));
}

#[test]
fn a_probe_that_ends_with_its_lease_fails_too_late_by_a_moment() {
    let ended = |early: Duration| {
        let (breaker, start) = tripped(settings());
        let probe = breaker.admit(start).unwrap();
        breaker.record(probe, Outcome::Failure, None, start + (settings().lease - early))
    };
    assert!(ended(NANO).is_some() && ended(Duration::ZERO).is_none());
}

#[test]
fn a_probe_of_an_earlier_half_open_closes_nothing() {
    let (breaker, start) = tripped(settings());
    let old = breaker.admit(start).unwrap();
    let reopened = start + settings().lease;
    breaker.record(breaker.admit(reopened).unwrap(), Outcome::Failure, None, reopened);
    let State::Open { until } = breaker.state(reopened) else { panic!("it opened again") };
    assert!(breaker.admit(until).unwrap().is_probe());
    assert_eq!(breaker.record(old, Outcome::Success, None, until), None);
    assert_eq!((breaker.state(until), breaker.probes_in_flight(until)), (State::HalfOpen, 1));
}

#[test]
fn as_many_probes_must_succeed_as_the_policy_says() {
    let (breaker, now) = tripped(Settings { successes: 3, ..settings() });
    let closed = |_| breaker.record(breaker.admit(now).unwrap(), Outcome::Success, None, now).is_some();
    assert_eq!([1, 2, 3].map(closed), [false, false, true]);
}

#[test]
fn a_probe_is_young_for_five_seconds() {
    let (breaker, start) = tripped(Settings { lease: Duration::from_secs(60), ..settings() });
    breaker.admit(start).unwrap();
    let old = start + Duration::from_secs(5);
    assert!(breaker.has_young_probe(old) && !breaker.has_young_probe(old + NANO));
}

#[test]
fn names_are_those_of_the_api() {
    assert_eq!(Mode::ALL.map(|mode| mode.name()), ["forced_open", "forced_closed", "shadow"]);
}

proptest! {
    /// Whoever looks is told what an attempt would be told; every change of state counts one generation on, and
    /// nothing else does.
    #[test]
    fn looking_agrees_with_asking(
        adaptive: bool, probes in 1u32..3,
        steps in proptest::collection::vec((0u64..4, 0u8..9, any::<usize>()), 0..200),
    ) {
        let breaker = Breaker::new(Settings { adaptive, probes, ..settings() }, 3);
        let mut now = at(1_000);
        let mut running = Vec::new();
        for (pause, step, which) in steps {
            // Now and then just the moment at which something ends.
            now = match breaker.state(now) {
                State::Open { until } if which % 3 == 0 => until,
                _ => now + Duration::from_millis(pause * 500),
            };
            let (before, looked) = (breaker.generation(), breaker.is_open(now));
            let word = |mode| Override { mode, reason: String::new(), until: now + Duration::from_secs(1) };
            let transition = match step {
                0..=3 => {
                    let asked = breaker.admit(now);
                    prop_assert_eq!(looked, asked.is_err());
                    running.extend(asked.ok());
                    None
                }
                4..=6 if running.is_empty() => None,
                4 | 5 => breaker.record(running.swap_remove(which % running.len()), Outcome::Failure, None, now),
                6 => breaker.record(running.swap_remove(which % running.len()), Outcome::Success, None, now),
                7 => breaker.told(News::Opened { left: Duration::from_secs(3), trips: 1 }, now),
                _ => {
                    breaker.set_override(Some(word(Mode::ALL[which % 3])));
                    None
                }
            };
            prop_assert_eq!(breaker.generation(), before + u64::from(transition.is_some()));
        }
    }
}
