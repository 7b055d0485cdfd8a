//! What lies between those who feed the store and the thread that writes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use steadfast_core::record::Record;
use tokio::sync::{Notify, watch};

use crate::address::Options;
use crate::db::Database;
use crate::error::Error;
use crate::fold::{Folding, Item};

/// Records that wait to be folded: about a second of a machine at its limit.
const RECORDS_MAX: usize = 128 * 1024;

/// What waits to be written, in bytes: more than a minute of a thousand requests a second.
const WAITING_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How a store is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Whether the database answered last.
    pub is_reached: bool,
    /// What it said, or why it cannot be reached.
    pub trouble: Option<String>,
    /// Requests and alerts that wait to be written.
    pub waiting: usize,
    /// Requests that are not over.
    pub running: usize,
    /// Events that were lost since the store was opened.
    pub lost: u64,
    /// Events that were written since the store was opened.
    pub written: u64,
}

/// What the feeders, the writer and those who ask share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    fed: Mutex<Fed>,
    /// Held by whoever folds.
    turn: Mutex<()>,
    folded: Mutex<Folded>,
    /// Something was fed or folded, or a flush is wanted.
    pub(crate) work: Notify,
    database: watch::Sender<Option<Arc<Database>>>,
    trouble: Mutex<Option<String>>,
    lost: AtomicU64,
    /// How many of them have been told.
    told: AtomicU64,
    /// Since when somebody watches over alerts; 0 where what was left by others has been seen to.
    pub(crate) watched_from: AtomicI64,
    pub(crate) written: AtomicU64,
    closed: AtomicBool,
    /// Everything that was ever fed is folded.
    folded_all: AtomicBool,
    ended: watch::Sender<bool>,
    /// Somebody waits for everything to be written.
    hurry: AtomicBool,
}

#[derive(Debug, Default)]
struct Fed {
    batches: VecDeque<Arc<[Record]>>,
    /// In the batches, and in those that are being folded.
    records: usize,
}

#[derive(Debug)]
struct Folded {
    folding: Folding,
    waiting: VecDeque<Item>,
    bytes: usize,
    /// The first of the waiting ones that are being written.
    in_hand: usize,
    /// How many of those that ever waited are written, or lost for good: the first ones.
    gone: u64,
}

impl Shared {
    pub(crate) fn new(options: Options) -> Self {
        let folding = Folding::new(crate::id::random());
        Self {
            options,
            fed: Mutex::default(),
            turn: Mutex::default(),
            folded: Mutex::new(Folded { folding, waiting: VecDeque::new(), bytes: 0, in_hand: 0, gone: 0 }),
            work: Notify::new(),
            database: watch::Sender::new(None),
            trouble: Mutex::new(Some("it has not been reached yet".to_owned())),
            lost: AtomicU64::new(0),
            told: AtomicU64::new(0),
            watched_from: AtomicI64::new(0),
            written: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            folded_all: AtomicBool::new(false),
            ended: watch::Sender::new(false),
            hurry: AtomicBool::new(false),
        }
    }

    pub(crate) fn feed(&self, batch: &Arc<[Record]>) {
        let mut fed = lock(&self.fed);
        if fed.records + batch.len() > RECORDS_MAX {
            drop(fed);
            self.lose(batch.len() as u64);
            return;
        }
        fed.records += batch.len();
        fed.batches.push_back(Arc::clone(batch));
        drop(fed);
        self.work.notify_one();
    }

    /// Folds what was fed.
    pub(crate) fn fold(&self, now: i64) {
        // One after the other: what is folded later was fed later.
        let _turn = lock(&self.turn);
        let batches = std::mem::take(&mut lock(&self.fed).batches);
        for batch in batches {
            let mut folded = lock(&self.folded);
            let Folded { folding, waiting, bytes, .. } = &mut *folded;
            let mut lost = 0;
            for record in batch.iter() {
                folding.take(record, now, &mut |item| lost += put(item, waiting, bytes));
            }
            drop(folded);
            // Only now: in between they would be nowhere, and a flush would miss them.
            lock(&self.fed).records -= batch.len();
            self.lose(lost);
            // This core may be one that serves: whoever waits for it comes first.
            std::thread::yield_now();
        }
    }

    /// Has what runs for long written too, where writing goes well.
    pub(crate) fn look_at_running(&self, now: i64) {
        let mut folded = lock(&self.folded);
        let Folded { folding, waiting, bytes, .. } = &mut *folded;
        if waiting.is_empty() {
            folding.overdue(now, &mut |item| {
                put(item, waiting, bytes);
            });
        }
    }

    /// Folds what is left and has everything that runs written as far as it is known; for the end.
    pub(crate) fn abandon(&self, now: i64) {
        self.fold(now);
        let mut folded = lock(&self.folded);
        let Folded { folding, waiting, bytes, .. } = &mut *folded;
        folding.abandon(&mut |item| {
            put(item, waiting, bytes);
        });
        self.folded_all.store(true, Ordering::Relaxed);
    }

    /// Takes the first of what waits into the hand; [`Shared::done`] or [`Shared::give_back`] follows.
    pub(crate) fn take(&self, count: usize) -> Vec<Item> {
        let mut folded = lock(&self.folded);
        let count = count.min(folded.waiting.len());
        let items: Vec<Item> = folded.waiting.drain(..count).collect();
        folded.in_hand = items.len();
        items
    }

    /// These of what is in the hand are written or lost for good.
    pub(crate) fn done(&self, items: &[Item]) {
        let bytes: usize = items.iter().map(size).sum();
        let mut folded = lock(&self.folded);
        folded.bytes = folded.bytes.saturating_sub(bytes);
        folded.in_hand = folded.in_hand.saturating_sub(items.len());
        folded.gone += items.len() as u64;
    }

