//! `POST /api/sessions/{id}/retry`: a person has the last turn of a session tried again.
//!
//! The turn is the one the client sent, held in memory for a while; the new attempt is a request of its own that says
//! which one it repeats, so the earlier one stays in the history. A preview shows exactly what would be sent, and what
//! was edited in it is what is sent.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_core::context::{FailedAttempt, PartLimits, retry_note};
use steadfast_dialect::{Envelope, Format, Operation, Request as Asked, note};
use steadfast_engine::{Call, ReplyBody, Turn, new_request_id};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::problem::{Problem, Segment, Sent};
use crate::sessions::found;
use crate::time::iso;
use crate::turn::gone;

/// How the last turn is tried again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RetryRequest {
    /// The session's project, where several have one of this name.
    #[serde(default)]
    project: Option<String>,
    /// Another model; absent: the one that was asked for.
    #[serde(default)]
    model: Option<String>,
    /// Tell the model what failed.
    #[serde(default)]
    with_error_context: bool,
    /// What failed, in place of what is known: for output that is bad although nobody said so.
    #[serde(default)]
    error: Option<String>,
    /// A stack trace or a tool's output, told with the error.
    #[serde(default)]
    trace: Option<String>,
    /// What the failed attempt produced, told with the error.
    #[serde(default)]
    failed_output: Option<String>,
    /// The note as a person edited it, in place of the one that would be written.
    #[serde(default)]
    note: Option<String>,
    /// The whole body as a person edited it: nothing is added to it.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    body: Option<Value>,
    /// Only show what would be sent.
    #[serde(default)]
    preview: bool,
}

/// What would be sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryPreview {
    /// The request that would be tried again.
    request: String,
    /// When that ended.
    ended: String,
    /// How it failed; absent where it was served.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// What was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The model that would be asked.
    model: Option<String>,
    /// The wire format: `chat`, `responses`, `messages` or `gemini`.
    format: &'static str,
    /// Whether the answer comes as a stream.
    stream: bool,
    /// The note that tells the model what failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Exactly what would be sent.
    #[schema(value_type = Object)]
    body: Value,
}

/// Tries the last turn of a session again: the same, with another model, or told what failed. With `preview` it only
/// shows what would be sent. Otherwise the answer is the model's own, in the format of the session's client, streamed
/// where the client had asked for a stream.
#[utoipa::path(post, path = "/api/sessions/{id}/retry", tag = "sessions", request_body = RetryRequest,
    params(("id" = String, Path, description = "the session")),
    responses((status = 200, body = RetryPreview, description = "the preview, or the model's answer in the client's format")))]
pub(crate) async fn retry(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Sent(asked): Sent<RetryRequest>,
) -> Result<Response, Problem> {
    let session = found(&control, &caller, &id, asked.project.clone()).await?;
    let turn = control.engine().last_turn(&session.project, &id).ok_or_else(gone)?;
    let (call, note) = prepare(&turn, &asked)?;
    if asked.preview {
        return preview(&turn, &call, note).map(|preview| Json(preview).into_response());
    }
    let reply = control.engine().call(call).await;
    let mut response = Response::new(match reply.body {
        ReplyBody::Whole(bytes) => Body::from(bytes),
        ReplyBody::Stream(relay) => Body::new(relay),
    });
    *response.status_mut() = reply.status;
    *response.headers_mut() = reply.headers;
    Ok(response)
}

/// The call to make, and the note that was added to it.
fn prepare(turn: &Turn, asked: &RetryRequest) -> Result<(Call, Option<String>), Problem> {
    // A turn that was itself such a retry is built from what was first asked: notes do not pile up.
    let original = turn.call.wishes.again.as_ref().unwrap_or(&turn.call);
    let Operation::Generate(format) = original.route.operation else {
        return Err(Problem::conflict("its last request asked no model for an answer"));
    };
    let mut call = Call::clone(original);
    call.id = new_request_id();
    call.wishes.again = Some(Arc::clone(original));
    let note = asked.with_error_context.then(|| asked.note.clone().unwrap_or_else(|| written(turn, asked)));
    if let Some(body) = &asked.body {
        call.body = Bytes::from(body.to_string());
    } else if let Some(note) = &note {
        let noted = note::with_note(format, &call.body, note).ok_or_else(|| {
            let message = "this request holds no list of messages to add a note to: edit the `body` of the preview";
            Problem::conflict(message).about("withErrorContext")
        })?;
        call.body = noted.into();
    }
    if let Some(model) = &asked.model {
        call.path = call.route.path_with_model(&call.path, model);
        call.body = peek(&call)?.body_with_model(&call.body, model);
    }
    call.envelope = peek(&call)?;
    Ok((call, note))
}

fn peek(call: &Call) -> Result<Envelope, Problem> {
    let asked = Asked { method: call.method.as_str(), path: &call.path, query: call.query.as_deref() };
    let refused = |malformed| Problem::invalid("body", format!("it is not what the format says: {malformed}"));
    Envelope::peek(&call.route, asked, &call.body).map_err(refused)
}

/// What the model is told about the failure.
fn written(turn: &Turn, asked: &RetryRequest) -> String {
    let failure = turn.failure.as_ref();
    let told = failure.map_or("the answer was not usable", |failure| failure.message.as_str());
    let failed = FailedAttempt {
        request: "",
        kind: failure.map(|failure| failure.kind),
        message: asked.error.as_deref().unwrap_or(told),
        trace: asked.trace.as_deref().unwrap_or(""),
        output: asked.failed_output.as_deref().unwrap_or(""),
    };
    retry_note(&failed, PartLimits::default())
}

fn preview(turn: &Turn, call: &Call, note: Option<String>) -> Result<RetryPreview, Problem> {
    let body = serde_json::from_slice(&call.body).map_err(|error| Problem::conflict(error.to_string()))?;
    let format = match call.route.operation {
        Operation::Generate(format) => format,
        _ => Format::Chat,
    };
    Ok(RetryPreview {
        request: turn.call.id.to_string(),
        ended: iso(turn.ended),
        kind: turn.failure.as_ref().map(|failure| failure.kind.as_str()),
        error: turn.failure.as_ref().map(|failure| failure.message.clone()),
        model: call.envelope.model.clone(),
        format: format.as_str(),
        stream: call.envelope.stream,
        note,
        body,
    })
}
