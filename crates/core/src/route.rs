//! Where an operation may go: models, the endpoints that serve them, chains and ladders.
//!
//! A `Route` is checked when it is made: no unknown model, no cycle, and under a strict vendor
//! boundary no model of another vendor. Walking it can therefore not go astray.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cost::Price;
use crate::decision::Target;
use crate::policy::VendorBoundary;

/// Which endpoint of the [`World`](crate::world::World): an index, so a decision needs no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointId(pub u16);

/// A name a user asks for, and what is known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The name people and chains use.
    pub name: Arc<str>,
    /// Who makes it.
    pub vendor: Arc<str>,
    /// Where it is served, in order of preference.
    pub endpoints: Vec<Served>,
    /// Its own chain; its own name alone means never.
    pub fallback: Vec<Arc<str>>,
    /// How many tokens it holds, where known.
    pub context_window: Option<u32>,
    /// What it can do.
    pub abilities: Abilities,
    /// What it costs, where known.
    pub price: Option<Price>,
}

/// One place where a model is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// The model's name there, where it differs.
    pub alias: Option<Arc<str>>,
}

/// What a request may need beyond text. A set of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    /// Calls tools.
    pub tools: bool,
    /// Reads images.
    pub images: bool,
    /// Thinks aloud.
    pub thinking: bool,
}

/// What one request asks of any model that would serve it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Tokens that must fit the context window, input and output together; zero if unknown.
    pub tokens: u32,
    /// Tokens of input, for the cost.
    pub input_tokens: u32,
    /// The most tokens of output, for the cost.
    pub output_tokens: u32,
    /// Abilities beyond text.
    pub abilities: Abilities,
    /// A side question: nothing is generated, so nothing is paid for, and how it fares says nothing about
    /// how its endpoint serves turns.
    pub free: bool,
}

/// Why a model cannot take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The request does not fit its context window.
    Window,
    /// It calls no tools.
    Tools,
    /// It reads no images.
    Images,
    /// It does not think aloud.
    Thinking,
    /// It is another vendor's, and the boundary is strict.
    Vendor,
}

/// All models, endpoints by name, and the ladders.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    models: HashMap<Arc<str>, Arc<Model>>,
    ladders: Vec<Vec<Arc<str>>>,
}

/// The way of one operation: the model asked for, its chain, and the ladder above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The primary model first, then its chain, then the ladder's higher rungs.
    models: Vec<Arc<Model>>,
    /// How many of `models` are primary and chain.
    chain_len: usize,
    boundary: VendorBoundary,
}

/// A place in a route: a model and one of its endpoints. Places compare in the order of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) model: usize,
    pub(crate) served: usize,
}

/// Why a route cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// A name that is not in the catalogue.
    #[error("`{entry}` in the chain of `{model}` is not a known model")]
    Unknown {
        /// Whose chain.
        model: String,
        /// The entry at fault.
        entry: String,
    },
    /// An entry that was there before, or the model itself among others.
    #[error("`{entry}` appears twice in the chain of `{model}`")]
    Cycle {
        /// Whose chain.
        model: String,
        /// The entry at fault.
        entry: String,
    },
    /// An entry of another vendor under a strict boundary.
    #[error("`{entry}` in the chain of `{model}` is made by `{entry_vendor}`, not `{vendor}`")]
    Vendor {
        /// Whose chain.
        model: String,
        /// Its vendor.
        vendor: String,
        /// The entry at fault.
        entry: String,
        /// The entry's vendor.
        entry_vendor: String,
    },
    /// More models than a route may hold.
    #[error("the chain of `{model}` has more than {} models", Route::MODELS_MAX)]
    Long {
        /// Whose chain.
        model: String,
    },
}

impl Catalogue {
    /// A catalogue of these models and ladders; a ladder runs from the cheapest to the most capable.
    pub fn new(models: impl IntoIterator<Item = Model>, ladders: Vec<Vec<Arc<str>>>) -> Self {
        let models = models.into_iter().map(|model| (Arc::clone(&model.name), Arc::new(model))).collect();
        Self { models, ladders }
    }

    /// The model of this name.
    pub fn model(&self, name: &str) -> Option<&Arc<Model>> {
        self.models.get(name)
    }

    /// Every model, in no order.
    pub fn models(&self) -> impl Iterator<Item = &Arc<Model>> {
        self.models.values()
    }

