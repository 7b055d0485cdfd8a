//! How many attempts the simulator makes in a second of real time, all checks on.
fn main() {
    let policy = steadfast_core::policy::template("default").expect("a shipped template");
    for name in ["calm", "outage", "primary_down", "brownout", "transient"] {
        let scenario =
            steadfast_sim::Scenario::named(name).expect("a named scenario").with_seconds(3000).with_rate(200.0);
        let setup = steadfast_sim::Setup {
            scenario,
            policy: policy.clone(),
            seed: 1,
            log: steadfast_sim::Logging::Off,
            plant: None,
        };
        let start = std::time::Instant::now();
        let done = steadfast_sim::simulate(&setup);
        let took = start.elapsed().as_secs_f64();
        let s = &done.stats;
        println!(
            "{name}: {:?} {} requests {} attempts, {:.0} attempts/s {:.0} requests/s",
            done.broken,
            s.requests,
            s.attempts,
            s.attempts as f64 / took,
            s.requests as f64 / took
        );
    }
}
