//! The elements of a JSON array as they arrive: Gemini's stream without `alt=sse`.
//!
//! A frame is one element with the bracket, comma and whitespace in front of it; the closing
//! bracket is a frame without data. An object without an array around it is a frame too: that is
//! how errors come. Checks nothing but nesting: whether an element is JSON is for its reader.

use bytes::Bytes;

use super::{Data, Frame, Framing};

/// Where the scan stands between two chunks.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    place: Place,
    /// The opening bracket has been seen, and the closing one not yet.
    inside: bool,
    /// Brackets and braces open within the element.
    depth: usize,
    /// Bytes of the frame that came in earlier chunks.
    before: usize,
    /// Where in the frame the element starts.
    start: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before, between and after elements.
    #[default]
    Between,
    Element,
    String,
    Escape,
    /// A number or word where an object should be.
    Scalar,
}

impl Scanner {
    /// How many bytes of the chunk belong to the frame that ends first.
    pub(super) fn end(&mut self, chunk: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < chunk.len() {
            let ends = match self.place {
                Place::Between => self.between(chunk[at], at),
                Place::Element => {
                    at += next_mark(&chunk[at..]);
                    let Some(byte) = chunk.get(at) else { break };
                    self.element(*byte)
                }
                Place::String => {
                    at += memchr::memchr2(b'"', b'\\', &chunk[at..]).unwrap_or(chunk.len() - at);
                    let Some(byte) = chunk.get(at) else { break };
                    self.string(*byte)
                }
                Place::Escape => {
                    self.place = Place::String;
                    false
                }
                Place::Scalar => {
                    if matches!(chunk[at], b',' | b']' | b' ' | b'\n' | b'\r' | b'\t') {
                        self.place = Place::Between;
                        // What ends it is no part of it.
                        return Some(at);
                    }
                    false
                }
            };
            at += 1;
            if ends {
                return Some(at);
            }
        }
        self.before += chunk.len();
        None
    }

    /// The frame whose end was found.
    pub(super) fn frame(&mut self, raw: Bytes) -> Frame {
        let data = self.start.take().map_or(Data::None, |start| Data::One(start..raw.len()));
        self.before = 0;
        Frame { raw, framing: Framing::JsonArray, event: None, data }
    }

    fn between(&mut self, byte: u8, at: usize) -> bool {
        match byte {
            b'[' if !self.inside => self.inside = true,
            b']' if self.inside => {
                self.inside = false;
                return true;
            }
            b'{' | b'[' => {
                self.start = Some(self.before + at);
                self.depth = 1;
                self.place = Place::Element;
            }
            b'"' => {
                self.start = Some(self.before + at);
                self.depth = 0;
                self.place = Place::String;
            }
            b' ' | b'\n' | b'\r' | b'\t' | b',' => {}
            _ => {
                self.start = Some(self.before + at);
                self.place = Place::Scalar;
            }
        }
        false
    }

    const fn element(&mut self, byte: u8) -> bool {
        match byte {
            b'"' => self.place = Place::String,
            b'{' | b'[' => self.depth += 1,
            _ => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.place = Place::Between;
                    return true;
                }
            }
        }
        false
    }

    const fn string(&mut self, byte: u8) -> bool {
        if byte == b'\\' {
            self.place = Place::Escape;
            return false;
        }
        let alone = self.depth == 0;
        self.place = if alone { Place::Between } else { Place::Element };
        alone
    }
}

/// How far it is to the next byte that opens or closes something, or to the end.
fn next_mark(chunk: &[u8]) -> usize {
    let near = memchr::memchr3(b'"', b'{', b'}', chunk).unwrap_or(chunk.len());
    memchr::memchr2(b'[', b']', &chunk[..near]).unwrap_or(near)
}
