//! Every format, streaming and not, read as its clients read it.

use serde_json::{Value, json};
use steadfast_fake::Fake;

use crate::client::{
    Answer, CHAT, Client, Ended, GEMINI, GEMINI_ARRAY, GEMINI_SSE, MESSAGES, RESPONSES, STREAMS, ask, body,
    body_with_tool,
};

const WORDS: &str = "word-1 word-2 word-3";

async fn answer(path: &str, stream: bool, spec: &str) -> Answer {
    let fake = Fake::start().await.unwrap();
    let answer = ask(fake.addr(), path, spec, &body(path, stream)).await;
    assert_eq!((answer.status, answer.ended), (200, Ended::Whole), "{path}: {}", answer.text());
    answer
}

async fn tool_answer(path: &str, stream: bool, spec: &str) -> Answer {
    let fake = Fake::start().await.unwrap();
    ask(fake.addr(), path, spec, &body_with_tool(path, stream)).await
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_path_says_the_same_words_whole_and_streamed() {
    for path in STREAMS {
        let streamed = answer(path, true, "words=3").await;
        assert_eq!(streamed.said(), WORDS, "{path}: {}", streamed.text());
        assert_eq!(streamed.header("transfer-encoding"), Some("chunked"));
    }
    for path in [CHAT, RESPONSES, MESSAGES, GEMINI] {
        let whole = answer(path, false, "words=3").await;
        assert_eq!(whole.said(), WORDS, "{path}: {}", whole.text());
        assert_eq!(whole.header("content-length").unwrap(), whole.body.len().to_string());
    }
}

#[tokio::test]
async fn a_chat_completion() {
    let answer = answer(CHAT, false, "words=3").await;
    let json = answer.json();
    assert_eq!(json["object"], "chat.completion");
    assert_eq!(json["model"], "gpt-5");
    assert_eq!(json["choices"][0]["message"]["role"], "assistant");
    assert_eq!(json["choices"][0]["finish_reason"], "stop");
    assert_eq!(json["usage"]["completion_tokens"], 3);
    assert!(json["usage"]["prompt_tokens"].as_u64().unwrap() > 0);
    assert!(answer.header("x-request-id").unwrap().starts_with("req_"));
    assert_eq!(answer.header("x-ratelimit-limit-requests"), Some("10000"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn a_chat_stream() {
    let events = answer(CHAT, true, "words=2").await.events();
    assert_eq!(events.len(), 5, "{events:#?}");
    assert_eq!(events[0]["choices"][0]["delta"], json!({ "role": "assistant", "content": "", "refusal": null }));
    assert_eq!(events[2]["choices"][0]["delta"], json!({ "content": " word-2" }));
    assert_eq!(events[3]["choices"][0]["finish_reason"], "stop");
    assert_eq!(events[4], "[DONE]");
    assert!(events[0].get("usage").is_none());
}

#[tokio::test]
async fn a_chat_stream_with_usage() {
    let fake = Fake::start().await.unwrap();
    let mut request = body(CHAT, true);
    request["stream_options"] = json!({ "include_usage": true });
    let events = ask(fake.addr(), CHAT, "words=2", &request).await.events();
    assert_eq!(events.len(), 6);
    assert_eq!(events[0]["usage"], Value::Null);
    assert_eq!(events[4]["choices"], json!([]));
    assert_eq!(events[4]["usage"]["completion_tokens"], 2);
    let without = ask(fake.addr(), CHAT, "words=2 no-usage", &request).await.events();
    assert_eq!(without.len(), 5);
}

#[tokio::test]
async fn a_message() {
    let answer = answer(MESSAGES, false, "words=3").await;
    let json = answer.json();
    assert_eq!(
        (&json["type"], &json["role"], &json["stop_reason"]),
        (&json!("message"), &json!("assistant"), &json!("end_turn"))
    );
    assert_eq!(json["content"], json!([{ "type": "text", "text": WORDS }]));
    assert_eq!(json["usage"]["output_tokens"], 3);
    assert!(answer.header("request-id").unwrap().starts_with("req_011"));
    assert!(answer.header("anthropic-ratelimit-requests-remaining").is_some());
}

#[tokio::test]
async fn a_message_stream() {
    let answer = answer(MESSAGES, true, "words=1").await;
    let events = answer.events();
    assert_eq!(
        kinds(&events),
        [
            "message_start",
            "content_block_start",
            "ping",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop"
        ]
    );
    assert_eq!(events[0]["message"]["content"], json!([]));
    assert!(events[0]["message"]["usage"]["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(events[5]["usage"]["output_tokens"], 1);
    // Each event has the name of its type.
    for (line, kind) in answer.text().lines().filter_map(|line| line.strip_prefix("event: ")).zip(kinds(&events)) {
        assert_eq!(line, kind);
    }
}

#[tokio::test]
async fn a_response() {
    let json = answer(RESPONSES, false, "words=3").await.json();
    assert_eq!((&json["object"], &json["status"]), (&json!("response"), &json!("completed")));
    assert_eq!(json["output"][0]["content"][0]["text"], WORDS);
    assert_eq!(json["usage"]["output_tokens"], 3);
}

#[tokio::test]
async fn a_response_stream() {
    let events = answer(RESPONSES, true, "words=1").await.events();
    assert_eq!(
        kinds(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed"
        ]
    );
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], index);
    }
    assert_eq!(events[8]["response"]["output"][0]["content"][0]["text"], "word-1");
    assert_eq!(events[8]["response"]["usage"]["output_tokens"], 1);
}

#[tokio::test]
async fn a_gemini_answer_and_both_its_streams() {
    let json = answer(GEMINI, false, "words=3").await.json();
    assert_eq!(json["candidates"][0]["finishReason"], "STOP");
    assert_eq!(json["modelVersion"], "gemini-2.5-pro");
    assert_eq!(json["usageMetadata"]["candidatesTokenCount"], 3);

    let streamed = answer(GEMINI_SSE, true, "words=3").await;
    assert_eq!(streamed.header("content-type"), Some("text/event-stream"));
    let events = streamed.events();
    assert_eq!(events.len(), 4);
    assert!(events[2]["candidates"][0].get("finishReason").is_none());
    assert_eq!(events[3]["candidates"][0]["finishReason"], "STOP");

    let array = answer(GEMINI_ARRAY, true, "words=3").await;
    assert!(array.header("content-type").unwrap().starts_with("application/json"));
    assert_eq!(array.json().as_array().unwrap(), &events_without_number(&events, &array.json()));
}

/// The same events with the other answer's id.
fn events_without_number(events: &[Value], other: &Value) -> Vec<Value> {
    let renumbered = events.iter().cloned().map(|mut event| {
        event["responseId"] = other[0]["responseId"].clone();
        event
    });
    renumbered.collect()
}

#[tokio::test]
async fn a_tool_call_in_every_format() {
    let arguments = json!({ "city": "word-1", "days": 1 });
    let read = |text: &Value| serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap();

    let json = tool_answer(CHAT, false, "answer=tool").await.json();
    let call = &json["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(
        (&call["function"]["name"], read(&call["function"]["arguments"])),
        (&json!("weather"), arguments.clone())
    );
    assert_eq!(json["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(json["choices"][0]["message"]["content"], Value::Null);

    let json = tool_answer(MESSAGES, false, "answer=text+tool").await.json();
    assert_eq!(json["content"][0]["type"], "text");
    assert_eq!((&json["content"][1]["name"], &json["content"][1]["input"]), (&json!("weather"), &arguments));
    assert_eq!(json["stop_reason"], "tool_use");

    let json = tool_answer(RESPONSES, false, "answer=tools").await.json();
    assert_eq!(json["output"].as_array().unwrap().len(), 2);
    assert_eq!(json["output"][1]["type"], "function_call");
    assert_ne!(json["output"][0]["call_id"], json["output"][1]["call_id"]);
    assert_eq!(read(&json["output"][1]["arguments"]), arguments);

    let json = tool_answer(GEMINI, false, "answer=tool").await.json();
    assert_eq!(
        json["candidates"][0]["content"]["parts"][0]["functionCall"],
        json!({ "name": "weather", "args": arguments })
    );
}

#[tokio::test]
async fn a_streamed_tool_call_is_whole_when_joined() {
    let arguments = json!({ "city": "word-1", "days": 1 }).to_string();
    let places = [
        (CHAT, "/choices/0/delta/tool_calls/0/function/arguments"),
        (MESSAGES, "/delta/partial_json"),
        (RESPONSES, "/delta"),
    ];
    for (path, place) in places {
        let events = tool_answer(path, true, "answer=tool").await.events();
        let parts: Vec<&str> = events.iter().filter_map(|event| event.pointer(place)?.as_str()).collect();
        assert_eq!(parts.concat(), arguments, "{path}");
        assert!(parts.len() > 3, "{path}: {parts:?}");
    }
}

#[tokio::test]
async fn an_agents_turn_is_a_call_and_then_words() {
    let call = r#"call="weather {\"city\":\"Ulm\"}" words=3"#;
    let fake = Fake::start().await.unwrap();
    // What each client sends back: the question, the model's call, the tool's answer, and whatever it likes to add.
    let histories = [
        (
            CHAT,
            "messages",
            json!([{ "role": "user", "content": "go" }, { "role": "assistant", "tool_calls": [] }, { "role": "tool", "content": "rain" }]),
        ),
        (
            MESSAGES,
            "messages",
            json!([
                { "role": "user", "content": "go" }, { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "weather", "input": {} }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "rain" }] }, { "role": "user", "content": "and?" },
            ]),
        ),
        (
            RESPONSES,
            "input",
            json!([
                { "role": "user", "content": "go" }, { "type": "function_call", "call_id": "c", "name": "weather", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c", "output": "rain" },
            ]),
        ),
        (
            GEMINI,
            "contents",
            json!([
                { "role": "user", "parts": [{ "text": "go" }] }, { "role": "model", "parts": [{ "functionCall": { "name": "weather" } }] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "weather", "response": {} } }] },
            ]),
        ),
    ];
    for (path, key, history) in histories {
        let mut body = body_with_tool(path, false);
        let called = ask(fake.addr(), path, call, &body).await;
        let text = called.json().to_string().replace('\\', "");
        assert!(text.contains(r#""city":"Ulm","days":1"#), "{path}: {text}");
        body[key] = history.clone();
        assert_eq!(ask(fake.addr(), path, call, &body).await.said(), WORDS, "{path}: its result has come");
        let mut again = history.as_array().unwrap().clone();
        let turns = if path == GEMINI { ("model", "parts") } else { ("assistant", "content") };
        again.push(json!({ "role": turns.0, turns.1: [{ "type": "text", "text": "done" }] }));
        again.push(json!({ "role": "user", turns.1: [{ "type": "text", "text": "go on" }] }));
        body[key] = again.into();
        let called = ask(fake.addr(), path, call, &body).await.json().to_string();
        assert!(called.contains("Ulm"), "{path}: a new turn begins with a call: {called}");
    }
    let answer = ask(fake.addr(), CHAT, "call=nosuch words=3", &body_with_tool(CHAT, false)).await;
    assert_eq!(answer.said(), WORDS, "a tool the request does not have");
    let refused = ask(fake.addr(), CHAT, r#"call="weather [1]""#, &body(CHAT, false)).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("a tool and perhaps arguments"), "{}", refused.text());
}

#[tokio::test]
async fn thinking_in_every_format() {
    for (path, place, value) in [
        (CHAT, "/choices/0/delta/reasoning_content", json!("word-1")),
        (MESSAGES, "/delta/thinking", json!("word-1")),
        (RESPONSES, "/type", json!("response.reasoning_summary_text.delta")),
        (GEMINI_SSE, "/candidates/0/content/parts/0/thought", json!(true)),
    ] {
        let answer = answer(path, true, "answer=thinking words=2").await;
        let found = answer.events().iter().any(|event| event.pointer(place) == Some(&value));
        assert!(found, "{path}: {}", answer.text());
    }
    for path in [CHAT, MESSAGES, RESPONSES, GEMINI] {
        let text = answer(path, false, "answer=thinking words=2").await.json().to_string();
        assert_eq!(text.matches("word-1 word-2").count(), 2, "{path}: {text}");
    }
}

#[tokio::test]
async fn json_is_said_where_it_is_asked_for() {
    let fake = Fake::start().await.unwrap();
    let schema =
        json!({ "type": "object", "properties": { "model": { "enum": ["flash", "pro"] } }, "required": ["model"] });
    let mut request = body(GEMINI, false);
    request["generationConfig"] = json!({ "responseMimeType": "application/json", "responseJsonSchema": schema });
    let said = ask(fake.addr(), GEMINI, "", &request).await.said();
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), json!({ "model": "flash" }));

    let mut request = body(CHAT, false);
    request["response_format"] = json!({ "type": "json_object" });
    let said = ask(fake.addr(), CHAT, "", &request).await.said();
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap()["count"], 16);
    let said = ask(fake.addr(), CHAT, "bad_json", &request).await.said();
    assert!(serde_json::from_str::<Value>(&said).is_err() && said.starts_with('{'), "{said}");
}

