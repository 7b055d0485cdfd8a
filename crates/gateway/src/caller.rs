//! Who is calling: project, session, credentials, and what a request wishes for itself.

use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderMap, HeaderValue, StatusCode};
use steadfast_api::{Door, same, without_scheme};
use steadfast_config::{Client, DEFAULT_PROJECT, parse_duration};
use steadfast_core::FailureKind;
use steadfast_core::policy::{StreamMode, limits};
use steadfast_dialect::Envelope;
use steadfast_engine::{Snapshot, Wishes};

use crate::edge::Refusal;
use crate::prefix::{NAME_BYTES_MAX, Prefix};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
/// Where a key of ours can be put beside a provider's own.
const OUR_KEY: HeaderName = HeaderName::from_static("x-steadfast-key");
/// Where clients of Azure put their key.
const API_KEY: HeaderName = HeaderName::from_static("api-key");
const PROJECT: HeaderName = HeaderName::from_static("x-steadfast-project");
const SESSION: HeaderName = HeaderName::from_static("x-steadfast-session");
const AGENT: HeaderName = HeaderName::from_static("x-steadfast-agent");
const CLIENT: HeaderName = HeaderName::from_static("x-steadfast-client");
const STREAM: HeaderName = HeaderName::from_static("x-steadfast-stream");
const CHAIN: HeaderName = HeaderName::from_static("x-steadfast-chain");
const DEADLINE: HeaderName = HeaderName::from_static("x-steadfast-deadline");
const PARK: HeaderName = HeaderName::from_static("x-steadfast-park");

/// How long the SDKs say that they wait for a response to begin, in seconds.
const CLIENT_TIMEOUTS: [HeaderName; 2] =
    [HeaderName::from_static("x-stainless-read-timeout"), HeaderName::from_static("x-stainless-timeout")];

/// Who is calling, and with what.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) project: String,
    /// The client's own credentials, where they are not ours: they may be passed on.
    pub(crate) credential: HeaderMap,
    /// The query without a key.
    pub(crate) query: Option<String>,
}

/// The program that calls: by the name it is given, or by what it sends.
pub(crate) fn client(
    headers: &HeaderMap,
    path: &str,
    prefix: &Prefix,
    snapshot: &Snapshot,
) -> Result<Arc<Client>, Refusal> {
    let text = |name: &str| sent(headers, name);
    let known = &snapshot.config;
    let named = headers.get(&CLIENT).and_then(|value| value.to_str().ok());
    let found = match named.or(prefix.client.as_deref()) {
        Some(name) => known.client(name).ok_or_else(|| {
            let names: Vec<&str> = known.clients.iter().map(|client| &*client.name).collect();
            Refusal::bad_request(format!("there is no client `{name}`: there are {}", names.join(", ")))
        })?,
        None => known.recognise(path, text).ok_or_else(|| Refusal::bad_request("no client is known"))?,
    };
    Ok(Arc::clone(found))
}

