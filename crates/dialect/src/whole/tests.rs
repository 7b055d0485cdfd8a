use super::*;

fn problem(format: Format, body: &str) -> Option<Problem> {
    check(format, body.as_bytes()).problem
}

#[test]
fn answers_and_what_only_looks_like_one() {
    use Problem::{Empty, ErrorInside, NotJson};
    let chat = |message: &str, reason: &str| {
        format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"{reason}"}}]}}"#)
    };
    let messages =
        |content: &str, reason: &str| format!(r#"{{"type":"message","content":{content},"stop_reason":"{reason}"}}"#);
    let gemini = |part: &str, reason: &str| {
        format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"finishReason":"{reason}"}}]}}"#)
    };
    #[rustfmt::skip]
    let cases = [
        (Format::Chat, chat(r#"{"role":"assistant","content":"Hi"}"#, "stop"), None),
        (Format::Chat, chat(r#"{"role":"assistant","content":"","refusal":null}"#, "stop"), Some(Empty)),
        (Format::Chat, chat(r#"{"content":null,"tool_calls":[{"id":"a"}]}"#, "tool_calls"), None),
        (Format::Chat, chat(r#"{"content":null,"reasoning_content":"Hm"}"#, "stop"), Some(Empty)),
        (Format::Chat, chat(r#"{"content":""}"#, "content_filter"), None),
        (Format::Chat, chat(r#"{"content":""}"#, "length"), None),
        (Format::Chat, r#"{"choices":[]}"#.into(), Some(Empty)),
        (Format::Chat, r#"{"error":{"message":"x"}}"#.into(), Some(ErrorInside)),
        (Format::Chat, r#"{"object":"error","message":"x"}"#.into(), Some(ErrorInside)),
        (Format::Chat, String::new(), Some(NotJson)),
        (Format::Chat, "<html>".into(), Some(NotJson)),
        (Format::Chat, "[]".into(), Some(NotJson)),
        (Format::Chat, r#"{"choices":["#.into(), Some(NotJson)),
        (Format::Messages, messages(r#"[{"type":"text","text":"Hi"}]"#, "end_turn"), None),
        (Format::Messages, messages(r#"[{"type":"text","text":""}]"#, "end_turn"), Some(Empty)),
        (Format::Messages, messages(r#"[{"type":"thinking","thinking":"Hm"}]"#, "end_turn"), Some(Empty)),
        (Format::Messages, messages(r#"[{"type":"tool_use","input":{}}]"#, "tool_use"), None),
        (Format::Messages, messages("[]", "refusal"), None),
        (Format::Messages, messages("[]", "end_turn"), Some(Empty)),
        (Format::Messages, r#"{"type":"error","error":{"type":"overloaded_error"}}"#.into(), Some(ErrorInside)),
        (Format::Responses, r#"{"status":"completed","error":null,"output":[{"type":"message","content":[{"text":"Hi"}]}]}"#.into(), None),
        (Format::Responses, r#"{"status":"completed","output":[{"type":"reasoning"}]}"#.into(), Some(Empty)),
        (Format::Responses, r#"{"status":"completed","output":[{"type":"function_call"}]}"#.into(), None),
        (Format::Responses, r#"{"status":"queued","output":[]}"#.into(), None),
        (Format::Responses, r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}"#.into(), None),
        (Format::Responses, r#"{"status":"failed","error":{"code":"server_error"},"output":[]}"#.into(), Some(ErrorInside)),
        (Format::Gemini, gemini(r#"{"text":"Hi"}"#, "STOP"), None),
        (Format::Gemini, gemini(r#"{"text":"Hm","thought":true}"#, "STOP"), Some(Empty)),
        (Format::Gemini, gemini(r#"{"functionCall":{"name":"f"}}"#, "STOP"), None),
        (Format::Gemini, gemini(r#"{"text":""}"#, "MALFORMED_FUNCTION_CALL"), Some(Empty)),
        (Format::Gemini, gemini(r#"{"text":""}"#, "SAFETY"), None),
        (Format::Gemini, r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#.into(), None),
        (Format::Gemini, r#"{"error":{"code":503}}"#.into(), Some(ErrorInside)),
    ];
    for (format, body, expected) in cases {
        assert_eq!(problem(format, &body), expected, "{format:?} {body}");
    }
}

#[test]
fn usage_and_model() {
    let whole = check(Format::Chat, br#"{"model":"gpt-5","usage":{"prompt_tokens":3,"completion_tokens":4}}"#);
    assert_eq!(whole.model.as_deref(), Some("gpt-5"));
    assert_eq!(whole.usage, Some(Usage { input_tokens: 3, output_tokens: 4 }));
    let cached = br#"{"usage":{"input_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":4}}"#;
    assert_eq!(check(Format::Messages, cached).usage, Some(Usage { input_tokens: 321, output_tokens: 4 }));
    assert_eq!(embed_usage(br#"{"data":[],"usage":{"prompt_tokens":8,"total_tokens":8}}"#).unwrap().input_tokens, 8);
    assert_eq!(embed_usage(br#"{"input_tokens":14}"#).unwrap().input_tokens, 14);
    assert_eq!(embed_usage(br#"{"totalTokens":31}"#).unwrap().input_tokens, 31);
    assert_eq!(embed_usage(b"{}"), None);
    assert_eq!(embed_usage(b"oops"), None);
}
