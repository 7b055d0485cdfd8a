//! `/api/requests`: what happened to a request, in the words of `steadfast why`.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use steadfast_core::record::{Event, Record};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::problem::{Problem, ProblemBody, Segment};
use crate::record::{RecordView, Target};
use crate::story::Story;
use crate::time::{iso, millis};

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

/// The whole story of one request: every attempt, failure, decision and wait.
#[utoipa::path(get, path = "/api/requests/{id}", tag = "requests",
    params(("id" = String, Path, description = "its id: the header `x-steadfast-request` of its answer")),
    responses(
        (status = 200, body = RequestStory), (status = 400, body = ProblemBody), (status = 401, body = ProblemBody),
        (status = 403, body = ProblemBody), (status = 404, body = ProblemBody),
    ))]
pub(crate) async fn one(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
) -> Result<Json<RequestStory>, Problem> {
    let records = recent(&control, &id);
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
