//! Projects and classification rules.

use std::collections::{BTreeMap, HashMap};

use steadfast_core::classify::UserRule;

use super::policies::Policies;
use super::{Vault, missing, shared};
use crate::config::{DEFAULT_PROJECT, Project};
use crate::node::Path;
use crate::problem::Report;
use crate::raw::{PerMinute, RawConfig, RawMatch, RawProject, RawRule};
use crate::secret::Secret;

/// Every project; `default` is made where nobody wrote it.
pub(super) fn resolve(
    raw: &RawConfig,
    policies: &Policies,
    report: &Report<'_>,
    vault: &Vault<'_>,
) -> BTreeMap<String, Project> {
    let mut owners: HashMap<Secret, String> = HashMap::new();
    let mut projects = BTreeMap::new();
    for (name, raw) in raw.projects.iter().flat_map(|projects| &projects.0) {
        let at = Path::of("projects").key(name);
        let keys = keys(name, raw, &at, &mut owners, report, vault);
        projects.insert(name.clone(), project(name, raw, keys, policies, &at, report));
    }
    let at = Path::of("projects").key(DEFAULT_PROJECT);
    let default = || project(DEFAULT_PROJECT, &RawProject::default(), Vec::new(), policies, &at, report);
    projects.entry(DEFAULT_PROJECT.to_owned()).or_insert_with(default);
    projects
}

/// The user's own classification, in order.
pub(super) fn rules(raw: &RawConfig, report: &Report<'_>) -> Vec<UserRule> {
    let rules = raw.rules.iter().flatten().enumerate();
    rules.filter_map(|(index, raw)| rule(raw, &Path::of("rules").index(index), report)).collect()
}

fn project(
    name: &str,
    raw: &RawProject,
    keys: Vec<Secret>,
    policies: &Policies,
    at: &Path,
    report: &Report<'_>,
) -> Project {
    let policy = policies.named(raw.policy.as_deref().unwrap_or("default"), &at.key("policy"), report);
    let rate = |key: &str, written: Option<PerMinute>| requests_per_minute(key, written, &at.key("rate"), report);
    Project {
        name: name.to_owned(),
        policy,
        keys,
        key_hashes: key_hashes(raw, at, report),
        usd_micros_per_day: raw.spend.as_ref().and_then(|spend| spend.usd_per_day).map(|usd| usd.micros),
        usd_micros_per_session: raw.spend.as_ref().and_then(|spend| spend.usd_per_session).map(|usd| usd.micros),
        requests_per_minute: rate("requests_per_minute", raw.rate.as_ref().and_then(|rate| rate.requests_per_minute)),
        requests_per_minute_per_agent: rate("per_agent", raw.rate.as_ref().and_then(|rate| rate.per_agent)),
        chain: raw.chain.as_deref().map(shared),
        enabled: raw.enabled.unwrap_or(true),
    }
}

/// A limit that lets something through.
pub(super) fn requests_per_minute(
    key: &str,
    written: Option<PerMinute>,
    at: &Path,
    report: &Report<'_>,
) -> Option<u32> {
    let written = written.map(|count| count.0);
    if written == Some(0) {
        let what = format!("`{key}` is 0, which refuses everything");
        report.refuse(&at.key(key), what, "leave it out for no limit");
    }
    written
}

/// A project's keys. One key belongs to one project, or nobody could tell who is calling.
fn keys(
    name: &str,
    raw: &RawProject,
    at: &Path,
    owners: &mut HashMap<Secret, String>,
    report: &Report<'_>,
    vault: &Vault<'_>,
) -> Vec<Secret> {
    let mut keys = Vec::new();
    for (index, reference) in raw.keys.iter().flatten().enumerate() {
        let at = at.key("keys").index(index);
        let Some(key) = vault.fetch(reference, &at, report) else { continue };
        if let Some(owner) = owners.insert(key.clone(), name.to_owned()) {
            let what = format!("the projects `{owner}` and `{name}` have the same key");
            report.refuse(&at, what, "a key belongs to one project: give each its own");
        }
        keys.push(key);
    }
    keys
}

/// The hashes of keys that were handed out.
fn key_hashes(raw: &RawProject, at: &Path, report: &Report<'_>) -> Vec<[u8; 32]> {
    let mut hashes = Vec::new();
    for (index, written) in raw.key_hashes.iter().flatten().enumerate() {
        match hash(written) {
            Some(hash) => hashes.push(hash),
            None => {
                let at = at.key("key_hashes").index(index);
                report.refuse(&at, "this is not the SHA-256 of a key", "64 hexadecimal digits");
            }
        }
    }
    hashes
}

fn hash(written: &str) -> Option<[u8; 32]> {
    if written.len() != 64 || !written.is_ascii() {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, at) in hash.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&written[at..at + 2], 16).ok()?;
    }
    Some(hash)
}

fn rule(raw: &RawRule, at: &Path, report: &Report<'_>) -> Option<UserRule> {
    if raw.kind.is_none() {
        missing(report, at, "kind", "the kind of failure it is, such as \"overloaded\"");
    }
    let Some(wanted) = &raw.r#match else {
        missing(report, at, "match", "what to look for, such as { status = 418, body = \"teapot\" }");
        return None;
    };
    conditions(wanted, &at.key("match"), report);
    Some(UserRule {
        name: raw.name.clone(),
        status: wanted.status.and_then(|status| u16::try_from(status.0).ok()),
        body: wanted.body.clone(),
        pattern: wanted.pattern.clone(),
        code: wanted.code.clone(),
        header: wanted.header.as_deref().map(header),
        provider: wanted.provider.clone(),
        kind: raw.kind?.0,
        retry_after: raw.retry_after.map(|wait| wait.0),
    })
}

fn conditions(wanted: &RawMatch, at: &Path, report: &Report<'_>) {
    let texts = [
        ("body", &wanted.body),
        ("pattern", &wanted.pattern),
        ("code", &wanted.code),
        ("header", &wanted.header),
        ("provider", &wanted.provider),
    ];
    let any_text = texts.iter().any(|(_, text)| text.is_some());
    if wanted.status.is_none() && !any_text && !report.refused_below(at) {
        report.refuse(at, "this rule matches everything", "a status, body, pattern, code, header or provider");
    }
    if let Some(status) = wanted.status.filter(|status| !(100..600).contains(&status.0)) {
        let what = format!("`status` is {} but must be between 100 and 599", status.0);
        report.refuse(&at.key("status"), what, "an HTTP status such as 529");
    }
    for (key, _) in texts.iter().filter(|(_, text)| text.as_ref().is_some_and(|text| text.trim().is_empty())) {
        report.refuse(&at.key(key), format!("`{key}` is empty"), "leave it out or give it a value");
    }
    if let Some(pattern) = &wanted.pattern
        && let Err(error) = regex::bytes::Regex::new(pattern)
    {
        // The last line says what is wrong; those before draw the pattern, which is shown anyway.
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or("").trim_start_matches("error: ");
        report.refuse(
            &at.key("pattern"),
            format!("the pattern is no regular expression: {reason}"),
            "see docs.rs/regex for the syntax",
        );
    }
}

/// `name`, or `name: text`.
fn header(written: &str) -> (String, Option<String>) {
    match written.split_once(':') {
        Some((name, text)) => (name.trim().to_ascii_lowercase(), Some(text.trim().to_owned())),
        None => (written.trim().to_ascii_lowercase(), None),
    }
}
