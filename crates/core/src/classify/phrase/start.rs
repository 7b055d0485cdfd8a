//! What can be told of a pattern before it is run: how its matches begin, and which words they
//! hold further on. A text is searched by the beginnings; the words rule out most of what is left.

use regex_syntax::hir::{Hir, HirKind, Look};

use super::head;
use super::program::{GAP_BYTES_MIN, letters, single};
use super::set::Set;

/// The part of a first word that is looked up.
pub(in crate::classify) const KEY_BYTES: usize = 4;
/// How finely words are told apart before anything is compared.
pub(in crate::classify) const NOTE_BITS: usize = 8192;
/// Noted where a text has any letter beyond ASCII.
pub(in crate::classify) const BEYOND_NOTE: usize = 0;
/// Noted for every text, for what has no condition.
pub(in crate::classify) const ALWAYS_NOTE: usize = 1;
/// As much of a word as tells "per day" from "per min".
pub(in crate::classify) const LONG_BYTES: usize = 7;
const LONG_MASK: u64 = (1 << (8 * LONG_BYTES)) - 1;
/// How many conditions are checked before a pattern is run; more rule out little.
const NEEDS_MAX: usize = 3;
/// Beginnings of words that most errors contain: that they are there tells little.
const COMMON: &[&[u8; KEY_BYTES]] = &[
    b"limi", b"toke", b"requ", b"exce", b"reac", b"erro", b"mess", b"mode", b"rate", b"plea", b"orga", b"code",
    b"type", b"try ", b"fail", b"resp", b"serv", b"not ", b"inva", b"api ", b"your", b"this",
];
/// A pattern that begins in more ways than this should be two.
const STARTS_MAX: usize = 160;
/// Beginnings are told apart by twice as many bytes as are looked up, unless that makes more than this.
const LONG_STARTS_MAX: usize = 24;

/// How the matches of a pattern begin; `None` where they begin with no word, or in too many ways.
pub(super) fn beginnings(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    let long = starts(&[hir], 2 * KEY_BYTES).filter(|starts| starts.len() <= LONG_STARTS_MAX);
    let mut starts = long.or_else(|| starts(&[hir], KEY_BYTES).filter(|starts| starts.len() <= STARTS_MAX))?;
    starts.sort();
    // One that begins with another is found with it.
    starts.dedup_by(|longer, shorter| longer.starts_with(shorter));
    Some(starts)
}

/// How matches of `parts` in a row begin: at least `bytes` of each where that is possible.
fn starts(parts: &[&Hir], bytes: usize) -> Option<Vec<Vec<u8>>> {
    let (part, rest) = parts.split_first()?;
    let found = match part.kind() {
        HirKind::Look(_) | HirKind::Empty => return starts(rest, bytes),
        HirKind::Literal(literal) => extend(&literal.0, rest, bytes),
        HirKind::Class(class) if letters(class).is_some() => {
            letters(class)?.iter().flat_map(|letter| extend(letter, rest, bytes)).collect()
        }
        HirKind::Class(class) => {
            let all: Vec<u8> = Set::of(class).bytes().collect();
            if all.len() > 10 {
                return None;
            }
            all.into_iter().flat_map(|byte| extend(&[byte], rest, bytes)).collect()
        }
        HirKind::Capture(capture) => starts(&prepend(&capture.sub, rest), bytes)?,
        HirKind::Concat(concat) => {
            let all: Vec<&Hir> = concat.iter().chain(rest.iter().copied()).collect();
            starts(&all, bytes)?
        }
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(starts(&prepend(branch, rest), bytes)?);
            }
            all
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => {
            // What can come again is not always followed by the rest.
            let behind = if repetition.max == Some(1) { rest } else { &[] };
            let mut all = starts(&prepend(&repetition.sub, behind), bytes)?;
            all.extend(starts(rest, bytes)?);
            all
        }
        HirKind::Repetition(repetition) => starts(&prepend(&repetition.sub, &[]), bytes)?,
    };
    Some(found)
}

