//! Secrets in a text that people will see: where they are, and the text without them.
//!
//! Goes by shapes: how providers' keys begin, words after `Bearer`, values named like a secret,
//! passwords in addresses, runs too long to be a name. It would rather hide too much: what is
//! hidden can be looked up where it came from, what is shown cannot be unseen.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2_iter, memmem};

/// What stands in place of a secret.
pub const MASK: &str = "***";

/// How API keys begin; the beginning itself stays visible, because it tells whose key it is.
const PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "pk-",
    "pk_",
    "rk-",
    "rk_",
    "gsk_",
    "csk-",
    "xai-",
    "pplx-",
    "hf_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "aiza",
    "akia",
    "r8_",
    "nvapi-",
    "tvly-",
    "whsec_",
    "key-",
    "key_",
    "eyj",
];

/// How the name of a secret ends.
const NAMES: &[&str] = &[
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "pwd",
    "pass",
    "authorization",
    "cookie",
    "credential",
    "credentials",
];

/// A key with a known beginning is at least this long.
const KEY_BYTES_MIN: usize = 12;
/// No name is this long without a gap.
const RUN_BYTES_MIN: usize = 32;
/// A value after a colon is a secret only if it could be one: "token: expected" is not.
const COLON_VALUE_BYTES_MIN: usize = 6;

/// The text without its secrets.
pub fn redact(text: &str) -> Cow<'_, str> {
    let ranges = secret_ranges(text);
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut redacted = String::with_capacity(text.len());
    let mut shown = 0;
    for range in ranges {
        redacted.push_str(&text[shown..range.start]);
        redacted.push_str(MASK);
        shown = range.end;
    }
    redacted.push_str(&text[shown..]);
    Cow::Owned(redacted)
}

/// The parts of a text that look like secrets, in order and apart from each other.
pub fn secret_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    keys(text.as_bytes(), &mut ranges);
    named_values(text.as_bytes(), &mut ranges);
    passwords(text.as_bytes(), &mut ranges);
    merged(ranges)
}

/// In order, without overlaps and without empty ones.
pub fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, previous| {
        let overlap = next.start <= previous.end;
        if overlap {
            previous.end = previous.end.max(next.end);
        }
        overlap
    });
    ranges
}

/// Words that are keys by their shape, or by the word before them.
fn keys(text: &[u8], ranges: &mut Vec<Range<usize>>) {
    let mut at = 0;
    // No word that is long enough fits before a byte that is in none: most are never looked at.
    while let Some(window) = text.get(at..at + KEY_BYTES_MIN) {
        if let Some(gap) = window.iter().rposition(|byte| !is_key_byte(byte)) {
            at += gap + 1;
            continue;
        }
        let start = at;
        at += text[at..].iter().take_while(|byte| is_key_byte(byte)).count();
        let word = &text[start..at];
        if let Some(shown) = known_beginning(word) {
            ranges.push(start + shown..value_end(text, at));
        } else if is_announced(&text[..start], word) || is_long_run(word) {
            ranges.push(start..value_end(text, at));
        }
    }
}

/// How much of a word may be shown, if a key begins in it: at its start, or after a dot.
fn known_beginning(word: &[u8]) -> Option<usize> {
    let mut start = 0;
    loop {
        let part = word.get(start..).filter(|part| part.len() >= KEY_BYTES_MIN)?;
        if may_begin_key(part)
            && let Some(prefix) = PREFIXES.iter().find(|prefix| starts_with(part, prefix))
        {
            return Some(start + prefix.len());
        }
        start += part.iter().position(|byte| *byte == b'.')? + 1;
    }
}

/// Whether the first two bytes of a word are those of a prefix: one look in place of many.
fn may_begin_key(word: &[u8]) -> bool {
    let [first, second, ..] = word else { return false };
    matches!(
        (first.to_ascii_lowercase(), second.to_ascii_lowercase()),
        (b's' | b'c', b'k' | b's')
            | (b'p', b'k' | b'p')
            | (b'r', b'k' | b'8')
            | (b'g', b's' | b'h' | b'i' | b'l')
            | (b'x', b'a' | b'o')
            | (b'h', b'f')
            | (b'a', b'i' | b'k')
            | (b'n' | b't', b'v')
            | (b'w', b'h')
            | (b'k', b'e')
            | (b'e', b'y')
    )
}

