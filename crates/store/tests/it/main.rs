//! The store on real databases: one contract for both, and what happens when they fail.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on should stop, and says why")]

mod analytics;
mod child;
mod contract;
mod export;
mod faults;
mod heard;
mod kill;
mod old;
mod queue;
mod shared;
mod story;
mod tasks;
#[path = "../../examples/load/traffic.rs"]
mod traffic;
mod watch;
mod wire;
