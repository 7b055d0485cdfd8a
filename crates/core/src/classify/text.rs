//! A body flattened into one line of plain text, so that one set of rules reads every shape.
//!
//! Errors arrive as JSON, as JSON quoted inside JSON strings, as Python dicts, as server-sent
//! events, as HTML pages and as terminal output with wrapped lines. Flattening removes what
//! tells those apart: escapes are undone at every depth, white space becomes one blank, HTML
//! tags vanish, typographic quotes become plain ones. Linear in what is read, and no more than
//! [`HEAD_BYTES_MAX`] + [`TAIL_BYTES_MAX`] is read.

use memchr::memmem;

/// How much is read from the start of a body: an error states itself early, or nowhere.
pub const HEAD_BYTES_MAX: usize = 5 * 1024;
/// How much is read from the end: the innermost cause of a traceback is often its last line.
pub const TAIL_BYTES_MAX: usize = 3 * 1024;

/// How many bytes are checked together.
const BLOCK_BYTES: usize = 16;

/// Headers that state a cause. They are read as if they stood in front of the body.
const SPEAKING_HEADERS: &[&str] = &[
    "x-amzn-errortype",
    "x-amzn-error-message",
    "x-ms-error-code",
    "x-error-code",
    "x-error-message",
    "grpc-status",
    "grpc-message",
    "cf-mitigated",
];

/// The flattened text, twice: as written, and in lower case. Both have the same offsets.
pub(super) struct Text {
    /// For people.
    pub(super) shown: Vec<u8>,
    /// For rules.
    pub(super) lower: Vec<u8>,
}

impl Text {
    /// Flattens headers that state a cause, then the body.
    pub(super) fn new(headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut shown = Vec::with_capacity(body.len().min(HEAD_BYTES_MAX + TAIL_BYTES_MAX) + 128);
        for (name, value) in headers {
            if may_speak(name) && SPEAKING_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                flatten(name.as_bytes(), &mut shown);
                shown.extend_from_slice(b": ");
                flatten(&value.as_bytes()[..value.len().min(500)], &mut shown);
                shown.extend_from_slice(b" \x1f ");
            }
        }
        let (head, tail) = ends(body);
        flatten(head, &mut shown);
        if !tail.is_empty() {
            shown.extend_from_slice(b" \x1f ");
            flatten(tail, &mut shown);
        }
        let lower = shown.to_ascii_lowercase();
        Self { shown, lower }
    }
}

/// Whether a header may be one that states a cause, by its fifth byte: one look in place of many.
fn may_speak(name: &str) -> bool {
    matches!(name.as_bytes(), [_, _, _, _, b'-' | b'z' | b'Z' | b'r' | b'R' | b'i' | b'I', ..])
}

/// The parts of a body that are read: all of a short one, both ends of a long one.
pub(super) fn ends(body: &[u8]) -> (&[u8], &[u8]) {
    if body.len() <= HEAD_BYTES_MAX + TAIL_BYTES_MAX {
        (body, &[])
    } else {
        (&body[..HEAD_BYTES_MAX], &body[body.len() - TAIL_BYTES_MAX..])
    }
}

/// Appends `input` to `output`, flattened.
pub(super) fn flatten(input: &[u8], output: &mut Vec<u8>) {
    let html = looks_like_html(input);
    let mut at = 0;
    while at < input.len() {
        let plain = plain_len(&input[at..], output.last().copied().unwrap_or(b' '));
        output.extend_from_slice(&input[at..at + plain]);
        at += plain;
        let Some(byte) = input.get(at) else { break };
        at += match byte {
            b'\\' => unescape(&input[at..], output),
            b'<' if html => skip_tag(&input[at..], output),
            0x1b => skip_colour(&input[at..]),
            0xe2 => plain_quote(&input[at..], output),
            b'\n' => blank(output) + frame_len(&input[at + 1..]),
            byte if *byte <= b' ' => blank(output),
            byte => {
                output.push(*byte);
                1
            }
        };
    }
}

/// How many bytes need no look after `before` and are copied in one go.
fn plain_len(input: &[u8], before: u8) -> usize {
    if input.first().is_none_or(|first| is_special(before, *first)) {
        return 0;
    }
    let mut len = 1;
    // Most blocks have no such byte: the long ones are checked in fewer steps, the short ones leave less to look at.
    len += plain_blocks::<{ 2 * BLOCK_BYTES + 1 }>(&input[len - 1..]);
    len += plain_blocks::<{ BLOCK_BYTES + 1 }>(&input[len - 1..]);
    let rest = input[len - 1..].windows(2).position(|pair| is_special(pair[0], pair[1]));
    rest.map_or(input.len(), |rest| len + rest)
}

