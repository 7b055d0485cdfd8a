//! `/api/tasks`: leave tasks to the workers, see how they do, stop them, have them run once more.
//!
//! A task runs commands on this machine, so only the admin may add one; and a web page that a browser happens to show is
//! not the admin, wherever it sends its requests from.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use steadfast_api::{Caller, Params, Problem, ProblemBody, Segment, Sent};
use steadfast_store::{AddError, Cursor, Error, Paging, Store, TaskDetail, TaskFilter, TaskSummary, Wish};
use utoipa::{IntoResponses, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::fleet::Fleet;
use crate::health::AgentHealth;
use crate::services::ServiceStatus;
use crate::task::Task;
use crate::worker::{log_end, to_keep};

/// No more at once: they are one transaction.
const TASKS_MAX: usize = 10_000;

/// What is told of a log where nothing else is asked for, and at most.
const LOG_BYTES: usize = 64 * 1024;
const LOG_BYTES_MAX: usize = 1 << 20;

/// What the routes know.
#[derive(Clone)]
struct Known {
    fleet: Arc<Fleet>,
    store: Store,
    /// Where what tasks write is kept.
    logs: Option<PathBuf>,
}

/// The routes, for the API that serves them.
pub fn routes(fleet: Arc<Fleet>, store: Store, logs: Option<PathBuf>) -> OpenApiRouter {
    described().with_state(Known { fleet, store, logs })
}

/// What the document of the control API says about them.
pub fn document() -> utoipa::openapi::OpenApi {
    described().into_openapi()
}

fn described() -> OpenApiRouter<Known> {
    OpenApiRouter::new()
        .routes(routes!(list, add))
        .routes(routes!(one))
        .routes(routes!(log))
        .routes(routes!(cancel))
        .routes(routes!(retry))
        .routes(routes!(services))
        .routes(routes!(agents))
}

/// A part of the list of tasks.
#[derive(Debug, Serialize, ToSchema)]
struct Tasks {
    /// Newest first.
    tasks: Vec<TaskView>,
    /// What to ask for as `after` to get the next part.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A task. Moments are in milliseconds since the epoch.
#[derive(Debug, Serialize, ToSchema)]
struct TaskView {
    /// Its id.
    id: String,
    /// What people call it.
    label: String,
    /// Who pays.
    project: String,
    /// `waiting`, `running`, `succeeded`, `gave_up`, `not_now`, `budget_spent` or `cancelled`.
    state: String,
    /// When it is to be run next.
    due: i64,
    /// When it came.
    created: i64,
    /// When something last happened to it.
    updated: i64,
    /// When it ended.
    ended: Option<i64>,
    /// Who runs it, or did last.
    worker: Option<String>,
    /// Somebody wants it stopped, and whoever runs it has not heard yet.
    stopping: bool,
    /// How often it was tried.
    attempts: i64,
    /// How often it was run anew.
    restarts: i64,
    /// How often its worker died while it ran.
    crashes: i64,
    /// The model it uses.
    model: Option<String>,
    /// The kind of its last failure.
    kind: Option<String>,
    /// How it last failed, in words.
    error: Option<String>,
}

/// A task with everything that is known of it.
#[derive(Debug, Serialize, ToSchema)]
struct TaskWhole {
    #[serde(flatten)]
    #[schema(inline)]
    task: TaskView,
    /// What it is.
    #[schema(value_type = Object)]
    spec: serde_json::Value,
    /// What is known of it between its runs.
    #[schema(value_type = Object)]
    memory: serde_json::Value,
    /// What came of it.
    #[schema(value_type = Option<Object>)]
    result: Option<serde_json::Value>,
}

/// The end of what a task has written.
#[derive(Debug, Serialize, ToSchema)]
struct TaskLog {
    /// Empty where it has written nothing, or runs on another machine.
    text: String,
    /// Nothing came before that is kept.
    whole: bool,
}

/// How much of a log.
#[derive(Debug, Deserialize)]
struct Wanted {
    bytes: Option<usize>,
}

/// Why nothing can be said about a task, or done to it.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it is only described")]
enum Refused {
    /// the request makes no sense
    #[response(status = 400)]
    Invalid(ProblemBody),
    /// a key or the admin token is missing
    #[response(status = 401)]
    Unauthorized(ProblemBody),
    /// the key is not enough
    #[response(status = 403)]
    Forbidden(ProblemBody),
    /// there is no such task
    #[response(status = 404)]
    NotFound(ProblemBody),
    /// the store is away
    #[response(status = 503)]
    Unavailable(ProblemBody),
}

/// Tasks to be run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTasks {
    /// Each as in a file of `steadfast spawn`: `task`, `label`, `agent` or `command`, `model`, `chain` and more.
    #[schema(value_type = Vec<Object>)]
    tasks: Vec<Task>,
}

/// What agents need to work.
#[derive(Debug, Serialize, ToSchema)]
struct AgentList {
    /// One for each address that was asked since this process began.
    agents: Vec<AgentHealth>,
}

/// The services that agents need.
#[derive(Debug, Serialize, ToSchema)]
struct ServiceList {
    /// By name.
    services: Vec<ServiceView>,
}

/// How a service is.
#[derive(Debug, Serialize, ToSchema)]
struct ServiceView {
    /// Its name.
    name: String,
    /// Whether it answers, or nothing speaks against it.
    healthy: bool,
    /// The share of recent questions that failed.
    failure_rate: Option<f64>,
    /// The average time of its answers.
    latency_ms: Option<u64>,
    /// How often it was started here.
    starts: u32,
    /// Whether it runs as a child of this server.
    started_here: bool,
}

/// What was taken.
#[derive(Debug, Serialize, ToSchema)]
struct Added {
    /// Their ids, in their order.
    ids: Vec<String>,
}

/// What became of a wish.
#[derive(Debug, Serialize, ToSchema)]
struct Wished {
    /// The task.
    id: String,
    /// `done`, `told` (whoever runs it will hear) or `nothing` (it is over, or runs already).
    wish: &'static str,
}

/// Which tasks.
#[derive(Debug, Deserialize)]
struct Asked {
    state: Option<String>,
    project: Option<String>,
    label: Option<String>,
    after: Option<String>,
    limit: Option<usize>,
}

/// Tasks, newest first.
#[utoipa::path(get, path = "/api/tasks", tag = "tasks",
    params(
        ("state" = Option<String>, Query, description = "only those in this state"),
        ("project" = Option<String>, Query, description = "only those of this project"),
        ("label" = Option<String>, Query, description = "only those of this label"),
        ("after" = Option<String>, Query, description = "the `next` of the part before"),
        ("limit" = Option<u16>, Query, description = "how many; 200 at most"),
    ),
    responses(
        (status = 200, body = Tasks), (status = 400, body = ProblemBody), (status = 401, body = ProblemBody),
        (status = 403, body = ProblemBody), (status = 503, body = ProblemBody),
    ))]
