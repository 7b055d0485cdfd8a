//! An answer in one piece, which is also what each piece of a stream is.

use super::{NO_SEAL_BASE64, read_tokens, stop, stop_name, write_call, write_tokens};
use crate::json::Cursor;
use crate::translate::canon::{Answer, Part, Raw, Stop, Str, Thought, Tokens, ToolCall};
use crate::translate::out::{self, Object};
use crate::translate::read::{Outcome, name, raw, text};

pub(in crate::translate) fn read_answer(body: &[u8]) -> Outcome<Answer<'_>> {
    let chunk = Chunk::read(body)?;
    let parts = chunk.pieces.into_iter().map(|piece| match piece {
        Piece::Text(text) => Part::Text(text),
        Piece::Thought(text) => Part::Thinking(Thought { text, seal: None }),
        Piece::Call(call) => Part::ToolCall(call.whole()),
    });
    Ok(Answer {
        id: chunk.id,
        model: chunk.model,
        parts: parts.collect(),
        stop: chunk.stop.unwrap_or_default(),
        tokens: chunk.tokens.unwrap_or_default(),
    })
}

/// What an answer or a piece of it says.
#[derive(Default)]
pub(super) struct Chunk<'a> {
    pub(super) id: Str<'a>,
    pub(super) model: Str<'a>,
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) stop: Option<Stop>,
    pub(super) tokens: Option<Tokens>,
}

pub(super) enum Piece<'a> {
    Text(Str<'a>),
    Thought(Str<'a>),
    Call(Call<'a>),
}

/// A call, or a part of one.
#[derive(Default)]
pub(super) struct Call<'a> {
    pub(super) id: Str<'a>,
    pub(super) name: Str<'a>,
    pub(super) arguments: Option<Raw<'a>>,
    /// Values of arguments, by where they belong.
    pub(super) values: Option<Raw<'a>>,
    /// More of it follows.
    pub(super) goes_on: bool,
}

impl<'a> Chunk<'a> {
    pub(super) fn read(body: &'a [u8]) -> Outcome<Self> {
        let mut chunk = Self::default();
        Cursor::new(body).object(|cursor, key| {
            match key.name() {
                b"responseId" => chunk.id = text(cursor)?.unwrap_or_default(),
                b"modelVersion" => chunk.model = text(cursor)?.unwrap_or_default(),
                b"candidates" => cursor.array(|cursor| chunk.candidate(cursor))?,
                b"promptFeedback" => cursor.object(|cursor, key| match key.name() {
                    b"blockReason" => {
                        if !name(cursor)?.is_empty() {
                            chunk.stop = Some(Stop::Filtered);
                        }
                        Ok(())
                    }
                    _ => cursor.skip(),
                })?,
                b"usageMetadata" => chunk.tokens = Some(read_tokens(cursor)?),
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(chunk)
    }

    /// Nobody was asked for more than one; what others there are is left out.
    fn candidate(&mut self, cursor: &mut Cursor<'a>) -> Outcome<()> {
        let (mut pieces, mut why, mut index) = (Vec::new(), None, 0);
        cursor.object(|cursor, key| {
            match key.name() {
                b"content" => cursor.object(|cursor, key| match key.name() {
                    b"parts" => cursor.array(|cursor| {
                        pieces.extend(piece(cursor)?);
                        Ok(())
                    }),
                    _ => cursor.skip(),
                })?,
                b"finishReason" => {
                    let reason = cursor.string()?.filter(|reason| !reason.is_empty());
                    why = reason.map(|reason| stop(reason.name())).or(why);
                }
                b"index" => index = cursor.number()?.unwrap_or(0),
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        if index == 0 {
            self.pieces.append(&mut pieces);
            self.stop = why.or(self.stop);
        }
        Ok(())
    }
}

impl<'a> Call<'a> {
    pub(super) fn whole(self) -> ToolCall<'a> {
        let arguments = self.arguments.unwrap_or(Raw::new("{}"));
        ToolCall::new(self.id, self.name, arguments)
    }
}

/// A part; what Google's own tools did is none.
fn piece<'a>(cursor: &mut Cursor<'a>) -> Outcome<Option<Piece<'a>>> {
    let (mut words, mut thought, mut made) = (Str::default(), false, None);
    cursor.object(|cursor, key| {
        match key.name() {
            b"text" => words = text(cursor)?.unwrap_or_default(),
            b"thought" => thought = cursor.is_true()?,
            b"functionCall" => made = Some(call(cursor)?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(match made {
        Some(call) => Some(Piece::Call(call)),
        None if words.is_empty() => None,
        None if thought => Some(Piece::Thought(words)),
        None => Some(Piece::Text(words)),
    })
}

fn call<'a>(cursor: &mut Cursor<'a>) -> Outcome<Call<'a>> {
    let mut call = Call::default();
    cursor.object(|cursor, key| {
        match key.name() {
            b"id" => call.id = text(cursor)?.unwrap_or_default(),
            b"name" => call.name = text(cursor)?.unwrap_or_default(),
            b"args" => call.arguments = raw(cursor)?.map(Raw::on_one_line),
            b"partialArgs" => call.values = raw(cursor)?,
            b"willContinue" => call.goes_on = cursor.is_true()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(call)
}

pub(in crate::translate) fn write_answer(answer: &Answer<'_>) -> String {
    out::made(|out| {
        out.array("candidates", |candidates| {
            candidates.object(|candidate| {
                candidate.object("content", |content| {
                    content.array("parts", |parts| {
                        for part in &answer.parts {
                            match part {
                                Part::Text(text) | Part::Refusal(text) if !text.is_empty() => {
                                    parts.object(|part| part.text("text", text));
                                }
                                Part::Thinking(thought) if !thought.text.is_empty() => {
                                    parts.object(|part| write_thought(part, &thought.text));
                                }
                                Part::ToolCall(call) => parts.object(|part| write_made(part, call)),
                                _ => {}
                            }
                        }
                    });
                    content.word("role", "model");
                });
                candidate.word("finishReason", stop_name(answer.stop));
                candidate.value("index", 0);
            });
        });
        out.object("usageMetadata", |usage| write_tokens(usage, answer.tokens));
        write_names(out, &answer.model, &answer.id);
    })
}

pub(super) fn write_thought(part: &mut Object<'_>, text: &Str<'_>) {
    part.text("text", text);
    part.value("thought", true);
}

/// A call that another vendor's model made. The client sends it back in the next turn, perhaps to Gemini itself.
pub(super) fn write_made(part: &mut Object<'_>, call: &ToolCall<'_>) {
    write_call(part, call);
    part.word("thoughtSignature", NO_SEAL_BASE64);
}

pub(super) fn write_names(out: &mut Object<'_>, model: &Str<'_>, id: &Str<'_>) {
    out.text("modelVersion", model);
    out.text("responseId", id);
}
