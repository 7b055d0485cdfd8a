//! Reading a request. Google takes every name in two spellings, and one element for a list of one.

use super::{NO_SEAL, NO_SEAL_BASE64, mime_of, schema};
use crate::json::{Cursor, Kind, Text};
use crate::translate::Notes;
use crate::translate::canon::{
    Effort, Media, Output, Part, Prompt, Raw, Role, Str, Thinking, Thought, Tool, ToolCall, ToolChoice, ToolResult,
};
use crate::translate::read::{Outcome, float, name, raw, text, texts};

pub(in crate::translate) fn read_request<'a>(body: &'a [u8], notes: &mut Notes) -> Outcome<Prompt<'a>> {
    let mut prompt = Prompt::default();
    let mut calls = Calls::default();
    Cursor::new(body).object(|cursor, key| field(&mut prompt, &mut calls, notes, cursor, key))?;
    Ok(prompt)
}

fn field<'a>(
    prompt: &mut Prompt<'a>,
    calls: &mut Calls<'a>,
    notes: &mut Notes,
    cursor: &mut Cursor<'a>,
    key: Text<'a>,
) -> Outcome<()> {
    match key.name() {
        // Both stand in the path.
        b"model" | b"stream" => cursor.skip(),
        b"contents" => each(cursor, |cursor| content(prompt, calls, notes, cursor)),
        b"systemInstruction" | b"system_instruction" => system(prompt, notes, cursor),
        b"tools" => each(cursor, |cursor| tools(prompt, notes, cursor)),
        b"toolConfig" | b"tool_config" => cursor.object(|cursor, key| match key.name() {
            b"functionCallingConfig" | b"function_calling_config" => tool_choice(prompt, notes, cursor),
            _ => notes.skip(cursor, "toolConfig.", key),
        }),
        b"generationConfig" | b"generation_config" => generation(prompt, notes, cursor),
        b"cachedContent" | b"cached_content" => {
            if cursor.is_substantial()? {
                notes.refuse("cachedContent", "it lies with Google");
            }
            Ok(())
        }
        _ => notes.skip(cursor, "", key),
    }
}

fn each<'a>(cursor: &mut Cursor<'a>, mut element: impl FnMut(&mut Cursor<'a>) -> Outcome<()>) -> Outcome<()> {
    if cursor.kind()? == Kind::Object { element(cursor) } else { cursor.array(element) }
}

fn system<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    cursor.object(|cursor, key| match key.name() {
        b"role" => cursor.skip(),
        b"parts" => each(cursor, |cursor| {
            prompt.system.extend(Piece::read(notes, cursor)?.text);
            Ok(())
        }),
        _ => notes.skip(cursor, "systemInstruction.", key),
    })
}

fn content<'a>(
    prompt: &mut Prompt<'a>,
    calls: &mut Calls<'a>,
    notes: &mut Notes,
    cursor: &mut Cursor<'a>,
) -> Outcome<()> {
    let (mut role, mut pieces) = (Role::User, Vec::new());
    cursor.object(|cursor, key| {
        match key.name() {
            b"role" if name(cursor)? == b"model" => role = Role::Assistant,
            // Users, and tools under the name of `function`.
            b"role" => {}
            b"parts" => each(cursor, |cursor| {
                pieces.push(Piece::read(notes, cursor)?);
                Ok(())
            })?,
            _ => notes.skip(cursor, "contents.", key)?,
        }
        Ok(())
    })?;
    for piece in pieces {
        piece.say(prompt, role, calls, notes);
    }
    Ok(())
}

/// A part's fields; one of them says what it is.
#[derive(Default)]
struct Piece<'a> {
    text: Option<Str<'a>>,
    thought: bool,
    seal: Option<Str<'a>>,
    data: Option<Blob<'a>>,
    call: Option<ToolCall<'a>>,
    result: Option<ToolResult<'a>>,
}

/// An image or a document.
#[derive(Default)]
struct Blob<'a> {
    mime: Option<Str<'a>>,
    name: Option<Str<'a>>,
    data: Option<Str<'a>>,
    url: Option<Str<'a>>,
}

