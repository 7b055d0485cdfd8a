//! What a client asks for, as the engine needs to know it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use steadfast_config::Client;
use steadfast_core::policy::StreamMode;
use steadfast_dialect::{Envelope, Route};

/// One request of a client.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its name in logs, headers and `steadfast why`.
    pub id: Arc<str>,
    /// Its method.
    pub method: Method,
    /// Its path, as a provider knows it.
    pub path: String,
    /// Its query, without credentials.
    pub query: Option<String>,
    /// Its headers, without credentials and without what belongs to the connection.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// What it asks for.
    pub route: Route,
    /// What the body says.
    pub envelope: Envelope,
    /// The project's name.
    pub project: String,
    /// The conversation it belongs to, where the client says.
    pub session: Option<Arc<str>>,
    /// The agent within it, where the client says.
    pub agent: Option<Arc<str>>,
    /// What is known about the program that asks.
    pub client: Arc<Client>,
    /// The client's own credentials, where they may be passed on.
    pub credential: HeaderMap,
    /// What it wishes for itself.
    pub wishes: Wishes,
}

/// What one request may wish for itself, over its project's policy.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// What its stream promises.
    pub stream: Option<StreamMode>,
    /// Where it falls back to.
    pub chain: Option<Vec<Arc<str>>>,
    /// How long it may take.
    pub deadline: Option<Duration>,
    /// How long it may be held when no target is left.
    pub park: Option<Duration>,
    /// How long the client itself waits for the response to begin.
    pub client_waits: Option<Duration>,
    /// The request that a person has tried again with this one, as it was first asked. What is remembered of its
    /// failure does not answer this one.
    pub again: Option<Arc<Call>>,
}

/// A name for a request: short enough to read aloud, long enough not to come twice. Nine letters of
/// time, seven of chance: names that grow with time go to the end of a store's index, whatever it holds.
pub fn new_request_id() -> Arc<str> {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let bits = since.as_millis() << 35 | u128::from(fastrand::u64(..) >> 29);
    let mut id = String::with_capacity(20);
    id.push_str("req_");
    id.extend((0..16).rev().map(|letter| char::from(LETTERS[(bits >> (5 * letter)) as usize % 32])));
    id.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_requests_do_not_repeat() {
        let ids: std::collections::HashSet<_> = (0..10_000).map(|_| new_request_id()).collect();
        assert_eq!(ids.len(), 10_000);
    }
}
