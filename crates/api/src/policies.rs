//! `/api/policies`: what is done about each kind of failure, in the form of the configuration.
//!
//! A stored policy stands in place of the file's of the same name, and that in place of the template's. `if-match`
//! with the version that was read keeps two people from overwriting each other.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_config::{Config, policy_json, policy_toml, template_json};
use steadfast_core::policy::{Policy, TEMPLATES, Trigger, template};
use steadfast_core::recovery::Face;
use steadfast_core::time::Words;
use steadfast_core::{Failure, FailureKind};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::{Control, fields};
use crate::problem::{FieldProblem, Problem, Segment, Sent};
use crate::stored::Space;
use crate::version::{expected, with_version};

/// Names go into files, addresses and logs.
const NAME_BYTES_MAX: usize = 64;

/// All policies.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Policies {
    policies: Vec<PolicySummary>,
}

/// A policy in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PolicySummary {
    /// Its name.
    pub(crate) name: String,
    /// Who wrote what is in force: `stored` (through this API), `file` or `template`.
    pub(crate) source: &'static str,
    /// Its version in the store; 0 where it is not stored.
    pub(crate) version: i64,
    /// The projects that use it.
    pub(crate) projects: Vec<String>,
}

/// A policy.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PolicyView {
    #[serde(flatten)]
    summary: PolicySummary,
    /// All of it, in the form of the configuration: what stands below `[policies.NAME]`.
    #[schema(value_type = Object)]
    policy: Value,
    /// The same as TOML, to be pasted into a file.
    toml: String,
    /// What it does about each kind of failure that does not go away, in words.
    steps: BTreeMap<&'static str, Vec<String>>,
}

/// A template.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TemplateView {
    /// Its name: `extends` takes it.
    name: &'static str,
    /// What it is for.
    about: &'static str,
    /// All of it, in the form of the configuration.
    #[schema(value_type = Object)]
    policy: Value,
    /// What it does about each kind of failure that does not go away, in words.
    steps: BTreeMap<&'static str, Vec<String>>,
}

/// The templates that every policy starts from.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Templates {
    templates: Vec<TemplateView>,
}

/// What a policy would change, without changing it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PolicyPreview {
    /// Whether it can be stored.
    valid: bool,
    /// What is wrong with it, and what deserves a second look.
    problems: Vec<FieldProblem>,
    /// What would be different, field by field.
    changes: Vec<Change>,
    /// What would be done otherwise, by kind of failure.
    steps: Vec<StepsChange>,
    /// What it would do about each kind of failure that does not go away, in words.
    all: BTreeMap<&'static str, Vec<String>>,
    /// Which list of steps each kind of failure gets: the kind's own, its category's, or `default`.
    triggers: BTreeMap<&'static str, String>,
    /// The projects it would change.
    projects: Vec<String>,
}

/// A field that would be different.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Change {
    /// Its path, such as `on.rate_limit`.
    field: String,
    /// What it is; null where it is not there.
    #[schema(value_type = Value)]
    before: Value,
    /// What it would be; null where it would not be there.
    #[schema(value_type = Value)]
    after: Value,
}

/// What would be done otherwise about a kind of failure.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StepsChange {
    /// The kind of failure.
    kind: &'static str,
    /// What is done.
    before: Vec<String>,
    /// What would be done.
    after: Vec<String>,
}

/// A simulation of a policy before and after a change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimulationRequest {
    /// The changed policy; absent: the one in force alone is run.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    policy: Option<Value>,
    /// What happens; GET /api/scenarios lists all.
    scenario: String,
}

/// What a policy did in a simulation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Simulated {
    /// The policy in force.
    #[schema(value_type = Object)]
    before: Value,
    /// The changed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    after: Option<Value>,
}

/// What can happen in a simulation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Scenarios {
    scenarios: Vec<Scenario>,
}

/// Something that can happen.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Scenario {
    /// Its name.
    name: String,
    /// What happens.
    about: String,
}

/// Every policy, with who wrote it and who uses it.
#[utoipa::path(get, path = "/api/policies", tag = "policies", responses((status = 200, body = Policies)))]
pub(crate) async fn list(State(control): State<Control>, caller: Caller) -> Result<Json<Policies>, Problem> {
    caller.must_be_admin()?;
    let snapshot = control.snapshot();
    let policies = snapshot.config.policies.keys().map(|name| summary(&control, &snapshot.config, name)).collect();
    Ok(Json(Policies { policies }))
}

