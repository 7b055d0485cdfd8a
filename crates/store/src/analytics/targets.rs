//! The documents' own targets (SPEC 10.3), held against what happened.
//!
//! Some are about what events cannot tell: how often the classifier is right takes labelled messages, and
//! whether a breaker opened falsely takes a provider that is known to be well. Those say who measures them.

use serde::Serialize;

use super::{Bar, ratio};
use crate::rollup::Measures;

/// A target and how it was met.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    /// A name that stays.
    pub name: &'static str,
    /// In words.
    pub wanted: &'static str,
    /// What was measured; none where nothing happened to measure, or events cannot tell.
    pub measured: Option<f64>,
    /// Whether it was met.
    pub verdict: Verdict,
    /// Of how many requests.
    pub of: i64,
}

/// Whether a target was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was.
    Pass,
    /// It was not.
    Fail,
    /// Nothing happened that could tell.
    NothingYet,
    /// Events cannot tell: `cargo xtask corpus` and `cargo xtask simulate` measure it.
    NotFromEvents,
}

#[derive(Clone, Copy)]
enum Line {
    AtLeast(f64),
    AtMost(f64),
    Below(f64),
}

pub(super) fn judge(totals: &Measures, groups: &[Bar]) -> Vec<Target> {
    let group = |name: &str| {
        let bar = groups.iter().find(|bar| bar.name == name);
        bar.map_or((0, 0), |bar| (bar.measures.recovered, bar.measures.affected))
    };
    let recovered = |name| {
        let (recovered, affected) = group(name);
        (ratio(recovered, affected), affected)
    };
    let mean = |sum| (ratio(sum, totals.recovered), totals.recovered);
    vec![
        unmeasured("classification", "at least 95 % of real messages classified rightly"),
        target(
            "network_recovered",
            "at least 80 % of network failures recovered",
            Line::AtLeast(0.8),
            recovered("network"),
        ),
        target(
            "retries_before_success",
            "at most 3 retries before success on average",
            Line::AtMost(3.0),
            mean(totals.recovery_retries),
        ),
        unmeasured("false_opens", "fewer than 5 % of breaker openings false"),
        target("restarts", "at least 90 % of restarts succeed", Line::AtLeast(0.9), recovered("restart")),
        target(
            "transient_recovered",
            "at least 70 % of transient errors recovered",
            Line::AtLeast(0.7),
            recovered("transient"),
        ),
        target("recovery_time_ms", "recovery within 30 s on average", Line::Below(30_000.0), mean(totals.recovery_ms)),
    ]
}

fn target(name: &'static str, wanted: &'static str, line: Line, (measured, of): (Option<f64>, i64)) -> Target {
    let is_met = |measured: f64| match line {
        Line::AtLeast(line) => measured >= line,
        Line::AtMost(line) => measured <= line,
        Line::Below(line) => measured < line,
    };
    let verdict = match measured.map(is_met) {
        Some(true) => Verdict::Pass,
        Some(false) => Verdict::Fail,
        None => Verdict::NothingYet,
    };
    Target { name, wanted, measured, verdict, of }
}

const fn unmeasured(name: &'static str, wanted: &'static str) -> Target {
    Target { name, wanted, measured: None, verdict: Verdict::NotFromEvents, of: 0 }
}
