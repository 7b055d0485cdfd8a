//! What happened, on its way to everybody who keeps or shows it.
//!
//! ```text
//! requests ──▶ queue ──▶ recorder thread ──▶ decision log · live readers · store
//!                            ▲
//!                          alerts: what the watches notice joins the batch
//! ```
//!
//! Requests hand records over and wait for nothing. Where the thread does not keep up, records are
//! lost, counted, and said once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_core::Timestamp;
use steadfast_core::record::Record;

use crate::alerts::Alerts;
use crate::clock::Clock;
use crate::live::Live;
use crate::log::LogFiles;
use crate::owners::Owners;

/// Records under way; half a second of them at full load.
const QUEUED_MAX: usize = 32 * 1024;

/// How long records are gathered: waking the thread for each of them would cost a request more
/// than everything else about it.
const GATHER: Duration = Duration::from_millis(10);

/// Records that are told in one go, before those who serve may take the core back: some fifty microseconds.
const BATCH: usize = 32;

/// Low enough to wait for those who serve, high enough to keep up with them.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// How often alerts are looked at while nothing happens.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Somebody who is handed every batch, in order. Must not wait: everybody else would wait for it.
pub trait Listener: Send {
    /// Takes a batch.
    fn hear(&mut self, batch: &Arc<[Record]>);
}

/// Takes records from requests.
#[derive(Debug)]
pub(crate) struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Records have come into an empty queue, or something cannot wait.
    work: Condvar,
    /// How many did not fit or could not be written.
    lost: AtomicU64,
    live: Arc<Live>,
}

#[derive(Debug, Default)]
struct Queue {
    records: Vec<Record>,
    orders: Vec<Order>,
    /// Nobody will write any more.
    closed: bool,
}

/// What the thread is told between records.
enum Order {
    /// Write here from now on.
    Log(Option<LogFiles>),
    /// Hand every batch to this one too.
    Listen(Box<dyn Listener>),
    /// Say when everything before is written.
    Flush(SyncSender<()>),
}

impl Recorder {
    /// Starts the thread.
    pub(crate) fn start(log: Option<LogFiles>, live: Arc<Live>, clock: Clock) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { queue: Mutex::default(), work: Condvar::new(), lost: AtomicU64::new(0), live });
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new().name("recorder".to_owned()).spawn(move || keep(log, &theirs, clock))?;
        Ok(Self { shared })
    }

    /// Hands a record over; never waits.
    pub(crate) fn record(&self, record: Record) {
        if !self.shared.push(record) && self.shared.lost.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!("records of decisions come faster than they are written: some are lost");
        }
    }

    /// Writes to another log from here on.
    pub(crate) fn log_to(&self, log: Option<LogFiles>) {
        self.shared.order(Order::Log(log));
    }

    /// Hands every batch to `listener` too.
    pub(crate) fn listen(&self, listener: Box<dyn Listener>) {
        self.shared.order(Order::Listen(listener));
    }

    /// How many records were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Waits until everything handed over so far is written, for a moment at most.
    pub(crate) fn flush(&self) {
        let (done, wait) = sync_channel(1);
        self.shared.order(Order::Flush(done));
        // A disk that hangs must not hold up the shutdown.
        let _ = wait.recv_timeout(Duration::from_secs(5));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_one();
    }
}

impl Shared {
    /// Says whether there was room.
    fn push(&self, record: Record) -> bool {
        let mut queue = self.lock();
        if queue.records.len() >= QUEUED_MAX {
            return false;
        }
        let first = queue.records.is_empty();
        queue.records.push(record);
        drop(queue);
        if first {
            self.work.notify_one();
        }
        true
    }

    fn order(&self, order: Order) {
        self.lock().orders.push(order);
        self.work.notify_one();
    }

