//! What keeps an idle connection open without disturbing its reader.
//!
//! Each was measured against real clients (2026-11): the wrong one breaks them, so they differ.

use crate::{Format, Framing};

/// The bytes that may be sent between any two frames of an open stream, and before the first.
pub const fn bytes(format: Format, framing: Framing) -> &'static [u8] {
    match (format, framing) {
        // Whitespace is nothing between the elements of an array, and before its bracket.
        (_, Framing::JsonArray) => b"\n",
        // Anthropic's own; kept Claude Code alive for 340 s.
        (Format::Messages, Framing::Sse) => b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
        // One line end only: a blank line makes openai-python dispatch an empty event where
        // frames carry `id:` lines (openai-python issue 2722).
        (Format::Chat, Framing::Sse) => b": keepalive\n",
        // Carries data: a comment does not reset the idle timer of Codex.
        (Format::Responses, Framing::Sse) => b"event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n",
        // Comments break genai for Python and Gemini CLI, and cost genai for JS the next chunk.
        (Format::Gemini, Framing::Sse) => b"\n\n",
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
                stream.extend_from_slice(bytes(fixture.format, fixture.framing));
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
