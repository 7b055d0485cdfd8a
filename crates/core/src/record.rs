//! The decision log: one line of JSON per thing that happened to a request.
//!
//! The gateway, the supervisor and the simulator all write these, `steadfast why` tells one
//! request's story from them, and `steadfast simulate --replay` asks what another policy would
//! have done. Plain data, readable with `jq`: names, kinds, numbers and reasons in words, and
//! never a prompt, an answer or a key.
//!
//! ```text
//! start ──▶ attempt ──▶ decision ──▶ attempt ──▶ success ──▶ outcome
//! ```
//!
//! A failed attempt and what was decided about it are one `decision` line, so that a single line
//! answers "why". Fields that say nothing are left out.

mod fold;
mod line;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cost::Usage;
use crate::decision::Decision;
use crate::failure::Failure;
use crate::kind::FailureKind;
use crate::recovery::{Choice, Outcome};
use crate::time::Timestamp;
use crate::world::World;

/// A climb up the ladder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Climb {
    /// `manual`, `auto_after_retries` or `context_limit`.
    pub reason: Cow<'static, str>,
    /// An average turn of this session on the old model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_usd_micros: Option<u64>,
    /// The same on the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_usd_micros: Option<u64>,
}

/// One line of the decision log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When, in milliseconds since the epoch (in a simulation: since its start).
    pub time: Timestamp,
    /// What happened.
    pub event: Event,
    /// The request or task; empty where a person or the passing of time did it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub request: Arc<str>,
    /// The conversation it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    /// Who pays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Arc<str>>,
    /// The program that asks, by the table of clients; on `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Arc<str>>,
    /// The agent within the conversation; on `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
    /// The shape of what is asked, without a word of it; on `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Arc<str>>,
    /// The request that failed for good just before, of which this is a repeat; on `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Arc<str>>,
    /// The policy in force; on `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<str>>,
    /// Where the request may go, in order; on `start`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Place>,
    /// Which attempt of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// How many attempts it may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_max: Option<u32>,
    /// Where an attempt goes, or which target served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Place>,
    /// Why an attempt goes there: `first`, `retry`, `fallback`, `escalation`, `rerouted`, `panic`, `remembered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Cow<'static, str>>,
    /// How the attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FailureKind>,
    /// Its HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The rule that told its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Cow<'static, str>>,
    /// What the provider said, with ids, numbers, names and everything quoted folded away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<str>>,
    /// How long the provider asked to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The step decided on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Cow<'static, str>>,
    /// The wait before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Where the failed attempt went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Place>,
    /// Where the next one goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Place>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'static, str>>,
    /// Why the session climbs and what a turn costs before and after, where the step is a climb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Climb>,
    /// Why the step before it in the policy was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<Cow<'static, str>>,
    /// The session has used so many retries that a person should know.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warning: bool,
    /// How it ended: `succeeded`, `gave_up`, `degraded`, `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Cow<'static, str>>,
    /// How long the attempt took; on `outcome`, the whole request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Tokens the attempt used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What the attempt cost, where the model's price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd_micros: Option<u64>,
    /// Which alert; on `alert`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<Cow<'static, str>>,
    /// The endpoint, model or session that a `breaker`, `alert` or `escalation` line is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Arc<str>>,
    /// What it is now: a breaker `open`, `half_open` or `closed`, an alert `raised` or `resolved`, a session
    /// `climbed` or `rolled_back`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Cow<'static, str>>,
}

/// What a line of the log is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A request came in.
    #[default]
    Start,
    /// An attempt starts.
    Attempt,
    /// An attempt failed, or an empty allowance was looked at again: what to do.
    Decision,
    /// An attempt served.
    Success,
    /// The request is over.
    Outcome,
    /// An endpoint's breaker changed.
    Breaker,
    /// A person should know something, or need no longer.
    Alert,
    /// A person moved a session up its ladder, or back.
    Escalation,
}

impl Event {
    /// The name used in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Attempt => "attempt",
            Self::Decision => "decision",
            Self::Success => "success",
            Self::Outcome => "outcome",
            Self::Breaker => "breaker",
            Self::Alert => "alert",
            Self::Escalation => "escalation",
        }
    }
}

/// A model at an endpoint, by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The model.
    pub model: Arc<str>,
    /// The endpoint.
    pub endpoint: Arc<str>,
}

impl Record {
    /// A line that says nothing but what, when and which request.
    pub fn new(time: Timestamp, event: Event, request: Arc<str>) -> Self {
        Self { time, event, request, ..Self::default() }
    }

    /// Appends the line, its end included: what `serde_json` writes of it, for a quarter of the time.
    /// Every request of a gateway writes four.
    pub fn write_line(&self, out: &mut Vec<u8>) {
        line::write(self, out);
    }

