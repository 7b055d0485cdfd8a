//! A limit against a list of everything that started, and several replicas against one limit.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::time::Timestamp;

mod edges;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn reached(refusal: Result<Standing, Refusal>) -> Standing {
    match refusal {
        Err(Refusal::Reached(standing)) => standing,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_limit_is_used_up_and_says_when_it_is_there_again() {
    let limit = RateLimit::per_minute(3);
    assert_eq!(limit.look(at(0)), Standing { limit: 3, remaining: 3, reset: Duration::ZERO, wait: Duration::ZERO });
    for (remaining, millis) in [(2, 500), (1, 500), (0, 2_000)] {
        assert_eq!(limit.take(at(millis)).unwrap().remaining, remaining);
        assert_eq!(limit.look(at(millis)).wait.is_zero(), remaining > 0);
    }
    let refused = reached(limit.take(at(2_000)));
    assert_eq!((refused.remaining, refused.wait), (0, Duration::from_secs(59)), "the first two leave at 61 s");
    assert_eq!(refused.reset, Duration::from_secs(61), "the last one leaves at 63 s");
    assert_eq!(limit.look(at(60_999)).remaining, 0);
    assert_eq!(limit.look(at(61_000)).remaining, 2, "sixty seconds after they started");
    assert_eq!(limit.look(at(63_000)).remaining, 3);
}

#[test]
fn what_did_not_start_is_given_back_once() {
    let limit = RateLimit::per_minute(1);
    limit.take(at(0)).unwrap();
    reached(limit.take(at(10)));
    limit.give_back(at(0), at(20));
    limit.give_back(at(0), at(20));
    assert_eq!(limit.look(at(20)).remaining, 1);
    limit.take(at(30_000)).unwrap();
    limit.give_back(at(0), at(30_000));
    reached(limit.take(at(30_000)));
}

#[test]
fn a_clock_that_jumps_harms_nothing() {
    let limit = RateLimit::per_minute(2);
    limit.take(at(100_000)).unwrap();
    limit.take(at(50_000)).unwrap();
    reached(limit.take(at(0)));
    assert_eq!(limit.look(Instant::FAR_FUTURE).remaining, 2);
    reached(RateLimit::per_minute(1).take(at(0)).and_then(|_| Err(Refusal::Reached(limit.look(at(0))))));
}

#[test]
fn an_agent_that_is_refused_takes_nothing_from_its_project() {
    let rates = Rates::per_minute(Some(3), Some(2));
    assert!(rates.take("a", at(0)).is_ok() && rates.take("a", at(0)).is_ok());
    assert_eq!(rates.take("a", at(0)).unwrap_err().whose, Whose::Agent);
    assert_eq!(rates.take("b", at(0)).unwrap().unwrap().remaining, 0, "the project's is the tighter one");
    assert_eq!(rates.take("b", at(0)).unwrap_err().whose, Whose::Project);
    let left: HashMap<Arc<str>, u32> =
        rates.agents().into_iter().map(|(name, limit)| (name, limit.look(at(0)).remaining)).collect();
    assert_eq!((left["a"], left["b"]), (0, 1), "what the project refused was not counted");
    rates.give_back("b", at(0), at(0));
    assert!(rates.take("b", at(0)).is_ok());
}

#[test]
fn a_project_without_limits_is_never_refused() {
    let rates = Rates::default();
    assert!(!rates.is_limited());
    assert_eq!(rates.take("a", at(0)), Ok(None));
    assert!(rates.agents().is_empty());
}

#[test]
fn agents_whose_names_never_end_are_bounded_and_still_limited() {
    let rates = Rates::per_minute(None, Some(1));
    for name in 0..5_000 {
        _ = rates.take(&name.to_string(), at(0));
    }
    assert!(rates.agents().len() <= 4_097);
    assert!(rates.take("one more", at(0)).is_err(), "those who cannot be told apart share one limit");
    assert!(rates.take("one more", at(70_000)).is_ok());
    assert_eq!(rates.agents().len(), 1, "a minute later all are forgotten");
}

#[test]
fn headers_of_all_families_are_read() {
    let now = Timestamp::from_millis(1_749_909_966_000);
    let read = |headers: &[(&str, &'static str)]| {
        seen(|name| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value), now)
    };
    let left =
        |limit, remaining, reset_ms: u64| Left { limit, remaining, reset: Some(Duration::from_millis(reset_ms)) };
    let openai = [
        ("x-ratelimit-limit-requests", "500"),
        ("x-ratelimit-remaining-requests", "499"),
        ("x-ratelimit-reset-requests", "120ms"),
        ("x-ratelimit-remaining-tokens", "-5"),
        ("x-ratelimit-reset-tokens", "6m0s"),
    ];
    let expected = Seen { requests: Some(left(Some(500), 499, 120)), tokens: Some(left(None, 0, 360_000)) };
    assert_eq!(read(&openai), Some(expected));
    let anthropic = [
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "2025-06-14T14:06:36Z"),
        ("anthropic-ratelimit-tokens-remaining", "5000"),
        ("anthropic-ratelimit-input-tokens-remaining", "4000"),
    ];
    let seen = read(&anthropic).unwrap();
    assert_eq!(seen.requests, Some(left(None, 0, 30_000)));
    assert_eq!(seen.tokens, Some(Left { limit: None, remaining: 4000, reset: None }));
    assert_eq!(read(&[("content-type", "text/plain"), ("x-ratelimit-limit-requests", "5")]), None);
    assert_eq!(read(&[("x-ratelimit-remaining", "soon")]), None);
}

#[test]
fn what_a_provider_says_is_believed_for_a_minute_at_most() {
    let learned = Learned::new();
    let left = |remaining, secs| Left { limit: None, remaining, reset: Some(Duration::from_secs(secs)) };
    learned.note(&Seen { requests: Some(left(3, 5)), tokens: Some(left(900, 5)) }, at(0));
    assert_eq!(learned.used_up_until(at(0)), None);
    learned.note(&Seen { requests: Some(left(0, 5)), tokens: None }, at(0));
    assert_eq!(learned.used_up_until(at(0)), Some(at(5_000)));
    learned.note(&Seen { requests: Some(left(2, 5)), tokens: Some(left(0, 86_400)) }, at(1_000));
    assert_eq!(learned.used_up_until(at(1_000)), Some(at(61_000)));
    assert_eq!(learned.seen(at(1_000)).requests, Some(left(2, 5)));
    assert_eq!(learned.seen(at(6_000)).requests, None, "its reset has passed");
    assert_eq!(learned.used_up_until(at(61_000)), None);
}

/// What hands out parts of one limit, as the script in Redis does.
struct Bank {
    limit: u32,
    /// What was started, and when that was heard of.
    started: Vec<(u64, u32)>,
    /// What each holds, when it said so, and what was heard of since it was last answered.
    replicas: [Part; 3],
    tight_until: u64,
}

#[derive(Clone, Copy, Default)]
struct Part {
    counted: u32,
    said: u64,
    number: u64,
    heard: u64,
    used: u32,
}

impl Bank {
    const KEPT_MS: u64 = 130_000;

