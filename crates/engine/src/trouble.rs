//! How an attempt ended badly, as the driver saw it: the evidence, owned.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use steadfast_core::classify::Classifier;
use steadfast_core::cost::Usage;
use steadfast_core::evidence::Exit;
use steadfast_core::{Evidence, Failure, Surface, Timestamp, Transport};

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

    /// The same after the response had begun.
    pub(crate) fn in_stream(self) -> Self {
        Self { surface: Surface::Stream, ..self }
    }

    /// The same with what was consumed.
    pub(crate) fn with_usage(self, usage: Usage) -> Self {
        Self { usage, ..self }
    }

    /// Told that nothing was sent.
    pub(crate) fn unsent(self) -> Self {
        Self { reached: false, ..self }
    }

    /// What kind of failure it is.
    pub(crate) fn classify(&self, classifier: &Classifier, provider: &str, now: Timestamp) -> Failure {
        let text = |value: &http::HeaderValue| value.to_str().ok().map(str::to_owned);
        let owned: Vec<(&str, String)> =
            self.headers.iter().filter_map(|(name, value)| Some((name.as_str(), text(value)?))).collect();
        let headers: Vec<(&str, &str)> = owned.iter().map(|(name, value)| (*name, value.as_str())).collect();
        classifier.classify(&Evidence {
            provider: Some(provider),
            surface: self.surface,
            status: self.status.map(|status| status.as_u16()),
            headers: &headers,
            body: &self.body,
            transport: self.transport,
            exit: None::<Exit>,
            now: Some(now),
        })
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
        }
    }
}