impl<'a> Piece<'a> {
    fn read(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut piece = Self::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"text" => piece.text = text(cursor)?,
                b"thought" => piece.thought = cursor.is_true()?,
                b"thoughtSignature" | b"thought_signature" => piece.seal = text(cursor)?,
                b"inlineData" | b"inline_data" | b"fileData" | b"file_data" => {
                    piece.data = Some(Blob::read(notes, cursor)?);
                }
                b"functionCall" | b"function_call" => piece.call = Some(call(notes, cursor)?),
                b"functionResponse" | b"function_response" => piece.result = Some(result(notes, cursor)?),
                _ => notes.skip(cursor, "parts.", key)?,
            }
            Ok(())
        })?;
        Ok(piece)
    }

    fn say(self, prompt: &mut Prompt<'a>, role: Role, calls: &mut Calls<'a>, notes: &mut Notes) {
        // Calls and texts are sealed too. Ours says that there is none.
        if !self.thought && self.seal.as_ref().is_some_and(|seal| ![NO_SEAL, NO_SEAL_BASE64].contains(&seal.raw())) {
            notes.dropped("thoughtSignature");
        }
        if let Some(text) = self.text {
            let part = match self.thought {
                true => Part::Thinking(Thought { text, seal: self.seal }),
                false => Part::Text(text),
            };
            prompt.say(role, part);
        }
        if let Some(part) = self.data.and_then(|data| data.part(notes)) {
            prompt.say(role, part);
        }
        if let Some(mut call) = self.call {
            calls.open(&mut call);
            prompt.say(role, Part::ToolCall(call));
        }
        if let Some(mut result) = self.result {
            calls.close(&mut result);
            prompt.say(role, Part::ToolResult(result));
        }
    }
}

impl<'a> Blob<'a> {
    fn read(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut blob = Self::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"mimeType" | b"mime_type" => blob.mime = text(cursor)?,
                b"displayName" | b"display_name" => blob.name = text(cursor)?,
                b"data" => blob.data = text(cursor)?.map(plain_base64),
                b"fileUri" | b"file_uri" => blob.url = text(cursor)?,
                _ => notes.skip(cursor, "parts.", key)?,
            }
            Ok(())
        })?;
        Ok(blob)
    }

    fn part(self, notes: &mut Notes) -> Option<Part<'a>> {
        let guessed = self.url.as_ref().and_then(|url| mime_of(&url.decode()));
        let mime = self.mime.or(guessed.map(Str::plain));
        let kind = mime.as_ref().map(Str::decode).unwrap_or_default().into_owned();
        let media = match (self.data, self.url) {
            (Some(data), _) => Media::Inline { mime: mime.unwrap_or_default(), data },
            (None, Some(url)) if is_public(&url.decode()) => Media::Address { mime, url },
            (None, _) => {
                notes.refuse("fileData", "a file that was given to Google is not known elsewhere");
                return None;
            }
        };
        if kind.starts_with("image/") {
            return Some(Part::Image(media));
        }
        // Elsewhere a text is said, not shown.
        if kind.starts_with("text/")
            && let Some(text) = media.text()
        {
            return Some(Part::Text(Str::escape(&text)));
        }
        if kind == "application/pdf" || kind.starts_with("text/") {
            return Some(Part::File { name: self.name, media });
        }
        notes.refuse("mimeType", "only images, PDFs and texts are understood elsewhere");
        None
    }
}

/// An address that others can fetch from: neither Google's storage nor what was uploaded to its models.
fn is_public(url: &str) -> bool {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    is_web && !url.contains("generativelanguage.googleapis.com/")
}

/// Google's SDKs write the alphabet that is meant for addresses; others do not read it.
fn plain_base64(data: Str<'_>) -> Str<'_> {
    if memchr::memchr2(b'-', b'_', data.raw().as_bytes()).is_none() {
        return data;
    }
    Str::escape(&data.decode().replace('-', "+").replace('_', "/"))
}

fn call<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<ToolCall<'a>> {
    let mut call = ToolCall::new(Str::default(), Str::default(), Raw::new("{}"));
    cursor.object(|cursor, key| {
        match key.name() {
            b"id" => call.id = text(cursor)?.unwrap_or_default(),
            b"name" => call.name = text(cursor)?.unwrap_or_default(),
            b"args" => call.arguments = raw(cursor)?.unwrap_or(Raw::new("{}")),
            _ => notes.skip(cursor, "functionCall.", key)?,
        }
        Ok(())
    })?;
    Ok(call)
}

