//! A stream cut into frames, bytes kept as they came.
//!
//! Concatenating the raw bytes of all frames, and the rest, gives the stream back byte for byte,
//! and where the chunks of the network begin and end changes nothing. Knows no format: what a
//! frame means is for [`crate::watch`].

mod array;
mod sse;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// A longer frame is an error. The largest seen are whole answers in `response.completed` and
/// images in base64, which stay below; a stream that never ends a frame must not fill the memory.
pub const FRAME_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How a stream is cut into frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Server-sent events.
    #[default]
    Sse,
    /// The elements of one JSON array: Gemini without `alt=sse`.
    JsonArray,
}

/// One event, or one element of the array, with everything that stood around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The bytes as they came.
    pub raw: Bytes,
    framing: Framing,
    event: Option<Range<usize>>,
    data: Data,
}

/// Cuts a stream into frames.
#[derive(Debug)]
pub struct Frames {
    scanner: Scanner,
    /// The beginning of a frame whose end has not come yet.
    begun: BytesMut,
    ready: VecDeque<Frame>,
    too_long: bool,
}

/// A frame longer than [`FRAME_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// Where the data stands in the raw bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    None,
    One(Range<usize>),
    /// On several lines, which are joined when asked for.
    Many,
}

#[derive(Debug)]
enum Scanner {
    Sse(sse::Scanner),
    Array(array::Scanner),
}

impl Frame {
    /// The name of the event.
    pub fn event(&self) -> Option<&str> {
        std::str::from_utf8(&self.raw[self.event.clone()?]).ok()
    }

    /// What the event says; lines are joined as the rules of server-sent events have it.
    #[inline]
    pub fn data(&self) -> Cow<'_, [u8]> {
        match &self.data {
            Data::None => Cow::Borrowed(&[]),
            Data::One(range) => Cow::Borrowed(&self.raw[range.clone()]),
            Data::Many => Cow::Owned(sse::joined(&self.raw)),
        }
    }

    /// Whether there is no data: a comment, a blank line, the bracket that ends the array.
    pub fn is_comment(&self) -> bool {
        self.data == Data::None
    }

    /// How the stream it came from is cut.
    pub const fn framing(&self) -> Framing {
        self.framing
    }

    /// Where the data stands in the raw bytes, if in one piece.
    pub(crate) fn data_range(&self) -> Option<Range<usize>> {
        match &self.data {
            Data::One(range) => Some(range.clone()),
            Data::None | Data::Many => None,
        }
    }
}

impl Frames {
    /// Starts at the beginning of a stream.
    pub fn new(framing: Framing) -> Self {
        let scanner = match framing {
            Framing::Sse => Scanner::Sse(sse::Scanner::default()),
            Framing::JsonArray => Scanner::Array(array::Scanner::default()),
        };
        Self { scanner, begun: BytesMut::new(), ready: VecDeque::new(), too_long: false }
    }

    /// Takes a chunk. A frame that lies within it is not copied. After an error the frames before
    /// it can still be taken, and nothing more is accepted.
    pub fn feed(&mut self, mut chunk: Bytes) -> Result<(), TooLong> {
        if self.too_long {
            return Err(TooLong);
        }
        while let Some(end) = self.scanner.end(&chunk) {
            if self.begun.len() + end > FRAME_BYTES_MAX {
                break;
            }
            let raw = self.join(chunk.split_to(end));
            let frame = self.scanner.frame(raw);
            self.ready.push_back(frame);
        }
        self.too_long = self.begun.len() + chunk.len() > FRAME_BYTES_MAX;
        self.begun.extend_from_slice(&chunk);
        if self.too_long { Err(TooLong) } else { Ok(()) }
    }

    /// The next frame that is complete.
    #[expect(clippy::should_implement_trait, reason = "no iterator: there may be more after a None")]
    pub fn next(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }

    /// What is left when the stream ends inside a frame.
    pub fn rest(&mut self) -> Bytes {
        self.begun.split().freeze()
    }

    fn join(&mut self, piece: Bytes) -> Bytes {
        if self.begun.is_empty() {
            return piece;
        }
        self.begun.extend_from_slice(&piece);
        self.begun.split().freeze()
    }
}

impl Scanner {
    /// How many bytes of the chunk belong to the frame that ends first; None: none ends in it.
    #[inline]
    fn end(&mut self, chunk: &[u8]) -> Option<usize> {
        match self {
            Self::Sse(scanner) => scanner.end(chunk),
            Self::Array(scanner) => scanner.end(chunk),
        }
    }

    #[inline]
    fn frame(&mut self, raw: Bytes) -> Frame {
        match self {
            Self::Sse(_) => sse::frame(raw),
            Self::Array(scanner) => scanner.frame(raw),
        }
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a frame of the stream is longer than {FRAME_BYTES_MAX} bytes")
    }
}

impl std::error::Error for TooLong {}

#[cfg(test)]
mod tests;