/// Tells who is calling. `client` and `prefix` may name the project.
pub(crate) fn identify(
    headers: &mut HeaderMap,
    query: Option<&str>,
    prefix: &Prefix,
    client: &Client,
    snapshot: &Snapshot,
    door: Door,
) -> Result<Caller, Refusal> {
    let mut credential = HeaderMap::new();
    let mut keys: Vec<(HeaderName, String)> = Vec::new();
    for name in [AUTHORIZATION, X_API_KEY, X_GOOG_API_KEY, API_KEY] {
        if let Some(mut value) = headers.remove(&name) {
            value.set_sensitive(true);
            let text = value.to_str().unwrap_or("");
            keys.push((name.clone(), without_scheme(text).to_owned()));
            credential.insert(name, value);
        }
    }
    if let Some(key) = headers.remove(&OUR_KEY) {
        keys.push((OUR_KEY, key.to_str().unwrap_or("").to_owned()));
    }
    let (query, key) = without_key(query);
    if let Some(key) = key {
        if let Ok(mut value) = HeaderValue::from_str(&key) {
            value.set_sensitive(true);
            credential.entry(X_GOOG_API_KEY).or_insert(value);
        }
        keys.push((X_GOOG_API_KEY, key));
    }
    let by_key = keys.iter().find_map(|(_, key)| snapshot.project_of_key(key));
    let admin = snapshot.config.admin_token.as_ref().map(steadfast_config::Secret::expose);
    let is_the_admins = |key: &str| admin.is_some_and(|admin| same(admin, key));
    let is_admin = keys.iter().any(|(_, key)| is_the_admins(key));
    for (name, _) in keys.iter().filter(|(_, key)| is_the_admins(key) || snapshot.project_of_key(key).is_some()) {
        // A key of ours says nothing to a provider; what else the client sent may be the provider's own.
        credential.remove(name);
    }
    if door == Door::Locked && by_key.is_none() && !is_admin {
        let message = "this gateway is open to the network: send a project's key or the admin token as the API key";
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, FailureKind::AuthError, message));
    }
    let said = headers.get(&PROJECT).and_then(|value| value.to_str().ok()).or(prefix.project.as_deref());
    let project = match by_key {
        Some(project) => project,
        None => {
            let named = said.or_else(|| mentioned(headers, client, snapshot)).unwrap_or(DEFAULT_PROJECT);
            let known = snapshot.config.projects.get(named).ok_or_else(|| {
                Refusal::bad_request(format!(
                    "there is no project `{named}`; add [projects.{named}] to the configuration"
                ))
            })?;
            if known.has_keys() && !is_admin {
                let message = format!("the project `{named}` has keys: send one of them as the API key");
                return Err(Refusal::new(StatusCode::UNAUTHORIZED, FailureKind::AuthError, message));
            }
            &known.name
        }
    };
    Ok(Caller { project: project.to_owned(), credential, query })
}

/// A project that the client mentions for its provider. Nobody meant it for us, so it counts only
/// where it is one of ours and open.
fn mentioned<'a>(headers: &'a HeaderMap, client: &Client, snapshot: &Snapshot) -> Option<&'a str> {
    let names = client.project.iter().filter_map(|name| sent(headers, name));
    let is_open = |name: &&str| snapshot.config.projects.get(*name).is_some_and(|project| !project.has_keys());
    names.into_iter().find(is_open)
}

/// The conversation a request belongs to, where anybody says: we ourselves, the path, the client's
/// own headers, or the body.
pub(crate) fn session(headers: &HeaderMap, prefix: &Prefix, client: &Client, envelope: &Envelope) -> Option<Arc<str>> {
    first_id(headers, &SESSION, prefix.session.as_deref(), &client.session, envelope.session.as_deref())
}

/// The agent within the conversation, in the same order.
pub(crate) fn agent(headers: &HeaderMap, prefix: &Prefix, client: &Client) -> Option<Arc<str>> {
    first_id(headers, &AGENT, prefix.agent.as_deref(), &client.agent, None)
}

/// A header whose name is only text. A request has a dozen: to look at each costs less than to make a name of the text.
fn sent<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let (_, value) = headers.iter().find(|(known, _)| known.as_str() == name)?;
    value.to_str().ok()
}

fn first_id(
    headers: &HeaderMap,
    ours: &HeaderName,
    in_path: Option<&str>,
    theirs: &[String],
    in_body: Option<&str>,
) -> Option<Arc<str>> {
    let ours = headers.get(ours).and_then(|value| value.to_str().ok());
    let theirs = theirs.iter().map(|name| sent(headers, name));
    let mut told = [ours, in_path].into_iter().chain(theirs).chain([in_body]).flatten();
    told.find(|id| !id.is_empty() && id.len() <= NAME_BYTES_MAX).map(Arc::from)
}

