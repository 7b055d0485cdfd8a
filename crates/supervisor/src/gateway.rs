//! Where agents are pointed, what opens it for them, and what it says about their calls.
//!
//! A client is told a failure in words that stop it, which need not be what happened. The gateway knows, so an attempt
//! behind it is judged by what that says: within `serve` it is asked directly, elsewhere over its control API. One that
//! does not answer is no trouble: the agent's own words are left.

use std::sync::Arc;

use steadfast_api::{FailedRequest, Standing};
use steadfast_config::{Agent, DEFAULT_PROJECT, Secret};
use steadfast_core::{Failure, redact::redact};
use steadfast_engine::{Engine, Grant};

use crate::fleet::{Fleet, InForce};
use crate::http;

/// Where agents are pointed.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// Its address, without a slash at the end.
    pub url: String,
    /// Whom it lets in.
    pub lets_in: LetsIn,
    /// What opens its control API, where that asks for it.
    pub token: Option<Secret>,
}

/// Whom a gateway lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetsIn {
    /// Agents of projects without keys, as only this machine can reach it.
    ThisMachine,
    /// Whoever sends a key.
    Keys,
    /// Whoever named it answers for that.
    NotOurs,
}

/// An agent that is pointed at the gateway.
#[derive(Debug)]
pub(crate) struct Pointed<'a> {
    pub(crate) url: &'a str,
    key: Option<Key>,
}

/// What opens the gateway for an attempt.
#[derive(Debug)]
enum Key {
    /// Made for it; it ends with it.
    Made(Grant),
    /// The project's own, from the configuration.
    Configured(Secret),
}

/// Whether an agent needs a key that it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Open,
    WithKey,
}

impl Pointed<'_> {
    /// The key to hand to the agent, where it needs one.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|key| match key {
            Key::Made(grant) => grant.key(),
            Key::Configured(secret) => secret.expose(),
        })
    }
}

impl Fleet {
    /// Whether an agent of this project can be pointed at the gateway, and how. One that would not be let in is left where
    /// it is.
    pub(crate) fn entry(&self, project: Option<&str>, agent: &Agent) -> Option<Entry> {
        let Gateway { lets_in, .. } = self.gateway.as_ref()?;
        let config = self.config();
        let project = config.project(project);
        let has_key = || {
            let own = agent.environment.iter().map(|(_, value)| value.expose().to_owned());
            let ours = std::env::vars_os().filter_map(|(_, value)| value.into_string().ok());
            own.chain(ours).any(|value| config.is_key_of(&value, project))
        };
        let is_open = match lets_in {
            LetsIn::NotOurs => true,
            LetsIn::ThisMachine => !project.has_keys() || has_key(),
            LetsIn::Keys => has_key(),
        };
        if is_open {
            return Some(Entry::Open);
        }
        let is_set =
            |name: &str| std::env::var_os(name).is_some() || agent.environment.iter().any(|(known, _)| known == name);
        let can_give = matches!(config, InForce::Snapshot(_)) || !project.keys.is_empty();
        if can_give && agent.gateway.takes_key(is_set) {
            return Some(Entry::WithKey);
        }
        self.said.call_once(|| {
            tracing::warn!(
                project = %project.name,
                "agents are not pointed at the gateway: it asks for a key of their project, and they have none; \
                 [agents.NAME] environment may hold one, and [agents.NAME] gateway hand one on as `{{key}}`"
            );
        });
        None
    }

    /// Points an agent at the gateway for one attempt.
    pub(crate) fn point(&self, project: Option<&str>, agent: &Agent) -> Option<Pointed<'_>> {
        let entry = self.entry(project, agent)?;
        let url = self.gateway.as_ref()?.url.as_str();
        let config = self.config();
        let project = config.project(project);
        let key = match (entry, self.engine()) {
            (Entry::Open, _) => None,
            // Where there is no randomness there is no key, and the agent stays where it is.
            (Entry::WithKey, Some(engine)) => Some(Key::Made(engine.grant(&project.name).ok()?)),
            (Entry::WithKey, None) => Some(Key::Configured(project.keys.first()?.clone())),
        };
        Some(Pointed { url, key })
    }

    /// How the gateway says that a session stands; nothing where it does not answer or knows nothing of it.
    pub(crate) async fn standing(&self, project: Option<&str>, session: &str) -> Option<Standing> {
        let Gateway { url, token, .. } = self.gateway.as_ref()?;
        let project = self.config().project(project).name.clone();
        if let Some(engine) = self.engine() {
            return Standing::of(engine, &project, session);
        }
        let known = self.config().project(Some(&project)).keys.first().cloned();
        let key = token.as_ref().or(known.as_ref()).map(Secret::expose);
        let path = format!("/api/sessions/{}/standing?project={}", encoded(session), encoded(&project));
        serde_json::from_slice(&http::get(&format!("{url}{path}"), key).await?).ok()
    }

    /// The engine of the gateway that runs in this process.
    pub(crate) fn engine(&self) -> Option<&Arc<Engine>> {
        self.configured.engine()
    }
}

/// What the gateway saw fail between two looks at a session, as the task is to be judged by it.
pub(crate) fn failed_between(before: Option<&Standing>, after: Standing) -> Option<Failure> {
    let known = before.map_or(0, |before| before.failures);
    let last: FailedRequest = after.last.filter(|_| after.failures != known)?;
    let place = if last.place.is_empty() { String::new() } else { format!(" at {}", last.place) };
    // The name first: messages are cut at their end.
    let message = format!("{}{place}: {}", last.request, redact(&last.message));
    Some(Failure { message, ..last.failure() })
}

/// The path that stands before a provider's own: project and session.
pub(crate) fn prefix(project: Option<&str>, session: &str) -> String {
    let project = project.filter(|name| *name != DEFAULT_PROJECT);
    let project = project.map(|name| format!("/p/{}", encoded(name))).unwrap_or_default();
    format!("{project}/s/{}", encoded(session))
}

/// A name as a part of a path.
fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
