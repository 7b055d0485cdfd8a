//! Reading a request.

use super::Call;
use crate::json::{Cursor, Kind, Text};
use crate::translate::Notes;
use crate::translate::canon::{
    Effort, Media, Output, Part, Prompt, Raw, Role, Str, Thinking, Thought, Tool, ToolCall, ToolChoice, ToolResult,
};
use crate::translate::read::{Outcome, float, name, parts, raw, text, texts, truth};
use crate::translate::{freeform, out};

pub(in crate::translate) fn read_request<'a>(body: &'a [u8], notes: &mut Notes) -> Outcome<Prompt<'a>> {
    let mut prompt = Prompt::default();
    let mut allowed = None;
    Cursor::new(body).object(|cursor, key| match key.name() {
        b"tool_choice" | b"function_call" => {
            let choice = Choice::read(cursor)?;
            prompt.tool_choice = choice.wanted();
            allowed = choice.allowed;
            Ok(())
        }
        _ => field(&mut prompt, notes, cursor, key),
    })?;
    if let Some(allowed) = allowed {
        prompt.tools.retain(|tool| allowed.contains(&tool.name));
    }
    Ok(prompt)
}

fn field<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>, key: Text<'a>) -> Outcome<()> {
    match key.name() {
        b"model" => cursor.skip()?,
        b"messages" => cursor.array(|cursor| {
            let message = Message::read(notes, cursor)?;
            message.say(prompt, notes);
            Ok(())
        })?,
        // The newer name of the two counts.
        b"max_completion_tokens" => prompt.tokens_max = cursor.number()?.or(prompt.tokens_max),
        b"max_tokens" => prompt.tokens_max = prompt.tokens_max.or(cursor.number()?),
        b"stop" => prompt.stop = texts(cursor)?,
        b"stream" => prompt.stream = cursor.is_true()?,
        b"stream_options" => cursor.object(|cursor, key| {
            match key.name() {
                b"include_usage" => prompt.usage_asked = cursor.is_true()?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?,
        b"temperature" => prompt.temperature = float(cursor)?,
        b"top_p" => prompt.top_p = raw(cursor)?,
        b"top_k" => prompt.top_k = raw(cursor)?,
        // The second is Mistral's.
        b"seed" | b"random_seed" => prompt.seed = raw(cursor)?.or(prompt.seed.take()),
        b"frequency_penalty" => prompt.frequency_penalty = raw(cursor)?,
        b"presence_penalty" => prompt.presence_penalty = raw(cursor)?,
        b"tools" => cursor.array(|cursor| tool(prompt, notes, cursor))?,
        b"functions" => cursor.array(|cursor| {
            prompt.tools.push(function(notes, cursor)?);
            Ok(())
        })?,
        b"parallel_tool_calls" => prompt.parallel_tools = truth(cursor)?,
        b"response_format" => prompt.output = output(notes, cursor)?,
        b"reasoning_effort" => prompt.thinking = effort(notes, cursor)?.or(prompt.thinking),
        // OpenRouter's.
        b"reasoning" => cursor.object(|cursor, key| {
            match key.name() {
                b"effort" => prompt.thinking = effort(notes, cursor)?.or(prompt.thinking),
                b"max_tokens" => prompt.thinking = cursor.number()?.map(Thinking::Tokens).or(prompt.thinking),
                b"enabled" => {
                    let enabled = truth(cursor)?.map(|on| if on { Thinking::Adaptive } else { Thinking::Off });
                    prompt.thinking = prompt.thinking.or(enabled);
                }
                _ => notes.skip(cursor, "reasoning.", key)?,
            }
            Ok(())
        })?,
        b"user" | b"safety_identifier" => prompt.user = text(cursor)?.or(prompt.user.take()),
        b"n" => {
            if cursor.number()?.is_some_and(|number| number > 1) {
                notes.refuse("n", "others give one answer at a time");
            }
        }
        b"modalities" => {
            if texts(cursor)?.iter().any(|modality| modality.raw() != "text") {
                notes.refuse("modalities", "others answer in text alone");
            }
        }
        // Which the vendor decides.
        b"service_tier" => {
            if !matches!(name(cursor)?, b"" | b"auto" | b"default") {
                notes.dropped("service_tier");
            }
        }
        _ => notes.skip(cursor, "", key)?,
    }
    Ok(())
}

fn effort(notes: &mut Notes, cursor: &mut Cursor<'_>) -> Outcome<Option<Thinking>> {
    let name = name(cursor)?;
    if name == b"none" {
        return Ok(Some(Thinking::Off));
    }
    let effort = Effort::named(name);
    if effort.is_none() && !name.is_empty() {
        notes.dropped("reasoning_effort");
    }
    Ok(effort.map(Thinking::Effort))
}

/// A message's fields, whatever its role: that may come last.
#[derive(Default)]
struct Message<'a> {
    role: &'a [u8],
    parts: Vec<Part<'a>>,
    thinking: Option<Str<'a>>,
    refusal: Option<Str<'a>>,
    calls: Vec<Call<'a>>,
    /// Before there were several calls at a time they had no ids.
    function_call: Option<Call<'a>>,
    id: Option<Str<'a>>,
    name: Option<Str<'a>>,
}

impl<'a> Message<'a> {
    fn read(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut message = Self::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"role" => message.role = name(cursor)?,
                b"content" => message.parts = content(notes, cursor)?,
                b"reasoning_content" | b"reasoning" => message.thinking = text(cursor)?.or(message.thinking.take()),
                b"refusal" => message.refusal = text(cursor)?,
                b"tool_calls" => cursor.array(|cursor| {
                    message.calls.push(Call::read(cursor)?);
                    Ok(())
                })?,
                b"function_call" if cursor.kind()? == Kind::Object => {
                    let call = message.function_call.insert(Call::default());
                    call.function(cursor)?;
                }
                b"tool_call_id" => message.id = text(cursor)?,
                b"name" => message.name = text(cursor)?,
                b"audio" => {
                    if cursor.is_substantial()? {
                        notes.refuse("messages.audio", "what was said aloud is kept by OpenAI and not known elsewhere");
                    }
                }
                _ => notes.skip(cursor, "messages.", key)?,
            }
            Ok(())
        })?;
        Ok(message)
    }

    fn say(self, prompt: &mut Prompt<'a>, notes: &mut Notes) {
        let is_result = matches!(self.role, b"tool" | b"function");
        if !is_result && self.name.as_ref().is_some_and(|name| !name.is_empty()) {
            notes.dropped("messages.name");
        }
        match self.role {
            b"system" | b"developer" => self.instruct(prompt, notes),
            b"assistant" => self.answer(prompt, notes),
            _ if is_result => {
                let id = self.id.or_else(|| last_call(prompt, self.name.as_ref())).unwrap_or_default();
                let result = ToolResult { id, name: self.name, parts: self.parts, is_error: false };
                prompt.say(Role::User, Part::ToolResult(result));
            }
            _ => self.parts.into_iter().for_each(|part| prompt.say(Role::User, part)),
        }
    }

    /// Others know one place for instructions: above the conversation.
    fn instruct(self, prompt: &mut Prompt<'a>, notes: &mut Notes) {
        if !prompt.turns.is_empty() {
            notes.changed("messages.system");
        }
        for part in self.parts {
            match part {
                Part::Text(text) => prompt.system.push(text),
                _ => notes.dropped("messages.system"),
            }
        }
    }

    fn answer(self, prompt: &mut Prompt<'a>, notes: &mut Notes) {
        let mut parts = Vec::new();
        let thinking = self.thinking.filter(|thinking| !thinking.is_empty());
        parts.extend(thinking.map(|text| Part::Thinking(Thought { text, seal: None })));
        // Beside calls the content is often an empty string.
        parts.extend(self.parts.into_iter().filter(|part| !matches!(part, Part::Text(text) if text.is_empty())));
        parts.extend(self.refusal.filter(|refusal| !refusal.is_empty()).map(Part::Refusal));
        parts.extend(self.calls.into_iter().map(|call| Part::ToolCall(whole(call, notes))));
        if let Some(mut call) = self.function_call {
            call.id = Str::escape(&format!("call_{}", calls(prompt).count()));
            parts.push(Part::ToolCall(whole(call, notes)));
        }
        parts.into_iter().for_each(|part| prompt.say(Role::Assistant, part));
    }
}

