//! What clients do not notice, and what they are told when nothing helps.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;
use steadfast_fake::End;

use crate::control::until;
use crate::harness::{LIMIT, Speaks, Stage, post, read, with};

#[tokio::test]
async fn failures_before_an_answer_are_not_noticed() {
    let faults = ["overloaded", "server_error", "rate_limit", "reset", "close", "reset-after-headers", "html502"];
    let mut cases = tokio::task::JoinSet::new();
    for (fault, speaks) in faults.into_iter().flat_map(|fault| Speaks::ALL.map(|speaks| (fault, speaks))) {
        cases.spawn(async move {
            let stage = Stage::usual("").await;
            for stream in [false, true] {
                stage.script("a", &format!("{fault} x2; ok"));
                let answer = stage.send(speaks.request(stream)).await;
                let told = format!(
                    "{fault} {speaks:?} {stream} {:?} {}",
                    stage.events("decision", &["kind", "reason"]),
                    answer.text()
                );
                assert_eq!(answer.status, 200, "{told}");
                assert!(answer.text().contains("word-1"), "{told}");
            }
        });
    }
    while let Some(case) = cases.join_next().await {
        case.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    }
}

#[tokio::test]
async fn the_next_model_serves_when_the_first_does_not() {
    let stage = Stage::usual("").await;
    stage.script("a", "server_error");
    let answer = stage.send(Speaks::Messages.request(false)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-steadfast-model"), "claude-two");
    assert_eq!(answer.header("x-steadfast-endpoint"), "b");
    assert_eq!(answer.header("x-steadfast-attempts"), "4");
    assert_eq!(answer.header("x-steadfast-steps"), "retry, retry, fallback");
    let sent = stage.fake.requests().pop().unwrap();
    assert_eq!(sent.model, "claude-two", "the body names the model it goes to");
}

#[tokio::test]
async fn a_final_failure_keeps_the_providers_shape_and_stops_the_clients_retries() {
    let stage = Stage::usual("").await;
    for endpoint in ["a", "b"] {
        stage.script(endpoint, "overloaded");
    }
    let answer = stage.send(Speaks::Messages.request(false)).await;
    assert_eq!(answer.status, 529);
    assert_eq!(answer.json()["error"]["type"], "overloaded_error");
    assert_eq!(answer.header("x-should-retry"), "false");
    assert!(!answer.header("x-steadfast-request").is_empty());
}

#[tokio::test]
async fn what_is_wrong_in_itself_passes_at_once_and_as_it_is() {
    let stage = Stage::usual("").await;
    stage.script("a", "status=400");
    let answer = stage.send(Speaks::Messages.request(true)).await;
    assert_eq!((answer.status.as_u16(), stage.fake.requests().len()), (400, 1));
    assert_eq!(answer.json()["type"], "error");
}

#[tokio::test]
async fn an_exhausted_quota_is_set_aside_and_the_next_target_taken_at_once() {
    let own = "[endpoints.keyed]\ndialect = \"anthropic\"\nurl = \"FAKE/@a\"\nkey = { env = \"PROVIDER_KEY\" }\n\
               [models.keyed]\nvendor = \"anthropic\"\nendpoints = [\"keyed\"]\nfallback = [\"claude-two\"]";
    let stage = Stage::usual(own).await;
    stage.script("a", "weekly_quota");
    let body = json!({ "model": "keyed", "max_tokens": 10, "messages": [{ "role": "user", "content": "hi" }] });
    for _ in 0..3 {
        assert_eq!(stage.post("/v1/messages", &body).await.status, 200);
    }
    assert_eq!((stage.fake.count("a"), stage.fake.count("b")), (1, 3), "{:?}", stage.log());
    assert_eq!(stage.events("decision", &["kind", "step"]), ["quota_exhausted fallback"]);
}

#[tokio::test]
async fn when_every_target_refuses_the_answer_says_when_to_come_back() {
    let stage = Stage::usual("[projects.default]\npolicy = \"once\"\n[policies.once]\nattempts_max = 2\n").await;
    for endpoint in ["a", "b"] {
        stage.script(endpoint, "server_error");
    }
    let mut last = stage.send(Speaks::Messages.request(false)).await;
    for turn in 0..300 {
        let mut body = Speaks::Messages.body(false);
        body["turn"] = turn.into();
        last = stage.post("/v1/messages", &body).await;
        if last.status == 503 {
            break;
        }
    }
    assert_eq!(last.status, 503, "{}", last.text());
    let seconds: u64 = last.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert!(last.text().contains("the breaker is open"), "{}", last.text());
}

#[tokio::test]
async fn a_model_whose_window_is_too_small_is_passed_over_and_said() {
    let stage = Stage::usual("[models.claude-small]\nvendor = \"anthropic\"\nendpoints = [\"b\"]\ncontext_window = 1000\n[models.big]\nvendor = \"anthropic\"\nendpoints = [\"a\"]\nfallback = [\"claude-small\"]").await;
    stage.script("a", "server_error");
    let body =
        json!({ "model": "big", "max_tokens": 10, "messages": [{ "role": "user", "content": "x ".repeat(20_000) }] });
    let answer = stage.post("/v1/messages", &body).await;
    assert_ne!(answer.status, 200);
    assert_eq!(stage.fake.count("b"), 0);
    let told = stage.events("decision", &["step", "passed_over"]);
    assert!(told.last().unwrap().contains("its context window is too small"), "{told:?}");
}

#[tokio::test]
async fn a_full_context_climbs_the_ladder() {
    let more = "[models.large]\nvendor = \"anthropic\"\nendpoints = [\"b\"]\ncontext_window = 1000000\n[models.small]\nvendor = \"anthropic\"\nendpoints = [\"a\"]\ncontext_window = 200000\n[ladders]\nx = [\"small\", \"large\"]";
    let stage = Stage::usual(more).await;
    stage.script("a", "context");
    let body = json!({ "model": "small", "max_tokens": 10, "messages": [{ "role": "user", "content": "x" }] });
    let answer = stage.send(with(post("/v1/messages", &body), "x-steadfast-session", "s1")).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-model")), (200, "large"), "{}", answer.text());
    assert_eq!(stage.events("decision", &["kind", "step"]), ["context_limit escalate"]);
    let again = stage.send(with(post("/v1/messages", &body), "x-steadfast-session", "s1")).await;
    assert_eq!(again.header("x-steadfast-attempts"), "1", "the session sticks to it");
}

#[tokio::test]
async fn a_session_remembers_what_failed() {
    let stage = Stage::usual("").await;
    let request = || with(Speaks::Messages.request(false), "x-claude-code-session-id", "s1");
    stage.script("a", "server_error x3; ok");
    assert_eq!(stage.send(request()).await.header("x-steadfast-model"), "claude-two");
    let next = stage.send(request()).await;
    assert_eq!((next.header("x-steadfast-model"), next.header("x-steadfast-attempts")), ("claude-two", "1"));
    let stranger = stage.send(Speaks::Messages.request(false)).await;
    assert_eq!(stranger.header("x-steadfast-model"), "claude-one");
    let back = stage.send(request()).await;
    assert_eq!(back.header("x-steadfast-model"), "claude-one", "somebody was served there since");
}

#[tokio::test]
async fn money_that_is_gone_is_refused_before_the_call() {
    let stage = Stage::usual("[projects.default]\nspend = { usd_per_session = 0.002 }").await;
    let request = || with(Speaks::Messages.request(false), "x-steadfast-session", "s1");
    let mut statuses = Vec::new();
    for _ in 0..60 {
        let answer = stage.send(request()).await;
        statuses.push(answer.status.as_u16());
        if answer.status == 402 {
            assert!(answer.text().contains("spend budget"), "{}", answer.text());
            break;
        }
    }
    assert_eq!((statuses[0], *statuses.last().unwrap()), (200, 402), "{statuses:?}");
    assert_eq!(stage.fake.requests().len(), statuses.len() - 1);
}

#[tokio::test]
async fn a_client_that_leaves_during_a_backoff_is_not_called_for_again() {
    let stage = Stage::usual("").await;
    stage.script("a", "rate_limit retry-after=2");
    let response = tokio::time::timeout(Duration::from_millis(600), stage.open(Speaks::Messages.request(false))).await;
    assert!(response.is_err(), "it waits for its retry");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let left = stage.engine.clone();
    assert!(stage.events("outcome", &["outcome"]).contains(&"cancelled".to_owned()), "{:?}", stage.log());
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!((stage.fake.count("a"), stage.fake.count("b")), (1, 0));
    let snapshot = left.snapshot();
    let (_, endpoint) = snapshot.world.endpoints().next().unwrap();
    assert!(!endpoint.breaker.is_open(left.clock().now()));
}

#[tokio::test]
async fn an_answer_that_finished_after_its_client_had_gone_is_there_when_it_comes_back() {
    let stage = Stage::usual("").await;
    stage.script("a", "first=400ms");
    let gone = tokio::time::timeout(Duration::from_millis(150), stage.open(Speaks::Messages.request(false))).await;
    assert!(gone.is_err());
    assert!(stage.fake.wait_for(|seen| seen.len() == 1 && matches!(seen[0].end, End::Answered), LIMIT).await);
    let other = with(Speaks::Messages.request(false), "authorization", "Bearer sk-another-client");
    assert_eq!(stage.send(other).await.header("x-steadfast-journal"), "", "others do not get it");
    let again = stage.send(Speaks::Messages.request(false)).await;
    assert_eq!((again.status.as_u16(), again.header("x-steadfast-journal")), (200, "kept"), "{}", again.text());
    assert_eq!(stage.fake.requests().len(), 2);
    assert_eq!(stage.send(Speaks::Messages.request(false)).await.header("x-steadfast-journal"), "", "once");
}

#[tokio::test]
async fn half_open_with_two_hundred_waiters_sends_one_probe() {
    let stage = Stage::usual("[models.alone]\nvendor = \"anthropic\"\nendpoints = [\"a\"]\n[projects.default]\npolicy = \"once\"\n[policies.once]\nattempts_max = 1\nbreaker = { cooldown = \"1s\", cooldown_max = \"1s\" }").await;
    let body = |turn: u32| json!({ "model": "alone", "max_tokens": 10, "messages": [{ "role": "user", "content": turn.to_string() }] });
    stage.script("a", "server_error");
    for turn in 0..10 {
        stage.post("/v1/messages", &body(turn)).await;
    }
    stage.fake.reset_counts();
    stage.script("a", "first=4s");
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let stage = std::sync::Arc::new(stage);
    let mut waiters = tokio::task::JoinSet::new();
    for turn in 100..300 {
        let (stage, body) = (stage.clone(), body(turn));
        waiters.spawn(async move { stage.post("/v1/messages", &body).await.status.as_u16() });
    }
    let mut refused = 0;
    while refused < 199 {
        refused += u32::from(waiters.join_next().await.unwrap().unwrap() == 503);
    }
    assert_eq!(stage.fake.requests().len(), 1, "the probe, while it is under way");
    assert_eq!(waiters.join_next().await.unwrap().unwrap(), 200, "the probe itself is served");
}

/// A gateway whose only endpoint just failed, and is ready to be probed.
async fn cooled() -> Stage {
    let once =
        "attempts_max = 1\nbreaker = { adaptive = false, failures = 1, cooldown = \"1s\", cooldown_max = \"1s\" }";
    let alone = "[models.alone]\nvendor = \"anthropic\"\nendpoints = [\"a\"]\n[projects.default]\npolicy = \"once\"";
    let stage = Stage::usual(&format!("{alone}\n[policies.once]\n{once}")).await;
    stage.script("a", "server_error");
    stage.send(asking_alone("before", false)).await;
    until("it may be probed", async || state_of(&stage) == "half_open").await;
    stage
}

fn asking_alone(words: &str, stream: bool) -> Request<Full<Bytes>> {
    let mut body = Speaks::Messages.body_with_tool();
    (body["model"], body["stream"]) = ("alone".into(), stream.into());
    body["messages"] = json!([{ "role": "user", "content": words }]);
    post("/v1/messages", &body)
}

/// What the breaker of `a` is doing.
fn state_of(stage: &Stage) -> &'static str {
    let (snapshot, now) = (stage.engine.snapshot(), stage.engine.clock().now());
    let mut endpoints = snapshot.world.endpoints();
    endpoints.find(|(_, known)| &*known.name == "a").unwrap().1.breaker.state(now).name()
}

