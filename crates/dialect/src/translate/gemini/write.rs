//! Writing a request. The model and whether the answer streams stand in its path.

use super::{NO_SEAL, mime_of, write_call};
use crate::translate::canon::{Effort, Media, Output, Part, Prompt, Raw, Role, Str, Thinking, ToolChoice, ToolResult};
use crate::translate::out::{self, Array, Object};
use crate::translate::{Notes, Target, repair};

/// Google takes no more.
const STOP_SEQUENCES_MAX: usize = 5;

pub(in crate::translate) fn write_request(prompt: &Prompt<'_>, target: Target<'_>, notes: &mut Notes) -> String {
    let generation = Generation::of(target.model);
    // Before its third generation a model with tools cannot be held to JSON: it is asked for.
    let asks_json = generation < Generation::THIRD && !prompt.tools.is_empty();
    if prompt.user.is_some() {
        notes.dropped("user");
    }
    out::made(|request| {
        write_system(request, prompt, asks_json, notes);
        request.array("contents", |contents| {
            for (role, parts) in turns(prompt, notes) {
                contents.object(|content| {
                    content.word("role", if role == Role::User { "user" } else { "model" });
                    content.array("parts", |out| Parts { out, prompt, generation, notes }.write(&parts));
                });
            }
        });
        write_tools(request, prompt, notes);
        let config = out::made(|config| {
            write_sampling(config, prompt, generation, notes);
            if !asks_json {
                write_output(config, &prompt.output);
            }
            write_thinking(config, prompt, target, generation, notes);
        });
        if config != "{}" {
            request.raw("generationConfig", &Raw::made(config));
        }
    })
}

/// The part of a model's name that says what it understands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Generation(u32, u32);

impl Generation {
    /// From here on models think, by a number of tokens.
    const THINKS: Self = Self(2, 5);
    /// From here on they think by levels, and want seals on their calls.
    const THIRD: Self = Self(3, 0);

    /// `gemini-2.5-flash-lite`, `models/gemini-3-pro-preview`, `google/gemini-3.1-pro`; the newest where there is none.
    fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let version = name.strip_prefix("gemini-").and_then(|rest| rest.split('-').next()).unwrap_or_default();
        let mut numbers = version.split('.').map(str::parse);
        match numbers.next() {
            Some(Ok(major)) => Self(major, numbers.next().and_then(Result::ok).unwrap_or(0)),
            _ => Self(u32::MAX, 0),
        }
    }
}

fn write_system(request: &mut Object<'_>, prompt: &Prompt<'_>, asks_json: bool, notes: &mut Notes) {
    let demand = repair::json_demand(&prompt.output).filter(|_| asks_json);
    if demand.is_some() {
        notes.changed("response_format");
    }
    let pieces: Vec<&Str<'_>> = prompt.system.iter().chain(&demand).filter(|text| !text.is_empty()).collect();
    if pieces.is_empty() {
        return;
    }
    request.object("systemInstruction", |system| {
        system.array("parts", |parts| {
            for text in pieces {
                parts.object(|part| part.text("text", text));
            }
        });
    });
}

/// The turns as Google accepts them: they alternate, the user speaks first, and nothing is empty.
fn turns<'p, 'a>(prompt: &'p Prompt<'a>, notes: &mut Notes) -> Vec<(Role, Vec<&'p Part<'a>>)> {
    const GO_ON: &Part<'static> = &Part::Text(Str::plain("Go on."));
    let mut turns: Vec<(Role, Vec<&'p Part<'a>>)> = Vec::with_capacity(prompt.turns.len() + 1);
    for turn in &prompt.turns {
        let parts = turn.parts.iter().filter(|part| !is_empty(part));
        match turns.last_mut() {
            Some((role, before)) if *role == turn.role => before.extend(parts),
            _ => turns.push((turn.role, parts.collect())),
        }
        turns.pop_if(|(_, parts)| parts.is_empty());
    }
    if turns.first().is_none_or(|(role, _)| *role == Role::Assistant) {
        notes.changed("messages");
        turns.insert(0, (Role::User, vec![GO_ON]));
    }
    turns
}