    /// Nothing in the hand could be written.
    pub(crate) fn give_back(&self, items: Vec<Item>) {
        let mut folded = lock(&self.folded);
        folded.in_hand = 0;
        for item in items.into_iter().rev() {
            folded.waiting.push_front(item);
        }
    }

    /// Rows get ids under the number that the store gave to this opening.
    pub(crate) fn number(&self, opening: i64) {
        lock(&self.folded).folding.number(opening);
    }

    /// What is known of a request, or of a run that began then, and has not been written.
    pub(crate) fn waiting(&self, request: &str, started: Option<i64>) -> Option<String> {
        self.fold(crate::now());
        let folded = lock(&self.folded);
        let over = folded.waiting.iter().rev().filter_map(|item| match item {
            Item::Request(draft) if *draft.request == *request => Some(&**draft),
            _ => None,
        });
        let mut known = folded.folding.open(request).into_iter().chain(over);
        let draft = known.find(|draft| started.is_none_or(|started| draft.started == started))?;
        Some(draft.records.clone())
    }

    /// Some of what waited is being written at this moment, and to be seen neither here nor there.
    pub(crate) fn is_writing(&self) -> bool {
        lock(&self.folded).in_hand > 0
    }

    /// The database, once it has been reached.
    pub(crate) async fn database(&self, patience: Duration) -> Result<Arc<Database>, Error> {
        let mut reached = self.database.subscribe();
        let wait = tokio::time::timeout(patience, reached.wait_for(Option::is_some)).await;
        let database = wait.ok().and_then(|seen| seen.ok()?.clone());
        database.ok_or_else(|| Error::Away(lock(&self.trouble).clone().unwrap_or_default()))
    }

    pub(crate) fn reached(&self, database: Arc<Database>) {
        self.database.send_replace(Some(database));
        *lock(&self.trouble) = None;
    }

    pub(crate) fn troubled(&self, trouble: Option<String>) {
        *lock(&self.trouble) = trouble;
    }

    pub(crate) fn lose(&self, events: u64) {
        self.lost.fetch_add(events, Ordering::Relaxed);
    }

    /// Events that are lost and have not been told.
    pub(crate) fn untold(&self) -> u64 {
        self.lost.load(Ordering::Relaxed).saturating_sub(self.told.load(Ordering::Relaxed))
    }

    /// The same, for whoever tells them.
    pub(crate) fn tell(&self) -> u64 {
        let lost = self.lost.load(Ordering::Relaxed);
        lost.saturating_sub(self.told.swap(lost, Ordering::Relaxed))
    }

    pub(crate) fn is_troubled(&self) -> bool {
        lock(&self.trouble).is_some()
    }

    pub(crate) fn health(&self) -> Health {
        let trouble = lock(&self.trouble).clone();
        let folded = lock(&self.folded);
        Health {
            is_reached: trouble.is_none(),
            trouble,
            waiting: folded.waiting.len() + folded.in_hand,
            running: folded.folding.running(),
            lost: self.lost.load(Ordering::Relaxed),
            written: self.written.load(Ordering::Relaxed),
        }
    }

    /// Waits until nothing that was fed so far waits any more, whatever is fed meanwhile; says whether it came to that.
    pub(crate) async fn flushed(&self, patience: Duration) -> bool {
        self.fold(crate::now());
        let mark = {
            let folded = lock(&self.folded);
            folded.gone + (folded.waiting.len() + folded.in_hand) as u64
        };
        let reached = async {
            while lock(&self.folded).gone < mark {
                self.hurry.store(true, Ordering::Relaxed);
                self.work.notify_one();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let is_reached = tokio::time::timeout(patience, reached).await.is_ok();
        self.hurry.store(false, Ordering::Relaxed);
        is_reached
    }

    pub(crate) fn is_hurried(&self) -> bool {
        self.hurry.load(Ordering::Relaxed) || self.is_closed()
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.work.notify_one();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Nothing is to be written any more, ever.
    pub(crate) fn is_finished(&self) -> bool {
        self.folded_all.load(Ordering::Relaxed) && self.is_idle()
    }

    /// The thread is done.
    pub(crate) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Returns when the thread is done.
    pub(crate) async fn ended(&self) {
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    fn is_idle(&self) -> bool {
        let is_fed = lock(&self.fed).records > 0;
        let folded = lock(&self.folded);
        !is_fed && folded.waiting.is_empty() && folded.in_hand == 0
    }
}

/// Puts an item in line, unless the line is full; returns how many events are lost.
fn put(item: Item, waiting: &mut VecDeque<Item>, bytes: &mut usize) -> u64 {
    let size = size(&item);
    // What the database holds a part of is completed whatever happens, so that its sums stay right. There
    // are no more of those than requests that run at once.
    let is_begun = matches!(&item, Item::Request(draft) if draft.counted.is_some());
    if *bytes + size > WAITING_BYTES_MAX && !is_begun {
        return events(&item);
    }
    *bytes += size;
    waiting.push_back(item);
    0
}

fn size(item: &Item) -> usize {
    match item {
        Item::Request(draft) => 600 + draft.records.len() + 128 * (draft.failures.len() + draft.visits.len()),
        Item::Alert(_) | Item::Breaker(_) | Item::Escalation(_) => 400,
    }
}

/// How many events an item stands for.
pub(crate) fn events(item: &Item) -> u64 {
    match item {
        Item::Request(draft) => draft.events.into(),
        Item::Alert(_) | Item::Breaker(_) | Item::Escalation(_) => 1,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
