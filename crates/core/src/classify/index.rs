//! Phrases by how they begin: which of them to try at a word.
//!
//! A word is looked up by its first seven bytes, by its first four and, where any phrase begins
//! with less, by those. One bit dismisses most of them. What stands in a slot is tried in the order
//! of its rank, and only as long as it could outrank the best so far.

use std::collections::HashMap;

use super::phrase::{ALWAYS_NOTE, HEAD_BYTES, KEY_BYTES, Known, LONG_BYTES, Literal, Phrase, head};
use super::text::Text;
use super::words::{Head, Words, hash, mask};

/// Slots of the index: a few times as many as there are beginnings.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 14;
/// Bits that say whether anything begins so: a few for each slot.
const KNOWN_BITS: u32 = 16;
/// As many words of a usual text that something begins like.
const CANDIDATES: usize = 64;

/// How often a phrase is tried, and a word looked up, before the end of a text. A page that repeats
/// its words proves no more by the hundredth, and the work stays linear.
const TRIES_MAX: u8 = 16;
const VISITS_MAX: u8 = 16;
/// The end of a text, where everything is tried: there stands the cause of a traceback.
const TAIL_BYTES: usize = 1024;

/// How many bytes a word is looked up by. Few begin with less than four: "ip", "hit", a digit.
const WIDTHS: [usize; 5] = [LONG_BYTES, KEY_BYTES, 3, 2, 1];
const MASKS: [u64; 5] = [mask(LONG_BYTES), mask(KEY_BYTES), mask(3), mask(2), mask(1)];
/// How many of them every word is looked up by.
const COMMON_WIDTHS: usize = 2;
/// Notes of one condition that an entry holds itself.
const QUICK_NOTES: usize = 8;

/// Phrases by their beginnings.
pub(super) struct Index {
    phrases: Vec<(u16, Phrase)>,
    /// What the phrases need, as numbers of lists: how many, then which, one phrase after another.
    needs: Vec<u16>,
    /// Lists of notes of which one must be there. Many phrases share one.
    lists: Vec<Box<[u16]>>,
    /// Where the entries of each slot begin.
    slots: Box<[u16; SLOTS + 1]>,
    entries: Vec<Entry>,
    /// What follows the head of each entry.
    rests: Vec<Literal>,
    /// Bits for all beginnings.
    known: Box<Bits>,
    /// Bits for the first two bytes of beginnings that are shorter than a key.
    short: Box<Bits>,
    /// The same for all beginnings.
    firsts: Box<Bits>,
}

/// A set of small numbers.
type Bits = [u64; (1 << KNOWN_BITS) / 64];

/// One beginning of a phrase. What rules most of them out stands here, packed so that it comes with
/// one look into memory: to look up the phrase costs more than all the comparisons.
struct Entry {
    /// Its first bytes, and which of them count.
    head: u64,
    mask: u64,
    /// One condition of the phrase that has few notes: one of them must be there.
    quick: [u16; QUICK_NOTES],
    rank: u32,
    /// Where the other conditions of the phrase stand.
    needs: u32,
    phrase: u16,
    /// How much of a match this beginning is.
    begun: Known,
    /// By which of the widths it is looked up.
    width: u8,
}

/// A word of a text that something begins like, and the entries to try there.
struct Candidate {
    head: u64,
    at: u32,
    first: u16,
    end: u16,
}

