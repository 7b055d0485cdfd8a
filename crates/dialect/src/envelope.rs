//! As much of a request's body as must be known; never a tree of the whole.
//!
//! One pass over the bytes. What the format's fields are called is in the file of each format;
//! this one holds what they have in common. Bodies are changed by splicing bytes, so that
//! everything nobody asked to change reaches the upstream as the client wrote it.

mod chat;
mod content;
mod gemini;
mod messages;
mod pattern;
mod responses;

use std::fmt;
use std::ops::Range;

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::json::{Broken, Cursor, Kind, Text};
use crate::{Format, Framing, Operation, Request, Route};
use content::Content;

/// What a body says that decisions depend on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Envelope {
    /// The model asked for: from the body, or from the path for Gemini.
    pub model: Option<String>,
    /// Whether a stream is asked for.
    pub stream: bool,
    /// How a stream of this request is framed.
    pub framing: Framing,
    /// An estimate from the bytes of text; errs upwards modestly.
    pub input_tokens: u32,
    /// The most the answer may have.
    pub output_tokens_max: Option<u32>,
    /// Whether there are tools to call.
    pub tools: bool,
    /// Whether there are images to see.
    pub images: bool,
    /// Whether the model is to think first.
    pub thinking: bool,
    /// Whether the answer must be JSON.
    pub json_output: bool,
    /// Whether the last message is a tool's result: the turn of the user is not over.
    pub continues_turn: bool,
    /// The session, from ids that known clients put into the body.
    pub session: Option<String>,
    /// Where the model's value stands in the body, quotes included.
    model_at: Option<Range<usize>>,
    /// Where the instructions to the model stand in the body.
    instructions_at: Option<Range<usize>>,
}

/// A body that is not what the format says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Where reading stopped.
    pub at_byte: usize,
    /// What is wrong there.
    pub what: String,
}

impl Envelope {
    /// Reads what must be known. Of `Operation::Other` nothing is demanded: it is never an error.
    pub fn peek(route: &Route, request: Request<'_>, body: &[u8]) -> Result<Self, Malformed> {
        let mut envelope = Self { model: route.model(request.path), ..Self::default() };
        match route.operation {
            Operation::ListModels => {}
            Operation::Other => {
                // Half-read fields of something that is no JSON are worth nothing.
                let mut read = envelope.clone();
                if read.read(body, |_, _, _, _| Ok(false)).is_ok() {
                    envelope = read;
                }
            }
            Operation::CountTokens | Operation::Embed => envelope.read(body, |_, _, _, _| Ok(false))?,
            Operation::Generate(format) => {
                envelope.read(
                    body,
                    match format {
                        Format::Chat => chat::field,
                        Format::Responses => responses::field,
                        Format::Messages => messages::field,
                        Format::Gemini => gemini::field,
                    },
                )?;
            }
        }
        if route.streams() {
            envelope.stream = true;
            envelope.framing = if request.asks("alt", "sse") { Framing::Sse } else { Framing::JsonArray };
        }
        Ok(envelope)
    }

    /// The same body asking for another model; every other byte stays. The same bytes where the
    /// name is the same already or the body has none.
    pub fn body_with_model(&self, body: &Bytes, model: &str) -> Bytes {
        let Some(range) = self.model_at.clone().filter(|range| range.end <= body.len()) else { return body.clone() };
        if self.model.as_deref() == Some(model) {
            return body.clone();
        }
        let name = serde_json::Value::from(model).to_string();
        let mut changed = BytesMut::with_capacity(body.len() - range.len() + name.len());
        changed.put_slice(&body[..range.start]);
        changed.put_slice(name.as_bytes());
        changed.put_slice(&body[range.end..]);
        changed.freeze()
    }

    fn read(&mut self, body: &[u8], field: FieldReader) -> Result<(), Malformed> {
        if let Err(error) = std::str::from_utf8(body) {
            return Err(Malformed { at_byte: error.valid_up_to(), what: "not UTF-8".to_owned() });
        }
        let mut cursor = Cursor::new(body);
        if cursor.kind()? != Kind::Object {
            return Err(Malformed { at_byte: cursor.at(), what: "expected an object".to_owned() });
        }
        let mut content = Content::default();
        cursor.object(|cursor, key| {
            if field(self, &mut content, cursor, key)? {
                return Ok(());
            }
            self.common(&mut content, cursor, key)
        })?;
        cursor.end()?;
        self.images |= content.images;
        self.input_tokens = content.tokens(body.len());
        Ok(())
    }