    /// The same line with how an attempt failed.
    #[must_use]
    pub fn with_failure(self, failure: &Failure) -> Self {
        Self {
            kind: Some(failure.kind),
            status: failure.status,
            rule: Some(failure.rule.clone()),
            message: fold::message(failure).map(Arc::from),
            retry_after_ms: failure.retry_after.map(millis),
            ..self
        }
    }

    /// The same line with what was decided. Where it goes is named by the caller, who knows names.
    #[must_use]
    pub fn with_decision(self, decision: &Decision, world: &World) -> Self {
        Self {
            attempt: Some(decision.attempt),
            attempts_max: Some(decision.attempts_max),
            kind: Some(decision.kind),
            step: Some(Cow::Borrowed(decision.step)),
            wait_ms: (!decision.wait.is_zero()).then(|| millis(decision.wait)),
            reason: Some(Cow::Owned(decision.reason.in_world(world).to_string())),
            passed_over: decision.passed_over.map(|skip| Cow::Owned(skip.to_string())),
            warning: decision.warning,
            escalation: decision.escalation.map(|escalation| Climb {
                reason: Cow::Borrowed(escalation.reason.as_str()),
                from_usd_micros: escalation.estimate.map(|estimate| estimate.from_usd_micros),
                to_usd_micros: escalation.estimate.map(|estimate| estimate.to_usd_micros),
            }),
            ..self
        }
    }

    /// The same line with how the request ended.
    #[must_use]
    pub fn with_outcome(self, outcome: &Outcome, world: &World) -> Self {
        let reason = match outcome {
            Outcome::GaveUp(reason) => Some(Cow::Owned(reason.in_world(world).to_string())),
            Outcome::Succeeded(_) | Outcome::Degraded | Outcome::Cancelled => None,
        };
        Self { outcome: Some(Cow::Borrowed(outcome.name())), reason, ..self }
    }
}

impl Choice {
    /// The name used in logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Retry => "retry",
            Self::Fallback => "fallback",
            Self::Escalation => "escalation",
            Self::Rerouted => "rerouted",
            Self::Panic => "panic",
            Self::Remembered => "remembered",
        }
    }
}

impl Outcome {
    /// The name used in logs.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Succeeded(_) => "succeeded",
            Self::GaveUp(_) => "gave_up",
            Self::Degraded => "degraded",
            Self::Cancelled => "cancelled",
        }
    }
}

