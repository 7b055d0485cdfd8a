//! What golden files do not show: odd servers, and whatever anybody may send.

mod any;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::translate::{Stamp, Target, Untranslatable, request};
use crate::{Format, Frames, Framing};

/// A provider's stream as an Anthropic client sees it, in short; an error says why there is none.
fn seen(chunks: &[Value]) -> Result<String, String> {
    let body = json!({"messages": [{"role": "user", "content": "hi"}]}).to_string();
    let target = Target { format: Format::Chat, model: "gpt-5", thinks: false };
    let translation = request(Format::Messages, body.as_bytes(), false, target).unwrap();
    let mut stream = translation.stream(Framing::Sse, Stamp::default());
    let mut frames = Frames::new(Framing::Sse);
    for chunk in chunks {
        frames.feed(Bytes::from(format!("data: {chunk}\n\n"))).unwrap();
    }
    frames.feed(Bytes::from_static(b"data: [DONE]\n\n")).unwrap();
    let mut said = Vec::new();
    while let Some(frame) = frames.next() {
        let out = stream.feed(&frame).map_err(|malformed| malformed.what)?;
        let out = std::str::from_utf8(&out).unwrap().to_owned();
        for line in out.lines().filter_map(|line| line.strip_prefix("data: ")) {
            said.extend(short(&serde_json::from_str(line).unwrap()));
        }
    }
    Ok(said.join(" "))
}

fn short(event: &Value) -> Option<String> {
    let block = &event["content_block"];
    let delta = &event["delta"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match event["type"].as_str()? {
        "content_block_start" if block["type"] == "tool_use" => {
            Some(format!("{}:{}", text(&block["name"]), text(&block["id"])))
        }
        "content_block_delta" => Some([&delta["text"], &delta["thinking"], &delta["partial_json"]].map(text).concat())
            .filter(|text| !text.is_empty()),
        "message_delta" => Some(format!("{} {}", text(&delta["stop_reason"]), event["usage"]["output_tokens"])),
        _ => None,
    }
}

fn delta(delta: &Value) -> Value {
    json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn calls(calls: &Value) -> Value {
    delta(&json!({"tool_calls": calls}))
}

fn finish(reason: &str) -> Value {
    json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

#[track_caller]
fn check(chunks: &[Value], expected: &str) {
    assert_eq!(seen(chunks).as_deref(), Ok(expected));
}

#[test]
fn interleaved_calls_come_out_whole() {
    check(
        &[
            calls(
                &json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}, {"index": 1, "id": "b", "function": {"name": "g", "arguments": ""}}]),
            ),
            calls(
                &json!([{"index": 1, "function": {"arguments": "{\"y\":"}}, {"index": 0, "function": {"arguments": "{\"x\""}}]),
            ),
            calls(
                &json!([{"index": 0, "function": {"arguments": ":1}"}}, {"index": 1, "function": {"arguments": "2}"}}]),
            ),
            finish("tool_calls"),
        ],
        r#"f:a {"x":1} g:b {"y":2} tool_use 0"#,
    );
}

#[test]
fn a_call_that_is_whole_does_not_wait_for_the_next() {
    check(
        &[
            calls(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}])),
            calls(&json!([{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}}])),
            delta(&json!({"content": "so"})),
            calls(&json!([{"index": 1, "function": {"arguments": "}"}}])),
            finish("tool_calls"),
        ],
        "f:a {} so g:b {} tool_use 0",
    );
}

#[test]
fn a_call_that_nobody_ends_is_no_clean_end() {
    assert!(seen(&[calls(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]))]).is_err());
}

#[test]
fn calls_that_are_all_numbered_zero_or_not_at_all_are_told_apart_by_their_ids() {
    check(
        &[
            calls(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}])),
            calls(&json!([{"index": 0, "id": "b", "function": {"name": "f", "arguments": "{\"x\":"}}])),
            calls(&json!([{"index": 0, "id": "b", "function": {"name": "f", "arguments": "1}"}}])),
            finish("stop"),
        ],
        r#"f:a {} f:b {"x":1} tool_use 0"#,
    );
    check(
        &[
            calls(
                &json!([{"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}, {"id": "b", "function": {"name": "g", "arguments": {}}}]),
            ),
            finish("tool_calls"),
        ],
        r#"f:a {"x":1} g:b {} tool_use 0"#,
    );
}

#[test]
fn a_call_may_end_with_nothing_more() {
    check(
        &[
            calls(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}])),
            calls(&json!([{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}}])),
            calls(&json!([{"index": 0, "function": {"arguments": ""}}])),
            finish("tool_calls"),
        ],
        "f:a {} g:b {} tool_use 0",
    );
}

