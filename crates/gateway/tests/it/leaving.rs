//! Clients that leave: who hears of it, how soon, and whom it is not held against.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use steadfast_fake::End;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{LIMIT, Speaks, Stage, USUAL, post, read};

/// Asks, and leaves once this many requests are at the provider and some time has passed.
async fn leave(stage: &Stage, request: Request<Full<Bytes>>, arrived: usize) {
    let asked = stage.open(request);
    let left = async {
        assert!(stage.fake.wait_for(|seen| seen.len() == arrived, LIMIT).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    tokio::select! {
        response = asked => panic!("{response:?}"),
        () = left => {}
    }
}

fn is_open(stage: &Stage) -> bool {
    let now = stage.engine.clock().now();
    stage.engine.snapshot().world.endpoints().any(|(_, endpoint)| endpoint.breaker.is_open(now))
}

#[tokio::test]
async fn a_client_that_leaves_during_a_backoff_is_not_held_against_the_endpoint() {
    for stream in [false, true] {
        let config = USUAL.replace("failures = 5", "failures = 2").replace("every = \"20ms\"", "every = \"2s\"");
        let stage = Stage::new(&config).await;
        stage.script("a", "server_error x1; ok");
        leave(&stage, Speaks::Messages.request(stream), 1).await;
        let mut turn = Speaks::Messages.body(stream);
        turn["turn"] = 2.into();
        assert_eq!(stage.post("/v1/messages", &turn).await.header("x-steadfast-endpoint"), "a");
        assert!(stage.events("outcome", &["outcome"]).contains(&"cancelled".to_owned()), "{:?}", stage.log());
        assert!(!is_open(&stage), "one failure was the provider's, and the other nobody's");
    }
}

#[tokio::test]
async fn clients_that_leave_during_silence_open_no_breaker() {
    let stage = Stage::new(&USUAL.replace("failures = 5", "failures = 1")).await;
    stage.script("a", "stall");
    for number in 1..=10 {
        leave(&stage, Speaks::Messages.request(true), number).await;
    }
    let left = |end: &End| matches!(end, End::ClientLeft { .. });
    assert!(stage.fake.wait_for(|seen| seen.iter().all(|seen| left(&seen.end)), LIMIT).await);
    assert_eq!((stage.fake.count("a"), stage.fake.count("b")), (10, 0));
    assert!(!is_open(&stage));
}

/// How long the provider takes to hear that a client has left: the best of nine, for what it takes
/// more often is the machine's doing.
///
/// `reads` says whether the client waits for a first piece before it goes.
async fn heard_after(
    stage: &Stage,
    speaks: Speaks,
    headers: &[(&str, &str)],
    body: &serde_json::Value,
    reads: bool,
) -> Duration {
    let mut took = Vec::new();
    let body = body.to_string();
    for number in 1..=9 {
        let mut client = TcpStream::connect(stage.address).await.unwrap();
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n{headers}\r\n",
            speaks.path(true),
            body.len()
        );
        client.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        stage.fake.wait_for(|seen| seen.len() >= number, LIMIT).await;
        if reads {
            let mut answer = Vec::new();
            while !String::from_utf8_lossy(&answer).contains("word-1") {
                let read = client.read_buf(&mut answer).await.unwrap();
                assert_ne!(read, 0, "{}", String::from_utf8_lossy(&answer));
            }
        } else {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let left = Instant::now();
        drop(client);
        let gone = |end: End| matches!(end, End::ClientLeft { .. });
        assert!(stage.fake.wait_for(|seen| seen.iter().filter(|seen| gone(seen.end)).count() == number, LIMIT).await);
        took.push(left.elapsed());
    }
    took.into_iter().min().unwrap()
}

const SOON: Duration = Duration::from_millis(100);

#[tokio::test]
async fn a_provider_hears_at_once_that_the_client_has_left() {
    for (case, script, headers, reads) in [
        ("after its first frame", "words=10000 delay=20ms", &[][..], true),
        ("before its head", "stall", &[], false),
        ("held back", "words=10000 delay=20ms", &[("x-steadfast-stream", "safe")], false),
        ("resumable", "words=10000 delay=20ms", &[("x-steadfast-stream", "resume")], true),
    ] {
        for speaks in Speaks::ALL {
            let stage = Stage::usual("").await;
            stage.script("a", script);
            let took = heard_after(&stage, speaks, headers, &speaks.body(true), reads).await;
            assert!(took < SOON, "{case} {speaks:?}: {took:?}");
        }
    }
}

#[tokio::test]
async fn a_provider_of_another_format_hears_it_as_soon() {
    let stage = Stage::usual("").await;
    stage.script("b", "words=10000 delay=20ms");
    let mut body = Speaks::Messages.body(true);
    body["model"] = "gpt-two".into();
    let took = heard_after(&stage, Speaks::Messages, &[], &body, true).await;
    assert!(took < SOON, "{took:?}");
    assert!(stage.fake.requests().iter().all(|seen| seen.path == "/v1/chat/completions"));
}

#[tokio::test]
async fn over_http2_a_client_that_leaves_ends_its_own_stream_alone() {
    let stage = Stage::usual("[endpoints.h2]\ndialect = \"openai\"\nurl = \"FAKE/@h2\"\nhttp2 = true\n\
        [models.two]\nvendor = \"openai\"\nendpoints = [\"h2\"]\n[models.other]\nvendor = \"openai\"\nendpoints = [\"h2\"]").await;
    stage.script("h2", "words=10000 delay=20ms");
    stage.fake.script_model("h2", "other", "words=150 delay=20ms").unwrap();
    let mut body = Speaks::Chat.body(true);
    body["model"] = "other".into();
    let mut other = stage.open(post("/v1/chat/completions", &body)).await;
    other.body_mut().frame().await.unwrap().unwrap();
    stage.fake.reset_counts();
    body["model"] = "two".into();
    let took = heard_after(&stage, Speaks::Chat, &[], &body, true).await;
    assert!(took < SOON, "{took:?}");
    assert_eq!(stage.fake.open_connections(), 1, "all on one connection");
    let other = read(other).await;
    assert!(other.clean && Speaks::Chat.is_whole(&other.text()), "{}", other.text());
}

/// What the project has spent and holds, in micro-dollars.
fn books(stage: &Stage) -> (u64, u64) {
    let snapshot = stage.engine.snapshot();
    let ledger = snapshot.project("default").unwrap().spend.ledger();
    (ledger.settled_usd_micros, ledger.reserved_usd_micros)
}

#[tokio::test]
async fn what_was_used_of_a_stream_that_did_not_end_is_paid() {
    let stage = Stage::usual("").await;
    stage.script("a", "cut=5");
    let cut = stage.send(Speaks::Messages.request(true)).await.text();
    assert!(Speaks::Messages.error(&cut).is_some(), "{cut}");
    let (settled, reserved) = books(&stage);
    assert!(settled > 0 && reserved == 0, "a cut: {settled} {reserved}");

    let stage = Stage::usual("").await;
    stage.script("a", "words=10000 delay=20ms");
    let mut response = stage.open(Speaks::Messages.request(true)).await;
    response.body_mut().frame().await.unwrap().unwrap();
    assert!(books(&stage).1 > 0, "held while it runs");
    drop(response);
    assert!(stage.fake.wait_for(|seen| matches!(seen[0].end, End::ClientLeft { .. }), LIMIT).await);
    let (settled, reserved) = books(&stage);
    assert!(settled > 0 && reserved == 0, "left: {settled} {reserved}");
}