/// The templates, each one design document's numbers.
#[utoipa::path(get, path = "/api/policy-templates", tag = "policies", responses((status = 200, body = Templates)))]
pub(crate) async fn templates(caller: Caller) -> Result<Json<Templates>, Problem> {
    caller.must_be_admin()?;
    // As they are without anybody's changes, the file's included.
    let templates = TEMPLATES.iter().filter_map(|(name, about)| {
        Some(TemplateView { name, about, policy: template_json(name)?, steps: steps(&template(name)?) })
    });
    Ok(Json(Templates { templates: templates.collect() }))
}

/// One policy. The answer's `etag` is its version: send it as `if-match` with a change.
#[utoipa::path(get, path = "/api/policies/{name}", tag = "policies",
    params(("name" = String, Path, description = "its name")), responses((status = 200, body = PolicyView)))]
pub(crate) async fn one(
    State(control): State<Control>,
    caller: Caller,
    Segment(name): Segment<String>,
) -> Result<Response, Problem> {
    caller.must_be_admin()?;
    view(&control, &name).map(answer)
}

/// Stores a policy: all of the document, as it would stand below `[policies.NAME]`. In force at once, and after a
/// restart. What is wrong is said field by field.
#[utoipa::path(put, path = "/api/policies/{name}", tag = "policies",
    params(("name" = String, Path, description = "its name"),
           ("if-match" = Option<String>, Header, description = "the version that was read; 0: it is not stored yet")),
    request_body(content = Object, content_type = "application/json"), responses((status = 200, body = PolicyView)))]
pub(crate) async fn put(
    State(control): State<Control>,
    caller: Caller,
    Segment(name): Segment<String>,
    headers: HeaderMap,
    Sent(policy): Sent<Value>,
) -> Result<Response, Problem> {
    caller.must_be_admin()?;
    check_name(&name)?;
    must_be_table(&policy)?;
    control.change(Space::Policy, &name, Some(policy), expected(&headers)?).await?;
    view(&control, &name).map(answer)
}

/// Takes a stored policy back: the file's or the template's of this name is in force again.
#[utoipa::path(delete, path = "/api/policies/{name}", tag = "policies",
    params(("name" = String, Path, description = "its name"),
           ("if-match" = Option<String>, Header, description = "the version that was read")),
    responses((status = 204, description = "it is no longer stored")))]
pub(crate) async fn delete(
    State(control): State<Control>,
    caller: Caller,
    Segment(name): Segment<String>,
    headers: HeaderMap,
) -> Result<http::StatusCode, Problem> {
    caller.must_be_admin()?;
    if control.stored().get(Space::Policy, &name).is_none() {
        return Err(Problem::not_found(format!("no policy `{name}` is stored")));
    }
    control.change(Space::Policy, &name, None, expected(&headers)?).await?;
    Ok(http::StatusCode::NO_CONTENT)
}

/// Checks a policy and says what it would change, without storing it.
#[utoipa::path(post, path = "/api/policies/{name}/preview", tag = "policies",
    params(("name" = String, Path, description = "its name")),
    request_body(content = Object, content_type = "application/json"), responses((status = 200, body = PolicyPreview)))]
