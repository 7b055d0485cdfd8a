//! The council: several models in one conversation, and no voice lost.
//!
//! ```text
//! person ──┐                                   ┌──▶ shown, saved, exported (Entry)
//! attempts ┼──▶ Event ──▶ Coordinator ──▶ Action ──▶ one attempt at one target (Call)
//! time ────┘               Recovery            └──▶ decision log, metrics
//! ```
//!
//! [`Coordinator`] is plain memory: it is told what happened and when, and says what to do. What to do about
//! a failure is decided by `steadfast_core::recovery` with the policy `council`; there is no retry logic here.

pub mod command;
mod coordinator;
mod desk;
mod entry;
mod health;
mod member;
mod plain;
mod room;
pub mod screen;
mod session;
mod speaker;
mod tools;
mod transcript;

pub use coordinator::{Action, Asking, Call, Coordinator, Doing, Event, Metric, Presence, Setup, Status, Whom};
pub use desk::{Chaos, Done, obey};
pub use entry::{Entry, LOST, STOPPED};
pub use member::Member;
pub use plain::Plain;
pub use room::{Opening, OpeningError, Resume, Room};
pub use session::SessionError;
pub use tools::ToolServer;
pub use transcript::{Ending, Said, Speech, Transcript, What};
