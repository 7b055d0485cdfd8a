//! `/api/sessions/{id}/escalate`: a person moves a session up its ladder, or back.
//!
//! First the estimate, then the same with `confirm`. The climb is committed before it is acknowledged and sticks to
//! the session, also over a restart. If the model there does not serve, the session returns by itself and says so.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::json;
use steadfast_config::Dialect;
use steadfast_core::cost::{Estimate, Usage};
use steadfast_core::record::{Climb, Event, Place, Record};
use steadfast_core::route::Model;
use steadfast_core::spend::SpendBudget;
use steadfast_core::world::Session;
use steadfast_store::{Escalation, Expected};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::problem::{Params, Problem, Segment, Sent};
use crate::record::Tokens;
use crate::sessions::{EscalationRecord, SessionQuery, SessionView, found};
use crate::stored::Space;

/// Where a session is to climb.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EscalateRequest {
    /// The session's project, where several have one of this name.
    #[serde(default)]
    project: Option<String>,
    /// A model up its ladder; absent: the next one.
    #[serde(default)]
    to: Option<String>,
    /// Do it. Without this the answer only says what it would cost.
    #[serde(default)]
    confirm: bool,
}

/// What a climb costs, and whether it was made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Escalated {
    /// The model the session uses.
    from: String,
    /// The model it would use, or uses from now on.
    to: String,
    /// Every model up the ladder from the one asked for.
    ladder: Vec<String>,
    /// Tokens of an average turn of this session; none before its first.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_per_turn: Option<Tokens>,
    /// An average turn on the model before, in micro-dollars, where its price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_usd_micros: Option<u64>,
    /// An average turn on the model after.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_usd_micros: Option<u64>,
    /// How much more a turn costs, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<i64>,
    /// What the session and its project may still spend, in micro-dollars, where there is a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_usd_micros: Option<u64>,
    /// Whether an average turn still fits what is left.
    affordable: bool,
    /// Whether the climb was made.
    confirmed: bool,
    /// The climb as it is recorded; only where it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<EscalationRecord>,
}

/// A session's way: the model asked for, where it stands, and what lies above.
struct Way {
    session: Arc<Session>,
    asked: Arc<Model>,
    /// The model it uses.
    at: Arc<Model>,
    rungs: Vec<Arc<Model>>,
}

/// Says what moving a session up its ladder costs, and with `confirm` does it.
#[utoipa::path(post, path = "/api/sessions/{id}/escalate", tag = "sessions", request_body = EscalateRequest,
    params(("id" = String, Path, description = "the session")), responses((status = 200, body = Escalated)))]
pub(crate) async fn escalate(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Sent(wanted): Sent<EscalateRequest>,
) -> Result<Json<Escalated>, Problem> {
    let view = found(&control, &caller, &id, wanted.project.clone()).await?;
    let way = Way::of(&control, &view)?;
    let to = way.choose(wanted.to.as_deref())?;
    let mut answer = way.estimate(&control, &view, &to);
    if !wanted.confirm {
        return Ok(Json(answer));
    }
    if !answer.affordable {
        let message = "an average turn on that model does not fit what the budget leaves";
        return Err(Problem::new(http::StatusCode::CONFLICT, "over_budget", message));
    }
    let climb =
        Climb { reason: "manual".into(), from_usd_micros: answer.from_usd_micros, to_usd_micros: answer.to_usd_micros };
    let climbed = move_session(&control, &view, &way, Some(&to), climb).await?;
    answer.confirmed = true;
    answer.record = Some(EscalationRecord::of(climbed));
    Ok(Json(answer))
}

/// Takes a climb back: the session uses the model it asks for.
#[utoipa::path(delete, path = "/api/sessions/{id}/escalate", tag = "sessions",
    params(("id" = String, Path, description = "the session"), SessionQuery),
    responses((status = 200, body = EscalationRecord)))]
pub(crate) async fn roll_back(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<String>,
    Params(asked): Params<SessionQuery>,
) -> Result<Json<EscalationRecord>, Problem> {
    let view = found(&control, &caller, &id, asked.project).await?;
    let way = Way::of(&control, &view)?;
    if way.session.escalated().is_none() {
        return Err(Problem::conflict(format!("the session `{id}` uses the model it asks for")));
    }
    let climb = Climb { reason: "manual".into(), from_usd_micros: None, to_usd_micros: None };
    let returned = move_session(&control, &view, &way, None, climb).await?;
    Ok(Json(EscalationRecord::of(returned)))
}

