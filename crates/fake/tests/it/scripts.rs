//! Who decides which fault a request meets.

use serde_json::json;
use steadfast_fake::Fake;

use crate::client::{CHAT, Client, GEMINI, MESSAGES, ask, body};

async fn statuses(fake: &Fake, path: &str, model: &str, count: usize) -> Vec<u16> {
    let mut request = body(path, false);
    request["model"] = json!(model);
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(ask(fake.addr(), path, "", &request).await.status);
    }
    all
}

#[tokio::test]
async fn a_script_is_played_in_order() {
    let fake = Fake::start().await.unwrap();
    fake.script("", "status=503 x2; ok").unwrap();
    assert_eq!(statuses(&fake, CHAT, "m", 4).await, [503, 503, 200, 200]);
    fake.script("", "status=500").unwrap();
    assert_eq!(statuses(&fake, CHAT, "m", 2).await, [500, 500]);
    fake.script("", "status=500 x1").unwrap();
    assert_eq!(statuses(&fake, CHAT, "m", 2).await, [500, 200]);
    fake.script("", "ok; status=529; loop").unwrap();
    assert_eq!(statuses(&fake, CHAT, "m", 4).await, [200, 529, 200, 529]);
    fake.script("", "").unwrap();
    assert_eq!(statuses(&fake, CHAT, "m", 1).await, [200]);
}

#[tokio::test]
async fn an_endpoint_and_a_model_have_their_own() {
    let fake = Fake::start().await.unwrap();
    fake.script("b", "status=503").unwrap();
    fake.script_model("b", "good", "ok").unwrap();
    assert_eq!(statuses(&fake, CHAT, "m", 1).await, [200]);
    assert_eq!(statuses(&fake, "/@b/v1/chat/completions", "m", 1).await, [503]);
    assert_eq!(statuses(&fake, "/@b/v1/chat/completions", "good", 1).await, [200]);
}

#[tokio::test]
async fn a_models_name_is_a_script() {
    let fake = Fake::start().await.unwrap();
    for (model, expected) in [
        ("fake-overloaded", [503, 503]),
        ("fake-status=418", [418, 418]),
        ("gpt-5@status=500,retry-after=1", [500, 500]),
        ("gpt-5@status=500 x1; ok", [500, 200]),
        ("fake-model", [404, 404]),
        ("fake-other", [200, 200]),
        ("claude@20250514", [200, 200]),
        ("claude@latest", [200, 200]),
        ("gpt-5@stauts=500", [400, 400]),
        ("fake-stauts=500", [400, 400]),
    ] {
        assert_eq!(statuses(&fake, CHAT, model, 2).await, expected, "{model}");
    }
    let path = "/v1beta/models/gemini@error=1:overloaded:streamGenerateContent?alt=sse";
    let answer = ask(fake.addr(), path, "", &body(GEMINI, true)).await;
    assert_eq!(answer.events().last().unwrap()["error"]["code"], 503);
    let path = "/v1beta/models/gemini%40status=500:generateContent";
    assert_eq!(ask(fake.addr(), path, "", &body(GEMINI, false)).await.status, 500);
}

#[tokio::test]
async fn a_header_goes_first_and_a_wrong_one_is_told() {
    let fake = Fake::start().await.unwrap();
    fake.script("", "status=503").unwrap();
    let request = body(CHAT, false);
    for (spec, status) in [("ok", 200), ("status=500 x1; ok", 500), ("status=500 x1; ok", 200), ("", 503)] {
        assert_eq!(ask(fake.addr(), CHAT, spec, &request).await.status, status);
    }
    let wrong = ask(fake.addr(), CHAT, "ok; stauts=500", &request).await;
    assert_eq!(wrong.status, 400);
    let message = wrong.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(
        message,
        "the fake provider cannot read its script: column 5: expected a fault or a setting, found `stauts=500`; did you mean `status`?"
    );
}

