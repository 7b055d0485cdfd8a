//! Alerts: the few situations in which a person should know (SPEC 4.5).
//!
//! Each watch is told what happens and answers with an alert when its line is crossed, once:
//! it speaks again only after it was quiet for its own window.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::time::Instant;
use crate::window::Window;

/// Something a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alert {
    /// Too many failures in a short time (000).
    ManyFailures {
        /// How many in the window.
        failures: u64,
    },
    /// A model is replaced too often (004).
    FallbackRate {
        /// The model that was asked for.
        model: Arc<str>,
        /// Its share of requests that fell back, in percent.
        percent: u8,
    },
    /// Nobody in a chain could serve (004).
    ChainFailed {
        /// The model that was asked for.
        model: Arc<str>,
    },
    /// Failures in a row without a success between them (004).
    InARow {
        /// How many.
        failures: u32,
    },
}

/// Failures of everything, or of one project.
#[derive(Debug)]
pub struct FailureWatch {
    recent: Window,
    in_a_row: u32,
    many_until: Option<Instant>,
    row_told: bool,
}

/// One model's fallbacks.
#[derive(Debug)]
pub struct FallbackWatch {
    model: Arc<str>,
    /// Good: served by itself. Bad: fell back.
    requests: Window,
    quiet_until: Option<Instant>,
}

impl FailureWatch {
    /// Ten failures in five minutes are many.
    pub const MANY: u64 = 10;
    /// Five minutes.
    pub const WINDOW: Duration = Duration::from_secs(300);
    /// More than five failures in a row are too many.
    pub const IN_A_ROW: u32 = 5;

    /// A watch that has seen nothing.
    pub fn new() -> Self {
        Self { recent: Window::new(Self::WINDOW), in_a_row: 0, many_until: None, row_told: false }
    }

    /// Takes a failed attempt; up to two lines can be crossed at once.
    pub fn failed(&mut self, now: Instant) -> impl Iterator<Item = Alert> + use<> {
        self.recent.bad(now);
        self.in_a_row = self.in_a_row.saturating_add(1);
        let failures = self.recent.counts(now).bad;
        let many = failures >= Self::MANY && self.many_until.is_none_or(|until| now >= until);
        if many {
            self.many_until = Some(now + Self::WINDOW);
        }
        let row = self.in_a_row > Self::IN_A_ROW && !self.row_told;
        self.row_told |= row;
        let many = many.then_some(Alert::ManyFailures { failures });
        many.into_iter().chain(row.then_some(Alert::InARow { failures: self.in_a_row }))
    }

    /// Takes a success: the row is broken.
    pub fn succeeded(&mut self) {
        self.in_a_row = 0;
        self.row_told = false;
    }
}

impl FallbackWatch {
    /// Three in ten requests falling back is too many.
    pub const PERCENT: u64 = 30;
    /// One hour.
    pub const WINDOW: Duration = Duration::from_secs(3600);
    /// Requests below which a rate says nothing.
    pub const FLOOR: u64 = 10;

    /// A watch over this model that has seen nothing.
    pub fn new(model: Arc<str>) -> Self {
        Self { model, requests: Window::new(Self::WINDOW), quiet_until: None }
    }

    /// Takes a finished request and whether another model had to step in.
    pub fn finished(&mut self, fell_back: bool, now: Instant) -> Option<Alert> {
        if !fell_back {
            self.requests.good(now);
            return None;
        }
        self.requests.bad(now);
        let counts = self.requests.counts(now);
        let over = counts.total() >= Self::FLOOR && counts.bad * 100 > counts.total() * Self::PERCENT;
        if !over || self.quiet_until.is_some_and(|until| now < until) {
            return None;
        }
        self.quiet_until = Some(now + Self::WINDOW);
        let percent = (counts.bad * 100 / counts.total()) as u8;
        Some(Alert::FallbackRate { model: Arc::clone(&self.model), percent })
    }

    /// Takes a request that nobody in the chain could serve: always worth telling.
    pub fn chain_failed(&self) -> Alert {
        Alert::ChainFailed { model: Arc::clone(&self.model) }
    }
}

impl Default for FailureWatch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ManyFailures { failures } => write!(f, "{failures} failures in 5 minutes"),
            Self::FallbackRate { model, percent } => {
                write!(f, "{percent} % of the requests for `{model}` fell back in the last hour")
            }
            Self::ChainFailed { model } => write!(f, "every model in the chain of `{model}` failed"),
            Self::InARow { failures } => write!(f, "{failures} failures in a row"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::from_millis(secs * 1000)
    }

    fn told(alerts: impl Iterator<Item = Alert>) -> Vec<String> {
        alerts.map(|alert| alert.to_string()).collect()
    }

    #[test]
    fn ten_failures_in_five_minutes_are_told_once() {
        let mut watch = FailureWatch::new();
        let mut alerts = Vec::new();
        for step in 0..25 {
            alerts.extend(told(watch.failed(at(step))));
            watch.succeeded();
        }
        assert_eq!(alerts, ["10 failures in 5 minutes"]);
        for step in 0..10 {
            alerts.extend(told(watch.failed(at(309 + step))));
            watch.succeeded();
        }
        assert_eq!(alerts.len(), 2, "after a quiet window it speaks again");
    }

    #[test]
    fn failures_spread_thinly_are_not_many() {
        let mut watch = FailureWatch::new();
        for step in 0..100 {
            assert_eq!(told(watch.failed(at(step * 40))), [""; 0], "seven or eight in five minutes");
            watch.succeeded();
        }
    }

    #[test]
    fn more_than_five_in_a_row_are_told_once_per_row() {
        let mut watch = FailureWatch::new();
        let mut alerts = Vec::new();
        for step in 0..8 {
            alerts.extend(told(watch.failed(at(step * 60))));
        }
        assert_eq!(alerts, ["6 failures in a row"]);
        watch.succeeded();
        for step in 0..6 {
            alerts.extend(told(watch.failed(at(1_000 + step * 60))));
        }
        assert_eq!(alerts, ["6 failures in a row"; 2]);
    }

    #[test]
    fn a_model_that_falls_back_too_often_is_told_once_an_hour() {
        let mut watch = FallbackWatch::new(Arc::from("sonnet"));
        let mut alerts = Vec::new();
        for request in 0..40 {
            alerts.extend(watch.finished(request % 3 == 0, at(request)));
        }
        let expected = Alert::FallbackRate { model: Arc::from("sonnet"), percent: 40 };
        assert_eq!(alerts, [expected]);
        assert_eq!(watch.finished(true, at(3_599)), None, "within the hour it keeps quiet");
        assert!(watch.finished(true, at(3_609)).is_some(), "an hour after the first it speaks again");
        assert_eq!(alerts[0].to_string(), "40 % of the requests for `sonnet` fell back in the last hour");
    }

    #[test]
    fn three_in_ten_is_still_tolerated() {
        let mut watch = FallbackWatch::new(Arc::from("sonnet"));
        for request in 0..100 {
            assert_eq!(watch.finished(request % 10 >= 7, at(request)), None);
        }
        assert_eq!(watch.chain_failed().to_string(), "every model in the chain of `sonnet` failed");
    }
}
