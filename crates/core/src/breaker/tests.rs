mod edges;

use super::*;

/// Runs a script against a breaker with two failures in a row, one probe, a cooldown of three
/// seconds without jitter to speak of, and a lease of five. Returns what `admit` answered.
///
/// `+` success, `x` failure, `~` degraded, `0` neutral: an attempt that reports at once.
/// `?` an attempt that never reports. `.` one second passes. `r` the oldest `?` reports success, `f` failure, `d`
/// degraded, and `b` that its first content has come.
/// `u` health checks say unhealthy, for four seconds unless they say so again; `h` they say healthy.
fn answers(script: &str) -> String {
    run(script, settings())
}

fn settings() -> Settings {
    Settings {
        failures: 2,
        cooldown: Duration::from_millis(2_700),
        cooldown_max: Duration::from_millis(5_400),
        lease: Duration::from_secs(5),
        ..Settings::default()
    }
}

fn run(script: &str, settings: Settings) -> String {
    let breaker = Breaker::new(settings, 1);
    let mut now = Instant::from_millis(1_000);
    let mut silent = Vec::new();
    let mut answers = String::new();
    for step in script.chars() {
        let outcome = match step {
            '.' => {
                now = now + Duration::from_secs(1);
                continue;
            }
            'r' | 'f' | 'd' => {
                let outcome = match step {
                    'r' => Outcome::Success,
                    'f' => Outcome::Failure,
                    _ => Outcome::Degraded,
                };
                breaker.record(silent.remove(0), outcome, None, now);
                continue;
            }
            'b' => {
                breaker.begun(&mut silent[0], now);
                continue;
            }
            'u' | 'h' => {
                let verdict = if step == 'u' { Verdict::Unhealthy } else { Verdict::Healthy };
                breaker.checked(verdict, now + Duration::from_secs(4), now);
                continue;
            }
            '+' => Some(Outcome::Success),
            'x' => Some(Outcome::Failure),
            '~' => Some(Outcome::Degraded),
            '0' => Some(Outcome::Neutral),
            '?' => None,
            other => panic!("`{other}` is not a step"),
        };
        let admitted = breaker.admit(now);
        answers.push(if admitted.is_ok() { 'y' } else { 'n' });
        match (admitted, outcome) {
            (Ok(permit), Some(outcome)) => drop(breaker.record(permit, outcome, None, now)),
            (Ok(permit), None) => silent.push(permit),
            (Err(_), _) => {}
        }
    }
    answers
}

#[track_caller]
fn check(script: &str, expected: &str) {
    assert_eq!(answers(script), expected, "{script}");
}

#[test]
fn failures_in_a_row_trip_it_and_a_success_breaks_the_run() {
    check("xx+", "yyn");
    check("x+x+x+", "yyyyyy");
    check("xx..+", "yyn");
}

#[test]
fn a_successful_probe_closes_it() {
    check("xx...+++", "yyyyy");
    check("xx...+xx+", "yyyyyn");
}

#[test]
fn a_failed_probe_opens_it_for_twice_as_long() {
    check("xx...x...+...+", "yyyny");
}

#[test]
fn one_probe_at_a_time() {
    check("xx...????", "yyynnn");
}

#[test]
fn a_lost_probe_does_not_shut_the_endpoint_for_good() {
    check("xx...?+.....+", "yyyny");
}

#[test]
fn a_neutral_probe_gives_its_place_to_the_next() {
    check("xx...00+x", "yyyyyy");
}

#[test]
fn a_degraded_answer_fails_the_probe() {
    check("xx...~+", "yyyn");
}

#[test]
fn a_straggler_from_before_the_trip_counts_nowhere() {
    check("?xx.r+", "yyyn");
    check("?xx...?r+", "yyyyn");
}

#[test]
fn a_probe_that_fails_after_its_lease_counts_nowhere_and_one_that_succeeds_closes() {
    check("xx...?.....xr+", "yyyyn");
    check("xx...?.....r++", "yyyyy");
}

#[test]
fn a_probe_whose_answer_has_begun_lets_the_others_through() {
    check("xx...??b??", "yyynyy");
    check("xx...?.....b++", "yyyyy");
    check("xx...?br+xx+", "yyyyyyn");
}

#[test]
fn a_probe_that_breaks_off_after_its_verdict_is_the_first_failure_of_the_closed_breaker() {
    check("xx...?bf+", "yyyy");
    check("xx...?bfx+", "yyyyn");
    check("xx...?bxf+", "yyyyn");
    check("xx...?b..f.+xx+", "yyyyyyn");
}

