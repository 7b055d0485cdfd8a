//! How long the failing side asks us to wait.
//!
//! Headers come first, then fields of the body, then prose. Only what the other side says
//! counts: a client that announces its own next attempt does not, and nothing is made up where
//! nothing is stated. A moment in the past is a wait of zero; an absurd one is no wait at all.

mod header;
mod parse;

use std::ops::Range;
use std::time::Duration;

use super::table::{Found, Stated, Table};
use super::text::Text;
use crate::evidence::Evidence;
use crate::kind::FailureKind;
use crate::time::Timestamp;

/// Longer waits are nonsense: a monthly allowance frees up sooner, a bill never by itself.
pub const WAIT_MAX: Duration = Duration::from_secs(62 * 24 * 3600);
/// From here on a rate limit is an exhausted quota.
pub const QUOTA_WAIT_MIN: Duration = Duration::from_secs(3600);

/// How many waits that a client announces are looked at; a text states one or two.
const ANNOUNCED_MAX: usize = 8;

/// One way to state a wait in a body. Group 1 of the pattern is the value; `DURATION`, `NUMBER`
/// and `MOMENT` in it stand for what their names say.
pub(super) struct Wait {
    pattern: &'static str,
    form: Form,
    by: By,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// With units: `9m38.016s`, `2 hours`.
    Duration,
    Seconds,
    Millis,
    /// Seconds or milliseconds since 1970.
    Epoch,
    /// RFC 3339.
    Moment,
    /// A time of day with its zone: `9am (America/Chicago)`.
    Clock,
    /// Hours, minutes and seconds: `23:10:05`.
    Span,
    /// A date with its month by name: `Oct 7th, 2026 3:52 PM`.
    Dated,
}

/// Who says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Provider,
    /// A client that announces its own next attempt.
    Client,
}

const fn wait(form: Form, pattern: &'static str) -> Wait {
    Wait { pattern, form, by: By::Provider }
}

