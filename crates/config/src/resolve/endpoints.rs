//! Endpoints, and what they inherit from the policies in use.

use std::sync::Arc;

use steadfast_core::breaker;
use steadfast_core::policy::Policy;

use super::projects::requests_per_minute;
use super::{Vault, missing};
use crate::config::{Credential, Dialect, Endpoint, Health};
use crate::models::{self, Provider};
use crate::node::Path;
use crate::problem::Report;
use crate::raw::{RawConfig, RawEndpoint};
use crate::read::Named;
use crate::secret::Secret;
use crate::url::BaseUrl;
use crate::value::{SecretRef, TextOrRef};

/// What the policies in use ask of every endpoint.
pub(super) struct Strictest {
    breaker: breaker::Settings,
    retry_share: f64,
}

/// The strictest of all policies in use, number by number.
///
/// An endpoint has one breaker and one retry budget, however many policies send it traffic. Each
/// number is therefore taken from the policy that protects the endpoint best: it trips soonest
/// (fewest failures, lowest ratio and floor, longest window, any that counts rate limits, adaptive
/// only if all are), rests longest (cooldowns), comes back most carefully (fewest probes, most
/// successes, longest lease) and is retried least.
pub(super) fn strictest(in_use: &[&Arc<Policy>]) -> Strictest {
    let all = in_use.iter().map(|policy| Strictest { breaker: policy.breaker, retry_share: policy.retry_share });
    let stricter = |one: Strictest, other: Strictest| {
        let (a, b) = (one.breaker, other.breaker);
        let breaker = breaker::Settings {
            failures: a.failures.min(b.failures),
            adaptive: a.adaptive && b.adaptive,
            ratio: a.ratio.min(b.ratio),
            window: a.window.max(b.window),
            floor: a.floor.min(b.floor),
            cooldown: a.cooldown.max(b.cooldown),
            cooldown_max: a.cooldown_max.max(b.cooldown_max),
            probes: a.probes.min(b.probes),
            successes: a.successes.max(b.successes),
            lease: a.lease.max(b.lease),
            rate_limits_trip: a.rate_limits_trip || b.rate_limits_trip,
        };
        Strictest { breaker, retry_share: one.retry_share.min(other.retry_share) }
    };
    let none = Strictest { breaker: breaker::Settings::default(), retry_share: 0.0 };
    all.reduce(stricter).unwrap_or(none)
}

/// Every endpoint: those that are written, and well-known providers that a model names.
pub(super) fn resolve(raw: &RawConfig, strictest: &Strictest, report: &Report<'_>, vault: &Vault<'_>) -> Vec<Endpoint> {
    let written = raw.endpoints.as_ref().map_or(&[][..], |endpoints| &endpoints.0);
    let mut resolved: Vec<Endpoint> = Vec::new();
    for (name, raw) in written {
        let at = Path::of("endpoints").key(name);
        resolved.push(described(name, raw, strictest, &at, report, vault));
    }
    for (model, raw) in raw.models.iter().flat_map(|models| &models.0) {
        for (index, served) in raw.endpoints.iter().flatten().enumerate() {
            if resolved.iter().any(|known| *known.name == *served.endpoint) {
                continue;
            }
            if let Some(provider) = models::provider_named(&served.endpoint) {
                let at = Path::of("models").key(model).key("endpoints").index(index);
                resolved.push(implied(provider, strictest, &at, report, vault));
            }
        }
    }
    if resolved.len() > ENDPOINTS_MAX {
        report.refuse(
            &Path::of("endpoints"),
            format!("there are more than {ENDPOINTS_MAX} endpoints"),
            "leave some out",
        );
    }
    if resolved.is_empty() {
        let help = "[endpoints.anthropic], or leave the table out for the built-in ones";
        report.refuse(&Path::of("endpoints"), "there are no endpoints", help);
    }
    resolved
}

/// Bounds the world's tables; also keeps ids within 16 bits.
const ENDPOINTS_MAX: usize = 1000;

