//! The innermost message of a failure, cut short and without secrets: for people only.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem;

use crate::redact::redact;

/// Longer messages are cut here: a line or two on a screen.
pub const MESSAGE_BYTES_MAX: usize = 300;

/// Fields that hold a message, in any nesting.
const FIELDS: &[&str] = &["message", "msg", "detail", "errormessage", "error_message", "error_description", "error"];

/// The message to show: the innermost message field, or else the text around the match.
pub(super) fn message(shown: &[u8], lower: &[u8], at: Option<&Range<usize>>) -> String {
    let span = innermost_field(lower).unwrap_or_else(|| around(shown, at));
    let clipped = clip(&shown[span]);
    let lossy;
    let message = match std::str::from_utf8(clipped) {
        Ok(message) => message,
        Err(_) => {
            // What is no text takes more room as the signs that stand for it.
            lossy = String::from_utf8_lossy(clipped);
            std::str::from_utf8(clip(lossy.as_bytes())).unwrap_or_default()
        }
    };
    redact(message.trim()).into_owned()
}

/// The value of the last message field that has one.
fn innermost_field(lower: &[u8]) -> Option<Range<usize>> {
    memchr::memchr(b'{', lower)?;
    finders().iter().find_map(|field| {
        field.find_iter(lower).filter_map(|at| field_value(lower, at, at + field.needle().len())).last()
    })
}

fn finders() -> &'static [memmem::Finder<'static>] {
    static FINDERS: OnceLock<Vec<memmem::Finder<'static>>> = OnceLock::new();
    FINDERS.get_or_init(|| FIELDS.iter().map(memmem::Finder::new).collect())
}

/// The quoted value of a quoted field name.
fn field_value(lower: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
    let quote = *lower.get(start.checked_sub(1)?)?;
    if !matches!(quote, b'"' | b'\'') || lower.get(end) != Some(&quote) || lower.get(end + 1) != Some(&b':') {
        return None;
    }
    let open = end + 2 + usize::from(lower.get(end + 2) == Some(&b' '));
    let quote = *lower.get(open).filter(|byte| matches!(byte, b'"' | b'\''))?;
    let value = &lower[open + 1..];
    let ends = |at: &usize| match value[at + 1..] {
        [] | [b',' | b'}' | b']' | b'"' | b'\'', ..] => true,
        [b' ', next, ..] => matches!(next, b'}' | b']'),
        _ => false,
    };
    let len = memchr::memchr_iter(quote, value).find(ends).unwrap_or(value.len());
    (len > 0).then_some(open + 1..open + 1 + len)
}

/// The stretch of text to show for a match: from the start of a short text, else around the match.
fn around(shown: &[u8], at: Option<&Range<usize>>) -> Range<usize> {
    match at {
        Some(at) if at.end > MESSAGE_BYTES_MAX => {
            let start = at.start.saturating_sub(MESSAGE_BYTES_MAX / 3);
            let start = memchr::memchr(b' ', &shown[start..at.start]).map_or(start, |blank| start + blank + 1);
            start..shown.len()
        }
        _ => 0..shown.len(),
    }
}

/// At most the permitted bytes, on a character boundary.
fn clip(bytes: &[u8]) -> &[u8] {
    if bytes.len() <= MESSAGE_BYTES_MAX {
        return bytes;
    }
    let is_inside = |at: &usize| bytes[*at] & 0xc0 == 0x80;
    let end = (0..=MESSAGE_BYTES_MAX).rev().find(|at| !is_inside(at)).unwrap_or(0);
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Classifier;
    use crate::evidence::Evidence;

    fn message_of(text: &str) -> String {
        Classifier::builtin().classify(&Evidence::text(text)).message
    }

    #[test]
    fn the_innermost_message_is_shown() {
        let table = [
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"Model is at capacity\"}}"}}}"#,
                "Model is at capacity",
            ),
            ("Error code: 429 - {'error': {'message': 'Rate limit reached', 'type': 'x'}}", "Rate limit reached"),
            (
                r#"{"error":"model \"x\" not found, try pulling it first"}"#,
                r#"model "x" not found, try pulling it first"#,
            ),
            ("curl: (7) Couldn't connect to server", "curl: (7) Couldn't connect to server"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(message_of(text), expected, "{text}");
        }
    }

    #[test]
    fn keys_are_not_shown() {
        let table = [
            ("Incorrect API key provided: sk-proj-abcdef123456.", "Incorrect API key provided: sk-***"),
            ("bad header Authorization: Bearer eyJhbGciOiJIUzI1NiJ9", "bad header Authorization: Bearer eyJ***"),
            ("sk-*** was refused", "sk-*** was refused"),
        ];
        for (text, expected) in table {
            assert!(message_of(text).starts_with(expected), "{}", message_of(text));
        }
    }

    #[test]
    fn long_messages_are_cut_between_letters() {
        let message = message_of(&"é".repeat(400));
        assert!(message.len() <= MESSAGE_BYTES_MAX && message.chars().all(|letter| letter == 'é'));
    }
}
