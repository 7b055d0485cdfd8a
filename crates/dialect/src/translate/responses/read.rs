//! Reading a request.

use crate::json::{Cursor, Kind, Text};
use crate::translate::Notes;
use crate::translate::canon::{
    Effort, Media, Output, Part, Prompt, Raw, Role, Str, Thinking, Thought, Tool, ToolCall, ToolChoice, ToolResult,
};
use crate::translate::read::{Outcome, float, name, parts, raw, text, truth};
use crate::translate::{freeform, out};

pub(in crate::translate) fn read_request<'a>(body: &'a [u8], notes: &mut Notes) -> Outcome<Prompt<'a>> {
    let mut prompt = Prompt::default();
    let mut instructions = None;
    Cursor::new(body).object(|cursor, key| match key.name() {
        b"instructions" => {
            instructions = text(cursor)?;
            Ok(())
        }
        _ => field(&mut prompt, notes, cursor, key),
    })?;
    // They come first, wherever they stand.
    prompt.system.splice(0..0, instructions);
    Ok(prompt)
}

fn field<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>, key: Text<'a>) -> Outcome<()> {
    match key.name() {
        b"model" => cursor.skip()?,
        b"input" => input(prompt, notes, cursor)?,
        b"tools" => cursor.array(|cursor| tool(prompt, notes, cursor))?,
        b"tool_choice" => tool_choice(prompt, notes, cursor)?,
        b"parallel_tool_calls" => prompt.parallel_tools = truth(cursor)?,
        b"reasoning" => cursor.object(|cursor, key| match key.name() {
            b"effort" => {
                prompt.thinking = match name(cursor)? {
                    b"none" => Some(Thinking::Off),
                    effort => Effort::named(effort).map(Thinking::Effort),
                };
                Ok(())
            }
            // Whether and how thinking is shown; it is, where there is any.
            b"summary" | b"generate_summary" => cursor.skip(),
            _ => notes.skip(cursor, "reasoning.", key),
        })?,
        b"text" => cursor.object(|cursor, key| match key.name() {
            b"format" => format(prompt, cursor),
            _ => notes.skip(cursor, "text.", key),
        })?,
        b"max_output_tokens" => prompt.tokens_max = cursor.number()?,
        b"temperature" => prompt.temperature = float(cursor)?,
        b"top_p" => prompt.top_p = raw(cursor)?,
        b"stream" => prompt.stream = cursor.is_true()?,
        b"user" | b"safety_identifier" => prompt.user = text(cursor)?.or(prompt.user.take()),
        // What OpenAI keeps is not known elsewhere.
        b"previous_response_id" | b"conversation" | b"prompt" => {
            if cursor.is_substantial()? {
                notes.refuse(&String::from_utf8_lossy(key.name()), "it is kept by OpenAI");
            }
        }
        b"background" => {
            if cursor.is_true()? {
                notes.refuse("background", "only OpenAI answers in the background");
            }
        }
        // Asks for nothing that a model would do otherwise: where it is kept, cached, and how it is streamed.
        b"store" | b"include" | b"prompt_cache_key" | b"prompt_cache_retention" | b"stream_options" => cursor.skip()?,
        // Truncation by the server is off unless it is asked for.
        b"truncation" => {
            if name(cursor)? == b"auto" {
                notes.dropped("truncation");
            }
        }
        b"service_tier" => {
            if !matches!(name(cursor)?, b"" | b"auto" | b"default") {
                notes.dropped("service_tier");
            }
        }
        _ => notes.skip(cursor, "", key)?,
    }
    Ok(())
}

/// A string, or items.
fn input<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    if cursor.kind()? == Kind::String {
        if let Some(words) = text(cursor)? {
            prompt.say(Role::User, Part::Text(words));
        }
        return Ok(());
    }
    cursor.array(|cursor| {
        Item::read(notes, cursor)?.put(prompt, notes);
        Ok(())
    })
}

/// An item's fields, whatever its type: that may come last.
#[derive(Default)]
struct Item<'a> {
    kind: &'a [u8],
    role: &'a [u8],
    content: Vec<Part<'a>>,
    id: Option<Str<'a>>,
    name: Option<Str<'a>>,
    arguments: Option<Str<'a>>,
    input: Option<Str<'a>>,
    output: Vec<Part<'a>>,
    thought: Thought<'a>,
}

