//! What a prompt and an answer mean, whatever the pieces they come in: facts by name, for comparing.
//!
//! A fact is called as notes call what is lost of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::Format;
use crate::translate::Notes;
use crate::translate::canon::{
    Answer, Effort, Media, Output, Part, Prompt, Raw, Role, Stop, Str, Thinking, ToolCall, ToolChoice, ToolResult, Turn,
};

pub(super) type Facts = BTreeMap<&'static str, Value>;

/// Notes that speak of more than the fact of their name.
const ALSO: [(&str, &[&str]); 4] = [
    // Where nothing holds the model to JSON, it is asked for, or a tool takes it.
    ("response_format", &["system", "tools", "tools.strict", "tool_names", "tool_choice", "parallel_tool_calls"]),
    ("messages", &["turns"]),
    ("prefill", &["turns"]),
    ("tool_result.files", &["tool_result.images"]),
];

/// What notes say was not carried as it was.
pub(super) fn noted<'n>(notes: impl IntoIterator<Item = &'n Notes>) -> BTreeSet<String> {
    let told: Vec<String> = notes.into_iter().map(Notes::to_string).collect();
    let names = told.iter().flat_map(|notes| notes.split([' ', ';', ',', '=']));
    let mut noted: BTreeSet<String> = names.map(str::to_owned).collect();
    for (name, more) in ALSO {
        if noted.contains(name) {
            noted.extend(more.iter().map(|fact| (*fact).to_owned()));
        }
    }
    noted
}

/// The facts that changed and are not noted; each is meaning lost in silence.
pub(super) fn lost(before: &Facts, after: &Facts, noted: &BTreeSet<String>) -> Vec<String> {
    let changed = before.iter().filter_map(|(name, was)| {
        let is = after.get(name).unwrap_or(&Value::Null);
        (was != is && !noted.contains(*name)).then(|| format!("{name}: {was} became {is}"))
    });
    changed.collect()
}

pub(super) fn of_prompt(prompt: &Prompt<'_>) -> Facts {
    let mut known = Known::default();
    let turns: Vec<Value> = prompt.turns.iter().map(|turn| known.turn(turn)).collect();
    let has_tools = !prompt.tools.is_empty();
    let tools: Vec<Value> = prompt
        .tools
        .iter()
        .map(|tool| {
            let none = Raw::new(r#"{"type":"object","properties":{}}"#);
            let parameters = value(tool.parameters.as_ref().unwrap_or(&none));
            let description = tool.description.as_ref().map(Str::decode);
            json!({"name": known.tool(&tool.name), "description": description, "parameters": parameters})
        })
        .collect();
    let choice = match &prompt.tool_choice {
        ToolChoice::Tool(name) => json!(known.tool(name)),
        choice if has_tools => json!(format!("{choice:?}")),
        _ => json!("Auto"),
    };
    let output = match &prompt.output {
        Output::Text => Value::Null,
        Output::Json => json!("JSON"),
        // Its name is for people, and only OpenAI knows a schema that is not kept to.
        Output::Schema { schema, .. } => value(schema),
    };
    let strict: Vec<bool> = prompt.tools.iter().map(|tool| tool.strict == Some(true)).collect();
    let mut facts = Facts::from([
        ("system", json!(squeezed(prompt.system.iter()))),
        ("turns", json!(turns)),
        ("tools", json!(tools)),
        ("tools.strict", json!(strict)),
        ("tool_choice", choice),
        // To call several at once is what they do unasked.
        ("parallel_tool_calls", json!(!has_tools || choice_is_none(prompt) || prompt.parallel_tools != Some(false))),
        ("tool_ids", json!(known.calls)),
        ("tool_names", json!(known.tools)),
        ("tool_result.images", json!(known.shown)),
        ("tool_result.is_error", json!(known.errors)),
        ("file_name", json!(known.files)),
        ("response_format", output),
        ("thinking", json!(prompt.thinking.map(effort))),
        // One is what everybody does unasked.
        ("temperature", json!(prompt.temperature.filter(|temperature| *temperature != 1.0))),
        ("top_p", json!(prompt.top_p.as_ref().map(value))),
        ("top_k", json!(prompt.top_k.as_ref().map(value))),
        ("seed", json!(prompt.seed.as_ref().map(value))),
        ("frequency_penalty", json!(prompt.frequency_penalty.as_ref().map(value))),
        ("presence_penalty", json!(prompt.presence_penalty.as_ref().map(value))),
        ("stop", json!(prompt.stop.iter().map(Str::decode).collect::<Vec<_>>())),
        ("stream", json!(prompt.stream)),
        ("user", json!(prompt.user.as_ref().map(Str::decode))),
    ]);
    // Who gives no limit takes the vendor's.
    facts.extend(prompt.tokens_max.map(|tokens| ("max_tokens", json!(tokens))));
    facts
}

fn choice_is_none(prompt: &Prompt<'_>) -> bool {
    prompt.tool_choice == ToolChoice::None
}

/// Nobody counts alike: an effort is what all of them are near to.
fn effort(thinking: Thinking) -> Option<String> {
    thinking.effort().map(|effort| effort.min(Effort::High).name().to_owned())
}

fn value(json: &Raw<'_>) -> Value {
    serde_json::from_str(json.json()).unwrap_or_else(|error| panic!("{error}: {json:?}"))
}

/// Several texts are one; how many lines are between them is the format's business.
fn squeezed<'s>(texts: impl Iterator<Item = &'s Str<'s>>) -> String {
    let all: Vec<String> = texts.map(|text| text.decode().into_owned()).collect();
    let lines: Vec<&str> = all.iter().flat_map(|text| text.split('\n')).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// What has been met on the way through a prompt. Calls and tools are known by their number: ids and names are facts
/// of their own, which some formats cannot carry.
#[derive(Default)]
struct Known {
    calls: Vec<String>,
    tools: Vec<String>,
    files: Vec<String>,
    errors: Vec<usize>,
    /// Which results hold more than words.
    shown: Vec<usize>,
}

impl Known {
    fn tool(&mut self, name: &Str<'_>) -> usize {
        place(&mut self.tools, name)
    }

    /// Results and calls stand where each format wants them; what matters is what else is said, and in which order.
    fn turn(&mut self, turn: &Turn<'_>) -> Value {
        let (mut calls, mut results, mut shown, mut said) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for part in &turn.parts {
            match part {
                Part::ToolCall(call) => calls.push(self.call(call)),
                Part::ToolResult(result) => results.push(self.result(result, &mut shown)),
                part => self.say(part, turn.role, &mut said),
            }
        }
        shown.append(&mut said);
        json!({"user": turn.role == Role::User, "calls": calls, "results": results, "said": shown})
    }

    fn call(&mut self, call: &ToolCall<'_>) -> Value {
        json!({"call": place(&mut self.calls, &call.id), "tool": self.tool(&call.name), "arguments": value(&call.arguments)})
    }

    fn result(&mut self, result: &ToolResult<'_>, shown: &mut Vec<Value>) -> Value {
        let call = place(&mut self.calls, &result.id);
        self.errors.extend(result.is_error.then_some(call));
        let words = squeezed(result.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        }));
        for part in result.parts.iter().filter(|part| !matches!(part, Part::Text(_))) {
            self.shown.push(call);
            self.say(part, Role::User, shown);
        }
        // Where there is no field for it, the words tell.
        json!({"call": call, "words": words.strip_prefix("Error: ").unwrap_or(&words)})
    }

    fn say(&mut self, part: &Part<'_>, role: Role, said: &mut Vec<Value>) {
        let part = match part {
            Part::Text(text) | Part::Refusal(text) if role == Role::User => json!(squeezed([text].into_iter())),
            Part::Text(text) | Part::Refusal(text) => json!(text.decode()),
            Part::Image(media) => json!({"image": at(media)}),
            Part::File { name, media } => {
                self.files.push(name.as_ref().map_or("document.pdf".into(), Str::decode).into_owned());
                json!({"file": at(media)})
            }
            other => panic!("{other:?}"),
        };
        let between = if role == Role::User { "\n" } else { "" };
        match (part, said.last_mut()) {
            (Value::String(more), Some(Value::String(text))) => *text = format!("{text}{between}{more}"),
            (part, _) => said.push(part),
        }
    }
}

