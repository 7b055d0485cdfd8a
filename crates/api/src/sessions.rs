//! `/api/sessions`: conversations, what happened in them, and how their attempts went.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use steadfast_core::record::{Event, Record};
use steadfast_store::{Filter, Paging, SessionFilter, SessionSummary};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::page::{Listed, paging};
use crate::problem::{Params, Problem, Segment};
use crate::record::RecordView;
use crate::retry_policy::ErrorType;
use crate::time::iso_ms;

/// Requests of one session whose records are read at a time.
const REQUESTS_MAX: u16 = 20;

/// Characters that are searched for at most.
const SEARCH_MAX: usize = 200;

/// Which sessions.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionsQuery {
    /// Of this project.
    project: Option<String>,
    /// Of this program.
    client: Option<String>,
    /// Only those in which an attempt failed.
    #[serde(default)]
    failed: bool,
    /// Only those with this text in their name, project, program, agent or model. One of exactly this name comes first;
    /// the rest are looked through from the last on, some thousands for each part, which may therefore be empty.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Where the part before ended.
    cursor: Option<String>,
    /// How many; 50 where nobody says.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u16>,
}

/// Which session, and which part of it.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionQuery {
    /// Its project, where several have a session of this name.
    pub(crate) project: Option<String>,
}

/// The same for lists within a session.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WithinQuery {
    /// Its project, where several have a session of this name.
    project: Option<String>,
    /// Where the part before ended.
    cursor: Option<String>,
    /// Of how many requests at most; 20 where nobody says.
    #[param(minimum = 1, maximum = 20)]
    limit: Option<u16>,
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionView {
    /// Its name, as the client gave it.
    pub(crate) session: String,
    /// Whose it is.
    pub(crate) project: String,
    /// The program that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The agent that asked last.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The model that served last, or was asked for last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The model it climbed to, where that is not the one asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    escalated: Option<String>,
    /// How its last request ended; none while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// How its last failed attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// When it began.
    began: String,
    /// When something last happened in it.
    last: String,
    /// Requests.
    pub(crate) requests: u64,
    /// Of them, served.
    succeeded: u64,
    /// Of them, failed for good.
    gave_up: u64,
    /// Attempts made.
    attempts: u64,
    /// Of them, failed.
    failures: u64,
    /// Retries it has used and not got back; its policy allows only so many.
    retries_used: u32,
    /// How many its policy allows.
    retries_max: u32,
    /// Requests that went to another model than the one asked for.
    fallbacks: u64,
    /// Tokens read.
    pub(crate) input_tokens: u64,
    /// Tokens written.
    pub(crate) output_tokens: u64,
    /// What it cost, in micro-dollars.
    usd_micros: u64,
    /// Of it, on attempts that failed.
    failed_usd_micros: u64,
    /// Whether its last turn is still held, so that it can be tried again.
    can_retry: bool,
}

/// An attempt, in the shape of the design document.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryAttempt {
    /// Which of its request, from 1.
    attempt_number: u32,
    /// How it failed; `unknown` where it served.
    error: ErrorType,
    /// What the provider said, with names, numbers and quotes folded away; empty where it served.
    error_message: String,
    /// When it began.
    timestamp: String,
    /// The wait after it.
    delay_ms: u64,
    /// Whether it served.
    succeeded: bool,
    /// The request.
    request: String,
    /// Where it went.
    model: String,
    /// Where it went.
    endpoint: String,
    /// How it failed, by our own kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// What was decided about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A change of model, in the shape of the design document.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EscalationRecord {
    /// The model before.
    pub(crate) from_model: String,
    /// The model after.
    pub(crate) to_model: String,
    /// `manual`, `auto_after_retries` or `context_limit`.
    pub(crate) reason: String,
    /// When.
    pub(crate) timestamp: String,
    /// What an average turn costs more, in dollars.
    pub(crate) cost_estimate: f64,
    /// `climbed` or `rolled_back`.
    pub(crate) state: String,
}

/// Sessions, those in which something happened last first.
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", params(SessionsQuery),
    responses((status = 200, body = Listed<SessionView>)))]
