//! Anthropic messages: blocks that start, grow and stop, one after the other.

use super::{Known, Seen, Usage};
use crate::Frame;
use crate::json::{Broken, Cursor, Kind, Text};

/// Which blocks are open.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The block the client has open.
    pub(crate) open: Option<Block>,
    /// The index of the next block, as far as the client has seen them.
    pub(crate) index_next: u64,
    /// A tool call that is held back.
    tool: Option<u64>,
}

/// A block the client has seen start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) index: u64,
    pub(crate) is_text: bool,
}

/// The fields of an event, whichever it is.
#[derive(Default)]
struct Event<'a> {
    kind: &'a [u8],
    index: u64,
    delta: Delta<'a>,
    /// The type of a block that starts.
    block: &'a [u8],
    /// The tool it calls.
    tool: Option<Text<'a>>,
    /// A block that starts with text in it.
    block_text: Option<Text<'a>>,
    error: bool,
}

#[derive(Default)]
struct Delta<'a> {
    kind: &'a [u8],
    text: Option<Text<'a>>,
    stop_reason: Option<Text<'a>>,
}

impl State {
    pub(super) fn see(&mut self, known: &mut Known, frame: &Frame, data: &[u8]) -> Result<Seen, Broken> {
        let mut cursor = Cursor::new(data);
        if cursor.kind()? != Kind::Object {
            return Ok(Seen::Malformed);
        }
        let mut event = Event::default();
        cursor.object(|cursor, key| field(&mut event, known, cursor, key))?;
        cursor.end()?;
        if event.kind.is_empty() {
            event.kind = frame.event().unwrap_or_default().as_bytes();
        }
        Ok(self.meaning(known, &event))
    }

    fn meaning(&mut self, known: &mut Known, event: &Event<'_>) -> Seen {
        match event.kind {
            b"content_block_delta" => self.grow(known, event),
            b"content_block_start" => self.start(known, event),
            b"content_block_stop" => self.stop(known, event),
            b"ping" | b"message_start" => Seen::Preamble,
            b"message_delta" => {
                if let Some(reason) = event.delta.stop_reason {
                    known.set_stop_reason(reason);
                }
                if self.tool.is_some() { Seen::ToolPart } else { Seen::Preamble }
            }
            b"message_stop" if self.tool.is_some() => Seen::Malformed,
            b"message_stop" => {
                known.whole = true;
                Seen::End
            }
            b"error" => Seen::Error,
            _ if event.error => Seen::Error,
            _ if self.tool.is_some() => Seen::ToolPart,
            _ => {
                known.sent.other = true;
                Seen::Content
            }
        }
    }

    fn start(&mut self, known: &mut Known, event: &Event<'_>) -> Seen {
        if event.block.ends_with(b"tool_use") {
            self.tool = Some(event.index);
            known.begin_call(event.tool);
            return Seen::ToolPart;
        }
        if self.tool.is_some() {
            return Seen::ToolPart;
        }
        self.open = Some(Block { index: event.index, is_text: event.block == b"text" });
        self.index_next = self.index_next.max(event.index.saturating_add(1));
        match event.block {
            b"text" => event.block_text.map_or(Seen::Preamble, |text| {
                known.text(text);
                Seen::Content
            }),
            b"thinking" => {
                known.sent.thinking = true;
                known.sent.stuck = true;
                Seen::Preamble
            }
            b"redacted_thinking" => {
                known.sent.thinking = true;
                Seen::Content
            }
            // The result of a server's tool, or something unknown: whole in its start.
            _ => {
                known.sent.other = true;
                known.content = true;
                Seen::Content
            }
        }
    }

    fn grow(&self, known: &mut Known, event: &Event<'_>) -> Seen {
        if self.tool.is_some() {
            return Seen::ToolPart;
        }
        match event.delta.kind {
            b"text_delta" => {
                let Some(text) = event.delta.text else { return Seen::Preamble };
                known.text(text);
            }
            b"thinking_delta" | b"signature_delta" => known.sent.thinking = true,
            _ => {
                known.sent.other = true;
                known.content = true;
            }
        }
        Seen::Content
    }

    fn stop(&mut self, known: &mut Known, event: &Event<'_>) -> Seen {
        if self.tool == Some(event.index) {
            self.tool = None;
            self.open = None;
            self.index_next = self.index_next.max(event.index.saturating_add(1));
            known.sent.tool = true;
            known.content = true;
            return Seen::ToolWhole;
        }
        if self.tool.is_some() {
            return Seen::ToolPart;
        }
        self.open = None;
        known.sent.stuck = false;
        Seen::Preamble
    }
}

#[inline]
fn field<'a>(event: &mut Event<'a>, known: &mut Known, cursor: &mut Cursor<'a>, key: Text<'a>) -> Result<(), Broken> {
    match key.name() {
        b"type" => event.kind = name(cursor)?,
        b"index" => event.index = cursor.number()?.unwrap_or_default(),
        b"delta" => cursor.object(|cursor, key| {
            match key.name() {
                b"type" => event.delta.kind = name(cursor)?,
                b"text" => event.delta.text = cursor.string()?.filter(|text| !text.is_empty()),
                b"stop_reason" => event.delta.stop_reason = cursor.string()?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?,
        b"content_block" => cursor.object(|cursor, key| {
            match key.name() {
                b"type" => event.block = name(cursor)?,
                b"name" => event.tool = cursor.string()?,
                b"text" => event.block_text = cursor.string()?.filter(|text| !text.is_empty()),
                _ => cursor.skip()?,
            }
            Ok(())
        })?,
        b"message" => cursor.object(|cursor, key| {
            match key.name() {
                b"id" => known.set_id(cursor.string()?),
                b"model" => known.set_model(cursor.string()?),
                b"usage" => known.add_usage(Usage::read(cursor)?),
                _ => cursor.skip()?,
            }
            Ok(())
        })?,
        b"usage" => known.add_usage(Usage::read(cursor)?),
        b"error" => event.error = cursor.is_substantial()?,
        _ => cursor.skip()?,
    }
    Ok(())
}

#[inline]
fn name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Broken> {
    Ok(cursor.string()?.map_or(&b""[..], Text::name))
}