    /// Fields that mean the same wherever they occur.
    fn common(&mut self, content: &mut Content, cursor: &mut Cursor<'_>, key: Text<'_>) -> Result<(), Broken> {
        match key.name() {
            b"model" => {
                if cursor.kind()? != Kind::String {
                    return cursor.skip();
                }
                let start = cursor.at();
                let model = cursor.string()?.map(|text| text.decode().into_owned());
                // A path's model stands: that is what Gemini obeys.
                if self.model.is_none() || self.model_at.is_some() {
                    self.model = model;
                    self.model_at = Some(start..cursor.at());
                }
            }
            b"system" | b"instructions" | b"systemInstruction" | b"system_instruction" => {
                let start = cursor.at();
                content.walk(cursor)?;
                self.instructions_at = Some(start..cursor.at());
            }
            b"stream" => self.stream = cursor.is_true()?,
            b"tools" => self.tools |= cursor.is_substantial()?,
            b"prompt_cache_key" => self.set_session(cursor.string()?),
            b"conversation" => match cursor.kind()? {
                Kind::Object => cursor.object(|cursor, key| match key.name() {
                    b"id" => {
                        self.set_session(cursor.string()?);
                        Ok(())
                    }
                    _ => cursor.skip(),
                })?,
                _ => self.set_session(cursor.string()?),
            },
            b"metadata" => cursor.object(|cursor, key| match key.name() {
                b"user_id" => {
                    let user = cursor.string()?.map(Text::decode);
                    self.session = user.as_deref().and_then(session_of_user).or(self.session.take());
                    Ok(())
                }
                _ => cursor.skip(),
            })?,
            _ => content.walk(cursor)?,
        }
        Ok(())
    }

    fn set_session(&mut self, id: Option<Text<'_>>) {
        let id = id.filter(|id| !id.is_empty()).map(|id| id.decode().into_owned());
        self.session = self.session.take().or(id);
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the request body: {} at byte {}", self.what, self.at_byte)
    }
}

impl std::error::Error for Malformed {}

impl From<Broken> for Malformed {
    fn from(broken: Broken) -> Self {
        Self { at_byte: broken.at_byte, what: broken.what.to_owned() }
    }
}

/// Reads one field of a format's body; false: not one of its own, and not read.
type FieldReader = fn(&mut Envelope, &mut Content, &mut Cursor<'_>, Text<'_>) -> Result<bool, Broken>;

fn limit(number: Option<u64>) -> Option<u32> {
    number.map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// Whether `{"type": …}` asks for JSON.
fn is_json_format(cursor: &mut Cursor<'_>) -> Result<bool, Broken> {
    type_is(cursor, |name| name.starts_with(b"json"))
}

/// Whether `{"type": …}` switches thinking on.
fn is_thinking(cursor: &mut Cursor<'_>) -> Result<bool, Broken> {
    type_is(cursor, |name| matches!(name, b"enabled" | b"adaptive"))
}

fn type_is(cursor: &mut Cursor<'_>, test: fn(&[u8]) -> bool) -> Result<bool, Broken> {
    let mut is = false;
    cursor.object(|cursor, key| match key.name() {
        b"type" => {
            is = cursor.string()?.is_some_and(|name| test(name.name()));
            Ok(())
        }
        _ => cursor.skip(),
    })?;
    Ok(is)
}

/// Whether an effort is asked for.
fn is_effort(cursor: &mut Cursor<'_>) -> Result<bool, Broken> {
    Ok(cursor.string()?.is_some_and(|effort| !matches!(effort.name(), b"" | b"none")))
}

/// Whether `{"effort": …}` asks for one; a budget or `enabled` do so too.
fn has_effort(cursor: &mut Cursor<'_>) -> Result<bool, Broken> {
    let mut has = false;
    cursor.object(|cursor, key| {
        has |= match key.name() {
            b"effort" => is_effort(cursor)?,
            b"max_tokens" => cursor.number()?.is_some_and(|tokens| tokens > 0),
            b"enabled" => cursor.is_true()?,
            _ => cursor.skip().map(|()| false)?,
        };
        Ok(())
    })?;
    Ok(has)
}

/// The session in Anthropic's `metadata.user_id`: JSON with a `session_id`, or `…_session_<uuid>` as older
/// versions of Claude Code write it.
fn session_of_user(user: &str) -> Option<String> {
    if !user.starts_with('{') {
        let (_, id) = user.rsplit_once("_session_")?;
        return Some(id.to_owned()).filter(|id| !id.is_empty());
    }
    let mut session = None;
    let read = Cursor::new(user.as_bytes()).object(|cursor, key| match key.name() {
        b"session_id" => {
            session = cursor.string()?.filter(|id| !id.is_empty()).map(|id| id.decode().into_owned());
            Ok(())
        }
        _ => cursor.skip(),
    });
    read.ok().and(session)
}

#[cfg(test)]
mod tests;