#[tokio::test]
async fn an_echo_and_a_text_of_ones_own() {
    for path in STREAMS {
        assert_eq!(answer(path, true, "answer=echo").await.said(), "say something", "{path}");
        assert_eq!(answer(path, true, "text=\"one; \\\"two\\\"\"").await.said(), "one; \"two\"", "{path}");
    }
}

#[tokio::test]
async fn a_prefill_is_continued() {
    let fake = Fake::start().await.unwrap();
    let mut request = body(MESSAGES, true);
    let said = |text: &str| json!([{ "role": "user", "content": "go" }, { "role": "assistant", "content": text }]);
    request["messages"] = said("word-1 wor");
    assert_eq!(ask(fake.addr(), MESSAGES, "words=3", &request).await.said(), "d-2 word-3");
    request["messages"] = said("word-1 ");
    let refused = ask(fake.addr(), MESSAGES, "words=3", &request).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("trailing whitespace"));
    request["messages"] = said("word-1");
    let refused = ask(fake.addr(), MESSAGES, "no-prefill", &request).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("prefill"));
}

#[tokio::test]
async fn what_is_not_generated() {
    let fake = Fake::start().await.unwrap();
    let mut client = Client::connect(fake.addr()).await;
    let list = client.get("/v1/models", "").await.json();
    assert_eq!((&list["object"], &list["data"][0]["object"]), (&json!("list"), &json!("model")));
    let list = client.get("/v1/models?limit=1000", "anthropic-version: 2023-06-01\r\n").await.json();
    assert_eq!((&list["has_more"], &list["data"][0]["type"]), (&json!(false), &json!("model")));
    assert!(
        client.get("/v1beta/models", "").await.json()["models"][0]["name"].as_str().unwrap().starts_with("models/")
    );
    assert_eq!(client.get("/v1/models/gpt-5", "").await.json()["id"], "gpt-5");

    let counted = ask(fake.addr(), "/v1/messages/count_tokens", "", &body(MESSAGES, false)).await.json();
    assert!(counted["input_tokens"].as_u64().unwrap() > 10);
    let counted = ask(fake.addr(), "/v1beta/models/g:countTokens", "", &body(GEMINI, false)).await.json();
    assert!(counted["totalTokens"].as_u64().unwrap() > 10);

    let request = json!({ "model": "text-embedding-3-small", "input": ["a", "b"] });
    let embedded = ask(fake.addr(), "/v1/embeddings", "", &request).await.json();
    assert_eq!(embedded["data"].as_array().unwrap().len(), 2);
    assert_eq!(embedded["data"][1]["embedding"][0], 2.0 / 64.0);
    let request = json!({ "model": "m", "input": "a", "encoding_format": "base64", "dimensions": 2 });
    let embedded = ask(fake.addr(), "/v1/embeddings", "", &request).await.json();
    assert_eq!(embedded["data"][0]["embedding"], "AACAPAAAgDw=");
}

