//! Draws a run: `plot <scenario> <template> <seed>`.
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let scenario = steadfast_sim::Scenario::named(&args[1]).expect("a named scenario");
    let policy = steadfast_core::policy::template(&args[2]).expect("a shipped template");
    let seed = args.get(3).and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let setup = steadfast_sim::Setup { scenario, policy, seed, log: steadfast_sim::Logging::Off, plant: None };
    let finished = steadfast_sim::simulate(&setup);
    println!("{}", steadfast_sim::plot::svg(&setup, &finished.stats));
}