    /// The route of `primary`, with `chain` in place of its own where one is given.
    pub fn route(
        &self,
        primary: &Arc<Model>,
        chain: Option<&[Arc<str>]>,
        boundary: VendorBoundary,
    ) -> Result<Route, RouteError> {
        let chain = chain.unwrap_or(&primary.fallback);
        let mut models = vec![Arc::clone(primary)];
        // A chain of nothing but the model itself says "never fall back".
        let never = matches!(chain, [only] if *only == primary.name);
        for entry in chain.iter().filter(|_| !never) {
            let model = self.chained(primary, entry, boundary)?;
            if models.iter().any(|known| known.name == *entry) {
                return Err(RouteError::Cycle { model: primary.name.to_string(), entry: entry.to_string() });
            }
            models.push(Arc::clone(model));
        }
        let chain_len = models.len();
        models.extend(self.rungs_above(primary, boundary));
        if models.len() > Route::MODELS_MAX {
            return Err(RouteError::Long { model: primary.name.to_string() });
        }
        Ok(Route { models, chain_len, boundary })
    }

    fn chained(&self, primary: &Model, entry: &Arc<str>, boundary: VendorBoundary) -> Result<&Arc<Model>, RouteError> {
        let unknown = || RouteError::Unknown { model: primary.name.to_string(), entry: entry.to_string() };
        let model = self.models.get(entry).ok_or_else(unknown)?;
        if boundary == VendorBoundary::Strict && model.vendor != primary.vendor {
            return Err(RouteError::Vendor {
                model: primary.name.to_string(),
                vendor: primary.vendor.to_string(),
                entry: entry.to_string(),
                entry_vendor: model.vendor.to_string(),
            });
        }
        Ok(model)
    }

    /// The models above `primary` on the first ladder that names it.
    fn rungs_above(&self, primary: &Model, boundary: VendorBoundary) -> Vec<Arc<Model>> {
        let above = self.ladders.iter().find_map(|ladder| {
            let rung = ladder.iter().position(|name| *name == primary.name)?;
            Some(&ladder[rung + 1..])
        });
        let known = above.into_iter().flatten().filter_map(|name| self.models.get(name));
        known
            .filter(|model| boundary == VendorBoundary::Open || model.vendor == primary.vendor)
            .map(Arc::clone)
            .collect()
    }
}

impl Route {
    /// Bounds what one operation may walk; also lets positions fit a byte.
    pub const MODELS_MAX: usize = 32;

    /// The same for the endpoints of one model; those behind it are never reached.
    pub const ENDPOINTS_MAX: usize = 64;

    /// A route of one model and nothing else, for names nobody configured.
    pub fn single(model: Model) -> Self {
        Self { models: vec![Arc::new(model)], chain_len: 1, boundary: VendorBoundary::Open }
    }

    /// A route of these models and rungs, known to be possible.
    pub(crate) fn of(chain: Vec<Model>, ladder: Vec<Model>) -> Self {
        let chain_len = chain.len();
        let models = chain.into_iter().chain(ladder).map(Arc::new).collect();
        Self { models, chain_len, boundary: VendorBoundary::Open }
    }

    /// The same way with only those endpoints that `usable` takes. Models that are served nowhere
    /// stay in their places, so that the log shows what was asked for.
    #[must_use]
    pub fn only_at(mut self, usable: impl Fn(EndpointId) -> bool) -> Self {
        for model in &mut self.models {
            if !model.endpoints.iter().all(|served| usable(served.endpoint)) {
                Arc::make_mut(model).endpoints.retain(|served| usable(served.endpoint));
            }
        }
        self
    }

    /// The model asked for.
    pub fn primary(&self) -> &Model {
        &self.models[0]
    }

    /// The models to try in order: the primary, then its chain.
    pub fn chain(&self) -> &[Arc<Model>] {
        &self.models[..self.chain_len]
    }

    /// The higher rungs of the ladder, lowest first.
    pub fn ladder(&self) -> &[Arc<Model>] {
        &self.models[self.chain_len..]
    }

    /// The model at a position: chain first, then ladder.
    pub fn model(&self, position: usize) -> Option<&Model> {
        self.models.get(position).map(AsRef::as_ref)
    }

    /// Where this model stands on the ladder.
    pub(crate) fn rung(&self, name: &str) -> Option<usize> {
        let above = self.ladder().iter().position(|model| &*model.name == name)?;
        Some(self.chain_len + above)
    }

    /// The first rung above the model at a position. A chain may name a rung too, so it goes by
    /// the model's name.
    pub(crate) fn next_rung(&self, position: usize) -> usize {
        let here = self.models.get(position).and_then(|model| self.rung(&model.name));
        here.map_or(self.chain_len, |rung| rung + 1)
    }

    /// Whether a position lies on the ladder.
    pub(crate) fn is_rung(&self, position: usize) -> bool {
        position >= self.chain_len
    }

