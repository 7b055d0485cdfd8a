//! `cargo xtask bench tasks`: what the supervisor costs beside the processes it runs.
//!
//! The same short commands through `xargs -P` and through a worker on SQLite, in turn; and how long listing and leasing
//! take while a hundred thousand tasks wait.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::talk;

/// How many run at a time.
const PARALLEL: &str = "64";

/// How many tasks a second at least, besides the processes' own cost.
const PER_SECOND_MIN: f64 = 500.0;

/// How many wait while listing is measured.
const QUEUED: usize = 100_000;

/// What can be set: how many tasks, and which program.
pub(super) fn run(arguments: &[String], build: fn() -> anyhow::Result<PathBuf>) -> anyhow::Result<()> {
    let value = |name: &str| arguments.iter().position(|known| known == name).and_then(|at| arguments.get(at + 1));
    let count: usize = value("--tasks").map_or(Ok(10_000), |text| text.parse()).context("--tasks takes a number")?;
    let binary = value("--binary").map_or_else(build, |path| Ok(PathBuf::from(path)))?;
    let binary = binary.canonicalize().with_context(|| format!("there is no {}", binary.display()))?;
    let folder = std::env::temp_dir().join(format!("steadfast-bench-tasks-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let measured = measure(&binary, &folder, count).and_then(|()| super::idle::measure(&binary, &folder));
    std::fs::remove_dir_all(&folder)?;
    measured
}

fn measure(binary: &Path, folder: &Path, count: usize) -> anyhow::Result<()> {
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    std::fs::write(folder.join("numbers"), numbers.join("\n"))?;
    let bare = timed(
        Command::new("xargs")
            .args(["-P", PARALLEL, "-n", "1", "true"])
            .stdin(std::fs::File::open(folder.join("numbers"))?),
    )?;
    queue(binary, folder, count, &["true"])?;
    let worked = timed(&mut steadfast(binary, folder, &["tasks", "work", "--drain", "--parallel", PARALLEL]))?;
    let done = listed(binary, folder, "succeeded")?;
    ensure!(done == 200.min(count), "of {count} tasks only {done} are listed as done");
    let per_second = |took: Duration| count as f64 / took.as_secs_f64();
    let beside = worked.saturating_sub(bare);
    talk(&format!("{count} times `true`, {PARALLEL} at a time"));
    talk(&format!("  xargs -P          {:>8.2} s  {:>8.0}/s", bare.as_secs_f64(), per_second(bare)));
    talk(&format!("  worker on SQLite  {:>8.2} s  {:>8.0}/s", worked.as_secs_f64(), per_second(worked)));
    talk(&format!(
        "  beside the processes: {:.3} ms a task, {:.0}/s",
        1e3 * beside.as_secs_f64() / count as f64,
        per_second(beside)
    ));
    talk(&format!("  ratio             {:>8.2}", worked.as_secs_f64() / bare.as_secs_f64()));
    ensure!(
        per_second(beside) >= PER_SECOND_MIN,
        "beside the processes {:.0} tasks a second, goal {PER_SECOND_MIN}",
        per_second(beside)
    );
    let queued = Instant::now();
    queue(binary, folder, QUEUED, &["true"])?;
    talk(&format!("{QUEUED} tasks queued in {:.2} s", queued.elapsed().as_secs_f64()));
    let empty = timed(&mut steadfast(binary, folder, &["--version"]))?;
    let list = timed(&mut steadfast(binary, folder, &["tasks", "list", "--state", "waiting", "-n", "50"]))?;
    talk(&format!("  list of 50: {:.1} ms, of which {:.1} ms are the program's start", millis(list), millis(empty)));
    Ok(())
}

pub(super) fn queue(binary: &Path, folder: &Path, count: usize, command: &[&str]) -> anyhow::Result<()> {
    let lines: Vec<String> = (0..count).map(|number| format!("{{\"label\":\"t{number}\"}}")).collect();
    std::fs::write(folder.join("tasks.jsonl"), lines.join("\n"))?;
    let mut line = vec!["spawn", "--detach", "--quiet", "--no-gateway", "--file", "tasks.jsonl", "--"];
    line.extend(command);
    timed(&mut steadfast(binary, folder, &line)).map(drop)
}

fn listed(binary: &Path, folder: &Path, state: &str) -> anyhow::Result<usize> {
    let mut command = steadfast(binary, folder, &["tasks", "list", "--state", state, "-n", "200"]);
    let output = command.stdout(Stdio::piped()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().count())
}

pub(super) fn steadfast(binary: &Path, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(arguments).current_dir(folder).env("HOME", folder).env_remove("XDG_STATE_HOME");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn timed(command: &mut Command) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(began.elapsed())
}

fn millis(duration: Duration) -> f64 {
    1e3 * duration.as_secs_f64()
}
