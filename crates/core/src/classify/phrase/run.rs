//! Runs the steps of a pattern: plain backtracking with a budget.

use std::ops::Range;

use regex_syntax::hir::Look;

use super::Known;
use super::program::{Order, Step};
use super::set::Set;

/// Steps one try may take. The longest honest one takes some hundred.
const STEPS_MAX: u32 = 6_000;

/// One try of a program at one text.
pub(super) struct Runner<'a> {
    program: &'a [Step],
    text: &'a [u8],
    /// Where words begin.
    words: &'a [u32],
    marks: [usize; 2],
    steps: u32,
}

impl<'a> Runner<'a> {
    pub(super) fn new(program: &'a [Step], text: &'a [u8], words: &'a [u32]) -> Self {
        Self { program, text, words, marks: [0; 2], steps: STEPS_MAX }
    }

    /// What stands between the marks of the last match.
    pub(super) fn value(&self) -> Range<usize> {
        let [start, end] = self.marks;
        start..end
    }

    /// Where the match ends that begins at `at`.
    pub(super) fn begin(&mut self, at: usize, known: Known) -> Option<usize> {
        if let Step::Look(look) = self.program[0]
            && !holds(look, self.text, at)
        {
            return None;
        }
        self.from(usize::from(known.step), at + usize::from(known.bytes))
    }

    /// Where the match ends that goes on like this.
    fn from(&mut self, mut step: usize, mut at: usize) -> Option<usize> {
        loop {
            match &self.program[step] {
                Step::Literal(literal) => {
                    if !literal.stands_at(self.text, at) {
                        return None;
                    }
                    at += literal.len();
                }
                Step::Class(set) => {
                    if !self.text.get(at).is_some_and(|byte| set.has(*byte)) {
                        return None;
                    }
                    at += 1;
                }
                Step::Look(look) => {
                    if !holds(*look, self.text, at) {
                        return None;
                    }
                }
                Step::Split { first, other } => {
                    let other = *other;
                    if self.may_go_on(first.as_ref(), at)
                        && let Some(end) = self.from(step + 1, at)
                    {
                        return Some(end);
                    }
                    step = other;
                    continue;
                }
                Step::Choice(places) => {
                    let byte = *self.text.get(at)?;
                    let mut places = places.iter().filter(|place| place.first == byte);
                    step = loop {
                        let place = places.next()?;
                        self.steps = self.steps.checked_sub(1)?;
                        if place.is_last {
                            break usize::from(place.step);
                        }
                        if let Some(end) = self.from(usize::from(place.step), at) {
                            return Some(end);
                        }
                    };
                    continue;
                }
                Step::Jump(to) => {
                    step = *to;
                    continue;
                }
                Step::Run { set, min, max, order, next } => {
                    let (min, order) = (*min as usize, *order);
                    let rest = &self.text[at..];
                    let rest = &rest[..rest.len().min(*max as usize)];
                    let len = rest.iter().position(|byte| !set.has(*byte)).unwrap_or(rest.len());
                    if order == Order::LongestOnly {
                        if len < min || !self.may_go_on(next.as_ref(), at + len) {
                            return None;
                        }
                        at += len;
                        step += 1;
                        continue;
                    }
                    for len in (min..len + 1).rev() {
                        if self.may_go_on(next.as_ref(), at + len)
                            && let Some(end) = self.from(step + 1, at + len)
                        {
                            return Some(end);
                        }
                    }
                    return None;
                }
                Step::Skip { min, max, next } => {
                    let rest = &self.text[at..];
                    let rest = &rest[..rest.len().min(*max as usize)];
                    let last = at + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    let reach = &self.text[..self.text.len().min(last + 1)];
                    let mut at = at + *min as usize;
                    while at <= last {
                        if let Some(next) = next {
                            at += reach[at..].iter().position(|byte| next.has(*byte))?;
                        }
                        self.steps = self.steps.checked_sub(1)?;
                        if let Some(end) = self.from(step + 1, at) {
                            return Some(end);
                        }
                        at += 1;
                    }
                    return None;
                }
                Step::Gap { max, next } => {
                    let last = (at + *max as usize) as u32;
                    let nearest = self.words.partition_point(|word| (*word as usize) < at);
                    for word in self.words[nearest..].iter().take_while(|word| **word <= last) {
                        let start = at;
                        let at = *word as usize;
                        // A cause stands in one sentence.
                        if at > start && is_next_sentence(&self.text[..at]) {
                            break;
                        }
                        if self.may_go_on(Some(next), at)
                            && let Some(end) = self.from(step + 1, at)
                        {
                            return Some(end);
                        }
                    }
                    return None;
                }
                Step::Mark(index) => self.marks[*index] = at,
                Step::Done => return Some(at),
            }
            step += 1;
        }
    }

    /// Whether the byte at `at` can begin what follows, and the budget allows to find out.
    fn may_go_on(&mut self, first: Option<&Set>, at: usize) -> bool {
        let fits = first.is_none_or(|first| self.text.get(at).is_some_and(|byte| first.has(*byte)));
        if fits {
            self.steps = self.steps.saturating_sub(1);
        }
        fits && self.steps > 0
    }
}

/// Whether a text ends with a sentence, so that what follows is the next.
fn is_next_sentence(before: &[u8]) -> bool {
    matches!(before, [.., b'a'..=b'z' | b')' | b'"' | b'\'', b'.' | b'!' | b'?' | b';', b' '])
}

/// Most are about the bounds of a word.
#[inline]
fn holds(look: Look, text: &[u8], at: usize) -> bool {
    if look == Look::WordAscii { is_bound(text, at) } else { holds_other(look, text, at) }
}

/// Whether a word begins or ends at `at`.
#[inline]
fn is_bound(text: &[u8], at: usize) -> bool {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| WORD_BYTES[usize::from(*byte)]);
    is_word(at.checked_sub(1).and_then(|before| text.get(before))) != is_word(text.get(at))
}

fn holds_other(look: Look, text: &[u8], at: usize) -> bool {
    match look {
        Look::Start => at == 0,
        // Flattened text ends in a blank where a line did.
        Look::End => text[at..].iter().all(|byte| *byte == b' '),
        Look::WordAsciiNegate => !is_bound(text, at),
        // The table uses no others, which its test would show.
        _ => false,
    }
}

/// What `\w` means: letters, digits and `_`.
const WORD_BYTES: [bool; 256] = {
    let mut bytes = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    bytes
};
