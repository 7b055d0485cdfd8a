//! A fake provider of language models: it speaks every format and fails by script.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let fake = steadfast_fake::Fake::start().await?;
//! fake.script("b", "status=503 x2; ok")?;
//! let base_url = fake.endpoint_url("b"); // http://127.0.0.1:PORT/@b
//! // … send requests to it, then ask what came:
//! assert_eq!(fake.count("b"), 0);
//! # Ok(()) }
//! ```
//!
//! A request is read (`http1`, `http2`), looked at (`call`), decided about (`schedule`), turned into a
//! list of actions (`plan`, pure) and performed on the socket. What came is kept in a bounded ledger.
//! Knows no policy and nothing of the gateway: it is what the gateway is tested against.
//!
#![doc = include_str!("../../../docs/fake.md")]

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
