//! What each frame of a stream means to the promise made to the client.
//!
//! The promise: nothing is committed before there is content, a tool call goes out whole or not at
//! all, and an end that is none is noticed. [`Watch::see`] names, for each frame, which of these it
//! touches; what to do about it is for the caller. Unknown events and fields count as content:
//! they must not be held back.
//!
//! Forward frames after [`Seen::End`] too: usage, a closing bracket and the like may follow it.

mod alike;
mod chat;
mod gemini;
mod messages;
mod responses;
mod sent;
#[cfg(test)]
mod tests;

use crate::json::{Broken, Cursor, Text};
use crate::{Format, Frame, Framing};

pub use sent::{Sent, TEXT_BYTES_MAX};

use alike::Alike;

pub(crate) use messages::Block;
pub(crate) use responses::{Message, Part, has_output};

/// A longer name is none that a policy could speak of.
const TOOL_BYTES_MAX: usize = 256;

/// Follows one stream.
#[derive(Clone, Debug)]
pub struct Watch {
    format: Format,
    known: Known,
    state: State,
    alike: Alike,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing for a person to read: role, `message_start`, ping, comment, usage.
    Preamble,
    /// Text, thinking, refusal, or anything unknown that must not be held back.
    Content,
    /// A piece of a tool call that is not complete yet: hold it back.
    ToolPart,
    /// Completes every tool call that was open: what was held may go.
    ToolWhole,
    /// The format's terminal event. May carry content (Gemini), and completes what was open.
    End,
    /// An error inside the stream; the frame's data is the evidence.
    Error,
    /// Not what the format says: no JSON, no object, an end with a tool call open.
    Malformed,
}

/// Tokens counted by the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Tokens written, thinking included.
    pub output_tokens: u64,
}

/// What a stream has told so far, whatever its format.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) sent: Sent,
    pub(crate) id: Option<String>,
    pub(crate) created: u64,
    model: Option<String>,
    stop_reason: Option<String>,
    usage: Option<Usage>,
    whole: bool,
    /// An error or nonsense was seen: whatever end follows, it is none.
    broken: bool,
    content: bool,
    /// A tool call is open.
    in_call: bool,
    /// The tool that was called last.
    tool: Option<Box<str>>,
    framing: Framing,
    /// A frame has reached the client.
    begun: bool,
    /// Where in memory the text of the frame that is being read stands, and how long it is.
    text_at: Option<(usize, usize)>,
}

/// What a format must remember between frames.
#[derive(Clone, Debug)]
enum State {
    Chat(chat::State),
    Responses(responses::State),
    Messages(messages::State),
    Gemini(gemini::State),
}

impl Watch {
    /// Starts at the beginning of a stream; keeps no text.
    pub fn new(format: Format) -> Self {
        let state = match format {
            Format::Chat => State::Chat(chat::State::default()),
            Format::Responses => State::Responses(responses::State::default()),
            Format::Messages => State::Messages(messages::State::default()),
            Format::Gemini => State::Gemini(gemini::State::default()),
        };
        Self { format, known: Known::default(), state, alike: Alike::default() }
    }

    /// The same, keeping the text that was sent, up to [`TEXT_BYTES_MAX`]: what going on after a break needs.
    pub fn keeping_text(format: Format) -> Self {
        let mut watch = Self::new(format);
        watch.known.sent = Sent::keeping();
        watch
    }

    /// Says what the next frame is.
    #[inline]
    pub fn see(&mut self, frame: &Frame) -> Seen {
        self.known.framing = frame.framing();
        if frame.is_comment() {
            return Seen::Preamble;
        }
        if let Some(text) = self.alike.text(&frame.raw) {
            self.known.sent.push(Text::of(text));
            return Seen::Content;
        }
        let mark = self.known.sent.mark();
        let data = frame.data();
        let seen = self.see_data(frame, &data);
        self.note_alike(frame, seen);
        let broken = matches!(seen, Seen::Error | Seen::Malformed);
        if broken {
            self.known.sent.back_to(mark);
        }
        self.known.broken |= broken;
        self.known.in_call = match seen {
            Seen::ToolPart => true,
            Seen::ToolWhole | Seen::End => false,
            // Pings come at any time; and what breaks off inside a call leaves it open.
            Seen::Preamble | Seen::Content | Seen::Error | Seen::Malformed => self.known.in_call,
        };
        self.known.begun |= !broken && seen != Seen::ToolPart;
        seen
    }

    /// Whether a stream that ends here is whole: its terminal event was seen, and no error. Chat: `[DONE]`, or a reason to
    /// finish for every choice, because some compatible servers send no `[DONE]`.
    pub fn is_whole(&self) -> bool {
        self.known.whole && !self.known.broken
    }

    /// Whether there was anything a person or agent can use: text, a tool call, or a stop reason that says
    /// why there is none. Thinking alone is no answer.
    pub fn has_content(&self) -> bool {
        self.known.content || self.stop_reason().is_some_and(|reason| explains(self.format, reason))
    }

    /// What the provider counted, as far as it has said.
    pub fn usage(&self) -> Option<Usage> {
        self.known.usage
    }

    /// The model that answers, as it calls itself.
    pub fn model(&self) -> Option<&str> {
        self.known.model.as_deref()
    }

    /// Why the answer ended, in the provider's words.
    pub fn stop_reason(&self) -> Option<&str> {
        self.known.stop_reason.as_deref()
    }

    /// Whether a tool call is open: begun, and not whole.
    pub const fn in_call(&self) -> bool {
        self.known.in_call
    }

    /// The tool that was called last, by its name: whose call is open, where one is.
    pub fn last_tool(&self) -> Option<&str> {
        self.known.tool.as_deref()
    }

