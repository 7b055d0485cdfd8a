//! Texts that only look like failures: logs of success, source code, test output, commit
//! subjects, headings, commands, and prose that mentions an error.
//!
//! This stage works on texts of unknown origin only. Lines that are benign by their shape are
//! taken out before the rules read the rest, so that an access log above a real error does not
//! hide it; and a match that is only quoted inside a sentence does not count.

mod code;
mod log;
mod shapes;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use code::Code;
use log::is_informational;

pub use shapes::{BENIGN, Benign};

/// Lines beyond this many are taken as they come.
const LINES_MAX: usize = 400;

/// Lines that look like the subject of a commit or like a comment, and are what git passes on from the other side and what
/// a Java machine leaves behind when it dies.
const VERBATIM: [&[u8]; 3] = [b"remote: ", b"# A fatal error ", b"#  SIG"];

/// Takes benign lines out of `body`; also names the first shape seen.
pub(super) fn strip(body: &[u8]) -> (Cow<'_, [u8]>, Option<&'static str>) {
    let body_len = body.len();
    let body = behind_success_head(body);
    if is_diff(body) {
        return (Cow::Borrowed(b""), Some("benign.diff"));
    }
    let mut seen = (body.len() < body_len).then_some("benign.success_head");
    let mut kept = Vec::new();
    let mut code = Code::default();
    let is_dump = opens_dump(body);
    for (number, line) in body.split(|byte| *byte == b'\n').enumerate() {
        let line_start = &line[..line.len().min(600)];
        let is_read = number < LINES_MAX;
        let informs = || is_informational(line_start).then_some("benign.informational");
        let is_read = is_read && !VERBATIM.iter().any(|start| line_start.starts_with(start));
        let benign = if is_read { shapes::of(line_start).or_else(informs) } else { None };
        let benign = benign.filter(|name| !(is_dump && *name == "benign.statement"));
        code.note(line_start, benign);
        match benign {
            // What begins with its usage is a help text.
            Some(name @ ("benign.usage" | "benign.manual")) if number == 0 => return (Cow::Borrowed(b""), Some(name)),
            // Whoever asserts is a test: what stands around it is its expectation.
            Some("benign.assertion") => return (Cow::Borrowed(b""), Some("benign.assertion")),
            Some(name) => seen = seen.or(Some(name)),
            None => {
                kept.extend_from_slice(line);
                kept.push(b'\n');
            }
        }
    }
    if code.is_all() {
        return (Cow::Borrowed(b""), Some("benign.source_code"));
    }
    if code.is_list() {
        return (Cow::Borrowed(b""), Some("benign.list_of_names"));
    }
    if seen.is_none() { (Cow::Borrowed(body), None) } else { (Cow::Owned(kept), seen) }
}

/// Whether the first line reports a failure and opens a table of its fields: `Error: {`. Some languages print these like
/// assignments.
fn opens_dump(body: &[u8]) -> bool {
    let first = body.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let lower = first.to_ascii_lowercase();
    let reports = ["error", "fail", "exception"].iter().any(|word| memmem::find(&lower, word.as_bytes()).is_some());
    reports && first.ends_with(b"{") && memmem::find(first, b": ").is_some()
}

/// What follows the head of a response that is a success; all of any other text.
fn behind_success_head(body: &[u8]) -> &[u8] {
    let is_head = body.starts_with(b"HTTP/")
        && body.iter().position(|byte| *byte == b' ').is_some_and(|blank| body[blank..].starts_with(b" 2"));
    if !is_head {
        return body;
    }
    let end = memmem::find(body, b"\n\n").or_else(|| memmem::find(body, b"\r\n\r\n"));
    end.map_or(&[], |end| &body[end..])
}

/// Whether every line is one of a patch. A shell that traces its commands writes `+ ` too, but
/// does not indent them.
fn is_diff(body: &[u8]) -> bool {
    let lines = || body.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let is_header = |line: &[u8]| {
        [&b"@@ "[..], b"diff --git ", b"index ", b"--- ", b"+++ "].iter().any(|header| line.starts_with(header))
    };
    let is_change = |line: &[u8]| matches!(line, [b'+' | b'-', b'\t', ..] | [b'+' | b'-', b' ', b' ', ..]);
    matches!(body.first(), Some(b'+' | b'-' | b'@' | b'd'))
        && lines().any(|line| is_header(line) || is_change(line))
        && lines().all(|line| is_header(line) || matches!(line[0], b'+' | b'-' | b' '))
}