impl<'a> Item<'a> {
    fn read(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Self> {
        let mut item = Self::default();
        cursor.object(|cursor, key| {
            match key.name() {
                b"type" => item.kind = name(cursor)?,
                b"role" => item.role = name(cursor)?,
                b"content" => item.content = content(notes, cursor)?,
                b"call_id" => item.id = text(cursor)?,
                b"name" => item.name = text(cursor)?,
                b"arguments" => item.arguments = text(cursor)?,
                b"input" => item.input = text(cursor)?,
                b"output" => item.output = content(notes, cursor)?,
                b"encrypted_content" => item.thought.seal = text(cursor)?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        Ok(item)
    }

    fn put(self, prompt: &mut Prompt<'a>, notes: &mut Notes) {
        let id = self.id.unwrap_or_default();
        let name = self.name.unwrap_or_default();
        match self.kind {
            b"" | b"message" if matches!(self.role, b"system" | b"developer") => {
                if !prompt.turns.is_empty() {
                    notes.changed("input.system");
                }
                prompt.system.extend(self.content.into_iter().filter_map(|part| match part {
                    Part::Text(text) => Some(text),
                    _ => None,
                }));
            }
            b"" | b"message" => {
                let role = if self.role == b"assistant" { Role::Assistant } else { Role::User };
                self.content.into_iter().for_each(|part| prompt.say(role, part));
            }
            b"function_call" => {
                let text = self.arguments.unwrap_or_default();
                let arguments = Raw::arguments(&text).unwrap_or_else(|| {
                    notes.changed("input.arguments");
                    Raw::made(out::made(|object| object.text("arguments", &text)))
                });
                let call = ToolCall::new(id, name, arguments);
                prompt.say(Role::Assistant, Part::ToolCall(call));
            }
            b"custom_tool_call" => {
                let text = self.input.unwrap_or_default();
                prompt.say(Role::Assistant, Part::ToolCall(freeform::call(id, name, &text)));
            }
            b"function_call_output" | b"custom_tool_call_output" => {
                let result = ToolResult { id, name: None, parts: self.output, is_error: false };
                prompt.say(Role::User, Part::ToolResult(result));
            }
            b"reasoning" => prompt.say(Role::Assistant, Part::Thinking(self.thought)),
            b"item_reference" => notes.refuse("input.item_reference", "it is kept by OpenAI"),
            // What OpenAI's own tools did.
            kind => notes.dropped_named("input.", kind),
        }
    }
}

/// A string, or parts.
fn content<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Vec<Part<'a>>> {
    parts(cursor, |cursor, found| {
        found.extend(part(notes, cursor)?);
        Ok(())
    })
}

fn part<'a>(notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<Option<Part<'a>>> {
    let (mut kind, mut words, mut address, mut data, mut file) = (&b""[..], None, None, None, None);
    let mut kept = false;
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => kind = name(cursor)?,
            b"text" | b"refusal" => words = text(cursor)?,
            b"image_url" | b"file_url" => address = text(cursor)?,
            b"file_data" => data = text(cursor)?,
            b"filename" => file = text(cursor)?,
            b"file_id" => kept = cursor.is_substantial()?,
            b"detail" => {
                if !matches!(name(cursor)?, b"" | b"auto") {
                    notes.dropped("input.detail");
                }
            }
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    let media = data.or(address).map(|url| Media::at(&url));
    if kept && media.is_none() {
        notes.refuse("input.file_id", "it is kept by OpenAI");
    }
    Ok(match kind {
        b"input_text" | b"output_text" | b"text" | b"summary_text" | b"reasoning_text" => words.map(Part::Text),
        b"refusal" => words.map(Part::Refusal),
        b"input_image" => media.map(Part::Image),
        b"input_file" => media.map(|media| Part::File { name: file, media }),
        kind => {
            notes.dropped_named("input.", kind);
            None
        }
    })
}

fn tool<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let mut kind = &b""[..];
    let mut tool = Tool::default();
    let mut grammar = None;
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => kind = name(cursor)?,
            b"name" => tool.name = text(cursor)?.unwrap_or_default(),
            b"description" => tool.description = text(cursor)?,
            b"parameters" => tool.parameters = raw(cursor)?,
            b"strict" => tool.strict = truth(cursor)?,
            b"format" => grammar = freeform::grammar(cursor)?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    match kind {
        b"function" => prompt.tools.push(tool),
        b"custom" => {
            notes.changed("tools.custom");
            prompt.tools.push(freeform::tool(tool, grammar.as_ref()));
        }
        // OpenAI runs it.
        kind => notes.dropped_named("tools.", kind),
    }
    Ok(())
}

fn tool_choice<'a>(prompt: &mut Prompt<'a>, notes: &mut Notes, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let (mut kind, mut tool) = (&b""[..], None);
    if cursor.kind()? == Kind::String {
        kind = name(cursor)?;
    } else {
        cursor.object(|cursor, key| {
            match key.name() {
                b"type" => kind = name(cursor)?,
                b"name" => tool = text(cursor)?,
                b"mode" => {
                    kind = name(cursor)?;
                    notes.changed("tool_choice");
                }
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
    }
    prompt.tool_choice = match (kind, tool) {
        (b"none", _) => ToolChoice::None,
        (b"required", _) => ToolChoice::Any,
        (b"function" | b"custom", Some(tool)) => ToolChoice::Tool(tool),
        (b"" | b"auto" | b"allowed_tools", _) => ToolChoice::Auto,
        _ => {
            notes.dropped("tool_choice");
            ToolChoice::Auto
        }
    };
    Ok(())
}

fn format<'a>(prompt: &mut Prompt<'a>, cursor: &mut Cursor<'a>) -> Outcome<()> {
    let (mut kind, mut title, mut schema, mut strict) = (&b""[..], None, None, false);
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => kind = name(cursor)?,
            b"name" => title = text(cursor)?,
            b"schema" => schema = raw(cursor)?,
            b"strict" => strict = cursor.is_true()?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    prompt.output = match (kind, schema) {
        (b"json_schema", Some(schema)) => Output::Schema { name: title, schema, strict },
        (b"json_object", _) => Output::Json,
        _ => Output::Text,
    };
    Ok(())
}
