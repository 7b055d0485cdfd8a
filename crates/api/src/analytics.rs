//! `/api/analytics`: what failed, how often, and how well it was recovered from.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use steadfast_store::{Analytics, Range};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::problem::{Params, Problem};
use crate::retry_policy::ErrorType;
use crate::time::{iso_ms, parse};

/// What is told where nobody says: a week.
const RANGE_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// Longer nobody keeps anything.
const RANGE_MAX_MS: i64 = 3660 * 24 * 60 * 60 * 1000;

/// Which time, and whose.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RangeQuery {
    /// Not before (RFC 3339); a week before `to` where nobody says. The hour or day it lies in counts whole.
    #[param(format = DateTime)]
    from: Option<String>,
    /// Before (RFC 3339); now where nobody says.
    #[param(format = DateTime)]
    to: Option<String>,
    /// Of this project.
    project: Option<String>,
}

/// What failed, in the shape of the design document.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FailureAnalytics {
    /// Attempts that failed.
    total_failures: i64,
    /// The same by type of error.
    by_error_type: BTreeMap<ErrorType, i64>,
    /// The same by model.
    by_model: BTreeMap<String, i64>,
    /// What providers said most often, with names, numbers and quotes folded away.
    top_error_messages: Vec<MessageCount>,
    /// Failed attempts per attempt, by day (UTC).
    failure_rate_by_day: BTreeMap<String, f64>,
}

/// What was said, and how often.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageCount {
    /// What was said.
    message: String,
    /// How often.
    count: i64,
}

/// Everything that is known of a range of time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnalyticsView {
    /// Where the range really begins.
    from: String,
    /// Where it really ends.
    to: String,
    /// Everything together.
    totals: Sums,
    /// Failed attempts per attempt, 0 to 1.
    failure_rate: f64,
    /// How well failures were recovered from.
    recovery: RecoveryView,
    /// By how attempts failed.
    by_kind: Vec<BarView>,
    /// By model.
    by_model: Vec<BarView>,
    /// By endpoint.
    by_endpoint: Vec<BarView>,
    /// By project; empty where one is asked about.
    by_project: Vec<BarView>,
    /// By the shape of what was asked.
    by_pattern: Vec<BarView>,
    /// By program.
    by_client: Vec<BarView>,
    /// By day, oldest first (UTC).
    by_day: Vec<BucketView>,
    /// By hour, oldest first, where the range is three days or less.
    by_hour: Vec<BucketView>,
    /// What providers said, most frequent first.
    messages: Vec<KindMessage>,
    /// The documents' targets, held against what happened.
    targets: Vec<TargetView>,
}

/// What is counted, and summed over time.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct Sums {
    /// Requests that came in; at a model or an endpoint, requests that went there.
    requests: i64,
    /// Requests that were served.
    succeeded: i64,
    /// Requests that failed for good.
    gave_up: i64,
    /// Requests whose client left.
    cancelled: i64,
    /// Attempts made.
    attempts: i64,
    /// Attempts that failed.
    failures: i64,
    /// Requests in which an attempt failed.
    affected: i64,
    /// Of these, those that were served all the same.
    recovered: i64,
    /// Requests that went to another model than the one asked for.
    fallbacks: i64,
    /// Milliseconds that the served ones took.
    latency_ms: i64,
    /// Tokens read.
    input_tokens: i64,
    /// Tokens written.
    output_tokens: i64,
    /// Micro-dollars spent.
    usd_micros: i64,
    /// Of them, on attempts that failed.
    failed_usd_micros: i64,
}

/// How well failures were recovered from. Rates are 0 to 1; absent where nothing happened to speak of.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecoveryView {
    /// Served requests of those in which an attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    /// From the first failure to the end, of the served ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_time_ms: Option<f64>,
    /// Attempts after the first, of the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    retries_before_success: Option<f64>,
    /// Requests that went to another model, of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback_rate: Option<f64>,
    /// Money spent on failed attempts, in micro-dollars.
    failed_usd_micros: i64,
    /// Half of the served requests took no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_p50_ms: Option<u64>,
    /// Nineteen in twenty took no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_p95_ms: Option<u64>,
}

/// One value of a breakdown.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BarView {
    /// The value; `(others)` for what is not counted apart.
    name: String,
    #[serde(flatten)]
    sums: Sums,
    /// Failed attempts per attempt, 0 to 1; for a kind, its share of all failures.
    failure_rate: f64,
}

/// One hour or day.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BucketView {
    /// When it began.
    start: String,
    #[serde(flatten)]
    sums: Sums,
    /// Failed attempts per attempt, 0 to 1.
    failure_rate: f64,
}

/// What providers said about a kind of failure.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KindMessage {
    /// How those attempts failed.
    kind: String,
    /// What was said.
    message: String,
    /// How often.
    count: i64,
}

/// A target of the design documents, and how it was met.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TargetView {
    /// A name that stays.
    name: String,
    /// In words.
    wanted: String,
    /// What was measured; absent where nothing happened to measure, or events cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<f64>,
    /// `pass`, `fail`, `nothing_yet`, or `not_from_events` where something else measures it.
    verdict: &'static str,
    /// Of how many requests.
    of: i64,
}

/// What failed: totals, types, models, messages, days.
#[utoipa::path(get, path = "/api/analytics/failures", tag = "analytics", params(RangeQuery),
    responses((status = 200, body = FailureAnalytics)))]