#[test]
fn only_a_probe_is_judged_by_its_first_content() {
    check("?xbx+", "yyyn");
    check("?xx...?b?", "yyyyn");
    check("xx...?.....x......?b+", "yyyyyn");
}

#[test]
fn where_several_probes_must_succeed_one_counts_once_however_it_goes_on() {
    let two = Settings { successes: 2, ..settings() };
    assert_eq!(run("xx...?b??", two), "yyyyn", "the next may probe while the first still answers");
    assert_eq!(run("xx...?br??", two), "yyyyn", "its end is no second verdict");
    assert_eq!(run("xx...?bf+", two), "yyyn", "it broke off before the others had their say");
    assert_eq!(run("xx...?bd+", two), "yyyn", "so it did where it was asked for less");
    assert_eq!(run("xx...?bx......?fr+", two), "yyyyyy", "of an earlier half-open it says nothing");
    assert_eq!(run("xx...?b+f++", two), "yyyyyy", "and after that it says nothing");
}

#[test]
fn what_closed_a_breaker_is_told_when_it_happened() {
    let (breaker, now) = (Breaker::new(settings(), 1), Instant::from_millis(1_000));
    let mut permits: Vec<Permit> = (0..2).map(|_| breaker.admit(now).unwrap()).collect();
    assert_eq!(breaker.begun(&mut permits[0], now), None, "traffic");
    let before = breaker.fingerprint();
    permits.into_iter().for_each(|permit| _ = breaker.record(permit, Outcome::Failure, None, now));
    assert_ne!(breaker.fingerprint(), before, "they are counted as ever");
    let State::Open { until } = breaker.state(now) else { panic!("it tripped") };
    let mut probe = breaker.admit(until).unwrap();
    let told = breaker.begun(&mut probe, until).unwrap();
    assert_eq!((told.to, told.reason, probe.is_probe()), (State::Closed, Reason::ProbesSucceeded, false));
    assert_eq!(breaker.begun(&mut probe, until), None, "said once");
}

#[test]
fn neutral_and_degraded_outcomes_do_not_count_in_a_row() {
    check("x0x+", "yyyn");
    check("x~~~+", "yyyyy");
}

#[test]
fn degraded_outcomes_count_in_the_ratio() {
    let settings = Settings { failures: 100, floor: 4, ..settings() };
    assert_eq!(run("++~~+", settings), "yyyyn");
    assert_eq!(run("+++~~~+", settings), "yyyyyyn");
    assert_eq!(run("~~~+", settings), "yyyy", "below the floor the ratio says nothing");
}

#[test]
fn rate_limits_count_in_a_row_where_the_policy_says_so() {
    assert_eq!(run("~~+", Settings { rate_limits_trip: true, ..settings() }), "yyn");
}

#[test]
fn a_million_healthy_calls_do_not_delay_the_trip() {
    let breaker = Breaker::new(Settings { failures: 5, ..settings() }, 1);
    let now = Instant::from_millis(1);
    for _ in 0..1_000_000 {
        let permit = breaker.admit(now).unwrap();
        breaker.record(permit, Outcome::Success, None, now);
    }
    for _ in 0..5 {
        let permit = breaker.admit(now).unwrap();
        breaker.record(permit, Outcome::Failure, None, now);
    }
    assert!(breaker.admit(now).is_err());
}

#[test]
fn an_adaptive_breaker_asks_for_longer_runs_under_heavy_traffic() {
    let failures_to_trip = |successes: u32| {
        let breaker = Breaker::new(Settings { failures: 5, adaptive: true, ..settings() }, 1);
        let now = Instant::from_millis(1);
        for _ in 0..successes {
            let permit = breaker.admit(now).unwrap();
            breaker.record(permit, Outcome::Success, None, now);
        }
        (0..).take_while(|_| breaker.admit(now).map(|p| breaker.record(p, Outcome::Failure, None, now)).is_ok()).count()
    };
    assert_eq!(failures_to_trip(0), 5);
    assert_eq!(failures_to_trip(1_000), 14);
    assert_eq!(failures_to_trip(100_000), 21);
}

