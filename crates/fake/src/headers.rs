//! The headers a provider sends with every answer, as lines ready for the wire.

use std::cell::RefCell;
use std::fmt::{Display, Write as _};
use std::time::Duration;

use jiff::Timestamp;

use crate::call::Vendor;

/// Header lines, each ended by CRLF.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers(String);

impl Headers {
    pub(crate) fn add(&mut self, name: &str, value: impl Display) {
        // Writing to memory cannot fail.
        let _ = write!(self.0, "{name}: {value}\r\n");
    }

    pub(crate) fn lines(&self) -> &str {
        &self.0
    }

    /// Takes all lines of this name away.
    pub(crate) fn remove(&mut self, name: &str) {
        let kept = self.0.split_inclusive("\r\n").filter(|line| {
            let found = line.split(':').next().unwrap_or_default();
            !found.eq_ignore_ascii_case(name)
        });
        self.0 = kept.collect();
    }

    /// Name and value of each line.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        pairs(&self.0)
    }
}

/// Name and value of each header line.
pub(crate) fn pairs(lines: &str) -> impl Iterator<Item = (&str, &str)> {
    lines.split("\r\n").filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim()))
}

/// What is left of a caller's allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowance {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    pub(crate) reset: Duration,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { limit: 10_000, remaining: 9_999, reset: Duration::from_millis(6) }
    }
}

/// The headers this vendor sends with any answer.
pub(crate) fn of_vendor(vendor: Vendor, number: u64, allowance: Allowance) -> Headers {
    let mut headers = Headers(String::with_capacity(768));
    with_date(|date| headers.add("date", date));
    match vendor {
        Vendor::OpenAi => openai(&mut headers, number, allowance),
        Vendor::Anthropic => anthropic(&mut headers, number, allowance),
        Vendor::Gemini => {
            headers.0.push_str(
                "vary: Origin\r\nvary: X-Origin\r\nvary: Referer\r\nserver: scaffolding on HTTPServer2\r\n\
                 x-xss-protection: 0\r\nx-frame-options: SAMEORIGIN\r\nx-content-type-options: nosniff\r\n\
                 server-timing: gfet4t7; dur=7\r\n",
            );
        }
    }
    headers
}

fn openai(headers: &mut Headers, number: u64, allowance: Allowance) {
    headers.0.push_str(
        "server: cloudflare\r\ncf-cache-status: DYNAMIC\r\nopenai-version: 2020-10-01\r\n\
         openai-organization: org-fake\r\nopenai-processing-ms: 7\r\n",
    );
    headers.add("x-request-id", format_args!("req_{number:032x}"));
    headers.add("x-ratelimit-limit-requests", allowance.limit);
    headers.add("x-ratelimit-remaining-requests", allowance.remaining);
    headers.add("x-ratelimit-reset-requests", go_duration(allowance.reset));
    // A tenth of a minute's tokens is spent, and back in a tenth of a minute.
    headers.0.push_str(
        "x-ratelimit-limit-tokens: 2000000\r\nx-ratelimit-remaining-tokens: 1800000\r\nx-ratelimit-reset-tokens: 6s\r\n",
    );
}

fn anthropic(headers: &mut Headers, number: u64, allowance: Allowance) {
    headers.0.push_str(
        "server: cloudflare\r\ncf-cache-status: DYNAMIC\r\nx-robots-tag: none\r\n\
         anthropic-organization-id: 00000000-0000-4000-8000-00000000fa4e\r\n",
    );
    headers.add("request-id", format_args!("req_011Fake{number:017x}"));
    headers.add("anthropic-ratelimit-requests-limit", allowance.limit);
    headers.add("anthropic-ratelimit-requests-remaining", allowance.remaining);
    headers.add("anthropic-ratelimit-requests-reset", rfc3339(allowance.reset));
    headers.0.push_str(
        "anthropic-ratelimit-input-tokens-limit: 2000000\r\nanthropic-ratelimit-input-tokens-remaining: 1999000\r\n\
         anthropic-ratelimit-output-tokens-limit: 400000\r\nanthropic-ratelimit-output-tokens-remaining: 399000\r\n",
    );
}

/// `6m0s`, `1.5s`, `6ms`: how OpenAI writes a duration.
pub(crate) fn go_duration(wait: Duration) -> String {
    let ms = wait.as_millis();
    let (hours, minutes, rest) = (ms / 3_600_000, ms / 60_000 % 60, ms % 60_000);
    let seconds = match (rest / 1000, rest % 1000) {
        (seconds, 0) => seconds.to_string(),
        (seconds, ms) => format!("{seconds}.{ms:03}").trim_end_matches('0').to_owned(),
    };
    match (hours, minutes) {
        (0, 0) if ms < 1000 => format!("{ms}ms"),
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// The moment this far ahead, in whole seconds, never early.
pub(crate) fn rfc3339(ahead: Duration) -> String {
    later(ahead).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The moment this far ahead as an HTTP date, never early.
pub(crate) fn http_date(ahead: Duration) -> String {
    later(ahead).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// The moment this far ahead, rounded up to a whole second.
pub(crate) fn later(ahead: Duration) -> Timestamp {
    let now = Timestamp::now();
    let ms = now.as_millisecond() + i64::try_from(ahead.as_millis()).unwrap_or(0);
    Timestamp::from_second((ms + 999).div_euclid(1000)).unwrap_or(now)
}

/// Calls with the date of this second, formatted once per second and thread.
fn with_date(write: impl FnOnce(&str)) {
    thread_local! {
        static DATE: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
    }
    let now = Timestamp::now();
    DATE.with_borrow_mut(|(second, date)| {
        if *second != now.as_second() {
            *second = now.as_second();
            *date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        }
        write(date);
    });
}
