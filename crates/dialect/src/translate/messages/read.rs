//! Reading a request.

use crate::json::{Cursor, Text};
use crate::translate::Notes;
use crate::translate::canon::{
    Effort, Media, Output, Part, Prompt, Raw, Role, Str, Thinking, Thought, Tool, ToolCall, ToolChoice, ToolResult,
};
use crate::translate::read::{Outcome, float, name, parts, raw, text, texts, truth};

pub(in crate::translate) fn read_request<'a>(body: &'a [u8], notes: &mut Notes) -> Outcome<Prompt<'a>> {
    let mut prompt = Prompt::default();
    Cursor::new(body).object(|cursor, key| field(&mut prompt, notes, cursor, key))?;
    Ok(prompt)
}

fn field<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>, key: Text<'a>) -> Outcome<()> {
    match key.name() {
        b"model" => cursor.skip()?,
        b"messages" => cursor.array(|cursor| message(prompt, notes, cursor))?,
        b"system" => {
            let parts = content(notes, cursor)?;
            prompt.system.extend(parts.into_iter().filter_map(|part| match part {
                Part::Text(text) => Some(text),
                _ => None,
            }));
        }
        b"max_tokens" => prompt.tokens_max = cursor.number()?,
        b"stop_sequences" => prompt.stop = texts(cursor)?,
        b"stream" => prompt.stream = cursor.is_true()?,
        b"temperature" => prompt.temperature = float(cursor)?,
        b"top_p" => prompt.top_p = raw(cursor)?,
        b"top_k" => prompt.top_k = raw(cursor)?,
        b"tools" => cursor.array(|cursor| tool(prompt, notes, cursor))?,
        b"tool_choice" => tool_choice(prompt, cursor)?,
        // An effort, where there is one, says more than that there is thinking.
        b"thinking" => {
            let thinking = thinking(cursor)?;
            if thinking == Some(Thinking::Off) || !matches!(prompt.thinking, Some(Thinking::Effort(_))) {
                prompt.thinking = thinking;
            }
        }
        b"output_config" => cursor.object(|cursor, key| match key.name() {
            b"effort" => {
                let effort = Effort::named(name(cursor)?);
                if prompt.thinking != Some(Thinking::Off) {
                    prompt.thinking = effort.map(Thinking::Effort).or(prompt.thinking);
                }
                Ok(())
            }
            b"format" => format(prompt, cursor),
            _ => notes.skip(cursor, "output_config.", key),
        })?,
        b"output_format" => format(prompt, cursor)?,
        b"metadata" => cursor.object(|cursor, key| match key.name() {
            b"user_id" => {
                prompt.user = text(cursor)?;
                Ok(())
            }
            _ => notes.skip(cursor, "metadata.", key),
        })?,
        b"container" => {
            if cursor.is_substantial()? {
                notes.refuse("container", "it lives with Anthropic");
            }
        }
        _ => notes.skip(cursor, "", key)?,
    }
    Ok(())
}

fn message<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let (mut role, mut parts) = (Role::User, Vec::new());
    cursor.object(|cursor, key| {
        match key.name() {
            b"role" if name(cursor)? == b"assistant" => role = Role::Assistant,
            b"role" => {}
            b"content" => parts = content(notes, cursor)?,
            _ => notes.skip(cursor, "messages.", key)?,
        }
        Ok(())
    })?;
    for part in parts {
        prompt.say(role, part);
    }
    Ok(())
}

/// A string, or blocks.
fn content<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Vec<Part<'a>>> {
    parts(cursor, |cursor, found| {
        Block::read(notes, cursor)?.parts(notes, found);
        Ok(())
    })
}

/// A block's fields, whatever its type: that may come last.
#[derive(Default)]
struct Block<'a> {
    kind: &'a [u8],
    text: Option<Str<'a>>,
    id: Option<Str<'a>>,
    name: Option<Str<'a>>,
    input: Option<Raw<'a>>,
    content: Vec<Part<'a>>,
    is_error: bool,
    source: Source<'a>,
    thought: Thought<'a>,
}

/// Where an image or a document is.
#[derive(Default)]
struct Source<'a> {
    kind: &'a [u8],
    mime: Option<Str<'a>>,
    data: Option<Str<'a>>,
    url: Option<Str<'a>>,
    content: Vec<Part<'a>>,
}

