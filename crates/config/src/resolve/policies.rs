//! Policies: `extends` is followed, `on` is merged trigger by trigger, impossible ones are refused.
//!
//! A name means the file's own policy first and the template of that name second. A policy that
//! is called like a template and does not say what it extends, or says its own name, extends the
//! template. So `[policies.default]` changes what everything else builds on.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use steadfast_core::breaker;
use steadfast_core::policy::{self, Escalate, Policy, SessionRetries, TEMPLATES, Timeouts, Trigger, template};

use super::steps;
use crate::node::Path;
use crate::problem::Report;
use crate::raw::{RawBreaker, RawConfig, RawPolicy, trigger_help};

/// Every policy by name.
pub(super) struct Policies {
    pub(super) by_name: BTreeMap<String, Arc<Policy>>,
    /// The template at the root of each.
    pub(super) roots: BTreeMap<String, String>,
}

impl Policies {
    /// The policy of this name, or a report and `default`.
    pub(super) fn named(&self, name: &str, at: &Path, report: &Report<'_>) -> Arc<Policy> {
        if let Some(policy) = self.by_name.get(name) {
            return Arc::clone(policy);
        }
        let help = report.suggest(name, self.by_name.keys().map(String::as_str));
        report.refuse(at, format!("unknown policy `{name}`"), help);
        Arc::clone(&self.by_name[DEFAULT])
    }
}

const DEFAULT: &str = "default";

/// Resolves every policy of the file over the templates.
pub(super) fn resolve(raw: &RawConfig, report: &Report<'_>) -> Policies {
    let written: HashMap<&str, &RawPolicy> =
        raw.policies.iter().flat_map(|policies| &policies.0).map(|(name, policy)| (name.as_str(), policy)).collect();
    let mut resolved = Policies { by_name: BTreeMap::new(), roots: BTreeMap::new() };
    for (name, _) in TEMPLATES {
        if let Some(policy) = template(name) {
            resolved.by_name.insert(name.to_owned(), Arc::new(policy));
            resolved.roots.insert(name.to_owned(), name.to_owned());
        }
    }
    let templates = resolved.by_name.clone();
    for name in ordered(raw, &written, report) {
        let raw = written[name];
        let parent_name = parent(name, raw);
        let parent = match parent_name {
            // Its own name, or a template that nobody has changed yet, is the template.
            own if own == name => templates.get(own),
            other => resolved.by_name.get(other),
        };
        let parent = Arc::clone(parent.unwrap_or(&templates[DEFAULT]));
        let root = resolved.roots.get(parent_name).cloned().unwrap_or_else(|| DEFAULT.to_owned());
        let policy = apply(name, raw, &parent, report);
        refuse_impossible(&policy, &parent, report);
        resolved.by_name.insert(name.to_owned(), Arc::new(policy));
        resolved.roots.insert(name.to_owned(), root);
    }
    resolved
}

/// The names of policies that nothing uses, as warnings.
pub(super) fn warn_unused(raw: &RawConfig, in_use: &[&Arc<Policy>], report: &Report<'_>) {
    let Some(policies) = &raw.policies else { return };
    let parents: HashMap<&str, &str> =
        policies.0.iter().map(|(name, policy)| (name.as_str(), parent(name, policy))).collect();
    let mut used: HashSet<&str> = HashSet::new();
    for policy in in_use {
        let mut name = policy.name.as_str();
        while used.insert(name) {
            match parents.get(name) {
                Some(parent) => name = parent,
                None => break,
            }
        }
    }
    for (name, _) in policies.0.iter().filter(|(name, _)| !used.contains(name.as_str())) {
        let at = Path::of("policies").key(name);
        report.warn(
            &at,
            format!("no project uses the policy `{name}`"),
            format!("set `policy = \"{name}\"` in a project"),
        );
    }
}

