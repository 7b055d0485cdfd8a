//! The driver's clock: the only place that reads time for the core.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use steadfast_core::{Instant, Timestamp};

/// Some moments lie centuries ahead; nobody is waiting any more by then, nor is this process there.
const AHEAD_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// A monotonic clock that starts with the process, and the wall clock beside it.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: tokio::time::Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { origin: tokio::time::Instant::now() }
    }

    /// The present moment.
    pub fn now(&self) -> Instant {
        Instant::ORIGIN + self.origin.elapsed()
    }

    /// The present moment as people tell it.
    pub fn wall(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// The day since the epoch (UTC): the period of daily budgets.
    pub fn day(&self) -> u64 {
        u64::try_from(self.wall().as_millis() / (24 * 60 * 60 * 1000)).unwrap_or(0)
    }

    /// The same moment on tokio's clock.
    pub fn tokio(&self, moment: Instant) -> tokio::time::Instant {
        self.origin + Instant::ORIGIN.until(moment).min(AHEAD_MAX)
    }

    /// Waits until then.
    pub async fn sleep_until(&self, moment: Instant) {
        tokio::time::sleep_until(self.tokio(moment)).await;
    }
}
