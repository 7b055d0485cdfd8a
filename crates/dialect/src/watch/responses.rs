//! OpenAI responses: items that are added, grow and are done, inside one response.

use super::{Known, Seen, Usage};
use crate::Frame;
use crate::json::{Broken, Cursor, Kind, Text};

/// Which items are open.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The number of the next event, as far as the client has seen them.
    pub(crate) sequence_next: u64,
    /// The index of the next item, as far as the client has seen them.
    pub(crate) output_next: u64,
    /// The message the client has open.
    pub(crate) message: Option<Message>,
    /// Items the client has whole, as they came; only where text is kept.
    pub(crate) done: Vec<String>,
    done_bytes: usize,
    /// Tool calls that are held back, by index.
    tools: Vec<u64>,
}

/// A message the client has seen begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) output_index: u64,
    pub(crate) part: Part,
    /// Where its text starts in all text sent.
    pub(crate) text_from: u64,
    /// Where its finished parts end in all text sent.
    pub(crate) part_ends: Vec<u64>,
}

/// How far the current part of a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// None has begun since the last.
    #[default]
    None,
    Open,
    /// All of its text has been said: nothing can be added to it.
    Said,
}

/// The fields of an event, whichever it is.
#[derive(Default)]
struct Event<'a> {
    kind: &'a [u8],
    sequence: Option<u64>,
    output_index: u64,
    delta: Option<Text<'a>>,
    item: Item<'a>,
    /// The response has items that are more than reasoning.
    output: bool,
    status: Option<Text<'a>>,
    incomplete: Option<Text<'a>>,
    error: bool,
}

#[derive(Default)]
struct Item<'a> {
    kind: &'a [u8],
    id: Option<Text<'a>>,
    /// The tool it calls.
    name: Option<Text<'a>>,
    content: bool,
    raw: &'a [u8],
}

impl State {
    pub(super) fn see(&mut self, known: &mut Known, frame: &Frame, data: &[u8]) -> Result<Seen, Broken> {
        // Some gateways end this format as they end chat completions; the response has ended before.
        if data.trim_ascii() == b"[DONE]" {
            return Ok(Seen::Preamble);
        }
        let mut cursor = Cursor::new(data);
        if cursor.kind()? != Kind::Object {
            return Ok(Seen::Malformed);
        }
        let mut event = Event::default();
        cursor.object(|cursor, key| field(&mut event, known, data, cursor, key))?;
        cursor.end()?;
        if event.kind.is_empty() {
            event.kind = frame.event().unwrap_or_default().as_bytes();
        }
        let seen = self.meaning(known, &event);
        // What is held back and what ends the stream badly does not reach the client.
        if !matches!(seen, Seen::ToolPart | Seen::Error) {
            self.sequence_next = event.sequence.map_or(self.sequence_next, |number| number.saturating_add(1));
        }
        Ok(seen)
    }

    fn meaning(&mut self, known: &mut Known, event: &Event<'_>) -> Seen {
        match event.kind {
            b"response.completed" | b"response.incomplete" => {
                known.content |= event.output;
                if let Some(reason) = event.incomplete.or(event.status) {
                    known.set_stop_reason(reason);
                }
                known.whole = true;
                // The event holds the whole response: nothing can be open behind it.
                self.tools.clear();
                Seen::End
            }
            b"error" | b"response.failed" | b"response.cancelled" => Seen::Error,
            b"keepalive" | b"ping" => Seen::Preamble,
            b"response.output_item.added" => self.added(known, event),
            b"response.output_item.done" => self.done(known, event),
            _ if !self.tools.is_empty() => Seen::ToolPart,
            b"response.output_text.delta" => {
                let Some(text) = event.delta else { return Seen::Preamble };
                known.text(text);
                Seen::Content
            }
            b"response.content_part.added" => self.part(known, Part::Open),
            b"response.output_text.done" => self.part(known, Part::Said),
            b"response.content_part.done" => self.part(known, Part::None),
            b"response.created"
            | b"response.queued"
            | b"response.in_progress"
            | b"response.refusal.done"
            | b"response.reasoning_summary_part.added"
            | b"response.reasoning_summary_part.done"
            | b"response.reasoning_summary_text.done"
            | b"response.reasoning_text.done" => Seen::Preamble,
            b"response.reasoning_summary_text.delta" | b"response.reasoning_text.delta" => {
                known.sent.thinking = true;
                Seen::Content
            }
            // What the backend of ChatGPT says about itself.
            kind if kind.starts_with(b"codex.") => Seen::Preamble,
            _ if event.error => Seen::Error,
            _ => {
                known.sent.other = true;
                known.content = true;
                Seen::Content
            }
        }
    }

