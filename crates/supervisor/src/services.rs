//! Local services that agents need: asked how they are, started, restarted, registered again.
//!
//! A service that is not well is restarted at most once per cooldown and never by two at a time; what was started here
//! ends with the supervisor, and what was not is never ended. One warning while it is not well, and a word when it is
//! again. A question that cannot be asked says nothing about the service: it counts as well.

use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use steadfast_config::{Config, Service};
use steadfast_core::health::{Health, PING_EVERY, Ping, Verdict};
use steadfast_engine::Clock;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::health::UNHEALTHY_SHARE;
use crate::http;
use crate::process::{Group, MARK, end_marked};
use crate::template::{Values, fill};

/// How often a service is asked while it settles.
const SETTLE_LOOK: Duration = Duration::from_millis(100);

/// How long registering may take.
const REGISTER_MAX: Duration = Duration::from_secs(30);

/// All services of a configuration.
#[derive(Debug)]
pub struct Services {
    all: Vec<Looked>,
    clock: Clock,
    /// What everything that is started here carries.
    mark: String,
}

/// How a service is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceStatus {
    /// Its name.
    pub name: String,
    /// Whether it answers, or nothing speaks against it.
    pub healthy: bool,
    /// The share of recent questions that failed.
    pub failure_rate: Option<f64>,
    /// The average time of its answers, in milliseconds.
    pub latency_ms: Option<u64>,
    /// How often it was started here.
    pub starts: u32,
    /// Whether it runs as a child of this supervisor.
    pub started_here: bool,
}

/// A service under watch.
#[derive(Debug)]
struct Looked {
    name: String,
    service: Service,
    /// Whoever restarts it holds this; nobody else does meanwhile.
    hands: tokio::sync::Mutex<Hands>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Hands {
    child: Option<Child>,
    started: Option<Instant>,
}

#[derive(Debug)]
struct Known {
    health: Health,
    starts: u32,
    warned: bool,
}

impl Services {
    /// The services of a configuration, none of them asked yet.
    pub(crate) fn new(config: &Config, mark: String, clock: Clock) -> Self {
        let look = |(name, service): (&String, &Service)| Looked {
            name: name.clone(),
            service: service.clone(),
            hands: tokio::sync::Mutex::default(),
            known: Mutex::new(Known {
                health: Health::pinged_every(PING_EVERY, UNHEALTHY_SHARE),
                starts: 0,
                warned: false,
            }),
        };
        Self { all: config.services.iter().map(look).collect(), clock, mark }
    }

    /// Asks each how it is before an attempt begins, and restarts those that are not well. Says whether all are.
    pub async fn ready(&self, project: &str) -> bool {
        let mut well = true;
        for looked in &self.all {
            well &= self.is_well(looked).await || self.bring_back(looked, project).await;
        }
        well
    }

    /// Brings back what an attempt missed: whoever is down is restarted, and everybody is told again whom they serve.
    /// Says whether there was anything to bring back, and it is back.
    pub async fn repair(&self, project: &str) -> bool {
        let mut worked = false;
        for looked in &self.all {
            let back = match self.is_well(looked).await {
                true => self.register(looked, project).await,
                false => self.bring_back(looked, project).await,
            };
            if !back {
                return false;
            }
            worked = true;
        }
        worked
    }

    /// Asks everybody every 30 seconds, for ever.
    pub async fn watch(&self) {
        if self.all.is_empty() {
            return std::future::pending().await;
        }
        loop {
            self.ready(steadfast_config::DEFAULT_PROJECT).await;
            sleep(PING_EVERY).await;
        }
    }

    /// How each is.
    pub fn status(&self) -> Vec<ServiceStatus> {
        let now = self.clock.now();
        let status = |looked: &Looked| {
            let known = looked.known.lock().unwrap_or_else(PoisonError::into_inner);
            ServiceStatus {
                name: looked.name.clone(),
                healthy: !known.warned && known.health.verdict(now) == Verdict::Healthy,
                failure_rate: known.health.failure_rate(now),
                latency_ms: known.health.latency().map(|latency| latency.as_millis() as u64),
                starts: known.starts,
                started_here: looked.hands.try_lock().is_ok_and(|hands| hands.child.is_some()),
            }
        };
        self.all.iter().map(status).collect()
    }