impl<'a> Block<'a> {
    fn read(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut block = Self::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"type" => block.kind = name(cursor)?,
                b"text" => block.text = text(cursor)?,
                b"id" | b"tool_use_id" => block.id = text(cursor)?,
                b"name" | b"title" => block.name = text(cursor)?,
                b"input" => block.input = raw(cursor)?,
                b"content" => block.content = content(notes, cursor)?,
                b"is_error" => block.is_error = cursor.is_true()?,
                b"source" => block.source = Source::read(notes, cursor)?,
                b"thinking" => block.thought.text = text(cursor)?.unwrap_or_default(),
                b"signature" => block.thought.seal = text(cursor)?,
                // Caches are the vendor's own.
                b"cache_control" => {
                    if cursor.is_substantial()? {
                        notes.dropped("cache_control");
                    }
                }
                // Sealed thinking, and what it is about: dropped with the block.
                b"data" | b"citations" => cursor.skip()?,
                _ => notes.skip(cursor, "content.", key)?,
            }
            Ok(())
        })?;
        Ok(block)
    }

    fn parts(self, notes: &mut Notes, parts: &mut Vec<Part<'a>>) {
        let id = self.id.unwrap_or_default();
        match self.kind {
            b"text" => parts.extend(self.text.map(Part::Text)),
            b"image" => parts.extend(self.source.media(notes).map(Part::Image)),
            b"document" if self.source.kind == b"text" => parts.extend(self.source.data.map(Part::Text)),
            b"document" if self.source.kind == b"content" => parts.extend(self.source.content),
            b"document" => {
                let name = self.name;
                parts.extend(self.source.media(notes).map(|media| Part::File { name, media }));
            }
            b"thinking" => parts.push(Part::Thinking(self.thought)),
            b"redacted_thinking" => parts.push(Part::Thinking(Thought::default())),
            b"tool_use" => parts.push(Part::ToolCall(ToolCall::new(
                id,
                self.name.unwrap_or_default(),
                self.input.unwrap_or(Raw::new("{}")),
            ))),
            b"tool_result" => {
                let result = ToolResult { id, name: None, parts: self.content, is_error: self.is_error };
                parts.push(Part::ToolResult(result));
            }
            // A search result is text with a heading.
            b"search_result" => parts.extend(self.content),
            kind => notes.dropped_named("content.", kind),
        }
    }
}

impl<'a> Source<'a> {
    fn read(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut source = Self::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"type" => source.kind = name(cursor)?,
                b"media_type" => source.mime = text(cursor)?,
                b"data" => source.data = text(cursor)?,
                b"url" => source.url = text(cursor)?,
                b"content" => source.content = content(notes, cursor)?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(source)
    }

    fn media(self, notes: &mut Notes) -> Option<Media<'a>> {
        match (self.data, self.url) {
            (Some(data), _) => Some(Media::Inline { mime: self.mime.unwrap_or_default(), data }),
            (None, Some(url)) => Some(Media::Address { mime: self.mime, url }),
            (None, None) => {
                notes.refuse("source", "a file that was given to Anthropic is not known elsewhere");
                None
            }
        }
    }
}

fn tool<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let mut kind = &b""[..];
    let mut tool = Tool::default();
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => kind = name(cursor)?,
            b"name" => tool.name = text(cursor)?.unwrap_or_default(),
            b"description" => tool.description = text(cursor)?,
            b"input_schema" => tool.parameters = raw(cursor)?,
            b"strict" => tool.strict = truth(cursor)?,
            b"cache_control" => {
                if cursor.is_substantial()? {
                    notes.dropped("cache_control");
                }
            }
            // What else a tool has that is left out is left out with it.
            _ if is_own(kind) => notes.skip(cursor, "tools.", key)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    if is_own(kind) {
        prompt.tools.push(tool);
    } else {
        // The vendor runs it, or only its models know how to use it.
        notes.dropped_named("tools.", kind);
    }
    Ok(())
}

/// Whether the client runs a tool of this type itself.
const fn is_own(kind: &[u8]) -> bool {
    matches!(kind, b"" | b"custom")
}

fn tool_choice<'a>(prompt: &mut Prompt<'a>, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let (mut kind, mut tool) = (&b""[..], None);
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => kind = name(cursor)?,
            b"name" => tool = text(cursor)?,
            b"disable_parallel_tool_use" => prompt.parallel_tools = truth(cursor)?.map(|disabled| !disabled),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    prompt.tool_choice = match (kind, tool) {
        (b"any", _) => ToolChoice::Any,
        (b"none", _) => ToolChoice::None,
        (b"tool", Some(tool)) => ToolChoice::Tool(tool),
        _ => ToolChoice::Auto,
    };
    Ok(())
}

fn thinking(cursor: &mut Cursor<'_>) -> Outcome<Option<Thinking>> {
    let (mut kind, mut budget) = (&b""[..], None);
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => kind = name(cursor)?,
            b"budget_tokens" => budget = cursor.number()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    Ok(match kind {
        b"enabled" => Some(budget.map_or(Thinking::Adaptive, Thinking::Tokens)),
        b"adaptive" => Some(Thinking::Adaptive),
        b"disabled" => Some(Thinking::Off),
        _ => None,
    })
}

fn format<'a>(prompt: &mut Prompt<'a>, cursor: &mut Cursor<'a>) -> Outcome<()> {
    cursor.object(|cursor, key| {
        if key.name() == b"schema" {
            if let Some(schema) = raw(cursor)? {
                prompt.output = Output::Schema { name: None, schema, strict: true };
            }
            return Ok(());
        }
        cursor.skip()
    })
}