pub(crate) async fn list(
    State(control): State<Control>,
    caller: Caller,
    Params(asked): Params<SessionsQuery>,
) -> Result<Json<Listed<SessionView>>, Problem> {
    let paging = paging(asked.cursor.as_deref(), asked.limit)?;
    let search = asked.search.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if search.as_ref().is_some_and(|text| text.chars().count() > SEARCH_MAX) {
        return Err(Problem::invalid("search", format!("at most {SEARCH_MAX} characters")));
    }
    let project = caller.narrowed(asked.project)?;
    let filter = SessionFilter { project, client: asked.client, failed: asked.failed, search };
    let page = control.store().sessions(filter, paging).await.map_err(|error| Problem::of_store(&error))?;
    Ok(Json(Listed::of(page, |session| SessionView::of(&control, session))))
}

/// One session.
#[utoipa::path(get, path = "/api/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, description = "its name"), SessionQuery), responses((status = 200, body = SessionView)))]
pub(crate) async fn one(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Params(asked): Params<SessionQuery>,
) -> Result<Json<SessionView>, Problem> {
    found(&control, &caller, &id, asked.project).await.map(Json)
}

/// Everything that happened in a session, the newest requests first, each from its start to its end.
#[utoipa::path(get, path = "/api/sessions/{id}/events", tag = "sessions",
    params(("id" = String, Path, description = "its name"), WithinQuery),
    responses((status = 200, body = Listed<RecordView>)))]
pub(crate) async fn events(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Params(asked): Params<WithinQuery>,
) -> Result<Json<Listed<RecordView>>, Problem> {
    let (requests, next) = within(&control, &caller, &id, asked).await?;
    let items = requests.iter().flat_map(|(_, records)| records).map(|record| RecordView::of(record, None)).collect();
    Ok(Json(Listed { items, next }))
}

/// The attempts of a session, the newest requests first.
#[utoipa::path(get, path = "/api/sessions/{id}/attempts", tag = "sessions",
    params(("id" = String, Path, description = "its name"), WithinQuery),
    responses((status = 200, body = Listed<RetryAttempt>)))]
pub(crate) async fn attempts(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Params(asked): Params<WithinQuery>,
) -> Result<Json<Listed<RetryAttempt>>, Problem> {
    let (requests, next) = within(&control, &caller, &id, asked).await?;
    let items = requests.iter().flat_map(|(request, records)| {
        steadfast_store::attempts(records).into_iter().map(move |attempt| RetryAttempt::of(request, attempt))
    });
    Ok(Json(Listed { items: items.collect(), next }))
}

/// The changes of model of a session, newest first.
#[utoipa::path(get, path = "/api/sessions/{id}/escalations", tag = "sessions",
    params(("id" = String, Path, description = "its name"), SessionQuery),
    responses((status = 200, body = Listed<EscalationRecord>)))]
pub(crate) async fn escalations(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Params(asked): Params<SessionQuery>,
) -> Result<Json<Listed<EscalationRecord>>, Problem> {
    let project = caller.narrowed(asked.project)?;
    let detail = control.store().session(&id, project.as_deref()).await.map_err(|error| Problem::of_store(&error))?;
    let detail = detail.ok_or_else(|| unknown(&id))?;
    let items = detail.escalations.into_iter().map(EscalationRecord::of).collect();
    Ok(Json(Listed { items, next: None }))
}

/// A session that the caller sees.
pub(crate) async fn found(
    control: &Control,
    caller: &Caller,
    id: &str,
    project: Option<String>,
) -> Result<SessionView, Problem> {
    let project = caller.narrowed(project)?;
    let detail = control.store().session(id, project.as_deref()).await.map_err(|error| Problem::of_store(&error))?;
    if let Some(detail) = detail {
        return Ok(SessionView::of(control, detail.summary));
    }
    // One that came in this very moment is not stored yet.
    let projects =
        project.map_or_else(|| control.snapshot().config.projects.keys().cloned().collect(), |one| vec![one]);
    let known = projects.into_iter().find(|project| control.engine().session(project, id).is_some());
    let project = known.ok_or_else(|| unknown(id))?;
    let summary = SessionSummary { session: id.to_owned(), project, ..SessionSummary::default() };
    Ok(SessionView::of(control, summary))
}

