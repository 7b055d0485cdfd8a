//! An answer in pieces.

use super::{read_tokens, stop, stop_name, write_tokens};
use crate::Frame;
use crate::json::{Broken, Cursor};
use crate::translate::canon::{Event, Raw, Stop, Str, Tokens, ToolCall};
use crate::translate::out::{self, Object};
use crate::translate::read::{Outcome, name, text};
use crate::translate::repair;
use crate::translate::seal::FOREIGN;
use crate::translate::stream::{Sink, bounded};

/// Reads frames.
#[derive(Clone, Debug, Default)]
pub(in crate::translate) struct Reader {
    /// The tool call whose arguments are coming.
    call: Option<(Str<'static>, Str<'static>, Str<'static>)>,
    tokens: Tokens,
}

/// What an event says, whatever its type: that may come last.
#[derive(Default)]
struct Fields<'a> {
    kind: &'a [u8],
    /// The type of a block or of a delta.
    part: &'a [u8],
    id: Option<Str<'a>>,
    name: Option<Str<'a>>,
    model: Option<Str<'a>>,
    words: Option<Str<'a>>,
    arguments: Option<Str<'a>>,
    seal: Option<Str<'a>>,
    stop: Option<Stop>,
    tokens: Option<Tokens>,
}

impl<'a> Fields<'a> {
    fn read(&mut self, cursor: &mut Cursor<'a>, depth: u8) -> Outcome<()> {
        cursor.object(|cursor, key| {
            match key.name() {
                b"type" if depth == 0 => self.kind = name(cursor)?,
                b"type" => self.part = name(cursor)?,
                b"message" | b"content_block" | b"delta" if depth == 0 => self.read(cursor, 1)?,
                b"usage" => self.tokens = Some(read_tokens(cursor)?),
                b"id" => self.id = text(cursor)?,
                b"name" => self.name = text(cursor)?,
                b"model" => self.model = text(cursor)?,
                b"text" | b"thinking" => self.words = text(cursor)?,
                b"partial_json" => self.arguments = text(cursor)?,
                b"signature" => self.seal = text(cursor)?,
                b"stop_reason" => self.stop = cursor.string()?.map(|reason| stop(reason.name())),
                _ => cursor.skip()?,
            }
            Ok(())
        })
    }
}

impl Reader {
    pub(in crate::translate) fn feed(&mut self, frame: &Frame, sink: &mut Sink<'_>) -> Outcome<()> {
        let data = frame.data();
        let mut event = Fields::default();
        event.read(&mut Cursor::new(&data), 0)?;
        if let Some(tokens) = event.tokens {
            self.tokens.add(tokens);
            sink(Event::Tokens(self.tokens));
        }
        match event.kind {
            b"message_start" => {
                let (id, model) = (event.id.unwrap_or_default(), event.model.unwrap_or_default());
                sink(Event::Start { id, model });
            }
            b"content_block_start" if event.part == b"tool_use" => {
                let owned = |text: Option<Str<'_>>| text.unwrap_or_default().owned();
                self.call = Some((owned(event.id), owned(event.name), Str::default()));
            }
            b"content_block_start" | b"content_block_delta" => self.grow(event, sink)?,
            b"content_block_stop" => {
                if let Some((id, name, arguments)) = self.call.take() {
                    let broken = Broken { at_byte: 0, what: "the arguments of a tool call are no JSON object" };
                    let arguments = Raw::arguments(&arguments).ok_or(broken)?;
                    sink(Event::ToolCall(ToolCall::new(id, name, arguments)));
                }
            }
            b"message_delta" => {
                if let Some(stop) = event.stop {
                    sink(Event::Stop(stop));
                }
            }
            b"message_stop" => sink(Event::End),
            _ => {}
        }
        Ok(())
    }

