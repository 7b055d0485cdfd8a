//! `/api/projects`: who owns policies, budgets and keys.
//!
//! What is set here lies over the file's project of the same name, field by field; taking it back leaves the file's.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steadfast_config::Project;
use steadfast_core::spend::Ledger;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::policies::{check_name, must_be_table};
use crate::problem::{Problem, Segment, Sent};
use crate::stored::Space;
use crate::version::{expected, with_version};

/// All projects the caller sees.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Projects {
    projects: Vec<ProjectView>,
}

/// A project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProjectView {
    /// Its name.
    name: String,
    /// The policy of its requests.
    policy: String,
    /// Whether its requests are recovered.
    enabled: bool,
    /// The chain in place of each model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain: Option<Vec<String>>,
    /// Requests per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_minute: Option<u32>,
    /// How many keys its clients may send.
    keys: usize,
    /// Its money.
    budget: BudgetView,
    /// What is set through this API, in the form of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    stored: Option<Value>,
    /// Its version in the store; 0 where nothing is set through this API.
    version: i64,
}

/// All budgets the caller sees.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Budgets {
    budgets: Vec<BudgetView>,
}

/// What a project may spend and has spent. Days are those of UTC.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BudgetView {
    /// The project.
    project: String,
    /// What it may spend a day, in dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    usd_per_day: Option<f64>,
    /// What each of its sessions may spend, in dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    usd_per_session: Option<f64>,
    /// What it has spent today, in micro-dollars.
    used_usd_micros: u64,
    /// What is held for calls under way, in micro-dollars.
    reserved_usd_micros: u64,
    /// What is left today, in micro-dollars, where there is a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_usd_micros: Option<u64>,
}

/// A budget to set. What is left out or null is the file's again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BudgetRequest {
    /// Dollars per day (UTC).
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000)]
    usd_per_day: Option<f64>,
    /// Dollars per session; for sessions that begin from now on.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000)]
    usd_per_session: Option<f64>,
}

/// Every project the caller sees.
#[utoipa::path(get, path = "/api/projects", tag = "projects", responses((status = 200, body = Projects)))]
pub(crate) async fn list(State(control): State<Control>, caller: Caller) -> Json<Projects> {
    let snapshot = control.snapshot();
    let projects = snapshot.config.projects.values().filter(|project| caller.sees(&project.name));
    Json(Projects { projects: projects.map(|project| view(&control, &caller, project)).collect() })
}

/// One project. The answer's `etag` is its version.
#[utoipa::path(get, path = "/api/projects/{id}", tag = "projects",
    params(("id" = String, Path, description = "its name")), responses((status = 200, body = ProjectView)))]
pub(crate) async fn one(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
) -> Result<Response, Problem> {
    found(&control, &caller, &id)
}

/// Sets a project, in the form of the configuration: `policy`, `chain`, `enabled`, `spend`, `rate`. Makes it where
/// there is none. Keys have a path of their own.
#[utoipa::path(put, path = "/api/projects/{id}", tag = "projects",
    params(("id" = String, Path, description = "its name"),
           ("if-match" = Option<String>, Header, description = "the version that was read; 0: nothing is stored yet")),
    request_body(content = Object, content_type = "application/json"), responses((status = 200, body = ProjectView)))]
pub(crate) async fn put(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    headers: HeaderMap,
    Sent(settings): Sent<Value>,
) -> Result<Response, Problem> {
    caller.must_be_admin()?;
    check_name(&id)?;
    must_be_table(&settings)?;
    for secret in ["keys", "key_hashes"] {
        if settings.get(secret).is_some() {
            return Err(Problem::invalid(secret, "keys are made at /api/projects/{id}/keys"));
        }
    }
    control.change(Space::Project, &id, Some(settings), expected(&headers)?).await?;
    found(&control, &caller, &id)
}

/// Takes back what is set of a project through this API; what the file says of it is in force again.
#[utoipa::path(delete, path = "/api/projects/{id}", tag = "projects",
    params(("id" = String, Path, description = "its name"),
           ("if-match" = Option<String>, Header, description = "the version that was read")),
    responses((status = 204, description = "nothing of it is stored any more")))]