/// A hundred attempts a second; every third fails at once, the others serve after two seconds.
#[test]
fn fast_failures_do_not_shut_an_endpoint_whose_successes_take_longer() {
    let breaker = Breaker::new(Settings { adaptive: true, ..Settings::default() }, 1);
    let mut serving = std::collections::VecDeque::new();
    for step in 0..20_000u64 {
        let now = Instant::from_millis(step * 10);
        while serving.front().is_some_and(|(at, _)| *at <= now) {
            let (_, permit) = serving.pop_front().unwrap();
            breaker.record(permit, Outcome::Success, None, now);
        }
        let permit = breaker.admit(now).expect("it serves two in three");
        if step % 3 == 0 {
            assert_eq!(breaker.record(permit, Outcome::Failure, None, now), None);
        } else {
            serving.push_back((now + Duration::from_secs(2), permit));
        }
    }
}

/// Calls from before an outage still succeed for seconds; they say nothing about it.
#[test]
fn successes_from_before_an_outage_do_not_hide_it() {
    let breaker = Breaker::new(Settings { adaptive: true, ..Settings::default() }, 1);
    let old: Vec<Permit> = (0..100).map(|_| breaker.admit(Instant::from_millis(1)).unwrap()).collect();
    let mut failures = 0;
    for (step, permit) in old.into_iter().enumerate() {
        let now = Instant::from_millis(1000 + step as u64 * 10);
        breaker.record(permit, Outcome::Success, None, now);
        let Ok(permit) = breaker.admit(now) else { break };
        breaker.record(permit, Outcome::Failure, None, now);
        failures += 1;
    }
    assert!((5..15).contains(&failures), "tripped after {failures}");
    assert!(breaker.in_doubt(Instant::from_millis(2000)));
    assert!(!breaker.in_doubt(Instant::from_millis(9000)), "doubt does not last");
}

#[test]
fn a_refusal_says_until_when() {
    let breaker = Breaker::new(settings(), 1);
    let now = Instant::from_millis(0);
    for _ in 0..2 {
        let permit = breaker.admit(now).unwrap();
        breaker.record(permit, Outcome::Failure, None, now);
    }
    let refusal = breaker.admit(now).unwrap_err();
    assert_eq!(refusal.cause, Cause::Open);
    assert!(refusal.until > now + Duration::from_millis(2_699));
    assert!(refusal.until < now + Duration::from_millis(3_000));
    assert_eq!(breaker.state(now), State::Open { until: refusal.until });
    assert_eq!(breaker.state(refusal.until), State::HalfOpen);
}

#[test]
fn the_endpoints_own_wish_lengthens_the_cooldown_within_its_bound() {
    let open_for = |hint_secs: u64| {
        let breaker = Breaker::new(settings(), 1);
        let now = Instant::from_millis(0);
        for _ in 0..2 {
            let permit = breaker.admit(now).unwrap();
            breaker.record(permit, Outcome::Failure, Some(Duration::from_secs(hint_secs)), now);
        }
        breaker.admit(now).unwrap_err().until.as_millis()
    };
    assert!((2_700..=2_970).contains(&open_for(0)));
    assert!((4_000..=4_400).contains(&open_for(4)));
    assert!((5_400..=5_940).contains(&open_for(86_400)));
}

#[test]
fn transitions_are_told_with_their_reason() {
    let breaker = Breaker::new(settings(), 1);
    let now = Instant::from_millis(0);
    let mut told = Vec::new();
    for (millis, outcome) in
        [(0, Outcome::Failure), (1, Outcome::Failure), (4_000, Outcome::Failure), (20_000, Outcome::Success)]
    {
        let now = now + Duration::from_millis(millis);
        let permit = breaker.admit(now).unwrap();
        if let Some(transition) = breaker.record(permit, outcome, None, now) {
            told.push(format!("{} to {}: {}", transition.from.name(), transition.to.name(), transition.reason));
        }
    }
    assert_eq!(
        told,
        [
            "closed to open: 2 failures in a row",
            "half_open to open: a probe failed",
            "half_open to closed: the probes succeeded"
        ]
    );
}

#[test]
fn forced_open_admits_nothing_until_it_ends() {
    let breaker = Breaker::new(settings(), 1);
    let word = Override { mode: Mode::ForcedOpen, reason: "key rotation".to_owned(), until: Instant::from_millis(10) };
    breaker.set_override(Some(word.clone()));
    let refusal = breaker.admit(Instant::from_millis(9)).unwrap_err();
    assert_eq!(refusal, Refusal { until: Instant::from_millis(10), cause: Cause::Forced });
    assert_eq!(breaker.current_override(Instant::from_millis(9)), Some(word));
    assert!(breaker.admit(Instant::from_millis(10)).is_ok());
    assert_eq!(breaker.current_override(Instant::from_millis(10)), None);
}