#[tokio::test]
async fn a_probe_whose_stream_is_slow_keeps_nobody_waiting_once_it_has_begun() {
    // None of these streams ever ends.
    for (script, mode) in [("stall=1", "fast"), ("stall=1", "safe"), ("answer=tool stall=1", "fast")] {
        let stage = std::sync::Arc::new(cooled().await);
        stage.script("a", &format!("{script} x1; ok"));
        let (probing, probe) = (stage.clone(), with(asking_alone("probe", true), "x-steadfast-stream", mode));
        let probe = tokio::spawn(async move { read(probing.open(probe).await).await });
        until("its first content came", async || state_of(&stage) == "closed").await;
        let other = stage.send(asking_alone("other", false)).await;
        assert_eq!((other.status.as_u16(), probe.is_finished()), (200, false), "{script} {mode}: {}", other.text());
        assert_eq!(stage.events("breaker", &["about", "state"]), ["a open", "a closed"], "{script} {mode}");
        probe.abort();
    }
}

#[tokio::test]
async fn a_probe_whose_stream_breaks_after_it_began_counts_as_a_failure_of_the_closed_breaker() {
    let stage = cooled().await;
    stage.script("a", "cut=2");
    let cut = stage.send(asking_alone("probe", true)).await;
    assert!(cut.text().contains("word-1") && !Speaks::Messages.is_whole(&cut.text()), "{}", cut.text());
    assert_eq!(stage.events("breaker", &["about", "state"]), ["a open", "a closed", "a open"]);
}

