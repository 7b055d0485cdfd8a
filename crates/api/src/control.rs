//! What every route needs.

use std::sync::Arc;

use steadfast_core::Timestamp;
use steadfast_engine::{Clock, Engine, Snapshot};
use tokio::sync::Semaphore;

use crate::pulse::{Feeler, Pulse};

/// Readers of live events at a time.
const READERS_MAX: usize = 256;

/// What every route needs.
#[derive(Clone, Debug)]
pub struct Control(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    engine: Arc<Engine>,
    pulse: Arc<Pulse>,
    readers: Arc<Semaphore>,
    started: Timestamp,
}

impl Control {
    /// Begins to listen to an engine.
    pub fn new(engine: Arc<Engine>) -> Self {
        let pulse = Arc::new(Pulse::default());
        engine.listen(Box::new(Feeler(Arc::clone(&pulse))));
        let started = engine.clock().wall();
        Self(Arc::new(Inner { engine, pulse, readers: Arc::new(Semaphore::new(READERS_MAX)), started }))
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.0.engine
    }

    /// The configuration in force.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.0.engine.snapshot()
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.0.engine.clock()
    }

    pub(crate) fn pulse(&self) -> &Pulse {
        &self.0.pulse
    }

    pub(crate) fn readers(&self) -> &Arc<Semaphore> {
        &self.0.readers
    }

    pub(crate) fn started(&self) -> Timestamp {
        self.0.started
    }
}