fn calls<'p, 'a>(prompt: &'p Prompt<'a>) -> impl DoubleEndedIterator<Item = &'p ToolCall<'a>> {
    prompt.turns.iter().flat_map(|turn| &turn.parts).filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    })
}

/// The id of the call that a result is for which only says the name.
fn last_call<'a>(prompt: &Prompt<'a>, name: Option<&Str<'a>>) -> Option<Str<'a>> {
    calls(prompt).rev().find(|call| Some(&call.name) == name).map(|call| call.id.clone())
}

/// A call with arguments that are an object, as everybody else wants them.
fn whole<'a>(call: Call<'a>, notes: &mut Notes) -> ToolCall<'a> {
    if call.is_custom {
        notes.changed("tool_calls.custom");
        return freeform::call(call.id, call.name, &call.arguments);
    }
    let arguments = Raw::arguments(&call.arguments).unwrap_or_else(|| {
        notes.changed("tool_calls.arguments");
        Raw::made(out::made(|object| object.text("arguments", &call.arguments)))
    });
    ToolCall::new(call.id, call.name, arguments)
}

/// A string, or parts.
fn content<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Vec<Part<'a>>> {
    parts(cursor, |cursor, found| {
        found.extend(Piece::read(notes, cursor)?.part(notes));
        Ok(())
    })
}

