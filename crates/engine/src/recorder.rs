//! What happened, on its way to everybody who keeps or shows it.
//!
//! ```text
//! requests ──▶ queue ──▶ whoever has a moment ──▶ live readers · store · lines of the decision log
//!                            ▲                                                   │
//!                          alerts: what the watches notice joins the batch       └──▶ recorder thread ──▶ disk
//! ```
//!
//! Requests hand records over and wait for nothing. A thread that serves and has nothing to do just then tells a
//! handful of them: told by a thread of their own, hundreds at a time, they would take the core from under requests
//! for a millisecond. The recorder's thread tells what nobody found time for, and alone meets the disk. Where that does
//! not keep up, records are lost, counted, and said once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_core::record::Record;

use crate::alerts::Alerts;
use crate::clock::Clock;
use crate::live::Live;
use crate::log::LogFiles;
use crate::owners::Owners;

/// Records under way; half a second of them at full load.
const QUEUED_MAX: usize = 32 * 1024;

/// With so many of them waiting, whoever records one more tells a handful: a burst is not left to a thread that waits for
/// a core.
const CROWDED: usize = 1024;

/// Bytes of the decision log under way: more than a second of them at full load.
const LINES_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Room for lines that is kept when they are written: a burst's is given back.
const LINES_BYTES_KEPT: usize = 1024 * 1024;

/// How long records and lines are gathered: waking the thread for each of them would cost a request more
/// than everything else about it.
const GATHER: Duration = Duration::from_millis(25);

/// Records that are told in one go, before those who serve may take the core back: some fifty microseconds.
const BATCH: usize = 32;

/// Records that a thread which serves tells between two looks at its connections: those of two requests or three.
const HANDFUL: usize = 12;

/// Low enough to wait for those who serve, high enough to keep up with them.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// How often alerts are looked at while nothing happens.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Somebody who is handed every batch, in order. Must not wait: it is told by threads that serve.
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
    /// The thread is wanted: there are records again, or something cannot wait.
    work: Condvar,
    /// Held by whoever tells; taken before the queue.
    everybody: Mutex<Everybody>,
    /// How many did not fit or could not be written.
    lost: AtomicU64,
    live: Arc<Live>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Queue {
    records: VecDeque<Record>,
    orders: Vec<Order>,
    /// Something was recorded since the thread last looked.
    is_fresh: bool,
    /// The thread sleeps until something is recorded.
    is_asleep: bool,
    /// Nobody will write any more.
    is_closed: bool,
}

/// What the thread is told between records.
enum Order {
    /// Write here from now on.
    Log(Option<LogFiles>),
    /// Say when everything before is written.
    Flush(SyncSender<()>),
}

impl Recorder {
    /// Starts the thread.
    pub(crate) fn start(log: Option<LogFiles>, live: Arc<Live>, clock: Clock) -> std::io::Result<Self> {
        let everybody = Everybody { lines: log.is_some().then(Vec::new), ..Everybody::default() };
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            work: Condvar::new(),
            everybody: Mutex::new(everybody),
            lost: AtomicU64::new(0),
            live,
            clock,
        });
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new().name("recorder".to_owned()).spawn(move || keep(log, &theirs))?;
        Ok(Self { shared })
    }

    /// Hands a record over; never waits.
    pub(crate) fn record(&self, record: Record) {
        match self.shared.push(record) {
            Some(waiting) if waiting > CROWDED => self.lend_a_hand(),
            Some(_) => {}
            None => self.shared.lose(1),
        }
    }

    /// Tells a handful of what waits, unless somebody is at it. Fewer are left to gather: the next request may be on its way.
    pub(crate) fn lend_a_hand(&self) {
        if lock(&self.shared.queue).records.len() < HANDFUL {
            return;
        }
        if let Ok(mut everybody) = self.shared.everybody.try_lock() {
            self.shared.tell(&mut everybody, HANDFUL);
        }
    }

    /// Writes to another log from here on.
    pub(crate) fn log_to(&self, log: Option<LogFiles>) {
        self.shared.order(Order::Log(log));
    }

    /// Hands every batch to `listener` too.
    pub(crate) fn listen(&self, listener: Box<dyn Listener>) {
        lock(&self.shared.everybody).listeners.push(listener);
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
        lock(&self.shared.queue).is_closed = true;
        self.shared.work.notify_one();
    }
}

