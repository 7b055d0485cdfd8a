//! An answer in another format than the client's: read in the one, handed on in the other.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use steadfast_dialect::translate::{self, Stamp, Translation};
use steadfast_dialect::{Format, Frames, Framing, Seen, TooLong, Watch};

use crate::operation::Operation;

/// Says that an answer was translated, from what, and what was not carried as it was.
pub(crate) const TRANSLATED: HeaderName = HeaderName::from_static("x-steadfast-translated");

/// A provider's stream on its way into the client's format.
pub(crate) struct Foreign {
    frames: Frames,
    pub(crate) watch: Watch,
    stream: translate::Stream,
    /// A tool call has begun and is not whole, or came whole and in no shape that can be told.
    pub(crate) in_call: bool,
    finished: bool,
}

/// What a provider's frame comes to.
pub(crate) enum Came {
    /// The client's bytes; there may be none.
    Bytes(Bytes),
    /// An error inside the stream, in the provider's words.
    Error(Bytes),
    /// Not what the provider's format says.
    Malformed,
}

impl Foreign {
    /// Providers are asked for server-sent events, whatever the client's framing.
    pub(crate) fn new(translation: &Translation, framing: Framing, stamp: Stamp) -> Self {
        Self {
            frames: Frames::new(Framing::Sse),
            watch: Watch::new(translation.provider()),
            stream: translation.stream(framing, stamp),
            in_call: false,
            finished: false,
        }
    }

    pub(crate) fn feed(&mut self, chunk: Bytes) -> Result<(), TooLong> {
        self.frames.feed(chunk)
    }

    /// What the next frame comes to, where there is one.
    pub(crate) fn next(&mut self) -> Option<Came> {
        let frame = self.frames.next()?;
        let seen = self.watch.see(&frame);
        let came = match seen {
            Seen::Error => Came::Error(frame.data().into_owned().into()),
            Seen::Malformed => Came::Malformed,
            _ => self.stream.feed(&frame).map_or(Came::Malformed, Came::Bytes),
        };
        let untold = seen == Seen::ToolWhole && matches!(came, Came::Malformed);
        self.in_call = self.watch.in_call() || untold;
        Some(came)
    }

    /// The client's end of a stream that is whole; once.
    pub(crate) fn finish(&mut self) -> Option<Bytes> {
        (!std::mem::replace(&mut self.finished, true)).then(|| self.stream.finish())
    }
}

/// What a translated answer is stamped with.
pub(crate) fn stamp(operation: &Operation) -> Stamp {
    let seconds = operation.engine.clock.wall().as_millis() / 1000;
    Stamp { seed: fastrand::u64(..), unix_seconds: u64::try_from(seconds).unwrap_or(0) }
}

/// The headers of a translated answer: another vendor's say nothing to this client, but for the id
/// by which its support finds the request.
pub(crate) fn headers(said: &HeaderMap, framing: Option<Framing>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(framing.map_or("application/json", content_type)));
    for name in ["request-id", "x-request-id"] {
        if let Some(id) = said.get(name) {
            headers.insert(HeaderName::from_static(name), id.clone());
        }
    }
    headers
}

/// What a stream says it is.
pub(crate) const fn content_type(framing: Framing) -> &'static str {
    match framing {
        Framing::Sse => "text/event-stream",
        Framing::JsonArray => "application/json",
    }
}

/// `messages; dropped=seed; changed=tool_ids`
pub(crate) fn told(translation: &Translation) -> Option<HeaderValue> {
    let provider = translation.provider().as_str();
    let notes = &translation.notes;
    let told = if notes.is_empty() { provider.to_owned() } else { format!("{provider}; {notes}") };
    HeaderValue::try_from(told).ok()
}

/// `messages; dropped=thinking`, of a request in the client's own format.
pub(crate) fn repaired(format: Format, dropped: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("{}; dropped={dropped}", format.as_str())).ok()
}
