//! Tells alerts to those who want to know: an address they are posted to, a program that is run.
//!
//! One after another, off every request's way. An address that does not answer is tried a few times;
//! a person who is not told is told in the log.

use std::process::Stdio;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method, Request};
use ring::hmac;
use serde_json::json;
use steadfast_config::{Alerts, Secret};
use steadfast_core::record::{Event, Record};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::Engine;
use crate::recorder::Listener;
use crate::upstream::Version;

/// Alerts that wait to be told; they are few by nature.
const QUEUED_MAX: usize = 256;

/// How often an address is tried, and how long it and a program may take.
const TRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(1);
const ANSWER_TIME: Duration = Duration::from_secs(10);
const COMMAND_TIME: Duration = Duration::from_secs(30);

/// What the text is signed with: `t=<unix seconds>,v1=<hex of HMAC-SHA256 over "<t>.<body>">`.
const SIGNATURE: HeaderName = HeaderName::from_static("x-steadfast-signature");

/// Hands alerts to the task that tells them.
#[derive(Debug)]
pub(crate) struct Notifier {
    queue: mpsc::Sender<Record>,
}

impl Notifier {
    /// Starts the task; it ends with the engine.
    pub(crate) fn start(engine: &Arc<Engine>) -> Self {
        let (queue, alerts) = mpsc::channel(QUEUED_MAX);
        tokio::spawn(tell_all(Arc::downgrade(engine), alerts));
        Self { queue }
    }
}

impl Listener for Notifier {
    fn hear(&mut self, batch: &Arc<[Record]>) {
        for alert in batch.iter().filter(|record| record.event == Event::Alert) {
            if self.queue.try_send(alert.clone()).is_err() {
                tracing::warn!("an alert could not be told: too many wait already");
            }
        }
    }
}

async fn tell_all(engine: Weak<Engine>, mut alerts: mpsc::Receiver<Record>) {
    while let Some(alert) = alerts.recv().await {
        let Some(engine) = engine.upgrade() else { return };
        let settings = engine.snapshot().config.alerts.clone();
        if settings == Alerts::default() {
            continue;
        }
        let body = Bytes::from(body(&alert));
        if let Some(url) = &settings.webhook {
            post(&engine, url, settings.secret.as_ref(), &body).await;
        }
        if let Some((program, arguments)) = settings.command.split_first()
            && let Err(error) = run(program, arguments, &body).await
        {
            tracing::warn!(program, %error, "the command for alerts failed");
        }
    }
}

/// What is sent: the record's own words.
fn body(alert: &Record) -> String {
    json!({
        "alert": alert.alert,
        "state": alert.state,
        "about": alert.about,
        "text": alert.reason,
        "request": (!alert.request.is_empty()).then_some(&alert.request),
        "time": alert.time.as_millis(),
    })
    .to_string()
}

/// The address is a secret: it is never named.
async fn post(engine: &Engine, url: &Secret, secret: Option<&Secret>, body: &Bytes) {
    let mut wait = FIRST_WAIT;
    for attempt in 1..=TRIES {
        let Some(request) = request(engine, url, secret, body) else {
            return tracing::warn!("the webhook's address cannot be used");
        };
        let told = timeout(ANSWER_TIME, engine.upstream().send(request, Version::Http1)).await;
        let problem = match told {
            Ok(Ok(answer)) if answer.status().is_success() => return,
            Ok(Ok(answer)) if answer.status().is_client_error() && answer.status() != 429 => {
                return tracing::warn!(status = %answer.status(), "the webhook refuses alerts");
            }
            Ok(Ok(answer)) => answer.status().to_string(),
            Ok(Err(_)) => "it cannot be reached".to_owned(),
            Err(_) => "it does not answer".to_owned(),
        };
        if attempt == TRIES {
            return tracing::warn!(problem, "an alert could not be posted to the webhook");
        }
        sleep(wait).await;
        wait *= 2;
    }
}

fn request(engine: &Engine, url: &Secret, secret: Option<&Secret>, body: &Bytes) -> Option<Request<Bytes>> {
    let mut request = Request::new(body.clone());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.expose().parse().ok()?;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(secret) = secret {
        let seconds = engine.clock.wall().as_millis() / 1000;
        request.headers_mut().insert(SIGNATURE, HeaderValue::from_str(&signature(secret, seconds, body)).ok()?);
    }
    Some(request)
}

/// Signed anew for every try, so that a receiver may refuse what is old.
fn signature(secret: &Secret, seconds: i64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let mut signed = hmac::Context::with_key(&key);
    signed.update(format!("{seconds}.").as_bytes());
    signed.update(body);
    let hex: String = signed.sign().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={hex}")
}

/// Runs the program with the alert on its standard input.
async fn run(program: &str, arguments: &[String], body: &[u8]) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let told = async {
        if let Some(mut input) = child.stdin.take() {
            // One that does not read is not at fault.
            let _ = input.write_all(body).await;
        }
        child.wait().await
    };
    match timeout(COMMAND_TIME, told).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(status.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("it took longer than {} s", COMMAND_TIME.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_others_compute() {
        // echo -n '7.{}' | openssl dgst -sha256 -hmac secret
        let expected = "t=7,v1=76aad9429f417882918162a1928a38769fff65cc07b6bfa344ac9c5fb1e3448e";
        assert_eq!(signature(&Secret::new("secret"), 7, b"{}"), expected);
    }
}
