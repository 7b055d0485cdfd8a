//! `/api/requests`: what happened to a request, in the words of `steadfast why`.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use steadfast_core::record::{Event, Record};
use steadfast_store::RequestSummary;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::page::{Listed, paging};
use crate::problem::{Params, Problem, Segment};
use crate::record::{RecordView, Target};
use crate::story::Story;
use crate::time::{iso, iso_ms, millis, parse};

/// One request and everything that was decided about it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RequestStory {
    /// Its id.
    request: String,
    /// How it ended, in a line.
    headline: String,
    /// The whole story, as `steadfast why` tells it.
    story: String,
    /// `served`, `recovered`, `failed`, `degraded`, `client left` or `open`.
    ending: &'static str,
    /// When it came in.
    began: String,
    /// How long it took, where it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
    /// How many attempts it made.
    attempts: u32,
    /// The target that served, or the last that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
    /// Its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Who pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// Everything that happened to it, in order.
    records: Vec<RecordView>,
}

/// A query for requests: what they are chosen by is the same wherever they are asked for.
macro_rules! requests_query {
    ($(#[$about:meta])* $name:ident { $($(#[$of_field:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Deserialize, utoipa::IntoParams)]
        #[serde(deny_unknown_fields)]
        #[into_params(parameter_in = Query)]
        pub(crate) struct $name {
            /// Of this project.
            project: Option<String>,
            /// Of this conversation.
            session: Option<String>,
            /// Of this program.
            client: Option<String>,
            /// `succeeded`, `gave_up`, `degraded`, `cancelled`, `lost`, or `running`.
            outcome: Option<String>,
            /// Only those in which an attempt failed; `kind`, `model`, `endpoint` and `pattern` are then that attempt's.
            #[serde(default)]
            failed: bool,
            /// How an attempt failed; means `failed`.
            kind: Option<String>,
            /// The model asked for or served by.
            model: Option<String>,
            /// The endpoint that served.
            endpoint: Option<String>,
            /// The shape of what was asked.
            pattern: Option<String>,
            /// Not before (RFC 3339).
            #[param(format = DateTime)]
            from: Option<String>,
            /// Before (RFC 3339).
            #[param(format = DateTime)]
            to: Option<String>,
            $($(#[$of_field])* $field: $kind,)*
        }

        impl $name {
            /// What the store is asked.
            fn filter(self, control: &Control, caller: &Caller) -> Result<steadfast_store::Filter, Problem> {
                let bounded = self.to.is_some();
                let (from, to) = crate::analytics::range(control, self.from.as_deref(), self.to.as_deref())?;
                Ok(steadfast_store::Filter {
                    project: caller.narrowed(self.project)?,
                    session: self.session,
                    client: self.client,
                    outcome: self.outcome,
                    failed: self.failed,
                    kind: self.kind,
                    model: self.model,
                    endpoint: self.endpoint,
                    pattern: self.pattern,
                    from,
                    to: bounded.then_some(to),
                })
            }
        }
    };
}
pub(crate) use requests_query;

requests_query! {
    /// Which requests.
    RequestsQuery {
        /// Where the part before ended.
        cursor: Option<String>,
        /// How many; 50 where nobody says.
        #[param(minimum = 1, maximum = 200)]
        limit: Option<u16>,
    }
}

/// A request in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RequestView {
    /// Its id.
    request: String,
    /// When it came in.
    started: String,
    /// When it was over; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// Its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Who pays.
    project: String,
    /// The program that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// The agent within the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The shape of what was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    /// The model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The model that served.
    #[serde(skip_serializing_if = "Option::is_none")]
    served_model: Option<String>,
    /// The endpoint that served.
    #[serde(skip_serializing_if = "Option::is_none")]
    served_endpoint: Option<String>,
    /// How it ended; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// How its last failed attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Attempts it made.
    attempts: u64,
    /// Of them, those that failed.
    failures: u64,
    /// Of them, those at another model than the one asked for.
    fallbacks: u64,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
    /// Tokens read.
    input_tokens: u64,
    /// Tokens written.
    output_tokens: u64,
    /// What it cost, in micro-dollars.
    usd_micros: u64,
    /// Of it, on attempts that failed.
    failed_usd_micros: u64,
}

/// Requests, newest first.
#[utoipa::path(get, path = "/api/requests", tag = "requests", params(RequestsQuery),
    responses((status = 200, body = Listed<RequestView>)))]
