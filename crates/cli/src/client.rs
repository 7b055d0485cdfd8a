//! A client of a running gateway's control API, for the commands that look at one.

use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::cli::SourceArgs;
use crate::commands::{environment, load_or_refuse};

/// A gateway that does not answer by then is not there.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lists are capped; nothing that is asked for is larger.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// The variable that holds the token, as in the configuration that `config init` writes.
const TOKEN: &str = "STEADFAST_TOKEN";

/// Which gateway.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClientArgs {
    /// The gateway's address [default: where the configuration says that it listens]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// A gateway, and what opens its control API.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    authority: String,
    token: Option<String>,
}

impl Client {
    /// The gateway that is meant. The token comes from the configuration or from STEADFAST_TOKEN; a project's key is
    /// enough to see that project.
    pub(crate) fn of(args: &ClientArgs, sources: &SourceArgs) -> anyhow::Result<Self> {
        let variable = environment().into_iter().find(|(name, value)| name == TOKEN && !value.is_empty());
        let token = variable.map(|(_, value)| value);
        if let Some(url) = &args.url {
            let Some(authority) = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/')) else {
                bail!("{url}: write it as http://host:port");
            };
            return Ok(Self { authority: authority.to_owned(), token });
        }
        let Some(loaded) = load_or_refuse(sources) else { bail!("the configuration is refused") };
        let configured = loaded.config.admin_token.as_ref().map(|token| token.expose().to_owned());
        Ok(Self { authority: loaded.config.listen.to_string(), token: token.or(configured) })
    }

    /// Where the gateway is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.authority)
    }

    /// Asks for something.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask("GET", path, None).await
    }

    /// Sends something.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask("POST", path, Some(body)).await
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let away = || format!("no gateway answers at {}: is `steadfast serve` running there?", self.url());
        let asking = self.send(method, path, body);
        let (status, text) = timeout(PATIENCE, asking).await.with_context(away)?.with_context(away)?;
        let answer: Value = serde_json::from_slice(&text)
            .with_context(|| format!("what answers at {} is not Steadfast's control API", self.url()))?;
        if (200..300).contains(&status) {
            return Ok(answer);
        }
        let message = answer["error"]["message"].as_str().unwrap_or("it refused").to_owned();
        match status {
            401 => bail!("{message}; set {TOKEN}"),
            _ => bail!("{message}"),
        }
    }

    async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<(u16, Bytes)> {
        let stream = TcpStream::connect(&self.authority).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header(HOST, &self.authority);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.header(CONTENT_TYPE, "application/json").body(Full::new(Bytes::from(body)))?;
        let response = sender.send_request(request).await?;
        let status = response.status().as_u16();
        let text = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
        connection.abort();
        let text = text.map_err(|error| anyhow::anyhow!("{error}"))?.to_bytes();
        Ok((status, text))
    }
}

/// Text as it stands in a query.
pub(crate) fn in_query(text: &str) -> String {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|byte| if sound(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