#[test]
fn forced_closed_admits_everything_and_proves_nothing() {
    let breaker = Breaker::new(settings(), 1);
    let now = Instant::from_millis(0);
    let word = Override { mode: Mode::ForcedClosed, reason: "drill".to_owned(), until: Instant::FAR_FUTURE };
    breaker.set_override(Some(word));
    for _ in 0..10 {
        let permit = breaker.admit(now).unwrap();
        assert_eq!(breaker.record(permit, Outcome::Failure, None, now), None);
    }
    breaker.set_override(None);
    assert_eq!(breaker.state(now), State::Closed);
}

#[test]
fn shadow_refuses_nobody_and_decides_as_ever() {
    let shadow = Breaker::new(settings(), 1);
    let word = Override { mode: Mode::Shadow, reason: "trial".to_owned(), until: Instant::FAR_FUTURE };
    shadow.set_override(Some(word));
    let enforcing = Breaker::new(settings(), 1);
    let mut now = Instant::from_millis(0);
    for (step, outcome) in [Outcome::Failure, Outcome::Failure, Outcome::Success].iter().cycle().take(60).enumerate() {
        now = now + Duration::from_millis(300 + 10 * step as u64);
        let permit = shadow.admit(now).expect("shadow refuses nobody");
        shadow.record(permit, *outcome, None, now);
        if let Ok(permit) = enforcing.admit(now) {
            enforcing.record(permit, *outcome, None, now);
        }
        assert_eq!(shadow.state(now), enforcing.state(now), "step {step}");
    }
    assert!(enforcing.generation() > 2, "the script must trip it more than once");
}

#[test]
fn a_panic_permit_changes_nothing() {
    let breaker = Breaker::new(settings(), 1);
    let now = Instant::from_millis(0);
    for _ in 0..10 {
        assert_eq!(breaker.record(breaker.admit_in_panic(), Outcome::Failure, None, now), None);
    }
    assert_eq!(breaker.state(now), State::Closed);
}

#[test]
fn a_clock_that_jumps_harms_nothing() {
    let breaker = Breaker::new(settings(), 1);
    let years = Duration::from_secs(10 * 365 * 24 * 3600);
    let start = Instant::from_millis(0) + years;
    for now in [start, start - years, start + years, Instant::FAR_FUTURE, start] {
        for outcome in [Outcome::Failure, Outcome::Failure, Outcome::Success] {
            if let Ok(permit) = breaker.admit(now) {
                breaker.record(permit, outcome, None, now);
            }
        }
    }
    // However it got here, once the bounded cooldown has passed it probes again.
    let later = start + Duration::from_secs(60);
    assert!(breaker.admit(later).is_ok() || breaker.state(later) == State::HalfOpen);
}