pub(crate) async fn preview(
    State(control): State<Control>,
    caller: Caller,
    Segment(name): Segment<String>,
    Sent(policy): Sent<Value>,
) -> Result<Json<PolicyPreview>, Problem> {
    caller.must_be_admin()?;
    check_name(&name)?;
    must_be_table(&policy)?;
    let candidate = control.stored().with(Space::Policy, &name, Some(policy));
    let snapshot = control.snapshot();
    let projects = users(&snapshot.config, &name);
    let loaded = match control.load(candidate.overlay()).await {
        Ok(loaded) => loaded,
        Err(problems) => {
            let problems = fields(Space::Policy, &name, &problems);
            return Ok(Json(PolicyPreview {
                valid: false,
                problems,
                changes: Vec::new(),
                steps: Vec::new(),
                all: BTreeMap::new(),
                triggers: BTreeMap::new(),
                projects,
            }));
        }
    };
    let (before, after) = (policy_json(&snapshot.config, &name), policy_json(&loaded.config, &name));
    let mut changes = Vec::new();
    compare("", before.as_ref().unwrap_or(&Value::Null), after.as_ref().unwrap_or(&Value::Null), &mut changes);
    let of = |config: &Config| config.policies.get(&name).map(|policy| steps(policy)).unwrap_or_default();
    let (before, after) = (of(&snapshot.config), of(&loaded.config));
    let steps = FailureKind::ALL.into_iter().map(FailureKind::as_str).filter_map(|kind| {
        let (before, after) = (before.get(kind).cloned().unwrap_or_default(), after.get(kind).cloned()?);
        (before != after).then_some(StepsChange { kind, before, after })
    });
    // What deserves a second look elsewhere is not about this change; who uses it is said by itself.
    let mut warnings = loaded.warnings;
    warnings.list.retain(|warning| warning.key.starts_with(&format!("policies.{name}.")));
    let problems = fields(Space::Policy, &name, &warnings);
    let steps = steps.collect();
    let triggers = loaded.config.policies.get(&name).map(|policy| triggers(policy)).unwrap_or_default();
    Ok(Json(PolicyPreview { valid: true, problems, changes, steps, all: after, triggers, projects }))
}

/// Runs a scenario under the policy in force and under the changed one, with the same seeds.
#[utoipa::path(post, path = "/api/policies/{name}/simulate", tag = "policies",
    params(("name" = String, Path, description = "its name")), request_body = SimulationRequest,
    responses((status = 200, body = Simulated)))]
pub(crate) async fn simulate(
    State(control): State<Control>,
    caller: Caller,
    Segment(name): Segment<String>,
    Sent(asked): Sent<SimulationRequest>,
) -> Result<Json<Simulated>, Problem> {
    caller.must_be_admin()?;
    let snapshot = control.snapshot();
    let before = snapshot.config.policies.get(&name).ok_or_else(|| unknown(&name))?;
    let mut policies = vec![before.as_ref().clone()];
    if let Some(changed) = asked.policy {
        must_be_table(&changed)?;
        let candidate = control.stored().with(Space::Policy, &name, Some(changed));
        let loaded = control.load(candidate.overlay()).await.map_err(|problems| {
            let message = format!("the policy `{name}` cannot be: see `problems`");
            let problem = Problem::new(http::StatusCode::BAD_REQUEST, "invalid", message);
            problem.with_problems(fields(Space::Policy, &name, &problems))
        })?;
        policies.extend(loaded.config.policies.get(&name).map(|policy| policy.as_ref().clone()));
    }
    let simulator = std::sync::Arc::clone(control.simulator());
    let scenario = asked.scenario.clone();
    if !simulator.scenarios().iter().any(|(known, _)| *known == scenario) {
        let names: Vec<String> = simulator.scenarios().into_iter().map(|(name, _)| name).collect();
        return Err(Problem::invalid(
            "scenario",
            format!("there is no scenario `{scenario}`; there are {}", names.join(", ")),
        ));
    }
    let run = tokio::task::spawn_blocking(move || simulator.run(&scenario, &policies)).await;
    let reports = run.map_err(|error| Problem::unavailable(error.to_string()))?.map_err(Problem::unavailable)?;
    let mut reports = reports.into_iter();
    let before = reports.next().ok_or_else(|| Problem::unavailable("the simulation said nothing"))?;
    Ok(Json(Simulated { before, after: reports.next() }))
}

/// What can happen in a simulation.
#[utoipa::path(get, path = "/api/scenarios", tag = "policies", responses((status = 200, body = Scenarios)))]
pub(crate) async fn scenarios(State(control): State<Control>, caller: Caller) -> Result<Json<Scenarios>, Problem> {
    caller.must_be_admin()?;
    let scenarios = control.simulator().scenarios().into_iter();
    Ok(Json(Scenarios { scenarios: scenarios.map(|(name, about)| Scenario { name, about }).collect() }))
}

fn view(control: &Control, name: &str) -> Result<PolicyView, Problem> {
    let snapshot = control.snapshot();
    let config = &snapshot.config;
    let policy = config.policies.get(name).ok_or_else(|| unknown(name))?;
    Ok(PolicyView {
        summary: summary(control, config, name),
        policy: policy_json(config, name).unwrap_or_default(),
        toml: policy_toml(config, name).unwrap_or_default(),
        steps: steps(policy),
    })
}

fn answer(view: PolicyView) -> Response {
    let version = view.summary.version;
    with_version(Json(view).into_response(), version)
}