    /// Waits for records, gathers some more, and takes them all; none after a while of nothing, `None`
    /// when there will be no more.
    fn take(&self, records: &mut Vec<Record>) -> Option<Vec<Order>> {
        let idle: fn(&mut Queue) -> bool = |queue| queue.records.is_empty() && queue.orders.is_empty() && !queue.closed;
        let calm: fn(&mut Queue) -> bool = |queue| queue.orders.is_empty() && !queue.closed;
        let wait = |queue, time, wait: fn(&mut Queue) -> bool| {
            self.work.wait_timeout_while(queue, time, wait).unwrap_or_else(PoisonError::into_inner).0
        };
        let mut queue = wait(self.lock(), LOOK_EVERY, idle);
        if !queue.records.is_empty() {
            queue = wait(queue, GATHER, calm);
        }
        std::mem::swap(&mut queue.records, records);
        let over = queue.closed && records.is_empty() && queue.orders.is_empty();
        (!over).then(|| std::mem::take(&mut queue.orders))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread: batch after batch to everybody.
fn keep(log: Option<LogFiles>, shared: &Shared, clock: Clock) {
    step_back();
    let mut everybody = Everybody {
        log,
        alerts: Alerts::default(),
        owners: Owners::default(),
        listeners: Vec::new(),
        batch: Vec::new(),
    };
    let mut records = Vec::new();
    while let Some(orders) = shared.take(&mut records) {
        // Who wants to hear everything from now on hears what came with the wish.
        let (joining, orders): (Vec<Order>, Vec<Order>) =
            orders.into_iter().partition(|order| matches!(order, Order::Listen(_)));
        everybody.listeners.extend(joining.into_iter().filter_map(Order::listener));
        let mut left = records.drain(..);
        loop {
            everybody.batch.extend(left.by_ref().take(BATCH));
            everybody.hear(shared, clock.wall());
            if left.len() == 0 {
                break;
            }
            // This core may be one that serves: whoever waits for it comes first.
            std::thread::yield_now();
        }
        drop(left);
        everybody.log.iter_mut().for_each(LogFiles::flush);
        for order in orders {
            match order {
                Order::Log(files) => everybody.log = files,
                Order::Listen(_) => {}
                Order::Flush(done) => drop(done.send(())),
            }
        }
    }
}

/// Who is told what happened.
struct Everybody {
    log: Option<LogFiles>,
    alerts: Alerts,
    owners: Owners,
    listeners: Vec<Box<dyn Listener>>,
    /// What is being told.
    batch: Vec<Record>,
}

impl Everybody {
    /// Tells the batch, and what the watches make of it.
    fn hear(&mut self, shared: &Shared, now: Timestamp) {
        let told = self.alerts.look(&self.batch, now);
        for alert in &told {
            let text = alert.reason.as_deref().unwrap_or_default();
            match alert.state.as_deref() {
                Some("raised") => tracing::warn!("alert: {text}"),
                _ => tracing::info!("alert is over: {text}"),
            }
        }
        self.batch.extend(told);
        if self.batch.is_empty() {
            return;
        }
        let lost = self.log.as_mut().map_or(0, |log| log.write_all(&self.batch));
        shared.lost.fetch_add(lost, Ordering::Relaxed);
        self.owners.tag(&mut self.batch);
        let batch: Arc<[Record]> = self.batch.drain(..).collect();
        for listener in &mut self.listeners {
            listener.hear(&batch);
        }
        shared.live.publish(batch);
    }
}

/// Lets the threads that serve go first: a batch is written within the gaps between requests, and not
/// in front of one.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "cannot lower the priority of the recorder");
    }
}

impl Order {
    fn listener(self) -> Option<Box<dyn Listener>> {
        match self {
            Self::Listen(listener) => Some(listener),
            Self::Log(_) | Self::Flush(_) => None,
        }
    }
}

impl std::fmt::Debug for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Log(_) => "Log",
            Self::Listen(_) => "Listen",
            Self::Flush(_) => "Flush",
        })
    }
}