mod model {
    //! The breaker against a naive model that keeps every outcome and recomputes.

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Pass(u64),
        Start,
        Begin(usize),
        End(usize, Outcome),
    }

    fn event() -> impl Strategy<Value = Event> {
        let outcome = prop_oneof![
            3 => Just(Outcome::Success), 4 => Just(Outcome::Failure),
            1 => Just(Outcome::Degraded), 1 => Just(Outcome::Neutral),
        ];
        prop_oneof![
            2 => (1u64..4_000).prop_map(Event::Pass),
            4 => Just(Event::Start),
            1 => any::<usize>().prop_map(Event::Begin),
            4 => (any::<usize>(), outcome).prop_map(|(which, outcome)| Event::End(which, outcome)),
        ]
    }

    /// Closed attempts of this generation with their outcomes, oldest first.
    #[derive(Default)]
    struct Model {
        outcomes: Vec<(u64, Outcome)>,
    }

    impl Model {
        fn should_trip(&self, settings: &Settings, now: u64) -> bool {
            // The window's own buckets: 16 slots, rounded up to a power of two of nanoseconds.
            let width = (settings.window.as_nanos() as u64).div_ceil(16).next_power_of_two();
            let buckets = (settings.window.as_nanos() as u64).div_ceil(width);
            let bucket = |millis: u64| millis * 1_000_000 / width;
            let counted = |outcome: &Outcome| *outcome != Outcome::Neutral;
            let run = self
                .outcomes
                .iter()
                .rev()
                .filter(|(_, outcome)| counted(outcome) && *outcome != Outcome::Degraded)
                .take_while(|(_, outcome)| *outcome == Outcome::Failure)
                .count();
            let recent =
                self.outcomes.iter().filter(|(at, outcome)| counted(outcome) && bucket(now) - bucket(*at) < buckets);
            let total = recent.clone().count();
            let bad = recent.filter(|(_, outcome)| *outcome != Outcome::Success).count();
            run >= settings.failures as usize
                || total >= settings.floor as usize && bad as f64 / total as f64 >= settings.ratio
        }
    }

    proptest! {
        #[test]
        fn trips_exactly_when_the_naive_model_trips(events in proptest::collection::vec(event(), 0..300)) {
            let settings = Settings { failures: 4, floor: 6, window: Duration::from_secs(20), ..settings() };
            let breaker = Breaker::new(settings, 9);
            let mut now = 1;
            let mut model = Model::default();
            let mut running: Vec<(Permit, u64)> = Vec::new();
            for event in events {
                let at = |millis| Instant::from_millis(millis);
                let before = breaker.state(at(now));
                match event {
                    Event::Pass(millis) => now += millis,
                    Event::Start => match breaker.admit(at(now)) {
                        Ok(permit) => {
                            prop_assert!(!matches!(before, State::Open { .. }), "an open breaker admits nothing");
                            running.push((permit, breaker.generation()));
                        }
                        Err(refusal) => {
                            prop_assert!(before != State::Closed);
                            prop_assert!(refusal.until > at(now), "a refusal says when asking again may help");
                        }
                    },
                    Event::Begin(which) if !running.is_empty() => {
                        let which = which % running.len();
                        let (permit, generation) = &mut running[which];
                        let (probed, fingerprint) = (permit.is_probe(), breaker.fingerprint());
                        if breaker.begun(permit, at(now)).is_some() {
                            prop_assert!(probed && breaker.state(at(now)) == State::Closed);
                            (model, *generation) = (Model::default(), breaker.generation());
                        } else {
                            prop_assert_eq!(breaker.fingerprint(), fingerprint, "it says nothing");
                        }
                    }
                    Event::End(which, outcome) if !running.is_empty() => {
                        let (permit, generation) = running.swap_remove(which % running.len());
                        let current = generation == breaker.generation();
                        let transition = breaker.record(permit, outcome, None, at(now));
                        if before == State::Closed && current && !permit.is_probe() {
                            model.outcomes.push((now, outcome));
                            let bad = matches!(outcome, Outcome::Failure | Outcome::Degraded);
                            let should = bad && model.should_trip(&settings, now);
                            prop_assert_eq!(transition.is_some(), should);
                        } else if !permit.is_probe() {
                            prop_assert_eq!(transition, None, "a straggler counts nowhere");
                        }
                        if let Some(transition) = transition {
                            model = Model::default();
                            let names = (transition.from.name(), transition.to.name());
                            let legal = [("closed", "open"), ("half_open", "open"), ("half_open", "closed")];
                            prop_assert!(legal.contains(&names), "{:?}", names);
                        }
                    }
                    Event::Begin(_) | Event::End(..) => {}
                }
                prop_assert!(breaker.probes_in_flight(at(now)) <= settings.probes as usize);
            }
        }
    }
}

#[test]
fn an_unhealthy_endpoint_is_refused_while_its_checks_say_so() {
    check("+u+..u+..u+..+", "ynnnn");
    check("u....+", "y");
    check("u...+.x..+", "nyn");
}

#[test]
fn a_healthy_endpoint_is_probed_at_once_and_only_if_its_checks_had_refused_it() {
    check("uh+++", "yyy");
    check("uhx+", "yn");
    check("xxh+", "yyn");
    check("h+", "y");
}

#[test]
fn checks_reopen_a_breaker_that_is_being_probed() {
    check("xx...?u+", "yyyn");
    let breaker = Breaker::new(settings(), 1);
    let (now, until) = (Instant::from_millis(1_000), Instant::from_millis(9_000));
    let transition = breaker.checked(Verdict::Unhealthy, until, now).unwrap();
    assert_eq!((transition.from, transition.to), (State::Closed, State::Open { until }));
    assert_eq!(transition.reason.to_string(), "the health checks fail");
    assert_eq!(breaker.checked(Verdict::Unhealthy, until, now), None, "said once");
}