/// What a request wishes for itself; what cannot be is refused by name.
pub(crate) fn wishes(headers: &HeaderMap) -> Result<Wishes, Refusal> {
    // Every wish begins so, ours and those of the SDKs.
    if !headers.keys().any(|name| name.as_str().starts_with("x-st")) {
        return Ok(Wishes::default());
    }
    let text = |name: &HeaderName| {
        let value = headers.get(name)?.to_str();
        Some(value.map_err(|_| Refusal::bad_request(format!("the header `{name}` is not plain text"))))
    };
    let duration = |name: &HeaderName| {
        let Some(text) = text(name).transpose()? else { return Ok(None) };
        let wait = parse_duration(text).filter(|wait| *wait <= limits::DEADLINE);
        wait.map(Some).ok_or_else(|| {
            Refusal::bad_request(format!(
                "the header `{name}` is `{text}`: write a duration such as `10m`, at most 7 days"
            ))
        })
    };
    let stream = match text(&STREAM).transpose()? {
        None => None,
        Some("fast") => Some(StreamMode::Fast),
        Some("safe") => Some(StreamMode::Safe),
        Some("regenerate") => Some(StreamMode::Regenerate),
        Some("resume") => Some(StreamMode::Resume),
        Some(other) => {
            let message = format!("the header `{STREAM}` is `{other}`: it knows fast, safe, regenerate and resume");
            return Err(Refusal::bad_request(message));
        }
    };
    let chain = text(&CHAIN).transpose()?.map(|chain| {
        chain.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Arc::from).collect::<Vec<Arc<str>>>()
    });
    let deadline = duration(&DEADLINE)?;
    if deadline.is_some_and(|deadline| deadline.is_zero()) {
        return Err(Refusal::bad_request(format!("the header `{DEADLINE}` leaves no time")));
    }
    Ok(Wishes { stream, chain, deadline, park: duration(&PARK)?, client_waits: client_waits(headers), again: None })
}

/// How long the client waits for the response to begin, where it tells.
fn client_waits(headers: &HeaderMap) -> Option<Duration> {
    let told = CLIENT_TIMEOUTS.iter().find_map(|name| headers.get(name)?.to_str().ok()?.parse::<f64>().ok())?;
    (told.is_finite() && told > 0.0 && told < 1e7).then(|| Duration::from_secs_f64(told))
}

/// Takes `key=…` out of a query, as Gemini's clients write it.
fn without_key(query: Option<&str>) -> (Option<String>, Option<String>) {
    let Some(query) = query else { return (None, None) };
    if !query.contains("key=") {
        return (Some(query.to_owned()), None);
    }
    let (keys, rest): (Vec<&str>, Vec<&str>) = query.split('&').partition(|part| part.starts_with("key="));
    let key = keys.first().map(|key| key["key=".len()..].to_owned());
    ((!rest.is_empty()).then(|| rest.join("&")), key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_the_query_is_taken_out() {
        let split = |query| without_key(Some(query));
        assert_eq!(split("alt=sse&key=abc"), (Some("alt=sse".into()), Some("abc".into())));
        assert_eq!(split("key=abc"), (None, Some("abc".into())));
        assert_eq!(split("pagekey=1"), (Some("pagekey=1".into()), None));
        assert_eq!(without_key(None), (None, None));
    }

    #[test]
    fn wishes_are_read_and_nonsense_is_refused_by_name() {
        let headers = |name: &'static str, value: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
        };
        let wished = wishes(&headers("x-steadfast-stream", "safe")).unwrap();
        assert_eq!(wished.stream, Some(StreamMode::Safe));
        let wished = wishes(&headers("x-steadfast-chain", "a, b,")).unwrap();
        assert_eq!(wished.chain.unwrap(), ["a", "b"].map(Arc::<str>::from));
        assert_eq!(
            wishes(&headers("x-stainless-timeout", "600")).unwrap().client_waits,
            Some(Duration::from_secs(600))
        );
        let refused = |name, value| wishes(&headers(name, value)).unwrap_err().message;
        assert!(refused("x-steadfast-stream", "quick").contains("`quick`: it knows fast, safe"));
        assert!(refused("x-steadfast-deadline", "soon").contains("write a duration such as `10m`"));
        assert!(refused("x-steadfast-deadline", "0s").contains("leaves no time"));
    }

    #[test]
    fn secrets_are_compared_whole() {
        assert!(same("abc", "abc") && !same("abc", "abd") && !same("abc", "abcd") && !same("", "a"));
    }
}
