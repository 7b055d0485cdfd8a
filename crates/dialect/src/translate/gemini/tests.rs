//! What the golden files do not show: cases in tables, and whatever a client or a provider may send.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::translate::canon::{Effort, Event, Part, Prompt, Role, Str, Thinking, ToolResult};
use crate::translate::{Notes, Target, repair};
use crate::{Format, Frames, Framing};

const GEMINI: Target<'_> = Target { format: Format::Gemini, model: "gemini-3-pro", thinks: true };

#[track_caller]
fn read(body: &str) -> (Prompt<'_>, String) {
    let mut notes = Notes::default();
    let prompt = read_request(body.as_bytes(), &mut notes).unwrap();
    let refused = notes.take_refused().map(|refused| format!("refused {}", refused.field));
    (prompt, refused.unwrap_or_else(|| notes.to_string()))
}

fn write(prompt: &Prompt<'_>, model: &str) -> (Value, String) {
    let mut notes = Notes::default();
    let body = write_request(prompt, Target { model, ..GEMINI }, &mut notes);
    (serde_json::from_str(&body).unwrap(), notes.to_string())
}

fn results<'p, 'a>(prompt: &'p Prompt<'a>) -> impl Iterator<Item = &'p ToolResult<'a>> {
    prompt.turns.iter().flat_map(|turn| &turn.parts).filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    })
}

/// `calls` and `results` as `name` or `name#id`; the ids that the results get.
#[track_caller]
fn check_ids(calls: &str, answers: &str, expected: &str) {
    let part = |field: &str, word: &str| {
        let (name, id) = word.split_once('#').map_or((word, None), |(name, id)| (name, Some(id)));
        let mut part = json!({field: {"name": name}});
        if let Some(id) = id {
            part[field]["id"] = id.into();
        }
        part
    };
    let parts = |field: &str, words: &str| words.split(' ').map(|word| part(field, word)).collect::<Vec<_>>();
    let body = json!({"contents": [
        {"role": "model", "parts": parts("functionCall", calls)},
        {"role": "user", "parts": parts("functionResponse", answers)},
    ]});
    let body = body.to_string();
    let (prompt, _) = read(&body);
    let ids: Vec<&str> = results(&prompt).map(|result| result.id.raw()).collect();
    assert_eq!(ids.join(" "), expected);
}

#[test]
fn calls_and_results_meet_by_id_or_by_name_and_order() {
    check_ids("a b", "a b", "call_1 call_2");
    check_ids("a b", "b a", "call_2 call_1");
    check_ids("a a b", "b a a", "call_3 call_1 call_2");
    check_ids("a#x a#y", "a#y a#x", "y x");
    check_ids("a#x b", "b a", "call_1 x");
    // An id that nobody gave, a name that nobody called, and a result too many.
    check_ids("a", "a#z", "call_1");
    check_ids("a", "c", "call_1");
    check_ids("a", "a a", "call_1 call_2");
}