    fn new(limit: u32) -> Self {
        Self { limit, started: Vec::new(), replicas: Default::default(), tight_until: 0 }
    }

    /// One round of one replica: which of its rounds it is, and which was the last it was answered.
    fn round(&mut self, who: usize, round: (u64, u64), report: &Report, now: u64) -> Option<Slice> {
        let (number, heard) = round;
        if number <= self.replicas[who].number {
            return None;
        }
        self.started.retain(|(then, _)| now / 1000 < then / 1000 + SPAN_S + 1);
        let before = self.replicas[who];
        let known = if before.heard == heard { before.used } else { 0 };
        self.started.push((now, report.used.saturating_sub(known)));
        let total: u32 = self.started.iter().map(|(_, count)| count).sum();
        let kept = |part: &Part| now < part.said + Self::KEPT_MS;
        let others = self.replicas.iter().enumerate().filter(|(other, part)| *other != who && kept(part));
        let others: u32 = others.map(|(_, part)| part.counted).sum();
        let free = self.limit.saturating_sub(total + others);
        let mut held = report.short.min(free);
        if report.short > free {
            self.tight_until = now + 2_000;
        }
        if self.tight_until <= now && !report.idle {
            held += (free - held) / 3;
        }
        held = held.min((self.limit / 3).max(1));
        let counted = held.max(report.held);
        self.replicas[who] = Part { counted, said: now, number, heard, used: report.used.max(known) };
        let wait = Duration::from_millis(if held == 0 && free == 0 { 100 } else { 0 });
        let remaining = self.limit.saturating_sub(total + held);
        Some(Slice { held, remaining, wait, reset: Duration::from_secs(60), replicas: 3 })
    }
}

/// What becomes of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Answers,
    /// It is done, and nobody hears of it.
    LosesTheAnswer,
    /// Nobody does it.
    LosesTheRound,
    /// It is given up, and done after later ones.
    IsLate,
}