/// What a policy extends.
fn parent<'a>(name: &'a str, raw: &'a RawPolicy) -> &'a str {
    let is_template = TEMPLATES.iter().any(|(template, _)| *template == name);
    raw.extends.as_deref().unwrap_or(if is_template { name } else { DEFAULT })
}

/// The file's policies, parents first; cycles and unknown parents are reported and cut.
fn ordered<'a>(raw: &'a RawConfig, written: &HashMap<&'a str, &'a RawPolicy>, report: &Report<'_>) -> Vec<&'a str> {
    let known: Vec<&str> = TEMPLATES.iter().map(|(name, _)| *name).chain(written.keys().copied()).collect();
    let mut order = Vec::new();
    let mut done: HashSet<&str> = HashSet::new();
    for (name, _) in raw.policies.iter().flat_map(|policies| &policies.0) {
        let mut way: Vec<&str> = Vec::new();
        let mut passed: HashSet<&str> = HashSet::new();
        let mut name = name.as_str();
        while !done.contains(name) {
            let at = Path::of("policies").key(name).key("extends");
            if !passed.insert(name) {
                let start = way.iter().position(|known| *known == name).unwrap_or(0);
                refuse_circle(&way[start..], written, report);
                break;
            }
            way.push(name);
            let parent = parent(name, written[name]);
            let is_template = TEMPLATES.iter().any(|(template, _)| *template == parent);
            if parent == name && is_template {
                break;
            }
            match written.get_key_value(parent) {
                Some((parent, _)) => name = parent,
                None if is_template => break,
                None => {
                    let help = report.suggest(parent, known.iter().copied());
                    report.refuse(&at, format!("unknown policy `{parent}`"), help);
                    break;
                }
            }
        }
        for name in way.into_iter().rev() {
            if done.insert(name) {
                order.push(name);
            }
        }
    }
    order
}

/// Policies that extend each other, at the first of them that says so: one that says nothing extends `default`, which
/// is no line to point at.
fn refuse_circle(circle: &[&str], written: &HashMap<&str, &RawPolicy>, report: &Report<'_>) {
    let says_so = circle.iter().find(|name| written.get(*name).is_some_and(|raw| raw.extends.is_some()));
    let Some(name) = says_so.or(circle.first()) else { return };
    let names: Vec<String> = circle.iter().chain(circle.first()).map(|name| format!("`{name}`")).collect();
    let what = format!("policies extend each other in a circle: {}", names.join(" -> "));
    let help = "let one of them extend a template, such as \"hardened\", or its own name where it is called like one";
    report.refuse(&Path::of("policies").key(name).key("extends"), what, help);
}

/// The parent with what was written laid over it.
fn apply(name: &str, raw: &RawPolicy, parent: &Policy, report: &Report<'_>) -> Policy {
    let at = Path::of("policies").key(name);
    let mut policy = Policy {
        name: name.to_owned(),
        vendor_boundary: raw.vendor_boundary.map_or(parent.vendor_boundary, |word| word.0),
        stream: raw.stream.map_or(parent.stream, |word| word.0),
        deadline: raw.deadline.map_or(parent.deadline, |wait| wait.0),
        attempts_max: raw.attempts_max.map_or(parent.attempts_max, |count| count.0),
        session_retries: session_retries(raw, parent),
        retry_share: raw.retry_share.unwrap_or(parent.retry_share),
        fallback_share: raw.fallback_share.unwrap_or(parent.fallback_share),
        breaker: raw.breaker.as_ref().map_or(parent.breaker, |raw| breaker_settings(raw, &parent.breaker)),
        escalate: escalate(raw, parent),
        quota_rest: raw.quota_rest.map_or(parent.quota_rest, |wait| wait.0),
        park: raw.park.map_or(parent.park, |wait| wait.0),
        journal: raw.journal.map_or(parent.journal, |wait| wait.0),
        timeouts: timeouts(raw, parent),
        on: parent.on.clone(),
    };
    for (written, steps) in raw.on.iter().flat_map(|on| &on.0) {
        let at = at.key("on").key(written);
        match written.parse::<Trigger>() {
            Ok(trigger) => {
                // Where a step could not be read, the parent's list stands in: it is reported anyway.
                if let Some(steps) = steps::resolve(&steps.0, &at, report) {
                    policy.on.set(trigger, steps);
                }
            }
            Err(_) => report.refuse_key(&at, format!("unknown kind `{written}`"), trigger_help(written)),
        }
    }
    policy
}

