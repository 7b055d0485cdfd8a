//! `/api/retry-policy`: policies in the one shape of the design document "Agent Retry with Escalation".
//!
//! The shape has eight types of error where a policy has eighteen kinds, and one backoff for all. Reading takes the
//! figures of the first type that is retried; writing sets the retries of each type and leaves the steps after them
//! (fallback, escalate) as they are.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steadfast_config::{DEFAULT_PROJECT, policy_json};
use steadfast_core::policy::{Policy, Retry, Step, Trigger, limits};
use steadfast_core::{Failure, FailureKind};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::problem::{Problem, Segment, Sent};
use crate::stored::Space;
use crate::version::{expected, with_version};

/// What is retried, how often and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RetryPolicy {
    /// The policy it is a view of. What is sent here is not used.
    #[serde(default)]
    id: String,
    /// The same, for people.
    #[serde(default)]
    name: String,
    /// How many retries; 0 switches them off.
    #[schema(maximum = 20)]
    max_retries: u32,
    /// The first wait, in seconds.
    #[schema(minimum = 0.001, maximum = 86400)]
    backoff_base: f64,
    /// The growth of the wait.
    #[schema(minimum = 1, maximum = 100)]
    backoff_multiplier: f64,
    /// The longest wait, in seconds.
    #[schema(minimum = 0.001, maximum = 86400)]
    max_backoff: f64,
    /// What is retried.
    retryable_errors: Vec<ErrorType>,
    /// Whether a session climbs its ladder by itself.
    auto_escalate: bool,
    /// After how many retries it does.
    #[schema(maximum = 20)]
    escalate_after_retries: u32,
}

/// A type of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorType {
    /// 429.
    RateLimit,
    /// 500, 502, 503, 504, 529.
    ServerError,
    /// The request timed out.
    Timeout,
    /// The token limit is exceeded.
    ContextLimit,
    /// The content was blocked.
    ContentFilter,
    /// 400: usually not retryable.
    InvalidRequest,
    /// 401, 403: not retryable.
    AuthError,
    /// Anything else.
    Unknown,
}

impl ErrorType {
    const ALL: [Self; 8] = [
        Self::RateLimit,
        Self::ServerError,
        Self::Timeout,
        Self::ContextLimit,
        Self::ContentFilter,
        Self::InvalidRequest,
        Self::AuthError,
        Self::Unknown,
    ];

    /// The kinds it stands for.
    const fn kinds(self) -> &'static [FailureKind] {
        match self {
            Self::RateLimit => &[FailureKind::RateLimit],
            Self::ServerError => &[FailureKind::ServerError, FailureKind::Overloaded],
            Self::Timeout => &[FailureKind::Timeout],
            Self::ContextLimit => &[FailureKind::ContextLimit],
            Self::ContentFilter => &[FailureKind::ContentFilter],
            Self::InvalidRequest => &[FailureKind::InvalidRequest],
            Self::AuthError => &[FailureKind::AuthError],
            Self::Unknown => &[FailureKind::Unknown],
        }
    }

    /// The type that a kind belongs to. Of a network that fails the document says nothing but that it is transient.
    pub(crate) fn of(kind: Option<FailureKind>) -> Self {
        let Some(kind) = kind else { return Self::Unknown };
        let known = Self::ALL.into_iter().find(|error| error.kinds().contains(&kind));
        known.unwrap_or(match kind {
            FailureKind::QuotaExhausted => Self::RateLimit,
            FailureKind::StreamInterrupted | FailureKind::NetworkTransient => Self::ServerError,
            _ => Self::Unknown,
        })
    }
}

/// The policy of requests without a project.
#[utoipa::path(get, path = "/api/retry-policy", tag = "policies", responses((status = 200, body = RetryPolicy)))]
pub(crate) async fn get(State(control): State<Control>, caller: Caller) -> Result<Response, Problem> {
    of_project(&control, &caller, DEFAULT_PROJECT)
}

/// Changes the policy of requests without a project, and of every project that uses the same.
#[utoipa::path(put, path = "/api/retry-policy", tag = "policies", request_body = RetryPolicy,
    params(("if-match" = Option<String>, Header, description = "the version that was read; 0: it is not stored yet")),
    responses((status = 200, body = RetryPolicy)))]
pub(crate) async fn put(
    State(control): State<Control>,
    caller: Caller,
    headers: HeaderMap,
    Sent(wanted): Sent<RetryPolicy>,
) -> Result<Response, Problem> {
    caller.must_be_admin()?;
    let policy = control.snapshot().config.project(None).policy.name.clone();
    store(&control, &policy, &policy, &wanted, &headers).await?;
    of_project(&control, &caller, DEFAULT_PROJECT)
}

