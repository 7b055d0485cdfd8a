//! What a turn leaves behind for the decision log and the metrics: core's own records, and the seed document's own
//! fields.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use steadfast_core::cost::Usage;
use steadfast_core::decision::{Decision, Target};
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::recovery::{Attempt, Outcome};
use steadfast_core::time::{Instant, Timestamp};
use steadfast_core::world::World;
use steadfast_core::{Failure, FailureKind};

use super::turn::{Began, Turn};

/// How an attempt failed, how long it took and what it consumed.
pub(super) type Failed<'a> = (&'a Failure, Duration, Usage);

/// A line of the metrics file, in the fields of the seed document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// What happened.
    pub event: &'static str,
    /// To whom.
    pub ai_id: String,
    /// Which retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The kind of failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<FailureKind>,
    /// How long the attempt took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The model that does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_model: Option<String>,
    /// The model it goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_model: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Metric {
    pub(super) fn about(event: &'static str, name: &str) -> Self {
        Self { event, ai_id: name.to_owned(), ..Self::default() }
    }

    pub(super) fn retry(name: &str, decision: &Decision, failure: &Failure, took: Duration) -> Self {
        Self { attempt: Some(decision.attempt), ..Self::failure("retry_attempt", name, failure, took) }
    }

    pub(super) fn failed(name: &str, failure: &Failure, took: Duration) -> Self {
        Self::failure("failed", name, failure, took)
    }

    fn failure(event: &'static str, name: &str, failure: &Failure, took: Duration) -> Self {
        Self { error_type: Some(failure.kind), duration_ms: Some(millis(took)), ..Self::about(event, name) }
    }

    pub(super) fn fallback(event: &'static str, name: &str, from: &str, to: &str) -> Self {
        let (primary_model, fallback_model) = (Some(from.to_owned()), Some(to.to_owned()));
        Self { primary_model, fallback_model, ..Self::about(event, name) }
    }
}

pub(super) fn start(turn: &Turn, session: &Arc<str>, member: &str, world: &World) -> Record {
    let plan = turn.recovery.plan();
    let places = plan.route.chain().iter().flat_map(|model| {
        let endpoints = model.endpoints.iter().filter_map(|served| world.endpoint(served.endpoint));
        endpoints.map(|endpoint| Place { model: Arc::clone(&model.name), endpoint: Arc::clone(&endpoint.name) })
    });
    Record {
        session: Some(Arc::clone(session)),
        project: Some(Arc::clone(&plan.project.name)),
        client: Some("council".into()),
        agent: Some(member.into()),
        policy: Some(plan.policy.name.as_str().into()),
        chain: places.collect(),
        attempts_max: Some(plan.policy.attempts_max),
        ..line(turn, Event::Start)
    }
}

pub(super) fn attempt(turn: &Turn, attempt: &Attempt, world: &World) -> Record {
    Record {
        attempt: Some(attempt.number),
        target: place(turn, attempt.target, world),
        choice: Some(Cow::Borrowed(attempt.choice.name())),
        ..line(turn, Event::Attempt)
    }
}

pub(super) fn success(turn: &Turn, began: &Began, usage: Usage, world: &World, now: Instant) -> Record {
    Record {
        attempt: Some(began.attempt.number),
        target: place(turn, began.attempt.target, world),
        latency_ms: Some(millis(now.since(began.at))),
        usage: Some(usage),
        usd_micros: cost(turn, began.attempt.target, usage),
        ..line(turn, Event::Success)
    }
}

pub(super) fn decision(turn: &Turn, decision: &Decision, failed: Option<Failed<'_>>, world: &World) -> Record {
    let bare = line(turn, Event::Decision);
    let bare = match failed {
        Some((failure, took, usage)) => Record {
            latency_ms: Some(millis(took)),
            usage: (usage != Usage::default()).then_some(usage),
            usd_micros: cost(turn, decision.from, usage),
            ..bare.with_failure(failure)
        },
        None => bare,
    };
    Record {
        from: place(turn, decision.from, world),
        to: decision.to.and_then(|to| place(turn, to, world)),
        ..bare.with_decision(decision, world)
    }
}

pub(super) fn outcome(turn: &Turn, outcome: &Outcome, world: &World, now: Instant) -> Record {
    let record = Record {
        attempt: Some(turn.recovery.attempts()),
        latency_ms: Some(millis(now.since(turn.began))),
        ..line(turn, Event::Outcome)
    };
    record.with_outcome(outcome, world)
}

fn line(turn: &Turn, event: Event) -> Record {
    Record::new(Timestamp::from_millis(0), event, Arc::clone(&turn.request))
}

fn place(turn: &Turn, target: Target, world: &World) -> Option<Place> {
    let model = turn.model_at(target)?;
    Some(Place { model, endpoint: Arc::clone(&world.endpoint(target.endpoint)?.name) })
}

fn cost(turn: &Turn, target: Target, usage: Usage) -> Option<u64> {
    let price = turn.recovery.plan().route.model(target.model.into())?.price?;
    (usage != Usage::default()).then(|| price.cost_usd_micros(usage))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