    /// The model and target at a place.
    pub(crate) fn look(&self, place: Place) -> Option<(&Model, Target)> {
        let model = self.model(place.model)?;
        let served = model.endpoints.get(place.served)?;
        let target = Target { model: place.model as u8, served: place.served as u8, endpoint: served.endpoint };
        Some((model, target))
    }

    /// The places from here on, in order: the model's endpoints, then the next model of the
    /// chain. On the ladder there is no next model: climbing is a step of its own.
    pub(crate) fn places_from(&self, place: Place) -> impl Iterator<Item = Place> {
        let end = if self.is_rung(place.model) { 0 } else { self.chain_len };
        let models = std::iter::once(place.model).chain(place.model + 1..end);
        models.flat_map(move |model| {
            let first = if model == place.model { place.served } else { 0 };
            let endpoints = self.models.get(model).map_or(0, |model| model.endpoints.len());
            (first..endpoints.min(Self::ENDPOINTS_MAX)).map(move |served| Place { model, served })
        })
    }

    /// Whether `model` may serve a request with these needs; asked before every change of model,
    /// however sure the start-up checks were.
    pub fn check(&self, model: &Model, needs: &Needs) -> Result<(), Unfit> {
        if self.boundary == VendorBoundary::Strict && model.vendor != self.primary().vendor {
            return Err(Unfit::Vendor);
        }
        if model.context_window.is_some_and(|window| needs.tokens > window) {
            return Err(Unfit::Window);
        }
        let lacks = |need: bool, has: bool| need && !has;
        if lacks(needs.abilities.tools, model.abilities.tools) {
            return Err(Unfit::Tools);
        }
        if lacks(needs.abilities.images, model.abilities.images) {
            return Err(Unfit::Images);
        }
        if lacks(needs.abilities.thinking, model.abilities.thinking) {
            return Err(Unfit::Thinking);
        }
        Ok(())
    }
}

impl Abilities {
    /// Everything: what an unlisted model is taken to be able to do.
    pub const ALL: Self = Self { tools: true, images: true, thinking: true };
    /// Text only.
    pub const NONE: Self = Self { tools: false, images: false, thinking: false };
}

