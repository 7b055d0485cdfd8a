//! A client of any format, served by a provider of another.

use serde_json::{Value, json};
use steadfast_fake::Received;

use crate::harness::{Answer, Speaks, Stage, all_at_once, events, post, with};
use crate::streams::quick;

/// The three dialects, and the model that stands for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vendor {
    OpenAi,
    Anthropic,
    Google,
}

impl Vendor {
    const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Google];

    const fn model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-two",
            Self::Anthropic => "claude-two",
            Self::Google => "gemini-two",
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
            Self::Google => "/v1beta/models/gemini-two:",
        }
    }

    const fn of(speaks: Speaks) -> Self {
        match speaks {
            Speaks::Chat | Speaks::Responses => Self::OpenAi,
            Speaks::Messages => Self::Anthropic,
            Speaks::Gemini | Speaks::Array => Self::Google,
        }
    }
}

/// Every client and every vendor that is not its own.
fn pairs() -> impl Iterator<Item = (Speaks, Vendor)> {
    let all = Speaks::ALL.into_iter().flat_map(|speaks| Vendor::ALL.map(|vendor| (speaks, vendor)));
    all.filter(|(speaks, vendor)| Vendor::of(*speaks) != *vendor)
}

/// A request that falls back to another vendor at once.
async fn ask(stage: &Stage, speaks: Speaks, vendor: Vendor, stream: bool, body: &Value) -> Answer {
    let request = with(post(speaks.path(stream), body), "x-steadfast-chain", vendor.model());
    stage.send(request).await
}

fn last(stage: &Stage) -> Received {
    stage.fake.requests().pop().unwrap()
}

#[tokio::test]
async fn a_client_of_any_format_is_served_by_any_vendor() {
    let stage = Stage::usual("").await;
    for (speaks, vendor) in pairs() {
        for stream in [false, true] {
            stage.script("a", "status=404");
            let answer = ask(&stage, speaks, vendor, stream, &speaks.body(stream)).await;
            let told = format!("{speaks:?} {vendor:?} {stream}: {}", answer.text());
            assert_eq!(answer.status, 200, "{told}");
            assert_eq!(answer.header("x-steadfast-model"), vendor.model(), "{told}");
            assert!(!answer.header("x-steadfast-translated").is_empty(), "{told}");
            let sent = last(&stage);
            assert!(sent.path.starts_with(vendor.path()), "{told} {}", sent.path);
            assert_eq!(sent.stream, stream, "{told}");
            if stream {
                assert!(speaks.is_whole(&answer.text()), "{told}");
                assert!(speaks.text(&answer.text()).starts_with("word-1 word-2"), "{told}");
            } else {
                assert!(answer.text().contains("word-1 word-2"), "{told}");
            }
        }
    }
}

#[tokio::test]
async fn a_tool_call_crosses_and_its_result_comes_back() {
    for (speaks, vendor) in pairs() {
        let stage = Stage::usual("").await;
        stage.script("a", "status=404");
        stage.script("b", "answer=tool");
        let mut body = speaks.body_with_tool();
        let answer = ask(&stage, speaks, vendor, true, &body).await;
        let told = format!("{speaks:?} {vendor:?}: {}", answer.text());
        assert!(speaks.is_whole(&answer.text()), "{told}");
        let call = tool_call(speaks, &answer.text()).unwrap_or_else(|| panic!("a call: {told}"));
        assert_eq!(call["name"], "weather", "{told}");
        // The client sends it back with the result, and again it crosses.
        stage.script("b", "ok");
        add_result(speaks, &mut body, &call);
        let answer = ask(&stage, speaks, vendor, true, &body).await;
        assert_eq!(answer.status, 200, "{told}");
        let sent = String::from_utf8(last(&stage).body.to_vec()).unwrap();
        assert!(sent.contains("it rains"), "{told} {sent}");
        if vendor != Vendor::Google {
            let id = call["id"].as_str().unwrap();
            assert_eq!(sent.matches(&format!("\"{id}\"")).count(), 2, "call and result meet: {told} {sent}");
        }
    }
}

