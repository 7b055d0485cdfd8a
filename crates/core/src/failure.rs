//! A classified failure: what the rest of the engine decides on.

use std::borrow::Cow;
use std::time::Duration;

use crate::kind::{Category, FailureKind};

/// How an attempt ended badly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// How long the failing side asks us to wait.
    pub retry_after: Option<Duration>,
    /// The name of the rule that decided the kind.
    pub rule: Cow<'static, str>,
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// The innermost message, shortened: for people, never for decisions.
    pub message: String,
    /// The tool whose call failed, where the face knows it.
    pub tool: Option<String>,
    /// Whoever saw it first has made the retries: more of them would be the same ones twice.
    pub retried: bool,
}

impl Failure {
    /// A failure of this kind with nothing else known, named after the rule `rule`.
    pub fn new(kind: FailureKind, rule: &'static str) -> Self {
        Self {
            kind,
            retry_after: None,
            rule: Cow::Borrowed(rule),
            status: None,
            message: String::new(),
            tool: None,
            retried: false,
        }
    }

    /// The category of this failure's kind.
    pub const fn category(&self) -> Category {
        self.kind.category()
    }
}
