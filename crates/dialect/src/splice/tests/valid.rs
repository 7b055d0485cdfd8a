//! What a strict client makes of a stream: the answer, or what is wrong with the stream.

use bytes::Bytes;
use serde_json::Value;

use crate::fixture;
use crate::{Format, Frame, Framing};

#[derive(Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) tools: usize,
    pub(super) stop_reason: String,
}

pub(super) fn answer(format: Format, framing: Framing, bytes: &[u8]) -> Result<Answer, String> {
    let (frames, rest) = fixture::cut(framing, &Bytes::copy_from_slice(bytes), []);
    if !rest.trim_ascii().is_empty() {
        return Err(format!("rest {rest:?}"));
    }
    let (seen, watch) = fixture::watch(format, &frames);
    if !watch.is_whole() || seen.matches('E').count() > 1 {
        return Err(format!("seen {seen}"));
    }
    if framing == Framing::JsonArray {
        serde_json::from_slice::<Vec<Value>>(bytes).map_err(|error| error.to_string())?;
    }
    let events: Vec<Value> = frames.iter().filter(|frame| !frame.is_comment()).filter_map(value).collect();
    let mut answer = match format {
        Format::Chat => chat(&events),
        Format::Messages => messages(&events),
        Format::Responses => responses(&events),
        Format::Gemini => gemini(&events),
    }?;
    answer.stop_reason = watch.stop_reason().unwrap_or_default().to_owned();
    Ok(answer)
}

fn value(frame: &Frame) -> Option<Value> {
    serde_json::from_slice(&frame.data()).ok()
}

fn ensure(good: bool, what: &str, event: &Value) -> Result<(), String> {
    if good { Ok(()) } else { Err(format!("{what}: {event}")) }
}

fn chat(events: &[Value]) -> Result<Answer, String> {
    let mut answer = Answer::default();
    let mut finished = [false; 2];
    // Azure's first chunk has no name.
    let named = events.iter().find(|event| event["id"] != "").unwrap();
    for (number, event) in events.iter().enumerate() {
        ensure(number == 0 && event["id"] == "" || event["id"] == named["id"], "another id", event)?;
        ensure(number == 0 && event["id"] == "" || event["model"] == named["model"], "another model", event)?;
        for choice in event["choices"].as_array().unwrap() {
            let index = choice["index"].as_u64().unwrap_or_default() as usize;
            ensure(!finished[index], "after the end", event)?;
            finished[index] = !choice["finish_reason"].is_null();
            answer.text += choice["delta"]["content"].as_str().unwrap_or_default();
            let calls = choice["delta"]["tool_calls"].as_array().into_iter().flatten();
            answer.tools += calls.filter(|call| call["id"].is_string()).count();
        }
    }
    Ok(answer)
}

fn messages(events: &[Value]) -> Result<Answer, String> {
    let mut answer = Answer::default();
    let mut open: Option<(u64, String)> = None;
    let (mut next, mut over) = (0, false);
    for (number, event) in events.iter().enumerate() {
        let kind = event["type"].as_str().unwrap();
        ensure((kind == "message_start") == (number == 0), "order", event)?;
        ensure((kind == "message_stop") == (number + 1 == events.len()), "order", event)?;
        match kind {
            "content_block_start" => {
                ensure(open.is_none() && !over && event["index"] == next, "start", event)?;
                open = Some((next, event["content_block"]["type"].as_str().unwrap().to_owned()));
                next += 1;
                answer.tools += usize::from(event["content_block"]["type"].as_str().unwrap().ends_with("tool_use"));
            }
            "content_block_delta" => {
                let (index, block) = open.clone().ok_or("delta without block")?;
                ensure(event["index"] == index, "delta", event)?;
                let delta = event["delta"]["type"].as_str().unwrap();
                let fits = match delta {
                    "text_delta" => block == "text",
                    "input_json_delta" => block.ends_with("tool_use"),
                    "thinking_delta" | "signature_delta" => block == "thinking",
                    _ => true,
                };
                ensure(fits, "delta of another block", event)?;
                answer.text += event["delta"]["text"].as_str().unwrap_or_default();
            }
            "content_block_stop" => {
                ensure(open.take().is_some_and(|(index, _)| event["index"] == index), "stop", event)?;
            }
            "message_delta" => {
                ensure(open.is_none() && !over, "message_delta", event)?;
                over = true;
            }
            "message_stop" => ensure(over, "no message_delta", event)?,
            _ => {}
        }
    }
    Ok(answer)
}