    async fn is_well(&self, looked: &Looked) -> bool {
        let ping = looked.ask().await;
        let mut known = looked.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.health.record(ping, self.clock.now());
        let well = ping != Ping::Failed;
        if well && std::mem::take(&mut known.warned) {
            tracing::info!(service = %looked.name, "the service is well again");
        }
        well
    }

    /// Starts a service that is not well, unless that was done just before, and waits until it is.
    async fn bring_back(&self, looked: &Looked, project: &str) -> bool {
        let mut hands = looked.hands.lock().await;
        // Somebody else may have brought it back while this one waited for its turn.
        if looked.ask_with(&mut hands).await != Ping::Failed {
            return true;
        }
        looked.warn();
        let rested = hands.started.is_none_or(|started| started.elapsed() >= looked.service.cooldown);
        if looked.service.start.is_empty() || !rested {
            return false;
        }
        hands.started = Some(Instant::now());
        let mark = format!("{}.service.{}", self.mark, looked.name);
        if hands.end() {
            // Its children may have left the group, and would keep its port.
            end_marked(&mark).await;
        }
        match self.start(&looked.service.start, project, &mark).spawn() {
            Ok(child) => hands.child = Some(child),
            Err(error) => {
                tracing::warn!(service = %looked.name, %error, "cannot start the service");
                return false;
            }
        }
        looked.known.lock().unwrap_or_else(PoisonError::into_inner).starts += 1;
        let settled = timeout(looked.service.settle, looked.settle(&mut hands)).await.unwrap_or(false);
        drop(hands);
        settled && self.register(looked, project).await && self.is_well(looked).await
    }

    async fn register(&self, looked: &Looked, project: &str) -> bool {
        if looked.service.register.is_empty() {
            return true;
        }
        let mark = format!("{}.register.{}", self.mark, looked.name);
        let done = timeout(REGISTER_MAX, self.start(&looked.service.register, project, &mark).status()).await;
        let worked = matches!(&done, Ok(Ok(status)) if status.success());
        if !worked {
            tracing::warn!(service = %looked.name, "cannot register with the service");
        }
        worked
    }

    fn start(&self, command: &[String], project: &str, mark: &str) -> Command {
        let mut parts = fill(command, &Values { pairs: vec![("project", project)], arguments: &[] }).into_iter();
        let mut command = Command::new(parts.next().unwrap_or_default());
        command.args(parts).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env(MARK, mark).process_group(0).kill_on_drop(true);
        command
    }
}

impl Hands {
    /// Ends what was started here with everybody in its group, and says whether anything was.
    fn end(&mut self) -> bool {
        let Some(mut child) = self.child.take() else { return false };
        // The number of one that has ended may be another's by now.
        if let Ok(None) = child.try_wait() {
            Group::of(&child, "").end_now();
        }
        true
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        self.end();
    }
}

impl Looked {
    async fn ask(&self) -> Ping {
        if self.service.health.is_some() {
            return http::ask(self.service.health.as_deref()).await;
        }
        let mut hands = self.hands.lock().await;
        self.ask_with(&mut hands).await
    }

    /// The same for whoever holds it: without an address, its process says how it is.
    async fn ask_with(&self, hands: &mut Hands) -> Ping {
        if self.service.health.is_some() {
            return http::ask(self.service.health.as_deref()).await;
        }
        match hands.child.as_mut().map(Child::try_wait) {
            Some(Ok(None)) => Ping::Answered(Duration::ZERO),
            Some(Ok(Some(_))) | None => Ping::Failed,
            Some(Err(_)) => Ping::NotMade,
        }
    }

    /// Waits until it is well; says so, or that its process ended.
    async fn settle(&self, hands: &mut Hands) -> bool {
        loop {
            sleep(SETTLE_LOOK).await;
            if matches!(hands.child.as_mut().map(Child::try_wait), Some(Ok(Some(_)))) && self.service.health.is_none() {
                return false;
            }
            if matches!(self.ask_with(hands).await, Ping::Answered(_)) {
                return true;
            }
        }
    }

    fn warn(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut known.warned, true) {
            tracing::warn!(service = %self.name, "the service is not well");
        }
    }
}