fn is_empty(part: &Part<'_>) -> bool {
    match part {
        Part::Text(text) | Part::Refusal(text) => text.is_empty(),
        Part::Thinking(_) => true,
        Part::Image(_) | Part::File { .. } | Part::ToolCall(_) | Part::ToolResult(_) => false,
    }
}

/// The parts of a turn that is being written.
struct Parts<'w, 'o, 'p, 'a> {
    out: &'w mut Array<'o>,
    prompt: &'p Prompt<'a>,
    generation: Generation,
    notes: &'w mut Notes,
}

impl<'a> Parts<'_, '_, '_, 'a> {
    /// Results come before whatever else the user says, and what they show comes after all of them.
    fn write(&mut self, parts: &[&Part<'a>]) {
        let (results, others): (Vec<&Part<'a>>, Vec<&Part<'a>>) =
            parts.iter().partition(|part| matches!(part, Part::ToolResult(_)));
        let results = || {
            results.iter().filter_map(|part| match part {
                Part::ToolResult(result) => Some(result),
                _ => None,
            })
        };
        results().for_each(|result| self.result(result));
        let shown = results().flat_map(|result| &result.parts).filter(|part| !matches!(part, Part::Text(_)));
        shown.chain(others).for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part<'a>) {
        match part {
            Part::Text(text) | Part::Refusal(text) => self.out.object(|out| out.text("text", text)),
            Part::Image(media) => self.media(media),
            Part::File { name, media } => {
                // Only Vertex takes a name; the rest of Google rejects the field.
                if name.is_some() {
                    self.notes.dropped("file_name");
                }
                self.media(media);
            }
            Part::ToolCall(call) => self.out.object(|out| {
                write_call(out, call);
                if self.generation >= Generation::THIRD {
                    out.word("thoughtSignature", NO_SEAL);
                }
            }),
            // Written before, and left out.
            Part::ToolResult(_) | Part::Thinking(_) => {}
        }
    }

    fn media(&mut self, media: &Media<'a>) {
        self.out.object(|out| match media {
            Media::Inline { mime, data } => out.object("inlineData", |blob| {
                blob.text("mimeType", mime);
                blob.text("data", data);
            }),
            Media::Address { mime, url } => out.object("fileData", |file| {
                let guessed = mime_of(&url.decode()).map(Str::plain);
                file.text_if("mimeType", mime.as_ref().or(guessed.as_ref()));
                file.text("fileUri", url);
            }),
        });
    }

    fn result(&mut self, result: &ToolResult<'a>) {
        repair::note_shown(result, self.notes);
        let name = result.name.as_ref().or_else(|| self.prompt.tool_of(result));
        let mut words = Str::default();
        for part in &result.parts {
            if let Part::Text(text) = part {
                if !words.is_empty() {
                    words.push(&Str::plain("\\n"));
                }
                words.push(text);
            }
        }
        self.out.object(|out| {
            out.object("functionResponse", |response| {
                if !result.id.is_empty() {
                    response.text("id", &result.id);
                }
                response.text("name", name.unwrap_or(&Str::plain("unknown")));
                response.object("response", |out| out.text(if result.is_error { "error" } else { "output" }, &words));
            });
        });
    }
}

fn write_tools(request: &mut Object<'_>, prompt: &Prompt<'_>, notes: &mut Notes) {
    if prompt.tools.is_empty() {
        return;
    }
    if prompt.parallel_tools == Some(false) {
        notes.dropped("parallel_tool_calls");
    }
    request.array("tools", |tools| {
        tools.object(|tools| {
            tools.array("functionDeclarations", |tools| {
                for tool in &prompt.tools {
                    if tool.strict == Some(true) {
                        notes.dropped("tools.strict");
                    }
                    tools.object(|out| {
                        out.text("name", &tool.name);
                        out.text_if("description", tool.description.as_ref());
                        out.raw_if("parametersJsonSchema", tool.parameters.as_ref());
                    });
                }
            });
        });
    });
    let (mode, only) = match &prompt.tool_choice {
        ToolChoice::Auto => return,
        ToolChoice::None => ("NONE", None),
        ToolChoice::Any => ("ANY", None),
        ToolChoice::Tool(name) => ("ANY", Some(name)),
    };
    request.object("toolConfig", |config| {
        config.object("functionCallingConfig", |config| {
            config.word("mode", mode);
            if let Some(name) = only {
                config.array("allowedFunctionNames", |names| names.text(name));
            }
        });
    });
}

