//! Frames that differ from the one before in nothing but their text.
//!
//! Most of a stream is the same frame again with the next few letters in it. What such a frame means is known: what the
//! last one meant. So it is compared, and not read.

use std::ops::Range;

/// Longer frames are not remembered: what surrounds a text is some hundred bytes.
const AROUND_BYTES_MAX: usize = 1024;

/// Some providers put something new into every frame. After so many that were remembered in vain, none is any more.
const VAIN_MAX: u8 = 4;

/// The last frame, if it was one of text, without that text.
#[derive(Clone, Debug, Default)]
pub(super) struct Alike {
    /// What stood before the text and what stood behind it; empty where nothing is remembered.
    around: Vec<u8>,
    before: usize,
    /// Frames that were remembered since one was recognised.
    vain: u8,
}

impl Alike {
    /// The text of a frame that is like the last one in everything else.
    #[inline]
    pub(super) fn text<'f>(&mut self, frame: &'f [u8]) -> Option<&'f [u8]> {
        if self.around.is_empty() {
            return None;
        }
        let (before, behind) = self.around.split_at(self.before);
        let text = frame.strip_prefix(before)?.strip_suffix(behind)?;
        // Whatever could end the string or the line is left to those who read.
        let is_plain = text.iter().all(|byte| !matches!(byte, b'"' | b'\\' | b'\n' | b'\r'));
        let is_text = !text.is_empty() && is_plain && std::str::from_utf8(text).is_ok();
        is_text.then(|| {
            self.vain = 0;
            text
        })
    }

    /// Remembers a frame whose text stands here.
    pub(super) fn remember(&mut self, frame: &[u8], text: Range<usize>) {
        self.around.clear();
        if self.vain >= VAIN_MAX || frame.len() - text.len() > AROUND_BYTES_MAX {
            return;
        }
        self.vain += 1;
        self.before = text.start;
        self.around.extend_from_slice(&frame[..text.start]);
        self.around.extend_from_slice(&frame[text.end..]);
    }

    /// The last frame was another one.
    pub(super) fn forget(&mut self) {
        self.around.clear();
    }
}