/// Whether the words at `span` are only quoted in a sentence: `the word "overloaded" here means`.
pub(super) fn is_mention(lower: &[u8], span: &Range<usize>) -> bool {
    [b'"', b'`'].iter().any(|quote| {
        let Some(open) = lower[..span.start].iter().rposition(|byte| byte == quote) else { return false };
        let opens = lower[..open].iter().filter(|byte| *byte == quote).count() % 2 == 0;
        let Some(close) = lower[span.end..].iter().position(|byte| byte == quote) else { return false };
        let after = &lower[span.end + close + 1..];
        let before = &lower[..open];
        let word_before = before.is_empty() && *quote == b'`'
            || before.ends_with(b" ") && before.iter().rev().nth(1).is_some_and(|byte| is_letter(*byte));
        let word_after = matches!(after, [b' ', next, ..] if is_letter(*next) || *next == b'(');
        opens && word_before && word_after && !LEADS.iter().any(|lead| before.ends_with(lead.as_bytes()))
    })
}

/// Words before a quotation that make it the failure itself.
const LEADS: &[&str] =
    &["error ", "message ", "reason ", "failed ", "with ", "returned ", "exception ", "said ", "status "];

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Classifier;
    use crate::evidence::Evidence;
    use crate::kind::FailureKind;

    #[test]
    fn every_shape_has_an_example_and_is_no_failure() {
        for benign in BENIGN {
            let (kept, seen) = strip(benign.example.as_bytes());
            assert!(seen.is_some() && kept.iter().all(u8::is_ascii_whitespace), "{}", benign.name);
            let failure = Classifier::builtin().classify(&Evidence::text(benign.example));
            assert_eq!(failure.kind, FailureKind::Unknown, "{}", benign.name);
        }
    }

    #[test]
    fn failures_are_not_taken_for_benign() {
        let table = [
            "Error: connect ECONNREFUSED 127.0.0.1:443",
            "429 Too Many Requests",
            r#"{"error":{"message":"Rate limit reached","type":"requests"}}"#,
            "Tool \"Bash\" was aborted",
            "503 Service Unavailable",
            "If the problem persists contact support: 500 Internal Server Error {\"error\": 1}",
            "openai.RateLimitError: Error code: 429 - {'error': {'message': 'x'}}",
            "curl: (7) Failed to connect to 127.0.0.1 port 28099 after 0 ms: Couldn't connect to server",
            "exit=137",
            "bash: line 1: claudee: command not found",
        ];
        for text in table {
            assert_eq!(strip(text.as_bytes()).1, None, "{text}");
        }
    }

    #[test]
    fn code_is_code_to_its_last_line() {
        let code = "    if r.status == 429:\n        wait = r.headers.get(\"Retry-After\")\n        \
                    out = {\"error\": \"rate limit exceeded\"}\n        return out";
        assert_eq!(strip(code.as_bytes()).1, Some("benign.source_code"));
        let quoted = "    raise self._make(err.response)\n    return self.request(a)\nopenai.RateLimitError: 429";
        assert!(!strip(quoted.as_bytes()).0.is_empty());
        let names = "Handle these:\n  NSURLErrorTimedOut\n  NSURLErrorCannotFindHost\n  NSURLErrorDNSLookupFailed";
        assert_eq!(strip(names.as_bytes()).1, Some("benign.list_of_names"));
        assert_eq!(strip(b"Error:\nNSURLErrorTimedOut").1, None);
        assert_eq!(strip(b"Error: 500;\nresponse: internal server error;").1, None);
        // A table of an error's fields, and what a Java machine leaves behind.
        assert_eq!(strip(b"Error: {\n  message = \"Overloaded\",\n  type = \"error\"\n}").1, None);
        assert!(!strip(b"#\n# A fatal error has been detected\n#\n#  SIGSEGV (0xb) at pc=0x1").0.is_empty());
    }

    #[test]
    fn a_quotation_inside_a_sentence_is_only_a_mention() {
        let mention = |text: &str, words: &str| {
            let start = text.find(words).unwrap();
            is_mention(text.as_bytes(), &(start..start + words.len()))
        };
        assert!(mention("the word \"overloaded\" here refers to c++", "overloaded"));
        assert!(mention("we map `connection reset` to transient", "connection reset"));
        assert!(!mention("failed with \"connection reset\" again", "connection reset"));
        assert!(!mention("error: \"rate limit reached\"", "rate limit"));
    }
}
