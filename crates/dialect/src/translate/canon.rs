//! The canonical model: what a conversation and an answer are, whatever the format.
//!
//! Everything borrows from the bytes it was read from. Strings stay escaped, because every format
//! writes JSON and most of a prompt is text that only passes through: it is copied once and never
//! decoded.

use std::borrow::Cow;
use std::fmt;

use crate::json::Text;

/// The content of a JSON string, still escaped, without its quotes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Str<'a>(Cow<'a, str>);

/// A JSON value as it stands.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Raw<'a>(Cow<'a, str>);

/// What a model is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Prompt<'a> {
    /// What stands above the conversation, each piece as it came.
    pub(crate) system: Vec<Str<'a>>,
    pub(crate) turns: Vec<Turn<'a>>,
    pub(crate) tools: Vec<Tool<'a>>,
    pub(crate) tool_choice: ToolChoice<'a>,
    /// Whether several tools may be called at once, where the client says.
    pub(crate) parallel_tools: Option<bool>,
    pub(crate) output: Output<'a>,
    pub(crate) thinking: Option<Thinking>,
    pub(crate) tokens_max: Option<u64>,
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<Raw<'a>>,
    pub(crate) top_k: Option<Raw<'a>>,
    pub(crate) seed: Option<Raw<'a>>,
    pub(crate) frequency_penalty: Option<Raw<'a>>,
    pub(crate) presence_penalty: Option<Raw<'a>>,
    pub(crate) stop: Vec<Str<'a>>,
    /// Who asks, as the client calls its own user.
    pub(crate) user: Option<Str<'a>>,
    pub(crate) stream: bool,
    /// Whether the stream is to say what was counted, where that must be asked for (chat).
    pub(crate) usage_asked: bool,
}

/// What one side says before the other does. Two in a row may have the same role.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn<'a> {
    pub(crate) role: Role,
    pub(crate) parts: Vec<Part<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Tools' results are the user's too.
    User,
    Assistant,
}

