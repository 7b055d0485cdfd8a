//! Runs agents as processes and keeps them working: watches, retries, falls back, restarts, resumes.
//!
//! ```text
//! task ──▶ Recovery ──▶ attempt: agent + model ──▶ process, watched ──▶ evidence ──▶ classify ──▶ Recovery
//!              ▲                                                                                    │
//!              └──────────────── retry · next model · repair · new run later ◀──────────────────────┘
//! ```
//!
//! A driver of the core like the gateway's, and without a policy of its own. `process` knows how to run and end a
//! process with all its children, `adapter` what each agent's output says, `attempt` how one is judged, `run` the way
//! of one task, `batch` that of many, `worker` of those that the store keeps.

pub mod adapter;
pub mod api;
mod attempt;
mod batch;
mod fleet;
mod gateway;
mod health;
mod http;
pub mod process;
mod run;
mod services;
mod task;
mod template;
mod worker;

pub use attempt::pane_name;
pub use batch::{Batch, run_all};
pub use fleet::{DEADLINE, Fleet, InForce, PlanError};
pub use gateway::{Gateway, LetsIn};
pub use health::{AgentHealth, Healths};
pub use run::{Ending, InMemory, Keeper, Lost, Observer, Run, new_session};
pub use services::{ServiceStatus, Services};
pub use task::{BatchResult, Conversation, LastFailure, Memory, Task, TaskOutcome, TaskResult};
pub use worker::{Settings, Worker, log_path, old_log_path, to_keep};