async fn list(
    State(known): State<Known>,
    caller: Caller,
    Params(asked): Params<Asked>,
) -> Result<Json<Tasks>, Problem> {
    let after: Option<Cursor> = asked
        .after
        .map(|text| text.parse())
        .transpose()
        .map_err(|error| Problem::invalid("after", format!("{error}")))?;
    let filter = TaskFilter { state: asked.state, label: asked.label, project: caller.narrowed(asked.project)? };
    let page = known.store.tasks(filter, Paging { after, limit: asked.limit }).await.map_err(away)?;
    let tasks = page.items.into_iter().map(TaskView::of).collect();
    Ok(Json(Tasks { tasks, next: page.next.map(|next| next.to_string()) }))
}

/// Leaves tasks to the workers: all of them or none. They are kept before this answers.
#[utoipa::path(post, path = "/api/tasks", tag = "tasks", request_body = NewTasks,
    responses(
        (status = 200, body = Added), (status = 400, body = ProblemBody), (status = 401, body = ProblemBody),
        (status = 403, body = ProblemBody), (status = 413, body = ProblemBody), (status = 415, body = ProblemBody),
        (status = 503, body = ProblemBody),
    ))]
async fn add(State(known): State<Known>, caller: Caller, Sent(new): Sent<NewTasks>) -> Result<Json<Added>, Problem> {
    caller.must_be_admin()?;
    if new.tasks.is_empty() || new.tasks.len() > TASKS_MAX {
        return Err(Problem::invalid("tasks", format!("there must be between 1 and {TASKS_MAX}")));
    }
    let tasks: Vec<Task> = new.tasks.into_iter().map(Task::named).collect();
    let mut kept = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.iter().enumerate() {
        let field = format!("tasks[{index}]");
        known.fleet.check(task).map_err(|error| Problem::invalid(&field, error.to_string()))?;
        kept.push(to_keep(task).map_err(|error| Problem::invalid(&field, error.to_string()))?);
    }
    known.store.add_tasks(kept).await.map_err(|error| match error {
        AddError::Full { .. } => Problem::unavailable(error.to_string()),
        AddError::Store(error) => away(error),
    })?;
    Ok(Json(Added { ids: tasks.into_iter().map(|task| task.id).collect() }))
}

/// One task with everything that is known of it. The beginning of an id will do.
#[utoipa::path(get, path = "/api/tasks/{id}", tag = "tasks", params(("id" = String, Path, description = "its id")),
    responses((status = 200, body = TaskWhole), Refused))]
async fn one(
    State(known): State<Known>,
    caller: Caller,
    Segment(id): Segment<String>,
) -> Result<Json<TaskWhole>, Problem> {
    let TaskDetail { summary, spec, memory, result } = found(&known, &caller, &id).await?;
    Ok(Json(TaskWhole { task: TaskView::of(summary), spec, memory, result }))
}

