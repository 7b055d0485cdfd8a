//! One configuration in force, with everything that is known about its endpoints.
//!
//! A request keeps the snapshot it started with; a reload makes a new one that shares the
//! endpoints and projects that did not change, so breakers and budgets survive it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use steadfast_config::{Config, Credential, Dialect};
use steadfast_core::breaker;
use steadfast_core::classify::Classifier;
use steadfast_core::policy::VendorBoundary;
use steadfast_core::rate::Rates;
use steadfast_core::route::{Model, Route};
use steadfast_core::world::{self, World};
use steadfast_core::{Evidence, Failure};
use steadfast_dialect::{Family, Format};

use crate::grants::Grants;
use crate::quick::QuickMap;

/// Routes are remembered up to this many names: clients choose the names.
const ROUTES_MAX: usize = 4096;

/// One configuration in force.
#[derive(Debug)]
pub struct Snapshot {
    /// What is configured.
    pub config: Config,
    /// What requests share.
    pub world: Arc<World>,
    pub(crate) classifier: Classifier,
    endpoints: Vec<Arc<world::Endpoint>>,
    projects: QuickMap<String, Arc<world::Project>>,
    /// Which project each key belongs to.
    keys: HashMap<String, String>,
    /// The same of keys of which only the hash is known.
    hashes: HashMap<[u8; 32], String>,
    /// Keys that were made for agents; the same in every snapshot.
    pub(crate) grants: Arc<Grants>,
    routes: Mutex<HashMap<(Family, Reach), RoutesByProject>>,
}

/// How far a request can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reach {
    /// To endpoints that speak as the client does.
    Own,
    /// To all: it can be translated.
    All,
}

/// Routes by project and model.
type RoutesByProject = HashMap<String, HashMap<String, Arc<Route>>>;

