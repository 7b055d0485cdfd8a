//! An answer in pieces.

use super::answer::{Choice, NO_OBJECT, may_cut, reason};
use super::{Call, read_tokens, stop_name, write_said_call, write_tokens};
use crate::Frame;
use crate::json::{Broken, Cursor};
use crate::translate::canon::{Event, Stop, Str, Tokens, ToolCall};
use crate::translate::out::{self, Object};
use crate::translate::read::{Outcome, text};
use crate::translate::repair;
use crate::translate::stream::{Sink, bounded};

/// A stream with more open calls than this is not one.
const CALLS_MAX: usize = 128;

const NO_CALL: Broken = Broken { at_byte: 0, what: "a tool call that never began, or one too many" };

const NO_END: Broken = Broken { at_byte: 0, what: "a tool call without an end" };

/// Reads frames.
#[derive(Clone, Debug, Default)]
pub(in crate::translate) struct Reader {
    /// The calls that are not whole yet, in the order in which they began.
    open: Vec<Open>,
    refused: bool,
    tokens: Tokens,
}

/// A call whose arguments are coming.
#[derive(Clone, Debug, Default)]
struct Open {
    index: Option<u64>,
    id: Str<'static>,
    name: Str<'static>,
    arguments: Str<'static>,
}

/// What a chunk says: servers that sort their fields put the choices first.
#[derive(Default)]
struct Chunk<'a> {
    id: Str<'a>,
    model: Str<'a>,
    choice: Option<Choice<'a>>,
    tokens: Option<Tokens>,
}