fn is_empty(text: &Arc<str>) -> bool {
    text.is_empty()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Estimate;
    use crate::decision::{Escalation, EscalationReason, Reason, Skip, Target};
    use crate::route::EndpointId;

    #[test]
    fn a_line_reads_back_and_leaves_out_what_says_nothing() {
        let failure = Failure {
            retry_after: Some(Duration::from_secs(7)),
            status: Some(429),
            message: "Limit 5 reached".into(),
            ..Failure::new(FailureKind::RateLimit, "status_429")
        };
        let bare = Record::new(Timestamp::from_millis(1500), Event::Decision, "r1".into());
        let place = Place { model: "sonnet".into(), endpoint: "anthropic".into() };
        let record = Record { from: Some(place), step: Some("retry".into()), ..bare }.with_failure(&failure);
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(
            line,
            concat!(
                r#"{"time":1500,"event":"decision","request":"r1","kind":"rate_limit","status":429,"#,
                r#""rule":"status_429","message":"Limit # reached","retry_after_ms":7000,"step":"retry","#,
                r#""from":{"model":"sonnet","endpoint":"anthropic"}}"#
            )
        );
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }

    #[test]
    fn a_line_written_by_hand_is_the_line_serde_writes() {
        let bare = Record::new(Timestamp::from_millis(-1500), Event::Outcome, "a\"b\\c\n\u{1}ü".into());
        let place = Place { model: "sonnet\t".into(), endpoint: "anthropic".into() };
        let climb = Climb { reason: "manual".into(), from_usd_micros: Some(1), to_usd_micros: None };
        let full = Record {
            session: Some("s".into()),
            project: Some("p".into()),
            client: Some("codex".into()),
            agent: Some("a".into()),
            pattern: Some("chat tools=2".into()),
            repeats: Some("r0".into()),
            policy: Some("default".into()),
            chain: vec![place.clone(), place.clone()],
            attempt: Some(1),
            attempts_max: Some(u32::MAX),
            target: Some(place.clone()),
            choice: Some("first".into()),
            kind: Some(FailureKind::RateLimit),
            status: Some(429),
            rule: Some("status_429".into()),
            message: Some("slow down".into()),
            retry_after_ms: Some(u64::MAX),
            step: Some("retry".into()),
            wait_ms: Some(0),
            from: Some(place.clone()),
            to: Some(place),
            reason: Some("because".into()),
            escalation: Some(climb),
            passed_over: Some("open".into()),
            warning: true,
            outcome: Some("gave_up".into()),
            latency_ms: Some(7),
            usage: Some(Usage { input_tokens: 1, output_tokens: 2 }),
            usd_micros: Some(3),
            alert: Some("in_a_row".into()),
            about: Some("anthropic".into()),
            state: Some("open".into()),
            ..bare.clone()
        };
        for record in [Record::default(), bare, full] {
            let mut line = Vec::new();
            record.write_line(&mut line);
            assert_eq!(String::from_utf8(line).unwrap(), serde_json::to_string(&record).unwrap() + "\n");
        }
    }

    #[test]
    fn a_line_tells_all_of_a_decision() {
        let world = World::new(vec![crate::world::Endpoint::new("one", Default::default(), 1.0, 0)]);
        let target = Target { model: 0, served: 0, endpoint: EndpointId(0) };
        let estimate = Estimate { from_usd_micros: 10, to_usd_micros: 30 };
        let decision = Decision {
            attempt: 3,
            attempts_max: 8,
            kind: FailureKind::ContextLimit,
            step: "escalate",
            wait: Duration::from_millis(1_500),
            from: target,
            to: None,
            reason: Reason::Escalated(EscalationReason::ContextLimit),
            passed_over: Some(Skip::ChainEnds),
            warning: true,
            escalation: Some(Escalation { reason: EscalationReason::ContextLimit, estimate: Some(estimate) }),
            breaker: None,
        };
        let line = |decision: &Decision| {
            let bare = Record::new(Timestamp::from_millis(1), Event::Decision, "r1".into());
            serde_json::to_string(&bare.with_decision(decision, &world)).unwrap()
        };
        assert_eq!(
            line(&decision),
            concat!(
                r#"{"time":1,"event":"decision","request":"r1","attempt":3,"attempts_max":8,"kind":"context_limit","#,
                r#""step":"escalate","wait_ms":1500,"reason":"the context is full: next rung of the ladder","#,
                r#""escalation":{"reason":"context_limit","from_usd_micros":10,"to_usd_micros":30},"#,
                r#""passed_over":"the chain ends here","warning":true}"#
            )
        );
        assert!(!line(&Decision { wait: Duration::ZERO, ..decision }).contains("wait_ms"), "no wait says nothing");
    }

    #[test]
    fn a_line_tells_how_it_ended_and_why_it_was_given_up() {
        let world = World::new(Vec::new());
        let target = Target { model: 0, served: 0, endpoint: EndpointId(0) };
        let told = |outcome: Outcome| {
            let record = Record::default().with_outcome(&outcome, &world);
            (record.outcome.unwrap().into_owned(), record.reason.map(Cow::into_owned))
        };
        let ended = |name: &str| (name.to_owned(), None);
        assert_eq!(told(Outcome::Succeeded(target)), ended("succeeded"));
        assert_eq!(told(Outcome::Degraded), ended("degraded"));
        assert_eq!(told(Outcome::Cancelled), ended("cancelled"));
        let gave_up = ("gave_up".to_owned(), Some("the deadline leaves no time".to_owned()));
        assert_eq!(told(Outcome::GaveUp(Reason::Deadline)), gave_up);
    }

    #[test]
    fn names_of_events_read_back() {
        for (name, event) in [
            ("start", Event::Start),
            ("attempt", Event::Attempt),
            ("decision", Event::Decision),
            ("success", Event::Success),
            ("outcome", Event::Outcome),
            ("breaker", Event::Breaker),
            ("alert", Event::Alert),
            ("escalation", Event::Escalation),
        ] {
            assert_eq!(event.as_str(), name);
            assert_eq!(serde_json::from_value::<Event>(name.into()).unwrap(), event);
        }
    }

    #[test]
    fn every_choice_has_a_name() {
        let choices = [
            Choice::First,
            Choice::Retry,
            Choice::Fallback,
            Choice::Escalation,
            Choice::Rerouted,
            Choice::Panic,
            Choice::Remembered,
        ];
        let names = ["first", "retry", "fallback", "escalation", "rerouted", "panic", "remembered"];
        assert_eq!(choices.map(Choice::name), names);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_written_as_serde_writes_it(request in "[a \"\\\\\n\u{1f}\u{7f}ü]{0,3}") {
            let record = Record { request: request.as_str().into(), ..Record::default() };
            let mut line = Vec::new();
            record.write_line(&mut line);
            proptest::prop_assert_eq!(String::from_utf8(line).unwrap(), serde_json::to_string(&record).unwrap() + "\n");
        }
    }
}