/// The call as `id`, `name`, `arguments`.
fn tool_call(speaks: Speaks, stream: &str) -> Option<Value> {
    let find = |event: &Value| match speaks {
        Speaks::Chat => {
            let call = event["choices"][0]["delta"]["tool_calls"].get(0)?;
            let function = &call["function"];
            Some(json!({ "id": call["id"], "name": function["name"], "arguments": function["arguments"] }))
        }
        Speaks::Responses => {
            let item = &event["item"];
            let done = event["type"] == "response.output_item.done" && item["type"] == "function_call";
            done.then(|| json!({ "id": item["call_id"], "name": item["name"], "arguments": item["arguments"] }))
        }
        Speaks::Messages => {
            let block = &event["content_block"];
            let is_call = block["type"] == "tool_use";
            is_call.then(|| json!({ "id": block["id"], "name": block["name"], "arguments": "{}" }))
        }
        Speaks::Gemini | Speaks::Array => {
            let parts = event["candidates"][0]["content"]["parts"].as_array()?;
            let call = &parts.iter().find(|part| part["functionCall"].is_object())?["functionCall"];
            Some(json!({ "id": call["id"], "name": call["name"], "arguments": call["args"] }))
        }
    };
    events(stream).iter().find_map(find)
}

fn add_result(speaks: Speaks, body: &mut Value, call: &Value) {
    let (id, name, arguments) = (&call["id"], &call["name"], &call["arguments"]);
    let more = match speaks {
        Speaks::Chat => {
            let function = json!({ "name": name, "arguments": arguments });
            vec![
                json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": id, "type": "function", "function": function }] }),
                json!({ "role": "tool", "tool_call_id": id, "content": "it rains" }),
            ]
        }
        Speaks::Responses => vec![
            json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments }),
            json!({ "type": "function_call_output", "call_id": id, "output": "it rains" }),
        ],
        Speaks::Messages => vec![
            json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": name, "input": {} }] }),
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": "it rains" }] }),
        ],
        Speaks::Gemini | Speaks::Array => vec![
            json!({ "role": "model", "parts": [{ "functionCall": { "id": id, "name": name, "args": arguments } }] }),
            json!({ "role": "user", "parts": [{ "functionResponse": { "id": id, "name": name, "response": { "output": "it rains" } } }] }),
        ],
    };
    let list = match speaks {
        Speaks::Chat | Speaks::Messages => "messages",
        Speaks::Responses => "input",
        Speaks::Gemini | Speaks::Array => "contents",
    };
    body[list].as_array_mut().unwrap().extend(more);
}

#[tokio::test]
async fn a_broken_stream_of_another_format_is_noticed_all_the_same() {
    // Before the first content nobody notices; after it the client is told in its own format.
    for (speaks, vendor) in pairs() {
        for fault in ["cut=0", "end=0", "malformed=0", "error=0"] {
            let stage = Stage::usual("").await;
            stage.script("a", "status=404");
            stage.script("b", &format!("{fault} x1; ok"));
            let answer = ask(&stage, speaks, vendor, true, &speaks.body(true)).await;
            let told = format!("{speaks:?} {vendor:?} {fault}: {}", answer.text());
            assert!(speaks.is_whole(&answer.text()), "{told}");
            assert!(speaks.text(&answer.text()).starts_with("word-1 word-2"), "{told}");
        }
        for fault in ["cut=3", "end=3", "malformed=3", "error=3"] {
            let stage = Stage::usual("").await;
            stage.script("a", "status=404");
            stage.script("b", fault);
            let answer = ask(&stage, speaks, vendor, true, &speaks.body(true)).await;
            let told = format!("{speaks:?} {vendor:?} {fault}: {}", answer.text());
            assert!(speaks.error(&answer.text()).is_some(), "{told}");
        }
    }
}

