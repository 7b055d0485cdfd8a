//! Chat completions: chunks of one choice, with the id, time and model of the first stream.

use std::ops::Range;

use bytes::Bytes;
use serde_json::json;

use super::edit::Edits;
use super::{Diverged, MARK, Skip};
use crate::json::{Broken, Cursor, Kind, Text};
use crate::{Frame, Seen, Watch};

/// The name under which the first stream runs.
#[derive(Debug)]
pub(super) struct State {
    id: Option<String>,
    model: Option<String>,
    created: Option<u64>,
}

/// Where in a chunk the values stand that may change.
#[derive(Debug, Default)]
struct Chunk<'a> {
    id: Option<Range<usize>>,
    model: Option<Range<usize>>,
    created: Option<Range<usize>>,
    content: Option<Range<usize>>,
    text: Option<Text<'a>>,
    /// There is more than the text of the first choice: tool calls, other fields.
    more: bool,
    thinking: bool,
    finish: bool,
    usage: bool,
}

pub(super) fn mark(open: &Watch) -> String {
    let choice = json!({"index": 0, "delta": {"content": MARK}, "logprobs": null, "finish_reason": null});
    let chunk = json!({
        "id": open.id().unwrap_or_default(),
        "object": "chat.completion.chunk",
        "created": open.created(),
        "model": open.model().unwrap_or_default(),
        "choices": [choice],
    });
    format!("data: {chunk}\n\n")
}

impl State {
    pub(super) fn new(open: &Watch) -> Self {
        let created = Some(open.created()).filter(|created| *created > 0);
        Self { id: open.id().map(str::to_owned), model: open.model().map(str::to_owned), created }
    }

    pub(super) fn feed(&self, skip: &mut Skip, frame: &Frame, seen: Seen) -> Result<Bytes, Diverged> {
        if seen == Seen::End {
            skip.finish()?;
            return Ok(frame.raw.clone());
        }
        let data = frame.data();
        let Ok(chunk) = read(&data) else { return Ok(Bytes::new()) };
        let mut edits = Edits::default();
        let mut says = chunk.more || chunk.finish || chunk.usage || chunk.thinking && skip.shows_thinking();
        if let Some(text) = chunk.text {
            let text = text.decode();
            let new = skip.new_part(&text)?;
            if new.len() < text.len() {
                edits.put_str(chunk.content.as_ref(), Some(new));
            }
            says |= !new.is_empty();
        }
        if chunk.finish || chunk.more {
            skip.finish()?;
        }
        if !says {
            return Ok(Bytes::new());
        }
        edits.put_str(chunk.id.as_ref(), self.id.as_deref());
        edits.put_str(chunk.model.as_ref(), self.model.as_deref());
        if let Some(created) = self.created {
            edits.put(chunk.created.as_ref(), created.to_string());
        }
        Ok(edits.apply(frame))
    }
}

fn read(data: &[u8]) -> Result<Chunk<'_>, Broken> {
    let mut chunk = Chunk::default();
    Cursor::new(data).object(|cursor, key| {
        match key.name() {
            b"id" => chunk.id = Some(cursor.value()?),
            b"model" => chunk.model = Some(cursor.value()?),
            b"created" => chunk.created = Some(cursor.value()?),
            b"usage" => chunk.usage |= cursor.is_substantial()?,
            b"choices" => cursor.array(|cursor| choice(&mut chunk, cursor))?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(chunk)
}

fn choice<'a>(chunk: &mut Chunk<'a>, cursor: &mut Cursor<'a>) -> Result<(), Broken> {
    cursor.object(|cursor, key| {
        match key.name() {
            b"delta" => cursor.object(|cursor, key| delta(chunk, cursor, key))?,
            b"finish_reason" => chunk.finish |= cursor.is_substantial()?,
            b"index" => chunk.more |= cursor.number()?.is_some_and(|index| index > 0),
            _ => cursor.skip()?,
        }
        Ok(())
    })
}

fn delta<'a>(chunk: &mut Chunk<'a>, cursor: &mut Cursor<'a>, key: Text<'a>) -> Result<(), Broken> {
    match key.name() {
        b"role" | b"name" => cursor.skip(),
        b"content" if cursor.kind()? == Kind::String => {
            let start = cursor.at();
            chunk.text = cursor.string()?.filter(|text| !text.is_empty());
            chunk.content = Some(start..cursor.at());
            Ok(())
        }
        b"reasoning_content" | b"reasoning" | b"reasoning_text" | b"reasoning_details" => {
            chunk.thinking |= cursor.is_substantial()?;
            Ok(())
        }
        _ => {
            chunk.more |= cursor.is_substantial()?;
            Ok(())
        }
    }
}
