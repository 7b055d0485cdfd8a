//! A user's own rules from the config: they come before everything we know.

use std::time::Duration;

use memchr::memmem;
use regex::bytes::Regex;

use super::text::{Text, ends, flatten};
use crate::evidence::Evidence;
use crate::kind::FailureKind;

/// A rule as the user wrote it. It matches when every part that is given matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRule {
    /// Shown as `user.<name>`; without one the rule is named by its place in the list.
    pub name: Option<String>,
    /// HTTP status.
    pub status: Option<u16>,
    /// Text the body contains, without regard to case, line breaks or escapes.
    pub body: Option<String>,
    /// Regular expression over the body as it came.
    pub pattern: Option<String>,
    /// The provider's error code or type.
    pub code: Option<String>,
    /// A header that is present and, where given, contains a value.
    pub header: Option<(String, Option<String>)>,
    /// The provider's name.
    pub provider: Option<String>,
    /// What it means.
    pub kind: FailureKind,
    /// How long to wait, in place of what the evidence says.
    pub retry_after: Option<Duration>,
}

/// A user's rule that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It would match every failure.
    #[error("rule `{rule}` says nothing to match: give it a status, body, pattern, code, header or provider")]
    Empty {
        /// The rule's name or place.
        rule: String,
    },
    /// A part is there but blank.
    #[error("rule `{rule}` has an empty `{part}`: leave it out or give it a value")]
    Blank {
        /// The rule's name or place.
        rule: String,
        /// The empty part.
        part: &'static str,
    },
    /// The status is none.
    #[error("rule `{rule}` has status {status}: a status lies between 100 and 599")]
    Status {
        /// The rule's name or place.
        rule: String,
        /// What was given.
        status: u16,
    },
    /// The regular expression does not compile.
    #[error("rule `{rule}` has a bad pattern: {reason}")]
    Pattern {
        /// The rule's name or place.
        rule: String,
        /// What the regex engine says.
        reason: String,
    },
}

/// A user's rule, ready to match.
pub(super) struct Compiled {
    rule: UserRule,
    /// `user.<name>`.
    pub(super) name: String,
    body: Option<Vec<u8>>,
    pattern: Option<Regex>,
    code: Option<String>,
}

impl UserRule {
    /// A rule that means `kind` and has yet to be told what to match.
    pub const fn new(kind: FailureKind) -> Self {
        Self {
            name: None,
            status: None,
            body: None,
            pattern: None,
            code: None,
            header: None,
            provider: None,
            kind,
            retry_after: None,
        }
    }

    fn parts(&self) -> [(&'static str, Option<&str>); 5] {
        [
            ("body", self.body.as_deref()),
            ("pattern", self.pattern.as_deref()),
            ("code", self.code.as_deref()),
            ("header", self.header.as_ref().map(|(name, _)| name.as_str())),
            ("provider", self.provider.as_deref()),
        ]
    }
}

impl Compiled {
    /// Checks and compiles the rule at place `index` of the user's list.
    pub(super) fn new(rule: &UserRule, index: usize) -> Result<Self, RuleError> {
        let name = rule.name.clone().unwrap_or_else(|| format!("{}", index + 1));
        if rule.status.is_none() && rule.parts().iter().all(|(_, value)| value.is_none()) {
            return Err(RuleError::Empty { rule: name });
        }
        if let Some((part, _)) =
            rule.parts().into_iter().find(|(_, value)| value.is_some_and(|value| value.trim().is_empty()))
        {
            return Err(RuleError::Blank { rule: name, part });
        }
        if let Some(status) = rule.status.filter(|status| !(100..600).contains(status)) {
            return Err(RuleError::Status { rule: name, status });
        }
        let pattern = rule.pattern.as_deref().map(Regex::new).transpose();
        let pattern = pattern.map_err(|error| RuleError::Pattern { rule: name.clone(), reason: error.to_string() })?;
        let body = rule.body.as_ref().map(|body| {
            let mut flat = Vec::new();
            flatten(body.as_bytes(), &mut flat);
            flat.make_ascii_lowercase();
            flat
        });
        let code = rule.code.as_ref().map(|code| code.to_ascii_lowercase());
        Ok(Self { rule: rule.clone(), name: format!("user.{name}"), body, pattern, code })
    }

    /// The kind it means.
    pub(super) fn kind(&self) -> FailureKind {
        self.rule.kind
    }

    /// The wait it sets.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.rule.retry_after
    }

    /// Whether every part that is given matches.
    pub(super) fn matches(&self, evidence: &Evidence<'_>, text: &Text) -> bool {
        self.rule.status.is_none_or(|status| evidence.status == Some(status))
            && self
                .rule
                .provider
                .as_deref()
                .is_none_or(|provider| evidence.provider.is_some_and(|known| known.eq_ignore_ascii_case(provider)))
            && self.rule.header.as_ref().is_none_or(|(name, value)| has_header(evidence, name, value.as_deref()))
            && self.body.as_ref().is_none_or(|body| memmem::find(&text.lower, body).is_some())
            && self.code.as_ref().is_none_or(|code| has_code(&text.lower, code.as_bytes()))
            && self.pattern.as_ref().is_none_or(|pattern| {
                let (head, tail) = ends(evidence.body);
                pattern.is_match(head) || pattern.is_match(tail)
            })
    }
}

fn has_header(evidence: &Evidence<'_>, name: &str, value: Option<&str>) -> bool {
    evidence.header(name).is_some_and(|present| {
        value.is_none_or(|value| present.to_ascii_lowercase().contains(&value.to_ascii_lowercase()))
    })
}

/// A user who names a code means it wherever it stands as a word of its own.
fn has_code(lower: &[u8], code: &[u8]) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    memmem::find_iter(lower, code)
        .any(|start| !is_word(lower[..start].last()) && !is_word(lower.get(start + code.len())))
}
