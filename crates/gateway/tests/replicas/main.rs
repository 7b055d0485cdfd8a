//! Gateways that share what they know, over real sockets and a real Redis. A binary of its own, so that no other
//! test takes the processor from them: what they promise is a matter of milliseconds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[allow(dead_code, reason = "the other tests of the gateway use the rest of it")]
#[path = "../it/harness.rs"]
mod harness;
mod shared;
