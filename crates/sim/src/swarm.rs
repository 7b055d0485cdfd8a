//! Campaigns: every seed draws its own scenario and its own policy (TigerBeetle's swarm testing).
//!
//! A campaign also fails when a rare state was never reached: then it proved less than it seems.

use std::time::Duration;

use steadfast_core::backoff::Backoff;
use steadfast_core::policy::{Policy, Step, StepRule, TEMPLATES, VendorBoundary, template};
use steadfast_core::recovery::Face;
use steadfast_core::{FailureKind, Instant};

use crate::provider::{Effect, Fault, Pace, Span};
use crate::rare::{Rare, Rarities};
use crate::run::{Logging, Setup, simulate};
use crate::scenario::{Arrivals, EndpointSpec, ModelSpec, Person, Scenario, Spend};
use crate::trouble::Trouble;

/// What a campaign did.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Runs made.
    pub runs: u64,
    /// Requests of all runs.
    pub requests: u64,
    /// Attempts of all runs.
    pub attempts: u64,
    /// Rare states reached.
    pub rare: Rarities,
}

/// Runs swarm seeds from `first_seed` on until this many requests were made.
pub fn campaign(first_seed: u64, requests: u64) -> Result<Campaign, Trouble> {
    let mut campaign = Campaign::default();
    for seed in (0..).map(|more| first_seed.wrapping_add(more)) {
        let setup = draw(seed);
        let finished = simulate(&setup);
        if let Some(broken) = finished.broken {
            return Err(Trouble::shrink(&setup, broken));
        }
        campaign.runs += 1;
        campaign.requests += finished.stats.requests;
        campaign.attempts += finished.stats.attempts;
        campaign.rare.add(&finished.stats.rare);
        if campaign.requests >= requests {
            break;
        }
    }
    Ok(campaign)
}

impl Campaign {
    /// The rare states it never reached.
    pub fn missed(&self) -> Vec<Rare> {
        self.rare.missed()
    }
}

/// The run that belongs to a swarm seed.
pub fn draw(seed: u64) -> Setup {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed_5eed);
    let policy = draw_policy(&mut rng);
    let mut scenario = draw_scenario(seed, &mut rng);
    if policy.name == "council" {
        // Only there do its own steps mean anything.
        scenario.face = Face::COUNCIL;
    }
    Setup { scenario, policy, seed, log: Logging::Off, plant: None }
}

fn draw_policy(rng: &mut fastrand::Rng) -> Policy {
    let (name, _) = TEMPLATES[rng.usize(..TEMPLATES.len())];
    let Some(mut policy) = template(name) else { return Policy { name: name.to_owned(), ..draw_policy(rng) } };
    policy.attempts_max = rng.u32(1..=20);
    policy.deadline = Duration::from_secs(if rng.bool() { rng.u64(5..60) } else { rng.u64(60..900) });
    policy.session_retries.max = if rng.bool() { rng.u32(1..20) } else { rng.u32(20..200) };
    policy.session_retries.warn = rng.u32(1..=policy.session_retries.max);
    policy.retry_share = rng.f64() * 0.5;
    policy.fallback_share = rng.f64();
    policy.quota_rest = Duration::from_secs(rng.u64(1..3600));
    if rng.bool() {
        policy.park = Duration::from_secs(rng.u64(1..600));
    }
    policy.escalate.auto = rng.bool();
    policy.escalate.after_retries = rng.u32(1..4);
    if rng.bool() {
        policy.vendor_boundary = if rng.bool() { VendorBoundary::Strict } else { VendorBoundary::Open };
    }
    let breaker = &mut policy.breaker;
    breaker.failures = rng.u32(1..20);
    breaker.adaptive = rng.bool();
    breaker.ratio = 0.2 + rng.f64() * 0.8;
    breaker.window = Duration::from_secs(rng.u64(5..300));
    breaker.floor = rng.u32(1..50);
    breaker.cooldown = Duration::from_millis(rng.u64(500..30_000));
    breaker.cooldown_max = breaker.cooldown * rng.u32(1..10);
    breaker.probes = rng.u32(1..5);
    breaker.successes = rng.u32(1..4);
    breaker.lease = Duration::from_millis(rng.u64(500..60_000));
    breaker.rate_limits_trip = rng.bool();
    if rng.bool() {
        add_steps(&mut policy, rng);
    }
    policy
}

/// Steps the templates do not combine.
fn add_steps(policy: &mut Policy, rng: &mut fastrand::Rng) {
    let retry = Step::Retry(steadfast_core::policy::Retry {
        max: rng.u32(1..6),
        backoff: Backoff::every(Duration::from_millis(rng.u64(0..5000))),
        with_context: rng.bool(),
    });
    let kinds = [FailureKind::ServerError, FailureKind::Overloaded, FailureKind::BadOutput, FailureKind::ContextLimit];
    let kind = kinds[rng.usize(..kinds.len())];
    let mut steps = vec![retry, Step::Escalate, Step::Fallback];
    rng.shuffle(&mut steps);
    if kind == FailureKind::ContextLimit {
        steps.retain(|step| !matches!(step, Step::Retry(_)));
    }
    let rules = steps.into_iter().map(StepRule::from).collect();
    policy.on.set(steadfast_core::policy::Trigger::Kind(kind), rules);
}

