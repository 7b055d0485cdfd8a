//! A worker: leases tasks from the store, runs them, and says what became of them.
//!
//! ```text
//! store ──lease──▶ worker ──▶ run · run · run
//!   ▲                │             │
//!   └── one transaction for all that is to be said and all that is taken on ◀┘
//! ```
//!
//! One clerk speaks to the store for everybody, so that a hundred tasks that end at once are one commit. A worker that
//! cannot extend its leases ends what it runs before another may take over.

mod leased;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_store::{Held, News, Said, Store};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::fleet::Fleet;
use crate::process::{Stop, wanted_more};
use crate::run::Observer;
use crate::task::Task;

pub(crate) use leased::log_end;
pub use leased::{log_path, old_log_path};

/// Things to be said that wait for the clerk.
const INBOX_MAX: usize = 4096;

/// How much is said in one transaction.
const SAID_MAX: usize = 512;

/// How often the queue is looked at where nobody says that something is due: others may have added to it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The rest before a store that is away is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);

/// How often tasks that ended long ago are forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(60 * 60);

/// How a worker works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many tasks it runs at a time.
    pub parallel: usize,
    /// How long a lease lasts. A third of it is what a worker that is cut off has for ending what it runs.
    pub lease: Duration,
    /// Where what tasks write is kept; nowhere without.
    pub logs: Option<PathBuf>,
    /// How long tasks are kept after their end.
    pub keep: Duration,
    /// It ends when nothing waits or runs any more.
    pub drain: bool,
}

/// A worker.
pub struct Worker {
    /// What tasks share.
    pub fleet: Arc<Fleet>,
    /// Where they are kept.
    pub store: Store,
    /// Who is told what happens to them.
    pub observer: Arc<dyn Observer>,
    /// How it works.
    pub settings: Settings,
}

/// What tasks and clerk share.
struct Desk {
    worker: Worker,
    inbox: mpsc::Sender<Note>,
    running: Mutex<HashMap<String, Running>>,
    /// When the store last extended the leases.
    extended: Mutex<Instant>,
}

/// Something to be said, and who wants to know whether it counted.
struct Note {
    said: Said,
    reply: oneshot::Sender<bool>,
}

/// A task under way.
struct Running {
    token: i64,
    since: Instant,
    stop: watch::Sender<Stop>,
    why: Why,
}

/// Why a task was stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Why {
    /// It was not.
    #[default]
    Not,
    /// A person wanted it: that is its end.
    Person,
    /// The worker goes, or was cut off: it goes on elsewhere.
    Worker,
}

impl Default for Settings {
    /// Four agents at a time, and leases that outlive a store that is restarted.
    fn default() -> Self {
        Self {
            parallel: 4,
            lease: Duration::from_secs(30),
            logs: None,
            keep: Duration::from_secs(30 * 24 * 60 * 60),
            drain: false,
        }
    }
}

impl Worker {
    /// Works until it is stopped, and puts what it has not finished back.
    pub async fn work(self, mut stop: watch::Receiver<Stop>) {
        let (inbox, notes) = mpsc::channel(INBOX_MAX);
        let desk =
            Arc::new(Desk { worker: self, inbox, running: Mutex::default(), extended: Mutex::new(Instant::now()) });
        let tidying = Arc::clone(&desk);
        tokio::task::spawn_blocking(move || tidying.worker.fleet.tidy());
        let beating = tokio::spawn(beat(Arc::clone(&desk)));
        let forgetting = tokio::spawn(forget(Arc::clone(&desk)));
        let watching = Arc::clone(&desk);
        let watching = tokio::spawn(async move { watching.worker.fleet.services.watch().await });
        Clerk { desk: Arc::clone(&desk), notes, waiting: Vec::new(), runs: JoinSet::new(), away: false }
            .work(&mut stop)
            .await;
        beating.abort();
        forgetting.abort();
        watching.abort();
    }
}

