//! A record as a line of JSON, written field by field. The order is that of the struct, so that a
//! test can hold it against what serde writes.

use serde::Serialize;

use super::{Place, Record};
use crate::kind::FailureKind;

pub(super) fn write(record: &Record, out: &mut Vec<u8>) {
    let Record {
        time,
        event,
        request,
        session,
        project,
        client,
        agent,
        pattern,
        repeats,
        policy,
        chain,
        attempt,
        attempts_max,
        target,
        choice,
        kind,
        status,
        rule,
        message,
        retry_after_ms,
        step,
        wait_ms,
        from,
        to,
        reason,
        escalation,
        passed_over,
        warning,
        outcome,
        latency_ms,
        usage,
        usd_micros,
        alert,
        about,
        state,
    } = record;
    out.extend_from_slice(b"{\"time\":");
    number(out, time.as_millis());
    put_text(out, "event", Some(event.as_str()));
    put_text(out, "request", Some(&**request).filter(|request| !request.is_empty()));
    put_text(out, "session", session.as_deref());
    put_text(out, "project", project.as_deref());
    put_text(out, "client", client.as_deref());
    put_text(out, "agent", agent.as_deref());
    put_text(out, "pattern", pattern.as_deref());
    put_text(out, "repeats", repeats.as_deref());
    put_text(out, "policy", policy.as_deref());
    put_chain(out, chain);
    put_number(out, "attempt", attempt.map(i64::from));
    put_number(out, "attempts_max", attempts_max.map(i64::from));
    put_place(out, "target", target.as_ref());
    put_text(out, "choice", choice.as_deref());
    put_text(out, "kind", kind.map(FailureKind::as_str));
    put_number(out, "status", status.map(i64::from));
    put_text(out, "rule", rule.as_deref());
    put_text(out, "message", message.as_deref());
    put_other(out, "retry_after_ms", retry_after_ms.as_ref());
    put_text(out, "step", step.as_deref());
    put_other(out, "wait_ms", wait_ms.as_ref());
    put_place(out, "from", from.as_ref());
    put_place(out, "to", to.as_ref());
    put_text(out, "reason", reason.as_deref());
    put_other(out, "escalation", escalation.as_ref());
    put_text(out, "passed_over", passed_over.as_deref());
    put_other(out, "warning", Some(warning).filter(|warning| **warning));
    put_text(out, "outcome", outcome.as_deref());
    put_other(out, "latency_ms", latency_ms.as_ref());
    put_other(out, "usage", usage.as_ref());
    put_other(out, "usd_micros", usd_micros.as_ref());
    put_text(out, "alert", alert.as_deref());
    put_text(out, "about", about.as_deref());
    put_text(out, "state", state.as_deref());
    out.extend_from_slice(b"}\n");
}

fn key(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn put_text(out: &mut Vec<u8>, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        key(out, name);
        text(out, value);
    }
}

fn put_number(out: &mut Vec<u8>, name: &str, value: Option<i64>) {
    if let Some(value) = value {
        key(out, name);
        number(out, value);
    }
}

fn put_place(out: &mut Vec<u8>, name: &str, value: Option<&Place>) {
    if let Some(value) = value {
        key(out, name);
        place(out, value);
    }
}

fn put_chain(out: &mut Vec<u8>, chain: &[Place]) {
    let mut before = b'[';
    for value in chain {
        if before == b'[' {
            key(out, "chain");
        }
        out.push(before);
        place(out, value);
        before = b',';
    }
    if before == b',' {
        out.push(b']');
    }
}

fn put_other(out: &mut Vec<u8>, name: &str, value: Option<&impl Serialize>) {
    if let Some(value) = value {
        key(out, name);
        // Writing to memory cannot fail, and none of these has keys that are no text.
        let _ = serde_json::to_writer(out, value);
    }
}

fn place(out: &mut Vec<u8>, place: &Place) {
    out.extend_from_slice(b"{\"model\":");
    text(out, &place.model);
    out.extend_from_slice(b",\"endpoint\":");
    text(out, &place.endpoint);
    out.push(b'}');
}

fn number(out: &mut Vec<u8>, value: i64) {
    let _ = serde_json::to_writer(out, &value);
}

fn text(out: &mut Vec<u8>, value: &str) {
    if value.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        let _ = serde_json::to_writer(out, value);
        return;
    }
    out.push(b'"');
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
}
