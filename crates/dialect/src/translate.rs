//! From one format to another, through one canonical model in the middle.
//!
//! ```text
//! client's request  --read--> Prompt --write--> provider's request
//! provider's answer --read--> Answer --write--> client's answer
//! provider's frames --read--> Event… --write--> client's frames
//! ```
//!
//! Each format is a folder of the same shape. What the other side would reject is repaired, what it
//! cannot carry is noted, and what would make another request of it is refused: see [`Notes`].
//! Traffic whose format stays the same never comes here.

mod canon;
mod chat;
pub mod converse;
mod freeform;
mod gemini;
mod json_tool;
mod messages;
mod note;
mod out;
mod outline;
mod read;
mod repair;
mod responses;
mod seal;
mod stream;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::json::Broken;
use crate::{Format, Framing, Malformed};

pub use note::{Notes, Refused};
pub use outline::{Message, outline};
pub use seal::without_foreign_seals;
pub use stream::Stream;

use json_tool::JsonTool;
use repair::Names;

/// Whom a request is translated for.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The provider's format: any but responses, which only clients speak to us.
    pub format: Format,
    /// The model, as the endpoint calls it.
    pub model: &'a str,
    /// Whether it thinks before it answers.
    pub thinks: bool,
}

/// A request in the provider's format, and the way back for its answer.
#[derive(Clone, Debug)]
pub struct Translation {
    /// The request's body.
    pub body: String,
    /// What was not carried as it was.
    pub notes: Notes,
    client: Format,
    provider: Format,
    names: Names,
    /// The answer comes as the arguments of a tool.
    json_tool: Option<JsonTool>,
    usage_asked: bool,
}

/// What an answer needs that its provider may not give: this crate has neither clock nor dice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamp {
    /// Makes ids.
    pub seed: u64,
    /// When the answer was made.
    pub unix_seconds: u64,
}

/// Why a request cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untranslatable {
    /// It is not what the client's format says.
    Malformed(Malformed),
    /// The other format has no way to ask this.
    Refused(Refused),
}

/// Translates a client's request. Whether it asks for a stream is known from its [`crate::Envelope`]: not every format
/// says so in the body.
pub fn request(client: Format, body: &[u8], stream: bool, target: Target<'_>) -> Result<Translation, Untranslatable> {
    if let Err(error) = std::str::from_utf8(body) {
        let malformed = Malformed { at_byte: error.valid_up_to(), what: "not UTF-8".to_owned() };
        return Err(Untranslatable::Malformed(malformed));
    }
    let mut notes = Notes::default();
    let prompt = read_prompt(client, body, &mut notes);
    let mut prompt = prompt.map_err(|broken| Untranslatable::Malformed(broken.into()))?;
    prompt.stream = stream;
    let usage_asked = prompt.usage_asked;
    let names = repair::repair(&mut prompt, target, &mut notes);
    let json_tool = match target.format {
        Format::Messages => messages::fit_output(&mut prompt, target, &mut notes),
        // They have a switch for it.
        Format::Chat | Format::Responses | Format::Gemini => None,
    };
    let body = match target.format {
        Format::Chat => chat::write_request(&prompt, target, &mut notes),
        Format::Messages => messages::write_request(&prompt, target, &mut notes),
        Format::Gemini => gemini::write_request(&prompt, target, &mut notes),
        Format::Responses => {
            notes.refuse("model", "requests are not translated to the responses format");
            String::new()
        }
    };
    match notes.take_refused() {
        Some(refused) => Err(Untranslatable::Refused(refused)),
        None => Ok(Translation { body, notes, client, provider: target.format, names, json_tool, usage_asked }),
    }
}

fn read_prompt<'a>(format: Format, body: &'a [u8], notes: &mut Notes) -> Result<canon::Prompt<'a>, Broken> {
    match format {
        Format::Chat => chat::read_request(body, notes),
        Format::Responses => responses::read_request(body, notes),
        Format::Messages => messages::read_request(body, notes),
        Format::Gemini => gemini::read_request(body, notes),
    }
}

impl fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Refused(refused) => refused.fmt(f),
        }
    }
}

impl std::error::Error for Untranslatable {}

impl Translation {
    /// The provider's format.
    pub const fn provider(&self) -> Format {
        self.provider
    }

    /// Translates an answer that came in one piece.
    pub fn answer(&self, body: &[u8], stamp: Stamp) -> Result<String, Malformed> {
        let answer = match self.provider {
            Format::Chat => chat::read_answer(body),
            Format::Messages => messages::read_answer(body),
            Format::Gemini => gemini::read_answer(body),
            Format::Responses => Err(Broken { at_byte: 0, what: "answers are not translated from this format" }),
        };
        let mut answer = answer.map_err(Malformed::from)?;
        if let Some(tool) = self.json_tool {
            answer.parts = std::mem::take(&mut answer.parts).into_iter().map(|part| tool.part(part)).collect();
            answer.stop = JsonTool::stop(answer.stop);
        }
        self.names.restore(&mut answer, stamp.seed);
        Ok(match self.client {
            Format::Chat => chat::write_answer(&answer, stamp.unix_seconds),
            Format::Responses => responses::write_answer(&answer, stamp.unix_seconds),
            Format::Messages => messages::write_answer(&answer),
            Format::Gemini => gemini::write_answer(&answer),
        })
    }

    /// Translates an answer that streams, cut as the client wants it.
    pub fn stream(&self, framing: Framing, stamp: Stamp) -> Stream {
        Stream::new(self, framing, stamp)
    }
}
