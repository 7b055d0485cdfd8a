//! Wire formats of model APIs: bytes in, values out.
//!
//! Tells what a request asks for, cuts a stream into frames, says what each frame means to the
//! promise made to the client, and writes our own words in the client's shape. Unknown fields and
//! unknown events pass through untouched. No I/O, no clock, no knowledge of policies.
//!
//! ```text
//! Request, body --Route, Envelope--> what is asked          answer --whole::check--> is it one
//! chunks --Frames--> Frame --Watch--> Seen                  failure --error, heartbeat, splice--> bytes
//! ```

pub mod envelope;
pub mod error;
#[cfg(test)]
mod fixture;
pub mod frame;
pub mod heartbeat;
mod json;
pub mod note;
pub mod path;
pub mod splice;
pub mod translate;
pub mod unfold;
pub mod watch;
pub mod whole;

pub use envelope::{Envelope, Malformed};
pub use error::{Final, Limit};
pub use frame::{FRAME_BYTES_MAX, Frame, Frames, Framing, TooLong};
pub use path::{Operation, Request, Route};
pub use splice::{Diverged, Mode, Splice};
pub use watch::{Seen, Sent, TEXT_BYTES_MAX, Usage, Watch};
pub use whole::{Problem, Whole};

/// Whose API a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// OpenAI and everyone who speaks its API.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google Gemini.
    Gemini,
}

/// A wire format in which answers are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI responses.
    Responses,
    /// Anthropic messages.
    Messages,
    /// Gemini generateContent and streamGenerateContent.
    Gemini,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Messages, Self::Gemini];

    /// Whose API the format belongs to.
    pub const fn family(self) -> Family {
        match self {
            Self::Chat | Self::Responses => Family::OpenAi,
            Self::Messages => Family::Anthropic,
            Self::Gemini => Family::Gemini,
        }
    }

    /// The name used in config, logs and APIs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
        }
    }
}
