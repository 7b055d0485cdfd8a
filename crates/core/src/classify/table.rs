//! The rules compiled: what to look up for every word of a text.
//!
//! A word is looked up twice: whole among the codes, and by its first bytes among the beginnings
//! of phrases ([`super::index`]). Whatever could not outrank the best match so far is not tried,
//! nor is a phrase that needs another word which the text does not have.

use std::ops::Range;

use super::code::{Codes, is_code, spaced_value};
use super::index::Index;
use super::phrase::{self, Phrase};
use super::role::{self, Role};
use super::rule::{self, Rule, Weight};
use super::surface::{self, Kinds};
use super::text::Text;
use super::wait::{WAITS, Wait};
use super::words::Words;
use crate::evidence::Surface;
use crate::kind::FailureKind;

/// As many places as a text that states a wait has for it: most ways to state one begin alike.
const STATED_USUALLY: usize = 8;

/// Every match that names a cause ranks above this.
const CAUSE_RANK_MIN: u32 = (Weight::Cause as u32 * 32) << 16;

/// A compiled table.
pub(super) struct Table {
    rules: Vec<&'static Rule>,
    /// Higher decides: precedence first, then the earlier place in the table.
    ranks: Vec<u32>,
    /// The statuses and the kind of each, next to each other because they are asked for often.
    conditions: Vec<(&'static [u16], FailureKind)>,
    codes: Codes,
    /// Phrases that name a cause. Once one is found, nothing that only names a class can decide.
    causes: Index,
    /// All other phrases.
    classes: Index,
    waits: Index,
}

/// What is known of a failure before its text is searched.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// Where it was seen.
    pub(super) surface: Surface,
    /// The HTTP status.
    pub(super) status: Option<u16>,
    /// What it cannot be.
    pub(super) ruled_out: Kinds,
}

/// What was found in a text.
pub(super) struct Found {
    /// The rule that outranks all others that match, and where it does.
    pub(super) best: Option<Match>,
    words: Words,
}

/// A rule that matches.
pub(super) struct Match {
    pub(super) rule: &'static Rule,
    /// Where.
    pub(super) span: Range<usize>,
    /// The rule's, or less where its words are said in passing.
    pub(super) precedence: u16,
}

/// A place where a text may state a wait.
pub(super) struct Stated<'a> {
    /// Which one of the table of waits.
    pub(super) wait: usize,
    phrase: &'a Phrase,
    begins: (usize, phrase::Known),
    text: &'a [u8],
    words: &'a [u32],
}