/// What the words of a pattern after its first are noted as, the rarest lists first.
pub(super) fn needs(hir: &Hir) -> Vec<Box<[u16]>> {
    if holds_beyond(hir) {
        return vec![[BEYOND_NOTE as u16].into()];
    }
    let HirKind::Concat(parts) = hir.kind() else { return Vec::new() };
    let parts: Vec<&Hir> = parts.iter().collect();
    let mut all = Vec::new();
    let mut noted = 0;
    for index in 1..parts.len() {
        let after_look = matches!(parts[index - 1].kind(), HirKind::Look(Look::WordAscii));
        // The word behind the boundary is noted already, or is the first.
        if after_look && noted + 1 == index {
            continue;
        }
        let after_blank = ends_in_blank(&parts[..index]);
        let gap = match parts[index - 1].kind() {
            HirKind::Repetition(gap) if single(&gap.sub) == Some(Set::ANY) => Some(gap),
            _ => None,
        };
        let gap = gap.filter(|gap| gap.max.is_some_and(|max| max >= GAP_BYTES_MIN));
        let after_signs = ends_in_signs(&parts[..index]);
        let begins_word = after_look || after_blank || gap.is_some() || after_signs;
        let Some(clause) = clause(&parts[index..], begins_word) else { continue };
        // The common ones are names of fields too, which count as no words.
        if after_signs && clause.iter().any(Word::is_common) {
            continue;
        }
        // Behind a boundary may also stand what counts as no word of its own, as in an address.
        let after_gap = gap.is_some_and(|gap| gap.min == 0) && clause.iter().all(|word| !word.after_blank);
        let note_of = |word: &Word| {
            let is_long = (after_blank || after_gap || word.after_blank) && word.bytes.len() >= LONG_BYTES;
            (if is_long { long_note(head(&word.bytes)) } else { note(head(&word.bytes)) }) as u16
        };
        let mut notes: Vec<u16> = clause.iter().map(note_of).collect();
        if after_signs {
            notes.extend(clause.iter().map(|word| joined_note(head(&word.bytes)) as u16));
        }
        notes.sort_unstable();
        notes.dedup();
        noted = index;
        all.push((clause.iter().any(Word::is_common), notes));
    }
    all.sort_by_key(|(is_common, notes)| (*is_common, notes.len()));
    let mut kept: Vec<(bool, Vec<u16>)> = Vec::new();
    for (is_common, notes) in all {
        // What holds whenever an earlier one does rules out nothing more.
        if !kept.iter().any(|(_, earlier)| earlier.iter().all(|note| notes.contains(note))) {
            kept.push((is_common, notes));
        }
    }
    kept.truncate(NEEDS_MAX);
    kept.into_iter().map(|(_, notes)| notes.into()).collect()
}

/// A word that matches hold: the first bytes of it.
struct Word {
    bytes: Vec<u8>,
    after_blank: bool,
}

impl Word {
    /// The word that `start` begins with, if it is long enough to be noted.
    fn first(start: &[u8], begins_word: bool) -> Option<Self> {
        let after_blank = start.first() == Some(&b' ');
        let bytes = start.trim_ascii_start();
        let is_noted = bytes.len() >= KEY_BYTES && bytes[0].is_ascii_alphanumeric() && (begins_word || after_blank);
        is_noted.then(|| Self { bytes: bytes.to_vec(), after_blank })
    }

    fn is_common(&self) -> bool {
        COMMON.iter().any(|word| self.bytes.starts_with(*word))
    }
}

/// Words of which every match of `parts` in a row holds one near its beginning: the first ones, or else one of each branch.
fn clause(parts: &[&Hir], begins_word: bool) -> Option<Vec<Word>> {
    let starts = starts(parts, KEY_BYTES)?;
    let first: Option<Vec<Word>> = starts.iter().map(|start| Word::first(start, begins_word)).collect();
    first.or_else(|| {
        let HirKind::Alternation(branches) = parts.first()?.kind() else { return None };
        branches.iter().map(|branch| last_word(branch, begins_word)).collect()
    })
}

