//! `/api/endpoints`: breaker, health, how they fare, and a person's word over the breaker's own.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::json;
use steadfast_config::{Credential, Endpoint as Configured};
use steadfast_core::breaker::{self, Mode, Override};
use steadfast_core::world::Endpoint as Known;
use steadfast_store::Expected;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::live::Second;
use crate::page::{Listed, paging};
use crate::problem::{Params, Problem, Segment, Sent};
use crate::stored::Space;
use crate::time::{iso, iso_ms, millis, on_wall, parse};

/// A person's word holds for a week at most: nobody remembers it longer.
const OVERRIDE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A reason is a sentence or two.
const REASON_CHARS_MAX: usize = 500;

/// All endpoints.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Endpoints {
    /// In order of preference.
    endpoints: Vec<EndpointView>,
}

/// An endpoint: a base URL plus a credential, and what is known about it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndpointView {
    /// Its name.
    name: String,
    /// The wire format spoken there: `anthropic`, `openai` or `gemini`.
    dialect: &'static str,
    /// Its base URL; for the admin only.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Whose key is sent: `own`, `client`, or `missing` where one is configured but was not found.
    credential: &'static str,
    /// The models it serves.
    models: Vec<String>,
    /// Whether an attempt may start there now.
    usable: bool,
    /// Its breaker.
    breaker: BreakerView,
    /// Its health checks, where it has some and they have been made.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<HealthView>,
    /// How its attempts of the last minute ended: `served` and `failures` count attempts.
    minute: Second,
    /// The average latency of attempts that served; newer ones weigh more.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
    /// When it last served.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_served: Option<String>,
    /// Its last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_failure: Option<LastFailure>,
    /// It asked to be left alone, and others serve meanwhile.
    paused: bool,
    /// Its quota is exhausted until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    set_aside_until: Option<String>,
}

/// A breaker.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BreakerView {
    /// `closed` (traffic flows), `open` (refused) or `half_open` (probes decide).
    state: &'static str,
    /// When an open one lets probes through.
    #[serde(skip_serializing_if = "Option::is_none")]
    opens_until: Option<String>,
    /// When it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
    /// Probes in flight.
    probes: usize,
    /// How many times it has opened or closed.
    generation: u64,
    /// A person's word over its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#override: Option<OverrideView>,
    /// When it trips.
    settings: BreakerSettings,
}

/// When a breaker trips and how it comes back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BreakerSettings {
    /// Failures in a row that trip it.
    failures: u32,
    /// Whether it asks for longer runs under heavy traffic.
    adaptive: bool,
    /// The share of bad outcomes in the window that trips it.
    ratio: f64,
    /// How far back the ratio looks.
    window_ms: u64,
    /// How long it stays open at first.
    cooldown_ms: u64,
    /// How long it stays open at most.
    cooldown_max_ms: u64,
}

/// A person's word over a breaker's own.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OverrideView {
    /// `forced_open`, `forced_closed` or `shadow`.
    mode: &'static str,
    /// Who and why.
    reason: String,
    /// When the breaker decides by itself again.
    until: String,
}

/// Health checks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthView {
    /// Whether they are answered well enough.
    healthy: bool,
    /// When it was last asked.
    at: String,
    /// The share of recent questions that failed.
    failure_share: f64,
    /// The average time of its answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
}

/// The last failure of an endpoint.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LastFailure {
    /// When.
    time: String,
    /// Its kind.
    kind: &'static str,
}

/// Which part of a breaker's history.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryQuery {
    /// Where the part before ended.
    cursor: Option<String>,
    /// How many; 50 where nobody says.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u16>,
}

/// Something a breaker did, or was told.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BreakerChangeView {
    /// When.
    time: String,
    /// What it is since: `open`, `half_open`, `closed`, what a person forced it to, or `automatic`.
    state: String,
    /// The request whose attempt did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
}

/// What a person says about a breaker.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OverrideRequest {
    /// What the breaker does while it lasts.
    mode: OverrideMode,
    /// Who and why, in words.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
    /// For how many seconds; a week at most. This or `until`.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 604_800)]
    seconds: Option<u64>,
    /// Until when (RFC 3339), within a week. This or `seconds`.
    #[serde(default)]
    #[schema(format = DateTime)]
    until: Option<String>,
}

/// What a breaker is told to do.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OverrideMode {
    /// Admits nothing.
    ForcedOpen,
    /// Admits everything.
    ForcedClosed,
    /// Decides as ever, but refuses nobody.
    Shadow,
}

