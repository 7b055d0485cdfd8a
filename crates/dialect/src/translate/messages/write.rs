//! Writing a request.

use super::schema;
use crate::translate::canon::{
    Effort, Media, Output, Part, Prompt, Role, Str, Thinking, ToolCall, ToolChoice, ToolResult, Turn,
};
use crate::translate::json_tool::JsonTool;
use crate::translate::out::{self, Array, Object};
use crate::translate::{Notes, Target, repair};

/// Anthropic wants a limit; clients of other vendors rarely give one. Enough for any one answer of an agent.
const TOKENS_MAX: u64 = 16_384;
/// What the third generation could write.
const TOKENS_MAX_OLD: u64 = 4096;

/// The smallest budget for thinking.
const THINKING_TOKENS_MIN: u64 = 1024;

const NO_SCHEMA: &str = r#"{"type":"object","properties":{}}"#;

pub(in crate::translate) fn write_request(prompt: &Prompt<'_>, target: Target<'_>, notes: &mut Notes) -> String {
    let generation = Generation::of(target.model);
    let thinking = thinking(prompt, target, notes);
    let thinks = thinking.is_some_and(|thinking| thinking != Thinking::Off);
    out::made(|request| {
        request.text("model", &Str::escape(target.model));
        let tokens_max = tokens_max(prompt, thinking, generation);
        if prompt.tokens_max.is_some_and(|wanted| wanted != tokens_max) {
            notes.changed("max_tokens");
        }
        request.value("max_tokens", tokens_max);
        if prompt.stream {
            request.value("stream", true);
        }
        write_system(request, prompt, notes);
        request.array("messages", |messages| {
            for turn in turns(prompt, notes) {
                write_turn(messages, &turn);
            }
        });
        write_tools(request, prompt, thinks, notes);
        write_thinking(request, prompt, thinking, generation);
        write_sampling(request, prompt, thinks, notes);
        if !prompt.stop.is_empty() {
            request.array("stop_sequences", |stop| {
                for sequence in &prompt.stop {
                    stop.text(sequence);
                }
            });
        }
        if let Some(user) = &prompt.user {
            request.object("metadata", |metadata| metadata.text("user_id", user));
        }
    })
}

/// The part of a model's name that says what it understands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Generation(u32, u32);

impl Generation {
    /// Claude 4.5 keeps to a schema by itself.
    const KEEPS_SCHEMA: Self = Self(4, 5);
    /// From 4.6 on a model decides itself how much it thinks.
    const ADAPTS: Self = Self(4, 6);

    /// `claude-sonnet-4-5-20250929`, `claude-3-5-haiku-latest`, `anthropic/claude-opus-4.6`; the newest where there is none.
    fn of(model: &str) -> Self {
        let mut numbers =
            model.split(['-', '.', '@', ':', '/']).filter(|word| word.len() < 3).filter_map(|word| word.parse().ok());
        match numbers.next() {
            Some(major) => Self(major, numbers.next().unwrap_or(0)),
            None => Self(u32::MAX, 0),
        }
    }
}

/// Makes the demand for JSON one that this model keeps to. What Anthropic has a grammar for is strict afterwards;
/// what it has none for becomes a tool, or is asked for in words.
pub(in crate::translate) fn fit_output(
    prompt: &mut Prompt<'_>,
    target: Target<'_>,
    notes: &mut Notes,
) -> Option<JsonTool> {
    let Output::Schema { schema, strict, .. } = &mut prompt.output else { return None };
    *strict = false;
    if Generation::of(target.model) >= Generation::KEEPS_SCHEMA
        && let Some(fitting) = schema::fit(schema)
    {
        (*schema, *strict) = (fitting.schema, true);
        if fitting.loosened {
            notes.changed("response_format");
        }
        return None;
    }
    let thinks = target.thinks && prompt.thinking.is_some_and(|thinking| thinking != Thinking::Off);
    let tool = JsonTool::put(prompt, thinks);
    if tool.is_some() {
        notes.changed("response_format");
    }
    tool
}

fn tokens_max(prompt: &Prompt<'_>, thinking: Option<Thinking>, generation: Generation) -> u64 {
    let most = if generation < Generation(3, 7) { TOKENS_MAX_OLD } else { TOKENS_MAX };
    let answer = prompt.tokens_max.unwrap_or(most).max(1);
    // The limit of others is for the answer alone; here it must hold the thinking too.
    match thinking {
        Some(Thinking::Off) | None => answer,
        Some(thinking) => answer.max(thinking.tokens().max(THINKING_TOKENS_MIN) + answer.min(TOKENS_MAX)),
    }
}