/// The fields of a part of the content, whatever its type: that may come last.
#[derive(Default)]
struct Piece<'a> {
    kind: &'a [u8],
    text: Option<Str<'a>>,
    refusal: Option<Str<'a>>,
    /// An image's address.
    url: Option<Str<'a>>,
    file: File<'a>,
}

#[derive(Default)]
struct File<'a> {
    data: Option<Str<'a>>,
    name: Option<Str<'a>>,
}

impl<'a> Piece<'a> {
    fn read(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut piece = Self::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"type" => piece.kind = name(cursor)?,
                b"text" => piece.text = text(cursor)?,
                b"refusal" => piece.refusal = text(cursor)?,
                b"image_url" => piece.url = image(notes, cursor)?,
                b"file" => piece.file = File::read(cursor)?,
                // Told by the type: refused, or dropped with it.
                b"input_audio" | b"video_url" | b"thinking" => cursor.skip()?,
                // Caches are the vendor's own.
                b"cache_control" | b"prompt_cache_breakpoint" => {
                    if cursor.is_substantial()? {
                        notes.dropped_named("", key.name());
                    }
                }
                _ => notes.skip(cursor, "messages.content.", key)?,
            }
            Ok(())
        })?;
        Ok(piece)
    }

    fn part(self, notes: &mut Notes) -> Option<Part<'a>> {
        match self.kind {
            b"text" => self.text.map(Part::Text),
            b"refusal" => self.refusal.map(Part::Refusal),
            b"image_url" => self.url.map(|url| Part::Image(Media::at(&url))),
            b"file" => self.file.part(notes),
            b"thinking" => Some(Part::Thinking(Thought::default())),
            b"input_audio" | b"video_url" => {
                notes.refuse("messages.content", "sound and film cannot be carried over");
                None
            }
            kind => {
                notes.dropped_named("messages.content.", kind);
                None
            }
        }
    }
}

/// An object with the address, or the address alone.
fn image<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Option<Str<'a>>> {
    if cursor.kind()? == Kind::String {
        return text(cursor);
    }
    let mut url = None;
    cursor.object(|cursor, key| {
        match key.name() {
            b"url" => url = text(cursor)?,
            b"detail" => {
                if !matches!(name(cursor)?, b"" | b"auto") {
                    notes.dropped("image_url.detail");
                }
            }
            _ => notes.skip(cursor, "image_url.", key)?,
        }
        Ok(())
    })?;
    Ok(url)
}

impl<'a> File<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut file = Self::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"file_data" => file.data = text(cursor)?,
                b"filename" => file.name = text(cursor)?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(file)
    }

    fn part(self, notes: &mut Notes) -> Option<Part<'a>> {
        let Some(data) = self.data else {
            notes.refuse("file_id", "a file that was given to OpenAI is not known elsewhere");
            return None;
        };
        let media = match Media::at(&data) {
            // The bytes alone, of the one kind of document that everybody reads.
            Media::Address { url, .. } if !url.decode().contains(':') => {
                Media::Inline { mime: Str::plain("application/pdf"), data: url }
            }
            media => media,
        };
        Some(Part::File { name: self.name, media })
    }
}