fn result<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<ToolResult<'a>> {
    let mut result = ToolResult { id: Str::default(), name: None, parts: Vec::new(), is_error: false };
    let mut media = Vec::new();
    cursor.object(|cursor, key| {
        match key.name() {
            b"id" => result.id = text(cursor)?.unwrap_or_default(),
            b"name" => result.name = text(cursor)?,
            b"response" => response(&mut result, cursor)?,
            b"parts" => each(cursor, |cursor| {
                let data = Piece::read(notes, cursor)?.data;
                media.extend(data.and_then(|data| data.part(notes)));
                Ok(())
            })?,
            _ => notes.skip(cursor, "functionResponse.", key)?,
        }
        Ok(())
    })?;
    result.parts.append(&mut media);
    Ok(result)
}

/// What a tool said stands alone in `output` or `error`, as Google advises (or in `result`, as its SDKs do); otherwise
/// the whole object is what it said.
fn response<'a>(result: &mut ToolResult<'a>, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let mut whole = cursor.clone();
    let (mut words, mut others) = (None, false);
    cursor.object(|cursor, key| {
        let error = key.name() == b"error";
        if !error && !matches!(key.name(), b"output" | b"result") {
            others = true;
            return cursor.skip();
        }
        if let Some(said) = said(cursor)?.filter(|said| !error || !said.is_empty()) {
            result.is_error |= error;
            others |= words.is_some();
            words = Some(said);
        }
        Ok(())
    })?;
    let words = if others || words.is_none() { said(&mut whole)? } else { words };
    result.parts.extend(words.map(Part::Text));
    Ok(())
}

/// A string, or JSON as text.
fn said<'a>(cursor: &mut Cursor<'a>) -> Outcome<Option<Str<'a>>> {
    match cursor.kind()? {
        Kind::String => text(cursor),
        _ => Ok(raw(cursor)?.map(|json| json.as_str())),
    }
}

/// The calls whose results have not come. Few have ids: a result is then for the oldest call of its name. The same
/// history gives the same ids again.
#[derive(Default)]
struct Calls<'a> {
    made: u32,
    open: Vec<(Str<'a>, Str<'a>)>,
}

impl<'a> Calls<'a> {
    fn open(&mut self, call: &mut ToolCall<'a>) {
        if call.id.is_empty() {
            call.id = self.id();
        }
        self.open.push((call.id.clone(), call.name.clone()));
    }

    fn close(&mut self, result: &mut ToolResult<'a>) {
        let by_id = self.open.iter().position(|(id, _)| *id == result.id);
        let by_name = || self.open.iter().position(|(_, name)| Some(name) == result.name.as_ref());
        let oldest = || (result.id.is_empty() && !self.open.is_empty()).then_some(0);
        match by_id.or_else(by_name).or_else(oldest) {
            Some(place) => result.id = self.open.remove(place).0,
            None if result.id.is_empty() => result.id = self.id(),
            None => {}
        }
    }

    fn id(&mut self) -> Str<'static> {
        self.made += 1;
        Str::escape(&format!("call_{}", self.made))
    }
}

fn tools<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    cursor.object(|cursor, key| match key.name() {
        b"functionDeclarations" | b"function_declarations" => each(cursor, |cursor| {
            prompt.tools.push(tool(notes, cursor)?);
            Ok(())
        }),
        // Google runs it, and to ask for it an empty object is enough.
        name => {
            notes.dropped_named("tools.", name);
            cursor.skip()
        }
    })
}

fn tool<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Tool<'a>> {
    let mut tool = Tool::default();
    cursor.object(|cursor, key| {
        match key.name() {
            b"name" => tool.name = text(cursor)?.unwrap_or_default(),
            b"description" => tool.description = text(cursor)?,
            b"parameters" => tool.parameters = schema::lower(cursor, notes)?.or(tool.parameters.take()),
            b"parametersJsonSchema" | b"parameters_json_schema" => tool.parameters = raw(cursor)?,
            _ => notes.skip(cursor, "tools.", key)?,
        }
        Ok(())
    })?;
    Ok(tool)
}

