//! Moments as this API writes them: RFC 3339, in UTC, with milliseconds.

use std::time::Duration;

use steadfast_core::{Instant, Timestamp};
use steadfast_engine::Clock;

/// `2026-11-16T17:00:00.123Z`.
pub(crate) fn iso(time: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default();
    format!("{moment:.3}")
}

/// The same of milliseconds since the epoch.
pub(crate) fn iso_ms(millis: i64) -> String {
    iso(Timestamp::from_millis(millis))
}

/// The moment that somebody wrote.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_millis(moment.as_millisecond()))
}

/// A moment of the driver's clock on the wall.
pub(crate) fn on_wall(clock: &Clock, moment: Instant) -> Timestamp {
    let now = clock.now();
    let wall = clock.wall().as_millis();
    let ahead = i64::try_from(now.until(moment).as_millis()).unwrap_or(i64::MAX);
    let behind = i64::try_from(moment.until(now).as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(wall.saturating_add(ahead).saturating_sub(behind))
}

/// Whole milliseconds.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_back() {
        let time = Timestamp::from_millis(1_700_000_000_123);
        assert_eq!(iso(time), "2023-11-14T22:13:20.123Z");
        assert_eq!(parse(&iso(time)), Some(time));
        assert_eq!(parse("yesterday"), None);
    }
}
