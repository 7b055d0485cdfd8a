//! Whose request a record is about: project and session stand on a request's first record only, and
//! whoever watches or keeps records wants them on each.

use std::collections::HashMap;
use std::sync::Arc;

use steadfast_core::record::{Event, Record};

/// Requests under way that are known; the records of others stay without an owner.
const OPEN_MAX: usize = 32 * 1024;

/// Requests under way, by their id.
#[derive(Debug, Default)]
pub(crate) struct Owners(HashMap<Arc<str>, Owner>);

#[derive(Debug)]
struct Owner {
    project: Option<Arc<str>>,
    session: Option<Arc<str>>,
}

impl Owners {
    /// Puts the owner on every record of a request.
    pub(crate) fn tag(&mut self, batch: &mut [Record]) {
        for record in batch {
            if record.event == Event::Start {
                if self.0.len() < OPEN_MAX {
                    let owner = Owner { project: record.project.clone(), session: record.session.clone() };
                    self.0.insert(Arc::clone(&record.request), owner);
                }
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
