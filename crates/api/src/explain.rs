//! `POST /api/explain`: what an error means, and what would be done about it.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use steadfast_core::{Evidence, Surface};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::policies::steps_about;
use crate::problem::{Problem, Sent};
use crate::time::millis;

/// An error, as it was seen.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainRequest {
    /// What was printed, or the body of the response.
    #[serde(default)]
    text: String,
    /// The HTTP status of the response.
    #[serde(default)]
    #[schema(minimum = 100, maximum = 599)]
    status: Option<u16>,
    /// The headers of the response.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Who answered, as a hint.
    #[serde(default)]
    provider: Option<String>,
    /// The project whose policy is asked; `default` where nobody says.
    #[serde(default)]
    project: Option<String>,
}

/// What an error means.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Explained {
    /// Its kind, such as `rate_limit`.
    kind: &'static str,
    /// The category of that.
    category: &'static str,
    /// The rule that told it.
    rule: String,
    /// How long the provider asks to be left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// The policy that was asked.
    policy: String,
    /// What it does if the error does not go away, in order.
    steps: Vec<String>,
}

/// Says what an error means, by the rules that are in force, and what the project's policy does about it.
#[utoipa::path(post, path = "/api/explain", tag = "requests", request_body = ExplainRequest,
    responses((status = 200, body = Explained)))]
pub(crate) async fn explain(
    State(control): State<Control>,
    caller: Caller,
    Sent(asked): Sent<ExplainRequest>,
) -> Result<Json<Explained>, Problem> {
    let project = caller.narrowed(asked.project)?;
    if asked.text.trim().is_empty() && asked.status.is_none() {
        return Err(Problem::invalid("text", "nothing to explain: send the error as `text`, or a `status`"));
    }
    if asked.status.is_some_and(|status| !(100..600).contains(&status)) {
        return Err(Problem::invalid("status", "an HTTP status, between 100 and 599"));
    }
    let snapshot = control.snapshot();
    let headers: Vec<(&str, &str)> =
        asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let failure = snapshot.classify(&Evidence {
        provider: asked.provider.as_deref(),
        surface: if asked.status.is_some() { Surface::Http } else { Surface::Text },
        status: asked.status,
        headers: &headers,
        body: asked.text.as_bytes(),
        transport: None,
        exit: None,
        now: Some(control.clock().wall()),
    });
    let policy = &snapshot.config.project(project.as_deref()).policy;
    Ok(Json(Explained {
        kind: failure.kind.as_str(),
        category: failure.category().as_str(),
        rule: failure.rule.to_string(),
        retry_after_ms: failure.retry_after.map(millis),
        policy: policy.name.clone(),
        steps: steps_about(policy, &failure),
    }))
}
