//! The demo's screen: drawn from what is counted, and put away again whatever happens.
//!
//! Drawing is pure: a [`View`] and a size become lines. Meaning is never by colour alone.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::termios::{self, LocalModes, OptionalActions, Termios};
use steadfast_core::record::Record;
use steadfast_core::time::Words;

use super::tally::Tally;
use steadfast_api::story;

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

/// What a piece of text is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Bold,
    Faint,
    Good,
    Doubt,
    Bad,
}

/// A line of the screen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line(Vec<(Ink, String)>);

impl Line {
    fn of(ink: Ink, text: impl Into<String>) -> Self {
        Self(vec![(ink, text.into())])
    }

    fn and(mut self, ink: Ink, text: impl Into<String>) -> Self {
        self.0.push((ink, text.into()));
        self
    }

    /// The line in at most `columns`, with or without colour.
    pub(crate) fn render(&self, columns: usize, colour: bool) -> String {
        let mut left = columns;
        let mut out = String::new();
        for (ink, text) in &self.0 {
            let all = text.chars().count();
            let text: String = if all > left {
                text.chars().take(left.saturating_sub(1)).chain((left > 0).then_some('…')).collect()
            } else {
                text.clone()
            };
            left -= text.chars().count().min(left);
            let code = match ink {
                Ink::Plain => "",
                Ink::Bold => "\x1b[1m",
                Ink::Faint => "\x1b[2m",
                Ink::Good => "\x1b[32m",
                Ink::Doubt => "\x1b[33m",
                Ink::Bad => "\x1b[31m",
            };
            if colour && !code.is_empty() && !text.is_empty() {
                out.push_str(code);
                out.push_str(&text);
                out.push_str("\x1b[0m");
            } else {
                out.push_str(&text);
            }
        }
        out
    }
}

/// The whole screen.
pub(crate) fn draw(view: &View<'_>, rows: usize) -> Vec<Line> {
    let tally = view.tally;
    let seconds = view.elapsed.as_secs();
    let clock = format!("{:02}:{:02}", seconds / 60, seconds % 60);
    let mut lines = vec![
        Line::of(Ink::Bold, "steadfast demo").and(Ink::Plain, format!("  {clock}  ")).and(Ink::Faint, "Ctrl-C ends it"),
        Line::of(Ink::Faint, format!("your own client may join: base URL {} (for OpenAI + /v1)", view.url)),
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

/// The terminal while the demo has it. Gives it back when dropped, and before a panic is told.
pub(crate) struct Screen {
    before: Option<Termios>,
    colour: bool,
    gone: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal; none where stdout is not one.
    pub(crate) fn take() -> Option<Self> {
        let out = io::stdout();
        if !out.is_terminal() || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
            return None;
        }
        let before = termios::tcgetattr(&out).ok();
        if let Some(before) = &before {
            // What is typed must not spoil the picture; Ctrl-C still is a signal.
            let mut quiet = before.clone();
            quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
            let _ = termios::tcsetattr(&out, OptionalActions::Now, &quiet);
        }
        let gone = Arc::new(AtomicBool::new(false));
        let told = std::panic::take_hook();
        let (hook_gone, hook_before) = (Arc::clone(&gone), before.clone());
        std::panic::set_hook(Box::new(move |panic| {
            leave(&hook_gone, hook_before.as_ref());
            told(panic);
        }));
        let _ = write!(io::stdout(), "\x1b[?1049h\x1b[?25l");
        let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Some(Self { before, colour, gone })
    }

    /// Whether a panic has put the screen away.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    pub(crate) fn show(&self, view: &View<'_>) -> io::Result<()> {
        let size = termios::tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_row > 0 && size.ws_col > 0);
        let (rows, columns) = size.map_or((24, 80), |size| (usize::from(size.ws_row), usize::from(size.ws_col)));
        let lines = draw(view, rows);
        let mut picture = String::from("\x1b[H");
        for (row, line) in lines.iter().enumerate() {
            if row > 0 {
                picture.push_str("\r\n");
            }
            picture.push_str(&line.render(columns, self.colour));
            picture.push_str("\x1b[K");
        }
        picture.push_str("\x1b[J");
        let mut out = io::stdout().lock();
        out.write_all(picture.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave(&self.gone, self.before.as_ref());
    }
}

fn leave(gone: &AtomicBool, before: Option<&Termios>) {
    if gone.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut out = io::stdout();
    let _ = write!(out, "\x1b[0m\x1b[?25h\x1b[?1049l");
    let _ = out.flush();
    if let Some(before) = before {
        let _ = termios::tcsetattr(&out, OptionalActions::Now, before);
    }
}