impl Default for Abilities {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Window => "its context window is too small",
            Self::Tools => "it calls no tools",
            Self::Images => "it reads no images",
            Self::Thinking => "it does not think aloud",
            Self::Vendor => "it is another vendor's and the boundary is strict",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        let model = |name: &str, vendor: &str, fallback: &[&str]| Model {
            name: Arc::from(name),
            vendor: Arc::from(vendor),
            endpoints: vec![Served { endpoint: EndpointId(0), alias: None }; 2],
            fallback: fallback.iter().map(|name| Arc::from(*name)).collect(),
            context_window: None,
            abilities: Abilities::NONE,
            price: None,
        };
        Catalogue::new(
            [
                model("haiku", "anthropic", &["gpt"]),
                model("sonnet", "anthropic", &["haiku", "gpt"]),
                model("opus", "anthropic", &["opus"]),
                model("gpt", "openai", &["sonnet"]),
            ],
            vec![vec!["mini".into(), "gpt".into()], ["haiku", "sonnet", "gpt", "opus"].map(Arc::from).to_vec()],
        )
    }

    fn route(model: &str, chain: Option<&[&str]>, boundary: VendorBoundary) -> Result<Vec<String>, RouteError> {
        let catalogue = catalogue();
        let chain: Option<Vec<Arc<str>>> = chain.map(|names| names.iter().map(|name| Arc::from(*name)).collect());
        let route = catalogue.route(catalogue.model(model).unwrap(), chain.as_deref(), boundary)?;
        let names = |models: &[Arc<Model>]| models.iter().map(|m| m.name.to_string()).collect::<Vec<_>>().join(" ");
        Ok(vec![names(route.chain()), names(route.ladder())])
    }

    #[test]
    fn a_route_is_the_model_its_chain_and_the_rungs_above_it() {
        assert_eq!(route("sonnet", None, VendorBoundary::Open).unwrap(), ["sonnet haiku gpt", "gpt opus"]);
        assert_eq!(route("sonnet", Some(&["opus"]), VendorBoundary::Open).unwrap(), ["sonnet opus", "gpt opus"]);
        assert_eq!(route("sonnet", Some(&[]), VendorBoundary::Open).unwrap(), ["sonnet", "gpt opus"]);
        assert_eq!(route("gpt", None, VendorBoundary::Open).unwrap(), ["gpt sonnet", ""], "the first ladder counts");
    }

    #[test]
    fn models_lose_the_endpoints_that_cannot_be_used_and_keep_their_places() {
        let catalogue = catalogue();
        let route = |usable: fn(EndpointId) -> bool| {
            let route = catalogue.route(catalogue.model("sonnet").unwrap(), None, VendorBoundary::Open).unwrap();
            route.only_at(usable).chain().iter().map(|model| model.endpoints.len()).collect::<Vec<_>>()
        };
        assert_eq!((route(|_| true), route(|id| id != EndpointId(0))), (vec![2, 2, 2], vec![0, 0, 0]));
    }

    #[test]
    fn its_own_name_alone_means_never() {
        assert_eq!(route("opus", None, VendorBoundary::Open).unwrap(), ["opus", ""]);
        assert_eq!(route("opus", None, VendorBoundary::Strict).unwrap(), ["opus", ""]);
    }

    #[test]
    fn an_impossible_chain_names_its_entry() {
        let error = |model, chain: &[&str], boundary| route(model, Some(chain), boundary).unwrap_err().to_string();
        let open = VendorBoundary::Open;
        assert_eq!(error("sonnet", &["gtp"], open), "`gtp` in the chain of `sonnet` is not a known model");
        assert_eq!(error("sonnet", &["gpt", "gpt"], open), "`gpt` appears twice in the chain of `sonnet`");
        assert_eq!(error("sonnet", &["gpt", "sonnet"], open), "`sonnet` appears twice in the chain of `sonnet`");
        assert_eq!(
            error("sonnet", &["haiku", "gpt"], VendorBoundary::Strict),
            "`gpt` in the chain of `sonnet` is made by `openai`, not `anthropic`"
        );
    }

    #[test]
    fn a_strict_boundary_leaves_the_other_vendors_rungs_out() {
        assert_eq!(route("sonnet", Some(&["haiku"]), VendorBoundary::Strict).unwrap(), ["sonnet haiku", "opus"]);
    }

    #[test]
    fn a_chain_has_an_end() {
        let names: Vec<String> = (0..40).map(|index| format!("m{index}")).collect();
        let model = |name: &String| Model {
            name: Arc::from(name.as_str()),
            fallback: Vec::new(),
            ..(**catalogue().model("gpt").unwrap()).clone()
        };
        let catalogue = Catalogue::new(names.iter().map(model), Vec::new());
        let chain: Vec<Arc<str>> = names[1..].iter().map(|name| Arc::from(name.as_str())).collect();
        let primary = catalogue.model("m0").unwrap();
        assert!(catalogue.route(primary, Some(&chain[..31]), VendorBoundary::Open).is_ok());
        let error = catalogue.route(primary, Some(&chain), VendorBoundary::Open).unwrap_err();
        assert_eq!(error.to_string(), "the chain of `m0` has more than 32 models");
    }

    #[test]
    fn places_are_walked_endpoint_by_endpoint_then_model_by_model() {
        let catalogue = catalogue();
        let sonnet = catalogue.model("sonnet").unwrap();
        let route = catalogue.route(sonnet, None, VendorBoundary::Open).unwrap();
        let walk = |model, served| -> String {
            let places = route.places_from(Place { model, served });
            places.map(|place| format!("{}.{} ", place.model, place.served)).collect()
        };
        assert_eq!(walk(0, 0), "0.0 0.1 1.0 1.1 2.0 2.1 ");
        assert_eq!(walk(1, 1), "1.1 2.0 2.1 ");
        assert_eq!(walk(4, 0), "4.0 4.1 ", "a rung leads nowhere by itself");
        assert_eq!(walk(9, 0), "");
    }

    #[test]
    fn what_a_model_lacks_is_named() {
        let catalogue = catalogue();
        let gpt = catalogue.model("gpt").unwrap();
        let route = catalogue.route(gpt, Some(&[]), VendorBoundary::Strict).unwrap();
        let model = Model { context_window: Some(100), ..(**gpt).clone() };
        let check = |tokens, abilities| route.check(&model, &Needs { tokens, abilities, ..Needs::default() });
        assert_eq!(check(100, Abilities::NONE), Ok(()));
        assert_eq!(check(101, Abilities::NONE), Err(Unfit::Window));
        assert_eq!(check(1, Abilities { tools: true, ..Abilities::NONE }), Err(Unfit::Tools));
        assert_eq!(check(1, Abilities { images: true, ..Abilities::NONE }), Err(Unfit::Images));
        assert_eq!(check(1, Abilities { thinking: true, ..Abilities::NONE }), Err(Unfit::Thinking));
        let able = Model { abilities: Abilities::ALL, ..model.clone() };
        assert_eq!(route.check(&able, &Needs { abilities: Abilities::ALL, ..Needs::default() }), Ok(()));
        let stranger = Model { vendor: Arc::from("xai"), ..model.clone() };
        assert_eq!(route.check(&stranger, &Needs::default()), Err(Unfit::Vendor));
    }
}
