//! From evidence to a failure, by a table of rules.
//!
//! One pass over the flattened text ([`text`]) finds every rule that matches. Which one decides
//! is settled by one small order of precedence and nothing else:
//!
//! 1. a user's own rule;
//! 2. the heaviest [`Weight`]. Rules follow from what a failing side *says*, and they say it in
//!    five degrees. A **decisive** cause beats everything (no money is no money, whatever the
//!    status). A **cause** beats a **class** (`rate_limit_error` around "model overloaded").
//!    A class beats the **status** (a 403 whose code is `rate_limited`). A status beats a
//!    **hint**: wrappers such as `invalid_request_error`, "Connection error." or "exit code 1".
//!    Where nothing of all that is known, the `surface` itself is evidence.
//!    What is said in passing (`role`) weighs less than a plain statement of the next lower degree,
//!    though more than a status;
//! 3. between equal weights, the kind that leaves the caller fewer choices;
//! 4. between equal kinds, what stands first in the table: a provider's own words before the
//!    families of phrases that many share.
//!
//! Structured codes and phrases go through the same order, so a specific message beats a generic
//! code and a specific code beats a generic message. Statuses stated in a text count like the
//! response's own, the innermost first; a typed transport error weighs as much as a status; an
//! exit status is a hint, because the output of a process tells more than its number. What the
//! evidence rules out (`surface`), no words can mean: whoever answered 404 was reached.
//!
//! Before that, [`benign`] takes out what only looks like a failure; after it, the stated wait
//! ([`wait`]) settles rate limit against quota: an hour or more is a quota, and a window that
//! frees up within the hour is a rate limit.
//!
//! Knows no clock and no I/O; `now` comes with the evidence. Reads a bounded part of the body.

pub mod benign;
pub mod record;
pub mod status;
pub mod text;
pub mod wait;

mod code;
mod index;
mod message;
mod phrase;
mod role;
mod rule;
mod rules;
mod surface;
mod table;
mod user;
mod words;

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::evidence::{Evidence, Exit, Surface, Transport};
use crate::failure::Failure;
use crate::kind::FailureKind;

pub use message::MESSAGE_BYTES_MAX;
pub use rule::{Rule, Weight};
pub use rules::RULES_VERSION;
pub use user::{RuleError, UserRule};

use table::{Known, Match, Table};
use text::Text;
use user::Compiled;

/// The rule's name where nothing matched.
pub const NO_RULE: &str = "none";

/// Turns evidence into failures.
pub struct Classifier {
    user: Vec<Compiled>,
    table: &'static Table,
}

/// What decided, before the wait has its say.
struct Verdict {
    kind: FailureKind,
    rule: Cow<'static, str>,
    precedence: u16,
    window: bool,
}

impl std::fmt::Debug for Classifier {
    /// Thousands of rules say nothing to a person.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Classifier").finish_non_exhaustive()
    }
}

impl Classifier {
    /// The shipped rules, compiled once.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Classifier> = OnceLock::new();
        BUILTIN.get_or_init(|| Self { user: Vec::new(), table: table() })
    }

    /// The shipped rules behind a user's own.
    pub fn with_rules(user: &[UserRule]) -> Result<Self, RuleError> {
        let user = user.iter().enumerate().map(|(index, rule)| Compiled::new(rule, index));
        Ok(Self { user: user.collect::<Result<_, _>>()?, table: table() })
    }

    /// The shipped rules, in the order of the table.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> + '_ {
        self.table.rules().iter().copied()
    }

    /// Every shipped rule that matches the evidence, the one that decides first, each with the words
    /// it matched: for whoever works on the rules.
    pub fn matches(&self, evidence: &Evidence<'_>) -> Vec<(&'static Rule, String)> {
        let (text, _) = read(evidence);
        let status = status::stated(&text.lower).map(|(code, _)| code).or(evidence.status);
        let known = known(evidence, status);
        let matches = self.table.matches(&text, known).into_iter();
        matches.map(|(rule, span)| (rule, String::from_utf8_lossy(&text.shown[span]).into_owned())).collect()
    }

    /// Says what kind of failure the evidence shows, and why.
    pub fn classify(&self, evidence: &Evidence<'_>) -> Failure {
        let (text, benign) = read(evidence);
        let stated = status::stated(&text.lower);
        let status = stated.map(|(code, _)| code).or(evidence.status);

        let known = known(evidence, status);
        let mut found = self.table.search(&text, known);
        let loose = evidence.surface == Surface::Text && evidence.status.is_none();
        if loose && found.best.as_ref().is_some_and(|best| benign::is_mention(&text.lower, &best.span)) {
            found.best = None;
        }

        let user = self.user.iter().find(|rule| rule.matches(evidence, &text));
        let verdict = match user {
            Some(rule) => {
                Verdict { kind: rule.kind(), rule: Cow::Owned(rule.name.clone()), precedence: u16::MAX, window: false }
            }
            None => decide(evidence, status, &text, found.best.as_ref(), benign),
        };

        let said = wait::said(evidence, verdict.kind, &text, self.table, &found);
        let kind = if user.is_some() { verdict.kind } else { settle(&verdict, said) };
        Failure {
            kind,
            retry_after: user.and_then(Compiled::retry_after).or(said.by_provider),
            rule: verdict.rule,
            status: evidence.status,
            message: message::message(&text.shown, &text.lower, found.best.as_ref().map(|best| &best.span)),
            tool: None,
            retried: false,
        }
    }
}

