//! Threads that serve connections, each with a runtime of its own.
//!
//! A connection stays on its thread, with its requests and with the connections to providers that
//! they use: between a client's bytes and a provider's no other thread is woken, and no queue is
//! shared. The thread stays on its core (see [`cores`](crate::cores)).

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use steadfast_engine::usher;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::cores::Cores;

/// After so many tasks a thread looks whether something has come over its connections: a request waits no longer than for
/// these, where streams come after it (see [`usher`]).
const LOOKS_UP_AFTER: u32 = 16;

/// Every so many tasks it takes one that another thread has handed over, such as a new connection.
const TAKES_OVER_AFTER: u32 = 4;

/// Threads that serve; they end when this is dropped.
#[derive(Debug)]
pub struct Workers(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// Connections it has.
    open: Arc<AtomicUsize>,
    /// Dropped, it tells the thread to end.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    /// One for each core. Each calls `idle` whenever none of its connections has anything to do, before it sleeps.
    pub fn start(idle: impl Fn() + Clone + Send + Sync + 'static) -> io::Result<Self> {
        Self::start_some(std::thread::available_parallelism().map_or(1, NonZero::get), idle)
    }

    fn start_some(threads: usize, idle: impl Fn() + Clone + Send + Sync + 'static) -> io::Result<Self> {
        let cores = Cores::for_each_of(threads);
        (0..threads).map(|number| Worker::start(number, cores, idle.clone())).collect::<io::Result<_>>().map(Self)
    }

    /// Runs a connection where the fewest are.
    pub(crate) fn spawn(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let Some(worker) = self.0.iter().min_by_key(|worker| worker.open.load(Ordering::Relaxed)) else { return };
        let open = Open::one_more(&worker.open);
        worker.runtime.spawn(async move {
            connection.await;
            drop(open);
        });
    }
}

impl Worker {
    fn start(number: usize, cores: Option<Cores>, idle: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        // The only threads a runtime of this kind starts are for what blocks, such as looking up a name.
        let helps = move || cores.iter().for_each(Cores::roam);
        let mut builder = Builder::new_current_thread();
        let builder = builder.enable_all().on_thread_park(idle).on_thread_start(helps);
        let runtime = builder.event_interval(LOOKS_UP_AFTER).global_queue_interval(TAKES_OVER_AFTER).build()?;
        runtime.spawn(usher());
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(format!("serve-{number}")).spawn(move || {
            if let Some(cores) = cores {
                cores.stay_on(number);
            }
            runtime.block_on(until(stopped));
            // What is detached must not hold up the end.
            runtime.shutdown_timeout(Duration::from_secs(1));
        })?;
        Ok(Self { runtime: handle, open: Arc::default(), stop: Some(stop), thread: Some(thread) })
    }
}

/// Waits for the end. It looks up every second, because a timer that is the first to come wakes the
/// runtime with a system call: so none of a request's is, unless it really is about to come.
async fn until(mut stopped: oneshot::Receiver<()>) {
    while tokio::time::timeout(Duration::from_secs(1), &mut stopped).await.is_err() {}
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            worker.stop = None;
        }
        for thread in self.0.iter_mut().filter_map(|worker| worker.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// A connection that counts while it lives.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn one_more(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn connections_are_spread_and_their_threads_end() {
        let workers = Workers::start_some(3, || {}).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        for _ in 0..6 {
            let tell = tell.clone();
            workers.spawn(async move {
                tell.send(std::thread::current().id()).unwrap();
                std::future::pending::<()>().await;
            });
        }
        let threads: Vec<_> = told.iter().take(6).collect();
        assert_eq!(threads.iter().collect::<HashSet<_>>().len(), 3);
        assert!(workers.0.iter().all(|worker| worker.open.load(Ordering::Relaxed) == 2));
        let counts: Vec<_> = workers.0.iter().map(|worker| Arc::clone(&worker.open)).collect();
        drop(workers);
        assert!(counts.iter().all(|open| open.load(Ordering::Relaxed) == 0), "they took their connections along");
    }
    #[cfg(target_os = "linux")]
    #[test]
    fn each_has_a_core_of_its_own_and_its_helpers_have_all() {
        use rustix::thread::{CpuSet, sched_getaffinity};

        fn may_run_on() -> Vec<usize> {
            let cores = sched_getaffinity(None).unwrap();
            (0..CpuSet::MAX_CPU).filter(|core| cores.is_set(*core)).collect()
        }

        let all = may_run_on();
        for (threads, is_own) in [(all.len(), true), (all.len() + 1, false)] {
            let workers = Workers::start_some(threads, || {}).unwrap();
            let (tell, told) = std::sync::mpsc::channel();
            for _ in 0..threads {
                let tell = tell.clone();
                workers.spawn(async move {
                    let helper = tokio::task::spawn_blocking(may_run_on).await.unwrap();
                    tell.send((may_run_on(), helper)).unwrap();
                    std::future::pending::<()>().await;
                });
            }
            let (mut served_on, helped_on): (Vec<_>, Vec<_>) = told.iter().take(threads).unzip();
            served_on.sort();
            let expected =
                if is_own { all.iter().map(|core| vec![*core]).collect() } else { vec![all.clone(); threads] };
            assert_eq!(served_on, expected);
            assert!(helped_on.iter().all(|cores| *cores == all), "{helped_on:?}");
        }
    }
}
