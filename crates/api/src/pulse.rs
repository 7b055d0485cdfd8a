//! What is going on this minute, from the records as they come: traffic, requests under way, how
//! endpoints fare. Nothing of it is kept; the store does that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steadfast_core::record::{Event, Place, Record};
use steadfast_core::{FailureKind, Timestamp};
use steadfast_engine::Listener;
use steadfast_engine::quick::QuickMap;

/// Requests under way that are followed; beyond it new ones are counted but not shown.
const OPEN_MAX: usize = 32 * 1024;

/// Projects and endpoints that are counted one by one.
const NAMES_MAX: usize = 1024;

/// A request that says nothing for this long has been lost sight of.
const FORGOTTEN_MS: i64 = 60 * 60 * 1000;

/// How far back traffic is counted, in seconds.
pub(crate) const SECONDS: usize = 60;

/// What is going on.
#[derive(Debug, Default)]
pub(crate) struct Pulse(Mutex<Beat>);

#[derive(Debug, Default)]
struct Beat {
    open: HashMap<Arc<str>, Open>,
    projects: QuickMap<Arc<str>, Meter>,
    endpoints: QuickMap<Arc<str>, Fare>,
}

/// A request under way.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub(crate) project: Option<Arc<str>>,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) client: Option<Arc<str>>,
    pub(crate) began: Timestamp,
    /// When it was last heard of.
    heard: Timestamp,
    /// The model asked for.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) attempt: u32,
    pub(crate) attempts_max: u32,
    pub(crate) target: Option<Place>,
    /// The next attempt starts then.
    pub(crate) waits_until: Option<Timestamp>,
    pub(crate) last_kind: Option<FailureKind>,
    pub(crate) step: Option<String>,
}

/// Traffic, second by second.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    seconds: [(i64, Traffic); SECONDS],
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Requests that came in.
    pub(crate) requests: u64,
    /// Requests that were served, by whatever attempt.
    pub(crate) served: u64,
    /// Of these, those that needed more than one.
    pub(crate) recovered: u64,
    /// Requests that failed for good.
    pub(crate) failed: u64,
    /// Attempts that failed.
    pub(crate) failures: u64,
}

/// How an endpoint fares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fare {
    /// Attempts that served and that failed, within the minute.
    pub(crate) meter: Meter,
    /// The average latency of attempts that served; newer ones weigh more.
    pub(crate) latency_ms: Option<f64>,
    /// The last failure.
    pub(crate) failure: Option<(Timestamp, FailureKind)>,
    /// When its breaker last changed.
    pub(crate) breaker_changed: Option<Timestamp>,
    pub(crate) served: Option<Timestamp>,
}

/// The recorder's end of a pulse.
pub(crate) struct Feeler(pub(crate) Arc<Pulse>);

impl Listener for Feeler {
    fn hear(&mut self, batch: &Arc<[Record]>) {
        let mut beat = self.0.lock();
        batch.iter().for_each(|record| beat.feel(record));
    }
}

impl Pulse {
    /// The requests under way.
    pub(crate) fn open(&self, now: Timestamp) -> Vec<(Arc<str>, Open)> {
        let mut beat = self.lock();
        beat.open.retain(|_, open| now.as_millis() - open.heard.as_millis() < FORGOTTEN_MS);
        beat.open.iter().map(|(id, open)| (Arc::clone(id), open.clone())).collect()
    }

    /// The traffic of a project, or of all; one figure a second, the oldest first.
    pub(crate) fn traffic(&self, project: Option<&str>, now: Timestamp) -> [Traffic; SECONDS] {
        let beat = self.lock();
        let meters = beat.projects.iter().filter(|(name, _)| project.is_none_or(|project| ***name == *project));
        meters.fold([Traffic::default(); SECONDS], |sum, (_, meter)| {
            let mut figures = meter.figures(now);
            figures.iter_mut().zip(sum).for_each(|(figure, more)| figure.add(more));
            figures
        })
    }