/// Every endpoint with its breaker and health.
#[utoipa::path(get, path = "/api/endpoints", tag = "endpoints", responses((status = 200, body = Endpoints)))]
pub(crate) async fn list(State(control): State<Control>, caller: Caller) -> Json<Endpoints> {
    let snapshot = control.snapshot();
    let endpoints = snapshot.config.endpoints.iter().zip(snapshot.world.endpoints());
    let endpoints = endpoints.map(|(configured, (_, known))| EndpointView::of(&control, &caller, configured, known));
    Json(Endpoints { endpoints: endpoints.collect() })
}

/// One endpoint.
#[utoipa::path(get, path = "/api/endpoints/{name}", tag = "endpoints",
    params(("name" = String, Path, description = "its name")),
    responses((status = 200, body = EndpointView)))]
pub(crate) async fn one(
    State(control): State<Control>,
    caller: Caller,
    Segment(name): Segment<String>,
) -> Result<Json<EndpointView>, Problem> {
    found(&control, &caller, &name).map(Json)
}

/// What an endpoint's breaker did, newest first. For the admin, as requests of every project are named.
#[utoipa::path(get, path = "/api/endpoints/{name}/history", tag = "endpoints",
    params(HistoryQuery, ("name" = String, Path, description = "its name")),
    responses((status = 200, body = Listed<BreakerChangeView>)))]
pub(crate) async fn history(
    State(control): State<Control>,
    caller: Caller,
    Segment(name): Segment<String>,
    Params(asked): Params<HistoryQuery>,
) -> Result<Json<Listed<BreakerChangeView>>, Problem> {
    caller.must_be_admin()?;
    found(&control, &caller, &name)?;
    let paging = paging(asked.cursor.as_deref(), asked.limit)?;
    let page = control.store().breaker_changes(Some(name), paging).await;
    let page = page.map_err(|error| Problem::of_store(&error))?;
    Ok(Json(Listed::of(page, |change| BreakerChangeView {
        time: iso_ms(change.time),
        state: change.state,
        request: change.request,
    })))
}

/// Puts a person's word over a breaker's own, for a set time. Kept over a restart.
#[utoipa::path(put, path = "/api/endpoints/{name}/override", tag = "endpoints",
    params(("name" = String, Path, description = "its name")), request_body = OverrideRequest,
    responses((status = 200, body = EndpointView)))]
pub(crate) async fn force(
    State(control): State<Control>,
    caller: Caller,
    Segment(name): Segment<String>,
    Sent(asked): Sent<OverrideRequest>,
) -> Result<Json<EndpointView>, Problem> {
    caller.must_be_admin()?;
    found(&control, &caller, &name)?;
    let word = word(&control, &asked)?;
    let until = on_wall(control.clock(), word.until).as_millis();
    let stored = json!({ "mode": word.mode.name(), "reason": word.reason, "until": until });
    control.change(Space::Override, &name, Some(stored), Expected::Anything).await?;
    control.engine().override_breaker(&name, Some(word));
    found(&control, &caller, &name).map(Json)
}

/// Lets a breaker decide by itself again.
#[utoipa::path(delete, path = "/api/endpoints/{name}/override", tag = "endpoints",
    params(("name" = String, Path, description = "its name")),
    responses((status = 200, body = EndpointView)))]
pub(crate) async fn release(
    State(control): State<Control>,
    caller: Caller,
    Segment(name): Segment<String>,
) -> Result<Json<EndpointView>, Problem> {
    caller.must_be_admin()?;
    found(&control, &caller, &name)?;
    if control.stored().get(Space::Override, &name).is_some() {
        control.change(Space::Override, &name, None, Expected::Anything).await?;
    }
    control.engine().override_breaker(&name, None);
    found(&control, &caller, &name).map(Json)
}

fn word(control: &Control, asked: &OverrideRequest) -> Result<Override, Problem> {
    let reason = asked.reason.trim();
    if reason.is_empty() || reason.chars().count() > REASON_CHARS_MAX {
        return Err(Problem::invalid("reason", format!("say who and why, in at most {REASON_CHARS_MAX} characters")));
    }
    let wall = control.clock().wall();
    let time = match (asked.seconds, &asked.until) {
        (Some(seconds), None) => Duration::from_secs(seconds),
        (None, Some(until)) => {
            let until =
                parse(until).ok_or_else(|| Problem::invalid("until", "a moment such as 2026-01-31T18:00:00Z"))?;
            Duration::from_millis(u64::try_from(until.as_millis() - wall.as_millis()).unwrap_or(0))
        }
        _ => return Err(Problem::invalid("seconds", "say how long it holds: either `seconds` or `until`")),
    };
    if time.is_zero() || time > OVERRIDE_MAX {
        return Err(Problem::invalid("seconds", "it must end in the future, and within a week"));
    }
    Ok(Override { mode: asked.mode.into(), reason: reason.to_owned(), until: control.clock().now() + time })
}