/// The last word of a branch that is plain text.
fn last_word(branch: &Hir, begins_word: bool) -> Option<Word> {
    let HirKind::Literal(literal) = branch.kind() else { return None };
    let start = literal.0.iter().rposition(|byte| !byte.is_ascii_alphanumeric() && !b"_-".contains(byte));
    match start {
        None => Word::first(&literal.0, begins_word),
        Some(start) => {
            let after_blank = literal.0[start] == b' ';
            Word::first(&literal.0[start + 1..], true).map(|word| Word { after_blank, ..word })
        }
    }
}

/// Whether every match of a pattern holds a letter beyond ASCII. Most texts have none at all.
fn holds_beyond(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => !literal.0.is_ascii(),
        HirKind::Class(class) => letters(class).is_some_and(|letters| letters.iter().all(|letter| !letter.is_ascii())),
        HirKind::Capture(capture) => holds_beyond(&capture.sub),
        HirKind::Concat(parts) => parts.iter().any(holds_beyond),
        HirKind::Alternation(branches) => branches.iter().all(holds_beyond),
        HirKind::Repetition(repetition) => repetition.min > 0 && holds_beyond(&repetition.sub),
        HirKind::Empty | HirKind::Look(_) => false,
    }
}

/// Whether every match of `parts` in a row ends in a blank.
fn ends_in_blank(parts: &[&Hir]) -> bool {
    let Some((part, before)) = parts.split_last() else { return false };
    match part.kind() {
        HirKind::Literal(literal) => literal.0.last() == Some(&b' '),
        HirKind::Capture(capture) => ends_in_blank(&prepend(&capture.sub, &[])),
        HirKind::Concat(concat) => ends_in_blank(&concat.iter().collect::<Vec<_>>()),
        HirKind::Alternation(branches) => branches.iter().all(|branch| ends_in_blank(&[branch])),
        HirKind::Repetition(repetition) => {
            ends_in_blank(&[&repetition.sub]) && (repetition.min > 0 || ends_in_blank(before))
        }
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => false,
    }
}

/// Whether every match of `parts` in a row ends where a letter that follows begins a word.
fn ends_in_signs(parts: &[&Hir]) -> bool {
    let [.., before, part] = parts else { return false };
    let HirKind::Repetition(signs) = part.kind() else { return false };
    let after_word = matches!(before.kind(), HirKind::Look(Look::WordAscii));
    let has_letter = |set: Set| set.bytes().any(|byte| byte.is_ascii_lowercase());
    (signs.min > 0 || after_word) && single(&signs.sub).is_some_and(|set| !has_letter(set))
}

/// Where a word is noted by its key.
pub(in crate::classify) fn note(head: u64) -> usize {
    ((head & 0xffff_ffff).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % NOTE_BITS
}

/// Where it is noted by [`LONG_BYTES`] of it.
pub(in crate::classify) fn long_note(head: u64) -> usize {
    ((head & LONG_MASK).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % NOTE_BITS
}

/// Where the key of what stands behind a joint is noted: `limit` in `rate_limit`.
pub(in crate::classify) fn joined_note(head: u64) -> usize {
    NOTE_BITS - 1 - note(head)
}

fn prepend<'a>(part: &'a Hir, rest: &[&'a Hir]) -> Vec<&'a Hir> {
    std::iter::once(part).chain(rest.iter().copied()).collect()
}

/// `start`, with what can follow it if it is shorter than `bytes`.
fn extend(start: &[u8], rest: &[&Hir], bytes: usize) -> Vec<Vec<u8>> {
    if start.len() < bytes
        && let Some(rest) = starts(rest, if bytes > KEY_BYTES { bytes - start.len() } else { KEY_BYTES })
        && rest.len() <= STARTS_MAX
    {
        return rest.into_iter().map(|rest| [start, &rest].concat()).collect();
    }
    vec![start.to_vec()]
}
