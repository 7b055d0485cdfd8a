//! The rules compiled: what to look up for every word of a text.
//!
//! A word is looked up twice: whole among the codes, and by its first bytes among the beginnings
//! of phrases. Whatever could not outrank the best match so far is not tried, nor is a phrase
//! that needs another word which the text does not have.

use std::ops::Range;

use super::code::{Codes, is_code, may_be_code};
use super::phrase::{KEY_BYTES, NOTE_BITS, Phrase, head, key, long_note, note, starts_with};
use super::rule::Rule;
use super::text::Text;
use super::wait::{WAITS, Wait};

/// How many stated waits are kept; a body states one or two.
const WAITS_MAX: usize = 8;
/// Slots of the index of beginnings: a few times as many as there are keys.
const SLOTS: usize = 4096;

/// How often a phrase is tried, and a word looked up, before the end of a text. A page that repeats
/// its words proves no more by the hundredth, and the work stays linear.
const TRIES_MAX: u8 = 16;
const VISITS_MAX: u8 = 16;
/// In place of a number of tries: a word is missing.
const IMPOSSIBLE: u8 = u8::MAX;
/// The end of a text, where everything is tried: there stands the cause of a traceback.
const TAIL_BYTES: usize = 1024;
/// Names of fields that are left out.
const PLAIN_FIELDS: &[&[u8]] = &[b"error", b"message", b"type", b"code", b"param"];
/// A phrase may begin with less than a whole key: "ip", "hit", a digit.
const KEY_MASKS: [u32; KEY_BYTES] = [u32::MAX, 0xff_ffff, 0xffff, 0xff];

/// A compiled table.
pub(super) struct Table {
    rules: Vec<&'static Rule>,
    /// Higher decides: precedence first, then the earlier place in the table.
    ranks: Vec<u32>,
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
        Self { rules, ranks, codes, phrases: Index::new(phrases.into_iter()), waits: Index::new(waits) }
    }

    /// Every rule, in the order of the table.
    pub(super) fn rules(&self) -> &[&'static Rule] {
        &self.rules
    }

    /// Reads `text` and returns what outranks everything else in it.
    pub(super) fn search(&self, text: &Text, status: Option<u16>) -> Found {
        let mut found = None;
        let mut best = 0;
        let words = Words::new(text, |word, shaped| {
            if !may_be_code(&text.shown, &word, shaped) {
                return;
            }
            self.codes.find(text, &word, shaped, |rule, anywhere| {
                let rank = self.ranks[usize::from(rule)];
                if rank > best && self.holds(rule, status) && is_code(&text.lower, &word, anywhere) {
                    best = rank;
                    found = Some((self.rules[usize::from(rule)], word.clone()));
                }
            });
        });
        self.phrases.find(text, &words, best, |rule, phrase, words, at| {
            let end = if self.holds(rule, status) { phrase.end(&text.lower, words, at) } else { None };
            if let Some(end) = end {
                found = Some((self.rules[usize::from(rule)], at..end));
            }
            end.is_some()
        });
        Found { rule: found, words }
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

    fn holds(&self, rule: u16, status: Option<u16>) -> bool {
        let statuses = self.rules[usize::from(rule)].statuses;
        statuses.is_empty() || status.is_some_and(|status| statuses.contains(&status))
    }
}

/// Phrases by the first bytes of their beginnings.
struct Index {
    phrases: Vec<(u16, Phrase)>,
    /// Where the entries of each slot begin.
    slots: Box<[u16]>,
    entries: Vec<Entry>,
    /// Bits for the first two bytes of beginnings that are shorter than a key.
    short: Box<[u64]>,
}

/// Notes of one condition that an entry holds itself.
const QUICK_NOTES: usize = 4;

/// One beginning of a phrase. What rules most of them out stands here, next to each other: to look
/// up the phrase costs more than all the comparisons.
struct Entry {
    key: u32,
    rank: u32,
    phrase: u16,
    /// The phrase's first condition, if it has few notes: one of them must be there.
    quick: Option<[u16; QUICK_NOTES]>,
    /// What follows the key: as many bytes again, of which those under the mask count. Beginnings
    /// that share a key mostly differ here.
    next: u32,
    next_mask: u32,
    /// What follows that.
    rest: Box<[u8]>,
}

