//! Error codes: which words of a text are one, in any spelling.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use super::phrase::head;
use super::text::Text;

/// Shorter and longer words are no codes.
const WORD_BYTES: Range<usize> = 3..65;
/// Codes of more parts are not taken apart.
const PARTS_MAX: usize = 8;
/// Codes of one part that say the same with other parts around them: `LLM_TIMEOUT`.
const TELLING_PARTS: &[&[u8]] =
    &[b"timeout", b"overloaded", b"unauthorized", b"unauthenticated", b"cancelled", b"canceled"];

/// Every known code, by the hash of its letters and digits.
#[derive(Default)]
pub(super) struct Codes {
    by_hash: HashMap<u64, Vec<Code>, BuildHasherDefault<Ready>>,
}

struct Code {
    letters: Box<[u8]>,
    rule: u16,
    /// It can be nothing but a code, wherever it stands.
    anywhere: bool,
}

impl Codes {
    /// Adds a code of a rule.
    pub(super) fn add(&mut self, code: &str, rule: u16) {
        let letters = code.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
        let letters: Box<[u8]> = letters.collect();
        let hash = hash(&letters);
        self.by_hash.entry(hash).or_default().push(Code { letters, rule, anywhere: is_identifier(code) });
    }

    /// Calls `report` with every rule that has the word at `span` as a code, in any spelling, and
    /// whether the word can be nothing else. `shaped` says that it looks like one.
    pub(super) fn find(&self, text: &Text, span: &Range<usize>, shaped: bool, mut report: impl FnMut(u16, bool)) {
        let word = &text.lower[span.clone()];
        if !WORD_BYTES.contains(&word.len()) {
            return;
        }
        let mut buffer = [0; WORD_BYTES.end];
        let hyphened = word.contains(&b'-');
        let letters = if shaped || hyphened { without_joints(word, &mut buffer) } else { word };
        let Some(codes) = self.by_hash.get(&hash(letters)) else {
            // Words with blanks between them are a sentence: "timeout must be positive".
            if shaped && !word.contains(&b' ') && is_code_field(&text.lower[..span.start]) {
                self.find_inside(&text.shown[span.clone()], letters, report);
            }
            return;
        };
        // With hyphens it may be an ordinary compound: "rate-limit".
        let shaped = shaped && !hyphened;
        for code in codes.iter().filter(|code| *code.letters == *letters) {
            report(code.rule, shaped && code.anywhere);
        }
    }

    /// Calls `report` with every rule whose code is the longest part of a word that is one: everybody puts a name
    /// before the codes that all share, `LLM_RATE_LIMIT_EXCEEDED`, or an end behind them.
    fn find_inside(&self, shown: &[u8], letters: &[u8], mut report: impl FnMut(u16, bool)) {
        let mut ends = [0; PARTS_MAX + 1];
        let Some(parts) = part_ends(shown, &mut ends) else { return };
        let contradicts = |part: usize| OTHER_PARTS.contains(&&letters[ends[part]..ends[part + 1]]);
        if LOCAL_NAMES.contains(&letters) || (0..parts).any(contradicts) {
            return;
        }
        for len in (1..parts).rev() {
            for start in 0..=parts - len {
                let part = &letters[ends[start]..ends[start + len]];
                if len == 1 && !TELLING_PARTS.contains(&part) || VAGUE_PARTS.contains(&part) {
                    continue;
                }
                let Some(codes) = self.by_hash.get(&hash(part)) else { continue };
                let mut codes = codes.iter().filter(|code| *code.letters == *part).peekable();
                if codes.peek().is_some() {
                    return codes.for_each(|code| report(code.rule, false));
                }
            }
        }
    }
}

/// Codes that say something else with other parts around them: any limit can be exceeded.
const VAGUE_PARTS: &[&[u8]] = &[b"limitexceeded"];

/// Parts that make something else of a code: `INVALID_TIMEOUT_VALUE` is no timeout.
const OTHER_PARTS: &[&[u8]] = &[
    b"invalid",
    b"unsupported",
    b"unknown",
    b"missing",
    b"malformed",
    b"already",
    b"param",
    b"parameter",
    b"value",
    b"field",
    b"config",
    b"setting",
    b"option",
    b"policy",
];

/// Exceptions of languages that are about something local, whatever code their names hold.
const LOCAL_NAMES: &[&[u8]] =
    &[b"filenotfounderror", b"filenotfoundexception", b"modulenotfounderror", b"classnotfoundexception"];

