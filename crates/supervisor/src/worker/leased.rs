//! One leased task: run, written down, said.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use steadfast_config::DecisionLog;
use steadfast_engine::LogFiles;
use steadfast_store::{Leased, News, Said};
use tokio::sync::{mpsc, watch};

use super::{Desk, Why};
use crate::batch::not_run;
use crate::process::output::Stream;
use crate::process::{Copy, Stop, end_marked_with_prefix};
use crate::run::{Ending, Keeper, Lost, Run};
use crate::task::{Memory, Task, TaskOutcome, TaskResult};

/// How often a task may lose its worker: it may be what kills them.
const CRASHES_MAX: i64 = 3;

/// Output on its way to a log.
const PIECES_MAX: usize = 64;

/// A log is begun anew at this size, and one old one is kept: the end of what a task wrote is what is asked for.
const LOG_BYTES_MAX: u64 = 4 << 20;

/// Keeps a task's state in the store.
struct Stored<'a> {
    desk: &'a Desk,
    id: &'a str,
    token: i64,
    /// The lease has counted the attempt that comes.
    counted: bool,
}

pub(super) async fn run(desk: Arc<Desk>, leased: Leased, stop: watch::Receiver<Stop>) {
    let Leased { id, token, .. } = &leased;
    let (news, memory) = go(&desk, &leased, stop).await;
    let Some(news) = news else {
        desk.remove(id, *token);
        return;
    };
    let counted = desk.say(said(id, *token, news, &memory)).await;
    if !counted {
        tracing::warn!(task = %id, "the task was taken over by another worker; what it came to here does not count");
    }
}

/// Runs the task; no news where it is somebody else's.
async fn go(desk: &Desk, leased: &Leased, stop: watch::Receiver<Stop>) -> (Option<News>, Memory) {
    let mut memory = remembered(leased);
    let task: Task = match serde_json::from_value(leased.spec.clone()) {
        Ok(task) => task,
        Err(error) => {
            let task = Task { id: leased.id.clone(), label: leased.id.clone(), ..Task::default() };
            return (Some(gave_up(&task, &format!("the task cannot be read: {error}"), &memory)), memory);
        }
    };
    if let Some(before) = &leased.worker_before {
        // Its guard has done so already, unless that was killed too.
        end_marked_with_prefix(&format!("{before}.{}.", leased.id)).await;
        memory.after_a_death();
    }
    if leased.crashes > CRASHES_MAX {
        let error = format!("its worker died {} times while it ran: it may be what kills them", leased.crashes);
        return (Some(gave_up(&task, &error, &memory)), memory);
    }
    let log = desk.worker.settings.logs.as_deref().map(|folder| Log::start(log_path(folder, &leased.id)));
    let run = Run {
        fleet: &desk.worker.fleet,
        task: &task,
        memory: memory.clone(),
        observer: desk.worker.observer.as_ref(),
        keeper: Stored { desk, id: &leased.id, token: leased.token, counted: true },
        copy: log.as_ref().map(|log| log.copy.clone()),
        stop,
    };
    let ending = run.go().await;
    if let Some(log) = log {
        log.finish().await;
    }
    match ending {
        Err(error) => (Some(gave_up(&task, &error.to_string(), &memory)), memory),
        Ok(Ending::Lost) => (None, memory),
        Ok(Ending::Later(wait, memory)) => {
            let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            (Some(News::Later { wait_ms }), *memory)
        }
        // Whoever goes on with it begins at once.
        Ok(Ending::Over(result, memory))
            if result.outcome == TaskOutcome::Cancelled && desk.why(&leased.id) != Why::Person =>
        {
            (Some(News::Later { wait_ms: 0 }), *memory)
        }
        Ok(Ending::Over(result, memory)) => (Some(over(&result)), *memory),
    }
}

/// What is known of the task. The store counts what must not be lost with a worker, and what a person sets back.
fn remembered(leased: &Leased) -> Memory {
    let number = |counted: i64| u32::try_from(counted.max(0)).unwrap_or(u32::MAX);
    let memory: Memory = serde_json::from_value(leased.memory.clone()).unwrap_or_default();
    Memory {
        // The attempt of this lease is counted when it starts.
        attempts: memory.attempts.max(number(leased.attempts - 1)),
        restarts: number(leased.restarts.max(leased.crashes)),
        ..memory
    }
}

fn over(result: &TaskResult) -> News {
    let outcome = result.outcome.as_str();
    News::Over { outcome, result: serde_json::to_value(result).unwrap_or_default() }
}

fn gave_up(task: &Task, error: &str, memory: &Memory) -> News {
    let result = TaskResult {
        attempts: memory.attempts,
        restarts: memory.restarts,
        fallback_chain: memory.models.clone(),
        ..not_run(task, error)
    };
    over(&result)
}

