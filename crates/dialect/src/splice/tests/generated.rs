//! Streams of every format for any text, with ids of their own.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::splice::edit::event;
use crate::{Format, Frame, Framing, Seen, Watch};

pub(super) const FORMS: [(Format, Framing); 5] = [
    (Format::Chat, Framing::Sse),
    (Format::Responses, Framing::Sse),
    (Format::Messages, Framing::Sse),
    (Format::Gemini, Framing::Sse),
    (Format::Gemini, Framing::JsonArray),
];

pub(super) const fn stop_reason(format: Format, tool: bool) -> &'static str {
    match (format, tool) {
        (Format::Chat, true) => "tool_calls",
        (Format::Chat, false) => "stop",
        (Format::Messages, true) => "tool_use",
        (Format::Messages, false) => "end_turn",
        (Format::Responses, _) => "completed",
        (Format::Gemini, _) => "STOP",
    }
}

/// A stream that says these pieces and may then call a tool.
pub(super) fn stream(
    format: Format,
    framing: Framing,
    id: u32,
    pieces: &[impl AsRef<str>],
    tool: Option<&str>,
) -> Bytes {
    let pieces: Vec<&str> = pieces.iter().map(AsRef::as_ref).collect();
    match format {
        Format::Chat => chat(id, &pieces, tool),
        Format::Messages => messages(id, &pieces, tool),
        Format::Responses => responses(id, &pieces, tool),
        Format::Gemini => gemini(framing, id, &pieces, tool),
    }
    .into()
}

/// How many frames there are up to the last with text.
pub(super) fn frames_with_text(format: Format, frames: &[Frame]) -> usize {
    let mut watch = Watch::new(format);
    let seen: Vec<Seen> = frames.iter().map(|frame| watch.see(frame)).collect();
    seen.iter().rposition(|seen| *seen == Seen::Content).unwrap() + 1
}

fn chat(id: u32, pieces: &[&str], tool: Option<&str>) -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let chunk =
            json!({"id": format!("chatcmpl-{id}"), "created": id, "model": format!("m{id}"), "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let mut out = chunk(json!({"role": "assistant", "content": ""}), Value::Null);
    out.extend(pieces.iter().map(|piece| chunk(json!({"content": piece}), Value::Null)));
    if let Some(name) = tool {
        let call = json!({"index": 0, "id": "a", "function": {"name": name, "arguments": "{}"}});
        out += &chunk(json!({"tool_calls": [call]}), Value::Null);
    }
    out += &chunk(json!({}), stop_reason(Format::Chat, tool.is_some()).into());
    out + "data: [DONE]\n\n"
}

fn messages(id: u32, pieces: &[&str], tool: Option<&str>) -> String {
    let mut out = String::new();
    let mut write = |kind: &str, mut value: Value| {
        value["type"] = kind.into();
        out.push_str(&event(kind, &value));
    };
    write("message_start", json!({"message": {"id": format!("msg_{id}"), "model": format!("m{id}"), "content": []}}));
    let mut index = 0;
    if !pieces.is_empty() {
        write("content_block_start", json!({"index": index, "content_block": {"type": "text", "text": ""}}));
        for piece in pieces {
            write("content_block_delta", json!({"index": index, "delta": {"type": "text_delta", "text": piece}}));
        }
        write("content_block_stop", json!({"index": index}));
        index += 1;
    }
    if let Some(name) = tool {
        let block = json!({"type": "tool_use", "id": "a", "name": name, "input": {}});
        write("content_block_start", json!({"index": index, "content_block": block}));
        let delta = json!({"type": "input_json_delta", "partial_json": "{}"});
        write("content_block_delta", json!({"index": index, "delta": delta}));
        write("content_block_stop", json!({"index": index}));
    }
    let reason = stop_reason(Format::Messages, tool.is_some());
    write("message_delta", json!({"delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}}));
    write("message_stop", json!({}));
    out
}

fn responses(id: u32, pieces: &[&str], tool: Option<&str>) -> String {
    let (mut out, mut sequence, mut items) = (String::new(), 0, Vec::new());
    let mut write = |kind: &str, mut value: Value| {
        value["type"] = kind.into();
        value["sequence_number"] = sequence.into();
        sequence += 1;
        out.push_str(&event(kind, &value));
    };
    let response = |status: &str, output: &[Value]| json!({"response": {"id": format!("resp_{id}"), "model": format!("m{id}"), "status": status, "output": output}});
    write("response.created", response("in_progress", &[]));
    if !pieces.is_empty() {
        let item_id = format!("msg_{id}");
        let part = |text: &str| json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
        let item = |content: Value| json!({"id": item_id, "type": "message", "role": "assistant", "status": "completed", "content": content});
        let place = |mut value: Value| {
            value["item_id"] = item_id.clone().into();
            value["output_index"] = 0.into();
            value["content_index"] = 0.into();
            value
        };
        write("response.output_item.added", json!({"output_index": 0, "item": item(json!([]))}));
        write("response.content_part.added", place(json!({"part": part("")})));
        for piece in pieces {
            write("response.output_text.delta", place(json!({"delta": piece})));
        }
        let text = pieces.concat();
        write("response.output_text.done", place(json!({"text": text})));
        write("response.content_part.done", place(json!({"part": part(&text)})));
        items.push(item(json!([part(&text)])));
        write("response.output_item.done", json!({"output_index": 0, "item": items[0]}));
    }
    if let Some(name) = tool {
        let index = items.len();
        items.push(
            json!({"id": format!("fc_{id}"), "type": "function_call", "call_id": "a", "name": name, "arguments": "{}"}),
        );
        write("response.output_item.added", json!({"output_index": index, "item": items[index]}));
        write("response.output_item.done", json!({"output_index": index, "item": items[index]}));
    }
    write("response.completed", response("completed", &items));
    out
}

fn gemini(framing: Framing, id: u32, pieces: &[&str], tool: Option<&str>) -> String {
    let chunk = |parts: Value| json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}], "modelVersion": format!("m{id}"), "responseId": id.to_string()});
    let mut chunks: Vec<Value> = pieces.iter().map(|piece| chunk(json!([{"text": piece}]))).collect();
    if let Some(name) = tool {
        chunks.push(chunk(json!([{"functionCall": {"name": name, "args": {}}}])));
    }
    let mut last = chunk(json!([{"text": ""}]));
    last["candidates"][0]["finishReason"] = "STOP".into();
    chunks.push(last);
    match framing {
        Framing::Sse => chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect(),
        Framing::JsonArray => {
            format!("[{}\n]\n", chunks.iter().map(|chunk| format!("{chunk:#}")).collect::<Vec<_>>().join(",\r\n"))
        }
    }
}
