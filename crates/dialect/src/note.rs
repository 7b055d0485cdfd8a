//! A note at the end of a conversation, put there by byte range: everything else stays as it was.

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::Format;

/// The list that holds the conversation, whatever the format calls it.
#[derive(Deserialize)]
struct Conversation<'a> {
    #[serde(borrow, alias = "contents", alias = "input")]
    messages: &'a RawValue,
}

/// The request with one more message of the user at its end; `None` where it has no list to add to. An input that is
/// a text alone becomes the first message of a list.
pub fn with_note(format: Format, body: &[u8], note: &str) -> Option<Vec<u8>> {
    let conversation: Conversation<'_> = serde_json::from_slice(body).ok()?;
    let list = conversation.messages.get();
    let start = list.as_ptr() as usize - body.as_ptr() as usize;
    let end = start + list.len() - 1;
    let message = match format {
        Format::Chat | Format::Messages | Format::Responses => json!({ "role": "user", "content": note }),
        Format::Gemini => json!({ "role": "user", "parts": [{ "text": note }] }),
    };
    if format == Format::Responses && list.starts_with('"') {
        let first = format!("[{{\"role\":\"user\",\"content\":{list}}},{message}]");
        return Some([&body[..start], first.as_bytes(), &body[end + 1..]].concat());
    }
    let inside = list.strip_prefix('[')?.strip_suffix(']')?;
    let comma = if inside.trim().is_empty() { "" } else { "," };
    Some([&body[..end], comma.as_bytes(), message.to_string().as_bytes(), &body[end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: Format, body: &str, expected: &str) {
        let noted = with_note(format, body.as_bytes(), "mind the \"gap\"");
        assert_eq!(String::from_utf8(noted.unwrap()).unwrap(), expected);
    }

    #[test]
    fn the_note_is_the_last_message_and_nothing_else_changes() {
        check(
            Format::Chat,
            r#"{ "messages":[{"role":"user","content":"hi"} ],"x": 1.0 }"#,
            r#"{ "messages":[{"role":"user","content":"hi"} ,{"content":"mind the \"gap\"","role":"user"}],"x": 1.0 }"#,
        );
        check(
            Format::Gemini,
            r#"{"contents":[]}"#,
            r#"{"contents":[{"parts":[{"text":"mind the \"gap\""}],"role":"user"}]}"#,
        );
        check(
            Format::Responses,
            r#"{"input":[ 1 ]}"#,
            r#"{"input":[ 1 ,{"content":"mind the \"gap\"","role":"user"}]}"#,
        );
    }

    #[test]
    fn a_text_alone_becomes_the_first_message() {
        check(
            Format::Responses,
            r#"{"input": "say \"hi\"","x": 1.0}"#,
            r#"{"input": [{"role":"user","content":"say \"hi\""},{"content":"mind the \"gap\"","role":"user"}],"x": 1.0}"#,
        );
    }

    #[test]
    fn what_has_no_list_is_left_alone() {
        assert_eq!(with_note(Format::Chat, br#"{"messages":"hi"}"#, "n"), None);
        assert_eq!(with_note(Format::Chat, b"{}", "n"), None);
        assert_eq!(with_note(Format::Chat, b"no", "n"), None);
    }
}
