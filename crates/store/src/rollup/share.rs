//! What one request adds to the sums.

use std::sync::Arc;

use steadfast_core::kind::Category;

use super::{Dimension, Measures};
use crate::fold::Draft;

/// What one request adds, by dimension and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share(pub(super) Vec<(Dimension, Arc<str>, Measures)>);

impl Share {
    /// As far as the request is known.
    pub(crate) fn of(draft: &Draft) -> Self {
        let mut share = Self(Vec::with_capacity(8));
        let whole = whole(draft);
        share.put(Dimension::Total, &Arc::default(), whole);
        if let Some(client) = &draft.client {
            share.put(Dimension::Client, client, whole);
        }
        if let Some(pattern) = &draft.pattern {
            share.put(Dimension::Pattern, pattern, whole);
        }
        if let (true, Some(latency_ms)) = (draft.is_served(), draft.latency_ms) {
            let bound = latency_bound(latency_ms).to_string().into();
            share.put(Dimension::Latency, &bound, Measures { succeeded: 1, ..Measures::default() });
        }
        share.visits(draft);
        share.failures(draft);
        share
    }

    /// The request as a whole.
    pub(crate) fn total(&self) -> Measures {
        let total = self.0.iter().find(|(dimension, _, _)| *dimension == Dimension::Total);
        total.map_or_else(Measures::default, |(_, _, measures)| *measures)
    }

    /// Leaves what is not in `counted`.
    pub(super) fn subtract(&mut self, counted: &Self) {
        for (dimension, value, measures) in &counted.0 {
            match self.find(*dimension, value) {
                Some(mine) => mine.subtract(measures),
                None => {
                    let mut negative = Measures::default();
                    negative.subtract(measures);
                    self.put(*dimension, value, negative);
                }
            }
        }
        self.0.retain(|(_, _, measures)| *measures != Measures::default());
    }

    fn put(&mut self, dimension: Dimension, value: &Arc<str>, measures: Measures) {
        match self.find(dimension, value) {
            Some(mine) => mine.add(&measures),
            None => self.0.push((dimension, Arc::clone(value), measures)),
        }
    }

    fn find(&mut self, dimension: Dimension, value: &Arc<str>) -> Option<&mut Measures> {
        let mut parts = self.0.iter_mut();
        parts.find(|(have, known, _)| *have == dimension && known == value).map(|(_, _, measures)| measures)
    }

    fn visits(&mut self, draft: &Draft) {
        let is_served = i64::from(draft.is_served());
        let mut models: Vec<&Arc<str>> = Vec::new();
        let mut endpoints: Vec<&Arc<str>> = Vec::new();
        for visit in &draft.visits {
            let here = Measures {
                succeeded: visit.served.into(),
                attempts: visit.attempts.into(),
                failures: visit.failures.into(),
                latency_ms: number(visit.latency_ms),
                usd_micros: number(visit.usd_micros),
                failed_usd_micros: number(visit.failed_usd_micros),
                ..Measures::default()
            };
            let first = |seen: bool| Measures {
                requests: i64::from(!seen),
                affected: i64::from(!seen && visit.failures > 0),
                recovered: i64::from(!seen && visit.failures > 0) * is_served,
                ..here
            };
            let model = first(models.contains(&&visit.place.model));
            self.put(Dimension::Model, &visit.place.model, model);
            models.push(&visit.place.model);
            let endpoint = first(endpoints.contains(&&visit.place.endpoint));
            self.put(Dimension::Endpoint, &visit.place.endpoint, endpoint);
            endpoints.push(&visit.place.endpoint);
        }
        if let (Some(asked), true) = (&draft.model, draft.fallbacks > 0) {
            self.put(Dimension::Model, asked, Measures { fallbacks: 1, ..Measures::default() });
        }
    }

    fn failures(&mut self, draft: &Draft) {
        let served = i64::from(draft.is_served());
        let mut seen: Vec<(Dimension, Arc<str>)> = Vec::new();
        for failed in &draft.failures {
            let name: Arc<str> = failed.kind.as_str().into();
            let category = failed.kind.category();
            let is_network = matches!(category, Category::NetworkTransient | Category::NetworkPermanent);
            let message = failed.message.as_ref().map(|message| format!("{name}\t{message}").into());
            let values = [
                Some((Dimension::Kind, name)),
                message.map(|message| (Dimension::Message, message)),
                is_network.then(|| (Dimension::Group, "network".into())),
                failed.kind.may_pass().then(|| (Dimension::Group, "transient".into())),
            ];
            for (dimension, value) in values.into_iter().flatten() {
                let is_first = i64::from(!seen.contains(&(dimension, Arc::clone(&value))));
                let measures = Measures {
                    failures: 1,
                    affected: is_first,
                    recovered: is_first * served,
                    failed_usd_micros: number(failed.usd_micros),
                    ..Measures::default()
                };
                self.put(dimension, &value, measures);
                seen.push((dimension, value));
            }
        }
        if draft.restarts > 0 {
            let measures = Measures { affected: 1, recovered: served, ..Measures::default() };
            self.put(Dimension::Group, &"restart".into(), measures);
        }
    }
}

/// The request as a whole.
fn whole(draft: &Draft) -> Measures {
    let outcome = draft.outcome.as_deref();
    let is_affected = !draft.failures.is_empty();
    let is_recovered = is_affected && draft.is_served();
    let first_failure = draft.failures.first().map_or(0, |failed| failed.time);
    Measures {
        requests: 1,
        succeeded: i64::from(draft.is_served()),
        gave_up: i64::from(outcome == Some("gave_up")),
        cancelled: i64::from(outcome == Some("cancelled")),
        attempts: draft.attempts.into(),
        failures: i64::try_from(draft.failures.len()).unwrap_or(i64::MAX),
        affected: i64::from(is_affected),
        recovered: i64::from(is_recovered),
        recovery_ms: if is_recovered { (draft.last - first_failure).max(0) } else { 0 },
        recovery_retries: if is_recovered { i64::from(draft.attempts.saturating_sub(1)) } else { 0 },
        fallbacks: i64::from(draft.fallbacks > 0),
        latency_ms: if draft.is_served() { draft.latency_ms.map_or(0, number) } else { 0 },
        input_tokens: number(draft.input_tokens),
        output_tokens: number(draft.output_tokens),
        usd_micros: number(draft.usd_micros),
        failed_usd_micros: number(draft.failed_usd_micros),
        events: draft.events.into(),
    }
}

/// The upper bound of the bucket of a latency: two to every doubling, so that a percentile is off by a third at most.
fn latency_bound(latency_ms: u64) -> u64 {
    let power = latency_ms.max(1).checked_next_power_of_two().unwrap_or(1 << 63);
    let between = power - power / 4;
    if latency_ms <= between { between } else { power }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_buckets_of_at_most_half_their_size() {
        let bounds: Vec<u64> = [0, 1, 2, 3, 4, 5, 6, 7, 9, 100, 1000].into_iter().map(latency_bound).collect();
        assert_eq!(bounds, [1, 1, 2, 3, 4, 6, 6, 8, 12, 128, 1024]);
    }
}
