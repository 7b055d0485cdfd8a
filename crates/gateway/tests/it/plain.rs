//! What passes when nothing fails.

use serde_json::json;
use steadfast_gateway::Settings;

use crate::harness::{Speaks, Stage, USUAL, get, post, with};

#[tokio::test]
async fn every_format_is_served_whole_and_streamed() {
    let stage = Stage::usual("").await;
    for speaks in Speaks::ALL {
        let answer = stage.send(speaks.request(false)).await;
        assert_eq!(answer.status, 200, "{speaks:?} {}", answer.text());
        assert!(answer.text().contains("word-1"), "{speaks:?} {}", answer.text());
        assert_eq!(answer.header("x-steadfast-attempts"), "1");
        let answer = stage.send(speaks.request(true)).await;
        let text = answer.text();
        assert!(answer.status == 200 && answer.clean && speaks.is_whole(&text), "{speaks:?} {text}");
        assert!(speaks.text(&text).contains("word-1"), "{speaks:?} {text}");
        assert!(answer.header("content-type").starts_with("text/event-stream"), "{speaks:?}");
    }
    assert_eq!(stage.events("outcome", &["outcome"]), ["succeeded"; 8]);
}

#[tokio::test]
async fn gemini_streams_an_array_too() {
    let stage = Stage::usual("").await;
    let path = "/v1beta/models/gemini-one:streamGenerateContent";
    let answer = stage.post(path, &Speaks::Gemini.body(true)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.json().as_array().unwrap().len() > 1);
}

#[tokio::test]
async fn the_other_paths_of_each_api_are_served() {
    let stage = Stage::usual("").await;
    let embed = stage.post("/v1/embeddings", &json!({ "model": "text-embedding-3-small", "input": "x" })).await;
    assert_eq!(embed.status, 200, "{}", embed.text());
    let models = stage.send(get("/v1/models")).await;
    assert_eq!(models.status, 200, "{}", models.text());
    let count = stage.post("/v1/messages/count_tokens", &Speaks::Messages.body(false)).await;
    assert_eq!(count.status, 200, "{}", count.text());
    let count = stage.post("/v1beta/models/gemini-one:countTokens", &Speaks::Gemini.body(false)).await;
    assert_eq!(count.status, 200, "{}", count.text());
    let unknown = stage.send(get("/v1/files/file-1?limit=3")).await;
    assert_eq!(unknown.status, 404, "the provider answers: {}", unknown.text());
    let last = stage.fake.requests().pop().unwrap();
    assert_eq!((last.path.as_str(), last.query.as_deref()), ("/v1/files/file-1", Some("limit=3")));
}

#[tokio::test]
async fn a_request_reaches_the_provider_byte_for_byte() {
    let stage = Stage::usual("").await;
    let body = r#"{ "model":"claude-one",  "max_tokens":1e2, "messages":[{"role":"user","content":"h\u00e9"}], "unknown":{"b":1.0,"a":[]} }"#;
    let mut request = post("/v1/messages?beta=true", &json!(null));
    *request.body_mut() = bytes::Bytes::from(body).into();
    let request = with(with(request, "anthropic-beta", "a,b"), "openai-organization", "org-1");
    let request = with(with(request, "x-something-new", "kept"), "x-steadfast-session", "s1");
    assert_eq!(stage.send(request).await.status, 200);
    let seen = &stage.fake.requests()[0];
    assert_eq!(seen.body, body.as_bytes());
    assert_eq!(seen.query.as_deref(), Some("beta=true"));
    assert_eq!(seen.header("anthropic-beta"), Some("a,b"));
    assert_eq!(seen.header("openai-organization"), Some("org-1"));
    assert_eq!(seen.header("x-something-new"), Some("kept"));
    assert_eq!(seen.header("authorization"), Some("Bearer sk-client-own-42"), "the client's own key passes");
    assert_eq!(seen.header("x-steadfast-session"), None);
}

