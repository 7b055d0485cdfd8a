//! Server-sent events: where one ends, and what its lines say.
//!
//! Lines end in `\n`, `\r\n` or `\r`; a blank line ends the event. After `\r` at the end of a
//! chunk nobody knows whether a `\n` belongs to it: the event waits for the next byte, except in a
//! stream whose last line ended in a bare `\r`, where none is to be expected.

use std::ops::Range;

use bytes::Bytes;

use super::{Data, Frame, Framing};

/// Where the scan stands between two chunks.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    line: Line,
    /// The line before ended in `\r` alone.
    bare: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Line {
    /// Nothing of it has come.
    #[default]
    Empty,
    Begun,
    /// It has ended in `\r`, perhaps `\r\n`.
    AfterCr,
    /// A blank line has ended in `\r`, perhaps `\r\n`.
    BlankAfterCr,
}

impl Scanner {
    /// How many bytes of the chunk belong to the event that ends first. The caller cuts there
    /// and asks again with what is left; without an end the whole chunk has been read.
    pub(super) fn end(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(byte) = chunk.get(at).copied() {
            match self.line {
                Line::BlankAfterCr => {
                    self.line = Line::Empty;
                    self.bare = byte != b'\n';
                    return Some(at + usize::from(byte == b'\n'));
                }
                Line::AfterCr => {
                    self.line = Line::Empty;
                    self.bare = byte != b'\n';
                    at += usize::from(byte == b'\n');
                }
                Line::Begun | Line::Empty => {
                    let blank = self.line == Line::Empty;
                    match byte {
                        b'\n' => {
                            self.line = Line::Empty;
                            self.bare = false;
                            at += 1;
                            if blank {
                                return Some(at);
                            }
                        }
                        b'\r' if blank && self.bare => return Some(at + 1),
                        b'\r' => {
                            self.line = if blank { Line::BlankAfterCr } else { Line::AfterCr };
                            at += 1;
                        }
                        _ => {
                            self.line = Line::Begun;
                            at += memchr::memchr2(b'\n', b'\r', &chunk[at..]).unwrap_or(chunk.len() - at);
                        }
                    }
                }
            }
        }
        None
    }
}

/// Reads the lines of a complete event.
pub(super) fn frame(raw: Bytes) -> Frame {
    let mut event = None;
    let mut data = Data::None;
    for (field, value) in fields(&raw) {
        match field {
            Field::Event => event = Some(value),
            Field::Data => data = if data == Data::None { Data::One(value) } else { Data::Many },
            Field::Other => {}
        }
    }
    if data == Data::None {
        data = bare_json(&raw);
    }
    Frame { raw, framing: Framing::Sse, event, data }
}

/// The data of an event on several lines.
pub(super) fn joined(raw: &[u8]) -> Vec<u8> {
    let lines = fields(raw).filter(|(field, _)| *field == Field::Data).map(|(_, value)| &raw[value]);
    lines.collect::<Vec<_>>().join(&b'\n')
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Event,
    Data,
    Other,
}

/// The fields of an event and where their values stand.
fn fields(raw: &[u8]) -> impl Iterator<Item = (Field, Range<usize>)> + '_ {
    let mut at = if raw.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    std::iter::from_fn(move || {
        let rest = raw.get(at..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let field = field(&rest[..length], at);
        at += length + 1;
        Some(field)
    })
}

#[inline]
fn field(line: &[u8], at: usize) -> (Field, Range<usize>) {
    let (field, name) = match line {
        [b'd', b'a', b't', b'a', ..] => (Field::Data, 4),
        [b'e', b'v', b'e', b'n', b't', ..] => (Field::Event, 5),
        _ => return (Field::Other, at..at),
    };
    match &line[name..] {
        [] => (field, at + name..at + name),
        [b':', b' ', ..] => (field, at + name + 2..at + line.len()),
        [b':', ..] => (field, at + name + 1..at + line.len()),
        _ => (Field::Other, at..at),
    }
}

/// An error may stand in the stream as bare JSON, without `data:`: genai for JS looks for exactly that in
/// Gemini's streams. Such an event is its own data.
fn bare_json(raw: &[u8]) -> Data {
    let trimmed = raw.trim_ascii_start();
    if trimmed.first() != Some(&b'{') {
        return Data::None;
    }
    let start = raw.len() - trimmed.len();
    Data::One(start..start + trimmed.trim_ascii_end().len())
}