/// Every way a body states a wait, the most exact first.
pub(super) const WAITS: &[Wait] = &[
    // With its fraction, where the field beside it is rounded.
    wait(Form::Duration, r"\bretry in ((?:\d{1,4}m)?\d{1,6}\.\d{1,12}s)\b"),
    wait(Form::Duration, r#"retry_?delay['"]?: ?['"]?DURATION"#),
    wait(Form::Duration, r#"quota_?reset_?delay['"]?: ?['"]?DURATION"#),
    wait(Form::Millis, r#"retry[-_]?after[-_]?(?:ms|millis)['"]?[:=] ?['"]?NUMBER"#),
    wait(Form::Seconds, r#"reset(?:s)?_(?:in_|after_)?seconds['"]?[:=] ?['"]?NUMBER"#),
    wait(
        Form::Seconds,
        r#"retry[-_]?after(?:[-_]?(?:s|sec|secs|seconds|in_seconds))?['"]?[:=] ?['"]?NUMBER['"]?(?:[^\d.a-z]|$)"#,
    ),
    wait(Form::Duration, r#"retry[-_]?after['"]?[:=] ?['"]?DURATION"#),
    wait(Form::Seconds, r#"(?:wait|cooldown)_(?:seconds|time|secs)['"]?[:=] ?['"]?NUMBER"#),
    wait(Form::Seconds, r#"estimated_time['"]?: ?NUMBER"#),
    wait(Form::Duration, r"(?:try|trying) again (?:in|after):? (?:about |approximately |around |\x7e ?)?DURATION"),
    wait(Form::Duration, r"\bretry (?:in|after) (?:about |approximately |around |\x7e ?)?DURATION"),
    wait(
        Form::Duration,
        r"\b(?:reset|refresh|renew|replenish|recover)e?s? (?:in|after):? (?:about |approximately |around |\x7e ?)?DURATION",
    ),
    wait(Form::Duration, r"\bavailable (?:again )?(?:in|after) (?:about |approximately |around |\x7e ?)?DURATION"),
    wait(Form::Duration, r"\b(?:please )?wait (?:for )?(?:at least |about |another |up to |\x7e ?)?DURATION"),
    wait(Form::Duration, r"\b(?:retry will occur|submit (?:the |your )?requests?) after:? DURATION"),
    wait(Form::Duration, r"\bretry your requests? after (?:about )?DURATION"),
    wait(Form::Duration, r"\bcooldown(?: remaining| ends in)?:? ?DURATION"),
    wait(Form::Duration, r"\bwait of (?:at least |about )?DURATION"),
    wait(Form::Duration, r#"(?:retry|reset|wait|available)_in['"]?[:=] ?['"]?DURATION"#),
    wait(
        Form::Duration,
        r"\b(?:come back|check back|try|retry|resume|unlocks?|unblocked|lifted|refill(?:s|ed)?|renewed|replenished|refreshed|restored|possible|allowed|retried) (?:again )?(?:in|after):? ABOUTDURATION",
    ),
    wait(
        Form::Duration,
        r"\bnext (?:request|attempt|call|slot|window|message|retry)(?: (?:is|will be))?(?: allowed| available| possible| accepted)? (?:in|after):? ABOUTDURATION",
    ),
    wait(
        Form::Duration,
        r"\b(?:blocked|banned|limited|throttled|suspended|locked|locked out|restricted|paused) for (?:another |the next |at least )?ABOUTDURATION",
    ),
    wait(Form::Duration, r"\bwait(?:ing)? (?:for )?(?:a further |an additional |at least another )?ABOUTDURATION"),
    wait(
        Form::Duration,
        r"\b(?:retry|wait|waiting|reset|cooldown)[- ]?(?:delay|interval|time|period)(?: is| of)?:? ABOUTDURATION",
    ),
    wait(Form::Duration, r"\b(?:eta|estimated (?:wait|time|wait time|waiting time))(?: is| of)?:? ABOUTDURATION"),
    wait(
        Form::Duration,
        r"DURATION(?: remaining| left)? (?:until (?:reset|retry|the (?:next|limit|quota|window)|it resets|your|next)|before (?:retrying|trying again|the next|your next|you (?:can|may)|making|sending|another))",
    ),
    wait(
        Form::Seconds,
        r#"(?:reset|retry|available|wait|cooldown|backoff)_(?:in|for|secs?|seconds|in_seconds|in_secs|for_seconds)['"]?[:=] ?['"]?NUMBER['"]?(?:[^\d.a-z]|$)"#,
    ),
    wait(
        Form::Millis,
        r#"(?:reset|wait|cooldown|backoff|retry)_?(?:after|in|delay|for)?_?(?:ms|millis|milliseconds)['"]?[:=] ?['"]?NUMBER"#,
    ),
    wait(Form::Seconds, r#"retry-after['"]?, ?b?['"]NUMBER['"]"#),
    wait(Form::Seconds, r#"reset-(?:tokens|requests)['"]?, ?b?['"]NUMBER['"]"#),
    wait(
        Form::Span,
        r"\b(?:try|retry|come back|available|resets?|replenished|renewed|refilled) (?:again )?(?:in|after):? ((?:\d{1,3}\.)?\d{1,3}:\d{2}:\d{2})\b",
    ),
    wait(Form::Seconds, r"\bretry after:? NUMBER(?:\.? |\.?$)"),
    wait(Form::Duration, r"(\d{1,9}(?:\.\d{1,6})? ?(?:秒|分钟|分|个?小时|天))(?:钟)?(?:后|之后|以后)"),
    wait(Form::Seconds, r"NUMBER ?s(?:后|之后)"),
    wait(Form::Duration, r"(\d{1,9} ?(?:秒|分|時間|日))間?後"),
    wait(Form::Duration, r"(\d{1,9} ?(?:초|분|시간|일)) ?(?:후|뒤)"),
    wait(Form::Duration, r"\bin (\d{1,9} (?:sekunden?|minuten|stunden?|tagen))\b"),
    wait(Form::Duration, r"\bdans (?:environ )?(\d{1,9} (?:secondes?|minutes?|heures?|jours?))\b"),
    wait(Form::Duration, r"\be[nm] (\d{1,9} (?:segundos?|minutos?|horas?))\b"),
    wait(Form::Epoch, r#"usage limit reached\|(\d{10})"#),
    wait(Form::Epoch, r#"(?:resets?|retry)_?(?:at|on|time|time_?stamp)['"]?[:=] ?['"]?(\d{10}(?:\d{3})?)\b"#),
    wait(
        Form::Epoch,
        r#"ratelimit-remaining['"]?: ?['"]?0['"]?, ?['"]?x-ratelimit-reset['"]?: ?['"]?(\d{10}(?:\d{3})?)\b"#,
    ),
    wait(Form::Moment, r#"(?:resets?|retry)_?(?:at|on|time|time_?stamp)['"]?[:=] ?['"]?MOMENT"#),
    wait(
        Form::Moment,
        r"(?:try again|retry|resets?|reset|available again|regain access|come back|renews?|restored|lifted|blocked|limited|again)(?: your requests?)? (?:at|after|on|until) MOMENT",
    ),
    wait(
        Form::Dated,
        r"(?:try again|retry|resets?|reset|available again|regain access|come back|renews?|restored|lifted|blocked|limited|again) (?:at|after|on|until) ([a-z]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4},? (?:at )?\d{1,2}:\d{2}(?: ?[ap]m)?)\b",
    ),
    wait(
        Form::Clock,
        r"resets?(?: (?:at|on))? ((?:[a-z]{3,9} \d{1,2},? (?:at )?)?(?:\d{1,2}(?::\d{2})? ?(?:am|pm)|midnight|\d{1,2}:\d{2}) ?\(?(?:[a-z_]{2,20}/[a-z_/]{2,30}|utc|gmt)\b)",
    ),
    wait(
        Form::Clock,
        r"(?:try again|retry|available again) (?:at|after) ((?:\d{1,2}(?::\d{2})? ?(?:am|pm)|midnight|\d{1,2}:\d{2}) ?\(?(?:[a-z_]{2,20}/[a-z_/]{2,30}|utc|gmt)\b)",
    ),
    Wait {
        pattern: r"\bretrying (?:again )?(?:in|after) (?:about |\x7e ?)?DURATION",
        form: Form::Duration,
        by: By::Client,
    },
    Wait {
        pattern: r"(?:will|to|auto|next|automatic|before) (?:auto-?)?retry (?:in|after) \x7e?DURATION",
        form: Form::Duration,
        by: By::Client,
    },
    Wait {
        pattern: r"\b(?:waiting|sleeping|pausing|backing off)(?: for)? (?:a further |an additional |at least another )?ABOUTDURATION",
        form: Form::Duration,
        by: By::Client,
    },
    Wait { pattern: r"\bretry (?:in|after) \x7e?DURATION[^a-z]{0,8}attempt", form: Form::Duration, by: By::Client },
    Wait {
        pattern: r"\battempt [0-9/# ]{1,8}[^a-z]{0,4}retry (?:in|after) \x7e?DURATION",
        form: Form::Duration,
        by: By::Client,
    },
];

impl Wait {
    /// The pattern with its placeholders filled in.
    pub(super) fn expanded(&self) -> String {
        let unit = "(?:milliseconds?|ms|months?|minutes?|mins?|m|seconds?|secs?|s|hours?|hrs?|h|days?|d|weeks?)";
        let number = r"(?:\d{1,9}(?:\.\d{1,12})?|one|two|three|five|ten|thirty|sixty)";
        let one = "an? (?:second|minute|hour|day|week|month)";
        let duration = format!(r"({one}|(?:{number} ?{unit}(?:, and |, | and | )?){{1,5}})\b");
        let moment = r"(\d{4}-\d{2}-\d{2}(?:t| | at )\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?: ?(?:z|utc|gmt)| ?[+-]\d{2}:?\d{2})?)";
        self.pattern
            .replace("ABOUT", r"(?:about |approximately |around |another |up to |roughly |\x7e ?)?")
            .replace("DURATION", &duration)
            .replace("NUMBER", r"(\d{1,12}(?:\.\d{1,12})?)")
            .replace("MOMENT", moment)
    }

    fn read(&self, value: &str, now: Option<Timestamp>) -> Option<Duration> {
        match self.form {
            Form::Duration => parse::duration(value),
            Form::Seconds => parse::seconds(value),
            Form::Millis => parse::millis(value),
            Form::Epoch => parse::epoch(value, now?),
            Form::Moment => parse::moment(value, now?),
            Form::Clock => parse::clock(value, now?),
            Form::Span => parse::span(value),
            Form::Dated => parse::dated(value, now?),
        }
    }
}

/// What was said about waiting.
#[derive(Clone, Copy, Default)]
pub(super) struct Said {
    /// The wait the failing side asks for.
    pub(super) by_provider: Option<Duration>,
    /// The wait a client announced for itself. It tells a long outage from a short one, no more.
    pub(super) by_client: Option<Duration>,
}

/// Collects what headers and body say about waiting.
pub(super) fn said(evidence: &Evidence<'_>, kind: FailureKind, text: &Text, table: &Table, found: &Found) -> Said {
    let place = place(kind);
    if place == Place::Nowhere {
        return Said::default();
    }
    let now = evidence.now.or_else(|| parse::http_date(evidence.header("date")?));
    let limited = matches!(kind, FailureKind::RateLimit | FailureKind::QuotaExhausted | FailureKind::Overloaded);
    if let Some(asked) = header::asked(evidence, now) {
        return Said { by_provider: Some(asked), by_client: None };
    }
    if place == Place::Headers {
        return Said::default();
    }
    let waits = table.waits(text, found);
    let announced = values(By::Client, &waits).take(ANNOUNCED_MAX).collect::<Vec<_>>();
    let is_clients = |value: &Range<usize>| announced.iter().any(|(_, clients)| clients.start == value.start);
    let read = |(wait, value): (usize, Range<usize>)| {
        let value = std::str::from_utf8(text.shown.get(value)?).ok()?;
        WAITS[wait].read(value, now)
    };
    let stated = values(By::Provider, &waits)
        .filter(|(_, value)| !is_clients(value))
        .find_map(read)
        .or_else(|| if limited { header::reset(evidence, now) } else { None });
    Said { by_provider: stated, by_client: announced.iter().cloned().find_map(read) }
}

/// What one side states, in the order of the table: which wait, and where its value stands.
fn values<'a>(by: By, waits: &'a [Stated<'a>]) -> impl Iterator<Item = (usize, Range<usize>)> + 'a {
    let of_side = waits.iter().filter(move |stated| WAITS[stated.wait].by == by);
    of_side.filter_map(|stated| Some((stated.wait, stated.value()?)))
}

/// How long until the moment that a header about a limit's reset states.
pub(crate) fn reset_of(value: &str, now: Timestamp) -> Option<Duration> {
    header::reset_value(value, Some(now)).filter(|wait| *wait <= WAIT_MAX)
}

/// Where a wait may be stated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    HeadersAndBody,
    /// A number in a message about permission is advice on what to do next.
    Headers,
    Nowhere,
}

/// Where a failure of this kind states a wait. One in a message about a bad request is none.
fn place(kind: FailureKind) -> Place {
    match kind {
        FailureKind::RateLimit
        | FailureKind::QuotaExhausted
        | FailureKind::Overloaded
        | FailureKind::ServerError
        // One request above an allowance per minute: some providers state the window all the same.
        | FailureKind::ContextLimit
        // One that is paused or degraded comes back.
        | FailureKind::ModelUnavailable
        | FailureKind::Timeout => Place::HeadersAndBody,
        FailureKind::AuthError | FailureKind::NetworkTransient => Place::Headers,
        FailureKind::NetworkPermanent
        | FailureKind::ContentFilter
        | FailureKind::InvalidRequest
        | FailureKind::StateLost
        | FailureKind::StreamInterrupted
        | FailureKind::ProcessDied
        | FailureKind::BadOutput
        | FailureKind::Cancelled
        | FailureKind::Unknown => Place::Nowhere,
    }
}

#[cfg(test)]
mod tests;
