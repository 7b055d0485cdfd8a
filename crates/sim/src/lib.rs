//! The real decision core against modelled providers, with a virtual clock and a seed.
//!
//! The same seed gives the same run, byte for byte. Invariants are checked on every step.

mod log;
mod op;
pub mod plant;
pub mod provider;
mod queue;
pub mod rare;
pub mod run;
pub mod scenario;
mod stage;
pub mod stats;
pub mod watch;

pub use rare::Rare;
pub use run::{Finished, Logging, Setup, simulate};
pub use scenario::Scenario;
pub use watch::Broken;
