//! Spans as OTLP writes them in JSON: ids in hex, 64-bit numbers as text.

use serde_json::{Value as Json, json};

use super::{Attribute, Event, Span, Value};

/// What went wrong, in OTLP's numbers; one that went well has no status.
const STATUS_ERROR: u8 = 2;

/// The body of one request to a collector.
pub(super) fn body(service: &str, spans: &[Span]) -> Vec<u8> {
    let resource = json!([
        { "key": "service.name", "value": { "stringValue": service } },
        { "key": "service.version", "value": { "stringValue": env!("CARGO_PKG_VERSION") } },
    ]);
    let spans: Vec<Json> = spans.iter().map(span).collect();
    let scope = json!({ "name": "steadfast", "version": env!("CARGO_PKG_VERSION") });
    let whole = json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": scope, "spans": spans }],
    }] });
    whole.to_string().into_bytes()
}

fn span(span: &Span) -> Json {
    let mut told = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": span.began_nanos.to_string(),
        // The wall clock may be set back; a span does not end before it begins.
        "endTimeUnixNano": span.ended_nanos.max(span.began_nanos).to_string(),
        "attributes": attributes(&span.attributes),
    });
    if let Some(parent) = span.parent {
        told["parentSpanId"] = format!("{parent:016x}").into();
    }
    if !span.events.is_empty() {
        told["events"] = span.events.iter().map(event).collect();
    }
    if span.failed {
        told["status"] = json!({ "code": STATUS_ERROR });
    }
    told
}

fn event(event: &Event) -> Json {
    json!({
        "timeUnixNano": event.at_nanos.to_string(),
        "name": event.name,
        "attributes": attributes(&event.attributes),
    })
}

fn attributes(attributes: &[Attribute]) -> Json {
    let value = |value: &Value| match value {
        Value::Text(text) => json!({ "stringValue": text }),
        Value::Shared(text) => json!({ "stringValue": text.as_ref() }),
        Value::Word(text) => json!({ "stringValue": text }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
    };
    attributes.iter().map(|(name, told)| json!({ "key": name, "value": value(told) })).collect()
}