fn any_wire() -> impl Strategy<Value = Wire> {
    prop_oneof![
        6 => Just(Wire::Answers),
        1 => Just(Wire::LosesTheAnswer),
        1 => Just(Wire::LosesTheRound),
        1 => Just(Wire::IsLate),
    ]
}

/// A replica with what it has to do with its rounds.
struct Replica {
    limit: RateLimit,
    number: u64,
    heard: u64,
    /// A round that was given up and is still under way.
    late: Option<((u64, u64), Report)>,
}

impl Replica {
    /// One round, to which this happens; whether it was answered.
    fn round(&mut self, who: usize, bank: &mut Bank, wire: Wire, now: u64) {
        let Some(report) = self.limit.report(at(now)) else { return };
        self.number += 1;
        let round = (self.number, self.heard);
        let slice = match wire {
            Wire::Answers => bank.round(who, round, &report, now),
            Wire::LosesTheAnswer => bank.round(who, round, &report, now).and(None),
            Wire::LosesTheRound => None,
            Wire::IsLate => {
                self.late = Some((round, report));
                None
            }
        };
        match slice {
            Some(slice) => {
                self.heard = self.number;
                self.limit.told(&report, &slice, at(now), at(now));
            }
            None => self.limit.on_its_own(at(now)),
        }
        if wire == Wire::Answers
            && let Some((round, report)) = self.late.take()
        {
            assert!(bank.round(who, round, &report, now).is_none(), "what comes after a later one is not heard");
        }
    }
}

proptest! {
    /// The ring agrees with a list: never more than the limit within sixty seconds, and never a
    /// refusal where the last sixty-one held fewer.
    #[test]
    fn agrees_with_a_list_of_everything(limit in 1u32..20, steps in prop::collection::vec((0u64..9_000, any::<bool>()), 0..300)) {
        let rate = RateLimit::per_minute(limit);
        let mut started: Vec<u64> = Vec::new();
        let mut now = 0;
        for (pause, takes_back) in steps {
            now += pause;
            let within = |span: u64| started.iter().filter(|then| now < **then + span).count() as u32;
            match rate.take(at(now)) {
                Ok(standing) => {
                    prop_assert!(within(60_000) < limit);
                    started.push(now);
                    prop_assert!(standing.remaining < limit);
                    if takes_back {
                        rate.give_back(at(now), at(now));
                        started.pop();
                    }
                }
                Err(Refusal::Reached(standing)) => {
                    prop_assert!(within(61_000) >= limit);
                    prop_assert!(standing.wait > Duration::ZERO && standing.wait <= Duration::from_secs(61));
                    prop_assert!(standing.reset >= standing.wait);
                    let leaves = |then: &u64| (then / 1000 + 61) * 1000;
                    let first = started.iter().map(leaves).filter(|leaves| now < *leaves).min();
                    prop_assert_eq!(Some(at(now) + standing.wait), first.map(at), "when the first of them leaves");
                }
                Err(Refusal::Ask { .. }) => prop_assert!(false, "nobody shares it"),
            }
        }
    }

    /// Replicas that share a limit keep it together, whoever asks when, and whatever becomes of their rounds.
    #[test]
    fn replicas_keep_a_limit_together(
        limit in 3u32..60,
        steps in prop::collection::vec((0usize..3, 0u64..400, 1u32..8, any_wire()), 1..300),
    ) {
        let is_answered = steps.iter().all(|(_, _, _, wire)| *wire == Wire::Answers);
        let replica = || Replica { limit: RateLimit::per_minute(limit), number: 0, heard: 0, late: None };
        let mut replicas = [replica(), replica(), replica()];
        let mut bank = Bank::new(limit);
        for (who, replica) in replicas.iter_mut().enumerate() {
            replica.round(who, &mut bank, Wire::Answers, 0);
        }
        let mut started: Vec<u64> = Vec::new();
        let mut now = 1_000;
        for (who, pause, burst, wire) in steps {
            now += pause;
            for _ in 0..burst {
                if let Err(Refusal::Ask { .. }) = replicas[who].limit.take(at(now)).map(|_| started.push(now)) {
                    replicas[who].round(who, &mut bank, wire, now);
                    if replicas[who].limit.take_unasked(at(now)).is_ok() {
                        started.push(now);
                    }
                }
                let within = started.iter().filter(|then| now < **then + 60_000).count() as u32;
                prop_assert!(within <= limit, "{within} of {limit}");
            }
            if pause > 100 {
                for (who, replica) in replicas.iter_mut().enumerate() {
                    replica.round(who, &mut bank, wire, now);
                }
            }
        }
        prop_assert!(!started.is_empty() || !is_answered, "a limit that nobody used lets one through");
    }

    /// Without anybody to ask, each keeps to what it held, and a minute later to its share.
    #[test]
    fn a_replica_on_its_own_keeps_to_its_share(limit in 3u32..60, asks in 1usize..200) {
        let rate = RateLimit::per_minute(limit);
        rate.told(&Report::default(), &slice(limit / 3, 0), at(0), at(0));
        rate.on_its_own(at(5));
        let started = (0..asks).filter(|_| rate.take(at(10)).is_ok()).count();
        prop_assert_eq!(started, asks.min(limit as usize / 3));
        let report = rate.report(at(20)).expect("what was started without asking is told");
        prop_assert_eq!(report.used as usize, started);
        let later = (0..asks).filter(|_| rate.take(at(120_000)).is_ok()).count();
        prop_assert_eq!(later, asks.min(limit as usize / 3), "and so in every minute after");
    }
}

