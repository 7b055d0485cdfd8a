//! Prints the log.
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut policy = steadfast_core::policy::template("default").expect("a shipped template");
    policy.breaker.ratio = 0.65;
    let scenario = steadfast_sim::Scenario::named(&args[1]).expect("a named scenario");
    let setup = steadfast_sim::Setup { scenario, policy, seed: 1, log: steadfast_sim::Logging::All, plant: None };
    let done = steadfast_sim::simulate(&setup);
    println!("{}", String::from_utf8_lossy(&done.log));
}