#[tokio::test]
async fn one_clients_exhausted_key_is_not_the_end_for_another() {
    let stage = Stage::usual("").await;
    stage.script("a", "weekly_quota x1; ok");
    let chain = |request| with(request, "x-steadfast-chain", "claude-one");
    assert_eq!(stage.send(chain(Speaks::Messages.request(false))).await.status, 429);
    let other = with(Speaks::Messages.request(false), "authorization", "Bearer sk-another-client");
    let answer = stage.send(chain(other)).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-model")), (200, "claude-one"), "{}", answer.text());
}

#[tokio::test]
async fn what_is_not_ours_to_retry_is_left_to_the_client() {
    let stage = Stage::usual("").await;
    stage.script("a", "rate_limit retry-after=7");
    let answer = stage.post("/v1/images/generations", &json!({ "model": "gpt-one" })).await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (429, "7"));
    assert_eq!((answer.header("x-should-retry"), stage.fake.count("a")), ("", 1));
}

#[tokio::test]
async fn what_costs_nothing_is_not_refused_for_money() {
    let stage = Stage::usual("[projects.default]\nspend = { usd_per_session = 0.002 }").await;
    assert_eq!(stage.send(crate::harness::get("/v1/models")).await.status, 200);
    for _ in 0..3 {
        let answer = stage.post("/v1/messages/count_tokens", &Speaks::Messages.body(false)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

#[tokio::test]
async fn nothing_is_started_for_a_client_that_left_during_an_attempt() {
    let stage = Stage::usual("").await;
    stage.script("a", "model first=400ms wait=400ms");
    let gone = tokio::time::timeout(Duration::from_millis(150), stage.open(Speaks::Messages.request(false))).await;
    assert!(gone.is_err());
    assert!(stage.fake.wait_for(|seen| seen.len() == 1 && !matches!(seen[0].end, End::Running), LIMIT).await);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!((stage.fake.count("a"), stage.fake.count("b")), (1, 0), "{:?}", stage.log());
}

#[tokio::test]
async fn a_name_that_is_no_name_is_refused() {
    let stage = Stage::usual("").await;
    let answer = stage.post("/v1/chat/completions", &json!({ "model": "m".repeat(300), "messages": [] })).await;
    assert_eq!((answer.status.as_u16(), stage.fake.requests().len()), (400, 0));
    assert!(answer.text().contains("longer than 256 bytes"), "{}", answer.text());
}

#[tokio::test]
async fn when_every_target_refuses_the_earliest_time_is_told() {
    let config = "[projects.default]\npolicy = \"once\"\n[policies.once.on]\nrate_limit = [\"fallback\"]\n\
                  [endpoints.ka]\ndialect = \"anthropic\"\nurl = \"FAKE/@a\"\nkey = { env = \"PROVIDER_KEY\" }\n\
                  [endpoints.kb]\ndialect = \"anthropic\"\nurl = \"FAKE/@b\"\nkey = { env = \"PROVIDER_KEY\" }\n\
                  [models.keyed]\nvendor = \"anthropic\"\nendpoints = [\"ka\", \"kb\"]";
    for (model, a, b) in [("keyed", 40, 55), ("keyed", 55, 40), ("claude-one", 40, 55), ("claude-one", 55, 40)] {
        let stage = Stage::usual(config).await;
        stage.script("a", &format!("rate_limit retry-after={a}"));
        stage.script("b", &format!("rate_limit retry-after={b}"));
        for turn in 0..2 {
            let messages = json!([{ "role": "user", "content": turn.to_string() }]);
            let answer =
                stage.post("/v1/messages", &json!({ "model": model, "max_tokens": 9, "messages": messages })).await;
            let told = format!("{model} {a} {b} turn {turn}: {} {:?}", answer.text(), answer.headers);
            assert_eq!(answer.status, 429, "{told}");
            assert!((35..=40).contains(&answer.header("retry-after").parse::<u64>().unwrap()), "{told}");
        }
    }
}

#[tokio::test]
async fn a_large_body_arrives_whole_on_every_attempt() {
    let stage = Stage::usual("").await;
    stage.script("a", "server_error x1; reset x1; answer=echo");
    let words = "word ".repeat(300_000);
    let body = json!({ "model": "claude-one", "max_tokens": 9, "messages": [{ "role": "user", "content": words }] });
    let answer = stage.post("/v1/messages", &body).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-attempts")), (200, "3"));
    assert_eq!(answer.json()["content"][0]["text"], words);
    let lengths = stage.fake.requests().into_iter().map(|seen| seen.body_bytes).collect::<Vec<_>>();
    assert_eq!(lengths, [body.to_string().len(); 3]);
}
