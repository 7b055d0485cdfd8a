//! What a request asks for: the path it came on, and the few members of its body that matter here.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Whose words an answer uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    OpenAi,
    Anthropic,
    Gemini,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Responses,
    Embeddings,
    Messages,
    CountTokens,
    Generate,
    /// A Gemini stream as events.
    GenerateStream,
    /// A Gemini stream as one JSON array.
    GenerateArray,
    GeminiCountTokens,
    /// The list of models, or one of them.
    Models(Vendor),
    /// A stored response that is asked for by its id.
    StoredResponse,
    /// The answer to a WebSocket upgrade.
    Upgrade,
    Nothing(Vendor),
}

impl Api {
    pub(crate) fn vendor(self) -> Vendor {
        match self {
            Self::Chat | Self::Responses | Self::Embeddings | Self::StoredResponse | Self::Upgrade => Vendor::OpenAi,
            Self::Messages | Self::CountTokens => Vendor::Anthropic,
            Self::Generate | Self::GenerateStream | Self::GenerateArray | Self::GeminiCountTokens => Vendor::Gemini,
            Self::Models(vendor) | Self::Nothing(vendor) => vendor,
        }
    }

    /// Whether a model speaks in the answer.
    pub(crate) fn generates(self) -> bool {
        matches!(
            self,
            Self::Chat | Self::Responses | Self::Messages | Self::Generate | Self::GenerateStream | Self::GenerateArray
        )
    }
}

/// Where a request leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route<'a> {
    pub(crate) endpoint: Cow<'a, str>,
    /// The path behind the endpoint's prefix.
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
}

impl<'a> Route<'a> {
    /// Splits `/@NAME/path?query`.
    pub(crate) fn of(target: &'a str) -> Self {
        // A client that believes in a proxy names the whole URL.
        let target = match target.strip_prefix("http://") {
            Some(rest) => rest.find('/').map_or("/", |slash| &rest[slash..]),
            None => target,
        };
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let Some(named) = path.strip_prefix("/@") else {
            return Self { endpoint: Cow::Borrowed(""), path, query };
        };
        let (name, path) = named.find('/').map_or((named, "/"), |slash| named.split_at(slash));
        Self { endpoint: percent_decoded(name), path, query }
    }

    /// What is asked on this path, and the model where the path names it.
    pub(crate) fn api(&self, method: &str, speaks_anthropic: bool, upgrades: bool) -> (Api, Option<Cow<'a, str>>) {
        const PREFIXES: &[&str] = &["/v1", "/openai/v1", "/v1beta/openai", "/api/v1", ""];
        let default = if speaks_anthropic { Vendor::Anthropic } else { Vendor::OpenAi };
        let post = method == "POST";
        for version in ["/v1beta/", "/v1/", "/v1alpha/", "/"] {
            let Some(model) = self.path.strip_prefix(version).and_then(|rest| rest.strip_prefix("models")) else {
                continue;
            };
            let named = model.strip_prefix('/');
            if let Some((model, action)) = named.and_then(|model| model.rsplit_once(':')) {
                let model = Some(percent_decoded(model));
                let streams = self.query.is_some_and(|query| query.split('&').any(|part| part == "alt=sse"));
                return match action {
                    "generateContent" if post => (Api::Generate, model),
                    "streamGenerateContent" if post && streams => (Api::GenerateStream, model),
                    "streamGenerateContent" if post => (Api::GenerateArray, model),
                    "countTokens" if post => (Api::GeminiCountTokens, model),
                    _ => (Api::Nothing(Vendor::Gemini), model),
                };
            }
            let vendor = if version.starts_with("/v1beta") { Vendor::Gemini } else { default };
            return match (method, named, model) {
                ("GET", Some(model), _) => (Api::Models(vendor), Some(percent_decoded(model))),
                ("GET", None, "") => (Api::Models(vendor), None),
                _ => (Api::Nothing(vendor), None),
            };
        }
        for prefix in PREFIXES {
            let Some(rest) = self.path.strip_prefix(prefix) else { continue };
            let api = match rest {
                "/chat/completions" if post => Api::Chat,
                "/responses" if post => Api::Responses,
                "/responses" if upgrades => Api::Upgrade,
                "/embeddings" if post => Api::Embeddings,
                "/messages" if post => Api::Messages,
                "/messages/count_tokens" if post => Api::CountTokens,
                _ if rest.starts_with("/responses/") && !post => Api::StoredResponse,
                _ => continue,
            };
            return (api, None);
        }
        let vendor = match self.path {
            path if path.starts_with("/v1/messages") => Vendor::Anthropic,
            path if path.starts_with("/v1beta") => Vendor::Gemini,
            _ => default,
        };
        (Api::Nothing(vendor), None)
    }
}

