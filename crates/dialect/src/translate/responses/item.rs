//! The items of an answer, and the response around them.

use std::fmt::Write as _;

use crate::translate::canon::{Stop, Str, Tokens, ToolCall};
use crate::translate::out::{self, Object};
use crate::translate::seal::FOREIGN;
use crate::translate::{freeform, repair};

/// What stands in every response.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    pub(super) id: Str<'static>,
    pub(super) model: Str<'static>,
    pub(super) created: u64,
}

/// Items that are done, as they stand in the response at its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    json: String,
    pub(super) count: u64,
}

impl Head {
    pub(super) fn new(id: &Str<'_>, model: &Str<'_>, created: u64) -> Self {
        Self { id: repair::id("resp_", id), model: model.owned(), created }
    }

    /// The id of an item of this answer.
    pub(super) fn item_id(&self, prefix: &str, number: u64) -> Str<'static> {
        Str::escape(&format!("{prefix}_{:016x}{number:02}", repair::hash(self.id.raw())))
    }

    /// The response; without an end it is under way.
    pub(super) fn write(&self, response: &mut Object<'_>, items: &Items, end: Option<(Stop, Tokens)>) {
        let incomplete = match end {
            Some((Stop::TokensMax, _)) => Some("max_output_tokens"),
            Some((Stop::Filtered, _)) => Some("content_filter"),
            _ => None,
        };
        let status = match (end, incomplete) {
            (None, _) => "in_progress",
            (_, Some(_)) => "incomplete",
            (_, None) => "completed",
        };
        response.text("id", &self.id);
        response.word("object", "response");
        response.value("created_at", self.created);
        response.word("status", status);
        response.null("error");
        match incomplete {
            Some(reason) => response.object("incomplete_details", |details| details.word("reason", reason)),
            None => response.null("incomplete_details"),
        }
        response.null("instructions");
        response.object("metadata", |_| {});
        response.text("model", &self.model);
        response.raw("output", &crate::translate::canon::Raw::made(format!("[{}]", items.json)));
        response.value("parallel_tool_calls", true);
        response.null("temperature");
        response.word("tool_choice", "auto");
        response.array("tools", |_| {});
        response.null("top_p");
        match end {
            Some((_, tokens)) => response.object("usage", |usage| write_tokens(usage, tokens)),
            None => response.null("usage"),
        }
    }
}

impl Items {
    /// Adds an item and hands it back as text.
    pub(super) fn push(&mut self, fill: impl FnOnce(&mut Object<'_>)) -> &str {
        if self.count > 0 {
            self.json.push(',');
        }
        let start = self.json.len();
        out::object(&mut self.json, fill);
        self.count += 1;
        &self.json[start..]
    }
}

pub(super) fn write_message(item: &mut Object<'_>, id: &Str<'_>, text: &Str<'_>, refusal: bool) {
    item.text("id", id);
    item.word("type", "message");
    item.word("status", "completed");
    item.word("role", "assistant");
    item.array("content", |content| content.object(|part| write_part(part, text, refusal)));
}

pub(super) fn write_part(part: &mut Object<'_>, text: &Str<'_>, refusal: bool) {
    if refusal {
        part.word("type", "refusal");
        part.text("refusal", text);
        return;
    }
    part.word("type", "output_text");
    part.text("text", text);
    part.array("annotations", |_| {});
    part.array("logprobs", |_| {});
}

/// Thinking is shown as a summary, under our seal, by which it is known when it comes back.
pub(super) fn write_reasoning(item: &mut Object<'_>, id: &Str<'_>, text: &Str<'_>) {
    item.text("id", id);
    item.word("type", "reasoning");
    item.array("summary", |summary| summary.object(|part| write_summary(part, text)));
    item.word("encrypted_content", FOREIGN);
}

pub(super) fn write_summary(part: &mut Object<'_>, text: &Str<'_>) {
    part.word("type", "summary_text");
    part.text("text", text);
}

/// A call; `begun`: its arguments are still to come.
pub(super) fn write_call(item: &mut Object<'_>, id: &Str<'_>, call: &ToolCall<'_>, begun: bool) {
    item.text("id", id);
    item.word("type", if call.freeform { "custom_tool_call" } else { "function_call" });
    item.word("status", if begun { "in_progress" } else { "completed" });
    item.text("call_id", &call.id);
    item.text("name", &call.name);
    let words = if begun { Str::default() } else { words(call) };
    item.text(if call.freeform { "input" } else { "arguments" }, &words);
}

/// What a call says: the text of a freeform tool, or the arguments as a string.
pub(super) fn words(call: &ToolCall<'_>) -> Str<'static> {
    if call.freeform { freeform::words(call) } else { call.arguments.as_str() }
}

fn write_tokens(usage: &mut Object<'_>, tokens: Tokens) {
    usage.value("input_tokens", tokens.input);
    usage.object("input_tokens_details", |details| details.value("cached_tokens", tokens.cache_read));
    usage.value("output_tokens", tokens.output);
    usage.object("output_tokens_details", |details| details.value("reasoning_tokens", tokens.thinking));
    usage.value("total_tokens", tokens.input.saturating_add(tokens.output));
}

/// An event, which says its name twice and its number.
pub(super) fn event(out: &mut String, kind: &str, sequence: &mut u64, fill: impl FnOnce(&mut Object<'_>)) {
    let _ = write!(out, "event: {kind}\ndata: ");
    out::object(out, |event| {
        event.word("type", kind);
        event.value("sequence_number", *sequence);
        fill(event);
    });
    out.push_str("\n\n");
    *sequence += 1;
}
