//! The store's own thread: folds what is fed, writes it in batches, and keeps trying.
//!
//! Two loops, so that a database that takes its time never keeps records from being folded.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use tokio::time::timeout;

use crate::alerts;
use crate::batch::{self, BatchName};
use crate::db::{Database, Durability, args};
use crate::error::Error;
use crate::fold::Item;
use crate::intake::{Shared, events};
use crate::migrate;
use crate::rollup::{DAY, HOUR, Known};
use crate::upkeep;

/// How long events are gathered before they are written.
const GATHER: Duration = Duration::from_millis(200);

/// How long records are gathered before they are folded: waking the thread for each handful costs more than folding it.
const GATHER_RECORDS: Duration = Duration::from_millis(10);

/// Requests of one transaction: those who wait to write a document wait no longer than this takes, and so, on a busy
/// machine, may those who serve.
const BATCH_MAX: usize = 500;

/// Low enough to wait for those who serve, high enough to keep up with them.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// A database that does not answer by then is away.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// A migration may rewrite a large table, and whoever waits for another replica's waits as long.
const MIGRATED_WITHIN: Duration = Duration::from_secs(60 * 60);

/// How often running requests are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The first and the longest rest before a store that is away is tried again.
const REST: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(5);

/// After so many failures in a row the connection itself is made anew.
const RECONNECT_AFTER: u32 = 5;

/// How often old rows are looked for, once there are none left.
const UPKEEP_EVERY: Duration = Duration::from_secs(10 * 60);

/// Losses are over when there are none for this long; those that go on are said all the same.
const LOSS_OVER: Duration = Duration::from_secs(2);
const LOSS_LONG: Duration = Duration::from_secs(60);

/// How long the end waits for what is still to be written.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Starts the thread.
pub(crate) fn start(shared: Arc<Shared>) -> std::io::Result<tokio::runtime::Handle> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (started, wait) = sync_channel(1);
    std::thread::Builder::new().name("store".to_owned()).spawn(move || {
        step_back();
        let _ = started.send(());
        runtime.block_on(keep(shared));
    })?;
    let _ = wait.recv();
    Ok(handle)
}

/// Lets the threads that serve go first. Those that SQLite runs on are started by this one and take after it.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "cannot lower the priority of the store");
    }
}

async fn keep(shared: Arc<Shared>) {
    let folding = tokio::spawn(fold(Arc::clone(&shared)));
    let mut writing = tokio::spawn(write(Arc::clone(&shared)));
    let _ = folding.await;
    if timeout(END_WITHIN, &mut writing).await.is_err() {
        writing.abort();
        let health = shared.health();
        tracing::warn!(store = %shared.options.address, waiting = health.waiting, "the store was closed with requests unwritten");
    }
    say_lost(&shared);
    if let Ok(db) = shared.database(Duration::ZERO).await {
        // It waits for every connection, and one that hangs never comes back.
        let _ = timeout(END_WITHIN, db.close()).await;
    }
    shared.end();
}

/// Folds what is fed until the store is closed.
async fn fold(shared: Arc<Shared>) {
    let mut looked = tokio::time::Instant::now();
    let mut losses = Losses { untold: 0, since: looked, grew: looked };
    while !shared.is_closed() {
        let _ = timeout(GATHER / 4, shared.work.notified()).await;
        if !shared.is_hurried() {
            tokio::time::sleep(GATHER_RECORDS).await;
        }
        let now = crate::now();
        shared.fold(now);
        if looked.elapsed() >= LOOK_EVERY {
            looked = tokio::time::Instant::now();
            shared.look_at_running(now);
            losses.look(&shared);
        }
    }
    shared.abandon(crate::now());
}

/// Events that are lost although the database answers: it does not keep up, or refuses them.
struct Losses {
    untold: u64,
    since: tokio::time::Instant,
    grew: tokio::time::Instant,
}

impl Losses {
    /// Says how many were lost, once no more are, or after a minute of it. What is lost while the database is away
    /// is said when it is back.
    fn look(&mut self, shared: &Shared) {
        let (untold, now) = (shared.untold(), tokio::time::Instant::now());
        if self.untold == 0 {
            self.since = now;
        }
        if untold != self.untold {
            (self.untold, self.grew) = (untold, now);
        } else if untold > 0 && !shared.is_troubled() && (now - self.grew >= LOSS_OVER || now - self.since >= LOSS_LONG)
        {
            say_lost(shared);
            self.untold = 0;
        }
    }
}

