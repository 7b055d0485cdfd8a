//! What the gateway promises when things go wrong, and what it holds in memory.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::load::{self, Client, Request};
use super::stage::Served;

/// How many clients an outage meets, and how long it lasts.
const OUTAGE_CLIENTS: usize = 200;
const OUTAGE: Duration = Duration::from_secs(15);
/// A client that was refused comes back after this.
const THINKS: Duration = Duration::from_millis(500);

/// A body that a gateway with buffers of a megabyte would not send twice.
const LARGE_BODY_BYTES: usize = 1_500_000;

/// Upstream requests per client request while every upstream request fails.
pub(super) async fn outage(fake: &Served, gateway: SocketAddr) -> anyhow::Result<f64> {
    control(fake, "PUT", "/__fake/script", "status=503").await?;
    let before = received(fake).await?;
    let until = Instant::now() + OUTAGE;
    let mut running = JoinSet::new();
    for number in 0..OUTAGE_CLIENTS {
        running.spawn(async move {
            let mut sent = 0;
            let mut client = Client::connect(gateway).await?;
            while Instant::now() < until {
                sent += 1;
                // A turn of its own: the same one again would be answered from memory.
                let turn = Request::chat("gpt-5", 1000 + number * 100 + sent as usize, false);
                let answer = client.ask(&turn).await?;
                ensure!(answer.status >= 400, "an answer with status {} in an outage", answer.status);
                tokio::time::sleep(THINKS).await;
            }
            anyhow::Ok(sent)
        });
    }
    let mut sent: u64 = 0;
    while let Some(count) = running.join_next().await {
        sent += count??;
    }
    let came = received(fake).await? - before;
    control(fake, "PUT", "/__fake/script", "ok").await?;
    Ok(came as f64 / sent as f64)
}

/// Memory per stream, in KiB, while this many are open and slow.
pub(super) async fn open_streams(gateway: &Served, count: usize) -> anyhow::Result<f64> {
    // What the first requests allocate for good is not a stream's.
    let slow = Request::chat("gpt-5@ok,words=2000,delay=500ms", 2000, true);
    let plain = Request::chat("gpt-5", 2000, false);
    load::closed_loop(gateway.addr, &plain, 16, Duration::from_millis(500)).await?;
    let before = gateway.resident_bytes();
    let mut running = JoinSet::new();
    let (begun, mut all_begun) = tokio::sync::mpsc::channel::<anyhow::Result<()>>(count);
    for _ in 0..count {
        let (slow, begun, addr) = (slow.clone(), begun.clone(), gateway.addr);
        // One by one: nobody's backlog holds thousands.
        let mut client = Client::connect(addr).await?;
        running.spawn(async move {
            let first = client.ask_for_first_token(&slow).await;
            let _ = begun.send(first).await;
            client.drain().await;
        });
    }
    for number in 0..count {
        let wait = tokio::time::timeout(Duration::from_secs(60), all_begun.recv()).await;
        wait.with_context(|| format!("{number} of {count} streams begin"))?.context("a client ended")??;
    }
    // Each has sent some more by then.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let grown = gateway.resident_bytes().saturating_sub(before);
    Ok(grown as f64 / 1024.0 / count as f64)
}

/// How much larger the process is at the end of a soak than after its first quarter, as a ratio.
pub(super) async fn soak(gateway: &Served, time: Duration) -> anyhow::Result<f64> {
    let plain = Request::chat("gpt-5", 2000, false);
    let stream = Request::chat("gpt-5@ok,words=50,delay=1ms", 2000, true);
    let addr = gateway.addr;
    let mut running = JoinSet::new();
    running.spawn(async move { load::closed_loop(addr, &plain, 48, time).await.map(drop) });
    running.spawn(async move { load::closed_loop(addr, &stream, 16, time).await.map(drop) });
    let (began, mut sizes) = (Instant::now(), Vec::new());
    while began.elapsed() < time {
        tokio::time::sleep(time / 100).await;
        sizes.push(gateway.resident_bytes());
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    let quarter = sizes.len() / 4;
    let largest = |part: &[u64]| part.iter().copied().max().unwrap_or(1) as f64;
    Ok(largest(&sizes[sizes.len() - quarter..]) / largest(&sizes[quarter..2 * quarter]))
}

/// How many times a large request came whole and the same, while the first two answers are failures.
pub(super) async fn large_body(start: impl AsyncFnOnce(SocketAddr) -> anyhow::Result<Served>) -> anyhow::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let upstream = listener.local_addr()?;
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let provider = tokio::spawn(failing_twice(listener, Arc::clone(&bodies)));
    let gateway = start(upstream).await?;
    let text: String = (0..LARGE_BODY_BYTES / 10).map(|number| format!("{number:>9} ")).collect();
    let body =
        format!("{{\"model\":\"gpt-5\",\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}],\"seed\":7}}");
    let mut client = Client::connect(gateway.addr).await?;
    let answer = client.ask(&Request::with_body("/v1/chat/completions", &body)).await?;
    provider.abort();
    ensure!(answer.status == 200, "the large request ended with {}", answer.status);
    let bodies = bodies.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(bodies.iter().filter(|came| **came == body.as_bytes()).count() as f64)
}

/// A provider that keeps what it is sent, and answers 503 twice before it is well.
async fn failing_twice(listener: TcpListener, bodies: Arc<Mutex<Vec<Vec<u8>>>>) {
    while let Ok((socket, _)) = listener.accept().await {
        tokio::spawn(answer_all(socket, Arc::clone(&bodies)));
    }
}

async fn answer_all(mut socket: TcpStream, bodies: Arc<Mutex<Vec<Vec<u8>>>>) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let head_end = loop {
            if let Some(end) = memchr::memmem::find(&buffer, b"\r\n\r\n") {
                break end + 4;
            }
            (socket.read_buf(&mut buffer).await.ok()? > 0).then_some(())?;
        };
        let head = String::from_utf8_lossy(&buffer[..head_end]).to_lowercase();
        let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length:"))?.trim().parse().ok()?;
        while buffer.len() < head_end + length {
            (socket.read_buf(&mut buffer).await.ok()? > 0).then_some(())?;
        }
        let rest = buffer.split_off(head_end + length);
        let number = {
            let mut bodies = bodies.lock().unwrap_or_else(PoisonError::into_inner);
            bodies.push(buffer[head_end..].to_vec());
            bodies.len()
        };
        buffer = rest;
        let (status, body) = if number <= 2 { (503, FAILED) } else { (200, ANSWER) };
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
        socket.write_all(head.as_bytes()).await.ok()?;
    }
}

const FAILED: &str = r#"{"error":{"message":"The server is overloaded","type":"server_error","code":null}}"#;
const ANSWER: &str = r#"{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#;

/// How many requests the fake has received.
async fn received(fake: &Served) -> anyhow::Result<u64> {
    let answer = control(fake, "GET", "/__fake/counts", "").await?;
    let counts: serde_json::Value = serde_json::from_str(&answer).context("the fake's counts are not JSON")?;
    counts["counts"][""].as_u64().or(Some(0)).context("the fake does not count")
}

async fn control(fake: &Served, method: &str, path: &str, body: &str) -> anyhow::Result<String> {
    let mut socket = TcpStream::connect(fake.addr).await?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: fake\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "the fake refuses {path}: {answer}");
    Ok(answer.split_once("\r\n\r\n").map_or(answer.clone(), |(_, body)| body.to_owned()))
}
