//! How an attempt ended badly, as the driver saw it: the evidence, owned.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode};
use steadfast_config::{Endpoint, MASK, Secret};
use steadfast_core::classify::Classifier;
use steadfast_core::cost::Usage;
use steadfast_core::evidence::Exit;
use steadfast_core::{Evidence, Failure, FailureKind, Surface, Timestamp, Transport};

/// The facts a failed attempt leaves behind.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) surface: Surface,
    pub(crate) status: Option<StatusCode>,
    pub(crate) headers: Box<HeaderMap>,
    /// The response body, the stream's error event, or the error's own words.
    pub(crate) body: Bytes,
    pub(crate) transport: Option<Transport>,
    /// Whether anything can have reached the provider.
    pub(crate) reached: bool,
    /// What the attempt consumed all the same.
    pub(crate) usage: Usage,
    /// The kind, where we know it ourselves.
    pub(crate) known: Option<FailureKind>,
    /// The tool whose call broke off or is malformed.
    pub(crate) tool: Option<Box<str>>,
}

impl Trouble {
    /// A response that says no.
    pub(crate) fn response(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self { status: Some(status), headers: Box::new(headers), body, ..Self::nothing(Surface::Http) }
    }

    /// A response that says yes and holds nothing usable.
    pub(crate) fn bad_answer(status: StatusCode, headers: HeaderMap, body: Bytes) -> Self {
        Self { surface: Surface::Stream, ..Self::response(status, headers, body) }
    }

    /// Something the transport did, with its own words.
    pub(crate) fn transport(transport: Transport, words: String) -> Self {
        let surface = Evidence::transport(transport).surface;
        Self { transport: Some(transport), body: words.into(), ..Self::nothing(surface) }
    }

    /// The target cannot be asked this at all; another one can, perhaps.
    pub(crate) fn unfit(words: &str) -> Self {
        let known = Some(FailureKind::ModelUnavailable);
        Self { known, body: words.to_owned().into(), reached: false, ..Self::nothing(Surface::Http) }
    }

    /// The same after the response had begun.
    pub(crate) fn in_stream(self) -> Self {
        Self { surface: Surface::Stream, ..self }
    }

    /// The same with what was consumed.
    pub(crate) fn with_usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }

    /// The same where it befell the call of a tool.
    pub(crate) fn in_call_of(self, tool: Option<&str>) -> Self {
        Self { tool: tool.map(Box::from), ..self }
    }

    /// Told that nothing was sent.
    pub(crate) fn unsent(self) -> Self {
        Self { reached: false, ..self }
    }

    /// The same without this endpoint's own secrets. A provider may repeat a key in its error, and
    /// that goes to clients and into notes for models; a key of ours is nobody's business.
    pub(crate) fn without_secrets(mut self, endpoint: &Endpoint) -> Self {
        for secret in secrets(endpoint) {
            if let Some(body) = without(&self.body, secret.as_bytes()) {
                self.body = body;
            }
            let told: Vec<HeaderName> = self
                .headers
                .iter()
                .filter(|(_, value)| find(value.as_bytes(), secret.as_bytes()).is_some())
                .map(|(name, _)| name.clone())
                .collect();
            for name in told {
                self.headers.remove(name);
            }
        }
        self
    }

    /// What kind of failure it is.
    pub(crate) fn classify(&self, classifier: &Classifier, provider: &str, now: Timestamp) -> Failure {
        if let Some(kind) = self.known {
            let message = String::from_utf8_lossy(&self.body).into_owned();
            return Failure { message, ..Failure::new(kind, "steadfast.unfit") };
        }
        let text = |value: &http::HeaderValue| value.to_str().ok().map(str::to_owned);
        let owned: Vec<(&str, String)> =
            self.headers.iter().filter_map(|(name, value)| Some((name.as_str(), text(value)?))).collect();
        let headers: Vec<(&str, &str)> = owned.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let failure = classifier.classify(&Evidence {
            provider: Some(provider),
            surface: self.surface,
            status: self.status.map(|status| status.as_u16()),
            headers: &headers,
            body: &self.body,
            transport: self.transport,
            exit: None::<Exit>,
            now: Some(now),
        });
        Failure { tool: self.tool.as_deref().map(str::to_owned), ..failure }
    }

    fn nothing(surface: Surface) -> Self {
        Self {
            surface,
            status: None,
            headers: Box::default(),
            body: Bytes::new(),
            transport: None,
            reached: true,
            usage: Usage::default(),
            known: None,
            tool: None,
        }
    }
}

/// Shorter ones are no secrets, and would be found in innocent words.
const SECRET_BYTES_MIN: usize = 8;

/// What the endpoint is sent that nobody else may know. Headers may hold anything, such as the name
/// of a beta that its error must be able to mention; only those named like a secret are ones.
fn secrets(endpoint: &Endpoint) -> impl Iterator<Item = &str> {
    const NAMES: [&str; 7] = ["auth", "key", "token", "secret", "cookie", "credential", "password"];
    let key = endpoint.credential.own().map(Secret::expose);
    let headers = endpoint.headers.iter().filter(|(name, _)| NAMES.iter().any(|part| name.contains(part)));
    key.into_iter().chain(headers.map(|(_, value)| value.expose())).filter(|text| text.len() >= SECRET_BYTES_MIN)
}

fn find(text: &[u8], secret: &[u8]) -> Option<usize> {
    text.windows(secret.len()).position(|window| window == secret)
}

/// The text with a mask in place of the secret; `None` where it is not in there.
fn without(text: &[u8], secret: &[u8]) -> Option<Bytes> {
    let mut at = find(text, secret)?;
    let (mut rest, mut masked) = (text, Vec::with_capacity(text.len()));
    loop {
        masked.extend_from_slice(&rest[..at]);
        masked.extend_from_slice(MASK.as_bytes());
        rest = &rest[at + secret.len()..];
        match find(rest, secret) {
            Some(next) => at = next,
            None => break,
        }
    }
    masked.extend_from_slice(rest);
    Some(masked.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_masked_wherever_it_stands() {
        let masked = |text: &str| without(text.as_bytes(), b"s3cr3t").map(|bytes| bytes.to_vec());
        assert_eq!(masked("s3cr3t and s3cr3ts3cr3t."), Some(b"*** and ******.".to_vec()));
        assert_eq!(masked("s3cr3"), None);
        assert_eq!(masked(""), None);
    }
}
