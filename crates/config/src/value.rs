//! Values with a text form of their own: durations, money, counts, addresses, secrets.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use steadfast_core::policy::limits;

use crate::node::{Node, Path, Value};
use crate::problem::Report;
use crate::read::{Read, section};
use crate::secret;

/// A duration written as text with its unit: `"250ms"`, `"30s"`, `"10m"`, `"1h30m"`, `"7d"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait(pub(crate) Duration);

/// Dollars, as a number or as text: `2.5` or `"$2.50"`. Kept in whole micro-dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usd {
    pub(crate) micros: u64,
}

/// A whole number with bounds. What is one but out of them is refused by whoever knows what to write instead; what is
/// none is told the same bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count<const MIN: u32, const MAX: u32>(pub(crate) u32);

/// How often a step may be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times(pub(crate) u32);

/// An address that starts with `http://` or `https://`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebUrl(pub(crate) String);

section! {
    /// Where a secret is kept. Exactly one of the two.
    SecretFields {
        /// The environment variable that holds it.
        env: String,
        /// The file that holds it, relative to this file's folder.
        file: String,
    }
}

/// Where a secret is kept: `{ env = "NAME" }` or `{ file = "path" }`, never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecretRef {
    Env(String),
    File(String),
}

/// Text that may be kept elsewhere: written out, or as a [`SecretRef`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextOrRef {
    Text(String),
    Ref(SecretRef),
}

/// Reads a duration, exactly: units in descending order, each at most once.
pub fn parse_duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, u128); 7] = [
        ("d", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ];
    let mut rest = text.trim();
    let mut nanos: u128 = 0;
    let mut next_unit = 0;
    if rest.is_empty() || rest.len() > 40 {
        return None;
    }
    while !rest.is_empty() {
        let number_end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let position = UNITS.iter().position(|(name, _)| *name == unit)?;
        if position < next_unit {
            return None;
        }
        next_unit = position + 1;
        nanos = nanos.checked_add(scaled(number, UNITS[position].1)?)?;
        rest = after.trim_start();
    }
    Some(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

/// A decimal number times a unit, in whole nanoseconds.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.len() > 9 {
        return None;
    }
    let mut nanos = whole.parse::<u128>().ok()?.checked_mul(unit)?;
    if !fraction.is_empty() {
        let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        nanos = nanos.checked_add(fraction.parse::<u128>().ok()?.checked_mul(unit)? / scale)?;
    }
    Some(nanos)
}

/// Writes a duration so that [`parse_duration`] gives it back.
pub(crate) fn format_duration(duration: Duration) -> String {
    if duration.is_zero() {
        return "0s".to_owned();
    }
    let seconds = duration.as_secs();
    let nanos = duration.subsec_nanos();
    let parts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
        (u64::from(nanos / 1_000_000), "ms"),
        (u64::from(nanos / 1_000 % 1_000), "us"),
        (u64::from(nanos % 1_000), "ns"),
    ];
    parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect()
}

impl Read for Wait {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        let last = at.last_name();
        let (what, help) = match &node.value {
            Value::Text(text) => match parse_duration(text) {
                Some(duration) => return Some(Self(duration)),
                None => (
                    format!("`{text}` is not a duration"),
                    "a number and its unit (ms, s, m, h or d), such as \"250ms\", \"30s\" or \"1h30m\"".to_owned(),
                ),
            },
            Value::Integer(number) if *number >= 0 => {
                (format!("`{last}` is a number without a unit"), format!("write \"{number}s\" for seconds"))
            }
            other => (
                format!("`{last}` must be a duration, not {}", other.noun()),
                "text with a unit, such as \"30s\"".to_owned(),
            ),
        };
        report.refuse(at, what, help);
        None
    }
}

impl Read for Usd {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        let amount = match &node.value {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Text(text) => text.trim().trim_start_matches('$').parse().ok(),
            _ => None,
        };
        let Some(amount) = amount else {
            let what = format!("`{}` must be an amount in dollars, not {}", at.last_name(), node.value.noun());
            report.refuse(at, what, "a number such as 2.5, or text such as \"$2.50\"");
            return None;
        };
        if !(0.0..=Self::MAX).contains(&amount) {
            let what = format!("`{}` is {amount} but must be between 0 and a million dollars", at.last_name());
            report.refuse(at, what, "an amount in dollars, such as 20.0");
            return None;
        }
        Some(Self { micros: (amount * 1e6).round() as u64 })
    }
}

impl Usd {
    /// More is a slip of the finger.
    const MAX: f64 = 1_000_000.0;
}

impl<const MIN: u32, const MAX: u32> Read for Count<MIN, MAX> {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        count(node, at, report, MIN..=MAX, "write a number in that range").map(Self)
    }
}

impl Read for Times {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        let help = "there is no endless retry: 3 is a good number";
        count(node, at, report, 1..=limits::RETRIES, help).map(Self)
    }
}