#[tokio::test]
async fn what_leads_nowhere_is_refused_in_the_vendors_shape() {
    let fake = Fake::start().await.unwrap();
    let mut client = Client::connect(fake.addr()).await;
    let nowhere = client.get("/v1/nothing", "").await;
    assert_eq!((nowhere.status, &nowhere.json()["error"]["type"]), (404, &json!("invalid_request_error")));
    let nowhere = client.get("/v1/messages/batches", "").await;
    assert_eq!((nowhere.status, &nowhere.json()["error"]["type"]), (404, &json!("not_found_error")));
    let nowhere = client.get("/v1beta/files", "").await;
    assert_eq!((nowhere.status, &nowhere.json()["error"]["status"]), (404, &json!("NOT_FOUND")));
    let upgrade = client.get("/v1/responses", "connection: upgrade\r\nupgrade: websocket\r\n").await;
    assert_eq!(upgrade.status, 426);

    let incomplete = json!({ "model": "claude", "messages": [{ "role": "user", "content": "x" }] });
    let refused = ask(fake.addr(), MESSAGES, "", &incomplete).await;
    assert_eq!((refused.status, &refused.json()["error"]["message"]), (400, &json!("max_tokens: Field required")));
    let refused = ask(fake.addr(), CHAT, "", &json!({ "messages": [] })).await;
    assert_eq!(refused.status, 400);
    let refused = ask(fake.addr(), GEMINI, "", &json!({})).await;
    assert_eq!((refused.status, &refused.json()["error"]["status"]), (400, &json!("INVALID_ARGUMENT")));
}