/// The one who speaks to the store.
struct Clerk {
    desk: Arc<Desk>,
    notes: mpsc::Receiver<Note>,
    /// What the store has not taken yet.
    waiting: Vec<Note>,
    runs: JoinSet<()>,
    /// The store did not answer the last time.
    away: bool,
}

impl Clerk {
    async fn work(mut self, stop: &mut watch::Receiver<Stop>) {
        let mut wanted = *stop.borrow();
        let mut next = Instant::now();
        loop {
            let more = tokio::select! {
                biased;
                more = wanted_more(stop, wanted), if wanted != Stop::Firmly => Some(more),
                note = self.notes.recv(), if self.waiting.len() < SAID_MAX => {
                    self.waiting.extend(note);
                    None
                }
                Some(_) = self.runs.join_next(), if !self.runs.is_empty() => None,
                () = sleep_until(next) => None,
            };
            if let Some(more) = more {
                wanted = more;
                self.desk.stop_all(wanted, Why::Worker);
            }
            while self.waiting.len() < SAID_MAX
                && let Ok(note) = self.notes.try_recv()
            {
                self.waiting.push(note);
            }
            if self.may_leave(wanted) {
                return;
            }
            next = match self.turn(wanted == Stop::No).await {
                Some(wait) => Instant::now() + wait,
                None if self.desk.worker.settings.drain && self.runs.is_empty() => return,
                None => Instant::now() + LOOK_EVERY,
            };
        }
    }

    /// Whether it is done: everything is said. Asked firmly, a store that is away keeps it no longer than what runs does.
    fn may_leave(&self, wanted: Stop) -> bool {
        let is_to_say = |id: &String| self.waiting.iter().any(|note| note.said.id == *id);
        match wanted {
            Stop::No => false,
            _ if self.runs.is_empty() && self.waiting.is_empty() => true,
            Stop::Politely => false,
            Stop::Firmly => self.away && self.desk.running().keys().all(is_to_say),
        }
    }

    /// Says what there is to say, takes on what is due, and says how long until the next time; `None` where nothing
    /// waits.
    async fn turn(&mut self, takes_on: bool) -> Option<Duration> {
        let settings = &self.desk.worker.settings;
        let runs = self.desk.runs();
        let want = if takes_on { settings.parallel.saturating_sub(runs.len()) } else { 0 };
        if want == 0 && self.waiting.is_empty() {
            return Some(LOOK_EVERY);
        }
        let said = self.waiting.iter().map(|note| note.said.clone()).collect();
        let Worker { fleet, store, .. } = &self.desk.worker;
        let turn = store.take_turn(&fleet.id, runs, said, want, settings.lease).await;
        self.away = turn.is_err();
        let turn = match turn {
            Ok(turn) => turn,
            Err(error) => {
                // The store says itself that it is away.
                tracing::debug!(%error, "tasks wait for the store");
                return Some(ASK_AGAIN);
            }
        };
        for (note, counted) in self.waiting.drain(..).zip(turn.counted) {
            if note.said.news != News::Attempt {
                self.desk.remove(&note.said.id, note.said.token);
            }
            // A task that does not wait for the answer is gone.
            let _ = note.reply.send(counted);
        }
        let filled = turn.leased.len() == want;
        for leased in turn.leased {
            let (stop, stopped) = watch::channel(Stop::No);
            let running = Running { token: leased.token, since: Instant::now(), stop, why: Why::Not };
            self.desk.running().insert(leased.id.clone(), running);
            self.runs.spawn(leased::run(Arc::clone(&self.desk), leased, stopped));
        }
        if want > 0 && filled {
            return Some(LOOK_EVERY);
        }
        turn.next_due_ms.map(|due| LOOK_EVERY.min(Duration::from_millis(due.unsigned_abs())))
    }
}

