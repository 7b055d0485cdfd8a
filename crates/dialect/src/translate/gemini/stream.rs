//! An answer in pieces: each is an answer of its own with more parts, and the last says why it ended.

use super::answer::{Call, Chunk, Piece, write_made, write_names, write_thought};
use super::partial::Partial;
use super::{stop_name, write_tokens};
use crate::translate::canon::{Event, Stop, Str, Tokens};
use crate::translate::out::{self, Object};
use crate::translate::read::Outcome;
use crate::translate::stream::Sink;
use crate::{Frame, Framing};

/// Reads frames.
#[derive(Clone, Debug, Default)]
pub(in crate::translate) struct Reader {
    /// The tool call whose arguments are coming.
    call: Option<Partial>,
    tokens: Tokens,
}

impl Reader {
    pub(in crate::translate) fn feed(&mut self, frame: &Frame, sink: &mut Sink<'_>) -> Outcome<()> {
        let data = frame.data();
        let chunk = Chunk::read(&data)?;
        if let Some(tokens) = chunk.tokens {
            self.tokens.add(tokens);
            sink(Event::Tokens(self.tokens));
        }
        sink(Event::Start { id: chunk.id, model: chunk.model });
        for piece in chunk.pieces {
            match piece {
                Piece::Text(text) => sink(Event::Text(text)),
                Piece::Thought(text) => sink(Event::Thinking(text)),
                Piece::Call(call) => self.call(call, sink)?,
            }
        }
        if let Some(stop) = chunk.stop {
            sink(Event::Stop(stop));
        }
        Ok(())
    }

    fn call(&mut self, call: Call<'_>, sink: &mut Sink<'_>) -> Outcome<()> {
        if self.call.is_none() && !call.goes_on && call.values.is_none() {
            sink(Event::ToolCall(call.whole()));
            return Ok(());
        }
        let open = self.call.get_or_insert_default();
        open.add(&call)?;
        if !call.goes_on {
            sink(Event::ToolCall(open.whole()));
            self.call = None;
        }
        Ok(())
    }
}

/// Writes frames.
#[derive(Clone, Debug)]
pub(in crate::translate) struct Writer {
    framing: Framing,
    /// The array is open.
    begun: bool,
    id: Str<'static>,
    model: Str<'static>,
    stop: Stop,
    tokens: Tokens,
}

impl Writer {
    pub(in crate::translate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            begun: false,
            id: Str::default(),
            model: Str::default(),
            stop: Stop::default(),
            tokens: Tokens::default(),
        }
    }

    pub(in crate::translate) fn write(&mut self, event: &Event<'_>, out: &mut String) {
        match event {
            // Nothing begins a stream but its first piece.
            Event::Start { id, model } => (self.id, self.model) = (id.owned(), model.owned()),
            Event::Text(text) | Event::Refusal(text) => self.chunk(out, None, |part| part.text("text", text)),
            Event::Thinking(text) => self.chunk(out, None, |part| write_thought(part, text)),
            // Another vendor's seal is none here.
            Event::Seal(_) => {}
            Event::ToolCall(call) => self.chunk(out, None, |part| write_made(part, call)),
            Event::Tokens(tokens) => self.tokens.add(*tokens),
            Event::Stop(stop) => self.stop = *stop,
            Event::End => {
                self.chunk(out, Some(self.stop), |part| part.word("text", ""));
                if self.framing == Framing::JsonArray {
                    out.push_str("\n]\n");
                }
            }
        }
    }

    fn chunk(&mut self, out: &mut String, stop: Option<Stop>, part: impl FnOnce(&mut Object<'_>)) {
        out.push_str(match (self.framing, self.begun) {
            (Framing::Sse, _) => "data: ",
            (Framing::JsonArray, false) => "[",
            (Framing::JsonArray, true) => "\n,\r\n",
        });
        self.begun = true;
        out::object(out, |chunk| {
            chunk.array("candidates", |candidates| {
                candidates.object(|candidate| {
                    candidate.object("content", |content| {
                        content.array("parts", |parts| parts.object(part));
                        content.word("role", "model");
                    });
                    if let Some(stop) = stop {
                        candidate.word("finishReason", stop_name(stop));
                    }
                    candidate.value("index", 0);
                });
            });
            if stop.is_some() {
                chunk.object("usageMetadata", |usage| write_tokens(usage, self.tokens));
            }
            write_names(chunk, &self.model, &self.id);
        });
        if self.framing == Framing::Sse {
            out.push_str("\r\n\r\n");
        }
    }
}