#[tokio::test]
async fn another_name_at_the_endpoint_changes_nothing_but_the_name() {
    let stage =
        Stage::usual("[models.mine]\nvendor = \"openai\"\nendpoints = [{ endpoint = \"oa\", as = \"gpt-there\" }]")
            .await;
    let mut request = post("/v1/chat/completions", &json!(null));
    *request.body_mut() =
        bytes::Bytes::from(r#"{"messages":[{"role":"user","content":"hi"}],  "model":"mine","x":1}"#).into();
    assert_eq!(stage.send(request).await.status, 200);
    assert_eq!(
        stage.fake.requests()[0].body,
        r#"{"messages":[{"role":"user","content":"hi"}],  "model":"gpt-there","x":1}"#
    );
}

#[tokio::test]
async fn an_endpoint_with_a_key_gets_that_and_never_the_clients() {
    let config = "[endpoints.own]\ndialect = \"openai\"\nurl = \"FAKE/@own\"\nkey = { env = \"PROVIDER_KEY\" }\nheaders = { x-extra = \"1\" }\n[models.m]\nvendor = \"openai\"\nendpoints = [\"own\"]";
    let stage = Stage::usual(config).await;
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    assert_eq!(stage.post("/v1/chat/completions", &body).await.status, 200);
    let seen = &stage.fake.requests()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer sk-provider-planted-0815"));
    assert_eq!(seen.header("x-extra"), Some("1"));
}

#[tokio::test]
async fn a_body_that_is_too_large_or_not_json_is_refused_in_the_clients_format() {
    let settings = Settings { body_bytes_max: 1024, ..Settings::default() };
    let stage = Stage::with_settings(USUAL, settings).await;
    let large = stage.post("/v1/messages", &json!({ "model": "claude-one", "x": "y".repeat(2000) })).await;
    assert_eq!(large.status, 413);
    assert_eq!(large.json()["type"], "error");
    let mut request = post("/v1/chat/completions", &json!(null));
    *request.body_mut() = bytes::Bytes::from("{\"model\": oops").into();
    let broken = stage.send(request).await;
    assert_eq!(broken.status, 400);
    assert!(broken.json()["error"]["message"].as_str().unwrap().contains("cannot be read"), "{}", broken.text());
    assert_eq!(stage.fake.requests().len(), 0);
    let lost = stage.send(get("/nowhere")).await;
    assert!(lost.status == 404 && lost.text().contains("/v1/…"), "{}", lost.text());
}

#[tokio::test]
async fn it_says_that_it_is_alive_ready_and_what_it_counted() {
    let stage = Stage::usual("").await;
    stage.send(Speaks::Messages.request(false)).await;
    assert_eq!(stage.send(get("/health")).await.json()["status"], "ok");
    let ready = stage.send(get("/ready")).await;
    assert_eq!((ready.status.as_u16(), ready.json()["usable"].as_u64()), (200, Some(6)));
    let metrics = stage.send(get("/metrics")).await.text();
    let line = "steadfast_requests_total{operation=\"messages\",model=\"claude-one\",outcome=\"succeeded\"} 1";
    assert!(metrics.contains(line), "{metrics}");
    assert!(metrics.contains("steadfast_breaker_open{endpoint=\"a\"} 0"), "{metrics}");
}

#[tokio::test]
async fn a_websocket_is_sent_back_to_http() {
    let stage = Stage::usual("").await;
    let answer = stage.send(with(with(get("/v1/responses"), "upgrade", "websocket"), "connection", "upgrade")).await;
    assert_eq!((answer.status.as_u16(), stage.fake.requests().len()), (426, 0));
}

#[tokio::test]
async fn switched_off_it_is_a_plain_proxy() {
    let stage = Stage::usual("[projects.default]\nenabled = false").await;
    stage.script("a", "overloaded");
    for _ in 0..8 {
        let answer = stage.send(Speaks::Messages.request(true)).await;
        assert_eq!(answer.status, 529);
    }
    assert_eq!((stage.fake.count("a"), stage.fake.count("b")), (8, 0), "no retry, no fallback, no breaker");
    stage.script("a", "cut=3");
    let answer = stage.send(Speaks::Messages.request(true)).await;
    assert!(answer.text().contains("word-2") && !answer.clean, "as it came, and cut as it was: {}", answer.text());
    stage.script("a", "weekly_quota x1; ok");
    assert_eq!(stage.send(Speaks::Messages.request(false)).await.status, 429);
    assert_eq!(stage.send(Speaks::Messages.request(false)).await.header("x-steadfast-model"), "claude-one");
}

#[tokio::test]
async fn what_is_only_passed_through_is_retried_where_that_is_safe() {
    let stage = Stage::usual("").await;
    stage.script("a", "server_error x2; ok");
    let file = stage.send(get("/v1/files/file-1")).await;
    assert_eq!((file.status.as_u16(), stage.fake.count("a")), (404, 3), "the fake has no files: {}", file.text());
    stage.script("a", "server_error x2; ok");
    let embed = stage.post("/v1/embeddings", &json!({ "model": "text-embedding-3-small", "input": "x" })).await;
    assert_eq!((embed.status.as_u16(), embed.header("x-steadfast-attempts")), (200, "3"), "{}", embed.text());
}

#[tokio::test]
async fn of_what_is_only_passed_through_the_question_is_charged() {
    let stage = Stage::usual("[projects.off]\nenabled = false\nspend = { usd_per_day = 1.0 }").await;
    let of_project = |request| with(request, "x-steadfast-project", "off");
    let used = async || {
        let project = stage.send(get("/api/projects/off")).await.json();
        project["budget"]["used_usd_micros"].as_u64().unwrap()
    };
    assert_eq!(stage.send(of_project(get("/v1/files/file-1"))).await.status, 404, "the fake has no files");
    assert_eq!(used().await, 0, "no model was asked");
    let count = post("/v1/messages/count_tokens", &Speaks::Messages.body(false));
    assert_eq!(stage.send(of_project(count)).await.status, 200);
    assert_eq!(used().await, 0, "counting is free");
    for stream in [false, true] {
        let before = used().await;
        assert!(stage.send(of_project(Speaks::Messages.request(stream))).await.status.is_success());
        let log = stage.log();
        let served = log.iter().rfind(|line| line["event"] == "success").unwrap();
        let tokens = &served["usage"];
        assert!(tokens["input_tokens"].as_u64() > Some(0) && tokens["output_tokens"] == 0, "{served}");
        // A dollar for a million tokens.
        assert_eq!(
            (Some(used().await - before), &served["usd_micros"]),
            (tokens["input_tokens"].as_u64(), &tokens["input_tokens"])
        );
    }
}

#[tokio::test]
async fn a_question_to_a_path_that_nobody_knows_is_charged_where_it_names_a_model() {
    let provider = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = format!(
        "[endpoints.other]\ndialect = \"openai\"\nurl = \"http://{}\"\n[models.moderator]\nvendor = \"openai\"\nendpoints = [\"other\"]
price = {{ input = 1000000.0, output = 1.0 }}\n[projects.acme]\nspend = {{ usd_per_day = 100.0 }}",
        provider.local_addr().unwrap()
    );
    let stage = Stage::usual(&config).await;
    let body = json!({ "model": "moderator", "input": "is this good?" });
    let ask = || with(post("/v1/moderations", &body), "x-steadfast-project", "acme");
    let (answer, _) = tokio::join!(stage.send(ask()), crate::alerts::take(&provider, "200 OK"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let budget = stage.send(get("/api/projects/acme")).await.json()["budget"].clone();
    let log = stage.log();
    let served = log.iter().find(|line| line["event"] == "success").unwrap();
    assert!(served["usd_micros"].as_u64() > Some(0), "{served}");
    assert_eq!(
        (&budget["used_usd_micros"], &budget["reserved_usd_micros"]),
        (&served["usd_micros"], &json!(0)),
        "{budget}"
    );
    // A dollar a token: what is left is not enough for many more.
    let left = budget["left_usd_micros"].as_u64().unwrap();
    for _ in 0..left / served["usd_micros"].as_u64().unwrap() {
        let (answer, _) = tokio::join!(stage.send(ask()), crate::alerts::take(&provider, "200 OK"));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(stage.send(ask()).await.status, 402, "and nobody is asked");
}

#[tokio::test]
async fn an_upload_reaches_the_provider_byte_for_byte_and_once() {
    let stage = Stage::usual("").await;
    stage.script("a", "server_error");
    let form: &[u8] =
        b"--xx\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n\x00\xff{\n\r\n--xx--\r\n";
    let mut request = with(post("/v1/files", &json!(null)), "content-type", "multipart/form-data; boundary=xx");
    *request.body_mut() = bytes::Bytes::from_static(form).into();
    assert_eq!(stage.send(request).await.status, 500);
    let seen = stage.fake.requests();
    assert_eq!((seen.len(), &seen[0].body[..]), (1, form), "a POST that nobody knows is not repeated");
    assert_eq!(seen[0].header("content-type"), Some("multipart/form-data; boundary=xx"));
}
