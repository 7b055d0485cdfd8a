//! Requests: lists of summaries, and the whole story of one.

pub(crate) mod find;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use steadfast_core::record::Record;

pub use self::find::Filter;
use crate::Store;
use crate::db::{Database, Row, args};
use crate::error::Error;
use crate::page::{Conditions, Page, Paging};

/// A request in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestSummary {
    /// Its name. A task that ran more than once has a row for each of its runs, all under its name.
    pub request: String,
    /// When it came in, in milliseconds since the epoch.
    pub started: i64,
    /// When it was over; none while it runs.
    pub ended: Option<i64>,
    /// The conversation it belongs to.
    pub session: Option<String>,
    /// Who pays.
    pub project: String,
    /// The program that asked.
    pub client: Option<String>,
    /// The agent within the conversation.
    pub agent: Option<String>,
    /// The shape of what was asked.
    pub pattern: Option<String>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The model that served.
    pub served_model: Option<String>,
    /// The endpoint that served.
    pub served_endpoint: Option<String>,
    /// `succeeded`, `gave_up`, `degraded`, `cancelled`; `lost` where nobody ever said; none while it runs.
    pub outcome: Option<String>,
    /// How its last failed attempt failed.
    pub kind: Option<String>,
    /// Attempts it made.
    pub attempts: u64,
    /// Of them, those that failed.
    pub failures: u64,
    /// Of them, those at another model than the one asked for.
    pub fallbacks: u64,
    /// How long it took.
    pub latency_ms: Option<u64>,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// What it cost, in millionths of a dollar.
    pub usd_micros: u64,
    /// Of it, on attempts that failed.
    pub failed_usd_micros: u64,
}

/// The columns of a summary.
pub(crate) const SUMMARY: &str = "id, request, started, ended, session, project, client, agent, pattern, model, \
    served_model, served_endpoint, outcome, kind, attempts, failures, fallbacks, latency_ms, input_tokens, \
    output_tokens, usd_micros, failed_usd_micros";

impl RequestSummary {
    pub(crate) fn read(row: &Row) -> Result<Self, Error> {
        let latency_ms: Option<i64> = row.get("latency_ms")?;
        Ok(Self {
            request: row.get("request")?,
            started: row.get("started")?,
            ended: row.get("ended")?,
            session: row.get("session")?,
            project: row.get("project")?,
            client: row.get("client")?,
            agent: row.get("agent")?,
            pattern: row.get("pattern")?,
            model: row.get("model")?,
            served_model: row.get("served_model")?,
            served_endpoint: row.get("served_endpoint")?,
            outcome: row.get("outcome")?,
            kind: row.get("kind")?,
            attempts: row.count("attempts")?,
            failures: row.count("failures")?,
            fallbacks: row.count("fallbacks")?,
            latency_ms: latency_ms.and_then(|latency| u64::try_from(latency).ok()),
            input_tokens: row.count("input_tokens")?,
            output_tokens: row.count("output_tokens")?,
            usd_micros: row.count("usd_micros")?,
            failed_usd_micros: row.count("failed_usd_micros")?,
        })
    }
}

impl Store {
    /// Requests, newest first.
    pub async fn requests(&self, filter: Filter, paging: Paging) -> Result<Page<RequestSummary>, Error> {
        self.run(move |db| async move { find::requests(&db, &filter, &paging).await }).await
    }

    /// One request; none where nobody knows it. One that came in this very moment may not be there yet,
    /// while its records are.
    pub async fn request(&self, request: &str) -> Result<Option<RequestSummary>, Error> {
        let request = request.to_owned();
        self.run(move |db| async move { one(&db, &request).await }).await
    }

    /// Everything that happened to one request, in order; empty where nobody knows it. Of a task that ran more than once,
    /// its last run.
    pub async fn records(&self, request: &str) -> Result<Vec<Record>, Error> {
        self.told(request, None).await
    }

    /// The same of the run that began then, in milliseconds since the epoch.
    pub async fn records_of_run(&self, request: &str, started: i64) -> Result<Vec<Record>, Error> {
        self.told(request, Some(started)).await
    }

