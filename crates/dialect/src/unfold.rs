//! An answer that came at once, as the stream its client asked for.
//!
//! Some servers do not stream; whoever asked for a stream reads nothing else. Every block comes as one piece, with all
//! that its vendor wrote in it, seals and fields that nobody here knows included.

use serde_json::{Map, Value, json};

use crate::{Format, Framing};

/// The frames of a stream that says what this answer says; none where it is no answer.
pub fn unfold(format: Format, framing: Framing, body: &[u8]) -> Option<String> {
    let Ok(Value::Object(answer)) = serde_json::from_slice(body) else { return None };
    let mut out = String::new();
    match format {
        Format::Chat => chat(&answer, &mut out)?,
        Format::Responses => responses(&answer, &mut out)?,
        Format::Messages => messages(&answer, &mut out)?,
        // One piece of a stream looks like a whole answer.
        Format::Gemini if framing == Framing::JsonArray => return Some(format!("[{}]", Value::Object(answer))),
        Format::Gemini => frame(None, &Value::Object(answer), &mut out),
    }
    Some(out)
}

fn frame(event: Option<&str>, data: &Value, out: &mut String) {
    if let Some(event) = event {
        out.push_str(&format!("event: {event}\n"));
    }
    out.push_str(&format!("data: {data}\n\n"));
}

fn chat(answer: &Map<String, Value>, out: &mut String) -> Option<()> {
    let mut chunk = answer.clone();
    let usage = chunk.remove("usage");
    chunk.insert("object".to_owned(), "chat.completion.chunk".into());
    let choices = answer.get("choices")?.as_array()?;
    let said = choices.iter().map(|choice| {
        let mut choice = choice.clone();
        let mut delta = choice["message"].take();
        // Pieces of calls are known by their number.
        for (index, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
            call["index"] = index.into();
        }
        choice.as_object_mut()?.remove("message");
        choice["delta"] = delta;
        choice["finish_reason"] = Value::Null;
        Some(choice)
    });
    chunk.insert("choices".to_owned(), Value::Array(said.collect::<Option<_>>()?));
    frame(None, &Value::Object(chunk.clone()), out);
    let ends = choices
        .iter()
        .map(|choice| json!({"index": choice["index"], "delta": {}, "finish_reason": choice["finish_reason"]}));
    chunk.insert("choices".to_owned(), ends.collect());
    if let Some(usage) = usage {
        chunk.insert("usage".to_owned(), usage);
    }
    frame(None, &Value::Object(chunk), out);
    out.push_str("data: [DONE]\n\n");
    Some(())
}

fn messages(answer: &Map<String, Value>, out: &mut String) -> Option<()> {
    let mut event = |kind: &str, mut fields: Value| {
        fields["type"] = kind.into();
        frame(Some(kind), &fields, out);
    };
    let mut message = answer.clone();
    message.insert("content".to_owned(), json!([]));
    let end = ["stop_reason", "stop_sequence"].map(|name| message.insert(name.to_owned(), Value::Null));
    event("message_start", json!({"message": message}));
    for (index, block) in answer.get("content")?.as_array()?.iter().enumerate() {
        let mut start = block.clone();
        let mut deltas = Vec::new();
        let kind = block["type"].as_str()?;
        match kind {
            "text" => deltas.push(("text_delta", "text", std::mem::replace(&mut start["text"], "".into()))),
            "thinking" => {
                deltas.push(("thinking_delta", "thinking", std::mem::replace(&mut start["thinking"], "".into())));
                deltas.push(("signature_delta", "signature", std::mem::replace(&mut start["signature"], "".into())));
            }
            "tool_use" | "server_tool_use" => {
                let input = std::mem::replace(&mut start["input"], json!({}));
                deltas.push(("input_json_delta", "partial_json", input.to_string().into()));
            }
            // Whole in its start: sealed thinking, what the vendor's own tools found.
            _ => {}
        }
        event("content_block_start", json!({"index": index, "content_block": start}));
        for (kind, field, value) in deltas.into_iter().filter(|(_, _, value)| value.is_string()) {
            event("content_block_delta", json!({"index": index, "delta": {"type": kind, field: value}}));
        }
        event("content_block_stop", json!({"index": index}));
    }
    let [reason, sequence] = end;
    let usage = answer.get("usage").cloned().unwrap_or_default();
    event("message_delta", json!({"delta": {"stop_reason": reason, "stop_sequence": sequence}, "usage": usage}));
    event("message_stop", json!({}));
    Some(())
}

