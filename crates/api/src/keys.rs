//! `/api/projects/{id}/keys`: keys for a project's clients. A key is shown once, when it is made; of it only the
//! hash is kept.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::json;
use steadfast_engine::secrets;
use steadfast_store::Expected;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::problem::{Problem, Segment, Sent};
use crate::stored::Space;
use crate::time::iso;

/// Keys of one project.
const KEYS_MAX: usize = 100;

/// A label is a few words.
const LABEL_CHARS_MAX: usize = 100;

/// The keys of a project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Keys {
    keys: Vec<KeyView>,
}

/// A key, of which only the last letters are known.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyView {
    /// Its name, to revoke it by.
    id: String,
    /// What it is for.
    label: String,
    /// Its last letters.
    ends: String,
    /// When it was made.
    created: String,
}

/// A new key.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NewKey {
    #[serde(flatten)]
    about: KeyView,
    /// The key itself: it is not shown again. Clients send it as their API key.
    key: String,
}

/// A key to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyRequest {
    /// What it is for.
    #[schema(min_length = 1, max_length = 100)]
    label: String,
}

/// The keys of a project that were made through this API.
#[utoipa::path(get, path = "/api/projects/{id}/keys", tag = "projects",
    params(("id" = String, Path, description = "the project")), responses((status = 200, body = Keys)))]
pub(crate) async fn list(
    State(control): State<Control>,
    caller: Caller,
    Segment(project): Segment<String>,
) -> Result<Json<Keys>, Problem> {
    caller.must_be_admin()?;
    must_exist(&control, &project)?;
    let stored = control.stored();
    let keys = stored.all(Space::Key).filter(|(_, _, body)| body["project"] == *project);
    let keys = keys.map(|(id, document, body)| {
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let created = iso(steadfast_core::Timestamp::from_millis(document.updated));
        KeyView { id: id.to_owned(), label: text("label"), ends: text("ends"), created }
    });
    Ok(Json(Keys { keys: keys.collect() }))
}

/// Makes a key. From now on the project's clients must send one of its keys.
#[utoipa::path(post, path = "/api/projects/{id}/keys", tag = "projects", request_body = KeyRequest,
    params(("id" = String, Path, description = "the project")), responses((status = 201, body = NewKey)))]
pub(crate) async fn make(
    State(control): State<Control>,
    caller: Caller,
    Segment(project): Segment<String>,
    Sent(asked): Sent<KeyRequest>,
) -> Result<(http::StatusCode, Json<NewKey>), Problem> {
    caller.must_be_admin()?;
    must_exist(&control, &project)?;
    let label = asked.label.trim();
    if label.is_empty() || label.chars().count() > LABEL_CHARS_MAX {
        return Err(Problem::invalid("label", format!("say what it is for, in at most {LABEL_CHARS_MAX} letters")));
    }
    if control.stored().all(Space::Key).filter(|(_, _, body)| body["project"] == *project).count() >= KEYS_MAX {
        return Err(Problem::conflict(format!("a project has at most {KEYS_MAX} keys: revoke one")));
    }
    let random = secrets::random::<26>().map_err(|error| Problem::unavailable(error.to_string()))?;
    let (id, secret) = random.split_at(6);
    let (id, key) = (format!("key_{}", hex(id)), format!("sfk_{}", hex(secret)));
    let ends = key[key.len() - 4..].to_owned();
    let hash = hex(&secrets::hash(&key));
    let body = json!({ "project": project, "hash": hash, "label": label, "ends": ends });
    let document = control.change(Space::Key, &id, Some(body), Expected::Nothing).await?;
    let created = iso(steadfast_core::Timestamp::from_millis(document.map_or(0, |document| document.updated)));
    let about = KeyView { id, label: label.to_owned(), ends, created };
    Ok((http::StatusCode::CREATED, Json(NewKey { about, key })))
}

/// Revokes a key: who sends it is refused from now on.
#[utoipa::path(delete, path = "/api/projects/{id}/keys/{key}", tag = "projects",
    params(("id" = String, Path, description = "the project"), ("key" = String, Path, description = "the key's id")),
    responses((status = 204, description = "it opens nothing any more")))]
pub(crate) async fn revoke(
    State(control): State<Control>,
    caller: Caller,
    Segment((project, key)): Segment<(String, String)>,
) -> Result<http::StatusCode, Problem> {
    caller.must_be_admin()?;
    let known = control.stored().body(Space::Key, &key).is_some_and(|body| body["project"] == *project);
    if !known {
        return Err(Problem::not_found(format!("the project `{project}` has no key `{key}`")));
    }
    control.change(Space::Key, &key, None, Expected::Anything).await?;
    Ok(http::StatusCode::NO_CONTENT)
}

fn must_exist(control: &Control, project: &str) -> Result<(), Problem> {
    let known = control.snapshot().config.projects.contains_key(project);
    if known { Ok(()) } else { Err(Problem::not_found(format!("there is no project `{project}`"))) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