impl Classifier {
    /// The same for the end of a task's own process. One that ended by itself, with a status and no word about why, has
    /// not died: its work failed, and nobody knows how.
    pub fn classify_task(&self, evidence: &Evidence<'_>) -> Failure {
        let mut failure = self.classify(evidence);
        let by_itself = matches!(evidence.exit, Some(Exit::Code(_)));
        if by_itself && matches!(failure.rule.as_ref(), "exit.code" | "surface.process") {
            failure.kind = FailureKind::Unknown;
        }
        failure
    }
}

/// What is known before the text is searched.
fn known(evidence: &Evidence<'_>, status: Option<u16>) -> Known {
    Known { surface: evidence.surface, status, ruled_out: surface::ruled_out(evidence, status) }
}

/// The text of the evidence without its benign lines, and the name of the first shape of those.
fn read(evidence: &Evidence<'_>) -> (Text, Option<&'static str>) {
    let (body, benign) = match evidence.surface {
        Surface::Text | Surface::Process if evidence.status.is_none() => benign::strip(text::ends(evidence.body).0),
        _ => (Cow::Borrowed(evidence.body), None),
    };
    let body = if benign.is_some() { &body } else { evidence.body };
    (Text::new(evidence.headers, body), benign)
}

/// The heaviest of all that speaks.
fn decide(
    evidence: &Evidence<'_>,
    status: Option<u16>,
    text: &Text,
    found: Option<&Match>,
    benign: Option<&'static str>,
) -> Verdict {
    let by_rule = found.map(|found| Verdict {
        kind: found.rule.kind_on(evidence.surface),
        rule: Cow::Borrowed(found.rule.name),
        precedence: found.precedence,
        window: found.rule.window,
    });
    let is_answer = match evidence.surface {
        Surface::Http => is_whole_answer(evidence, text),
        Surface::Text => text.lower.starts_with(b"{") && is_whole_answer(evidence, text),
        Surface::Network | Surface::Stream | Surface::Process => false,
    };
    let unreached = evidence.surface == Surface::Network && status.is_none();
    let blames_server = |verdict: &Verdict| {
        verdict.kind == FailureKind::ServerError
            && verdict.precedence <= rule::precedence(Weight::Hint, FailureKind::ServerError)
    };
    let by_surface = || surface::meaning(evidence, &text.lower);
    let by_rule = by_rule
        // What to check, and that something failed, is told of many a failure; the caller saw which one it was.
        .filter(|verdict| {
            verdict.precedence > rule::ADVICE_MAX && verdict.rule != rules::VAGUE || by_surface().is_none()
        })
        .filter(|verdict| !(unreached && blames_server(verdict)))
        .filter(|verdict| !is_answer || matches!(verdict.kind, FailureKind::BadOutput | FailureKind::ContentFilter));
    // What the text of an answer says about statuses is its subject.
    let by_status = if is_answer { evidence.status } else { status }.and_then(status::meaning);
    let by_transport = evidence.transport.map(|transport| transport_meaning(transport, evidence.surface));
    let by_exit = evidence.exit.and_then(exit_meaning);
    let others = [
        (Weight::Status, by_status),
        (Weight::Status, by_transport),
        (Weight::Hint, by_exit),
        (Weight::Hint, answer_meaning(evidence, text)),
    ];
    let others = others.into_iter().filter_map(|(weight, meaning)| {
        let (kind, rule) = meaning?;
        let precedence = rule::precedence(weight, kind);
        Some(Verdict { kind, rule: Cow::Borrowed(rule), precedence, window: false })
    });
    by_rule
        .into_iter()
        .chain(others)
        .reduce(|best, next| if next.precedence > best.precedence { next } else { best })
        .unwrap_or_else(|| {
            let (kind, rule) = by_surface().unwrap_or((FailureKind::Unknown, benign.unwrap_or(NO_RULE)));
            Verdict { kind, rule: Cow::Borrowed(rule), precedence: 0, window: false }
        })
}

