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
}

impl Bank {
    fn settle(&mut self, who: usize, report: &SpendReport) -> Allotment {
        let others: u64 = self.parts.iter().sum::<u64>() - self.parts[who];
        let mine = self.parts[who];
        let free = self.limit.saturating_sub(others);
        let SpendReport { committed_usd_micros, needed_usd_micros, wanted_usd_micros, .. } = *report;
        let mut part = mine.min(wanted_usd_micros).max(committed_usd_micros);
        if wanted_usd_micros > mine {
            part = mine.max(committed_usd_micros);
            part = part.max(needed_usd_micros.min(free));
            let room = free.saturating_sub(part) / 6;
            part += wanted_usd_micros.saturating_sub(part).min(room);
        }
        self.parts[who] = part;
        Allotment { allotted_usd_micros: part, total_usd_micros: others + part, replicas: 3 }
    }
}

proptest! {
    /// Whoever reserves where and whenever the books are compared: together they keep the limit.
    #[test]
    fn replicas_keep_a_budget_together(
        limit in 100u64..10_000,
        calls in proptest::collection::vec((0usize..3, 0u64..500, 0u64..=100, any::<bool>(), any::<bool>()), 0..300),
    ) {
        let budgets: Vec<SpendBudget> = (0..3).map(|_| SpendBudget::new(Some(limit))).collect();
        budgets.iter().for_each(|budget| budget.share(3));
        let mut bank = Bank { limit, parts: [0; 3] };
        let mut compare = |who: usize| {
            if let Some(report) = budgets[who].report(true) {
                let allotment = bank.settle(who, &report);
                budgets[who].told(&report, &allotment);
            }
        };
        let mut held: [Vec<u64>; 3] = Default::default();
        let mut served = 0;
        for (who, amount, percent, settles, tick) in calls {
            if budgets[who].lacks(amount) {
                compare(who);
            }
            if budgets[who].reserve(amount) {
                held[who].push(amount);
                served += 1;
            }
            if settles && let Some(amount) = held[who].pop() {
                budgets[who].settle(amount, amount * percent / 100);
            }
            if tick {
                (0..3).for_each(&mut compare);
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
    let mut bank = Bank { limit: 100, parts: [0; 3] };
    let mut ask = |who: usize, budget: &SpendBudget, amount| {
        assert!(budget.lacks(amount));
        let report = budget.report(true).unwrap();
        budget.told(&report, &bank.settle(who, &report));
        budget.reserve(amount)
    };
    one.share(2);
    other.share(2);
    assert!(ask(0, &one, 60));
    assert!(!ask(1, &other, 50), "only 40 are left");
    assert!(!other.lacks(50), "asking again at once would bring the same answer");
    assert_eq!(other.total_usd_micros(), 60);
    one.settle(60, 10);
    let report = one.report(true).unwrap();
    assert_eq!(report.committed_usd_micros, 10);
}

#[test]
fn what_nobody_had_taken_is_divided_when_nobody_keeps_the_books() {
    let budget = SpendBudget::new(Some(100));
    budget.share(4);
    let report = SpendReport { period: 0, committed_usd_micros: 0, needed_usd_micros: 10, wanted_usd_micros: 10 };
    budget.told(&report, &Allotment { allotted_usd_micros: 10, total_usd_micros: 60, replicas: 4 });
    budget.on_its_own();
    budget.on_its_own();
    assert!(budget.reserve(20) && !budget.reserve(1), "10 of its own, and a quarter of the 40 that were left");
    assert_eq!(budget.total_usd_micros(), 100);
    budget.roll(1);
    assert!(budget.reserve(5), "a new day: an equal part");
    assert!(!budget.reserve(1));
}

#[test]
fn nothing_is_given_back_while_nobody_is_there_to_take_it() {
    let budget = SpendBudget::new(Some(100));
    budget.share(2);
    for _ in 0..20 {
        budget.on_its_own();
        let report = budget.report(false).expect("one that has forgotten everything must hear it");
        assert_eq!((report.committed_usd_micros, report.wanted_usd_micros), (0, 50));
    }
    assert!(budget.reserve(50) && !budget.reserve(1), "an equal part, however long it lasts");
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
    budget.share(2);
    let first = budget.report(true);
    assert_eq!(first, None, "nothing to say");
    let asked = (0..20).find_map(|_| budget.report(true)).expect("it asks");
    budget.told(&asked, &Allotment { allotted_usd_micros: 0, total_usd_micros: 90, replicas: 2 });
    budget.on_its_own();
    assert!(budget.reserve(5) && !budget.reserve(1), "half of the 10 that were left");
}

#[test]
fn a_budget_without_a_limit_has_nothing_to_share() {
    let budget = SpendBudget::new(None);
    budget.share(2);
    assert!(!budget.lacks(1_000_000) && budget.reserve(1_000_000) && budget.report(true).is_none());
}
