//! What happened to one request, told from its records in words.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::tz::TimeZone;
use steadfast_core::Timestamp;
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::time::Words;

/// One request, as far as its records tell.
#[derive(Debug)]
pub struct Story<'a> {
    records: &'a [Record],
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By the first attempt.
    Served,
    /// By a later one.
    Recovered,
    /// Nothing was left to try.
    Failed,
    /// The operation went on without it.
    Degraded,
    /// The client left.
    Left,
    /// It is not over, or its end is not in the log.
    Open,
}

impl Ending {
    /// One word for tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Recovered => "recovered",
            Self::Failed => "failed",
            Self::Degraded => "degraded",
            Self::Left => "client left",
            Self::Open => "open",
        }
    }
}

impl<'a> Story<'a> {
    /// The story these records tell; they are of one request, in order.
    pub const fn new(records: &'a [Record]) -> Self {
        Self { records }
    }

    /// How it ended.
    pub fn ending(&self) -> Ending {
        let Some(outcome) = self.of(Event::Outcome) else { return Ending::Open };
        match outcome.outcome.as_deref() {
            Some("succeeded") if outcome.attempt.unwrap_or(0) > 1 => Ending::Recovered,
            Some("succeeded") => Ending::Served,
            Some("gave_up") => Ending::Failed,
            Some("degraded") => Ending::Degraded,
            Some("cancelled") => Ending::Left,
            _ => Ending::Open,
        }
    }

    /// The target that served, or the last that was asked.
    pub fn place(&self) -> Option<&'a Place> {
        self.records.iter().rev().find_map(|record| record.target.as_ref())
    }

    /// How many attempts it made.
    pub fn attempts(&self) -> u32 {
        self.records.iter().filter_map(|record| record.attempt).max().unwrap_or(0)
    }

    /// How long it took, where it is over.
    pub fn took(&self) -> Option<Duration> {
        self.of(Event::Outcome)?.latency_ms.map(Duration::from_millis)
    }

    /// When it began.
    pub fn began(&self) -> Option<Timestamp> {
        self.records.first().map(|record| record.time)
    }

    /// Whether it repeats a request that had failed, and went nowhere.
    fn is_remembered(&self) -> bool {
        self.of(Event::Start).is_some_and(|start| start.repeats.is_some()) && self.attempts() == 0
    }

    fn of(&self, event: Event) -> Option<&'a Record> {
        self.records.iter().find(|record| record.event == event)
    }

    /// One line for a list.
    pub fn line(&self) -> String {
        let when = self.began().map(|time| clock(time, "%m-%d %H:%M:%S")).unwrap_or_default();
        let request = self.records.first().map_or("", |record| &record.request);
        let took = self.took().map_or_else(|| "-".to_owned(), took_words);
        let place = self.place().map_or_else(|| "-".to_owned(), place);
        let ending = self.ending().word();
        format!("{when}  {request:<20}  {ending:<11}  {:>8}  {took:>7}  {place}", self.attempts())
    }

    /// The head of a list of such lines.
    pub fn line_head() -> String {
        format!("{:<14}  {:<20}  {:<11}  {:>8}  {:>7}  model", "when", "request", "outcome", "attempts", "took")
    }

    /// The whole story.
    pub fn tell(&self) -> String {
        let mut told = String::new();
        // Writing to memory cannot fail.
        let _ = writeln!(told, "{}\n", self.headline());
        self.tell_facts(&mut told);
        let began = self.began().map_or(0, Timestamp::as_millis);
        for record in self.records {
            let after = u64::try_from(record.time.as_millis() - began).unwrap_or(0);
            let mut at = format!("{:>7}", Words(Duration::from_millis(after)).to_string());
            for line in lines(record) {
                let _ = writeln!(told, "{at}  {line}");
                at = " ".repeat(7);
            }
        }
        told
    }

    /// Its first line: how it ended.
    pub fn headline(&self) -> String {
        let request = self.records.first().map_or("", |record| &record.request);
        let by = self.place().map(place).unwrap_or_default();
        let took = self.took().map(took_words).unwrap_or_default();
        let attempts = count(self.attempts(), "attempt");
        match self.ending() {
            Ending::Served => format!("{request}: served by {by} in {took}"),
            Ending::Recovered => format!("{request}: recovered, served by {by} after {attempts} in {took}"),
            Ending::Failed if self.is_remembered() => format!("{request}: answered from memory, it had just failed"),
            Ending::Failed => format!("{request}: failed after {attempts} in {took}"),
            Ending::Degraded => format!("{request}: went on without an answer after {attempts} in {took}"),
            Ending::Left => format!("{request}: the client left after {took}"),
            Ending::Open => format!("{request}: not over, or its end is not in the log; {attempts} so far"),
        }
    }

    fn tell_facts(&self, told: &mut String) {
        let mut fact = |name: &str, value: String| {
            if !value.is_empty() {
                let _ = writeln!(told, "  {name:<8} {value}");
            }
        };
        fact("when", self.began().map(|time| clock(time, "%Y-%m-%d %H:%M:%S%.3f %:z")).unwrap_or_default());
        let Some(start) = self.of(Event::Start) else {
            return fact("start", "not in the log: it lies in a file that is no longer kept".to_owned());
        };
        fact("project", start.project.as_deref().unwrap_or_default().to_owned());
        fact("session", start.session.as_deref().unwrap_or_default().to_owned());
        fact("client", start.client.as_deref().unwrap_or_default().to_owned());
        fact("agent", start.agent.as_deref().unwrap_or_default().to_owned());
        fact("repeats", start.repeats.as_deref().map(|id| format!("{id}, which failed")).unwrap_or_default());
        let most = start.attempts_max.map(|max| format!(", at most {}", count(max, "attempt"))).unwrap_or_default();
        fact("policy", start.policy.as_deref().map(|policy| format!("{policy}{most}")).unwrap_or_default());
        if self.is_remembered() {
            return told.push('\n');
        }
        let chain: Vec<String> = start.chain.iter().map(place).collect();
        fact("chain", if chain.is_empty() { "no endpoint serves this model".to_owned() } else { chain.join(", ") });
        told.push('\n');
    }
}

