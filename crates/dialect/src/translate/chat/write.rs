//! Writing a request.

use super::answer::write_words;
use super::model::Model;
use super::{schema, write_call};
use crate::translate::canon::{
    Effort, Media, Output, Part, Prompt, Raw, Role, Str, Thinking, ToolChoice, ToolResult, Turn,
};
use crate::translate::out::{self, Array, Object};
use crate::translate::repair;
use crate::translate::{Notes, Target};

/// More sequences than this are rejected.
const STOP_MAX: usize = 4;

/// A longer name of a user is rejected.
const USER_BYTES_MAX: usize = 64;

/// What parts of a prompt are joined with, escaped: many servers take nothing but strings.
const BETWEEN: &str = r"\n\n";

const JSON_DEMAND: &str = "Answer with one JSON object.";

pub(in crate::translate) fn write_request(prompt: &Prompt<'_>, target: Target<'_>, notes: &mut Notes) -> String {
    let model = Model::of(target.model);
    out::made(|request| {
        request.text("model", &Str::escape(target.model));
        request.array("messages", |messages| {
            write_system(messages, prompt, notes);
            for turn in &prompt.turns {
                match turn.role {
                    Role::User => write_user(messages, turn, model, notes),
                    Role::Assistant => write_assistant(messages, turn),
                }
            }
        });
        write_limit(request, prompt, model, notes);
        write_tools(request, prompt, model, notes);
        write_output(request, prompt, notes);
        write_thinking(request, prompt, target, model, notes);
        write_sampling(request, prompt, model, notes);
        if prompt.stream {
            request.value("stream", true);
            // Mistral counts unasked.
            if !model.is_mistral() {
                request.object("stream_options", |options| options.value("include_usage", true));
            }
        }
        write_user_name(request, prompt, model, notes);
    })
}

/// One message at the top: many models are shown no second one.
fn write_system(messages: &mut Array<'_>, prompt: &Prompt<'_>, notes: &mut Notes) {
    // OpenAI rejects JSON mode where nobody says the word.
    let demand = (prompt.output == Output::Json && !says_json(prompt)).then_some(JSON_DEMAND);
    if demand.is_some() {
        notes.changed("response_format");
    }
    let pieces = prompt.system.iter().map(Str::raw).chain(demand);
    let pieces: Vec<&str> = pieces.filter(|text| !text.is_empty()).collect();
    if !pieces.is_empty() {
        messages.object(|message| {
            message.word("role", "system");
            message.pieces("content", joined(&pieces));
        });
    }
}

fn says_json(prompt: &Prompt<'_>) -> bool {
    let says = |text: &Str<'_>| text.raw().as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"json"));
    let parts = prompt.turns.iter().flat_map(|turn| &turn.parts);
    prompt.system.iter().any(says) || parts.into_iter().any(|part| matches!(part, Part::Text(text) if says(text)))
}

fn joined<'p>(pieces: &[&'p str]) -> impl Iterator<Item = &'p str> {
    pieces.iter().enumerate().flat_map(|(number, piece)| [if number > 0 { BETWEEN } else { "" }, *piece])
}

/// Results come first, each as a message of its own; what they hold beside text follows as the user's.
fn write_user(messages: &mut Array<'_>, turn: &Turn<'_>, model: Model, notes: &mut Notes) {
    let mut said: Vec<&Part<'_>> = Vec::new();
    let mut any_result = false;
    for part in &turn.parts {
        if let Part::ToolResult(result) = part {
            any_result = true;
            write_result(messages, result, notes);
            said.extend(result.parts.iter().filter(|part| matches!(part, Part::Image(_) | Part::File { .. })));
        }
    }
    said.extend(turn.parts.iter().filter(|part| !matches!(part, Part::ToolResult(_)) && !is_empty(part)));
    if said.is_empty() {
        return;
    }
    if any_result && model.is_mistral() {
        // Here the model always speaks after its tools.
        notes.changed("messages");
        messages.object(|message| {
            message.word("role", "assistant");
            message.word("content", "I have the results.");
        });
    }
    messages.object(|message| {
        message.word("role", "user");
        let texts: Option<Vec<&str>> = said.iter().map(|part| text_of(part)).collect();
        match texts {
            Some(texts) => message.pieces("content", joined(&texts)),
            None => message.array("content", |content| {
                for part in said {
                    write_part(content, part, notes);
                }
            }),
        }
    });
}

