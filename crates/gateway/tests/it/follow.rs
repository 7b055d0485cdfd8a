//! Live events: what a reader asked for, and what one that is too slow is told.

use http::Method;
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use steadfast_core::Timestamp;
use steadfast_core::record::{Event, Record};

use crate::api::{ask, events_until, get};
use crate::control::failed_turn;
use crate::harness::{LIMIT, Speaks, Stage, events, with};

/// What a reader with this filter is told, from the start on.
async fn told(stage: &Stage, first: u64, filter: &str, last: &str) -> Vec<Value> {
    let path = format!("/api/events?since={first}&{filter}");
    let text = events_until(stage, ask(Method::GET, &path, None), |text| text.contains(last)).await;
    events(&text)
}

#[tokio::test]
async fn a_reader_is_told_what_fits_all_its_filters_and_nothing_else() {
    let stage = Stage::usual("").await;
    let first = get(&stage, "/api/now").await.json()["next_event"].as_u64().unwrap();
    stage.script("a", "server_error x3; ok");
    let fell_back = stage.send(with(Speaks::Messages.request(false), "x-steadfast-session", "s1")).await;
    assert_eq!(fell_back.header("x-steadfast-endpoint"), "b", "{}", fell_back.text());
    let served = stage.send(with(Speaks::Chat.request(false), "x-steadfast-session", "s2")).await;
    let id = served.header("x-steadfast-request").to_owned();
    stage.engine.flush();
    let of = async |filter: &str, last: &str, field: &str| {
        let told = told(&stage, first, filter, last).await;
        told.iter().map(|event| event[field].as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    let whole = ["start", "attempt", "success", "outcome"];
    assert_eq!(of("what=waiting,fallback", "\"fallback\"", "what").await, ["waiting", "waiting", "fallback"]);
    assert_eq!(of(&format!("request={id}"), "event: outcome", "event").await, whole);
    assert_eq!(of("session=s2", "event: outcome", "event").await, whole);
    assert_eq!(of("kind=server_error", "\"fallback\"", "event").await, ["decision"; 3]);
    assert_eq!(of("model=gpt-one", "event: success", "event").await, ["start", "attempt", "success"]);
    assert_eq!(of("endpoint=b", "event: success", "event").await, ["start", "decision", "attempt", "success"]);
    assert_eq!(of("session=s1&kind=server_error&what=fallback", "fallback", "kind").await, ["server_error"]);
}

#[tokio::test]
async fn an_alert_is_told_live() {
    let stage = Stage::usual("").await;
    let first = get(&stage, "/api/now").await.json()["next_event"].as_u64().unwrap();
    failed_turn(&stage).await;
    let told = told(&stage, first, "event=alert", "event: alert").await;
    assert_eq!((&told[0]["alert"], &told[0]["state"]), (&"chain_failed".into(), &"raised".into()), "{told:?}");
}

/// Has so many breakers change, with so long a reason.
fn flood(stage: &Stage, count: usize, reason_bytes: usize) {
    let reason = "r".repeat(reason_bytes);
    for number in 0..count {
        let about = Some("a".into());
        let line = Record::new(Timestamp::from_millis(1), Event::Breaker, "".into());
        stage.engine.record(Record { about, reason: Some(reason.clone().into()), ..line });
        if number % 500 == 499 {
            stage.engine.flush();
        }
    }
    stage.engine.flush();
}

#[tokio::test]
async fn a_reader_that_is_overtaken_is_told_once_how_much_it_missed() {
    let stage = Stage::usual("").await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    let stream = socket.connect(stage.address).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(ask(Method::GET, "/api/events?event=breaker", None)).await.unwrap();
    let mut body = response.into_body();
    let mut text = String::new();
    let first = stage.engine.live().next();
    // More than sockets hold, of which it takes nothing; then more than is remembered.
    flood(&stage, 6_000, 1_500);
    let _ = tokio::time::timeout(std::time::Duration::from_millis(300), std::future::pending::<()>()).await;
    flood(&stage, 12_000, 10);
    let last = stage.engine.live().next() - 1;
    let read = async {
        // Only in what came last: the whole is long.
        while !text[text.len().saturating_sub(1000)..].contains(&format!("id: {last}\n")) {
            let frame = body.frame().await.expect("the stream goes on").unwrap();
            text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    };
    tokio::time::timeout(LIMIT, read).await.expect("it catches up");
    let missed: Vec<u64> = events(&text).iter().filter_map(|event| event["missed"].as_u64()).collect();
    let [missed] = missed[..] else { panic!("told {} times", missed.len()) };
    let told = text.matches("event: breaker\n").count() as u64;
    assert_eq!((missed > 0, told + missed), (true, last + 1 - first));
}
