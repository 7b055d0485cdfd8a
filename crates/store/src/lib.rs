//! What is kept: events, sessions, alerts, climbs, what people wrote, and sums of it all.
//!
//! ```text
//! recorder ──▶ feed ──▶ fold ──▶ waiting ──▶ one transaction: rows · failures · sessions · roll-ups
//!                                   ▲
//!                    bounded; the store away: it grows, then loses, and says how much
//! ```
//!
//! SQLite by default, PostgreSQL by address; both through the same statements (`db`). A store is
//! always open: a database that is away, locked or full stops no traffic. Events wait in bounded
//! memory, one warning is given, and it catches up by itself. Everything that is acknowledged
//! (documents, climbs) is committed before the call returns, or the call says that it was not.
//!
//! What replicas share among themselves is apart from all that: [`shared`].
//!
//! *Invariant:* prompts, answers and keys never come here; keys only as hashes. Tasks are the exception: what
//! an agent is told must outlive whoever was to tell it.
//! *Boundary:* knows `core` only. Whoever drives an engine hands its records to [`Store::feed`].

mod address;
mod alerts;
mod analytics;
mod audit;
mod batch;
mod db;
mod documents;
mod error;
mod escalations;
pub mod export;
mod fold;
mod id;
mod insert;
mod intake;
mod migrate;
mod page;
mod requests;
mod rollup;
mod sessions;
pub mod shared;
mod tasks;
mod upkeep;
mod writer;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use steadfast_core::record::Record;

pub use crate::address::{Address, Options};
pub use crate::alerts::{Alert, AlertFilter, BreakerChange};
pub use crate::analytics::{Analytics, Bar, Bucket, Message, Range, Recovery, Target, Verdict};
pub use crate::audit::Audit;
use crate::db::Database;
pub use crate::documents::{Document, Expected, PutError};
pub use crate::error::Error;
pub use crate::escalations::Escalation;
pub use crate::intake::Health;
use crate::intake::Shared;
pub use crate::page::{Cursor, NotACursor, PAGE_DEFAULT, PAGE_MAX, Page, Paging};
pub use crate::requests::{AttemptSummary, Filter, RequestSummary, attempts};
pub use crate::rollup::{Measures, OTHERS};
pub use crate::sessions::{SessionDetail, SessionFilter, SessionSummary};
pub use crate::tasks::{
    AddError, Held, Leased, NewTask, News, Said, TASKS_MAX, TaskDetail, TaskFilter, TaskSummary, TurnTaken, Wish,
};

/// Longer than any question should take; whoever asked gets an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// How long a question waits for a database that has not been reached yet.
const REACH_WITHIN: Duration = Duration::from_secs(2);

/// What is kept. Clones are the same store; the last one that goes writes what is waiting and closes it.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    /// The store's own thread: connections live there, whatever becomes of those who ask.
    runtime: tokio::runtime::Handle,
}

impl Store {
    /// Opens a store. Only a thread that cannot be started is an error: the database may be away.
    pub fn open(options: Options) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::new(options));
        let runtime = writer::start(Arc::clone(&shared))?;
        Ok(Self { inner: Arc::new(Inner { shared, runtime }) })
    }

    /// Takes a batch of records; never waits. What does not fit is lost and counted.
    pub fn feed(&self, batch: &Arc<[Record]>) {
        self.inner.shared.feed(batch);
    }

    /// Waits until everything fed so far is written; says whether it was within that time.
    pub async fn flush(&self, patience: Duration) -> bool {
        let shared = Arc::clone(&self.inner.shared);
        self.inner.runtime.spawn(async move { shared.flushed(patience).await }).await.unwrap_or(false)
    }

    /// Writes what waits, what still runs included, and closes the store for all its clones; gives up after
    /// five seconds.
    pub async fn close(&self) {
        self.inner.shared.close();
        self.inner.shared.ended().await;
    }

    /// How the store is.
    pub fn health(&self) -> Health {
        self.inner.shared.health()
    }

    /// Where it is, and how long it keeps what it is given.
    pub fn options(&self) -> &Options {
        &self.inner.shared.options
    }

    /// How much room it takes.
    pub async fn size_bytes(&self) -> Result<u64, Error> {
        self.run(|db| async move { upkeep::size_bytes(&db).await }).await
    }

    /// What is shared with the store's own thread.
    fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.inner.shared)
    }

    /// The lines of a request that wait to be written. Looked for on the store's own thread: they may have to be folded
    /// first, and nobody who serves should wait for that.
    async fn waiting(&self, request: &str, started: Option<i64>) -> Option<String> {
        let (shared, request) = (self.shared(), request.to_owned());
        self.inner.runtime.spawn(async move { shared.waiting(&request, started) }).await.ok().flatten()
    }

    /// Runs something on the store's own thread: it ends whether or not whoever asked waits for it.
    pub(crate) async fn run<T, F, W>(&self, job: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(Arc<Database>) -> W + Send + 'static,
        W: Future<Output = Result<T, Error>> + Send,
    {
        let shared = Arc::clone(&self.inner.shared);
        let answer = self.inner.runtime.spawn(async move {
            let db = shared.database(REACH_WITHIN).await?;
            let answer = tokio::time::timeout(ANSWER_WITHIN, job(db)).await;
            answer.unwrap_or_else(|_| Err(Error::Away(format!("no answer within {} s", ANSWER_WITHIN.as_secs()))))
        });
        answer.await.unwrap_or_else(|_| Err(Error::Away("it is being closed".to_owned())))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close();
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