fn responses(answer: &Map<String, Value>, out: &mut String) -> Option<()> {
    let mut number = 0_u64;
    let mut event = |kind: &str, mut fields: Value| {
        fields["type"] = kind.into();
        fields["sequence_number"] = number.into();
        number += 1;
        frame(Some(kind), &fields, out);
    };
    let mut begun = answer.clone();
    begun.insert("status".to_owned(), "in_progress".into());
    begun.insert("output".to_owned(), json!([]));
    begun.insert("usage".to_owned(), Value::Null);
    event("response.created", json!({"response": begun}));
    event("response.in_progress", json!({"response": begun}));
    for (index, item) in answer.get("output")?.as_array()?.iter().enumerate() {
        let (id, at) = (&item["id"], index);
        let mut start = item.clone();
        for name in ["content", "summary"].into_iter().filter(|name| item[name].is_array()) {
            start[name] = json!([]);
        }
        let words = [("arguments", "response.function_call_arguments"), ("input", "response.custom_tool_call_input")];
        let words = words.into_iter().find(|(field, _)| item[field].is_string());
        if let Some((field, _)) = words {
            start[field] = "".into();
        }
        event("response.output_item.added", json!({"output_index": at, "item": start}));
        if let Some((field, name)) = words {
            let place = json!({"item_id": id, "output_index": at});
            event(&format!("{name}.delta"), with(&place, "delta", &item[field]));
            event(&format!("{name}.done"), with(&place, field, &item[field]));
        }
        for (list, index_name, part_name) in [
            ("content", "content_index", "response.content_part"),
            ("summary", "summary_index", "response.reasoning_summary_part"),
        ] {
            for (index, part) in item[list].as_array().into_iter().flatten().enumerate() {
                let (name, field) = match part["type"].as_str()? {
                    "output_text" => ("response.output_text", "text"),
                    "refusal" => ("response.refusal", "refusal"),
                    "summary_text" => ("response.reasoning_summary_text", "text"),
                    "reasoning_text" => ("response.reasoning_text", "text"),
                    _ => continue,
                };
                let place = json!({"item_id": id, "output_index": at, index_name: index});
                event(&format!("{part_name}.added"), with(&place, "part", &with(part, field, &"".into())));
                event(&format!("{name}.delta"), with(&place, "delta", &part[field]));
                event(&format!("{name}.done"), with(&place, field, &part[field]));
                event(&format!("{part_name}.done"), with(&place, "part", part));
            }
        }
        event("response.output_item.done", json!({"output_index": at, "item": item}));
    }
    let end = match answer.get("status").and_then(Value::as_str) {
        Some("incomplete") => "response.incomplete",
        _ => "response.completed",
    };
    event(end, json!({"response": answer}));
    Some(())
}

/// The same object with one field more, or another.
fn with(object: &Value, name: &str, value: &Value) -> Value {
    let mut object = object.clone();
    object[name] = value.clone();
    object
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{Frames, Seen, Watch, whole};

    /// Answers of every vendor, and what they became in every other format.
    fn answers() -> Vec<(Format, String, String)> {
        let mut answers = Vec::new();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/translate/answers");
        for vendor in ["chat", "messages", "gemini"] {
            for file in std::fs::read_dir(folder.join(vendor)).unwrap() {
                let path = file.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let format = Format::ALL.into_iter().find(|to| name.contains(&format!(".to-{}.", to.as_str())));
                let own = Format::ALL.into_iter().find(|format| format.as_str() == vendor).unwrap();
                answers.push((format.unwrap_or(own), name, std::fs::read_to_string(&path).unwrap()));
            }
        }
        answers
    }

    #[test]
    fn a_stream_says_what_the_whole_answer_says() {
        let answers = answers();
        assert!(Format::ALL.iter().all(|format| answers.iter().any(|(of, ..)| of == format)));
        for (format, name, body) in answers {
            let told = unfold(format, Framing::Sse, body.as_bytes()).unwrap_or_else(|| panic!("{format:?} {name}"));
            let (mut frames, mut watch) = (Frames::new(Framing::Sse), Watch::new(format));
            frames.feed(Bytes::from(told.clone())).unwrap();
            while let Some(frame) = frames.next() {
                let seen = watch.see(&frame);
                assert!(!matches!(seen, Seen::Error | Seen::Malformed), "{format:?} {name} {seen:?}: {told}");
            }
            assert!(watch.is_whole(), "{format:?} {name}: {told}");
            assert_eq!(watch.usage(), whole::check(format, body.as_bytes()).usage, "{format:?} {name}");
        }
    }

    #[test]
    fn calls_and_seals_are_as_they_were() {
        let body = r#"{"id":"m","type":"message","content":[{"type":"thinking","thinking":"hm","signature":"SEAL"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"output_tokens":3}}"#;
        let told = unfold(Format::Messages, Framing::Sse, body.as_bytes()).unwrap();
        for piece in [
            r#""signature":"SEAL","type":"signature_delta""#,
            r#""partial_json":"{\"a\":1}""#,
            r#""stop_reason":"tool_use""#,
        ] {
            assert!(told.contains(piece), "{piece}: {told}");
        }
        let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
        let told = unfold(Format::Chat, Framing::Sse, body.as_bytes()).unwrap();
        assert!(told.contains(r#""index":0"#) && told.contains(r#""finish_reason":"tool_calls""#), "{told}");
        let body = r#"{"candidates":[]}"#;
        assert_eq!(unfold(Format::Gemini, Framing::JsonArray, body.as_bytes()).unwrap(), r#"[{"candidates":[]}]"#);
        assert_eq!(unfold(Format::Chat, Framing::Sse, b"[]"), None);
    }
}