pub(crate) async fn failures(
    State(control): State<Control>,
    caller: Caller,
    Params(asked): Params<RangeQuery>,
) -> Result<Json<FailureAnalytics>, Problem> {
    let analytics = read(&control, &caller, asked).await?;
    let mut by_error_type: BTreeMap<ErrorType, i64> = BTreeMap::new();
    for bar in &analytics.by_kind {
        *by_error_type.entry(ErrorType::of(bar.name.parse().ok())).or_default() += bar.measures.failures;
    }
    let day = |start: i64| iso_ms(start).chars().take("2026-01-31".len()).collect();
    Ok(Json(FailureAnalytics {
        total_failures: analytics.totals.failures,
        by_error_type,
        by_model: analytics.by_model.iter().map(|bar| (bar.name.clone(), bar.measures.failures)).collect(),
        top_error_messages: analytics
            .messages
            .into_iter()
            .map(|told| MessageCount { message: told.message, count: told.count })
            .collect(),
        failure_rate_by_day: analytics.by_day.iter().map(|bucket| (day(bucket.start), bucket.failure_rate)).collect(),
    }))
}

/// Everything that is known of a range of time: sums by kind, model, endpoint, project, pattern, client, day and
/// hour, recovery, messages, and the design documents' targets.
#[utoipa::path(get, path = "/api/analytics", tag = "analytics", params(RangeQuery),
    responses((status = 200, body = AnalyticsView)))]
pub(crate) async fn full(
    State(control): State<Control>,
    caller: Caller,
    Params(asked): Params<RangeQuery>,
) -> Result<Json<AnalyticsView>, Problem> {
    read(&control, &caller, asked).await.map(|analytics| Json(AnalyticsView::of(analytics)))
}

async fn read(control: &Control, caller: &Caller, asked: RangeQuery) -> Result<Analytics, Problem> {
    let project = caller.narrowed(asked.project)?;
    let (from, to) = range(control, asked.from.as_deref(), asked.to.as_deref())?;
    let range = Range { from: from.unwrap_or(to - RANGE_MS), to, project };
    control.store().analytics(range).await.map_err(|error| Problem::of_store(&error))
}

/// The bounds of a range, checked.
pub(crate) fn range(control: &Control, from: Option<&str>, to: Option<&str>) -> Result<(Option<i64>, i64), Problem> {
    let moment = |field, text: Option<&str>| match text.map(|text| (parse(text), text)) {
        Some((None, text)) => {
            Err(Problem::invalid(field, format!("`{text}` is no moment such as 2026-01-31T18:00:00Z")))
        }
        Some((Some(time), _)) => Ok(Some(time.as_millis())),
        None => Ok(None),
    };
    let to = moment("to", to)?.unwrap_or_else(|| control.clock().wall().as_millis());
    let from = moment("from", from)?;
    if from.is_some_and(|from| from >= to || to - from > RANGE_MAX_MS) {
        return Err(Problem::invalid("from", "before `to`, and not more than ten years"));
    }
    Ok((from, to))
}

impl AnalyticsView {
    fn of(analytics: Analytics) -> Self {
        let bars = |bars: Vec<steadfast_store::Bar>| bars.into_iter().map(BarView::of).collect();
        let buckets = |buckets: &[steadfast_store::Bucket]| buckets.iter().map(BucketView::of).collect();
        let recovery = analytics.recovery;
        Self {
            from: iso_ms(analytics.from),
            to: iso_ms(analytics.to),
            totals: Sums::of(analytics.totals),
            failure_rate: analytics.failure_rate,
            recovery: RecoveryView {
                rate: recovery.rate,
                mean_time_ms: recovery.mean_time_ms,
                retries_before_success: recovery.retries_before_success,
                fallback_rate: recovery.fallback_rate,
                failed_usd_micros: recovery.failed_usd_micros,
                latency_p50_ms: recovery.latency_p50_ms,
                latency_p95_ms: recovery.latency_p95_ms,
            },
            by_kind: bars(analytics.by_kind),
            by_model: bars(analytics.by_model),
            by_endpoint: bars(analytics.by_endpoint),
            by_project: bars(analytics.by_project),
            by_pattern: bars(analytics.by_pattern),
            by_client: bars(analytics.by_client),
            by_day: buckets(&analytics.by_day),
            by_hour: buckets(&analytics.by_hour),
            messages: analytics
                .messages
                .into_iter()
                .map(|told| KindMessage { kind: told.kind, message: told.message, count: told.count })
                .collect(),
            targets: analytics.targets.iter().map(TargetView::of).collect(),
        }
    }
}

impl Sums {
    fn of(measures: steadfast_store::Measures) -> Self {
        Self {
            requests: measures.requests,
            succeeded: measures.succeeded,
            gave_up: measures.gave_up,
            cancelled: measures.cancelled,
            attempts: measures.attempts,
            failures: measures.failures,
            affected: measures.affected,
            recovered: measures.recovered,
            fallbacks: measures.fallbacks,
            latency_ms: measures.latency_ms,
            input_tokens: measures.input_tokens,
            output_tokens: measures.output_tokens,
            usd_micros: measures.usd_micros,
            failed_usd_micros: measures.failed_usd_micros,
        }
    }
}

impl BarView {
    fn of(bar: steadfast_store::Bar) -> Self {
        Self { name: bar.name, sums: Sums::of(bar.measures), failure_rate: bar.failure_rate }
    }
}

impl BucketView {
    fn of(bucket: &steadfast_store::Bucket) -> Self {
        Self { start: iso_ms(bucket.start), sums: Sums::of(bucket.measures), failure_rate: bucket.failure_rate }
    }
}

impl TargetView {
    fn of(target: &steadfast_store::Target) -> Self {
        use steadfast_store::Verdict;
        Self {
            name: target.name.to_owned(),
            wanted: target.wanted.to_owned(),
            measured: target.measured,
            verdict: match target.verdict {
                Verdict::Pass => "pass",
                Verdict::Fail => "fail",
                Verdict::NothingYet => "nothing_yet",
                Verdict::NotFromEvents => "not_from_events",
            },
            of: target.of,
        }
    }
}
