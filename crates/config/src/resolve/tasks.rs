//! What the supervisor needs: agents and services.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Vault, missing};
use crate::agents::{self, Agent, PLACEHOLDERS};
use crate::config::Service;
use crate::node::Path;
use crate::problem::Report;
use crate::raw::{RawAgent, RawConfig};
use crate::read::Named;
use crate::secret::Secret;
use crate::value::TextOrRef;

/// What an attempt or a silence may last at most: as long as a request.
const WAIT_MAX: Duration = steadfast_core::policy::limits::DEADLINE;

pub(super) fn agents(raw: &RawConfig, report: &Report<'_>, vault: &Vault<'_>) -> BTreeMap<String, Agent> {
    let mut all: BTreeMap<String, Agent> = agents::built_in().collect();
    for (name, raw) in raw.agents.iter().flat_map(|agents| &agents.0) {
        if let Some(agent) = agent(name, raw, report, vault) {
            all.insert(name.clone(), agent);
        }
    }
    all
}

fn agent(name: &str, raw: &RawAgent, report: &Report<'_>, vault: &Vault<'_>) -> Option<Agent> {
    let at = Path::of("agents").key(name);
    let like = raw.like.as_deref().unwrap_or(name);
    let known = agents::built_in_named(like);
    if known.is_none() && raw.like.is_some() {
        let what = format!("`{like}` is no agent that is known");
        report.refuse(&at.key("like"), what, report.suggest(like, agents::names()));
    }
    let Some(command) = raw.command.clone().or_else(|| known.as_ref().map(|known| known.command.clone())) else {
        missing(report, &at, "command", "the program and its arguments: [\"claude\", \"-p\", \"{task}\"]");
        return None;
    };
    for (key, parts) in [("command", &raw.command), ("resume", &raw.resume)] {
        let Some(parts) = parts else { continue };
        let at = at.key(key);
        check_command(parts, PLACEHOLDERS, &at, report);
        if !parts.iter().any(|part| part.contains("{task}") || part.contains("{task_file}")) {
            report.warn(&at, "the agent is never told its task", "put \"{task}\" where the task belongs");
        }
    }
    let mut agent = known.unwrap_or_else(|| Agent::command(command.clone()));
    if raw.command.is_some() {
        // Another command may keep its conversations elsewhere, or none.
        agent.resume = Vec::new();
    }
    agent.command = command;
    agent.resume = raw.resume.clone().unwrap_or(agent.resume);
    agent.output = raw.output.as_ref().map_or(agent.output, |output| output.0);
    agent.timeout = limited(raw.timeout.map(|wait| wait.0), agent.timeout, &at.key("timeout"), report);
    agent.health = raw.health.as_ref().map(|health| health.0.clone()).or(agent.health);
    agent.silence = limited(raw.silence.map(|wait| wait.0), agent.silence, &at.key("silence"), report);
    for (name, value) in environment(raw.environment.as_ref(), &at.key("environment"), report, vault) {
        agent.environment.retain(|(known, _)| *known != name);
        agent.environment.push((name, value));
    }
    for (name, value) in raw.gateway.iter().flat_map(|gateway| &gateway.0) {
        agent.gateway.environment.retain(|(known, _)| known != name);
        agent.gateway.environment.push((name.clone(), value.clone()));
    }
    Some(agent)
}

fn environment(
    written: Option<&Named<TextOrRef>>,
    at: &Path,
    report: &Report<'_>,
    vault: &Vault<'_>,
) -> Vec<(String, Secret)> {
    let mut values = Vec::new();
    for (name, value) in written.iter().flat_map(|named| &named.0) {
        let at = at.key(name);
        if name.is_empty() || name.contains(['=', '\0']) {
            report.refuse(&at, format!("`{name}` cannot be the name of a variable"), "letters, digits and `_`");
            continue;
        }
        if let Some(value) = vault.text(value, &at, report) {
            values.push((name.clone(), value));
        }
    }
    values
}

fn limited(written: Option<Duration>, usual: Duration, at: &Path, report: &Report<'_>) -> Duration {
    let wait = written.unwrap_or(usual);
    if !(Duration::from_secs(1)..=WAIT_MAX).contains(&wait) {
        let key = at.last_name();
        report.refuse(at, format!("`{key}` must be between 1s and 7d"), "\"15m\"");
    }
    wait
}

pub(super) fn services(raw: &RawConfig, report: &Report<'_>) -> BTreeMap<String, Service> {
    const TEN_SECONDS: Duration = Duration::from_secs(10);
    let mut services = BTreeMap::new();
    for (name, raw) in raw.services.iter().flat_map(|services| &services.0) {
        let at = Path::of("services").key(name);
        for (key, command) in [("start", &raw.start), ("register", &raw.register)] {
            if let Some(command) = command {
                check_command(command, &["project"], &at.key(key), report);
            }
        }
        if raw.health.is_none() && raw.start.is_none() && !report.refused_below(&at) {
            report.refuse(
                &at,
                format!("the service `{name}` has nothing to watch"),
                "a `health` address or a `start` command",
            );
        }
        for (key, written) in [("cooldown", raw.cooldown), ("settle", raw.settle)] {
            let wait = written.map_or(TEN_SECONDS, |wait| wait.0);
            if !(Duration::from_secs(1)..=Duration::from_secs(24 * 60 * 60)).contains(&wait) {
                report.refuse(&at.key(key), format!("`{key}` must be between 1s and 24h"), "\"10s\"");
            }
        }
        let service = Service {
            health: raw.health.as_ref().map(|url| url.0.clone()),
            start: raw.start.clone().unwrap_or_default(),
            cooldown: raw.cooldown.map_or(TEN_SECONDS, |wait| wait.0),
            settle: raw.settle.map_or(TEN_SECONDS, |wait| wait.0),
            register: raw.register.clone().unwrap_or_default(),
        };
        services.insert(name.clone(), service);
    }
    services
}

/// Reports a command that cannot be run, and placeholders that nothing fills in.
pub(super) fn check_command(command: &[String], placeholders: &[&str], at: &Path, report: &Report<'_>) {
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        report.refuse(at, "the command names no program", "[\"program\", \"argument\", …]");
    }
    for (index, part) in command.iter().enumerate() {
        for open in part.split('{').skip(1) {
            let Some((name, _)) = open.split_once('}') else { continue };
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            if is_name && !placeholders.contains(&name) {
                let help = report.suggest(name, placeholders.iter().copied());
                report.warn(&at.index(index), format!("nothing fills in `{{{name}}}`"), help);
            }
        }
    }
}
