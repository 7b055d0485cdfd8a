//! Everything the council says about itself, in one place.
//!
//! Marks stand before words and never in place of them, so that a line means the same without them.

use std::sync::Arc;
use std::time::Duration;

use steadfast_core::Failure;
use steadfast_core::time::Words;

/// How many letters of a provider's own words are repeated.
const WORDS_MAX: usize = 120;

pub(super) fn skipped(name: &str) -> String {
    format!("({name} skipped due to error, will retry after round)")
}

pub(super) fn question(name: &str, from: &str, to: &str) -> String {
    format!("⚠ {name} ({from}) unavailable. Route to {to}? Type /yes or /no.")
}

pub(super) fn routing(name: &str, to: &str) -> String {
    format!("✓ Routing {name} to {to}")
}

pub(super) fn declined(name: &str) -> String {
    format!("✓ Skipping {name} for this session")
}

pub(super) fn no_answer(name: &str, waited: Duration) -> String {
    format!("No response after {}s. Auto-skipping {name}. Type /retry {name} to re-enable.", waited.as_secs())
}

pub(super) fn fallback_failed(model: &str, reason: &str) -> String {
    format!("✗ {model} also failed: {reason}")
}

pub(super) fn offline(name: &str, reason: &str) -> String {
    format!("⚠ {name} offline ({reason}).")
}

pub(super) fn still_offline(name: &str, reason: &str) -> String {
    format!("✗ {name} still unavailable: {reason}.")
}

pub(super) fn going_on(active: usize, all: usize) -> String {
    format!("Continuing with {active}/{all} members.")
}

pub(super) fn rejoined(name: &str) -> String {
    format!("✨ {name} rejoined the council: welcome back!")
}

pub(super) fn all_offline() -> String {
    "⚠ All council members offline. Session paused; nothing is lost.\n\
     Possible causes:\n\
     - the network connection\n\
     - an outage at the providers\n\
     - API keys that are not valid\n\
     Next steps:\n\
     1. Check your connection; `steadfast doctor` checks keys and endpoints\n\
     2. Type /retry all to reconnect\n\
     3. Type /export to save your work, or /quit and resume later\n\
     The council is silent, but it remembers. Take a walk; they will be back."
        .to_owned()
}

pub(super) fn nobody_here() -> String {
    "Nobody is here to answer. Your message is kept: type /retry all to bring the council back.".to_owned()
}

pub(super) fn not_offline(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{name} is not offline."),
        None => "Nobody is offline.".to_owned(),
    }
}

pub(super) fn many_retries(used: u32) -> String {
    format!("⚠ High failure rate ({used} retries in this session). Check network and API health.")
}

pub(super) fn no_more_retries(max: u32) -> String {
    format!("⚠ This session has used all of its {max} retries: failures are no longer retried.")
}

pub(super) fn too_many_waiting(max: usize) -> String {
    format!("{max} messages wait for their round already: this one was not taken.")
}

pub(super) fn speaks_with(name: &str, model: &str) -> String {
    format!("✓ {name} speaks with {model} from its next turn on")
}

pub(super) fn not_its_model<'a>(name: &str, model: &str, known: impl Iterator<Item = &'a Arc<str>>) -> String {
    let known: Vec<&str> = known.map(|name| &**name).collect();
    format!("{model} is none of the models of {name}: {}", known.join(", "))
}

pub(super) fn stopped(name: &str) -> String {
    format!("{name} was stopped before it said anything")
}

pub(super) fn tool_silent() -> String {
    "(Some tools did not answer this session: responses may be less grounded)".to_owned()
}

pub(super) fn refused() -> String {
    "none of its endpoints can be asked".to_owned()
}

/// How an attempt failed: the kind in words, and the provider's own words where they are short.
pub(super) fn failure(failure: &Failure) -> String {
    let kind = failure.kind.as_str().replace('_', " ");
    let kind = match failure.status {
        Some(status) if status >= 400 => format!("{kind}, status {status}"),
        _ => kind,
    };
    let wait = failure.retry_after.map(|wait| format!(", ask again in {}", Words(wait))).unwrap_or_default();
    let said = failure.message.lines().next().unwrap_or_default().trim();
    if said.is_empty() || said.starts_with('<') || said.starts_with('{') || said.chars().count() > WORDS_MAX {
        format!("{kind}{wait}")
    } else {
        format!("{kind}{wait}: {}", said.trim_end_matches('.'))
    }
}
