//! The store on real databases: one contract for both.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod contract;
mod story;
mod tasks;
