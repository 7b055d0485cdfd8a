//! What the surface alone says, where no rule knows the words.
//!
//! A caller that hands in a transport error, a stream that broke or the last words of a process
//! has told us something already. It weighs least of all, and not at all where the text looks
//! like no failure: a complete answer, an informational line, a listing.

use crate::evidence::{Evidence, Exit, Surface};
use crate::kind::FailureKind;

/// Parts of words that a dying process leaves behind; without any, its output is just output.
const FAILING: &[&str] = &[
    "error",
    "fail",
    "fatal",
    "[critical",
    "panic",
    "abort",
    "crash",
    "kill",
    "died",
    "dead",
    "exit",
    "terminat",
    "signal",
    "exception",
    "traceback",
    "cannot",
    "can't",
    "could not",
    "couldn't",
    "unable",
    "not found",
    "no such",
    "denied",
    "refused",
    "closed",
    "lost",
    "broken",
    "invalid",
    "missing",
    "unexpected",
    "gone",
    "unhandled",
    "undefined",
    "corrupt",
    "not loaded",
    "not be restarted",
    "gave up",
    "giving up",
    "out of",
    "overflow",
];

/// What ends a streamed answer that is whole.
const TERMINAL: &[&str] = &[
    "[done]",
    "message_stop",
    "response.completed",
    "response.done",
    "\"done\":true",
    "status=finished",
    "status = finished",
];

/// The kind that the surface stands for, and the rule's name. `lower` is what benign lines left.
pub(super) fn meaning(evidence: &Evidence<'_>, lower: &[u8]) -> Option<(FailureKind, &'static str)> {
    let says = |words: &[&str]| words.iter().any(|word| memchr::memmem::find(lower, word.as_bytes()).is_some());
    match evidence.surface {
        Surface::Network => Some((FailureKind::NetworkTransient, "surface.network")),
        Surface::Stream if says(TERMINAL) && !says(FAILING) => None,
        Surface::Stream if is_whole(lower) && !says(FAILING) && !says(&["data: "]) => None,
        Surface::Stream => Some((FailureKind::StreamInterrupted, "surface.stream")),
        Surface::Process if evidence.exit == Some(Exit::Code(0)) || !says(FAILING) || ends_well(lower) => None,
        Surface::Process => Some((FailureKind::ProcessDied, "surface.process")),
        Surface::Http | Surface::Text => None,
    }
}

/// Whether the last words of a process report a success, whatever failed before.
fn ends_well(lower: &[u8]) -> bool {
    const SUCCESS: &[&str] = &[" succeeded", " successfully", " success"];
    let last = &lower[lower.len().saturating_sub(40)..];
    SUCCESS.iter().any(|word| memchr::memmem::find(last, word.as_bytes()).is_some())
}

/// Whether a text holds an object or array and closes all it opens.
fn is_whole(lower: &[u8]) -> bool {
    let count = |wanted: u8| lower.iter().filter(|byte| **byte == wanted).count();
    let last = lower.iter().rfind(|byte| **byte != b' ');
    count(b'{') > 0 && count(b'{') == count(b'}') && matches!(last, Some(b'}' | b']'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Classifier;

    fn rule(surface: Surface, body: &str) -> String {
        let evidence = Evidence { surface, ..Evidence::text(body) };
        Classifier::builtin().classify(&evidence).rule.into_owned()
    }

    #[test]
    fn the_surface_counts_where_no_rule_knows_the_words() {
        assert_eq!(rule(Surface::Network, "quux 17"), "surface.network");
        assert_eq!(rule(Surface::Network, ""), "surface.network");
        assert_eq!(rule(Surface::Stream, "{\"text\": \"half of a sen"), "surface.stream");
        assert_eq!(rule(Surface::Stream, "data: {\"delta\":\"a\"}\n\ndata: {\"delta\":\"b\"}"), "surface.stream");
        assert_eq!(rule(Surface::Process, "[FATAL quux] gave up"), "surface.process");
        assert_eq!(rule(Surface::Text, "quux 17"), "none");
    }

    #[test]
    fn a_text_without_a_failure_says_nothing() {
        for (surface, body) in [
            (Surface::Process, ""),
            (Surface::Process, "Successfully installed backoff-2.2.1"),
            (Surface::Process, "page.click failed +10ms\nbrowser.launch succeeded +600ms"),
            (Surface::Process, "level=INFO msg=\"waiting until the port is free\""),
            (Surface::Stream, "{\"type\":\"session.created\"}"),
            (Surface::Stream, "data: {\"delta\":\"a\"}\n\ndata: [DONE]"),
        ] {
            let evidence = Evidence { surface, ..Evidence::text(body) };
            assert_eq!(Classifier::builtin().classify(&evidence).kind, FailureKind::Unknown, "{body}");
        }
        let clean = Evidence { surface: Surface::Process, exit: Some(Exit::Code(0)), ..Evidence::text("0 errors") };
        assert_eq!(Classifier::builtin().classify(&clean).kind, FailureKind::Unknown);
    }
}
