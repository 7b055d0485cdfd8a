//! The simulator's own proof: figures, invariants, determinism, campaigns.

mod determinism;
mod figures;
mod invariants;
mod plot;
mod readme;
mod replay;
mod swarm;

use steadfast_core::policy::{Policy, template};
use steadfast_sim::{Logging, Scenario, Setup};

fn policy(name: &str) -> Policy {
    template(name).expect("a shipped template")
}

fn setup(scenario: &str, template: &str, seed: u64) -> Setup {
    let scenario = Scenario::named(scenario).expect("a named scenario");
    Setup { scenario, policy: policy(template), seed, log: Logging::Off, plant: None }
}
