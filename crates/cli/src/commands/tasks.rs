//! `steadfast tasks`: those that were left to a worker, and what became of them.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use steadfast_core::time::Words;
use steadfast_store::{Paging, Store, TaskDetail, TaskFilter, TaskSummary, Wish};
use steadfast_supervisor::process::TMUX_SERVER;
use steadfast_supervisor::{log_path, old_log_path};

use super::{data, talk};
use crate::cli::SourceArgs;
use crate::tasks::{Kept, TaskArgs, WorkArgs, stop_signal, tell};

/// How often a log that is followed is looked at.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);

/// What to do with tasks.
#[derive(Args, Debug)]
pub(crate) struct TasksArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List tasks, newest first
    List(ListArgs),
    /// Tell everything about a task
    Show(OneArgs),
    /// Print what a task has written
    Logs(LogsArgs),
    /// Look over a task's shoulder: in its tmux pane where it has one, otherwise print what it writes until it is over
    Attach(OneArgs),
    /// Stop tasks for good
    Cancel(ManyArgs),
    /// Run tasks that are over once more
    Retry(ManyArgs),
    /// Run tasks as they come, as `steadfast serve` does
    Work(WorkArgs),
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Only those in this state: waiting, running, succeeded, gave_up, not_now, budget_spent, cancelled
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only those of this label
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// How many
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 50)]
    limit: usize,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct OneArgs {
    /// Its id, or the beginning of it
    id: String,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct LogsArgs {
    /// Its id, or the beginning of it
    id: String,
    /// Go on until it is over
    #[arg(long, short)]
    follow: bool,
}

#[derive(Args, Debug)]
struct ManyArgs {
    /// Their ids
    #[arg(required = true)]
    ids: Vec<String>,
}

pub(crate) fn run(args: &TasksArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("cannot start the runtime")?;
    if let What::Work(args) = &args.what {
        return work(args, sources, &runtime);
    }
    let Some(loaded) = super::load_or_refuse(sources) else { return Ok(ExitCode::FAILURE) };
    let kept = Kept::open(&loaded.config)?;
    runtime.block_on(async {
        let done = go(&args.what, &kept).await;
        kept.store.close().await;
        done
    })
}

async fn go(what: &What, kept: &Kept) -> anyhow::Result<ExitCode> {
    let store = &kept.store;
    match what {
        What::List(args) => list(args, store).await?,
        What::Show(args) => {
            let task = find(store, &args.id).await?;
            data(&if args.json { serde_json::to_string_pretty(&task)? } else { told(&task) })?;
        }
        What::Logs(args) => logs(kept, &args.id, args.follow).await?,
        What::Attach(args) => attach(kept, &args.id).await?,
        What::Cancel(args) => return wish(store, args, Wanted::Cancel).await,
        What::Retry(args) => return wish(store, args, Wanted::Retry).await,
        What::Work(_) => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn work(args: &WorkArgs, sources: &SourceArgs, runtime: &tokio::runtime::Runtime) -> anyhow::Result<ExitCode> {
    let Some(stage) = TaskArgs::silent().stage(sources)? else { return Ok(ExitCode::FAILURE) };
    let kept = Kept::open(&stage.fleet.config())?;
    let observer = Arc::new(tell::Silent { log: stage.log });
    runtime.block_on(async {
        let stop = stop_signal()?;
        args.worker(stage.fleet, &kept, observer).work(stop).await;
        kept.store.close().await;
        Ok(ExitCode::SUCCESS)
    })
}

async fn list(args: &ListArgs, store: &Store) -> anyhow::Result<()> {
    let filter = TaskFilter { state: args.state.clone(), label: args.label.clone(), project: None };
    let mut items: Vec<TaskSummary> = Vec::new();
    let mut after = None;
    while items.len() < args.limit {
        let limit = Some(args.limit - items.len());
        let page = store.tasks(filter.clone(), Paging { after, limit }).await?;
        items.extend(page.items);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if args.json {
        return data(&serde_json::to_string_pretty(&items)?);
    }
    if items.is_empty() {
        talk("there are no tasks; `steadfast spawn --detach` leaves some to a worker");
        return Ok(());
    }
    for task in items {
        data(&row(&task))?;
    }
    Ok(())
}

fn row(task: &TaskSummary) -> String {
    let model = task.model.as_deref().unwrap_or("-");
    let now = jiff::Timestamp::now().as_millisecond();
    let due = u64::try_from(task.due - now).ok().filter(|_| task.state == "waiting");
    let due = due.map(|wait| format!("  due in {}", Words(Duration::from_millis(wait / 1000 * 1000))));
    let why = task.error.as_deref().map(|error| format!("  {}", error.lines().next().unwrap_or_default()));
    let stopping = if task.stopping { " (stopping)" } else { "" };
    let (id, state, label, attempts) = (&task.id, &task.state, &task.label, task.attempts);
    format!(
        "{id}  {state}{stopping}  {label}  {model}  {attempts} attempts{}{}",
        due.unwrap_or_default(),
        why.unwrap_or_default()
    )
}

fn told(task: &TaskDetail) -> String {
    let summary = &task.summary;
    let time = |millis: i64| jiff::Timestamp::from_millisecond(millis).map(|time| time.to_string()).unwrap_or_default();
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<10} {value}");
        }
    };
    line("task", summary.id.clone());
    line("label", summary.label.clone());
    line("state", format!("{}{}", summary.state, if summary.stopping { " (stopping)" } else { "" }));
    line("project", summary.project.clone());
    line("model", summary.model.clone().unwrap_or_default());
    line("attempts", summary.attempts.to_string());
    line("restarts", format!("{} ({} of them because its worker died)", summary.restarts, summary.crashes));
    line("created", time(summary.created));
    line("due", if summary.state == "waiting" { time(summary.due) } else { String::new() });
    line("ended", summary.ended.map(time).unwrap_or_default());
    line("worker", summary.worker.clone().unwrap_or_default());
    line("error", summary.error.clone().unwrap_or_default());
    let result = task.result.as_ref().and_then(|result| result["result"].as_str()).unwrap_or_default();
    line("result", result.trim_end().to_owned());
    text
}

async fn find(store: &Store, id: &str) -> anyhow::Result<TaskDetail> {
    store.task(id).await?.with_context(|| format!("there is no task `{id}`, or several begin so"))
}

enum Wanted {
    Cancel,
    Retry,
}

async fn wish(store: &Store, args: &ManyArgs, wanted: Wanted) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for id in &args.ids {
        let id = find(store, id).await?.summary.id;
        let (wish, done, told, nothing) = match wanted {
            Wanted::Cancel => (store.cancel_task(&id).await?, "stopped", "its worker is told", "it is over already"),
            Wanted::Retry => (store.retry_task(&id).await?, "waits for a worker", "", "it runs already"),
        };
        match wish {
            Wish::Done => talk(&format!("{id}: {done}")),
            Wish::Told => talk(&format!("{id}: {told}")),
            Wish::Nothing | Wish::Unknown => {
                talk(&format!("{id}: {nothing}"));
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Shows the pane a task runs in; where there is none, or nobody to see it, its log.
async fn attach(kept: &Kept, id: &str) -> anyhow::Result<()> {
    let id = find(&kept.store, id).await?.summary.id;
    let tmux = |arguments: &[&str]| {
        let mut command = Command::new("tmux");
        command.args(["-L", TMUX_SERVER]).args(arguments).arg(format!("={id}"));
        command
    };
    let has_pane = || tmux(&["has-session", "-t"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if std::io::stdout().is_terminal() && has_pane() {
        tmux(&["attach-session", "-t"]).status().context("cannot run tmux")?;
        return Ok(());
    }
    logs(kept, &id, true).await
}

/// Prints a log from its beginning, and what comes after it while the task is not over.
async fn logs(kept: &Kept, id: &str, follow: bool) -> anyhow::Result<()> {
    let id = find(&kept.store, id).await?.summary.id;
    let Some(folder) = &kept.logs else { bail!("neither XDG_STATE_HOME nor HOME says where logs are") };
    let path = log_path(folder, &id);
    let mut seen = None;
    loop {
        // Asked before the log is read: what was written before its end is printed.
        let over = find(&kept.store, &id).await?.summary.ended.is_some();
        seen = print_from(&path, seen)?;
        if over || !follow {
            break;
        }
        tokio::time::sleep(FOLLOW_EVERY).await;
    }
    if seen.is_none() && !follow {
        talk(&format!("{} is not there: the task has written nothing yet, or runs on another machine", path.display()));
    }
    Ok(())
}

/// Prints what has come since, and says how much of the log was seen: nothing at first.
fn print_from(path: &Path, seen: Option<u64>) -> anyhow::Result<Option<u64>> {
    let Ok(mut file) = std::fs::File::open(path) else { return Ok(seen) };
    let length = file.metadata()?.len();
    let before = old_log_path(path);
    let from = match seen {
        // A log that was begun anew is shorter than what was seen of it: the rest is in the one before.
        Some(seen) if length >= seen => seen,
        seen => {
            if let Ok(mut before) = std::fs::File::open(before) {
                print(&mut before, seen.unwrap_or(0))?;
            }
            0
        }
    };
    Ok(Some(from + print(&mut file, from)?))
}

fn print(file: &mut std::fs::File, from: u64) -> anyhow::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    let mut out = std::io::stdout().lock();
    match std::io::copy(file, &mut out).and_then(|bytes| out.flush().map(|()| bytes)) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
        written => Ok(written?),
    }
}