pub(crate) async fn delete(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    headers: HeaderMap,
) -> Result<http::StatusCode, Problem> {
    caller.must_be_admin()?;
    if control.stored().get(Space::Project, &id).is_none() {
        return Err(Problem::not_found(format!("nothing is stored of a project `{id}`")));
    }
    control.change(Space::Project, &id, None, expected(&headers)?).await?;
    Ok(http::StatusCode::NO_CONTENT)
}

/// What every project the caller sees may spend and has spent.
#[utoipa::path(get, path = "/api/budgets", tag = "projects", responses((status = 200, body = Budgets)))]
pub(crate) async fn budgets(State(control): State<Control>, caller: Caller) -> Json<Budgets> {
    let snapshot = control.snapshot();
    let projects = snapshot.config.projects.values().filter(|project| caller.sees(&project.name));
    Json(Budgets { budgets: projects.map(|project| budget(&control, project)).collect() })
}

/// Sets what a project may spend.
#[utoipa::path(put, path = "/api/projects/{id}/budget", tag = "projects", request_body = BudgetRequest,
    params(("id" = String, Path, description = "the project")), responses((status = 200, body = BudgetView)))]
pub(crate) async fn set_budget(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Sent(wanted): Sent<BudgetRequest>,
) -> Result<Json<BudgetView>, Problem> {
    caller.must_be_admin()?;
    let missing = || Problem::not_found(format!("there is no project `{id}`"));
    control.snapshot().config.projects.get(&id).ok_or_else(missing)?;
    let spend = json!({ "usd_per_day": wanted.usd_per_day, "usd_per_session": wanted.usd_per_session });
    control.amend(Space::Project, &id, |settings| settings["spend"] = spend).await?;
    let snapshot = control.snapshot();
    snapshot.config.projects.get(&id).map(|project| Json(budget(&control, project))).ok_or_else(missing)
}

fn found(control: &Control, caller: &Caller, id: &str) -> Result<Response, Problem> {
    let snapshot = control.snapshot();
    let project = snapshot.config.projects.get(id).filter(|_| caller.sees(id));
    let view = view(control, caller, project.ok_or_else(|| Problem::not_found(format!("there is no project `{id}`")))?);
    let version = view.version;
    Ok(with_version(Json(view).into_response(), version))
}

fn view(control: &Control, caller: &Caller, project: &Project) -> ProjectView {
    let stored = control.stored();
    ProjectView {
        name: project.name.clone(),
        policy: project.policy.name.clone(),
        enabled: project.enabled,
        chain: project.chain.as_ref().map(|chain| chain.iter().map(ToString::to_string).collect()),
        requests_per_minute: project.requests_per_minute,
        keys: project.keys.len() + project.key_hashes.len(),
        stored: stored.body(Space::Project, &project.name).filter(|_| *caller == Caller::Admin).cloned(),
        version: stored.version(Space::Project, &project.name),
        budget: budget(control, project),
    }
}

fn budget(control: &Control, project: &Project) -> BudgetView {
    let snapshot = control.snapshot();
    let known = snapshot.project(&project.name).map(|known| {
        known.spend.roll(control.clock().day());
        (known.spend.ledger(), known.spend.total_usd_micros())
    });
    // All replicas together have spoken for more than this one.
    let (Ledger { settled_usd_micros, reserved_usd_micros, .. }, spoken_for) = known.unwrap_or_default();
    let usd = |micros: u64| micros as f64 / 1e6;
    BudgetView {
        project: project.name.clone(),
        usd_per_day: project.usd_micros_per_day.map(usd),
        usd_per_session: project.usd_micros_per_session.map(usd),
        used_usd_micros: settled_usd_micros,
        reserved_usd_micros,
        left_usd_micros: project.usd_micros_per_day.map(|limit| limit.saturating_sub(spoken_for)),
    }
}