#[tokio::test]
async fn no_credential_and_no_header_for_its_own_vendor_leaves_with_a_translated_request() {
    let stage = Stage::usual("").await;
    stage.script("a", "status=404");
    for (speaks, vendor) in pairs() {
        let mut request = with(speaks.request(false), "x-steadfast-chain", vendor.model());
        request = with(with(request, "anthropic-beta", "context-1m"), "openai-organization", "org-secret");
        request = with(with(request, "x-api-key", "sk-client-own-43"), "x-goog-api-key", "sk-client-own-44");
        assert_eq!(stage.send(request).await.status, 200);
        let sent = last(&stage);
        let said = format!("{:?}", sent.headers);
        for secret in ["sk-client-own", "context-1m", "org-secret"] {
            assert!(!said.contains(secret), "{speaks:?} {vendor:?} {said}");
        }
        let version = sent.headers.iter().any(|(name, _)| name == "anthropic-version");
        assert_eq!(version, vendor == Vendor::Anthropic);
    }
}

#[tokio::test]
async fn a_final_failure_is_told_in_the_clients_own_format() {
    for (speaks, vendor) in pairs() {
        let stage = Stage::usual("").await;
        stage.script("a", "status=404");
        stage.script("b", "overloaded");
        let answer = ask(&stage, speaks, vendor, false, &speaks.body(false)).await;
        let told = format!("{speaks:?} {vendor:?}: {} {}", answer.status, answer.text());
        assert!(answer.status.as_u16() >= 400, "{told}");
        let error = &answer.json()["error"];
        match speaks {
            Speaks::Messages => assert_eq!(answer.json()["type"], "error", "{told}"),
            Speaks::Chat | Speaks::Responses => assert!(error["type"].is_string(), "{told}"),
            Speaks::Gemini | Speaks::Array => assert!(error["status"].is_string(), "{told}"),
        }
    }
}

#[tokio::test]
async fn what_cannot_be_carried_makes_the_next_target_serve() {
    let stage = Stage::usual("").await;
    stage.script("a", "status=404");
    let mut body = Speaks::Responses.body(false);
    body["previous_response_id"] = json!("resp_1");
    let request = with(post("/v1/responses", &body), "x-steadfast-chain", "claude-two, gpt-two");
    let answer = stage.send(request).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-model")), (200, "gpt-two"));
    assert_eq!(answer.header("x-steadfast-translated"), "", "the second speaks as the client does");
    assert!(stage.events("decision", &["kind", "reason"]).iter().any(|line| line.starts_with("model_unavailable")));
    let request = with(post("/v1/responses", &body), "x-steadfast-chain", "claude-two");
    let answer = stage.send(request).await;
    assert!(answer.text().contains("previous_response_id"), "{}", answer.text());
}

#[tokio::test]
async fn what_was_left_out_is_said_in_a_header() {
    let stage = Stage::usual("").await;
    stage.script("a", "status=404");
    let mut body = Speaks::Chat.body(true);
    body["logit_bias"] = json!({ "50256": -100 });
    body["seed"] = json!(7);
    let answer = ask(&stage, Speaks::Chat, Vendor::Anthropic, true, &body).await;
    assert_eq!(answer.header("x-steadfast-translated"), "messages; dropped=logit_bias,seed");
}

#[tokio::test]
async fn thinking_of_a_stand_in_does_not_reach_the_vendor_itself() {
    let stage = Stage::usual("").await;
    stage.script("a", "status=404 x1; ok");
    stage.script("b", "answer=thinking");
    let mut body = Speaks::Messages.body(false);
    body["thinking"] = json!({ "type": "enabled", "budget_tokens": 2000 });
    let answer = ask(&stage, Speaks::Messages, Vendor::OpenAi, false, &body).await;
    let content = answer.json()["content"].clone();
    assert_eq!(content[0]["type"], "thinking", "{content}");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": content }));
    messages.push(json!({ "role": "user", "content": "and now?" }));
    for stream in [false, true] {
        body["stream"] = stream.into();
        let answer = stage.post("/v1/messages", &body).await;
        assert_eq!(answer.status, 200);
        let sent: Value = serde_json::from_slice(&last(&stage).body).unwrap();
        assert_eq!(sent["model"], "claude-one");
        assert_eq!(sent["messages"][1]["content"][0]["type"], "text", "{sent}");
        assert_eq!(answer.header("x-steadfast-translated"), "messages; dropped=thinking", "and it is said");
    }
    assert_eq!(
        stage.events("success", &["reason"]),
        [
            "translated: chat; dropped=thinking",
            "translated: messages; dropped=thinking",
            "translated: messages; dropped=thinking"
        ]
    );
}

