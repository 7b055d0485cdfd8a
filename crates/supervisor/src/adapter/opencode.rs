//! The events of `opencode run --format json`: `step_start`, `text`, `tool_use`, `step_finish`, `error`.

use serde_json::Value;

use super::{Complaint, End, Told, count, status, text, usd_micros};

/// A step that ends with reason `unknown` is taken again without any bound: 276 requests in five minutes were seen
/// (agents.md 4.1). Two in a row are believed.
const UNKNOWN_STEPS_MAX: u32 = 2;

pub(super) fn event(event: &Value, told: &mut Told) {
    if let Some(session) = text(event, "/sessionID").or(text(event, "/part/sessionID")) {
        told.structured = true;
        told.session = Some(session.to_owned());
    }
    match text(event, "/type") {
        Some("step_start") => told.end = None,
        Some("text") => {
            told.answer(text(event, "/part/text").unwrap_or_default());
            told.tools.went_on();
        }
        // Told once, when the tool has answered.
        Some("tool_use") => {
            let id = text(event, "/part/callID").unwrap_or_default();
            told.tools.called(id, text(event, "/part/tool").unwrap_or_default());
            told.tools.answered(id, text(event, "/part/state/status") == Some("error"));
        }
        Some("step_finish") => step_finish(event, told),
        Some("error") => {
            let name = text(event, "/error/name").unwrap_or_default();
            let message = text(event, "/error/data/message").or(text(event, "/error/message")).unwrap_or_default();
            told.structured = true;
            told.tools.went_on();
            told.failed(status(event, "/error/data/statusCode"), format!("{name} {message}").trim());
        }
        _ => {}
    }
}

fn step_finish(event: &Value, told: &mut Told) {
    told.usage.input_tokens += count(event, "/part/tokens/input") + count(event, "/part/tokens/cache/read");
    told.usage.output_tokens += count(event, "/part/tokens/output") + count(event, "/part/tokens/reasoning");
    if let Some(cost) = usd_micros(event, "/part/cost") {
        told.usd_micros = Some(told.usd_micros.unwrap_or(0) + cost);
    }
    match text(event, "/part/reason") {
        Some("stop") if !matches!(told.end, Some(End::Failed(_))) => told.end = Some(End::Done),
        Some("unknown") => {
            told.unknown_steps += 1;
            if told.unknown_steps >= UNKNOWN_STEPS_MAX {
                told.loops = true;
                told.complaint = Some(Complaint::new(None, "stream disconnected: steps end for an unknown reason"));
            }
            return;
        }
        _ => {}
    }
    told.unknown_steps = 0;
}
