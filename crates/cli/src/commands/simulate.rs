//! `steadfast simulate`: what a policy does when things fail, before they do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use steadfast_core::policy::Policy;
use steadfast_sim::scenario::NAMES;
use steadfast_sim::{Logging, Replayed, Report, Scenario, Setup, Trouble};

use super::{data, load_or_refuse, policy_named, talk};
use crate::cli::SourceArgs;

/// What happens, and under which policy.
#[derive(Args, Debug)]
pub(crate) struct SimulateArgs {
    /// What happens; --list names all scenarios
    #[arg(default_value = "outage")]
    scenario: String,

    /// Name every scenario and what happens in it
    #[arg(long)]
    list: bool,

    /// The policy [default: the one of project `default`]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,

    /// Another policy, to compare side by side with the same seeds
    #[arg(long, value_name = "NAME")]
    against: Option<String>,

    /// How many clients
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    clients: Option<u32>,

    /// How many simulated seconds
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    seconds: Option<u32>,

    /// Requests per second of all clients together
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,

    /// All randomness comes from it: the same seed gives the same run
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// How many seeds, from --seed on
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: u64,

    /// Write a plot of traffic, failures and breakers over time (the first seed; with --against both policies)
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Write the decision log (the first seed)
    #[arg(long, value_name = "FILE.jsonl")]
    log: Option<PathBuf>,

    /// Tell what the policy would have done to the requests of a decision log
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["scenario", "against", "plot", "log", "clients", "seconds", "rate", "seeds"])]
    replay: Option<PathBuf>,

    /// For programs
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &SimulateArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        return list(args.json);
    }
    let Some(loaded) = load_or_refuse(sources) else { return Ok(ExitCode::FAILURE) };
    let policy = policy_named(&loaded.config, args.policy.as_deref())?;
    if let Some(log) = &args.replay {
        return replay(log, &policy, args);
    }
    let scenario = scenario(args)?;
    let mut policies = vec![Policy::clone(&policy)];
    if let Some(name) = &args.against {
        policies.push(Policy::clone(&*policy_named(&loaded.config, Some(name))?));
    }
    let reports = match steadfast_sim::compare(&scenario, &policies, args.seed, args.seeds) {
        Ok(reports) => reports,
        Err(trouble) => return Ok(broken(&trouble)),
    };
    show(&reports, args.json)?;
    keep(&scenario, &policies, args)?;
    Ok(ExitCode::SUCCESS)
}

fn show(reports: &[Report], json: bool) -> anyhow::Result<()> {
    match reports {
        _ if json => data(&serde_json::to_string_pretty(reports)?),
        [report] => data(&report.to_string()),
        several => data(&steadfast_sim::comparison(several)),
    }
}

/// Writes the plot and the log of the first seed, where they are asked for: the plot of every policy, the log of the first.
fn keep(scenario: &Scenario, policies: &[Policy], args: &SimulateArgs) -> anyhow::Result<()> {
    let with_log = |log| {
        move |policy: &Policy| {
            let setup = Setup { scenario: scenario.clone(), policy: policy.clone(), seed: args.seed, log, plant: None };
            let finished = steadfast_sim::simulate(&setup);
            (setup, finished)
        }
    };
    if let Some(path) = &args.plot {
        let runs: Vec<_> = policies.iter().map(with_log(Logging::Off)).collect();
        let runs: Vec<_> = runs.iter().map(|(setup, finished)| (setup, &finished.stats)).collect();
        write(path, steadfast_sim::plot::svg(&runs).as_bytes())?;
    }
    if let (Some(path), Some(policy)) = (&args.log, policies.first()) {
        write(path, &with_log(Logging::All)(policy).1.log)?;
    }
    Ok(())
}

fn replay(log: &Path, policy: &Policy, args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    let text = fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))?;
    let replayed = steadfast_sim::replay(&text, policy, args.seed).with_context(|| log.display().to_string())?;
    if args.json {
        data(&serde_json::to_string_pretty(&replayed)?)?;
    } else {
        data(&told(&replayed))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told(replayed: &Replayed) -> String {
    let Replayed { policy, requests, recorded, replayed: would, rescued, newly_lost, unknown, gap_mean_ms } = replayed;
    let per_request = |attempts: u64| attempts as f64 / (*requests).max(1) as f64;
    format!(
        "{requests} requests, replayed under policy `{policy}`\n\
         \n\
         {:22}{:>12}{:>12}\n\
         {:22}{:>12}{:>12}\n\
         {:22}{:>12}{:>12}\n\
         {:22}{:>12.2}{:>12.2}\n\
         \n\
         {rescued} that were lost would be served, {newly_lost} that were served would be lost.\n\
         Attempts that were never made borrow the outcome of the nearest recorded attempt at the same\n\
         endpoint, {gap_mean_ms:.0} ms away on average; at {unknown} the log knows nothing of the endpoint.\n",
        "",
        "recorded",
        "replayed",
        "served",
        recorded.served,
        would.served,
        "lost",
        recorded.lost,
        would.lost,
        "attempts per request",
        per_request(recorded.attempts),
        per_request(would.attempts),
    )
}

fn scenario(args: &SimulateArgs) -> anyhow::Result<Scenario> {
    let Some(mut scenario) = Scenario::named(&args.scenario) else {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        bail!("there is no scenario `{}`; there are {}", args.scenario, names.join(", "));
    };
    if let Some(clients) = args.clients {
        scenario = scenario.with_clients(clients);
    }
    if let Some(seconds) = args.seconds {
        scenario = scenario.with_seconds(seconds);
    }
    if let Some(rate) = args.rate {
        if !(0.001..=1_000_000.0).contains(&rate) {
            bail!("--rate {rate}: requests per second, between 0.001 and 1000000");
        }
        scenario = scenario.with_rate(rate);
    }
    Ok(scenario)
}

fn list(json: bool) -> anyhow::Result<ExitCode> {
    if json {
        let names: Vec<_> = NAMES.iter().map(|(name, about)| json!({ "name": name, "about": about })).collect();
        data(&serde_json::to_string_pretty(&names)?)?;
    } else {
        let lines: Vec<String> = NAMES.iter().map(|(name, about)| format!("{name:<14}{about}")).collect();
        data(&lines.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A broken invariant is a bug of ours, and the person who met it holds the proof.
fn broken(trouble: &Trouble) -> ExitCode {
    talk(&format!("error: {trouble}\n\nThis is a bug in Steadfast: please report it with everything above."));
    ExitCode::FAILURE
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    talk(&format!("wrote {}", path.display()));
    Ok(())
}
