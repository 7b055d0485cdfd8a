//! A complete answer that came at once, with a status that says it went well: did it?
//!
//! An error or nothing at all inside a 200 is a failure that SDKs take for success.

mod chat;
mod gemini;
mod messages;
mod responses;
#[cfg(test)]
mod tests;

use crate::Format;
use crate::json::{Broken, Cursor, Kind, Text};
use crate::watch::{Usage, explains};

/// What an answer says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// What the provider counted.
    pub usage: Option<Usage>,
    /// The model that answered.
    pub model: Option<String>,
    /// Why it is no answer; None: it is one.
    pub problem: Option<Problem>,
}

/// Why an answer is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Not a JSON object.
    NotJson,
    /// An error in the clothes of an answer.
    ErrorInside,
    /// No content at all, and no stop reason that explains it.
    Empty,
}

/// Looks at the body of an answer with a 2xx status.
pub fn check(format: Format, body: &[u8]) -> Whole {
    let mut found = Found::default();
    let read = match format {
        Format::Chat => read(body, &mut found, chat::field),
        Format::Responses => read(body, &mut found, responses::field),
        Format::Messages => read(body, &mut found, messages::field),
        Format::Gemini => read(body, &mut found, gemini::field),
    };
    let explained = found.stop_reason.is_some_and(|reason| explains(format, &reason.decode()));
    let problem = match read {
        Err(_) => Some(Problem::NotJson),
        Ok(()) if found.error => Some(Problem::ErrorInside),
        Ok(()) if !found.content && !explained => Some(Problem::Empty),
        Ok(()) => None,
    };
    Whole { usage: found.usage, model: found.model.map(|model| model.decode().into_owned()), problem }
}

/// The usage in an answer that is no generation, if it has any: embeddings, counted tokens.
pub fn embed_usage(body: &[u8]) -> Option<Usage> {
    let mut usage = None;
    let mut counted = None;
    let mut cursor = Cursor::new(body);
    let read = cursor.object(|cursor, key| {
        match key.name() {
            b"usage" | b"usageMetadata" => usage = Usage::read(cursor)?,
            b"input_tokens" | b"totalTokens" => counted = cursor.number()?,
            _ => cursor.skip()?,
        }
        Ok(())
    });
    let counted = counted.map(|input_tokens| Usage { input_tokens, output_tokens: 0 });
    read.ok().and(usage.or(counted))
}

/// What reading finds.
#[derive(Default)]
struct Found<'a> {
    usage: Option<Usage>,
    model: Option<Text<'a>>,
    stop_reason: Option<Text<'a>>,
    content: bool,
    error: bool,
}

fn read<'a>(
    body: &'a [u8],
    found: &mut Found<'a>,
    field: fn(&mut Found<'a>, &mut Cursor<'a>, Text<'a>) -> Result<(), Broken>,
) -> Result<(), Broken> {
    let mut cursor = Cursor::new(body);
    if cursor.kind()? != Kind::Object {
        return Err(Broken { at_byte: cursor.at(), what: "expected an object" });
    }
    cursor.object(|cursor, key| match key.name() {
        b"error" => {
            found.error |= cursor.is_substantial()?;
            Ok(())
        }
        b"usage" | b"usageMetadata" => {
            found.usage = Usage::read(cursor)?;
            Ok(())
        }
        b"model" | b"modelVersion" => {
            found.model = cursor.string()?;
            Ok(())
        }
        _ => field(found, cursor, key),
    })?;
    cursor.end()
}
