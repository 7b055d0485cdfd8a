//! Retry with error context: the next attempt is told what failed.
//!
//! The text holds the error, the trace, the failed output and the original request. Each part is
//! cut to its own limit, so a chain of failing retries never grows the context without bound:
//! the builder is always given the *original* request, never its own earlier text.

use crate::kind::FailureKind;

/// What the next attempt is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct FailedAttempt<'a> {
    /// The original request, as the user wrote it.
    pub request: &'a str,
    /// What kind of failure it was.
    pub kind: Option<FailureKind>,
    /// The error message.
    pub message: &'a str,
    /// The stack trace or tool output, where there is one.
    pub trace: &'a str,
    /// What the failed attempt produced, where there is any.
    pub output: &'a str,
}

/// How many bytes of each part the next attempt is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLimits {
    /// Of the error message.
    pub message_bytes: usize,
    /// Of the trace; its end is kept, where the cause is.
    pub trace_bytes: usize,
    /// Of the failed output; both ends are kept.
    pub output_bytes: usize,
    /// Of the original request.
    pub request_bytes: usize,
}

/// Which end of a text that is too long is kept.
#[derive(Clone, Copy)]
enum Keep {
    Start,
    End,
    BothEnds,
}

/// Builds the prompt of the next attempt.
pub fn retry_prompt(failed: &FailedAttempt<'_>, limits: PartLimits) -> String {
    let mut prompt = retry_note(failed, limits);
    prompt.push_str("\nOriginal request:\n");
    push_cut(&mut prompt, failed.request.trim(), limits.request_bytes, Keep::BothEnds);
    prompt
}

/// The same without the request, for a conversation that already holds it.
pub fn retry_note(failed: &FailedAttempt<'_>, limits: PartLimits) -> String {
    let mut prompt = String::from("Previous attempt failed with the following error:\n---\n");
    prompt.push_str("Error: ");
    push_cut(&mut prompt, failed.message.trim(), limits.message_bytes, Keep::Start);
    push_part(&mut prompt, "Trace", failed.trace, limits.trace_bytes, Keep::End);
    push_part(&mut prompt, "Failed output", failed.output, limits.output_bytes, Keep::BothEnds);
    prompt.push_str("\n---\n\nPlease try again, avoiding the issue that caused the failure.\n");
    if let Some(advice) = failed.kind.and_then(advice) {
        prompt.push_str(advice);
        prompt.push('\n');
    }
    prompt
}

/// What to do differently, where the kind tells.
fn advice(kind: FailureKind) -> Option<&'static str> {
    match kind {
        FailureKind::BadOutput => Some("Answer in exactly the form that was asked for, and nothing else."),
        FailureKind::ContextLimit => Some("Use less context: read and quote only what is needed."),
        FailureKind::ContentFilter => Some("The safety system blocked the answer: take a different approach."),
        FailureKind::InvalidRequest => Some("The request was refused as malformed: check tool calls and arguments."),
        FailureKind::Timeout => Some("It took too long: take smaller steps."),
        _ => None,
    }
}

fn push_part(prompt: &mut String, title: &str, text: &str, limit: usize, keep: Keep) {
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    prompt.push_str("\n\n");
    prompt.push_str(title);
    prompt.push_str(":\n");
    push_cut(prompt, text, limit, keep);
}

/// Appends `text`, cut to `limit` bytes on character boundaries with a note of what is missing.
fn push_cut(prompt: &mut String, text: &str, limit: usize, keep: Keep) {
    if text.len() <= limit {
        return prompt.push_str(text);
    }
    let (head, tail) = match keep {
        Keep::Start => (limit, 0),
        Keep::End => (0, limit),
        Keep::BothEnds => (limit - limit / 2, limit / 2),
    };
    let head = &text[..text.floor_char_boundary(head)];
    let tail = &text[text.ceil_char_boundary(text.len() - tail)..];
    let missing = text.len() - head.len() - tail.len();
    prompt.push_str(head);
    prompt.push_str(&format!(" [… {missing} bytes left out …] "));
    prompt.push_str(tail);
}

impl Default for PartLimits {
    /// About 4,000 tokens of error beside a request that is kept as far as any model reads it.
    fn default() -> Self {
        Self { message_bytes: 2_000, trace_bytes: 6_000, output_bytes: 8_000, request_bytes: 200_000 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_next_attempt_is_told_what_failed() {
        let failed = FailedAttempt {
            request: "List the planets as JSON.",
            kind: Some(FailureKind::BadOutput),
            message: "expected an array",
            trace: "",
            output: "Mercury, Venus",
        };
        let expected = "\
Previous attempt failed with the following error:
---
Error: expected an array

Failed output:
Mercury, Venus
---

Please try again, avoiding the issue that caused the failure.
Answer in exactly the form that was asked for, and nothing else.

Original request:
List the planets as JSON.";
        assert_eq!(retry_prompt(&failed, PartLimits::default()), expected);
    }

    #[test]
    fn each_part_is_cut_where_it_tells_least() {
        let cut = |keep| {
            let mut text = String::new();
            push_cut(&mut text, "abcdefghij", 4, keep);
            text
        };
        assert_eq!(cut(Keep::Start), "abcd [… 6 bytes left out …] ");
        assert_eq!(cut(Keep::End), " [… 6 bytes left out …] ghij");
        assert_eq!(cut(Keep::BothEnds), "ab [… 6 bytes left out …] ij");
    }

    #[test]
    fn what_just_fits_is_told_whole() {
        let told = |limit| {
            let mut text = String::new();
            push_cut(&mut text, "abcdef", limit, Keep::BothEnds);
            text
        };
        assert_eq!((told(6).as_str(), told(5).as_str()), ("abcdef", "abc [… 1 bytes left out …] ef"));
    }

    #[test]
    fn a_trace_is_told_to_its_end_and_advice_where_the_kind_tells() {
        let note = |kind| {
            let failed =
                FailedAttempt { kind: Some(kind), message: "no", trace: " at a\n at b ", ..Default::default() };
            retry_note(&failed, PartLimits::default())
        };
        let advised =
            |kind| note(kind).split_once("the failure.\n").map(|(_, advice)| advice.trim().to_owned()).unwrap();
        assert!(note(FailureKind::Timeout).contains("Error: no\n\nTrace:\nat a\n at b\n---\n"));
        for (kind, word) in [
            (FailureKind::BadOutput, "form"),
            (FailureKind::ContextLimit, "less context"),
            (FailureKind::ContentFilter, "different approach"),
            (FailureKind::InvalidRequest, "arguments"),
            (FailureKind::Timeout, "smaller steps"),
        ] {
            assert!(advised(kind).contains(word), "{kind}: {}", advised(kind));
        }
        assert_eq!(advised(FailureKind::ServerError), "", "nothing that the model could do about it");
    }

    proptest! {
        #[test]
        fn it_never_grows_without_bound(message: String, trace: String, output: String, request: String, limit in 0usize..50) {
            let limits = PartLimits { message_bytes: limit, trace_bytes: limit, output_bytes: limit, request_bytes: limit };
            let failed = FailedAttempt { request: &request, kind: None, message: &message, trace: &trace, output: &output };
            let prompt = retry_prompt(&failed, limits);
            prop_assert!(prompt.len() <= 4 * (limit + 40) + 200, "{} bytes", prompt.len());
        }
    }
}