/// A smaller `max` alone brings the warning down with it.
fn session_retries(raw: &RawPolicy, parent: &Policy) -> SessionRetries {
    let Some(raw) = &raw.session_retries else { return parent.session_retries };
    let max = raw.max.map_or(parent.session_retries.max, |count| count.0);
    let inherited = parent.session_retries.warn;
    let otherwise = if inherited <= max { inherited } else { max / 3 * 2 };
    SessionRetries { max, warn: raw.warn.map_or(otherwise, |count| count.0) }
}

fn escalate(raw: &RawPolicy, parent: &Policy) -> Escalate {
    let Some(raw) = &raw.escalate else { return parent.escalate };
    Escalate {
        auto: raw.auto.unwrap_or(parent.escalate.auto),
        after_retries: raw.after_retries.map_or(parent.escalate.after_retries, |count| count.0),
    }
}

/// A longer `cooldown` alone takes the longest one up with it.
fn breaker_settings(raw: &RawBreaker, parent: &breaker::Settings) -> breaker::Settings {
    let cooldown = raw.cooldown.map_or(parent.cooldown, |wait| wait.0);
    breaker::Settings {
        failures: raw.failures.map_or(parent.failures, |count| count.0),
        adaptive: raw.adaptive.unwrap_or(parent.adaptive),
        ratio: raw.ratio.unwrap_or(parent.ratio),
        window: raw.window.map_or(parent.window, |wait| wait.0),
        floor: raw.floor.map_or(parent.floor, |count| count.0),
        cooldown,
        cooldown_max: raw.cooldown_max.map_or(parent.cooldown_max.max(cooldown), |wait| wait.0),
        probes: raw.probes.map_or(parent.probes, |count| count.0),
        successes: raw.successes.map_or(parent.successes, |count| count.0),
        lease: raw.lease.map_or(parent.lease, |wait| wait.0),
        rate_limits_trip: raw.rate_limits_trip.unwrap_or(parent.rate_limits_trip),
    }
}

fn timeouts(raw: &RawPolicy, parent: &Policy) -> Timeouts {
    let Some(raw) = &raw.timeouts else { return parent.timeouts };
    Timeouts {
        connect: raw.connect.map_or(parent.timeouts.connect, |wait| wait.0),
        first_token: raw.first_token.map_or(parent.timeouts.first_token, |wait| wait.0),
        idle: raw.idle.map_or(parent.timeouts.idle, |wait| wait.0),
        heartbeat: raw.heartbeat.map_or(parent.timeouts.heartbeat, |wait| wait.0),
    }
}

/// What the core refuses, at the line that says it. What the parent suffers from already was
/// reported there.
fn refuse_impossible(policy: &Policy, parent: &Policy, report: &Report<'_>) {
    let known = parent.problems();
    let at = Path::of("policies").key(&policy.name);
    for problem in policy.problems() {
        if known.contains(&problem) {
            continue;
        }
        let policy::Problem { key, what, fix } = problem;
        let path = at.join(&key);
        let what = if what.starts_with('`') { what } else { format!("`{}` {what}", path.last_name()) };
        report.refuse(&path, what, fix);
    }
    if policy.escalate.after_retries > policy::limits::RETRIES {
        let what = format!(
            "`after_retries` is {} but may be at most {}",
            policy.escalate.after_retries,
            policy::limits::RETRIES
        );
        report.refuse(&at.key("escalate").key("after_retries"), what, "3 is a good number");
    }
}
