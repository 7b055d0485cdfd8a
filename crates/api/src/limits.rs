//! `/api/rate-limits`: how every limit stands, before anybody runs into it.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use steadfast_engine::{LimitOf, RateStatus, Source, Unit};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::time::{iso, millis};

/// Limits that are listed: agents choose their names.
const LISTED_MAX: usize = 1000;

/// How limits stand.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RateLimits {
    /// Projects, their agents that were seen lately, and endpoints; at most 1000.
    limits: Vec<RateLimitView>,
}

/// How one limit stands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RateLimitView {
    /// `project`, `agent` or `endpoint`.
    of: &'static str,
    /// The project, of a project's or an agent's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// The agent, or its session where it has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The endpoint, of an endpoint's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: Option<String>,
    /// What is counted: `requests` or `tokens`.
    unit: &'static str,
    /// Who set it: `configured`, or `provider` as its answers say.
    source: &'static str,
    /// How many there are per minute, or in the provider's own span, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// How many are left now.
    remaining: u64,
    /// When all are there again, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    reset: Option<String>,
    /// How long until one more may start; 0 where one may now.
    wait_ms: u64,
}

/// How every rate limit stands that the caller sees: remaining, reset, and how long to wait.
#[utoipa::path(get, path = "/api/rate-limits", tag = "endpoints", responses((status = 200, body = RateLimits)))]
pub(crate) async fn list(State(control): State<Control>, caller: Caller) -> Json<RateLimits> {
    let limits = control.engine().rate_limits().into_iter().filter(|status| match &status.of {
        LimitOf::Project { project } | LimitOf::Agent { project, .. } => caller.sees(project),
        LimitOf::Endpoint { .. } => true,
    });
    Json(RateLimits { limits: limits.take(LISTED_MAX).map(RateLimitView::of).collect() })
}

impl RateLimitView {
    fn of(status: RateStatus) -> Self {
        let (of, project, agent, endpoint) = match status.of {
            LimitOf::Project { project } => ("project", Some(project), None, None),
            LimitOf::Agent { project, agent } => ("agent", Some(project), Some(agent), None),
            LimitOf::Endpoint { endpoint } => ("endpoint", None, None, Some(endpoint)),
        };
        let text = |name: Option<std::sync::Arc<str>>| name.map(|name| name.to_string());
        Self {
            of,
            project: text(project),
            agent: text(agent),
            endpoint: text(endpoint),
            unit: match status.unit {
                Unit::Requests => "requests",
                Unit::Tokens => "tokens",
            },
            source: match status.source {
                Source::Configured => "configured",
                Source::Provider => "provider",
            },
            limit: status.limit,
            remaining: status.remaining,
            reset: status.reset.map(iso),
            wait_ms: millis(status.wait),
        }
    }
}