/// Says what nobody has said yet.
fn say_lost(shared: &Shared) {
    let lost = shared.tell();
    if lost > 0 {
        tracing::warn!(store = %shared.options.address, lost, "events are lost: the store does not keep up, or refuses them");
    }
}

/// The connection and what is known of what it holds.
#[derive(Debug)]
struct Link {
    database: Option<Arc<Database>>,
    /// What the next batch is called.
    batch: BatchName,
    /// So many of what waits were a batch of that name, and nobody knows whether it was committed.
    in_doubt: Option<usize>,
    known: Known,
    /// When upkeep was last done.
    kept_up: Option<tokio::time::Instant>,
    /// Failures in a row.
    failures: u32,
    /// The database refused something, and has not taken a whole batch since.
    is_refused: bool,
}

/// Writes what waits, until the store is closed and nothing waits any more.
async fn write(shared: Arc<Shared>) {
    let mut link = Link::new();
    loop {
        match link.write(&shared).await {
            Ok(()) => link.is_well(&shared),
            Err(error) => link.is_troubled(&shared, &error).await,
        }
        if shared.is_finished() {
            return;
        }
        link.rest(&shared).await;
    }
}

/// Waits no longer than it should take: a host that is switched off says nothing at all.
async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let silent = || Error::Away(format!("no answer within {} s", limit.as_secs()));
    timeout(limit, work).await.unwrap_or_else(|_| Err(silent()))
}

/// Reads which values have sums of their own, an hour of them at a time: however many there are, each answer is soon
/// there.
async fn learn(db: &Database) -> Result<Known, Error> {
    let mut known = Known::default();
    let since = crate::now() - 2 * DAY;
    let hours = 2 * DAY / HOUR;
    for hour in 0..=hours {
        let from = since + hour * HOUR;
        let to = if hour == hours { i64::MAX } else { from + HOUR };
        within(ANSWER_WITHIN, batch::learn(db, &mut known, from, to)).await?;
    }
    Ok(known)
}

/// Counts this opening of the store, and says which it is.
async fn count_opening(db: &Database) -> Result<Option<i64>, Error> {
    let mut tx = db.begin(Durability::Process).await?;
    let sql = "UPDATE counters SET value = value + 1 WHERE name = 'opening' RETURNING value";
    let opening = tx.row(sql, args![]).await?.map(|row| row.get("value")).transpose()?;
    tx.commit().await?;
    Ok(opening)
}

impl Link {
    fn new() -> Self {
        Self {
            database: None,
            batch: BatchName { writer: crate::id::random(), number: 1 },
            in_doubt: None,
            known: Known::default(),
            kept_up: None,
            failures: 0,
            is_refused: false,
        }
    }

    /// Reaches the database where that has not been done, and writes everything that waits.
    async fn write(&mut self, shared: &Shared) -> Result<(), Error> {
        if self.database.is_none() || self.failures >= RECONNECT_AFTER {
            self.connect(shared).await?;
        }
        let Some(db) = self.database.clone() else { return Ok(()) };
        let watched_from = shared.watched_from.load(Ordering::Relaxed);
        if watched_from != 0 {
            within(ANSWER_WITHIN, alerts::end_what_was_left(&db, watched_from)).await?;
            shared.watched_from.store(0, Ordering::Relaxed);
        }
        loop {
            let items = shared.take(self.in_doubt.unwrap_or(BATCH_MAX));
            if items.is_empty() {
                return self.keep_up(shared, &db).await;
            }
            match self.write_batch(&db, &items).await {
                Ok(()) => {
                    self.is_refused = false;
                    self.wrote(shared, &items);
                }
                Err(error) if error.may_pass() => {
                    shared.give_back(items);
                    return Err(error);
                }
                Err(error) => self.one_by_one(shared, &db, items, &error).await?,
            }
        }
    }