/// Where the parts of a word end, counted in its letters and digits, after a zero; how many there are, unless they
/// are too many.
fn part_ends(shown: &[u8], ends: &mut [usize; PARTS_MAX + 1]) -> Option<usize> {
    let (mut parts, mut len) = (0, 0);
    for (index, byte) in shown.iter().enumerate() {
        if matches!(byte, b'_' | b'-' | b' ') {
            continue;
        }
        let before = index.checked_sub(1).map_or(b'_', |before| shown[before]);
        let begins = matches!(before, b'_' | b'-' | b' ') || before.is_ascii_lowercase() && byte.is_ascii_uppercase();
        if begins {
            parts += 1;
        }
        len += 1;
        *ends.get_mut(parts)? = len;
    }
    Some(parts)
}

/// Whether the word at `span` is meant as a code: the value of a field unless it can be nothing
/// else.
pub(super) fn is_code(lower: &[u8], span: &Range<usize>, anywhere: bool) -> bool {
    anywhere || is_code_field(&lower[..span.start]) || is_tag(lower, span)
}

/// The whole value of a code field that begins with the word at `span` and goes on behind a blank:
/// `"error": "invalid grant"`.
pub(super) fn spaced_value(lower: &[u8], span: &Range<usize>) -> Option<Range<usize>> {
    let (Some(b' '), Some(quote @ (b'"' | b'\''))) = (lower.get(span.end), lower[..span.start].last()) else {
        return None;
    };
    let rest = lower.get(span.end..lower.len().min(span.start + WORD_BYTES.end))?;
    let len = rest.iter().position(|byte| !byte.is_ascii_lowercase() && *byte != b' ')?;
    let is_value = rest[len] == *quote && is_code_field(&lower[..span.start]);
    is_value.then_some(span.start..span.end + len)
}

/// Whether a code is given in brackets, as Connect does: `[unauthenticated] ...`.
fn is_tag(lower: &[u8], span: &Range<usize>) -> bool {
    let before = &lower[..span.start];
    (before == b"[" || before.ends_with(b" [")) && lower[span.end..].starts_with(b"] ")
}

/// Whether `before` ends in the name of a code field and its separator: `"code": "`, `code=`.
fn is_code_field(before: &[u8]) -> bool {
    let is_quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'`' | b' ');
    let before = trim_end(before, is_quote);
    let Some((b':' | b'=', before)) = before.split_last() else { return false };
    let before = trim_end(before, is_quote);
    let name = before.iter().rev().take_while(|byte| is_word(**byte)).count();
    let name = &before[before.len() - name..];
    is_code_name(name)
}

/// Whether the value of a field of this name is an error code.
fn is_code_name(name: &[u8]) -> bool {
    matches!(
        name,
        b"err"
            | b"msg"
            | b"ret"
            | b"code"
            | b"kind"
            | b"name"
            | b"type"
            | b"cause"
            | b"title"
            | b"errno"
            | b"error"
            | b"detail"
            | b"errmsg"
            | b"__type"
            | b"reason"
            | b"status"
            | b"errcode"
            | b"message"
            | b"subcode"
            | b"category"
            | b"err_code"
            | b"error_msg"
            | b"errorcode"
            | b"errortype"
            | b"exception"
            | b"error_code"
            | b"error_name"
            | b"error_type"
            | b"resultcode"
            | b"statuscode"
            | b"stopreason"
            | b"blockreason"
            | b"status_code"
            | b"stop_reason"
            | b"block_reason"
            | b"finishreason"
            | b"x-error-code"
            | b"finish_reason"
            | b"x-ms-error-code"
            | b"x-amzn-errortype"
            | b"provider_error_code"
            | b"native_finish_reason"
    )
}

fn trim_end(bytes: &[u8], drop: impl Fn(u8) -> bool) -> &[u8] {
    let kept = bytes.iter().rposition(|byte| !drop(*byte)).map_or(0, |last| last + 1);
    &bytes[..kept]
}

/// Whether a code cannot be mistaken for an ordinary word: several words in one, or capitals that
/// no word has.
fn is_identifier(code: &str) -> bool {
    let capitals = code.bytes().filter(u8::is_ascii_uppercase).count();
    let small = code.bytes().filter(u8::is_ascii_lowercase).count();
    let shouted = small == 0 && capitals >= 5;
    let humps = small > 0 && (capitals >= 2 || code.as_bytes()[1..].iter().any(u8::is_ascii_uppercase));
    let joined = code.contains('_') && capitals + small > 0;
    shouted || humps || joined
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The letters and digits of a word.
fn without_joints<'a>(word: &[u8], buffer: &'a mut [u8; WORD_BYTES.end]) -> &'a [u8] {
    let mut len = 0;
    for byte in word {
        buffer[len] = *byte;
        len += usize::from(!matches!(byte, b'_' | b'-' | b' '));
    }
    &buffer[..len]
}