fn text_of<'p>(part: &'p Part<'_>) -> Option<&'p str> {
    match part {
        Part::Text(text) | Part::Refusal(text) => Some(text.raw()),
        _ => None,
    }
}

fn is_empty(part: &Part<'_>) -> bool {
    matches!(part, Part::Thinking(_)) || text_of(part).is_some_and(str::is_empty)
}

fn write_result(messages: &mut Array<'_>, result: &ToolResult<'_>, notes: &mut Notes) {
    let mut texts: Vec<&str> = result.parts.iter().filter_map(text_of).collect();
    repair::note_shown(result, notes);
    if texts.is_empty() && !result.parts.is_empty() {
        texts.push("It follows in the next message.");
    }
    let mut prefix = "";
    if result.is_error {
        // There is no field for it: the words must tell.
        notes.changed("tool_result.is_error");
        let says_so =
            texts.first().and_then(|text| text.get(..5)).is_some_and(|text| text.eq_ignore_ascii_case("error"));
        prefix = if says_so { "" } else { "Error: " };
    }
    messages.object(|message| {
        message.word("role", "tool");
        message.text("tool_call_id", &result.id);
        message.pieces("content", std::iter::once(prefix).chain(joined(&texts)));
    });
}

fn write_part(content: &mut Array<'_>, part: &Part<'_>, notes: &mut Notes) {
    match part {
        Part::Text(text) | Part::Refusal(text) => content.object(|out| {
            out.word("type", "text");
            out.text("text", text);
        }),
        Part::Image(media) => content.object(|out| {
            out.word("type", "image_url");
            out.object("image_url", |image| match media {
                Media::Inline { mime, data } => image.pieces("url", data_url(mime, data)),
                Media::Address { url, .. } => image.text("url", url),
            });
        }),
        Part::File { name, media: Media::Inline { mime, data } } => content.object(|out| {
            out.word("type", "file");
            out.object("file", |file| {
                file.text("filename", name.as_ref().unwrap_or(&Str::plain("document.pdf")));
                file.pieces("file_data", data_url(mime, data));
            });
        }),
        Part::File { media: Media::Address { .. }, .. } => {
            notes.refuse("document", "chat completions take no document by its address");
        }
        Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) => {}
    }
}

fn data_url<'p>(mime: &'p Str<'_>, data: &'p Str<'_>) -> [&'p str; 4] {
    ["data:", mime.raw(), ";base64,", data.raw()]
}

fn write_assistant(messages: &mut Array<'_>, turn: &Turn<'_>) {
    let (mut texts, mut refusals, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for part in &turn.parts {
        match part {
            Part::Text(text) if !text.is_empty() => texts.push(text.raw()),
            Part::Refusal(text) if !text.is_empty() => refusals.push(text.raw()),
            Part::ToolCall(call) => calls.push(call),
            _ => {}
        }
    }
    if texts.is_empty() && refusals.is_empty() && calls.is_empty() {
        return;
    }
    messages.object(|message| {
        message.word("role", "assistant");
        write_words(message, "content", texts);
        if !refusals.is_empty() {
            message.pieces("refusal", refusals);
        }
        if !calls.is_empty() {
            message.array("tool_calls", |out| {
                for call in calls {
                    out.object(|out| write_call(out, call));
                }
            });
        }
    });
}

fn write_limit(request: &mut Object<'_>, prompt: &Prompt<'_>, model: Model, notes: &mut Notes) {
    let Some(wanted) = prompt.tokens_max else { return };
    let tokens_max = wanted.min(model.tokens_max.unwrap_or(u64::MAX));
    if tokens_max < wanted {
        notes.changed("max_tokens");
    }
    let name = if model.is_openai_thinker() { "max_completion_tokens" } else { "max_tokens" };
    request.value(name, tokens_max);
}

fn write_tools(request: &mut Object<'_>, prompt: &Prompt<'_>, model: Model, notes: &mut Notes) {
    if prompt.tools.is_empty() {
        return;
    }
    request.array("tools", |tools| {
        for tool in &prompt.tools {
            let strict = tool.strict == Some(true) && tool.parameters.as_ref().is_none_or(schema::fits_strictly);
            if tool.strict == Some(true) && !strict {
                notes.changed("tools.strict");
            }
            tools.object(|out| {
                out.word("type", "function");
                out.object("function", |function| {
                    function.text("name", &tool.name);
                    function.text_if("description", tool.description.as_ref());
                    function.value("parameters", schema::parameters(tool.parameters.as_ref()));
                    if strict {
                        function.value("strict", true);
                    }
                });
            });
        }
    });
    match &prompt.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => request.word("tool_choice", "none"),
        ToolChoice::Any => request.word("tool_choice", "required"),
        ToolChoice::Tool(name) => request.object("tool_choice", |choice| {
            choice.word("type", "function");
            choice.object("function", |function| function.text("name", name));
        }),
    }
    match prompt.parallel_tools {
        Some(parallel) if model.takes_parallel_tools() => request.value("parallel_tool_calls", parallel),
        Some(false) => notes.dropped("parallel_tool_calls"),
        _ => {}
    }
}

