//! `/api/sessions/{id}/standing`: what whoever runs an agent needs to know of its session, from memory.
//!
//! A client is told a failure in words that stop it; this is what happened. The supervisor asks, so that calls and task
//! are judged by the same evidence.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use steadfast_core::world::LastFailure;
use steadfast_core::{Failure, FailureKind};
use steadfast_engine::Engine;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::problem::{Params, Problem, Segment};
use crate::sessions::SessionQuery;

/// How a session stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Standing {
    /// How many of its requests failed for good.
    pub failures: u64,
    /// How the last of them did; none where its model has served since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<FailedRequest>,
    /// What its calls have cost, in micro-dollars.
    pub usd_micros: u64,
}

/// A request that failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedRequest {
    /// Its name.
    pub request: String,
    /// The kind of the failure, whatever its client was told.
    #[schema(value_type = String)]
    pub kind: FailureKind,
    /// The rule that decided the kind.
    pub rule: String,
    /// The HTTP status that says it best.
    pub status: Option<u16>,
    /// When asking again may help.
    pub retry_after_ms: Option<u64>,
    /// Where it failed last, `model@endpoint`; empty where it got nowhere.
    pub place: String,
    /// What was said, and what was done about it.
    pub message: String,
    /// Its retries have been made.
    pub retried: bool,
    /// The tool whose call broke off or was malformed, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// How a session stands: what failed last and why, and what it has cost.
#[utoipa::path(get, path = "/api/sessions/{id}/standing", tag = "sessions",
    params(("id" = String, Path, description = "its name"), SessionQuery), responses((status = 200, body = Standing)))]
pub(crate) async fn standing(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Params(asked): Params<SessionQuery>,
) -> Result<Json<Standing>, Problem> {
    let project = caller.narrowed(asked.project)?;
    let project = project.as_deref().unwrap_or(steadfast_config::DEFAULT_PROJECT);
    let standing = Standing::of(control.engine(), project, &id);
    standing.map(Json).ok_or_else(|| Problem::not_found(format!("nothing is known of a session `{id}`")))
}

impl Standing {
    /// What is known of a session.
    pub fn of(engine: &Engine, project: &str, id: &str) -> Option<Self> {
        let session = engine.session(project, id)?;
        let (failures, last) = session.last_failure();
        Some(Self {
            failures,
            last: last.map(FailedRequest::of),
            usd_micros: session.spend.ledger().settled_usd_micros,
        })
    }
}

impl FailedRequest {
    fn of(last: LastFailure) -> Self {
        let LastFailure { request, place, failure, .. } = last;
        let retry_after = failure.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        Self {
            request: request.to_string(),
            kind: failure.kind,
            rule: failure.rule.into_owned(),
            status: failure.status,
            retry_after_ms: retry_after,
            place,
            message: failure.message,
            retried: failure.retried,
            tool: failure.tool,
        }
    }

    /// The failure as whoever runs the client decides on it.
    pub fn failure(self) -> Failure {
        Failure {
            kind: self.kind,
            retry_after: self.retry_after_ms.map(Duration::from_millis),
            rule: self.rule.into(),
            status: self.status,
            message: self.message,
            tool: self.tool,
            retried: self.retried,
        }
    }
}