impl Index {
    /// Compiles patterns, each with the number of its owner and its rank.
    pub(super) fn new<'a>(patterns: impl Iterator<Item = (u16, u32, &'a str)>) -> Self {
        let mut phrases = Vec::new();
        let mut needs = Vec::new();
        let mut entries = Vec::new();
        let mut lists: Vec<Box<[u16]>> = Vec::new();
        let mut list_numbers = HashMap::new();
        let mut short = Box::new([0; (1 << KNOWN_BITS) / 64]);
        let mut firsts = short.clone();
        for (owner, rank, pattern) in patterns {
            let Ok(phrase) = Phrase::new(pattern) else {
                debug_assert!(false, "unusable pattern: {pattern}");
                continue;
            };
            let (quick, others) = quick(&phrase.needs);
            let others = others.iter().map(|notes| {
                *list_numbers.entry(notes.to_vec()).or_insert_with(|| {
                    lists.push((*notes).into());
                    lists.len() as u16 - 1
                })
            });
            let others: Vec<u16> = others.collect();
            for start in &phrase.starts {
                for second in start.get(1).map_or(0..=u8::MAX, |second| *second..=*second) {
                    set(&mut firsts, pair(start[0], second));
                    if start.len() < KEY_BYTES {
                        set(&mut short, pair(start[0], second));
                    }
                }
                let len = start.len().min(HEAD_BYTES);
                let entry = Entry {
                    head: head(start),
                    mask: mask(len),
                    quick,
                    rank,
                    needs: needs.len() as u32,
                    phrase: phrases.len() as u16,
                    begun: phrase.known(start),
                    // The widest that the beginning fills.
                    width: WIDTHS.iter().position(|width| len >= *width).unwrap_or_default() as u8,
                };
                entries.push((entry, Literal::new(start.get(HEAD_BYTES..).unwrap_or_default())));
            }
            needs.push(others.len() as u16);
            needs.extend(others);
            phrases.push((owner, phrase));
        }
        debug_assert!(entries.len() <= usize::from(u16::MAX), "too many beginnings");
        entries.sort_by_key(|(entry, _)| (entry.slot(), std::cmp::Reverse(entry.rank)));
        let before = |slot: usize| entries.partition_point(|(entry, _)| entry.slot() < slot) as u16;
        let slots = Box::new(std::array::from_fn(before));
        let mut known = Box::new([0; (1 << KNOWN_BITS) / 64]);
        entries.iter().for_each(|(entry, _)| set(&mut known, bit(entry.hash())));
        let (entries, rests) = entries.into_iter().unzip();
        Self { phrases, needs, lists, slots, entries, rests, known, short, firsts }
    }

    /// Where phrases of this index may begin in a text of `len` bytes, to be told its words.
    pub(super) fn candidates(&self, len: usize) -> Candidates<'_> {
        // A short text is all tail: nothing of it is counted.
        let visits = vec![0; if len > TAIL_BYTES { SLOTS } else { 0 }];
        let tail = len.saturating_sub(TAIL_BYTES) as u32;
        Candidates { index: self, list: Vec::with_capacity(CANDIDATES), visits, tail }
    }

    /// Where phrases of this index may begin in a text whose words are known.
    pub(super) fn candidates_of(&self, text: &Text, words: &Words) -> Candidates<'_> {
        let mut candidates = self.candidates(text.lower.len());
        // Of a few dozen phrases, two bytes tell for most words that none begins so; to hash a word costs more.
        let may_begin = |at: &&u32| {
            let [first, rest @ ..] = &text.lower[**at as usize..] else { return false };
            has(&self.firsts, pair(*first, rest.first().copied().unwrap_or_default()))
        };
        words.starts().iter().filter(may_begin).for_each(|at| candidates.add(*at, Head::new(&text.lower, *at)));
        candidates
    }

    /// Calls `report` with every phrase above rank `best` that begins at one of the candidates, where
    /// it does with how much of it is known, and the best rank so far; it returns the best from then on, as this does in the end.
    pub(super) fn find<'a>(
        &'a self,
        text: &'a Text,
        words: &'a Words,
        candidates: &Candidates<'_>,
        best: u32,
        report: impl FnMut(u16, &'a Phrase, (usize, Known), u32) -> u32,
    ) -> u32 {
        let lower = text.lower.as_slice();
        let tail = candidates.tail as usize;
        let tries = vec![0; if tail > 0 { self.phrases.len() } else { 0 }];
        let settled = vec![None; self.lists.len()];
        let mut search = Search { index: self, lower, words, best, report, tail, tries, settled };
        candidates.list.iter().for_each(|candidate| search.visit(candidate));
        search.best
    }

    /// The conditions of an entry's phrase but the first.
    fn needs(&self, entry: &Entry) -> &[u16] {
        let (len, needs) = self.needs[entry.needs as usize..].split_first().unwrap_or((&0, &[]));
        &needs[..usize::from(*len)]
    }
}

/// The words of a text that phrases begin like.
pub(super) struct Candidates<'a> {
    index: &'a Index,
    list: Vec<Candidate>,
    /// How often each slot was visited.
    visits: Vec<u8>,
    /// Where the end of the text begins.
    tail: u32,
}