fn summary(control: &Control, config: &Config, name: &str) -> PolicySummary {
    let version = control.stored().version(Space::Policy, name);
    let is_template = TEMPLATES.iter().any(|(template, _)| *template == name);
    // A template that the file changes is told apart by what it says.
    let untouched =
        || template(name).is_some_and(|template| config.policies.get(name).is_some_and(|policy| **policy == template));
    let source = match (version, is_template) {
        (1.., _) => "stored",
        (_, true) if untouched() => "template",
        _ => "file",
    };
    PolicySummary { name: name.to_owned(), source, version, projects: users(config, name) }
}

fn users(config: &Config, name: &str) -> Vec<String> {
    config.projects.values().filter(|project| project.policy.name == name).map(|project| project.name.clone()).collect()
}

/// What a policy does about each kind of failure that does not go away.
fn steps(policy: &Policy) -> BTreeMap<&'static str, Vec<String>> {
    let told = |kind: FailureKind| (kind.as_str(), steps_about(policy, &Failure::new(kind, "preview")));
    FailureKind::ALL.into_iter().map(told).collect()
}

/// Which list of steps each kind of failure gets.
fn triggers(policy: &Policy) -> BTreeMap<&'static str, String> {
    let has = |trigger: &Trigger| policy.on.get(*trigger).is_some();
    let of = |kind: FailureKind| {
        let specific = [Trigger::Kind(kind), Trigger::Category(kind.category())];
        (kind.as_str(), specific.into_iter().find(has).unwrap_or(Trigger::Default).to_string())
    };
    FailureKind::ALL.into_iter().map(of).collect()
}

/// What a policy does about a failure that does not go away.
pub(crate) fn steps_about(policy: &Policy, failure: &Failure) -> Vec<String> {
    let preview = steadfast_core::preview::preview(policy, failure, Face::GATEWAY);
    let lines = preview.decisions.iter().map(|previewed| {
        let decision = &previewed.decision;
        let step = decision.step.replace('_', " ");
        let wait = if decision.wait.is_zero() { String::new() } else { format!(" in {}", Words(decision.wait)) };
        format!("{step}{wait}: {}", decision.reason)
    });
    lines.collect()
}

/// Every leaf that differs. Lists are leaves: steps are read as a whole.
fn compare(at: &str, before: &Value, after: &Value, changes: &mut Vec<Change>) {
    if before == after {
        return;
    }
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let side = |side: &serde_json::Map<String, Value>| side.get(name).cloned().unwrap_or_default();
                compare(&below(name), &side(old), &side(new), changes);
            }
        }
        _ => changes.push(Change { field: at.to_owned(), before: before.clone(), after: after.clone() }),
    }
}

fn unknown(name: &str) -> Problem {
    Problem::not_found(format!("there is no policy `{name}`"))
}

/// Names that can stand in a file and an address.
pub(crate) fn check_name(name: &str) -> Result<(), Problem> {
    let sound = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(sound) {
        let message = format!("a name has letters, digits, `-`, `_` and `.`, and at most {NAME_BYTES_MAX} of them");
        return Err(Problem::invalid("name", message));
    }
    Ok(())
}

pub(crate) fn must_be_table(document: &Value) -> Result<(), Problem> {
    let message = "send an object: what stands below the name in the configuration";
    if document.is_object() { Ok(()) } else { Err(Problem::invalid("body", message)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_told_field_by_field() {
        let before =
            json!({ "deadline": "10m", "breaker": { "failures": 5, "ratio": 0.5 }, "on": { "timeout": ["fallback"] } });
        let after = json!({ "deadline": "10m", "breaker": { "failures": 7, "ratio": 0.5 }, "on": { "timeout": ["give_up"] }, "park": "1h" });
        let mut changes = Vec::new();
        compare("", &before, &after, &mut changes);
        let told: Vec<String> =
            changes.iter().map(|change| format!("{} {} {}", change.field, change.before, change.after)).collect();
        assert_eq!(told, ["breaker.failures 5 7", "on.timeout [\"fallback\"] [\"give_up\"]", "park null \"1h\""]);
    }

    #[test]
    fn names_that_cannot_stand_in_a_file_are_refused() {
        assert!(check_name("mine-2.0_x").is_ok());
        for name in ["", "a b", "a/b", "ä", &"a".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
