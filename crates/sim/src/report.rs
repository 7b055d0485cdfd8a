//! What a policy does in a scenario: the documents' own targets, and what it costs upstream.

mod text;

use serde::Serialize;

use steadfast_core::policy::Policy;

use crate::run::{Logging, Setup, simulate};
use crate::scenario::Scenario;
use crate::stats::{Phase, Stats};
use crate::trouble::Trouble;

pub use text::{comparison, table};

/// One policy in one scenario, over some seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// What happens in it.
    pub about: String,
    /// The policy's name.
    pub policy: String,
    /// How many seeds.
    pub seeds: u64,
    /// How many clients.
    pub clients: u32,
    /// Simulated seconds per seed.
    pub seconds: u32,
    /// Requests of all seeds.
    pub requests: u64,
    /// The share served.
    pub success: f64,
    /// The same in the worst seed.
    pub success_worst: f64,
    /// Upstream attempts per request.
    pub attempts_per_request: f64,
    /// The same in the worst seed.
    pub attempts_per_request_worst: f64,
    /// The same while the trouble lasts, before every breaker is open.
    pub before_open: Option<Amplification>,
    /// The same while the trouble lasts, once every breaker is open.
    pub once_open: Option<Amplification>,
    /// Seconds from the end of the trouble to normal traffic, in the worst seed.
    pub recovered_after_secs: Option<f64>,
    /// Seconds from an operation's first failure to its success, on average.
    pub recovery_mean_secs: Option<f64>,
    /// Retries decided.
    pub retries: u64,
    /// Fallbacks decided.
    pub fallbacks: u64,
    /// Attempts made against all breakers.
    pub panics: u64,
    /// Breakers that opened.
    pub opens: u64,
    /// Those that opened while their endpoint's modelled failure probability had been below one
    /// half for ten seconds.
    pub false_opens: u64,
    /// Latency of requests served, in milliseconds.
    pub latency_ms: Latency,
    /// Dollars spent on attempts that failed.
    pub failed_usd: f64,
    /// Dollars spent altogether.
    pub spent_usd: f64,
    /// The documents' targets, as far as this scenario can measure them.
    pub targets: Vec<Target>,
}

/// Attempts per request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Amplification {
    /// Over all seeds.
    pub all: f64,
    /// In the worst seed.
    pub worst: f64,
}

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// Half are faster.
    pub p50: u32,
    /// 95 % are faster.
    pub p95: u32,
    /// 99 % are faster.
    pub p99: u32,
}

/// One target of the documents (SPEC 10.3).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    /// What is measured.
    pub name: &'static str,
    /// What it should be.
    pub goal: &'static str,
    /// What it is; `None` if nothing of the kind happened.
    pub value: Option<f64>,
    /// Whether that is good enough; nothing happened counts as yes.
    pub passed: bool,
}

/// Runs a scenario under a policy, with seeds from `first_seed` on.
pub fn run(scenario: &Scenario, policy: &Policy, first_seed: u64, seeds: u64) -> Result<Report, Trouble> {
    let mut sum = Sum::default();
    for seed in (0..seeds.max(1)).map(|more| first_seed.wrapping_add(more)) {
        let (scenario, policy) = (scenario.clone(), policy.clone());
        let setup = Setup { scenario, policy, seed, log: Logging::Off, plant: None };
        let finished = simulate(&setup);
        if let Some(broken) = finished.broken {
            return Err(Trouble::shrink(&setup, broken));
        }
        sum.add(&setup, finished.stats);
    }
    Ok(sum.report(scenario, policy))
}

/// Runs the same seeds under several policies.
pub fn compare(scenario: &Scenario, policies: &[Policy], first_seed: u64, seeds: u64) -> Result<Vec<Report>, Trouble> {
    policies.iter().map(|policy| run(scenario, policy, first_seed, seeds)).collect()
}

impl Report {
    /// The report of a single run that is at hand.
    pub fn of(setup: &Setup, stats: Stats) -> Self {
        let mut sum = Sum::default();
        sum.add(setup, stats);
        sum.report(&setup.scenario, &setup.policy)
    }
}

#[derive(Default)]
struct Sum {
    seeds: u64,
    total: Stats,
    success_worst: Option<f64>,
    attempts_worst: f64,
    before_worst: f64,
    open_worst: f64,
    /// `Some(None)`: some seed never recovered.
    recovered_worst: Option<Option<f64>>,
}

