//! The demo's screen: drawn from what is counted.
//!
//! Drawing is pure: a [`View`] and a size become lines. Meaning is never by colour alone.

use std::time::Duration;

use steadfast_api::story;
use steadfast_core::record::Record;
use steadfast_core::time::Words;

use super::tally::Tally;
use crate::screen::{Ink, Line};

/// What is drawn.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) url: &'a str,
    pub(crate) elapsed: Duration,
    pub(crate) scene: &'a str,
    pub(crate) tally: &'a Tally,
    /// Each endpoint and what its breaker does.
    pub(crate) breakers: &'a [(String, Breaker)],
    /// When the demo began, in milliseconds since the epoch.
    pub(crate) began_ms: i64,
}

/// What keeps an endpoint from being used, or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Breaker {
    Closed,
    HalfOpen,
    Open(Duration),
    /// Its quota is exhausted.
    SetAside(Duration),
    /// It asked to be left alone for a moment.
    Paused,
}

impl Breaker {
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Closed => "closed".to_owned(),
            Self::HalfOpen => "half-open".to_owned(),
            Self::Open(left) => format!("open {}", seconds(*left)),
            Self::SetAside(left) => format!("quota {}", seconds(*left)),
            Self::Paused => "resting".to_owned(),
        }
    }

    const fn ink(&self) -> Ink {
        match self {
            Self::Closed => Ink::Good,
            Self::HalfOpen | Self::Paused => Ink::Doubt,
            Self::Open(_) | Self::SetAside(_) => Ink::Bad,
        }
    }
}

/// Whole seconds, upwards.
fn seconds(left: Duration) -> Words {
    Words(Duration::from_secs(left.as_secs() + 1))
}

/// The whole screen.
pub(crate) fn draw(view: &View<'_>, rows: usize) -> Vec<Line> {
    let tally = view.tally;
    let seconds = view.elapsed.as_secs();
    let clock = format!("{:02}:{:02}", seconds / 60, seconds % 60);
    let mut lines = vec![
        Line::of(Ink::Bold, "steadfast demo").and(Ink::Plain, format!("  {clock}  ")).and(Ink::Faint, "Ctrl-C ends it"),
        Line::of(
            Ink::Faint,
            format!("dashboard {}/  your own clients may join: the same base URL, OpenAI + /v1", view.url),
        ),
        Line::of(Ink::Plain, "playing  ").and(Ink::Doubt, view.scene),
        Line::default(),
        rates("what clients see", "requests", tally.requests(), tally.served, tally.failed, tally.success()),
        rates(
            "what providers did",
            "attempts",
            tally.providers.all(),
            tally.providers.ok,
            tally.providers.failed,
            tally.providers.share(),
        )
        .and(Ink::Plain, format!("  {:.2} each", tally.attempts_per_request())),
        Line::of(Ink::Plain, format!("{:<18} ", "recovered"))
            .and(Ink::Bold, format!("{:>6}", tally.recovered))
            .and(Ink::Plain, format!(" requests{}", by(tally))),
        Line::default(),
    ];
    lines.extend(table(view));
    lines.push(Line::default());
    lines.push(Line::of(Ink::Bold, "last decisions, newest first"));
    let room = rows.saturating_sub(lines.len());
    lines.extend(tally.recent.iter().take(room).map(|record| decision(record, view.began_ms)));
    lines.truncate(rows);
    lines
}

fn rates(title: &str, noun: &str, all: u64, good: u64, bad: u64, share: f64) -> Line {
    let bad_ink = if bad > 0 { Ink::Bad } else { Ink::Plain };
    Line::of(Ink::Plain, format!("{title:<18} {all:>6} {noun} "))
        .and(Ink::Good, format!("{good:>6} ok "))
        .and(bad_ink, format!("{bad:>6} failed "))
        .and(Ink::Bold, format!("{:>6} %", percent(share)))
}

/// A share that is not the whole is never rounded up to it.
pub(crate) fn percent(share: f64) -> String {
    if share >= 1.0 { "100.0".to_owned() } else { format!("{:.1}", (share * 1000.0).floor() / 10.0) }
}

/// `: 12 by retry, 7 by fallback`.
pub(crate) fn by(tally: &Tally) -> String {
    let ways: Vec<String> = tally.recovered_by.iter().rev().map(|(step, count)| format!("{count} by {step}")).collect();
    if ways.is_empty() { String::new() } else { format!(": {}", ways.join(", ")) }
}

/// The endpoints, and beside them what was played to them.
fn table(view: &View<'_>) -> Vec<Line> {
    let tally = view.tally;
    let mut faults: Vec<(&str, u64)> = tally.faults.iter().map(|(words, count)| (*words, *count)).collect();
    faults.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    // Two columns of faults fit beside the endpoints.
    let rows = view.breakers.len();
    let fault =
        |place: usize| faults.get(place).map_or_else(String::new, |(words, count)| format!("{words:<16}{count:>4}"));
    let head = format!("{:<12} {:<10} {:>5} {:>5}   failures played", "endpoint", "breaker", "ok", "bad");
    let mut lines = vec![Line::of(Ink::Bold, head)];
    for (row, (name, breaker)) in view.breakers.iter().enumerate() {
        let side = tally.endpoints.get(name).copied().unwrap_or_default();
        lines.push(
            Line::of(Ink::Plain, format!("{name:<12} "))
                .and(breaker.ink(), format!("{:<10}", breaker.words()))
                .and(Ink::Plain, format!(" {:>5} {:>5}   ", side.ok, side.failed))
                .and(Ink::Plain, format!("{:<20} {}", fault(row), fault(row + rows))),
        );
    }
    lines
}

/// `  12.3s openai-a  rate_limit 429 → retry in 900ms: retry 1 of 2`.
pub(crate) fn decision(record: &Record, began_ms: i64) -> Line {
    let after = (record.time.as_millis() - began_ms).max(0);
    let from = record.from.as_ref().map_or("", |from| &from.endpoint);
    let status = record.status.filter(|status| *status >= 400).map(|status| format!(" {status}")).unwrap_or_default();
    let kind = record.kind.map_or("unknown", |kind| kind.as_str());
    Line::of(Ink::Faint, format!("{:>6.1}s ", after as f64 / 1000.0))
        .and(Ink::Plain, format!("{from:<11} "))
        .and(Ink::Bad, format!("{kind}{status}"))
        .and(Ink::Plain, format!(" -> {}", story::decision(record)))
}
