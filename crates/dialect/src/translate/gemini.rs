//! Gemini generateContent and streamGenerateContent.

mod answer;
mod partial;
mod read;
mod schema;
mod stream;
#[cfg(test)]
mod tests;
mod write;

pub(super) use answer::{read_answer, write_answer};
pub(super) use read::read_request;
pub(super) use stream::{Reader, Writer};
pub(super) use write::write_request;

use super::canon::{Stop, Tokens, ToolCall};
use super::out::Object;
use super::read::Outcome;
use crate::json::Cursor;

/// From its third generation on Gemini rejects a call without the seal of the thinking before it. This is what it
/// takes for calls that others made (ai.google.dev, thought signatures).
const NO_SEAL: &str = "skip_thought_signature_validator";

/// The same for clients: a seal is bytes, and the SDKs for Go and Java read only plain base64.
const NO_SEAL_BASE64: &str = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=";

/// Why an answer ended, by Google's names.
fn stop(name: &[u8]) -> Stop {
    match name {
        b"MAX_TOKENS" => Stop::TokensMax,
        b"SAFETY"
        | b"RECITATION"
        | b"LANGUAGE"
        | b"BLOCKLIST"
        | b"PROHIBITED_CONTENT"
        | b"SPII"
        | b"MODEL_ARMOR"
        | b"IMAGE_SAFETY"
        | b"IMAGE_PROHIBITED_CONTENT"
        | b"IMAGE_RECITATION" => Stop::Filtered,
        // A stop sequence is not told apart, nor are calls.
        _ => Stop::Done,
    }
}

fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Done | Stop::ToolCalls | Stop::Sequence => "STOP",
        Stop::TokensMax => "MAX_TOKENS",
        Stop::Filtered => "SAFETY",
    }
}

/// Google counts what its own tools read apart from the prompt, and thoughts apart from the answer.
fn read_tokens(cursor: &mut Cursor<'_>) -> Outcome<Tokens> {
    let mut tokens = Tokens::default();
    let (mut prompt, mut tools, mut answer) = (0, 0, 0);
    cursor.object(|cursor, key| {
        let count = match key.name() {
            b"promptTokenCount" => &mut prompt,
            b"toolUsePromptTokenCount" => &mut tools,
            b"cachedContentTokenCount" => &mut tokens.cache_read,
            b"candidatesTokenCount" => &mut answer,
            b"thoughtsTokenCount" => &mut tokens.thinking,
            _ => return cursor.skip(),
        };
        *count = cursor.number()?.unwrap_or(0);
        Ok(())
    })?;
    tokens.input = u64::saturating_add(prompt, tools);
    tokens.output = u64::saturating_add(answer, tokens.thinking);
    Ok(tokens)
}

fn write_tokens(usage: &mut Object<'_>, tokens: Tokens) {
    usage.value("promptTokenCount", tokens.input);
    usage.value("candidatesTokenCount", tokens.output.saturating_sub(tokens.thinking));
    usage.value("totalTokenCount", tokens.input.saturating_add(tokens.output));
    if tokens.cache_read > 0 {
        usage.value("cachedContentTokenCount", tokens.cache_read);
    }
    if tokens.thinking > 0 {
        usage.value("thoughtsTokenCount", tokens.thinking);
    }
}

fn write_call(part: &mut Object<'_>, call: &ToolCall<'_>) {
    part.object("functionCall", |out| {
        if !call.id.is_empty() {
            out.text("id", &call.id);
        }
        out.text("name", &call.name);
        out.raw("args", &call.arguments);
    });
}

/// What is behind an address, by its ending.
fn mime_of(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let ending = path.rsplit('.').next()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "gif" => "image/gif",
        "heic" => "image/heic",
        "heif" => "image/heif",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "md" => "text/markdown",
        "html" | "htm" => "text/html",
        "csv" => "text/csv",
        "xml" => "text/xml",
        _ => return None,
    })
}
