//! A raw client.

use std::io;
use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::LIMIT;

pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const RESPONSES: &str = "/v1/responses";
pub(crate) const MESSAGES: &str = "/v1/messages";
pub(crate) const GEMINI: &str = "/v1beta/models/gemini-2.5-pro:generateContent";
pub(crate) const GEMINI_SSE: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
pub(crate) const GEMINI_ARRAY: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent";

/// All paths on which models speak, streaming.
pub(crate) const STREAMS: &[&str] = &[CHAT, RESPONSES, MESSAGES, GEMINI_SSE, GEMINI_ARRAY];

/// How the connection ended for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The answer was whole; the connection is open.
    Whole,
    /// FIN before the answer was whole.
    Fin,
    /// RST.
    Reset,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) ended: Ended,
    /// Everything as it came.
    pub(crate) raw: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|problem| panic!("{problem}: {}", self.text()))
    }

    /// The data of all events that are whole; `[DONE]` is a string.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = self.text().replace("\r\n", "\n");
        let lines = text.split("\n\n").flat_map(str::lines).filter_map(|line| line.strip_prefix("data: "));
        lines
            .map(|data| match data {
                "[DONE]" => json!("[DONE]"),
                data => serde_json::from_str(data).unwrap_or_else(|_| json!({ "unreadable": data })),
            })
            .collect()
    }

    /// The text a user would see, whatever the dialect.
    pub(crate) fn said(&self) -> String {
        let events = match serde_json::from_slice::<Value>(&self.body) {
            Ok(Value::Array(chunks)) => chunks,
            Ok(whole) => vec![whole],
            Err(_) => self.events(),
        };
        let mut said = String::new();
        for event in &events {
            let places = [
                "/choices/0/delta/content",
                "/choices/0/message/content",
                "/delta/text",
                "/content/0/text",
                "/candidates/0/content/parts/0/text",
                "/output/0/content/0/text",
            ];
            let found = places.iter().find_map(|place| event.pointer(place).and_then(Value::as_str));
            let delta =
                event.get("delta").and_then(Value::as_str).filter(|_| event["type"] == "response.output_text.delta");
            said.push_str(found.or(delta).unwrap_or_default());
        }
        said
    }
}

/// A body that this path takes.
pub(crate) fn body(path: &str, stream: bool) -> Value {
    let message = json!([{ "role": "user", "content": "say something" }]);
    match path.split('?').next().unwrap().rsplit('/').next().unwrap() {
        "completions" => json!({ "model": "gpt-5", "stream": stream, "messages": message }),
        "responses" => json!({ "model": "gpt-5", "stream": stream, "input": "say something" }),
        "messages" => json!({ "model": "claude-opus-4-6", "max_tokens": 100, "stream": stream, "messages": message }),
        _ => json!({ "contents": [{ "role": "user", "parts": [{ "text": "say something" }] }] }),
    }
}

/// The same with a tool, in this path's words.
pub(crate) fn body_with_tool(path: &str, stream: bool) -> Value {
    let schema =
        json!({ "type": "object", "properties": { "city": { "type": "string" }, "days": { "type": "integer" } } });
    let mut body = body(path, stream);
    body["tools"] = match path.split('?').next().unwrap().rsplit('/').next().unwrap() {
        "completions" => json!([{ "type": "function", "function": { "name": "weather", "parameters": schema } }]),
        "responses" => json!([{ "type": "function", "name": "weather", "parameters": schema }]),
        "messages" => json!([{ "name": "weather", "input_schema": schema }]),
        _ => json!([{ "functionDeclarations": [{ "name": "weather", "parameters": schema }] }]),
    };
    body
}

/// Asks this path under this spec and reads the answer to its end.
pub(crate) async fn ask(addr: SocketAddr, path: &str, spec: &str, body: &Value) -> Answer {
    let mut client = Client::connect(addr).await;
    client.send(path, spec, body).await;
    client.answer().await
}

