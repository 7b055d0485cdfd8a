//! What happens to whom: the clients, the models they ask for, and what goes wrong.
//!
//! A scenario is data. The named ones are a table; swarm runs draw their own.

mod named;

use std::time::Duration;

use steadfast_core::FailureKind;
use steadfast_core::recovery::Face;

use crate::provider::{Effect, Fault, Pace, Span};

pub use named::NAMES;

/// Everything about a run but the policy and the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The name it is asked for by.
    pub name: String,
    /// What happens, in a sentence.
    pub about: String,
    /// How many clients.
    pub clients: u32,
    /// How many projects they belong to.
    pub projects: u32,
    /// For how long requests come in, in simulated seconds; what has begun is finished after that.
    pub seconds: u32,
    /// How requests come in.
    pub arrivals: Arrivals,
    /// A conversation ends after this many requests, and the next one begins.
    pub turns: u32,
    /// The endpoints, by position.
    pub endpoints: Vec<EndpointSpec>,
    /// The models, by position.
    pub models: Vec<ModelSpec>,
    /// Clients ask for the first this many models in turn.
    pub primaries: usize,
    /// Models from the cheapest to the most capable, by position.
    pub ladder: Vec<usize>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// The trouble as a whole: recovery is measured from its end.
    pub cause: Option<Span>,
    /// Which steps can be taken.
    pub face: Face,
    /// Who answers questions.
    pub person: Person,
    /// How often a repair works.
    pub repair_works: f64,
    /// What may be spent.
    pub spend: Spend,
    /// The driver gives an attempt up after this long.
    pub attempt_timeout: Duration,
    /// The share of requests whose caller leaves half-way.
    pub leaves: f64,
    /// The share of attempts whose driver vanishes and never reports.
    pub vanishes: f64,
    /// The share of requests that hold more tokens than the small models do.
    pub large: f64,
    /// The share of requests that use more than their caller promised, and cost more than was held for them.
    pub underestimated: f64,
}

/// How requests come in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// At a fixed rate, whatever becomes of earlier ones: the load stays unchanged.
    Open {
        /// Requests per second, all clients together.
        per_sec: f64,
    },
    /// Each client waits for its answer and thinks before it asks again.
    Closed {
        /// Seconds of thought, on average.
        think_secs: f64,
    },
}

/// One endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointSpec {
    /// Its name.
    pub name: String,
    /// How fast it is.
    pub pace: Pace,
}

/// One model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// Its name.
    pub name: String,
    /// Who makes it.
    pub vendor: String,
    /// Where it is served, by position.
    pub endpoints: Vec<usize>,
    /// Its chain, by position.
    pub fallback: Vec<usize>,
    /// Its chain where the boundary is strict and the other one leaves the vendor.
    pub fallback_strict: Vec<usize>,
    /// How many tokens it holds.
    pub window: Option<u32>,
    /// Dollars per million tokens in and out; unknown if `None`.
    pub price: Option<(f64, f64)>,
}

/// A scripted person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Person {
    /// How often the question is answered at all.
    pub answers: f64,
    /// How often the answer is yes.
    pub agrees: f64,
    /// Seconds to an answer.
    pub secs: f64,
}

/// Limits in micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    /// Per project and run.
    pub project_usd_micros: Option<u64>,
    /// Per session.
    pub session_usd_micros: Option<u64>,
}

impl Scenario {
    /// The scenario of this name.
    pub fn named(name: &str) -> Option<Self> {
        named::scenario(name)
    }

    /// The same for another number of clients, with load, capacities and limits in proportion.
    #[must_use]
    pub fn with_clients(mut self, clients: u32) -> Self {
        let factor = f64::from(clients.max(1)) / f64::from(self.clients.max(1));
        if let Arrivals::Open { per_sec } = &mut self.arrivals {
            *per_sec *= factor;
        }
        self.clients = clients.max(1);
        self.scale_limits(factor);
        self
    }

    /// The same with requests coming in for this long.
    #[must_use]
    pub fn with_seconds(self, seconds: u32) -> Self {
        Self { seconds, ..self }
    }

    /// The same with requests coming in at a fixed rate, with capacities and limits in proportion.
    #[must_use]
    pub fn with_rate(mut self, per_sec: f64) -> Self {
        let per_sec = per_sec.clamp(0.001, 1e6);
        if let Arrivals::Open { per_sec: before } = self.arrivals {
            self.scale_limits(per_sec / before);
        }
        Self { arrivals: Arrivals::Open { per_sec }, ..self }
    }

    fn scale_limits(&mut self, factor: f64) {
        let scaled = |limit: u32| (f64::from(limit) * factor).ceil() as u32;
        for fault in &mut self.faults {
            match &mut fault.effect {
                Effect::RateLimit { per_minute } => *per_minute = scaled(*per_minute),
                Effect::Quota { calls, .. } => *calls = scaled(*calls),
                Effect::Capacity { per_sec } => *per_sec *= factor,
                Effect::Down
                | Effect::Failing(..)
                | Effect::Flapping { .. }
                | Effect::SlowDeath { .. }
                | Effect::Cut(_)
                | Effect::Hang(_) => {}
            }
        }
    }
}

impl Person {
    /// Answers most questions, usually with yes.
    pub const HELPFUL: Self = Self { answers: 0.8, agrees: 0.75, secs: 15.0 };
}

/// The kinds a random transient failure shows itself as.
pub(crate) const TRANSIENT: [FailureKind; 3] =
    [FailureKind::NetworkTransient, FailureKind::ServerError, FailureKind::Timeout];
