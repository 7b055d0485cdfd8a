//! `cargo xtask simulate`: many random scenarios, every invariant on every step.

#![expect(clippy::print_stdout, reason = "the report is the command's output")]

use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};

/// What a night is worth.
const NIGHTLY_REQUESTS: u64 = 10_000_000;
/// A quick look.
const REQUESTS: u64 = 1_000_000;

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    // Every run looks somewhere else; the seed it prints leads back.
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock stands before 1970")?;
    let mut first_seed = since_epoch.as_secs();
    let mut requests = REQUESTS;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--nightly" => requests = NIGHTLY_REQUESTS,
            "--seed" => {
                let seed = arguments.next().context("--seed needs a number")?;
                first_seed = seed.parse().with_context(|| format!("--seed {seed} is no number"))?;
            }
            other => bail!("`simulate` takes --nightly and --seed NUMBER, not `{other}`"),
        }
    }
    println!("{requests} requests, seeds from {first_seed} on");
    let began = Instant::now();
    let campaign = match steadfast_sim::campaign(first_seed, requests) {
        Ok(campaign) => campaign,
        Err(trouble) => {
            println!("{trouble}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let (runs, made, attempts) = (campaign.runs, campaign.requests, campaign.attempts);
    let secs = began.elapsed().as_secs_f64();
    println!("{runs} runs, {made} requests, {attempts} attempts in {secs:.0} s: no invariant broke");
    let missed = campaign.missed();
    if !missed.is_empty() {
        let words: Vec<&str> = missed.iter().map(|rare| rare.words()).collect();
        println!("never reached: {}", words.join(", "));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
