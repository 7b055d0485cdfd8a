//! Secrets: values that cannot be printed, and the masking of everything that may hold one.

use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Serialize, Serializer};
use steadfast_core::redact;

use crate::node::{Node, Origin, Value};

pub use steadfast_core::redact::MASK;

/// A value that prints as `***`, however it is printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that sends or compares it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

/// The parts of a line that may be a secret.
///
/// Works on text, not on values, because the line of a syntax error has no values. It would
/// rather hide too much: what is hidden can be looked up in the file, what is shown cannot be unseen.
pub(crate) fn secret_ranges(line: &str) -> Vec<Range<usize>> {
    let mut ranges = redact::secret_ranges(line);
    for named in NAMED.find_iter(line) {
        let value = before_comment(&line[named.end()..]);
        for quoted in QUOTED.find_iter(value) {
            // `{ env = "NAME" }` and `{ file = "…" }` only say where the secret is.
            if !REFERENCE.is_match(value[..quoted.start()].trim_end()) {
                ranges.push(named.end() + quoted.start()..named.end() + quoted.end());
            }
        }
        if !value.contains(['"', '\'']) {
            // A key without quotes is a syntax error whose line is shown.
            let bare = if value.starts_with(['{', '[']) { 0 } else { value.len() };
            ranges.push(named.end()..named.end() + bare);
        }
    }
    redact::merged(ranges)
}

/// The texts of a line that stands in the middle of something, whose name is on another line: for
/// lines without structure, where nothing else tells what they belong to.
pub(crate) fn lone_texts(line: &str) -> Vec<Range<usize>> {
    if line.contains('=') || line.trim_start().starts_with('[') {
        return Vec::new();
    }
    QUOTED.find_iter(line).map(|quoted| quoted.range()).collect()
}

/// Where a file holds secrets in plain text: texts under a key that is one by its name, however
/// many lines lie between.
pub(crate) fn written_secrets(tree: &Node) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    collect(tree, Suspicion::None, &mut found);
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Suspicion {
    None,
    Secret,
}

fn collect(node: &Node, suspicion: Suspicion, found: &mut Vec<Range<usize>>) {
    match (&node.value, &node.origin) {
        (Value::Text(_), Origin::File { value, .. }) if suspicion == Suspicion::Secret => found.push(value.clone()),
        (Value::List(items), _) => items.iter().for_each(|item| collect(item, suspicion, found)),
        (Value::Table(entries), _) => {
            for (name, node) in entries {
                let named = NAMED.is_match(&format!("{name} ="));
                let reference = matches!(name.as_str(), "env" | "file");
                let inherited = if reference { Suspicion::None } else { suspicion };
                collect(node, if named { Suspicion::Secret } else { inherited }, found);
            }
        }
        _ => {}
    }
}

/// The text up to a comment.
fn before_comment(text: &str) -> &str {
    let mut quote = None;
    let comment = text.find(|letter| {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        letter == '#' && quote.is_none()
    });
    text[..comment.unwrap_or(text.len())].trim_end()
}

/// The text without what may be a secret.
pub(crate) fn mask(text: &str) -> String {
    without(text, &secret_ranges(text))
}

/// The text without what looks like a key by itself: for our own words, which name keys all the time.
pub(crate) fn mask_tokens(text: &str) -> String {
    without(text, &redact::secret_ranges(text))
}

fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut shown = 0;
    for range in ranges {
        masked.push_str(&text[shown..range.start]);
        masked.push_str(MASK);
        shown = range.end;
    }
    masked.push_str(&text[shown..]);
    masked
}

/// The address without its password, and without the query, where tokens travel.
pub(crate) fn mask_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return mask(url) };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = match authority.rsplit_once('@') {
        None => authority.to_owned(),
        Some((user, host)) => format!("{}:{MASK}@{host}", user.split(':').next().unwrap_or("")),
    };
    let path = path.split(['?', '#']).next().unwrap_or("");
    mask(&format!("{scheme}://{host}{path}"))
}

/// A key whose value is a secret by its name.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)["']?(?:[a-z0-9_.-]*(?:key|token|secret|passw(?:or)?d|pass|pwd|authorization|cookie|credential|webhook|header))s?["']?\s*=\s*"#,
    )
});

static QUOTED: LazyLock<Regex> = LazyLock::new(|| regex(r#""(?:[^"\\]|\\.)*"?|'[^']*'?"#));

static REFERENCE: LazyLock<Regex> = LazyLock::new(|| regex(r#"\b["']?(?:env|file)["']?\s*=$"#));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of this module are tested")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints() {
        let secret = Secret::new("sk-live-123");
        assert_eq!(format!("{secret} {secret:?} {}", serde_json::to_string(&secret).unwrap()), "*** *** \"***\"");
        assert_eq!(secret.expose(), "sk-live-123");
    }

    #[test]
    fn lines_are_shown_without_their_secrets() {
        for (line, shown) in [
            (r#"key = "abc""#, "key = ***"),
            ("key = 'abc'", "key = ***"),
            ("key = abc # mine", "key = *** # mine"),
            ("alerts.webhook=not a url/T0SECRET", "alerts.webhook=***"),
            (r#"key = "abc"#, "key = ***"),
            (r#"keys = ["a", { env = "B" }, "c"]"#, r#"keys = [***, { env = "B" }, ***]"#),
            (r#"key = { env = "ANTHROPIC_API_KEY" }"#, r#"key = { env = "ANTHROPIC_API_KEY" }"#),
            (r#"key = { env = "X" } # the client's own"#, r#"key = { env = "X" } # the client's own"#),
            (r#"a = 1 # key = "abc""#, "a = 1 # key = ***"),
            (r#"api_key = "x""#, "api_key = ***"),
            (r#"headers = { Authorization = "Bearer abc" }"#, "headers = { Authorization = *** }"),
            (r#"dialect = "sk-ant-api03-abcdefgh""#, r#"dialect = "sk-***""#),
            (r#"url = "https://h/v1?key=abcdef""#, r#"url = "https://h/v1?key=***"#),
            (r#"url = "mysql://u:p@ss/w0rd@h/x""#, r#"url = "mysql://u:***@h/x""#),
            (r#"header = { x-auth = "hunter3" }"#, "header = { x-auth = *** }"),
            (r#"pwd = "hunter4""#, "pwd = ***"),
            (r#"url = "postgres://me:hunter2@db/x""#, r#"url = "postgres://me:***@db/x""#),
            (r#"webhook = "https://hooks.example/T0/B0/x""#, "webhook = ***"),
            (r#"[models."gpt-4.1"]"#, r#"[models."gpt-4.1"]"#),
            (r#"[models.claude-sonnet-4-5]"#, "[models.claude-sonnet-4-5]"),
            (r#"usd_per_session = 2.0"#, "usd_per_session = 2.0"),
        ] {
            assert_eq!(mask(line), shown);
        }
    }

    #[test]
    fn addresses_are_shown_without_passwords_and_queries() {
        assert_eq!(mask_url("postgres://me:pw@db:5432/x?sslmode=require"), "postgres://me:***@db:5432/x");
        assert_eq!(mask_url("redis://:pw@h"), "redis://:***@h");
        assert_eq!(mask_url("sqlite:steadfast.db"), "sqlite:steadfast.db");
    }
}
