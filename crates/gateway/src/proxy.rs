//! A request of a client becomes a call of the engine.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{HOST, HeaderName, ORIGIN};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either};
use hyper::body::{Body as _, Incoming};
use steadfast_api::{Door, is_loopback};
use steadfast_core::FailureKind;
use steadfast_dialect::{Envelope, Family, Request as Asked, Route};
use steadfast_engine::{Call, Engine, Reply, ReplyBody, new_request_id};
use tokio::time::timeout;

use crate::caller;
use crate::edge::{Body, Refusal, whole};
use crate::prefix::{self, Prefix};
use crate::server::Settings;

/// The largest head of a request; agents send a few kilobytes.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// No model has a name this long; names go into logs and headers.
const MODEL_BYTES_MAX: usize = 256;

/// Answers a request of a model API.
pub(crate) async fn answer(
    request: Request<Incoming>,
    engine: Arc<Engine>,
    door: Door,
    settings: Settings,
) -> Result<Response<Body>, Infallible> {
    let id = new_request_id();
    let anthropic = request.headers().contains_key("anthropic-version");
    let unknown = if anthropic { Family::Anthropic } else { Family::OpenAi };
    let (prefix, path) = match prefix::split(request.uri().path()) {
        Ok(split) => split,
        Err(refusal) => return Ok(refusal.response(unknown, &id)),
    };
    let asked = Asked { method: request.method().as_str(), path, query: request.uri().query() };
    let Some(route) = Route::of(asked, anthropic) else {
        let message =
            format!("Steadfast does not serve `{path}`: it serves /v1/… (OpenAI and Anthropic) and /v1beta/… (Gemini)");
        let refusal = Refusal::new(StatusCode::NOT_FOUND, FailureKind::InvalidRequest, message);
        return Ok(refusal.response(unknown, &id));
    };
    let family = route.family;
    if request.headers().contains_key(http::header::UPGRADE) && request.method() == http::Method::GET {
        // Codex asks for a WebSocket first, and goes on with HTTP at once only after this status.
        let message = "WebSockets are not served: use HTTP with server-sent events";
        let refusal = Refusal::new(StatusCode::UPGRADE_REQUIRED, FailureKind::InvalidRequest, message);
        return Ok(refusal.response(family, &id));
    }
    let path = path.to_owned();
    Ok(match read(request, route, prefix, path, &engine, door, &settings, &id).await {
        Ok(call) => respond(engine.call(call).await),
        Err(refusal) => refusal.response(family, &id),
    })
}

#[expect(
    clippy::too_many_arguments,
    reason = "each is one fact about the request; a struct of them would be made and taken apart here alone"
)]
async fn read(
    request: Request<Incoming>,
    route: Route,
    prefix: Prefix,
    path: String,
    engine: &Engine,
    door: Door,
    settings: &Settings,
    id: &Arc<str>,
) -> Result<Call, Refusal> {
    let snapshot = engine.snapshot();
    let (parts, body) = request.into_parts();
    let mut headers = parts.headers;
    refuse_strangers(&headers, door)?;
    refuse_large(&headers, &parts.uri)?;
    let client = caller::client(&headers, &path, &prefix, &snapshot)?;
    let mut caller = caller::identify(&mut headers, parts.uri.query(), &prefix, &client, &snapshot, door)?;
    let wishes = caller::wishes(&headers)?;
    let body = collect(body, settings.body_bytes_max, settings.body_idle).await?;
    let asked = Asked { method: parts.method.as_str(), path: &path, query: parts.uri.query() };
    let envelope = Envelope::peek(&route, asked, &body)
        .map_err(|malformed| Refusal::bad_request(format!("the request body cannot be read: {malformed}")))?;
    if envelope.model.as_ref().is_some_and(|model| model.len() > MODEL_BYTES_MAX) {
        let message = format!("the model's name is longer than {MODEL_BYTES_MAX} bytes");
        return Err(Refusal::bad_request(message));
    }
    let session = caller::session(&headers, &prefix, &client, &envelope);
    let agent = caller::agent(&headers, &prefix, &client);
    clean(&mut headers);
    own(&mut headers);
    own(&mut caller.credential);
    Ok(Call {
        id: Arc::clone(id),
        method: parts.method,
        path,
        query: caller.query,
        headers,
        body,
        route,
        envelope,
        project: caller.project,
        session,
        agent,
        client,
        credential: caller.credential,
        wishes,
    })
}

fn respond(reply: Reply) -> Response<Body> {
    let mut response = Response::new(match reply.body {
        ReplyBody::Whole(bytes) => whole(bytes),
        ReplyBody::Stream(relay) => Either::Right(Either::Left(relay)),
    });
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    response
}

/// Such a head would be refused by every provider, and without a word that a person understands.
fn refuse_large(headers: &HeaderMap, uri: &http::Uri) -> Result<(), Refusal> {
    let lines = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    if lines.sum::<usize>() + uri.path().len() + uri.query().map_or(0, str::len) <= HEAD_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the request's address and headers are larger than {} KiB", HEAD_BYTES_MAX / 1024);
    Err(Refusal::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, FailureKind::InvalidRequest, message))
}