impl Index {
    fn new<'a>(patterns: impl Iterator<Item = (u16, u32, &'a str)>) -> Self {
        let mut phrases = Vec::new();
        let mut entries = Vec::new();
        let mut short = vec![0_u64; 1 << 10];
        for (owner, rank, pattern) in patterns {
            let Ok(phrase) = Phrase::new(pattern) else {
                debug_assert!(false, "unusable pattern: {pattern}");
                continue;
            };
            for start in &phrase.starts {
                let next = start.get(KEY_BYTES..).unwrap_or_default();
                let next_mask = key(&vec![u8::MAX; next.len()]);
                let rest = next.get(KEY_BYTES..).unwrap_or_default().into();
                if start.len() < KEY_BYTES {
                    let seconds = start.get(1).map_or(0..=u8::MAX, |second| *second..=*second);
                    seconds.map(|second| pair(start[0], second)).for_each(|pair| short[pair / 64] |= 1 << (pair % 64));
                }
                let quick = quick(&phrase.needs);
                let phrase = phrases.len() as u16;
                entries.push(Entry { key: key(start), rank, phrase, quick, next: key(next), next_mask, rest });
            }
            phrases.push((owner, phrase));
        }
        entries.sort_by_key(|entry| (slot(entry.key), std::cmp::Reverse(entry.rank)));
        let before = |slot_index: usize| entries.partition_point(|entry| slot(entry.key) < slot_index) as u16;
        let slots = (0..=SLOTS).map(before).collect();
        Self { phrases, slots, entries, short: short.into() }
    }

    /// Calls `report` with every phrase above rank `best` whose beginning stands at a word of the
    /// text, until it says that one is found; from then on only with those that outrank it.
    fn find(
        &self,
        text: &Text,
        words: &Words,
        mut best: u32,
        mut report: impl FnMut(u16, &Phrase, &[u32], usize) -> bool,
    ) {
        let lower = text.lower.as_slice();
        let tail = lower.len().saturating_sub(TAIL_BYTES);
        // A short text is all tail: nothing of it is counted.
        let is_counted = lower.len() > TAIL_BYTES;
        let mut tries = vec![0_u8; if is_counted { self.phrases.len() } else { 0 }];
        let mut visits = vec![0_u8; if is_counted { SLOTS } else { 0 }];
        for at in words.starts.iter().map(|at| *at as usize) {
            let head = head(&lower[at..]);
            let (key, next) = (head as u32, (head >> 32) as u32);
            let pair = (key & 0xffff) as usize;
            let is_short = self.short[pair / 64] & (1 << (pair % 64)) != 0;
            let masks = if is_short { &KEY_MASKS[..] } else { &KEY_MASKS[..1] };
            for key in masks.iter().map(|mask| key & mask) {
                let slot = slot(key);
                let entries = usize::from(self.slots[slot])..usize::from(self.slots[slot + 1]);
                if entries.is_empty() {
                    continue;
                }
                if at < tail
                    && let Some(visits) = visits.get_mut(slot)
                {
                    if *visits >= VISITS_MAX {
                        continue;
                    }
                    *visits += 1;
                }
                for entry in &self.entries[entries] {
                    if entry.rank <= best {
                        break;
                    }
                    if entry.key != key || (entry.next ^ next) & entry.next_mask != 0 {
                        continue;
                    }
                    if entry.quick.is_some_and(|notes| !words.has_any(notes)) {
                        continue;
                    }
                    if !entry.rest.is_empty() && !starts_with(lower, at + 2 * KEY_BYTES, &entry.rest) {
                        continue;
                    }
                    let mut uncounted = 0;
                    let tries = tries.get_mut(usize::from(entry.phrase)).unwrap_or(&mut uncounted);
                    if *tries >= TRIES_MAX && (at < tail || *tries == IMPOSSIBLE) {
                        continue;
                    }
                    let (owner, phrase) = &self.phrases[usize::from(entry.phrase)];
                    if *tries == 0 && !words.may_hold(&phrase.needs) {
                        *tries = IMPOSSIBLE;
                        continue;
                    }
                    *tries = (*tries + 1).min(TRIES_MAX);
                    if report(*owner, phrase, &words.starts, at) {
                        best = entry.rank;
                    }
                }
            }
        }
    }
}

/// Where the words of a text begin, and a rough note of which words there are.
pub(super) struct Words {
    starts: Vec<u32>,
    noted: [u64; NOTE_BITS / 64],
}

