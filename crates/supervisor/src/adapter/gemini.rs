//! Gemini CLI's `stream-json`: `init`, `message`, `tool_use`, `tool_result`, `error`, `result`.

use serde_json::Value;
use steadfast_core::cost::Usage;

use super::{Complaint, End, Told, count, text};

pub(super) fn event(event: &Value, told: &mut Told) {
    match text(event, "/type") {
        Some("init") => {
            told.structured = true;
            told.session = text(event, "/session_id").map(str::to_owned);
            told.model = text(event, "/model").map(str::to_owned);
        }
        Some("message") if text(event, "/role") == Some("assistant") => {
            told.tools.went_on();
            let words = text(event, "/content").unwrap_or_default();
            match event.get("delta").and_then(Value::as_bool) {
                Some(true) => told.add_answer(words),
                _ => told.answer(words),
            }
        }
        Some("tool_use") => {
            let (id, name) = (text(event, "/tool_id"), text(event, "/tool_name"));
            told.tools.called(id.unwrap_or_default(), name.unwrap_or_default());
        }
        Some("tool_result") => {
            let failed = text(event, "/status") == Some("error");
            told.tools.answered(text(event, "/tool_id").unwrap_or_default(), failed);
        }
        // What was written before a retry is written again.
        Some("error") => {
            told.tools.went_on();
            told.result.clear();
            told.own_retries += u32::from(text(event, "/severity") == Some("warning"));
            told.complaint = Some(Complaint::new(None, text(event, "/message").unwrap_or_default()));
        }
        Some("result") => result(event, told),
        _ => {}
    }
}

fn result(event: &Value, told: &mut Told) {
    told.usage = Usage {
        input_tokens: count(event, "/stats/input_tokens"),
        output_tokens: count(event, "/stats/output_tokens"),
    };
    if text(event, "/status") == Some("success") {
        told.end = Some(End::Done);
        return;
    }
    let said = told.complaint.as_ref().map(|complaint| complaint.message.as_str());
    let message = text(event, "/error/message").or(said).unwrap_or("the turn failed").to_owned();
    told.failed(None, &message);
}
