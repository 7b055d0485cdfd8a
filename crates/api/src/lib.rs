//! The control API: what is going on, and the means to step in.
//!
//! A face hands in a request below `/api/` and gets a response. Who is calling is settled first
//! ([`Caller`]), then the router takes over. Everything runs in a runtime of its own, so that no
//! question about traffic slows traffic down.
//!
//! ```text
//! gateway ──▶ Api::answer ──▶ caller ──▶ router ──▶ Control (engine · pulse · store)
//! ```

mod again;
mod alerts;
mod analytics;
mod answer;
mod caller;
mod channel;
mod climb;
mod control;
mod endpoints;
mod events;
mod explain;
mod export;
mod keys;
mod limits;
mod live;
mod models;
mod openapi;
mod page;
mod policies;
mod problem;
mod projects;
mod pulse;
mod record;
mod requests;
mod retry_policy;
mod sessions;
mod settings;
mod standing;
mod stored;
pub mod story;
mod time;
mod turn;
mod version;

pub use answer::Api;
pub use axum::body::Body;
pub use caller::{Caller, Door, is_loopback, same, without_scheme};
pub use control::{Configuration, Control, Parts, ReloadError, Simulator};
pub use openapi::document;
pub use problem::{FieldProblem, Params, Problem, ProblemBody, ProblemDetail, Segment, Sent};
pub use standing::{FailedRequest, Standing};
