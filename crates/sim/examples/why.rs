//! Prints one request's lines of the log.
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let policy = steadfast_core::policy::template("default").expect("a shipped template");
    let scenario = steadfast_sim::Scenario::named(&args[1]).expect("a named scenario").with_seconds(3000).with_rate(200.0);
    let setup = steadfast_sim::Setup { scenario, policy, seed: 1, log: steadfast_sim::Logging::Only(args[2].parse().expect("a number")), plant: None };
    let done = steadfast_sim::simulate(&setup);
    println!("{}{:?}", String::from_utf8_lossy(&done.log), done.broken);
}