    /// What has reached the client if every frame went out but those of an open tool call.
    pub fn sent(&self) -> &Sent {
        &self.known.sent
    }

    /// The format watched.
    pub const fn format(&self) -> Format {
        self.format
    }

    fn see_data(&mut self, frame: &Frame, data: &[u8]) -> Seen {
        if data.is_empty() {
            return Seen::Preamble;
        }
        if std::str::from_utf8(data).is_err() {
            return Seen::Malformed;
        }
        let known = &mut self.known;
        let seen = match &mut self.state {
            State::Chat(state) => state.see(known, frame, data),
            State::Responses(state) => state.see(known, frame, data),
            State::Messages(state) => state.see(known, frame, data),
            State::Gemini(state) => state.see(known, frame, data),
        };
        seen.unwrap_or(Seen::Malformed)
    }

    /// Remembers a frame of text, where seeing the same again changes nothing: the others count their frames.
    fn note_alike(&mut self, frame: &Frame, seen: Seen) {
        let counts_nothing = matches!(self.format, Format::Chat | Format::Messages);
        let text = self.known.text_at.take().filter(|_| counts_nothing && seen == Seen::Content);
        let start = frame.raw.as_ptr() as usize;
        let place = text.map(|(at, bytes)| (at.wrapping_sub(start), bytes));
        match place.filter(|(at, bytes)| at.saturating_add(*bytes) <= frame.raw.len()) {
            Some((at, bytes)) => self.alike.remember(&frame.raw, at..at + bytes),
            None => self.alike.forget(),
        }
    }

    /// Whether anything with data has reached the client.
    pub(crate) const fn has_begun(&self) -> bool {
        self.known.begun
    }

    pub(crate) const fn framing(&self) -> Framing {
        self.known.framing
    }

    /// The id of the open answer.
    pub(crate) fn id(&self) -> Option<&str> {
        self.known.id.as_deref()
    }

    pub(crate) const fn created(&self) -> u64 {
        self.known.created
    }

    /// The number after the last event's (Responses).
    pub(crate) fn sequence_next(&self) -> u64 {
        self.responses().map_or(0, |state| state.sequence_next)
    }

    pub(crate) const fn responses(&self) -> Option<&responses::State> {
        if let State::Responses(state) = &self.state { Some(state) } else { None }
    }

    pub(crate) const fn messages(&self) -> Option<&messages::State> {
        if let State::Messages(state) = &self.state { Some(state) } else { None }
    }
}

impl Usage {
    /// Reads the usage object of any format: each calls its fields differently, and none means two things.
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Option<Self>, Broken> {
        let mut usage = Self::default();
        let mut any = false;
        cursor.object(|cursor, key| {
            let sum = match key.name() {
                b"prompt_tokens"
                | b"input_tokens"
                // Anthropic counts what it reads from the cache and writes to it apart.
                | b"cache_creation_input_tokens"
                | b"cache_read_input_tokens"
                // Gemini counts what its own tools read apart, and thoughts apart from candidates.
                | b"promptTokenCount"
                | b"toolUsePromptTokenCount" => &mut usage.input_tokens,
                b"completion_tokens" | b"output_tokens" | b"candidatesTokenCount" | b"thoughtsTokenCount" => {
                    &mut usage.output_tokens
                }
                _ => return cursor.skip(),
            };
            if let Some(tokens) = cursor.number()? {
                *sum = sum.saturating_add(tokens);
                any = true;
            }
            Ok(())
        })?;
        Ok(any.then_some(usage))
    }
}

impl Known {
    /// The provider repeats the model in every frame: the first name stands, and costs nothing again.
    fn set_model(&mut self, name: Option<Text<'_>>) {
        set(&mut self.model, name);
    }

    fn set_id(&mut self, id: Option<Text<'_>>) {
        set(&mut self.id, id);
    }

    fn set_stop_reason(&mut self, reason: Text<'_>) {
        self.stop_reason = Some(reason.decode().into_owned());
    }

    /// Another call has begun, of a tool whose name may come later.
    fn begin_call(&mut self, name: Option<Text<'_>>) {
        self.tool = None;
        self.name_tool(name);
    }

    fn name_tool(&mut self, name: Option<Text<'_>>) {
        let name = name.filter(|name| !name.is_empty() && name.raw().len() <= TOOL_BYTES_MAX);
        self.tool = name.map(|name| name.decode().into()).or(self.tool.take());
    }

    /// Later counts are larger; a count that is left out keeps what was said before.
    fn add_usage(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        let known = self.usage.get_or_insert_default();
        known.input_tokens = known.input_tokens.max(usage.input_tokens);
        known.output_tokens = known.output_tokens.max(usage.output_tokens);
    }

    /// Text the client can read.
    fn text(&mut self, text: Text<'_>) {
        self.content = true;
        self.text_at = Some((text.raw().as_ptr() as usize, text.raw().len()));
        self.sent.push(text);
    }
}

fn set(slot: &mut Option<String>, value: Option<Text<'_>>) {
    if slot.is_none() {
        *slot = value.filter(|value| !value.is_empty()).map(|value| value.decode().into_owned());
    }
}

/// Whether an answer without content is explained by why it stopped. The ordinary reasons explain nothing, nor
/// do those by which a provider admits that its model wrote nonsense.
pub(crate) fn explains(format: Format, reason: &str) -> bool {
    match format {
        Format::Chat => {
            !matches!(reason, "" | "stop" | "tool_calls" | "function_call" | "eos" | "unknown" | "null" | "error")
        }
        Format::Responses => reason != "completed",
        Format::Messages => !matches!(reason, "end_turn" | "tool_use"),
        Format::Gemini => !matches!(
            reason,
            "STOP" | "FINISH_REASON_UNSPECIFIED" | "OTHER" | "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL"
        ),
    }
}
