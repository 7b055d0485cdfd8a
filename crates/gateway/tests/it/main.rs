//! The gateway against a provider that fails on purpose, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod alerts;
mod api;
mod control;
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