/// Cheap, because what it finds is compared letter by letter.
fn hash(letters: &[u8]) -> u64 {
    // The map uses the highest bits.
    let mix = |hash: u64, bytes: u64| (hash ^ bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (blocks, rest) = letters.as_chunks();
    let hash = blocks.iter().fold(7, |hash: u64, block| mix(hash.rotate_left(29), u64::from_le_bytes(*block)));
    mix(hash.rotate_left(29), head(rest))
}

/// Passes on a key that is a hash already.
#[derive(Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= hash(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::words::Words;

    fn finds(code: &str, text: &str) -> bool {
        let mut codes = Codes::default();
        codes.add(code, 7);
        let text = Text { shown: text.into(), lower: text.to_ascii_lowercase().into() };
        let mut found = false;
        Words::new().read(
            &text,
            |_, _| {},
            |span, shaped| {
                codes.find(&text, &span, shaped, |_, anywhere| found |= is_code(&text.lower, &span, anywhere));
            },
        );
        found
    }

    #[test]
    fn a_code_counts_as_a_field_or_where_it_can_be_nothing_else() {
        assert!(finds("tokens", r#"{"type": "tokens"}"#));
        assert!(finds("1302", "{'code': '1302'}"));
        assert!(finds("1302", "code=1302,"));
        assert!(finds("insufficient_balance_error", "402 insufficient_balance_error (1008)"));
        assert!(!finds("1302", "1302 tokens"));
        assert!(!finds("tokens", r#"{"max":"tokens"}"#));
        assert!(!finds("rate_limit_exceeded", "my_rate_limit_exceeded_2"));
        assert!(!finds("rate_limit", r#"{"rate_limit": {"used": 3}}"#));
        assert!(!finds("limit_requests", "x-ratelimit-limit-requests: 7"));
        assert!(!finds("rate_limit", "the rate-limit page"));
    }

    #[test]
    fn a_code_is_known_with_other_parts_around_it() {
        for text in [
            r#"{"code":"LLM_RATE_LIMIT_EXCEEDED"}"#,
            r#"{"code":"rate_limit_exceeded_for_team"}"#,
            r#"{"type":"AcmeRateLimitExceeded"}"#,
            r#"{"message":"rate_limit_exceeded"}"#,
        ] {
            assert!(finds("rate_limit_exceeded", text), "{text}");
        }
        assert!(finds("timeout", r#"{"code":"LLM_TIMEOUT"}"#));
        assert!(!finds("tokens", r#"{"finish_reason":"MAX_TOKENS"}"#));
        assert!(!finds("limitExceeded", r#"{"code":"CHARACTER_LIMIT_EXCEEDED"}"#));
        assert!(!finds("rate_limit_exceeded", r#"{"name_of_setting":"on_rate_limit_exceeded"}"#));
        assert!(!finds("file_not_found", "Error: FileNotFoundError: [Errno 2] No such file"));
        let long = ["A_"; 20].concat() + "TIMEOUT";
        assert!(!finds("timeout", &format!(r#"{{"code":"{long}"}}"#)));
    }

    #[test]
    fn a_code_may_be_written_with_blanks() {
        let value = |text: &str, word: &str| {
            let start = text.find(word).unwrap();
            spaced_value(text.as_bytes(), &(start..start + word.len())).map(|span| text[span].to_owned())
        };
        assert_eq!(value(r#"{"error": "invalid grant"}"#, "invalid").as_deref(), Some("invalid grant"));
        assert_eq!(value(r#"{"error": "invalid grant: expired"}"#, "invalid"), None);
        assert_eq!(value(r#"{"text": "invalid grant"}"#, "invalid"), None);
        assert_eq!(value(r#"{"error": "invalid grant"#, "invalid"), None);
    }

    #[test]
    fn every_spelling_is_known() {
        for text in
            ["rate_limit_error", "RateLimitError", "RATE_LIMIT_ERROR", "openai.RateLimitError:", "rateLimitError"]
        {
            assert!(finds("rate_limit_error", text), "{text}");
        }
        assert!(finds("SSLEOFError", "ssl.SSLEOFError(8)") && finds("ECONNRESET", "read ECONNRESET"));
    }
}
