//! `/api/models`: what can be asked for, where it is served, where it falls back to and climbs to.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use steadfast_config::Dialect;
use steadfast_core::route::Model;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::control::Control;

/// All models that are listed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Models {
    /// By name.
    models: Vec<ModelView>,
    /// The ladders, each from the cheapest to the most capable.
    ladders: Vec<Ladder>,
}

/// A ladder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Ladder {
    /// Its name.
    name: String,
    /// Its models, from the cheapest to the most capable.
    models: Vec<String>,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelView {
    /// The name people ask for.
    name: String,
    /// Who makes it.
    vendor: String,
    /// Where it is served, in order of preference.
    endpoints: Vec<ServedAt>,
    /// The models its requests fall back to, in order; in the caller's project, or in `default`.
    chain: Vec<String>,
    /// The models its sessions may climb to, in order.
    ladder: Vec<String>,
    /// Whether an endpoint of its own can serve it now.
    healthy: bool,
    /// Whether anybody in its chain can.
    servable: bool,
    /// How many tokens it holds, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u32>,
    /// What it costs, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<PriceView>,
}

/// An endpoint that serves a model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServedAt {
    /// The endpoint.
    endpoint: String,
    /// The model's name there, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<String>,
    /// Whether an attempt may start there now.
    usable: bool,
    /// Its breaker: `closed`, `open` or `half_open`.
    breaker: &'static str,
}

/// A price, in dollars per million tokens.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PriceView {
    /// Per million tokens read.
    input_usd: f64,
    /// Per million tokens written.
    output_usd: f64,
}

/// Every model that is listed, with its chain, its ladder and how it is.
#[utoipa::path(get, path = "/api/models", tag = "endpoints", responses((status = 200, body = Models)))]
pub(crate) async fn list(State(control): State<Control>, caller: Caller) -> Json<Models> {
    let snapshot = control.snapshot();
    let mut models: Vec<ModelView> =
        snapshot.config.catalogue.models().map(|model| view(&control, &caller, model)).collect();
    models.sort_by(|one, other| one.name.cmp(&other.name));
    let ladders = snapshot
        .config
        .ladders
        .iter()
        .map(|(name, rungs)| Ladder { name: name.clone(), models: rungs.iter().map(ToString::to_string).collect() });
    Json(Models { models, ladders: ladders.collect() })
}

fn view(control: &Control, caller: &Caller, model: &Model) -> ModelView {
    let snapshot = control.snapshot();
    let now = control.clock().now();
    let served = |model: &Model| -> Vec<ServedAt> {
        let known =
            model.endpoints.iter().filter_map(|served| Some((served, snapshot.world.endpoint(served.endpoint)?)));
        let known = known.map(|(served, endpoint)| ServedAt {
            endpoint: endpoint.name.to_string(),
            alias: served.alias.as_ref().map(ToString::to_string),
            usable: !endpoint.breaker.is_open(now) && endpoint.set_aside_until(now).is_none(),
            breaker: endpoint.breaker.state(now).name(),
        });
        known.collect()
    };
    let project = snapshot.config.project(caller.project());
    let route = snapshot.config.route(project, &model.name, Dialect::OpenAi);
    let endpoints = served(model);
    let usable = |endpoints: &[ServedAt]| endpoints.iter().any(|endpoint| endpoint.usable);
    let usd = |micros: u64| micros as f64 / 1e6;
    ModelView {
        name: model.name.to_string(),
        vendor: model.vendor.to_string(),
        healthy: usable(&endpoints),
        servable: route.chain().iter().any(|model| usable(&served(model))),
        endpoints,
        chain: route.chain().iter().skip(1).map(|model| model.name.to_string()).collect(),
        ladder: route.ladder().iter().map(|model| model.name.to_string()).collect(),
        context_window: model.context_window,
        price: model.price.map(|price| PriceView {
            input_usd: usd(price.input_usd_micros),
            output_usd: usd(price.output_usd_micros),
        }),
    }
}
