//! Waits in headers: `retry-after` in all its forms, and the reset of a limit that is used up.

use std::time::Duration;

use super::parse;
use crate::evidence::Evidence;
use crate::time::Timestamp;

/// Headers with a number of milliseconds.
const MILLIS: &[&str] = &["retry-after-ms", "x-ms-retry-after-ms", "x-retry-after-ms", "x-ratelimit-retry-after-ms"];
/// Headers with seconds, a duration or a date.
const SECONDS: &[&str] = &[
    "retry-after",
    "x-retry-after",
    "x-ratelimit-retry-after",
    "x-ratelimit-reset-after",
    "x-rate-limit-retry-after",
    "x-rate-limit-retry-after-seconds",
    "ratelimit-retry-after",
    "retry-after-seconds",
    "x-retry-in",
];

/// What names a limit's headers start with; the rest of the name says which limit.
const FAMILIES: &[Family] = &[
    Family { prefix: "x-ratelimit-", style: Style::Infix },
    Family { prefix: "ratelimit-", style: Style::Infix },
    Family { prefix: "x-rate-limit-", style: Style::Infix },
    Family { prefix: "anthropic-ratelimit-", style: Style::Suffix },
];

/// A naming habit of rate-limit headers.
struct Family {
    prefix: &'static str,
    style: Style,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `x-ratelimit-reset-tokens`, `x-ratelimit-reset`.
    Infix,
    /// `anthropic-ratelimit-tokens-reset`.
    Suffix,
}

/// The wait the other side asks for in so many words.
pub(super) fn asked(evidence: &Evidence<'_>, now: Option<Timestamp>) -> Option<Duration> {
    if evidence.headers.is_empty() {
        return None;
    }
    let millis = MILLIS.iter().find_map(|name| parse::millis(evidence.header(name)?));
    millis.or_else(|| {
        SECONDS.iter().find_map(|name| {
            let value = evidence.header(name)?;
            parse::seconds(value)
                .or_else(|| parse::duration(value))
                .or_else(|| parse::until_http_date(value, now?))
                .or_else(|| parse::moment(value, now?))
        })
    })
}

/// The longest reset among the limits that are used up.
pub(super) fn reset(evidence: &Evidence<'_>, now: Option<Timestamp>) -> Option<Duration> {
    let mut longest = None;
    for (name, value) in evidence.headers {
        for family in FAMILIES {
            let Some(limit) = family.limit(name) else { continue };
            if family.is_exhausted(evidence, &limit) {
                longest = longest.max(reset_value(value, now));
            }
        }
        longest = longest.max(codex_reset(evidence, name, value));
    }
    longest
}

/// `x-codex-primary-reset-after-seconds`, beside `x-codex-primary-used-percent: 100`.
fn codex_reset(evidence: &Evidence<'_>, name: &str, value: &str) -> Option<Duration> {
    let name = name.to_ascii_lowercase();
    let limit = name.strip_prefix("x-codex-")?.strip_suffix("-reset-after-seconds")?;
    let used: f64 = evidence.header(&format!("x-codex-{limit}-used-percent"))?.trim().parse().ok()?;
    if used >= 100.0 { parse::seconds(value) } else { None }
}

impl Family {
    /// The limit whose reset the header `name` states: `tokens`, `requests`, or none by name.
    fn limit(&self, name: &str) -> Option<String> {
        let name = name.to_ascii_lowercase();
        let rest = name.strip_prefix(self.prefix)?;
        match self.style {
            Style::Infix if rest == "reset" => Some(String::new()),
            Style::Infix => rest.strip_prefix("reset-").map(str::to_owned),
            Style::Suffix => rest.strip_suffix("-reset").map(str::to_owned),
        }
    }

    fn is_exhausted(&self, evidence: &Evidence<'_>, limit: &str) -> bool {
        let of = |what: &str| match (self.style, limit) {
            (Style::Infix, "") => format!("{}{what}", self.prefix),
            (Style::Infix, _) => format!("{}{what}-{limit}", self.prefix),
            (Style::Suffix, _) => format!("{}{limit}-{what}", self.prefix),
        };
        if let Some(remaining) = evidence.header(&of("remaining")) {
            return remaining.trim().parse::<f64>().is_ok_and(|remaining| remaining <= 0.0);
        }
        if let Some(status) = evidence.header(&of("status")) {
            return status.eq_ignore_ascii_case("rejected");
        }
        // One limit only: whatever was exceeded, this is its reset.
        limit.is_empty()
    }
}

/// Resets are written as durations, seconds, moments since 1970 or dates.
pub(super) fn reset_value(value: &str, now: Option<Timestamp>) -> Option<Duration> {
    let value = value.trim();
    let seconds: Option<f64> = value.parse().ok();
    match seconds {
        Some(seconds) if seconds >= 1e9 => parse::epoch(value, now?),
        Some(_) => parse::seconds(value),
        None => parse::duration(value).or_else(|| parse::moment(value, now?)),
    }
}
