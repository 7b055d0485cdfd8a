//! Budgets alone, and several replicas with one budget between them.

use proptest::prelude::*;

use super::*;

#[test]
fn reservations_count_before_they_are_spent() {
    let budget = SpendBudget::new(Some(100));
    assert!(budget.reserve(60));
    assert!(!budget.reserve(50), "60 held and 50 more would be over the limit");
    assert!(budget.reserve(40));
    budget.settle(60, 10);
    assert!(budget.reserve(50));
    assert_eq!(budget.ledger(), Ledger { settled_usd_micros: 10, reserved_usd_micros: 90, period: 0 });
}

#[test]
fn a_new_period_forgets_what_was_spent_and_keeps_what_is_held() {
    let budget = SpendBudget::new(Some(100));
    assert_eq!(budget.limit_usd_micros(), Some(100));
    assert!(budget.reserve(30));
    budget.settle(0, 50);
    budget.roll(2);
    let rolled = Ledger { settled_usd_micros: 0, reserved_usd_micros: 30, period: 2 };
    assert_eq!(budget.ledger(), rolled);
    budget.settle(0, 40);
    budget.roll(2);
    budget.roll(1);
    let kept = Ledger { settled_usd_micros: 40, ..rolled };
    assert_eq!(budget.ledger(), kept, "neither the same period again nor an earlier one forgets anything");
}

#[test]
fn without_a_limit_nothing_is_refused_but_the_impossible() {
    let budget = SpendBudget::new(None);
    assert!(budget.reserve(u64::MAX));
    assert!(!budget.reserve(1));
    assert!(!budget.is_limited());
}

proptest! {
    #[test]
    fn settled_and_reserved_never_pass_the_limit(
        limit in 0u64..10_000, calls in proptest::collection::vec((0u64..500, 0u64..=100, any::<bool>()), 0..200),
    ) {
        let budget = SpendBudget::new(Some(limit));
        let mut held = Vec::new();
        for (amount, percent, settle_one) in calls {
            if budget.reserve(amount) {
                held.push(amount);
            }
            if settle_one && let Some(amount) = held.pop() {
                budget.settle(amount, amount * percent / 100);
            }
            let ledger = budget.ledger();
            prop_assert!(ledger.settled_usd_micros + ledger.reserved_usd_micros <= limit);
            prop_assert_eq!(ledger.reserved_usd_micros, held.iter().sum::<u64>());
        }
    }
}

/// Keeps the books of all replicas, as the script in Redis does.
struct Bank {
    limit: u64,
    parts: [u64; 3],
    committed: [u64; 3],
    numbers: [u64; 3],
    is_tight: bool,
}

impl Bank {
    fn new(limit: u64) -> Self {
        Self { limit, parts: [0; 3], committed: [0; 3], numbers: [0; 3], is_tight: false }
    }

    fn settle(&mut self, who: usize, number: u64, report: &SpendReport) -> Option<Allotment> {
        if number <= self.numbers[who] {
            return None;
        }
        self.numbers[who] = number;
        let others: u64 = self.parts.iter().sum::<u64>() - self.parts[who];
        let SpendReport { committed_usd_micros: committed, needed_usd_micros: needed, .. } = *report;
        let free = self.limit.saturating_sub(others + committed);
        let short = needed.saturating_sub(committed);
        self.is_tight = short > free;
        let ahead = if self.is_tight || report.is_idle { 0 } else { (free - short) / 3 };
        let part = committed + short.min(free) + ahead;
        self.parts[who] = part.max(report.allotted_usd_micros);
        self.committed[who] = committed;
        let spent: u64 = self.committed.iter().sum();
        Some(Allotment { allotted_usd_micros: part, others_usd_micros: spent - committed })
    }
}

/// One call, and what becomes of the comparing of books that may go with it.
#[derive(Clone, Debug)]
struct Step {
    who: usize,
    amount: u64,
    percent: u64,
    settles: bool,
    compares: bool,
    /// 0: the round is lost. 1: its answer is. 2: it is given up and comes after a later one. Else all is well.
    wire: u8,
}

fn any_step() -> impl Strategy<Value = Step> {
    let calls = (0usize..3, 0u64..500, 0u64..=100);
    (calls, any::<bool>(), any::<bool>(), 0u8..8).prop_map(|((who, amount, percent), settles, compares, wire)| Step {
        who,
        amount,
        percent,
        settles,
        compares,
        wire,
    })
}

