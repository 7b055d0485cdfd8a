//! A stream on its way from a provider's format to the client's.

use bytes::Bytes;

use super::canon::{Event, Stop, Str};
use super::json_tool::JsonTool;
use super::read::Outcome;
use super::repair::Names;
use super::{Stamp, Translation, chat, gemini, messages, responses};
use crate::json::Broken;
use crate::{FRAME_BYTES_MAX, Format, Frame, Framing, Malformed};

/// Where a reader puts what it finds.
pub(super) type Sink<'s> = dyn FnMut(Event<'_>) + 's;

/// Translates frames. Errors inside a stream are not its business: [`crate::Watch`] sees them first.
#[derive(Clone, Debug)]
pub struct Stream {
    reader: Reader,
    writer: Writer,
    state: State,
}

/// What is put right on the way, whatever the formats.
#[derive(Clone, Debug)]
struct State {
    names: Names,
    json_tool: Option<JsonTool>,
    seed: u64,
    calls: u32,
    started: bool,
    ended: bool,
}

/// Reads frames of a format.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    Chat(chat::Reader),
    Messages(messages::Reader),
    Gemini(gemini::Reader),
}

/// Writes frames of a format.
#[derive(Clone, Debug)]
pub(super) enum Writer {
    Chat(chat::Writer),
    Responses(Box<responses::Writer>),
    Messages(messages::Writer),
    Gemini(gemini::Writer),
}

impl Stream {
    pub(super) fn new(translation: &Translation, framing: Framing, stamp: Stamp) -> Self {
        let reader = Reader::new(translation.provider);
        let writer = Writer::new(translation.client, framing, translation.usage_asked, stamp);
        let state = State {
            names: translation.names.clone(),
            json_tool: translation.json_tool,
            seed: stamp.seed,
            calls: 0,
            started: false,
            ended: false,
        };
        Self { reader, writer, state }
    }

    /// The client's bytes for one frame of the provider: none, one frame or several.
    pub fn feed(&mut self, frame: &Frame) -> Result<Bytes, Malformed> {
        // A sign of life says nothing.
        if frame.is_comment() {
            return Ok(Bytes::new());
        }
        let mut out = String::new();
        let (state, writer) = (&mut self.state, &mut self.writer);
        let sink: &mut Sink<'_> = &mut |event| state.pass(event, writer, &mut out);
        self.reader.feed(frame, sink).map(|()| Bytes::from(out)).map_err(Malformed::from)
    }

    /// The end, where the provider's stream is whole and has no event that says so.
    pub fn finish(&mut self) -> Bytes {
        let mut out = String::new();
        self.state.pass(Event::End, &mut self.writer, &mut out);
        out.into()
    }
}

impl State {
    fn pass(&mut self, event: Event<'_>, writer: &mut Writer, out: &mut String) {
        let event = match self.json_tool {
            Some(tool) => tool.event(event),
            None => event,
        };
        let event = match event {
            // Told again and again by some; once is enough. Nothing follows an end.
            Event::Start { .. } if self.started => return,
            _ if self.ended => return,
            Event::ToolCall(mut call) => {
                self.names.restore_call(&mut call, self.seed, self.calls);
                self.calls += 1;
                Event::ToolCall(call)
            }
            Event::Stop(Stop::Done) if self.calls > 0 => Event::Stop(Stop::ToolCalls),
            Event::Start { id, model } => Event::Start { id: super::repair::answer_id(id, self.seed), model },
            other => other,
        };
        let starts = matches!(event, Event::Start { .. });
        if !self.started && !starts && !matches!(event, Event::Tokens(_)) {
            let id = super::repair::answer_id(Str::default(), self.seed);
            writer.write(&Event::Start { id, model: Str::default() }, out);
            self.started = true;
        }
        self.started |= starts;
        self.ended |= event == Event::End;
        writer.write(&event, out);
    }
}

impl Reader {
    pub(super) fn new(format: Format) -> Self {
        match format {
            // Nobody is asked in the responses format.
            Format::Chat | Format::Responses => Self::Chat(chat::Reader::default()),
            Format::Messages => Self::Messages(messages::Reader::default()),
            Format::Gemini => Self::Gemini(gemini::Reader::default()),
        }
    }

    pub(super) fn feed(&mut self, frame: &Frame, sink: &mut Sink<'_>) -> Outcome<()> {
        match self {
            Self::Chat(reader) => reader.feed(frame, sink),
            Self::Messages(reader) => reader.feed(frame, sink),
            Self::Gemini(reader) => reader.feed(frame, sink),
        }
    }
}

impl Writer {
    pub(super) fn new(format: Format, framing: Framing, usage_asked: bool, stamp: Stamp) -> Self {
        match format {
            Format::Chat => Self::Chat(chat::Writer::new(usage_asked, stamp.unix_seconds)),
            Format::Responses => Self::Responses(Box::new(responses::Writer::new(stamp.unix_seconds))),
            Format::Messages => Self::Messages(messages::Writer::default()),
            Format::Gemini => Self::Gemini(gemini::Writer::new(framing)),
        }
    }

    pub(super) fn write(&mut self, event: &Event<'_>, out: &mut String) {
        match self {
            Self::Chat(writer) => writer.write(event, out),
            Self::Responses(writer) => writer.write(event, out),
            Self::Messages(writer) => writer.write(event, out),
            Self::Gemini(writer) => writer.write(event, out),
        }
    }
}

/// Adds a piece to something that is collected, which must not fill the memory.
pub(super) fn bounded(whole: &mut Str<'static>, piece: &Str<'_>) -> Outcome<()> {
    if whole.raw().len() + piece.raw().len() > FRAME_BYTES_MAX {
        return Err(Broken { at_byte: 0, what: "a tool call is larger than any may be" });
    }
    whole.push(piece);
    Ok(())
}