/// A piece of a turn or of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part<'a> {
    Text(Str<'a>),
    Image(Media<'a>),
    /// A document: a PDF or a text.
    File {
        name: Option<Str<'a>>,
        media: Media<'a>,
    },
    Thinking(Thought<'a>),
    ToolCall(ToolCall<'a>),
    ToolResult(ToolResult<'a>),
    Refusal(Str<'a>),
}

/// Where the bytes of an image or a document are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Media<'a> {
    /// In base64.
    Inline { mime: Str<'a>, data: Str<'a> },
    /// At an address that the provider fetches itself.
    Address { mime: Option<Str<'a>>, url: Str<'a> },
}

/// What a model thought, and its maker's seal on it. A seal means nothing to anybody else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thought<'a> {
    pub(crate) text: Str<'a>,
    pub(crate) seal: Option<Str<'a>>,
}

/// A whole call: it reaches the client whole or not at all, so it is never less here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolCall<'a> {
    /// Empty where the provider gives none (Gemini).
    pub(crate) id: Str<'a>,
    pub(crate) name: Str<'a>,
    /// A JSON object.
    pub(crate) arguments: Raw<'a>,
    /// The client takes the text under [`FREEFORM`] and no object; see [`Tool::freeform`].
    pub(crate) freeform: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolResult<'a> {
    /// The call it answers.
    pub(crate) id: Str<'a>,
    /// The tool, where the format says it (Gemini); see [`Prompt::tool_of`].
    pub(crate) name: Option<Str<'a>>,
    /// Text, images and files.
    pub(crate) parts: Vec<Part<'a>>,
    pub(crate) is_error: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tool<'a> {
    pub(crate) name: Str<'a>,
    pub(crate) description: Option<Str<'a>>,
    /// A JSON schema; none: no parameters.
    pub(crate) parameters: Option<Raw<'a>>,
    pub(crate) strict: Option<bool>,
    /// Called with plain text (OpenAI's custom tools): elsewhere an object with the text under [`FREEFORM`].
    pub(crate) freeform: bool,
}

/// The one parameter of a tool that takes plain text.
pub(crate) const FREEFORM: &str = "input";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ToolChoice<'a> {
    /// The model decides.
    #[default]
    Auto,
    /// No tool.
    None,
    /// Some tool.
    Any,
    /// This tool.
    Tool(Str<'a>),
}

/// What the answer must look like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Output<'a> {
    #[default]
    Text,
    /// A JSON object.
    Json,
    /// JSON that fits a schema.
    Schema { name: Option<Str<'a>>, schema: Raw<'a>, strict: bool },
}

/// How much a model is to think first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    Off,
    /// As much as it finds right.
    Adaptive,
    Effort(Effort),
    /// At most this many tokens.
    Tokens(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effort {
    Minimal,
    Low,
    Medium,
    High,
    /// More than the vendor's usual most.
    Max,
}

/// An answer that came in one piece.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer<'a> {
    pub(crate) id: Str<'a>,
    pub(crate) model: Str<'a>,
    /// Text, thinking, tool calls and refusals.
    pub(crate) parts: Vec<Part<'a>>,
    pub(crate) stop: Stop,
    pub(crate) tokens: Tokens,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stop {
    #[default]
    Done,
    /// The model wants tools' results.
    ToolCalls,
    /// Its own limit or the window is full.
    TokensMax,
    /// One of the client's stop sequences.
    Sequence,
    /// A safety check cut it off, or the model refused.
    Filtered,
}

/// What the provider counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// Read, cached ones included.
    pub(crate) input: u64,
    /// Of these, read from the cache.
    pub(crate) cache_read: u64,
    /// Of these, written to the cache.
    pub(crate) cache_written: u64,
    /// Written, thinking included.
    pub(crate) output: u64,
    /// Of these, thinking; zero where the provider does not say.
    pub(crate) thinking: u64,
}

/// A piece of a stream. A stream is `Start`, pieces, `Stop`, `End`; `Tokens` may come anywhere and again.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event<'a> {
    Start {
        id: Str<'a>,
        model: Str<'a>,
    },
    /// More text; the piece before goes on if it was text.
    Text(Str<'a>),
    Thinking(Str<'a>),
    /// The maker's seal on the thinking before.
    Seal(Str<'a>),
    Refusal(Str<'a>),
    ToolCall(ToolCall<'a>),
    Tokens(Tokens),
    Stop(Stop),
    /// The stream's terminal event: nothing follows.
    End,
}

impl<'a> Str<'a> {
    /// From a string as it stands in JSON text.
    pub(crate) fn new(text: Text<'a>) -> Self {
        Self(String::from_utf8_lossy(text.raw()))
    }

    /// From text that is not escaped yet.
    pub(crate) fn escape(text: &str) -> Self {
        let mut quoted = serde_json::Value::from(text).to_string();
        quoted.pop();
        quoted.remove(0);
        Self(Cow::Owned(quoted))
    }

    /// From text that needs no escapes.
    pub(crate) const fn plain(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// As it stands in JSON, without quotes.
    pub(crate) fn raw(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text it stands for.
    pub(crate) fn decode(&self) -> Cow<'_, str> {
        Text::of(self.0.as_bytes()).decode()
    }

    /// More of the same text.
    pub(crate) fn push(&mut self, more: &Str<'_>) {
        self.0.to_mut().push_str(&more.0);
    }

    /// A copy that borrows nothing.
    pub(crate) fn owned(&self) -> Str<'static> {
        Str(Cow::Owned(self.0.clone().into_owned()))
    }
}

impl<'a> Media<'a> {
    /// The text that it holds; none where it is elsewhere or no text.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Inline { data, .. } => base64_text(&data.decode()),
            Self::Address { .. } => None,
        }
    }

    /// What a URL stands for: a data URL holds the bytes itself.
    pub(crate) fn at(url: &Str<'a>) -> Self {
        match url.0 {
            // Some libraries escape slashes.
            Cow::Borrowed(raw) if !raw.contains('\\') => {
                let inline = data_url(raw).map(|(mime, data)| (Cow::Borrowed(mime), Cow::Borrowed(data)));
                Self::of(inline, Cow::Borrowed(raw))
            }
            _ => {
                let plain = url.decode();
                let owned = |text: &str| Str::escape(text).0;
                let inline = data_url(&plain).map(|(mime, data)| (owned(mime), owned(data)));
                Self::of(inline, owned(&plain))
            }
        }
    }

    fn of(inline: Option<(Cow<'a, str>, Cow<'a, str>)>, url: Cow<'a, str>) -> Self {
        match inline {
            Some((mime, data)) => Self::Inline { mime: Str(mime), data: Str(data) },
            None => Self::Address { mime: None, url: Str(url) },
        }
    }
}

/// The text in plain base64; none where it is not UTF-8.
fn base64_text(base64: &str) -> Option<String> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::with_capacity(base64.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in base64.trim_end_matches('=').bytes() {
        let value = LETTERS.iter().position(|known| *known == letter)?;
        bits = (bits << 6 | value as u32) & 0xFFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    String::from_utf8(bytes).ok()
}

impl<'a> Raw<'a> {
    /// From a value in JSON text that has been read as one.
    pub(crate) const fn new(json: &'a str) -> Self {
        Self(Cow::Borrowed(json))
    }

    /// From JSON made here.
    pub(crate) const fn made(json: String) -> Self {
        Self(Cow::Owned(json))
    }

    /// The arguments of a tool call, which most formats carry as a string. A model may have written
    /// nothing, which means no arguments, or no object at all: that is `None`.
    pub(crate) fn arguments(text: &Str<'_>) -> Option<Raw<'static>> {
        let json = text.decode().into_owned();
        if json.trim().is_empty() {
            return Some(Raw(Cow::Borrowed("{}")));
        }
        is_object(&json).then(|| Raw::made(json).on_one_line())
    }

    /// The same on one line, because a line is as long as a frame of a stream may be. Models, and Google, may write
    /// JSON on several.
    pub(crate) fn on_one_line(self) -> Self {
        if !self.0.bytes().any(|byte| byte < b' ') {
            return self;
        }
        let mut line = String::with_capacity(self.0.len());
        let (mut inside, mut escaped) = (false, false);
        for letter in self.0.chars() {
            match letter {
                // No JSON, but the model meant this.
                '\0'..' ' if inside => line.push_str(&format!("\\u{:04x}", u32::from(letter))),
                '\0'..=' ' if !inside => {}
                _ => line.push(letter),
            }
            inside ^= letter == '"' && !escaped;
            escaped = letter == '\\' && inside && !escaped;
        }
        Self::made(line)
    }

    /// The JSON text.
    pub(crate) fn json(&self) -> &str {
        &self.0
    }

    /// The JSON text as the content of a string.
    pub(crate) fn as_str(&self) -> Str<'static> {
        Str::escape(&self.0)
    }
}

impl<'a> ToolCall<'a> {
    /// A call of an ordinary tool.
    pub(crate) const fn new(id: Str<'a>, name: Str<'a>, arguments: Raw<'a>) -> Self {
        Self { id, name, arguments, freeform: false }
    }
}

impl<'a> Prompt<'a> {
    /// Adds to the turn that is open if it is this role's, or opens one.
    pub(crate) fn say(&mut self, role: Role, part: Part<'a>) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == role => turn.parts.push(part),
            _ => self.turns.push(Turn { role, parts: vec![part] }),
        }
    }

    /// The name of the tool that a result's call was for.
    pub(crate) fn tool_of(&self, result: &ToolResult<'a>) -> Option<&Str<'a>> {
        let calls = self.turns.iter().flat_map(|turn| &turn.parts).filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        });
        calls.rev().find(|call| call.id == result.id).map(|call| &call.name)
    }

    /// Whether the model is to go on with a turn of its own that the client has begun.
    pub(crate) fn is_prefilled(&self) -> bool {
        self.turns.last().is_some_and(|turn| turn.role == Role::Assistant)
    }
}

impl Thinking {
    /// As one of the efforts; none where there is to be no thinking.
    pub(crate) const fn effort(self) -> Option<Effort> {
        match self {
            Self::Off => None,
            Self::Adaptive => Some(Effort::Medium),
            Self::Effort(effort) => Some(effort),
            Self::Tokens(0..=1023) => Some(Effort::Minimal),
            Self::Tokens(1024..=4095) => Some(Effort::Low),
            Self::Tokens(4096..=16_383) => Some(Effort::Medium),
            Self::Tokens(_) => Some(Effort::High),
        }
    }

    /// As a number of tokens; zero where there is to be no thinking.
    pub(crate) const fn tokens(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::Tokens(tokens) => tokens,
            Self::Effort(Effort::Minimal) => 512,
            Self::Effort(Effort::Low) => 2048,
            Self::Adaptive | Self::Effort(Effort::Medium) => 8192,
            Self::Effort(Effort::High) => 16_384,
            Self::Effort(Effort::Max) => 32_768,
        }
    }
}

impl Effort {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Minimal, "minimal"),
        (Self::Low, "low"),
        (Self::Medium, "medium"),
        (Self::High, "high"),
        (Self::Max, "max"),
    ];

    /// By its name; `xhigh` is OpenAI's for the most.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        let known = Self::ALL.iter().find(|(_, known)| known.as_bytes() == name);
        known.map(|(effort, _)| *effort).or((name == b"xhigh").then_some(Self::Max))
    }

    /// Its name with most vendors.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

