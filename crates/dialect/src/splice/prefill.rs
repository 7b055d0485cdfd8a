//! The request that lets a model continue what it had begun to say.

use serde_json::json;

use crate::json::{Broken, Cursor, Text};
use crate::{Envelope, Format, Operation, Request, Route};

/// The request that continues what was sent: an assistant message with the text, at the end. None: not
/// provably safe. Only Messages has a prefill; not with thinking or JSON output, not where a tool must be
/// called, not for models that refuse it, not where the request ends in a prefill already.
pub fn prefilled(format: Format, body: &[u8], model: &str, text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end();
    if format != Format::Messages || !accepts_prefill(model) || text.is_empty() {
        return None;
    }
    let request = Request { method: "POST", path: "/v1/messages", query: None };
    let route = Route::of(request, false)?;
    debug_assert_eq!(route.operation, Operation::Generate(Format::Messages));
    let envelope = Envelope::peek(&route, request, body).ok()?;
    if envelope.thinking || envelope.json_output {
        return None;
    }
    let end = end_of_messages(body).ok()??;
    let message = json!({"role": "assistant", "content": [{"type": "text", "text": text}]});
    Some([&body[..end], b",", message.to_string().as_bytes(), &body[end..]].concat())
}

/// Models up to 4.5 accept a prefill; from 4.6 on it is refused with a 400 ("does not support assistant message
/// prefill", Anthropic's migration guide). A list of those that do, because new ones will not.
fn accepts_prefill(model: &str) -> bool {
    let Some((_, name)) = model.rsplit_once("claude-") else { return false };
    let mut parts = name.split(['-', '.', '@', ':', '_']);
    let number = |part: Option<&str>| part.filter(|part| part.len() <= 2).and_then(|part| part.parse::<u8>().ok());
    match parts.next() {
        Some("opus" | "sonnet" | "haiku") => {
            let major = number(parts.next());
            // What follows may be a date instead.
            let minor = number(parts.next()).unwrap_or(0);
            major == Some(4) && minor <= 5
        }
        first => number(first) == Some(3),
    }
}

/// Where the list of messages closes; None if it does not end in a user's message or a tool must be called.
fn end_of_messages(body: &[u8]) -> Result<Option<usize>, Broken> {
    let mut end = None;
    let mut user_last = false;
    let mut forced = false;
    Cursor::new(body).object(|cursor, key| {
        match key.name() {
            b"messages" => {
                cursor.array(|cursor| {
                    user_last = false;
                    cursor.object(|cursor, key| match key.name() {
                        b"role" => {
                            user_last = cursor.string()?.is_some_and(|role| role.name() == b"user");
                            Ok(())
                        }
                        _ => cursor.skip(),
                    })
                })?;
                end = Some(cursor.at() - 1);
            }
            b"tool_choice" => cursor.object(|cursor, key| match key.name() {
                b"type" => {
                    forced = matches!(cursor.string()?.map(Text::name), Some(b"any" | b"tool"));
                    Ok(())
                }
                _ => cursor.skip(),
            })?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(end.filter(|_| user_last && !forced))
}
