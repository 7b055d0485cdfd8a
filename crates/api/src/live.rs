//! `/api/health`, `/api/whoami` and `/api/now`: alive, who am I, what is going on.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::pulse::{Open, Traffic};
use crate::record::Target;
use crate::time::iso;

/// Requests under way that are listed one by one.
const SHOWN_MAX: usize = 200;

/// That the API answers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`.
    status: &'static str,
    /// The version of Steadfast.
    version: &'static str,
}

/// Who the caller is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Whoami {
    /// `admin` or `project`.
    role: &'static str,
    /// The only project the caller sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

/// What is going on.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Now {
    /// When this was true.
    time: String,
    /// Since when the gateway runs.
    started: String,
    /// Whether anything is recovered at all.
    enabled: bool,
    /// What goes wrong on purpose right now, in words; only in a demo.
    #[serde(skip_serializing_if = "Option::is_none")]
    playing: Option<String>,
    /// The number of the next live event: ask for events from here on.
    next_event: u64,
    /// The last minute, second by second, the oldest first.
    traffic: Vec<Second>,
    /// The last minute altogether.
    minute: Second,
    /// How many requests are under way.
    under_way: usize,
    /// How many of them wait for their next attempt.
    waiting: usize,
    /// The requests under way, those that wait first, at most 200.
    requests: Vec<UnderWay>,
    /// How many conversations are remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<usize>,
    /// How many follow the live events.
    #[serde(skip_serializing_if = "Option::is_none")]
    readers: Option<usize>,
}

/// What was counted in a second, or in a minute.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
pub(crate) struct Second {
    /// Requests that came in.
    pub(crate) requests: u64,
    /// Requests that were served.
    pub(crate) served: u64,
    /// Of these, those that needed more than one attempt.
    pub(crate) recovered: u64,
    /// Requests that failed for good.
    pub(crate) failed: u64,
    /// Attempts that failed.
    pub(crate) failures: u64,
}

/// A request under way.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnderWay {
    /// Its id.
    request: String,
    /// Who pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    /// Its conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The agent within it.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The program that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    /// When it came in.
    began: String,
    /// The model asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Which attempt is made or was last made.
    attempt: u32,
    /// How many it may make.
    attempts_max: u32,
    /// Where the attempt goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
    /// `running` or `waiting`.
    state: &'static str,
    /// When the next attempt starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_until: Option<String>,
    /// How the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// What was decided about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
}

/// Says that the API answers. Needs no token.
#[utoipa::path(get, path = "/api/health", tag = "live", security(()), responses((status = 200, body = Health)))]
pub(crate) async fn health() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// Says who is calling: the admin, or a project.
#[utoipa::path(get, path = "/api/whoami", tag = "live", responses((status = 200, body = Whoami)))]
pub(crate) async fn whoami(caller: Caller) -> Json<Whoami> {
    let role = if caller == Caller::Admin { "admin" } else { "project" };
    Json(Whoami { role, project: caller.project().map(str::to_owned) })
}

/// What is going on: traffic of the last minute, requests under way, retries that wait.
#[utoipa::path(get, path = "/api/now", tag = "live", responses((status = 200, body = Now)))]
pub(crate) async fn now(State(control): State<Control>, caller: Caller) -> Json<Now> {
    let now = control.clock().wall();
    let traffic = control.pulse().traffic(caller.project(), now);
    let minute = traffic.into_iter().fold(Traffic::default(), |mut sum, more| {
        sum.add(more);
        sum
    });
    let mut open = control.pulse().open(now);
    open.retain(|(_, open)| caller == Caller::Admin || open.project.as_deref().is_some_and(|own| caller.sees(own)));
    open.sort_by_key(|(_, open)| (open.waits_until.is_none(), open.began.as_millis()));
    Json(Now {
        time: iso(now),
        started: iso(control.started()),
        enabled: control.snapshot().config.enabled,
        playing: control.playing().as_deref().map(str::to_owned),
        next_event: control.engine().live().next(),
        traffic: traffic.into_iter().map(Second::of).collect(),
        minute: Second::of(minute),
        under_way: open.len(),
        waiting: open.iter().filter(|(_, open)| open.waits_until.is_some()).count(),
        requests: open.iter().take(SHOWN_MAX).map(|(id, open)| UnderWay::of(id, open)).collect(),
        sessions: (caller == Caller::Admin).then(|| control.engine().sessions()),
        readers: (caller == Caller::Admin).then(|| control.readers_now()),
    })
}

impl Second {
    pub(crate) fn of(traffic: Traffic) -> Self {
        let Traffic { requests, served, recovered, failed, failures } = traffic;
        Self { requests, served, recovered, failed, failures }
    }
}

impl UnderWay {
    fn of(id: &str, open: &Open) -> Self {
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        Self {
            request: id.to_owned(),
            project: text(&open.project),
            session: text(&open.session),
            agent: text(&open.agent),
            client: text(&open.client),
            began: iso(open.began),
            model: text(&open.model),
            attempt: open.attempt,
            attempts_max: open.attempts_max,
            target: open.target.as_ref().map(Target::of),
            state: if open.waits_until.is_some() { "waiting" } else { "running" },
            waits_until: open.waits_until.map(iso),
            kind: open.last_kind.map(steadfast_core::FailureKind::as_str),
            step: open.step.clone(),
        }
    }
}