/// A web page of somebody else must not spend the keys of whoever looks at it.
///
/// A page can point its own name at this machine, so that its origin and our host agree, and a browser need not
/// say then that a page asks: only the machine's own names count.
pub(crate) fn refuse_strangers(headers: &HeaderMap, door: Door) -> Result<(), Refusal> {
    // Where keys are asked for, a page that has none gets nothing.
    if door == Door::Locked {
        return Ok(());
    }
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let refused = |message: &str| Err(Refusal::new(StatusCode::FORBIDDEN, FailureKind::AuthError, message));
    if let Some(origin) = text(&ORIGIN)
        && !is_loopback(origin.split_once("://").map_or(origin, |(_, rest)| rest))
    {
        return refused("requests from other web pages are refused: they would use your keys");
    }
    match text(&HOST) {
        Some(host) if !host.is_empty() && !is_loopback(host) => {
            refused("this gateway serves this machine alone, by its own name: call it localhost or 127.0.0.1")
        }
        _ => Ok(()),
    }
}

/// Takes out what must not reach a provider.
fn clean(headers: &mut HeaderMap) {
    // What `connection` lists belongs to the connection too (RFC 9110, 7.6.1).
    let listed: Vec<HeaderName> = headers
        .get_all(http::header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .collect();
    // Looked for by what is there: of the many names that may not pass, a request has two or three.
    let refused: Vec<HeaderName> = headers.keys().filter(|name| !passes(name.as_str())).cloned().collect();
    for name in listed.iter().chain(&refused) {
        headers.remove(name);
    }
}

/// Whether a header may go upstream: it belongs neither to the connection nor to us.
fn passes(name: &str) -> bool {
    let refused = matches!(
        name,
        "connection"
            | "host"
            | "content-length"
            | "transfer-encoding"
            | "te"
            | "trailer"
            | "upgrade"
            | "expect"
            | "accept-encoding"
            | "proxy-authorization"
            | "proxy-authenticate"
            | "forwarded"
            | "keep-alive"
            | "proxy-connection"
    );
    !refused && !name.starts_with("x-steadfast-")
}

/// Takes the values out of the buffer that the connection reads into, for the same reason as the body.
fn own(headers: &mut HeaderMap) {
    for value in headers.values_mut() {
        let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes()) else { continue };
        copy.set_sensitive(value.is_sensitive());
        *value = copy;
    }
}

/// The whole body, within limits. It is a copy: what hyper hands out is a piece of the buffer it reads into, and as long as
/// somebody holds that, the connection needs another one.
async fn collect(mut body: Incoming, bytes_max: usize, idle: Duration) -> Result<Bytes, Refusal> {
    let too_large = || {
        let message = format!("the request body is larger than {} MiB", bytes_max / (1024 * 1024));
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, FailureKind::InvalidRequest, message)
    };
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > bytes_max {
        return Err(too_large());
    }
    let mut whole = BytesMut::new();
    loop {
        let frame = timeout(idle, body.frame()).await.map_err(|_| {
            let message = "the request body stopped arriving";
            Refusal::new(StatusCode::REQUEST_TIMEOUT, FailureKind::Timeout, message)
        })?;
        let Some(frame) = frame else { return Ok(whole.freeze()) };
        let frame = frame.map_err(|_| Refusal::bad_request("the request body broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.is_empty() && body.is_end_stream() && data.len() <= bytes_max {
            return Ok(Bytes::copy_from_slice(&data));
        }
        if whole.len() + data.len() > bytes_max {
            return Err(too_large());
        }
        whole.reserve(announced.saturating_sub(whole.len()).max(data.len()).min(bytes_max));
        whole.extend_from_slice(&data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_connection_or_to_us_does_not_go_on() {
        let mut headers = HeaderMap::new();
        for name in ["connection", "x-hop", "host", "x-steadfast-stream", "anthropic-beta", "x-unknown"] {
            let value = if name == "connection" { "keep-alive, X-Hop" } else { "v" };
            headers.insert(HeaderName::try_from(name).unwrap(), HeaderValue::from_static(value));
        }
        clean(&mut headers);
        let mut left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["anthropic-beta", "x-unknown"]);
    }

    #[test]
    fn other_peoples_web_pages_are_refused() {
        let from = |name: HeaderName, value: &'static str, host: &'static str| {
            let headers =
                HeaderMap::from_iter([(name, HeaderValue::from_static(value)), (HOST, HeaderValue::from_static(host))]);
            refuse_strangers(&headers, Door::Open).is_ok()
        };
        let site = HeaderName::from_static("sec-fetch-site");
        for origin in ["http://localhost:3000", "http://[::1]:3000", "http://[::1]", "http://127.0.0.1"] {
            assert!(from(ORIGIN, origin, "localhost:4141"), "{origin}");
        }
        assert!(!from(ORIGIN, "https://evil.example", "localhost:4141") && !from(ORIGIN, "null", "localhost:4141"));
        assert!(!from(ORIGIN, "http://evil.example:4141", "evil.example:4141"), "a name pointed at this machine");
        assert!(
            from(site.clone(), "none", "localhost:4141") && !from(site.clone(), "same-origin", "evil.example:4141")
        );
        assert!(
            !from(HeaderName::from_static("accept"), "*/*", "evil.example:4141"),
            "old browsers do not say that a page asks"
        );
        assert!(from(HeaderName::from_static("accept"), "*/*", "127.0.0.2:4141"));
    }
}