fn responses(events: &[Value]) -> Result<Answer, String> {
    let mut answer = Answer::default();
    let id = &events[0]["response"]["id"];
    let mut open: Vec<(u64, String, String)> = Vec::new();
    let (mut done, mut next, mut part, mut part_from) = (Vec::new(), 0, false, 0);
    for (number, event) in events.iter().enumerate() {
        let kind = event["type"].as_str().unwrap();
        ensure(event["sequence_number"] == number, "sequence", event)?;
        ensure((kind == "response.created") == (number == 0), "order", event)?;
        if let Some(response) = event.get("response") {
            ensure(&response["id"] == id, "another id", event)?;
        }
        let index = event["output_index"].as_u64();
        match kind {
            "response.output_item.added" => {
                ensure(open.is_empty() && index == Some(next), "added", event)?;
                open.push((next, event["item"]["id"].as_str().unwrap().to_owned(), String::new()));
                next += 1;
                answer.tools += usize::from(event["item"]["type"].as_str().unwrap().ends_with("_call"));
            }
            "response.output_item.done" => {
                let (at, id, text) = open.pop().ok_or("done without item")?;
                ensure(!part && index == Some(at) && event["item"]["id"] == id, "done", event)?;
                if event["item"]["type"] == "message" {
                    let parts = event["item"]["content"].as_array().into_iter().flatten();
                    let told: String = parts.filter_map(|part| part["text"].as_str()).collect();
                    ensure(told == text, "text", event)?;
                }
                done.push(event["item"].clone());
            }
            "response.completed" | "response.incomplete" => {
                ensure(open.is_empty() && number + 1 == events.len(), "end", event)?;
                ensure(event["response"]["output"].as_array() == Some(&done), "output", event)?;
            }
            _ => {
                let Some(index) = index else { continue };
                let (at, id, text) = open.last_mut().ok_or("event without item")?;
                ensure(index == *at && event["item_id"] == *id, "place", event)?;
                match kind {
                    "response.content_part.added" => {
                        part = true;
                        part_from = text.len();
                    }
                    "response.content_part.done" => {
                        ensure(part && event["part"]["text"] == text[part_from..], "part", event)?;
                        part = false;
                    }
                    "response.output_text.delta" => {
                        ensure(part, "delta without part", event)?;
                        text.push_str(event["delta"].as_str().unwrap());
                        answer.text += event["delta"].as_str().unwrap();
                    }
                    "response.output_text.done" => ensure(event["text"] == text[part_from..], "text", event)?,
                    _ => {}
                }
            }
        }
    }
    Ok(answer)
}

fn gemini(events: &[Value]) -> Result<Answer, String> {
    let mut answer = Answer::default();
    for event in events {
        let id = events[0].get("responseId").unwrap_or(&event["responseId"]);
        ensure(&event["responseId"] == id || event.get("responseId").is_none(), "another id", event)?;
        for part in event["candidates"][0]["content"]["parts"].as_array().into_iter().flatten() {
            if part["thought"] != true {
                answer.text += part["text"].as_str().unwrap_or_default();
            }
            // Streamed arguments end in an empty call.
            answer.tools +=
                usize::from(part["functionCall"].is_object() && part["functionCall"]["willContinue"] != true);
        }
    }
    Ok(answer)
}
