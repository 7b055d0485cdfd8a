//! Lists come in pages: capped, newest first, and each page says where the next one begins.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::db::Value;
use crate::error::Error;

/// No list is longer, whatever is asked for.
pub const PAGE_MAX: usize = 200;

/// What a list holds where nobody says.
pub const PAGE_DEFAULT: usize = 50;

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// What is on it. It may hold less than asked for, or nothing, although there is a next one: a page
    /// looks at a bounded part of the store.
    pub items: Vec<T>,
    /// Where the next one begins; none after the last.
    pub next: Option<Cursor>,
}

/// Which part of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paging {
    /// Where it begins; the beginning where there is none.
    pub after: Option<Cursor>,
    /// How much is wanted; [`PAGE_DEFAULT`] where nobody says, [`PAGE_MAX`] at most.
    pub limit: Option<usize>,
}

/// A place in a list, as text that means nothing to anybody else.
#[derive(Clone, PartialEq, Eq)]
pub struct Cursor(Vec<String>);

/// Text that is no cursor of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor: use the `next` of the page before")]
pub struct NotACursor;

impl Paging {
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(PAGE_DEFAULT).clamp(1, PAGE_MAX)
    }
}

impl Cursor {
    pub(crate) fn new(parts: impl IntoIterator<Item = String>) -> Self {
        Self(parts.into_iter().collect())
    }

    pub(crate) fn number(&self, at: usize) -> Result<i64, Error> {
        self.text(at)?.parse().map_err(|_| Error::Refused(NotACursor.to_string()))
    }

    pub(crate) fn text(&self, at: usize) -> Result<&str, Error> {
        self.0.get(at).map(String::as_str).ok_or_else(|| Error::Refused(NotACursor.to_string()))
    }
}

impl std::str::FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let digits = text.as_bytes();
        if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > 2048 {
            return Err(NotACursor);
        }
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(NotACursor)?;
        Ok(Self(text.split('\u{1f}').map(str::to_owned).collect()))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.join("\u{1f}").bytes().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Cursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Conditions of a statement, with the values they speak of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    sql: String,
    pub(crate) values: Vec<Value>,
}

impl Conditions {
    /// Goes on counting `$n` after values that are there already.
    pub(crate) const fn after(values: Vec<Value>) -> Self {
        Self { sql: String::new(), values }
    }

    /// Adds `text` with `?` standing for the value.
    pub(crate) fn and(&mut self, text: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let place = format!("${}", self.values.len());
        self.literally(&text.replace('?', &place));
    }

    /// The same with a value for each `?`.
    pub(crate) fn and_all<const N: usize>(&mut self, text: &str, values: [Value; N]) {
        let mut text = text.to_owned();
        for value in values {
            self.values.push(value);
            text = text.replacen('?', &format!("${}", self.values.len()), 1);
        }
        self.literally(&text);
    }

    /// The same where there is a value.
    pub(crate) fn and_some<T: Into<Value>>(&mut self, text: &str, value: Option<T>) {
        if let Some(value) = value {
            self.and(text, value);
        }
    }

    /// Adds a condition without a value.
    pub(crate) fn literally(&mut self, text: &str) {
        self.sql.push_str(if self.sql.is_empty() { "WHERE " } else { " AND " });
        self.sql.push_str(text);
    }

    pub(crate) fn sql(&self) -> &str {
        &self.sql
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sql.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let cursor = Cursor::new(["17".to_owned(), "süß".to_owned()]);
        let again: Cursor = cursor.to_string().parse().unwrap();
        assert_eq!(again, cursor);
        assert_eq!((again.number(0).unwrap(), again.text(1).unwrap()), (17, "süß"));
        assert!(again.number(1).is_err() && again.text(2).is_err());
        for bad in ["", "1", "zz", "ff", "é"] {
            assert_eq!(bad.parse::<Cursor>(), Err(NotACursor), "{bad}");
        }
    }
}