/// The members of a request that matter here. Everything else is skipped, not refused.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Peek<'a> {
    #[serde(borrow, default)]
    pub(crate) model: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(borrow, default)]
    messages: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    contents: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response_format: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output_format: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output_config: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "generation_config", rename = "generationConfig")]
    generation_config: Option<&'a RawValue>,
    #[serde(borrow, default)]
    max_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) encoding_format: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) dimensions: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) schema: serde_json::Value,
}

impl<'a> Peek<'a> {
    /// Reads a body; an empty one asks for nothing.
    pub(crate) fn of(body: &'a [u8]) -> Result<Self, serde_json::Error> {
        if body.is_empty() { Ok(Self::default()) } else { serde_json::from_slice(body) }
    }

    /// What a provider would refuse this body for.
    pub(crate) fn missing(&self, api: Api) -> Option<&'static str> {
        let empty = |raw: Option<&RawValue>| raw.is_none_or(|raw| matches!(raw.get(), "[]" | "null"));
        match api {
            Api::Chat | Api::Responses | Api::Embeddings if self.model.is_none() => {
                Some("you must provide a model parameter")
            }
            Api::Chat if empty(self.messages) => Some("Missing required parameter: 'messages'."),
            Api::Responses | Api::Embeddings if empty(self.input) => Some("Missing required parameter: 'input'."),
            Api::Messages | Api::CountTokens if self.model.is_none() => Some("model: Field required"),
            Api::Messages | Api::CountTokens if empty(self.messages) => Some("messages: Field required"),
            Api::Messages if self.max_tokens.is_none() => Some("max_tokens: Field required"),
            Api::Generate | Api::GenerateStream | Api::GenerateArray if empty(self.contents) => {
                Some("* GenerateContentRequest.contents: contents is not specified\n")
            }
            _ => None,
        }
    }

    pub(crate) fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    /// How many inputs an embedding request has.
    pub(crate) fn inputs(&self) -> usize {
        let list = self.input.and_then(|raw| serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok());
        match list {
            // A list of token numbers is one input.
            Some(list) if list.first().is_none_or(|first| !first.get().starts_with(|c: char| c.is_ascii_digit())) => {
                list.len()
            }
            _ => 1,
        }
    }

    /// The text of the last message of a user.
    pub(crate) fn last_user_text(&self) -> String {
        if let Some(Ok(text)) = self.input.map(|raw| serde_json::from_str::<String>(raw.get())) {
            return text;
        }
        let messages = self.turns();
        let last = messages.iter().rev().find(|turn| turn.role.as_deref().is_none_or(|role| role == "user"));
        last.map(Turn::said).unwrap_or_default()
    }

    /// The text the model is to go on from, if the last message is its own.
    pub(crate) fn prefill(&self) -> Option<String> {
        // A whole history need not be read where its last role cannot be the model's.
        if !self.messages.is_some_and(|raw| raw.get().contains("assistant")) {
            return None;
        }
        let messages = self.turns();
        let last = messages.last().filter(|turn| turn.role.as_deref() == Some("assistant"))?;
        Some(last.said())
    }

    /// Whether a tool has answered since the model last spoke.
    pub(crate) fn has_result(&self) -> bool {
        let turns = self.turns();
        turns.iter().rev().take_while(|turn| !turn.is_the_models()).any(Turn::is_result)
    }

    fn turns(&self) -> Vec<Turn<'a>> {
        let raw = self.messages.or(self.contents).or(self.input);
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// The tools the model may call, whatever the dialect.
    pub(crate) fn tools(&self) -> Vec<Tool> {
        let Some(Ok(tools)) = self.tools.map(|raw| serde_json::from_str::<Vec<serde_json::Value>>(raw.get())) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for tool in &tools {
            let declared = tool.get("functionDeclarations").or_else(|| tool.get("function_declarations"));
            match declared.and_then(serde_json::Value::as_array) {
                Some(declared) => found.extend(declared.iter().filter_map(named_tool)),
                None => found.extend(named_tool(tool.get("function").unwrap_or(tool))),
            }
        }
        found
    }

    /// The schema of the JSON asked for; null where any JSON will do.
    pub(crate) fn json_schema(&self) -> Option<serde_json::Value> {
        let parts = [self.response_format, self.text, self.output_format, self.output_config, self.generation_config];
        parts.into_iter().flatten().find_map(schema_of)
    }
}

