//! Phrases by how they begin: which of them to try at a word.
//!
//! A word is looked up by its first eight bytes, by its first four and, where any phrase begins
//! with less, by those. One bit dismisses most of them. What stands in a slot is tried in the order
//! of its rank, and only as long as it could outrank the best so far.

use super::phrase::{HEAD_BYTES, KEY_BYTES, Literal, Phrase, head};
use super::text::Text;
use super::words::Words;

/// Slots of the index: a few times as many as there are beginnings.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 14;
/// Bits that say whether anything begins so: a few for each slot.
const KNOWN_BITS: u32 = 16;
/// More phrases than there are.
const PHRASES_MAX: usize = 8192;

/// How often a phrase is tried, and a word looked up, before the end of a text. A page that repeats
/// its words proves no more by the hundredth, and the work stays linear.
const TRIES_MAX: u8 = 16;
const VISITS_MAX: u8 = 16;
/// The end of a text, where everything is tried: there stands the cause of a traceback.
const TAIL_BYTES: usize = 1024;

/// How many bytes a word is looked up by. Few begin with less than four: "ip", "hit", a digit.
const WIDTHS: [usize; 5] = [HEAD_BYTES, KEY_BYTES, 3, 2, 1];
const MASKS: [u64; 5] = [mask(HEAD_BYTES), mask(KEY_BYTES), mask(3), mask(2), mask(1)];
/// How many of them every word is looked up by.
const COMMON_WIDTHS: usize = 2;
/// Notes of one condition that an entry holds itself.
const QUICK_NOTES: usize = 4;

/// Phrases by their beginnings.
pub(super) struct Index {
    phrases: Vec<(u16, Phrase)>,
    /// What the phrases need, one after another.
    needs: Vec<u16>,
    /// Where the entries of each slot begin.
    slots: Box<[u16]>,
    entries: Vec<Entry>,
    /// What follows the head of each entry.
    rests: Vec<Literal>,
    /// Bits for all beginnings.
    known: Bits,
    /// Bits for the first two bytes of beginnings that are shorter than a key.
    short: Bits,
}

/// A set of small numbers.
type Bits = Box<[u64]>;

/// One beginning of a phrase. What rules most of them out stands here, packed so that it comes with
/// one look into memory: to look up the phrase costs more than all the comparisons.
struct Entry {
    /// Its first bytes.
    head: u64,
    /// The phrase's first condition, if it has few notes: one of them must be there.
    quick: Option<[u16; QUICK_NOTES]>,
    rank: u32,
    /// Where the conditions of the phrase stand.
    needs: u32,
    phrase: u16,
    /// How many bytes of the head count.
    len: u8,
    /// By which of the widths it is looked up.
    width: u8,
}

impl Index {
    /// Compiles patterns, each with the number of its owner and its rank.
    pub(super) fn new<'a>(patterns: impl Iterator<Item = (u16, u32, &'a str)>) -> Self {
        let mut phrases = Vec::new();
        let mut needs = Vec::new();
        let mut entries = Vec::new();
        let mut short = vec![0; 1 << 10];
        for (owner, rank, pattern) in patterns {
            let Ok(phrase) = Phrase::new(pattern) else {
                debug_assert!(false, "unusable pattern: {pattern}");
                continue;
            };
            for start in &phrase.starts {
                if start.len() < KEY_BYTES {
                    let seconds = start.get(1).map_or(0..=u8::MAX, |second| *second..=*second);
                    seconds.for_each(|second| set(&mut short, pair(start[0], second)));
                }
                let len = start.len().min(HEAD_BYTES);
                let entry = Entry {
                    head: head(start),
                    quick: quick(&phrase.needs),
                    rank,
                    needs: needs.len() as u32,
                    phrase: phrases.len() as u16,
                    len: len as u8,
                    // The widest that the beginning fills.
                    width: WIDTHS.iter().position(|width| len >= *width).unwrap_or_default() as u8,
                };
                entries.push((entry, Literal::new(start.get(HEAD_BYTES..).unwrap_or_default())));
            }
            needs.push(phrase.needs.len() as u16);
            needs.extend_from_slice(&phrase.needs);
            phrases.push((owner, phrase));
        }
        debug_assert!(phrases.len() <= PHRASES_MAX, "too many phrases");
        entries.sort_by_key(|(entry, _)| (entry.slot(), std::cmp::Reverse(entry.rank)));
        let before = |slot: usize| entries.partition_point(|(entry, _)| entry.slot() < slot) as u16;
        let slots = (0..=SLOTS).map(before).collect();
        let mut known = vec![0; (1 << KNOWN_BITS) / 64];
        entries.iter().for_each(|(entry, _)| set(&mut known, bit(entry.hash())));
        let (entries, rests) = entries.into_iter().unzip();
        Self { phrases, needs, slots, entries, rests, known: known.into(), short: short.into() }
    }

    /// Calls `report` with every phrase above rank `best` whose beginning stands at a word of the
    /// text. Where it returns the rank of a find, from then on only with those that outrank it.
    pub(super) fn find(
        &self,
        text: &Text,
        words: &Words,
        best: u32,
        report: impl FnMut(u16, &Phrase, &[u32], usize) -> Option<u32>,
    ) {
        let lower = text.lower.as_slice();
        // A short text is all tail: nothing of it is counted.
        let is_counted = lower.len() > TAIL_BYTES;
        let mut search = Search {
            index: self,
            lower,
            words,
            best,
            report,
            tail: lower.len().saturating_sub(TAIL_BYTES),
            tries: vec![0; if is_counted { self.phrases.len() } else { 0 }],
            visits: vec![0; if is_counted { SLOTS } else { 0 }],
            impossible: [0; PHRASES_MAX / 64],
        };
        for at in words.starts().iter().map(|at| *at as usize) {
            let head = head(&lower[at..]);
            for (width, mask) in MASKS.iter().enumerate().take(COMMON_WIDTHS) {
                let hash = hash(head & mask);
                if has(&self.known, bit(hash)) {
                    search.visit(at, head, width, slot(hash));
                }
            }
            if has(&self.short, (head & 0xffff) as usize) {
                for (width, mask) in MASKS.iter().enumerate().skip(COMMON_WIDTHS) {
                    search.visit(at, head, width, slot(hash(head & mask)));
                }
            }
        }
    }

    /// The conditions of an entry's phrase.
    fn needs(&self, entry: &Entry) -> &[u16] {
        let (len, needs) = self.needs[entry.needs as usize..].split_first().unwrap_or((&0, &[]));
        &needs[..usize::from(*len)]
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
    /// How often each phrase was tried and each slot visited.
    tries: Vec<u8>,
    visits: Vec<u8>,
    /// Phrases that need a word which the text does not have.
    impossible: [u64; PHRASES_MAX / 64],
}