/// Rate limit or quota, by the wait that was stated.
fn settle(verdict: &Verdict, said: wait::Said) -> FailureKind {
    // A client that tries again in five seconds knows nothing of the window.
    let wait = said.by_provider.or(said.by_client);
    match (verdict.kind, wait) {
        (FailureKind::RateLimit, Some(wait)) if wait >= wait::QUOTA_WAIT_MIN => FailureKind::QuotaExhausted,
        (FailureKind::QuotaExhausted, _)
            if verdict.window && said.by_provider.is_some_and(|wait| wait < wait::QUOTA_WAIT_MIN) =>
        {
            FailureKind::RateLimit
        }
        (kind, _) => kind,
    }
}

/// What a typed transport error means.
fn transport_meaning(transport: Transport, surface: Surface) -> (FailureKind, &'static str) {
    let begun = surface == Surface::Stream;
    match transport {
        Transport::Reset if begun => (FailureKind::StreamInterrupted, "transport.reset_in_stream"),
        Transport::Refused => (FailureKind::NetworkTransient, "transport.refused"),
        Transport::Reset => (FailureKind::NetworkTransient, "transport.reset"),
        Transport::Unreachable => (FailureKind::NetworkTransient, "transport.unreachable"),
        Transport::DnsTemporary => (FailureKind::NetworkTransient, "transport.dns_temporary"),
        Transport::DnsNotFound => (FailureKind::NetworkPermanent, "transport.dns_not_found"),
        Transport::Certificate => (FailureKind::NetworkPermanent, "transport.certificate"),
        Transport::Protocol => (FailureKind::NetworkPermanent, "transport.protocol"),
        Transport::Address => (FailureKind::NetworkPermanent, "transport.address"),
        Transport::ConnectTimeout => (FailureKind::Timeout, "transport.connect_timeout"),
        Transport::ResponseTimeout => (FailureKind::Timeout, "transport.response_timeout"),
        Transport::IdleTimeout => (FailureKind::StreamInterrupted, "transport.idle_timeout"),
        Transport::BodyCut => (FailureKind::StreamInterrupted, "transport.body_cut"),
        Transport::Cancelled => (FailureKind::Cancelled, "transport.cancelled"),
    }
}

/// What the end of a process means; `None` for a clean one.
fn exit_meaning(exit: Exit) -> Option<(FailureKind, &'static str)> {
    Some(match exit {
        Exit::Code(0) => return None,
        // What sendmail(8) and its like return for "not now": agents that are rate limited say it so.
        Exit::Code(75) => (FailureKind::RateLimit, "exit.not_now"),
        // What timeout(1) and shells after an interrupt return.
        Exit::Code(124) => (FailureKind::Timeout, "exit.124"),
        Exit::Code(130) | Exit::Signal(2) => (FailureKind::Cancelled, "exit.interrupted"),
        Exit::Code(137) | Exit::Signal(9) => (FailureKind::ProcessDied, "exit.killed"),
        Exit::Code(_) => (FailureKind::ProcessDied, "exit.code"),
        Exit::Signal(_) => (FailureKind::ProcessDied, "exit.signal"),
        Exit::OutOfMemory => (FailureKind::ProcessDied, "exit.out_of_memory"),
    })
}

/// Whether a response holds an answer that came to its end. What it talks about is no failure.
fn is_whole_answer(evidence: &Evidence<'_>, text: &Text) -> bool {
    const ENDINGS: [&str; 5] = [
        "\"finish_reason\":\"stop\"",
        "\"finish_reason\": \"stop\"",
        "\"end_turn\"",
        "\"finishreason\":\"stop\"",
        "\"finishreason\": \"stop\"",
    ];
    let says = |words: &str| memchr::memmem::find(&text.lower, words.as_bytes()).is_some();
    evidence.status.is_none_or(|status| status / 100 == 2)
        && ENDINGS.into_iter().any(says)
        && !says("\"error\":{")
        && !says("\"error\": {")
}

/// A response that claims success but holds no answer.
fn answer_meaning(evidence: &Evidence<'_>, text: &Text) -> Option<(FailureKind, &'static str)> {
    // Who accepts a request for later, or says that there is no content, owes none.
    let owes_content = |status| matches!(status, 200..=299) && !matches!(status, 202 | 204 | 205);
    let claims_success = evidence.surface == Surface::Http && evidence.status.is_some_and(owes_content);
    if !claims_success {
        return None;
    }
    let is_html = evidence.body.trim_ascii_start().starts_with(b"<");
    let is_empty = text.lower.iter().all(|byte| *byte == b' ');
    match (is_html, is_empty) {
        (true, _) => Some((FailureKind::BadOutput, "answer.html")),
        (_, true) => Some((FailureKind::BadOutput, "answer.empty")),
        _ => None,
    }
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::new(rules::all()))
}

#[cfg(test)]
mod tests;
