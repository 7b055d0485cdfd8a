//! `steadfast spawn`: many tasks at once, each kept working until it is done.

mod file;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use steadfast_supervisor::{Batch, BatchResult, Observer, Task, TaskOutcome, run_all};

use super::{data, talk};
use crate::cli::SourceArgs;
use crate::tasks::tell::{self, IntoText as _};
use crate::tasks::{Stage, TaskArgs, stop_signal};

/// What to run.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SpawnArgs {
    #[command(flatten)]
    task: TaskArgs,

    /// A file of tasks: .toml, .json, .jsonl or .csv; `-` reads JSON lines from standard input
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,

    /// How many run at a time
    #[arg(long, short = 'P', value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    parallel: u16,

    /// Where one task had to fall back, those that come after it begin there
    #[arg(long)]
    together: bool,

    /// What each agent is told: a task for each
    #[arg(value_name = "TASK")]
    tasks: Vec<String>,

    /// The command for all of them; with --agent, further arguments for it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const AFTER_HELP: &str = "\
A file names for each task what the flags name for all: task, label, agent or command, model, chain, policy, project,
folder, max_retries, retry_delay, timeout, silence, deadline, budget_usd (times in seconds).

Exit codes: 0 all done, 1 some were given up, 75 some failed for reasons that may pass, 130 stopped.

  steadfast spawn --agent claude --model sonnet --chain haiku 'fix the tests' 'write the docs'
  steadfast spawn --file tasks.toml --parallel 8 --json";

pub(crate) fn run(args: &SpawnArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let (tasks, partial) = tasks(args)?;
    if args.task.detach {
        return args.task.leave(&tasks, sources);
    }
    let Some(stage) = args.task.stage(sources)? else { return Ok(ExitCode::FAILURE) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = runtime.context("cannot start the runtime")?.block_on(go(args, tasks, partial, stage))?;
    let code =
        match result.workers.iter().filter(|worker| !worker.success).map(|worker| worker.outcome).max_by_key(rank) {
            None => 0,
            Some(outcome) => outcome.exit_code(),
        };
    Ok(ExitCode::from(code))
}

/// Which of several outcomes the exit code tells.
fn rank(outcome: &TaskOutcome) -> u8 {
    match outcome {
        TaskOutcome::Succeeded => 0,
        TaskOutcome::NotNow => 1,
        TaskOutcome::BudgetSpent => 2,
        TaskOutcome::GaveUp => 3,
        TaskOutcome::Cancelled => 4,
    }
}

/// The tasks of the command line and of the file, and whether only those that fail change their model.
fn tasks(args: &SpawnArgs) -> anyhow::Result<(Vec<Task>, bool)> {
    let usual = args.task.task(&args.command);
    let mut partial = !args.together;
    let mut tasks: Vec<Task> = args.tasks.iter().map(|text| Task { task: text.clone(), ..usual.clone() }).collect();
    if let Some(path) = &args.file {
        let listed = file::read(path, &usual)?;
        partial &= listed.partial;
        tasks.extend(listed.tasks);
    }
    if tasks.is_empty() {
        bail!("there is nothing to do: name tasks, or a file of them with --file FILE");
    }
    for (number, task) in (1..).zip(&mut tasks) {
        if task.label.is_empty() || args.task.label.as_ref() == Some(&task.label) && number > 1 {
            task.label = format!(
                "{}{number}",
                args.task.label.as_deref().map_or("task-".to_owned(), |label| format!("{label}-"))
            );
        }
    }
    Ok((tasks.into_iter().map(Task::named).collect(), partial))
}

async fn go(args: &SpawnArgs, tasks: Vec<Task>, partial: bool, stage: Stage) -> anyhow::Result<BatchResult> {
    let Stage { fleet, log, _guard } = stage;
    let bars = std::io::stderr().is_terminal() && !args.task.json && !args.task.quiet;
    let shown = bars.then_some(tasks.len());
    let (observer, bars): (Arc<dyn Observer>, Option<Arc<tell::Bars>>) = match shown {
        _ if args.task.json => (Arc::new(tell::Programs { log }), None),
        Some(count) => {
            let bars = Arc::new(tell::Bars::new(log, count));
            (Arc::clone(&bars) as Arc<dyn Observer>, Some(bars))
        }
        None => (Arc::new(tell::People { log, quiet: args.task.quiet }), None),
    };
    let batch = Batch { fleet, observer, parallel: args.parallel.into(), partial, stop: stop_signal()? };
    let result = run_all(batch, tasks).await?;
    if let Some(bars) = bars {
        bars.finish();
    }
    if args.task.json {
        data(&json!({ "result": result }).to_string())?;
        return Ok(result);
    }
    for worker in &result.workers {
        data(&worker.row())?;
    }
    let (done, all) = (result.workers.len() - result.failed.len(), result.workers.len());
    talk(&format!("{done} of {all} done, {} by another model", result.fallback_applied));
    Ok(result)
}
