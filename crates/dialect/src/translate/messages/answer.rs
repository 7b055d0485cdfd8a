//! An answer in one piece.

use super::write::write_call;
use super::{read_tokens, stop, stop_name, write_tokens};
use crate::json::Cursor;
use crate::translate::canon::{Answer, Part, Raw, Str, Thought, ToolCall};
use crate::translate::out;
use crate::translate::read::{Outcome, name, raw, text};
use crate::translate::seal::FOREIGN;

pub(in crate::translate) fn read_answer(body: &[u8]) -> Outcome<Answer<'_>> {
    let mut answer = Answer::default();
    Cursor::new(body).object(|cursor, key| {
        match key.name() {
            b"id" => answer.id = text(cursor)?.unwrap_or_default(),
            b"model" => answer.model = text(cursor)?.unwrap_or_default(),
            b"content" => cursor.array(|cursor| {
                answer.parts.extend(block(cursor)?);
                Ok(())
            })?,
            b"stop_reason" => answer.stop = stop(name(cursor)?),
            b"usage" => answer.tokens = read_tokens(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(answer)
}

/// A block; what the vendor's own tools did is none.
fn block<'a>(cursor: &mut Cursor<'a>) -> Outcome<Option<Part<'a>>> {
    let mut kind = &b""[..];
    let mut words = Str::default();
    let mut seal = None;
    let mut call = ToolCall::new(Str::default(), Str::default(), Raw::new("{}"));
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => kind = name(cursor)?,
            b"text" | b"thinking" => words = text(cursor)?.unwrap_or_default(),
            b"signature" => seal = text(cursor)?,
            b"id" => call.id = text(cursor)?.unwrap_or_default(),
            b"name" => call.name = text(cursor)?.unwrap_or_default(),
            b"input" => call.arguments = raw(cursor)?.unwrap_or(Raw::new("{}")),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(match kind {
        b"text" => Some(Part::Text(words)),
        b"thinking" => Some(Part::Thinking(Thought { text: words, seal })),
        b"tool_use" => Some(Part::ToolCall(call)),
        _ => None,
    })
}

pub(in crate::translate) fn write_answer(answer: &Answer<'_>) -> String {
    out::made(|message| {
        message.text("id", &super::super::repair::id("msg_", &answer.id));
        message.word("type", "message");
        message.word("role", "assistant");
        message.text("model", &answer.model);
        message.array("content", |content| {
            for part in &answer.parts {
                match part {
                    Part::Text(text) | Part::Refusal(text) if !text.is_empty() => content.object(|block| {
                        block.word("type", "text");
                        block.text("text", text);
                    }),
                    Part::Thinking(thought) if !thought.text.is_empty() => content.object(|block| {
                        block.word("type", "thinking");
                        block.text("thinking", &thought.text);
                        block.word("signature", FOREIGN);
                    }),
                    Part::ToolCall(call) => content.object(|block| write_call(block, call)),
                    _ => {}
                }
            }
        });
        message.word("stop_reason", stop_name(answer.stop));
        message.null("stop_sequence");
        message.object("usage", |usage| write_tokens(usage, answer.tokens));
    })
}
