use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn request(path: &str) -> Request<'_> {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    Request { method: "POST", path, query }
}

fn peek(path: &str, body: &str) -> Result<Envelope, Malformed> {
    let request = request(path);
    Envelope::peek(&Route::of(request, false).unwrap(), request, body.as_bytes())
}

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages?beta=true";
const GEMINI: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";

/// The switches that are on.
fn switches(path: &str, body: &Value) -> String {
    let envelope = peek(path, &body.to_string()).unwrap();
    let all = [
        ("stream", envelope.stream),
        ("tools", envelope.tools),
        ("images", envelope.images),
        ("thinking", envelope.thinking),
        ("json", envelope.json_output),
        ("continues", envelope.continues_turn),
    ];
    all.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

#[test]
fn chat() {
    assert_eq!(switches(CHAT, &json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]})), "");
    let body = json!({
        "model": "gpt-5", "stream": true, "max_tokens": 10, "max_completion_tokens": 20, "reasoning_effort": "low",
        "messages": [
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]},
            {"role": "tool", "content": "42", "tool_call_id": "a"}],
        "tools": [{"type": "function"}], "response_format": {"type": "json_object"}, "prompt_cache_key": "s1",
    });
    assert_eq!(switches(CHAT, &body), "stream tools images thinking json continues");
    let envelope = peek(CHAT, &body.to_string()).unwrap();
    assert_eq!((envelope.output_tokens_max, envelope.session.as_deref()), (Some(20), Some("s1")));
    let off = json!({"tools": [], "reasoning_effort": "none", "response_format": {"type": "text"}, "stream": false});
    assert_eq!(switches(CHAT, &off), "");
    let earlier = json!({"messages": [{"role": "tool", "content": "42"}, {"role": "user", "content": "thanks"}]});
    assert_eq!(switches(CHAT, &earlier), "");
    assert_eq!(switches(CHAT, &json!({"thinking": {"type": "enabled"}})), "thinking");
    assert_eq!(switches(CHAT, &json!({"reasoning": {"max_tokens": 100}})), "thinking");
}

#[test]
fn responses() {
    let body = json!({
        "model": "gpt-5-codex", "stream": true, "max_output_tokens": 99, "reasoning": {"effort": "medium"},
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA"}]},
            {"type": "function_call", "arguments": "{\"type\":\"image\"}"},
            {"type": "function_call_output", "call_id": "a", "output": "42"}],
        "tools": [{"type": "function"}], "text": {"format": {"type": "json_schema"}}, "conversation": {"id": "conv_1"},
    });
    assert_eq!(switches(RESPONSES, &body), "stream tools images thinking json continues");
    assert_eq!(peek(RESPONSES, &body.to_string()).unwrap().session.as_deref(), Some("conv_1"));
    assert_eq!(
        switches(RESPONSES, &json!({"input": "Hi", "reasoning": null, "text": {"format": {"type": "text"}}})),
        ""
    );
}

#[test]
fn messages() {
    let body = json!({
        "model": "claude-sonnet-4-5", "stream": true, "max_tokens": 32000, "thinking": {"type": "enabled", "budget_tokens": 9},
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"type": "image"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "x"}, {"type": "text", "text": "reminder"}]}],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "metadata": {"user_id": "{\"device_id\":\"d\",\"account_uuid\":\"\",\"session_id\":\"0b7c\"}"},
    });
    assert_eq!(switches(MESSAGES, &body), "stream tools thinking continues");
    let envelope = peek(MESSAGES, &body.to_string()).unwrap();
    assert_eq!((envelope.session.as_deref(), envelope.output_tokens_max), (Some("0b7c"), Some(32000)));
    let old = json!({"metadata": {"user_id": "user_ab_account__session_1f2e-3d"}});
    assert_eq!(peek(MESSAGES, &old.to_string()).unwrap().session.as_deref(), Some("1f2e-3d"));
    assert_eq!(peek(MESSAGES, r#"{"metadata":{"user_id":"fred"}}"#).unwrap().session, None);
    let shot = json!({"messages": [{"role": "user", "content": [
        {"type": "tool_result", "content": [{"type": "image", "source": {"type": "base64", "data": "AA"}}]}]}]});
    assert_eq!(switches(MESSAGES, &shot), "images continues");
    assert_eq!(switches(MESSAGES, &json!({"output_config": {"format": {"type": "json_schema"}}})), "json");
}

#[test]
fn gemini() {
    let body = json!({
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}],
        "tools": [{"functionDeclarations": []}],
        "generationConfig": {
            "maxOutputTokens": 5, "responseMimeType": "application/json", "thinkingConfig": {"thinkingBudget": -1}},
    });
    assert_eq!(switches(GEMINI, &body), "stream tools images thinking json continues");
    let envelope = peek(GEMINI, &body.to_string()).unwrap();
    assert_eq!((envelope.model.as_deref(), envelope.framing), (Some("gemini-2.5-pro"), Framing::Sse));
    let array = peek("/v1beta/models/g:streamGenerateContent?key=k", "{}").unwrap();
    assert_eq!((array.stream, array.framing), (true, Framing::JsonArray));
    let whole = peek("/v1beta/models/g:generateContent", r#"{"stream":true,"model":"models/other"}"#).unwrap();
    assert_eq!((whole.stream, whole.model.as_deref()), (false, Some("g")));
    assert_eq!(switches(GEMINI, &json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}})), "stream");
}

