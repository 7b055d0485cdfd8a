//! Answers as bytes, one module per dialect. Each can say a whole answer, a stream of events, and
//! an error inside that stream.

mod chat;
mod gemini;
mod lists;
mod messages;
mod responses;

pub(crate) use lists::{count_tokens, embeddings, model_list, one_model};

use bytes::Bytes;

use crate::answer::{Block, tokens};
use crate::call::Api;
use crate::trouble::InStream;

/// When every answer was created: a fixed moment, so that answers can be compared.
const CREATED: u64 = 1_770_000_000;

/// What is said, and to whom.
#[derive(Debug)]
pub(crate) struct Saying<'a> {
    pub(crate) api: Api,
    pub(crate) model: &'a str,
    /// The number of the request: ids are made from it.
    pub(crate) number: u64,
    pub(crate) blocks: &'a [Block],
    pub(crate) input_tokens: usize,
    /// Whether usage is told at all, and in a chat stream whether it was asked for.
    pub(crate) tells_usage: bool,
}

/// What part of a stream an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Before any content: a role, `message_start`, a ping.
    Start,
    /// Begins or ends a block.
    Frame,
    /// Content.
    Token,
    /// Content inside a tool call.
    Tool,
    /// Says why the model stopped; usage.
    Finish,
    /// The terminal event.
    Done,
}

/// A stream as one run of bytes and where each event ends.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) bytes: Bytes,
    pub(crate) events: Vec<(Part, usize)>,
}

impl Rendered {
    /// The events one by one.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Part, Bytes)> {
        let starts = std::iter::once(0).chain(self.events.iter().map(|(_, end)| *end));
        starts.zip(&self.events).map(|(start, (part, end))| (*part, self.bytes.slice(start..*end)))
    }
}

/// Events while they are written.
#[derive(Debug, Default)]
struct Stream {
    text: String,
    events: Vec<(Part, usize)>,
}

impl Stream {
    fn sized(events: usize) -> Self {
        Self { text: String::with_capacity(events * 256 + 4096), events: Vec::with_capacity(events + 16) }
    }

    /// Ends the event that was written since the last call.
    fn end(&mut self, part: Part) {
        self.events.push((part, self.text.len()));
    }

    fn done(self) -> Rendered {
        Rendered { bytes: Bytes::from(self.text), events: self.events }
    }
}

/// Writes formatted text to a `String`, which cannot fail.
macro_rules! put {
    ($out:expr, $($what:tt)*) => {{
        use std::fmt::Write as _;
        let _ = write!($out, $($what)*);
    }};
}
use put;

/// The whole answer as one JSON text.
pub(crate) fn whole(saying: &Saying<'_>) -> String {
    match saying.api {
        Api::Chat => chat::whole(saying),
        Api::Responses => responses::whole(saying),
        Api::Messages => messages::whole(saying),
        _ => gemini::whole(saying),
    }
}

/// The answer as a stream.
pub(crate) fn stream(saying: &Saying<'_>) -> Rendered {
    match saying.api {
        Api::Chat => chat::stream(saying),
        Api::Responses => responses::stream(saying),
        Api::Messages => messages::stream(saying),
        Api::GenerateArray => gemini::array(saying),
        _ => gemini::stream(saying),
    }
}

/// The event that tells a trouble after `events` other ones.
pub(crate) fn error_event(saying: &Saying<'_>, trouble: &InStream, events: usize) -> String {
    match saying.api {
        Api::Chat => chat::error(trouble),
        Api::Responses => responses::error(saying, trouble, events),
        Api::Messages => messages::error(trouble),
        Api::GenerateArray => gemini::error_in_array(trouble, events),
        _ => gemini::error(trouble),
    }
}

/// What this dialect sends to keep a silent stream open.
pub(crate) fn keep_alive(api: Api) -> &'static str {
    match api {
        Api::Messages => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        Api::Responses => "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":0}\n\n",
        Api::Chat => ": keepalive\n\n",
        _ => "\n",
    }
}

/// Text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(&mut out, text);
    out
}

/// Appends text as a JSON string.
fn quote(out: &mut String, text: &str) {
    let plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    if plain {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        // A string is always JSON.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}

impl Saying<'_> {
    fn output_tokens(&self) -> usize {
        tokens(self.blocks)
    }

    fn thinking_tokens(&self) -> usize {
        let thinking = self.blocks.iter().filter(|block| matches!(block, Block::Thinking(_)));
        thinking.map(|block| tokens(std::slice::from_ref(block))).sum()
    }

    fn calls_tools(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Tool { .. }))
    }
}