/// Commits the move, then makes it, then says so.
async fn move_session(
    control: &Control,
    view: &SessionView,
    way: &Way,
    to: Option<&Arc<Model>>,
    climb: Climb,
) -> Result<Escalation, Problem> {
    let name = format!("{}/{}", view.project, view.session);
    let state = if to.is_some() { "climbed" } else { "rolled_back" };
    let target = to.unwrap_or(&way.asked);
    let time = control.clock().wall();
    let escalation = Escalation {
        session: view.session.clone(),
        project: view.project.clone(),
        time: time.as_millis(),
        state: state.to_owned(),
        reason: climb.reason.to_string(),
        from_model: way.at.name.to_string(),
        to_model: target.name.to_string(),
        from_usd_micros: climb.from_usd_micros,
        to_usd_micros: climb.to_usd_micros,
        request: None,
    };
    let body = to.map(|model| json!({ "model": *model.name, "asked": *way.asked.name }));
    if body.is_some() || control.stored().get(Space::Climb, &name).is_some() {
        control.change(Space::Climb, &name, body, Expected::Anything).await?;
    }
    control.store().escalate(escalation.clone()).await.map_err(|error| Problem::of_store(&error))?;
    way.session.stick_to(to.map(|model| Arc::clone(&model.name)));
    let place = |model: &Model| Some(Place { model: Arc::clone(&model.name), endpoint: Arc::default() });
    control.engine().record(Record {
        about: Some(view.session.as_str().into()),
        session: Some(view.session.as_str().into()),
        project: Some(view.project.as_str().into()),
        state: Some(state.into()),
        from: place(&way.at),
        to: place(target),
        reason: Some(format!("a person moved it from `{}` to `{}`", way.at.name, target.name).into()),
        escalation: Some(climb),
        ..Record::new(time, Event::Escalation, Arc::default())
    });
    Ok(escalation)
}

impl Way {
    fn of(control: &Control, view: &SessionView) -> Result<Self, Problem> {
        let engine = control.engine();
        let snapshot = control.snapshot();
        let missing = || Problem::not_found(format!("there is no project `{}`", view.project));
        let session = engine.open_session(&view.project, &view.session).ok_or_else(missing)?;
        let stored = control.stored().body(Space::Climb, &format!("{}/{}", view.project, view.session)).cloned();
        let turn = engine.last_turn(&view.project, &view.session);
        let dialect =
            turn.as_ref().map_or(Dialect::OpenAi, |turn| steadfast_engine::dialect_of(turn.call.route.family));
        let last = turn.and_then(|turn| turn.call.envelope.model.clone());
        let first = stored.as_ref().and_then(|stored| stored["asked"].as_str().map(str::to_owned));
        let asked = last.or(first).or_else(|| view.model.clone());
        let asked = asked.ok_or_else(|| Problem::conflict("the session has not asked for a model yet"))?;
        let project = snapshot.config.project(Some(&view.project));
        let route = snapshot.config.route(project, &asked, dialect);
        let at = session.escalated().and_then(|name| route.ladder().iter().find(|rung| rung.name == name).cloned());
        let asked = Arc::new(route.primary().clone());
        Ok(Self { session, at: at.unwrap_or_else(|| Arc::clone(&asked)), asked, rungs: route.ladder().to_vec() })
    }

    /// The rung that is meant.
    fn choose(&self, wanted: Option<&str>) -> Result<Arc<Model>, Problem> {
        let names = || self.rungs.iter().map(|rung| format!("`{}`", rung.name)).collect::<Vec<_>>().join(", ");
        match wanted {
            Some(name) => self.rungs.iter().find(|rung| *rung.name == *name).cloned().ok_or_else(|| {
                let message = match self.rungs.is_empty() {
                    true => format!(
                        "no ladder leads up from `{}`: [ladders] in the configuration names them",
                        self.asked.name
                    ),
                    false => format!("`{name}` is not up the ladder from `{}`: there are {}", self.asked.name, names()),
                };
                Problem::invalid("to", message)
            }),
            None => {
                let here = self.rungs.iter().position(|rung| rung.name == self.at.name).map_or(0, |here| here + 1);
                self.rungs.get(here).cloned().ok_or_else(|| {
                    let message = format!("`{}` is the most capable model of its ladder", self.at.name);
                    Problem::new(http::StatusCode::CONFLICT, "at_the_top", message)
                })
            }
        }
    }

    fn estimate(&self, control: &Control, view: &SessionView, to: &Model) -> Escalated {
        let usage = self.session.usage_per_turn().or_else(|| {
            let per_turn = |tokens: u64| tokens.checked_div(view.requests);
            Some(Usage { input_tokens: per_turn(view.input_tokens)?, output_tokens: per_turn(view.output_tokens)? })
        });
        let estimate = usage.zip(self.at.price).zip(to.price).map(|((usage, from), to)| Estimate::new(usage, from, to));
        let snapshot = control.snapshot();
        let project = snapshot.project(&view.project).and_then(|project| left(&project.spend));
        let left = [project, left(&self.session.spend)].into_iter().flatten().min();
        let costs = estimate.map(|estimate| estimate.to_usd_micros);
        Escalated {
            from: self.at.name.to_string(),
            to: to.name.to_string(),
            ladder: self.rungs.iter().map(|rung| rung.name.to_string()).collect(),
            tokens_per_turn: usage.map(Tokens::of),
            from_usd_micros: estimate.map(|estimate| estimate.from_usd_micros),
            to_usd_micros: costs,
            percent: estimate.and_then(|estimate| estimate.percent()),
            left_usd_micros: left,
            affordable: left.is_none_or(|left| costs.unwrap_or(0) <= left),
            confirmed: false,
            record: None,
        }
    }
}

/// What may still be spent, where there is a limit.
fn left(spend: &SpendBudget) -> Option<u64> {
    Some(spend.limit_usd_micros()?.saturating_sub(spend.total_usd_micros()))
}
