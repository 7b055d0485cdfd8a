//! What happened, as this API tells it: the decision log's words, with a line for people.

use serde::Serialize;
use steadfast_core::record::{Climb, Event, Place, Record};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::story;
use crate::time::iso;

/// A model at an endpoint.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Target {
    /// The model.
    pub(crate) model: String,
    /// The endpoint.
    pub(crate) endpoint: String,
}

/// A climb up the ladder.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ClimbView {
    /// `manual`, `auto_after_retries` or `context_limit`.
    reason: String,
    /// An average turn of this session on the old model, in micro-dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_usd_micros: Option<u64>,
    /// The same on the new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_usd_micros: Option<u64>,
}

/// Tokens an attempt used.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// Tokens read.
    pub(crate) input_tokens: u64,
    /// Tokens written.
    pub(crate) output_tokens: u64,
}

/// One thing that happened. Fields that say nothing are left out.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RecordView {
    /// Its number; later ones are higher. Only in live events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) number: Option<u64>,
    /// When (RFC 3339).
    pub(crate) time: String,
    /// What kind of record: `start`, `attempt`, `decision`, `success`, `outcome`, `breaker`, `alert` or `escalation`.
    pub(crate) event: String,
    /// The same as people speak of it: `request_started`, `attempt_started`, `retry_started`, `waiting`, `fallback`,
    /// `escalation`, `restart`, `gave_up`, `decided`, `succeeded`, `over`, `breaker` or `alert`.
    pub(crate) what: &'static str,
    /// One line for people.
    pub(crate) text: String,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<String>,
    /// Its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// Who pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<String>,
    /// The program that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The agent within the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The shape of what is asked, without a word of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    /// The request of which this is a repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<String>,
    /// The policy in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    /// Where the request may go, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chain: Vec<Target>,
    /// Which attempt of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    /// How many attempts it may make.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts_max: Option<u32>,
    /// Where an attempt goes, or which target served.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
    /// Why an attempt goes there.
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<String>,
    /// How the attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// Its HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// The rule that told its kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    /// What the provider said, with names, numbers and quotes folded away.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// How long the provider asked to be left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// The step decided on.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    /// The wait before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_ms: Option<u64>,
    /// Where the failed attempt went.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Target>,
    /// Where the next one goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Target>,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Why the session climbs and what a turn costs before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    escalation: Option<ClimbView>,
    /// Why the step before it in the policy was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_over: Option<String>,
    /// The session has used so many retries that a person should know.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    warning: bool,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// How long the attempt, or on `outcome` the request, took.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
    /// Tokens the attempt used.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Tokens>,
    /// What the attempt cost, in micro-dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    usd_micros: Option<u64>,
    /// Which alert.
    #[serde(skip_serializing_if = "Option::is_none")]
    alert: Option<String>,
    /// The endpoint, model or session it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// What that is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
}

impl RecordView {
    /// The record as it is told.
    pub(crate) fn of(record: &Record, number: Option<u64>) -> Self {
        let text = |text: &Option<std::borrow::Cow<'static, str>>| text.as_deref().map(str::to_owned);
        let name = |name: &Option<std::sync::Arc<str>>| name.as_deref().map(str::to_owned);
        Self {
            number,
            time: iso(record.time),
            event: record.event.as_str().to_owned(),
            what: what(record),
            text: story::said(record),
            request: Some(record.request.to_string()).filter(|request| !request.is_empty()),
            session: name(&record.session),
            project: name(&record.project),
            client: name(&record.client),
            agent: name(&record.agent),
            pattern: name(&record.pattern),
            repeats: name(&record.repeats),
            policy: name(&record.policy),
            chain: record.chain.iter().map(Target::of).collect(),
            attempt: record.attempt,
            attempts_max: record.attempts_max,
            target: record.target.as_ref().map(Target::of),
            choice: text(&record.choice),
            kind: record.kind.map(steadfast_core::FailureKind::as_str),
            status: record.status,
            rule: text(&record.rule),
            message: name(&record.message),
            retry_after_ms: record.retry_after_ms,
            step: text(&record.step),
            wait_ms: record.wait_ms,
            from: record.from.as_ref().map(Target::of),
            to: record.to.as_ref().map(Target::of),
            reason: text(&record.reason),
            escalation: record.escalation.as_ref().map(ClimbView::of),
            passed_over: text(&record.passed_over),
            warning: record.warning,
            outcome: text(&record.outcome),
            latency_ms: record.latency_ms,
            usage: record.usage.map(Tokens::of),
            usd_micros: record.usd_micros,
            alert: text(&record.alert),
            about: name(&record.about),
            state: text(&record.state),
        }
    }

    /// The record as this caller may see it; `None` where it is none of its business. Endpoints are everybody's:
    /// that one is refused is told to all, but not through whose request it came about.
    pub(crate) fn seen_by(caller: &Caller, record: &Record, number: Option<u64>) -> Option<Self> {
        let own = match record.project.as_deref() {
            Some(project) => caller.sees(project),
            None => *caller == Caller::Admin,
        };
        if own {
            return Some(Self::of(record, number));
        }
        (record.event == Event::Breaker).then(|| {
            let bare = Record { request: std::sync::Arc::default(), session: None, project: None, ..record.clone() };
            Self::of(&bare, number)
        })
    }
}

impl Target {
    pub(crate) fn of(place: &Place) -> Self {
        Self { model: place.model.to_string(), endpoint: place.endpoint.to_string() }
    }
}

impl ClimbView {
    fn of(climb: &Climb) -> Self {
        let Climb { reason, from_usd_micros, to_usd_micros } = climb;
        Self { reason: reason.to_string(), from_usd_micros: *from_usd_micros, to_usd_micros: *to_usd_micros }
    }
}

impl Tokens {
    pub(crate) fn of(usage: steadfast_core::cost::Usage) -> Self {
        Self { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens }
    }
}

/// What happened, as people speak of it (SPEC 4.2).
fn what(record: &Record) -> &'static str {
    match (record.event, record.choice.as_deref(), record.step.as_deref()) {
        (Event::Start, _, _) => "request_started",
        (Event::Attempt, Some("retry"), _) => "retry_started",
        (Event::Attempt, _, _) => "attempt_started",
        (Event::Decision, _, Some("retry" | "park")) => "waiting",
        (Event::Decision, _, Some("fallback")) => "fallback",
        (Event::Decision, _, Some("escalate")) => "escalation",
        (Event::Decision, _, Some("restart")) => "restart",
        (Event::Decision, _, Some("give_up")) => "gave_up",
        (Event::Decision, _, _) => "decided",
        (Event::Success, _, _) => "succeeded",
        (Event::Outcome, _, _) => "over",
        (Event::Breaker, _, _) => "breaker",
        (Event::Alert, _, _) => "alert",
        (Event::Escalation, _, _) => "escalation",
    }
}
