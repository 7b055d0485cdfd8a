//! `/api/alerts`: what a person should know, and who has taken note.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::json;
use steadfast_store::{Alert, AlertFilter, Expected};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;
use crate::page::{Listed, paging};
use crate::problem::{Params, Problem, Segment, Sent};
use crate::stored::Space;
use crate::time::iso_ms;

/// A note is a sentence or two.
const NOTE_CHARS_MAX: usize = 500;

/// Which alerts.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AlertsQuery {
    /// Only those that are not over.
    #[serde(default)]
    open: bool,
    /// Only those about this project or model.
    about: Option<String>,
    /// Where the part before ended.
    cursor: Option<String>,
    /// How many; 50 where nobody says.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u16>,
}

/// Something a person should know, or should have known.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AlertView {
    /// Its number.
    id: String,
    /// What is the matter: `many_failures`, `fallback_rate`, `chain_failed` or `in_a_row`.
    alert: String,
    /// The project or model it is about.
    about: String,
    /// In words.
    reason: String,
    /// When it began.
    raised: String,
    /// When it was over: alerts end by themselves when their cause does.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved: Option<String>,
    /// The request that crossed the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    /// Who has taken note of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    acknowledged: Option<Acknowledged>,
}

/// That somebody has taken note.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Acknowledged {
    /// When.
    time: String,
    /// What was said.
    note: String,
}

/// What to say when taking note.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcknowledgeRequest {
    /// Who, and what is being done.
    #[serde(default)]
    #[schema(max_length = 500)]
    note: String,
}

/// Alerts, newest first. For the admin.
#[utoipa::path(get, path = "/api/alerts", tag = "alerts", params(AlertsQuery),
    responses((status = 200, body = Listed<AlertView>)))]
pub(crate) async fn list(
    State(control): State<Control>,
    caller: Caller,
    Params(asked): Params<AlertsQuery>,
) -> Result<Json<Listed<AlertView>>, Problem> {
    caller.must_be_admin()?;
    let paging = paging(asked.cursor.as_deref(), asked.limit)?;
    let filter = AlertFilter { open: asked.open, about: asked.about };
    let page = control.store().alerts(filter, paging).await.map_err(|error| Problem::of_store(&error))?;
    Ok(Json(Listed::of(page, |alert| AlertView::of(&control, alert))))
}

/// Takes note of an alert: it stays, and says who looks after it.
#[utoipa::path(post, path = "/api/alerts/{id}/acknowledge", tag = "alerts", request_body = AcknowledgeRequest,
    params(("id" = i64, Path, description = "its number")), responses((status = 200, body = Acknowledged)))]
pub(crate) async fn acknowledge(
    State(control): State<Control>,
    caller: Caller,
    Segment(id): Segment<i64>,
    Sent(asked): Sent<AcknowledgeRequest>,
) -> Result<Json<Acknowledged>, Problem> {
    caller.must_be_admin()?;
    if asked.note.chars().count() > NOTE_CHARS_MAX {
        return Err(Problem::invalid("note", format!("at most {NOTE_CHARS_MAX} characters")));
    }
    let alert = control.store().alert(id).await.map_err(|error| Problem::of_store(&error))?;
    if alert.is_none() {
        return Err(Problem::not_found(format!("there is no alert {id}, or it is no longer kept")));
    }
    let body = json!({ "note": asked.note.trim() });
    let document = control.change(Space::Acknowledged, &id.to_string(), Some(body), Expected::Anything).await?;
    let time = iso_ms(document.map_or(0, |document| document.updated));
    Ok(Json(Acknowledged { time, note: asked.note.trim().to_owned() }))
}

impl AlertView {
    fn of(control: &Control, alert: Alert) -> Self {
        let stored = control.stored();
        let acknowledged = stored.get(Space::Acknowledged, &alert.id.to_string()).map(|document| Acknowledged {
            time: iso_ms(document.updated),
            note: document.body.as_ref().and_then(|body| body["note"].as_str()).unwrap_or_default().to_owned(),
        });
        Self {
            id: alert.id.to_string(),
            alert: alert.alert,
            about: alert.about,
            reason: alert.reason,
            raised: iso_ms(alert.raised),
            resolved: alert.resolved.map(iso_ms),
            request: alert.request,
            acknowledged,
        }
    }
}