/// The policy of a project.
#[utoipa::path(get, path = "/api/projects/{id}/retry-policy", tag = "policies",
    params(("id" = String, Path, description = "the project")), responses((status = 200, body = RetryPolicy)))]
pub(crate) async fn get_of_project(
    State(control): State<Control>,
    caller: Caller,
    Segment(project): Segment<String>,
) -> Result<Response, Problem> {
    of_project(&control, &caller, &project)
}

/// Gives a project a policy of its own, named `project-ID`, that starts from the one it had.
#[utoipa::path(put, path = "/api/projects/{id}/retry-policy", tag = "policies", request_body = RetryPolicy,
    params(("id" = String, Path, description = "the project"),
           ("if-match" = Option<String>, Header, description = "the version that was read; 0: it is not stored yet")),
    responses((status = 200, body = RetryPolicy)))]
pub(crate) async fn put_of_project(
    State(control): State<Control>,
    caller: Caller,
    Segment(project): Segment<String>,
    headers: HeaderMap,
    Sent(wanted): Sent<RetryPolicy>,
) -> Result<Response, Problem> {
    caller.must_be_admin()?;
    let before = {
        let snapshot = control.snapshot();
        let known = snapshot.config.projects.get(&project);
        known.ok_or_else(|| Problem::not_found(format!("there is no project `{project}`")))?.policy.name.clone()
    };
    let own = format!("project-{project}");
    store(&control, &before, &own, &wanted, &headers).await?;
    if before != own {
        control.amend(Space::Project, &project, |settings| settings["policy"] = own.into()).await?;
    }
    of_project(&control, &caller, &project)
}

fn of_project(control: &Control, caller: &Caller, project: &str) -> Result<Response, Problem> {
    let snapshot = control.snapshot();
    let known = snapshot.config.projects.get(project).filter(|_| caller.sees(project));
    let policy = &known.ok_or_else(|| Problem::not_found(format!("there is no project `{project}`")))?.policy;
    let version = control.stored().version(Space::Policy, &policy.name);
    Ok(with_version(Json(RetryPolicy::of(policy)).into_response(), version))
}

/// Stores `name`: the policy `before` with these retries.
async fn store(
    control: &Control,
    before: &str,
    name: &str,
    wanted: &RetryPolicy,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    wanted.check()?;
    let snapshot = control.snapshot();
    let missing = || Problem::not_found(format!("there is no policy `{before}`"));
    let policy = snapshot.config.policies.get(before).ok_or_else(missing)?;
    let mut document = policy_json(&snapshot.config, before).ok_or_else(missing)?;
    wanted.write(policy, &mut document);
    control.change(Space::Policy, name, Some(document), expected(headers)?).await.map(drop)
}

impl RetryPolicy {
    fn of(policy: &Policy) -> Self {
        let retried: Vec<(ErrorType, Retry)> = ErrorType::ALL
            .into_iter()
            .filter_map(|error| error.kinds().iter().find_map(|kind| retry(policy, *kind)).map(|retry| (error, retry)))
            .collect();
        let backoff = retried.first().map(|(_, retry)| retry.backoff);
        let seconds = |duration: std::time::Duration| duration.as_secs_f64();
        Self {
            id: policy.name.clone(),
            name: policy.name.clone(),
            max_retries: retried.iter().map(|(_, retry)| retry.max).max().unwrap_or(0),
            backoff_base: backoff.map_or(1.0, |backoff| seconds(backoff.base())),
            backoff_multiplier: backoff.map_or(2.0, |backoff| backoff.multiplier()),
            max_backoff: backoff.map_or(30.0, |backoff| seconds(backoff.cap())),
            retryable_errors: retried.iter().map(|(error, _)| *error).collect(),
            auto_escalate: policy.escalate.auto,
            escalate_after_retries: policy.escalate.after_retries,
        }
    }

    /// What cannot be, in this shape's own names.
    fn check(&self) -> Result<(), Problem> {
        let wait = |field, seconds: f64| {
            let sound = (0.001..=86_400.0).contains(&seconds);
            if sound { Ok(()) } else { Err(Problem::invalid(field, "seconds, between 0.001 and a day")) }
        };
        let count = |field, count: u32| {
            let message = format!("at most {}: there is no endless retry", limits::RETRIES);
            if count <= limits::RETRIES { Ok(()) } else { Err(Problem::invalid(field, message)) }
        };
        count("maxRetries", self.max_retries)?;
        count("escalateAfterRetries", self.escalate_after_retries)?;
        wait("backoffBase", self.backoff_base)?;
        wait("maxBackoff", self.max_backoff)?;
        if self.max_backoff < self.backoff_base {
            return Err(Problem::invalid("maxBackoff", "at least `backoffBase`"));
        }
        if !(1.0..=100.0).contains(&self.backoff_multiplier) {
            return Err(Problem::invalid("backoffMultiplier", "between 1 (no growth) and 100"));
        }
        Ok(())
    }

