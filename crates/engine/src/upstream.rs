//! The HTTP client: one connection pool for HTTP/1.1 and one for HTTP/2, and what its errors mean.
//!
//! HTTP/1.1 is the default even where the provider speaks both: a stream with a connection of its
//! own dies alone. Timeouts beyond connecting are the caller's.

use std::error::Error;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use steadfast_core::Transport;

use crate::trouble::Trouble;

/// Idle connections are kept for less than the minute after which most providers close them.
const POOL_IDLE: Duration = Duration::from_secs(45);

/// Sends requests to providers.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    http1: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    http2: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// Which HTTP an endpoint is spoken to with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Http1,
    Http2,
}

impl Upstream {
    pub(crate) fn new(connect: Duration) -> Self {
        let tls = tls();
        let connector = || {
            let mut tcp = HttpConnector::new();
            tcp.enforce_http(false);
            tcp.set_nodelay(true);
            tcp.set_keepalive(Some(Duration::from_secs(30)));
            tcp.set_connect_timeout(Some(connect));
            (HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http(), tcp)
        };
        let builder = || {
            let mut builder = Client::builder(TokioExecutor::new());
            // hyper's own limit of 100 headers stays: one set here costs an allocation per response.
            builder.pool_timer(TokioTimer::new()).pool_idle_timeout(POOL_IDLE);
            builder
        };
        let (https, tcp) = connector();
        let http1 = builder().build(https.enable_http1().wrap_connector(tcp));
        let (https, tcp) = connector();
        let http2 = builder()
            .http2_only(true)
            .http2_keep_alive_interval(Duration::from_secs(30))
            .http2_adaptive_window(true)
            .timer(TokioTimer::new())
            .build(https.enable_http2().wrap_connector(tcp));
        Self { http1, http2 }
    }

    /// Sends a request and waits for the head of the response.
    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
        version: Version,
    ) -> Result<Response<Incoming>, Trouble> {
        let client = match version {
            Version::Http1 => &self.http1,
            Version::Http2 => &self.http2,
        };
        client.request(request).await.map_err(|error| refused(&error))
    }
}

/// The system's certificates, or the built-in ones where the system has none.
fn tls() -> ClientConfig {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
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
    let words = chain(error);
    if error.is_connect() {
        return Trouble::transport(connect_meaning(error, &words), words).unsent();
    }
    Trouble::transport(meaning(error), words)
}

/// What it means that a body broke off.
pub(crate) fn cut(error: &hyper::Error) -> Trouble {
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