    fn grow(&mut self, event: Fields<'_>, sink: &mut Sink<'_>) -> Outcome<()> {
        let words = event.words.filter(|words| !words.is_empty());
        match (event.part, words) {
            (b"text" | b"text_delta", Some(words)) => sink(Event::Text(words)),
            (b"thinking" | b"thinking_delta", Some(words)) => sink(Event::Thinking(words)),
            (b"signature_delta", _) => {
                if let Some(seal) = event.seal {
                    sink(Event::Seal(seal));
                }
            }
            (b"input_json_delta", _) => {
                if let (Some((_, _, arguments)), Some(more)) = (&mut self.call, event.arguments) {
                    bounded(arguments, &more)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Writes frames.
#[derive(Clone, Debug, Default)]
pub(in crate::translate) struct Writer {
    open: Option<Block>,
    index_next: u64,
    stop: Stop,
    tokens: Tokens,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
}

impl Writer {
    pub(in crate::translate) fn write(&mut self, event: &Event<'_>, out: &mut String) {
        match event {
            Event::Start { id, model } => self.start(out, id, model),
            Event::Text(text) | Event::Refusal(text) => {
                self.open(out, Block::Text);
                self.delta(out, "text_delta", "text", text);
            }
            Event::Thinking(text) => {
                self.open(out, Block::Thinking);
                self.delta(out, "thinking_delta", "thinking", text);
            }
            // Another vendor's seal is none here; the block gets ours when it closes.
            Event::Seal(_) => {}
            Event::ToolCall(call) => self.call(out, call),
            Event::Tokens(tokens) => self.tokens.add(*tokens),
            Event::Stop(stop) => self.stop = *stop,
            Event::End => self.end(out),
        }
    }

    fn start(&self, out: &mut String, id: &Str<'_>, model: &Str<'_>) {
        event(out, "message_start", |event| {
            event.object("message", |message| {
                message.text("id", &repair::id("msg_", id));
                message.word("type", "message");
                message.word("role", "assistant");
                message.text("model", model);
                message.array("content", |_| {});
                message.null("stop_reason");
                message.null("stop_sequence");
                message.object("usage", |usage| write_tokens(usage, self.tokens));
            });
        });
    }

    fn open(&mut self, out: &mut String, block: Block) {
        if self.open == Some(block) {
            return;
        }
        self.close(out);
        self.open = Some(block);
        event(out, "content_block_start", |event| {
            event.value("index", self.index_next);
            event.object("content_block", |start| match block {
                Block::Text => {
                    start.word("type", "text");
                    start.word("text", "");
                }
                Block::Thinking => {
                    start.word("type", "thinking");
                    start.word("thinking", "");
                    start.word("signature", "");
                }
            });
        });
    }

    fn delta(&self, out: &mut String, kind: &str, field: &str, text: &Str<'_>) {
        event(out, "content_block_delta", |event| {
            event.value("index", self.index_next);
            event.object("delta", |delta| {
                delta.word("type", kind);
                delta.text(field, text);
            });
        });
    }

    fn close(&mut self, out: &mut String) {
        let Some(block) = self.open.take() else { return };
        if block == Block::Thinking {
            self.delta(out, "signature_delta", "signature", &Str::plain(FOREIGN));
        }
        self.stop_block(out);
    }

    fn stop_block(&mut self, out: &mut String) {
        event(out, "content_block_stop", |event| event.value("index", self.index_next));
        self.index_next += 1;
    }

    fn call(&mut self, out: &mut String, call: &ToolCall<'_>) {
        self.close(out);
        event(out, "content_block_start", |event| {
            event.value("index", self.index_next);
            event.object("content_block", |block| {
                block.word("type", "tool_use");
                block.text("id", &call.id);
                block.text("name", &call.name);
                block.object("input", |_| {});
            });
        });
        self.delta(out, "input_json_delta", "partial_json", &call.arguments.as_str());
        self.stop_block(out);
    }

    fn end(&mut self, out: &mut String) {
        self.close(out);
        event(out, "message_delta", |event| {
            event.object("delta", |delta| {
                delta.word("stop_reason", stop_name(self.stop));
                delta.null("stop_sequence");
            });
            event.object("usage", |usage| write_tokens(usage, self.tokens));
        });
        event(out, "message_stop", |_| {});
    }
}

/// An event, which says its name twice.
fn event(out: &mut String, kind: &str, fill: impl FnOnce(&mut Object<'_>)) {
    out.push_str("event: ");
    out.push_str(kind);
    out.push_str("\ndata: ");
    out::object(out, |event| {
        event.word("type", kind);
        fill(event);
    });
    out.push_str("\n\n");
}
