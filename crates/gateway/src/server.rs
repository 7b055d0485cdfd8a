//! Listening, serving, and stopping without cutting anybody off.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use steadfast_api::{Api, Door};
use steadfast_engine::Engine;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::coop::unconstrained;
use tokio::time::timeout;

use crate::edge::Body;
use crate::joined::Joined;
use crate::room::{Place, Room};
use crate::workers::Workers;
use crate::{own, proxy};

/// How often an HTTP/2 connection is asked whether it is still there.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(30);

/// How long connections that are cut off may take to notice.
const CUT_TIME: Duration = Duration::from_secs(1);

/// The largest head that is read at all. What the gateway itself takes is less, so that it can say why it refuses.
const READ_BYTES_MAX: usize = 2 * proxy::HEAD_BYTES_MAX;

/// Ten times as many agents as one machine runs. Each costs some tens of kilobytes while it streams.
pub const CONNECTIONS_MAX: usize = 8192;

/// What the server itself is set to.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The largest request body. Agents send up to a few megabytes, with images some tens.
    pub body_bytes_max: usize,
    /// How long open streams may go on after a shutdown was asked for.
    pub drain: Duration,
    /// A client must finish its headers in this time.
    pub head_time: Duration,
    /// A client that sends nothing for this long in the middle of its body has gone.
    pub body_idle: Duration,
    /// Connections of clients that are served at once; more are refused.
    pub connections_max: usize,
}

/// A gateway that listens.
#[derive(Debug)]
pub struct Gateway {
    listener: TcpListener,
    address: SocketAddr,
    serving: Serving,
}

/// What every connection needs.
#[derive(Clone, Debug)]
struct Serving {
    engine: Arc<Engine>,
    door: Door,
    settings: Settings,
    api: Option<Api>,
}

/// Why a gateway cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is taken or not ours.
    #[error("cannot listen on {address}; `listen` in the configuration or --listen sets another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Open to the network without a token.
    #[error(
        "{0} can be reached from the network, so a token is needed: set [admin] token = {{ env = \"STEADFAST_TOKEN\" }}, or listen on 127.0.0.1"
    )]
    NoToken(SocketAddr),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_bytes_max: 64 * 1024 * 1024,
            drain: Duration::from_secs(30),
            head_time: Duration::from_secs(30),
            body_idle: Duration::from_secs(60),
            connections_max: CONNECTIONS_MAX,
        }
    }
}

impl Gateway {
    /// Listens where the configuration says.
    pub async fn bind(engine: Arc<Engine>, settings: Settings) -> Result<Self, BindError> {
        let snapshot = engine.snapshot();
        let address = snapshot.config.listen;
        let door = if address.ip().is_loopback() { Door::Open } else { Door::Locked };
        if door == Door::Locked && snapshot.config.admin_token.is_none() {
            return Err(BindError::NoToken(address));
        }
        let listener = TcpListener::bind(address).await.map_err(|source| BindError::Listen { address, source })?;
        let address = listener.local_addr().map_err(|source| BindError::Listen { address, source })?;
        Ok(Self { listener, address, serving: Serving { engine, door, settings, api: None } })
    }

    /// The same with the control API below `/api/`.
    #[must_use]
    pub fn with_api(mut self, api: Api) -> Self {
        self.serving.api = Some(api);
        self
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves in the runtime it is called in until `stop`, then lets what is under way finish, for as
    /// long as the settings say, and stops the engine.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let engine = Arc::clone(&self.serving.engine);
        self.accept(None, stop).await;
        engine.stop().await;
    }

    /// The same on threads that do nothing else. The engine is the caller's to stop: others may still have to tell it
    /// something.
    pub async fn serve_on(self, workers: Workers, stop: impl Future<Output = ()>) {
        self.accept(Some(workers), stop).await;
    }

    async fn accept(self, workers: Option<Workers>, stop: impl Future<Output = ()>) {
        // Every connection holds a receiver while it lives, with what it logs at its end.
        let (phase, _) = watch::channel(Phase::Serving);
        let mut room = Room::new(self.serving.settings.connections_max);
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => match room.take() {
                        Some(place) => self.serving.begin(stream, workers.as_ref(), phase.subscribe(), place),
                        None => room.refuse(stream),
                    },
                    Err(error) => {
                        // Out of file handles, most likely: those who are here go on.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        drop(self.listener);
        tracing::info!("stopping: open answers may finish");
        phase.send_replace(Phase::Draining);
        let drain = self.serving.settings.drain;
        if timeout(drain, phase.closed()).await.is_err() {
            tracing::warn!(?drain, "some answers are cut off");
            phase.send_replace(Phase::Cut);
            let _ = timeout(CUT_TIME, phase.closed()).await;
        }
        drop(workers);
    }
}

impl Serving {
    /// Begins to serve a connection, on a worker where there are some.
    fn begin(&self, stream: TcpStream, workers: Option<&Workers>, phase: watch::Receiver<Phase>, place: Place) {
        prepare(&stream);
        let serving = self.clone();
        let Some(workers) = workers else {
            tokio::spawn(async move {
                serving.connection(stream, phase).await;
                drop(place);
            });
            return;
        };
        match stream.into_std() {
            Ok(stream) => workers.spawn(async move {
                match TcpStream::from_std(stream) {
                    Ok(stream) => serving.connection(stream, phase).await,
                    Err(error) => tracing::warn!(%error, "cannot take over a connection"),
                }
                drop(place);
            }),
            Err(error) => tracing::warn!(%error, "cannot hand a connection over"),
        }
    }

