//! From records to alerts: who asked for what, and how it ended.

use std::collections::HashMap;
use std::sync::Arc;

use steadfast_core::alert::{Alert, Concern, Ending, Watches};
use steadfast_core::record::{Event, Record};
use steadfast_core::{FailureKind, Instant, Timestamp};

use crate::owners::LOST_AFTER_MS;

/// Requests under way that are followed; beyond it new ones raise nothing.
const OPEN_MAX: usize = 32 * 1024;

/// Follows requests through their records and says what a person should know.
#[derive(Debug, Default)]
pub(crate) struct Alerts {
    watches: Watches,
    open: HashMap<Arc<str>, Open>,
}

/// A request under way.
#[derive(Debug)]
struct Open {
    project: Arc<str>,
    /// The model asked for.
    model: Arc<str>,
    /// The model that served, where one did.
    served: Option<Arc<str>>,
    /// Whether any attempt failed for a reason that is not the caller's.
    failed: bool,
    began: i64,
}

impl Alerts {
    /// Looks at what happened and returns what is to be told, as records.
    pub(crate) fn look(&mut self, batch: &[Record]) -> Vec<Record> {
        let mut told = Vec::new();
        for record in batch {
            self.see(record, &mut |alert| told.push(line(&alert, record.time, &record.request)));
        }
        told
    }

    /// The same of what is over because time has passed. Looks at every project and model: not for each request.
    pub(crate) fn pass(&mut self, now: Timestamp) -> Vec<Record> {
        let mut told = Vec::new();
        self.watches.pass(instant(now), &mut |alert| told.push(line(&alert, now, &Arc::default())));
        told
    }

    fn see(&mut self, record: &Record, tell: &mut impl FnMut(Alert)) {
        let now = instant(record.time);
        match record.event {
            Event::Start => {
                let began = record.time.as_millis();
                if self.open.len() >= OPEN_MAX {
                    self.open.retain(|_, open| began - open.began < LOST_AFTER_MS);
                }
                let asked = record.chain.first().map(|place| Arc::clone(&place.model));
                if let (Some(model), Some(project), true) = (asked, &record.project, self.open.len() < OPEN_MAX) {
                    let open = Open { project: Arc::clone(project), model, served: None, failed: false, began };
                    self.open.insert(Arc::clone(&record.request), open);
                }
            }
            Event::Decision => {
                let (Some(kind), Some(from)) = (record.kind, &record.from) else { return };
                let Some(open) = self.open.get_mut(&record.request).filter(|_| concerns(kind)) else { return };
                // A decision without a rule looks again at an empty allowance: nothing failed anew.
                if record.rule.is_some() {
                    open.failed = true;
                    self.watches.failed(&open.project, &from.model, now, tell);
                }
            }
            Event::Success => {
                let Some(target) = &record.target else { return };
                if let Some(open) = self.open.get_mut(&record.request) {
                    open.served = Some(Arc::clone(&target.model));
                }
                self.watches.served(&target.model, tell);
            }
            Event::Outcome => {
                let Some(open) = self.open.remove(&record.request) else { return };
                let ending = match &open.served {
                    Some(served) if *served == open.model => Ending::Served,
                    Some(_) => Ending::FellBack,
                    None if open.failed && record.outcome.as_deref() == Some("gave_up") => Ending::Failed,
                    // The client left, or asked for what cannot be: that says nothing about the model.
                    None => return,
                };
                self.watches.ended(&open.model, ending, now, tell);
            }
            Event::Attempt | Event::Breaker | Event::Alert | Event::Escalation => {}
        }
    }
}

/// Whether a failure concerns those who run the gateway: what is wrong with a request does not.
const fn concerns(kind: FailureKind) -> bool {
    !matches!(
        kind,
        FailureKind::Cancelled
            | FailureKind::InvalidRequest
            | FailureKind::ContentFilter
            | FailureKind::ContextLimit
            | FailureKind::BadOutput
    )
}

