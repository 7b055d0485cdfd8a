//! What can be exported, and which columns it has.

use super::{Column, Type};
use crate::db::{Row, Value, args};
use crate::error::Error;
use crate::requests::{RequestSummary, SUMMARY, attempts, parse};

/// What is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row for each request.
    Requests,
    /// A row for each attempt of each request.
    Attempts,
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: Type::Text }
}

const fn number(name: &'static str) -> Column {
    Column { name, kind: Type::Number }
}

const fn time(name: &'static str) -> Column {
    Column { name, kind: Type::Time }
}

const REQUESTS: &[Column] = &[
    text("request"),
    time("started"),
    time("ended"),
    text("session"),
    text("project"),
    text("client"),
    text("agent"),
    text("pattern"),
    text("model"),
    text("served_model"),
    text("served_endpoint"),
    text("outcome"),
    text("kind"),
    number("attempts"),
    number("failures"),
    number("fallbacks"),
    number("latency_ms"),
    number("input_tokens"),
    number("output_tokens"),
    number("usd_micros"),
    number("failed_usd_micros"),
];

const ATTEMPTS: &[Column] = &[
    text("request"),
    text("session"),
    text("project"),
    number("attempt"),
    time("time"),
    text("model"),
    text("endpoint"),
    text("choice"),
    text("result"),
    text("kind"),
    number("status"),
    text("rule"),
    text("message"),
    number("retry_after_ms"),
    text("step"),
    number("wait_ms"),
    text("reason"),
    number("latency_ms"),
    number("input_tokens"),
    number("output_tokens"),
    number("usd_micros"),
];

impl Table {
    /// The columns of the file.
    pub(super) const fn columns(self) -> &'static [Column] {
        match self {
            Self::Requests => REQUESTS,
            Self::Attempts => ATTEMPTS,
        }
    }

    /// The columns of the store that are read for it.
    pub(super) const fn read(self) -> &'static str {
        match self {
            Self::Requests => SUMMARY,
            Self::Attempts => {
                "id, request, started, session, project, client, pattern, model, served_model, \
                               served_endpoint, outcome, records"
            }
        }
    }

    /// The rows of the file that a request becomes.
    pub(super) fn rows(self, row: &Row) -> Result<Vec<Vec<Value>>, Error> {
        match self {
            Self::Requests => Ok(vec![request(RequestSummary::read(row)?)]),
            Self::Attempts => attempt_rows(row),
        }
    }
}

fn request(request: RequestSummary) -> Vec<Value> {
    args![
        request.request,
        request.started,
        request.ended,
        request.session,
        request.project,
        request.client,
        request.agent,
        request.pattern,
        request.model,
        request.served_model,
        request.served_endpoint,
        request.outcome,
        request.kind,
        request.attempts,
        request.failures,
        request.fallbacks,
        request.latency_ms,
        request.input_tokens,
        request.output_tokens,
        request.usd_micros,
        request.failed_usd_micros,
    ]
}

fn attempt_rows(row: &Row) -> Result<Vec<Vec<Value>>, Error> {
    let (request, project): (String, String) = (row.get("request")?, row.get("project")?);
    let session: Option<String> = row.get("session")?;
    let records = parse(&row.get::<String>("records")?)?;
    let values = attempts(&records).into_iter().map(|attempt| {
        let result = attempt.succeeded.map(|succeeded| if succeeded { "succeeded" } else { "failed" });
        args![
            request.as_str(),
            session.as_deref(),
            project.as_str(),
            attempt.number,
            attempt.time,
            attempt.model.as_deref(),
            attempt.endpoint.as_deref(),
            attempt.choice,
            result,
            attempt.kind,
            attempt.status.map(i64::from),
            attempt.rule,
            attempt.message.as_deref(),
            attempt.retry_after_ms,
            attempt.step,
            attempt.wait_ms,
            attempt.reason,
            attempt.latency_ms,
            attempt.input_tokens,
            attempt.output_tokens,
            attempt.usd_micros,
        ]
    });
    Ok(values.collect())
}
