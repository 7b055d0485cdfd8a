//! What the fake tells about what it received, and how it treats connections.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use steadfast_fake::{End, Fake};
use tokio::net::TcpStream;

use crate::LIMIT;
use crate::client::{CHAT, Client, Ended, GEMINI_SSE, MESSAGES, ask, body};

#[tokio::test]
async fn a_request_is_remembered_as_it_came() {
    let fake = Fake::start().await.unwrap();
    let sent = body(MESSAGES, true);
    ask(fake.addr(), "/@b/v1/messages?beta=true", "words=1", &sent).await;
    assert!(fake.wait_for(|all| all[0].end != End::Running, LIMIT).await);
    let received = fake.requests().remove(0);
    assert_eq!((received.endpoint.as_str(), received.method.as_str()), ("b", "POST"));
    assert_eq!((received.path.as_str(), received.query.as_deref()), ("/v1/messages", Some("beta=true")));
    assert_eq!((received.model.as_str(), received.fault.as_str()), ("claude-opus-4-6", "words=1"));
    assert_eq!(received.header("X-Fake"), Some("words=1"));
    assert_eq!(serde_json::from_slice::<Value>(&received.body).unwrap(), sent);
    assert_eq!(received.body_bytes, received.body.len());
    assert!(received.stream && !received.http2 && received.end == End::Answered);
    ask(fake.addr(), GEMINI_SSE, "", &body(GEMINI_SSE, true)).await;
    assert_eq!(fake.requests()[1].model, "gemini-2.5-pro");
}

#[tokio::test]
async fn each_endpoint_counts_for_itself() {
    let fake = Fake::start().await.unwrap();
    assert_eq!(fake.endpoint_url("b"), format!("{}/@b", fake.url()));
    for path in [CHAT, "/@a/v1/chat/completions", "/@b/v1/chat/completions", "/@b/v1/chat/completions"] {
        ask(fake.addr(), path, "", &body(CHAT, false)).await;
    }
    assert_eq!((fake.count(""), fake.count("a"), fake.count("b"), fake.count("c")), (1, 1, 2, 0));
    fake.reset_counts();
    assert_eq!((fake.count("b"), fake.requests().len()), (0, 0));
    ask(fake.addr(), CHAT, "", &body(CHAT, false)).await;
    assert_eq!((fake.count(""), fake.requests().len()), (1, 1));
}

