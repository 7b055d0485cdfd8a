//! From what was written to what is true: defaults are filled in, names looked up, impossible
//! things refused.
//!
//! Each section has its function. None stops at a problem: a reference that leads nowhere is
//! reported once and left out, so that what follows from it is not reported again.

mod clients;
mod endpoints;
mod faces;
mod models;
mod policies;
mod projects;
mod steps;
mod tasks;
mod traces;
mod vault;

use std::sync::Arc;

use steadfast_core::route::Catalogue;

use crate::config::Config;
use crate::node::Path;
use crate::problem::Report;
use crate::raw::RawConfig;

pub(crate) use vault::Vault;

/// What is true, or `None` where a part of it could not be made; the problems are in the report.
pub(crate) fn resolve(raw: &RawConfig, report: &Report<'_>, vault: &Vault<'_>) -> Option<Config> {
    let policies = policies::resolve(raw, report);
    let projects = projects::resolve(raw, &policies, report, vault);
    let council_policy = faces::council_policy(raw, &policies, report);
    let in_use: Vec<_> = projects.values().map(|project| &project.policy).chain(&council_policy).collect();
    policies::warn_unused(raw, &in_use, report);

    let endpoints = endpoints::resolve(raw, &endpoints::strictest(&in_use), report, vault);
    let mut catalogued = models::resolve(raw, &endpoints, report);
    let ladders = models::ladders(raw, &mut catalogued, &endpoints, report);
    models::chains(raw, &projects, &mut catalogued, &endpoints, report);
    models::shared_within_vendor(raw, &projects, &catalogued, report);
    let council = faces::council(raw, council_policy.as_ref(), &mut catalogued, &endpoints, report);
    let rungs = ladders.iter().map(|(_, rungs)| rungs.clone()).collect();
    let catalogue = Catalogue::new(catalogued.into_models(), rungs);

    let admin_token = faces::admin_token(raw, report, vault);
    let listen = faces::listen(raw, admin_token.as_ref(), report)?;
    Some(Config {
        listen,
        enabled: raw.enabled.unwrap_or(true),
        endpoints,
        catalogue,
        chain: raw.chain.as_deref().map(shared).unwrap_or_default(),
        ladders,
        roots: policies.roots,
        policies: policies.by_name,
        projects,
        clients: clients::resolve(raw, report),
        rules: projects::rules(raw, report),
        agents: tasks::agents(raw, report, vault),
        services: tasks::services(raw, report),
        council,
        store: faces::store(raw, report, vault),
        shared: faces::shared(raw, report, vault),
        decision_log: faces::decision_log(raw, report),
        proxy: faces::proxy(raw, report, vault),
        traces: traces::resolve(raw, report, vault),
        alerts: faces::alerts(raw, report, vault),
        keep_requests: raw.store.as_ref().and_then(|store| store.requests).unwrap_or(true),
        keep_days: faces::keep_days(raw, report),
        keep_turns: faces::keep_turns(raw, report),
        admin_token,
    })
}

/// Reports a key that is needed, unless something was written there and has been reported.
fn missing(report: &Report<'_>, table: &Path, key: &str, help: &str) {
    // Looking through the tree costs too much once nobody reads on.
    if report.is_full() || report.tree().at(&table.key(key)).is_none() {
        report.refuse_key(table, format!("`{key}` is missing"), help);
    }
}

/// The names as the core holds them.
fn shared(names: &[String]) -> Vec<Arc<str>> {
    names.iter().map(|name| name.as_str().into()).collect()
}
