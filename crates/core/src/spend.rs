//! Spend budgets: money is reserved before a call and settled after it.
//!
//! Parallel callers see each other's reservations, so together they cannot overrun a limit that
//! each alone would keep. A call that costs more than was held for it was under way already when that
//! became known: what is spent may pass the limit by what the calls cost beyond what they held that were
//! under way when the last of them was let through, and by no more. Where replicas share a budget, each has a part of it allotted (`Share`) and
//! commits no more than that, however long an answer takes: its part counts as spent for the others until
//! it has said that it has less. One that was never answered may be given an equal part ([`SpendBudget::advance`]). Whoever keeps the books calls [`SpendBudget::report`] and
//! [`SpendBudget::told`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// More than anybody has.
const UNLIMITED: u64 = u64::MAX;

/// Whoever has nothing to say asks all the same after so many reports: what others spend counts when it is on its own.
const QUIET_MAX: u8 = 10;

/// What one project or session may spend in its period.
#[derive(Debug)]
pub struct SpendBudget {
    /// [`UNLIMITED`] where there is no limit. People change it while calls are under way.
    limit_usd_micros: AtomicU64,
    books: Mutex<Books>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Books {
    ledger: Ledger,
    /// This replica's part, where others spend from the same budget.
    share: Option<Share>,
    /// What callers could not reserve for want of a larger part, since the last report.
    short: u64,
    /// Asking for more has just been in vain.
    dry: bool,
    /// Reports since something was heard.
    quiet: u8,
}

/// One replica's part of a budget.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    allotted: u64,
    /// What is counted elsewhere as this replica's.
    counted: u64,
    /// What it had committed when that was last heard of.
    committed: u64,
    /// What the others have committed, as far as is known.
    others: u64,
    /// Whether it was ever told anything.
    is_told: bool,
    /// There is nobody to ask, and so many share the budget.
    alone_of: Option<u32>,
}

/// What a replica says about its part of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpendReport {
    /// The period it speaks of.
    pub period: u64,
    /// What it has spent, and holds for calls under way.
    pub committed_usd_micros: u64,
    /// What it may commit.
    pub allotted_usd_micros: u64,
    /// What it needs in all, those included who are waiting.
    pub needed_usd_micros: u64,
    /// It needs nothing ahead.
    pub is_idle: bool,
}