impl Words {
    /// Reads `text` once. Calls `report` with every word that may be a code, in which joints count
    /// as letters, and whether it has the shape of one.
    pub(super) fn new(text: &Text, mut report: impl FnMut(Range<usize>, bool)) -> Self {
        let Text { shown, lower } = text;
        let mut words = Self { starts: Vec::with_capacity(shown.len() / 4 + 1), noted: [0; NOTE_BITS / 64] };
        let mut address_end = 0;
        let mut at = 0;
        while let Some(byte) = shown.get(at) {
            let start = at;
            at += 1;
            let first = CLASSES[usize::from(*byte)];
            match first {
                0 => continue,
                COLON => {
                    if shown[start..].starts_with(b"://") {
                        address_end = start + address_len(&shown[start..]);
                    }
                    continue;
                }
                BEYOND => {
                    if start >= address_end {
                        words.note(start, lower);
                    }
                    continue;
                }
                _ => {}
            }
            let mut classes = 0;
            let ends = |byte: &u8| {
                let class = CLASSES[usize::from(*byte)];
                classes |= class;
                class & WORD == 0
            };
            at += shown[at..].iter().position(ends).unwrap_or(shown.len() - at);
            let word = start..at;
            let is_field = matches!(shown[at..], [b'"' | b'\'', b':', ..]);
            // The words of an address say nothing, nor do the names of fields that every error has.
            if start >= address_end && !(is_field && PLAIN_FIELDS.contains(&&lower[word.clone()])) {
                words.note_parts(&word, first, classes & WORD, text);
            }
            if !is_field {
                // Every word may begin with a capital.
                report(word, ((first & JOINT) | (classes & (JOINT | CAPITAL))) != 0);
            }
        }
        words
    }

    /// Notes the words that one with joints consists of: `Error` in `APIError` is one, `limit` in
    /// `rate_limit` is none.
    fn note_parts(&mut self, word: &Range<usize>, first: u8, others: u8, text: &Text) {
        let is_whole = others & !SMALL == 0 && first & (SMALL | CAPITAL) != 0;
        if is_whole {
            return self.note(word.start, &text.lower);
        }
        let mut before = 0;
        for at in word.clone() {
            let class = CLASSES[usize::from(text.shown[at])];
            let begins = match class {
                SMALL => before & (SMALL | CAPITAL | JOINT) == 0,
                CAPITAL => {
                    before & (CAPITAL | JOINT) == 0 || text.shown.get(at + 1).is_some_and(u8::is_ascii_lowercase)
                }
                DIGIT => before != DIGIT,
                _ => false,
            };
            if begins {
                self.note(at, &text.lower);
            }
            before = class;
        }
    }

    fn note(&mut self, at: usize, lower: &[u8]) {
        self.starts.push(at as u32);
        let head = head(&lower[at..]);
        for note in [note(head), long_note(head)] {
            self.noted[note / 64] |= 1 << (note % 64);
        }
    }

    /// Whether of each list of notes one is there: then the words may be, otherwise they are not.
    fn may_hold(&self, mut needs: &[u16]) -> bool {
        while let Some((len, lists)) = needs.split_first() {
            let (notes, others) = lists.split_at(usize::from(*len));
            if !notes.iter().any(|note| self.is_noted(*note)) {
                return false;
            }
            needs = others;
        }
        true
    }

    /// Whether one of a few notes is there. Where there are fewer than fit, the first fills the rest.
    fn has_any(&self, [first, second, third, fourth]: [u16; QUICK_NOTES]) -> bool {
        self.is_noted(first)
            || second != first && (self.is_noted(second) || self.is_noted(third) || self.is_noted(fourth))
    }

    fn is_noted(&self, note: u16) -> bool {
        self.noted[usize::from(note / 64) % (NOTE_BITS / 64)] >> (note % 64) & 1 != 0
    }
}

/// The first of the lists of notes, if it is short enough to stand in an entry.
fn quick(needs: &[u16]) -> Option<[u16; QUICK_NOTES]> {
    let (len, lists) = needs.split_first()?;
    let notes = &lists[..usize::from(*len)];
    let first = *notes.first()?;
    (notes.len() <= QUICK_NOTES).then(|| std::array::from_fn(|index| notes.get(index).copied().unwrap_or(first)))
}

/// Classes of bytes, as far as words go; all others are zero.
const SMALL: u8 = 1;
const CAPITAL: u8 = 1 << 1;
const DIGIT: u8 = 1 << 2;
const JOINT: u8 = 1 << 3;
const HYPHEN: u8 = 1 << 4;
/// What a word consists of.
const WORD: u8 = SMALL | CAPITAL | DIGIT | JOINT | HYPHEN;
/// The first byte of a letter beyond ASCII, which is a word of its own.
const BEYOND: u8 = 1 << 5;
const COLON: u8 = 1 << 6;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => SMALL,
            b'A'..=b'Z' => CAPITAL,
            b'0'..=b'9' => DIGIT,
            b'_' => JOINT,
            b'-' => HYPHEN,
            0xc2.. => BEYOND,
            b':' => COLON,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// How far an address goes on after its scheme.
fn address_len(shown: &[u8]) -> usize {
    shown.iter().position(|byte| matches!(byte, b' ' | b'"' | b'\'' | b'<' | b'>' | b')' | b',')).unwrap_or(shown.len())
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(u16::from_le_bytes([first, second]))
}

fn slot(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> 20) as usize % SLOTS
}
