//! Connections over HTTP/1.1 that wait for their next request.
//!
//! Each thread has its own: a connection that is used where it was made never wakes another thread.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Request, Response, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use steadfast_core::Transport;
use steadfast_http1::Body;
use tokio::time::{Instant, timeout};
use tower_service::Service as _;

use super::connection::{Broken, Connection};
use super::way::Way;
use super::{POOL_IDLE, connect_failed, sending_failed};
use crate::trouble::Trouble;

/// Idle connections per provider and thread; more are closed when they are done.
const IDLE_MAX: usize = 1024;

/// Threads that have connections of their own; more of them share.
const THREADS_MAX: usize = 64;

type Connector = HttpsConnector<Way>;

/// Idle connections, and the way to new ones.
pub(super) struct Pool {
    connector: Connector,
    /// Name, route and TLS together may take this long.
    connect: Duration,
    threads: [Mutex<Vec<Place>>; THREADS_MAX],
}

/// Where a connection leads.
#[derive(Clone, PartialEq, Eq)]
struct Address {
    scheme: Scheme,
    authority: Authority,
}

/// Few: one per provider that is configured.
struct Place {
    address: Address,
    /// The longest idle first.
    idle: Vec<(Box<Connection>, Instant)>,
}

/// The body of an answer, with the connection that it comes over.
pub(crate) struct Reading {
    body: Body,
    /// None once it is given back.
    connection: Option<Box<Connection>>,
    keeps_alive: bool,
    address: Address,
    pool: Arc<Pool>,
}

thread_local! {
    /// Which thread this is.
    static THREAD: Cell<usize> = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        Cell::new(THREADS.fetch_add(1, Ordering::Relaxed) % THREADS_MAX)
    };
}

impl Pool {
    pub(super) fn new(connector: Connector, connect: Duration) -> Arc<Self> {
        let pool = Arc::new(Self { connector, connect, threads: std::array::from_fn(|_| Mutex::default()) });
        tokio::spawn(sweep(Arc::downgrade(&pool)));
        pool
    }

    /// Sends a request and waits for the head of the response.
    pub(super) async fn send(self: &Arc<Self>, request: Request<Bytes>) -> Result<Response<Reading>, Trouble> {
        let (parts, body) = request.into_parts();
        let (Some(scheme), Some(authority)) = (parts.uri.scheme(), parts.uri.authority()) else {
            return Err(Trouble::transport(Transport::Address, "the address has no host".to_owned()).unsent());
        };
        let address = Address { scheme: scheme.clone(), authority: authority.clone() };
        let target = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let head = steadfast_http1::head(&parts.method, target, address.host(), &parts.headers, body.len());
        let bytes = head.len() + body.len();
        if let Some(mut connection) = self.take(&address) {
            match connection.ask(head.clone(), body.clone(), &parts.method).await {
                Ok(answer) => return Ok(self.response(answer, connection, address)),
                // It ended while it was idle, and nothing was sent: that is no attempt.
                Err(_) if connection.sent_nothing(bytes) => {}
                Err(broken) => return Err(sending_failed(&broken)),
            }
        }
        // Boxed: every request has room for what only some need.
        let mut connection = Box::pin(self.connect(parts.uri)).await?;
        let answer = connection.ask(head, body, &parts.method).await.map_err(|broken| sending_failed(&broken))?;
        Ok(self.response(answer, connection, address))
    }

    fn response(
        self: &Arc<Self>,
        answer: steadfast_http1::Answer,
        connection: Box<Connection>,
        address: Address,
    ) -> Response<Reading> {
        let steadfast_http1::Answer { status, headers, body, keeps_alive } = answer;
        let pool = Arc::clone(self);
        response(status, headers, Reading { body, connection: Some(connection), keeps_alive, address, pool })
    }

    async fn connect(&self, uri: Uri) -> Result<Box<Connection>, Trouble> {
        let mut connector = self.connector.clone();
        let connected = timeout(self.connect, async {
            poll_fn(|cx| connector.poll_ready(cx)).await?;
            connector.call(uri).await
        });
        match connected.await {
            Ok(Ok(connected)) => Ok(Box::new(Connection::new(connected))),
            Ok(Err(error)) => Err(connect_failed(&*error)),
            Err(_) => {
                Err(Trouble::transport(Transport::ConnectTimeout, "timed out while connecting".to_owned()).unsent())
            }
        }
    }

    /// An idle connection that still lives.
    fn take(&self, address: &Address) -> Option<Box<Connection>> {
        loop {
            let (mut connection, since) = {
                let mut places = self.here();
                places.iter_mut().find(|place| place.address == *address)?.idle.pop()?
            };
            if since.elapsed() < POOL_IDLE && connection.is_idle() {
                return Some(connection);
            }
        }
    }

    fn put(&self, connection: Box<Connection>, address: &Address) {
        let mut places = self.here();
        let position = places.iter().position(|place| place.address == *address).unwrap_or_else(|| {
            places.push(Place { address: address.clone(), idle: Vec::new() });
            places.len() - 1
        });
        let idle = &mut places[position].idle;
        if idle.len() < IDLE_MAX {
            idle.push((connection, Instant::now()));
        }
    }

    fn here(&self) -> MutexGuard<'_, Vec<Place>> {
        self.threads[THREAD.get()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

/// Closes what has been idle for too long, for as long as the pool is in use.
async fn sweep(pool: Weak<Pool>) {
    const EVERY: Duration = Duration::from_secs(15);
    loop {
        tokio::time::sleep(EVERY).await;
        let Some(pool) = pool.upgrade() else { return };
        for places in &pool.threads {
            for place in places.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
                place.idle.retain(|(_, since)| since.elapsed() < POOL_IDLE);
            }
        }
    }
}

impl Reading {
    /// The next piece; `None` at the end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, Broken> {
        match &mut self.connection {
            Some(connection) => connection.piece(&mut self.body).await,
            None => Ok(None),
        }
    }

    /// Whether all of it has been read.
    pub(super) fn is_over(&self) -> bool {
        self.body.is_over()
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.keeps_alive && self.body.is_over() && connection.is_idle() {
            self.pool.put(connection, &self.address);
        }
    }
}

impl Address {
    /// As the provider is told: without the port that goes without saying, and without a name and password.
    fn host(&self) -> &str {
        let usual = if self.scheme == Scheme::HTTPS { ":443" } else { ":80" };
        let text = self.authority.as_str();
        let text = text.rsplit_once('@').map_or(text, |(_, host)| host);
        text.strip_suffix(usual).unwrap_or(text)
    }
}

fn response(status: StatusCode, headers: HeaderMap, reading: Reading) -> Response<Reading> {
    let mut response = Response::new(reading);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_without_what_goes_without_saying() {
        let host = |scheme, authority| {
            let authority = Authority::from_static(authority);
            Address { scheme, authority }.host().to_owned()
        };
        assert_eq!(host(Scheme::HTTPS, "api.example:443"), "api.example");
        assert_eq!(host(Scheme::HTTPS, "api.example:80"), "api.example:80");
        assert_eq!(host(Scheme::HTTP, "[::1]:80"), "[::1]");
        assert_eq!(host(Scheme::HTTP, "user:word@api.example:8080"), "api.example:8080");
    }
}
