//! The decision engine: what failed, what to do next, and whether it may be afforded.
//!
//! Everything here is sans-IO: plain state machines that take events and the current time and
//! return what to do. No sockets, no clock, no runtime, no randomness but the seed handed in.

pub mod alert;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod classify;
pub mod context;
pub mod cost;
pub mod decision;
pub mod evidence;
pub mod failure;
pub mod health;
pub mod kind;
pub mod policy;
pub mod preview;
pub mod rate;
pub mod record;
pub mod recovery;
pub mod redact;
pub mod route;
pub mod spend;
pub mod time;
pub mod window;
pub mod world;

pub use evidence::{Evidence, Exit, Surface, Transport};
pub use failure::Failure;
pub use kind::{Category, FailureKind};
pub use time::{Instant, Timestamp};