fn tool_choice<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let (mut mode, mut allowed) = (&b""[..], Vec::new());
    cursor.object(|cursor, key| {
        match key.name() {
            b"mode" => mode = name(cursor)?,
            b"allowedFunctionNames" | b"allowed_function_names" => allowed = texts(cursor)?,
            _ => notes.skip(cursor, "toolConfig.", key)?,
        }
        Ok(())
    })?;
    prompt.tool_choice = match mode {
        b"ANY" if allowed.len() == 1 => ToolChoice::Tool(allowed.remove(0)),
        b"ANY" => ToolChoice::Any,
        b"NONE" => ToolChoice::None,
        _ => ToolChoice::Auto,
    };
    if mode == b"VALIDATED" {
        notes.changed("toolConfig.mode");
    }
    if !allowed.is_empty() && mode != b"NONE" && !matches!(prompt.tool_choice, ToolChoice::Tool(_)) {
        notes.dropped("allowedFunctionNames");
    }
    Ok(())
}

fn generation<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let (mut mime, mut schema) = (&b""[..], None);
    cursor.object(|cursor, key| {
        match key.name() {
            b"maxOutputTokens" | b"max_output_tokens" => prompt.tokens_max = cursor.number()?,
            b"temperature" => prompt.temperature = float(cursor)?,
            b"topP" | b"top_p" => prompt.top_p = raw(cursor)?,
            b"topK" | b"top_k" => prompt.top_k = raw(cursor)?,
            b"seed" => prompt.seed = raw(cursor)?,
            b"frequencyPenalty" | b"frequency_penalty" => prompt.frequency_penalty = raw(cursor)?,
            b"presencePenalty" | b"presence_penalty" => prompt.presence_penalty = raw(cursor)?,
            b"stopSequences" | b"stop_sequences" => prompt.stop = texts(cursor)?,
            b"candidateCount" | b"candidate_count" => {
                if cursor.number()?.is_some_and(|count| count > 1) {
                    notes.refuse("candidateCount", "elsewhere there is one answer");
                }
            }
            b"responseModalities" | b"response_modalities" => {
                if texts(cursor)?.iter().any(|modality| !modality.raw().eq_ignore_ascii_case("text")) {
                    notes.refuse("responseModalities", "elsewhere an answer is text");
                }
            }
            b"responseMimeType" | b"response_mime_type" => {
                mime = cursor.string()?.map_or(mime, Text::name);
            }
            b"responseSchema" | b"response_schema" => {
                schema = schema::lower(cursor, notes)?.or(schema.take());
            }
            b"responseJsonSchema" | b"response_json_schema" | b"_responseJsonSchema" => {
                schema = raw(cursor)?.or(schema.take());
            }
            b"thinkingConfig" | b"thinking_config" => prompt.thinking = thinking(notes, cursor)?,
            _ => notes.skip(cursor, "generationConfig.", key)?,
        }
        Ok(())
    })?;
    prompt.output = match (mime, schema) {
        (b"text/x.enum", _) => {
            notes.refuse("responseMimeType", "elsewhere an answer cannot be held to a choice of words");
            Output::Text
        }
        // Google fills in what others want said before they hold an answer strictly to a schema.
        (_, Some(schema)) => Output::Schema { name: None, schema, strict: false },
        (b"application/json", None) => Output::Json,
        _ => Output::Text,
    };
    Ok(())
}

fn thinking(notes: &mut Notes, cursor: &mut Cursor<'_>) -> Outcome<Option<Thinking>> {
    let (mut level, mut budget, mut shown) = (None, None, false);
    cursor.object(|cursor, key| {
        match key.name() {
            b"thinkingLevel" | b"thinking_level" => level = Effort::named(&name(cursor)?.to_ascii_lowercase()),
            b"thinkingBudget" | b"thinking_budget" => budget = float(cursor)?,
            b"includeThoughts" | b"include_thoughts" => shown = cursor.is_true()?,
            _ => notes.skip(cursor, "thinkingConfig.", key)?,
        }
        Ok(())
    })?;
    Ok(match (level, budget) {
        (Some(level), _) => Some(Thinking::Effort(level)),
        (None, Some(0.0)) => Some(Thinking::Off),
        // As much as the model finds right.
        (None, Some(..0.0)) => Some(Thinking::Adaptive),
        (None, Some(tokens)) => Some(Thinking::Tokens(tokens as u64)),
        (None, None) => shown.then_some(Thinking::Adaptive),
    })
}
