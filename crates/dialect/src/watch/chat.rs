//! OpenAI chat completions, and everyone who writes something like them.
//!
//! Tool calls have no end of their own: they are complete when their choice has a reason to finish. That reason is
//! the provider's word; with `length` the arguments may be cut, which is the answer the client asked for.

use super::{Known, Seen, Usage};
use crate::Frame;
use crate::json::{Broken, Cursor, Kind, Text};

/// Which choices there are, as bits by index.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    choices: u64,
    finished: u64,
    /// With tool calls that are not complete.
    tools: u64,
    done: bool,
}

/// One choice of a chunk.
#[derive(Default)]
struct Choice<'a> {
    index: u64,
    text: Option<Text<'a>>,
    thinking: bool,
    /// Something to read that is neither text nor thinking.
    other: bool,
    tool: bool,
    tool_name: Option<Text<'a>>,
    finish: Option<Text<'a>>,
}

/// What the choices of one chunk amount to.
#[derive(Default)]
struct Amount<'a> {
    text: Option<Text<'a>>,
    content: bool,
    completed: bool,
    error: bool,
}

impl State {
    pub(super) fn see(&mut self, known: &mut Known, frame: &Frame, data: &[u8]) -> Result<Seen, Broken> {
        if data.trim_ascii() == b"[DONE]" {
            return Ok(self.end(known));
        }
        let mut cursor = Cursor::new(data);
        if cursor.kind()? != Kind::Object {
            return Ok(Seen::Malformed);
        }
        let mut amount = Amount { error: frame.event() == Some("error"), ..Amount::default() };
        cursor.object(|cursor, key| {
            match key.name() {
                b"choices" => cursor.array(|cursor| {
                    let choice = choice(cursor)?;
                    self.add(known, &choice, &mut amount);
                    Ok(())
                })?,
                b"id" if known.id.is_none() => known.set_id(cursor.string()?),
                b"model" if known.model.is_none() => known.set_model(cursor.string()?),
                b"created" if known.created == 0 => known.created = cursor.number()?.unwrap_or_default(),
                b"usage" => known.add_usage(Usage::read(cursor)?),
                b"x_groq" => cursor.object(|cursor, key| match key.name() {
                    b"usage" => {
                        known.add_usage(Usage::read(cursor)?);
                        Ok(())
                    }
                    b"error" => {
                        amount.error |= cursor.is_substantial()?;
                        Ok(())
                    }
                    _ => cursor.skip(),
                })?,
                b"error" => amount.error |= cursor.is_substantial()?,
                // vLLM and others write the error itself where a chunk should be.
                b"object" | b"type" => amount.error |= cursor.string()?.is_some_and(|name| name.name() == b"error"),
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        cursor.end()?;
        Ok(self.meaning(known, &amount))
    }

    fn add<'a>(&mut self, known: &mut Known, choice: &Choice<'a>, amount: &mut Amount<'a>) {
        let bit = 1 << choice.index.min(63);
        self.choices |= bit;
        known.sent.other |= choice.index > 0 || choice.other;
        amount.content |= choice.text.is_some() || choice.thinking || choice.other;
        amount.text = amount.text.or(choice.text);
        known.content |= choice.other;
        if choice.tool {
            if self.tools & bit == 0 {
                known.begin_call(None);
            }
            known.name_tool(choice.tool_name);
            self.tools |= bit;
        }
        if choice.thinking {
            known.sent.thinking = true;
        }
        if let Some(finish) = choice.finish {
            self.finished |= bit;
            known.set_stop_reason(finish);
            amount.completed |= self.tools & bit != 0;
            self.tools &= !bit;
            // OpenRouter's word for an upstream that broke off.
            amount.error |= finish.name() == b"error";
        }
        known.whole = self.done || self.finished == self.choices && self.tools == 0;
    }

    fn meaning(&self, known: &mut Known, amount: &Amount<'_>) -> Seen {
        if amount.error {
            return Seen::Error;
        }
        if self.tools != 0 {
            return Seen::ToolPart;
        }
        if let Some(text) = amount.text {
            known.text(text);
        }
        if amount.completed {
            known.content = true;
            known.sent.tool = true;
            return Seen::ToolWhole;
        }
        if amount.content { Seen::Content } else { Seen::Preamble }
    }

    fn end(&mut self, known: &mut Known) -> Seen {
        if self.tools != 0 {
            return Seen::Malformed;
        }
        self.done = true;
        known.whole = true;
        Seen::End
    }
}

#[inline]
fn choice<'a>(cursor: &mut Cursor<'a>) -> Result<Choice<'a>, Broken> {
    let mut choice = Choice::default();
    cursor.object(|cursor, key| {
        match key.name() {
            b"index" => choice.index = cursor.number()?.unwrap_or_default(),
            // Some servers put a whole message into a stream.
            b"delta" | b"message" => cursor.object(|cursor, key| delta(&mut choice, cursor, key))?,
            b"finish_reason" => choice.finish = cursor.string()?.filter(|reason| !reason.is_empty()),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(choice)
}

#[inline]
fn delta<'a>(choice: &mut Choice<'a>, cursor: &mut Cursor<'a>, key: Text<'a>) -> Result<(), Broken> {
    match key.name() {
        b"content" => match cursor.kind()? {
            Kind::Array => parts(choice, cursor)?,
            _ => choice.text = cursor.string()?.filter(|text| !text.is_empty()),
        },
        name @ (b"tool_calls" | b"function_call") => {
            let mut calls = cursor.clone();
            choice.tool_name = match name {
                b"tool_calls" => called(&mut calls)?,
                _ => function(&mut calls)?,
            };
            choice.tool |= cursor.is_substantial()?;
        }
        b"reasoning_content" | b"reasoning" | b"reasoning_text" | b"reasoning_details" | b"thinking"
        | b"thinking_blocks" => choice.thinking |= cursor.is_substantial()?,
        b"role" | b"name" | b"index" | b"id" | b"type" | b"token_ids" | b"provider_specific_fields" => cursor.skip()?,
        _ => choice.other |= cursor.is_substantial()?,
    }
    Ok(())
}

/// The tool of the last call that says its name: the first piece of a call does.
fn called<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Text<'a>>, Broken> {
    let mut name = None;
    cursor.array(|cursor| {
        cursor.object(|cursor, key| match key.name() {
            b"function" | b"custom" => {
                name = function(cursor)?.or(name);
                Ok(())
            }
            _ => cursor.skip(),
        })
    })?;
    Ok(name)
}

fn function<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Text<'a>>, Broken> {
    let mut name = None;
    cursor.object(|cursor, key| match key.name() {
        b"name" => {
            name = cursor.string()?;
            Ok(())
        }
        _ => cursor.skip(),
    })?;
    Ok(name)
}

/// Mistral's thinking models write content as a list of parts.
fn parts(choice: &mut Choice<'_>, cursor: &mut Cursor<'_>) -> Result<(), Broken> {
    cursor.array(|cursor| {
        let mut thinking = false;
        cursor.object(|cursor, key| match key.name() {
            b"type" => {
                thinking = cursor.string()?.is_some_and(|name| name.name() == b"thinking");
                Ok(())
            }
            _ => cursor.skip(),
        })?;
        choice.thinking |= thinking;
        choice.other |= !thinking;
        Ok(())
    })
}
