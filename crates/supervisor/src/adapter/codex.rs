//! The events of `codex exec --json`: `thread.started`, `item.completed`, `error`, `turn.completed`, `turn.failed`.

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
        }
        // Notices of its own retries and the final error look alike; only `turn.failed` is final.
        Some("error") => {
            let message = text(event, "/message").unwrap_or_default();
            told.own_retries += u32::from(message.starts_with("Reconnecting"));
            told.complaint = Some(Complaint::new(None, message));
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
