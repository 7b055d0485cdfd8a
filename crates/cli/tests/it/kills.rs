//! Workers that are killed with SIGKILL at random moments, under load: no task is lost, none runs twice at once, all end.
//!
//! Six kills in every test run; `STEADFAST_KILLS=100` makes it a hundred.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use steadfast_stage::Postgres;

use super::Folder;

/// Long enough for a loaded machine, short enough to notice a hang.
const LIMIT: Duration = Duration::from_secs(300);

fn kills() -> u32 {
    std::env::var("STEADFAST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

/// A folder whose tasks say when two of the same run at once, and when they are done.
fn prepared(store: &str) -> Folder {
    let folder = Folder::new();
    folder.write("steadfast.toml", &format!("[store]\nurl = \"{store}\"\n"));
    let script = "#!/bin/sh\n\
        exec 9>>\"lock.$STEADFAST_TASK_ID\"\n\
        flock -n 9 || echo \"$STEADFAST_TASK_ID\" >> double\n\
        sleep 0.1\n\
        echo \"$STEADFAST_TASK_ID\" >> done\n";
    folder.write("work", script);
    folder
}

fn steadfast(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
    command.args(arguments).current_dir(&folder.0).env_clear();
    command.env("HOME", &folder.0).env("PATH", std::env::var("PATH").unwrap());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Leaves tasks to whoever works.
fn leave(folder: &Folder, count: usize) {
    let tasks: Vec<String> = (0..count).map(|number| format!("{{\"label\":\"t{number}\"}}")).collect();
    folder.write("tasks.jsonl", &tasks.join("\n"));
    let line = ["spawn", "--detach", "--quiet", "--no-gateway", "--file", "tasks.jsonl", "--", "sh", "work"];
    assert!(steadfast(folder, &line).status().unwrap().success());
}

fn worker(folder: &Folder) -> Child {
    steadfast(folder, &["tasks", "work", "--drain", "--parallel", "8", "--lease", "1s"]).spawn().unwrap()
}

fn wait(child: &mut Child) {
    let limit = Instant::now() + LIMIT;
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < limit, "the worker does not come to an end");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn states(folder: &Folder) -> Vec<(String, i64)> {
    let output = Command::new(env!("CARGO_BIN_EXE_steadfast"))
        .args(["tasks", "list", "--json", "-n", "100000"])
        .current_dir(&folder.0)
        .env_clear()
        .env("HOME", &folder.0)
        .output()
        .unwrap();
    let tasks: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let of = |task: &serde_json::Value| (task["state"].as_str().unwrap().to_owned(), task["crashes"].as_i64().unwrap());
    tasks.iter().map(of).collect()
}

/// All ended, each once, none twice at once; what was given up had lost its worker too often.
fn check(folder: &Folder, count: usize) {
    let states = states(folder);
    assert_eq!(states.len(), count, "none is lost");
    for (state, crashes) in &states {
        let fine = state == "succeeded" || state == "gave_up" && *crashes > 3;
        assert!(fine, "{state} after {crashes} crashes");
    }
    assert!(!Path::new(&folder.0).join("double").exists(), "some ran twice at once: {}", folder.read("double"));
    let done = folder.read("done");
    let mut ids: Vec<&str> = done.lines().collect();
    ids.sort_unstable();
    ids.dedup();
    let succeeded = states.iter().filter(|(state, _)| state == "succeeded").count();
    assert!(ids.len() >= succeeded, "{} said done, {succeeded} are", ids.len());
}

#[test]
fn a_worker_that_is_killed_again_and_again_loses_nothing() {
    let folder = prepared("sqlite:tasks.db");
    let count = 20 * kills() as usize;
    leave(&folder, count);
    let mut rng = fastrand::Rng::with_seed(u64::from(std::process::id()));
    for _ in 0..kills() {
        let mut child = worker(&folder);
        std::thread::sleep(Duration::from_millis(rng.u64(50..900)));
        let _ = child.kill();
        child.wait().unwrap();
    }
    wait(&mut worker(&folder));
    check(&folder, count);
}

#[test]
fn two_workers_on_postgresql_that_is_killed_too_lose_nothing() {
    let mut server = Postgres::start();
    let folder = prepared(&server.database());
    let count = 20 * kills() as usize;
    leave(&folder, count);
    let mut rng = fastrand::Rng::with_seed(u64::from(std::process::id()));
    let mut workers = [worker(&folder), worker(&folder)];
    for round in 0..kills() {
        std::thread::sleep(Duration::from_millis(rng.u64(50..900)));
        if round == kills() / 2 {
            server.kill();
            std::thread::sleep(Duration::from_millis(rng.u64(50..900)));
            server.resume();
        }
        let victim = &mut workers[rng.usize(..2)];
        let _ = victim.kill();
        victim.wait().unwrap();
        *victim = worker(&folder);
    }
    workers.iter_mut().for_each(wait);
    check(&folder, count);
}
