//! A task: what is to be done, with which agent and models, and what came of it.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast_core::FailureKind;
use steadfast_core::cost::Usage;

/// A unit of agent work. Plain data: it is stored as it is, and run again from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Task {
    /// Its id, the same for all its attempts and models.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What the agent is told.
    pub task: String,
    /// The agent, by its name in the configuration; empty where there is a command.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// A command in place of the agent's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Arguments in addition to the agent's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The model it begins with; the agent's own choice otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it may fall back to, in order: `model`, or `agent:model`. The configuration's chain otherwise.
    #[serde(alias = "fallback_order", skip_serializing_if = "Option::is_none")]
    pub chain: Option<Vec<String>>,
    /// The policy; the project's otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Who pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The session that its model calls belong to; one of its own otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// How many retries of a rate limit, where the task says so itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// How many seconds lie between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_delay: Option<f64>,
    /// How many seconds one attempt may take; as with the agent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// How many seconds an attempt may write nothing; as with the agent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<f64>,
    /// How many seconds a run of it may take with all its attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// It runs in a tmux pane, where anybody may attach.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tmux: bool,
    /// How many dollars it may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
}

/// What is known of a task between its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Attempts over all runs.
    pub attempts: u32,
    /// Restarts it has had.
    pub restarts: u32,
    /// Models that were tried, in order, each once.
    pub models: Vec<String>,
    /// The agent's conversation, and whose it is.
    pub conversation: Option<Conversation>,
    /// How its last attempt failed.
    pub failure: Option<LastFailure>,
    /// What it has cost.
    pub usd_micros: u64,
    /// Tokens it has used.
    pub usage: Usage,
}

/// A conversation that can be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The agent that keeps it.
    pub agent: String,
    /// Its id there.
    pub id: String,
    /// The agent is known to have begun it. One that was only chosen is not resumed, unless nobody could see how far
    /// it came.
    #[serde(default = "yes")]
    pub begun: bool,
}

const fn yes() -> bool {
    true
}

impl Memory {
    /// The supervisor died while the task ran: how far it came nobody has seen, so the next attempt is told.
    pub(crate) fn after_a_death(&mut self) {
        if let Some(conversation) = &mut self.conversation {
            conversation.begun = true;
        }
        self.failure.get_or_insert_with(|| LastFailure {
            kind: FailureKind::ProcessDied,
            message: "its worker died while it ran".to_owned(),
            output: String::new(),
        });
    }
}

/// How an attempt failed, as the next one is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    /// Its kind.
    pub kind: FailureKind,
    /// What was said, shortened.
    pub message: String,
    /// The last of what it wrote, shortened.
    pub output: String,
}

/// How a task ended: exactly one for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    /// It was done.
    Succeeded,
    /// It was not, and trying again would not help.
    GaveUp,
    /// It was not, for reasons that may pass.
    NotNow,
    /// Its money is spent.
    BudgetSpent,
    /// Somebody stopped it.
    Cancelled,
}

/// What came of a task: the shape of the session manager's results, and more beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    /// Whether it was done.
    pub success: bool,
    /// The agent's conversation, where it told.
    pub session_id: Option<String>,
    /// The model that did it, or was tried last.
    pub model_used: String,
    /// How often it was tried.
    pub attempts: u32,
    /// The models that were tried, in order.
    pub fallback_chain: Vec<String>,
    /// Why it was not done.
    pub error: Option<String>,
    /// Its id.
    pub task_id: String,
    /// What people call it.
    pub label: String,
    /// The model it began with.
    pub original_model: String,
    /// How it ended.
    pub outcome: TaskOutcome,
    /// The kind of its last failure, where it was not done.
    pub error_type: Option<FailureKind>,
    /// What the agent answered; where it tells no answer, the end of what it wrote.
    pub result: String,
    /// Restarts it has had.
    pub restarts: u32,
    /// Tokens, where the agent told.
    pub usage: Usage,
    /// What it cost, where the agent told.
    pub cost_usd: Option<f64>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// What came of many tasks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchResult {
    /// Whether all were done.
    pub success: bool,
    /// What came of each, in their order.
    pub workers: Vec<TaskResult>,
    /// The labels of those that were not done.
    pub failed: Vec<String>,
    /// How many were done by another model than they began with.
    pub fallback_applied: usize,
}

impl Task {
    /// Gives it an id, and a label where it has none.
    #[must_use]
    pub fn named(mut self) -> Self {
        if self.id.is_empty() {
            self.id = format!("task_{:016x}", fastrand::u64(..));
        }
        if self.label.is_empty() {
            self.label = self.id.clone();
        }
        self
    }

    /// What is wrong with it, in words.
    pub fn problem(&self) -> Option<String> {
        if self.agent.is_empty() && self.command.is_empty() {
            return Some("it names neither an `agent` nor a `command`".to_owned());
        }
        if self.command.first().is_some_and(|program| program.trim().is_empty()) {
            return Some("its `command` names no program".to_owned());
        }
        let times = [
            ("timeout", self.timeout),
            ("silence", self.silence),
            ("deadline", self.deadline),
            ("retry_delay", self.retry_delay),
            ("budget_usd", self.budget_usd),
        ];
        let wrong = times.iter().find(|(_, value)| value.is_some_and(|value| !(0.0..=1e7).contains(&value)));
        wrong.map(|(name, _)| format!("its `{name}` must be a number between 0 and 10,000,000"))
    }
}

impl TaskOutcome {
    /// The name used in logs and APIs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::GaveUp => "gave_up",
            Self::NotNow => "not_now",
            Self::BudgetSpent => "budget_spent",
            Self::Cancelled => "cancelled",
        }
    }

    /// The exit code of `steadfast run`.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Succeeded => 0,
            Self::GaveUp => 1,
            Self::BudgetSpent => 3,
            Self::NotNow => 75,
            Self::Cancelled => 130,
        }
    }
}

impl BatchResult {
    /// Sums up.
    pub fn of(workers: Vec<TaskResult>) -> Self {
        let fell_back = |worker: &&TaskResult| worker.success && worker.model_used != worker.original_model;
        Self {
            success: workers.iter().all(|worker| worker.success),
            failed: workers.iter().filter(|worker| !worker.success).map(|worker| worker.label.clone()).collect(),
            fallback_applied: workers.iter().filter(fell_back).count(),
            workers,
        }
    }
}

/// Seconds as people write them in a file of tasks.
pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}