impl Tokens {
    /// Later counts are larger; what is left out keeps what was said before.
    pub(crate) fn add(&mut self, later: Self) {
        self.input = self.input.max(later.input);
        self.cache_read = self.cache_read.max(later.cache_read);
        self.cache_written = self.cache_written.max(later.cache_written);
        self.output = self.output.max(later.output);
        self.thinking = self.thinking.max(later.thinking);
    }
}

/// Strictly: a model may write what is almost JSON, and here it would spoil a whole request.
fn is_object(json: &str) -> bool {
    json.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok()
}

/// The type and the base64 of a data URL.
fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime = head.strip_suffix(";base64")?.split(';').next().unwrap_or_default();
    Some((if mime.is_empty() { "text/plain" } else { mime }, data))
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

impl fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        assert_eq!(Raw::new(json).on_one_line().json(), expected);
    }

    #[test]
    fn json_is_put_on_one_line() {
        check(r#"{ "a": 1 }"#, r#"{ "a": 1 }"#);
        check(
            "{\n  \"a b\": [1,\r\n\t2],\n  \"c\": \"x \\\" y\\\\\", \"d\": 1\n}",
            r#"{"a b":[1,2],"c":"x \" y\\","d":1}"#,
        );
        check("{\"a\":\"one\ntwo\"}", r#"{"a":"one\u000atwo"}"#);
    }
}