fn found(control: &Control, caller: &Caller, name: &str) -> Result<EndpointView, Problem> {
    let snapshot = control.snapshot();
    let mut endpoints = snapshot.config.endpoints.iter().zip(snapshot.world.endpoints());
    let found = endpoints.find(|(configured, _)| *configured.name == *name);
    let (configured, (_, known)) = found.ok_or_else(|| Problem::not_found(format!("there is no endpoint `{name}`")))?;
    Ok(EndpointView::of(control, caller, configured, known))
}

impl EndpointView {
    fn of(control: &Control, caller: &Caller, configured: &Configured, known: &Known) -> Self {
        let clock = control.clock();
        let (now, wall) = (clock.now(), clock.wall());
        let fare = control.pulse().fare(&configured.name);
        let snapshot = control.snapshot();
        let served = |model: &&std::sync::Arc<steadfast_core::route::Model>| {
            let mut endpoints = model.endpoints.iter().filter_map(|served| snapshot.config.endpoint(served.endpoint));
            endpoints.any(|endpoint| endpoint.name == configured.name)
        };
        let mut models: Vec<String> =
            snapshot.config.catalogue.models().filter(served).map(|model| model.name.to_string()).collect();
        models.sort_unstable();
        let missing = matches!(configured.credential, Credential::Missing { .. });
        Self {
            name: configured.name.to_string(),
            dialect: configured.dialect.as_str(),
            url: (*caller == Caller::Admin).then(|| configured.url.to_string()),
            credential: match configured.credential {
                Credential::Own(_) => "own",
                Credential::Client => "client",
                Credential::Missing { .. } => "missing",
            },
            models,
            usable: !missing && !known.breaker.is_open(now) && known.set_aside_until(now).is_none(),
            breaker: BreakerView::of(control, &known.breaker, fare.breaker_changed),
            health: control.engine().checked(&configured.name).map(|checked| HealthView {
                healthy: checked.healthy,
                at: iso(checked.at),
                failure_share: checked.failure_share,
                latency_ms: checked.latency.map(millis),
            }),
            minute: Second::of(fare.meter.sum(wall)),
            latency_ms: fare.latency_ms.map(|latency| latency.round() as u64),
            last_served: fare.served.map(iso),
            last_failure: fare.failure.map(|(time, kind)| LastFailure { time: iso(time), kind: kind.as_str() }),
            paused: known.is_paused(now),
            set_aside_until: known.set_aside_until(now).map(|until| iso(on_wall(clock, until))),
        }
    }
}

impl BreakerView {
    fn of(control: &Control, breaker: &breaker::Breaker, changed: Option<steadfast_core::Timestamp>) -> Self {
        let clock = control.clock();
        let now = clock.now();
        let state = breaker.state(now);
        let settings = breaker.settings();
        Self {
            state: state.name(),
            opens_until: match state {
                breaker::State::Open { until } => Some(iso(on_wall(clock, until))),
                breaker::State::Closed | breaker::State::HalfOpen => None,
            },
            changed: changed.map(iso),
            probes: breaker.probes_in_flight(now),
            generation: breaker.generation(),
            r#override: breaker.current_override(now).map(|word| OverrideView {
                mode: word.mode.name(),
                reason: word.reason,
                until: iso(on_wall(clock, word.until)),
            }),
            settings: BreakerSettings {
                failures: settings.failures,
                adaptive: settings.adaptive,
                ratio: settings.ratio,
                window_ms: millis(settings.window),
                cooldown_ms: millis(settings.cooldown),
                cooldown_max_ms: millis(settings.cooldown_max),
            },
        }
    }
}

impl From<OverrideMode> for Mode {
    fn from(mode: OverrideMode) -> Self {
        match mode {
            OverrideMode::ForcedOpen => Self::ForcedOpen,
            OverrideMode::ForcedClosed => Self::ForcedClosed,
            OverrideMode::Shadow => Self::Shadow,
        }
    }
}