fn tool<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let (mut kind, mut tool) = (&b"function"[..], None);
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => kind = name(cursor)?,
            b"function" => tool = Some(function(notes, cursor)?),
            b"custom" => tool = Some(custom(notes, cursor)?),
            _ => notes.skip(cursor, "tools.", key)?,
        }
        Ok(())
    })?;
    match tool {
        Some(tool) if matches!(kind, b"function" | b"custom") => prompt.tools.push(tool),
        // The vendor runs it, or only its models know how to use it.
        _ => notes.dropped_named("tools.", kind),
    }
    Ok(())
}

fn function<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Tool<'a>> {
    let mut tool = Tool::default();
    cursor.object(|cursor, key| {
        match key.name() {
            b"name" => tool.name = text(cursor)?.unwrap_or_default(),
            b"description" => tool.description = text(cursor)?,
            b"parameters" => tool.parameters = raw(cursor)?,
            b"strict" => tool.strict = truth(cursor)?,
            _ => notes.skip(cursor, "tools.function.", key)?,
        }
        Ok(())
    })?;
    Ok(tool)
}

/// A tool that takes plain text.
fn custom<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Tool<'a>> {
    let (mut tool, mut grammar) = (Tool::default(), None);
    cursor.object(|cursor, key| {
        match key.name() {
            b"name" => tool.name = text(cursor)?.unwrap_or_default(),
            b"description" => tool.description = text(cursor)?,
            b"format" => grammar = freeform::grammar(cursor)?,
            _ => notes.skip(cursor, "tools.custom.", key)?,
        }
        Ok(())
    })?;
    notes.changed("tools.custom");
    Ok(freeform::tool(tool, grammar.as_ref()))
}

/// A choice of tools: a word, a tool, or some of the tools.
#[derive(Default)]
struct Choice<'a> {
    word: &'a [u8],
    tool: Option<Str<'a>>,
    allowed: Option<Vec<Str<'a>>>,
}

impl<'a> Choice<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut choice = Self::default();
        if cursor.kind()? == Kind::String {
            choice.word = name(cursor)?;
            return Ok(choice);
        }
        cursor.object(|cursor, key| {
            match key.name() {
                b"type" => choice.word = name(cursor)?,
                // Before there were tools the name stood alone.
                b"name" => choice.tool = text(cursor)?,
                b"function" | b"custom" => choice.tool = named(cursor)?,
                b"allowed_tools" => choice.allow(cursor)?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(choice)
    }

    fn allow(&mut self, cursor: &mut Cursor<'a>) -> Outcome<()> {
        let allowed = self.allowed.insert(Vec::new());
        let mut mode = &b""[..];
        cursor.object(|cursor, key| {
            match key.name() {
                b"mode" => mode = name(cursor)?,
                b"tools" => cursor.array(|cursor| {
                    cursor.object(|cursor, key| {
                        match key.name() {
                            b"function" | b"custom" => allowed.extend(named(cursor)?),
                            _ => cursor.skip()?,
                        }
                        Ok(())
                    })
                })?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        self.word = mode;
        Ok(())
    }

    fn wanted(&self) -> ToolChoice<'a> {
        match (self.word, &self.tool) {
            (b"none", _) => ToolChoice::None,
            // The second is Mistral's.
            (b"required" | b"any", _) => ToolChoice::Any,
            (_, Some(tool)) => ToolChoice::Tool(tool.clone()),
            _ => ToolChoice::Auto,
        }
    }
}

/// The name in an object.
fn named<'a>(cursor: &mut Cursor<'a>) -> Outcome<Option<Str<'a>>> {
    let mut found = None;
    cursor.object(|cursor, key| {
        match key.name() {
            b"name" => found = text(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(found)
}

fn output<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Output<'a>> {
    let (mut kind, mut title, mut schema, mut strict) = (&b""[..], None, None, false);
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => kind = name(cursor)?,
            b"json_schema" => cursor.object(|cursor, key| {
                match key.name() {
                    b"name" => title = text(cursor)?,
                    b"schema" => schema = raw(cursor)?,
                    b"strict" => strict = cursor.is_true()?,
                    _ => notes.skip(cursor, "response_format.", key)?,
                }
                Ok(())
            })?,
            _ => notes.skip(cursor, "response_format.", key)?,
        }
        Ok(())
    })?;
    Ok(match (kind, schema) {
        (b"json_schema", Some(schema)) => Output::Schema { name: title, schema, strict },
        (b"json_object" | b"json_schema", _) => Output::Json,
        (b"" | b"text", _) => Output::Text,
        _ => {
            notes.refuse("response_format", "only text and JSON can be carried over");
            Output::Text
        }
    })
}