    fn added(&mut self, known: &mut Known, event: &Event<'_>) -> Seen {
        if event.item.kind.ends_with(b"_call") {
            self.tools.push(event.output_index);
            known.begin_call(event.item.name);
            return Seen::ToolPart;
        }
        if !self.tools.is_empty() {
            return Seen::ToolPart;
        }
        self.output_next = self.output_next.max(event.output_index.saturating_add(1));
        match event.item.kind {
            b"message" => {
                let id = event.item.id.map(|id| id.decode().into_owned()).unwrap_or_default();
                let text_from = known.sent.text_bytes();
                let (output_index, part) = (event.output_index, Part::None);
                self.message = Some(Message { id, output_index, part, text_from, part_ends: Vec::new() });
                Seen::Preamble
            }
            b"reasoning" => {
                known.sent.thinking = true;
                known.sent.stuck = true;
                Seen::Preamble
            }
            _ => {
                known.sent.other = true;
                known.content = true;
                Seen::Content
            }
        }
    }

    fn done(&mut self, known: &mut Known, event: &Event<'_>) -> Seen {
        let open = self.tools.len();
        self.tools.retain(|index| *index != event.output_index);
        if !self.tools.is_empty() {
            return Seen::ToolPart;
        }
        self.keep(known, event);
        self.output_next = self.output_next.max(event.output_index.saturating_add(1));
        if open > 0 || event.item.kind.ends_with(b"_call") {
            known.content = true;
            known.sent.tool = true;
            return Seen::ToolWhole;
        }
        match event.item.kind {
            b"message" => {
                // Without deltas before, this is where the text is.
                let silent = self.message.take().is_none_or(|message| message.text_from == known.sent.text_bytes());
                if silent && event.item.content {
                    known.content = true;
                    known.sent.other = true;
                    return Seen::Content;
                }
                Seen::Preamble
            }
            _ => {
                known.sent.stuck = false;
                Seen::Preamble
            }
        }
    }

    /// Notes how far the open message's part is.
    fn part(&mut self, known: &Known, part: Part) -> Seen {
        if let Some(message) = &mut self.message {
            message.part = part;
            if part == Part::None {
                message.part_ends.push(known.sent.text_bytes());
            }
        }
        Seen::Preamble
    }

    fn keep(&mut self, known: &mut Known, event: &Event<'_>) {
        if known.sent.text().is_none() {
            return;
        }
        self.done_bytes += event.item.raw.len();
        if self.done_bytes > super::TEXT_BYTES_MAX {
            known.sent.other = true;
            return;
        }
        self.done.push(String::from_utf8_lossy(event.item.raw).into_owned());
    }
}

#[inline]
fn field<'a>(
    event: &mut Event<'a>,
    known: &mut Known,
    data: &'a [u8],
    cursor: &mut Cursor<'a>,
    key: Text<'a>,
) -> Result<(), Broken> {
    match key.name() {
        b"type" => event.kind = name(cursor)?,
        b"sequence_number" => event.sequence = cursor.number()?,
        b"output_index" => event.output_index = cursor.number()?.unwrap_or_default(),
        b"delta" => event.delta = cursor.string()?.filter(|text| !text.is_empty()),
        b"item" => {
            let range = cursor.clone().value()?;
            event.item = item(cursor)?;
            event.item.raw = &data[range];
        }
        b"response" => cursor.object(|cursor, key| response(event, known, cursor, key))?,
        b"error" => event.error = cursor.is_substantial()?,
        _ => cursor.skip()?,
    }
    Ok(())
}

fn item<'a>(cursor: &mut Cursor<'a>) -> Result<Item<'a>, Broken> {
    let mut item = Item::default();
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => item.kind = name(cursor)?,
            b"id" => item.id = cursor.string()?,
            b"name" => item.name = cursor.string()?,
            b"content" => item.content = cursor.is_substantial()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(item)
}

fn response<'a>(
    event: &mut Event<'a>,
    known: &mut Known,
    cursor: &mut Cursor<'a>,
    key: Text<'a>,
) -> Result<(), Broken> {
    match key.name() {
        b"id" => known.set_id(cursor.string()?),
        b"model" => known.set_model(cursor.string()?),
        b"created_at" => known.created = cursor.number()?.unwrap_or_default(),
        b"usage" => known.add_usage(Usage::read(cursor)?),
        b"status" => event.status = cursor.string()?,
        b"incomplete_details" => cursor.object(|cursor, key| {
            match key.name() {
                b"reason" => event.incomplete = cursor.string()?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?,
        b"output" => event.output |= has_output(cursor)?,
        _ => cursor.skip()?,
    }
    Ok(())
}

/// Whether any item is more than reasoning and, if a message, says something.
pub(crate) fn has_output(cursor: &mut Cursor<'_>) -> Result<bool, Broken> {
    let mut any = false;
    cursor.array(|cursor| {
        let item = item(cursor)?;
        any |= match item.kind {
            b"message" => item.content,
            b"reasoning" => false,
            _ => true,
        };
        Ok(())
    })?;
    Ok(any)
}

#[inline]
fn name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Broken> {
    Ok(cursor.string()?.map_or(&b""[..], Text::name))
}