#[tokio::test]
async fn other_base_paths() {
    let fake = Fake::start().await.unwrap();
    for path in [
        "/chat/completions",
        "/openai/v1/chat/completions",
        "/v1beta/openai/chat/completions",
        "/@b/v1/chat/completions",
    ] {
        assert_eq!(ask(fake.addr(), path, "words=1", &body(CHAT, false)).await.said(), "word-1", "{path}");
    }
    let path = "/v1/models/gemini-2.5-pro:streamGenerateContent?alt=sse&key=k";
    assert_eq!(ask(fake.addr(), path, "words=1", &body(GEMINI, false)).await.said(), "word-1");
    assert_eq!(ask(fake.addr(), "/v1/v1/messages", "", &body(MESSAGES, false)).await.status, 404);
}

#[tokio::test]
async fn an_answer_in_gzip() {
    use std::io::Read as _;
    let fake = Fake::start().await.unwrap();
    for (path, stream) in [(CHAT, true), (CHAT, false), (MESSAGES, true), (GEMINI_SSE, true)] {
        let mut answer = ask(fake.addr(), path, "gzip words=3", &body(path, stream)).await;
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&*answer.body).read_to_end(&mut plain).unwrap();
        answer.body = plain;
        assert_eq!(answer.said(), WORDS, "{path}");
    }
}