/// A configuration that cannot be put in force.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the classification rules")]
pub struct BadRules(#[from] steadfast_core::classify::RuleError);

impl Snapshot {
    /// The first snapshot.
    pub fn new(config: Config) -> Result<Self, BadRules> {
        Self::build(config, None)
    }

    /// The snapshot that follows this one.
    pub fn next(&self, config: Config) -> Result<Self, BadRules> {
        Self::build(config, Some(self))
    }

    fn build(config: Config, before: Option<&Self>) -> Result<Self, BadRules> {
        let classifier = Classifier::with_rules(&config.rules)?;
        let endpoints: Vec<_> = config.endpoints.iter().map(|endpoint| shared_endpoint(endpoint, before)).collect();
        let projects = config.projects.values().map(|project| (project.name.clone(), shared_project(project, before)));
        let keys = config
            .projects
            .values()
            .flat_map(|project| project.keys.iter().map(|key| (key.expose().to_owned(), project.name.clone())));
        let hashes = config
            .projects
            .values()
            .flat_map(|project| project.key_hashes.iter().map(|hash| (*hash, project.name.clone())))
            .collect();
        Ok(Self {
            grants: before.map(|before| Arc::clone(&before.grants)).unwrap_or_default(),
            hashes,
            classifier,
            world: Arc::new(World::sharing(endpoints.clone())),
            endpoints,
            projects: projects.collect(),
            keys: keys.collect(),
            routes: Mutex::default(),
            config,
        })
    }

    /// The same endpoints for one request of a plain proxy: nothing is remembered, nothing refused.
    pub(crate) fn plain_world(&self) -> World {
        World::new(self.config.endpoints.iter().map(|endpoint| plain_endpoint(&endpoint.name)).collect())
    }

    /// The project a client's key belongs to.
    pub fn project_of_key(&self, key: &str) -> Option<&str> {
        if let Some(project) = self.keys.get(key) {
            return Some(project);
        }
        let hashed = || self.hashes.get(&crate::secrets::hash(key)).map(String::as_str);
        let stored = if self.hashes.is_empty() { None } else { hashed() };
        // By its configuration: a project that is gone is opened by nobody.
        stored.or_else(|| Some(self.config.projects.get(&*self.grants.project_of(key)?)?.name.as_str()))
    }

    /// Tells what a failure is, by the rules of this configuration.
    pub fn classify(&self, evidence: &Evidence<'_>) -> Failure {
        self.classifier.classify(evidence)
    }

    /// The same for what became of a task.
    pub fn classify_task(&self, evidence: &Evidence<'_>) -> Failure {
        self.classifier.classify_task(evidence)
    }

    /// What is known of each endpoint, in the configuration's order.
    pub(crate) fn known_endpoints(&self) -> &[Arc<world::Endpoint>] {
        &self.endpoints
    }

    /// What is known of each project, in no order.
    pub(crate) fn known_projects(&self) -> impl Iterator<Item = &Arc<world::Project>> {
        self.projects.values()
    }

    /// What a project shares between its requests.
    pub fn project(&self, name: &str) -> Option<&Arc<world::Project>> {
        self.projects.get(name)
    }

    /// The way of a request for `model`, as far as it can go.
    pub(crate) fn route(
        &self,
        project: &steadfast_config::Project,
        model: &str,
        family: Family,
        reach: Reach,
    ) -> Arc<Route> {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = routes.get(&(family, reach)).and_then(|of_family| of_family.get(&project.name)?.get(model));
        if let Some(route) = known {
            return Arc::clone(route);
        }
        let dialect = dialect_of(family);
        let route = Arc::new(self.narrow(self.config.route(project, model, dialect), family, reach));
        let of_family = routes.entry((family, reach)).or_default();
        if of_family.values().map(HashMap::len).sum::<usize>() >= ROUTES_MAX {
            of_family.clear();
        }
        of_family.entry(project.name.clone()).or_default().insert(model.to_owned(), Arc::clone(&route));
        route
    }

    /// The same with a chain that this one request brings along; an error names the entry at fault.
    pub(crate) fn route_with_chain(
        &self,
        boundary: VendorBoundary,
        model: &str,
        chain: &[Arc<str>],
        family: Family,
        reach: Reach,
    ) -> Result<Route, steadfast_core::route::RouteError> {
        let primary = match self.config.catalogue.model(model) {
            Some(model) => Arc::clone(model),
            None => Arc::new(self.config.unlisted(model, dialect_of(family))),
        };
        let unlisted = chain.iter().filter(|name| self.config.catalogue.model(name).is_none());
        let unlisted: Vec<Model> = unlisted.map(|name| self.config.unlisted(name, dialect_of(family))).collect();
        let catalogue = if unlisted.is_empty() {
            None
        } else {
            let known = self.config.catalogue.models().map(|model| Model::clone(model));
            Some(steadfast_core::route::Catalogue::new(known.chain(unlisted), Vec::new()))
        };
        let catalogue = catalogue.as_ref().unwrap_or(&self.config.catalogue);
        catalogue.route(&primary, Some(chain), boundary).map(|route| self.narrow(route, family, reach))
    }

    fn narrow(&self, route: Route, family: Family, reach: Reach) -> Route {
        if reach == Reach::All {
            return route;
        }
        let speaks = |id| self.config.endpoint(id).is_some_and(|endpoint| endpoint.dialect == dialect_of(family));
        route.only_at(speaks)
    }
}

/// The configuration's word for a family of formats.
pub const fn dialect_of(family: Family) -> Dialect {
    match family {
        Family::OpenAi => Dialect::OpenAi,
        Family::Anthropic => Dialect::Anthropic,
        Family::Gemini => Dialect::Gemini,
    }
}

/// The format in which an endpoint is asked on behalf of a client of another: the client's own wherever it can be.
pub(crate) const fn asked_in(endpoint: &steadfast_config::Endpoint, client: Format) -> Format {
    match (endpoint.dialect, client) {
        (Dialect::OpenAi, Format::Responses) if endpoint.responses => Format::Responses,
        (Dialect::OpenAi, _) => Format::Chat,
        (Dialect::Anthropic, _) => Format::Messages,
        (Dialect::Gemini, _) => Format::Gemini,
    }
}

/// An endpoint whose breaker never opens: for a plain proxy.
fn plain_endpoint(name: &str) -> world::Endpoint {
    let breaker = breaker::Settings { failures: u32::MAX, ratio: 1.0, floor: u32::MAX, ..breaker::Settings::default() };
    world::Endpoint::new(name, breaker, 0.0, 0)
}

/// The endpoint as it was known, unless it became another: then what is known of it is not true.
fn shared_endpoint(endpoint: &steadfast_config::Endpoint, before: Option<&Snapshot>) -> Arc<world::Endpoint> {
    let same = before.and_then(|before| {
        let position = before.config.endpoints.iter().position(|known| {
            known.name == endpoint.name
                && known.url == endpoint.url
                && known.credential == endpoint.credential
                && known.breaker == endpoint.breaker
                && known.retry_share == endpoint.retry_share
                && known.requests_per_minute == endpoint.requests_per_minute
        })?;
        before.endpoints.get(position)
    });
    let fresh = || {
        let made = world::Endpoint::new(&endpoint.name, endpoint.breaker, endpoint.retry_share, fastrand::u64(..))
            .with_rate(endpoint.requests_per_minute);
        Arc::new(if endpoint.credential == Credential::Client { made.with_clients_keys() } else { made })
    };
    same.map_or_else(fresh, Arc::clone)
}

/// The project with what it has spent; other limits make a new one of it, which has spent as much and is charged for
/// the calls that are under way.
fn shared_project(project: &steadfast_config::Project, before: Option<&Snapshot>) -> Arc<world::Project> {
    let known = before
        .and_then(|before| Some((before.projects.get(&project.name)?, before.config.projects.get(&project.name)?)));
    if let Some((known, _)) = known {
        known.spend.set_limit(project.usd_micros_per_day);
    }
    let same = known.filter(|(known, configured)| {
        configured.policy.fallback_share == project.policy.fallback_share
            && known.rate.are(project.requests_per_minute, project.requests_per_minute_per_agent)
    });
    if let Some((same, _)) = same {
        return Arc::clone(same);
    }
    let rates = Rates::per_minute(project.requests_per_minute, project.requests_per_minute_per_agent);
    let mut fresh =
        world::Project::new(&project.name, project.policy.fallback_share, project.usd_micros_per_day).with_rates(rates);
    if let Some((known, _)) = known {
        fresh.spend = Arc::clone(&known.spend);
    }
    Arc::new(fresh)
}