#[tokio::test]
async fn limits() {
    let fake = Fake::start().await.unwrap();
    fake.script("", "rpm=2").unwrap();
    let first = ask(fake.addr(), CHAT, "", &body(CHAT, false)).await;
    assert_eq!(
        (first.header("x-ratelimit-limit-requests"), first.header("x-ratelimit-remaining-requests")),
        (Some("2"), Some("1"))
    );
    assert_eq!(statuses(&fake, CHAT, "m", 1).await, [200]);
    let limited = ask(fake.addr(), CHAT, "", &body(CHAT, false)).await;
    assert_eq!((limited.status, limited.header("x-ratelimit-remaining-requests")), (429, Some("0")));
    let seconds: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    let ms: u64 = limited.header("retry-after-ms").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds) && ms <= 60_000 && ms.div_ceil(1000) == seconds, "{seconds} {ms}");

    fake.script("", "quota=1").unwrap();
    assert_eq!(statuses(&fake, CHAT, "m", 3).await, [200, 429, 429]);
    fake.script("", "weekly_quota=0").unwrap();
    let limited = ask(fake.addr(), MESSAGES, "", &body(MESSAGES, false)).await;
    assert_eq!((limited.status, limited.header("retry-after")), (429, Some("302400")));
    fake.script("", "concurrency=1: overloaded; stall x1; ok").unwrap();
    let mut held = Client::connect(fake.addr()).await;
    held.send(MESSAGES, "", &body(MESSAGES, false)).await;
    assert!(fake.wait_for(|all| all.last().unwrap().fault == "stall", crate::LIMIT).await);
    assert_eq!(statuses(&fake, MESSAGES, "m", 1).await, [529]);
    drop(held);
    let left = |end| matches!(end, steadfast_fake::End::ClientLeft { .. });
    assert!(fake.wait_for(|all| all.iter().any(|request| left(request.end)), crate::LIMIT).await);
    assert_eq!(statuses(&fake, MESSAGES, "m", 1).await, [200]);
}

#[tokio::test]
async fn a_file_of_scripts() {
    let fake = Fake::start().await.unwrap();
    fake.load(
        r#"
        script = "status=500 x1"
        [models]
        "gpt-5" = "status=418"
        [endpoints.b]
        script = ["status=503", "ok"]
        models = { "m" = "status=529" }
        "#,
    )
    .unwrap();
    assert_eq!(statuses(&fake, CHAT, "x", 2).await, [500, 200]);
    assert_eq!(statuses(&fake, CHAT, "gpt-5", 1).await, [418]);
    assert_eq!(statuses(&fake, "/@b/v1/chat/completions", "x", 3).await, [503, 200, 200]);
    assert_eq!(statuses(&fake, "/@b/v1/chat/completions", "m", 1).await, [529]);
    let wrong = |text: &str| fake.load(text).unwrap_err().to_string();
    assert_eq!(
        wrong("[endpoints.b]\nscript = \"ok; cut=x\""),
        "`endpoints.b.script`, column 5: expected a number of tokens, such as `cut=5`, found `cut=x`"
    );
    assert!(
        wrong("scripts = 1").starts_with("line 1, column 1: expected `script`, `[models]` and"),
        "{}",
        wrong("scripts = 1")
    );
}

#[tokio::test]
async fn told_and_asked_over_http() {
    let fake = Fake::start().await.unwrap();
    let mut client = Client::connect(fake.addr()).await;
    client.write("PUT /__fake/script/b HTTP/1.1\r\ncontent-length: 10\r\n\r\nstatus=503").await;
    assert_eq!(client.answer().await.status, 200);
    client.write("PUT /__fake/script?model=m HTTP/1.1\r\ncontent-length: 10\r\n\r\nstatus=418").await;
    assert_eq!(client.answer().await.status, 200);
    client.write("PUT /__fake/script/b HTTP/1.1\r\ncontent-length: 6\r\n\r\nstatus").await;
    let wrong = client.answer().await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text().contains("column 1: expected a status"), "{}", wrong.text());
    assert_eq!(statuses(&fake, "/@b/v1/chat/completions", "m", 1).await, [503]);
    assert_eq!(statuses(&fake, CHAT, "m", 1).await, [418]);
    let counts = client.get("/__fake/counts", "").await.json();
    assert_eq!(counts["counts"], json!({ "": 1, "b": 1 }));
    let requests = client.get("/__fake/requests", "").await.json();
    assert_eq!(requests["requests"][0]["fault"], "status=503");
    assert_eq!(requests["requests"][1]["end"], "answered");
    client.write("POST /__fake/reset HTTP/1.1\r\n\r\n").await;
    assert_eq!(client.answer().await.status, 200);
    assert_eq!(client.get("/__fake/counts", "").await.json()["counts"], json!({ "": 0, "b": 0 }));
    assert_eq!(client.get("/__fake/nothing", "").await.status, 404);
}
