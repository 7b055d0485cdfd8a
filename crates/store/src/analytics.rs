//! Analytics: what a page shows of a range of time, from the roll-ups alone.

mod targets;

use serde::Serialize;

pub use self::targets::{Target, Verdict};
use crate::Store;
use crate::db::{Database, Row, args};
use crate::error::Error;
use crate::rollup::{DAY, Dimension, HOUR, Measures};

/// Bars of one breakdown that are shown; the rest is in the totals.
const BARS_MAX: usize = 50;

/// Up to here sums by hour are read, beyond sums by day.
const HOURS_UP_TO: i64 = 3 * DAY;

/// Which time, and whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Not before, in milliseconds since the epoch; the hour or day it is in counts whole.
    pub from: i64,
    /// Before, in milliseconds since the epoch; the hour or day it is in counts whole.
    pub to: i64,
    /// One project; none for all of them.
    pub project: Option<String>,
}

/// What happened in a range of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analytics {
    /// Where the range really begins, in milliseconds since the epoch.
    pub from: i64,
    /// Where it really ends.
    pub to: i64,
    /// Everything together.
    pub totals: Measures,
    /// Failed attempts per attempt, 0 to 1.
    pub failure_rate: f64,
    /// Recovery, in the documents' figures.
    pub recovery: Recovery,
    /// By how attempts failed.
    pub by_kind: Vec<Bar>,
    /// By model.
    pub by_model: Vec<Bar>,
    /// By endpoint.
    pub by_endpoint: Vec<Bar>,
    /// By project; empty where one is asked about.
    pub by_project: Vec<Bar>,
    /// By the shape of what was asked.
    pub by_pattern: Vec<Bar>,
    /// By program.
    pub by_client: Vec<Bar>,
    /// By day, oldest first (UTC).
    pub by_day: Vec<Bucket>,
    /// By hour, oldest first, where the range is three days or less.
    pub by_hour: Vec<Bucket>,
    /// What providers said, most frequent first.
    pub messages: Vec<Message>,
    /// The documents' targets, held against what happened.
    pub targets: Vec<Target>,
}

/// One value of a breakdown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// The value; `(others)` for what is not counted apart.
    pub name: String,
    /// Its sums.
    #[serde(flatten)]
    pub measures: Measures,
    /// Failed attempts per attempt, 0 to 1; for a kind, its share of all failures.
    pub failure_rate: f64,
}

/// One hour or day.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bucket {
    /// When it began, in milliseconds since the epoch.
    pub start: i64,
    /// Its sums.
    #[serde(flatten)]
    pub measures: Measures,
    /// Failed attempts per attempt, 0 to 1.
    pub failure_rate: f64,
}

/// What providers said, folded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// How those attempts failed.
    pub kind: String,
    /// What was said.
    pub message: String,
    /// How often.
    pub count: i64,
}

/// How well failures were recovered from. Rates are 0 to 1; none where nothing happened to speak of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Recovery {
    /// Served requests of those in which an attempt failed.
    pub rate: Option<f64>,
    /// From the first failure to the end, of the served ones.
    pub mean_time_ms: Option<f64>,
    /// Attempts after the first, of the same.
    pub retries_before_success: Option<f64>,
    /// Requests that went to another model, of all.
    pub fallback_rate: Option<f64>,
    /// Money spent on failed attempts, in millionths of a dollar.
    pub failed_usd_micros: i64,
    /// Half of the served requests took no longer.
    pub latency_p50_ms: Option<u64>,
    /// Nineteen in twenty took no longer.
    pub latency_p95_ms: Option<u64>,
}

impl Store {
    /// What happened in a range of time. The price does not depend on how much happened.
    pub async fn analytics(&self, range: Range) -> Result<Analytics, Error> {
        self.run(move |db| async move { analytics(&db, &range).await }).await
    }
}

async fn analytics(db: &Database, range: &Range) -> Result<Analytics, Error> {
    let grain = if range.to - range.from <= HOURS_UP_TO { HOUR } else { DAY };
    let from = range.from - range.from.rem_euclid(grain);
    let to = range.to.max(from + 1) + grain - 1;
    let to = to - to.rem_euclid(grain);
    let project = range.project.as_deref().unwrap_or_default();
    let sums = sums(db, project, grain, from, to).await?;
    let by = |dimension| bars(&sums, dimension);
    let totals = by(Dimension::Total).first().map_or_else(Measures::default, |bar| bar.measures);
    let mut by_kind = by(Dimension::Kind);
    for bar in &mut by_kind {
        bar.failure_rate = ratio(bar.measures.failures, totals.failures).unwrap_or(0.0);
    }
    let days = buckets(db, project, DAY, from, to).await?;
    let hours = if grain == HOUR { buckets(db, project, HOUR, from, to).await? } else { Vec::new() };
    Ok(Analytics {
        from,
        to,
        totals,
        failure_rate: failure_rate(&totals),
        recovery: recovery(&totals, &by(Dimension::Latency)),
        by_kind,
        by_model: by(Dimension::Model),
        by_endpoint: by(Dimension::Endpoint),
        by_project: by(Dimension::Project),
        by_pattern: by(Dimension::Pattern),
        by_client: by(Dimension::Client),
        by_day: days,
        by_hour: hours,
        messages: by(Dimension::Message).into_iter().map(Message::from).collect(),
        targets: targets::judge(&totals, &by(Dimension::Group)),
    })
}