#[tokio::test]
async fn what_was_left_out_is_in_the_log_where_a_heartbeat_sent_the_head() {
    let stage =
        Stage::usual("[projects.default]\npolicy = \"beats\"\n[policies.beats]\ntimeouts = { heartbeat = \"100ms\" }")
            .await;
    stage.script("a", "status=404");
    stage.script("b", "wait=300ms");
    let mut body = Speaks::Chat.body(true);
    body["seed"] = json!(7);
    let answer = ask(&stage, Speaks::Chat, Vendor::Anthropic, true, &body).await;
    assert!(Speaks::Chat.is_whole(&answer.text()) && answer.header("x-steadfast-translated").is_empty());
    assert_eq!(stage.events("success", &["reason"]), ["translated: messages; dropped=seed"]);
    stage.engine.flush();
    let story =
        crate::api::get(&stage, &format!("/api/requests/{}", stage.log()[0]["request"].as_str().unwrap())).await;
    assert!(
        story.json()["story"].as_str().unwrap().contains("  translated: messages; dropped=seed"),
        "{}",
        story.text()
    );
}

#[tokio::test]
async fn an_endpoint_that_knows_chat_only_serves_clients_of_responses() {
    let config = "[endpoints.vllm]\ndialect = \"openai\"\nurl = \"FAKE/@v\"\nresponses = false\n\
                  [models.local]\nvendor = \"meta\"\nendpoints = [\"vllm\"]";
    let stage = Stage::usual(config).await;
    let answer = stage.post("/v1/responses", &json!({ "model": "local", "input": "hi" })).await;
    assert_eq!(answer.json()["output"][0]["content"][0]["type"], "output_text", "{}", answer.text());
    assert_eq!(last(&stage).path, "/v1/chat/completions");
}

#[tokio::test]
async fn tokens_are_counted_for_a_model_that_only_another_vendor_serves() {
    let stage = Stage::usual("").await;
    let body = json!({ "model": "gpt-one", "messages": [{ "role": "user", "content": "eight words make about this many tokens here" }] });
    let answer = stage.post("/v1/messages/count_tokens", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.json()["input_tokens"].as_u64().unwrap() > 8);
    let contents = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] });
    let answer = stage.post("/v1beta/models/claude-one:countTokens", &contents).await;
    assert!(answer.json()["totalTokens"].as_u64().unwrap() > 0, "{}", answer.text());
    assert!(stage.fake.requests().is_empty());
}

/// Four vendors' endpoints, each model falling back to the next at once.
const FOUR: &str = r#"
listen = "127.0.0.1:0"
[endpoints.a]
dialect = "openai"
url = "FAKE/@a"
[endpoints.b]
dialect = "anthropic"
url = "FAKE/@b"
[endpoints.c]
dialect = "gemini"
url = "FAKE/@c"
[endpoints.d]
dialect = "anthropic"
url = "FAKE/@d"
[models.one]
vendor = "openai"
endpoints = ["a"]
fallback = ["two", "three", "four"]
[models.two]
vendor = "anthropic"
endpoints = ["b"]
[models.three]
vendor = "google"
endpoints = ["c"]
[models.four]
vendor = "anthropic"
endpoints = ["d"]
[policies.default.on]
server_error = ["fallback"]
"#;

#[tokio::test]
async fn a_chain_over_four_endpoints_is_walked_in_its_order() {
    for (speaks, stream) in Speaks::ALL.into_iter().flat_map(|speaks| [(speaks, false), (speaks, true)]) {
        let stage = Stage::new(FOUR).await;
        for endpoint in ["a", "b", "c"] {
            stage.script(endpoint, "server_error");
        }
        let mut body = speaks.body(stream);
        if speaks != Speaks::Gemini {
            body["model"] = json!("one");
        }
        let answer = stage.post(&speaks.path(stream).replace("gemini-one", "one"), &body).await;
        let told = format!("{speaks:?} {stream}: {}", answer.text());
        assert_eq!(answer.status, 200, "{told}");
        assert_eq!(
            (answer.header("x-steadfast-model"), answer.header("x-steadfast-endpoint")),
            ("four", "d"),
            "{told}"
        );
        assert_eq!(answer.header("x-steadfast-steps"), "fallback, fallback, fallback", "{told}");
        let asked = stage.fake.requests().into_iter().map(|seen| seen.endpoint).collect::<Vec<_>>();
        assert_eq!(asked, ["a", "b", "c", "d"], "{told}");
        assert!(!stream || speaks.is_whole(&answer.text()), "{told}");
        assert!(answer.text().contains("word-1"), "{told}");
    }
}