fn line(alert: &Alert, time: Timestamp, request: &Arc<str>) -> Record {
    let project = match alert.concern {
        Concern::ManyFailures => Some(Arc::clone(&alert.about)),
        // A model is everybody's, whoever's request crossed the line.
        Concern::FallbackRate | Concern::ChainFailed | Concern::InARow => None,
    };
    Record {
        project,
        alert: Some(alert.concern.as_str().into()),
        about: Some(Arc::clone(&alert.about)),
        state: Some(if alert.raised { "raised" } else { "resolved" }.into()),
        reason: Some(alert.to_string().into()),
        ..Record::new(time, Event::Alert, Arc::clone(request))
    }
}

fn instant(time: Timestamp) -> Instant {
    Instant::from_millis(u64::try_from(time.as_millis()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use steadfast_core::record::Place;

    use super::*;

    fn record(event: Event, request: &str) -> Record {
        Record::new(Timestamp::from_millis(1_000), event, request.into())
    }

    fn place(model: &str) -> Place {
        Place { model: model.into(), endpoint: "e".into() }
    }

    fn failing(request: &str, kind: FailureKind) -> Vec<Record> {
        vec![
            Record {
                project: Some("acme".into()),
                chain: vec![place("sonnet"), place("haiku")],
                ..record(Event::Start, request)
            },
            Record {
                kind: Some(kind),
                rule: Some("r".into()),
                from: Some(place("sonnet")),
                ..record(Event::Decision, request)
            },
            Record { outcome: Some("gave_up".into()), ..record(Event::Outcome, request) },
        ]
    }

    fn told(alerts: &mut Alerts, batch: &[Record]) -> Vec<String> {
        let text = |record: Record| format!("{}: {}", record.state.unwrap(), record.reason.unwrap());
        alerts.look(batch).into_iter().map(text).collect()
    }

    #[test]
    fn a_failed_request_is_told_and_so_is_that_the_next_ones_are_served() {
        let mut alerts = Alerts::default();
        let failed = told(&mut alerts, &failing("r1", FailureKind::ServerError));
        assert_eq!(failed, ["raised: every model in the chain of `sonnet` failed"]);
        assert_eq!(told(&mut alerts, &failing("r2", FailureKind::ServerError)), [""; 0]);
        let mut served = failing("r3", FailureKind::ServerError);
        served.insert(2, Record { target: Some(place("haiku")), ..record(Event::Success, "r3") });
        assert_eq!(told(&mut alerts, &served), [""; 0], "one is no sign yet");
        assert!(alerts.open.is_empty());
        let over = alerts.pass(Timestamp::from_millis(301_000));
        assert_eq!(over[0].reason.as_deref(), Some("requests for `sonnet` are served again"));
    }

    #[test]
    fn failures_are_told_in_a_row_of_a_project_and_as_a_rate_and_so_is_their_end() {
        let mut alerts = Alerts::default();
        let requests = (1..=12).map(|number| failing(&format!("r{number}"), FailureKind::ServerError));
        let begun: Vec<String> = requests.flat_map(|batch| told(&mut alerts, &batch)).collect();
        let expected = [
            "raised: every model in the chain of `sonnet` failed",
            "raised: 6 failures of `sonnet` in a row",
            "raised: 10 failures of the project `acme` in 5 minutes",
            "raised: 100 % of the requests for `sonnet` could not be served by it in the last hour",
        ];
        assert_eq!(begun, expected, "each once");
        let mut served = failing("r13", FailureKind::ServerError);
        served.remove(1);
        served.insert(1, Record { target: Some(place("sonnet")), ..record(Event::Success, "r13") });
        assert_eq!(told(&mut alerts, &served), ["resolved: `sonnet` serves again"]);
        let mut pass = |minutes: i64| {
            let told = alerts.pass(Timestamp::from_millis(1_000 + minutes * 60_000));
            told.into_iter().map(|record| record.reason.unwrap().to_string()).collect::<Vec<_>>()
        };
        let few = "the project `acme` meets few failures again";
        assert_eq!(pass(6), [few, "requests for `sonnet` are served again"]);
        assert_eq!(pass(120), ["`sonnet` serves most of its requests again"]);
    }

    #[test]
    fn what_is_wrong_with_a_request_concerns_nobody_else() {
        let mut alerts = Alerts::default();
        for number in 0..30 {
            let batch = failing(&format!("r{number}"), FailureKind::InvalidRequest);
            assert_eq!(told(&mut alerts, &batch), [""; 0]);
        }
    }
}
