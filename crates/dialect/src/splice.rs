//! Going on inside an open message after a break.
//!
//! A second stream is rewritten so that it continues the message the client already has: ids, model
//! and indices of the open message stay, the second beginning is dropped, blocks are counted on.
//! The result is one valid stream for strict parsers: real SDKs raise on a second `message_start`.
//!
//! To bridge a second break, watch what was sent, not what came: feed the bytes that went out to
//! a [`Watch`] of their own.
//!
//! Never inside a tool call, thinking or JSON output: [`crate::Sent::resumable`] and
//! [`crate::Sent::regenerable`] say what is possible.

mod chat;
mod edit;
mod gemini;
mod messages;
mod prefill;
mod responses;
#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;

use crate::{Format, Frame, Seen, Watch};

pub use prefill::prefilled;

/// What the client reads at the break.
pub const MARK: &str = "\n\n[Connection lost mid-response]\n\n";

/// The delta that writes [`MARK`] into the open message. Opens a text block where none is open, and
/// closes what must be closed before one can be.
pub fn mark(format: Format, open: &Watch) -> Vec<u8> {
    match format {
        Format::Chat => chat::mark(open),
        Format::Responses => responses::State::new(open).mark(),
        Format::Messages => messages::State::new(open).mark(),
        Format::Gemini => gemini::mark(open),
    }
    .into_bytes()
}

/// How the second stream relates to what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The whole answer again, after the mark.
    Again,
    /// The text that was sent already is skipped, byte for byte.
    Reproduced,
    /// The model was given the text as a prefill and continues it.
    Prefilled,
}

/// Rewrites the frames of a second stream.
#[derive(Debug)]
pub struct Splice {
    skip: Skip,
    state: State,
}

/// The second stream does not repeat what was sent, or cannot go on from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diverged;

#[derive(Debug)]
enum State {
    Chat(chat::State),
    Responses(responses::State),
    Messages(messages::State),
    Gemini(gemini::State),
}

/// Text that was sent already and is still to be skipped.
#[derive(Debug)]
struct Skip {
    mode: Mode,
    /// None: it was not kept, so nothing can be compared with it.
    text: Option<String>,
    at: usize,
}

impl Splice {
    /// Starts at the break. `open` has seen what was sent and kept its text; in mode `Again` the mark has been sent too.
    pub fn new(format: Format, mode: Mode, open: Watch) -> Self {
        let skip = Skip::new(mode, open.sent().text());
        let state = match format {
            Format::Chat => State::Chat(chat::State::new(&open)),
            Format::Gemini => State::Gemini(gemini::State::new(&open)),
            Format::Messages => {
                let mut state = messages::State::new(&open);
                if mode == Mode::Again {
                    state.mark();
                }
                State::Messages(state)
            }
            Format::Responses => {
                let mut state = responses::State::new(&open);
                if mode == Mode::Again {
                    state.mark();
                }
                State::Responses(state)
            }
        };
        // Taken by value: after a break nothing more is seen by the first watch.
        drop(open);
        Self { skip, state }
    }

    /// The next frame of the new stream as it must appear inside the open message; empty: nothing to send for it.
    pub fn feed(&mut self, frame: &Frame, seen: &Seen) -> Result<Bytes, Diverged> {
        if frame.is_comment() {
            return Ok(frame.raw.clone());
        }
        // What to do about a second break is for the caller.
        if matches!(seen, Seen::Error | Seen::Malformed) {
            return Ok(Bytes::new());
        }
        let skip = &mut self.skip;
        match &mut self.state {
            State::Chat(state) => state.feed(skip, frame, *seen),
            State::Responses(state) => state.feed(skip, frame),
            State::Messages(state) => state.feed(skip, frame),
            State::Gemini(state) => state.feed(skip, frame),
        }
    }

    /// Whether everything that was sent has been skipped.
    pub fn caught_up(&self) -> bool {
        self.skip.is_done()
    }
}

impl Skip {
    fn new(mode: Mode, sent: Option<&str>) -> Self {
        let text = match mode {
            Mode::Again => Some(String::new()),
            Mode::Reproduced => sent.map(str::to_owned),
            // A prefill must not end in whitespace; the model writes it once more.
            Mode::Prefilled => sent.map(|sent| sent[sent.trim_end().len()..].to_owned()),
        };
        Self { mode, text, at: 0 }
    }

    fn is_done(&self) -> bool {
        self.text.as_ref().is_some_and(|text| self.at == text.len())
    }

    /// What of this piece of text has not been sent yet.
    fn new_part<'a>(&mut self, piece: &'a str) -> Result<&'a str, Diverged> {
        let left = &self.text.as_ref().ok_or(Diverged)?[self.at..];
        let known = left.len().min(piece.len());
        if left.as_bytes()[..known] != piece.as_bytes()[..known] {
            return Err(Diverged);
        }
        self.at += known;
        piece.get(known..).ok_or(Diverged)
    }

    /// Something follows that is no text: everything must have been skipped by now.
    fn finish(&self) -> Result<(), Diverged> {
        match self.mode {
            // Whitespace at the end that the model does not repeat harms nobody.
            Mode::Again | Mode::Prefilled => Ok(()),
            Mode::Reproduced if self.is_done() => Ok(()),
            Mode::Reproduced => Err(Diverged),
        }
    }

    /// Whether the second stream's thinking is to be seen: only where the answer is told again.
    fn shows_thinking(&self) -> bool {
        self.mode == Mode::Again
    }
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the new stream does not repeat what was sent")
    }
}

impl std::error::Error for Diverged {}
