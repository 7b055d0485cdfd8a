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
    put_text(out, r#","event":"#, Some(event.as_str()));
    put_text(out, r#","request":"#, Some(&**request).filter(|request| !request.is_empty()));
    put_text(out, r#","session":"#, session.as_deref());
    put_text(out, r#","project":"#, project.as_deref());
    put_text(out, r#","client":"#, client.as_deref());
    put_text(out, r#","agent":"#, agent.as_deref());
    put_text(out, r#","pattern":"#, pattern.as_deref());
    put_text(out, r#","repeats":"#, repeats.as_deref());
    put_text(out, r#","policy":"#, policy.as_deref());
    put_chain(out, chain);
    put_number(out, r#","attempt":"#, attempt.map(i64::from));
    put_number(out, r#","attempts_max":"#, attempts_max.map(i64::from));
    put_place(out, r#","target":"#, target.as_ref());
    put_text(out, r#","choice":"#, choice.as_deref());
    put_text(out, r#","kind":"#, kind.map(FailureKind::as_str));
    put_number(out, r#","status":"#, status.map(i64::from));
    put_text(out, r#","rule":"#, rule.as_deref());
    put_text(out, r#","message":"#, message.as_deref());
    put_other(out, r#","retry_after_ms":"#, retry_after_ms.as_ref());
    put_text(out, r#","step":"#, step.as_deref());
    put_other(out, r#","wait_ms":"#, wait_ms.as_ref());
    put_place(out, r#","from":"#, from.as_ref());
    put_place(out, r#","to":"#, to.as_ref());
    put_text(out, r#","reason":"#, reason.as_deref());
    put_other(out, r#","escalation":"#, escalation.as_ref());
    put_text(out, r#","passed_over":"#, passed_over.as_deref());
    put_other(out, r#","warning":"#, Some(warning).filter(|warning| **warning));
    put_text(out, r#","outcome":"#, outcome.as_deref());
    put_other(out, r#","latency_ms":"#, latency_ms.as_ref());
    put_other(out, r#","usage":"#, usage.as_ref());
    put_other(out, r#","usd_micros":"#, usd_micros.as_ref());
    put_text(out, r#","alert":"#, alert.as_deref());
    put_text(out, r#","about":"#, about.as_deref());
    put_text(out, r#","state":"#, state.as_deref());
    out.extend_from_slice(b"}\n");
}

// Keys come with what stands around them: to copy is cheap, to begin a copy is not.

fn put_text(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        out.extend_from_slice(key.as_bytes());
        text(out, value);
    }
}

fn put_number(out: &mut Vec<u8>, key: &str, value: Option<i64>) {
    if let Some(value) = value {
        out.extend_from_slice(key.as_bytes());
        number(out, value);
    }
}

fn put_place(out: &mut Vec<u8>, key: &str, value: Option<&Place>) {
    if let Some(value) = value {
        out.extend_from_slice(key.as_bytes());
        place(out, value);
    }
}

fn put_chain(out: &mut Vec<u8>, chain: &[Place]) {
    let mut before = b'[';
    for value in chain {
        if before == b'[' {
            out.extend_from_slice(br#","chain":"#);
        }
        out.push(before);
        place(out, value);
        before = b',';
    }
    if before == b',' {
        out.push(b']');
    }
}

fn put_other(out: &mut Vec<u8>, key: &str, value: Option<&impl Serialize>) {
    if let Some(value) = value {
        out.extend_from_slice(key.as_bytes());
        // Writing to memory cannot fail, and none of these has keys that are no text.
        let _ = serde_json::to_writer(out, value);
    }
}

fn place(out: &mut Vec<u8>, place: &Place) {
    out.extend_from_slice(b"{\"model\":");
    text(out, &place.model);
    out.extend_from_slice(br#","endpoint":"#);
    text(out, &place.endpoint);
    out.push(b'}');
}

fn number(out: &mut Vec<u8>, value: i64) {
    let _ = serde_json::to_writer(out, &value);
}

fn text(out: &mut Vec<u8>, value: &str) {
    if needs_escapes(value.as_bytes()) {
        let _ = serde_json::to_writer(out, value);
        return;
    }
    out.reserve(value.len() + 2);
    out.push(b'"');
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
}

/// Whether a text has a quote, a backslash or a control character; eight bytes are looked at together.
fn needs_escapes(text: &[u8]) -> bool {
    const LOW: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    // The high bit of each byte that is zero, and perhaps of bytes behind it.
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
    let special = |word: u64| {
        let controls = word.wrapping_sub(LOW * 0x20) & !word & HIGH;
        controls | zeros(word ^ (LOW * u64::from(b'"'))) | zeros(word ^ (LOW * u64::from(b'\\')))
    };
    let (words, rest) = text.as_chunks();
    let mut last = [b' '; 8];
    last[..rest.len()].copy_from_slice(rest);
    let found = words.iter().fold(0, |found, word| found | special(u64::from_le_bytes(*word)));
    (found | special(u64::from_le_bytes(last))) != 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_needs_escapes_is_told(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let one_by_one = text.iter().any(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
            prop_assert_eq!(needs_escapes(&text), one_by_one);
        }

        #[test]
        fn what_needs_none_is_told(text in "[ -!#-\\[\\]-~é]{0,40}") {
            prop_assert!(!needs_escapes(text.as_bytes()));
        }
    }
}
