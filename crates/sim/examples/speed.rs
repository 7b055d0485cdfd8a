//! How many attempts the simulator makes in a second of real time, all checks on.
//!
//! `cargo run --release -p steadfast-sim --example speed`: at least 500,000 on one core.

#![expect(clippy::print_stdout, reason = "what it measures is its output")]

use std::time::Instant;

use steadfast_core::policy::template;
use steadfast_sim::{Logging, Scenario, Setup, simulate};

fn main() {
    let policy = template("default").expect("a shipped template");
    for name in ["calm", "outage", "primary_down", "brownout", "transient"] {
        let scenario = Scenario::named(name).expect("a named scenario").with_seconds(3000).with_rate(200.0);
        let setup = Setup { scenario, policy: policy.clone(), seed: 1, log: Logging::Off, plant: None };
        let started = Instant::now();
        let stats = simulate(&setup).stats;
        let secs = started.elapsed().as_secs_f64();
        let per_sec = |count: u64| count as f64 / secs;
        println!("{name:13} {:9.0} attempts/s {:9.0} requests/s", per_sec(stats.attempts), per_sec(stats.requests));
    }
}