/// How much it is to think, if it may.
fn thinking(prompt: &Prompt<'_>, target: Target<'_>, notes: &mut Notes) -> Option<Thinking> {
    let thinking = prompt.thinking?;
    if thinking == Thinking::Off {
        return Some(thinking);
    }
    // In the middle of a turn with tools Anthropic wants to see its own sealed thinking, which others do not have.
    let in_turn =
        prompt.turns.last().is_some_and(|turn| turn.parts.iter().any(|part| matches!(part, Part::ToolResult(_))));
    if !target.thinks || in_turn {
        notes.dropped("thinking");
        return None;
    }
    if thinking.tokens() < THINKING_TOKENS_MIN {
        notes.changed("thinking");
    }
    Some(thinking)
}

fn write_thinking(request: &mut Object<'_>, prompt: &Prompt<'_>, thinking: Option<Thinking>, generation: Generation) {
    let format = match &prompt.output {
        Output::Schema { schema, strict: true, .. } => Some(schema),
        _ => None,
    };
    let mut effort = None;
    match thinking {
        None => {}
        Some(Thinking::Off) => request.object("thinking", |thinking| thinking.word("type", "disabled")),
        Some(how) if generation >= Generation::ADAPTS => {
            request.object("thinking", |thinking| thinking.word("type", "adaptive"));
            effort = how.effort().filter(|_| how != Thinking::Adaptive);
        }
        Some(how) => request.object("thinking", |thinking| {
            thinking.word("type", "enabled");
            thinking.value("budget_tokens", how.tokens().max(THINKING_TOKENS_MIN));
        }),
    }
    if effort.is_none() && format.is_none() {
        return;
    }
    request.object("output_config", |config| {
        if let Some(effort) = effort {
            config.word("effort", effort.max(Effort::Low).name());
        }
        if let Some(schema) = format {
            config.object("format", |format| {
                format.word("type", "json_schema");
                format.raw("schema", schema);
            });
        }
    });
}

fn write_system(request: &mut Object<'_>, prompt: &Prompt<'_>, notes: &mut Notes) {
    let demand = json_demand(prompt);
    if demand.is_some() {
        notes.changed("response_format");
    }
    let pieces: Vec<&Str<'_>> = prompt.system.iter().chain(&demand).filter(|text| !text.is_empty()).collect();
    if pieces.is_empty() {
        return;
    }
    request.array("system", |system| {
        for text in pieces {
            system.object(|block| write_text(block, text));
        }
    });
}

/// JSON that nothing makes the model keep to is asked for.
fn json_demand(prompt: &Prompt<'_>) -> Option<Str<'static>> {
    match &prompt.output {
        Output::Schema { strict: true, .. } => None,
        output => repair::json_demand(output),
    }
}

/// The turns as Anthropic accepts them: the user speaks first, and nothing is empty.
fn turns<'p, 'a>(prompt: &'p Prompt<'a>, notes: &mut Notes) -> Vec<Turn<'a>>
where
    'p: 'a,
{
    let mut turns: Vec<Turn<'a>> = Vec::with_capacity(prompt.turns.len() + 1);
    for turn in &prompt.turns {
        let parts: Vec<Part<'a>> = turn.parts.iter().filter(|part| !is_empty(part)).cloned().collect();
        match turns.last_mut() {
            _ if parts.is_empty() => {}
            Some(before) if before.role == turn.role => before.parts.extend(parts),
            _ => turns.push(Turn { role: turn.role, parts }),
        }
    }
    if turns.first().is_none_or(|turn| turn.role == Role::Assistant) {
        notes.changed("messages");
        turns.insert(0, Turn { role: Role::User, parts: vec![Part::Text(Str::plain("Go on."))] });
    }
    for turn in &mut turns {
        // Results come before whatever else the user says.
        turn.parts.sort_by_key(|part| !matches!(part, Part::ToolResult(_)));
    }
    turns
}

fn is_empty(part: &Part<'_>) -> bool {
    match part {
        Part::Text(text) | Part::Refusal(text) => text.decode().trim().is_empty(),
        Part::Thinking(_) => true,
        Part::Image(_) | Part::File { .. } | Part::ToolCall(_) | Part::ToolResult(_) => false,
    }
}

fn write_turn(messages: &mut Array<'_>, turn: &Turn<'_>) {
    messages.object(|message| {
        message.word("role", if turn.role == Role::User { "user" } else { "assistant" });
        message.array("content", |content| write_parts(content, &turn.parts));
    });
}

fn write_parts(content: &mut Array<'_>, parts: &[Part<'_>]) {
    for part in parts {
        match part {
            Part::Text(text) | Part::Refusal(text) => content.object(|block| write_text(block, text)),
            Part::Image(media) => content.object(|block| {
                block.word("type", "image");
                write_source(block, media);
            }),
            Part::File { name, media } => content.object(|block| {
                block.word("type", "document");
                block.text_if("title", name.as_ref());
                write_document(block, media);
            }),
            Part::ToolCall(call) => content.object(|block| write_call(block, call)),
            Part::ToolResult(result) => content.object(|block| write_result(block, result)),
            Part::Thinking(_) => {}
        }
    }
}