/// `name=value` and `name: value` where the name says that it is a secret.
fn named_values(text: &[u8], ranges: &mut Vec<Range<usize>>) {
    for separator in memchr2_iter(b'=', b':', text) {
        let before = trim_end(&text[..separator]);
        if !before.last().is_some_and(|last| may_end_name(*last)) || !NAMES.iter().any(|name| ends_with(before, name)) {
            continue;
        }
        let quotes = text[separator + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'"' | b'\'')).count();
        let start = separator + 1 + quotes;
        let end = value_end(text, start);
        let value = &text[start..end];
        let certain = text[separator] == b'=' && !value.starts_with(b"{") && !value.starts_with(b"[");
        let likely = value.len() >= COLON_VALUE_BYTES_MIN && value.iter().any(u8::is_ascii_digit);
        if certain || likely {
            ranges.push(start..end);
        }
    }
}

/// Whether a byte is the last of a name: one look in place of many.
fn may_end_name(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'y' | b'n' | b't' | b'd' | b's' | b'e' | b'l')
}

/// Passwords in addresses: `scheme://user:password@host`. A password may hold anything but a blank.
fn passwords(text: &[u8], ranges: &mut Vec<Range<usize>>) {
    if memchr(b'@', text).is_none() {
        return;
    }
    for scheme in memmem::find_iter(text, b"://") {
        let start = scheme + 3;
        let end = start + text[start..].iter().take_while(|byte| !matches!(byte, b' ' | b'\n' | b'"' | b'\'')).count();
        let Some(at) = text[start..end].iter().rposition(|byte| *byte == b'@') else { continue };
        if let Some(colon) = memchr(b':', &text[start..start + at]) {
            ranges.push(start + colon + 1..start + at);
        }
    }
}

/// Whether the word before announces a key: `Bearer`, or `Basic` before something that is no word.
fn is_announced(before: &[u8], word: &[u8]) -> bool {
    let before = trim_end(before);
    let is_encoded = || word.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    ends_with(before, "bearer") || ends_with(before, "basic") && is_encoded()
}

/// Letters and digits without a gap, longer than any name and not only letters.
fn is_long_run(word: &[u8]) -> bool {
    let mut runs = word.split(|byte| !byte.is_ascii_alphanumeric());
    word.len() >= RUN_BYTES_MIN && runs.any(|run| run.len() >= RUN_BYTES_MIN && run.iter().any(u8::is_ascii_digit))
}

/// Where a value that begins before `from` ends: at a blank, a quote or what separates values.
fn value_end(text: &[u8], from: usize) -> usize {
    let ends =
        |byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'"' | b'\'' | b'&' | b',' | b';' | b')' | b'}' | b'>');
    from + text[from..].iter().position(ends).unwrap_or(text.len() - from)
}

fn trim_end(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'"' | b'\'' | b':');
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(0, |last| last + 1);
    &text[..end]
}

fn is_key_byte(byte: &u8) -> bool {
    KEY_BYTES[usize::from(*byte)]
}

/// What keys consist of. Every byte of a message is looked up here.
const KEY_BYTES: [bool; 256] = {
    let mut bytes = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'-' | b'_' | b'.');
        byte += 1;
    }
    bytes
};

