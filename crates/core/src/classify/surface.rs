//! What the surface says: alone, where no rule knows the words, and against the words, where it rules out
//! what they sound like.
//!
//! A caller that hands in a transport error, a stream that broke or the last words of a process
//! has told us something already. It weighs least of all, and not at all where the text looks
//! like no failure: a complete answer, an informational line, a listing.

use super::rule::{self, Weight};
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
    " dead ",
    " dead.",
    "is dead",
    "dead:",
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

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u32);

impl Kinds {
    const fn of(kinds: &[FailureKind]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < kinds.len() {
            bits |= 1 << kinds[index] as u32;
            index += 1;
        }
        Self(bits)
    }

    #[inline]
    pub(super) fn has(self, kind: FailureKind) -> bool {
        self.0 >> kind as u32 & 1 != 0
    }
}

/// Whoever refused a request was reached, lives, and has said all there was to say.
const NOT_REFUSED: Kinds = Kinds::of(&[
    FailureKind::NetworkTransient,
    FailureKind::NetworkPermanent,
    FailureKind::StreamInterrupted,
    FailureKind::ProcessDied,
    FailureKind::Unknown,
]);
/// Whoever failed was not stopped by its caller, and did answer.
const NOT_FAILED: Kinds = Kinds::of(&[FailureKind::Cancelled, FailureKind::StreamInterrupted, FailureKind::Unknown]);
/// Whoever says that the time is up was reached, and knows what it waited for.
const NOT_IN_TIME: Kinds = Kinds::of(&[
    FailureKind::NetworkTransient,
    FailureKind::NetworkPermanent,
    FailureKind::StreamInterrupted,
    FailureKind::Cancelled,
    FailureKind::Unknown,
]);
/// Nobody has read a request that was never delivered.
const NOT_DELIVERED: Kinds = Kinds::of(&[
    FailureKind::ContentFilter,
    FailureKind::ContextLimit,
    FailureKind::ModelUnavailable,
    FailureKind::QuotaExhausted,
    FailureKind::StateLost,
]);

/// The kinds that the evidence rules out, whatever its words sound like. `status` is the response's or one
/// that the text states.
pub(super) fn ruled_out(evidence: &Evidence<'_>, status: Option<u16>) -> Kinds {
    match (evidence.surface, evidence.status) {
        (Surface::Http, Some(408 | 504 | 522 | 524)) => NOT_IN_TIME,
        (Surface::Http, Some(400..=498)) => NOT_REFUSED,
        (Surface::Http, Some(500..=599)) => NOT_FAILED,
        (Surface::Network, None) if status.is_none() => NOT_DELIVERED,
        _ => Kinds::default(),
    }
}

/// Whether words of this weight are an excuse, because the status says otherwise. Whoever got a status was connected, and
/// one that refuses ("returned 401, the endpoint may be temporarily unavailable") blames nobody else. A server that fails
/// ("500: path must be a string") has trouble of its own. And what is no JSON or fails a schema under a 400 is the
/// request, unless the words say that the model made it.
pub(super) fn is_excuse(kind: FailureKind, precedence: u16, status: Option<u16>) -> bool {
    let refused = matches!(status, Some(400..=407 | 413 | 415 | 422 | 429));
    let (contradicts, up_to) = match kind {
        FailureKind::ServerError => (refused, Weight::Class),
        FailureKind::NetworkTransient => (refused || matches!(status, Some(500 | 502 | 503 | 520)), Weight::Class),
        FailureKind::InvalidRequest => (matches!(status, Some(500 | 502 | 503 | 504)), Weight::Class),
        FailureKind::BadOutput => (matches!(status, Some(400 | 422)), Weight::Cause),
        _ => return false,
    };
    contradicts && precedence <= rule::precedence(up_to, kind)
}

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
    fn words_cannot_mean_what_the_evidence_rules_out() {
        let kind = |surface, status, body| {
            let evidence = Evidence { surface, status, ..Evidence::text(body) };
            Classifier::builtin().classify(&evidence).kind
        };
        let invalid_url = "Invalid URL (POST /v1/chat/completion)";
        assert_eq!(kind(Surface::Http, Some(404), invalid_url), FailureKind::InvalidRequest);
        assert_eq!(kind(Surface::Network, None, invalid_url), FailureKind::NetworkPermanent);
        let disk = "could not extend file: No space left on device";
        assert_eq!(kind(Surface::Http, Some(500), disk), FailureKind::ServerError);
        assert_eq!(kind(Surface::Text, None, disk), FailureKind::Unknown);
        assert_eq!(kind(Surface::Http, Some(424), "Server error: CANCELLED"), FailureKind::Cancelled);
        assert_eq!(kind(Surface::Http, Some(500), "Server error: CANCELLED"), FailureKind::ServerError);
        assert_eq!(kind(Surface::Network, None, "session not found: read ECONNRESET"), FailureKind::NetworkTransient);
    }

    #[test]
    fn an_excuse_does_not_hide_what_is_said_beside_it() {
        let failure = |status, body: &str| {
            let evidence = Evidence { surface: Surface::Http, status: Some(status), ..Evidence::text(body) };
            Classifier::builtin().classify(&evidence)
        };
        let said = |status, body: &str| failure(status, body).kind;
        let broken = "Unexpected end of JSON input";
        assert_eq!(said(500, broken), FailureKind::BadOutput);
        assert_eq!(said(400, broken), FailureKind::InvalidRequest);
        assert_eq!(said(400, &format!("{broken}: too many requests")), FailureKind::RateLimit);
        // What the words mean on this surface counts: in an answer, findings of a validator blame the request.
        assert_eq!(failure(422, r#"[{"instancePath":"/name"}]"#).rule, "output.findings");
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