#[tokio::test]
async fn a_translated_stream_keeps_every_promise_of_a_stream() {
    let after = ["cut=5", "cutfin=5", "end=5", "malformed=5", "error=5", "stall=5", "no-done"];
    let retried = "[policies.quick.on]\ntimeout = [{ retry = 1, every = \"20ms\" }]";
    all_at_once(pairs(), |(speaks, vendor)| async move {
        // For chat the chunk with a `finish_reason` is the end.
        for fault in after.into_iter().filter(|fault| *fault != "no-done" || vendor != Vendor::OpenAi) {
            for mode in ["fast", "safe", "regenerate", "resume"] {
                let stage = Stage::usual(&quick(retried)).await;
                stage.script("a", "status=404");
                stage.script("b", &format!("{fault} x1; ok"));
                let request = with(speaks.request(true), "x-steadfast-chain", vendor.model());
                let text = stage.send(with(request, "x-steadfast-stream", mode)).await.text();
                let told = format!("{speaks:?} {vendor:?} {fault} {mode}: {text}");
                let noticed = mode == "fast";
                assert_eq!((speaks.error(&text).is_some(), speaks.is_whole(&text)), (noticed, !noticed), "{told}");
                let said = speaks.text(&text);
                assert_eq!(said.contains("[Connection lost mid-response]"), mode == "regenerate", "{told}");
                assert_eq!(said.matches("word-1 ").count(), if mode == "regenerate" { 2 } else { 1 }, "{told}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_step_for_a_tool_is_taken_where_its_call_breaks_on_the_way_to_another_format() {
    let steps = r#"[{ give_up = true, tool = "weather" }, { retry = 1, every = "20ms" }]"#;
    let policy = quick(&format!("[policies.quick.on]\nstream_interrupted = {steps}\nnetwork_transient = {steps}"));
    all_at_once(pairs().filter(|(_, vendor)| *vendor != Vendor::Google), |(speaks, vendor)| {
        let policy = policy.clone();
        async move {
            for (fault, served) in [("answer=tool cut-in-tool", false), ("cut=0", true)] {
                let stage = Stage::usual(&policy).await;
                stage.script("a", "status=404");
                stage.script("b", &format!("{fault} x1; answer=tool"));
                let request =
                    with(post(speaks.path(true), &speaks.body_with_tool()), "x-steadfast-chain", vendor.model());
                let answer = stage.send(request).await;
                let told = format!("{speaks:?} {vendor:?} {fault}: {}", answer.text());
                assert_eq!(answer.status.is_success(), served, "{told}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_tool_call_crosses_whole_or_not_at_all() {
    all_at_once(pairs(), |(speaks, vendor)| async move {
        for fault in ["cut-in-tool", "end-in-tool"] {
            for mode in ["fast", "safe", "regenerate", "resume"] {
                let stage = Stage::usual("").await;
                stage.script("a", "status=404");
                stage.script("b", &format!("answer=text+tool {fault} x1; answer=text+tool"));
                let request =
                    with(post(speaks.path(true), &speaks.body_with_tool()), "x-steadfast-chain", vendor.model());
                let text = stage.send(with(request, "x-steadfast-stream", mode)).await.text();
                let told = format!("{speaks:?} {vendor:?} {fault} {mode}: {text}");
                // Of a call of Gemini's, which is a single event, nothing had come: only text broke off.
                let noticed = mode == "fast" || mode == "resume" && vendor != Vendor::Google;
                assert_eq!((speaks.error(&text).is_some(), speaks.is_whole(&text)), (noticed, !noticed), "{told}");
                assert_eq!(text.contains("weather"), !noticed, "{told}");
            }
        }
    })
    .await;
}