/// Every value of every dimension, summed over the range.
async fn sums(
    db: &Database,
    project: &str,
    grain: i64,
    from: i64,
    to: i64,
) -> Result<Vec<(String, String, Measures)>, Error> {
    let sql = format!(
        "SELECT dimension, value, {} FROM rollups WHERE project = $1 AND grain = $2 AND bucket >= $3 AND bucket < $4 \
         GROUP BY dimension, value",
        summed()
    );
    let rows = db.rows(sql, args![project, grain, from, to]).await?;
    rows.iter().map(|row| Ok((row.get("dimension")?, row.get("value")?, Measures::read(row)?))).collect()
}

async fn buckets(db: &Database, project: &str, grain: i64, from: i64, to: i64) -> Result<Vec<Bucket>, Error> {
    let columns = Measures::COLUMNS.join(", ");
    let sql = format!(
        "SELECT bucket, {columns} FROM rollups WHERE project = $1 AND grain = $2 AND bucket >= $3 AND bucket < $4 \
         AND dimension = 'total' ORDER BY bucket"
    );
    // A range that begins within a day shows the whole of that day.
    let from = from - from.rem_euclid(grain);
    let rows = db.rows(sql, args![project, grain, from, to]).await?;
    let read = |row: &Row| {
        let measures = Measures::read(row)?;
        Ok(Bucket { start: row.get("bucket")?, measures, failure_rate: failure_rate(&measures) })
    };
    rows.iter().map(read).collect()
}

/// The largest values of a dimension: most failures first, then most requests.
fn bars(sums: &[(String, String, Measures)], dimension: Dimension) -> Vec<Bar> {
    let of_dimension = sums.iter().filter(|(name, _, _)| name == dimension.as_str());
    let bar = |(_, value, measures): &(String, String, Measures)| Bar {
        name: value.clone(),
        measures: *measures,
        failure_rate: failure_rate(measures),
    };
    let mut bars: Vec<Bar> = of_dimension.map(bar).collect();
    let rank = |bar: &Bar| (-bar.measures.failures, -bar.measures.requests);
    bars.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name)));
    bars.truncate(BARS_MAX);
    bars
}

fn recovery(totals: &Measures, latencies: &[Bar]) -> Recovery {
    Recovery {
        rate: ratio(totals.recovered, totals.affected),
        mean_time_ms: ratio(totals.recovery_ms, totals.recovered),
        retries_before_success: ratio(totals.recovery_retries, totals.recovered),
        fallback_rate: ratio(totals.fallbacks, totals.requests),
        failed_usd_micros: totals.failed_usd_micros,
        latency_p50_ms: percentile(latencies, 50),
        latency_p95_ms: percentile(latencies, 95),
    }
}

/// The upper bound of the bucket in which so many percent are reached.
fn percentile(latencies: &[Bar], percent: i64) -> Option<u64> {
    let mut counts: Vec<(u64, i64)> =
        latencies.iter().filter_map(|bar| Some((bar.name.parse().ok()?, bar.measures.succeeded))).collect();
    counts.sort_unstable();
    let total: i64 = counts.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    let reached = counts.into_iter().find(|(_, count)| {
        seen += count;
        seen * 100 >= total * percent
    });
    reached.filter(|_| total > 0).map(|(bound, _)| bound)
}

fn summed() -> String {
    let columns: Vec<String> =
        Measures::COLUMNS.iter().map(|column| format!("CAST(sum({column}) AS BIGINT) AS {column}")).collect();
    columns.join(", ")
}

fn failure_rate(measures: &Measures) -> f64 {
    ratio(measures.failures, measures.attempts).unwrap_or(0.0)
}

#[expect(clippy::cast_precision_loss, reason = "counts of events stay far below 2^52")]
fn ratio(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl From<Bar> for Message {
    fn from(bar: Bar) -> Self {
        let (kind, message) = bar.name.split_once('\t').unwrap_or(("", &bar.name));
        Self { kind: kind.to_owned(), message: message.to_owned(), count: bar.measures.failures }
    }
}
