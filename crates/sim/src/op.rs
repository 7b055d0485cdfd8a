//! One operation under way, with what the checks remember about it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use steadfast_core::Instant;
use steadfast_core::cost::Usage;
use steadfast_core::decision::Target;
use steadfast_core::policy::Trigger;
use steadfast_core::recovery::{Choice, Recovery};
use steadfast_core::route::EndpointId;
use steadfast_core::world::Session;

use crate::provider::Reply;
use crate::watch::Ledger;

/// One operation under way.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) id: u64,
    pub(crate) client: u32,
    pub(crate) project: usize,
    pub(crate) way: usize,
    pub(crate) session_id: u64,
    pub(crate) recovery: Recovery,
    /// Shadow of the session's ledger.
    pub(crate) purse: Rc<Purse>,
    pub(crate) started: Instant,
    pub(crate) tokens: u32,
    pub(crate) usage: Usage,
    pub(crate) running: Option<Running>,
    /// Grows with every step and is never shared, so that an event planned for an earlier step, or
    /// for the last owner of the slot, is recognised.
    pub(crate) turn: u64,

    pub(crate) attempts: u32,
    pub(crate) attempts_in_run: u32,
    pub(crate) retries: u32,
    pub(crate) fallbacks: u32,
    pub(crate) restarts: u32,
    pub(crate) first_failure: Option<Instant>,
    pub(crate) had_network_failure: bool,
    pub(crate) had_transient_failure: bool,
    /// The last attempt of this run.
    pub(crate) last: Option<Target>,
    /// Went against all breakers in this run. Nothing is forgiven for it; bugs that show only then go by it.
    pub(crate) panicked: bool,
    /// A repair, a deferral or an answer may come back to the same place.
    pub(crate) free_return: bool,
    /// Where it began because its session shunned what comes before; the walk wraps around once.
    pub(crate) began: Option<(u8, u8)>,
    /// It began on the rung its session had climbed to.
    pub(crate) began_on_rung: bool,
    /// How long it has been held in all.
    pub(crate) parked: Duration,
    /// The next attempt repeats the last one.
    pub(crate) retrying: bool,
    /// The next attempt was paid from the project's fallbacks.
    pub(crate) paid_fallback: bool,
    /// The next attempt was paid from this endpoint's retries.
    pub(crate) paid_retry: Option<EndpointId>,
    /// Retries decided at this target, and how many its lists allow in all.
    pub(crate) retries_here: u32,
    pub(crate) retries_allowed_here: u32,
    pub(crate) triggers_here: Vec<Trigger>,
    /// The highest rung reached by escalation.
    pub(crate) rung: Option<u8>,
    pub(crate) may_escalate: bool,
    pub(crate) asked_until: Option<Instant>,
    pub(crate) restart_due: Option<Instant>,
}

/// An attempt under way.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) target: Target,
    pub(crate) choice: Choice,
    pub(crate) started: Instant,
    /// The breaker's generation when it was admitted.
    pub(crate) generation: u64,
    pub(crate) reply: Reply,
    pub(crate) held_usd_micros: u64,
    pub(crate) paid_fallback: bool,
    pub(crate) paid_retry: Option<EndpointId>,
    pub(crate) probe: bool,
    /// It was a probe, and its first content was the verdict.
    pub(crate) judged: bool,
    /// How long a probe's place is kept.
    pub(crate) lease: Duration,
}

/// A session with a shadow of its ledger.
#[derive(Debug)]
pub(crate) struct Purse {
    pub(crate) session: Arc<Session>,
    pub(crate) ledger: Cell<Ledger>,
}

/// Whose money an attempt costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account<'a> {
    pub(crate) id: u64,
    pub(crate) project: usize,
    pub(crate) purse: &'a Purse,
}

impl Op {
    pub(crate) fn account(&self) -> Account<'_> {
        Account { id: self.id, project: self.project, purse: &self.purse }
    }

    /// Another target: its lists of steps start from their beginning.
    pub(crate) fn elsewhere(&mut self) {
        (self.retries_here, self.retries_allowed_here) = (0, 0);
        self.triggers_here.clear();
    }
}