#[test]
fn what_trips_in_one_replica_opens_in_the_other() {
    let breaker = Breaker::new(Settings { cooldown_max: Duration::from_secs(60), ..settings() }, 1);
    let at = Instant::from_millis;
    let permit = breaker.admit(at(0)).unwrap();
    let news = News::Opened { left: Duration::from_secs(10), trips: 2 };
    let transition = breaker.told(news, at(1_000)).expect("it opens");
    assert_eq!((transition.from, transition.reason), (State::Closed, Reason::Told));
    assert!(breaker.is_open(at(10_999)) && !breaker.is_open(at(12_001)), "as long as there, give or take a tenth");
    assert_eq!(breaker.trips(), 2);
    assert_eq!(breaker.record(permit, Outcome::Success, None, at(2_000)), None, "older results count nowhere");
    assert_eq!(breaker.told(news, at(2_000)), None, "it is open already");
    let closed = breaker.told(News::Closed, at(3_000)).expect("it closes");
    assert_eq!((closed.to, breaker.trips()), (State::Closed, 0));
    assert_eq!(breaker.told(News::Closed, at(3_000)), None);
    let forever = News::Opened { left: Duration::MAX, trips: u32::MAX };
    breaker.told(forever, at(4_000));
    assert!(!breaker.is_open(at(4_000 + 67_000)), "nobody's word opens it for longer than it could itself");
}

#[test]
fn own_probes_count_more_than_what_others_say() {
    let breaker = Breaker::new(settings(), 1);
    let at = |secs: u64| Instant::from_millis(secs * 1000);
    let news = News::Opened { left: Duration::from_secs(1), trips: 1 };
    assert!(breaker.told(news, at(0)).is_some());
    let mut closed = None;
    for second in 2..20 {
        let probe = breaker.admit(at(second)).unwrap();
        closed = closed.or(breaker.record(probe, Outcome::Success, None, at(second)));
    }
    assert_eq!(closed.map(|closed| closed.reason), Some(Reason::ProbesSucceeded));
    assert_eq!(breaker.told(news, at(20)), None, "the other's way there may be broken");
    assert!(breaker.told(news, at(90)).is_some(), "a minute later it listens again");
}

proptest::proptest! {
    /// Whatever is told and done in any order: an open breaker opens for no longer than it may, and comes back.
    #[test]
    fn news_never_shut_an_endpoint_for_good(steps in proptest::collection::vec((0u64..20_000, 0u8..5, 0u64..1_000_000), 0..100)) {
        let breaker = Breaker::new(settings(), 1);
        let longest = settings().cooldown_max.mul_f64(1.1).max(settings().lease);
        let mut now = Instant::ORIGIN;
        for (pause, step, left) in steps {
            now = now + Duration::from_millis(pause);
            match step {
                0 => _ = breaker.told(News::Opened { left: Duration::from_millis(left), trips: 3 }, now),
                1 => _ = breaker.told(News::Closed, now),
                step => {
                    if let Ok(permit) = breaker.admit(now) {
                        let outcome = if step == 2 { Outcome::Failure } else { Outcome::Success };
                        breaker.record(permit, outcome, None, now);
                    }
                }
            }
            let rested = now + longest + Duration::from_millis(1);
            proptest::prop_assert!(!breaker.is_open(rested), "{:?}", breaker.state(rested));
        }
    }
}

#[test]
fn a_probe_is_in_flight_until_its_lease_ends_and_young_only_at_first() {
    let settings = settings();
    let breaker = Breaker::new(settings, 1);
    let mut now = Instant::from_millis(1_000);
    assert_eq!((breaker.probes_in_flight(now), breaker.has_young_probe(now)), (0, false), "closed");
    while let Ok(permit) = breaker.admit(now) {
        breaker.record(permit, Outcome::Failure, None, now);
    }
    let State::Open { until } = breaker.state(now) else { panic!("it tripped") };
    now = until;
    assert!(breaker.admit(now).unwrap().is_probe());
    assert_eq!((breaker.probes_in_flight(now), breaker.has_young_probe(now)), (1, true));
    let ends = now + settings.lease;
    let just_before = now + (settings.lease - Duration::from_nanos(1));
    assert_eq!(breaker.probes_in_flight(just_before), 1);
    assert_eq!((breaker.probes_in_flight(ends), breaker.has_young_probe(ends)), (0, false));
}

#[test]
fn a_fingerprint_tells_two_states_apart() {
    let breaker = Breaker::new(settings(), 1);
    let now = Instant::from_millis(1_000);
    let before = breaker.fingerprint();
    assert_eq!(before, breaker.fingerprint(), "nothing happened in between");
    let permit = breaker.admit(now).unwrap();
    assert!(!permit.is_probe());
    breaker.record(permit, Outcome::Failure, None, now);
    assert_ne!(before, breaker.fingerprint());
}