/// A connection that is kept.
pub(crate) struct Client {
    socket: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(addr: SocketAddr) -> Self {
        Self { socket: TcpStream::connect(addr).await.unwrap(), buffer: Vec::new() }
    }

    pub(crate) async fn send(&mut self, path: &str, spec: &str, body: &Value) {
        let body = body.to_string();
        let fake = if spec.is_empty() { String::new() } else { format!("x-fake: {spec}\r\n") };
        let head = format!("POST {path} HTTP/1.1\r\nhost: fake\r\ncontent-type: application/json\r\n{fake}");
        self.write(&format!("{head}content-length: {}\r\n\r\n{body}", body.len())).await;
    }

    pub(crate) async fn get(&mut self, path: &str, headers: &str) -> Answer {
        self.write(&format!("GET {path} HTTP/1.1\r\nhost: fake\r\n{headers}\r\n")).await;
        self.answer().await
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.socket.write_all(text.as_bytes()).await.unwrap();
    }

    /// Waits until so many bytes are there that `enough` says yes, and gives them.
    pub(crate) async fn read_until(&mut self, enough: impl Fn(&str) -> bool) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.buffer).into_owned();
            if enough(&text) {
                return text;
            }
            self.more().await.unwrap().expect("more before the end");
        }
    }

    /// Reads an answer to its end, however that comes.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut ended = Ended::Whole;
        let length = loop {
            if let Some(length) = whole(&self.buffer) {
                break length;
            }
            match self.more().await {
                Ok(Some(())) => continue,
                Ok(None) => ended = Ended::Fin,
                Err(_) => ended = Ended::Reset,
            }
            break self.buffer.len();
        };
        let raw: Vec<u8> = self.buffer.drain(..length).collect();
        let (status, headers, body) = parse(&raw);
        Answer { status, headers, body, ended, raw }
    }

    /// Reads a little; none at the end.
    async fn more(&mut self) -> io::Result<Option<()>> {
        let mut part = [0; 16 * 1024];
        let read = timeout(LIMIT, self.socket.read(&mut part)).await.expect("an answer in time")?;
        self.buffer.extend_from_slice(&part[..read]);
        Ok((read > 0).then_some(()))
    }
}

type Headers = Vec<(String, String)>;

/// Status, headers and where the body begins.
fn head_of(raw: &[u8]) -> Option<(u16, Headers, usize)> {
    let end = raw.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(": "));
    Some((status, headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(), end))
}

/// The length of the first answer, if it is whole.
fn whole(raw: &[u8]) -> Option<usize> {
    let (_, headers, start) = head_of(raw)?;
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if header("transfer-encoding").is_some() {
        return chunks(&raw[start..]).2.map(|length| start + length);
    }
    let length = start + header("content-length")?.parse::<usize>().unwrap();
    (raw.len() >= length).then_some(length)
}

fn parse(raw: &[u8]) -> (u16, Headers, Vec<u8>) {
    let Some((status, headers, start)) = head_of(raw) else { return (0, Vec::new(), Vec::new()) };
    let chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
    let body = if chunked { chunks(&raw[start..]).0 } else { raw[start..].to_vec() };
    (status, headers, body)
}

/// The data of all chunks so far, how many there are, and the length if the last one is there.
pub(crate) fn chunks(mut raw: &[u8]) -> (Vec<u8>, usize, Option<usize>) {
    let (mut data, mut count, whole) = (Vec::new(), 0, raw.len());
    while let Some(end) = raw.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&raw[..end]).unwrap(), 16).unwrap();
        let rest = &raw[end + 2..];
        if rest.len() < length + 2 {
            data.extend_from_slice(&rest[..rest.len().min(length)]);
            break;
        }
        data.extend_from_slice(&rest[..length]);
        raw = &rest[length + 2..];
        if length == 0 {
            return (data, count, Some(whole - raw.len()));
        }
        count += 1;
    }
    (data, count, None)
}
