//! OpenAI chat completions, and everyone who speaks something like them.

mod answer;
mod model;
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

use super::canon::{Raw, Stop, Str, Tokens, ToolCall};
use super::freeform;
use super::out::Object;
use super::read::{Outcome, text};
use crate::json::{Cursor, Kind};

/// Why an answer ended, by OpenAI's names and those of others.
fn stop(name: &[u8]) -> Stop {
    match name {
        b"tool_calls" | b"function_call" => Stop::ToolCalls,
        // The second is Mistral's.
        b"length" | b"model_length" => Stop::TokensMax,
        // The second is z.ai's.
        b"content_filter" | b"sensitive" => Stop::Filtered,
        _ => Stop::Done,
    }
}

fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Done | Stop::Sequence => "stop",
        Stop::ToolCalls => "tool_calls",
        Stop::TokensMax => "length",
        Stop::Filtered => "content_filter",
    }
}

fn read_tokens(cursor: &mut Cursor<'_>) -> Outcome<Tokens> {
    let mut tokens = Tokens::default();
    let mut total = 0;
    cursor.object(|cursor, key| {
        let count = match key.name() {
            b"prompt_tokens_details" | b"completion_tokens_details" => return details(&mut tokens, cursor),
            b"prompt_tokens" => &mut tokens.input,
            b"completion_tokens" => &mut tokens.output,
            b"total_tokens" => &mut total,
            // DeepSeek's.
            b"prompt_cache_hit_tokens" => &mut tokens.cache_read,
            _ => return cursor.skip(),
        };
        *count = cursor.number()?.unwrap_or(0);
        Ok(())
    })?;
    // xAI and Google leave thinking out of what was written, but not out of the sum.
    let with_thinking = tokens.output.saturating_add(tokens.thinking);
    if tokens.thinking > 0 && total >= tokens.input.saturating_add(with_thinking) {
        tokens.output = with_thinking;
    }
    Ok(tokens)
}

fn details(tokens: &mut Tokens, cursor: &mut Cursor<'_>) -> Outcome<()> {
    cursor.object(|cursor, key| {
        let count = match key.name() {
            b"cached_tokens" => &mut tokens.cache_read,
            b"cache_write_tokens" => &mut tokens.cache_written,
            b"reasoning_tokens" => &mut tokens.thinking,
            _ => return cursor.skip(),
        };
        *count = cursor.number()?.unwrap_or(0);
        Ok(())
    })
}

fn write_tokens(usage: &mut Object<'_>, tokens: Tokens) {
    usage.value("prompt_tokens", tokens.input);
    usage.value("completion_tokens", tokens.output);
    usage.value("total_tokens", tokens.input.saturating_add(tokens.output));
    usage.object("prompt_tokens_details", |details| {
        details.value("cached_tokens", tokens.cache_read);
        details.value("cache_write_tokens", tokens.cache_written);
    });
    usage.object("completion_tokens_details", |details| details.value("reasoning_tokens", tokens.thinking));
}

/// A tool call, or a piece of one in a stream.
#[derive(Default)]
struct Call<'a> {
    index: Option<u64>,
    id: Str<'a>,
    name: Str<'a>,
    arguments: Str<'a>,
    /// The arguments are words and no JSON.
    is_custom: bool,
}

impl<'a> Call<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut call = Self::default();
        cursor.object(|cursor, key| match key.name() {
            b"index" => {
                call.index = cursor.number()?;
                Ok(())
            }
            b"id" => {
                call.id = text(cursor)?.unwrap_or_default();
                Ok(())
            }
            b"function" => call.function(cursor),
            b"custom" => {
                call.is_custom = true;
                call.function(cursor)
            }
            _ => cursor.skip(),
        })?;
        Ok(call)
    }

    fn function(&mut self, cursor: &mut Cursor<'a>) -> Outcome<()> {
        cursor.object(|cursor, key| {
            match key.name() {
                b"name" => self.name = text(cursor)?.unwrap_or_default(),
                // Some servers write the object itself.
                b"arguments" if cursor.kind()? == Kind::Object => {
                    self.arguments = cursor.raw()?.map(Str::escape).unwrap_or_default();
                }
                b"arguments" | b"input" => self.arguments = text(cursor)?.unwrap_or_default(),
                _ => cursor.skip()?,
            }
            Ok(())
        })
    }

    /// The whole call; none where the arguments are no object.
    fn whole(self) -> Option<ToolCall<'a>> {
        if self.is_custom {
            return Some(freeform::call(self.id, self.name, &self.arguments));
        }
        let arguments = Raw::arguments(&self.arguments)?;
        Some(ToolCall::new(self.id, self.name, arguments))
    }
}

/// A call as answers and streams have it.
fn write_said_call(out: &mut Object<'_>, call: &ToolCall<'_>) {
    if !call.freeform {
        return write_call(out, call);
    }
    out.text("id", &call.id);
    out.word("type", "custom");
    out.object("custom", |custom| {
        custom.text("name", &call.name);
        custom.text("input", &freeform::words(call));
    });
}

/// A call as requests have it: whoever is asked by translation knows functions only.
fn write_call(out: &mut Object<'_>, call: &ToolCall<'_>) {
    out.text("id", &call.id);
    out.word("type", "function");
    out.object("function", |function| {
        function.text("name", &call.name);
        function.text("arguments", &call.arguments.as_str());
    });
}