/// How many bytes behind the first need no look, in whole blocks. `N` is a block and the byte before it.
#[inline]
fn plain_blocks<const N: usize>(input: &[u8]) -> usize {
    let mut len = 0;
    while let Some(block) = input[len..].first_chunk::<N>() {
        let pairs = block.iter().zip(&block[1..]);
        // Without a way out, so that the compiler does it for all bytes at once.
        if pairs.fold(false, |special, (before, byte)| special | is_special(*before, *byte)) {
            break;
        }
        len += N - 1;
    }
    len
}

/// Whether a byte needs a look. A blank does after another, so that several become one.
#[inline]
fn is_special(before: u8, byte: u8) -> bool {
    (byte < b' ') | (byte == b'\\') | (byte == b'<') | (byte == 0xe2) | ((byte == b' ') & (before == b' '))
}

/// Whether tags should be dropped. Only the first part is searched: pages say so at once.
fn looks_like_html(input: &[u8]) -> bool {
    let head = &input[..input.len().min(2048)];
    if memchr::memchr(b'<', head).is_none() {
        return false;
    }
    ["<!doctype html", "<!DOCTYPE html", "<!DOCTYPE HTML", "<html", "<HTML", "<head>", "<body>"]
        .iter()
        .any(|mark| memmem::find(head, mark.as_bytes()).is_some())
}

fn blank(output: &mut Vec<u8>) -> usize {
    if output.last().is_some_and(|last| *last != b' ') {
        output.push(b' ');
    }
    1
}

