//! The moments at which one thing ends and the next begins, and what is told of a limit in between.

use super::*;

/// How many of many requests may start then.
fn starts(rate: &RateLimit, now: Instant) -> usize {
    (0..99).filter(|_| rate.take(now).is_ok()).count()
}

#[test]
fn what_was_held_when_nobody_answered_any_more_is_kept_to_the_moment() {
    let rate = RateLimit::per_minute(9);
    rate.told(&Report::default(), &slice(2, 0), at(0), at(0));
    rate.on_its_own(at(10_000));
    let minute = Duration::from_secs(61);
    assert_eq!(rate.look(at(10_000)), Standing { limit: 9, remaining: 2, reset: minute, wait: Duration::ZERO });
    assert!(rate.take(at(64_999)).is_ok());
    let refused = reached(rate.take(at(65_000)));
    assert_eq!(refused.wait, Duration::from_secs(6), "it may be others' now; at 71 s there is a share");
    assert_eq!(starts(&rate, at(70_999)), 0);
    assert_eq!(rate.look(at(71_000)).reset, Duration::from_secs(54), "the one that started leaves at 125 s");
    assert_eq!(starts(&rate, at(71_000)), 2, "a third of the limit, less what started");
}

#[test]
fn what_is_given_back_may_be_started_though_there_is_nobody_to_ask() {
    let rate = RateLimit::per_minute(9);
    rate.told(&Report::default(), &slice(2, 0), at(0), at(0));
    rate.on_its_own(at(5));
    assert!(rate.take(at(10)).is_ok());
    rate.give_back(at(10), at(20));
    assert_eq!(starts(&rate, at(30)), 2);
}

#[test]
fn who_told_what_it_may_start_by_itself_holds_that_for_a_minute() {
    let rate = RateLimit::per_minute(10);
    rate.share(2, at(0));
    rate.on_its_own(at(250));
    (0..3).for_each(|_| _ = rate.take(at(310)).unwrap());
    let report = rate.report(at(30_000)).unwrap();
    assert_eq!((report.used, report.held), (3, 2));
    rate.registered(&report, at(30_000), at(30_010));
    assert_eq!(starts(&rate, at(30_020)), 2);
    assert_eq!(starts(&rate, at(91_009)), 0, "others were given the rest of it");
    assert_eq!(starts(&rate, at(91_010)), 5);
}

#[test]
fn who_forgot_what_it_was_told_is_told_again() {
    let rate = RateLimit::per_minute(10);
    rate.told(&Report::default(), &slice(4, 6), at(0), at(0));
    (0..3).for_each(|_| _ = rate.take(at(10)).unwrap());
    let report = rate.report(at(20)).unwrap();
    rate.told(&report, &slice(1, 6), at(20), at(30));
    rate.forgotten(at(40));
    assert_eq!(rate.report(at(50)).map(|report| (report.used, report.held)), Some((3, 1)));
}

#[test]
fn what_nobody_has_heard_of_is_told_even_where_nothing_else_is_new() {
    let rate = RateLimit::per_minute(100);
    rate.told(&Report::default(), &slice(5, 0), at(0), at(0));
    assert_eq!(rate.report(at(5)), None);
    assert!(rate.take(at(10)).is_ok());
    let report = rate.report(at(20)).unwrap();
    assert!(rate.take(at(30)).is_ok());
    rate.told(&report, &slice(5, 0), at(20), at(40));
    assert_eq!(rate.report(at(50)), Some(Report { used: 1, held: 4, short: 0, idle: false }));
}

#[test]
fn who_holds_nothing_and_may_ask_lacks_something_and_says_so() {
    let alone = RateLimit::per_minute(1);
    assert!(alone.take(at(0)).is_ok() && !alone.lacks(at(0)), "there is nobody to ask");
    let rate = RateLimit::per_minute(10);
    rate.told(&Report::default(), &slice(1, 0), at(0), at(0));
    assert!(!rate.lacks(at(10)));
    rate.told(&Report::default(), &slice(0, 0), at(20), at(20));
    assert!(rate.lacks(at(30)));
    assert_eq!(rate.report(at(40)), Some(Report { used: 0, held: 0, short: 1, idle: false }));
    rate.told(&Report::default(), &Slice { wait: Duration::from_secs(20), ..slice(0, 0) }, at(50), at(50));
    assert!(!rate.lacks(at(60)), "the answer would be the same");
    assert_eq!(rate.report(at(70)), None);
}

#[test]
fn who_may_not_start_is_told_to_come_again_though_others_hold_something() {
    let rate = RateLimit::per_minute(10);
    rate.told(&Report::default(), &slice(0, 7), at(0), at(0));
    assert_eq!(rate.look(at(10)).remaining, 7);
    let refused = Standing { limit: 10, remaining: 0, reset: ASK_AGAIN, wait: ASK_AGAIN };
    assert_eq!(rate.take_unasked(at(10)), Err(refused));
}

#[test]
fn who_holds_something_need_not_wait_for_more() {
    let rate = RateLimit::per_minute(10);
    rate.told(&Report::default(), &Slice { wait: Duration::from_secs(20), ..slice(1, 0) }, at(0), at(0));
    assert_eq!(rate.look(at(10)).wait, Duration::ZERO);
    rate.take(at(10)).unwrap();
    assert_eq!(rate.look(at(10)).wait, Duration::from_millis(19_990));
}
