//! Who is told what happens to tasks: the decision log, the log of fallbacks, programs, people.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::json;
use steadfast_config::DecisionLog;
use steadfast_core::record::{Event, Record};
use steadfast_core::time::Words;
use steadfast_engine::LogFiles;
use steadfast_supervisor::{Observer, Task};

use crate::commands::{data, talk};
use crate::decisions;

/// The log of fallbacks is begun anew at this size, and so many old ones are kept.
const FALLBACKS_NAME: &str = "fallback_decisions.jsonl";

/// What is kept of everything.
pub(crate) struct Log {
    decisions: Option<Mutex<LogFiles>>,
    fallbacks: Option<Mutex<LogFiles>>,
}

/// Tells nobody; what is kept is kept.
pub(crate) struct Silent {
    pub(crate) log: Log,
}

/// Tells a gateway's engine, and through it everybody who listens there.
pub(crate) struct Engine {
    pub(crate) engine: std::sync::Arc<steadfast_engine::Engine>,
    pub(crate) log: Log,
}

/// Tells programs: one line of JSON for everything.
pub(crate) struct Programs {
    pub(crate) log: Log,
}

/// Tells people, a line at a time.
pub(crate) struct People {
    pub(crate) log: Log,
    pub(crate) quiet: bool,
}

/// Shows people how far many tasks are.
pub(crate) struct Bars {
    pub(crate) log: Log,
    all: MultiProgress,
    total: ProgressBar,
    running: Mutex<std::collections::HashMap<String, ProgressBar>>,
}

impl Log {
    /// Opens what can be opened; a log that cannot be written must not keep anybody from working.
    pub(crate) fn open(decisions: Option<&DecisionLog>, state: Option<&Path>) -> Self {
        let open = |settings: &DecisionLog| {
            let opened = LogFiles::open(settings);
            opened.map(Mutex::new).inspect_err(|error| talk(&format!("cannot write {}: {error}", settings.path))).ok()
        };
        Self {
            decisions: decisions.and_then(open),
            fallbacks: state.and_then(|folder| open(&decisions::at(&folder.join(FALLBACKS_NAME)))),
        }
    }

    fn keep(&self, task: &Task, record: &Record) {
        if let Some(log) = &self.decisions {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.write_all(std::slice::from_ref(record));
            log.flush();
        }
        if let Some((log, entry)) = self.fallbacks.as_ref().zip(fallback(task, record)) {
            let line = format!("{entry}\n");
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = log.append(line.as_bytes()) {
                talk(&format!("cannot write {FALLBACKS_NAME}: {error}"));
            }
        }
    }
}

/// A fallback in the words of the session manager.
fn fallback(task: &Task, record: &Record) -> Option<serde_json::Value> {
    if record.event != Event::Decision || record.step.as_deref() != Some("fallback") {
        return None;
    }
    let (from, to) = (record.from.as_ref()?, record.to.as_ref()?);
    let time = jiff::Timestamp::from_millisecond(record.time.as_millis()).ok()?;
    Some(json!({
        "timestamp": time.to_string(),
        "label": task.label,
        "task_id": task.id,
        "original_model": from.model,
        "fallback_model": to.model,
        "error_type": record.kind.map(steadfast_core::FailureKind::as_str),
        "attempt": record.attempt,
        "max_attempts": record.attempts_max,
        "reason": record.message.as_deref().or(record.reason.as_deref()),
    }))
}

impl Observer for Silent {
    fn saw(&self, task: &Task, record: &Record) {
        self.log.keep(task, record);
    }
}

impl Observer for Engine {
    fn saw(&self, task: &Task, record: &Record) {
        self.log.keep(task, record);
        self.engine.record(record.clone());
    }
}

impl Observer for Programs {
    fn saw(&self, task: &Task, record: &Record) {
        self.log.keep(task, record);
        if let Ok(line) = serde_json::to_string(record) {
            // Nobody left to read is no reason to stop working.
            let _ = data(&line);
        }
    }
}

impl Observer for People {
    fn saw(&self, task: &Task, record: &Record) {
        self.log.keep(task, record);
        if self.quiet {
            return;
        }
        if let Some(words) = words(record) {
            talk(&format!("steadfast: {words}"));
        }
    }
}

impl Bars {
    pub(crate) fn new(log: Log, count: usize) -> Self {
        let all = MultiProgress::new();
        let total = all.add(ProgressBar::new(count as u64));
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}");
        total.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        total.tick();
        Self { log, all, total, running: Mutex::default() }
    }

    pub(crate) fn finish(&self) {
        self.total.finish_and_clear();
    }
}

impl Observer for Bars {
    fn saw(&self, task: &Task, record: &Record) {
        self.log.keep(task, record);
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if record.event == Event::Outcome {
            if let Some(bar) = running.remove(&task.id) {
                bar.finish_and_clear();
            }
            self.total.inc(1);
            if record.outcome.as_deref() != Some("succeeded") {
                let reason = record.reason.as_deref().unwrap_or_default();
                let _ = self.all.println(format!("{}: not done: {reason}", task.label));
            }
            return;
        }
        let bar = running.entry(task.id.clone()).or_insert_with(|| {
            let bar = self.all.add(ProgressBar::new_spinner());
            bar.set_prefix(task.label.clone());
            let style = ProgressStyle::with_template("{spinner} {prefix}: {wide_msg} {elapsed}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        let place = record.target.as_ref().map(|place| place.model.to_string());
        if let Some(words) = words(record).or(place) {
            bar.set_message(words);
        }
    }
}

/// What a record means to a person; nothing where it means nothing new.
fn words(record: &Record) -> Option<String> {
    let model = |place: &Option<steadfast_core::record::Place>| place.as_ref().map(|place| place.model.to_string());
    match record.event {
        Event::Attempt if record.choice.as_deref() == Some("first") => None,
        Event::Attempt => {
            let attempt = record.attempt.unwrap_or(0);
            Some(format!("attempt {attempt} of {}: {}", record.attempts_max.unwrap_or(0), model(&record.target)?))
        }
        Event::Decision => {
            let kind = record.kind.map_or("failed", |kind| kind.as_str());
            let said = record.message.as_deref().map(|said| format!(" ({said})")).unwrap_or_default();
            let step = record.step.as_deref().unwrap_or_default();
            let wait = record.wait_ms.map(|wait| format!(" in {}", Words(Duration::from_millis(wait))));
            let to = model(&record.to).filter(|_| step == "fallback").map(|to| format!(" to {to}"));
            let reason = record.reason.as_deref().unwrap_or_default();
            let what = step.replace('_', " ");
            Some(format!("{kind}{said}: {what}{}{}: {reason}", to.unwrap_or_default(), wait.unwrap_or_default()))
        }
        _ => None,
    }
}

/// The log, once nobody is told any more.
pub(crate) trait IntoText {
    /// One line of a table.
    fn row(&self) -> String;
}

impl IntoText for steadfast_supervisor::TaskResult {
    fn row(&self) -> String {
        let took = Words(Duration::from_millis(self.took_ms / 100 * 100));
        let tries = if self.attempts == 1 { "1 attempt".to_owned() } else { format!("{} attempts", self.attempts) };
        let why = self.error.as_deref().map(|error| format!("  {}", error.lines().next().unwrap_or_default()));
        let (label, outcome, model) = (&self.label, self.outcome.as_str(), &self.model_used);
        format!("{label}  {outcome}  {model}  {tries}  {took}{}", why.unwrap_or_default())
    }
}
