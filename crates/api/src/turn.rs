//! `/api/sessions/{id}/turn`: the conversation as its last request held it, message by message.
//!
//! Prompts are never stored: the last turn is held in memory for a while. The outline says who speaks and how much; a
//! text is fetched one at a time.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use steadfast_dialect::translate::{Message, outline};
use steadfast_dialect::{Format, Operation};
use steadfast_engine::Turn;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::problem::{Params, Problem, Segment};
use crate::sessions::{SessionQuery, found};
use crate::time::iso;

/// Messages that are listed, the newest ones.
const MESSAGES_MAX: usize = 500;
/// What of a text is shown in the outline.
const BEGINS_CHARS_MAX: usize = 120;
/// What of a text is sent at once.
const TEXT_CHARS_MAX: usize = 200_000;

/// A conversation, as the last request held it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TurnView {
    /// The request.
    request: String,
    /// When it ended.
    ended: String,
    /// The wire format: `chat`, `responses`, `messages` or `gemini`.
    format: &'static str,
    /// How many messages it holds.
    count: usize,
    /// The newest 500 of them, in order.
    messages: Vec<MessageView>,
}

/// A message of a conversation, without its text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageView {
    /// Its place in the conversation.
    index: usize,
    /// `system`, `user`, `assistant` or `tool`.
    role: &'static str,
    /// How long its text is, in characters.
    chars: usize,
    /// How its text begins.
    begins: String,
    /// The tools it calls, or whose results it holds where the role is `tool`.
    tools: Vec<String>,
    /// Pictures and files in it.
    attachments: usize,
}

/// The text of a message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageText {
    /// Its place in the conversation.
    index: usize,
    /// The text, 200,000 characters of it at most.
    text: String,
    /// Whether that is all of it.
    whole: bool,
}

/// The conversation of a session as its last request held it: who speaks, how much, which tools are called. 410 where
/// that request is not held any more.
#[utoipa::path(get, path = "/api/sessions/{id}/turn", tag = "sessions",
    params(("id" = String, Path, description = "the session"), SessionQuery),
    responses((status = 200, body = TurnView)))]
pub(crate) async fn turn(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Params(asked): Params<SessionQuery>,
) -> Result<Json<TurnView>, Problem> {
    let (turn, format, messages) = read(&control, &caller, &id, asked).await?;
    let count = messages.len();
    let shown = messages.iter().enumerate().skip(count.saturating_sub(MESSAGES_MAX));
    Ok(Json(TurnView {
        request: turn.call.id.to_string(),
        ended: iso(turn.ended),
        format: format.as_str(),
        count,
        messages: shown.map(|(index, message)| MessageView::of(index, message)).collect(),
    }))
}

/// The text of one message of that conversation.
#[utoipa::path(get, path = "/api/sessions/{id}/turn/{index}", tag = "sessions",
    params(("id" = String, Path, description = "the session"),
           ("index" = usize, Path, description = "the message's place in the conversation"), SessionQuery),
    responses((status = 200, body = MessageText)))]
pub(crate) async fn text(
    State(control): State<Control>,
    caller: Caller,
    Segment((id, index)): Segment<(String, usize)>,
    Params(asked): Params<SessionQuery>,
) -> Result<Json<MessageText>, Problem> {
    let (_, _, messages) = read(&control, &caller, &id, asked).await?;
    let message = messages.into_iter().nth(index);
    let message = message.ok_or_else(|| Problem::not_found(format!("the conversation has no message {index}")))?;
    let end = message.text.char_indices().nth(TEXT_CHARS_MAX).map(|(at, _)| at);
    let text = message.text[..end.unwrap_or(message.text.len())].to_owned();
    Ok(Json(MessageText { index, text, whole: end.is_none() }))
}

/// The last turn of a session that the caller sees, and its messages.
async fn read(
    control: &Control,
    caller: &Caller,
    id: &str,
    asked: SessionQuery,
) -> Result<(Turn, Format, Vec<Message>), Problem> {
    let session = found(control, caller, id, asked.project).await?;
    let turn = control.engine().last_turn(&session.project, id).ok_or_else(gone)?;
    let Operation::Generate(format) = turn.call.route.operation else {
        return Err(Problem::conflict("its last request asked no model for an answer"));
    };
    let messages = outline(format, &turn.call.body).map_err(|malformed| Problem::conflict(malformed.to_string()))?;
    Ok((turn, format, messages))
}

/// That the last turn is not held.
pub(crate) fn gone() -> Problem {
    let message = "its last turn is not held any more (`[store] turns` says for how long), or was too large";
    Problem::new(http::StatusCode::GONE, "gone", message)
}

impl MessageView {
    fn of(index: usize, message: &Message) -> Self {
        let line = message.text.trim_start().lines().next().unwrap_or_default();
        Self {
            index,
            role: message.role,
            chars: message.text.chars().count(),
            begins: line.chars().take(BEGINS_CHARS_MAX).collect(),
            tools: message.tools.clone(),
            attachments: message.attachments,
        }
    }
}
