//! What operators rely on: stopping, reloading, doors, limits, waiting, health.

use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use serde_json::json;
use steadfast_fake::End;
use steadfast_gateway::Settings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{LIMIT, Speaks, Stage, USUAL, get, post, read, with};

/// Waits for a state, and says which one did not come.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < LIMIT, "it never happened: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sends bytes as they are and reads what comes back.
async fn raw(stage: &Stage, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(stage.address).await.unwrap();
    // The gateway may have heard enough before all of it is sent.
    let _ = socket.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(LIMIT, socket.read_to_end(&mut answer)).await.expect("an end in time");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_shutdown_lets_open_streams_finish_and_takes_nobody_new() {
    let mut stage = Stage::usual("").await;
    stage.script("a", "words=40 delay=20ms");
    let mut response = stage.open(Speaks::Messages.request(true)).await;
    response.body_mut().frame().await.unwrap().unwrap();
    drop(stage.stop.take());
    until("new connections are refused", async || TcpStream::connect(stage.address).await.is_err()).await;
    let answer = read(response).await;
    assert!(answer.clean && Speaks::Messages.is_whole(&answer.text()), "{}", answer.text());
    tokio::time::timeout(LIMIT, stage.serving.take().unwrap()).await.expect("it ends").unwrap();
    assert_eq!(stage.events("outcome", &["outcome"]), ["succeeded"]);
}

#[tokio::test]
async fn a_connection_too_many_is_refused_with_words_and_a_place_is_free_again() {
    let settings = Settings { connections_max: 2, ..Settings::default() };
    let stage = Stage::with_settings(USUAL, settings).await;
    let open = [TcpStream::connect(stage.address).await.unwrap(), TcpStream::connect(stage.address).await.unwrap()];
    let health = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let refused = raw(&stage, health).await;
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("--connections-max"), "{refused}");
    drop(open);
    until("somebody is served again", async || raw(&stage, health).await.starts_with("HTTP/1.1 200 ")).await;
}

#[tokio::test]
async fn a_shutdown_cuts_off_what_does_not_end_in_time() {
    let settings = Settings { drain: Duration::from_millis(300), ..Settings::default() };
    let mut stage = Stage::with_settings(USUAL, settings).await;
    stage.script("a", "words=10000 delay=20ms");
    let mut response = stage.open(Speaks::Messages.request(true)).await;
    response.body_mut().frame().await.unwrap().unwrap();
    drop(stage.stop.take());
    tokio::time::timeout(LIMIT, stage.serving.take().unwrap()).await.expect("it ends before the stream").unwrap();
    assert!(!read(response).await.clean, "cut off, and not as if it had ended");
    assert_eq!(stage.events("outcome", &["outcome"]), ["cancelled"], "the log has its end");
    assert!(stage.fake.wait_for(|seen| matches!(seen[0].end, End::ClientLeft { .. }), LIMIT).await);
}

#[tokio::test]
async fn a_reload_drops_no_stream_and_forgets_no_breaker_that_stays() {
    let stage = Stage::usual("").await;
    stage.script("a", "server_error");
    for _ in 0..3 {
        stage.send(Speaks::Messages.request(false)).await;
    }
    let is_open = |name: &str| {
        let snapshot = stage.engine.snapshot();
        let now = stage.engine.clock().now();
        snapshot.world.endpoints().any(|(_, endpoint)| &*endpoint.name == name && endpoint.breaker.is_open(now))
    };
    assert!(is_open("a") && !is_open("b"));
    stage.script("b", "words=40 delay=20ms");
    let mut response = stage.open(Speaks::Messages.request(true)).await;
    response.body_mut().frame().await.unwrap().unwrap();
    stage.reload(&format!("{USUAL}\n[models.more]\nvendor = \"openai\"\nendpoints = [\"oa\"]"));
    assert!(is_open("a"), "an endpoint that did not change is known as before");
    let answer = read(response).await;
    assert!(answer.clean && Speaks::Messages.is_whole(&answer.text()), "{}", answer.text());
    stage.reload(&USUAL.replace("url = \"FAKE/@a\"", "url = \"FAKE/@c\""));
    assert!(!is_open("a"), "another address is another endpoint");
    let answer = stage.send(Speaks::Messages.request(false)).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-endpoint")), (200, "a"));
    assert_eq!(stage.fake.count("c"), 1, "new requests go by the new configuration");
}

