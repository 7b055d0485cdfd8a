//! The demo's clients: they ask in every format, read every byte, and believe nothing.
//!
//! An answer counts as served when a strict client would be content: the right status, the terminal
//! event, no error event, and every word the model says in its place.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// Marks the demo's own requests at the fake, whoever else plays with it. A header the gateway does
/// not know, so it passes.
pub(crate) const OWN: &str = "x-demo-client";

/// A client that waits longer than this has been forgotten.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the fake's model says.
const WORDS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Chat,
    Responses,
    Messages,
    Gemini,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Whole,
    Stream { mode: &'static str, tool: bool },
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("no stream"),
            Self::Stream { mode, tool: false } => write!(f, "stream {mode}"),
            Self::Stream { mode, tool: true } => write!(f, "stream {mode} with a tool"),
        }
    }
}

/// What the clients ask for, one after the other.
const FORMATS: [Format; 4] = [Format::Chat, Format::Messages, Format::Gemini, Format::Responses];
const WAYS: [Way; 5] = [
    Way::Whole,
    Way::Stream { mode: "resume", tool: false },
    Way::Stream { mode: "safe", tool: true },
    Way::Stream { mode: "regenerate", tool: false },
    Way::Stream { mode: "safe", tool: false },
];

/// How one request went.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The gateway's name for it, where it answered at all.
    pub(crate) id: Option<String>,
    /// Why the client is not content, where it is not.
    pub(crate) complaint: Option<String>,
}

/// Sends the `number`th request of a client and judges the answer.
pub(crate) async fn ask(gateway: SocketAddr, client: usize, number: usize) -> Asked {
    let format = FORMATS[(client + number) % FORMATS.len()];
    let way = WAYS[(client / 2 + number) % WAYS.len()];
    // A conversation ends some time: what a session remembers about failures ends with it.
    let session = format!("demo-{client}-{}", number / 10);
    let mut id = None;
    let judged = tokio::time::timeout(PATIENCE, exchange(gateway, format, way, &session, &mut id)).await;
    let complaint = match judged {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("{error:#} ({format:?}, {way})")),
        Err(_) => Some("no answer within a minute".to_owned()),
    };
    Asked { id, complaint }
}