    /// Puts these retries in front of each list of steps.
    fn write(&self, policy: &Policy, document: &mut Value) {
        let millis = |seconds: f64| format!("{}ms", (seconds * 1000.0).round());
        let retry = json!({
            "retry": self.max_retries,
            "base": millis(self.backoff_base),
            "multiplier": self.backoff_multiplier,
            "cap": millis(self.max_backoff),
        });
        for (error, kind) in
            ErrorType::ALL.into_iter().flat_map(|error| error.kinds().iter().map(move |kind| (error, *kind)))
        {
            let (trigger, _) = policy.steps(&Failure::new(kind, "policy"));
            let named = document["on"][trigger.to_string()].as_array().cloned().unwrap_or_default();
            // This shape knows no tools: steps for one are left as they are, and where they are.
            let for_tool = |step: &Value| step.get("tool").is_some();
            let is_retry = |step: &Value| !for_tool(step) && (step == "retry" || step.get("retry").is_some());
            let mut steps: Vec<Value> = named.into_iter().filter(|step| !is_retry(step)).collect();
            if self.max_retries > 0 && self.retryable_errors.contains(&error) {
                let at = steps.iter().position(|step| !for_tool(step)).unwrap_or(steps.len());
                steps.insert(at, retry.clone());
            }
            if steps.is_empty() {
                steps.push("give_up".into());
            }
            document["on"][Trigger::Kind(kind).to_string()] = steps.into();
        }
        document["escalate"] = json!({ "auto": self.auto_escalate, "after_retries": self.escalate_after_retries });
        let most = policy.attempts_max.max(self.max_retries + 1);
        document["attempts_max"] = most.into();
    }
}

/// How often a kind is retried, where it is.
fn retry(policy: &Policy, kind: FailureKind) -> Option<Retry> {
    let (_, steps) = policy.steps(&Failure::new(kind, "policy"));
    steps.iter().find_map(|rule| match rule.step {
        Step::Retry(retry) if rule.applies_to(None) => Some(retry),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_own_template_is_told_in_the_documents_own_shape() {
        let policy = steadfast_core::policy::template("escalating").unwrap();
        let told = RetryPolicy::of(&policy);
        assert_eq!(
            (told.max_retries, told.backoff_base, told.backoff_multiplier, told.max_backoff),
            (3, 1.0, 2.0, 30.0)
        );
        assert_eq!(told.retryable_errors, [ErrorType::RateLimit, ErrorType::ServerError, ErrorType::Timeout]);
        assert!(!told.auto_escalate);
    }

    #[test]
    fn steps_for_one_tool_are_left_as_and_where_they_are() {
        let mut policy = steadfast_core::policy::template("escalating").unwrap();
        policy.on.set(Trigger::Kind(FailureKind::RateLimit), Vec::new());
        let [bash, edit] = [json!({ "give_up": true, "tool": "bash" }), json!({ "retry": 1, "tool": "edit" })];
        let mut document = json!({ "on": { "rate_limit": [bash, edit, { "retry": 9 }, "fallback"] } });
        let retryable_errors = vec![ErrorType::RateLimit];
        RetryPolicy { max_retries: 2, retryable_errors, ..RetryPolicy::of(&policy) }.write(&policy, &mut document);
        let steps = &document["on"]["rate_limit"];
        assert_eq!(
            (&steps[0], &steps[1], &steps[2]["retry"], &steps[3]),
            (&bash, &edit, &2.into(), &"fallback".into())
        );
        assert_eq!(steps.as_array().map(Vec::len), Some(4), "{steps}");
    }

    #[test]
    fn what_cannot_be_is_refused_in_the_shapes_own_names() {
        let sound = RetryPolicy::of(&steadfast_core::policy::template("escalating").unwrap());
        assert!(sound.check().is_ok());
        assert!(RetryPolicy { max_retries: 1000, ..sound.clone() }.check().is_err());
        assert!(RetryPolicy { backoff_base: f64::NAN, ..sound.clone() }.check().is_err());
        assert!(RetryPolicy { max_backoff: 0.5, ..sound.clone() }.check().is_err());
        assert!(RetryPolicy { backoff_multiplier: 0.5, ..sound }.check().is_err());
    }
}
