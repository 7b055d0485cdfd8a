//! The events of `codex exec --json`: `thread.started`, `item.started`, `item.completed`, `error`, `turn.completed`,
//! `turn.failed`.

use serde_json::Value;
use steadfast_core::cost::Usage;

use super::{Complaint, End, Told, count, text};

pub(super) fn event(event: &Value, told: &mut Told) {
    match text(event, "/type") {
        Some("thread.started") => {
            told.structured = true;
            told.session = text(event, "/thread_id").map(str::to_owned);
        }
        Some("item.completed") if text(event, "/item/type") == Some("agent_message") => {
            told.answer(text(event, "/item/text").unwrap_or_default());
            told.tools.went_on();
        }
        Some("item.started") => {
            if let Some(name) = tool(event) {
                told.tools.called(text(event, "/item/id").unwrap_or_default(), name);
            }
        }
        Some("item.completed") if tool(event).is_some() => {
            let failed = text(event, "/item/status") == Some("failed");
            told.tools.answered(text(event, "/item/id").unwrap_or_default(), failed);
        }
        Some("item.completed") => told.tools.went_on(),
        // Notices of its own retries and the final error look alike; only `turn.failed` is final.
        Some("error") => {
            let message = text(event, "/message").unwrap_or_default();
            told.own_retries += u32::from(message.starts_with("Reconnecting"));
            told.complaint = Some(Complaint::new(None, message));
            told.tools.went_on();
        }
        Some("turn.completed") => {
            told.usage = Usage {
                input_tokens: count(event, "/usage/input_tokens"),
                output_tokens: count(event, "/usage/output_tokens"),
            };
            told.end = Some(End::Done);
        }
        Some("turn.failed") => {
            let message = text(event, "/error/message").or(told.complaint.as_ref().map(|last| last.message.as_str()));
            let message = message.unwrap_or("the turn failed").to_owned();
            told.failed(None, &message);
        }
        _ => {}
    }
}

/// The tool an item is a call of. Its own tools have no names in these events; their items are called after them.
fn tool(event: &Value) -> Option<&str> {
    match text(event, "/item/type")? {
        "mcp_tool_call" => text(event, "/item/tool"),
        own @ ("command_execution" | "file_change" | "web_search") => Some(own),
        _ => None,
    }
}
