//! Responses: items are counted on from the open response, and so are its events.
//!
//! The answer told again follows in items of its own, after the open message has been closed: reasoning and
//! tool calls that belong together stay together. A continued answer goes on in the open message. What
//! closes a message repeats all of its text, so those events are written anew.

use std::ops::Range;

use bytes::Bytes;
use serde_json::{Value, json};

use super::edit::{Edits, event};
use super::{Diverged, MARK, Skip};
use crate::json::{Broken, Cursor, Text};
use crate::watch::{self, Part};
use crate::{Frame, Watch};

/// The response as the client has it.
#[derive(Debug)]
pub(super) struct State {
    id: Option<String>,
    model: Option<String>,
    sequence_next: u64,
    output_next: u64,
    open: Option<Message>,
    /// Items the client has whole.
    done: Vec<String>,
    /// Where the second stream's items go, by their index.
    targets: Vec<(u64, Target)>,
}

/// The message the client has open.
#[derive(Debug)]
struct Message {
    id: String,
    output_index: u64,
    /// The text of its finished parts.
    parts: Vec<String>,
    part: Part,
    /// The text of the part that is not finished.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Nowhere: reasoning, or a message that the client has already.
    Drop,
    /// Nowhere, but it must repeat what was sent.
    Repeat,
    /// Into the open message.
    Open,
    /// An item of its own.
    Item(u64),
}

/// Where in an event the values stand that may change.
#[derive(Debug, Default)]
struct Event<'a> {
    kind: &'a [u8],
    sequence: Option<Range<usize>>,
    output: Option<Range<usize>>,
    output_index: Option<u64>,
    content: Option<Range<usize>>,
    item_id: Option<Range<usize>>,
    item: Option<Range<usize>>,
    item_kind: &'a [u8],
    delta: Option<Text<'a>>,
    delta_at: Option<Range<usize>>,
    response_id: Option<Range<usize>>,
    response_model: Option<Range<usize>>,
    response_output: Option<Range<usize>>,
}

impl State {
    pub(super) fn new(open: &Watch) -> Self {
        let seen = open.responses();
        let text = open.sent().text().unwrap_or_default();
        let message = seen.and_then(|seen| seen.message.as_ref()).map(|message| Message::new(message, text));
        Self {
            id: open.id().map(str::to_owned),
            model: open.model().map(str::to_owned),
            sequence_next: open.sequence_next(),
            output_next: seen.map_or(0, |seen| seen.output_next),
            open: message,
            done: seen.map(|seen| seen.done.clone()).unwrap_or_default(),
            targets: Vec::new(),
        }
    }

    pub(super) fn mark(&mut self) -> String {
        let mut out = String::new();
        self.open_message(&mut out);
        self.open_part(&mut out);
        if let Some(open) = &mut self.open {
            open.text.push_str(MARK);
            let value = with(&open.place(), json!({"delta": MARK, "logprobs": []}));
            self.write(&mut out, "response.output_text.delta", &value);
        }
        out
    }

    pub(super) fn feed(&mut self, skip: &mut Skip, frame: &Frame) -> Result<Bytes, Diverged> {
        let data = frame.data();
        let Ok(mut event) = read(&data) else { return Ok(Bytes::new()) };
        if event.kind.is_empty() {
            event.kind = frame.event().unwrap_or_default().as_bytes();
        }
        match event.kind {
            b"response.created" | b"response.queued" | b"response.in_progress" => Ok(Bytes::new()),
            b"response.completed" | b"response.incomplete" => {
                skip.finish()?;
                let mut out = String::new();
                self.close(&mut out);
                Ok(self.end(&out, frame, &event))
            }
            b"response.output_item.added" => self.added(skip, frame, &event),
            _ => match event.output_index.map(|index| self.target(index)) {
                None => Ok(self.passed(frame, &event, Edits::default())),
                Some(Target::Drop) => Ok(Bytes::new()),
                Some(Target::Repeat) => self.repeated(skip, &event),
                Some(Target::Open) => self.continued(skip, frame, &event),
                Some(Target::Item(index)) => {
                    if event.kind == b"response.output_item.done" {
                        self.done
                            .extend(event.item.clone().map(|item| String::from_utf8_lossy(&data[item]).into_owned()));
                    }
                    Ok(self.at_index(frame, &event, index))
                }
            },
        }
    }

