//! The real decision core against modelled providers, with a virtual clock and a seed.
//!
//! ```text
//! clients ──▶ driver ──▶ Recovery (the real one) ──▶ attempt ──▶ modelled provider
//!               │  ▲                                                   │
//!               │  └───────────────── failure or success ◀─────────────┘
//!               └──▶ watch (invariants, every step) · stats · decision log
//! ```
//!
//! The same seed gives the same run, byte for byte. A broken invariant stops the run and prints
//! the seed and the shortest trace that shows it. Knows no sockets, no clock and no files.

pub mod invariant;
mod log;
mod op;
pub mod plant;
pub mod plot;
pub mod provider;
mod queue;
pub mod rare;
pub mod replay;
pub mod report;
pub mod run;
pub mod scenario;
mod stage;
pub mod stats;
pub mod swarm;
pub mod trouble;
pub mod watch;
mod words;

pub use invariant::Invariant;
pub use rare::Rare;
pub use replay::{Replayed, replay};
pub use report::{Report, compare, comparison, run, table};
pub use run::{Finished, Logging, Setup, simulate};
pub use scenario::Scenario;
pub use swarm::campaign;
pub use trouble::Trouble;
pub use watch::Broken;
