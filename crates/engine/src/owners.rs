//! Whose request a record is about: project and session stand on a request's first record only, and
//! whoever watches or keeps records wants them on each.

use std::collections::HashMap;
use std::sync::Arc;

use steadfast_core::record::{Event, Record};

/// Requests under way that are known; the records of others stay without an owner.
const OPEN_MAX: usize = 32 * 1024;

/// A request whose end was not recorded by then has lost it.
pub(crate) const LOST_AFTER_MS: i64 = 60 * 60 * 1000;

/// Requests under way, by their id.
#[derive(Debug, Default)]
pub(crate) struct Owners(HashMap<Arc<str>, Owner>);

#[derive(Debug)]
struct Owner {
    project: Option<Arc<str>>,
    session: Option<Arc<str>>,
    began: i64,
}

impl Owners {
    /// Puts the owner on every record of a request.
    pub(crate) fn tag(&mut self, batch: &mut [Record]) {
        for record in batch {
            if record.event == Event::Start {
                let began = record.time.as_millis();
                if self.0.len() >= OPEN_MAX {
                    self.0.retain(|_, owner| began - owner.began < LOST_AFTER_MS);
                }
                if self.0.len() < OPEN_MAX {
                    let (project, session) = (record.project.clone(), record.session.clone());
                    let owner = Owner { project, session, began };
                    self.0.insert(Arc::clone(&record.request), owner);
                }
                continue;
            }
            if record.event == Event::Alert {
                // It says itself whose it is.
                continue;
            }
            let Some(owner) = self.0.get(&record.request) else { continue };
            if record.project.is_none() {
                record.project.clone_from(&owner.project);
            }
            if record.session.is_none() {
                record.session.clone_from(&owner.session);
            }
            if record.event == Event::Outcome {
                self.0.remove(&record.request);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use steadfast_core::Timestamp;

    use super::*;

    #[test]
    fn requests_whose_end_was_lost_make_room() {
        let mut owners = Owners::default();
        let start = |number: usize, time| {
            let record = Record::new(Timestamp::from_millis(time), Event::Start, format!("r{number}").into());
            Record { project: Some("acme".into()), ..record }
        };
        for number in 0..OPEN_MAX {
            owners.tag(&mut [start(number, 0)]);
        }
        owners.tag(&mut [start(OPEN_MAX, LOST_AFTER_MS - 1)]);
        assert_eq!(owners.0.len(), OPEN_MAX, "they may still be under way");
        owners.tag(&mut [start(OPEN_MAX, LOST_AFTER_MS)]);
        assert_eq!(owners.0.len(), 1);
    }

    #[test]
    fn every_record_of_a_request_has_its_project_and_session() {
        let record = |event, request: &str| Record::new(Timestamp::from_millis(1), event, request.into());
        let start = Record { project: Some("acme".into()), session: Some("s1".into()), ..record(Event::Start, "r1") };
        let mut owners = Owners::default();
        let mut batch =
            [start, record(Event::Attempt, "r1"), record(Event::Attempt, "r2"), record(Event::Outcome, "r1")];
        owners.tag(&mut batch);
        let told = batch.each_ref().map(|record| (record.project.as_deref(), record.session.as_deref()));
        assert_eq!(
            told,
            [(Some("acme"), Some("s1")), (Some("acme"), Some("s1")), (None, None), (Some("acme"), Some("s1"))]
        );
        assert!(owners.0.is_empty());
    }
}
