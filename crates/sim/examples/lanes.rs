//! Prints breaker changes.
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let policy = steadfast_core::policy::template("default").expect("a shipped template");
    let scenario = steadfast_sim::Scenario::named(&args[1]).expect("a named scenario");
    let setup = steadfast_sim::Setup { scenario, policy, seed: 0, log: steadfast_sim::Logging::Off, plant: None };
    let done = steadfast_sim::simulate(&setup);
    for e in &done.stats.endpoints {
        println!("{} {} {}", e.name, e.attempts, e.failures);
        for (t, s) in e.changes.iter().take(14) {
            println!("   {t} {s:?}");
        }
    }
    let b = &done.stats;
    println!("before {:?} open {:?} at {:?}", b.before_open, b.once_open, b.all_open);
}