/// A number that could be a count at all.
fn count(node: &Node, at: &Path, report: &Report<'_>, bounds: RangeInclusive<u32>, help: &str) -> Option<u32> {
    let (last, min, max) = (at.last_name(), bounds.start(), bounds.end());
    let what = match node.value {
        Value::Integer(number) => match u32::try_from(number) {
            Ok(count) => return Some(count),
            Err(_) => format!("`{last}` is {number} but must be between {min} and {max}"),
        },
        ref other => format!("`{last}` must be a whole number between {min} and {max}, not {}", other.noun()),
    };
    report.refuse(at, what, help);
    None
}

impl Read for WebUrl {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        let text = String::read(node, at, report)?;
        if is_web_url(&text) {
            return Some(Self(text));
        }
        let what = format!("`{}` is not an address", secret::mask_url(&text));
        report.refuse(at, what, "write it in full: https://host/path");
        None
    }
}

/// Whether this is `http(s)://host[:port][/path]` without spaces.
pub(crate) fn is_web_url(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    let host = authority.rsplit('@').next().unwrap_or("");
    let after_bracket = host.rsplit(']').next().unwrap_or("");
    let port_is_sane = match after_bracket.split_once(':') {
        Some((_, port)) => port.parse::<u16>().is_ok_and(|port| port > 0),
        None => true,
    };
    let named = !host.is_empty() && !host.starts_with(':');
    named && port_is_sane && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

impl Read for SecretRef {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        if let Value::Text(_) = node.value {
            let what = format!("`{}` holds a secret in plain text", at.last_name());
            report.refuse(at, what, "keep it outside this file: { env = \"NAME\" } or { file = \"path\" }");
            return None;
        }
        let fields = SecretFields::read(node, at, report)?;
        match (fields.env, fields.file) {
            (Some(name), None) if !name.is_empty() => Some(Self::Env(name)),
            (None, Some(path)) if !path.is_empty() => Some(Self::File(path)),
            _ => {
                if !report.refused_below(at) {
                    let what = format!("`{}` must name exactly one place", at.last_name());
                    report.refuse(at, what, "{ env = \"NAME\" } or { file = \"path\" }");
                }
                None
            }
        }
    }
}

impl Read for TextOrRef {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        match node.value {
            Value::Table(_) => SecretRef::read(node, at, report).map(Self::Ref),
            _ => String::read(node, at, report).map(Self::Text),
        }
    }
}

/// Gives a type a schema without a name of its own.
macro_rules! inline_schema {
    ($type:ty, $name:literal, |$generator:ident| $schema:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}
pub(crate) use inline_schema;

inline_schema!(Wait, "duration", |_generator| json_schema!({
    "type": "string",
    "pattern": r"^\s*([0-9]+(\.[0-9]+)?(d|h|m|s|ms|us|ns)\s*)+$",
    "examples": ["250ms", "30s", "10m", "1h30m"],
}));
inline_schema!(Usd, "usd", |_generator| json_schema!({
    "anyOf": [
        { "type": "number", "minimum": 0, "maximum": 1_000_000 },
        { "type": "string", "pattern": r"^\$?[0-9]+(\.[0-9]+)?$" },
    ],
}));
inline_schema!(Times, "times", |_generator| json_schema!({
    "type": "integer", "minimum": 1, "maximum": limits::RETRIES,
}));
impl<const MIN: u32, const MAX: u32> JsonSchema for Count<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("count_{MIN}_{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

inline_schema!(WebUrl, "url", |_generator| json_schema!({ "type": "string", "pattern": "^https?://" }));
inline_schema!(SecretRef, "secret", |generator| {
    let mut schema = SecretFields::json_schema(generator);
    schema.insert("minProperties".to_owned(), 1.into());
    schema.insert("maxProperties".to_owned(), 1.into());
    schema
});
inline_schema!(TextOrRef, "text", |generator| json_schema!({
    "anyOf": [{ "type": "string" }, SecretRef::json_schema(generator)],
}));

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_need_a_unit_and_keep_their_order() {
        for (text, millis) in [
            ("250ms", 250),
            ("30s", 30_000),
            ("1.5s", 1_500),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            (" 1h 30m ", 5_400_000),
            ("7d", 604_800_000),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            " ",
            "5",
            "s",
            "-1s",
            "1e3s",
            "1s1s",
            "1s1m",
            "1..5s",
            "1.s",
            ".5s",
            "5 s",
            "5weeks",
            "1m!",
            "99999999999d",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_have_a_scheme_and_a_host() {
        for url in ["https://a", "http://127.0.0.1:80/x", "http://[::1]:8080", "https://a.b/c?d=e", "https://u@h"] {
            assert!(is_web_url(url), "{url}");
        }
        for url in
            ["", "https://", "a.b", "ftp://a", "https://a b", "https://:80", "http://a:0", "http://a:x", "https:///x"]
        {
            assert!(!is_web_url(url), "{url}");
        }
    }

    proptest! {
        #[test]
        fn every_duration_reads_back(nanos: u64) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Some(duration));
        }

        #[test]
        fn any_text_is_a_duration_or_none(text in "\\PC{0,20}") {
            let _ = parse_duration(&text);
        }
    }
}