    fn added(&mut self, skip: &Skip, frame: &Frame, event: &Event<'_>) -> Result<Bytes, Diverged> {
        let mut out = String::new();
        let target = match event.item_kind {
            b"reasoning" if !skip.shows_thinking() => Target::Drop,
            b"message" if !skip.shows_thinking() && self.open.is_some() => Target::Open,
            b"message" if !skip.is_done() => Target::Repeat,
            _ => {
                skip.finish()?;
                self.close(&mut out);
                self.output_next += 1;
                Target::Item(self.output_next - 1)
            }
        };
        self.targets.push((event.output_index.unwrap_or_default(), target));
        match target {
            Target::Drop | Target::Repeat | Target::Open => Ok(Bytes::new()),
            Target::Item(index) => {
                let frame = self.at_index(frame, event, index);
                Ok([out.as_bytes(), &frame].concat().into())
            }
        }
    }

    /// A message the client has whole already: it may say that and nothing more.
    fn repeated(&self, skip: &mut Skip, event: &Event<'_>) -> Result<Bytes, Diverged> {
        if let (b"response.output_text.delta", Some(text)) = (event.kind, event.delta) {
            let text = text.decode();
            if !skip.new_part(&text)?.is_empty() {
                return Err(Diverged);
            }
        }
        Ok(Bytes::new())
    }

    fn continued(&mut self, skip: &mut Skip, frame: &Frame, event: &Event<'_>) -> Result<Bytes, Diverged> {
        match (event.kind, event.delta) {
            (b"response.output_text.delta", Some(text)) => {
                let text = text.decode();
                let new = skip.new_part(&text)?;
                if new.is_empty() {
                    return Ok(Bytes::new());
                }
                let mut out = String::new();
                self.open_part(&mut out);
                let mut edits = Edits::default();
                if new.len() < text.len() {
                    edits.put_str(event.delta_at.as_ref(), Some(new));
                }
                if let Some(open) = &mut self.open {
                    open.text.push_str(new);
                }
                let frame = self.inside(frame, event, edits);
                Ok([out.as_bytes(), &frame].concat().into())
            }
            (b"response.content_part.added" | b"response.content_part.done" | b"response.output_text.done", _) => {
                Ok(Bytes::new())
            }
            (b"response.output_item.done", _) => {
                skip.finish()?;
                let mut out = String::new();
                self.close(&mut out);
                if let Some(target) = self.targets.last_mut() {
                    target.1 = Target::Drop;
                }
                Ok(out.into())
            }
            _ if !skip.is_done() => Ok(Bytes::new()),
            _ => Ok(self.inside(frame, event, Edits::default())),
        }
    }

    /// The event of the second stream's message, as one of the open message.
    fn inside(&mut self, frame: &Frame, event: &Event<'_>, mut edits: Edits) -> Bytes {
        if let Some(open) = &self.open {
            edits.put_str(event.item_id.as_ref(), Some(&open.id));
            edits.put(event.output.as_ref(), open.output_index.to_string());
            edits.put(event.content.as_ref(), open.parts.len().to_string());
        }
        self.passed(frame, event, edits)
    }

    fn at_index(&mut self, frame: &Frame, event: &Event<'_>, index: u64) -> Bytes {
        let mut edits = Edits::default();
        edits.put(event.output.as_ref(), index.to_string());
        self.passed(frame, event, edits)
    }

    fn passed(&mut self, frame: &Frame, event: &Event<'_>, mut edits: Edits) -> Bytes {
        if event.sequence.is_some() {
            edits.put(event.sequence.as_ref(), self.sequence_next.to_string());
            self.sequence_next += 1;
        }
        edits.apply(frame)
    }

    /// The terminal event holds the whole response: that of the client, not that of the second stream.
    fn end(&mut self, out: &str, frame: &Frame, event: &Event<'_>) -> Bytes {
        let mut edits = Edits::default();
        edits.put_str(event.response_id.as_ref(), self.id.as_deref());
        edits.put_str(event.response_model.as_ref(), self.model.as_deref());
        edits.put(event.response_output.as_ref(), format!("[{}]", self.done.join(",")));
        let frame = self.passed(frame, event, edits);
        [out.as_bytes(), &frame].concat().into()
    }

    fn open_message(&mut self, out: &mut String) {
        if self.open.is_some() {
            return;
        }
        let output_index = self.output_next;
        self.output_next += 1;
        let id =
            format!("msg_{}_{output_index}", self.id.as_deref().unwrap_or("steadfast").trim_start_matches("resp_"));
        let item = json!({"id": id, "type": "message", "status": "in_progress", "content": [], "role": "assistant"});
        self.write(out, "response.output_item.added", &json!({"output_index": output_index, "item": item}));
        self.open = Some(Message { id, output_index, parts: Vec::new(), part: Part::None, text: String::new() });
    }

