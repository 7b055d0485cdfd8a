//! Clients that are kept waiting: what they get meanwhile, and for how long.

use crate::harness::{Speaks, Stage, all_at_once, with};

const BEATS: &str = "[projects.default]\npolicy = \"beats\"\n[policies.beats]\ntimeouts = { heartbeat = \"100ms\" }";

/// What docs/gateway.md says each format gets.
const fn beat(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::Chat | Speaks::Responses => ": keepalive\n",
        Speaks::Messages => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        Speaks::Gemini => "\n\n",
        Speaks::Array => "\n",
    }
}

/// How each format's stream begins.
const fn beginning(speaks: Speaks) -> &'static str {
    match speaks {
        Speaks::Chat | Speaks::Gemini => "data: {",
        Speaks::Responses => "event: response.created\n",
        Speaks::Messages => "event: message_start\n",
        Speaks::Array => "[{",
    }
}

#[tokio::test]
async fn a_client_that_waits_gets_the_heartbeats_of_its_format_and_then_its_answer() {
    // A slow provider, one that fails first, and a turn that is held back.
    let held = [("wait=500ms", "fast"), ("server_error wait=300ms x1; wait=300ms", "fast"), ("delay=50ms", "safe")];
    all_at_once(Speaks::STREAMS, |speaks| async move {
        for (script, mode) in held {
            let stage = Stage::usual(BEATS).await;
            stage.script("a", script);
            let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", mode)).await;
            let text = answer.text();
            let told = format!("{speaks:?} {script} {text:?}");
            let mut rest = text.as_str();
            while let Some(after) = rest.strip_prefix(beat(speaks)) {
                rest = after;
            }
            assert!(answer.status == 200 && rest.len() < text.len(), "a heartbeat before the answer: {told}");
            assert!(rest.starts_with(beginning(speaks)), "and nothing else: {told}");
            assert!(speaks.is_whole(rest) && speaks.text(rest).contains("word-1 word-2"), "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_stream_that_falls_silent_gets_heartbeats_after_each_piece_of_it() {
    let stage = Stage::usual(BEATS).await;
    stage.script("a", "words=4 delay=450ms");
    let text = stage.send(Speaks::Chat.request(true)).await.text();
    for word in 2..=4 {
        let (before, _) = text.split_once(&format!("word-{word}")).unwrap();
        let (_, between) = before.split_once(&format!("word-{}", word - 1)).unwrap();
        assert!(between.matches(beat(Speaks::Chat)).count() > 1, "before word {word}: {text}");
    }
    assert!(Speaks::Chat.is_whole(&text), "{text}");
}

#[tokio::test]
async fn codex_gets_events_for_heartbeats() {
    let stage = Stage::usual(BEATS).await;
    stage.script("a", "wait=1s");
    let text = stage.send(with(Speaks::Responses.request(true), "originator", "codex_exec")).await.text();
    assert!(text.starts_with("event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n"), "{text}");
    assert!(Speaks::Responses.is_whole(&text), "{text}");
}

#[tokio::test]
async fn a_clients_own_patience_counts() {
    for header in ["x-stainless-timeout", "x-stainless-read-timeout"] {
        let stage = Stage::usual("").await;
        stage.script("a", "wait=10s");
        stage.script("b", "wait=10s");
        let answer = stage.send(with(Speaks::Messages.request(false), header, "2")).await;
        assert_eq!(answer.status, 504, "{header} {}", answer.text());
        let outcome = stage.log().into_iter().find(|line| line["event"] == "outcome").unwrap();
        assert!(outcome["latency_ms"].as_u64().unwrap() < 2000, "{header} {outcome}");
    }
}