    async fn told(&self, request: &str, started: Option<i64>) -> Result<Vec<Record>, Error> {
        if let Some(lines) = self.waiting(request, started).await {
            return parse(&lines);
        }
        let request = request.to_owned();
        let shared = self.shared();
        self.run(move |db| async move {
            for _ in 0..LOOKS_MAX {
                let was_writing = shared.is_writing();
                let found = records(&db, &request, started).await?;
                if !found.is_empty() || !was_writing {
                    return Ok(found);
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            Ok(Vec::new())
        })
        .await
    }
}

/// How often and how long a request that may be on its way to the disk is looked for.
const LOOKS_MAX: u32 = 10;
const LOOK_AGAIN: Duration = Duration::from_millis(20);

async fn one(db: &Database, request: &str) -> Result<Option<RequestSummary>, Error> {
    let sql = format!("SELECT {SUMMARY} FROM requests WHERE request = $1 ORDER BY id DESC LIMIT 1");
    db.row(sql, args![request]).await?.as_ref().map(RequestSummary::read).transpose()
}

async fn records(db: &Database, request: &str, started: Option<i64>) -> Result<Vec<Record>, Error> {
    let mut which = Conditions::default();
    which.and("request = ?", request);
    which.and_some("started = ?", started);
    let sql = format!("SELECT records FROM requests {} ORDER BY id DESC LIMIT 1", which.sql());
    match db.row(sql, which.values).await? {
        Some(row) => parse(&row.get::<String>("records")?),
        None => Ok(Vec::new()),
    }
}

/// Reads lines back.
pub(crate) fn parse(lines: &str) -> Result<Vec<Record>, Error> {
    lines.lines().map(|line| serde_json::from_str(line).map_err(Error::from)).collect()
}

/// One attempt, put together from the lines about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AttemptSummary {
    /// Which of the request, from 1.
    pub number: u32,
    /// When it began, in milliseconds since the epoch.
    pub time: i64,
    /// Where it went.
    pub model: Option<Arc<str>>,
    /// Where it went.
    pub endpoint: Option<Arc<str>>,
    /// Why it went there: `first`, `retry`, `fallback`, `escalation`, `rerouted`, `panic`, `remembered`.
    pub choice: Option<String>,
    /// Whether it served; none while it runs or where the client left.
    pub succeeded: Option<bool>,
    /// How it failed.
    pub kind: Option<String>,
    /// Its HTTP status.
    pub status: Option<u16>,
    /// The rule that told its kind.
    pub rule: Option<String>,
    /// What the provider said, folded.
    pub message: Option<Arc<str>>,
    /// How long the provider asked to be left alone.
    pub retry_after_ms: Option<u64>,
    /// The step decided on after it failed.
    pub step: Option<String>,
    /// The wait before that step.
    pub wait_ms: Option<u64>,
    /// Why, in words.
    pub reason: Option<String>,
    /// How long it took.
    pub latency_ms: Option<u64>,
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// What it cost, in millionths of a dollar.
    pub usd_micros: Option<u64>,
}

/// The attempts that the records of one request tell of.
pub fn attempts(records: &[Record]) -> Vec<AttemptSummary> {
    use steadfast_core::record::Event;
    let mut attempts: Vec<AttemptSummary> = Vec::new();
    for record in records {
        match record.event {
            Event::Attempt => attempts.push(AttemptSummary {
                number: record.attempt.unwrap_or_else(|| u32::try_from(attempts.len() + 1).unwrap_or(u32::MAX)),
                time: record.time.as_millis(),
                model: record.target.as_ref().map(|place| Arc::clone(&place.model)),
                endpoint: record.target.as_ref().map(|place| Arc::clone(&place.endpoint)),
                choice: record.choice.as_deref().map(str::to_owned),
                ..AttemptSummary::default()
            }),
            Event::Decision | Event::Success => {
                let is_success = record.event == Event::Success;
                let Some(attempt) = attempts.last_mut() else { continue };
                if is_success || record.rule.is_some() {
                    attempt.end(record, is_success);
                }
                if !is_success {
                    attempt.step = record.step.as_deref().map(str::to_owned);
                    attempt.wait_ms = record.wait_ms;
                    attempt.reason = record.reason.as_deref().map(str::to_owned);
                }
            }
            Event::Start | Event::Outcome | Event::Breaker | Event::Alert | Event::Escalation => {}
        }
    }
    attempts
}

impl AttemptSummary {
    fn end(&mut self, record: &Record, is_success: bool) {
        self.succeeded = Some(is_success);
        self.kind = record.kind.map(|kind| kind.as_str().to_owned());
        self.status = record.status;
        self.rule = record.rule.as_deref().map(str::to_owned);
        self.message.clone_from(&record.message);
        self.retry_after_ms = record.retry_after_ms;
        self.latency_ms = record.latency_ms;
        self.input_tokens = record.usage.map(|usage| usage.input_tokens);
        self.output_tokens = record.usage.map(|usage| usage.output_tokens);
        self.usd_micros = record.usd_micros;
    }
}
