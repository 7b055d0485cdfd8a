//! Time as the core is told it: a monotonic `Instant` and a wall-clock `Timestamp`.
//!
//! The standard library's `Instant` cannot be made from a number, so a simulator could not own
//! its clock. Drivers convert at their edge; nothing in here reads a clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment on a monotonic clock: nanoseconds since an origin the driver chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A moment of wall-clock time: milliseconds since the Unix epoch. Survives a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Instant {
    /// The driver's origin.
    pub const ORIGIN: Self = Self(0);
    /// Later than any moment that will be reached.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The moment this many nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The moment this many milliseconds after the origin.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Milliseconds since the origin.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// How long ago `earlier` was; zero if it lies ahead, so a clock that jumps back harms nothing.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// How long until `later`; zero if it has passed.
    pub const fn until(self, later: Self) -> Duration {
        later.since(self)
    }
}

impl Timestamp {
    /// The moment this many milliseconds after the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates: a wait of years must not panic.
    fn add(self, wait: Duration) -> Self {
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Saturates at the origin.
    fn sub(self, wait: Duration) -> Self {
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(nanos))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}s", self.0 / 1_000_000_000, self.0 / 1_000_000 % 1000)
    }
}