#[test]
fn a_call_without_an_object_is_broken_unless_the_answer_was_cut_there() {
    let begun = calls(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":"}}]));
    check(&[delta(&json!({"content": "so"})), begun.clone(), finish("length")], "so max_tokens 0");
    assert_eq!(
        seen(&[begun.clone(), finish("tool_calls")]),
        Err("the arguments of a tool call are no JSON object".to_owned())
    );
    let almost = calls(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":\"\n\"}"}}]));
    assert!(seen(&[almost, finish("tool_calls")]).is_err());
    assert!(seen(&[calls(&json!([{"index": 3, "function": {"arguments": "1}"}}]))]).is_err());
}

#[test]
fn content_and_the_end_may_share_a_chunk() {
    let last = json!({"choices": [{"delta": {"content": "all"}, "finish_reason": "stop"}], "x_groq": {"usage": {"completion_tokens": 3}}});
    check(&[last], "all end_turn 3");
}

#[test]
fn thinking_that_is_not_counted_as_written_is_added() {
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 17, "completion_tokens_details": {"reasoning_tokens": 10}});
    check(&[finish("stop"), json!({"choices": [], "usage": usage})], "end_turn 12");
    let usage = json!({"prompt_tokens": 5, "completion_tokens": 12, "total_tokens": 17, "completion_tokens_details": {"reasoning_tokens": 10}});
    check(&[finish("stop"), json!({"choices": [], "usage": usage})], "end_turn 12");
}

#[test]
fn thinking_that_is_said_twice_is_told_once() {
    check(&[delta(&json!({"reasoning": "hm", "reasoning_content": "hm"})), finish("stop")], "hm end_turn 0");
}

/// The last chunk has no choices, on which many clients that did not ask for it break.
#[test]
fn usage_is_streamed_to_those_who_ask() {
    let chunks = |options: Value| {
        let body = json!({"messages": [{"role": "user", "content": "hi"}], "stream": true, "stream_options": options});
        let target = Target { format: Format::Messages, model: "claude-sonnet-4-5", thinks: false };
        let translation = request(Format::Chat, body.to_string().as_bytes(), false, target).unwrap();
        let out = translation.stream(Framing::Sse, Stamp::default()).finish();
        std::str::from_utf8(&out).unwrap().matches("data: ").count()
    };
    assert_eq!(chunks(Value::Null), 3);
    assert_eq!(chunks(json!({"include_usage": false})), 3);
    assert_eq!(chunks(json!({"include_usage": true})), 4);
}

/// What an Anthropic client's request becomes for a model, and what is noted.
fn asked(model: &str, mut body: Value) -> (Value, String) {
    body["model"] = "claude".into();
    if body["messages"].is_null() {
        body["messages"] = json!([{"role": "user", "content": "hi"}]);
    }
    let target = Target { format: Format::Chat, model, thinks: true };
    let translation = request(Format::Messages, body.to_string().as_bytes(), false, target).unwrap();
    (serde_json::from_str(&translation.body).unwrap(), translation.notes.to_string())
}

#[track_caller]
fn check_asked(model: &str, body: Value, expected: &[(&str, Value)], noted: &str) {
    let (request, notes) = asked(model, body);
    for (pointer, value) in expected {
        assert_eq!(request.pointer(pointer).unwrap_or(&Value::Null), value, "{pointer} of {request}");
    }
    assert_eq!(notes, noted);
}

#[test]
fn limits_are_named_and_bounded_as_the_model_wants() {
    let body = json!({"max_tokens": 64000});
    check_asked(
        "gpt-5-mini",
        body.clone(),
        &[("/max_completion_tokens", json!(64000)), ("/max_tokens", Value::Null)],
        "",
    );
    check_asked("gpt-4o", body.clone(), &[("/max_tokens", json!(16384))], "changed=max_tokens");
    check_asked("llama-3.3-70b", body, &[("/max_tokens", json!(64000))], "");
}

#[test]
fn sampling_is_left_to_models_that_decide_it_themselves() {
    let body = json!({"temperature": 0.2, "top_p": 0.9, "stop_sequences": ["a", "b", "c", "d", "e"]});
    let gone = [("/temperature", Value::Null), ("/top_p", Value::Null), ("/stop", Value::Null)];
    check_asked("o4-mini", body.clone(), &gone, "dropped=stop,temperature,top_p");
    let kept = [("/temperature", json!(0.2)), ("/top_p", json!(0.9)), ("/stop", json!(["a", "b", "c", "d"]))];
    check_asked("gpt-4.1", body, &kept, "changed=stop");
}