fn draw_scenario(seed: u64, rng: &mut fastrand::Rng) -> Scenario {
    let endpoints = rng.usize(1..7);
    let seconds = rng.u32(60..400);
    let faces = [Face::GATEWAY, Face::TASK, Face::COUNCIL];
    let per_sec = 2f64.powf(rng.f64() * 8.0);
    Scenario {
        name: format!("swarm-{seed}"),
        about: "drawn from its seed".to_owned(),
        clients: rng.u32(1..300),
        projects: rng.u32(1..5),
        seconds,
        arrivals: if rng.bool() {
            Arrivals::Open { per_sec }
        } else {
            Arrivals::Closed { think_secs: 0.5 + rng.f64() * 10.0 }
        },
        turns: rng.u32(1..100),
        endpoints: (0..endpoints).map(|index| draw_endpoint(index, rng)).collect(),
        models: (0..5).map(|index| draw_model(index, endpoints, rng)).collect(),
        primaries: rng.usize(1..3),
        ladder: draw_ladder(rng),
        faults: (0..rng.usize(0..7)).map(|_| draw_fault(endpoints, seconds, rng)).collect(),
        cause: None,
        face: faces[rng.usize(..faces.len())],
        person: Person { answers: rng.f64(), agrees: rng.f64(), secs: 1.0 + rng.f64() * 60.0 },
        repair_works: rng.f64(),
        spend: Spend {
            project_usd_micros: rng.bool().then(|| rng.u64(1_000_000..500_000_000)),
            session_usd_micros: rng.bool().then(|| rng.u64(100_000..5_000_000)),
        },
        attempt_timeout: Duration::from_secs(rng.u64(3..120)),
        leaves: if rng.bool() { rng.f64() * 0.2 } else { 0.0 },
        vanishes: if rng.bool() { rng.f64() * 0.02 } else { 0.0 },
        large: if rng.bool() { rng.f64() * 0.2 } else { 0.0 },
        underestimated: if rng.bool() { rng.f64() * 0.3 } else { 0.0 },
    }
}

/// Mostly of one vendor; sometimes another's models stand in between, which a strict boundary leaves out.
fn draw_ladder(rng: &mut fastrand::Rng) -> Vec<usize> {
    let mut ladder = if rng.bool() { vec![3, 0, 4] } else { vec![3, 0, 1, 4, 2] };
    if rng.bool() {
        rng.shuffle(&mut ladder);
    }
    ladder
}

fn draw_endpoint(index: usize, rng: &mut fastrand::Rng) -> EndpointSpec {
    let median_ms = 50.0 * 2f64.powf(rng.f64() * 8.0);
    let pace = Pace { median_ms, spread: rng.f64(), failure_ms: 5.0 + rng.f64() * 2000.0 };
    EndpointSpec { name: format!("e{index}"), pace }
}

fn draw_model(index: usize, endpoints: usize, rng: &mut fastrand::Rng) -> ModelSpec {
    let mut served: Vec<usize> = (0..endpoints).collect();
    rng.shuffle(&mut served);
    served.truncate(rng.usize(1..=endpoints.min(3)));
    // All but one are of one family, so that strict chains exist; chains that leave it exist too.
    let vendor = ["alpha", "beta", "alpha", "alpha", "alpha"][index];
    let others = |all: &[usize]| all.iter().copied().filter(|other| *other != index).collect::<Vec<_>>();
    let fallback = others(&[1, 2, 0][..rng.usize(0..=3)]);
    let fallback_strict = if vendor == "alpha" { others(&[2, 0][..rng.usize(0..=2)]) } else { Vec::new() };
    ModelSpec {
        name: format!("m{index}"),
        vendor: vendor.to_owned(),
        endpoints: served,
        fallback,
        fallback_strict,
        window: rng.bool().then(|| if rng.bool() { 200_000 } else { 1_000_000 }),
        price: (rng.f64() < 0.9).then(|| (rng.f64() * 10.0, rng.f64() * 50.0)),
    }
}

fn draw_fault(endpoints: usize, seconds: u32, rng: &mut fastrand::Rng) -> Fault {
    let from = rng.u64(..u64::from(seconds));
    let span =
        Span { from: Instant::from_millis(from * 1000), to: Instant::from_millis((from + rng.u64(1..200)) * 1000) };
    let kind = FailureKind::ALL[rng.usize(..FailureKind::ALL.len())];
    // Kinds that lead to steps of their own come up more often than one in eighteen.
    let kind = match rng.u32(..4) {
        0 => FailureKind::StateLost,
        1 => FailureKind::NetworkTransient,
        _ if kind == FailureKind::Cancelled => FailureKind::ServerError,
        _ => kind,
    };
    let effect = match rng.u32(..10) {
        0 | 1 => Effect::Down,
        2 | 3 => Effect::Failing(rng.f64(), kind),
        4 => Effect::RateLimit { per_minute: rng.u32(1..2000) },
        5 => Effect::Quota { calls: rng.u32(1..2000), reset_secs: rng.u32(5..200) },
        6 => Effect::Flapping { up_secs: rng.u32(1..30), down_secs: rng.u32(1..30) },
        7 => Effect::SlowDeath { doubling_secs: 1.0 + rng.f64() * 30.0 },
        8 => Effect::Capacity { per_sec: 1.0 + rng.f64() * 100.0 },
        _ => {
            if rng.bool() {
                Effect::Cut(rng.f64())
            } else {
                Effect::Hang(rng.f64())
            }
        }
    };
    let chosen = (0..endpoints).filter(|_| rng.bool()).collect();
    Fault { endpoints: chosen, span, effect }
}
