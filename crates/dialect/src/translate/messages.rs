//! Anthropic messages.

mod answer;
mod read;
mod schema;
mod stream;
mod write;

pub(super) use answer::{read_answer, write_answer};
pub(super) use read::read_request;
pub(super) use stream::{Reader, Writer};
pub(super) use write::{fit_output, write_request};

use super::canon::{Stop, Tokens};
use super::out::Object;
use super::read::Outcome;
use crate::json::Cursor;

/// Why an answer ended, by Anthropic's names.
fn stop(name: &[u8]) -> Stop {
    match name {
        b"tool_use" => Stop::ToolCalls,
        b"max_tokens" | b"model_context_window_exceeded" => Stop::TokensMax,
        b"stop_sequence" => Stop::Sequence,
        b"refusal" => Stop::Filtered,
        _ => Stop::Done,
    }
}

fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Done => "end_turn",
        Stop::ToolCalls => "tool_use",
        Stop::TokensMax => "max_tokens",
        Stop::Sequence => "stop_sequence",
        Stop::Filtered => "refusal",
    }
}

/// Anthropic counts what it reads from the cache and writes to it apart.
fn read_tokens(cursor: &mut Cursor<'_>) -> Outcome<Tokens> {
    let mut tokens = Tokens::default();
    let mut uncached = 0;
    cursor.object(|cursor, key| {
        let count = match key.name() {
            b"input_tokens" => &mut uncached,
            b"cache_read_input_tokens" => &mut tokens.cache_read,
            b"cache_creation_input_tokens" => &mut tokens.cache_written,
            b"output_tokens" => &mut tokens.output,
            _ => return cursor.skip(),
        };
        *count = cursor.number()?.unwrap_or(0);
        Ok(())
    })?;
    tokens.input = uncached.saturating_add(tokens.cache_read).saturating_add(tokens.cache_written);
    Ok(tokens)
}

fn write_tokens(usage: &mut Object<'_>, tokens: Tokens) {
    let uncached = tokens.input.saturating_sub(tokens.cache_read).saturating_sub(tokens.cache_written);
    usage.value("input_tokens", uncached);
    usage.value("cache_creation_input_tokens", tokens.cache_written);
    usage.value("cache_read_input_tokens", tokens.cache_read);
    usage.value("output_tokens", tokens.output);
}