#[test]
fn mistral_gets_no_field_that_it_does_not_know() {
    let messages = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}, {"type": "text", "text": "more"}]}
    ]);
    let body = json!({"messages": messages, "stream": true, "metadata": {"user_id": "u"}});
    let (request, notes) = asked("mistral-large-latest", body);
    assert_eq!(request.get("stream_options"), None);
    assert_eq!(request.get("user"), None);
    let roles: Vec<&str> =
        request["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(notes, "dropped=user; changed=messages,tool_ids");
}

#[test]
fn what_a_result_holds_beside_text_follows_all_results() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}});
    let messages = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}, {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "one"}, image, {"type": "text", "text": "two"}]},
            {"type": "text", "text": "Well?"},
            {"type": "tool_result", "tool_use_id": "b", "content": "error 7", "is_error": true}
        ]}
    ]);
    let expected = [
        ("/messages/2", json!({"role": "tool", "tool_call_id": "a", "content": "one\n\ntwo"})),
        ("/messages/3", json!({"role": "tool", "tool_call_id": "b", "content": "error 7"})),
        ("/messages/4/content/0", json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}})),
        ("/messages/4/content/1", json!({"type": "text", "text": "Well?"})),
        ("/messages/5", Value::Null),
    ];
    check_asked("gpt-4o", json!({"messages": messages}), &expected, "changed=tool_result.images,tool_result.is_error");
}

#[test]
fn a_schema_that_openai_cannot_keep_strictly_is_kept_loosely() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false});
    let body = json!({
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
        "tools": [{"name": "f", "strict": true, "input_schema": schema}],
    });
    let expected = [("/response_format/json_schema/strict", json!(false)), ("/tools/0/function/strict", Value::Null)];
    check_asked("gpt-4o", body, &expected, "changed=response_format.strict,tools.strict");
}

#[test]
fn a_long_name_of_a_user_is_shortened_and_stays_the_same() {
    let body = json!({"metadata": {"user_id": "u".repeat(100)}});
    let (first, notes) = asked("gpt-4o", body.clone());
    assert_eq!(notes, "changed=user");
    assert_eq!(first["user"].as_str().unwrap().len(), 16);
    assert_eq!(first["user"], asked("gpt-4o", body).0["user"]);
}

#[test]
fn a_document_by_its_address_is_refused() {
    let source = json!({"type": "url", "url": "https://example.com/a.pdf"});
    let body = json!({"messages": [{"role": "user", "content": [{"type": "document", "source": source}]}]});
    let target = Target { format: Format::Chat, model: "gpt-4o", thinks: false };
    let refused = request(Format::Messages, body.to_string().as_bytes(), false, target);
    assert!(matches!(refused, Err(Untranslatable::Refused(refused)) if refused.field == "document"));
}

/// What an OpenAI client's content becomes.
#[track_caller]
fn check_content(part: &str, expected: &Value) {
    let body = format!(r#"{{"messages":[{{"role":"user","content":[{part}]}}]}}"#);
    let target = Target { format: Format::Messages, model: "claude-sonnet-4-5", thinks: false };
    let translation = request(Format::Chat, body.as_bytes(), false, target).unwrap();
    let request: Value = serde_json::from_str(&translation.body).unwrap();
    assert_eq!(&request["messages"][0]["content"][0]["source"], expected);
}

#[test]
fn urls_that_hold_the_bytes_are_taken_apart() {
    let png = json!({"type": "base64", "media_type": "image/png", "data": "iV/B"});
    check_content(r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,iV/B"}}"#, &png);
    check_content(r#"{"type":"image_url","image_url":{"url":"data:image\/png;charset=x;base64,iV\/B"}}"#, &png);
    check_content(r#"{"type":"image_url","image_url":"data:image/png;base64,iV/B"}"#, &png);
    check_content(
        r#"{"type":"image_url","image_url":{"url":"https:\/\/a.b\/c"}}"#,
        &json!({"type": "url", "url": "https://a.b/c"}),
    );
    let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": "JVBE"});
    check_content(r#"{"file":{"file_data":"JVBE","filename":"a.pdf"},"type":"file"}"#, &pdf);
}