#[tokio::test]
async fn memory_is_bounded() {
    let fake = Fake::start().await.unwrap();
    let mut request = body(CHAT, false);
    request["user"] = json!("x".repeat(70_000));
    ask(fake.addr(), CHAT, "", &request).await;
    let received = fake.requests().remove(0);
    assert!(received.body.is_empty() && received.body_bytes > 70_000);
    fake.keep_bodies(false);
    let mut client = Client::connect(fake.addr()).await;
    for _ in 0..10_050 {
        client.send(CHAT, "status=503", &json!({})).await;
        client.answer().await;
    }
    let all = fake.requests();
    assert_eq!((all.len(), fake.count("")), (10_000, 10_051));
    assert!(all.iter().all(|request| request.body.is_empty() && request.body_bytes == 2));
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let fake = Fake::start().await.unwrap();
    let mut client = Client::connect(fake.addr()).await;
    for stream in [true, false, true] {
        client.send(CHAT, "words=2", &body(CHAT, stream)).await;
        assert_eq!(client.answer().await.said(), "word-1 word-2");
    }
    assert_eq!((fake.count(""), fake.open_connections()), (3, 1));
    // Two at once are answered in order.
    client.send(CHAT, "words=1 wait=1ms", &body(CHAT, true)).await;
    client.send(CHAT, "words=2", &body(CHAT, false)).await;
    assert_eq!(client.answer().await.said(), "word-1");
    assert_eq!(client.answer().await.said(), "word-1 word-2");
    drop(client);
    while fake.open_connections() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_connection_is_closed_where_the_client_says_so() {
    let fake = Fake::start().await.unwrap();
    for head in ["GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n", "GET /v1/models HTTP/1.0\r\n\r\n"] {
        let mut client = Client::connect(fake.addr()).await;
        client.write(head).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
        assert_eq!(client.answer().await.ended, Ended::Fin);
    }
}

#[tokio::test]
async fn a_chunked_request_and_one_that_waits_to_be_asked() {
    let fake = Fake::start().await.unwrap();
    let text = body(CHAT, false).to_string();
    let (first, second) = text.split_at(10);
    let mut client = Client::connect(fake.addr()).await;
    client.write(&format!("POST {CHAT} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")).await;
    client
        .write(&format!("{:x};ext=1\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\nx: y\r\n\r\n", first.len(), second.len()))
        .await;
    assert_eq!(client.answer().await.status, 200);
    assert_eq!(fake.requests()[0].body, text);

    client
        .write(&format!("POST {CHAT} HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n", text.len()))
        .await;
    let asked = client.read_until(|text| text.ends_with("\r\n\r\n")).await;
    assert_eq!(asked, "HTTP/1.1 100 Continue\r\n\r\n");
    client.write(&text).await;
    let answered = client.read_until(|text| text.contains("word-16")).await;
    assert!(answered.contains("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn what_is_not_http_is_told_so() {
    let fake = Fake::start().await.unwrap();
    for (text, status) in [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/3.0\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        ("POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", 413),
    ] {
        let mut client = Client::connect(fake.addr()).await;
        client.write(text).await;
        assert_eq!(client.answer().await.status, status, "{text}");
    }
    let mut client = Client::connect(fake.addr()).await;
    client.write(&format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(70_000))).await;
    assert_eq!(client.answer().await.status, 431);
}

#[tokio::test]
async fn a_client_that_leaves_during_a_stream_is_noticed() {
    let fake = Fake::start().await.unwrap();
    for spec in ["words=1000000 delay=1ms", "words=100 delay=1d", "first=1d", "wait=1d", "drip=1/1d", "ping=1"] {
        let mut client = Client::connect(fake.addr()).await;
        client.send(MESSAGES, spec, &body(MESSAGES, true)).await;
        assert!(fake.wait_for(|all| all.last().is_some_and(|request| request.fault == spec), LIMIT).await);
        drop(client);
        let left = |end: End| matches!(end, End::ClientLeft { .. });
        assert!(fake.wait_for(|all| left(all.last().unwrap().end), LIMIT).await, "{spec}");
    }
}

#[tokio::test]
async fn a_port_that_is_closed_and_opened_again() {
    let fake = Fake::start().await.unwrap();
    let mut client = Client::connect(fake.addr()).await;
    client.send(CHAT, "", &body(CHAT, false)).await;
    client.answer().await;
    fake.stop_listening().await;
    let refused = TcpStream::connect(fake.addr()).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    client.send(CHAT, "", &body(CHAT, false)).await;
    assert_eq!(client.answer().await.status, 200);
    fake.listen_again().await.unwrap();
    assert_eq!(ask(fake.addr(), CHAT, "", &body(CHAT, false)).await.status, 200);
    fake.drop_connections().await;
    assert_ne!(client.answer().await.ended, Ended::Whole);
    assert_eq!(fake.open_connections(), 0);
    let addr = fake.addr();
    drop(fake);
    while TcpStream::connect(addr).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_watcher_is_told_how_each_request_ended() {
    let fake = Fake::start().await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    fake.watch(move |request| told.lock().unwrap().push((request.fault.clone(), request.end)));
    ask(fake.addr(), CHAT, "words=1", &body(CHAT, false)).await;
    ask(fake.addr(), CHAT, "reset", &body(CHAT, false)).await;
    assert!(fake.wait_for(|all| all.iter().all(|request| request.end != End::Running), LIMIT).await);
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen, [("words=1".to_owned(), End::Answered), ("reset".to_owned(), End::Faulted)]);
}

#[tokio::test]
async fn waiting_for_what_does_not_come_ends() {
    let fake = Fake::start().await.unwrap();
    assert!(!fake.wait_for(|all| !all.is_empty(), std::time::Duration::from_millis(1)).await);
}

#[tokio::test]
async fn many_slow_streams_at_once() {
    let fake = Fake::start().await.unwrap();
    let mut clients = Vec::new();
    // Both ends are open files of this process: more would hit the usual limit of 1024.
    for _ in 0..200 {
        let mut client = Client::connect(fake.addr()).await;
        client.send(CHAT, "words=3 delay=5ms", &body(CHAT, true)).await;
        clients.push(client);
    }
    for mut client in clients {
        assert_eq!(client.answer().await.said(), "word-1 word-2 word-3");
    }
    assert_eq!(fake.count(""), 200);
}
