//! The handle of a running fake.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::ledger::Received;
use crate::script::{self, ScriptError, parse};
use crate::server::{Order, serve};
use crate::shared::Shared;

/// A running fake provider. Dropping it closes its port and all connections.
pub struct Fake {
    shared: Arc<Shared>,
    addr: SocketAddr,
    orders: mpsc::Sender<Order>,
    server: JoinHandle<()>,
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fake").field("addr", &self.addr).finish_non_exhaustive()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Fake {
    /// Starts on a free port of the loopback interface.
    pub async fn start() -> io::Result<Self> {
        Self::start_on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    /// Starts on this address.
    pub async fn start_on(addr: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let (orders, inbox) = mpsc::channel(1);
        let server = tokio::spawn(serve(Arc::clone(&shared), listener, addr, inbox));
        Ok(Self { shared, addr, orders, server })
    }

    /// The base URL of the default endpoint, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The base URL of the endpoint of this name.
    pub fn endpoint_url(&self, name: &str) -> String {
        if name.is_empty() { self.url() } else { format!("{}/@{name}", self.url()) }
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Replaces the script of an endpoint: `"status=503 x2; ok"`.
    pub fn script(&self, endpoint: &str, specs: &str) -> Result<(), ScriptError> {
        self.shared.endpoint(endpoint).set(None, &parse(specs)?);
        Ok(())
    }

    /// Replaces the script of one model at an endpoint; it goes before the endpoint's own.
    pub fn script_model(&self, endpoint: &str, model: &str, specs: &str) -> Result<(), ScriptError> {
        self.shared.endpoint(endpoint).set(Some(model), &parse(specs)?);
        Ok(())
    }

    /// Takes over all scripts of a TOML file.
    pub fn load(&self, toml: &str) -> Result<(), ScriptError> {
        for (endpoint, model, script) in script::read(toml)? {
            self.shared.endpoint(&endpoint).set(model.as_deref(), &script);
        }
        Ok(())
    }

    /// The last requests, oldest first.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.requests()
    }

    /// How many requests an endpoint got.
    pub fn count(&self, endpoint: &str) -> usize {
        self.shared.count(endpoint)
    }

    /// How many requests each endpoint got; the default endpoint is the empty name.
    pub fn counts(&self) -> std::collections::BTreeMap<String, usize> {
        self.shared.counts()
    }

    /// Forgets all requests and counts. Scripts go on where they are.
    pub fn reset_counts(&self) {
        self.shared.reset();
    }

    /// How many connections are open.
    pub fn open_connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Whether request bodies are remembered; benchmarks switch it off.
    pub fn keep_bodies(&self, keep: bool) {
        self.shared.drops_bodies.store(!keep, Ordering::Relaxed);
    }

    /// Calls with every request when it has ended. Only the first watcher is kept.
    pub fn watch(&self, watcher: impl Fn(&Received) + Send + Sync + 'static) {
        let _ = self.shared.watcher.set(Box::new(watcher));
    }

    /// Waits until what was received fits, and says whether it does.
    pub async fn wait_for(&self, predicate: impl Fn(&[Received]) -> bool, limit: Duration) -> bool {
        let _waiting = Waiting::new(&self.shared);
        let mut deadline = pin!(tokio::time::sleep(limit));
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            // Registered before looking, so that no change is missed in between.
            changed.as_mut().enable();
            if predicate(&self.requests()) {
                return true;
            }
            tokio::select! {
                () = changed => {}
                () = &mut deadline => return predicate(&self.requests()),
            }
        }
    }

    /// Closes the port, so that new connections are refused. Open ones go on.
    pub async fn stop_listening(&self) {
        let (done, wait) = oneshot::channel();
        self.order(Order::StopListening(done), wait).await;
    }

    /// Opens the port again.
    pub async fn listen_again(&self) -> io::Result<()> {
        let (done, wait) = oneshot::channel();
        self.order(Order::Listen(done), wait).await.unwrap_or(Ok(()))
    }

    /// Closes all open connections, whatever they are doing.
    pub async fn drop_connections(&self) {
        let (done, wait) = oneshot::channel();
        self.order(Order::DropConnections(done), wait).await;
    }

    async fn order<T>(&self, order: Order, wait: oneshot::Receiver<T>) -> Option<T> {
        self.orders.send(order).await.ok()?;
        wait.await.ok()
    }
}

/// Counts those who wait, so that nobody is woken for nothing.
struct Waiting<'a>(&'a Shared);

impl<'a> Waiting<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.waiters.fetch_add(1, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiters.fetch_sub(1, Ordering::SeqCst);
    }
}