/// The end of what a task has written on this machine.
#[utoipa::path(get, path = "/api/tasks/{id}/log", tag = "tasks",
    params(
        ("id" = String, Path, description = "its id"),
        ("bytes" = Option<usize>, Query, description = "how much of the end; 65536 where nothing is said, 1048576 at most"),
    ),
    responses((status = 200, body = TaskLog), Refused))]
async fn log(
    State(known): State<Known>,
    caller: Caller,
    Segment(id): Segment<String>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<TaskLog>, Problem> {
    let id = found(&known, &caller, &id).await?.summary.id;
    let Some(folder) = known.logs else { return Ok(Json(TaskLog { text: String::new(), whole: true })) };
    let bytes = wanted.bytes.unwrap_or(LOG_BYTES).min(LOG_BYTES_MAX);
    let read = tokio::task::spawn_blocking(move || log_end(&folder, &id, bytes)).await;
    let (text, whole) = read
        .map_err(std::io::Error::other)
        .and_then(|read| read)
        .map_err(|error| Problem::unavailable(format!("the log cannot be read: {error}")))?;
    Ok(Json(TaskLog { text: String::from_utf8_lossy(&text).into_owned(), whole }))
}

/// Stops a task for good.
#[utoipa::path(post, path = "/api/tasks/{id}/cancel", tag = "tasks",
    params(("id" = String, Path, description = "its id")),
    responses((status = 200, body = Wished), Refused))]
async fn cancel(
    State(known): State<Known>,
    caller: Caller,
    Segment(id): Segment<String>,
) -> Result<Json<Wished>, Problem> {
    let id = found(&known, &caller, &id).await?.summary.id;
    let wish = known.store.cancel_task(&id).await.map_err(away)?;
    Ok(Json(Wished { id, wish: word(wish) }))
}

/// Runs a task that is over, or waits, once more and at once.
#[utoipa::path(post, path = "/api/tasks/{id}/retry", tag = "tasks",
    params(("id" = String, Path, description = "its id")),
    responses((status = 200, body = Wished), Refused))]
async fn retry(
    State(known): State<Known>,
    caller: Caller,
    Segment(id): Segment<String>,
) -> Result<Json<Wished>, Problem> {
    caller.must_be_admin()?;
    let id = found(&known, &caller, &id).await?.summary.id;
    let wish = known.store.retry_task(&id).await.map_err(away)?;
    Ok(Json(Wished { id, wish: word(wish) }))
}

/// The services that agents need, and how they are.
#[utoipa::path(get, path = "/api/services", tag = "tasks", responses(
    (status = 200, body = ServiceList), (status = 401, body = ProblemBody), (status = 403, body = ProblemBody),
))]
async fn services(State(known): State<Known>, caller: Caller) -> Result<Json<ServiceList>, Problem> {
    caller.must_be_admin()?;
    let view = |status: ServiceStatus| {
        let ServiceStatus { name, healthy, failure_rate, latency_ms, starts, started_here } = status;
        ServiceView { name, healthy, failure_rate, latency_ms, starts, started_here }
    };
    Ok(Json(ServiceList { services: known.fleet.services.status().into_iter().map(view).collect() }))
}

/// The addresses that agents need to work, and how they are.
#[utoipa::path(get, path = "/api/agents", tag = "tasks", responses(
    (status = 200, body = AgentList), (status = 401, body = ProblemBody), (status = 403, body = ProblemBody),
))]
async fn agents(State(known): State<Known>, caller: Caller) -> Result<Json<AgentList>, Problem> {
    caller.must_be_admin()?;
    Ok(Json(AgentList { agents: known.fleet.health.status() }))
}

async fn found(known: &Known, caller: &Caller, id: &str) -> Result<TaskDetail, Problem> {
    let task = known.store.task(id).await.map_err(away)?;
    let seen = task.filter(|task| caller.sees(&task.summary.project));
    seen.ok_or_else(|| Problem::not_found(format!("there is no task `{id}`, or several begin so")))
}

fn away(error: Error) -> Problem {
    match error {
        Error::Refused(message) => Problem::invalid("after", message),
        other => Problem::unavailable(other.to_string()),
    }
}

const fn word(wish: Wish) -> &'static str {
    match wish {
        Wish::Done => "done",
        Wish::Told => "told",
        Wish::Nothing | Wish::Unknown => "nothing",
    }
}

impl TaskView {
    fn of(task: TaskSummary) -> Self {
        let TaskSummary { id, label, project, state, due, created, updated, ended, worker, stopping, attempts, .. } =
            task;
        let TaskSummary { restarts, crashes, model, kind, error, .. } = task;
        Self {
            id,
            label,
            project,
            state,
            due,
            created,
            updated,
            ended,
            worker,
            stopping,
            attempts,
            restarts,
            crashes,
            model,
            kind,
            error,
        }
    }
}