fn said(id: &str, token: i64, news: News, memory: &Memory) -> Said {
    let error = match &news {
        News::Over { result, .. } => result.get("error").and_then(|error| error.as_str()).map(str::to_owned),
        News::Attempt | News::Later { .. } => None,
    };
    let failure = memory.failure.as_ref();
    let kind = failure.map(|failure| failure.kind.as_str().to_owned());
    let done = matches!(&news, News::Over { outcome: "succeeded", .. });
    let words = error.or_else(|| failure.map(|failure| failure.message.clone()));
    Said {
        id: id.to_owned(),
        token,
        memory: serde_json::to_value(memory).unwrap_or_default(),
        attempts: memory.attempts,
        restarts: memory.restarts,
        model: memory.models.last().cloned(),
        failure: words.filter(|_| !done).map(|words| (kind.unwrap_or_else(|| "unknown".to_owned()), words)),
        news,
    }
}

impl Keeper for Stored<'_> {
    async fn before_attempt(&mut self, memory: &Memory) -> Result<(), Lost> {
        let is_new = memory.conversation.as_ref().is_some_and(|conversation| !conversation.begun);
        if std::mem::take(&mut self.counted) && !is_new {
            return Ok(());
        }
        let said = said(self.id, self.token, News::Attempt, memory);
        if self.desk.say(said).await { Ok(()) } else { Err(Lost) }
    }

    async fn told(&mut self, memory: &Memory) {
        // Where the lease is another's by now, the worker hears of it soon enough.
        let _ = self.desk.say(said(self.id, self.token, News::Attempt, memory)).await;
    }

    fn puts_aside(&self) -> bool {
        true
    }
}

/// What a task writes, on disk.
struct Log {
    copy: Copy,
    writing: tokio::task::JoinHandle<()>,
}

impl Log {
    fn start(path: PathBuf) -> Self {
        let (copy, pieces) = mpsc::channel(PIECES_MAX);
        Self { copy, writing: tokio::task::spawn_blocking(move || write(&path, pieces)) }
    }

    async fn finish(self) {
        drop(self.copy);
        let _ = self.writing.await;
    }
}

/// Writes until nobody sends any more. A log that cannot be written does not hold its task up.
fn write(path: &Path, mut pieces: mpsc::Receiver<(Stream, Bytes)>) {
    let settings = DecisionLog { path: path.display().to_string(), rotate_bytes: LOG_BYTES_MAX, keep: 1 };
    let mut files: Option<LogFiles> = None;
    let mut failed = false;
    while let Some((_, piece)) = pieces.blocking_recv() {
        if failed {
            continue;
        }
        let opened = match files.take() {
            Some(open) => Ok(open),
            None => LogFiles::open(&settings),
        };
        match opened.and_then(|mut open| open.append(&piece).map(|()| open)) {
            Ok(open) => files = Some(open),
            Err(error) => {
                failed = true;
                tracing::warn!(path = %path.display(), %error, "cannot write down what a task writes");
            }
        }
    }
}

/// Where what a task writes is kept.
pub fn log_path(folder: &Path, id: &str) -> PathBuf {
    // An id may come from anywhere; a path may not.
    let safe: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' }).collect();
    folder.join(format!("{safe}.log"))
}

/// Where what it wrote before that is kept.
pub fn old_log_path(path: &Path) -> PathBuf {
    steadfast_engine::old(path, 1)
}

/// The last so many bytes a task has written, and whether that is all that is kept.
pub(crate) fn log_end(folder: &Path, id: &str, bytes: usize) -> std::io::Result<(Vec<u8>, bool)> {
    let path = log_path(folder, id);
    let (mut text, mut whole) = end_of(&path, bytes)?;
    if whole {
        let (before, is_all) = end_of(&old_log_path(&path), bytes - text.len())?;
        text.splice(..0, before);
        whole = is_all;
    }
    Ok((text, whole))
}

/// The last so many bytes of a file, and whether that is all of it; nothing of one that is not there.
fn end_of(path: &Path, bytes: usize) -> std::io::Result<(Vec<u8>, bool)> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), true)),
        opened => opened?,
    };
    let skipped = file.metadata()?.len().saturating_sub(bytes as u64);
    file.seek(SeekFrom::Start(skipped))?;
    let mut text = Vec::new();
    file.take(bytes as u64).read_to_end(&mut text)?;
    Ok((text, skipped == 0))
}

/// Removes logs that nobody has written to for so long.
pub(super) fn forget_logs(folder: &Path, keep: Duration) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let old = |entry: &std::fs::DirEntry| {
        let written = entry.metadata().and_then(|meta| meta.modified()).unwrap_or_else(|_| SystemTime::now());
        SystemTime::now().duration_since(written).is_ok_and(|age| age > keep)
    };
    for entry in entries.flatten().filter(old) {
        if let Err(error) = std::fs::remove_file(entry.path()) {
            tracing::debug!(%error, "an old log stays");
        }
    }
}
