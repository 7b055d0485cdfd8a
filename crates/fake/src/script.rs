//! Scripts: which fault which request meets, as text and as a file.

mod file;
mod parse;

pub(crate) use file::read;
pub(crate) use parse::parse;

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::spec::Spec;

/// Why a script cannot be played: where it stops making sense, and what was expected there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}expected {expected}, found {found}{}", hint.as_ref().map(|hint| format!("; did you mean `{hint}`?")).unwrap_or_default())]
pub struct ScriptError {
    /// Where: file, key and column, as far as known.
    place: String,
    expected: String,
    found: String,
    hint: Option<String>,
    column: usize,
}

impl ScriptError {
    /// The position of the first character that makes no sense, counted from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The same error, found at this key of a file.
    fn at_key(mut self, key: &str) -> Self {
        self.place = format!("{key}, {}", self.place);
        self
    }
}

/// A script as written; a [`Schedule`](crate::schedule::Schedule) plays it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
    /// Whether the sequence starts over at its end.
    pub(crate) loops: bool,
}

impl Script {
    /// The one spec that every request meets, if it is that simple.
    pub(crate) fn constant(&self) -> Option<&Arc<Spec>> {
        match self.steps.as_slice() {
            [step] if step.conditions.is_empty() && step.times.is_none() => Some(&step.spec),
            _ => None,
        }
    }
}

/// One part of a script between semicolons.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    /// All must hold. A step without any is part of the sequence.
    pub(crate) conditions: Vec<Condition>,
    pub(crate) spec: Arc<Spec>,
    pub(crate) times: Option<u32>,
}

/// When a step applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Condition {
    /// With this probability, from 0 to 1.
    Chance(f64),
    /// In this window since the script began.
    Window(Duration, Option<Duration>),
    /// On for the first duration, off for the second, over and over.
    Flap(Duration, Duration),
    /// Once this many requests came in the current window of this length.
    Rate(u32, Duration),
    /// Once this many requests came at all.
    Quota(u32),
    /// While more than this many requests run.
    Concurrency(u32),
    /// Only requests for a stream.
    Stream,
    /// Only requests for a whole answer.
    Plain,
}