fn named_tool(tool: &serde_json::Value) -> Option<Tool> {
    let name = tool.get("name")?.as_str()?.to_owned();
    let schema = ["parameters", "input_schema", "parametersJsonSchema"].iter().find_map(|key| tool.get(key));
    Some(Tool { name, schema: schema.cloned().unwrap_or_default() })
}

/// The schema in what the dialects call response_format, text.format, output_format and generationConfig.
fn schema_of(raw: &RawValue) -> Option<serde_json::Value> {
    let format: serde_json::Value = serde_json::from_str(raw.get()).ok()?;
    let format = format.get("format").unwrap_or(&format);
    let mime = format.get("responseMimeType").or_else(|| format.get("response_mime_type"));
    if mime.and_then(serde_json::Value::as_str) == Some("application/json") {
        let keys = ["responseJsonSchema", "responseSchema", "response_json_schema", "response_schema"];
        return Some(keys.iter().find_map(|key| format.get(key)).cloned().unwrap_or_default());
    }
    match format.get("type")?.as_str()? {
        "json_object" => Some(serde_json::Value::Null),
        "json_schema" => {
            let inner = format.get("json_schema").unwrap_or(format);
            Some(inner.get("schema").cloned().unwrap_or_default())
        }
        _ => None,
    }
}

/// One message of a conversation.
#[derive(Debug, Deserialize)]
struct Turn<'a> {
    #[serde(borrow, default)]
    role: Option<Cow<'a, str>>,
    /// What an item of the responses API is; a message need not say.
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default, alias = "parts")]
    content: Option<&'a RawValue>,
}

impl Turn<'_> {
    fn is_the_models(&self) -> bool {
        let calls = self.kind.as_deref().is_some_and(|kind| kind.ends_with("_call") || kind == "reasoning");
        calls || matches!(self.role.as_deref(), Some("assistant" | "model"))
    }

    /// A message or an item that is, or holds, what a tool answered.
    fn is_result(&self) -> bool {
        #[derive(Deserialize)]
        struct Part<'a> {
            #[serde(borrow, default, rename = "type")]
            kind: Option<Cow<'a, str>>,
            #[serde(borrow, default, rename = "functionResponse", alias = "function_response")]
            response: Option<&'a RawValue>,
        }
        let is_answer = self.kind.as_deref().is_some_and(|kind| kind.ends_with("_call_output"));
        let parts = self.content.and_then(|raw| serde_json::from_str::<Vec<Part<'_>>>(raw.get()).ok());
        is_answer
            || self.role.as_deref() == Some("tool")
            || parts
                .unwrap_or_default()
                .iter()
                .any(|part| part.response.is_some() || part.kind.as_deref() == Some("tool_result"))
    }

    /// All text of the message.
    fn said(&self) -> String {
        #[derive(Deserialize)]
        struct Part {
            #[serde(default)]
            text: Option<String>,
        }
        let Some(raw) = self.content else { return String::new() };
        if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
            return text;
        }
        let parts: Vec<Part> = serde_json::from_str(raw.get()).unwrap_or_default();
        let mut said = String::new();
        for text in parts.iter().filter_map(|part| part.text.as_deref()) {
            let _ = write!(said, "{text}");
        }
        said
    }
}

/// Text with its `%xx` resolved; what is not text afterwards stays as it was.
pub(crate) fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                bytes.push(hex(*high).unwrap_or(0) * 16 + hex(*low).unwrap_or(0));
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}