/// The number of a name, which is given when it is first met.
fn place(known: &mut Vec<String>, name: &Str<'_>) -> usize {
    let name = name.decode();
    known.iter().position(|met| *met == name).unwrap_or_else(|| {
        known.push(name.into_owned());
        known.len() - 1
    })
}

fn at(media: &Media<'_>) -> Value {
    match media {
        Media::Inline { mime, data } => json!({"mime": mime.decode(), "data": data.decode()}),
        Media::Address { url, .. } => json!(url.decode()),
    }
}

/// `between`: the formats that it came through, each of which counts other tokens apart.
pub(super) fn of_answer(answer: &Answer<'_>, between: [Format; 2]) -> Facts {
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &answer.parts {
        match part {
            Part::Text(words) | Part::Refusal(words) => text += &words.decode(),
            Part::Thinking(thought) => thinking += &thought.text.decode(),
            Part::ToolCall(call) => {
                calls.push(json!([call.id.decode(), call.name.decode(), value(&call.arguments)]));
            }
            other => panic!("{other:?}"),
        }
    }
    let stop = match answer.stop {
        // Only Anthropic tells this apart, and Gemini does not tell calls.
        Stop::Done | Stop::Sequence if calls.is_empty() => Stop::Done,
        Stop::Done | Stop::Sequence => Stop::ToolCalls,
        stop => stop,
    };
    let tokens = answer.tokens;
    let mut facts = Facts::from([
        ("model", json!(answer.model.decode())),
        ("text", json!(text)),
        ("thinking", json!(thinking)),
        ("calls", json!(calls)),
        ("stop", json!(format!("{stop:?}"))),
        ("tokens", json!([tokens.input, tokens.cache_read, tokens.output])),
    ]);
    if between.iter().all(|format| matches!(format, Format::Chat | Format::Messages)) {
        facts.insert("tokens.cache_written", json!(tokens.cache_written));
    }
    if !between.contains(&Format::Messages) {
        facts.insert("tokens.thinking", json!(tokens.thinking));
    }
    facts
}
