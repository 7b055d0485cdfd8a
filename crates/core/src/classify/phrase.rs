//! Phrases: patterns compiled for one purpose, to be tried where their first word stands.
//!
//! A pattern is written as a regular expression and means the same; it may not be unbounded and
//! must begin with a word, so that a text can be searched for a thousand patterns at once: look
//! up every word of it, and run the few patterns that begin so. Running means plain backtracking
//! with a budget. A regex engine would do more than is asked, and with so many patterns it is too
//! slow: one `RegexSet` over the table takes milliseconds for one error (see the benchmark).

mod literal;
mod program;
mod run;
mod set;
mod start;

use std::ops::Range;

use regex_syntax::ParserBuilder;

pub(super) use literal::{HEAD_BYTES, Literal, head, starts_with};
pub(super) use start::{ALWAYS_NOTE, BEYOND_NOTE, KEY_BYTES, LONG_BYTES, NOTE_BITS, joined_note, long_note, note};

use program::Step;
use run::Runner;

/// What `&` stands for: every way to say that something could not be done.
const FAILED: &str = "(?:failed to|unable to|could not|couldn't|cannot|can't|can not|not able to|failure to)";
/// Verbs that are written with their "not" in one word as often as in two.
const CONTRACTED: [&str; 10] = ["is", "are", "was", "were", "does", "do", "did", "has", "have", "could"];

/// A compiled pattern.
pub(super) struct Phrase {
    program: Box<[Step]>,
    /// How its matches begin.
    pub(super) starts: Vec<Vec<u8>>,
    /// Notes of words that its matches hold further on: one of each list.
    pub(super) needs: Vec<Box<[u16]>>,
}

/// How much of a match is known before it is run.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// Where the program goes on.
    step: u16,
    /// Behind how many bytes.
    bytes: u8,
}

/// Why a pattern cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It is no regular expression.
    Syntax(String),
    /// It repeats something without end.
    Unbounded,
    /// It does not begin with a word, or in too many ways.
    NoStart,
}

impl Phrase {
    /// Compiles `pattern`, in which `~` stands for up to sixty bytes of anything
    /// before a word or a sign, and `&` for "failed to" in all its wordings.
    pub(super) fn new(pattern: &str) -> Result<Self, Unusable> {
        let pattern = expand(pattern);
        let parser = ParserBuilder::new().unicode(false).utf8(false).build().parse(&pattern);
        let hir = parser.map_err(|error| Unusable::Syntax(error.to_string()))?;
        if hir.properties().maximum_len().is_none() {
            return Err(Unusable::Unbounded);
        }
        let starts = start::beginnings(&hir).ok_or(Unusable::NoStart)?;
        Ok(Self { program: program::program(&hir), starts, needs: start::needs(&hir) })
    }

    /// How far a match that begins with `start` goes without a choice.
    pub(super) fn known(&self, start: &[u8]) -> Known {
        let mut known = Known::default();
        loop {
            let rest = &start[usize::from(known.bytes)..];
            let (step, len) = match &self.program[usize::from(known.step)] {
                // The first is looked at in any case.
                Step::Look(_) if known.step == 0 => (known.step + 1, 0),
                Step::Literal(literal) if literal.stands_at(rest, 0) => (known.step + 1, literal.len()),
                Step::Class(set) if rest.first().is_some_and(|byte| set.has(*byte)) => (known.step + 1, 1),
                Step::Jump(to) => (*to as u16, 0),
                Step::Choice(places) => {
                    let mut fitting = places.iter().filter(|place| rest.first() == Some(&place.first));
                    match (fitting.next(), fitting.next()) {
                        (Some(place), None) => (place.step, 0),
                        _ => return known,
                    }
                }
                _ => return known,
            };
            known = Known { step, bytes: known.bytes + len as u8 };
        }
    }

    /// Where a match that begins at `at` ends, if so much of it is known.
    pub(super) fn end(&self, text: &[u8], words: &[u32], at: usize, known: Known) -> Option<usize> {
        Runner::new(&self.program, text, words).begin(at, known)
    }

    /// The value that a match beginning at `at` reads out.
    pub(super) fn value(&self, text: &[u8], words: &[u32], at: usize, known: Known) -> Option<Range<usize>> {
        let mut run = Runner::new(&self.program, text, words);
        run.begin(at, known)?;
        Some(run.value()).filter(|value| !value.is_empty())
    }
}

