//! Many tasks at once, as many as are allowed at a time.

use std::sync::Arc;

use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

use crate::fleet::{Fleet, PlanError};
use crate::process::Stop;
use crate::run::{Ending, InMemory, Observer, Run};
use crate::task::{BatchResult, Memory, Task, TaskOutcome, TaskResult};

/// How tasks are run together.
#[derive(Clone)]
pub struct Batch {
    /// What they share.
    pub fleet: Arc<Fleet>,
    /// Who is told.
    pub observer: Arc<dyn Observer>,
    /// How many run at a time.
    pub parallel: usize,
    /// Only those that fail change their model. Otherwise those that have not begun yet begin where another had to
    /// fall back to.
    pub partial: bool,
    /// Whether they are still wanted.
    pub stop: watch::Receiver<Stop>,
}

/// Runs them all, and says what came of each, in their order.
pub async fn run_all(batch: Batch, tasks: Vec<Task>) -> Result<BatchResult, PlanError> {
    for task in &tasks {
        batch.fleet.check(task)?;
    }
    let count = tasks.len();
    let waiting = Arc::new(Mutex::new(tasks.into_iter().enumerate()));
    let substitute: Arc<Mutex<Option<String>>> = Arc::default();
    let mut workers = JoinSet::new();
    for _ in 0..batch.parallel.clamp(1, count.max(1)) {
        workers.spawn(work(batch.clone(), Arc::clone(&waiting), Arc::clone(&substitute)));
    }
    let mut results: Vec<Option<TaskResult>> = vec![None; count];
    while let Some(done) = workers.join_next().await {
        // A worker cannot panic but for a bug of ours; what it had not done is missing below.
        for (index, result) in done.unwrap_or_default() {
            results[index] = Some(result);
        }
    }
    Ok(BatchResult::of(results.into_iter().flatten().collect()))
}

/// One of the workers: task after task.
async fn work(
    batch: Batch,
    waiting: Arc<Mutex<impl Iterator<Item = (usize, Task)>>>,
    substitute: Arc<Mutex<Option<String>>>,
) -> Vec<(usize, TaskResult)> {
    let mut results = Vec::new();
    loop {
        let next = waiting.lock().await.next();
        let Some((index, mut task)) = next else { return results };
        if !batch.partial
            && let Some(model) = substitute.lock().await.clone()
        {
            task.model = Some(model);
        }
        let result = run_one(&batch, &task).await;
        if result.success && result.model_used != result.original_model {
            *substitute.lock().await = Some(result.model_used.clone());
        }
        results.push((index, result));
    }
}

async fn run_one(batch: &Batch, task: &Task) -> TaskResult {
    let run = Run {
        fleet: &batch.fleet,
        task,
        memory: Memory::default(),
        observer: batch.observer.as_ref(),
        keeper: InMemory,
        copy: None,
        stop: batch.stop.clone(),
    };
    match run.go().await {
        Ok(Ending::Over(result, _)) => *result,
        Ok(Ending::Later(..) | Ending::Lost) => not_run(task, "it was put aside"),
        Err(error) => not_run(task, &error.to_string()),
    }
}

pub(crate) fn not_run(task: &Task, error: &str) -> TaskResult {
    let model = task.model.clone().unwrap_or_default();
    TaskResult {
        success: false,
        session_id: None,
        model_used: model.clone(),
        attempts: 0,
        fallback_chain: Vec::new(),
        error: Some(error.to_owned()),
        task_id: task.id.clone(),
        label: task.label.clone(),
        original_model: model,
        outcome: TaskOutcome::GaveUp,
        error_type: None,
        result: String::new(),
        restarts: 0,
        usage: steadfast_core::cost::Usage::default(),
        cost_usd: None,
        took_ms: 0,
    }
}
