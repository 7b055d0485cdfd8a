//! What a translation could not carry as it was: said, never silent.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use crate::json::{Broken, Cursor, Text};

/// More than this is a request nobody wrote by hand.
const NAMES_MAX: usize = 24;

/// A longer name is cut: it goes into a header.
const NAME_BYTES_MAX: usize = 48;

/// What was left out and what was changed, by the names of the fields the client sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    dropped: BTreeSet<Cow<'static, str>>,
    changed: BTreeSet<Cow<'static, str>>,
    refused: Option<Refused>,
}

/// A request that the other format cannot carry without changing what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The field the client sent.
    pub field: String,
    /// Why it cannot be carried.
    pub why: String,
}

impl Notes {
    /// This field has no counterpart.
    pub(crate) fn dropped(&mut self, name: &'static str) {
        self.dropped.insert(Cow::Borrowed(name));
    }

    /// The same for a name out of the request itself.
    pub(crate) fn dropped_named(&mut self, within: &str, name: &[u8]) {
        if self.dropped.len() < NAMES_MAX {
            let safe = |byte: &u8| char::from(if is_plain(*byte) { *byte } else { b'_' });
            let name: String = name.iter().take(NAME_BYTES_MAX).map(safe).collect();
            self.dropped.insert(Cow::Owned(format!("{within}{name}")));
        }
    }

    /// This was carried in another form.
    pub(crate) fn changed(&mut self, name: &'static str) {
        self.changed.insert(Cow::Borrowed(name));
    }

    /// This cannot be carried, and without it the request would be another one. The first word stands.
    pub(crate) fn refuse(&mut self, field: &str, why: &str) {
        self.refused.get_or_insert_with(|| Refused { field: field.to_owned(), why: why.to_owned() });
    }

    /// Skips a field that nobody knows; it is noted where it says anything.
    pub(crate) fn skip(&mut self, cursor: &mut Cursor<'_>, within: &str, key: Text<'_>) -> Result<(), Broken> {
        if cursor.is_substantial()? {
            self.dropped_named(within, key.name());
        }
        Ok(())
    }

    /// Why the request cannot be carried at all.
    pub(crate) fn take_refused(&mut self) -> Option<Refused> {
        self.refused.take()
    }

    /// Whether everything was carried as it was.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.changed.is_empty()
    }
}

/// As it stands in a response header: `dropped=logit_bias,seed; changed=thinking`.
impl fmt::Display for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (what, names) in [("dropped", &self.dropped), ("changed", &self.changed)] {
            for (number, name) in names.iter().enumerate() {
                let before = if number == 0 { format!("{separator}{what}=") } else { ",".to_owned() };
                write!(f, "{before}{name}")?;
                separator = "; ";
            }
        }
        Ok(())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` cannot be carried over: {}", self.field, self.why)
    }
}

impl std::error::Error for Refused {}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_read_as_a_header() {
        let mut notes = Notes::default();
        assert_eq!(notes.to_string(), "");
        notes.changed("thinking");
        assert_eq!(notes.to_string(), "changed=thinking");
        notes.dropped("seed");
        notes.dropped_named("tools.", b"web search\r\n");
        assert_eq!(notes.to_string(), "dropped=seed,tools.web_search__; changed=thinking");
    }
}
