//! Models, ladders and chains.
//!
//! A chain may name a model that is not listed, as long as it is known by its exact name and some
//! endpoint serves its vendor: `fallback = ["claude-haiku-4-5"]` needs no table of its own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use steadfast_core::cost::Price;
use steadfast_core::policy::{Policy, VendorBoundary};
use steadfast_core::route::{Abilities, EndpointId, Model, Route, Served};

use super::{missing, shared};
use crate::config::{DEFAULT_PROJECT, Endpoint, Project};
use crate::models;
use crate::node::{Key, Path};
use crate::problem::Report;
use crate::raw::{RawConfig, RawModel};
use crate::suggest;

/// The models so far.
#[derive(Default)]
pub(super) struct Catalogued {
    models: HashMap<Arc<str>, Model>,
    /// Listed models in file order.
    listed: Vec<Arc<str>>,
}

impl Catalogued {
    /// The models for the catalogue.
    pub(super) fn into_models(self) -> impl Iterator<Item = Model> {
        self.models.into_values()
    }

    /// Makes sure that `name` is a model, or reports why it is none.
    pub(super) fn admit(&mut self, name: &str, endpoints: &[Endpoint], at: &Path, report: &Report<'_>) -> bool {
        if self.models.contains_key(name) {
            return true;
        }
        if !models::is_known(name) {
            report.refuse(at, format!("unknown model `{name}`"), self.help_for(name, report));
            return false;
        }
        let vendor = models::vendor_of(name).unwrap_or("unknown");
        let served = default_endpoints(vendor, endpoints);
        if served.is_empty() {
            let own = models::own_endpoint(vendor);
            report.refuse(at, format!("no endpoint serves `{name}`"), format!("add [endpoints.{own}]"));
            return false;
        }
        let model = build(name, vendor, served, &RawModel::default(), None);
        self.models.insert(Arc::clone(&model.name), model);
        true
    }

    /// Whether this is a model that is listed or known by its exact name.
    pub(super) fn is_model(&self, name: &str) -> bool {
        self.models.contains_key(name) || models::is_known(name)
    }

    /// The nearest model, or how to describe this one.
    fn help_for(&self, name: &str, report: &Report<'_>) -> String {
        let known = self.listed.iter().map(AsRef::as_ref).chain(models::known_names());
        match suggest::nearest(name, known.filter(|_| !report.is_full())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("describe it in [models.{}]", Key(name)),
        }
    }

    fn vendor(&self, name: &str) -> Option<&Arc<str>> {
        self.models.get(name).map(|model| &model.vendor)
    }
}

/// Every listed model. Chains are looked at when all are known.
pub(super) fn resolve(raw: &RawConfig, endpoints: &[Endpoint], report: &Report<'_>) -> Catalogued {
    let mut catalogued = Catalogued::default();
    for (name, raw) in raw.models.iter().flat_map(|models| &models.0) {
        let at = Path::of("models").key(name);
        let named = served(name, raw, endpoints, &at, report);
        let first = named.first().and_then(|served| endpoints.get(usize::from(served.endpoint.0)));
        // A model of no known family counts as made by whoever serves it first.
        let vendor =
            raw.vendor.as_deref().or_else(|| models::vendor_of(name)).or(first.map(|endpoint| &*endpoint.name));
        if vendor.is_some_and(|vendor| vendor.trim().is_empty()) {
            report.refuse(&at.key("vendor"), "`vendor` is empty", "who makes the model, such as \"anthropic\"");
        }
        let vendor = vendor.unwrap_or("unknown");
        let maker = models::vendor_of(name).unwrap_or(vendor);
        let served = if raw.endpoints.is_some() { named } else { default_endpoints(maker, endpoints) };
        if served.is_empty() && !report.refused_below(&at.key("endpoints")) {
            let help = "endpoints = [\"…\"] with the name of an endpoint";
            report.refuse(&at, format!("no endpoint serves `{name}`"), help);
        }
        if raw.context_window.is_some_and(|tokens| tokens.0 == 0) {
            report.refuse(&at.key("context_window"), "`context_window` is 0", "leave it out where it is unknown");
        }
        let price = price(raw, &at, report);
        let model = build(name, vendor, served, raw, price);
        catalogued.listed.push(Arc::clone(&model.name));
        catalogued.models.insert(Arc::clone(&model.name), model);
    }
    catalogued
}

