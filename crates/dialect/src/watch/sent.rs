//! What has reached the client: what going on after a break depends on.

use crate::json::Text;

/// More text than this is not kept, and a break after it cannot be bridged: an answer that long is
/// cheaper to report as broken than to hold in memory for every open stream.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;

/// What has reached the client if every frame went out but those of an open tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    text: Option<String>,
    text_bytes: u64,
    /// More than plain text: a whole tool call.
    pub(crate) tool: bool,
    /// More than plain text: thinking.
    pub(crate) thinking: bool,
    /// More than plain text: another choice, citations, a refusal, something unknown.
    pub(crate) other: bool,
    /// Inside something that can neither be left nor gone on with: a thinking block without its signature.
    pub(crate) stuck: bool,
}

/// Where a [`Sent`] stood.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    text: usize,
    text_bytes: u64,
    flags: [bool; 4],
}

impl Sent {
    /// The text, where it is kept and within its bound.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref().filter(|text| text.len() as u64 == self.text_bytes)
    }

    /// How much text a person has been sent; where the text is not kept, escapes count as they were written.
    pub const fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    /// Whether nothing but plain text has been sent: no tool call, no thinking, nothing unknown.
    pub const fn is_plain(&self) -> bool {
        !(self.tool || self.thinking || self.other || self.stuck)
    }

    /// Whether the text can be continued, as far as the stream tells. Whether it is JSON only the request tells.
    pub fn resumable(&self) -> bool {
        self.is_plain() && self.text().is_some_and(|text| !text.trim_end().is_empty())
    }

    /// Whether the whole answer can be sent again after a mark. A tool call that went out would be run twice.
    pub fn regenerable(&self) -> bool {
        !(self.tool || self.other || self.stuck) && self.text().is_some()
    }

    pub(super) fn keeping() -> Self {
        Self { text: Some(String::new()), ..Self::default() }
    }

    /// Where it stands, to go back to: a frame that turns out to be broken was not sent.
    pub(super) fn mark(&self) -> Mark {
        let Self { text, text_bytes, tool, thinking, other, stuck } = self;
        let text = text.as_ref().map_or(0, String::len);
        Mark { text, text_bytes: *text_bytes, flags: [*tool, *thinking, *other, *stuck] }
    }

    pub(super) fn back_to(&mut self, mark: Mark) {
        if let Some(text) = &mut self.text {
            text.truncate(mark.text);
        }
        self.text_bytes = mark.text_bytes;
        [self.tool, self.thinking, self.other, self.stuck] = mark.flags;
    }

    pub(super) fn push(&mut self, text: Text<'_>) {
        if self.text.is_none() {
            self.text_bytes += text.raw().len() as u64;
            return;
        }
        self.push_str(&text.decode());
    }

    pub(crate) fn push_str(&mut self, piece: &str) {
        self.text_bytes += piece.len() as u64;
        if let Some(text) = self.text.as_mut().filter(|text| text.len() + piece.len() <= TEXT_BYTES_MAX) {
            text.push_str(piece);
        }
    }
}
