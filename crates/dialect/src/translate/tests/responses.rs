//! The other half of the responses format, which only clients need: requests written and answers read.

use serde_json::{Map, Value, json};

use crate::translate::canon::{
    Answer, Media, Output, Part, Prompt, Raw, Role, Stop, Str, Thought, Tokens, ToolCall, ToolChoice,
};

pub(super) fn write_request(prompt: &Prompt<'_>) -> String {
    let mut body = json!({"model": "m", "input": input(prompt), "stream": prompt.stream});
    let fields = body.as_object_mut().unwrap();
    let system: Vec<_> = prompt.system.iter().map(Str::decode).collect();
    put(fields, "instructions", (!system.is_empty()).then(|| json!(system.join("\n\n"))));
    if !prompt.tools.is_empty() {
        fields.insert("tools".to_owned(), tools(prompt));
        put(fields, "parallel_tool_calls", prompt.parallel_tools.map(Value::from));
        let choice = match &prompt.tool_choice {
            ToolChoice::Auto => json!("auto"),
            ToolChoice::None => json!("none"),
            ToolChoice::Any => json!("required"),
            ToolChoice::Tool(name) => json!({"type": "function", "name": name.decode()}),
        };
        fields.insert("tool_choice".to_owned(), choice);
    }
    let format = match &prompt.output {
        Output::Text => None,
        Output::Json => Some(json!({"type": "json_object"})),
        Output::Schema { schema, strict, .. } => {
            Some(json!({"type": "json_schema", "name": "answer", "schema": value(schema), "strict": strict}))
        }
    };
    put(fields, "text", format.map(|format| json!({"format": format})));
    let effort = prompt.thinking.map(|thinking| thinking.effort().map_or("none", |effort| effort.name()));
    put(fields, "reasoning", effort.map(|effort| json!({"effort": effort})));
    put(fields, "max_output_tokens", prompt.tokens_max.map(Value::from));
    put(fields, "temperature", prompt.temperature.map(Value::from));
    put(fields, "top_p", prompt.top_p.as_ref().map(value));
    put(fields, "user", prompt.user.as_ref().map(|user| json!(user.decode())));
    body.to_string()
}

fn put(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    fields.extend(value.map(|value| (name.to_owned(), value)));
}

fn value(json: &Raw<'_>) -> Value {
    serde_json::from_str(json.json()).unwrap()
}

fn tools(prompt: &Prompt<'_>) -> Value {
    let tools = prompt.tools.iter().map(|tool| {
        let (description, parameters) = (tool.description.as_ref().map(Str::decode), tool.parameters.as_ref().map(value));
        json!({"type": "function", "name": tool.name.decode(), "description": description, "parameters": parameters, "strict": tool.strict})
    });
    tools.collect()
}

fn input(prompt: &Prompt<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    for turn in &prompt.turns {
        let role = if turn.role == Role::User { "user" } else { "assistant" };
        items.extend(turn.parts.iter().map(|part| match part {
            Part::ToolCall(call) => {
                json!({"type": "function_call", "call_id": call.id.decode(), "name": call.name.decode(), "arguments": call.arguments.json()})
            }
            Part::ToolResult(result) => {
                let output: Vec<Value> = result.parts.iter().map(|part| content(part, Role::User)).collect();
                json!({"type": "function_call_output", "call_id": result.id.decode(), "output": output})
            }
            part => json!({"type": "message", "role": role, "content": [content(part, turn.role)]}),
        }));
    }
    items
}

fn content(part: &Part<'_>, role: Role) -> Value {
    let url = |media: &Media<'_>| match media {
        Media::Inline { mime, data } => format!("data:{};base64,{}", mime.decode(), data.decode()),
        Media::Address { url, .. } => url.decode().into_owned(),
    };
    match part {
        Part::Text(text) if role == Role::User => json!({"type": "input_text", "text": text.decode()}),
        Part::Text(text) => json!({"type": "output_text", "text": text.decode()}),
        Part::Image(media) => json!({"type": "input_image", "image_url": url(media)}),
        Part::File { name, media } => {
            let field = if matches!(media, Media::Inline { .. }) { "file_data" } else { "file_url" };
            json!({"type": "input_file", "filename": name.as_ref().map(Str::decode), field: url(media)})
        }
        other => panic!("{other:?}"),
    }
}

pub(super) fn read_answer(body: &str) -> Answer<'static> {
    let body: Value = serde_json::from_str(body).unwrap();
    let text = |value: &Value| Str::escape(value.as_str().unwrap_or_default());
    let items = body["output"].as_array().unwrap().iter();
    let parts: Vec<Part<'static>> = items
        .map(|item| match item["type"].as_str().unwrap() {
            "message" if item["content"][0]["type"] == "refusal" => Part::Refusal(text(&item["content"][0]["refusal"])),
            "message" => Part::Text(text(&item["content"][0]["text"])),
            "reasoning" => Part::Thinking(Thought { text: text(&item["summary"][0]["text"]), seal: None }),
            "function_call" => {
                let arguments = Raw::made(item["arguments"].as_str().unwrap().to_owned());
                Part::ToolCall(ToolCall::new(text(&item["call_id"]), text(&item["name"]), arguments))
            }
            other => panic!("{other}"),
        })
        .collect();
    let stop = match body["incomplete_details"]["reason"].as_str() {
        Some("max_output_tokens") => Stop::TokensMax,
        Some("content_filter") => Stop::Filtered,
        _ if parts.iter().any(|part| matches!(part, Part::ToolCall(_))) => Stop::ToolCalls,
        _ => Stop::Done,
    };
    let usage = |pointer: &str| body["usage"].pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let tokens = Tokens {
        input: usage("/input_tokens"),
        cache_read: usage("/input_tokens_details/cached_tokens"),
        cache_written: 0,
        output: usage("/output_tokens"),
        thinking: usage("/output_tokens_details/reasoning_tokens"),
    };
    Answer { id: text(&body["id"]), model: text(&body["model"]), parts, stop, tokens }
}

/// The answer at the end of a stream, which must say what the pieces said.
pub(super) fn read_stream(stream: &str) -> Answer<'static> {
    let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
    let answer = read_answer(&events.last().unwrap()["response"].to_string());
    let is_words = |kind: &str| ["response.output_text.delta", "response.refusal.delta"].contains(&kind);
    let pieces: String = events
        .iter()
        .filter(|event| event["type"].as_str().is_some_and(is_words))
        .filter_map(|event| event["delta"].as_str())
        .collect();
    let said: String = answer
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) | Part::Refusal(text) => text.decode().into_owned(),
            _ => String::new(),
        })
        .collect();
    assert_eq!(pieces, said);
    answer
}
