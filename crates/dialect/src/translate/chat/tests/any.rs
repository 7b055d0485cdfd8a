//! Any request, and any bytes.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::translate::canon::{Media, Output, Part, Prompt, Role, ToolChoice};
use crate::translate::chat::read_request;
use crate::translate::{Notes, Stamp, Target, request};
use crate::{Format, Frames, Framing};

const CHAT: Target<'static> = Target { format: Format::Chat, model: "gpt-4o", thinks: false };
const MESSAGES: Target<'static> = Target { format: Format::Messages, model: "claude-sonnet-4-5", thinks: false };

/// Words that say something, whatever is around them.
fn words() -> impl Strategy<Value = String> {
    "\\PC{0,8}[a-z][\\PC\n\"\\\\]{0,8}"
}

fn image() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[A-Za-z0-9+/]{4}".prop_map(|data| format!("data:image/png;base64,{data}")),
        "[a-z]{1,5}".prop_map(|path| format!("https://example.com/{path}.png")),
    ]
    .prop_map(|url| json!({"type": "image_url", "image_url": {"url": url}}))
}

fn user() -> impl Strategy<Value = Value> {
    let part = prop_oneof![words().prop_map(|text| json!({"type": "text", "text": text})), image()];
    let content = prop_oneof![words().prop_map(Value::from), prop::collection::vec(part, 1..4).prop_map(Value::from)];
    content.prop_map(|content| json!({"role": "user", "content": content}))
}

/// An answer, and the results of the tools it calls.
fn answer() -> impl Strategy<Value = (Option<String>, Vec<(String, String, String)>)> {
    let call = ("[a-z_-]{1,9}", words(), words());
    (prop::option::of(words()), prop::collection::vec(call, 0..3))
}

prop_compose! {
    fn conversation()(
        system in prop::collection::vec(words(), 0..3),
        turns in prop::collection::vec((prop::collection::vec(user(), 1..3), answer()), 1..4),
        last in user(),
    ) -> Vec<Value> {
        let mut messages: Vec<Value> = system.into_iter().map(|text| json!({"role": "system", "content": text})).collect();
        for (turn, (said, (text, calls))) in turns.into_iter().enumerate() {
            messages.extend(said);
            let id = |call: usize| format!("call_{turn}_{call}");
            let made: Vec<Value> = calls.iter().enumerate().map(|(call, (name, argument, _))| {
                let arguments = json!({"x": argument}).to_string();
                json!({"id": id(call), "type": "function", "function": {"name": name, "arguments": arguments}})
            }).collect();
            messages.push(json!({"role": "assistant", "content": text, "tool_calls": made}));
            messages.extend(calls.iter().enumerate().map(|(call, (_, _, result))| {
                json!({"role": "tool", "tool_call_id": id(call), "content": result})
            }));
        }
        messages.push(last);
        messages
    }
}

prop_compose! {
    fn any_request()(
        messages in conversation(),
        tools in prop::collection::btree_set("[a-z]{1,9}", 0..3),
        choice in prop_oneof![Just(json!("auto")), Just(json!("none")), Just(json!("required"))],
        serial in any::<bool>(),
        tokens_max in 1..10_000_u64,
        tenths in prop::option::of(0..=10_u8),
        stop in prop::collection::vec(words(), 0..4),
        schema in any::<bool>(),
        stream in any::<bool>(),
        user in prop::option::of(words()),
    ) -> Value {
        let mut body = json!({"model": "m", "messages": messages, "max_tokens": tokens_max, "stop": stop, "stream": stream});
        if !tools.is_empty() {
            let parameters = json!({"type": "object", "properties": {"x": {"type": "string"}}});
            body["tools"] = tools.iter().map(|name| {
                json!({"type": "function", "function": {"name": name, "description": "does", "parameters": parameters}})
            }).collect();
            if serial && choice != "none" {
                body["parallel_tool_calls"] = json!(false);
            }
            body["tool_choice"] = choice;
        }
        if let Some(tenths) = tenths {
            body["temperature"] = json!(f64::from(tenths) / 10.0);
        }
        if schema {
            let schema = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
            body["response_format"] = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}});
        }
        if let Some(user) = user {
            body["user"] = user.into();
        }
        body
    }
}