/// What one of three is told.
fn slice(held: u32, remaining: u32) -> Slice {
    Slice { held, remaining, wait: Duration::ZERO, reset: Duration::ZERO, replicas: 3 }
}

#[test]
fn who_is_not_answered_starts_nothing_that_others_may_have_been_given() {
    let mut bank = Bank::new(60);
    let one = RateLimit::per_minute(60);
    let report = one.report(at(0)).unwrap();
    let told = bank.round(0, (1, 0), &report, 0).unwrap();
    one.told(&report, &told, at(0), at(0));
    // Everything that it does not hold goes elsewhere, a moment later.
    let mut elsewhere = 0;
    for number in 1..100 {
        let report = Report { used: elsewhere, held: 0, short: 20, idle: false };
        elsewhere += bank.round(1, (number, 0), &report, 10).unwrap().held.min(20);
    }
    assert_eq!(told.held + elsewhere, 60);
    let started = (0..60).filter(|_| one.take_unasked(at(20)).is_ok()).count() as u32;
    assert!(started <= told.held, "{started}, and {elsewhere} elsewhere");
    one.on_its_own(at(300));
    let more = (0..60).filter(|_| one.take(at(310)).is_ok()).count() as u32;
    assert_eq!(started + more, told.held, "nor once it is known that nobody answers");
}

#[test]
fn a_replica_that_was_stopped_for_long_asks_before_it_goes_on() {
    let rate = RateLimit::per_minute(100);
    rate.told(&Report::default(), &slice(5, 0), at(0), at(1));
    assert!(rate.take(at(64_999)).is_ok());
    assert_eq!(rate.take(at(65_000)), Err(Refusal::Ask { is_first: false }), "it counts from when it was asked for");
    assert!(rate.take_unasked(at(65_000)).is_err(), "what it held may be others' now");
    let report = rate.report(at(65_001)).unwrap();
    assert_eq!((report.used, report.held, report.short), (1, 0, 2));
    rate.told(&report, &slice(1, 0), at(65_001), at(65_002));
    assert!(rate.take(at(65_100)).is_ok());
}

#[test]
fn what_started_while_the_answer_was_under_way_is_not_in_it() {
    let rate = RateLimit::per_minute(100);
    rate.told(&Report::default(), &slice(5, 0), at(0), at(0));
    assert!(rate.take(at(10)).is_ok());
    let report = rate.report(at(20)).unwrap();
    assert_eq!((report.used, report.held), (1, 4));
    assert!(rate.take(at(30)).is_ok() && rate.take(at(30)).is_ok());
    rate.told(&report, &slice(3, 0), at(20), at(40));
    assert!(rate.take(at(50)).is_ok());
    assert_eq!(rate.take_unasked(at(50)).map(|standing| standing.remaining).map_err(|_| ()), Err(()));
    let report = rate.report(at(60)).unwrap();
    assert_eq!((report.used, report.held), (3, 0));
}

