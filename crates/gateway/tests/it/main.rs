//! The gateway against a provider that fails on purpose, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod again;
mod alerts;
mod api;
mod committed;
mod control;
mod follow;
mod harness;
mod leaving;
mod limits;
mod ops;
mod owner;
mod owners;
mod plain;
mod recovery;
mod streams;
mod traces;
mod translate;
mod waiting;
mod wire;
mod wires;
