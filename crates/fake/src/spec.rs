//! What one request meets: a fault, an answer, and how fast.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::trouble::Trouble;

/// How many words an answer has unless its spec says otherwise: long enough to be cut in the middle,
/// short enough that a benchmark measures the caller.
pub(crate) const WORDS: u32 = 16;

/// What one request meets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spec {
    /// The text it was read from.
    pub(crate) written: Arc<str>,
    pub(crate) fault: Fault,
    pub(crate) answer: Answer,
    pub(crate) words: u32,
    /// Before each piece of content but the first.
    pub(crate) delay: Duration,
    /// Before the first piece of content; before the head of an answer that is not a stream.
    pub(crate) first: Duration,
    /// Before the head of any answer.
    pub(crate) wait: Duration,
    /// The body of a status: someone's trouble, or this text.
    pub(crate) body: Option<Body>,
    pub(crate) retry_after: Option<RetryAfter>,
    pub(crate) should_retry: Option<bool>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) gzip: bool,
    pub(crate) pace: Option<Pace>,
    /// A prefill is refused, as the newest Claude models do.
    pub(crate) refuses_prefill: bool,
    /// The answer tells no usage.
    pub(crate) hides_usage: bool,
    /// The answer comes in one piece, also to those who asked for a stream.
    pub(crate) never_streams: bool,
}

/// How a request fails, if it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Ok,
    /// A whole answer with this status and the provider's own body for it.
    Status(u16),
    /// A whole answer that tells this trouble with the status the provider gives it.
    Trouble(Trouble),
    /// Reset before the request is read.
    Refuse,
    Reset,
    ResetAfterHeaders,
    Close,
    Cut(u32),
    CutFin(u32),
    End(u32),
    CutInTool,
    EndInTool,
    Malformed(u32),
    Error(u32, Trouble),
    Error200(Trouble),
    Empty,
    NoDone,
    Stall,
    StallAfterHeaders,
    StallAt(u32),
    /// After this many tokens only keep-alives, for ever.
    PingAt(u32),
    Huge(u64),
    EndlessHeaders,
    Garbage,
    HalfHead,
    WrongLength,
}

/// What the model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// JSON where the request asks for it, else numbered words.
    Fitting,
    Words,
    Echo,
    Literal(Arc<str>),
    Tool,
    TextAndTool,
    TwoTools,
    /// An agent's turn: this tool with these arguments, and words once its result has come.
    Call {
        name: Arc<str>,
        arguments: serde_json::Map<String, serde_json::Value>,
    },
    Thinking,
    Json,
    BadJson,
    Nothing,
}

/// The body of a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Trouble(Trouble),
    Literal(Arc<str>),
}

/// When the caller is told to come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RetryAfter {
    Never,
    Seconds(u64),
    Millis(u64),
    /// An HTTP date this far ahead.
    Date(Duration),
    Literal(Arc<str>),
}

/// So many bytes at a time, so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) bytes: usize,
    pub(crate) every: Duration,
}

impl Spec {
    /// The spec of a provider that is well.
    pub(crate) fn ok() -> Arc<Self> {
        static OK: LazyLock<Arc<Spec>> = LazyLock::new(|| Arc::new(Spec::named("ok")));
        Arc::clone(&OK)
    }

    /// A spec without faults that goes by this name.
    pub(crate) fn named(written: &str) -> Self {
        Self {
            written: written.into(),
            fault: Fault::Ok,
            answer: Answer::Fitting,
            words: WORDS,
            delay: Duration::ZERO,
            first: Duration::ZERO,
            wait: Duration::ZERO,
            body: None,
            retry_after: None,
            should_retry: None,
            headers: Vec::new(),
            gzip: false,
            pace: None,
            refuses_prefill: false,
            hides_usage: false,
            never_streams: false,
        }
    }
}
