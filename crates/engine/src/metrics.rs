//! Counters and histograms in the Prometheus text format.
//!
//! Names of models come from clients, so only configured ones become labels; everything else is
//! `other`. No label ever holds a prompt, a key or a message.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use steadfast_core::Instant;
use steadfast_core::breaker::State;

use crate::quick::QuickMap;
use crate::snapshot::Snapshot;

/// Everything that is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// Requests by operation, model and outcome.
    pub(crate) requests: Counters<3>,
    /// Attempts by endpoint and how they ended: `ok` or a kind.
    pub(crate) attempts: Counters<2>,
    /// Decisions by kind and step.
    pub(crate) decisions: Counters<2>,
    /// Tokens by model and direction.
    pub(crate) tokens: Counters<2>,
    /// Changes of breakers by endpoint and new state.
    pub(crate) breaker_changes: Counters<2>,
    /// How long requests took.
    pub(crate) request_seconds: Histogram,
    /// How long until the first content of streams.
    pub(crate) first_token_seconds: Histogram,
    /// Streams being relayed.
    pub(crate) streams_open: AtomicI64,
    /// Heartbeats to clients that waited for a stream.
    pub(crate) heartbeats: AtomicU64,
    /// Answers from the journal.
    pub(crate) journal_hits: AtomicU64,
    /// Repeats of turns that had failed, by where they were answered: `memory` or `upstream`.
    pub(crate) repeats: Counters<1>,
    /// Requests refused for a rate limit, by project and whose limit it was.
    pub(crate) rate_limited: Counters<2>,
    /// Lines of the decision log that were lost because the disk did not keep up.
    pub(crate) log_lost: AtomicU64,
    /// Spans of traces that were lost because the collector did not take them.
    pub(crate) spans_lost: Arc<AtomicU64>,
}

/// A counter per set of label values.
#[derive(Debug)]
pub(crate) struct Counters<const N: usize> {
    labels: [&'static str; N],
    cells: RwLock<QuickMap<[Arc<str>; N], AtomicU64>>,
}

/// Durations in buckets.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS_MS.len()],
    count: AtomicU64,
    sum_micros: AtomicU64,
}

const BOUNDS_MS: [u64; 14] = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 120_000, 600_000];

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: Counters::new(["operation", "model", "outcome"]),
            attempts: Counters::new(["endpoint", "result"]),
            decisions: Counters::new(["kind", "step"]),
            tokens: Counters::new(["model", "direction"]),
            breaker_changes: Counters::new(["endpoint", "state"]),
            request_seconds: Histogram::default(),
            first_token_seconds: Histogram::default(),
            streams_open: AtomicI64::new(0),
            heartbeats: AtomicU64::new(0),
            journal_hits: AtomicU64::new(0),
            repeats: Counters::new(["answer"]),
            rate_limited: Counters::new(["project", "limit"]),
            log_lost: AtomicU64::new(0),
            spans_lost: Arc::default(),
        }
    }
}

impl Metrics {
    /// Everything as Prometheus reads it.
    pub(crate) fn render(&self, snapshot: &Snapshot, now: Instant) -> String {
        let mut out = String::with_capacity(8 * 1024);
        self.requests.render("steadfast_requests_total", "Requests by how they ended.", &mut out);
        self.attempts.render("steadfast_attempts_total", "Upstream attempts by how they ended.", &mut out);
        self.decisions.render("steadfast_decisions_total", "Decisions after failures.", &mut out);
        self.tokens.render("steadfast_tokens_total", "Tokens as providers counted them.", &mut out);
        self.breaker_changes.render("steadfast_breaker_changes_total", "Changes of breakers.", &mut out);
        self.repeats.render("steadfast_repeats_total", "Repeats of turns that had failed.", &mut out);
        let help = "Requests refused for a rate limit.";
        self.rate_limited.render("steadfast_rate_limited_total", help, &mut out);
        self.request_seconds.render("steadfast_request_seconds", "How long requests took.", &mut out);
        self.first_token_seconds.render("steadfast_first_token_seconds", "Time to the first content.", &mut out);
        let gauge = |out: &mut String, name: &str, help: &str, kind: &str, value: i64| {
            _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        };
        let open = self.streams_open.load(Ordering::Relaxed);
        gauge(&mut out, "steadfast_streams_open", "Streams being relayed.", "gauge", open);
        let beats = self.heartbeats.load(Ordering::Relaxed) as i64;
        gauge(&mut out, "steadfast_heartbeats_total", "Heartbeats to clients of slow streams.", "counter", beats);
        let hits = self.journal_hits.load(Ordering::Relaxed) as i64;
        gauge(&mut out, "steadfast_journal_hits_total", "Answers from the journal.", "counter", hits);
        let lost = self.log_lost.load(Ordering::Relaxed) as i64;
        gauge(&mut out, "steadfast_log_lines_lost_total", "Lines of the decision log lost.", "counter", lost);
        let lost = self.spans_lost.load(Ordering::Relaxed) as i64;
        gauge(&mut out, "steadfast_trace_spans_lost_total", "Spans no collector took.", "counter", lost);
        let name = "steadfast_breaker_open";
        _ = writeln!(
            out,
            "# HELP {name} 1 where the endpoint is refused, 0.5 where it is probed.\n# TYPE {name} gauge"
        );
        for (_, endpoint) in snapshot.world.endpoints() {
            let value = match endpoint.breaker.state(now) {
                State::Closed => "0",
                State::Open { .. } => "1",
                State::HalfOpen => "0.5",
            };
            _ = writeln!(out, "{name}{{endpoint=\"{}\"}} {value}", escaped(&endpoint.name));
        }
        out
    }
}