fn write_output(request: &mut Object<'_>, prompt: &Prompt<'_>, notes: &mut Notes) {
    match &prompt.output {
        Output::Text => {}
        Output::Json => request.object("response_format", |format| format.word("type", "json_object")),
        Output::Schema { name, schema, strict } => {
            let fits = *strict && schema::fits_strictly(schema);
            if *strict && !fits {
                notes.changed("response_format.strict");
            }
            request.object("response_format", |format| {
                format.word("type", "json_schema");
                format.object("json_schema", |out| {
                    out.text("name", name.as_ref().unwrap_or(&Str::plain("answer")));
                    out.raw("schema", schema);
                    out.value("strict", fits);
                });
            });
        }
    }
}

fn write_thinking(request: &mut Object<'_>, prompt: &Prompt<'_>, target: Target<'_>, model: Model, notes: &mut Notes) {
    let (effort, as_wanted) = match prompt.thinking {
        // It does not think as it is.
        Some(Thinking::Off) if !target.thinks => (None, true),
        Some(_) if !target.thinks => (None, false),
        wanted => model.effort(wanted, !prompt.tools.is_empty()),
    };
    if !as_wanted {
        notes.dropped("thinking");
    } else if effort.is_some_and(|name| Effort::named(name.as_bytes()) != prompt.thinking.and_then(Thinking::effort)) {
        notes.changed("thinking");
    }
    if let Some(effort) = effort {
        request.word("reasoning_effort", effort);
    }
}

fn write_sampling(request: &mut Object<'_>, prompt: &Prompt<'_>, model: Model, notes: &mut Notes) {
    if prompt.top_k.is_some() {
        notes.dropped("top_k");
    }
    let seed = if model.is_mistral() { "random_seed" } else { "seed" };
    request.raw_if(seed, prompt.seed.as_ref());
    let temperature = prompt.temperature.map(|temperature| temperature.clamp(0.0, 2.0));
    let fields: [(&'static str, Option<&Raw<'_>>); 3] = [
        ("top_p", prompt.top_p.as_ref()),
        ("frequency_penalty", prompt.frequency_penalty.as_ref()),
        ("presence_penalty", prompt.presence_penalty.as_ref()),
    ];
    if model.is_openai_thinker() {
        // They decide this themselves, and reject what says otherwise.
        if temperature.is_some_and(|temperature| temperature != 1.0) {
            notes.dropped("temperature");
        }
        for (name, value) in fields {
            if value.is_some() {
                notes.dropped(name);
            }
        }
        if !prompt.stop.is_empty() {
            notes.dropped("stop");
        }
        return;
    }
    if let Some(temperature) = temperature {
        request.value("temperature", temperature);
    }
    for (name, value) in fields {
        request.raw_if(name, value);
    }
    if prompt.stop.len() > STOP_MAX {
        notes.changed("stop");
    }
    if !prompt.stop.is_empty() {
        request.array("stop", |stop| prompt.stop.iter().take(STOP_MAX).for_each(|sequence| stop.text(sequence)));
    }
}

fn write_user_name(request: &mut Object<'_>, prompt: &Prompt<'_>, model: Model, notes: &mut Notes) {
    let Some(user) = &prompt.user else { return };
    if model.is_mistral() {
        notes.dropped("user");
        return;
    }
    let plain = user.decode();
    if plain.len() > USER_BYTES_MAX {
        // The same user is still the same one.
        notes.changed("user");
        request.word("user", &format!("{:016x}", repair::hash(&plain)));
    } else {
        request.text("user", user);
    }
}
