//! What a worker costs while it has nothing to do: a thousand tasks wait for a restart that is an hour away.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::tasks::{queue, steadfast};
use crate::talk;

/// How many wait.
const WAITING: usize = 1000;

/// How long the worker is looked at.
const LOOK: Duration = Duration::from_secs(30);

/// The share of a core it may take.
const SHARE_MAX: f64 = 0.01;

/// The rest before it is looked at.
const SETTLE: Duration = Duration::from_secs(10);

/// How long they may take to get there.
const SETTLE_MAX: Duration = Duration::from_secs(120);

const CONFIG: &str = r#"
[policies.later]
extends = "default"
[policies.later.on]
process_died = [{ restart = 3, base = "1h", cap = "4h" }]
[projects.default]
policy = "later"
"#;

/// A worker that ends with this.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn measure(binary: &Path, folder: &Path) -> anyhow::Result<()> {
    let folder = folder.join("idle");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("steadfast.toml"), CONFIG)?;
    queue(binary, &folder, WAITING, &["sh", "-c", "kill -KILL $$"])?;
    let mut command = steadfast(binary, &folder, &["tasks", "work", "--parallel", "64"]);
    let worker = Worker(command.stderr(Stdio::null()).spawn().context("cannot start the worker")?);
    let began = Instant::now();
    while restarting(binary, &folder)? < WAITING {
        ensure!(began.elapsed() < SETTLE_MAX, "the tasks never came to wait for their restart");
        std::thread::sleep(Duration::from_millis(500));
    }
    // Those that ran last are still being said.
    std::thread::sleep(SETTLE);
    let (before, began) = (cpu_seconds(worker.0.id())?, Instant::now());
    std::thread::sleep(LOOK);
    let share = (cpu_seconds(worker.0.id())? - before) / began.elapsed().as_secs_f64();
    talk(&format!("{WAITING} tasks wait: the worker takes {:.2} % of a core (goal: under 1 %)", 100.0 * share));
    ensure!(share < SHARE_MAX, "an idle worker takes {:.2} % of a core, and may take 1 %", 100.0 * share);
    Ok(())
}

/// How many have been run once and wait for the next time.
fn restarting(binary: &Path, folder: &Path) -> anyhow::Result<usize> {
    let line = ["tasks", "list", "--state", "waiting", "-n", "1000", "--json"];
    let output = steadfast(binary, folder, &line).stdout(Stdio::piped()).output()?;
    let tasks: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).context("`tasks list --json`")?;
    Ok(tasks.iter().filter(|task| task["restarts"].as_i64() == Some(1)).count())
}

/// What a process has used of the processors so far.
fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("the worker has ended")?;
    // The name in brackets may hold anything; user and system time are the twelfth and thirteenth after it.
    let rest = stat.rsplit_once(") ").map(|(_, rest)| rest).unwrap_or_default();
    let ticks: f64 = rest.split(' ').skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum();
    let output = Command::new("getconf").arg("CLK_TCK").output()?;
    let per_second: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().context("getconf CLK_TCK")?;
    Ok(ticks / per_second)
}
