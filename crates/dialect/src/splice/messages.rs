//! Messages: blocks are counted on from the open message; text goes on in the open block.
//!
//! The second stream's thinking is dropped: text has been sent, and a thinking block after it would not be
//! where the vendor puts one. A text block is started only when there is text for it, because empty ones are
//! refused when the client sends the message back.

use std::ops::Range;

use bytes::{BufMut as _, Bytes, BytesMut};
use serde_json::json;

use super::edit::{Edits, event};
use super::{Diverged, MARK, Skip};
use crate::json::{Broken, Cursor, Text};
use crate::watch::Block;
use crate::{Frame, Watch};

/// The blocks of the message as the client has it.
#[derive(Debug)]
pub(super) struct State {
    open: Option<Block>,
    index_next: u64,
    /// Where the second stream's current block goes.
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Nowhere.
    Drop,
    /// To a text block, open already or to be started.
    Text,
    /// To a block that was started for it.
    Block(u64),
}

/// An event of the second stream.
#[derive(Debug, Default)]
struct Event<'a> {
    kind: &'a [u8],
    index: Option<Range<usize>>,
    block: &'a [u8],
    /// The text of a delta or of a block that starts with some, and where it stands.
    text: Option<Text<'a>>,
    text_at: Option<Range<usize>>,
}

impl State {
    pub(super) fn new(open: &Watch) -> Self {
        let (open, index_next) = open.messages().map_or((None, 0), |state| (state.open, state.index_next));
        Self { open, index_next, target: Target::Drop }
    }

    pub(super) fn mark(&mut self) -> String {
        let mut out = String::new();
        let index = self.text_block(&mut out);
        out + &text_delta(index, MARK)
    }

    pub(super) fn feed(&mut self, skip: &mut Skip, frame: &Frame) -> Result<Bytes, Diverged> {
        let data = frame.data();
        let Ok(mut message) = read(&data) else { return Ok(Bytes::new()) };
        if message.kind.is_empty() {
            message.kind = frame.event().unwrap_or_default().as_bytes();
        }
        match message.kind {
            b"message_start" => Ok(Bytes::new()),
            b"content_block_start" => self.start(skip, frame, &message),
            b"content_block_delta" => self.grow(skip, frame, &message),
            b"content_block_stop" => Ok(self.stop(skip, frame, &message)),
            b"message_delta" | b"message_stop" => {
                skip.finish()?;
                let mut out = String::new();
                self.close(&mut out);
                Ok(joined(&out, &frame.raw))
            }
            _ => Ok(frame.raw.clone()),
        }
    }

    fn start(&mut self, skip: &mut Skip, frame: &Frame, event: &Event<'_>) -> Result<Bytes, Diverged> {
        let mut out = String::new();
        match event.block {
            b"thinking" | b"redacted_thinking" => self.target = Target::Drop,
            b"text" => {
                self.target = Target::Text;
                if let Some(text) = event.text {
                    self.write(&mut out, skip.new_part(&text.decode())?);
                }
            }
            _ => {
                skip.finish()?;
                self.close(&mut out);
                let index = self.index_next;
                self.open = Some(Block { index, is_text: false });
                self.index_next += 1;
                self.target = Target::Block(index);
                return Ok(joined(&out, &at_index(frame, event, index)));
            }
        }
        Ok(out.into())
    }

    fn grow(&mut self, skip: &mut Skip, frame: &Frame, event: &Event<'_>) -> Result<Bytes, Diverged> {
        match (self.target, event.text) {
            (Target::Drop, _) => Ok(Bytes::new()),
            (Target::Block(index), _) => Ok(at_index(frame, event, index)),
            (Target::Text, Some(text)) => {
                let text = text.decode();
                let new = skip.new_part(&text)?;
                if new.is_empty() {
                    return Ok(Bytes::new());
                }
                let mut out = String::new();
                let index = self.text_block(&mut out);
                let mut edits = Edits::default();
                edits.put(event.index.as_ref(), index.to_string());
                if new.len() < text.len() {
                    edits.put_str(event.text_at.as_ref(), Some(new));
                }
                Ok(joined(&out, &edits.apply(frame)))
            }
            // Citations and the like belong to text that was sent already, or to text that follows.
            (Target::Text, None) if !skip.is_done() => Ok(Bytes::new()),
            (Target::Text, None) => {
                let mut out = String::new();
                let index = self.text_block(&mut out);
                Ok(joined(&out, &at_index(frame, event, index)))
            }
        }
    }

    fn stop(&mut self, skip: &Skip, frame: &Frame, event: &Event<'_>) -> Bytes {
        let target = std::mem::replace(&mut self.target, Target::Drop);
        // Where the first stream ended its blocks need not be where the second does: the open
        // block stays open until everything that was sent has been skipped.
        let open = match (target, self.open) {
            (Target::Text, Some(open)) if open.is_text && skip.is_done() => open,
            (Target::Block(index), Some(open)) if open.index == index => open,
            _ => return Bytes::new(),
        };
        self.open = None;
        at_index(frame, event, open.index)
    }

    fn write(&mut self, out: &mut String, text: &str) {
        if !text.is_empty() {
            let index = self.text_block(out);
            out.push_str(&text_delta(index, text));
        }
    }

    /// The index of the open text block, which is started where there is none.
    fn text_block(&mut self, out: &mut String) -> u64 {
        if let Some(open) = self.open.filter(|open| open.is_text) {
            return open.index;
        }
        self.close(out);
        let index = self.index_next;
        let block = json!({"type": "text", "text": ""});
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        out.push_str(&event("content_block_start", &start));
        self.open = Some(Block { index, is_text: true });
        self.index_next += 1;
        index
    }

    fn close(&mut self, out: &mut String) {
        if let Some(open) = self.open.take() {
            let stop = json!({"type": "content_block_stop", "index": open.index});
            out.push_str(&event("content_block_stop", &stop));
        }
    }
}

fn text_delta(index: u64, text: &str) -> String {
    let delta = json!({"type": "text_delta", "text": text});
    event("content_block_delta", &json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

fn at_index(frame: &Frame, event: &Event<'_>, index: u64) -> Bytes {
    let mut edits = Edits::default();
    edits.put(event.index.as_ref(), index.to_string());
    edits.apply(frame)
}

fn joined(before: &str, frame: &Bytes) -> Bytes {
    if before.is_empty() {
        return frame.clone();
    }
    let mut out = BytesMut::from(before.as_bytes());
    out.put_slice(frame);
    out.freeze()
}

fn read(data: &[u8]) -> Result<Event<'_>, Broken> {
    let mut event = Event::default();
    Cursor::new(data).object(|cursor, key| {
        match key.name() {
            b"type" => event.kind = cursor.string()?.map_or(&b""[..], Text::name),
            b"index" => event.index = Some(cursor.value()?),
            b"delta" | b"content_block" => cursor.object(|cursor, key| {
                match key.name() {
                    b"type" => event.block = cursor.string()?.map_or(&b""[..], Text::name),
                    b"text" => {
                        cursor.kind()?;
                        let start = cursor.at();
                        event.text = cursor.string()?.filter(|text| !text.is_empty());
                        event.text_at = Some(start..cursor.at());
                    }
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