    /// Makes sure that text can be added.
    fn open_part(&mut self, out: &mut String) {
        self.close_said(out);
        let Some(open) = self.open.as_mut().filter(|open| open.part == Part::None) else { return };
        open.part = Part::Open;
        let value = with(&open.place(), json!({"part": part("")}));
        self.write(out, "response.content_part.added", &value);
    }

    /// Finishes a part of which all text has been said.
    fn close_said(&mut self, out: &mut String) {
        let Some(open) = self.open.as_mut().filter(|open| open.part == Part::Said) else { return };
        let value = with(&open.place(), json!({"part": part(&open.text)}));
        open.parts.push(std::mem::take(&mut open.text));
        open.part = Part::None;
        self.write(out, "response.content_part.done", &value);
    }

    fn close(&mut self, out: &mut String) {
        if let Some(open) = self.open.as_mut().filter(|open| open.part == Part::Open) {
            open.part = Part::Said;
            let value = with(&open.place(), json!({"text": open.text, "logprobs": []}));
            self.write(out, "response.output_text.done", &value);
        }
        self.close_said(out);
        let Some(open) = self.open.take() else { return };
        let content: Vec<Value> = open.parts.iter().map(|text| part(text)).collect();
        let item =
            json!({"id": open.id, "type": "message", "status": "completed", "content": content, "role": "assistant"});
        self.done.push(item.to_string());
        self.write(out, "response.output_item.done", &json!({"output_index": open.output_index, "item": item}));
    }

    fn write(&mut self, out: &mut String, kind: &str, value: &Value) {
        let value = with(value, json!({"type": kind, "sequence_number": self.sequence_next}));
        self.sequence_next += 1;
        out.push_str(&event(kind, &value));
    }

    fn target(&self, index: u64) -> Target {
        let found = self.targets.iter().rev().find(|(known, _)| *known == index);
        // An item that was never added: nothing is known about it, nothing is held back.
        found.map_or(Target::Item(self.output_next), |(_, target)| *target)
    }
}

impl Message {
    /// The message as the first watch has seen it, with its share of all text sent.
    fn new(seen: &watch::Message, text: &str) -> Self {
        let between = |from: u64, to: u64| text.get(from as usize..to as usize).unwrap_or_default().to_owned();
        let starts = std::iter::once(&seen.text_from).chain(&seen.part_ends);
        let parts = starts.clone().zip(&seen.part_ends).map(|(from, to)| between(*from, *to)).collect();
        let last = starts.last().copied().unwrap_or_default();
        let text = between(last, text.len() as u64);
        Self { id: seen.id.clone(), output_index: seen.output_index, parts, part: seen.part, text }
    }

    fn place(&self) -> Value {
        json!({"item_id": self.id, "output_index": self.output_index, "content_index": self.parts.len()})
    }
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
}

fn with(value: &Value, more: Value) -> Value {
    let mut all = value.clone();
    if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    all
}

fn read(data: &[u8]) -> Result<Event<'_>, Broken> {
    let mut event = Event::default();
    Cursor::new(data).object(|cursor, key| {
        match key.name() {
            b"type" => event.kind = cursor.string()?.map_or(&b""[..], Text::name),
            b"sequence_number" => event.sequence = Some(cursor.value()?),
            b"output_index" => {
                event.output_index = cursor.clone().number()?;
                event.output = Some(cursor.value()?);
            }
            b"content_index" => event.content = Some(cursor.value()?),
            b"item_id" => event.item_id = Some(cursor.value()?),
            b"delta" => {
                cursor.kind()?;
                let start = cursor.at();
                event.delta = cursor.string()?.filter(|text| !text.is_empty());
                event.delta_at = Some(start..cursor.at());
            }
            b"item" => {
                event.item = Some(cursor.clone().value()?);
                cursor.object(|cursor, key| {
                    match key.name() {
                        b"type" => event.item_kind = cursor.string()?.map_or(&b""[..], Text::name),
                        _ => cursor.skip()?,
                    }
                    Ok(())
                })?;
            }
            b"response" => cursor.object(|cursor, key| {
                match key.name() {
                    b"id" => event.response_id = Some(cursor.value()?),
                    b"model" => event.response_model = Some(cursor.value()?),
                    b"output" => event.response_output = Some(cursor.value()?),
                    _ => cursor.skip()?,
                }
                Ok(())
            })?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(event)
}
