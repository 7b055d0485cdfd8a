//! The figures of every scenario under a template, over some seeds.
use steadfast_core::policy::template;
use steadfast_sim::{Logging, Scenario, Setup, simulate};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let policy = template(args.get(1).map_or("default", |s| s)).expect("a shipped template");
    let mut policy = policy;
    let var = |name: &str| std::env::var(name).ok().map(|v| v.parse::<f64>().expect("a number"));
    if let Some(v) = var("RATIO") {
        policy.breaker.ratio = v;
    }
    if let Some(v) = var("SHARE") {
        policy.retry_share = v;
    }
    if let Some(v) = var("FSHARE") {
        policy.fallback_share = v;
    }
    if let Some(v) = var("ATTEMPTS") {
        policy.attempts_max = v as u32;
    }
    if let Some(v) = var("FAILURES") {
        policy.breaker.failures = v as u32;
    }
    if let Some(v) = var("COOL") {
        policy.breaker.cooldown = std::time::Duration::from_secs_f64(v);
    }
    if let Some(v) = var("COOLMAX") {
        policy.breaker.cooldown_max = std::time::Duration::from_secs_f64(v);
    }
    let seeds: u64 = args.get(2).map_or(5, |s| s.parse().expect("a number"));
    println!(
        "{:13} {:>8} {:>8} {:>6} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6} {:>6} {:>8} {:>6}",
        "", "ok%", "worst", "A", "before", "worst", "open", "worst", "recov", "opens", "false", "panics", "p99"
    );
    for (name, _) in steadfast_sim::scenario::NAMES {
        if args.get(3).is_some_and(|only| !only.split(',').any(|o| o == name)) {
            continue;
        }
        let (mut ok, mut n, mut att, mut panics) = (0, 0, 0, 0);
        let (mut worst, mut wb, mut wo, mut rec) = (1.0f64, 0.0f64, 0.0f64, 0.0f64);
        let mut before = steadfast_sim::stats::Phase::default();
        let mut open = before;
        let mut opens = steadfast_sim::stats::Share::default();
        let mut lat = vec![];
        for seed in 0..seeds {
            let mut scenario = Scenario::named(name).expect("named");
            if let Some(v) = var("RATE") {
                scenario = scenario.with_rate(v);
            }
            let (cause, seconds) = (scenario.cause, scenario.seconds);
            let done = simulate(&Setup { scenario, policy: policy.clone(), seed, log: Logging::Off, plant: None });
            if let Some(b) = done.broken {
                println!("{name} seed {seed}: {b} {:?}", b.request);
            }
            let s = done.stats;
            ok += s.succeeded;
            n += s.requests;
            att += s.attempts;
            panics += s.panics;
            worst = worst.min(s.succeeded as f64 / s.requests as f64);
            before = before.plus(s.before_open);
            open = open.plus(s.once_open);
            opens = opens.plus(s.opens);
            wb = wb.max(s.before_open.amplification().unwrap_or(0.0));
            wo = wo.max(s.once_open.amplification().unwrap_or(0.0));
            if let Some(c) = cause {
                rec = rec.max(s.recovered_after(c, seconds).map_or(9999.0, |d| d.as_secs_f64()));
            }
            lat.extend(s.latencies_ms);
        }
        lat.sort_unstable();
        println!(
            "{name:13} {:8.3} {:8.3} {:6.3} {:7.3} {wb:7.3} {:7.3} {wo:7.3} {rec:6.1} {:6} {:6} {panics:8} {:6}",
            100.0 * ok as f64 / n as f64,
            100.0 * worst,
            att as f64 / n as f64,
            before.amplification().unwrap_or(0.0),
            open.amplification().unwrap_or(0.0),
            opens.of,
            opens.part,
            lat.get(lat.len() * 99 / 100).copied().unwrap_or(0)
        );
    }
}
