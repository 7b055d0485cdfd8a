//! What this replica shares with others: it decides from memory alone, and a thread of its own compares
//! notes in the background.
//!
//! ```text
//! requests ──▶ World ◀── told ── rounds ──▶ Redis ◀── rounds of the other replicas
//!                └── facts, reports ──┘
//! ```
//!
//! A round every tenth of a second, or as soon as somebody lacks something: what changed here is said,
//! what changed elsewhere is heard, parts of rate limits and parts of budgets are fetched and given
//! back. Only who finds nothing left at hand waits for a round, for milliseconds, and not at all while
//! the shared state is away or slow.

mod facts;
mod rounds;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_config::Shared as Settings;
use steadfast_core::Instant;
use steadfast_core::world::Session;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::timeout;

use crate::Engine;

/// How long a request may wait for a round.
const BUDGET: Duration = Duration::from_millis(5);

/// How long the first request of an agent or a session may, of whose limit nothing is known here.
const FIRST_BUDGET: Duration = Duration::from_millis(20);

/// Sessions whose budgets are compared; more than these keep to what they have.
const SESSIONS_MAX: usize = 10_000;

/// How long stopping may take.
const STOP_WITHIN: Duration = Duration::from_secs(1);

/// What this replica shares with others.
#[derive(Debug)]
pub(crate) struct Sharing {
    notes: Arc<Notes>,
    thread: Mutex<Option<Thread>>,
}

/// What requests and rounds both look at.
#[derive(Debug)]
struct Notes {
    /// Whether the last round was answered.
    up: AtomicBool,
    /// How many replicas there are.
    replicas: AtomicU32,
    /// Rounds that began.
    begun: AtomicU64,
    /// The last round that was answered.
    answered: watch::Sender<u64>,
    /// When the round under way began, in nanoseconds; zero where none is.
    under_way: AtomicU64,
    wake: Notify,
    /// Sessions with a budget that were used lately, by project and id, and when that was.
    sessions: Mutex<HashMap<SessionKey, (Arc<Session>, Instant)>>,
    failed: AtomicU64,
    waited: AtomicU64,
    unanswered: AtomicU64,
}

type SessionKey = (Arc<str>, Arc<str>);

#[derive(Debug)]
struct Thread {
    settings: Settings,
    stop: oneshot::Sender<oneshot::Sender<()>>,
}

impl Default for Sharing {
    fn default() -> Self {
        let notes = Notes {
            up: AtomicBool::new(false),
            replicas: AtomicU32::new(1),
            begun: AtomicU64::new(0),
            answered: watch::Sender::new(0),
            under_way: AtomicU64::new(0),
            wake: Notify::new(),
            sessions: Mutex::default(),
            failed: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
        };
        Self { notes: Arc::new(notes), thread: Mutex::new(None) }
    }
}

impl Sharing {
    /// Shares through what this configuration names, and through nothing else.
    pub(crate) fn follow(&self, engine: &Arc<Engine>, settings: Option<&Settings>) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.as_ref().map(|thread| &thread.settings) == settings {
            return;
        }
        // The one before ends by itself when its way to be stopped is gone.
        *thread = None;
        self.notes.up.store(false, Ordering::Relaxed);
        let Some(settings) = settings else { return };
        match rounds::start(engine, Arc::clone(&self.notes), settings) {
            Ok(stop) => *thread = Some(Thread { settings: settings.clone(), stop }),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, "replicas share nothing: this one decides from its own memory");
            }
        }
    }

    /// Whether there is anybody to ask.
    pub(crate) fn is_up(&self) -> bool {
        self.notes.up.load(Ordering::Relaxed)
    }

    /// A session with a budget is used: its part of it is looked after.
    pub(crate) fn uses(&self, project: &Arc<str>, id: &Arc<str>, session: &Arc<Session>, now: Instant) {
        if !session.spend.is_limited() {
            return;
        }
        if !self.is_up() {
            session.spend.on_its_own(self.replicas());
            return;
        }
        let mut sessions = self.notes.sessions();
        let key = (Arc::clone(project), Arc::clone(id));
        if sessions.len() < SESSIONS_MAX || sessions.contains_key(&key) {
            session.spend.share();
            sessions.insert(key, (Arc::clone(session), now));
        }
    }

    /// How many replicas there are, as far as is known.
    pub(crate) fn replicas(&self) -> u32 {
        self.notes.replicas.load(Ordering::Relaxed)
    }

    /// Asks for more of what is lacking, and waits for the answer for a moment; whether there was one. Who asks for
    /// the first time has nothing to go by, and waits a little longer.
    pub(crate) async fn more(&self, now: Instant, is_first: bool) -> bool {
        let notes = &*self.notes;
        let under_way = Instant::from_nanos(notes.under_way.load(Ordering::Relaxed));
        let slow = under_way != Instant::ORIGIN && now.since(under_way) > BUDGET;
        if !self.is_up() || slow && !is_first {
            return false;
        }
        notes.waited.fetch_add(1, Ordering::Relaxed);
        let mut answered = notes.answered.subscribe();
        // One that begins from now on knows what is lacking.
        let wanted = notes.begun.load(Ordering::Acquire) + 1;
        notes.wake.notify_one();
        let budget = if is_first { FIRST_BUDGET } else { BUDGET };
        let answer = timeout(budget, answered.wait_for(|round| *round >= wanted || !self.is_up())).await;
        let is_answered = matches!(answer, Ok(Ok(_))) && self.is_up();
        if !is_answered {
            notes.unanswered.fetch_add(1, Ordering::Relaxed);
        }
        is_answered
    }

    /// Gives back what is held, and ends.
    pub(crate) async fn stop(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Thread { stop, .. }) = thread else { return };
        let (done, is_done) = oneshot::channel();
        if stop.send(done).is_ok() {
            let _ = timeout(STOP_WITHIN, is_done).await;
        }
    }

    /// What is counted about it, as Prometheus reads it; nothing where nothing is shared.
    pub(crate) fn render(&self, out: &mut String) {
        if self.thread.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return;
        }
        let notes = &*self.notes;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let lines = [
            ("steadfast_shared_up", "gauge", "1 while the shared state answers.", u64::from(self.is_up())),
            (
                "steadfast_shared_replicas",
                "gauge",
                "Replicas that share, this one included, when it was last told.",
                self.replicas().into(),
            ),
            ("steadfast_shared_rounds_total", "counter", "Rounds with the shared state.", count(&notes.begun)),
            ("steadfast_shared_failures_total", "counter", "Rounds that were not answered.", count(&notes.failed)),
            (
                "steadfast_shared_waits_total",
                "counter",
                "Requests that waited for a round, 5 ms at most, the first of an agent or session 20.",
                count(&notes.waited),
            ),
            (
                "steadfast_shared_waits_in_vain_total",
                "counter",
                "Those of them that went on without an answer.",
                count(&notes.unanswered),
            ),
        ];
        for (name, kind, help, value) in lines {
            _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
    }
}

impl Notes {
    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionKey, (Arc<Session>, Instant)>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody answers; who waits for it need not wait any longer.
    fn is_down(&self) {
        self.up.store(false, Ordering::Relaxed);
        self.answered.send_modify(|_| {});
    }
}
