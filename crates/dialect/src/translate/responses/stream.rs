//! An answer in pieces: every piece is said three times, as it comes, when its item is done, and at the end.

use super::item::{Head, Items, event, words, write_call, write_message, write_part, write_reasoning, write_summary};
use crate::translate::canon::{Event, Raw, Stop, Str, Tokens, ToolCall};
use crate::translate::out::Object;

/// Writes frames.
#[derive(Clone, Debug, Default)]
pub(in crate::translate) struct Writer {
    head: Head,
    items: Items,
    open: Option<Open>,
    sequence: u64,
    stop: Stop,
    tokens: Tokens,
}

/// An item that is growing.
#[derive(Clone, Debug)]
struct Open {
    kind: Kind,
    id: Str<'static>,
    text: Str<'static>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    Reasoning,
}

impl Kind {
    /// What the events of its pieces are called.
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "response.output_text",
            Self::Refusal => "response.refusal",
            Self::Reasoning => "response.reasoning_summary_text",
        }
    }

    const fn part_name(self) -> &'static str {
        match self {
            Self::Text | Self::Refusal => "response.content_part",
            Self::Reasoning => "response.reasoning_summary_part",
        }
    }

    const fn index_name(self) -> &'static str {
        match self {
            Self::Text | Self::Refusal => "content_index",
            Self::Reasoning => "summary_index",
        }
    }

    fn write_part(self, part: &mut Object<'_>, text: &Str<'_>) {
        match self {
            Self::Text | Self::Refusal => write_part(part, text, self == Self::Refusal),
            Self::Reasoning => write_summary(part, text),
        }
    }
}

impl Writer {
    pub(in crate::translate) fn new(created: u64) -> Self {
        Self { head: Head { created, ..Head::default() }, ..Self::default() }
    }

    pub(in crate::translate) fn write(&mut self, event: &Event<'_>, out: &mut String) {
        match event {
            Event::Start { id, model } => self.start(out, id, model),
            Event::Text(text) => self.grow(out, Kind::Text, text),
            Event::Refusal(text) => self.grow(out, Kind::Refusal, text),
            Event::Thinking(text) => self.grow(out, Kind::Reasoning, text),
            // Another vendor's seal is none here.
            Event::Seal(_) => {}
            Event::ToolCall(call) => self.call(out, call),
            Event::Tokens(tokens) => self.tokens.add(*tokens),
            Event::Stop(stop) => self.stop = *stop,
            Event::End => self.end(out),
        }
    }

    fn start(&mut self, out: &mut String, id: &Str<'_>, model: &Str<'_>) {
        self.head = Head::new(id, model, self.head.created);
        for kind in ["response.created", "response.in_progress"] {
            event(out, kind, &mut self.sequence, |event| {
                event.object("response", |response| self.head.write(response, &self.items, None));
            });
        }
    }

    fn grow(&mut self, out: &mut String, kind: Kind, text: &Str<'_>) {
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            self.close(out);
            self.begin(out, kind);
        }
        let index = self.items.count;
        let Some(open) = &mut self.open else { return };
        open.text.push(text);
        event(out, &format!("{}.delta", kind.name()), &mut self.sequence, |event| {
            open.place(event, index);
            event.text("delta", text);
            if kind == Kind::Text {
                event.array("logprobs", |_| {});
            }
        });
    }

    fn begin(&mut self, out: &mut String, kind: Kind) {
        let index = self.items.count;
        let id = self.head.item_id(if kind == Kind::Reasoning { "rs" } else { "msg" }, index);
        let open = Open { kind, id, text: Str::default() };
        event(out, "response.output_item.added", &mut self.sequence, |event| {
            event.value("output_index", index);
            event.object("item", |item| {
                item.text("id", &open.id);
                if kind == Kind::Reasoning {
                    item.word("type", "reasoning");
                    item.array("summary", |_| {});
                } else {
                    item.word("type", "message");
                    item.word("status", "in_progress");
                    item.word("role", "assistant");
                    item.array("content", |_| {});
                }
            });
        });
        event(out, &format!("{}.added", kind.part_name()), &mut self.sequence, |event| {
            open.place(event, index);
            event.object("part", |part| kind.write_part(part, &Str::default()));
        });
        self.open = Some(open);
    }

    fn close(&mut self, out: &mut String) {
        let Some(open) = self.open.take() else { return };
        let index = self.items.count;
        let kind = open.kind;
        event(out, &format!("{}.done", kind.name()), &mut self.sequence, |event| {
            open.place(event, index);
            event.text(if kind == Kind::Refusal { "refusal" } else { "text" }, &open.text);
            if kind == Kind::Text {
                event.array("logprobs", |_| {});
            }
        });
        event(out, &format!("{}.done", kind.part_name()), &mut self.sequence, |event| {
            open.place(event, index);
            event.object("part", |part| kind.write_part(part, &open.text));
        });
        self.done(out, |item| match kind {
            Kind::Reasoning => write_reasoning(item, &open.id, &open.text),
            Kind::Text | Kind::Refusal => write_message(item, &open.id, &open.text, kind == Kind::Refusal),
        });
    }

    fn call(&mut self, out: &mut String, call: &ToolCall<'_>) {
        self.close(out);
        let index = self.items.count;
        let id = self.head.item_id(if call.freeform { "ctc" } else { "fc" }, index);
        event(out, "response.output_item.added", &mut self.sequence, |event| {
            event.value("output_index", index);
            event.object("item", |item| write_call(item, &id, call, true));
        });
        let (name, field) = if call.freeform {
            ("response.custom_tool_call_input", "input")
        } else {
            ("response.function_call_arguments", "arguments")
        };
        let words = words(call);
        for (kind, field) in [("delta", "delta"), ("done", field)] {
            event(out, &format!("{name}.{kind}"), &mut self.sequence, |event| {
                event.text("item_id", &id);
                event.value("output_index", index);
                if kind == "done" && !call.freeform {
                    event.text("name", &call.name);
                }
                event.text(field, &words);
            });
        }
        self.done(out, |item| write_call(item, &id, call, false));
    }

    fn done(&mut self, out: &mut String, fill: impl FnOnce(&mut Object<'_>)) {
        let index = self.items.count;
        let item = self.items.push(fill);
        event(out, "response.output_item.done", &mut self.sequence, |event| {
            event.value("output_index", index);
            event.raw("item", &Raw::new(item));
        });
    }

    fn end(&mut self, out: &mut String) {
        self.close(out);
        let kind = match self.stop {
            Stop::TokensMax | Stop::Filtered => "response.incomplete",
            Stop::Done | Stop::ToolCalls | Stop::Sequence => "response.completed",
        };
        event(out, kind, &mut self.sequence, |event| {
            let end = Some((self.stop, self.tokens));
            event.object("response", |response| self.head.write(response, &self.items, end));
        });
    }
}

impl Open {
    /// Where a piece belongs.
    fn place(&self, event: &mut Object<'_>, output_index: u64) {
        event.text("item_id", &self.id);
        event.value("output_index", output_index);
        event.value(self.kind.index_name(), 0);
    }
}
