//! Gemini: chunks of one candidate, with the id and model of the first stream.

use std::ops::Range;

use bytes::Bytes;
use serde_json::json;

use super::edit::Edits;
use super::{Diverged, MARK, Skip};
use crate::json::{Broken, Cursor, Text};
use crate::{Frame, Framing, Watch};

/// The name under which the first stream runs.
#[derive(Debug)]
pub(super) struct State {
    id: Option<String>,
    model: Option<String>,
}

/// Where in a chunk the values stand that may change.
#[derive(Debug, Default)]
struct Chunk<'a> {
    id: Option<Range<usize>>,
    model: Option<Range<usize>>,
    parts: Vec<Part<'a>>,
    finish: bool,
}

#[derive(Debug, Default)]
struct Part<'a> {
    at: Option<Range<usize>>,
    text: Option<Text<'a>>,
    thought: bool,
    more: bool,
}

pub(super) fn mark(open: &Watch) -> String {
    let content = json!({"parts": [{"text": MARK}], "role": "model"});
    let mut chunk = json!({"candidates": [{"content": content, "index": 0}]});
    if let Some(model) = open.model() {
        chunk["modelVersion"] = model.into();
    }
    if let Some(id) = open.id() {
        chunk["responseId"] = id.into();
    }
    match open.framing() {
        Framing::Sse => format!("data: {chunk}\r\n\r\n"),
        Framing::JsonArray if open.has_begun() => format!(",\r\n{chunk}"),
        Framing::JsonArray => format!("[{chunk}"),
    }
}

impl State {
    pub(super) fn new(open: &Watch) -> Self {
        Self { id: open.id().map(str::to_owned), model: open.model().map(str::to_owned) }
    }

    pub(super) fn feed(&self, skip: &mut Skip, frame: &Frame) -> Result<Bytes, Diverged> {
        let data = frame.data();
        let Ok(chunk) = read(&data) else { return Ok(Bytes::new()) };
        let mut edits = Edits::default();
        let mut says = chunk.finish;
        for part in &chunk.parts {
            if part.more {
                skip.finish()?;
                says = true;
            }
            let Some(text) = part.text else { continue };
            let text = text.decode();
            let new = match part.thought {
                true if skip.shows_thinking() => &text,
                true => "",
                false => skip.new_part(&text)?,
            };
            if new.len() < text.len() {
                edits.put_str(part.at.as_ref(), Some(new));
            }
            says |= !new.is_empty();
        }
        // A finished chunk may hold the last of what is to be skipped: only here is it known.
        if chunk.finish {
            skip.finish()?;
        }
        if !says {
            return Ok(Bytes::new());
        }
        edits.put_str(chunk.id.as_ref(), self.id.as_deref());
        edits.put_str(chunk.model.as_ref(), self.model.as_deref());
        Ok(edits.apply(frame))
    }
}

fn read(data: &[u8]) -> Result<Chunk<'_>, Broken> {
    let mut chunk = Chunk::default();
    Cursor::new(data).object(|cursor, key| {
        match key.name() {
            b"responseId" => chunk.id = Some(cursor.value()?),
            b"modelVersion" => chunk.model = Some(cursor.value()?),
            b"promptFeedback" => chunk.finish |= cursor.is_substantial()?,
            b"candidates" => cursor.array(|cursor| candidate(&mut chunk, cursor))?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(chunk)
}

fn candidate<'a>(chunk: &mut Chunk<'a>, cursor: &mut Cursor<'a>) -> Result<(), Broken> {
    cursor.object(|cursor, key| match key.name() {
        b"finishReason" => {
            chunk.finish |= cursor.is_substantial()?;
            Ok(())
        }
        b"content" => cursor.object(|cursor, key| match key.name() {
            b"parts" => cursor.array(|cursor| {
                chunk.parts.push(part(cursor)?);
                Ok(())
            }),
            _ => cursor.skip(),
        }),
        _ => cursor.skip(),
    })
}

fn part<'a>(cursor: &mut Cursor<'a>) -> Result<Part<'a>, Broken> {
    let mut part = Part::default();
    cursor.object(|cursor, key| {
        match key.name() {
            b"text" => {
                cursor.kind()?;
                let start = cursor.at();
                part.text = cursor.string()?;
                part.at = Some(start..cursor.at());
            }
            b"thought" => part.thought = cursor.is_true()?,
            b"thoughtSignature" => cursor.skip()?,
            _ => {
                part.more = true;
                cursor.skip()?;
            }
        }
        Ok(())
    })?;
    Ok(part)
}