#[test]
fn tokens_are_estimated() {
    let text = "word ".repeat(4_000);
    let tokens = |content: Value| {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": content}]});
        peek(CHAT, &body.to_string()).unwrap().input_tokens
    };
    assert!((5_000..5_050).contains(&tokens(json!(text))));
    let image = format!("data:image/png;base64,{}", "iVBORw0KGgo".repeat(40_000));
    let with_image = tokens(json!([{"type": "image_url", "image_url": {"url": image}}]));
    assert!((1_500..1_600).contains(&with_image), "{with_image}");
    let bare = "iVBORw0KGgo".repeat(40_000);
    assert!((1_500..1_600).contains(&tokens(json!([{"type": "image", "source": {"data": bare}}]))));
    assert!(tokens(json!([{"data": text}])) > 5_000);
}

#[test]
fn malformed_bodies() {
    for (body, at_byte) in [("", 0), ("[]", 0), ("{\"model\":", 9), ("{} {}", 3), ("{\"a\":1,}", 7), ("\u{feff}{}", 0)]
    {
        assert_eq!(peek(CHAT, body).unwrap_err().at_byte, at_byte, "{body}");
    }
    let error = peek(CHAT, "{\"model\":\"a\"").unwrap_err();
    assert_eq!(error.to_string(), "cannot read the request body: expected a comma or the end of the list at byte 12");
    let request = request(CHAT);
    let route = Route::of(request, false).unwrap();
    assert_eq!(Envelope::peek(&route, request, b"{\"a\":\"\xff\"}").unwrap_err().at_byte, 6);
}

#[test]
fn of_other_paths_nothing_is_demanded() {
    for body in ["", "--boundary\r\n", "{\"model\":\"a\"", "[1]"] {
        assert_eq!(peek("/v1/files", body), Ok(Envelope::default()));
    }
    assert_eq!(peek("/v1/audio/speech", r#"{"model":"tts-1"}"#).unwrap().model.as_deref(), Some("tts-1"));
    assert_eq!(peek("/v1/embeddings", r#"{"model":"e","input":["a"]}"#).unwrap().model.as_deref(), Some("e"));
    let list = Request { method: "GET", path: "/v1/models", query: None };
    assert_eq!(Envelope::peek(&Route::of(list, false).unwrap(), list, b""), Ok(Envelope::default()));
}

#[test]
fn the_model_is_replaced_in_place() {
    let body =
        Bytes::from_static(br#" { "a" : 1.50, "model" :"old\u0041" , "messages":[{"model":"no"}], "b": "\/" } "#);
    let envelope = peek(CHAT, std::str::from_utf8(&body).unwrap()).unwrap();
    assert_eq!(envelope.model.as_deref(), Some("oldA"));
    let changed = envelope.body_with_model(&body, "new\"");
    assert_eq!(&changed[..], br#" { "a" : 1.50, "model" :"new\"" , "messages":[{"model":"no"}], "b": "\/" } "#);
    assert_eq!(envelope.body_with_model(&body, "oldA").as_ptr(), body.as_ptr());
    let none = peek(CHAT, "{}").unwrap();
    assert_eq!(none.body_with_model(&Bytes::from_static(b"{}"), "x"), Bytes::from_static(b"{}"));
}

proptest! {
    #[test]
    fn every_other_byte_stays(before in "[a-z\\\\\"é]{0,9}", after in ".{0,9}", model in ".{0,9}", new in ".{0,9}") {
        let head = format!("{{\"x\": {}, \"model\": ", Value::from(before));
        let tail = format!(" ,\"messages\":[{}]}}", Value::from(after));
        let body = Bytes::from(format!("{head}{}{tail}", Value::from(model.clone())));
        let envelope = peek(CHAT, std::str::from_utf8(&body).unwrap()).unwrap();
        prop_assert_eq!(envelope.model.as_deref(), Some(&model[..]));
        let changed = envelope.body_with_model(&body, &new);
        let expected = format!("{head}{}{tail}", Value::from(new));
        prop_assert_eq!(&changed[..], expected.as_bytes());
    }

    #[test]
    fn nothing_panics(body in proptest::collection::vec(any::<u8>(), 0..300), cut in 0..400_usize) {
        let real = json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "image", "data": "AA"}]}],
            "input": [{"type": "x"}], "contents": [{"parts": [{"text": "a"}]}], "metadata": {"user_id": "{\"session_id\":1}"},
            "generationConfig": {"thinkingConfig": {"thinkingBudget": 1}}, "tools": [{}]}).to_string();
        for path in [CHAT, RESPONSES, MESSAGES, GEMINI, "/v1/files", "/v1/embeddings"] {
            let request = request(path);
            let route = Route::of(request, false).unwrap();
            let _ = Envelope::peek(&route, request, &body);
            let _ = Envelope::peek(&route, request, &real.as_bytes()[..cut.min(real.len())]);
        }
    }
}