#[track_caller]
fn check_response(response: &str, words: &str, is_error: bool) {
    let body = format!(r#"{{"contents":[{{"parts":[{{"functionResponse":{{"name":"a","response":{response}}}}}]}}]}}"#);
    let (prompt, _) = read(&body);
    let result = results(&prompt).next().unwrap();
    assert_eq!(result.parts, [Part::Text(Str::escape(words))]);
    assert_eq!(result.is_error, is_error);
}

#[test]
fn what_a_tool_said_is_taken_out_of_its_object() {
    check_response(r#"{"output":"a\nb"}"#, "a\nb", false);
    check_response(r#"{"result":{"a":1}}"#, r#"{"a":1}"#, false);
    check_response(r#"{"error":"no"}"#, "no", true);
    check_response(r#"{"output":"x","error":null}"#, "x", false);
    check_response(r#"{"error":"","output":"x"}"#, "x", false);
    check_response(r#"{"output":"x","error":"no"}"#, r#"{"output":"x","error":"no"}"#, true);
    check_response(r#"{"output":"x","more":1}"#, r#"{"output":"x","more":1}"#, false);
    check_response(r#"{}"#, "{}", false);
    check_response(r#""bare""#, "bare", false);
}

#[track_caller]
fn check_noted(field: &str, expected: &str) {
    assert_eq!(read(&format!("{{{field}}}")).1, expected);
}

#[test]
fn what_cannot_be_carried_is_said() {
    check_noted(r#""generationConfig":{"candidateCount":2}"#, "refused candidateCount");
    check_noted(r#""generationConfig":{"candidateCount":1,"responseModalities":["TEXT"]}"#, "");
    check_noted(r#""generationConfig":{"responseModalities":["TEXT","IMAGE"]}"#, "refused responseModalities");
    check_noted(r#""generationConfig":{"responseMimeType":"text/x.enum"}"#, "refused responseMimeType");
    check_noted(r#""cached_content":"cachedContents/a""#, "refused cachedContent");
    let file = |file: &str| format!(r#""contents":{{"parts":{{"fileData":{{{file}}}}}}}"#);
    check_noted(&file(r#""fileUri":"gs://bucket/a.png""#), "refused fileData");
    check_noted(&file(r#""fileUri":"https://youtube.com/watch?v=a""#), "refused mimeType");
    check_noted(&file(r#""fileUri":"https://example.com/a","mimeType":"image\/png""#), "");
    check_noted(r#""tools":[{"urlContext":{}}],"serviceTier":"flex""#, "dropped=serviceTier,tools.urlContext");
    let allowed = r#""toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["a","b"]}}"#;
    check_noted(allowed, "dropped=allowedFunctionNames");
    check_noted(r#""toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"}}"#, "changed=toolConfig.mode");
}

#[test]
fn a_text_in_base64_is_a_text() {
    let text = "a fence → ?>";
    let body = r#"{"contents":{"parts":{"inlineData":{"mimeType":"text/plain","data":"YSBmZW5jZSDihpIgPz4="}}}}"#;
    assert_eq!(read(body).0.turns[0].parts, [Part::Text(Str::escape(text))]);
}

#[track_caller]
fn check_thinking(model: &str, thinking: Thinking, expected: &Value, noted: &str) {
    let mut prompt = Prompt { thinking: Some(thinking), ..Prompt::default() };
    prompt.say(Role::User, Part::Text(Str::plain("hi")));
    let (request, notes) = write(&prompt, model);
    assert_eq!(request["generationConfig"]["thinkingConfig"], *expected, "{model}");
    assert_eq!(notes, noted, "{model}");
}

#[test]
fn each_model_thinks_in_its_own_terms() {
    let effort = Thinking::Effort;
    let level = |level: &str| json!({"thinkingLevel": level, "includeThoughts": true});
    let tokens = |tokens: i64| json!({"thinkingBudget": tokens, "includeThoughts": true});

    check_thinking("gemini-3-pro-preview", effort(Effort::Low), &level("low"), "");
    check_thinking("gemini-3-pro-preview", effort(Effort::Medium), &level("high"), "changed=thinking");
    check_thinking("google/gemini-3.1-pro-preview", effort(Effort::Medium), &level("medium"), "");
    check_thinking("models/gemini-3-flash-preview", effort(Effort::Minimal), &level("minimal"), "");
    check_thinking("gemini-3-flash", effort(Effort::Max), &level("high"), "changed=thinking");
    check_thinking("gemini-3-flash", Thinking::Off, &json!({"thinkingLevel": "minimal"}), "changed=thinking");
    check_thinking("gemini-flash-latest", Thinking::Adaptive, &json!({"includeThoughts": true}), "");

    check_thinking("gemini-2.5-pro", Thinking::Tokens(5000), &tokens(5000), "");
    check_thinking("gemini-2.5-pro", Thinking::Tokens(50_000), &tokens(32_768), "changed=thinking");
    check_thinking("gemini-2.5-pro", Thinking::Off, &json!({"thinkingBudget": 128}), "changed=thinking");
    check_thinking("gemini-2.5-flash", Thinking::Off, &json!({"thinkingBudget": 0}), "");
    check_thinking("gemini-2.5-flash-lite", Thinking::Tokens(100), &tokens(512), "changed=thinking");
    check_thinking("gemini-2.5-flash", Thinking::Adaptive, &tokens(-1), "");

    check_thinking("gemini-2.0-flash", Thinking::Off, &Value::Null, "");
    check_thinking("gemini-2.0-flash", Thinking::Adaptive, &Value::Null, "dropped=thinking");
}

#[test]
fn older_models_get_what_they_know() {
    let body = r#"{
        "contents": [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"functionCall": {"name": "a"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]}],
        "tools": [{"functionDeclarations": [{"name": "a"}]}],
        "generationConfig": {"responseMimeType": "application/json", "frequencyPenalty": 0.5, "seed": 4294967296,
            "stopSequences": ["1", "2", "3", "4", "5", "6"]}
    }"#;
    let (prompt, noted) = read(body);
    assert_eq!(noted, "");
    let (old, noted) = write(&prompt, "gemini-2.0-flash");
    assert_eq!(old["generationConfig"], json!({"frequencyPenalty": 0.5, "stopSequences": ["1", "2", "3", "4", "5"]}));
    assert_eq!(old["contents"][1]["parts"][0].get("thoughtSignature"), None);
    assert!(old["systemInstruction"]["parts"][0]["text"].as_str().unwrap().contains("JSON"));
    assert_eq!(noted, "dropped=seed; changed=response_format,stop");
    let (new, noted) = write(&prompt, "gemini-3-pro");
    assert_eq!(new["generationConfig"]["responseMimeType"], "application/json");
    assert_eq!(new["contents"][1]["parts"][0]["thoughtSignature"], NO_SEAL);
    assert_eq!(new.get("systemInstruction"), None);
    assert_eq!(noted, "dropped=frequency_penalty,seed; changed=stop");
}

#[test]
fn arguments_never_break_a_line() {
    let frame = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":{
        "b": [1,
        2]}}}]},"finishReason":"STOP"}]}"#;
    let mut frames = Frames::new(Framing::JsonArray);
    frames.feed(Bytes::from(format!("[{frame}]"))).unwrap();
    let (mut reader, mut writer, mut out) = (Reader::default(), Writer::new(Framing::Sse), String::new());
    let frame = frames.next().unwrap();
    reader.feed(&frame, &mut |event| writer.write(&event, &mut out)).unwrap();
    assert!(out.contains(r#""args":{"b":[1,2]}"#), "{out}");
    assert_eq!(out.matches('\n').count(), 2, "{out}");
}

proptest! {
    #[test]
    fn arbitrary_bytes_break_no_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_anything(&bytes);
    }

    #[test]
    fn arbitrary_json_breaks_no_reader(json in like_json()) {
        read_anything(json.as_bytes());
    }
}

/// Made of the words that the readers know, in any order.
fn like_json() -> impl Strategy<Value = String> {
    const FIELDS: &[&str] = &[
        "contents",
        "parts",
        "role",
        "text",
        "thought",
        "functionCall",
        "functionResponse",
        "response",
        "output",
        "args",
        "name",
        "id",
        "inlineData",
        "fileData",
        "mimeType",
        "data",
        "fileUri",
        "tools",
        "functionDeclarations",
        "parameters",
        "type",
        "enum",
        "anyOf",
        "properties",
        "nullable",
        "maxItems",
        "toolConfig",
        "candidates",
        "functionCallingConfig",
        "mode",
        "allowedFunctionNames",
        "generationConfig",
        "thinkingConfig",
        "thinkingBudget",
        "responseSchema",
        "stopSequences",
        "candidateCount",
        "content",
        "finishReason",
        "usageMetadata",
        "partialArgs",
        "jsonPath",
        "stringValue",
        "willContinue",
        "promptFeedback",
        "blockReason",
        "promptTokenCount",
        "index",
    ];
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "null",
            "true",
            "false",
            "-1",
            "1e999",
            "\"\"",
            "\"model\"",
            "\"ANY\"",
            "\"$.a[0]\""
        ])
        .prop_map(str::to_owned),
        "\"[a-z:/$.\\[\\]é-]{0,9}\"",
    ];
    leaf.prop_recursive(8, 64, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|all| format!("[{}]", all.join(","))),
            prop::collection::vec((prop::sample::select(FIELDS), inner), 0..5).prop_map(|fields| {
                let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

/// Nothing panics, and whatever can be read is written as JSON.
fn read_anything(bytes: &[u8]) {
    let mut notes = Notes::default();
    // Whoever calls has seen that it is UTF-8.
    if let (Ok(_), Ok(mut prompt)) = (std::str::from_utf8(bytes), read_request(bytes, &mut notes)) {
        repair::repair(&mut prompt, GEMINI, &mut notes);
        let body = write_request(&prompt, GEMINI, &mut notes);
        assert!(serde_json::from_str::<serde::de::IgnoredAny>(&body).is_ok() || has_oddities(bytes), "{body}");
    }
    if let Ok(answer) = read_answer(bytes) {
        let body = write_answer(&answer);
        assert!(serde_json::from_str::<serde::de::IgnoredAny>(&body).is_ok() || has_oddities(bytes), "{body}");
    }
    for framing in [Framing::Sse, Framing::JsonArray] {
        let mut frames = Frames::new(framing);
        let prefix = if framing == Framing::Sse { "data: " } else { "[" };
        frames.feed(Bytes::from([prefix.as_bytes(), bytes, b"\n\n"].concat())).unwrap();
        let (mut reader, mut writer, mut out) = (Reader::default(), Writer::new(framing), String::new());
        while let Some(frame) = frames.next() {
            // What cannot be read is an error, and that is all.
            let _ = reader.feed(&frame, &mut |event| writer.write(&event, &mut out));
        }
        writer.write(&Event::End, &mut out);
    }
}

/// What the cursor lets pass and a stricter reader does not.
fn has_oddities(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err()
}