async fn exchange(
    gateway: SocketAddr,
    format: Format,
    way: Way,
    session: &str,
    id: &mut Option<String>,
) -> anyhow::Result<()> {
    let stream = TcpStream::connect(gateway).await.context("cannot connect")?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.context("no HTTP")?;
    // Ends with the sender and the response.
    tokio::spawn(connection);
    let response = sender.send_request(request(format, way, session)?).await.context("no response")?;
    let (parts, body) = response.into_parts();
    *id = header(&parts.headers, "x-steadfast-request");
    let body = body.collect().await.context("the answer broke off")?.to_bytes();
    let text = std::str::from_utf8(&body).context("the answer is no text")?;
    ensure!(parts.status == StatusCode::OK, "status {}", parts.status.as_u16());
    match way {
        Way::Whole => judge_whole(format, text),
        Way::Stream { mode, tool } => judge_stream(format, text, mode, tool),
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn request(format: Format, way: Way, session: &str) -> anyhow::Result<Request<Full<Bytes>>> {
    let streams = way != Way::Whole;
    let path = match (format, streams) {
        (Format::Chat, _) => "/v1/chat/completions",
        (Format::Responses, _) => "/v1/responses",
        (Format::Messages, _) => "/v1/messages",
        (Format::Gemini, false) => "/v1beta/models/gemini-2.5-pro:generateContent",
        (Format::Gemini, true) => "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    };
    let words = "say something";
    let messages = json!([{ "role": "user", "content": words }]);
    let mut body = match format {
        Format::Chat => json!({ "model": "gpt-5", "stream": streams, "messages": messages }),
        Format::Responses => json!({ "model": "gpt-5", "stream": streams, "input": messages }),
        Format::Messages => {
            json!({ "model": "claude-sonnet-4-5", "stream": streams, "max_tokens": 100, "messages": messages })
        }
        Format::Gemini => json!({ "contents": [{ "role": "user", "parts": [{ "text": words }] }] }),
    };
    if let Way::Stream { tool: true, .. } = way {
        let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
        body["tools"] = match format {
            Format::Chat => json!([{ "type": "function", "function": { "name": "weather", "parameters": schema } }]),
            Format::Responses => json!([{ "type": "function", "name": "weather", "parameters": schema }]),
            Format::Messages => json!([{ "name": "weather", "input_schema": schema }]),
            Format::Gemini => json!([{ "functionDeclarations": [{ "name": "weather", "parameters": schema }] }]),
        };
    }
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("x-steadfast-session", session)
        .header(OWN, "1");
    if format == Format::Messages {
        request = request.header("anthropic-version", "2023-06-01");
    }
    if let Way::Stream { mode, .. } = way {
        request = request.header("x-steadfast-stream", mode);
    }
    Ok(request.body(Full::new(Bytes::from(body.to_string())))?)
}

/// All the words of the model.
fn all_words() -> String {
    (1..=WORDS).map(|number| format!("word-{number}")).collect::<Vec<_>>().join(" ")
}

fn judge_whole(format: Format, text: &str) -> anyhow::Result<()> {
    let answer: Value = serde_json::from_str(text).context("the answer is no JSON")?;
    let said = match format {
        Format::Chat => &answer["choices"][0]["message"]["content"],
        Format::Responses => &answer["output"][0]["content"][0]["text"],
        Format::Messages => &answer["content"][0]["text"],
        Format::Gemini => &answer["candidates"][0]["content"]["parts"][0]["text"],
    };
    let said = said.as_str().unwrap_or_default().trim_end();
    ensure!(said == all_words(), "the answer is not whole: {said:?}");
    Ok(())
}

fn judge_stream(format: Format, text: &str, mode: &str, tool: bool) -> anyhow::Result<()> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let events: Vec<Value> = data.clone().filter_map(|data| serde_json::from_str(data).ok()).collect();
    for event in &events {
        let failed = match format {
            Format::Chat | Format::Gemini => event.get("error").is_some(),
            Format::Responses => event["type"] == "response.failed" || event["type"] == "error",
            Format::Messages => event["type"] == "error",
        };
        ensure!(!failed, "an error event: {event}");
    }
    let whole = match format {
        // The SDKs are content with either: not everybody who imitates OpenAI sends the mark.
        Format::Chat => {
            let reason = |event: &Value| event["choices"][0]["finish_reason"].is_string();
            data.clone().next_back() == Some("[DONE]") || events.iter().any(reason)
        }
        Format::Responses => events.iter().any(|event| event["type"] == "response.completed"),
        Format::Messages => events.iter().any(|event| event["type"] == "message_stop"),
        Format::Gemini => events.iter().any(|event| event["candidates"][0]["finishReason"].is_string()),
    };
    ensure!(whole, "no terminal event");
    ensure!(!tool || text.contains("\"weather\""), "the tool call is missing");
    let said: String = events.iter().filter_map(|event| delta(format, event)).collect();
    let said = said.trim_end();
    // After a mark the whole answer comes again; in every other mode there is nothing but the answer.
    let right = if mode == "regenerate" { said.ends_with(&all_words()) } else { said == all_words() };
    ensure!(right, "the words are not those of the model: {said:?}");
    Ok(())
}

fn delta(format: Format, event: &Value) -> Option<&str> {
    match format {
        Format::Chat => event["choices"][0]["delta"]["content"].as_str(),
        Format::Responses if event["type"] == "response.output_text.delta" => event["delta"].as_str(),
        Format::Messages if event["delta"]["type"] == "text_delta" => event["delta"]["text"].as_str(),
        Format::Gemini => event["candidates"][0]["content"]["parts"][0]["text"].as_str(),
        Format::Responses | Format::Messages => None,
    }
}