impl Table {
    /// Compiles `rules` and the waits.
    pub(super) fn new(rules: Vec<&'static Rule>) -> Self {
        let mut codes = Codes::default();
        let (mut causes, mut classes) = (Vec::new(), Vec::new());
        let mut ranks = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            rule.codes.iter().for_each(|code| codes.add(code, index as u16));
            let rank = rank(rule.precedence(), index);
            let phrases = if rule.weight >= Weight::Cause { &mut causes } else { &mut classes };
            phrases.extend(rule.texts.iter().map(|text| (index as u16, rank, *text)));
            ranks.push(rank);
        }
        let waits: Vec<String> = WAITS.iter().map(Wait::expanded).collect();
        let waits = waits.iter().enumerate().map(|(index, wait)| (index as u16, u32::MAX, wait.as_str()));
        let conditions = rules.iter().map(|rule| (rule.statuses, rule.kind)).collect();
        let [causes, classes] = [causes, classes].map(|phrases| Index::new(phrases.into_iter()));
        Self { rules, ranks, conditions, codes, causes, classes, waits: Index::new(waits) }
    }

    /// Every rule, in the order of the table.
    pub(super) fn rules(&self) -> &[&'static Rule] {
        &self.rules
    }

    /// Reads `text` and returns what outranks everything else in it.
    // Not inlined, so that what is found is filled in where the caller wants it.
    #[inline(never)]
    pub(super) fn search(&self, text: &Text, known: Known) -> Found {
        let mut found = Found { best: None, words: Words::new() };
        self.search_with(text, known, &mut found, |_| Role::Statement);
        // No match weighs more than its rule: only where the best one turns out to weigh less can
        // another decide, and only then is every match looked at twice.
        let role = |span: &Range<usize>| role::of(&text.lower, found.words.starts(), span);
        if found.best.as_ref().is_some_and(|best| role(&best.span) != Role::Statement) {
            let mut weighed = Found { best: None, words: Words::new() };
            self.search_with(text, known, &mut weighed, role);
            found.best = weighed.best;
        }
        found
    }

    /// Fills in what is found, in place: to move it costs more than a search of some words.
    fn search_with(&self, text: &Text, known: Known, found: &mut Found, role: impl Fn(&Range<usize>) -> Role) {
        let Found { best, words } = found;
        let mut best_rank = 0;
        let mut offer = |index: u16, span: Range<usize>, best_rank: u32| {
            let plain = (self.ranks[usize::from(index)] >> 16) as u16;
            let precedence = match role(&span) {
                Role::Statement => plain,
                Role::Aside => rule::in_passing(plain),
                Role::Advice => rule::as_advice(plain),
            };
            let (rule, rank) = (self.rules[usize::from(index)], rank(precedence, usize::from(index)));
            if rank <= best_rank || surface::is_excuse(rule.kind_on(known.surface), precedence, known.status) {
                return best_rank;
            }
            *best = Some(Match { rule, span, precedence });
            rank
        };
        let mut candidates = self.causes.candidates(text.lower.len());
        let code = |word, shaped| {
            self.find_codes(text, known, word, shaped, |rule, word| {
                if self.ranks[usize::from(rule)] > best_rank {
                    best_rank = offer(rule, word, best_rank);
                }
            });
        };
        words.read(text, |at, head| candidates.add(at, head), code);
        let mut phrase = |rule, phrase: &Phrase, (at, begun), best_rank| {
            let end = if self.holds(rule, known) { phrase.end(&text.lower, words.starts(), at, begun) } else { None };
            end.map_or(best_rank, |end| offer(rule, at..end, best_rank))
        };
        let best_rank = self.causes.find(text, words, &candidates, best_rank, &mut phrase);
        if best_rank < CAUSE_RANK_MIN {
            let candidates = self.classes.candidates_of(text, words);
            self.classes.find(text, words, &candidates, best_rank, &mut phrase);
        }
    }

    /// Every rule that matches, and where: to see what the one that decided was preferred to.
    pub(super) fn matches(&self, text: &Text, known: Known) -> Vec<(&'static Rule, Range<usize>)> {
        let mut matches = Vec::new();
        let mut words = Words::new();
        let code = |word, shaped| {
            self.find_codes(text, known, word, shaped, |rule, word| {
                matches.push((self.rules[usize::from(rule)], word));
            });
        };
        words.read(text, |_, _| {}, code);
        for phrases in [&self.causes, &self.classes] {
            phrases.find(text, &words, &phrases.candidates_of(text, &words), 0, |rule, phrase, (at, begun), _| {
                let end =
                    if self.holds(rule, known) { phrase.end(&text.lower, words.starts(), at, begun) } else { None };
                matches.extend(end.map(|end| (self.rules[usize::from(rule)], at..end)));
                0
            });
        }
        matches.sort_by_key(|(rule, span)| (std::cmp::Reverse(rule.precedence()), span.start));
        matches
    }

    /// Calls `report` with every rule that has the word at `word` as a code, and where that stands.
    // Few words get here: their code would only crowd the loop over all words.
    #[inline(never)]
    fn find_codes(
        &self,
        text: &Text,
        known: Known,
        word: Range<usize>,
        shaped: bool,
        mut report: impl FnMut(u16, Range<usize>),
    ) {
        let spaced = spaced_value(&text.lower, &word);
        let (word, shaped) = spaced.map_or((word, shaped), |value| (value, true));
        self.codes.find(text, &word, shaped, |rule, anywhere| {
            if self.holds(rule, known) && is_code(&text.lower, &word, anywhere) {
                report(rule, word.clone());
            }
        });
    }

    /// The waits a text may state, in the order of their table. None of them is read yet: mostly one is
    /// enough, and to read one costs more than to find all.
    pub(super) fn waits<'a>(&'a self, text: &'a Text, found: &'a Found) -> Vec<Stated<'a>> {
        let (mut waits, words) = (Vec::with_capacity(STATED_USUALLY), &found.words);
        let candidates = self.waits.candidates_of(text, words);
        self.waits.find(text, words, &candidates, 0, |wait, phrase, begins, _| {
            waits.push(Stated { wait: usize::from(wait), phrase, begins, text: &text.lower, words: words.starts() });
            0
        });
        // Stable: of two that are stated in one way, the first stays the first.
        waits.sort_by_key(|stated| stated.wait);
        waits
    }

    #[inline]
    fn holds(&self, rule: u16, known: Known) -> bool {
        let (statuses, kind) = self.conditions[usize::from(rule)];
        (statuses.is_empty() || known.status.is_some_and(|status| statuses.contains(&status)))
            && !known.ruled_out.has(kind)
    }
}

impl Stated<'_> {
    /// Where its value stands, if it is stated.
    pub(super) fn value(&self) -> Option<Range<usize>> {
        let (at, begun) = self.begins;
        self.phrase.value(self.text, self.words, at, begun)
    }
}

/// Higher decides.
fn rank(precedence: u16, index: usize) -> u32 {
    (u32::from(precedence) << 16) | (0xffff - index as u32)
}