/// Whether a word begins so. The first byte tells nearly always, and saves a call.
fn starts_with(word: &[u8], prefix: &str) -> bool {
    let prefix = prefix.as_bytes();
    word.first().map(u8::to_ascii_lowercase) == prefix.first().copied()
        && word.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether a text ends so; the last byte tells nearly always.
fn ends_with(text: &[u8], name: &str) -> bool {
    let name = name.as_bytes();
    text.last().map(u8::to_ascii_lowercase) == name.last().copied()
        && text.len() >= name.len()
        && text[text.len() - name.len()..].eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_their_surroundings_stay() {
        for (text, shown) in [
            ("Incorrect API key provided: sk-proj-abcdef123456.", "Incorrect API key provided: sk-***"),
            ("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.x-y_z", "Authorization: Bearer eyJ***"),
            ("token eyJhbGciOiJIUzI1NiJ9.e30.abc is expired", "token eyJ*** is expired"),
            ("Basic dXNlcjpwYXNzd29yZA==", "Basic ***"),
            ("connect to postgres://app:hunter2@db/x", "connect to postgres://app:***@db/x"),
            ("mysql://u:p@ss/w0rd@h/x", "mysql://u:***@h/x"),
            ("Invalid API key: 0123456789abcdef0123456789abcdef", "Invalid API key: ***"),
            (r#"{"x-api-key": "a1b2c3d4"}"#, r#"{"x-api-key": "***"}"#),
            ("GET /v1?api_key=hunter&x=1", "GET /v1?api_key=***&x=1"),
            ("password=hunter", "password=***"),
            ("endpoints.sk-ant-api03-hunter2 is unknown", "endpoints.sk-*** is unknown"),
            ("AIzaSyA-0123456789abcdefghij failed", "AIza*** failed"),
            ("sk-ab1234567", "sk-***"),
            ("a.b.sk-ant-api03-hunter2 is unknown", "a.b.sk-*** is unknown"),
            ("key=a", "key=***"),
            ("token: abc123", "token: ***"),
            ("bearer abcdefghijkl", "bearer ***"),
            ("basic ABCDefghijkl", "basic ***"),
            ("basic abcdefghijk1", "basic ***"),
            ("id 0123456789abcdef0123456789abcdef gone", "id *** gone"),
            ("at x-0123456789abcdef0123456789abcdef-y now", "at *** now"),
            ("redis://:hunter2@h and http://x:80/", "redis://:***@h and http://x:80/"),
        ] {
            assert_eq!(redact(text), shown);
        }
    }

    #[test]
    fn every_prefix_may_begin_a_key() {
        assert!(PREFIXES.iter().all(|prefix| may_begin_key(prefix.as_bytes())));
        assert!(!may_begin_key(b"organization") && !may_begin_key(b"x"));
        assert!(NAMES.iter().all(|name| name.bytes().last().is_some_and(may_end_name)) && !may_end_name(b'x'));
    }

    #[test]
    fn what_is_no_secret_is_shown() {
        for text in [
            "Unexpected token: expected a comma",
            "max_tokens: 4096, tokens=12",
            "model claude-sonnet-4-5-20250929 not found",
            "request req_011BVNrhkCDlc61GkF6SyBoh failed",
            "https://api.openai.com/v1/chat/completions",
            "this is a basic sentence about a bearer of news",
            "key = { env = \"OPENAI_API_KEY\" }",
            "key = [\"OPENAI_API_KEY\"]",
            "sk-ab123456",
            "token: abc12",
            "token: abcdef",
            "status: 429abc, s=1",
            "ssh-connection-lost",
            "a basic misunderstanding",
            "id 0123456789abcdef0123456789abcde gone",
            "a-name-of-many-parts-that-is-longer-than-any-1",
            "https://user@host/x and http://a:b/c",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merged(vec![7..9, 5..5, 3..5, 0..3, 1..2]), [0..5, 7..9]);
    }

    proptest! {
        #[test]
        fn any_text_can_be_redacted(text: String) {
            redact(&text);
        }

        #[test]
        fn a_key_is_hidden_wherever_it_stands(
            before in "[a-z .:=\"(]{0,30}", prefix in proptest::sample::select(PREFIXES),
            key in "[A-Z0-9]{12,40}", after in "[ \",;)].{0,30}",
        ) {
            let text = format!("{before} {prefix}{key}{after}");
            let shown = redact(&text).into_owned();
            prop_assert!(!shown.contains(&key), "{shown}");
        }
    }
}
