//! `steadfast run`: one command or agent, kept working until it is done.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use steadfast_config::AgentOutput;
use steadfast_supervisor::process::output::Stream;
use steadfast_supervisor::{Ending, InMemory, Memory, Observer, Run, Task, TaskResult};
use tokio::sync::mpsc;

use super::{data, talk};
use crate::cli::SourceArgs;
use crate::tasks::{Stage, TaskArgs, read_task, stop_signal, tell};

/// Pieces of output on their way to the terminal; a terminal that is slow slows the command down.
const PIECES_MAX: usize = 64;

/// What to run.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    task: TaskArgs,

    /// What the agent is told
    #[arg(long, short, value_name = "TEXT", conflicts_with = "task_file")]
    task_text: Option<String>,

    /// The same from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    task_file: Option<PathBuf>,

    /// Show what the agent writes as it is, and not only its answer
    #[arg(long)]
    raw: bool,

    /// The command; with --agent, further arguments for it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const AFTER_HELP: &str = "\
{task}, {task_file}, {model}, {label}, {session}, {project}, {attempt} and {gateway} are filled in within the command;
the same stand in STEADFAST_TASK, STEADFAST_MODEL and so on. docs/supervisor.md tells the rest.

Exit codes: 0 done, 1 given up, 2 the command line makes no sense, 3 the budget is spent,
75 not now (a failure that may pass), 130 stopped.

  steadfast run -- make test
  steadfast run --model sonnet --chain haiku -- my-agent --model {model} --prompt {task}
  steadfast run --agent claude --model claude-sonnet-4-5 --chain codex:gpt-5.2 -t 'fix the failing test'";

pub(crate) fn run(args: &RunArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let task = task(args)?;
    if args.task.detach {
        return args.task.leave(&[task], sources);
    }
    let Some(stage) = args.task.stage(sources)? else { return Ok(ExitCode::FAILURE) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    let result = runtime.block_on(go(args, &task, stage))?;
    if args.task.json {
        data(&json!({ "result": result }).to_string())?;
    }
    Ok(ExitCode::from(result.outcome.exit_code()))
}

fn task(args: &RunArgs) -> anyhow::Result<Task> {
    if args.task.agent.is_none() && args.command.is_empty() {
        bail!("there is nothing to run: write `-- COMMAND`, or --agent NAME with --task-text TEXT");
    }
    let text = match (&args.task_text, &args.task_file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read_task(file)?,
        (None, None) => String::new(),
    };
    if args.task.agent.is_some() && text.is_empty() {
        bail!("the agent is told nothing: add --task-text TEXT or --task-file FILE");
    }
    Ok(Task { task: text, ..args.task.task(&args.command) }.named())
}

async fn go(args: &RunArgs, task: &Task, stage: Stage) -> anyhow::Result<TaskResult> {
    let output = stage.fleet.config().agents.get(&task.agent).map_or(AgentOutput::Text, |agent| agent.output);
    // An agent's events are for programs; people want its answer.
    let answers = !args.raw && output != AgentOutput::Text;
    let stop = stop_signal()?;
    let Stage { fleet, log, _guard } = stage;
    let observer: Box<dyn Observer> = match args.task.json {
        true => Box::new(tell::Programs { log }),
        false => Box::new(tell::People { log, quiet: args.task.quiet }),
    };
    let (copy, printed) = if args.task.json || answers {
        (None, None)
    } else {
        let (copy, pieces) = mpsc::channel(PIECES_MAX);
        (Some(copy), Some(std::thread::spawn(move || print(pieces))))
    };
    let run = Run {
        fleet: &fleet,
        task,
        memory: Memory::default(),
        observer: observer.as_ref(),
        keeper: InMemory,
        copy,
        stop,
    };
    let Ending::Over(result, _) = run.go().await? else { bail!("the task was put aside") };
    if let Some(printed) = printed {
        let _ = tokio::task::spawn_blocking(move || printed.join()).await;
    }
    if answers && !args.task.json && result.success {
        data(&result.result)?;
    }
    if !args.task.json && !result.success {
        talk(&format!("steadfast: {}", result.error.as_deref().unwrap_or("it failed")));
        talk(&format!("steadfast: `steadfast why {}` tells the whole story", result.task_id));
    }
    Ok(*result)
}

/// Writes what the command writes, to where it wrote it.
fn print(mut pieces: mpsc::Receiver<(Stream, bytes::Bytes)>) {
    while let Some((stream, piece)) = pieces.blocking_recv() {
        // A reader that has seen enough is no reason to stop the command.
        let _ = match stream {
            Stream::Out => {
                let mut out = std::io::stdout().lock();
                out.write_all(&piece).and_then(|()| out.flush())
            }
            Stream::Err => std::io::stderr().lock().write_all(&piece),
        };
    }
}
