//! A fake provider of language models: it speaks every format and fails by script.

mod answer;
mod call;
mod control;
mod fake;
mod headers;
mod http1;
mod http2;
mod ledger;
mod plan;
mod render;
mod schedule;
mod script;
mod server;
mod shared;
mod spec;
mod trouble;

pub use fake::Fake;
pub use ledger::{End, Received};
pub use script::ScriptError;