proptest! {
    /// Whoever reserves where and whenever the books are compared, and whatever becomes of that: together they keep
    /// the limit.
    #[test]
    fn replicas_keep_a_budget_together(limit in 100u64..10_000, steps in proptest::collection::vec(any_step(), 0..300)) {
        let budgets: Vec<SpendBudget> = (0..3).map(|_| SpendBudget::new(Some(limit))).collect();
        let mut bank = Bank::new(limit);
        let mut number = 0;
        let mut late: [Option<(u64, SpendReport)>; 3] = [None; 3];
        let mut compare = |who: usize, wire: u8| {
            let Some(report) = budgets[who].report(false) else { return };
            number += 1;
            let answer = match wire {
                0 => None,
                1 => bank.settle(who, number, &report).and(None),
                2 => {
                    late[who] = Some((number, report));
                    None
                }
                _ => bank.settle(who, number, &report),
            };
            match answer {
                Some(allotment) => {
                    budgets[who].told(&report, &allotment);
                    if let Some((number, report)) = late[who].take() {
                        assert!(bank.settle(who, number, &report).is_none(), "what comes late is not heard");
                    }
                }
                None => budgets[who].on_its_own(3),
            }
        };
        (0..3).for_each(|who| compare(who, 9));
        let mut held: [Vec<u64>; 3] = Default::default();
        let mut served = 0;
        for Step { who, amount, percent, settles, compares, wire } in steps {
            if budgets[who].lacks(amount) {
                compare(who, wire);
            }
            if budgets[who].reserve(amount) {
                held[who].push(amount);
                served += 1;
            }
            if settles && let Some(amount) = held[who].pop() {
                budgets[who].settle(amount, amount * percent / 100);
            }
            if compares {
                (0..3).for_each(|who| compare(who, wire));
            }
            let total: u64 = budgets.iter().map(|budget| budget.ledger().committed()).sum();
            prop_assert!(total <= limit, "{total} of {limit}");
        }
        prop_assert!(served > 0 || held.iter().all(Vec::is_empty));
    }
}

#[test]
fn a_replica_that_has_nothing_asks_and_gets() {
    let (one, other) = (SpendBudget::new(Some(100)), SpendBudget::new(Some(100)));
    let mut bank = Bank::new(100);
    let mut number = 0;
    let mut ask = |who: usize, budget: &SpendBudget, amount| {
        assert!(budget.lacks(amount));
        let report = budget.report(false).unwrap();
        number += 1;
        budget.told(&report, &bank.settle(who, number, &report).unwrap());
        budget.reserve(amount)
    };
    one.share();
    other.share();
    assert!(one.is_unheard_of());
    assert!(ask(0, &one, 60) && !one.is_unheard_of());
    assert!(!ask(1, &other, 50), "less than 40 are left");
    assert!(!other.lacks(50), "asking again at once would bring the same answer");
    one.settle(60, 10);
    let report = one.report(false).unwrap();
    assert_eq!(report.committed_usd_micros, 10);
}

#[test]
fn who_is_not_answered_the_first_time_has_an_equal_part_until_it_is() {
    let budget = SpendBudget::new(Some(100));
    budget.share();
    assert!(!budget.reserve(1));
    budget.advance(4);
    assert!(budget.reserve(25) && !budget.reserve(1));
    let report = budget.report(false).unwrap();
    assert_eq!((report.committed_usd_micros, report.allotted_usd_micros), (25, 25), "what it took is told");
    budget.told(&report, &Allotment { allotted_usd_micros: 30, others_usd_micros: 60 });
    budget.advance(1);
    assert!(budget.reserve(5) && !budget.reserve(1), "who was told of its part has that");
}

#[test]
fn what_others_may_have_been_given_is_not_spent_when_nobody_answers() {
    let budget = SpendBudget::new(Some(100));
    let report = budget.report(false).unwrap();
    budget.told(&report, &Allotment { allotted_usd_micros: 10, others_usd_micros: 60 });
    assert_eq!(budget.total_usd_micros(), 60);
    budget.on_its_own(4);
    budget.on_its_own(4);
    assert!(budget.reserve(10) && !budget.reserve(1), "what it had, and nothing more");
    assert_eq!(budget.total_usd_micros(), 70);
    budget.settle(10, 10);
    budget.roll(1);
    assert!(budget.reserve(25), "a new day: an equal part");
    assert!(!budget.reserve(1));
}

#[test]
fn a_new_day_is_asked_for_where_somebody_can_be_asked() {
    let budget = SpendBudget::new(Some(100));
    let report = budget.report(false).unwrap();
    budget.told(&report, &Allotment { allotted_usd_micros: 50, others_usd_micros: 0 });
    budget.roll(1);
    assert!(budget.lacks(1) && !budget.reserve(1));
    budget.told(&report, &Allotment { allotted_usd_micros: 50, others_usd_micros: 0 });
    assert!(!budget.reserve(1), "that was about the day before");
}

#[test]
fn one_that_was_never_told_of_a_part_has_an_equal_one_or_everything() {
    let (alone, of_two) = (SpendBudget::new(Some(100)), SpendBudget::new(Some(100)));
    for (budget, replicas) in [(&alone, 1), (&of_two, 2)] {
        budget.share();
        assert!(!budget.reserve(1));
        budget.on_its_own(replicas);
    }
    assert!(alone.reserve(100));
    assert!(of_two.reserve(50) && !of_two.reserve(1));
    assert_eq!(of_two.report(false).map(|report| report.allotted_usd_micros), Some(50), "whoever listens hears it");
}