impl Desk {
    fn running(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ids of what runs.
    fn runs(&self) -> Vec<String> {
        self.running().keys().cloned().collect()
    }

    /// Forgets a run that is over, and not one that has begun meanwhile.
    fn remove(&self, id: &str, token: i64) {
        let mut running = self.running();
        if running.get(id).is_some_and(|known| known.token == token) {
            running.remove(id);
        }
    }

    /// Says something about a task, and whether it counted: the lease was its own.
    async fn say(&self, said: Said) -> bool {
        let (reply, answer) = oneshot::channel();
        if self.inbox.send(Note { said, reply }).await.is_err() {
            return false;
        }
        answer.await.unwrap_or(false)
    }

    fn stop_all(&self, how: Stop, why: Why) {
        for running in self.running().values_mut() {
            running.stop(how, why);
        }
    }

    /// Hears which leases were extended at this moment: what a person wants stopped is, and what another has taken
    /// over by now does not run twice.
    fn hear(&self, held: &[Held], asked: Instant) {
        for (id, running) in self.running().iter_mut() {
            match held.iter().find(|held| held.id == *id && held.token == running.token) {
                Some(held) if held.stop => running.stop(Stop::Politely, Why::Person),
                Some(_) => {}
                None if running.since < asked => running.stop(Stop::Firmly, Why::Worker),
                // It was leased while the store was asked.
                None => {}
            }
        }
    }

    fn why(&self, id: &str) -> Why {
        self.running().get(id).map_or(Why::Worker, |running| running.why)
    }
}

impl Running {
    /// The first reason counts: what a person stopped is not put back because the worker goes too.
    fn stop(&mut self, how: Stop, why: Why) {
        if self.why == Why::Not {
            self.why = why;
        }
        self.stop.send_if_modified(|now| {
            let more = how > *now;
            *now = how.max(*now);
            more
        });
    }
}

/// Extends the leases, hears what people want stopped, and ends everything in time where the store does not answer.
async fn beat(desk: Arc<Desk>) {
    let lease = desk.worker.settings.lease;
    let every = (lease / 6).min(Duration::from_secs(1));
    let mut warned = false;
    loop {
        sleep(every).await;
        if desk.running().is_empty() {
            *desk.extended.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            continue;
        }
        let asked = Instant::now();
        let last = *desk.extended.lock().unwrap_or_else(PoisonError::into_inner);
        let cut_off = last + lease * 2 / 3;
        let extending = desk.worker.store.extend_leases(&desk.worker.fleet.id, desk.runs(), lease);
        let held = tokio::select! {
            held = extending => held,
            () = sleep_until(cut_off) => Err(steadfast_store::Error::Away("no answer in time".to_owned())),
        };
        match held {
            Ok(held) => {
                *desk.extended.lock().unwrap_or_else(PoisonError::into_inner) = asked;
                warned = false;
                desk.hear(&held, asked);
            }
            Err(error) if Instant::now() >= cut_off => {
                if !std::mem::replace(&mut warned, true) {
                    tracing::warn!(%error, "tasks are ended and put back: others may take them over soon");
                }
                desk.stop_all(Stop::Firmly, Why::Worker);
            }
            Err(_) => {}
        }
    }
}

/// Forgets tasks that ended long ago, with what they wrote.
async fn forget(desk: Arc<Desk>) {
    let Settings { keep, logs, .. } = &desk.worker.settings;
    loop {
        if let Err(error) = desk.worker.store.forget_tasks(*keep).await {
            tracing::debug!(%error, "old tasks stay a little longer");
        }
        if let Some(folder) = logs.clone() {
            let keep = *keep;
            let _ = tokio::task::spawn_blocking(move || leased::forget_logs(&folder, keep)).await;
        }
        sleep(FORGET_EVERY).await;
    }
}

/// A task as it is kept.
pub fn to_keep(task: &Task) -> serde_json::Result<steadfast_store::NewTask> {
    Ok(steadfast_store::NewTask {
        id: task.id.clone(),
        label: task.label.clone(),
        project: task.project.clone().unwrap_or_else(|| steadfast_config::DEFAULT_PROJECT.to_owned()),
        model: task.model.clone(),
        due: 0,
        spec: serde_json::to_value(task)?,
    })
}
