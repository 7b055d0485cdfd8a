//! The control API: what is going on, and the means to step in.
//!
//! A face hands in a request below `/api/` and gets a response. Who is calling is settled first
//! ([`Caller`]), then the router takes over. Everything runs in a runtime of its own, so that no
//! question about traffic slows traffic down.
//!
//! ```text
//! gateway ──▶ Api::answer ──▶ caller ──▶ router ──▶ Control (engine · pulse · store)
//! ```

mod answer;
mod caller;
mod channel;
mod control;
mod endpoints;
mod events;
mod live;
mod openapi;
mod problem;
mod pulse;
mod record;
mod requests;
pub mod story;
mod time;

pub use answer::Api;
pub use axum::body::Body;
pub use caller::{Caller, Door};
pub use control::Control;
pub use openapi::document;
pub use problem::{FieldProblem, Problem, ProblemBody, ProblemDetail};