/// What a prompt means, whatever the pieces it comes in.
fn meaning(prompt: &Prompt<'_>) -> Value {
    let system: Vec<_> = prompt.system.iter().map(|text| text.decode().into_owned()).collect();
    let mut turns: Vec<Value> = Vec::new();
    for turn in &prompt.turns {
        let between = if turn.role == Role::User { "\n\n" } else { "" };
        let mut parts: Vec<Value> = Vec::new();
        for part in &turn.parts {
            match (told(part), parts.last_mut()) {
                (Value::String(more), Some(Value::String(text))) => *text = format!("{text}{between}{more}"),
                (part, _) => parts.push(part),
            }
        }
        turns.push(json!({"user": turn.role == Role::User, "parts": parts}));
    }
    let tools: Vec<_> = prompt.tools.iter().map(|tool| format!("{tool:?}")).collect();
    json!({
        "system": system.join("\n\n"),
        "turns": turns,
        "tools": tools,
        "choice": if prompt.tools.is_empty() { format!("{:?}", ToolChoice::Auto) } else { format!("{:?}", prompt.tool_choice) },
        "parallel": prompt.parallel_tools,
        "schema": matches!(prompt.output, Output::Schema { strict: true, .. }),
        "tokens_max": prompt.tokens_max,
        "temperature": prompt.temperature,
        "stop": prompt.stop.iter().map(|text| text.decode().into_owned()).collect::<Vec<_>>(),
        "stream": prompt.stream,
        "user": prompt.user.as_ref().map(|user| user.decode().into_owned()),
    })
}

fn told(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => text.decode().into_owned().into(),
        Part::Image(Media::Inline { mime, data }) => json!({"mime": mime.decode(), "data": data.decode()}),
        Part::Image(Media::Address { url, .. }) => json!({"url": url.decode()}),
        Part::ToolCall(call) => {
            let arguments: Value = serde_json::from_str(call.arguments.json()).unwrap();
            json!({"id": call.id.decode(), "name": call.name.decode(), "arguments": arguments})
        }
        Part::ToolResult(result) => {
            json!({"id": result.id.decode(), "parts": result.parts.iter().map(told).collect::<Vec<_>>()})
        }
        other => panic!("{other:?}"),
    }
}

/// Feeds a stream; what it cannot read it must say.
fn feed(provider: Format, client: Format, body: &[u8]) {
    let prompt = json!({"messages": [], "stream_options": {"include_usage": true}}).to_string();
    let target = Target { format: provider, model: "m", thinks: true };
    let Ok(translation) = request(client, prompt.as_bytes(), false, target) else { return };
    let mut stream = translation.stream(Framing::Sse, Stamp::default());
    let mut frames = Frames::new(Framing::Sse);
    frames.feed(Bytes::copy_from_slice(body)).unwrap();
    while let Some(frame) = frames.next() {
        if stream.feed(&frame).is_err() {
            return;
        }
    }
    stream.finish();
    let _ = translation.answer(body, Stamp::default());
}

const REQUEST: &str = include_str!("../../../../fixtures/translate/requests/chat/agent.json");
const ANSWER: &str = include_str!("../../../../fixtures/translate/answers/chat/tools.json");
const STREAM: &str = include_str!("../../../../fixtures/chat/parallel_tools.sse");

/// A text with some bytes changed or left out.
fn spoiled(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\",:\\0n".as_slice())];
    let changes = prop::collection::vec((0..text.len(), prop::option::of(byte)), 1..6);
    changes.prop_map(move |changes| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.min(bytes.len() - 1);
            match byte {
                Some(byte) => bytes[at] = byte,
                None => {
                    bytes.remove(at);
                }
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn there_and_back_a_request_means_the_same(body in any_request()) {
        let stream = body["stream"] == true;
        let body = body.to_string();
        let there = request(Format::Chat, body.as_bytes(), stream, MESSAGES).unwrap();
        let back = request(Format::Messages, there.body.as_bytes(), stream, CHAT).unwrap();
        serde_json::from_str::<Value>(&back.body).unwrap();
        let before = read_request(body.as_bytes(), &mut Notes::default()).unwrap();
        let after = read_request(back.body.as_bytes(), &mut Notes::default()).unwrap();
        prop_assert_eq!(meaning(&before), meaning(&after));
    }

    #[test]
    fn no_bytes_break_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = request(Format::Chat, &bytes, false, MESSAGES);
        let event = [b"data: ", bytes.as_slice(), b"\n\n"].concat();
        feed(Format::Chat, Format::Messages, &event);
        feed(Format::Messages, Format::Chat, &event);
    }

    #[test]
    fn no_spoiled_text_breaks_a_reader(body in spoiled(REQUEST), answer in spoiled(ANSWER), stream in spoiled(STREAM)) {
        let _ = request(Format::Chat, &body, false, MESSAGES);
        feed(Format::Chat, Format::Messages, &answer);
        feed(Format::Chat, Format::Messages, &stream);
    }
}
