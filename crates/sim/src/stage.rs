//! The world of a run, built from a scenario and a policy: endpoints, routes, projects.

use std::sync::Arc;

use steadfast_core::cost::Price;
use steadfast_core::policy::{Policy, VendorBoundary};
use steadfast_core::route::{Abilities, Catalogue, EndpointId, Model, Route, RouteError, Served};
use steadfast_core::world::{Endpoint, Project, World};

use crate::scenario::Scenario;

/// Everything that stands before the first request comes in.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) policy: Arc<Policy>,
    pub(crate) world: World,
    /// One per primary model.
    pub(crate) routes: Vec<Way>,
    pub(crate) projects: Vec<Arc<Project>>,
    /// A strict boundary left a model of another vendor out of a chain or a ladder.
    pub(crate) vendor_left_out: bool,
}

/// A route with what the checks need to know about it.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) route: Arc<Route>,
    /// The endpoints it touches, one bit each.
    pub(crate) endpoints: u64,
}

impl Stage {
    pub(crate) fn new(scenario: &Scenario, policy: &Policy, seed: u64) -> Result<Self, RouteError> {
        let endpoint = |(index, spec): (usize, &crate::scenario::EndpointSpec)| {
            Endpoint::new(&spec.name, policy.breaker, policy.retry_share, seed.wrapping_add(index as u64))
        };
        let world = World::new(scenario.endpoints.iter().enumerate().map(endpoint).collect());
        let catalogue = catalogue(scenario);
        let mut routes = Vec::new();
        let mut vendor_left_out = false;
        for spec in scenario.models.iter().take(scenario.primaries.max(1)) {
            let Some(model) = catalogue.model(&spec.name) else { continue };
            let (route, all) = route(&catalogue, model, policy.vendor_boundary, scenario)?;
            vendor_left_out |= route.chain().len() + route.ladder().len() < all;
            let served = route.chain().iter().chain(route.ladder()).flat_map(|model| &model.endpoints);
            let endpoints = served.fold(0, |bits, served| bits | 1 << served.endpoint.0);
            routes.push(Way { route: Arc::new(route), endpoints });
        }
        let project = |index| {
            let name = format!("p{index}");
            Arc::new(Project::new(&name, policy.fallback_share, scenario.spend.project_usd_micros))
        };
        let projects = (0..scenario.projects.max(1)).map(project).collect();
        Ok(Self { policy: Arc::new(policy.clone()), world, routes, projects, vendor_left_out })
    }
}

/// A model's way, and how many models would be on it if vendors did not matter.
///
/// Under a strict boundary the chain is asked for all the same. Only where the core says that it leaves the vendor is the
/// strict one taken: if the core did not say so, the watch would see where attempts go.
fn route(
    catalogue: &Catalogue,
    model: &Arc<Model>,
    boundary: VendorBoundary,
    scenario: &Scenario,
) -> Result<(Route, usize), RouteError> {
    let all = catalogue.route(model, None, VendorBoundary::Open)?;
    let all = all.chain().len() + all.ladder().len();
    let asked = catalogue.route(model, None, boundary);
    let Err(RouteError::Vendor { .. }) = asked else { return asked.map(|route| (route, all)) };
    let spec = scenario.models.iter().find(|spec| *spec.name == *model.name);
    let strict = spec.into_iter().flat_map(|spec| &spec.fallback_strict);
    let strict: Vec<Arc<str>> = strict.map(|index| Arc::from(&*scenario.models[*index].name)).collect();
    catalogue.route(model, Some(&strict), boundary).map(|route| (route, all))
}

fn catalogue(scenario: &Scenario) -> Catalogue {
    let name = |index: &usize| Arc::<str>::from(&*scenario.models[*index].name);
    let models = scenario.models.iter().map(|spec| Model {
        name: Arc::from(&*spec.name),
        vendor: Arc::from(&*spec.vendor),
        endpoints: spec.endpoints.iter().map(|at| Served { endpoint: EndpointId(*at as u16), alias: None }).collect(),
        fallback: spec.fallback.iter().map(name).collect(),
        context_window: spec.window,
        abilities: Abilities::ALL,
        price: spec.price.and_then(|(input, output)| Price::from_usd_per_million(input, output)),
    });
    Catalogue::new(models, vec![scenario.ladder.iter().map(name).collect()])
}
