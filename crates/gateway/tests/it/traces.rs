//! Traces as a collector receives them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::harness::{LIMIT, Speaks, Stage, USUAL, get, with};

/// A collector: it takes what is posted and answers as it is told.
struct Collector {
    url: String,
    received: Arc<Received>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Received {
    requests: Mutex<Vec<(String, Value)>>,
    more: Notify,
}

impl Collector {
    async fn start() -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    fn on(listener: TcpListener) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Received::default());
        let shared = Arc::clone(&received);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(take(socket, Arc::clone(&shared)));
            }
        });
        Self { url, received, task }
    }

    /// All spans so far, once there are so many.
    async fn spans(&self, count: usize) -> Vec<Span> {
        let enough = async {
            loop {
                let more = self.received.more.notified();
                let spans = self.all();
                if spans.len() >= count {
                    return spans;
                }
                more.await;
            }
        };
        match tokio::time::timeout(LIMIT, enough).await {
            Ok(spans) => spans,
            Err(_) => panic!("{} spans instead of {count}: {:?}", self.all().len(), self.all()),
        }
    }

    fn all(&self) -> Vec<Span> {
        let requests = self.received.requests.lock().unwrap();
        let spans = requests.iter().flat_map(|(_, body)| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array());
        spans.flatten().map(Span::read).collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take(mut socket: TcpStream, received: Arc<Received>) {
    let mut bytes = Vec::new();
    loop {
        let head_end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if socket.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                return;
            }
        };
        let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap().to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse::<usize>();
        let length = length.unwrap();
        while bytes.len() < head_end + length {
            socket.read_buf(&mut bytes).await.unwrap();
        }
        let body = serde_json::from_slice(&bytes[head_end..head_end + length]).unwrap();
        bytes.drain(..head_end + length);
        received.requests.lock().unwrap().push((head, body));
        received.more.notify_waiters();
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
    }
}

/// A span with its attributes by name.
#[derive(Clone, Debug)]
struct Span {
    name: String,
    kind: u64,
    trace: String,
    id: String,
    parent: String,
    failed: bool,
    attributes: HashMap<String, String>,
    events: Vec<(String, HashMap<String, String>)>,
}

impl Span {
    fn read(span: &Value) -> Self {
        let text = |name: &str| span[name].as_str().unwrap_or("").to_owned();
        let (began, ended) = (text("startTimeUnixNano"), text("endTimeUnixNano"));
        assert!(began.len() == 19 && began <= ended, "{span}");
        let events = span["events"].as_array().cloned().unwrap_or_default();
        Self {
            name: text("name"),
            kind: span["kind"].as_u64().unwrap(),
            trace: text("traceId"),
            id: text("spanId"),
            parent: text("parentSpanId"),
            failed: span["status"]["code"] == 2,
            attributes: attributes(&span["attributes"]),
            events: events
                .iter()
                .map(|event| (event["name"].as_str().unwrap().to_owned(), attributes(&event["attributes"])))
                .collect(),
        }
    }