/// What a replica is told about a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allotment {
    /// Its part.
    pub allotted_usd_micros: u64,
    /// What the others have committed.
    pub others_usd_micros: u64,
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
        Self { limit_usd_micros: AtomicU64::new(limit_usd_micros.unwrap_or(UNLIMITED)), books: Mutex::default() }
    }

    /// Another limit from now on; what was spent and is held stays.
    pub fn set_limit(&self, limit_usd_micros: Option<u64>) {
        let mut books = self.lock();
        self.limit_usd_micros.store(limit_usd_micros.unwrap_or(UNLIMITED), Ordering::Relaxed);
        if limit_usd_micros.is_none() {
            books.share = None;
        }
    }

    /// Holds this much for a call about to start, if it still fits.
    pub fn reserve(&self, usd_micros: u64) -> bool {
        if usd_micros == 0 && !self.is_limited() {
            // A model nobody has priced, in a project nobody limits: no need for the lock.
            return true;
        }
        let mut books = self.lock();
        let Some(held) = self.held_with(&books, usd_micros) else { return false };
        books.ledger.reserved_usd_micros = held;
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
        let ledger = &mut self.lock().ledger;
        debug_assert!(ledger.reserved_usd_micros >= reserved_usd_micros, "a reservation is settled once");
        ledger.reserved_usd_micros = ledger.reserved_usd_micros.saturating_sub(reserved_usd_micros);
        ledger.settled_usd_micros = ledger.settled_usd_micros.saturating_add(actual_usd_micros);
    }

    /// Starts a new period: what was spent before no longer counts, what is held still does.
    pub fn roll(&self, period: u64) {
        let mut books = self.lock();
        // Callers whose clocks straddle midnight must not roll it back and forth.
        if period > books.ledger.period {
            books.ledger = Ledger { settled_usd_micros: 0, period, ..books.ledger };
            books.dry = false;
            let committed = books.ledger.committed();
            if let (Some(share), Some(limit)) = (&mut books.share, self.limit_usd_micros()) {
                // Of the new period nothing is this replica's yet; where nobody can be asked, an equal part.
                let allotted = share.alone_of.map_or(0, |replicas| limit / u64::from(replicas.max(1)));
                *share = Share { allotted: allotted.max(committed), counted: 0, committed: 0, others: 0, ..*share };
            }
        }
    }

    /// Whether there is a limit at all.
    pub fn is_limited(&self) -> bool {
        self.limit_usd_micros().is_some()
    }

    /// The limit.
    pub fn limit_usd_micros(&self) -> Option<u64> {
        Some(self.limit_usd_micros.load(Ordering::Relaxed)).filter(|limit| *limit != UNLIMITED)
    }

    /// The figures as they stand.
    pub fn ledger(&self) -> Ledger {
        self.lock().ledger
    }

    /// What all replicas together have spent, and hold for calls under way, as far as is known.
    pub fn total_usd_micros(&self) -> u64 {
        let Books { ledger, share, .. } = *self.lock();
        ledger.committed().saturating_add(share.map_or(0, |share| share.others))
    }

    /// Shares the budget from now on: nothing is this replica's before it is told so, but what it has
    /// committed already.
    pub fn share(&self) {
        let mut books = self.lock();
        if self.is_limited() {
            let allotted = books.ledger.committed();
            books.share.get_or_insert(Share { allotted, ..Share::default() });
        }
    }

    /// Whether it is shared and nobody has said yet what this replica's part is.
    pub fn is_unheard_of(&self) -> bool {
        self.lock().share.is_some_and(|share| !share.is_told)
    }

    /// Nobody has said in time what this replica's part is: until somebody does it is an equal one, and that is told.
    pub fn advance(&self, replicas: u32) {
        let mut books = self.lock();
        let Some(limit) = self.limit_usd_micros() else { return };
        if let Some(share) = books.share.as_mut().filter(|share| !share.is_told) {
            share.allotted = share.allotted.max(limit / u64::from(replicas.max(1)));
        }
    }

    /// Whether this much would fit only if more of a shared budget were this replica's; that is
    /// remembered for the next report.
    pub fn lacks(&self, usd_micros: u64) -> bool {
        if !self.is_limited() {
            return false;
        }
        let mut books = self.lock();
        let Some(share) = books.share.filter(|_| !books.dry) else { return false };
        if books.ledger.committed().saturating_add(usd_micros) <= share.allotted {
            return false;
        }
        books.short = books.short.saturating_add(usd_micros);
        true
    }

    /// What is to be told to whoever keeps the books of all; `None` where there is nothing to say.
    /// Whoever is idle gives back what it does not use.
    pub fn report(&self, is_idle: bool) -> Option<SpendReport> {
        self.limit_usd_micros()?;
        let mut books = self.lock();
        // Who has heard of nobody yet is alone until it is told, and asks for nothing that others may have.
        let share = books.share.unwrap_or_default();
        let short = std::mem::take(&mut books.short);
        books.dry = false;
        books.quiet = books.quiet.saturating_add(1);
        let committed = books.ledger.committed();
        let allotted = if is_idle { committed } else { share.allotted.max(committed) };
        if let Some(share) = &mut books.share {
            share.allotted = allotted;
        }
        let is_known = short == 0 && (committed, allotted) == (share.committed, share.counted);
        let is_quiet = share.is_told && is_known && books.quiet < QUIET_MAX;
        (!is_quiet).then(|| SpendReport {
            period: books.ledger.period,
            committed_usd_micros: committed,
            allotted_usd_micros: allotted,
            needed_usd_micros: committed.saturating_add(short),
            is_idle,
        })
    }

    /// Takes the answer to a report.
    pub fn told(&self, report: &SpendReport, allotment: &Allotment) {
        let mut books = self.lock();
        if books.ledger.period != report.period {
            return;
        }
        let Allotment { allotted_usd_micros: allotted, others_usd_micros: others } = *allotment;
        books.dry = allotted < report.needed_usd_micros;
        books.quiet = 0;
        books.share = Some(Share {
            allotted,
            counted: allotted.max(report.allotted_usd_micros),
            committed: report.committed_usd_micros,
            others,
            is_told: true,
            alone_of: None,
        });
    }

    /// Nobody keeps the books of all: this replica goes on with its part. One that was never told of any has an equal
    /// one, or everything where there is nobody else.
    pub fn on_its_own(&self, replicas: u32) {
        let mut books = self.lock();
        let Some(limit) = self.limit_usd_micros() else { return };
        let committed = books.ledger.committed();
        match &mut books.share {
            Some(share) if share.is_told => share.alone_of = Some(replicas),
            share if replicas <= 1 => *share = None,
            share => {
                let allotted = (limit / u64::from(replicas)).max(committed);
                *share = Some(Share { allotted, is_told: true, alone_of: Some(replicas), ..Share::default() });
            }
        }
    }

    /// Keeps nothing but what is committed: this replica stops.
    pub fn let_go(&self) {
        let mut books = self.lock();
        let committed = books.ledger.committed();
        if let Some(share) = &mut books.share {
            share.allotted = committed;
        }
    }

    /// What would be held with this much more, if that keeps the limit.
    fn held_with(&self, books: &Books, usd_micros: u64) -> Option<u64> {
        let Books { ledger, share, .. } = books;
        let held = ledger.reserved_usd_micros.checked_add(usd_micros)?;
        let committed = ledger.settled_usd_micros.saturating_add(held);
        let most = self.limit_usd_micros().map(|limit| share.map_or(limit, |share| share.allotted.min(limit)));
        most.is_none_or(|most| committed <= most).then_some(held)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// Spent, or held for calls under way.
    pub const fn committed(&self) -> u64 {
        self.settled_usd_micros.saturating_add(self.reserved_usd_micros)
    }
}

#[cfg(test)]
mod tests;
