//! The load: clients that keep their connection and send the next request when they have the
//! answer to the last. HTTP/1.1 by hand, so that the clients cost little and see the first token.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// An answer that takes longer than this will not come.
const ANSWER_MAX: Duration = Duration::from_secs(120);

/// The fake's first word, in whichever event it comes.
const FIRST_TOKEN: &[u8] = b"word-1\"";

/// A request, ready to be written.
#[derive(Clone)]
pub(crate) struct Request(std::sync::Arc<[u8]>);

/// What the clients saw in one round.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) latency_us: Vec<f64>,
    pub(crate) first_token_us: Vec<f64>,
    pub(crate) took: Duration,
}

/// One answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// When the first token came, where there was one.
    first_token: Option<Duration>,
}

/// A connection that is kept.
pub(crate) struct Client {
    socket: TcpStream,
    buffer: Vec<u8>,
}

impl Request {
    /// A chat completion for this model with this much text in it.
    pub(crate) fn chat(model: &str, text_bytes: usize, stream: bool) -> Self {
        let text = "x".repeat(text_bytes);
        let body = format!(
            "{{\"model\":\"{model}\",\"stream\":{stream},\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]}}"
        );
        Self::with_body("/v1/chat/completions", &body)
    }

    /// A POST of this body.
    pub(crate) fn with_body(path: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             authorization: Bearer sk-bench\r\nuser-agent: xtask-bench\r\naccept: */*\r\ncontent-length: {length}\r\n\r\n"
        );
        Self((head + body).into_bytes().into())
    }
}

impl Client {
    pub(crate) async fn connect(to: SocketAddr) -> anyhow::Result<Self> {
        let socket = TcpStream::connect(to).await.with_context(|| format!("cannot connect to {to}"))?;
        socket.set_nodelay(true)?;
        Ok(Self { socket, buffer: Vec::with_capacity(4 * 1024) })
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn ask(&mut self, request: &Request) -> anyhow::Result<Answer> {
        let began = self.send(request).await?;
        let mut first_token = None;
        loop {
            if first_token.is_none() && find(&self.buffer, FIRST_TOKEN).is_some() {
                first_token = Some(began.elapsed());
            }
            if let Some(status) = complete(&self.buffer)? {
                return Ok(Answer { status, first_token });
            }
            self.read().await?;
        }
    }

    /// Sends a request and reads until its first token.
    pub(crate) async fn ask_for_first_token(&mut self, request: &Request) -> anyhow::Result<()> {
        self.send(request).await?;
        while find(&self.buffer, FIRST_TOKEN).is_none() {
            self.read().await?;
        }
        Ok(())
    }

    /// Reads on until the other side ends, or this is dropped.
    pub(crate) async fn drain(&mut self) {
        loop {
            self.buffer.clear();
            if self.read().await.is_err() {
                return;
            }
        }
    }

    async fn send(&mut self, request: &Request) -> anyhow::Result<Instant> {
        self.buffer.clear();
        let began = Instant::now();
        self.socket.write_all(&request.0).await.context("cannot send")?;
        Ok(began)
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        let read = self.socket.read_buf(&mut self.buffer).await.context("cannot read")?;
        ensure!(read > 0, "the connection was closed after {} bytes", self.buffer.len());
        Ok(())
    }
}

/// So many clients for so long; every answer must be well.
pub(crate) async fn closed_loop(
    to: SocketAddr,
    request: &Request,
    connections: usize,
    time: Duration,
) -> anyhow::Result<Seen> {
    let mut clients = Vec::with_capacity(connections);
    for _ in 0..connections {
        clients.push(Client::connect(to).await?);
    }
    let began = Instant::now();
    let until = began + time;
    let mut running = JoinSet::new();
    for mut client in clients {
        let request = request.clone();
        running.spawn(async move {
            let mut seen = Seen::default();
            while Instant::now() < until {
                let sent = Instant::now();
                let answer = tokio::time::timeout(ANSWER_MAX, client.ask(&request)).await.context("no answer")??;
                ensure!(answer.status == 200, "status {}", answer.status);
                seen.latency_us.push(micros(sent.elapsed()));
                seen.first_token_us.extend(answer.first_token.map(micros));
            }
            anyhow::Ok(seen)
        });
    }
    let mut all = Seen::default();
    while let Some(seen) = running.join_next().await {
        let seen = seen??;
        all.latency_us.extend(seen.latency_us);
        all.first_token_us.extend(seen.first_token_us);
    }
    all.took = began.elapsed();
    Ok(all)
}

/// The status of an answer that is whole.
fn complete(buffer: &[u8]) -> anyhow::Result<Option<u16>> {
    let Some(head_end) = find(buffer, b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&buffer[..head_end]).context("the head is not text")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
    let body = &buffer[head_end + 4..];
    for line in head.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            let length: usize = value.trim().parse().context("content-length is no number")?;
            return Ok((body.len() >= length).then_some(status));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            // Nobody pipelines here, so the last chunk is the end of what was read.
            return Ok(body.ends_with(b"0\r\n\r\n").then_some(status));
        }
    }
    bail!("an answer without a length")
}

fn find(buffer: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(buffer, wanted)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