const LOCKED: &str = "
[admin]
token = { env = \"TEST_TOKEN\" }
[projects.acme]
keys = [{ env = \"ACME_KEY\" }]
policy = \"mine\"
[policies.mine]
attempts_max = 1
";

#[tokio::test]
async fn off_this_machine_nothing_goes_without_a_key() {
    let stage = Stage::new(&format!("{}\n{LOCKED}", USUAL.replace("127.0.0.1:0", "0.0.0.0:0"))).await;
    for speaks in Speaks::ALL {
        let refused = stage.send(speaks.request(true)).await;
        assert_eq!(refused.status, 401, "{speaks:?}");
        let told = refused.json();
        let error = match speaks {
            Speaks::Messages => (told["type"] == "error").then(|| told["error"]["type"] == "authentication_error"),
            Speaks::Chat | Speaks::Responses => told["error"]["code"].is_string().then_some(true),
            Speaks::Gemini | Speaks::Array => told["error"]["status"].is_string().then_some(true),
        };
        assert_eq!(error, Some(true), "in the client's format: {told}");
        assert!(told["error"]["message"].as_str().unwrap().contains("project's key or the admin token"), "{told}");
    }
    assert_eq!(stage.fake.requests().len(), 0);
    let key = |value: &str| format!("Bearer {value}");
    let token = key("admin-token-1234567890");
    assert_eq!(stage.send(with(Speaks::Messages.request(false), "authorization", &token)).await.status, 200);
    let mut bare = Speaks::Messages.request(false);
    bare.headers_mut().remove("authorization");
    assert_eq!(stage.send(with(bare, "x-api-key", "acme-key-planted-4711")).await.status, 200);
    let mut bare =
        post("/v1beta/models/gemini-one:generateContent?key=acme-key-planted-4711", &Speaks::Gemini.body(false));
    bare.headers_mut().remove("authorization");
    assert_eq!(stage.send(bare).await.status, 200);
    assert_eq!(stage.send(get("/health")).await.status, 200);
    assert_eq!(stage.send(get("/ready")).await.status, 200);
    assert_eq!(stage.send(get("/metrics")).await.status, 401);
    let client = key("acme-key-planted-4711");
    assert_eq!(stage.send(with(get("/metrics"), "authorization", &client)).await.status, 401, "only the token");
    assert_eq!(stage.send(with(get("/metrics"), "authorization", &token)).await.status, 200);
    for seen in stage.fake.requests() {
        let sent = format!("{:?} {:?}", seen.headers, seen.query);
        assert!(!sent.contains("admin-token") && !sent.contains("acme-key"), "{sent}");
    }
}

#[tokio::test]
async fn a_projects_key_selects_the_project_and_never_goes_upstream() {
    let stage = Stage::usual(LOCKED).await;
    stage.script("a", "server_error x1; ok");
    let request = || Speaks::Messages.request(false);
    let other = post("/v1/messages", &Speaks::Messages.body_with_tool());
    let answer = stage.send(with(other, "authorization", "Bearer acme-key-planted-4711")).await;
    assert_eq!(answer.status, 500, "the policy of acme makes one attempt");
    assert_eq!(stage.events("start", &["project"]), ["acme"]);
    assert_eq!(stage.fake.requests()[0].header("authorization"), None);
    for header in ["x-api-key", "x-goog-api-key", "api-key"] {
        stage.fake.reset_counts();
        let mut request = request();
        request.headers_mut().remove("authorization");
        assert_eq!(stage.send(with(request, header, "acme-key-planted-4711")).await.status, 200, "{header}");
        let seen = stage.fake.requests().pop().unwrap();
        assert!(!format!("{:?}", seen.headers).contains("acme-key"), "{header} {:?}", seen.headers);
    }
    assert_eq!(stage.events("start", &["project"]), ["acme"; 4]);
    // The project's key in one header, the provider's own in another.
    let both = with(with(request(), "authorization", "Bearer sk-of-the-client"), "x-api-key", "acme-key-planted-4711");
    assert_eq!(stage.send(both).await.status, 200);
    let seen = stage.fake.requests().pop().unwrap();
    assert_eq!((seen.header("authorization"), seen.header("x-api-key")), (Some("Bearer sk-of-the-client"), None));
    let named = stage.send(with(request(), "x-steadfast-project", "acme")).await;
    assert_eq!(named.status, 401, "who has keys is not taken at a mere word: {}", named.text());
    let unknown = stage.send(with(request(), "x-steadfast-project", "nobody")).await;
    assert!(unknown.status == 400 && unknown.text().contains("[projects.nobody]"), "{}", unknown.text());
    let path = stage.post("/p/default/v1/messages", &Speaks::Messages.body(false)).await;
    assert_eq!(path.status, 200, "{}", path.text());
    assert_eq!(stage.fake.requests().pop().unwrap().header("authorization"), Some("Bearer sk-client-own-42"));
}

#[tokio::test]
async fn limits_of_heads_bodies_and_patience_are_told() {
    let settings = Settings {
        body_bytes_max: 1024 * 1024,
        body_idle: Duration::from_millis(200),
        head_time: Duration::from_millis(500),
        ..Settings::default()
    };
    let stage = Stage::with_settings(USUAL, settings).await;
    let large = format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-large: {}\r\n\r\n", "y".repeat(200 * 1024));
    let answer = raw(&stage, large.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let large = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nanthropic-version: 2023-06-01\r\ncontent-length: 2\r\n\
         connection: close\r\nx-large: {}\r\n\r\n{{}}",
        "y".repeat(70 * 1024)
    );
    let answer = raw(&stage, large.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 ") && answer.contains("headers are larger than 64 KiB"), "{answer}");
    assert!(answer.contains("\"type\":\"error\""), "in the client's format: {answer}");

    let slow = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{\"model\":";
    let answer = raw(&stage, slow.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("the request body stopped arriving"), "{answer}");
    assert!(answer.contains("\"type\":\"error\""), "in the client's format: {answer}");

    let body = format!("{{\"model\":\"claude-one\",\"x\":\"{}\"}}", "y".repeat(40 * 1024 * 1024));
    let head = format!("POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    let answer = raw(&stage, format!("{head}{body}").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("larger than 1 MiB"), "announced: {answer}");
    let head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunked = format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let answer = raw(&stage, chunked.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("larger than 1 MiB"), "chunked: {answer}");

    let never = raw(&stage, b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-never");
    tokio::time::timeout(LIMIT, never).await.expect("a head that never ends ends the connection");
    assert_eq!(stage.fake.requests().len(), 0);
    assert_eq!(stage.send(Speaks::Messages.request(false)).await.status, 200);
}

const PATIENT: &str = "
[projects.default]
policy = \"patient\"
[policies.patient]
park = \"30s\"
deadline = \"60s\"
attempts_max = 30
timeouts = { heartbeat = \"100ms\" }
";

#[tokio::test]
async fn a_request_without_a_target_is_held_until_there_is_one() {
    for stream in [false, true] {
        let stage = Stage::usual(PATIENT).await;
        for endpoint in ["a", "b"] {
            stage.script(endpoint, "..2s: server_error; ok");
        }
        let mut response = stage.open(Speaks::Messages.request(stream)).await;
        let (mut beats, mut begun) = (0, String::new());
        if stream {
            assert_eq!(response.status(), 200, "the head goes out with the first heartbeat");
            loop {
                let frame = response.body_mut().frame().await.unwrap().unwrap();
                let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
                if text.contains("message_start") {
                    begun = text;
                    break;
                }
                beats += 1;
            }
        }
        let answer = read(response).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let text = begun + &answer.text();
        assert!(text.contains(if stream { "message_stop" } else { "word-1" }), "{text}");
        assert!(!stream || beats > 5, "{beats} heartbeats");
        let steps = stage.events("decision", &["step"]);
        assert!(steps.contains(&"park".to_owned()), "{steps:?}");
    }
}

#[tokio::test]
async fn a_request_wishes_for_itself() {
    let stage = Stage::usual("").await;
    for endpoint in ["a", "b"] {
        stage.script(endpoint, "..1s: server_error; ok");
    }
    let request = with(Speaks::Messages.request(false), "x-steadfast-park", "30s");
    let answer = stage.send(with(request, "x-steadfast-deadline", "60s")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());

    let stage = Stage::usual("").await;
    let request = with(Speaks::Messages.request(false), "x-steadfast-chain", "claude-three, claude-two");
    stage.script("a", "server_error");
    let answer = stage.send(request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let tried = stage.fake.requests().into_iter().map(|seen| seen.model).collect::<Vec<_>>();
    assert!(tried.contains(&"claude-three".to_owned()), "{tried:?}");
    let never = stage.send(with(Speaks::Messages.request(false), "x-steadfast-chain", "claude-one")).await;
    assert_eq!(never.status, 500, "its own name means that it never falls back: {}", never.text());

    stage.script("b", "wait=10m");
    let late = stage.send(with(Speaks::Messages.request(false), "x-steadfast-deadline", "500ms")).await;
    assert_eq!(late.status, 504, "{}", late.text());
}

#[tokio::test]
async fn a_provider_is_left_alone_for_as_long_as_it_asks() {
    let google = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow down","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.2s"}]}}"#;
    let google = format!("status=429 retry-after=none body=\"{}\"", google.replace('"', "\\\""));
    let prose = "status=429 retry-after=none body=\"Rate limit reached for gpt-one. Please try again in 1.2s.\"";
    let limits = "status=429 retry-after=none header=\"x-ratelimit-remaining-requests: 0\" header=\"x-ratelimit-reset-requests: 1.2s\"";
    for (speaks, fault, least_ms) in [
        (Speaks::Messages, "rate_limit retry-after=1", 1000),
        (Speaks::Messages, "rate_limit retry-after=1200ms", 1200),
        (Speaks::Messages, "rate_limit retry-after=date:2s", 900),
        (Speaks::Chat, prose, 1200),
        (Speaks::Chat, limits, 1200),
        (Speaks::Gemini, google.as_str(), 1200),
    ] {
        let stage = Stage::usual("").await;
        stage.script("a", &format!("{fault} x1; ok"));
        let began = Instant::now();
        let answer = stage.send(speaks.request(false)).await;
        let took = began.elapsed();
        let told = format!("{fault} {took:?} {:?}", stage.events("decision", &["kind", "step", "wait_ms", "reason"]));
        assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-attempts")), (200, "2"), "{told}");
        assert!(took >= Duration::from_millis(least_ms), "{told}");
        let waits = stage.events("decision", &["wait_ms"]);
        assert!(waits[0].parse::<u64>().is_ok_and(|wait| wait < least_ms + 2500), "{told}");
    }
    let stage = Stage::usual("").await;
    stage.script("a", "rate_limit retry-after=600");
    let answer = stage.send(Speaks::Messages.request(false)).await;
    assert_eq!(answer.header("x-steadfast-model"), "claude-two", "ten minutes are not waited for");
}

#[tokio::test]
async fn an_endpoint_that_refuses_connections_is_used_again_when_it_is_back() {
    let stage = Stage::usual("[policies.patient]\n[projects.default]\npolicy = \"patient\"\n[policies.patient.on]\nnetwork_transient = [{ retry = 8, every = \"200ms\" }]").await;
    assert_eq!(stage.send(Speaks::Chat.request(false)).await.status, 200);
    stage.fake.stop_listening().await;
    stage.fake.drop_connections().await;
    let waiting = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        stage.fake.listen_again().await.unwrap();
    };
    let (answer, ()) = tokio::join!(stage.send(Speaks::Chat.request(false)), waiting);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let kinds = stage.events("decision", &["kind", "step"]);
    assert!(!kinds.is_empty() && kinds.iter().all(|told| told == "network_transient retry"), "{kinds:?}");
}

/// An endpoint `own` with a key and a health check.
fn checked(path: &str) -> String {
    format!(
        "{USUAL}\n[endpoints.own]\ndialect = \"openai\"\nurl = \"FAKE/@own\"\nkey = {{ env = \"PROVIDER_KEY\" }}\n\
         health = {{ path = \"{path}\", every = \"1s\" }}\n\
         [models.m]\nvendor = \"openai\"\nendpoints = [\"own\", \"ob\"]"
    )
}

#[tokio::test]
async fn an_unhealthy_endpoint_is_avoided_before_a_user_notices() {
    let stage = Stage::new(&checked("/v1/models")).await;
    let state = |name: &str| {
        let snapshot = stage.engine.snapshot();
        let now = stage.engine.clock().now();
        let found = snapshot
            .world
            .endpoints()
            .find(|(_, endpoint)| &*endpoint.name == name)
            .map(|(_, known)| known.breaker.state(now).name());
        found.unwrap()
    };
    assert!(stage.fake.wait_for(|seen| !seen.is_empty(), LIMIT).await, "it is asked at once");
    let asked = &stage.fake.requests()[0];
    assert_eq!(
        (asked.path.as_str(), asked.header("authorization")),
        ("/v1/models", Some("Bearer sk-provider-planted-0815"))
    );
    assert_eq!(state("own"), "closed");
    stage.script("own", "status=503");
    until("the breaker opens", async || state("own") == "open").await;
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    let answer = stage.post("/v1/chat/completions", &body).await;
    let told = ("x-steadfast-endpoint", "x-steadfast-attempts");
    assert_eq!((answer.header(told.0), answer.header(told.1)), ("ob", "1"), "{}", answer.text());
    assert!(stage.send(get("/metrics")).await.text().contains("steadfast_breaker_open{endpoint=\"own\"} 1"));
    stage.script("own", "ok");
    until("it is probed", async || state("own") == "half_open").await;
    let answer = stage.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.header("x-steadfast-endpoint"), "own", "{}", answer.text());
    assert_eq!(state("own"), "closed");

    stage.reload(USUAL);
    tokio::time::sleep(Duration::from_millis(200)).await;
    stage.fake.reset_counts();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(stage.fake.count("own"), 0, "a check that is not configured any more is not made");
    stage.reload(&checked("/v1/other"));
    assert!(stage.fake.wait_for(|seen| seen.iter().any(|seen| seen.path.ends_with("/v1/other")), LIMIT).await);
    stage.engine.stop().await;
    stage.fake.reset_counts();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(stage.fake.count("own"), 0, "nor after the end");
}

#[tokio::test]
async fn a_check_that_refuses_us_or_cannot_be_made_takes_nobody_down() {
    let missing = checked("/v1/models").replace("PROVIDER_KEY", "NOT_SET");
    for (config, script) in [(checked("/v1/models"), "auth"), (checked("/v1/models"), "rate_limit"), (missing, "ok")] {
        let stage = Stage::new(&config).await;
        stage.script("own", script);
        tokio::time::sleep(Duration::from_millis(2500)).await;
        let snapshot = stage.engine.snapshot();
        let now = stage.engine.clock().now();
        assert!(snapshot.world.endpoints().all(|(_, endpoint)| !endpoint.breaker.is_open(now)), "{script}");
    }
}

#[tokio::test]
async fn it_is_not_ready_where_no_endpoint_can_be_used() {
    let alone = "listen = \"127.0.0.1:0\"\n[endpoints.a]\ndialect = \"anthropic\"\nurl = \"FAKE/@a\"\n";
    let keyless = Stage::new(&format!("{alone}key = {{ env = \"NOT_SET\" }}")).await;
    let ready = keyless.send(get("/ready")).await;
    assert_eq!((ready.status.as_u16(), ready.json()["usable"].as_u64()), (503, Some(0)), "{}", ready.text());
    let breaker = "[policies.default]\nattempts_max = 1\nbreaker = { adaptive = false, failures = 1 }";
    let stage = Stage::new(&format!("{alone}{breaker}")).await;
    assert_eq!(stage.send(get("/ready")).await.status, 200);
    stage.script("a", "server_error");
    stage.send(Speaks::Messages.request(false)).await;
    let ready = stage.send(get("/ready")).await;
    assert_eq!((ready.status.as_u16(), ready.json()["usable"].as_u64()), (503, Some(0)), "{}", ready.text());
}

#[tokio::test]
async fn the_time_of_anthropics_own_limits_is_heard() {
    let stage = Stage::usual("").await;
    // One a minute; the reset stands in `anthropic-ratelimit-requests-reset` alone.
    stage.script("a", "rpm=1: rate_limit retry-after=none; ok");
    for model in ["claude-one", "claude-two"] {
        let answer = stage.send(Speaks::Messages.request(false)).await;
        assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-model")), (200, model), "{}", answer.text());
    }
    let decision = stage.log().into_iter().find(|line| line["event"] == "decision").unwrap();
    assert_eq!((&decision["kind"], &decision["step"]), (&json!("rate_limit"), &json!("fallback")), "{decision}");
    assert!((40_000..=61_000).contains(&decision["retry_after_ms"].as_u64().unwrap()), "{decision}");
}
