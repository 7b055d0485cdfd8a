//! Money, on books of our own: held before an attempt, settled after it, never let through beyond the budget.

use std::cell::Cell;

use steadfast_core::Instant;
use steadfast_core::world::Project;

use super::{Checked, Watch, broken};
use crate::invariant::Invariant;
use crate::op::Account;

/// A ledger kept beside the core's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    held_usd_micros: u64,
    spent_usd_micros: u64,
    /// What calls cost beyond what they held, since a call was last let through. All of them were under way then.
    excess_usd_micros: u64,
}

impl Ledger {
    fn hold(self, usd_micros: u64) -> Self {
        Self { held_usd_micros: self.held_usd_micros + usd_micros, excess_usd_micros: 0, ..self }
    }

    fn settle(self, held: u64, cost: u64) -> Self {
        Self {
            held_usd_micros: self.held_usd_micros - held,
            spent_usd_micros: self.spent_usd_micros + cost,
            excess_usd_micros: self.excess_usd_micros + cost.saturating_sub(held),
        }
    }

    /// At the moment a call is let through it must fit; after that the calls under way may cost more than they hold.
    const fn keeps(&self, limit_usd_micros: u64) -> bool {
        self.held_usd_micros + self.spent_usd_micros <= limit_usd_micros + self.excess_usd_micros
    }

    pub(super) const fn spent_usd_micros(&self) -> u64 {
        self.spent_usd_micros
    }
}

impl Watch {
    /// (M1) Money was held for an attempt.
    pub(crate) fn held(&mut self, op: Account<'_>, usd_micros: u64, project: &Project, now: Instant) -> Checked {
        self.book(op, |ledger| ledger.hold(usd_micros));
        self.money(op, project, now)
    }

    /// (M1) What was held is settled.
    pub(crate) fn settled(
        &mut self,
        op: Account<'_>,
        held: u64,
        cost: u64,
        project: &Project,
        now: Instant,
    ) -> Checked {
        self.book(op, |ledger| ledger.settle(held, cost));
        self.money(op, project, now)
    }

    fn book(&mut self, op: Account<'_>, change: impl Fn(Ledger) -> Ledger) {
        let project = &mut self.projects[op.project].money;
        *project = change(*project);
        let session: &Cell<Ledger> = &op.purse.ledger;
        session.set(change(session.get()));
    }

    fn money(&self, op: Account<'_>, project: &Project, now: Instant) -> Checked {
        let limits = self.spend;
        let budgets = [
            ("project", &*project.spend, limits.project_usd_micros, self.projects[op.project].money),
            ("session", &op.purse.session.spend, limits.session_usd_micros, op.purse.ledger.get()),
        ];
        for (whose, budget, limit, own) in budgets {
            let ledger = budget.ledger();
            let (held, spent) = (own.held_usd_micros, own.spent_usd_micros);
            if (ledger.reserved_usd_micros, ledger.settled_usd_micros) != (held, spent) {
                let detail = format!("the {whose} ledger says {ledger:?}, attempts say {held} held, {spent} spent");
                return broken(Invariant::MoneySettledOnce, detail, op.id, now);
            }
            if limit.is_some_and(|limit| !own.keeps(limit)) {
                let detail = format!("the {whose} holds {held} and spent {spent} micro-dollars");
                return broken(Invariant::MoneyWithinBudget, detail, op.id, now);
            }
        }
        Ok(())
    }
}