/// What one record says, in one line.
pub fn said(record: &Record) -> String {
    let lines = match (record.event, record.outcome.as_deref()) {
        (Event::Start, _) => {
            let model = record.chain.first().map_or("no endpoint serves it", |place| &place.model);
            vec![format!("request of {} for {model}", record.project.as_deref().unwrap_or("nobody"))]
        }
        (Event::Outcome, Some("succeeded")) => {
            vec![format!("served after {}", count(record.attempt.unwrap_or(0), "attempt"))]
        }
        _ => lines(record),
    };
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_start()).collect();
    lines.join("; ")
}

/// What one record says, in one line or a few.
fn lines(record: &Record) -> Vec<String> {
    match record.event {
        Event::Start => Vec::new(),
        Event::Attempt => {
            let target = record.target.as_ref().map_or_else(|| "no target".to_owned(), place);
            let why = record.choice.as_deref().map(choice_words).unwrap_or_default();
            vec![format!("attempt {}: {target}, {why}", record.attempt.unwrap_or(0))]
        }
        Event::Decision => decision_lines(record),
        Event::Success => {
            let mut line = "  served".to_owned();
            if let Some(took) = record.latency_ms {
                let _ = write!(line, " in {}", took_words(Duration::from_millis(took)));
            }
            if let Some(usage) = record.usage {
                let _ = write!(line, ", {} tokens in, {} out", usage.input_tokens, usage.output_tokens);
            }
            // What was not carried to another vendor as it was.
            let translated = record.reason.as_deref().map(|notes| format!("  {notes}"));
            std::iter::once(line).chain(translated).collect()
        }
        Event::Outcome => match (record.outcome.as_deref(), record.reason.as_deref()) {
            // The record before it said so.
            (Some("succeeded"), _) => Vec::new(),
            (Some("gave_up"), Some(reason)) => vec![format!("gave up: {reason}")],
            (Some("cancelled"), _) => vec!["the client left".to_owned()],
            (outcome, _) => vec![outcome.unwrap_or("over").replace('_', " ")],
        },
        Event::Breaker => vec![format!("  the breaker of {} is {}", about(record), state(record))],
        Event::Alert => vec![format!("  alert {}: {}", state(record), record.reason.as_deref().unwrap_or_default())],
        Event::Escalation => {
            let reason = record.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            vec![format!("  session {} {}{reason}", about(record), state(record))]
        }
    }
}