fn described(
    name: &str,
    raw: &RawEndpoint,
    strictest: &Strictest,
    at: &Path,
    report: &Report<'_>,
    vault: &Vault<'_>,
) -> Endpoint {
    let provider = models::provider_named(name);
    let dialect = raw.dialect.map(|word| word.0).or_else(|| provider.map(|provider| provider.dialect));
    if dialect.is_none() {
        missing(report, at, "dialect", "dialect = \"openai\" for most; or \"anthropic\" or \"gemini\"");
    }
    let url = raw.url.as_ref().map(|url| url.0.as_str()).or_else(|| provider.map(|provider| provider.url));
    if url.is_none() {
        missing(report, at, "url", "the provider's base URL, such as \"https://api.openai.com/v1\"");
    }
    let credential = match &raw.key {
        None => Credential::Client,
        Some(reference) => match vault.fetch(reference, &at.key("key"), report) {
            Some(secret) => Credential::Own(secret),
            None => Credential::Missing { wanted: wanted(reference) },
        },
    };
    Endpoint {
        name: name.into(),
        // A stand-in where none was given: the configuration is refused anyway.
        dialect: dialect.unwrap_or(Dialect::OpenAi),
        url: base_url(url.unwrap_or("https://localhost"), &at.key("url"), report),
        credential,
        headers: headers(raw.headers.as_ref(), at, report, vault),
        health: health(raw, at, report),
        requests_per_minute: requests_per_minute(
            "requests_per_minute",
            raw.rate.as_ref().and_then(|rate| rate.requests_per_minute),
            &at.key("rate"),
            report,
        ),
        learns_limits: raw.rate.as_ref().and_then(|rate| rate.learn).unwrap_or(true),
        http2: raw.http2.unwrap_or(false),
        responses: raw.responses.unwrap_or(true),
        breaker: strictest.breaker,
        retry_share: strictest.retry_share,
    }
}

/// A well-known provider that nobody described. Its key is its own or none at all: a client's key
/// for somebody else must not travel there.
fn implied(provider: &Provider, strictest: &Strictest, at: &Path, report: &Report<'_>, vault: &Vault<'_>) -> Endpoint {
    let credential = match vault.variable(provider.variable) {
        Some(value) => Credential::Own(Secret::new(value)),
        None => {
            let what = format!("the endpoint `{}` has no key: {} is not set", provider.name, provider.variable);
            report.warn(
                at,
                what,
                format!("export {}=…, or describe it in [endpoints.{}]", provider.variable, provider.name),
            );
            Credential::Missing { wanted: provider.variable.to_owned() }
        }
    };
    Endpoint {
        name: provider.name.into(),
        dialect: provider.dialect,
        url: base_url(provider.url, at, report),
        credential,
        headers: Vec::new(),
        health: None,
        requests_per_minute: None,
        learns_limits: true,
        http2: false,
        responses: true,
        breaker: strictest.breaker,
        retry_share: strictest.retry_share,
    }
}

fn wanted(reference: &SecretRef) -> String {
    match reference {
        SecretRef::Env(name) => name.clone(),
        SecretRef::File(path) => path.clone(),
    }
}

fn base_url(text: &str, at: &Path, report: &Report<'_>) -> BaseUrl {
    BaseUrl::new(text).unwrap_or_else(|what| {
        report.refuse(at, format!("`url` {what}"), "scheme, host and path only: https://api.example.com/v1");
        BaseUrl::new("https://localhost").expect("this is a base URL")
    })
}

fn health(raw: &RawEndpoint, at: &Path, report: &Report<'_>) -> Option<Health> {
    let raw = raw.health.as_ref()?;
    let at = at.key("health");
    let every = raw.every.map_or(Health::EVERY, |wait| wait.0);
    if !(Health::EVERY_MIN..=Health::EVERY_MAX).contains(&every) {
        report.refuse(
            &at.key("every"),
            "`every` must be between 1s and 24h",
            "\"30s\" notices an outage within a minute",
        );
    }
    let Some(path) = &raw.path else {
        missing(report, &at, "path", "the path to ask, such as \"/v1/models\"");
        return None;
    };
    if !path.starts_with('/') || path.contains(char::is_whitespace) {
        report.refuse(&at.key("path"), format!("`{path}` is not a path"), "begin it with a slash: \"/v1/models\"");
    }
    Some(Health { path: path.clone(), every })
}

/// Headers that are added to calls; secrets among them must be kept elsewhere.
pub(super) fn headers(
    raw: Option<&Named<TextOrRef>>,
    at: &Path,
    report: &Report<'_>,
    vault: &Vault<'_>,
) -> Vec<(String, Secret)> {
    let at = at.key("headers");
    let mut headers = Vec::new();
    for (name, value) in raw.iter().flat_map(|headers| &headers.0) {
        let at = at.key(name);
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if !name.bytes().all(token) {
            report.refuse_key(
                &at,
                format!("`{name}` is not a header name"),
                "letters, digits and hyphens: \"x-my-header\"",
            );
        }
        if let TextOrRef::Text(text) = value {
            if is_credential(name) {
                let help = "keep it outside this file: { env = \"NAME\" } or { file = \"path\" }";
                report.refuse(&at, format!("the header `{name}` holds a secret in plain text"), help);
            } else if text.chars().any(|letter| letter.is_control() || !letter.is_ascii()) {
                report.refuse(&at, "a header holds plain ASCII without line breaks", "leave the other characters out");
            }
        }
        headers.extend(vault.text(value, &at, report).map(|value| (name.to_ascii_lowercase(), value)));
    }
    headers
}

/// Headers that carry credentials by their nature.
fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key"]
        .contains(&name.as_str())
}