    /// How an endpoint fares.
    pub(crate) fn fare(&self, endpoint: &str) -> Fare {
        self.lock().endpoints.get(endpoint).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Beat> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Beat {
    fn feel(&mut self, record: &Record) {
        self.count(record);
        match record.event {
            Event::Start if self.open.len() < OPEN_MAX => {
                self.open.insert(Arc::clone(&record.request), Open::of(record));
            }
            Event::Start | Event::Alert | Event::Escalation => {}
            Event::Outcome => drop(self.open.remove(&record.request)),
            Event::Breaker => {
                if let Some(fare) = record.about.as_ref().and_then(|endpoint| known(&mut self.endpoints, endpoint)) {
                    fare.breaker_changed = Some(record.time);
                }
            }
            Event::Attempt | Event::Decision | Event::Success => {
                if let Some(open) = self.open.get_mut(&record.request) {
                    open.follow(record);
                }
                let endpoint = record.from.as_ref().or(record.target.as_ref()).map(|place| &place.endpoint);
                if let Some(fare) = endpoint.and_then(|endpoint| known(&mut self.endpoints, endpoint)) {
                    fare.feel(record);
                }
            }
        }
    }

    fn count(&mut self, record: &Record) {
        let nobody = Arc::default();
        let project = record.project.as_ref().unwrap_or(&nobody);
        let Some(meter) = known(&mut self.projects, project) else { return };
        let traffic = meter.at(record.time);
        match (record.event, record.outcome.as_deref()) {
            (Event::Start, _) => traffic.requests += 1,
            (Event::Decision, _) if record.rule.is_some() => traffic.failures += 1,
            (Event::Outcome, Some("succeeded")) => {
                traffic.served += 1;
                traffic.recovered += u64::from(record.attempt.unwrap_or(0) > 1);
            }
            (Event::Outcome, Some("gave_up")) => traffic.failed += 1,
            _ => {}
        }
    }
}

/// The entry of this name, made where there is room.
fn known<'m, T: Default>(map: &'m mut QuickMap<Arc<str>, T>, name: &Arc<str>) -> Option<&'m mut T> {
    if map.len() >= NAMES_MAX && !map.contains_key(name) {
        return None;
    }
    Some(map.entry(Arc::clone(name)).or_default())
}

impl Open {
    fn of(record: &Record) -> Self {
        Self {
            project: record.project.clone(),
            session: record.session.clone(),
            agent: record.agent.clone(),
            client: record.client.clone(),
            began: record.time,
            heard: record.time,
            model: record.chain.first().map(|place| Arc::clone(&place.model)),
            attempt: 0,
            attempts_max: record.attempts_max.unwrap_or(0),
            target: None,
            waits_until: None,
            last_kind: None,
            step: None,
        }
    }

    fn follow(&mut self, record: &Record) {
        self.heard = record.time;
        self.attempt = record.attempt.unwrap_or(self.attempt);
        match record.event {
            Event::Attempt => {
                self.target.clone_from(&record.target);
                self.waits_until = None;
            }
            Event::Decision => {
                let wait = i64::try_from(record.wait_ms.unwrap_or(0)).unwrap_or(0);
                self.waits_until = (wait > 0).then(|| Timestamp::from_millis(record.time.as_millis() + wait));
                self.last_kind = record.kind;
                self.step = record.step.as_deref().map(str::to_owned);
            }
            _ => {}
        }
    }
}

impl Fare {
    /// How much the newest attempt weighs in the average.
    const NEWEST: f64 = 0.1;

    fn feel(&mut self, record: &Record) {
        match record.event {
            Event::Success => {
                self.meter.at(record.time).served += 1;
                self.served = Some(record.time);
                if let Some(latency) = record.latency_ms {
                    let before = self.latency_ms.unwrap_or(latency as f64);
                    self.latency_ms = Some(before + (latency as f64 - before) * Self::NEWEST);
                }
            }
            Event::Decision if record.rule.is_some() => {
                self.meter.at(record.time).failures += 1;
                self.failure = record.kind.map(|kind| (record.time, kind));
            }
            _ => {}
        }
    }
}