#[test]
fn what_is_given_back_after_it_was_told_is_not_held_twice() {
    let rate = RateLimit::per_minute(100);
    rate.told(&Report::default(), &slice(1, 0), at(0), at(0));
    assert!(rate.take(at(10)).is_ok());
    let report = rate.report(at(20)).unwrap();
    rate.told(&report, &slice(0, 0), at(20), at(30));
    rate.give_back(at(10), at(40));
    assert!(rate.take_unasked(at(50)).is_err(), "it is counted as started");
    rate.told(&Report::default(), &slice(1, 0), at(60), at(60));
    assert!(rate.take(at(70)).is_ok());
    rate.give_back(at(70), at(80));
    assert!(rate.take(at(90)).is_ok(), "nobody had heard of it");
}

#[test]
fn who_has_nobody_to_ask_goes_on_while_it_tries_to() {
    let alone = RateLimit::per_minute(10);
    let report = alone.report(at(0)).expect("it tries");
    assert_eq!(report.held, 0);
    assert!(alone.take(at(10)).is_ok(), "it is alone until it is told");
    alone.on_its_own(at(250));
    alone.registered(&report, at(0), at(260));
    assert!(alone.take(at(270)).is_ok());
    let of_two = RateLimit::per_minute(10);
    of_two.share(2, at(0));
    of_two.on_its_own(at(250));
    assert_eq!(of_two.report(at(300)).map(|report| report.held), Some(5), "what it may start by itself");
    assert!(of_two.take(at(310)).is_ok());
}

#[test]
fn a_replica_that_stops_starts_nothing_more() {
    let rate = RateLimit::per_minute(100);
    rate.told(&Report::default(), &slice(5, 0), at(0), at(0));
    rate.let_go(at(10));
    assert_eq!(rate.report(at(10)).map(|report| report.held), Some(0));
    rate.on_its_own(at(20));
    assert!(rate.take(at(30)).is_err());
}

#[test]
fn nothing_left_is_believed_for_a_moment() {
    let rate = RateLimit::per_minute(2);
    let dry = Slice { wait: Duration::from_secs(20), reset: Duration::from_secs(60), ..slice(0, 0) };
    rate.told(&Report::default(), &dry, at(0), at(0));
    let refused = reached(rate.take(at(50)));
    assert_eq!((refused.remaining, refused.wait), (0, Duration::from_millis(19_950)));
    assert_eq!(refused.reset, Duration::from_millis(59_950));
    assert_eq!(rate.take(at(150)), Err(Refusal::Ask { is_first: false }), "another replica may have given some back");
}

#[test]
fn an_agent_that_is_new_to_replicas_that_share_is_asked_for() {
    let rates = Rates::per_minute(None, Some(4));
    rates.share(2);
    let refused = rates.take("a", at(0)).map_err(|refused| refused.refusal);
    assert_eq!(refused, Err(Refusal::Ask { is_first: true }));
    assert!(rates.take_unasked("a", at(0)).is_ok(), "nobody waits long for an answer");
    rates.agents()[0].1.on_its_own(at(1));
    assert_eq!((0..9).filter(|_| rates.take("a", at(2)).is_ok()).count(), 1, "half of it, should nobody answer");
    rates.on_its_own();
    assert_eq!((0..9).filter(|_| rates.take("b", at(0)).is_ok()).count(), 2);
}

#[test]
fn what_was_started_before_the_first_answer_is_told_and_counts() {
    let rates = Rates::per_minute(None, Some(9));
    rates.share(3);
    assert_eq!((0..9).filter(|_| rates.take_unasked("a", at(0)).is_ok()).count(), 3, "its share, and no more");
    let limit = &rates.agents()[0].1;
    let report = limit.report(at(1)).unwrap();
    assert_eq!((report.used, report.held), (3, 0));
    // One that started while the answer was under way is taken from what it brings.
    limit.give_back(at(0), at(1));
    assert!(rates.take_unasked("a", at(1)).is_ok());
    limit.told(&Report { used: 2, ..report }, &slice(4, 0), at(1), at(2));
    assert_eq!((0..9).filter(|_| rates.take_unasked("a", at(2)).is_ok()).count(), 3);
    assert!(limit.report(at(3)).is_some_and(|report| report.used == 4 && report.held == 0));
}