impl Candidates<'_> {
    /// Adds a word by where it begins and its first bytes, if something begins like it.
    #[inline(always)]
    pub(super) fn add(&mut self, at: u32, head: Head) {
        for hash in [head.long, head.key] {
            if has(&self.index.known, bit(hash)) {
                self.push(at, head.bytes, slot(hash));
            }
        }
        let bytes = head.bytes;
        if has(&self.index.short, (bytes & 0xffff) as usize) {
            MASKS[COMMON_WIDTHS..].iter().for_each(|mask| self.push(at, bytes, slot(hash(bytes & mask))));
        }
    }

    fn push(&mut self, at: u32, head: u64, slot: usize) {
        let (first, end) = (self.index.slots[slot], self.index.slots[slot + 1]);
        if first == end {
            return;
        }
        if at < self.tail
            && let Some(visits) = self.visits.get_mut(slot)
        {
            if *visits >= VISITS_MAX {
                return;
            }
            *visits += 1;
        }
        self.list.push(Candidate { head, at, first, end });
    }
}

/// One text being searched.
struct Search<'a, R> {
    index: &'a Index,
    lower: &'a [u8],
    words: &'a Words,
    /// The rank of the best so far.
    best: u32,
    report: R,
    /// Where the end of the text begins.
    tail: usize,
    /// How often each phrase was tried.
    tries: Vec<u8>,
    /// Whether of each list of notes one is there, as far as it was asked.
    settled: Vec<Option<bool>>,
}

impl<'a, R: FnMut(u16, &'a Phrase, (usize, Known), u32) -> u32> Search<'a, R> {
    /// Tries what begins like the word of a candidate.
    fn visit(&mut self, candidate: &Candidate) {
        let first = usize::from(candidate.first);
        for (place, entry) in self.index.entries[first..usize::from(candidate.end)].iter().enumerate() {
            if entry.rank <= self.best {
                break;
            }
            if (entry.head ^ candidate.head) & entry.mask == 0 && self.words.has_any(&entry.quick) {
                self.consider(candidate.at as usize, entry, first + place);
            }
        }
    }

    /// Tries an entry, unless there is a cheaper way to tell that it is in vain.
    #[inline(never)]
    fn consider(&mut self, at: usize, entry: &Entry, place: usize) {
        if !self.index.rests[place].stands_at(self.lower, at + HEAD_BYTES)
            || !self.index.needs(entry).iter().all(|list| self.is_met(usize::from(*list)))
        {
            return;
        }
        self.run(at, entry);
    }

    /// Runs the phrase of an entry.
    fn run(&mut self, at: usize, entry: &Entry) {
        let phrase = usize::from(entry.phrase);
        if at < self.tail
            && let Some(tries) = self.tries.get_mut(phrase)
        {
            if *tries >= TRIES_MAX {
                return;
            }
            *tries += 1;
        }
        let (owner, phrase) = &self.index.phrases[phrase];
        self.best = (self.report)(*owner, phrase, (at, entry.begun), self.best);
    }
}

impl<R> Search<'_, R> {
    /// Whether of a list of notes one is there.
    fn is_met(&mut self, list: usize) -> bool {
        *self.settled[list].get_or_insert_with(|| self.words.has_one(&self.index.lists[list]))
    }
}

impl Entry {
    fn hash(&self) -> u64 {
        hash(self.head & MASKS[usize::from(self.width)])
    }

    fn slot(&self) -> usize {
        slot(self.hash())
    }
}

/// The first of the lists of notes that is short enough to stand in an entry, and the others. Where
/// there are fewer notes than fit, the first fills the rest; where there is none, one that always is.
fn quick(needs: &[Box<[u16]>]) -> ([u16; QUICK_NOTES], Vec<&[u16]>) {
    let mut others: Vec<&[u16]> = needs.iter().map(|notes| &**notes).collect();
    let short = others.iter().position(|notes| notes.len() <= QUICK_NOTES);
    let notes = short.map_or(&[ALWAYS_NOTE as u16][..], |short| others.remove(short));
    (std::array::from_fn(|index| notes.get(index).copied().unwrap_or(notes[0])), others)
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(u16::from_le_bytes([first, second]))
}

fn slot(hash: u64) -> usize {
    (hash >> (u64::BITS - SLOT_BITS)) as usize
}

fn bit(hash: u64) -> usize {
    (hash >> (u64::BITS - KNOWN_BITS)) as usize
}

fn set(bits: &mut Bits, index: usize) {
    bits[index / 64 % bits.len()] |= 1 << (index % 64);
}

#[inline]
fn has(bits: &Bits, index: usize) -> bool {
    bits[index / 64 % bits.len()] >> (index % 64) & 1 != 0
}
