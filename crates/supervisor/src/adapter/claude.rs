//! Claude Code's `stream-json`: `system/init`, `system/api_retry`, `assistant`, `user` (what tools answered), `result`.

use serde_json::Value;
use steadfast_core::cost::Usage;

use super::{Complaint, End, Told, count, list, status, text, usd_micros};

pub(super) fn event(event: &Value, told: &mut Told) {
    match (text(event, "/type"), text(event, "/subtype")) {
        (Some("system"), Some("init")) => {
            told.structured = true;
            told.session = text(event, "/session_id").map(str::to_owned);
            told.model = text(event, "/model").map(str::to_owned);
        }
        (Some("system"), Some("api_retry")) => {
            told.own_retries += 1;
            let message = text(event, "/error").unwrap_or("a call is made again");
            told.complaint = Some(Complaint::new(status(event, "/error_status"), message));
            told.tools.went_on();
        }
        // The text of a failure comes as an answer of the model `<synthetic>`.
        (Some("assistant"), _) if event.get("error").is_some_and(|error| !error.is_null()) => {
            let words = text(event, "/message/content/0/text").or(text(event, "/error")).unwrap_or_default();
            told.complaint = Some(Complaint::new(None, words));
            told.tools.went_on();
        }
        (Some("assistant"), _) => {
            told.tools.went_on();
            for call in list(event, "/message/content").filter(|part| text(part, "/type") == Some("tool_use")) {
                told.tools.called(text(call, "/id").unwrap_or_default(), text(call, "/name").unwrap_or_default());
            }
        }
        (Some("user"), _) => {
            for answer in list(event, "/message/content").filter(|part| text(part, "/type") == Some("tool_result")) {
                let failed = answer.get("is_error").and_then(Value::as_bool).unwrap_or(false);
                told.tools.answered(text(answer, "/tool_use_id").unwrap_or_default(), failed);
            }
        }
        (Some("result"), subtype) => result(event, subtype, told),
        _ => {}
    }
}

/// `subtype` says "success" also on failures; `is_error` does not lie.
fn result(event: &Value, subtype: Option<&str>, told: &mut Told) {
    told.structured = true;
    if let Some(session) = text(event, "/session_id") {
        told.session = Some(session.to_owned());
    }
    let input = ["/usage/input_tokens", "/usage/cache_creation_input_tokens", "/usage/cache_read_input_tokens"];
    told.usage = Usage {
        input_tokens: input.iter().map(|path| count(event, path)).sum(),
        output_tokens: count(event, "/usage/output_tokens"),
    };
    told.usd_micros = usd_micros(event, "/total_cost_usd");
    let words = text(event, "/result").unwrap_or_default();
    let failed = event.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    let limit = subtype.filter(|subtype| subtype.starts_with("error"));
    if !failed && limit.is_none() {
        told.answer(words);
        told.end = Some(End::Done);
        return;
    }
    let kind = text(event, "/api_error_type").or(text(event, "/terminal_reason")).or(limit).unwrap_or_default();
    let said = told.complaint.as_ref().map(|complaint| complaint.message.as_str()).unwrap_or_default();
    let words = if words.is_empty() { said } else { words };
    told.failed(status(event, "/api_error_status"), format!("{kind} {words}").trim());
}