impl Sum {
    fn add(&mut self, setup: &Setup, stats: Stats) {
        self.seeds += 1;
        let success = share(stats.succeeded, stats.requests);
        self.success_worst = Some(self.success_worst.map_or(success, |worst| worst.min(success)));
        self.attempts_worst = self.attempts_worst.max(share(stats.attempts, stats.requests));
        self.before_worst = self.before_worst.max(stats.before_open.amplification().unwrap_or(0.0));
        self.open_worst = self.open_worst.max(stats.once_open.amplification().unwrap_or(0.0));
        if let Some(cause) = setup.scenario.cause {
            let after = stats.recovered_after(cause, setup.scenario.seconds).map(|after| after.as_secs_f64());
            let worse = |worst: Option<f64>| worst.zip(after).map(|(worst, after)| worst.max(after));
            self.recovered_worst = Some(self.recovered_worst.map_or(after, worse));
        }
        let total = &mut self.total;
        total.requests += stats.requests;
        total.succeeded += stats.succeeded;
        total.attempts += stats.attempts;
        total.retries += stats.retries;
        total.fallbacks += stats.fallbacks;
        total.panics += stats.panics;
        total.network = total.network.plus(stats.network);
        total.transient = total.transient.plus(stats.transient);
        total.restarted = total.restarted.plus(stats.restarted);
        total.opens = total.opens.plus(stats.opens);
        total.extra_before_success += stats.extra_before_success;
        total.recovery_total += stats.recovery_total;
        total.recovered += stats.recovered;
        total.failed_usd_micros += stats.failed_usd_micros;
        total.spent_usd_micros += stats.spent_usd_micros;
        total.before_open = total.before_open.plus(stats.before_open);
        total.once_open = total.once_open.plus(stats.once_open);
        total.latencies_ms.extend(stats.latencies_ms);
    }

    fn report(mut self, scenario: &Scenario, policy: &Policy) -> Report {
        self.total.latencies_ms.sort_unstable();
        let total = &self.total;
        let amplification = |phase: Phase, worst| phase.amplification().map(|all| Amplification { all, worst });
        let recovery_mean = (total.recovered > 0).then(|| total.recovery_total.as_secs_f64() / total.recovered as f64);
        let percentile = |percent: usize| {
            let last = total.latencies_ms.len().saturating_sub(1);
            total.latencies_ms.get(last * percent / 100).copied().unwrap_or(0)
        };
        Report {
            scenario: scenario.name.clone(),
            about: scenario.about.clone(),
            policy: policy.name.clone(),
            seeds: self.seeds,
            clients: scenario.clients,
            seconds: scenario.seconds,
            requests: total.requests,
            success: share(total.succeeded, total.requests),
            success_worst: self.success_worst.unwrap_or(0.0),
            attempts_per_request: share(total.attempts, total.requests),
            attempts_per_request_worst: self.attempts_worst,
            before_open: amplification(total.before_open, self.before_worst),
            once_open: amplification(total.once_open, self.open_worst),
            recovered_after_secs: self.recovered_worst.flatten(),
            recovery_mean_secs: recovery_mean,
            retries: total.retries,
            fallbacks: total.fallbacks,
            panics: total.panics,
            opens: total.opens.of,
            false_opens: total.opens.part,
            latency_ms: Latency { p50: percentile(50), p95: percentile(95), p99: percentile(99) },
            failed_usd: total.failed_usd_micros as f64 / 1e6,
            spent_usd: total.spent_usd_micros as f64 / 1e6,
            targets: targets(total, recovery_mean),
        }
    }
}

fn targets(total: &Stats, recovery_mean: Option<f64>) -> Vec<Target> {
    let target = |name, goal, value: Option<f64>, is_met: fn(f64) -> bool| Target {
        name,
        goal,
        value,
        passed: value.is_none_or(is_met),
    };
    let extra = (total.recovered > 0).then(|| total.extra_before_success as f64 / total.recovered as f64);
    vec![
        target("network failures recovered", ">= 80 %", total.network.ratio(), |share| share >= 0.8),
        target("transient failures recovered", ">= 70 %", total.transient.ratio(), |share| share >= 0.7),
        target("retries before success, mean", "<= 3", extra, |extra| extra <= 3.0),
        target("false opens", "< 5 %", total.opens.ratio(), |share| share < 0.05),
        target("restarts that succeed", ">= 90 %", total.restarted.ratio(), |share| share >= 0.9),
        target("recovery, mean seconds", "< 30 s", recovery_mean, |secs| secs < 30.0),
    ]
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