impl<R: FnMut(u16, &Phrase, &[u32], usize) -> Option<u32>> Search<'_, R> {
    /// Tries what stands in a slot at the word at `at`.
    #[inline(never)]
    fn visit(&mut self, at: usize, head: u64, width: usize, slot: usize) {
        if at < self.tail
            && let Some(visits) = self.visits.get_mut(slot)
        {
            if *visits >= VISITS_MAX {
                return;
            }
            *visits += 1;
        }
        let index = self.index;
        let first = usize::from(index.slots[slot]);
        for (place, entry) in index.entries[first..usize::from(index.slots[slot + 1])].iter().enumerate() {
            if entry.rank <= self.best {
                break;
            }
            let is_it = (entry.head ^ head) & entry.mask() == 0 && usize::from(entry.width) == width;
            if is_it && entry.quick.is_none_or(|notes| self.words.has_any(notes)) {
                self.consider(at, entry, first + place);
            }
        }
    }

    /// Tries an entry, unless there is a cheaper way to tell that it is in vain.
    #[inline(never)]
    fn consider(&mut self, at: usize, entry: &Entry, place: usize) {
        let phrase = usize::from(entry.phrase);
        if has(&self.impossible, phrase) || !self.index.rests[place].stands_at(self.lower, at + HEAD_BYTES) {
            return;
        }
        if !self.words.may_hold(self.index.needs(entry)) {
            return set(&mut self.impossible, phrase);
        }
        if at < self.tail
            && let Some(tries) = self.tries.get_mut(phrase)
        {
            if *tries >= TRIES_MAX {
                return;
            }
            *tries += 1;
        }
        let (owner, phrase) = &self.index.phrases[phrase];
        if let Some(rank) = (self.report)(*owner, phrase, self.words.starts(), at) {
            self.best = self.best.max(rank);
        }
    }
}

impl Entry {
    fn hash(&self) -> u64 {
        hash(self.head & MASKS[usize::from(self.width)])
    }

    fn mask(&self) -> u64 {
        mask(usize::from(self.len))
    }

    fn slot(&self) -> usize {
        slot(self.hash())
    }
}

/// The first of the lists of notes, if it is short enough to stand in an entry. Where there are
/// fewer than fit, the first fills the rest.
fn quick(needs: &[u16]) -> Option<[u16; QUICK_NOTES]> {
    let (len, lists) = needs.split_first()?;
    let notes = &lists[..usize::from(*len)];
    let first = *notes.first()?;
    (notes.len() <= QUICK_NOTES).then(|| std::array::from_fn(|index| notes.get(index).copied().unwrap_or(first)))
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(u16::from_le_bytes([first, second]))
}

/// The first bytes of a head, one to all.
const fn mask(bytes: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - 8 * bytes)
}

fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn slot(hash: u64) -> usize {
    (hash >> (u64::BITS - SLOT_BITS)) as usize
}

fn bit(hash: u64) -> usize {
    (hash >> (u64::BITS - KNOWN_BITS)) as usize
}

fn set(bits: &mut [u64], index: usize) {
    bits[index / 64] |= 1 << (index % 64);
}

fn has(bits: &[u64], index: usize) -> bool {
    bits.get(index / 64).is_some_and(|bits| bits >> (index % 64) & 1 != 0)
}
