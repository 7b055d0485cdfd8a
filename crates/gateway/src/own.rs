//! The gateway's own paths: alive, ready, counted.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use steadfast_api::Door;
use steadfast_config::Credential;
use steadfast_dialect::Family;
use steadfast_engine::Engine;

use crate::edge::{Body, json, whole, with_type};
use crate::proxy::refuse_strangers;
use steadfast_api::{same, without_scheme};

/// Answers a path of our own; `None` where it is not one.
pub(crate) fn answer<B>(request: &Request<B>, engine: &Engine, door: Door) -> Option<Response<Body>> {
    let path = request.uri().path();
    if OWN.contains(&path)
        && let Err(refusal) = refuse_strangers(request.headers(), door)
    {
        return Some(refusal.response(Family::OpenAi, ""));
    }
    match path {
        "/health" => Some(json(StatusCode::OK, r#"{"status":"ok"}"#)),
        "/ready" => Some(ready(engine)),
        "/metrics" if door == Door::Open || is_admin(request, engine) => {
            Some(with_type(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", engine.metrics()))
        }
        "/metrics" => {
            let body = r#"{"error":"send the admin token: `authorization: Bearer …`"}"#;
            Some(json(StatusCode::UNAUTHORIZED, body))
        }
        _ => dashboard(request)
            .or_else(|| (path == "/").then(|| with_type(StatusCode::OK, "text/plain; charset=utf-8", GREETING))),
    }
}

/// The dashboard's page and files.
fn dashboard<B>(request: &Request<B>) -> Option<Response<Body>> {
    let response = steadfast_web::answer(request)?;
    Some(response.map(|bytes| whole(Bytes::from_static(bytes))))
}

/// The paths that are ours.
const OWN: [&str; 4] = ["/", "/health", "/ready", "/metrics"];

const GREETING: &str = "Steadfast is running. Point your clients at this address:
  OpenAI:    base URL + /v1     (OPENAI_BASE_URL)
  Anthropic: base URL           (ANTHROPIC_BASE_URL)
  Gemini:    base URL           (GOOGLE_GEMINI_BASE_URL)
In a browser this address is the dashboard. Also here: /health /ready /metrics /api/openapi.json
";

/// Ready means that somebody could be served: an endpoint whose breaker admits and whose key is there.
fn ready(engine: &Engine) -> Response<Body> {
    let snapshot = engine.snapshot();
    let now = engine.clock().now();
    let usable = snapshot.world.endpoints().filter(|(id, endpoint)| {
        let missing = snapshot.config.endpoint(*id).is_none_or(|e| matches!(e.credential, Credential::Missing { .. }));
        !missing && !endpoint.breaker.is_open(now) && endpoint.set_aside_until(now).is_none()
    });
    let (usable, all) = (usable.count(), snapshot.world.endpoints().count());
    let status = if usable > 0 { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let word = if usable > 0 { "ready" } else { "no endpoint can be used" };
    json(status, format!(r#"{{"status":"{word}","endpoints":{all},"usable":{usable}}}"#))
}

fn is_admin<B>(request: &Request<B>, engine: &Engine) -> bool {
    let snapshot = engine.snapshot();
    let Some(token) = &snapshot.config.admin_token else { return false };
    let sent = request.headers().get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    sent.is_some_and(|sent| same(token.expose(), without_scheme(sent)))
}
