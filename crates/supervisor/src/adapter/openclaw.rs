//! The envelope of `openclaw agent exec --json`: one object, perhaps over several lines.

use serde_json::Value;
use steadfast_core::cost::Usage;

use super::{End, Told, count, text, usd_micros};

/// The envelope as far as it has come; a larger one is not read.
const ENVELOPE_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(super) fn line(line: &[u8], told: &mut Told) {
    // Lines are gathered in the result until they make an object.
    if told.end.is_some() || told.result.len() + line.len() > ENVELOPE_BYTES_MAX {
        return;
    }
    if told.result.is_empty() && !line.trim_ascii_start().starts_with(b"{") {
        return;
    }
    told.result.push_str(&String::from_utf8_lossy(line));
    told.result.push('\n');
    let Ok(envelope) = serde_json::from_str::<Value>(&told.result) else { return };
    told.result.clear();
    told.structured = true;
    told.session = text(&envelope, "/sessionId").map(str::to_owned);
    told.model = text(&envelope, "/model").map(str::to_owned);
    told.usd_micros = usd_micros(&envelope, "/costUsd");
    told.usage = Usage {
        input_tokens: count(&envelope, "/usage/input").max(count(&envelope, "/usage/inputTokens")),
        output_tokens: count(&envelope, "/usage/output").max(count(&envelope, "/usage/outputTokens")),
    };
    if envelope.get("ok").and_then(Value::as_bool) == Some(true) {
        told.answer(text(&envelope, "/final").unwrap_or_default());
        told.end = Some(End::Done);
        return;
    }
    let kind = text(&envelope, "/error/kind").or(text(&envelope, "/status")).unwrap_or_default();
    let message = text(&envelope, "/error/message").unwrap_or_default();
    told.failed(None, format!("{kind} {message}").trim());
}
