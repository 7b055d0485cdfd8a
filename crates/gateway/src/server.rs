//! Listening, serving, and stopping without cutting anybody off.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use steadfast_engine::Engine;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::caller::Door;
use crate::{own, proxy};

/// How often an HTTP/2 connection is asked whether it is still there.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(30);

/// How long connections that are cut off may take to notice.
const CUT_TIME: Duration = Duration::from_secs(1);

/// The largest head of a request; agents send a few kilobytes.
const HEAD_BYTES_MAX: usize = 128 * 1024;

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
}

/// A gateway that listens.
#[derive(Debug)]
pub struct Gateway {
    listener: TcpListener,
    address: SocketAddr,
    door: Door,
    settings: Settings,
    engine: Arc<Engine>,
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
        Ok(Self { listener, address, door, settings, engine })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`, then lets what is under way finish, for as long as the settings say.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let (cut, cut_off) = watch::channel(());
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => self.connection(stream, &graceful, cut_off.clone()),
                    Err(error) => {
                        // Out of file handles, most likely: those who are here go on.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        drop((self.listener, cut_off));
        tracing::info!("stopping: open answers may finish");
        if tokio::time::timeout(self.settings.drain, graceful.shutdown()).await.is_err() {
            tracing::warn!(drain = ?self.settings.drain, "some answers are cut off");
            // Each connection holds a receiver until it is gone, with what it logs at its end.
            let _ = cut.send(());
            let _ = tokio::time::timeout(CUT_TIME, cut.closed()).await;
        }
        self.engine.stop().await;
    }

    fn connection(&self, stream: TcpStream, graceful: &GracefulShutdown, mut cut_off: watch::Receiver<()>) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot set TCP_NODELAY");
        }
        let (engine, door, settings) = (Arc::clone(&self.engine), self.door, self.settings);
        let service = service_fn(move |request| {
            let engine = Arc::clone(&engine);
            async move {
                Ok::<_, Infallible>(match own::answer(&request, &engine, door) {
                    Some(response) => response,
                    None => proxy::answer(request, &engine, door, &settings).await,
                })
            }
        });
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(settings.head_time).max_buf_size(HEAD_BYTES_MAX);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_header_list_size(HEAD_BYTES_MAX as u32)
            .keep_alive_interval(KEEP_ALIVE_EVERY);
        let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            let ended = tokio::select! {
                ended = connection => ended,
                _ = cut_off.changed() => return,
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "connection ended");
            }
        });
    }
}
