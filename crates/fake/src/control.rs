//! `/__fake/…`: the fake, told and asked over HTTP.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::call::percent_decoded;
use crate::ledger::{End, Received};
use crate::plan::{Plan, script_error};
use crate::script::parse;
use crate::shared::Shared;

/// Answers a control request; `path` is what follows `/__fake/`.
pub(crate) fn answer(shared: &Arc<Shared>, method: &str, path: &str, query: Option<&str>, body: &[u8]) -> Plan {
    match (method, path) {
        ("GET", "counts") => ok(&json!({ "counts": shared.counts(), "connections": connections(shared) })),
        ("GET", "requests") => {
            let requests: Vec<Value> = shared.requests().iter().map(request).collect();
            ok(&json!({ "requests": requests }))
        }
        ("POST", "reset") => {
            shared.reset();
            ok(&json!({}))
        }
        ("PUT" | "POST", path) if path == "script" || path.starts_with("script/") => {
            let name = percent_decoded(path.strip_prefix("script").unwrap_or_default().trim_start_matches('/'));
            let model = query.and_then(|query| query.split('&').find_map(|part| part.strip_prefix("model=")));
            let text = String::from_utf8_lossy(body);
            match parse(&text) {
                Ok(script) => {
                    shared.endpoint(&name).set(model.map(percent_decoded).as_deref(), &script);
                    ok(&json!({ "endpoint": name, "script": text }))
                }
                Err(problem) => Plan::own(400, "application/json", script_error(&problem.to_string())),
            }
        }
        _ => {
            let known =
                "expected GET /__fake/counts, GET /__fake/requests, PUT /__fake/script/NAME or POST /__fake/reset";
            Plan::own(404, "application/json", script_error(known))
        }
    }
}

fn ok(value: &Value) -> Plan {
    Plan::own(200, "application/json", value.to_string())
}

fn connections(shared: &Shared) -> usize {
    shared.connections.load(std::sync::atomic::Ordering::Relaxed)
}

fn request(request: &Received) -> Value {
    let (end, after_ms) = match request.end {
        End::Running => ("running", None),
        End::Answered => ("answered", None),
        End::ClientLeft { after } => ("client_left", u64::try_from(after.as_millis()).ok()),
        End::Faulted => ("faulted", None),
    };
    json!({
        "endpoint": request.endpoint,
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "model": request.model,
        "headers": request.headers,
        "body": String::from_utf8_lossy(&request.body),
        "body_bytes": request.body_bytes,
        "http2": request.http2,
        "stream": request.stream,
        "ms_ago": u64::try_from(request.at.elapsed().as_millis()).unwrap_or(u64::MAX),
        "end": end,
        "after_ms": after_ms,
        "fault": request.fault,
    })
}
