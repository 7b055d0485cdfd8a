//! Accepts connections and finds out which HTTP they speak.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::shared::Shared;
use crate::{http1, http2};

/// How many connections are served at once; more are closed at once.
const CONNECTIONS_MAX: usize = 16_384;

/// A rest after the system is out of sockets.
const AFTER_FAILURE: Duration = Duration::from_millis(10);

/// What the owner of a fake may ask of its server.
pub(crate) enum Order {
    StopListening(oneshot::Sender<()>),
    Listen(oneshot::Sender<io::Result<()>>),
    DropConnections(oneshot::Sender<()>),
}

/// Serves until it is dropped, and all connections with it.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    listener: TcpListener,
    addr: SocketAddr,
    mut orders: mpsc::Receiver<Order>,
) {
    let mut listener = Some(listener);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = accept(listener.as_ref()) => match accepted {
                Ok(socket) if connections.len() < CONNECTIONS_MAX => {
                    let counted = Counted::new(&shared);
                    connections.spawn(connection(counted, socket));
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
            },
            Some(_) = connections.join_next() => {}
            order = orders.recv() => match order {
                None => return,
                Some(Order::StopListening(done)) => {
                    listener = None;
                    let _ = done.send(());
                }
                Some(Order::Listen(done)) => {
                    let opened = match listener {
                        Some(_) => Ok(()),
                        None => TcpListener::bind(addr).await.map(|opened| listener = Some(opened)),
                    };
                    let _ = done.send(opened);
                }
                Some(Order::DropConnections(done)) => {
                    connections.shutdown().await;
                    let _ = done.send(());
                }
            },
        }
    }
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => listener.accept().await.map(|(socket, _)| socket),
        None => std::future::pending().await,
    }
}

async fn connection(counted: Counted, socket: TcpStream) {
    // Events must leave when they are written: a stream is many small ones.
    let _ = socket.set_nodelay(true);
    match speaks_http2(&socket).await {
        Ok(true) => http2::serve(Arc::clone(&counted.0), socket).await,
        Ok(false) => http1::serve(Arc::clone(&counted.0), socket).await,
        Err(_) => {}
    }
}

/// Looks at the first bytes without taking them.
async fn speaks_http2(socket: &TcpStream) -> io::Result<bool> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0";
    let mut start = [0; PREFACE.len()];
    loop {
        let seen = socket.peek(&mut start).await?;
        if seen == PREFACE.len() || seen == 0 || !PREFACE.starts_with(&start[..seen]) {
            return Ok(seen == PREFACE.len() && start == PREFACE);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A connection that is counted while it lives.
struct Counted(Arc<Shared>);

impl Counted {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