fn about(record: &Record) -> &str {
    record.about.as_deref().unwrap_or("?")
}

fn state(record: &Record) -> String {
    record.state.as_deref().unwrap_or("?").replace('_', " ")
}

fn decision_lines(record: &Record) -> Vec<String> {
    let mut lines = Vec::new();
    // An empty allowance that is looked at again is a decision without a failure of its own.
    if record.rule.is_some() {
        lines.push(format!("  failed: {}", failure(record)));
    }
    lines.push(format!("  {}", decision(record)));
    if let Some(passed_over) = &record.passed_over {
        lines.push(format!("  not the step before it: {passed_over}"));
    }
    if let Some(climb) = &record.escalation
        && let (Some(from), Some(to)) = (climb.from_usd_micros, climb.to_usd_micros)
    {
        lines.push(format!("  an average turn costs ${} there, ${} before", usd(to), usd(from)));
    }
    if record.warning {
        lines.push("  the session has used most of its retries".to_owned());
    }
    lines
}

/// How an attempt failed: `rate_limit, status 429 (rule rate.per_minute); the provider asks for 7s`.
pub fn failure(record: &Record) -> String {
    let mut words = record.kind.map_or("unknown", |kind| kind.as_str()).to_owned();
    if let Some(status) = record.status {
        let _ = write!(words, ", status {status}");
    }
    if let Some(rule) = &record.rule {
        let _ = write!(words, " (rule {rule})");
    }
    if let Some(wait) = record.retry_after_ms {
        let _ = write!(words, "; the provider asks for {}", Words(Duration::from_millis(wait)));
    }
    words
}

/// What was decided: `retry in 1.2s: retry 1 of 2`.
pub fn decision(record: &Record) -> String {
    let mut words = record.step.as_deref().unwrap_or("nothing").replace('_', " ");
    if let Some(to) = record.to.as_ref().filter(|_| matches!(record.step.as_deref(), Some("fallback" | "escalate"))) {
        let _ = write!(words, " to {}", place(to));
    }
    if let Some(wait) = record.wait_ms {
        let _ = write!(words, " in {}", Words(Duration::from_millis(wait)));
    }
    if let Some(reason) = &record.reason {
        let _ = write!(words, ": {reason}");
    }
    words
}

fn choice_words(choice: &str) -> &str {
    match choice {
        "first" => "the target asked for",
        "retry" => "the same target again",
        "fallback" => "the next target after a failure",
        "escalation" => "the next rung of the ladder",
        "rerouted" => "because the target before it refuses now",
        "panic" => "although every breaker refuses: a small share is let through",
        "remembered" => "because the target before it failed this session lately",
        other => other,
    }
}

/// `model@endpoint`.
pub fn place(place: &Place) -> String {
    format!("{}@{}", place.model, place.endpoint)
}

/// `1 attempt`, `2 attempts`.
pub fn count(count: u32, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Nothing takes no time.
fn took_words(took: Duration) -> String {
    if took.is_zero() { "<1ms".to_owned() } else { Words(took).to_string() }
}

fn usd(micros: u64) -> String {
    format!("{}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100)
}

/// A moment on the clock on the wall.
fn clock(time: Timestamp, format: &str) -> String {
    let Ok(moment) = jiff::Timestamp::from_millisecond(time.as_millis()) else { return "-".to_owned() };
    moment.to_zoned(TimeZone::system()).strftime(format).to_string()
}
