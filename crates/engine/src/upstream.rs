//! The HTTP client: connections of our own for HTTP/1.1, hyper's for HTTP/2, and what their errors
//! mean.
//!
//! HTTP/1.1 is the default even where the provider speaks both: a stream with a connection of its
//! own dies alone. Timeouts beyond connecting are the caller's.

mod connection;
mod pool;
mod way;

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use steadfast_config::Proxy;
use steadfast_core::Transport;

use self::connection::Broken;
use self::pool::{Pool, Reading};
use self::way::Way;
use crate::trouble::Trouble;

/// Idle connections are kept for less than the minute after which most providers close them.
const POOL_IDLE: Duration = Duration::from_secs(45);

/// Sends requests to providers.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    http1: Arc<Pool>,
    http2: Client<HttpsConnector<Way>, Full<Bytes>>,
}

/// Which HTTP an endpoint is spoken to with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Http1,
    Http2,
}

impl Upstream {
    pub(crate) fn new(connect: Duration, proxy: Option<&Proxy>) -> Self {
        let (tls, way) = (tls(), Way::new(connect, proxy));
        let https = || HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http();
        let http1 = Pool::new(https().enable_http1().wrap_connector(way.clone()), connect);
        let http2 = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .http2_only(true)
            .http2_keep_alive_interval(Duration::from_secs(30))
            .http2_adaptive_window(true)
            .timer(TokioTimer::new())
            .build(https().enable_http2().wrap_connector(way));
        Self { http1, http2 }
    }

    /// Sends a request and waits for the head of the response.
    pub(crate) async fn send(&self, request: Request<Bytes>, version: Version) -> Result<Response<Answer>, Trouble> {
        match version {
            Version::Http1 => Ok(self.http1.send(request).await?.map(Answer::Own)),
            Version::Http2 => {
                // Boxed: every attempt has room for what only some need.
                let sent = Box::pin(self.http2.request(request.map(Full::new)));
                Ok(sent.await.map_err(|error| refused(&error))?.map(Answer::Shared))
            }
        }
    }
}

/// The body of a response.
pub(crate) enum Answer {
    /// Over a connection of its own.
    Own(Reading),
    /// Over one that others use too.
    Shared(Incoming),
}

impl Answer {
    /// The next piece; `None` at the end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, Trouble> {
        match self {
            Self::Own(reading) => reading.piece().await.map_err(|error| cut(&error)),
            Self::Shared(incoming) => loop {
                let Some(frame) = incoming.frame().await else { return Ok(None) };
                // Trailers say nothing about the answer.
                if let Ok(data) = frame.map_err(|error| cut(&error))?.into_data() {
                    return Ok(Some(data));
                }
            },
        }
    }

    /// As much of it as comes, up to a number of bytes. Read to its end, the connection can be used again.
    pub(crate) async fn some(mut self, bytes_max: usize) -> Bytes {
        let mut said = BytesMut::new();
        while let Ok(Some(piece)) = self.piece().await {
            let room = bytes_max - said.len();
            said.extend_from_slice(&piece[..piece.len().min(room)]);
            if said.len() == bytes_max {
                break;
            }
        }
        said.freeze()
    }

    /// Whether it is known that there will be no more.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Own(reading) => reading.is_over(),
            Self::Shared(incoming) => incoming.is_end_stream(),
        }
    }
}

/// The system's certificates, or the built-in ones where the system has none.
fn tls() -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || {
        let versions = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        versions.expect("ring has the default protocol versions")
    };
    match builder().with_native_roots() {
        Ok(native) => native.with_no_client_auth(),
        Err(_) => builder().with_webpki_roots().with_no_client_auth(),
    }
}

/// What it means that no response came.
fn refused(error: &legacy::Error) -> Trouble {
    if error.is_connect() { connect_failed(error) } else { sending_failed(error) }
}

/// What it means that there is no connection.
fn connect_failed(error: &(dyn Error + 'static)) -> Trouble {
    let words = chain(error);
    Trouble::transport(connect_meaning(error, &words), words).unsent()
}

/// What it means that a connection brought no response.
fn sending_failed(error: &(dyn Error + 'static)) -> Trouble {
    Trouble::transport(meaning(error), chain(error))
}

/// What it means that a body broke off.
fn cut(error: &dyn Error) -> Trouble {
    Trouble::transport(Transport::BodyCut, chain(error)).in_stream()
}

fn connect_meaning(error: &(dyn Error + 'static), words: &str) -> Transport {
    if let Some(tls) = find::<rustls::Error>(error) {
        return match tls {
            rustls::Error::InvalidCertificate(_) => Transport::Certificate,
            _ => Transport::Protocol,
        };
    }
    if words.contains("dns error") {
        let temporary = words.contains("emporary failure") || words.contains("try again");
        return if temporary { Transport::DnsTemporary } else { Transport::DnsNotFound };
    }
    match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::TimedOut) => Transport::ConnectTimeout,
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => Transport::Unreachable,
        Some(io::ErrorKind::InvalidData) => Transport::Protocol,
        Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => Transport::Reset,
        _ => Transport::Refused,
    }
}

fn meaning(error: &(dyn Error + 'static)) -> Transport {
    if let Some(Broken::Malformed(_)) = error.downcast_ref() {
        return Transport::Protocol;
    }
    match find::<hyper::Error>(error) {
        Some(error) if error.is_parse() || error.is_parse_status() => Transport::Protocol,
        Some(error) if error.is_timeout() => Transport::ResponseTimeout,
        _ => Transport::Reset,
    }
}

/// The first cause of this type.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        // An io::Error hides what it wraps from `source`.
        if let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref)
            && let Some(found) = inner.downcast_ref::<E>()
        {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// An error and its causes in one line.
fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}
