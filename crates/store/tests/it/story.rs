//! Requests as an engine would tell of them.

use std::sync::Arc;

use steadfast_core::cost::Usage;
use steadfast_core::kind::FailureKind;
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::time::Timestamp;

/// 16 November 2026, noon (UTC).
pub(crate) const NOON: i64 = 1_794_830_400_000;

/// A request that is being told.
#[derive(Debug)]
pub(crate) struct Story {
    request: Arc<str>,
    time: i64,
    began: i64,
    attempts: u32,
    at: Option<Place>,
    records: Vec<Record>,
}

pub(crate) fn place(model: &str) -> Place {
    Place { model: model.into(), endpoint: format!("{}-api", &model[..1]).into() }
}

impl Story {
    /// A request for `claude`, which may fall back to `gpt`.
    pub(crate) fn of(request: &str, project: &str, time: i64) -> Self {
        let mut story = Self { request: request.into(), time, began: time, attempts: 0, at: None, records: Vec::new() };
        let start = Record {
            project: Some(project.into()),
            client: Some("claude-code".into()),
            pattern: Some("chat:tools".into()),
            policy: Some("default".into()),
            chain: vec![place("claude"), place("gpt")],
            ..story.line(Event::Start)
        };
        story.records.push(start);
        story
    }

    pub(crate) fn session(mut self, session: &str) -> Self {
        self.records[0].session = Some(session.into());
        self
    }

    pub(crate) fn client(mut self, client: &str) -> Self {
        self.records[0].client = Some(client.into());
        self
    }

    pub(crate) fn pattern(mut self, pattern: &str) -> Self {
        self.records[0].pattern = Some(pattern.into());
        self
    }

    pub(crate) fn attempt(mut self, model: &str) -> Self {
        self.attempts += 1;
        let choice = if self.attempts == 1 { "first" } else { "retry" };
        self.at = Some(place(model));
        let record = Record {
            attempt: Some(self.attempts),
            target: self.at.clone(),
            choice: Some(choice.into()),
            ..self.line(Event::Attempt)
        };
        self.records.push(record);
        self.time += 100;
        self
    }

    pub(crate) fn fails(mut self, kind: FailureKind, message: &str) -> Self {
        let record = Record {
            attempt: Some(self.attempts),
            kind: Some(kind),
            rule: Some("test".into()),
            message: Some(message.into()),
            step: Some("retry".into()),
            from: self.at.clone(),
            latency_ms: Some(100),
            usd_micros: Some(10),
            ..self.line(Event::Decision)
        };
        self.records.push(record);
        self.time += 1000;
        self
    }

    pub(crate) fn served(mut self) -> Vec<Record> {
        let record = Record {
            attempt: Some(self.attempts),
            target: self.at.clone(),
            latency_ms: Some(100),
            usage: Some(Usage { input_tokens: 100, output_tokens: 20 }),
            usd_micros: Some(50),
            ..self.line(Event::Success)
        };
        self.records.push(record);
        self.ends("succeeded")
    }

    pub(crate) fn gives_up(self) -> Vec<Record> {
        self.ends("gave_up")
    }

    /// Not over.
    pub(crate) fn so_far(self) -> Vec<Record> {
        self.records
    }

    fn ends(mut self, outcome: &'static str) -> Vec<Record> {
        let record = Record {
            outcome: Some(outcome.into()),
            attempt: Some(self.attempts),
            latency_ms: Some((self.time - self.began).unsigned_abs()),
            ..self.line(Event::Outcome)
        };
        self.records.push(record);
        self.records
    }

    fn line(&self, event: Event) -> Record {
        Record::new(Timestamp::from_millis(self.time), event, Arc::clone(&self.request))
    }
}

/// An alert about `about` that begins, or is over.
pub(crate) fn alert(alert: &str, about: &str, state: &'static str, time: i64) -> Record {
    Record {
        alert: Some(alert.to_owned().into()),
        about: Some(about.into()),
        state: Some(state.into()),
        reason: Some(format!("{alert} of {about}").into()),
        ..Record::new(Timestamp::from_millis(time), Event::Alert, "req_1".into())
    }
}

/// A breaker that changed.
pub(crate) fn breaker(endpoint: &str, state: &'static str, time: i64) -> Record {
    let about = Some(endpoint.into());
    Record { about, state: Some(state.into()), ..Record::new(Timestamp::from_millis(time), Event::Breaker, "".into()) }
}