#[test]
fn who_has_nobody_to_ask_spends_while_it_tries_to() {
    let budget = SpendBudget::new(Some(100));
    assert!(budget.reserve(10));
    let report = budget.report(false).expect("it tries");
    assert_eq!((report.committed_usd_micros, report.allotted_usd_micros), (10, 10));
    assert!(budget.reserve(80), "it is alone until it is told");
    budget.on_its_own(1);
    assert!(budget.reserve(10) && !budget.reserve(1));
}

#[test]
fn who_stops_or_does_nothing_keeps_what_is_committed() {
    let budget = SpendBudget::new(Some(100));
    let report = budget.report(false).unwrap();
    budget.told(&report, &Allotment { allotted_usd_micros: 50, others_usd_micros: 0 });
    assert!(budget.reserve(20));
    let idle = budget.report(true).unwrap();
    assert_eq!((idle.allotted_usd_micros, idle.is_idle), (20, true));
    budget.told(&idle, &Allotment { allotted_usd_micros: 20, others_usd_micros: 0 });
    assert_eq!(budget.report(true), None, "that is known");
    budget.told(&report, &Allotment { allotted_usd_micros: 50, others_usd_micros: 0 });
    budget.let_go();
    assert!(!budget.reserve(1));
}

#[test]
fn another_limit_counts_calls_that_are_under_way() {
    let budget = SpendBudget::new(Some(100));
    assert!(budget.reserve(60) && !budget.reserve(60));
    budget.set_limit(Some(150));
    assert!(budget.reserve(60));
    budget.settle(60, 10);
    assert_eq!(budget.ledger().committed(), 70);
    budget.set_limit(Some(50));
    assert!(!budget.reserve(1));
    budget.set_limit(None);
    assert!(!budget.is_limited() && budget.reserve(1_000_000));
}

#[test]
fn whoever_is_quiet_asks_now_and_then_what_others_have_spent() {
    let budget = SpendBudget::new(Some(100));
    let first = budget.report(false).expect("nobody has told it anything");
    budget.told(&first, &Allotment { allotted_usd_micros: 50, others_usd_micros: 0 });
    let confirmed = budget.report(false);
    assert_eq!(confirmed, None, "nothing to say");
    assert!((0..20).any(|_| budget.report(false).is_some()), "it asks, for others may lack what it has");
}

#[test]
fn a_budget_without_a_limit_has_nothing_to_share() {
    let budget = SpendBudget::new(None);
    budget.share();
    assert!(!budget.lacks(1_000_000) && budget.reserve(1_000_000) && budget.report(false).is_none());
}

fn tell(budget: &SpendBudget, allotted_usd_micros: u64, others_usd_micros: u64) {
    let report = budget.report(false).expect("something to say");
    budget.told(&report, &Allotment { allotted_usd_micros, others_usd_micros });
}

#[test]
fn of_a_new_period_nothing_is_known_and_nothing_need_be_said() {
    let budget = SpendBudget::new(Some(100));
    budget.settle(0, 10);
    budget.share();
    tell(&budget, 30, 50);
    assert_eq!(budget.total_usd_micros(), 60);
    budget.roll(1);
    assert_eq!((budget.total_usd_micros(), budget.report(false)), (0, None));
}

#[test]
fn what_was_committed_before_a_budget_is_shared_is_its_part() {
    let budget = SpendBudget::new(Some(100));
    assert!(budget.reserve(40));
    budget.share();
    budget.settle(40, 10);
    assert!(budget.would_fit(30) && !budget.would_fit(31));
}

#[test]
fn who_has_nothing_to_say_asks_at_every_tenth_turn() {
    let budget = SpendBudget::new(Some(100));
    budget.share();
    tell(&budget, 30, 0);
    let asked: Vec<bool> = (0..10).map(|_| budget.report(false).is_some()).collect();
    assert_eq!(asked, [[false; 9].as_slice(), &[true]].concat());
}

#[test]
fn asking_for_more_is_in_vain_only_where_less_came_than_was_needed() {
    for (allotted, in_vain) in [(40, false), (39, true)] {
        let budget = SpendBudget::new(Some(100));
        budget.share();
        assert!(budget.lacks(40));
        tell(&budget, allotted, 0);
        assert_eq!(budget.lacks(41), !in_vain);
    }
}

#[test]
fn who_was_told_nothing_and_has_nobody_to_ask_has_an_equal_part_in_every_period() {
    let budget = SpendBudget::new(Some(100));
    budget.share();
    assert!(budget.is_unheard_of());
    budget.on_its_own(2);
    assert!(!budget.is_unheard_of());
    for period in 1..3 {
        assert!(budget.would_fit(50) && !budget.would_fit(51));
        budget.settle(0, 50);
        budget.roll(period);
    }
    let alone = SpendBudget::new(Some(100));
    alone.share();
    alone.on_its_own(1);
    assert!(alone.would_fit(100) && !alone.lacks(101), "nobody else has any of it");
}
