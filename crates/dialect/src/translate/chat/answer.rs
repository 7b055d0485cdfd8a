//! An answer in one piece.

use super::{Call, read_tokens, stop, stop_name, write_said_call, write_tokens};
use crate::json::{Broken, Cursor, Kind};
use crate::translate::canon::{Answer, Part, Stop, Str, Thought};
use crate::translate::out::{self, Object};
use crate::translate::read::{Outcome, text};
use crate::translate::repair;

pub(super) const NO_OBJECT: Broken = Broken { at_byte: 0, what: "the arguments of a tool call are no JSON object" };

/// What a message or a delta says.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) thinking: Str<'a>,
    pub(super) text: Str<'a>,
    pub(super) refusal: Str<'a>,
    pub(super) calls: Vec<Call<'a>>,
}

/// One of the answers; there is only the first, because no more are asked for.
#[derive(Default)]
pub(super) struct Choice<'a> {
    pub(super) index: u64,
    pub(super) said: Said<'a>,
    pub(super) stop: Option<Stop>,
}

impl<'a> Choice<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut choice = Self::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"index" => choice.index = cursor.number()?.unwrap_or_default(),
                // Some servers put a whole message into a stream.
                b"message" | b"delta" => choice.said.read(cursor)?,
                b"finish_reason" => {
                    let reason = cursor.string()?.filter(|reason| !reason.is_empty());
                    choice.stop = reason.map(|reason| stop(reason.name()));
                }
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(choice)
    }
}

impl<'a> Said<'a> {
    fn read(&mut self, cursor: &mut Cursor<'a>) -> Outcome<()> {
        cursor.object(|cursor, key| {
            match key.name() {
                b"content" => self.content(cursor)?,
                b"refusal" => self.refusal = text(cursor)?.unwrap_or_default(),
                // Whoever writes two of these says the same twice.
                b"reasoning_content" | b"reasoning" | b"reasoning_text" => {
                    if let Some(thinking) = text(cursor)?.filter(|_| self.thinking.is_empty()) {
                        self.thinking = thinking;
                    }
                }
                b"tool_calls" => cursor.array(|cursor| {
                    self.calls.push(Call::read(cursor)?);
                    Ok(())
                })?,
                b"function_call" if cursor.kind()? == Kind::Object => {
                    let mut call = Call::default();
                    call.function(cursor)?;
                    self.calls.push(call);
                }
                _ => cursor.skip()?,
            }
            Ok(())
        })
    }

    /// A string, or Mistral's list of text and thinking.
    fn content(&mut self, cursor: &mut Cursor<'a>) -> Outcome<()> {
        if cursor.kind()? != Kind::Array {
            self.text = text(cursor)?.unwrap_or_default();
            return Ok(());
        }
        cursor.array(|cursor| {
            cursor.object(|cursor, key| {
                match key.name() {
                    b"text" => add(&mut self.text, text(cursor)?),
                    b"thinking" => cursor.array(|cursor| {
                        cursor.object(|cursor, key| {
                            match key.name() {
                                b"text" => add(&mut self.thinking, text(cursor)?),
                                _ => cursor.skip()?,
                            }
                            Ok(())
                        })
                    })?,
                    _ => cursor.skip()?,
                }
                Ok(())
            })
        })
    }
}

fn add<'a>(whole: &mut Str<'a>, piece: Option<Str<'a>>) {
    match piece {
        Some(piece) if whole.is_empty() => *whole = piece,
        Some(piece) => whole.push(&piece),
        None => {}
    }
}

/// Why it ended. OpenAI calls a refusal a usual end.
pub(super) const fn reason(stop: Stop, refused: bool) -> Stop {
    match stop {
        Stop::Done if refused => Stop::Filtered,
        stop => stop,
    }
}

/// Whether what is written last may be cut off.
pub(super) const fn may_cut(stop: Stop) -> bool {
    matches!(stop, Stop::TokensMax | Stop::Filtered)
}

pub(in crate::translate) fn read_answer(body: &[u8]) -> Outcome<Answer<'_>> {
    let mut answer = Answer::default();
    let mut first = None;
    Cursor::new(body).object(|cursor, key| {
        match key.name() {
            b"id" => answer.id = text(cursor)?.unwrap_or_default(),
            b"model" => answer.model = text(cursor)?.unwrap_or_default(),
            b"choices" => cursor.array(|cursor| {
                let choice = Choice::read(cursor)?;
                first.get_or_insert(choice);
                Ok(())
            })?,
            b"usage" => answer.tokens = read_tokens(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    let Choice { said, stop, .. } = first.unwrap_or_default();
    answer.stop = reason(stop.unwrap_or_default(), !said.refusal.is_empty());
    if !said.thinking.is_empty() {
        answer.parts.push(Part::Thinking(Thought { text: said.thinking, seal: None }));
    }
    let words = [Part::Text(said.text), Part::Refusal(said.refusal)];
    answer.parts.extend(words.into_iter().filter(|part| !is_empty(part)));
    for call in said.calls {
        match call.whole() {
            Some(call) => answer.parts.push(Part::ToolCall(call)),
            None if may_cut(answer.stop) => {}
            None => return Err(NO_OBJECT),
        }
    }
    Ok(answer)
}

fn is_empty(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) | Part::Refusal(text) if text.is_empty())
}

pub(in crate::translate) fn write_answer(answer: &Answer<'_>, created: u64) -> String {
    out::made(|completion| {
        completion.text("id", &repair::id("chatcmpl-", &answer.id));
        completion.word("object", "chat.completion");
        completion.value("created", created);
        completion.text("model", &answer.model);
        completion.array("choices", |choices| {
            choices.object(|choice| {
                choice.value("index", 0);
                choice.object("message", |message| write_message(message, &answer.parts));
                choice.null("logprobs");
                choice.word("finish_reason", stop_name(answer.stop));
            });
        });
        completion.object("usage", |usage| write_tokens(usage, answer.tokens));
    })
}

fn write_message(message: &mut Object<'_>, parts: &[Part<'_>]) {
    let (mut text, mut thinking, mut refusal, mut calls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(words) => text.push(words.raw()),
            Part::Thinking(thought) => thinking.push(thought.text.raw()),
            Part::Refusal(words) => refusal.push(words.raw()),
            Part::ToolCall(call) => calls.push(call),
            Part::Image(_) | Part::File { .. } | Part::ToolResult(_) => {}
        }
    }
    message.word("role", "assistant");
    write_words(message, "content", text);
    write_words(message, "refusal", refusal);
    if !thinking.is_empty() {
        write_words(message, "reasoning_content", thinking);
    }
    if !calls.is_empty() {
        message.array("tool_calls", |out| {
            for call in calls {
                out.object(|out| write_said_call(out, call));
            }
        });
    }
}

/// Pieces of one text; null where there are none.
pub(super) fn write_words(message: &mut Object<'_>, name: &str, words: Vec<&str>) {
    if words.is_empty() { message.null(name) } else { message.pieces(name, words) }
}