impl Shared {
    /// Says how many wait, or that there was no room.
    fn push(&self, record: Record) -> Option<usize> {
        let mut queue = lock(&self.queue);
        if queue.records.len() >= QUEUED_MAX {
            return None;
        }
        queue.records.push_back(record);
        let waiting = queue.records.len();
        queue.is_fresh = true;
        let is_asleep = std::mem::take(&mut queue.is_asleep);
        drop(queue);
        if is_asleep {
            self.work.notify_one();
        }
        Some(waiting)
    }

    fn order(&self, order: Order) {
        lock(&self.queue).orders.push(order);
        self.work.notify_one();
    }

    /// Waits for records and lets some more gather. Returns what is wanted of the thread, or nothing after a while of
    /// nothing; `None` when there will be no more.
    fn wait(&self) -> Option<Vec<Order>> {
        let is_called = |queue: &Queue| !queue.orders.is_empty() || queue.is_closed;
        let mut queue = lock(&self.queue);
        if !queue.is_fresh && !is_called(&queue) {
            queue.is_asleep = true;
            let sleeps = |queue: &mut Queue| queue.is_asleep && !is_called(queue);
            queue = self.work.wait_timeout_while(queue, LOOK_EVERY, sleeps).unwrap_or_else(PoisonError::into_inner).0;
            queue.is_asleep = false;
        }
        if queue.is_fresh {
            let gathers = |queue: &mut Queue| !is_called(queue);
            queue = self.work.wait_timeout_while(queue, GATHER, gathers).unwrap_or_else(PoisonError::into_inner).0;
        }
        let is_over = queue.is_closed && !queue.is_fresh && queue.orders.is_empty();
        queue.is_fresh = false;
        (!is_over).then(|| std::mem::take(&mut queue.orders))
    }

    /// Tells the first of what waits, at most so many; says how many there were.
    fn tell(&self, everybody: &mut Everybody, most: usize) -> usize {
        let mut queue = lock(&self.queue);
        let count = queue.records.len().min(most);
        everybody.batch.extend(queue.records.drain(..count));
        if queue.records.is_empty() && queue.records.capacity() > 2 * CROWDED {
            queue.records.shrink_to(CROWDED);
        }
        drop(queue);
        if count > 0 {
            everybody.hear(self);
        }
        count
    }

    /// Tells all that waits, in pieces.
    fn tell_all(&self) {
        while self.tell(&mut lock(&self.everybody), BATCH) == BATCH {
            // This core may be one that serves: whoever waits for it comes first.
            std::thread::yield_now();
        }
    }

    fn lose(&self, records: u64) {
        if records > 0 && self.lost.fetch_add(records, Ordering::Relaxed) == 0 {
            tracing::warn!("records of decisions come faster than they are written: some are lost");
        }
    }
}

/// The thread: tells what is left, and writes.
fn keep(mut log: Option<LogFiles>, shared: &Shared) {
    step_back();
    let mut lines = Vec::new();
    while let Some(orders) = shared.wait() {
        shared.tell_all();
        let mut everybody = lock(&shared.everybody);
        everybody.look_at_the_clock(shared);
        if let Some(encoded) = &mut everybody.lines {
            std::mem::swap(encoded, &mut lines);
        }
        drop(everybody);
        if let Some(log) = &mut log {
            let lost = log.write_lines(&lines);
            log.flush();
            shared.lost.fetch_add(lost, Ordering::Relaxed);
        }
        lines.clear();
        lines.shrink_to(LINES_BYTES_KEPT);
        for order in orders {
            match order {
                Order::Log(files) => {
                    log = files;
                    lock(&shared.everybody).lines = log.is_some().then(Vec::new);
                }
                Order::Flush(done) => drop(done.send(())),
            }
        }
    }
}

/// Who is told what happened.
#[derive(Default)]
struct Everybody {
    alerts: Alerts,
    owners: Owners,
    listeners: Vec<Box<dyn Listener>>,
    /// Lines for the decision log, where there is one.
    lines: Option<Vec<u8>>,
    /// What is being told.
    batch: Vec<Record>,
}

impl Everybody {
    /// Tells the batch, and what the watches make of it.
    fn hear(&mut self, shared: &Shared) {
        let told = self.alerts.look(&self.batch);
        told.iter().for_each(say);
        self.batch.extend(told);
        self.spread(shared);
    }