impl<const N: usize> Counters<N> {
    fn new(labels: [&'static str; N]) -> Self {
        Self { labels, cells: RwLock::default() }
    }

    pub(crate) fn add(&self, values: [&Arc<str>; N], count: u64) {
        let key = values.map(Arc::clone);
        {
            let cells = self.cells.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(cell) = cells.get(&key) {
                cell.fetch_add(count, Ordering::Relaxed);
                return;
            }
        }
        let mut cells = self.cells.write().unwrap_or_else(PoisonError::into_inner);
        cells.entry(key).or_default().fetch_add(count, Ordering::Relaxed);
    }

    fn render(&self, name: &str, help: &str, out: &mut String) {
        _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} counter");
        let cells = self.cells.read().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<String> = cells
            .iter()
            .map(|(values, count)| {
                let labels = self.labels.iter().zip(values);
                let labels: Vec<String> =
                    labels.map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
                format!("{name}{{{}}} {}", labels.join(","), count.load(Ordering::Relaxed))
            })
            .collect();
        lines.sort();
        for line in lines {
            _ = writeln!(out, "{line}");
        }
    }
}

impl Histogram {
    pub(crate) fn record(&self, took: Duration) {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if let Some(bucket) = BOUNDS_MS.iter().position(|bound| millis <= *bound) {
            self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum_micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(0), Ordering::Relaxed);
    }

    fn render(&self, name: &str, help: &str, out: &mut String) {
        _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram");
        let mut below = 0;
        for (bound, bucket) in BOUNDS_MS.iter().zip(&self.buckets) {
            below += bucket.load(Ordering::Relaxed);
            _ = writeln!(out, "{name}_bucket{{le=\"{}\"}} {below}", *bound as f64 / 1000.0);
        }
        let count = self.count.load(Ordering::Relaxed);
        let sum = self.sum_micros.load(Ordering::Relaxed) as f64 / 1e6;
        _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_histograms_read_as_prometheus_writes_them() {
        let counters = Counters::new(["endpoint", "result"]);
        let (a, ok): (Arc<str>, Arc<str>) = ("a\"b".into(), "ok".into());
        counters.add([&a, &ok], 1);
        counters.add([&a, &ok], 2);
        let mut out = String::new();
        counters.render("x_total", "Help.", &mut out);
        assert_eq!(out, "# HELP x_total Help.\n# TYPE x_total counter\nx_total{endpoint=\"a\\\"b\",result=\"ok\"} 3\n");
        let histogram = Histogram::default();
        histogram.record(Duration::from_millis(7));
        histogram.record(Duration::from_secs(10_000));
        out.clear();
        histogram.render("y", "Help.", &mut out);
        assert!(out.contains("y_bucket{le=\"0.005\"} 0\n") && out.contains("y_bucket{le=\"0.01\"} 1\n"), "{out}");
        assert!(out.contains("y_bucket{le=\"600\"} 1\n") && out.contains("y_bucket{le=\"+Inf\"} 2\n"), "{out}");
    }
}
