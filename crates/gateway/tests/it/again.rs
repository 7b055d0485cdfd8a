//! A person has a turn tried again: in every format, as edited, as a stream, and each project its own.

use http::Method;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use steadfast_fake::End;

use crate::api::{ACME, PROTECTED, TOKEN, ask};
use crate::control::{refused, send, settle};
use crate::harness::{Speaks, Stage, post, with};

const PATH: &str = "/api/sessions/s1/retry";

/// Has the session `s1` fail this turn.
async fn fail(stage: &Stage, path: &str, body: &Value) {
    stage.script("a", "server_error");
    stage.script("b", "server_error");
    let answer = stage.send(with(post(path, body), "x-steadfast-session", "s1")).await;
    assert!(answer.status.is_server_error(), "{}", answer.text());
    stage.script("a", "ok");
    stage.script("b", "ok");
    settle(stage).await;
}

fn last_sent(stage: &Stage) -> Value {
    serde_json::from_slice(&stage.fake.requests().last().unwrap().body).unwrap()
}

#[tokio::test]
async fn what_failed_is_told_in_the_words_of_every_format() {
    for speaks in Speaks::ALL {
        let stage = Stage::usual("").await;
        fail(&stage, speaks.path(false), &speaks.body(false)).await;
        let asked = json!({
            "withErrorContext": true, "error": "the tests are red", "trace": "at line 7", "failedOutput": "fn broken(",
        });
        let answer = send(&stage, Method::POST, PATH, asked).await;
        assert_eq!(answer.status, 200, "{speaks:?}: {}", answer.text());
        let sent = last_sent(&stage);
        let note = match speaks {
            Speaks::Chat | Speaks::Messages => &sent["messages"][1]["content"],
            Speaks::Responses => &sent["input"][1]["content"],
            Speaks::Gemini | Speaks::Array => &sent["contents"][1]["parts"][0]["text"],
        };
        let note = note.as_str().unwrap_or_else(|| panic!("{speaks:?}: {sent}"));
        for told in ["the tests are red", "at line 7", "fn broken("] {
            assert!(note.contains(told), "{speaks:?}: {note}");
        }
    }
}

#[tokio::test]
async fn a_text_alone_becomes_a_list_with_the_note_behind_it() {
    let stage = Stage::usual("").await;
    fail(&stage, "/v1/responses", &json!({ "model": "gpt-one", "input": "say something" })).await;
    let answer = send(&stage, Method::POST, PATH, json!({ "withErrorContext": true, "note": "mind the gap" })).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let expected =
        json!([{ "role": "user", "content": "say something" }, { "role": "user", "content": "mind the gap" }]);
    assert_eq!(last_sent(&stage)["input"], expected);
}

#[tokio::test]
async fn an_edited_body_is_sent_as_it_stands() {
    let stage = Stage::usual("").await;
    fail(&stage, "/v1/messages", &Speaks::Messages.body(false)).await;
    let edited =
        json!({ "model": "claude-two", "max_tokens": 7, "messages": [{ "role": "user", "content": "other" }] });
    let asked = json!({ "body": edited, "withErrorContext": true, "error": "not told" });
    let answer = send(&stage, Method::POST, PATH, asked).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-model")), (200, "claude-two"), "{}", answer.text());
    assert_eq!(last_sent(&stage), edited);
}

#[tokio::test]
async fn a_stream_is_tried_again_as_a_stream() {
    let stage = Stage::usual("").await;
    fail(&stage, "/v1/messages", &Speaks::Messages.body(true)).await;
    stage.script("a", "stall=3");
    let mut answer = stage.open(ask(Method::POST, PATH, Some(&json!({})))).await;
    let format = answer.headers()["content-type"].to_str().unwrap();
    assert!(answer.status() == 200 && format.starts_with("text/event-stream"), "{} {format}", answer.status());
    let mut heard = String::new();
    while !heard.contains("word-2") {
        let frame = tokio::time::timeout(crate::harness::LIMIT, answer.body_mut().frame());
        let frame = frame.await.expect("words before the end").unwrap().unwrap();
        heard.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    assert_eq!(stage.fake.requests().last().unwrap().end, End::Running, "the provider has not ended");
}

#[tokio::test]
async fn a_project_tries_its_own_sessions_again_and_no_others() {
    let stage = Stage::usual(PROTECTED).await;
    let ask_as = |key, session| {
        with(with(Speaks::Messages.request(false), "authorization", key), "x-steadfast-session", session)
    };
    assert!(stage.send(ask_as(ACME, "s1")).await.status.is_success());
    assert!(stage.send(ask_as(TOKEN, "s2")).await.status.is_success());
    settle(&stage).await;
    let before = stage.fake.requests().len();
    let again = |path: &str| with(ask(Method::POST, path, Some(&json!({}))), "authorization", ACME);
    let answer = stage.send(again(PATH)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    settle(&stage).await;
    assert_eq!(stage.events("start", &["project"]).last().unwrap(), "acme", "it pays for it");
    refused(&stage.send(again("/api/sessions/s2/retry")).await, 404, "not_found");
    assert_eq!(stage.fake.requests().len(), before + 1);
}