/// A chain and a ladder together always fit a route: no request finds out that they do not.
const CHAIN_MAX: usize = Route::MODELS_MAX / 2 - 1;
const LADDER_MAX: usize = Route::MODELS_MAX / 2;

/// Every ladder: known models, each once, at least two of them.
pub(super) fn ladders(
    raw: &RawConfig,
    catalogued: &mut Catalogued,
    endpoints: &[Endpoint],
    report: &Report<'_>,
) -> Vec<(String, Vec<Arc<str>>)> {
    let mut ladders = Vec::new();
    for (name, rungs) in raw.ladders.iter().flat_map(|ladders| &ladders.0) {
        let at = Path::of("ladders").key(name);
        entries(rungs, &at, catalogued, endpoints, report);
        if rungs.len() < 2 {
            report.refuse(
                &at,
                format!("the ladder `{name}` has nowhere to climb"),
                "two models or more, cheapest first",
            );
        }
        if rungs.len() > LADDER_MAX {
            report.refuse(&at, format!("a ladder holds at most {LADDER_MAX} models"), "leave some out");
        }
        ladders.push((name.clone(), shared(rungs)));
    }
    ladders
}

/// Every chain: of models and projects, under the boundary of every project's policy, and the one of everybody.
pub(super) fn chains(
    raw: &RawConfig,
    projects: &BTreeMap<String, Project>,
    catalogued: &mut Catalogued,
    endpoints: &[Endpoint],
    report: &Report<'_>,
) {
    let strict = projects.values().find(|project| project.policy.vendor_boundary == VendorBoundary::Strict);
    for (name, raw) in raw.models.iter().flat_map(|models| &models.0) {
        let Some(chain) = &raw.fallback else { continue };
        let at = Path::of("models").key(name).key("fallback");
        check_own_chain(name, chain, &at, catalogued, endpoints, report);
        if let Some(project) = strict {
            within_vendor(name, chain, &owner(project), &at, catalogued, report);
        }
        if let Some(model) = catalogued.models.get_mut(name.as_str()) {
            model.fallback = shared(chain);
        }
    }
    for (name, raw) in raw.projects.iter().flat_map(|projects| &projects.0) {
        let (Some(chain), Some(project)) = (&raw.chain, projects.get(name)) else { continue };
        let at = Path::of("projects").key(name).key("chain");
        check_chain(chain, &at, catalogued, endpoints, report);
        if project.policy.vendor_boundary == VendorBoundary::Strict
            && let Some(first) = chain.first()
        {
            within_vendor(first, chain, &owner(project), &at, catalogued, report);
        }
    }
    if let Some(chain) = &raw.chain {
        check_chain(chain, &Path::of("chain"), catalogued, endpoints, report);
    }
}