impl<'a> Chunk<'a> {
    fn read(data: &'a [u8]) -> Outcome<Self> {
        let mut chunk = Self::default();
        Cursor::new(data).object(|cursor, key| {
            match key.name() {
                b"id" => chunk.id = text(cursor)?.unwrap_or_default(),
                b"model" => chunk.model = text(cursor)?.unwrap_or_default(),
                b"choices" => cursor.array(|cursor| {
                    let choice = Choice::read(cursor)?;
                    chunk.choice = chunk.choice.take().or((choice.index == 0).then_some(choice));
                    Ok(())
                })?,
                b"usage" => chunk.tokens = Some(read_tokens(cursor)?),
                b"x_groq" => cursor.object(|cursor, key| {
                    match key.name() {
                        b"usage" => chunk.tokens = Some(read_tokens(cursor)?),
                        _ => cursor.skip()?,
                    }
                    Ok(())
                })?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(chunk)
    }
}

impl Reader {
    pub(in crate::translate) fn feed(&mut self, frame: &Frame, sink: &mut Sink<'_>) -> Outcome<()> {
        let data = frame.data();
        if data.trim_ascii() == b"[DONE]" {
            if !self.open.is_empty() {
                return Err(NO_END);
            }
            sink(Event::End);
            return Ok(());
        }
        let chunk = Chunk::read(&data)?;
        if let Some(tokens) = chunk.tokens {
            self.tokens.add(tokens);
            sink(Event::Tokens(self.tokens));
        }
        let Some(choice) = chunk.choice else { return Ok(()) };
        sink(Event::Start { id: chunk.id, model: chunk.model });
        self.say(choice, sink)
    }

    fn say(&mut self, choice: Choice<'_>, sink: &mut Sink<'_>) -> Outcome<()> {
        let said = choice.said;
        if !said.thinking.is_empty() {
            sink(Event::Thinking(said.thinking));
        }
        if !said.text.is_empty() {
            sink(Event::Text(said.text));
        }
        if !said.refusal.is_empty() {
            self.refused = true;
            sink(Event::Refusal(said.refusal));
        }
        for call in said.calls {
            self.grow(&call, sink)?;
        }
        let Some(stop) = choice.stop else { return Ok(()) };
        let stop = reason(stop, self.refused);
        for open in std::mem::take(&mut self.open) {
            match open.whole() {
                Some(call) => sink(Event::ToolCall(call)),
                // Cut off where the answer was: it never becomes whole.
                None if may_cut(stop) => {}
                None => return Err(NO_OBJECT),
            }
        }
        sink(Event::Stop(stop));
        Ok(())
    }

    /// A call begins or goes on.
    fn grow(&mut self, piece: &Call<'_>, sink: &mut Sink<'_>) -> Outcome<()> {
        let at = match self.open.iter().rposition(|open| open.goes_on_with(piece)) {
            Some(at) => at,
            // The last breath of a call that is whole already.
            None if piece.name.is_empty() && piece.arguments.raw().trim().is_empty() => return Ok(()),
            None if piece.name.is_empty() || self.open.len() >= CALLS_MAX => return Err(NO_CALL),
            None => {
                self.send_whole(sink);
                self.open.push(Open { index: piece.index, ..Open::default() });
                self.open.len() - 1
            }
        };
        let open = &mut self.open[at];
        // Said once, or again and again.
        if open.id.is_empty() {
            open.id = piece.id.owned();
        }
        if open.name.is_empty() {
            open.name = piece.name.owned();
        }
        bounded(&mut open.arguments, &piece.arguments)
    }

    /// When the next call begins, those before it are usually whole; where calls are interleaved they
    /// are not, and wait.
    fn send_whole(&mut self, sink: &mut Sink<'_>) {
        while let Some(open) = self.open.first().filter(|open| !open.arguments.is_empty()) {
            let Some(call) = open.clone().whole() else { return };
            sink(Event::ToolCall(call));
            self.open.remove(0);
        }
    }
}

impl Open {
    /// Whether a piece is this call's. Some servers number every call zero, or none: then the id tells.
    fn goes_on_with(&self, piece: &Call<'_>) -> bool {
        let same_index = self.index == piece.index || piece.index.is_none();
        same_index && (piece.id.is_empty() || self.id.is_empty() || self.id == piece.id)
    }

    fn whole(self) -> Option<ToolCall<'static>> {
        Call { id: self.id, name: self.name, arguments: self.arguments, ..Call::default() }.whole()
    }
}

/// Writes frames.
#[derive(Clone, Debug, Default)]
pub(in crate::translate) struct Writer {
    id: Str<'static>,
    model: Str<'static>,
    calls: u64,
    stop: Stop,
    tokens: Tokens,
    /// The chunk with the usage has no choices. Clients that did not ask for it often look at the first
    /// choice of every chunk and break, so it is sent as OpenAI sends it: to those who asked.
    usage_asked: bool,
    created: u64,
}

impl Writer {
    pub(in crate::translate) fn new(usage_asked: bool, created: u64) -> Self {
        Self { usage_asked, created, ..Self::default() }
    }

    pub(in crate::translate) fn write(&mut self, event: &Event<'_>, out: &mut String) {
        match event {
            Event::Start { id, model } => {
                self.id = repair::id("chatcmpl-", id);
                self.model = model.owned();
                self.delta(out, |delta| {
                    delta.word("role", "assistant");
                    delta.word("content", "");
                });
            }
            Event::Text(words) => self.delta(out, |delta| delta.text("content", words)),
            Event::Thinking(words) => self.delta(out, |delta| delta.text("reasoning_content", words)),
            Event::Refusal(words) => self.delta(out, |delta| delta.text("refusal", words)),
            // There is no place for it.
            Event::Seal(_) => {}
            Event::ToolCall(call) => self.call(out, call),
            Event::Tokens(tokens) => self.tokens.add(*tokens),
            Event::Stop(stop) => self.stop = *stop,
            Event::End => self.end(out),
        }
    }

    fn call(&mut self, out: &mut String, call: &ToolCall<'_>) {
        self.delta(out, |delta| {
            delta.array("tool_calls", |calls| {
                calls.object(|out| {
                    out.value("index", self.calls);
                    write_said_call(out, call);
                });
            });
        });
        self.calls += 1;
    }

    fn end(&self, out: &mut String) {
        self.choice(out, Some(self.stop), |_| {});
        if self.usage_asked {
            self.chunk(out, |chunk| {
                chunk.array("choices", |_| {});
                chunk.object("usage", |usage| write_tokens(usage, self.tokens));
            });
        }
        out.push_str("data: [DONE]\n\n");
    }

    fn delta(&self, out: &mut String, fill: impl FnOnce(&mut Object<'_>)) {
        self.choice(out, None, fill);
    }

    fn choice(&self, out: &mut String, stop: Option<Stop>, fill: impl FnOnce(&mut Object<'_>)) {
        self.chunk(out, |chunk| {
            chunk.array("choices", |choices| {
                choices.object(|choice| {
                    choice.value("index", 0);
                    choice.object("delta", fill);
                    choice.null("logprobs");
                    match stop {
                        Some(stop) => choice.word("finish_reason", stop_name(stop)),
                        None => choice.null("finish_reason"),
                    }
                });
            });
        });
    }

    fn chunk(&self, out: &mut String, fill: impl FnOnce(&mut Object<'_>)) {
        out.push_str("data: ");
        out::object(out, |chunk| {
            chunk.text("id", &self.id);
            chunk.word("object", "chat.completion.chunk");
            chunk.value("created", self.created);
            chunk.text("model", &self.model);
            fill(chunk);
        });
        out.push_str("\n\n");
    }
}