fn write_text(block: &mut Object<'_>, text: &Str<'_>) {
    block.word("type", "text");
    block.text("text", text);
}

/// In base64 it takes PDFs only; a text is said as it is.
fn write_document(block: &mut Object<'_>, media: &Media<'_>) {
    let is_pdf = matches!(media, Media::Inline { mime, .. } if mime.decode() == "application/pdf");
    match (!is_pdf).then(|| media.text()).flatten() {
        Some(text) => block.object("source", |source| {
            source.word("type", "text");
            source.word("media_type", "text/plain");
            source.text("data", &Str::escape(&text));
        }),
        None => write_source(block, media),
    }
}

fn write_source(block: &mut Object<'_>, media: &Media<'_>) {
    block.object("source", |source| match media {
        Media::Inline { mime, data } => {
            source.word("type", "base64");
            source.text("media_type", mime);
            source.text("data", data);
        }
        Media::Address { url, .. } => {
            source.word("type", "url");
            source.text("url", url);
        }
    });
}

pub(super) fn write_call(block: &mut Object<'_>, call: &ToolCall<'_>) {
    block.word("type", "tool_use");
    block.text("id", &call.id);
    block.text("name", &call.name);
    block.raw("input", &call.arguments);
}

fn write_result(block: &mut Object<'_>, result: &ToolResult<'_>) {
    block.word("type", "tool_result");
    block.text("tool_use_id", &result.id);
    let parts: Vec<Part<'_>> = result.parts.iter().filter(|part| !is_empty(part)).cloned().collect();
    if !parts.is_empty() {
        block.array("content", |content| write_parts(content, &parts));
    }
    if result.is_error {
        block.value("is_error", true);
    }
}

fn write_tools(request: &mut Object<'_>, prompt: &Prompt<'_>, thinks: bool, notes: &mut Notes) {
    if prompt.tools.is_empty() {
        return;
    }
    if prompt.tools.iter().any(|tool| tool.strict == Some(true)) {
        notes.dropped("tools.strict");
    }
    request.array("tools", |tools| {
        for tool in &prompt.tools {
            tools.object(|out| {
                out.text("name", &tool.name);
                out.text_if("description", tool.description.as_ref());
                match &tool.parameters {
                    Some(schema) => out.raw("input_schema", schema),
                    None => out.raw("input_schema", &crate::translate::canon::Raw::new(NO_SCHEMA)),
                }
            });
        }
    });
    let forced = matches!(prompt.tool_choice, ToolChoice::Any | ToolChoice::Tool(_));
    if forced && thinks {
        // A model that thinks may not be forced.
        notes.dropped("tool_choice");
    }
    let serial = prompt.parallel_tools == Some(false);
    let choice = if forced && thinks { &ToolChoice::Auto } else { &prompt.tool_choice };
    if *choice == ToolChoice::Auto && !serial {
        return;
    }
    request.object("tool_choice", |out| {
        match choice {
            ToolChoice::Auto => out.word("type", "auto"),
            ToolChoice::None => out.word("type", "none"),
            ToolChoice::Any => out.word("type", "any"),
            ToolChoice::Tool(name) => {
                out.word("type", "tool");
                out.text("name", name);
            }
        }
        if serial && *choice != ToolChoice::None {
            out.value("disable_parallel_tool_use", true);
        }
    });
}

fn write_sampling(request: &mut Object<'_>, prompt: &Prompt<'_>, thinks: bool, notes: &mut Notes) {
    let temperature = prompt.temperature.map(|temperature| temperature.clamp(0.0, 1.0));
    if temperature != prompt.temperature {
        notes.changed("temperature");
    }
    match temperature {
        // A model that thinks decides this itself.
        Some(temperature) if thinks && temperature < 1.0 => notes.dropped("temperature"),
        Some(temperature) if !thinks => request.value("temperature", temperature),
        _ => {}
    }
    match &prompt.top_p {
        // Newer models take one of the two.
        Some(_) if thinks || temperature.is_some() => notes.dropped("top_p"),
        top_p => request.raw_if("top_p", top_p.as_ref()),
    }
    let top_k = prompt.top_k.as_ref();
    if thinks && top_k.is_some() {
        notes.dropped("top_k");
    } else {
        request.raw_if("top_k", top_k);
    }
    for (name, value) in [
        ("seed", &prompt.seed),
        ("frequency_penalty", &prompt.frequency_penalty),
        ("presence_penalty", &prompt.presence_penalty),
    ] {
        if value.is_some() {
            notes.dropped(name);
        }
    }
}