pub(crate) async fn list(
    State(control): State<Control>,
    caller: Caller,
    Params(asked): Params<RequestsQuery>,
) -> Result<Json<Listed<RequestView>>, Problem> {
    let paging = paging(asked.cursor.as_deref(), asked.limit)?;
    let filter = asked.filter(&control, &caller)?;
    let page = control.store().requests(filter, paging).await.map_err(|error| Problem::of_store(&error))?;
    Ok(Json(Listed::of(page, RequestView::of)))
}

/// Which run of a task.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunQuery {
    /// Of a task that ran more than once, the run that began then (RFC 3339); the last one where nobody says.
    #[param(format = DateTime)]
    started: Option<String>,
}

/// The whole story of one request: every attempt, failure, decision and wait.
#[utoipa::path(get, path = "/api/requests/{id}", tag = "requests",
    params(("id" = String, Path, description = "its id: the header `x-steadfast-request` of its answer"), RunQuery),
    responses((status = 200, body = RequestStory)))]
pub(crate) async fn one(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Params(asked): Params<RunQuery>,
) -> Result<Json<RequestStory>, Problem> {
    let records = match asked.started.as_deref() {
        None => control.store().records(&id).await,
        Some(text) => {
            let started =
                parse(text).ok_or_else(|| Problem::invalid("started", "a moment such as 2026-11-17T09:00:00Z"))?;
            control.store().records_of_run(&id, started.as_millis()).await
        }
    };
    // Not stored yet, or the store is away: what is in memory can be told all the same, of whichever run it is.
    let recent = || if asked.started.is_none() { recent(&control, &id) } else { Vec::new() };
    let records = match records.map_err(|error| Problem::of_store(&error)) {
        Ok(records) if !records.is_empty() => records,
        Ok(_) => recent(),
        Err(problem) => Some(recent()).filter(|records| !records.is_empty()).ok_or(problem)?,
    };
    let owner = records.iter().find_map(|record| record.project.as_deref());
    if records.is_empty() || !owner.map_or(caller == Caller::Admin, |owner| caller.sees(owner)) {
        return Err(Problem::not_found(format!("there is no request `{id}`, or it is no longer kept")));
    }
    Ok(Json(RequestStory::of(&id, &records)))
}

/// The records of a request that are still in memory.
fn recent(control: &Control, id: &str) -> Vec<Record> {
    let found = control.engine().live().since(0);
    let records = found.batches.iter().flat_map(|batch| batch.records.iter());
    records.filter(|record| *record.request == *id).cloned().collect()
}

impl RequestView {
    fn of(request: RequestSummary) -> Self {
        Self {
            request: request.request,
            started: iso_ms(request.started),
            ended: request.ended.map(iso_ms),
            session: request.session,
            project: request.project,
            client: request.client,
            agent: request.agent,
            pattern: request.pattern,
            model: request.model,
            served_model: request.served_model,
            served_endpoint: request.served_endpoint,
            outcome: request.outcome,
            kind: request.kind,
            attempts: request.attempts,
            failures: request.failures,
            fallbacks: request.fallbacks,
            latency_ms: request.latency_ms,
            input_tokens: request.input_tokens,
            output_tokens: request.output_tokens,
            usd_micros: request.usd_micros,
            failed_usd_micros: request.failed_usd_micros,
        }
    }
}

impl RequestStory {
    fn of(id: &str, records: &[Record]) -> Self {
        let story = Story::new(records);
        let start = records.iter().find(|record| record.event == Event::Start);
        let name = |name: Option<&std::sync::Arc<str>>| name.map(ToString::to_string);
        Self {
            request: id.to_owned(),
            headline: story.headline(),
            story: story.tell(),
            ending: story.ending().word(),
            began: story.began().map(iso).unwrap_or_default(),
            took_ms: story.took().map(millis),
            attempts: story.attempts(),
            target: story.place().map(Target::of),
            session: name(start.and_then(|start| start.session.as_ref())),
            project: name(start.and_then(|start| start.project.as_ref())),
            records: records.iter().map(|record| RecordView::of(record, None)).collect(),
        }
    }
}