    /// Writes a batch under the next name. One that may have been written is written again as it was and under its
    /// old name, by which it is recognised: a connection that breaks during a commit leaves that open.
    async fn write_batch(&mut self, db: &Database, items: &[Item]) -> Result<(), Error> {
        let written = within(ANSWER_WITHIN, batch::write(db, self.batch, items, &mut self.known)).await;
        self.in_doubt = written.as_ref().err().filter(|error| error.may_pass()).map(|_| items.len());
        if written.is_ok() {
            self.batch.number += 1;
        }
        written
    }

    async fn connect(&mut self, shared: &Shared) -> Result<(), Error> {
        let db = within(ANSWER_WITHIN, Database::connect(&shared.options.address)).await?;
        if !within(ANSWER_WITHIN, migrate::is_done(&db)).await? {
            within(MIGRATED_WITHIN, migrate::migrate(&db)).await?;
        }
        if let Some(opening) = within(ANSWER_WITHIN, count_opening(&db)).await? {
            shared.number(opening);
        }
        self.known = learn(&db).await?;
        let db = Arc::new(db);
        shared.reached(Arc::clone(&db));
        if let Some(old) = self.database.replace(db) {
            // One that hangs must not keep the new one from its work.
            let _ = timeout(ANSWER_WITHIN, old.close()).await;
        }
        Ok(())
    }

    /// Now and then does what is due in the background, a piece at a time.
    async fn keep_up(&mut self, shared: &Shared, db: &Database) -> Result<(), Error> {
        if shared.is_hurried() || self.kept_up.is_some_and(|at| at.elapsed() < UPKEEP_EVERY) {
            return Ok(());
        }
        let keep_ms = i64::try_from(shared.options.keep.as_millis()).unwrap_or(i64::MAX / 2);
        let is_more = within(ANSWER_WITHIN, upkeep::step(db, crate::now(), keep_ms)).await?
            || within(ANSWER_WITHIN, upkeep::give_back(db)).await?;
        if !is_more {
            self.kept_up = Some(tokio::time::Instant::now());
        }
        Ok(())
    }

    fn wrote(&self, shared: &Shared, items: &[Item]) {
        shared.done(items);
        shared.written.fetch_add(items.iter().map(events).sum(), Ordering::Relaxed);
    }

    /// One item that the database refuses must not keep the others from it.
    async fn one_by_one(&mut self, shared: &Shared, db: &Database, items: Vec<Item>, why: &Error) -> Result<(), Error> {
        if !std::mem::replace(&mut self.is_refused, true) {
            tracing::error!(store = %shared.options.address, error = %why, "the store refuses events: writing them one by one");
        }
        let mut items = std::collections::VecDeque::from(items);
        while let Some(item) = items.pop_front() {
            let item = [item];
            match self.write_batch(db, &item).await {
                Ok(()) => self.wrote(shared, &item),
                Err(error) if error.may_pass() => {
                    let [item] = item;
                    items.push_front(item);
                    shared.give_back(items.into());
                    return Err(error);
                }
                Err(_) => {
                    shared.done(&item);
                    shared.lose(events(&item[0]));
                }
            }
        }
        Ok(())
    }

    fn is_well(&mut self, shared: &Shared) {
        if self.failures == 0 {
            return;
        }
        self.failures = 0;
        let lost = shared.tell();
        shared.troubled(None);
        let address = &shared.options.address;
        if lost == 0 {
            tracing::info!(store = %address, "the store is back, nothing was lost");
        } else {
            tracing::warn!(store = %address, lost, "the store is back; events that did not fit in memory are lost");
        }
    }

    async fn is_troubled(&mut self, shared: &Shared, error: &Error) {
        shared.troubled(Some(error.told().to_owned()));
        if self.failures == 0 {
            tracing::warn!(store = %shared.options.address, error = error.told(), "the store is away: events wait in memory, traffic goes on");
        }
        self.failures = self.failures.saturating_add(1);
        let rest = REST.saturating_mul(1 << self.failures.min(10)).min(REST_MAX);
        tokio::time::sleep(if shared.is_closed() { REST } else { rest }).await;
    }

    /// Lets events gather.
    async fn rest(&self, shared: &Shared) {
        let until = tokio::time::Instant::now() + GATHER;
        while !shared.is_hurried() && tokio::time::Instant::now() < until {
            tokio::time::sleep(GATHER / 4).await;
        }
        if shared.is_hurried() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