impl Default for Meter {
    fn default() -> Self {
        Self { seconds: [(i64::MIN, Traffic::default()); SECONDS] }
    }
}

impl Meter {
    fn at(&mut self, time: Timestamp) -> &mut Traffic {
        let second = time.as_millis().div_euclid(1000);
        let (counted, traffic) = &mut self.seconds[second.rem_euclid(SECONDS as i64) as usize];
        if *counted != second {
            (*counted, *traffic) = (second, Traffic::default());
        }
        traffic
    }

    /// One figure a second up to now, the oldest first.
    fn figures(&self, now: Timestamp) -> [Traffic; SECONDS] {
        let last = now.as_millis().div_euclid(1000);
        std::array::from_fn(|index| {
            let second = last - (SECONDS - 1 - index) as i64;
            let (counted, traffic) = self.seconds[second.rem_euclid(SECONDS as i64) as usize];
            if counted == second { traffic } else { Traffic::default() }
        })
    }

    /// All of the last minute.
    pub(crate) fn sum(&self, now: Timestamp) -> Traffic {
        self.figures(now).into_iter().fold(Traffic::default(), |mut sum, more| {
            sum.add(more);
            sum
        })
    }
}

impl Traffic {
    pub(crate) fn add(&mut self, more: Self) {
        self.requests += more.requests;
        self.served += more.served;
        self.recovered += more.recovered;
        self.failed += more.failed;
        self.failures += more.failures;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(second: i64, event: Event) -> Record {
        let record = Record::new(Timestamp::from_millis(second * 1000), event, "r1".into());
        Record { project: Some("acme".into()), ..record }
    }

    #[test]
    fn a_request_that_waits_is_shown_with_its_countdown_until_it_is_over() {
        let place = Place { model: "sonnet".into(), endpoint: "anthropic".into() };
        let pulse = Arc::new(Pulse::default());
        let mut feeler = Feeler(Arc::clone(&pulse));
        let start = Record { chain: vec![place.clone()], attempts_max: Some(8), ..record(100, Event::Start) };
        let failed = Record {
            attempt: Some(1),
            kind: Some(FailureKind::RateLimit),
            rule: Some("r".into()),
            step: Some("retry".into()),
            wait_ms: Some(7_000),
            from: Some(place.clone()),
            ..record(101, Event::Decision)
        };
        feeler.hear(&vec![start, failed].into());
        let now = Timestamp::from_millis(102_000);
        let (_, open) = pulse.open(now).remove(0);
        assert_eq!((open.attempt, open.attempts_max), (1, 8));
        assert_eq!(open.waits_until, Some(Timestamp::from_millis(108_000)));
        assert_eq!(pulse.fare("anthropic").failure, Some((Timestamp::from_millis(101_000), FailureKind::RateLimit)));
        let served = Record { latency_ms: Some(40), target: Some(place), ..record(108, Event::Success) };
        let over = Record { attempt: Some(2), outcome: Some("succeeded".into()), ..record(108, Event::Outcome) };
        feeler.hear(&vec![served, over].into());
        assert!(pulse.open(now).is_empty());
        let now = Timestamp::from_millis(109_000);
        let sum = pulse.traffic(Some("acme"), now).into_iter().fold(Traffic::default(), |mut sum, more| {
            sum.add(more);
            sum
        });
        assert_eq!(sum, Traffic { requests: 1, served: 1, recovered: 1, failed: 0, failures: 1 });
        assert_eq!(pulse.traffic(Some("other"), now)[0], Traffic::default());
        let later = Timestamp::from_millis(400_000);
        assert!(pulse.traffic(None, later).iter().all(|second| *second == Traffic::default()), "a minute, not more");
    }
}