/// Undoes one escape; returns how many bytes it took.
fn unescape(input: &[u8], output: &mut Vec<u8>) -> usize {
    match input.get(1) {
        Some(b'n') => {
            blank(output);
            2 + frame_len(&input[2..])
        }
        Some(b'r' | b't') => {
            blank(output);
            2
        }
        Some(b'u') => {
            let digits = input.get(2..6).and_then(|digits| std::str::from_utf8(digits).ok());
            let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else { return 1 };
            match char::from_u32(code) {
                Some(' ' | '\u{a0}') => drop(blank(output)),
                Some('\u{2018}' | '\u{2019}') => output.push(b'\''),
                Some(letter) if letter >= ' ' => {
                    output.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(_) => drop(blank(output)),
                None => {}
            }
            6
        }
        // A backslash before anything else, a further backslash included, only quotes it.
        _ => 1,
    }
}

/// How long the frame of a stack trace is that begins here, up to the end of its line. A frame says
/// where a failure passed by, not what it was, and the names of functions sound like failures.
fn frame_len(input: &[u8]) -> usize {
    let blanks = input.iter().take_while(|byte| **byte == b' ' || **byte == b'\t').count();
    let line = &input[..memchr::memchr(b'\n', input).unwrap_or(input.len())];
    let line_len = memmem::find(line, b"\\n").unwrap_or(line.len()).max(blanks);
    if is_named_frame(&input[blanks..line_len]) {
        return line_len;
    }
    let Some(place) = input[blanks..].strip_prefix(b"at ") else { return 0 };
    let place = place.strip_prefix(b"async ").or_else(|| place.strip_prefix(b"new ")).unwrap_or(place);
    let name = place.iter().position(|byte| *byte <= b' ' || *byte == b'(').unwrap_or(place.len());
    let (name, behind) = place.split_at(name);
    // "at f (a.js:1:2)", "at A.b(C c)", "at /src/a.rs:1:2"
    let close = behind.iter().position(|byte| *byte == b')').unwrap_or_default();
    let is_call = behind.starts_with(b"(") || behind.starts_with(b" (") && behind[..close].contains(&b':');
    let is_file = name.contains(&b'/') && name.last().is_some_and(u8::is_ascii_digit);
    if !(is_call || is_file) {
        return 0;
    }
    line_len
}

/// Whether a line is a place in a Python or Ruby program, and no message behind it: `File "a.py", line 1, in f` and
/// "from a.rb:1:in `f'".
fn is_named_frame(line: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_plain = |text: &[u8]| !text.is_empty() && text.iter().all(|byte| !b" \t'`\"".contains(byte));
    let line = line.trim_ascii_end();
    if let Some(file) = line.strip_prefix(b"File ") {
        let Some(at) = memmem::find(file, b", line ") else { return false };
        let behind = &file[at + 7..];
        let behind = &behind[digits(behind)..];
        return behind.is_empty() || behind.strip_prefix(b", in ").is_some_and(is_plain);
    }
    let file = line.strip_prefix(b"from ").unwrap_or(line);
    let Some(at) = memmem::find(file, b".rb:") else { return false };
    let behind = &file[at + 4..];
    let number = digits(behind);
    let Some(name) = behind[number..].strip_prefix(b":in ") else { return false };
    let is_name = matches!(name, [b'`' | b'\'', inner @ .., b'\''] if !inner.iter().any(|byte| b"'`".contains(byte)));
    number > 0 && is_plain(&file[..at]) && is_name
}

/// Drops one HTML tag, or a whole script or style element.
fn skip_tag(input: &[u8], output: &mut Vec<u8>) -> usize {
    if !input.get(1).is_some_and(|next| next.is_ascii_alphabetic() || *next == b'/' || *next == b'!') {
        output.push(b'<');
        return 1;
    }
    blank(output);
    for (open, close) in [(&b"<script"[..], &b"</script"[..]), (b"<style", b"</style"), (b"<!--", b"-->")] {
        if input.len() >= open.len() && input[..open.len()].eq_ignore_ascii_case(open) {
            return memmem::find(input, close).unwrap_or(input.len()).max(1);
        }
    }
    memchr::memchr(b'>', input).map_or(input.len(), |end| end + 1)
}

/// Drops a terminal colour sequence.
fn skip_colour(input: &[u8]) -> usize {
    if input.get(1) != Some(&b'[') {
        return 1;
    }
    let parameters = input[2..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    (2 + parameters + 1).min(input.len())
}

/// Typographic quotes become plain ones; other punctuation of that block stays.
fn plain_quote(input: &[u8], output: &mut Vec<u8>) -> usize {
    match input {
        [0xe2, 0x80, 0x98 | 0x99, ..] => output.push(b'\''),
        [0xe2, 0x80, 0x9c | 0x9d, ..] => output.push(b'"'),
        _ => {
            output.push(0xe2);
            return 1;
        }
    }
    3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(input: &str) -> String {
        String::from_utf8(Text::new(&[], input.as_bytes()).shown).unwrap()
    }

    #[test]
    fn places_in_a_program_are_dropped_and_messages_behind_them_kept() {
        let table = [
            ("Traceback\n  File \"/a/timeout.py\", line 3, in too_many_requests\nboom", "Traceback boom"),
            ("Bad (x):\n  lib/error.rb:62:in `parse_error'\n  from b.rb:1:in 'c'\nend", "Bad (x): end"),
            ("no\nFile \"a.pdf\" is too large", "no File \"a.pdf\" is too large"),
            ("no\na.rb:1:in `b': not found: 'c'", "no a.rb:1:in `b': not found: 'c'"),
        ];
        for (input, expected) in table {
            assert_eq!(flat(input).split_whitespace().collect::<Vec<_>>().join(" "), expected);
        }
    }

    #[test]
    fn every_shape_becomes_one_plain_line() {
        let table = [
            ("Internal \n   server\terror", "Internal server error"),
            (r#"{"raw":"{\"error\":\"too long\"}"}"#, r#"{"raw":"{"error":"too long"}"}"#),
            (r#"{\\\"error\\\":\\\"x\\\"}"#, r#"{"error":"x"}"#),
            (r"line one\nline two", "line one line two"),
            (r"\u4f59\u989d\u4e0d\u8db3", "余额不足"),
            ("you’ve “hit” it", "you've \"hit\" it"),
            ("<html><style>.a{429}</style><title>502 Bad Gateway</title>", "502 Bad Gateway "),
            ("\u{1b}[31mError\u{1b}[0m: no", "Error: no"),
            ("5 < 6 and a<b", "5 < 6 and a<b"),
            (r"C:\", "C:"),
            ("hang up\n    at connReset (node:1:2)\n  at A.b(C c) in x\nend", "hang up end"),
            (r"hang up\n    at async f (a.js:1:2)\nend", "hang up end"),
            ("failed\nat /src/a.rs:1:2\nend", "failed end"),
            ("failed\nat midnight (utc)", "failed at midnight (utc)"),
            (r"\u12", "u12"),
        ];
        for (input, expected) in table {
            assert_eq!(flat(input), expected, "{input}");
        }
    }

    #[test]
    fn every_speaking_header_may_speak() {
        assert!(SPEAKING_HEADERS.iter().all(|name| may_speak(name) && may_speak(&name.to_ascii_uppercase())));
        assert!(!may_speak("content-type") && !may_speak("date"));
    }

    #[test]
    fn both_ends_of_a_long_body_are_read() {
        let body = format!("first {} last", "x".repeat(100_000));
        let flat = flat(&body);
        assert!(flat.starts_with("first") && flat.ends_with("last"));
        assert!(flat.len() < HEAD_BYTES_MAX + TAIL_BYTES_MAX + 16);
    }
}
