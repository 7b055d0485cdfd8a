//! The rules compiled: what to look up for every word of a text.
//!
//! A word is looked up twice: whole among the codes, and by its first bytes among the beginnings
//! of phrases ([`super::index`]). Whatever could not outrank the best match so far is not tried,
//! nor is a phrase that needs another word which the text does not have.

use std::ops::Range;

use super::code::{Codes, is_code};
use super::index::Index;
use super::rule::Rule;
use super::text::Text;
use super::wait::{WAITS, Wait};
use super::words::Words;

/// How many stated waits are kept; a body states one or two.
const WAITS_MAX: usize = 8;

/// A compiled table.
pub(super) struct Table {
    rules: Vec<&'static Rule>,
    /// Higher decides: precedence first, then the earlier place in the table.
    ranks: Vec<u32>,
    /// The statuses of each, next to each other because they are asked for often.
    statuses: Vec<&'static [u16]>,
    codes: Codes,
    phrases: Index,
    waits: Index,
}

/// What was found in a text.
pub(super) struct Found {
    /// The rule that outranks all others that match, and where it does.
    pub(super) rule: Option<(&'static Rule, Range<usize>)>,
    words: Words,
}

impl Table {
    /// Compiles `rules` and the waits.
    pub(super) fn new(rules: Vec<&'static Rule>) -> Self {
        let mut codes = Codes::default();
        let mut phrases = Vec::new();
        let mut ranks = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            rule.codes.iter().for_each(|code| codes.add(code, index as u16));
            let rank = (u32::from(rule.precedence()) << 16) | (0xffff - index as u32);
            phrases.extend(rule.texts.iter().map(|text| (index as u16, rank, *text)));
            ranks.push(rank);
        }
        let waits: Vec<String> = WAITS.iter().map(Wait::expanded).collect();
        let waits = waits.iter().enumerate().map(|(index, wait)| (index as u16, u32::MAX, wait.as_str()));
        let statuses = rules.iter().map(|rule| rule.statuses).collect();
        Self { rules, ranks, statuses, codes, phrases: Index::new(phrases.into_iter()), waits: Index::new(waits) }
    }

    /// Every rule, in the order of the table.
    pub(super) fn rules(&self) -> &[&'static Rule] {
        &self.rules
    }

    /// Reads `text` and returns what outranks everything else in it.
    pub(super) fn search(&self, text: &Text, status: Option<u16>) -> Found {
        let mut found = Found { rule: None, words: Words::new() };
        let mut best = 0;
        found.words.read(text, |word, shaped| {
            self.codes.find(text, &word, shaped, |rule, anywhere| {
                let rank = self.ranks[usize::from(rule)];
                if rank > best && self.holds(rule, status) && is_code(&text.lower, &word, anywhere) {
                    best = rank;
                    found.rule = Some((self.rules[usize::from(rule)], word.clone()));
                }
            });
        });
        self.phrases.find(text, &found.words, best, |rule, phrase, words, at| {
            let end = if self.holds(rule, status) { phrase.end(&text.lower, words, at) } else { None };
            if let Some(end) = end {
                found.rule = Some((self.rules[usize::from(rule)], at..end));
            }
            end.is_some()
        });
        found
    }

    /// The waits a text states: index in the table of waits, and where the value stands.
    pub(super) fn waits(&self, text: &Text, found: &Found) -> Vec<(usize, Range<usize>)> {
        let mut waits = Vec::new();
        self.waits.find(text, &found.words, 0, |wait, phrase, words, at| {
            if waits.len() < WAITS_MAX
                && let Some(value) = phrase.value(&text.lower, words, at)
            {
                waits.push((usize::from(wait), value));
            }
            false
        });
        waits
    }

    #[inline]
    fn holds(&self, rule: u16, status: Option<u16>) -> bool {
        let statuses = self.statuses[usize::from(rule)];
        statuses.is_empty() || status.is_some_and(|status| statuses.contains(&status))
    }
}