    fn get(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

fn attributes(list: &Value) -> HashMap<String, String> {
    let text = |value: &Value| match (&value["stringValue"], &value["intValue"]) {
        (Value::String(text), _) | (_, Value::String(text)) => text.clone(),
        other => panic!("{other:?}"),
    };
    let pairs = list.as_array().unwrap().iter();
    pairs.map(|pair| (pair["key"].as_str().unwrap().to_owned(), text(&pair["value"]))).collect()
}

async fn stage(collector: &Collector) -> Stage {
    Stage::new(&format!("{USUAL}\n[traces]\nendpoint = \"{}\"\nservice = \"mine\"", collector.url)).await
}

#[tokio::test]
async fn a_request_with_a_retry_and_a_fallback_is_a_tree() {
    let collector = Collector::start().await;
    let stage = stage(&collector).await;
    stage.script("a", "server_error x1; rate_limit");
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let request = with(Speaks::Messages.request(false), "traceparent", parent);
    let request = with(with(request, "tracestate", "vendor=1"), "x-steadfast-session", "s1");
    let answer = stage.send(request).await;
    assert_eq!(answer.header("x-steadfast-steps"), "retry, retry, retry, fallback");
    let spans = collector.spans(6).await;

    let server = spans.iter().find(|span| span.kind == 2).unwrap();
    assert_eq!((&*server.name, server.failed), ("chat claude-one", false));
    assert_eq!((&*server.trace, &*server.parent), ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"));
    for (name, value) in [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "anthropic"),
        ("gen_ai.request.model", "claude-one"),
        ("gen_ai.response.model", "claude-two"),
        ("gen_ai.usage.output_tokens", "16"),
        ("gen_ai.conversation.id", "s1"),
        ("steadfast.request", answer.header("x-steadfast-request")),
        ("steadfast.project", "default"),
        ("steadfast.attempts", "5"),
        ("steadfast.outcome", "succeeded"),
        ("steadfast.endpoint", "b"),
        ("error.type", ""),
    ] {
        assert_eq!(server.get(name), value, "{name} {server:?}");
    }
    assert!(server.get("gen_ai.usage.input_tokens").parse::<u64>().unwrap() > 0);
    let decisions: Vec<_> = server.events.iter().filter(|(name, _)| name == "decision").collect();
    let steps: Vec<&str> = decisions.iter().map(|(_, told)| &*told["steadfast.step"]).collect();
    assert_eq!(steps, ["retry", "retry", "retry", "fallback"]);
    assert_eq!(decisions[0].1["steadfast.wait_ms"], "20");
    assert!(decisions[0].1["steadfast.reason"].contains("retry 1 of 2"), "{decisions:?}");
    assert_eq!(decisions[3].1["steadfast.to.model"], "claude-two");

    let mut attempts: Vec<&Span> = spans.iter().filter(|span| span.kind == 3).collect();
    attempts.sort_by_key(|span| span.get("steadfast.attempt").to_owned());
    let told: Vec<_> = attempts
        .iter()
        .map(|span| {
            let names = ["steadfast.endpoint", "steadfast.choice", "http.response.status_code", "error.type"];
            (&*span.name, names.map(|name| span.get(name)).join(" "), span.failed)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("chat claude-one", "a first 500 server_error".to_owned(), true),
            ("chat claude-one", "a retry 429 rate_limit".to_owned(), true),
            ("chat claude-one", "a retry 429 rate_limit".to_owned(), true),
            ("chat claude-one", "a retry 429 rate_limit".to_owned(), true),
            ("chat claude-two", "b fallback 200 ".to_owned(), false),
        ]
    );
    assert!(attempts.iter().all(|span| span.trace == server.trace && span.parent == server.id), "{attempts:?}");
    assert!(attempts[..4].iter().all(|span| !span.get("steadfast.rule").is_empty()), "{attempts:?}");
    for (span, seen) in attempts.iter().zip(stage.fake.requests()) {
        let told = format!("00-{}-{}-01", span.trace, span.id);
        assert_eq!(seen.header("traceparent"), Some(told.as_str()), "each attempt names its own span");
        assert_eq!(seen.header("tracestate"), Some("vendor=1"));
    }
    let (head, body) = collector.received.requests.lock().unwrap()[0].clone();
    assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
    let resource = attributes(&body["resourceSpans"][0]["resource"]["attributes"]);
    assert_eq!(resource["service.name"], "mine");
}

#[tokio::test]
async fn streams_failures_and_clients_that_leave_have_an_end() {
    let collector = Collector::start().await;
    let stage = stage(&collector).await;
    assert_eq!(stage.send(Speaks::Gemini.request(true)).await.status, 200);
    let spans = collector.spans(2).await;
    assert_eq!(spans[1].name, "generate_content gemini-one");
    assert_eq!(spans[0].get("gen_ai.provider.name"), "gcp.gemini");
    assert_eq!(spans[0].events[0].0, "first_token");
    assert!(spans[1].parent.is_empty(), "a trace of its own: {spans:?}");

    stage.script("a", "status=400");
    assert_eq!(stage.send(Speaks::Chat.request(false)).await.status, 400);
    let spans = collector.spans(4).await;
    let told = (spans[3].get("steadfast.outcome"), spans[3].get("error.type"), spans[3].failed);
    assert_eq!(told, ("gave_up", "invalid_request", true));

    stage.script("a", "words=10000 delay=20ms");
    let mut response = stage.open(Speaks::Messages.request(true)).await;
    http_body_util::BodyExt::frame(response.body_mut()).await.unwrap().unwrap();
    drop(response);
    let spans = collector.spans(6).await;
    assert_eq!((spans[4].get("error.type"), spans[4].get("http.response.status_code")), ("cancelled", "200"));
    assert_eq!((spans[5].get("steadfast.outcome"), spans[5].failed), ("cancelled", false));
}

#[tokio::test]
async fn a_caller_who_does_not_record_is_not_recorded() {
    let collector = Collector::start().await;
    let stage = stage(&collector).await;
    let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
    stage.send(with(Speaks::Chat.request(false), "traceparent", unsampled)).await;
    assert_eq!(stage.fake.requests()[0].header("traceparent"), Some(unsampled), "passed on as it came");
    stage.send(Speaks::Messages.request(false)).await;
    let names: Vec<String> = collector.spans(2).await.into_iter().map(|span| span.name).collect();
    assert_eq!(names, ["chat claude-one", "chat claude-one"]);
}

#[tokio::test]
async fn nothing_is_lost_at_shutdown_and_nothing_is_sent_without_an_address() {
    let collector = Collector::start().await;
    let mut stage = stage(&collector).await;
    stage.send(Speaks::Messages.request(false)).await;
    drop(stage.stop.take());
    stage.serving.take().unwrap().await.unwrap();
    assert_eq!(collector.all().len(), 2, "the shutdown waited for them");
    let silent = Stage::usual("").await;
    silent.send(with(Speaks::Messages.request(false), "traceparent", "as it came")).await;
    assert_eq!(silent.fake.requests()[0].header("traceparent"), Some("as it came"));
}

#[tokio::test]
async fn a_collector_that_is_away_holds_nobody_up_and_gets_its_spans_when_it_is_back() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let stage = Stage::new(&format!("{USUAL}\n[traces]\nendpoint = \"http://{address}\"")).await;
    for _ in 0..20 {
        assert_eq!(stage.send(Speaks::Messages.request(false)).await.status, 200);
    }
    let collector = Collector::on(TcpListener::bind(address).await.unwrap());
    collector.spans(40).await;
    let metrics = stage.send(get("/metrics")).await.text();
    assert!(metrics.contains("steadfast_trace_spans_lost_total 0\n"), "{metrics}");
}

#[tokio::test]
async fn a_collector_that_hangs_costs_spans_and_never_requests() {
    // It accepts and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = format!("{USUAL}\n[traces]\nendpoint = \"http://{}\"", listener.local_addr().unwrap());
    let stage = Stage::new(&config).await;
    let all = async {
        for _ in 0..50 {
            assert_eq!(stage.send(Speaks::Messages.request(true)).await.status, 200);
        }
    };
    tokio::time::timeout(LIMIT, all).await.expect("nobody waits for the collector");
}

#[tokio::test]
async fn a_collector_that_refuses_is_not_asked_the_same_again() {
    // The fake provider knows no such path, and says so with 404.
    let stage = Stage::usual("[traces]\nendpoint = \"FAKE\"").await;
    assert_eq!(stage.send(Speaks::Messages.request(false)).await.status, 200);
    assert!(stage.fake.wait_for(|seen| seen.iter().any(|seen| seen.path == "/v1/traces"), LIMIT).await);
    let began = std::time::Instant::now();
    while !stage.send(get("/metrics")).await.text().contains("steadfast_trace_spans_lost_total 2\n") {
        assert!(began.elapsed() < LIMIT, "the two spans are never counted as lost");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Each span may have come for itself; none comes twice.
    let asked = || stage.fake.requests().iter().filter(|seen| seen.path == "/v1/traces").count();
    let before = asked();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(asked(), before);
}

#[tokio::test]
async fn an_answer_from_the_journal_is_told_too() {
    let collector = Collector::start().await;
    let stage = stage(&collector).await;
    stage.script("a", "first=300ms");
    let gone = tokio::time::timeout(Duration::from_millis(150), stage.open(Speaks::Messages.request(false))).await;
    assert!(gone.is_err());
    collector.spans(2).await;
    assert_eq!(stage.send(Speaks::Messages.request(false)).await.header("x-steadfast-journal"), "kept");
    let spans = collector.spans(3).await;
    assert_eq!((spans[2].get("steadfast.journal"), spans[2].get("steadfast.attempts")), ("kept", "0"));
}