    /// Serves a connection until either side ends it. Boxed: the task would hold it twice.
    fn connection(
        self,
        stream: TcpStream,
        mut phase: watch::Receiver<Phase>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let Self { engine, door, settings, api } = self;
        let service = service_fn(move |request: Request<Incoming>| -> Answering {
            // Boxed: a connection keeps the room of this future for good, also while an answer streams. Each for itself:
            // a future inside another is copied into it.
            if let Some(api) = api.as_ref().filter(|_| Api::serves(request.uri().path())).cloned() {
                return Box::pin(async move {
                    Ok(api.answer(request, door).await.map(|body| Either::Right(Either::Right(body))))
                });
            }
            match own::answer(&request, &engine, door) {
                Some(response) => Box::pin(std::future::ready(Ok(response))),
                None => Box::pin(proxy::answer(request, Arc::clone(&engine), door, settings)),
            }
        });
        async move {
            let version = tokio::select! {
                version = timeout(settings.head_time, speaks_http2(&stream)) => version,
                _ = phase.changed() => return,
            };
            let Ok(Ok(http2)) = version else { return };
            let builder = builder(&settings);
            let builder = if http2 { builder.http2_only() } else { builder.http1_only() };
            let stream = TokioIo::new(Joined(stream));
            let mut connection = Box::pin(builder.serve_connection(stream, service).into_owned());
            let served = match unless_changed(|cx| connection.as_mut().poll(cx), &mut phase).await {
                Some(served) => served,
                None => {
                    connection.as_mut().graceful_shutdown();
                    tokio::select! {
                        served = connection.as_mut() => served,
                        _ = phase.wait_for(|phase| *phase == Phase::Cut) => return,
                    }
                }
            };
            if let Err(error) = served {
                tracing::debug!(%error, "connection ended");
            }
        }
    }
}

/// An answer on its way.
type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// Small pieces of a stream must not wait for larger ones.
fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
}

/// How far a shutdown has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Nobody new is taken; open answers go on.
    Draining,
    /// What is still open ends.
    Cut,
}

/// What is wanted, once it is there; `None` where the phase changes first.
///
/// Waiting for the phase again takes a lock that all connections share, and this is polled for every piece of a stream.
/// A task is woken in the same way each time, so it waits once and looks then whether there is something to wait for.
async fn unless_changed<T>(
    mut wanted: impl FnMut(&mut Context<'_>) -> Poll<T>,
    phase: &mut watch::Receiver<Phase>,
) -> Option<T> {
    let seen = phase.clone();
    // Unconstrained: a task that has done much would be told to wait without being listened to.
    let mut changed = pin!(unconstrained(phase.changed()));
    let mut waits = false;
    poll_fn(|cx| {
        if let Poll::Ready(came) = wanted(cx) {
            return Poll::Ready(Some(came));
        }
        if std::mem::replace(&mut waits, true) && !seen.has_changed().unwrap_or(true) {
            return Poll::Pending;
        }
        changed.as_mut().poll(cx).map(|_| None)
    })
    .await
}

fn builder(settings: &Settings) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(settings.head_time).max_buf_size(READ_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(READ_BYTES_MAX as u32)
        .keep_alive_interval(KEEP_ALIVE_EVERY);
    builder
}

/// Whether a connection begins with HTTP/2's preface. Looked at and not taken: bytes that hyper
/// itself takes for this it puts back in front, at the price of a second buffer per connection.
async fn speaks_http2(stream: &TcpStream) -> io::Result<bool> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0";
    let mut start = [0; PREFACE.len()];
    loop {
        let seen = stream.peek(&mut start).await?;
        if seen == 0 || seen == PREFACE.len() || !PREFACE.starts_with(&start[..seen]) {
            return Ok(start == PREFACE);
        }
        // The rest of it is on its way, and a socket with something to read is ready all the time.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    #[tokio::test]
    async fn what_is_written_to_a_client_goes_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        assert!(!stream.nodelay().unwrap());
        super::prepare(&stream);
        assert!(stream.nodelay().unwrap());
    }
}
