//! Gemini: every chunk is a whole answer object with more parts; the last has a `finishReason`.

use super::{Known, Seen, Usage};
use crate::Frame;
use crate::json::{Broken, Cursor, Kind, Text};

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// A function call whose arguments are streamed and go on.
    tool: bool,
}

/// What one chunk holds.
#[derive(Default)]
struct Chunk {
    content: bool,
    /// A function call was completed.
    completed: bool,
    finished: bool,
    error: bool,
}

/// One part of a candidate.
#[derive(Default)]
struct Part<'a> {
    text: Option<Text<'a>>,
    thought: bool,
    call: bool,
    name: Option<Text<'a>>,
    goes_on: bool,
    other: bool,
}

impl State {
    pub(super) fn see(&mut self, known: &mut Known, _frame: &Frame, data: &[u8]) -> Result<Seen, Broken> {
        let mut cursor = Cursor::new(data);
        if cursor.kind()? != Kind::Object {
            return Ok(Seen::Malformed);
        }
        let mut chunk = Chunk::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"candidates" => cursor.array(|cursor| self.candidate(&mut chunk, known, cursor))?,
                b"promptFeedback" => cursor.object(|cursor, key| match key.name() {
                    b"blockReason" => finish(&mut chunk, known, cursor),
                    _ => cursor.skip(),
                })?,
                b"usageMetadata" => known.add_usage(Usage::read(cursor)?),
                b"modelVersion" if known.model.is_none() => known.set_model(cursor.string()?),
                b"responseId" if known.id.is_none() => known.set_id(cursor.string()?),
                b"error" => chunk.error |= cursor.is_substantial()?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        cursor.end()?;
        Ok(self.meaning(known, &chunk))
    }

    fn meaning(&self, known: &mut Known, chunk: &Chunk) -> Seen {
        if chunk.error {
            return Seen::Error;
        }
        if chunk.finished {
            if self.tool {
                return Seen::Malformed;
            }
            known.whole = true;
            return Seen::End;
        }
        if self.tool {
            return Seen::ToolPart;
        }
        if chunk.completed {
            return Seen::ToolWhole;
        }
        if chunk.content { Seen::Content } else { Seen::Preamble }
    }

    fn candidate(&mut self, chunk: &mut Chunk, known: &mut Known, cursor: &mut Cursor<'_>) -> Result<(), Broken> {
        cursor.object(|cursor, key| match key.name() {
            b"content" => cursor.object(|cursor, key| match key.name() {
                b"parts" => cursor.array(|cursor| {
                    let part = part(cursor)?;
                    self.add(chunk, known, &part);
                    Ok(())
                }),
                _ => cursor.skip(),
            }),
            b"finishReason" => finish(chunk, known, cursor),
            b"index" => {
                known.sent.other |= cursor.number()?.is_some_and(|index| index > 0);
                Ok(())
            }
            _ => cursor.skip(),
        })
    }

    fn add(&mut self, chunk: &mut Chunk, known: &mut Known, part: &Part<'_>) {
        if part.call {
            // Ordinarily a call is whole in its chunk; Vertex can stream its arguments.
            if !self.tool {
                known.begin_call(None);
            }
            known.name_tool(part.name);
            chunk.completed |= self.tool && !part.goes_on;
            self.tool = part.goes_on;
            chunk.content = true;
            known.content |= !part.goes_on;
            known.sent.tool |= !part.goes_on;
        }
        if part.other {
            chunk.content = true;
            known.content = true;
            known.sent.other = true;
        }
        known.sent.thinking |= part.thought;
        if let Some(text) = part.text {
            chunk.content = true;
            if !part.thought && !self.tool {
                known.text(text);
            }
        }
    }
}

fn finish(chunk: &mut Chunk, known: &mut Known, cursor: &mut Cursor<'_>) -> Result<(), Broken> {
    if let Some(reason) = cursor.string()?.filter(|reason| !reason.is_empty()) {
        known.set_stop_reason(reason);
        chunk.finished = true;
    }
    Ok(())
}

#[inline]
fn part<'a>(cursor: &mut Cursor<'a>) -> Result<Part<'a>, Broken> {
    let mut part = Part::default();
    cursor.object(|cursor, key| {
        match key.name() {
            b"text" => part.text = cursor.string()?.filter(|text| !text.is_empty()),
            b"thought" => part.thought |= cursor.is_true()?,
            b"functionCall" => {
                part.call = true;
                cursor.object(|cursor, key| match key.name() {
                    b"name" => {
                        part.name = cursor.string()?;
                        Ok(())
                    }
                    b"willContinue" => {
                        part.goes_on = cursor.is_true()?;
                        Ok(())
                    }
                    _ => cursor.skip(),
                })?;
            }
            // Belongs to thinking that is not shown; text with one is no longer plain.
            b"thoughtSignature" => part.thought |= cursor.is_substantial()? && part.text.is_none(),
            _ => part.other |= cursor.is_substantial()?,
        }
        Ok(())
    })?;
    Ok(part)
}
