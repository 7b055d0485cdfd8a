//! Threads that serve connections, each with a runtime of its own.
//!
//! A connection stays on its thread, with its requests and with the connections to providers that
//! they use: between a client's bytes and a provider's no other thread is woken, and no queue is
//! shared.

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

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
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        (0..cores).map(|number| Worker::start(number, idle.clone())).collect::<io::Result<_>>().map(Self)
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
    fn start(number: usize, idle: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().on_thread_park(idle).build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(format!("serve-{number}")).spawn(move || {
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
        let workers = Workers((0..3).map(|number| Worker::start(number, || {}).unwrap()).collect());
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
}
