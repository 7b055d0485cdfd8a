//! Real processes: shell scripts that play agents, their children, their deaths.

#![allow(clippy::unwrap_used, reason = "a test says by panicking")]

mod agents;
mod health;
mod openapi;
mod processes;
mod services;
mod tasks;
mod tmux;
mod workers;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use steadfast_config::{Config, ConfigFile, Sources};
use steadfast_core::record::{Event, Record};
use steadfast_supervisor::process::Stop;
use steadfast_supervisor::{Ending, Fleet, InMemory, Memory, Observer, Run, Task, TaskResult};
use tokio::sync::watch;

/// A folder of its own for one test, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("steadfast-supervisor-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A program that plays an agent.
    fn script(&self, name: &str, text: &str) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.0.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }

    fn fleet(&self, config: &str) -> Arc<Fleet> {
        Arc::new(Fleet::new(Arc::new(load(config)), None, self.0.join("run")).unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn load(text: &str) -> Config {
    let file = ConfigFile::from_bytes("steadfast.toml", text.as_bytes().to_vec())
        .unwrap_or_else(|problems| panic!("{problems}"));
    let read_secret = |_: &Path| Err(std::io::Error::other("no secrets here"));
    let sources =
        Sources { file: Some(file), environment: Vec::new(), settings: Vec::new(), read_secret: &read_secret };
    steadfast_config::load(sources).unwrap_or_else(|problems| panic!("{problems}")).config
}

/// Hears everything.
#[derive(Default)]
struct Story(Mutex<Vec<Record>>);

impl Observer for Story {
    fn saw(&self, _task: &Task, record: &Record) {
        self.0.lock().unwrap().push(record.clone());
    }
}

impl Story {
    /// The decisions in short: `rate_limit retry`.
    fn decisions(&self) -> Vec<String> {
        let records = self.0.lock().unwrap();
        let decisions = records.iter().filter(|record| record.event == Event::Decision);
        let told = decisions.map(|record| {
            let kind = record.kind.map_or("-", |kind| kind.as_str());
            format!("{kind} {}", record.step.as_deref().unwrap_or("-"))
        });
        told.collect()
    }
}

/// Runs a task to its end.
async fn run(fleet: &Fleet, task: Task, story: &Story) -> TaskResult {
    let (_stop, stop) = watch::channel(Stop::No);
    run_until(fleet, task, story, stop).await
}

async fn run_until(fleet: &Fleet, task: Task, story: &Story, stop: watch::Receiver<Stop>) -> TaskResult {
    let task = task.named();
    let memory = Memory::default();
    let run = Run { fleet, task: &task, memory, observer: story, keeper: InMemory, copy: None, stop };
    match run.go().await.unwrap() {
        Ending::Over(result, _) => *result,
        other => panic!("{other:?}"),
    }
}

/// Waits for a state, not for a moment.
async fn eventually(what: &str, mut state: impl FnMut() -> bool) {
    for _ in 0..400 {
        if state() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("never: {what}");
}