/// Ladders and everybody's chain under the boundary of every project's policy. Where only some are strict, they are for
/// the others, and cut short for these. Nobody could walk them where all are.
pub(super) fn shared_within_vendor(
    raw: &RawConfig,
    projects: &BTreeMap<String, Project>,
    catalogued: &Catalogued,
    report: &Report<'_>,
) {
    let is_strict = |project: &&Project| project.policy.vendor_boundary == VendorBoundary::Strict;
    let Some(strict) = projects.values().find(is_strict) else { return };
    // A `default` that nobody wrote wants nothing: it makes nothing one for others.
    let written =
        raw.projects.as_ref().is_some_and(|projects| projects.0.iter().any(|(name, _)| name == DEFAULT_PROJECT));
    let mut wanting = projects.values().filter(|project| written || project.name != DEFAULT_PROJECT);
    let some_are_open = wanting.any(|project| !is_strict(&project));
    let ladders = raw.ladders.iter().flat_map(|ladders| &ladders.0);
    let ladders = ladders.map(|(name, rungs)| (format!("the ladder `{name}`"), Path::of("ladders").key(name), rungs));
    let chain = raw.chain.iter().map(|chain| ("everybody's chain".to_owned(), Path::of("chain"), chain));
    for (whole, at, models) in ladders.chain(chain) {
        let Some((index, vendor, other)) = stranger(models, catalogued) else { continue };
        let at = at.index(index);
        let what = format!("{whole} goes from `{vendor}` to `{}`, made by `{other}`", models[index]);
        let open = format!("set vendor_boundary = \"open\" in {}", owner(strict));
        if some_are_open {
            let what = format!("{what}: the project `{}` stays with one vendor and never goes there", strict.name);
            report.warn(&at, what, format!("leave it if that is meant; otherwise take it out, or {open}"));
        } else {
            let what = format!("{what}: under a strict boundary nobody goes there");
            report.refuse(&at, what, format!("take it out, or {open}"));
        }
    }
}

/// The first model of another vendor than the first of all: where it is, and both vendors.
fn stranger<'c>(models: &[String], catalogued: &'c Catalogued) -> Option<(usize, &'c Arc<str>, &'c Arc<str>)> {
    let vendor = catalogued.vendor(models.first()?)?;
    models.iter().enumerate().find_map(|(index, model)| {
        let other = catalogued.vendor(model).filter(|other| *other != vendor)?;
        Some((index, vendor, other))
    })
}

/// Reports what is wrong with the chain of one model, whoever its vendor. Its own name alone means never.
pub(super) fn check_own_chain(
    model: &str,
    chain: &[String],
    at: &Path,
    catalogued: &mut Catalogued,
    endpoints: &[Endpoint],
    report: &Report<'_>,
) {
    if matches!(chain, [only] if only == model) {
        return;
    }
    if let Some(index) = chain.iter().position(|entry| entry == model) {
        let help = format!("take it out; alone, [\"{model}\"] would mean never to fall back");
        report.refuse(&at.index(index), format!("`{model}` falls back to itself"), help);
    }
    check_chain(chain, at, catalogued, endpoints, report);
}

/// Reports what is wrong with a chain whoever its vendor.
fn check_chain(chain: &[String], at: &Path, catalogued: &mut Catalogued, endpoints: &[Endpoint], report: &Report<'_>) {
    entries(chain, at, catalogued, endpoints, report);
    if chain.len() > CHAIN_MAX {
        report.refuse(at, format!("a chain holds at most {CHAIN_MAX} models"), "leave some out");
    }
}

/// Reports entries that are unknown or appear twice.
fn entries(chain: &[String], at: &Path, catalogued: &mut Catalogued, endpoints: &[Endpoint], report: &Report<'_>) {
    let mut seen = HashSet::new();
    for (index, entry) in chain.iter().enumerate() {
        let at = at.index(index);
        if seen.insert(entry) {
            catalogued.admit(entry, endpoints, &at, report);
        } else {
            report.refuse(&at, format!("`{entry}` appears twice"), "each model is visited once: take one out");
        }
    }
}

/// Reports a member's chain, its own or its model's, that leaves the vendor where the council's policy is strict.
pub(super) fn member_chain(
    model: &str,
    own: Option<(&[String], &Path)>,
    policy: &Policy,
    catalogued: &Catalogued,
    report: &Report<'_>,
) {
    let Some(known) = catalogued.models.get(model) else { return };
    if policy.vendor_boundary != VendorBoundary::Strict {
        return;
    }
    let owner = format!("the policy `{}` of the council", policy.name);
    match own {
        Some((chain, at)) => within_vendor(model, chain, &owner, at, catalogued, report),
        None => {
            let chain: Vec<String> = known.fallback.iter().map(ToString::to_string).collect();
            within_vendor(model, &chain, &owner, &Path::of("models").key(model).key("fallback"), catalogued, report);
        }
    }
}