#[test]
fn an_agent_that_does_nothing_gives_back_what_it_holds_and_is_silent() {
    let rate = RateLimit::per_minute(10);
    rate.told(&Report::default(), &slice(3, 0), at(0), at(0));
    assert!(!rate.is_idle(at(1_000)), "it holds something");
    let report = rate.report(at(1_000)).unwrap();
    assert!(report.idle && report.held == 3);
    rate.told(&report, &slice(0, 10), at(1_000), at(1_000));
    assert!(!rate.is_idle(at(1_100)), "the others do not know yet that it holds nothing");
    let report = rate.report(at(1_100)).unwrap();
    assert_eq!((report.held, report.idle), (0, true));
    rate.told(&report, &slice(0, 10), at(1_100), at(1_100));
    assert!(rate.is_idle(at(1_200)) && rate.report(at(1_200)).is_none());
}

#[test]
fn who_forgot_everything_is_told_of_the_last_minute() {
    let rate = RateLimit::per_minute(10);
    rate.told(&Report::default(), &slice(4, 6), at(0), at(0));
    (0..3).for_each(|_| _ = rate.take(at(10)).unwrap());
    rate.forgotten(at(20));
    let report = rate.report(at(30)).unwrap();
    assert_eq!((report.used, report.held), (3, 1));
    assert!(rate.take(at(40)).is_ok());
    rate.registered(&report, at(30), at(50));
    assert!(rate.take(at(60)).is_err(), "what it said that it holds is all it has");
    assert_eq!(rate.report(at(70)).map(|report| (report.used, report.held)), Some((1, 0)));
}

#[test]
fn nothing_is_given_back_for_a_second_that_is_over_or_not_yet_there() {
    let rate = RateLimit::per_minute(1);
    rate.take(at(0)).unwrap();
    rate.give_back(at(61_000), at(0));
    reached(rate.take(at(0)));
    rate.take(at(61_000)).unwrap();
    rate.give_back(at(0), at(61_000));
    reached(rate.take(at(61_000)));
    rate.give_back(at(61_000), at(121_000));
    rate.take(at(121_000)).unwrap();
}

#[test]
fn the_limits_of_a_project_are_told_as_they_are() {
    let (project, agents) = (Rates::per_minute(Some(3), None), Rates::per_minute(None, Some(2)));
    assert!(project.is_limited() && agents.is_limited());
    assert_eq!((project.project().map(RateLimit::limit), agents.project().is_none()), (Some(3), true));
    assert_eq!((project.per_agent(), agents.per_agent()), (None, Some(2)));
    assert!(project.are(Some(3), None) && !project.are(Some(3), Some(2)) && !project.are(None, None));
    assert_eq!([Whose::Project, Whose::Agent].map(|whose| whose.to_string()), ["project", "agent"]);
    let standing = |limit| Standing { limit, remaining: 1, reset: Duration::ZERO, wait: Duration::ZERO };
    assert_eq!(standing(3).tighter(standing(2)), standing(3), "of two that leave as much room the first");
}

#[test]
fn what_a_provider_said_is_forgotten_when_it_serves_all_the_same() {
    let learned = Learned::default();
    let left = Left { limit: Some(9), remaining: 0, reset: None };
    learned.note(&Seen { requests: Some(left), tokens: None }, at(0));
    assert_eq!((learned.used_up_until(at(0)), learned.seen(at(0)).requests), (None, Some(left)));
    learned.note(&Seen { requests: None, tokens: Some(Left { reset: Some(Duration::from_secs(5)), ..left }) }, at(0));
    assert!(learned.used_up_until(at(0)).is_some());
    learned.forget();
    assert_eq!(learned.used_up_until(at(0)), None);
    let endless = Left { remaining: u64::MAX, ..left };
    learned.note(&Seen { requests: Some(endless), tokens: None }, at(0));
    assert!(learned.seen(at(0)).requests.is_some(), "as much as can be said is something that was said");
}
