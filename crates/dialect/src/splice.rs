//! Going on inside an open message after a break.

use std::fmt;

use bytes::Bytes;

use crate::{Format, Frame, Seen, Watch};

/// The text delta that marks the break, in the open message.
pub fn mark(_format: Format, _open: &Watch) -> Vec<u8> {
    Vec::new()
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
    mode: Mode,
}

/// The second stream does not say what was sent already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diverged;

impl Splice {
    /// Starts at the break.
    pub fn new(_format: Format, mode: Mode, _open: Watch) -> Self {
        Self { mode }
    }

    /// The next frame of the new stream as it must appear inside the open message; empty: nothing to send for it.
    pub fn feed(&mut self, frame: &Frame, _seen: &Seen) -> Result<Bytes, Diverged> {
        Ok(frame.raw.clone())
    }

    /// Whether everything that was sent has been skipped.
    pub fn caught_up(&self) -> bool {
        self.mode == Mode::Again
    }
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the new stream does not repeat what was sent")
    }
}

impl std::error::Error for Diverged {}

/// The request that continues what was sent, where that is provably safe.
pub fn prefilled(_format: Format, _body: &[u8], _model: &str, _text: &str) -> Option<Vec<u8>> {
    None
}
