//! Whether agents can work: the address that each needs is asked before a prompt, and every 30 seconds while it runs.
//!
//! That is the gateway, where the agent is pointed there, and otherwise what `[agents.NAME] health` names. Unhealthy
//! once half of the recent pings failed. A ping that cannot be made says nothing about the other side, so it counts as
//! well; and an address that does not recover in time is the attempt's to complain about: a monitor stops nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use steadfast_core::health::{Health, PING_EVERY, Ping, Verdict};
use steadfast_core::redact::redact;
use steadfast_engine::Clock;
use tokio::time::{Instant, sleep, sleep_until};

use crate::http;

/// Unhealthy once this share of pings failed: the seeds say a half.
pub(crate) const UNHEALTHY_SHARE: f64 = 0.5;

/// How long an attempt waits for its address to recover. An outage of minutes is for restarts to sit out.
const RECOVERY_MAX: Duration = Duration::from_secs(60);

/// How often it is asked meanwhile.
const RECOVERY_LOOK: Duration = Duration::from_secs(1);

/// An answer this young is not asked for again: tasks may begin by the hundred.
const FRESH: Duration = Duration::from_secs(5);

/// Addresses that are remembered at most: tasks do not choose them, configurations do.
const ADDRESSES_MAX: usize = 1024;

/// The addresses that agents need, and how they are.
#[derive(Debug)]
pub struct Healths {
    all: Mutex<BTreeMap<String, Arc<Asked>>>,
    clock: Clock,
}

/// How an agent's address is.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AgentHealth {
    /// The address.
    pub address: String,
    /// The agents that need it.
    pub agents: Vec<String>,
    /// Whether it answers, or nothing speaks against it.
    pub healthy: bool,
    /// The share of recent pings that were answered.
    pub success_rate: Option<f64>,
    /// The share that failed.
    pub failure_rate: Option<f64>,
    /// The average time of its answers, in milliseconds.
    pub latency_ms: Option<f64>,
    /// How often it was asked.
    pub pings: u64,
}

#[derive(Debug)]
struct Asked {
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    agents: BTreeSet<String>,
    health: Health,
    pings: u64,
    /// When it was last asked, and whether that was well.
    last: Option<(Instant, bool)>,
    warned: bool,
}

impl Healths {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { all: Mutex::default(), clock }
    }

    /// The check before a prompt: asks, and waits a bounded time for an address that is not well. Says whether it is.
    pub(crate) async fn ready(&self, agent: &str, address: Option<&str>) -> bool {
        let Some(address) = address else { return true };
        let asked = self.of(agent, address);
        if asked.is_fresh(self.clock) {
            return true;
        }
        let until = Instant::now() + RECOVERY_MAX;
        loop {
            if asked.ping(address, self.clock).await {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(RECOVERY_LOOK).await;
        }
    }

    /// Asks every 30 seconds, for as long as the agent runs. Those that need the same address ask once together.
    pub(crate) async fn watch(&self, agent: &str, address: Option<&str>) -> Infallible {
        let Some(address) = address else { return std::future::pending().await };
        let asked = self.of(agent, address);
        loop {
            let due = asked.known().last.map_or_else(Instant::now, |(last, _)| last + PING_EVERY);
            sleep_until(due).await;
            if asked.is_due() {
                asked.ping(address, self.clock).await;
            }
        }
    }

    /// How each is.
    pub fn status(&self) -> Vec<AgentHealth> {
        let now = self.clock.now();
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let status = |(address, asked): (&String, &Arc<Asked>)| {
            let known = asked.known();
            let failure_rate = known.health.failure_rate(now);
            AgentHealth {
                address: redact(address).into_owned(),
                agents: known.agents.iter().cloned().collect(),
                healthy: known.health.verdict(now) == Verdict::Healthy,
                success_rate: failure_rate.map(|rate| 1.0 - rate),
                failure_rate,
                latency_ms: known.health.latency().map(|latency| latency.as_secs_f64() * 1e3),
                pings: known.pings,
            }
        };
        all.iter().map(status).collect()
    }

    fn of(&self, agent: &str, address: &str) -> Arc<Asked> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= ADDRESSES_MAX && !all.contains_key(address) {
            all.clear();
        }
        let fresh = || Known {
            agents: BTreeSet::new(),
            health: Health::pinged_every(PING_EVERY, UNHEALTHY_SHARE),
            pings: 0,
            last: None,
            warned: false,
        };
        let asked = all.entry(address.to_owned()).or_insert_with(|| Arc::new(Asked { known: Mutex::new(fresh()) }));
        asked.known().agents.insert(agent.to_owned());
        Arc::clone(asked)
    }
}

impl Asked {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It was well a moment ago, and mostly is.
    fn is_fresh(&self, clock: Clock) -> bool {
        let known = self.known();
        let is_young = known.last.is_some_and(|(last, well)| well && last.elapsed() < FRESH);
        is_young && known.health.verdict(clock.now()) == Verdict::Healthy
    }

    /// Nobody else has asked meanwhile. Whoever hears yes is the one who asks.
    fn is_due(&self) -> bool {
        let mut known = self.known();
        let is_due = known.last.is_none_or(|(last, _)| last.elapsed() >= PING_EVERY);
        if is_due {
            let well = known.last.is_none_or(|(_, well)| well);
            known.last = Some((Instant::now(), well));
        }
        is_due
    }

    /// Asks, and says whether it may be given work.
    async fn ping(&self, address: &str, clock: Clock) -> bool {
        let ping = http::ask(Some(address)).await;
        let mut known = self.known();
        let now = clock.now();
        known.health.record(ping, now);
        known.pings += 1;
        known.last = Some((Instant::now(), ping != Ping::Failed));
        let well = ping != Ping::Failed && known.health.verdict(now) == Verdict::Healthy;
        match (well, std::mem::replace(&mut known.warned, !well)) {
            (false, false) => tracing::warn!(address, "agents wait: what they need is not well"),
            (true, true) => tracing::info!(address, "what agents need is well again"),
            _ => {}
        }
        well
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_that_does_not_recover_is_waited_for_for_a_minute() {
        // Nobody listens there any more.
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let healths = Healths::new(Clock::start());
        let began = Instant::now();
        assert!(!healths.ready("mine", Some(&format!("http://{address}/health"))).await);
        let waited = began.elapsed();
        assert!((RECOVERY_MAX..RECOVERY_MAX * 2).contains(&waited), "{waited:?}");
        let [status] = &healths.status()[..] else { panic!("one address was asked") };
        assert!(!status.healthy && status.pings > 1, "{status:?}");
    }
}