fn owner(project: &Project) -> String {
    format!("the policy `{}` of the project `{}`", project.policy.name, project.name)
}

/// Reports entries of another vendor than `model`'s.
fn within_vendor(model: &str, chain: &[String], owner: &str, at: &Path, catalogued: &Catalogued, report: &Report<'_>) {
    let Some(vendor) = catalogued.vendor(model) else { return };
    for (index, entry) in chain.iter().enumerate() {
        let Some(other) = catalogued.vendor(entry).filter(|other| *other != vendor) else { continue };
        let what = format!(
            "`{entry}` is made by `{other}` and `{model}` by `{vendor}`: a chain under a strict boundary never leaves its vendor"
        );
        let help = format!("take it out, or set vendor_boundary = \"open\" in {owner}");
        report.refuse(&at.index(index), what, help);
    }
}

/// The endpoints a model names, without the unknown ones.
fn served(name: &str, raw: &RawModel, endpoints: &[Endpoint], at: &Path, report: &Report<'_>) -> Vec<Served> {
    let mut served: Vec<Served> = Vec::new();
    for (index, written) in raw.endpoints.iter().flatten().enumerate() {
        let at = at.key("endpoints").index(index);
        match id_of(&written.endpoint, endpoints) {
            Some(id) if served.iter().any(|known| known.endpoint == id) => {
                let what = format!("`{}` serves `{name}` twice", written.endpoint);
                report.refuse(&at, what, "name each endpoint once");
            }
            Some(id) => served.push(Served { endpoint: id, alias: written.alias.as_deref().map(Arc::from) }),
            None => {
                let known = endpoints.iter().map(|endpoint| &*endpoint.name);
                let help = report.suggest(&written.endpoint, known);
                report.refuse(&at, format!("unknown endpoint `{}`", written.endpoint), help);
            }
        }
    }
    served
}

/// The vendor's own endpoint, or else all of its dialect that are not another vendor's own.
fn default_endpoints(vendor: &str, endpoints: &[Endpoint]) -> Vec<Served> {
    let serve = |id| Served { endpoint: id, alias: None };
    if let Some(own) = id_of(models::own_endpoint(vendor), endpoints) {
        return vec![serve(own)];
    }
    let dialect = models::native_dialect(vendor);
    let foreign = |name: &str| ["anthropic", "openai", "gemini", "mistral", "xai", "deepseek"].contains(&name);
    let fitting = (0..)
        .map(EndpointId)
        .zip(endpoints)
        .filter(|(_, endpoint)| endpoint.dialect == dialect && !foreign(&endpoint.name));
    fitting.map(|(id, _)| serve(id)).collect()
}

fn id_of(name: &str, endpoints: &[Endpoint]) -> Option<EndpointId> {
    let position = endpoints.iter().position(|endpoint| *endpoint.name == *name)?;
    u16::try_from(position).ok().map(EndpointId)
}

fn price(raw: &RawModel, at: &Path, report: &Report<'_>) -> Option<Price> {
    let raw = raw.price.as_ref()?;
    let at = at.key("price");
    for (is_missing, key) in [(raw.input.is_none(), "input"), (raw.output.is_none(), "output")] {
        if is_missing {
            missing(report, &at, key, "USD per million tokens: { input = 3.0, output = 15.0 }");
        }
    }
    Some(Price { input_usd_micros: raw.input?.micros, output_usd_micros: raw.output?.micros })
}

fn build(name: &str, vendor: &str, endpoints: Vec<Served>, raw: &RawModel, price: Option<Price>) -> Model {
    Model {
        name: name.into(),
        vendor: vendor.into(),
        endpoints,
        fallback: Vec::new(),
        context_window: raw.context_window.map(|tokens| tokens.0).or_else(|| models::context_window(vendor, name)),
        abilities: Abilities {
            tools: raw.tools.unwrap_or(true),
            images: raw.images.unwrap_or(true),
            thinking: raw.thinking.unwrap_or(true),
        },
        price: price.or_else(|| models::price(vendor, name)),
    }
}
