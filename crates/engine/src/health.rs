//! Health checks: endpoints that have one configured are asked on a timer, and the verdict is told to
//! their breaker.
//!
//! One task per check. A reload keeps the checks that did not change and ends the others; the engine
//! ends them all with itself.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use steadfast_config::{Dialect, Endpoint, Health as Settings};
use steadfast_core::health::{Health, Ping, Verdict};
use steadfast_core::route::EndpointId;
use steadfast_core::{Failure, Timestamp, Transport, world};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::Engine;
use crate::request;
use crate::snapshot::Snapshot;
use crate::trouble::Trouble;
use crate::upstream::Version;

/// A question that takes longer has failed; where it is asked more often, the next is due by then.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// As much of an answer as is read, so that the connection can be used again.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// The share of failed pings that makes an endpoint unhealthy.
const UNHEALTHY_SHARE: f64 = 0.5;

/// The checks under way.
#[derive(Debug, Default)]
pub(crate) struct Checks(Mutex<Vec<Check>>);

#[derive(Debug)]
struct Check {
    known: Arc<world::Endpoint>,
    endpoint: Endpoint,
    found: Arc<Mutex<Option<Checked>>>,
    task: JoinHandle<()>,
}

/// What the health checks of an endpoint have found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    /// When it was last asked.
    pub at: Timestamp,
    /// Whether it may be given work.
    pub healthy: bool,
    /// The share of recent questions that failed.
    pub failure_share: f64,
    /// The average time of its answers.
    pub latency: Option<Duration>,
}

impl Drop for Check {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Checks {
    /// Asks the endpoints of this configuration, and no others.
    pub(crate) fn follow(&self, engine: &Arc<Engine>, snapshot: &Snapshot) {
        let mut checks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *checks);
        for (endpoint, known) in snapshot.config.endpoints.iter().zip(snapshot.known_endpoints()) {
            let Some(settings) = &endpoint.health else { continue };
            let unchanged =
                |check: &Check| Arc::ptr_eq(&check.known, known) && same_question(&check.endpoint, endpoint);
            checks.push(match before.iter().position(unchanged) {
                Some(position) => before.swap_remove(position),
                None => Check::start(engine, known, endpoint, settings),
            });
        }
    }

    /// What the checks of this endpoint have found, where it has some and they have been made.
    pub(crate) fn found(&self, endpoint: &str) -> Option<Checked> {
        let checks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let check = checks.iter().find(|check| *check.known.name == *endpoint)?;
        *check.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks nobody any more.
    pub(crate) fn stop(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Check {
    fn start(engine: &Arc<Engine>, known: &Arc<world::Endpoint>, endpoint: &Endpoint, settings: &Settings) -> Self {
        let found = Arc::default();
        let asking = Asking {
            engine: Arc::downgrade(engine),
            known: Arc::clone(known),
            endpoint: endpoint.clone(),
            settings: settings.clone(),
            found: Arc::clone(&found),
        };
        Self { known: Arc::clone(known), endpoint: endpoint.clone(), found, task: tokio::spawn(ask(asking)) }
    }
}

/// What a check needs to be made again and again.
struct Asking {
    engine: Weak<Engine>,
    known: Arc<world::Endpoint>,
    endpoint: Endpoint,
    settings: Settings,
    found: Arc<Mutex<Option<Checked>>>,
}

/// Address, credential and breaker are the same where what is known of the endpoint was kept.
fn same_question(one: &Endpoint, other: &Endpoint) -> bool {
    one.health == other.health && one.headers == other.headers && one.http2 == other.http2
}

async fn ask(asking: Asking) {
    let Asking { engine, known, endpoint, settings, found } = asking;
    let mut health = Health::pinged_every(settings.every, UNHEALTHY_SHARE);
    let mut before = Verdict::Healthy;
    let mut tick = interval(settings.every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let answer_time = ANSWER_TIME.min(settings.every);
    loop {
        tick.tick().await;
        let Some(engine) = engine.upgrade() else { return };
        let ping = ping(&engine, &endpoint, &settings.path, answer_time).await;
        let now = engine.clock.now();
        health.record(ping, now);
        let verdict = health.verdict(now);
        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(Checked {
            at: engine.clock.wall(),
            healthy: verdict == Verdict::Healthy,
            failure_share: health.failure_rate(now).unwrap_or(0.0),
            latency: health.latency(),
        });
        // The next verdict is due in time, even if its answer takes as long as it may.
        let until = now + settings.every * 2 + answer_time;
        if let Some(transition) = known.breaker.checked(verdict, until, now) {
            engine.breaker_changed(&known.name, &transition, &Arc::default());
        }
        if std::mem::replace(&mut before, verdict) != verdict {
            match verdict {
                Verdict::Unhealthy => tracing::warn!(endpoint = %known.name, "half of its health checks failed"),
                Verdict::Healthy => tracing::info!(endpoint = %known.name, "its health checks are answered again"),
            }
        }
    }
}

impl Engine {
    /// Asks an endpoint once whether it is there, by its health check or its list of models. Nobody's breaker is told.
    pub async fn ping(&self, id: EndpointId, limit: Duration) -> Option<Failure> {
        let snapshot = self.snapshot();
        let endpoint = snapshot.config.endpoint(id)?;
        let path = match (&endpoint.health, endpoint.dialect) {
            (Some(health), _) => health.path.as_str(),
            (None, Dialect::Gemini) => "/v1beta/models",
            (None, Dialect::OpenAi | Dialect::Anthropic) => "/v1/models",
        };
        let trouble = question(self, endpoint, path, limit).await.err()?;
        Some(trouble.classify(&snapshot.classifier, endpoint.dialect.vendor(), self.clock.wall()))
    }
}

async fn ping(engine: &Engine, endpoint: &Endpoint, path: &str, answer_time: Duration) -> Ping {
    if request::question(endpoint, path).is_err() {
        return Ping::NotMade;
    }
    let began = engine.clock.now();
    let answer = question(engine, endpoint, path, answer_time).await;
    let took = engine.clock.now().since(began);
    let Err(trouble) = answer else { return Ping::of(None, took) };
    // A name that nobody could look up says nothing about who bears it.
    if matches!(trouble.transport, Some(Transport::Address | Transport::DnsTemporary)) {
        return Ping::NotMade;
    }
    let snapshot = engine.snapshot();
    let failure = trouble.classify(&snapshot.classifier, endpoint.dialect.vendor(), engine.clock.wall());
    tracing::debug!(endpoint = %endpoint.name, kind = failure.kind.as_str(), rule = %failure.rule, "health check failed");
    Ping::of(Some(failure.kind), took)
}

async fn question(engine: &Engine, endpoint: &Endpoint, path: &str, answer_time: Duration) -> Result<(), Trouble> {
    let request = request::question(endpoint, path)?;
    let version = if endpoint.http2 { Version::Http2 } else { Version::Http1 };
    let answer = async {
        let response = engine.upstream().send(request, version).await?;
        let (parts, body) = response.into_parts();
        let said = body.some(ANSWER_BYTES_MAX).await;
        if parts.status.as_u16() < 400 { Ok(()) } else { Err(Trouble::response(parts.status, parts.headers, said)) }
    };
    let late = || Trouble::transport(Transport::ResponseTimeout, "the health check was not answered".to_owned());
    timeout(answer_time, answer).await.unwrap_or_else(|_| Err(late()))
}
