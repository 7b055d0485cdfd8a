//! Spend budgets: money is reserved before a call and settled after it.
//!
//! Parallel callers see each other's reservations, so together they cannot overrun a limit that
//! each alone would keep.

use std::sync::{Mutex, PoisonError};

/// What one project or session may spend in its period.
#[derive(Debug)]
pub struct SpendBudget {
    limit_usd_micros: Option<u64>,
    ledger: Mutex<Ledger>,
}

/// What has been spent and what is held for calls under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Spent for good in this period.
    pub settled_usd_micros: u64,
    /// Held for calls under way.
    pub reserved_usd_micros: u64,
    /// The period these figures belong to, such as the day since the epoch.
    pub period: u64,
}

impl SpendBudget {
    /// A budget with this limit, or none.
    pub fn new(limit_usd_micros: Option<u64>) -> Self {
        Self { limit_usd_micros, ledger: Mutex::default() }
    }

    /// Holds this much for a call about to start, if it still fits.
    pub fn reserve(&self, usd_micros: u64) -> bool {
        if usd_micros == 0 && !self.is_limited() {
            // A model nobody has priced, in a project nobody limits: no need for the lock.
            return true;
        }
        let mut ledger = self.lock();
        let Some(held) = self.held_with(&ledger, usd_micros) else { return false };
        ledger.reserved_usd_micros = held;
        true
    }

    /// Whether this much would still fit.
    pub fn would_fit(&self, usd_micros: u64) -> bool {
        self.held_with(&self.lock(), usd_micros).is_some()
    }

    /// Ends a reservation with what the call really cost.
    pub fn settle(&self, reserved_usd_micros: u64, actual_usd_micros: u64) {
        if reserved_usd_micros == 0 && actual_usd_micros == 0 {
            return;
        }
        let mut ledger = self.lock();
        debug_assert!(ledger.reserved_usd_micros >= reserved_usd_micros, "a reservation is settled once");
        ledger.reserved_usd_micros = ledger.reserved_usd_micros.saturating_sub(reserved_usd_micros);
        ledger.settled_usd_micros = ledger.settled_usd_micros.saturating_add(actual_usd_micros);
    }

    /// Goes on from what another budget has settled: its limit changed, what was spent did not.
    pub fn carry_over(&self, before: &Self) {
        let Ledger { settled_usd_micros, period, .. } = before.ledger();
        let mut ledger = self.lock();
        (ledger.settled_usd_micros, ledger.period) = (settled_usd_micros, period);
    }

    /// Starts a new period: what was spent before no longer counts, what is held still does.
    pub fn roll(&self, period: u64) {
        let mut ledger = self.lock();
        // Callers whose clocks straddle midnight must not roll it back and forth.
        if period > ledger.period {
            *ledger = Ledger { settled_usd_micros: 0, period, ..*ledger };
        }
    }

    /// Whether there is a limit at all.
    pub const fn is_limited(&self) -> bool {
        self.limit_usd_micros.is_some()
    }

    /// The limit.
    pub const fn limit_usd_micros(&self) -> Option<u64> {
        self.limit_usd_micros
    }

    /// The figures as they stand.
    pub fn ledger(&self) -> Ledger {
        *self.lock()
    }

    /// What would be held with this much more, if that keeps the limit.
    fn held_with(&self, ledger: &Ledger, usd_micros: u64) -> Option<u64> {
        let held = ledger.reserved_usd_micros.checked_add(usd_micros)?;
        let committed = ledger.settled_usd_micros.saturating_add(held);
        let fits = self.limit_usd_micros.is_none_or(|limit| committed <= limit);
        fits.then_some(held)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
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
}
