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

/// A duration as people write it: `250ms`, `6.1s`, `4m 30s`, `19h 14m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words(pub Duration);

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

impl fmt::Display for Timestamp {
    /// As RFC 3339 says, to the second: `2026-11-16T12:00:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = jiff::Timestamp::from_second(self.0.div_euclid(1000)).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{moment:.0}")
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

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        let (secs, minutes, hours) = (millis / 1_000, millis / 60_000, millis / 3_600_000);
        let pair = |big: u128, unit: &str, small: u128, small_unit: &str| match small {
            0 => format!("{big}{unit}"),
            small => format!("{big}{unit} {small}{small_unit}"),
        };
        let words = match millis {
            0 => "0s".to_owned(),
            1..1_000 => format!("{millis}ms"),
            1_000..60_000 if millis.is_multiple_of(1_000) => format!("{secs}s"),
            1_000..60_000 => format!("{}.{}s", secs, millis % 1_000 / 100),
            60_000..3_600_000 => pair(minutes, "m", secs % 60, "s"),
            3_600_000..86_400_000 => pair(hours, "h", minutes % 60, "m"),
            _ => pair(hours / 24, "d", hours % 24, "h"),
        };
        f.pad(&words)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}s", self.0 / 1_000_000_000, self.0 / 1_000_000 % 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        let words = |millis: u64| Words(Duration::from_millis(millis)).to_string();
        let told = [0, 250, 1_000, 6_172, 59_999, 60_000, 270_000, 3_600_000, 69_287_000, 183_600_000].map(words);
        assert_eq!(told, ["0s", "250ms", "1s", "6.1s", "59.9s", "1m", "4m 30s", "1h", "19h 14m", "2d 3h"]);
    }

    #[test]
    fn a_timestamp_reads_as_the_world_writes_it() {
        assert_eq!(Timestamp::from_millis(1_749_909_966_789).to_string(), "2025-06-14T14:06:06Z");
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-30T22:00:00Z", "the end of the calendar");
    }

    #[test]
    fn moments_saturate_and_never_go_negative() {
        let moment = Instant::from_millis(5);
        assert_eq!(moment + Duration::MAX, Instant::FAR_FUTURE);
        assert_eq!(moment - Duration::MAX, Instant::ORIGIN);
        assert_eq!(moment - Duration::from_millis(2), Instant::from_millis(3));
        assert_eq!(moment.since(Instant::from_millis(9)), Duration::ZERO);
        assert_eq!(moment.until(Instant::from_millis(9)), Duration::from_millis(4));
        assert_eq!(Instant::from_millis(1_234).to_string(), "1.234s");
        assert_eq!((moment.as_nanos(), moment.as_millis()), (5_000_000, 5));
    }
}