    /// Some alerts are over because nothing happened.
    fn look_at_the_clock(&mut self, shared: &Shared) {
        let told = self.alerts.pass(shared.clock.wall());
        told.iter().for_each(say);
        self.batch.extend(told);
        self.spread(shared);
    }

    /// Hands the batch to everybody.
    fn spread(&mut self, shared: &Shared) {
        if self.batch.is_empty() {
            return;
        }
        if let Some(lines) = &mut self.lines {
            let before = lines.len();
            self.batch.iter().for_each(|record| record.write_line(lines));
            if lines.len() > LINES_BYTES_MAX {
                lines.truncate(before);
                shared.lose(self.batch.len() as u64);
            }
        }
        self.owners.tag(&mut self.batch);
        let batch: Arc<[Record]> = self.batch.drain(..).collect();
        for listener in &mut self.listeners {
            listener.hear(&batch);
        }
        shared.live.publish(batch);
    }
}

impl std::fmt::Debug for Everybody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Everybody").finish_non_exhaustive()
    }
}

/// Says an alert on stderr.
fn say(alert: &Record) {
    let text = alert.reason.as_deref().unwrap_or_default();
    match alert.state.as_deref() {
        Some("raised") => tracing::warn!("alert: {text}"),
        _ => tracing::info!("alert is over: {text}"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the threads that serve go first: a batch is written within the gaps between requests, and not
/// in front of one.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "cannot lower the priority of the recorder");
    }
}

impl std::fmt::Debug for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Log(_) => "Log",
            Self::Flush(_) => "Flush",
        })
    }
}

#[cfg(test)]
mod tests {
    use steadfast_config::DecisionLog;
    use steadfast_core::Timestamp;
    use steadfast_core::record::Event;

    use super::*;

    /// Keeps the names of what it hears.
    struct Heard(Arc<Mutex<Vec<Arc<str>>>>);

    impl Listener for Heard {
        fn hear(&mut self, batch: &Arc<[Record]>) {
            lock(&self.0).extend(batch.iter().map(|record| Arc::clone(&record.request)));
        }
    }

    fn record(name: &str) -> Record {
        Record::new(Timestamp::from_millis(1), Event::Attempt, name.into())
    }

    fn start(log: Option<LogFiles>) -> Recorder {
        let clock = Clock::start();
        Recorder::start(log, Live::new(clock.wall()), clock).unwrap()
    }

    #[test]
    fn whoever_lends_a_hand_tells_what_waits_in_its_order() {
        let recorder = start(None);
        let heard = Arc::default();
        recorder.listen(Box::new(Heard(Arc::clone(&heard))));
        for round in 0..100 {
            recorder.record(record(&format!("{round}")));
            recorder.lend_a_hand();
        }
        recorder.flush();
        let expected: Vec<String> = (0..100).map(|round| round.to_string()).collect();
        assert_eq!(lock(&heard).iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn threads_that_record_and_tell_at_once_lose_nothing_and_keep_the_order_of_each() {
        let folder = std::env::temp_dir().join(format!("steadfast-recorder-{}", std::process::id()));
        let path = folder.join("decisions.jsonl");
        let settings = DecisionLog { path: path.display().to_string(), rotate_bytes: 1 << 30, keep: 1 };
        let recorder = start(Some(LogFiles::open(&settings).unwrap()));
        let heard = Arc::default();
        recorder.listen(Box::new(Heard(Arc::clone(&heard))));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let recorder = &recorder;
                scope.spawn(move || {
                    for number in 0..2_000 {
                        recorder.record(record(&format!("{thread} {number}")));
                        if number % 3 == thread % 3 {
                            recorder.lend_a_hand();
                        }
                    }
                });
            }
        });
        recorder.flush();
        assert_eq!(recorder.lost(), 0);
        let written = std::fs::read_to_string(&path).unwrap();
        let names = written.lines().map(|line| serde_json::from_str::<Record>(line).unwrap().request);
        let written: Vec<Arc<str>> = names.collect();
        assert_eq!(written, *lock(&heard), "those who hear and the log are told the same");
        for thread in 0..4 {
            let own: Vec<Arc<str>> = (0..2_000).map(|number| format!("{thread} {number}").into()).collect();
            let mine = format!("{thread} ");
            let told: Vec<Arc<str>> = written.iter().filter(|name| name.starts_with(&mine)).cloned().collect();
            assert_eq!(told, own);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