fn unknown(id: &str) -> Problem {
    Problem::not_found(format!("there is no session `{id}`, or it is no longer kept"))
}

/// The last requests of a session with their records, and where to go on.
async fn within(
    control: &Control,
    caller: &Caller,
    id: &str,
    asked: WithinQuery,
) -> Result<(Vec<(String, Vec<Record>)>, Option<String>), Problem> {
    let session = found(control, caller, id, asked.project).await?;
    let limit = asked.limit.unwrap_or(REQUESTS_MAX);
    if !(1..=REQUESTS_MAX).contains(&limit) {
        return Err(Problem::invalid("limit", format!("between 1 and {REQUESTS_MAX} requests")));
    }
    let Paging { after, .. } = paging(asked.cursor.as_deref(), None)?;
    let filter = Filter { project: Some(session.project), session: Some(id.to_owned()), ..Filter::default() };
    let paging = Paging { after, limit: Some(limit.into()) };
    let page = control.store().requests(filter, paging).await.map_err(|error| Problem::of_store(&error))?;
    let mut requests = Vec::new();
    for request in page.items {
        let records = control
            .store()
            .records_of_run(&request.request, request.started)
            .await
            .map_err(|error| Problem::of_store(&error))?;
        let told = records.into_iter().filter(|record| record.event != Event::Alert);
        requests.push((request.request, told.collect()));
    }
    Ok((requests, page.next.map(|next| next.to_string())))
}

impl SessionView {
    fn of(control: &Control, summary: SessionSummary) -> Self {
        let engine = control.engine();
        let known = engine.session(&summary.project, &summary.session);
        let can_retry = engine.last_turn(&summary.project, &summary.session).is_some();
        let retries_max = control.snapshot().config.project(Some(&summary.project)).policy.session_retries.max;
        Self {
            escalated: known.as_ref().and_then(|known| known.escalated()).map(|model| model.to_string()),
            retries_used: known.as_ref().map_or(0, |known| known.retries_used()),
            retries_max,
            can_retry,
            session: summary.session,
            project: summary.project,
            client: summary.client,
            agent: summary.agent,
            model: summary.model,
            outcome: summary.outcome,
            kind: summary.kind,
            began: iso_ms(summary.first),
            last: iso_ms(summary.last),
            requests: summary.requests,
            succeeded: summary.succeeded,
            gave_up: summary.gave_up,
            attempts: summary.attempts,
            failures: summary.failures,
            fallbacks: summary.fallbacks,
            input_tokens: summary.input_tokens,
            output_tokens: summary.output_tokens,
            usd_micros: summary.usd_micros,
            failed_usd_micros: summary.failed_usd_micros,
        }
    }
}

impl RetryAttempt {
    fn of(request: &str, attempt: steadfast_store::AttemptSummary) -> Self {
        let name = |name: Option<std::sync::Arc<str>>| name.map(|name| name.to_string()).unwrap_or_default();
        Self {
            attempt_number: attempt.number,
            error: ErrorType::of(attempt.kind.as_deref().and_then(|kind| kind.parse().ok())),
            error_message: name(attempt.message),
            timestamp: iso_ms(attempt.time),
            delay_ms: attempt.wait_ms.unwrap_or(0),
            succeeded: attempt.succeeded == Some(true),
            request: request.to_owned(),
            model: name(attempt.model),
            endpoint: name(attempt.endpoint),
            kind: attempt.kind,
            step: attempt.step,
            reason: attempt.reason,
        }
    }
}

impl EscalationRecord {
    pub(crate) fn of(escalation: steadfast_store::Escalation) -> Self {
        let usd = |micros: Option<u64>| micros.unwrap_or(0) as f64 / 1e6;
        Self {
            from_model: escalation.from_model,
            to_model: escalation.to_model,
            reason: escalation.reason,
            timestamp: iso_ms(escalation.time),
            cost_estimate: usd(escalation.to_usd_micros) - usd(escalation.from_usd_micros),
            state: escalation.state,
        }
    }
}