fn write_sampling(config: &mut Object<'_>, prompt: &Prompt<'_>, generation: Generation, notes: &mut Notes) {
    if let Some(tokens_max) = prompt.tokens_max {
        config.value("maxOutputTokens", tokens_max);
    }
    let temperature = prompt.temperature.map(|temperature| temperature.clamp(0.0, 2.0));
    if temperature != prompt.temperature {
        notes.changed("temperature");
    }
    if let Some(temperature) = temperature {
        config.value("temperature", temperature);
    }
    config.raw_if("topP", prompt.top_p.as_ref());
    config.raw_if("topK", prompt.top_k.as_ref());
    match &prompt.seed {
        // Others take larger ones.
        Some(seed) if seed.json().parse::<i32>().is_err() => notes.dropped("seed"),
        seed => config.raw_if("seed", seed.as_ref()),
    }
    for (theirs, ours, penalty) in [
        ("frequencyPenalty", "frequency_penalty", &prompt.frequency_penalty),
        ("presencePenalty", "presence_penalty", &prompt.presence_penalty),
    ] {
        match penalty {
            // "Penalty is not enabled for this model" (vercel/ai issue 8943).
            Some(_) if generation >= Generation::THINKS => notes.dropped(ours),
            penalty => config.raw_if(theirs, penalty.as_ref()),
        }
    }
    if prompt.stop.len() > STOP_SEQUENCES_MAX {
        notes.changed("stop");
    }
    if !prompt.stop.is_empty() {
        config.array("stopSequences", |stop| {
            prompt.stop.iter().take(STOP_SEQUENCES_MAX).for_each(|sequence| stop.text(sequence));
        });
    }
}

fn write_output(config: &mut Object<'_>, output: &Output<'_>) {
    let schema = match output {
        Output::Text => return,
        Output::Json => None,
        Output::Schema { schema, .. } => Some(schema),
    };
    config.word("responseMimeType", "application/json");
    config.raw_if("responseJsonSchema", schema);
}

fn write_thinking(
    config: &mut Object<'_>,
    prompt: &Prompt<'_>,
    target: Target<'_>,
    generation: Generation,
    notes: &mut Notes,
) {
    let Some(thinking) = prompt.thinking else { return };
    let off = thinking == Thinking::Off;
    if !target.thinks || generation < Generation::THINKS {
        if !off {
            notes.dropped("thinking");
        }
        return;
    }
    config.object("thinkingConfig", |out| {
        if generation < Generation::THIRD {
            out.value("thinkingBudget", budget(thinking, target.model, notes));
        } else if let Some(level) = level(thinking, target.model, generation, notes) {
            out.word("thinkingLevel", level.name());
        }
        if !off {
            out.value("includeThoughts", true);
        }
    });
}

/// The nearest level a model has; none leaves it to the model. Only the small models can do almost without
/// thinking, and the first large one knew no middle.
fn level(thinking: Thinking, model: &str, generation: Generation, notes: &mut Notes) -> Option<Effort> {
    let wanted = match thinking {
        Thinking::Adaptive => return None,
        Thinking::Off => Effort::Minimal,
        other => other.effort()?,
    };
    let small = model.contains("flash");
    let level = match wanted {
        Effort::Minimal if !small => Effort::Low,
        Effort::Medium if !small && generation == Generation::THIRD => Effort::High,
        other => other.min(Effort::High),
    };
    if thinking == Thinking::Off || level != wanted {
        notes.changed("thinking");
    }
    Some(level)
}

/// A number of tokens within a model's limits; -1 leaves it to the model. The large one always thinks.
fn budget(thinking: Thinking, model: &str, notes: &mut Notes) -> i64 {
    let (least, most) = match model {
        _ if model.contains("flash-lite") => (512, 24_576),
        _ if model.contains("flash") => (1, 24_576),
        _ => (128, 32_768),
    };
    match thinking {
        Thinking::Adaptive => -1,
        Thinking::Off if model.contains("flash") => 0,
        wanted => {
            let tokens = wanted.tokens().clamp(least, most);
            if tokens != wanted.tokens() {
                notes.changed("thinking");
            }
            i64::try_from(tokens).unwrap_or(-1)
        }
    }
}
