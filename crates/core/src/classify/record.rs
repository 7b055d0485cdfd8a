//! One line of a file of recorded failures, as the corpus and `explain --jsonl` have them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use crate::evidence::{Evidence, Surface};
use crate::kind::FailureKind;
use crate::time::Timestamp;

/// A recorded failure. The parts that are labels may be missing.
#[derive(Clone, Debug, Deserialize)]
pub struct Record<'a> {
    /// What the record is called.
    #[serde(borrow, default)]
    pub id: Cow<'a, str>,
    /// Who answered or which library spoke.
    #[serde(borrow, default)]
    pub provider: Option<Cow<'a, str>>,
    /// Where it was seen: `http`, `network`, `stream`, `process` or `text`.
    #[serde(borrow, default)]
    pub surface: Option<Cow<'a, str>>,
    /// HTTP status.
    #[serde(default)]
    pub status: Option<u16>,
    /// Response headers.
    #[serde(default)]
    pub headers: Option<BTreeMap<String, String>>,
    /// Body or message.
    #[serde(borrow, default)]
    pub body: Cow<'a, str>,
    /// When it was seen, as RFC 3339.
    #[serde(borrow, default)]
    pub now: Option<Cow<'a, str>>,
    /// The label.
    #[serde(default)]
    pub kind: Option<FailureKind>,
    /// Other labels a careful reader could defend.
    #[serde(default)]
    pub alt: Vec<FailureKind>,
    /// The labelled wait.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
}

impl<'a> Record<'a> {
    /// Reads one line of JSON.
    pub fn from_line(line: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }

    /// The headers as evidence borrows them.
    pub fn header_pairs(&self) -> Vec<(&str, &str)> {
        self.headers.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    /// The record as evidence, with the headers of [`Record::header_pairs`].
    pub fn evidence<'b>(&'b self, headers: &'b [(&'b str, &'b str)]) -> Evidence<'b> {
        Evidence {
            provider: self.provider.as_deref(),
            surface: self.surface(),
            status: self.status,
            headers,
            body: self.body.as_bytes(),
            transport: None,
            exit: None,
            now: self.now.as_deref().and_then(timestamp),
        }
    }

    fn surface(&self) -> Surface {
        match self.surface.as_deref() {
            Some("http") => Surface::Http,
            Some("network") => Surface::Network,
            Some("stream") => Surface::Stream,
            Some("process") => Surface::Process,
            Some(_) => Surface::Text,
            None if self.status.is_some() => Surface::Http,
            None => Surface::Text,
        }
    }
}

fn timestamp(text: &str) -> Option<Timestamp> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_millis(moment.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_evidence() {
        let line = r#"{"id":"a","provider":"openai","surface":"stream","status":200,"headers":{"Retry-After":"4"},
            "body":"data: \"x\"","kind":"rate_limit","alt":["overloaded"],"retry_after_ms":4000,"now":"1970-01-01T00:00:01Z"}"#;
        let record = Record::from_line(line).unwrap();
        let headers = record.header_pairs();
        let evidence = record.evidence(&headers);
        assert_eq!(evidence.surface, Surface::Stream);
        assert_eq!(evidence.header("retry-after"), Some("4"));
        assert_eq!(evidence.body, b"data: \"x\"");
        assert_eq!(evidence.now, Some(Timestamp::from_millis(1000)));
        assert_eq!((record.kind, record.alt.len()), (Some(FailureKind::RateLimit), 1));
    }

    #[test]
    fn a_bare_line_is_enough() {
        let record = Record::from_line(r#"{"body":"boom"}"#).unwrap();
        assert_eq!(record.evidence(&[]).surface, Surface::Text);
        assert!(Record::from_line("boom").is_err());
    }
}
