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

mod coordinator;
mod entry;
mod member;

pub use coordinator::{Action, Asking, Call, Coordinator, Doing, Event, Metric, Presence, Setup, Status, Whom};
pub use entry::{Entry, LOST, STOPPED};
pub use member::Member;
