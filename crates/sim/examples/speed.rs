//! How many attempts the simulator makes in a second of real time, all checks on.
//!
//! `cargo run --release -p steadfast-sim --example speed`, which fails where it is fewer than 500,000 on one core.

#![expect(clippy::print_stdout, reason = "what it measures is its output")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use steadfast_core::policy::template;
use steadfast_sim::{Logging, Scenario, Setup, simulate};

const ATTEMPTS_PER_SEC_MIN: f64 = 500_000.0;

fn main() -> ExitCode {
    let (mut attempts, mut spent) = (0, Duration::ZERO);
    let policy = template("default").expect("a shipped template");
    for name in ["calm", "outage", "primary_down", "brownout", "transient"] {
        let scenario = Scenario::named(name).expect("a named scenario").with_seconds(3000).with_rate(200.0);
        let setup = Setup { scenario, policy: policy.clone(), seed: 1, log: Logging::Off, plant: None };
        let started = Instant::now();
        let stats = simulate(&setup).stats;
        let elapsed = started.elapsed();
        let per_sec = |count: u64| count as f64 / elapsed.as_secs_f64();
        println!("{name:13} {:9.0} attempts/s {:9.0} requests/s", per_sec(stats.attempts), per_sec(stats.requests));
        attempts += stats.attempts;
        spent += elapsed;
    }
    // In an outage most requests make no attempt, so it is the whole that counts.
    let overall = attempts as f64 / spent.as_secs_f64();
    let kept = overall >= ATTEMPTS_PER_SEC_MIN;
    println!(
        "{} {overall:.0} attempts/s in all, at least {ATTEMPTS_PER_SEC_MIN:.0}",
        if kept { "ok  " } else { "FAIL" }
    );
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
