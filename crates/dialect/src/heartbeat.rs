//! What keeps an idle connection open without disturbing its reader.
//!
//! Each was measured against real clients (2026-11): the wrong one breaks them, so they differ.

use crate::{Format, Framing};

/// What is sent while nothing else is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// Anthropic's own event; kept Claude Code alive for 340 s.
    Ping,
    /// A comment. One line end only: a blank line makes openai-python dispatch an empty event where
    /// frames carry `id:` lines (openai-python issue 2722).
    Comment,
    /// An event that carries data, for Codex alone: a comment does not reset its idle timer. The SDKs of OpenAI raise on
    /// any event before `response.created`.
    Event,
    /// Blank lines: comments break genai for Python and Gemini CLI, and cost genai for JS the next chunk.
    Blank,
}

impl Beat {
    /// What every measured client of this format stands.
    pub const fn of(format: Format) -> Self {
        match format {
            Format::Messages => Self::Ping,
            Format::Chat | Format::Responses => Self::Comment,
            Format::Gemini => Self::Blank,
        }
    }

    /// The bytes that may be sent between any two frames of an open stream, and before the first.
    pub const fn bytes(self, framing: Framing) -> &'static [u8] {
        match (self, framing) {
            // Whitespace is nothing between the elements of an array, and before its bracket.
            (_, Framing::JsonArray) => b"\n",
            (Self::Ping, Framing::Sse) => b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
            (Self::Comment, Framing::Sse) => b": keepalive\n",
            (Self::Event, Framing::Sse) => b"event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n",
            (Self::Blank, Framing::Sse) => b"\n\n",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn heartbeats_between_frames_change_nothing() {
        for fixture in fixture::all() {
            let (frames, rest) = fixture::cut(fixture.framing, &fixture.bytes, []);
            let mut stream = Vec::new();
            for frame in &frames {
                stream.extend_from_slice(Beat::of(fixture.format).bytes(fixture.framing));
                stream.extend_from_slice(&frame.raw);
            }
            stream.extend_from_slice(&rest);
            let (seen, watch) = fixture::watch(fixture.format, &fixture::frames(fixture.framing, &stream.into()));
            let (before, known) = fixture::watch(fixture.format, &frames);
            assert_eq!(seen.replace('p', ""), before.replace('p', ""), "{}", fixture.name);
            assert_eq!((watch.is_whole(), watch.sent()), (known.is_whole(), known.sent()), "{}", fixture.name);
        }
    }
}
