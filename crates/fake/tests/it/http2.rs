//! HTTP/2 with prior knowledge.

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use steadfast_fake::{End, Fake};
use tokio::net::TcpStream;

use crate::LIMIT;
use crate::client::{CHAT, MESSAGES, body};

type Sender = SendRequest<Full<Bytes>>;

async fn connect(fake: &Fake) -> Sender {
    let socket = TcpStream::connect(fake.addr()).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(socket)).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn ask(sender: &mut Sender, path: &str, spec: &str, stream: bool) -> hyper::Result<Response<Incoming>> {
    let body = Full::new(Bytes::from(body(path, stream).to_string()));
    let request = Request::post(format!("http://fake{path}")).header("x-fake", spec).body(body).unwrap();
    sender.send_request(request).await
}

#[tokio::test]
async fn answers_and_statuses() {
    let fake = Fake::start().await.unwrap();
    let mut sender = connect(&fake).await;
    for (path, spec, stream, status, mark) in [
        (CHAT, "words=2", true, 200, "[DONE]"),
        (CHAT, "words=2", false, 200, "chat.completion"),
        (MESSAGES, "words=2 delay=1ms first=1ms", true, 200, "message_stop"),
        (MESSAGES, "overloaded", true, 529, "overloaded_error"),
        (MESSAGES, "error=1", true, 200, "event: error"),
        (CHAT, "huge=300KB", true, 200, "[DONE]"),
    ] {
        let response = ask(&mut sender, path, spec, stream).await.unwrap();
        assert_eq!(response.status(), status, "{spec}");
        let text = response.into_body().collect().await.unwrap().to_bytes();
        assert!(String::from_utf8_lossy(&text).contains(mark), "{spec}");
    }
    assert!(fake.wait_for(|all| all.len() == 6 && all.iter().all(|request| request.end == End::Answered), LIMIT).await);
    let first = fake.requests().remove(0);
    assert!(first.http2 && first.path == CHAT && first.header("x-fake") == Some("words=2"));
    assert_eq!(fake.open_connections(), 1);
}

#[tokio::test]
async fn a_drip_comes_in_small_frames() {
    let fake = Fake::start().await.unwrap();
    let mut sender = connect(&fake).await;
    let mut incoming = ask(&mut sender, CHAT, "words=1 drip=100/1ms", false).await.unwrap().into_body();
    let mut frames = 0;
    while let Some(frame) = incoming.frame().await {
        let bytes = frame.unwrap().into_data().unwrap().len();
        assert!(bytes <= 100, "{bytes}");
        frames += 1;
    }
    assert!(frames > 5, "{frames}");
}

#[tokio::test]
async fn a_reset_hits_the_stream_and_not_the_connection() {
    let fake = Fake::start().await.unwrap();
    let mut sender = connect(&fake).await;
    assert!(ask(&mut sender, CHAT, "reset", true).await.is_err());
    assert!(ask(&mut sender, CHAT, "garbage", true).await.is_err());
    let response = ask(&mut sender, CHAT, "cut=2", true).await.unwrap();
    let mut incoming = response.into_body();
    let mut text = String::new();
    let broken = loop {
        match incoming.frame().await {
            Some(Ok(frame)) => text.push_str(&String::from_utf8_lossy(&frame.into_data().unwrap())),
            other => break other.is_some(),
        }
    };
    assert!(broken && text.contains("word-2") && !text.contains("word-3"), "{text}");
    assert_eq!(ask(&mut sender, CHAT, "ok", false).await.unwrap().status(), 200);
    assert_eq!(fake.requests()[2].end, End::Faulted);
}

#[tokio::test]
async fn a_client_that_resets_its_stream_has_left() {
    let fake = Fake::start().await.unwrap();
    let mut sender = connect(&fake).await;
    let left = |end: End| matches!(end, End::ClientLeft { .. });
    let response = ask(&mut sender, CHAT, "stall=1", true).await.unwrap();
    drop(response);
    assert!(fake.wait_for(|all| all.len() == 1 && left(all[0].end), LIMIT).await);
    let waiting = tokio::spawn(async move {
        let _ = ask(&mut sender, CHAT, "stall", true).await;
    });
    assert!(fake.wait_for(|all| all.len() == 2, LIMIT).await);
    waiting.abort();
    assert!(fake.wait_for(|all| left(all[1].end), LIMIT).await);
}