/// A pattern with its short forms written out.
fn expand(pattern: &str) -> String {
    let mut expanded = String::with_capacity(2 * pattern.len());
    for (index, part) in pattern.split(" not").enumerate() {
        if index > 0 {
            let is_contracted = CONTRACTED.iter().any(|verb| expanded.ends_with(verb));
            expanded.push_str(if is_contracted { "(?: not|n't)" } else { " not" });
        }
        expanded.push_str(part);
    }
    if expanded.contains(['~', '&']) {
        return expanded.replace('~', ".{0,60}").replace('&', FAILED);
    }
    expanded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn starts_of(pattern: &str) -> String {
        let phrase = Phrase::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error:?}"));
        let starts: Vec<_> = phrase.starts.iter().map(|start| String::from_utf8_lossy(start)).collect();
        starts.join("|")
    }

    #[test]
    fn patterns_are_looked_up_by_how_they_begin() {
        let table = [
            (r"\bcontext~exceed", "context"),
            (r"\b(?:is|are) overloaded", "are overloaded|is overloaded"),
            (r"(?:exceed|exceeds|exceeded)\b", "exceed"),
            (r"(?:please )?wait (?:for|until) x", "please wait |wait for|wait until"),
            (r"wait (?:for )?[a-z]", "wait "),
            (r"cancell?ed", "canceled|cancelled"),
            (r"no [ab]c", "no ac|no bc"),
            // What may come again leaves open what follows it.
            (r"(?:the |some ){0,2}cat sat", "cat sat|some |the "),
        ];
        for (pattern, expected) in table {
            assert_eq!(starts_of(pattern), expected, "{pattern}");
        }
        assert_eq!(Phrase::new("a+b").err(), Some(Unusable::Unbounded));
        assert_eq!(Phrase::new("[a-z]b").err(), Some(Unusable::NoStart));
        assert!(matches!(Phrase::new("a("), Err(Unusable::Syntax(_))));
    }

    #[test]
    fn wordings_are_the_same_words() {
        let ends = |pattern: &str, text: &str| {
            Phrase::new(pattern).unwrap().end(text.as_bytes(), &[], 0, Known::default()).is_some()
        };
        for text in ["failed to connect", "couldn't connect", "can not connect", "unable to connect"] {
            assert!(ends(r"\b& connect\b", text), "{text}");
        }
        assert!(!ends(r"\b& connect\b", "did connect"));
        assert!(ends(r"\bis not set\b", "isn't set") && ends(r"\bis not set\b", "is not set"));
        assert!(!ends(r"\bis not set\b", "is set"));
    }

    #[test]
    fn values_are_read_whole() {
        let phrase = Phrase::new(r"in (\d{1,9}(?:\.\d{1,9})?) ?s").unwrap();
        let value =
            |text: &str| phrase.value(text.as_bytes(), &[], 0, Known::default()).map(|range| text[range].to_owned());
        assert_eq!(value("in 3032.5 s").as_deref(), Some("3032.5"));
        assert_eq!(value("in s"), None);
    }

    #[test]
    fn a_hopeless_try_ends() {
        let phrase = Phrase::new("a~b~c~d~e").unwrap();
        let text = "a b ".repeat(100) + &"c d ".repeat(100);
        let words: Vec<u32> = (0..800).step_by(2).collect();
        assert_eq!(phrase.end(text.as_bytes(), &words, 0, Known::default()), None);
    }

    proptest! {
        /// It means what a regex engine says it means.
        #[test]
        fn agrees_with_the_regex_engine(text in "[ab :0-9]{0,24}") {
            for pattern in [r"a(?:b|ab?){0,2}:", r"ab? ?\d{1,3}\b", r"(?:ab|b).{0,9}: ?\d", r"b[a:]{1,3}$"] {
                let ours = Phrase::new(pattern).unwrap();
                let known = ours.starts.iter().find(|start| text.as_bytes().starts_with(start)).map(|start| ours.known(start));
                let end = |known| ours.end(text.as_bytes(), &[], 0, known);
                prop_assert!(known.is_none_or(|known| end(known) == end(Known::default())), "{}", pattern);
                let expanded = format!("^(?:{})", pattern.replace('$', " *$"));
                let theirs = regex::bytes::RegexBuilder::new(&expanded).unicode(false).build().unwrap();
                prop_assert_eq!(ours.end(text.as_bytes(), &[], 0, Known::default()).is_some(), theirs.is_match(text.as_bytes()), "{}", pattern);
            }
        }
    }
}
