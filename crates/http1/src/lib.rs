//! HTTP/1.1 as a client speaks it, without sockets: requests become bytes, bytes become answers.
//!
//! Where two readers of the same bytes could disagree about where an answer ends, there is no
//! answer: one that is read too far, or not far enough, would be the beginning of somebody else's.

mod answer;
mod body;
mod request;

pub use answer::{Answer, Awaited};
pub use body::Body;
pub use request::head;

/// What came is not HTTP/1.1, or more of it than we take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The head cannot be read.
    #[error("invalid HTTP head: {0}")]
    Head(httparse::Error),
    /// The head has no end, or too many headers.
    #[error("the HTTP head is too large")]
    HeadTooLarge,
    /// It does not say without doubt where the body ends.
    #[error("invalid HTTP head: {0}")]
    Length(&'static str),
    /// The connection became something else, which nobody asked for.
    #[error("the server switches protocols unasked")]
    Switched,
    /// A chunk is not one.
    #[error("invalid chunk: {0}")]
    Chunk(&'static str),
}
