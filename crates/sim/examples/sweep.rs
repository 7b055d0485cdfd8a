//! The sweep behind `default` (docs/adr/0001-default-policy.md): one number changed at a time.
//!
//! `cargo run --release -p steadfast-sim --example sweep [seeds]` prints the table as Markdown;
//! with `--table` it prints the README's table of every template in every scenario instead.

#![expect(clippy::print_stdout, reason = "the table is its output")]

use std::time::Duration;

use steadfast_core::policy::{Policy, template};
use steadfast_sim::{Scenario, Trouble, run, table};

type Change = (&'static str, fn(&mut Policy));

const CHANGES: [Change; 14] = [
    ("`default`", |_| {}),
    ("breaker not adaptive", |policy| policy.breaker.adaptive = false),
    ("rate limits count in a row", |policy| policy.breaker.rate_limits_trip = true),
    ("breaker ratio 0.5", |policy| policy.breaker.ratio = 0.5),
    ("breaker ratio 0.7", |policy| policy.breaker.ratio = 0.7),
    ("3 failures in a row", |policy| policy.breaker.failures = 3),
    ("8 failures in a row", |policy| policy.breaker.failures = 8),
    ("cooldown 5 s", |policy| policy.breaker.cooldown = Duration::from_secs(5)),
    ("cooldown 30 s to 5 min", |policy| {
        policy.breaker.cooldown = Duration::from_secs(30);
        policy.breaker.cooldown_max = Duration::from_secs(300);
    }),
    ("retry share 0.1", |policy| policy.retry_share = 0.1),
    ("retry share 0.3", |policy| policy.retry_share = 0.3),
    ("fallback share 0.3", |policy| policy.fallback_share = 0.3),
    ("5 attempts", |policy| policy.attempts_max = 5),
    ("12 attempts", |policy| policy.attempts_max = 12),
];

fn main() -> Result<(), Trouble> {
    let args: Vec<String> = std::env::args().collect();
    if args.iter().any(|arg| arg == "--table") {
        println!("{}", table(1000, 2)?);
        return Ok(());
    }
    let seeds = args.get(1).and_then(|seeds| seeds.parse().ok()).unwrap_or(10);
    println!(
        "| changed | outage: before / once open / normal after | primary down | brown-out | transient (false opens) | rate limits |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, change) in CHANGES {
        let mut policy = template("default").expect("a shipped template");
        change(&mut policy);
        let report = |scenario: &str| run(&Scenario::named(scenario).expect("a named scenario"), &policy, 0, seeds);
        let outage = report("outage")?;
        let (before, open) = (outage.before_open.map_or(0.0, |a| a.worst), outage.once_open.map_or(0.0, |a| a.worst));
        let (down, brownout) = (report("primary_down")?, report("brownout")?);
        let (transient, limits) = (report("transient")?, report("rate_limits")?);
        println!(
            "| {name} | {before:.2} / {open:.3} / {:.0} s | {:.2} %, {:.3} | {:.2} % | {:.3} % ({}) | {:.2} %, {:.2} |",
            outage.recovered_after_secs.unwrap_or(f64::NAN),
            down.success_worst * 100.0,
            down.attempts_per_request,
            brownout.success_worst * 100.0,
            transient.success_worst * 100.0,
            transient.false_opens,
            limits.success_worst * 100.0,
            limits.attempts_per_request,
        );
    }
    Ok(())
}
