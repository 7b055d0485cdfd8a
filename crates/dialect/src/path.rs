//! What a request asks for, as far as method, path and query tell.
//!
//! Paths are those the clients send with only their base URL changed. A path with the wrong
//! method is `Operation::Other`: the upstream will say what is wrong with it.

use std::ops::Range;

use crate::{Family, Format};

/// The first line of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The path without the query.
    pub path: &'a str,
    /// What follows the question mark.
    pub query: Option<&'a str>,
}

/// Whose API a request speaks and what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Whose API.
    pub family: Family,
    /// What for.
    pub operation: Operation,
    /// Where the model's name stands in the path (Gemini).
    model: Option<Range<usize>>,
    /// Asked for by the path (Gemini).
    streams: bool,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An answer from a model.
    Generate(Format),
    /// How many tokens a request would take.
    CountTokens,
    /// Embeddings.
    Embed,
    /// Which models there are.
    ListModels,
    /// Anything else; passes through.
    Other,
}

impl Route {
    /// Finds the route of a request. `anthropic`: the client sent an `anthropic-version` header, which
    /// tells `/v1/models` and unknown paths under `/v1/` apart. None: no dialect's path.
    pub fn of(request: Request<'_>, anthropic: bool) -> Option<Self> {
        let path = request.path.strip_suffix('/').unwrap_or(request.path);
        if let Some(route) = Self::of_model_path(request.method, path) {
            return Some(route);
        }
        let (version, rest) = path.strip_prefix('/')?.split_once('/')?;
        let get = request.method == "GET";
        let post = request.method == "POST";
        let unknown = if anthropic { Family::Anthropic } else { Family::OpenAi };
        let (family, operation) = match (version, rest) {
            ("v1", "chat/completions") if post => (Family::OpenAi, Operation::Generate(Format::Chat)),
            ("v1", "responses") if post => (Family::OpenAi, Operation::Generate(Format::Responses)),
            ("v1", "responses/input_tokens") if post => (Family::OpenAi, Operation::CountTokens),
            ("v1", "embeddings") if post => (Family::OpenAi, Operation::Embed),
            ("v1", "messages") if post => (Family::Anthropic, Operation::Generate(Format::Messages)),
            ("v1", "messages/count_tokens") if post => (Family::Anthropic, Operation::CountTokens),
            ("v1", "models") if get => (unknown, Operation::ListModels),
            ("v1", rest) if is_under(rest, "chat") || is_under(rest, "responses") || is_under(rest, "embeddings") => {
                (Family::OpenAi, Operation::Other)
            }
            ("v1", rest) if is_under(rest, "messages") => (Family::Anthropic, Operation::Other),
            ("v1", rest) if !rest.is_empty() => (unknown, Operation::Other),
            ("v1beta", "models") if get => (Family::Gemini, Operation::ListModels),
            ("v1beta", rest) if !rest.is_empty() => (Family::Gemini, Operation::Other),
            _ => return None,
        };
        Some(Self { family, operation, model: None, streams: false })
    }

    /// The model's name where it stands in the path, percent-decoded.
    pub fn model(&self, path: &str) -> Option<String> {
        path.get(self.model.clone()?).map(percent_decode)
    }

    /// The same path with another model's name; unchanged if the path has none.
    pub fn path_with_model(&self, path: &str, model: &str) -> String {
        let around = self.model.as_ref().and_then(|range| Some((path.get(..range.start)?, path.get(range.end..)?)));
        let Some((before, after)) = around else { return path.to_owned() };
        let model = percent_encode(model);
        // Tuned models have a collection of their own, which is part of the name.
        match (before.strip_suffix("/models/"), model.starts_with("tunedModels/")) {
            (Some(before), true) => format!("{before}/{model}{after}"),
            (None, false) => format!("{before}models/{model}{after}"),
            (Some(_), false) | (None, true) => format!("{before}{model}{after}"),
        }
    }

    /// Whether the operation itself may be repeated; of `Other` only the method tells, see [`Self::repeatable`].
    pub const fn is_safe_to_repeat(&self) -> bool {
        match self.operation {
            Operation::Generate(_) | Operation::CountTokens | Operation::Embed | Operation::ListModels => true,
            Operation::Other => false,
        }
    }

    /// Whether the request may be sent again without doing anything twice.
    pub fn repeatable(&self, method: &str) -> bool {
        self.is_safe_to_repeat() || matches!(method, "GET" | "HEAD" | "OPTIONS")
    }

    /// Whether the path itself asks for a stream (Gemini).
    pub(crate) const fn streams(&self) -> bool {
        self.streams
    }

    /// `/v1beta/models/M:method` and the same below another version, a project or a publisher.
    fn of_model_path(method: &str, path: &str) -> Option<Self> {
        let version =
            ["/v1beta/", "/v1beta1/", "/v1alpha/", "/v1/"].into_iter().find(|version| path.starts_with(version))?;
        let from = version.len();
        let below = &path[from..];
        let start = match below.find("models/") {
            Some(0) => from + "models/".len(),
            Some(at) if below.as_bytes()[at - 1] == b'/' => from + at + "models/".len(),
            // A tuned model's collection is part of its name.
            _ if below.starts_with("tunedModels/") => from,
            _ => return None,
        };
        let colon = path.rfind(':').filter(|colon| *colon > start)?;
        let verb = &path[colon + 1..];
        let operation = match verb {
            "generateContent" | "streamGenerateContent" => Operation::Generate(Format::Gemini),
            "countTokens" => Operation::CountTokens,
            "embedContent" | "batchEmbedContents" => Operation::Embed,
            // OpenAI's fine-tuned models have colons in their names: `/v1/models/ft:gpt-4o:org`.
            _ if version == "/v1/" => return None,
            _ => Operation::Other,
        };
        let operation = if method == "POST" { operation } else { Operation::Other };
        let streams = verb == "streamGenerateContent";
        Some(Self { family: Family::Gemini, operation, model: Some(start..colon), streams })
    }
}

impl Format {
    /// Where a model is asked in this format, and the query: what a client of its own would send.
    pub fn address(self, model: &str, stream: bool) -> String {
        match (self, stream) {
            (Self::Chat, _) => "/v1/chat/completions".to_owned(),
            (Self::Responses, _) => "/v1/responses".to_owned(),
            (Self::Messages, _) => "/v1/messages".to_owned(),
            (Self::Gemini, false) => format!("/v1beta/models/{}:generateContent", percent_encode(model)),
            (Self::Gemini, true) => format!("/v1beta/models/{}:streamGenerateContent?alt=sse", percent_encode(model)),
        }
    }
}

impl Request<'_> {
    /// Whether the query has this pair.
    pub(crate) fn asks(&self, name: &str, value: &str) -> bool {
        let pairs = self.query.unwrap_or_default().split('&');
        pairs.filter_map(|pair| pair.split_once('=')).any(|pair| pair == (name, value))
    }
}

fn is_under(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A text with its `%41`s read; what is no code stays.
pub fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        let hex = hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Everything but what a path segment may hold, and the slash that publishers' models have.
fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'@' | b'+' | b',' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
