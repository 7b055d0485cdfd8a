//! Clients that come again: what the engine remembers of the turn, and how it answers.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::RETRY_AFTER;
use steadfast_core::decision::Reason;
use steadfast_core::record::{Event, Record};
use steadfast_core::recovery::Outcome;

use crate::Engine;
use crate::call::Call;
use crate::failures::{Recall, Repeat};
use crate::journal::Kept;
use crate::key::Key;
use crate::reply::{ATTEMPTS, REQUEST_ID, Reply, ReplyBody, STEPS, whole_seconds};
use crate::traces::Trace;

/// How many times a turn that failed has come again.
const REPEAT: &str = "x-steadfast-repeat";

impl Engine {
    /// What is remembered of a turn. One that comes again is a retry of its session, whoever makes it.
    pub(crate) fn recall(&self, call: &Call, key: Key) -> Recall {
        let now = self.clock.now();
        let charge = || {
            let snapshot = self.snapshot();
            let configured = snapshot.config.project(Some(&call.project));
            let project = snapshot.project(&configured.name);
            let Some((id, project)) = call.session.as_deref().zip(project) else { return false };
            let session = self.sessions.get(&project.name, id, configured.usd_micros_per_session, now);
            session.take_retry(configured.policy.session_retries.max).is_some()
        };
        let recall = self.failures.recall(key, charge, now);
        match &recall {
            Recall::Fresh => {}
            Recall::Again(_) => self.metrics.repeats.add([&self.word("upstream")], 1),
            Recall::Answer { .. } => self.metrics.repeats.add([&self.word("memory")], 1),
        }
        recall
    }

    /// The same final failure again, with the time that is left.
    pub(crate) fn answer_repeat(&self, call: &Call, repeat: &Repeat, answer: Kept, rest: Duration) -> Reply {
        let outcome = Outcome::GaveUp(Reason::JustFailed { wait: rest });
        let snapshot = self.snapshot();
        self.note_repeat(call);
        self.count_request(&snapshot, call, &outcome, Duration::ZERO);
        if let Some(tracer) = self.tracer().as_ref() {
            Trace::repeated(tracer, call, &repeat.of);
        }
        let line = |event| Record::new(self.clock.wall(), event, Arc::clone(&call.id));
        self.record(Record {
            session: call.session.clone(),
            project: Some(call.project.as_str().into()),
            client: Some(Arc::clone(&call.client.name)),
            agent: call.agent.clone(),
            repeats: Some(Arc::clone(&repeat.of)),
            ..line(Event::Start)
        });
        let over = Record { attempt: Some(0), latency_ms: Some(0), ..line(Event::Outcome) };
        self.record(over.with_outcome(&outcome, &snapshot.world));
        let Kept { status, mut headers, body } = answer;
        if let Ok(id) = HeaderValue::from_str(&call.id) {
            headers.insert(REQUEST_ID, id);
        }
        headers.insert(ATTEMPTS, HeaderValue::from(0));
        headers.remove(STEPS);
        headers.insert(REPEAT, HeaderValue::from(repeat.number));
        if headers.contains_key(RETRY_AFTER) {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(rest)));
        }
        Reply { status, headers, body: ReplyBody::Whole(body) }
    }
}
