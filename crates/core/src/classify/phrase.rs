//! Phrases: patterns compiled for one purpose, to be tried where their first word stands.
//!
//! A pattern is written as a regular expression and means the same; it may not be unbounded and
//! must begin with a word, so that a text can be searched for a thousand patterns at once: look
//! up every word of it, and run the few patterns that begin so. Running means plain backtracking
//! with a budget. A regex engine would do more than is asked, and with so many patterns it is too
//! slow: one `RegexSet` over the table takes milliseconds for one error (see the benchmark).

mod literal;
mod start;

use std::ops::Range;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

pub(super) use literal::{HEAD_BYTES, Literal, head, starts_with};
pub(super) use start::{ALWAYS_NOTE, BEYOND_NOTE, KEY_BYTES, LONG_BYTES, NOTE_BITS, joined_note, long_note, note};

/// What `&` stands for: every way to say that something could not be done.
const FAILED: &str = "(?:failed to|unable to|could not|couldn't|cannot|can't|can not|not able to|failure to)";
/// Verbs that are written with their "not" in one word as often as in two.
const CONTRACTED: [&str; 10] = ["is", "are", "was", "were", "does", "do", "did", "has", "have", "could"];
/// Steps one try may take. The longest honest one takes some hundred.
const STEPS_MAX: u32 = 6_000;
/// Repetitions of anything that may be at least this long are gaps: what follows begins a word.
const GAP_BYTES_MIN: u32 = 20;

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

// With a tag of its own, which is read once per step.
#[repr(u8)]
enum Step {
    Literal(Literal),
    Class(Set),
    Look(Look),
    /// Goes on at one of the places.
    Choice(Box<[Place]>),
    /// Goes on behind, or else at the other place; not behind if the next byte cannot begin it.
    Split {
        first: Option<Set>,
        other: usize,
    },
    Jump(usize),
    /// Between `min` and `max` bytes of a set, then the rest.
    Run {
        set: Set,
        min: u32,
        max: u32,
        order: Order,
        next: Option<Set>,
    },
    /// Between `min` and `max` bytes of anything, the fewest first.
    Skip {
        min: u32,
        max: u32,
        next: Option<Set>,
    },
    /// Up to `max` bytes of anything, then what begins a word.
    Gap {
        max: u32,
        next: Set,
    },
    /// An end of the value that a pattern reads out.
    Mark(usize),
    Done,
}

/// One way to go on.
struct Place {
    /// The byte it begins with.
    first: u8,
    /// No later place begins with the same byte: there is no way back to take.
    is_last: bool,
    step: u16,
}

/// In which order the lengths of a run are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    LongestFirst,
    /// What follows cannot begin inside the run, so that no other length can go on.
    LongestOnly,
}

/// A set of bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Set([u64; 4]);

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
        let mut program = Vec::new();
        compile(&hir, &mut program);
        program.push(Step::Done);
        look_ahead(&mut program);
        Ok(Self { program: program.into(), starts, needs: start::needs(&hir) })
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
        self.runner(text, words).begin(at, known)
    }

    /// The value that a match beginning at `at` reads out.
    pub(super) fn value(&self, text: &[u8], words: &[u32], at: usize, known: Known) -> Option<Range<usize>> {
        let mut run = self.runner(text, words);
        run.begin(at, known)?;
        let [start, end] = run.marks;
        (start < end).then_some(start..end)
    }

    fn runner<'a>(&'a self, text: &'a [u8], words: &'a [u32]) -> Runner<'a> {
        Runner { program: &self.program, text, words, marks: [0; 2], steps: STEPS_MAX }
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

struct Runner<'a> {
    program: &'a [Step],
    text: &'a [u8],
    /// Where words begin.
    words: &'a [u32],
    marks: [usize; 2],
    steps: u32,
}

impl Runner<'_> {
    /// Where the match ends that begins at `at`.
    fn begin(&mut self, at: usize, known: Known) -> Option<usize> {
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

fn compile(hir: &Hir, program: &mut Vec<Step>) {
    match hir.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => program.push(Step::Literal(Literal::new(&literal.0))),
        HirKind::Class(class) => match letters(class) {
            Some(letters) => choose(letters.len(), program, |index, program| {
                program.push(Step::Literal(Literal::new(&letters[index])));
                letters[index][0]
            }),
            None => program.push(Step::Class(Set::of(class))),
        },
        HirKind::Look(look) => program.push(Step::Look(*look)),
        HirKind::Concat(parts) => parts.iter().for_each(|part| compile(part, program)),
        HirKind::Capture(capture) => {
            program.push(Step::Mark(0));
            compile(&capture.sub, program);
            program.push(Step::Mark(1));
        }
        HirKind::Alternation(branches) if branches.iter().all(|branch| first_byte(branch).is_some()) => {
            choose(branches.len(), program, |index, program| {
                compile(&branches[index], program);
                first_byte(&branches[index]).unwrap_or_default()
            });
        }
        HirKind::Alternation(branches) => {
            let mut jumps = Vec::new();
            for (index, branch) in branches.iter().enumerate() {
                let split = program.len();
                let is_last = index + 1 == branches.len();
                if !is_last {
                    program.push(Step::Split { first: None, other: 0 });
                }
                compile(branch, program);
                if !is_last {
                    jumps.push(program.len());
                    program.push(Step::Jump(0));
                    program[split] = Step::Split { first: None, other: program.len() };
                }
            }
            let end = program.len();
            jumps.into_iter().for_each(|jump| program[jump] = Step::Jump(end));
        }
        HirKind::Repetition(repetition) => {
            let max = repetition.max.unwrap_or(repetition.min);
            if let Some(set) = single(&repetition.sub) {
                // Gaps are short where they match, numbers are read whole.
                let (min, is_gap) = (repetition.min, set == Set::ANY && max >= GAP_BYTES_MIN);
                program.push(if is_gap {
                    Step::Skip { min, max, next: None }
                } else {
                    Step::Run { set, min, max, order: Order::LongestFirst, next: None }
                });
                return;
            }
            (0..repetition.min).for_each(|_| compile(&repetition.sub, program));
            let mut splits = Vec::new();
            for _ in repetition.min..max {
                splits.push(program.len());
                program.push(Step::Split { first: None, other: 0 });
                compile(&repetition.sub, program);
            }
            let end = program.len();
            splits.into_iter().for_each(|split| program[split] = Step::Split { first: None, other: end });
        }
    }
}

/// Adds a choice of `count` branches; `branch` adds one and returns the byte it begins with.
fn choose(count: usize, program: &mut Vec<Step>, branch: impl Fn(usize, &mut Vec<Step>) -> u8) {
    let choice = program.len();
    program.push(Step::Done);
    let mut places: Vec<Place> = Vec::new();
    let mut jumps = Vec::new();
    for index in 0..count {
        let step = program.len() as u16;
        let first = branch(index, program);
        places.iter_mut().filter(|place| place.first == first).for_each(|place| place.is_last = false);
        places.push(Place { first, is_last: true, step });
        jumps.push(program.len());
        program.push(Step::Jump(0));
    }
    let end = program.len();
    jumps.into_iter().for_each(|jump| program[jump] = Step::Jump(end));
    program[choice] = Step::Choice(places.into());
}

/// The members of a class that has some beyond ASCII, which the parser makes of `(?:过|出)`.
fn letters(class: &Class) -> Option<Vec<Vec<u8>>> {
    let Class::Unicode(letters) = class else { return None };
    let beyond = letters.iter().any(|range| !range.end().is_ascii());
    let members = letters.iter().flat_map(|range| range.start()..=range.end());
    beyond.then(|| members.map(|letter| letter.to_string().into_bytes()).collect())
}

/// The byte a pattern begins with, if it can be no other.
fn first_byte(hir: &Hir) -> Option<u8> {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.first().copied(),
        HirKind::Concat(parts) => first_byte(parts.first()?),
        _ => None,
    }
}

/// The set of a pattern that is one byte long.
fn single(hir: &Hir) -> Option<Set> {
    match hir.kind() {
        HirKind::Class(class) if letters(class).is_none() => Some(Set::of(class)),
        HirKind::Literal(literal) => match *literal.0 {
            [byte] => Some(Set::EMPTY.with(byte)),
            _ => None,
        },
        _ => None,
    }
}

/// Notes for every choice which bytes can begin what it leads to.
fn look_ahead(program: &mut [Step]) {
    for index in 0..program.len() {
        let ahead = first(program, index + 1);
        match &mut program[index] {
            Step::Split { first, .. } => *first = ahead,
            Step::Skip { next, .. } => *next = ahead,
            Step::Run { set, order, next, .. } => {
                *next = ahead;
                if ahead.is_some_and(|ahead| !set.meets(&ahead)) {
                    *order = Order::LongestOnly;
                }
            }
            _ => {}
        }
        // Where only a word can follow, the beginnings of words are the only places to try.
        if let Step::Skip { min: 0, max, next: Some(next) } = program[index]
            && next.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        {
            program[index] = Step::Gap { max, next };
        }
    }
}

/// The bytes that can begin the program at `step`; `None` if it may be done without one.
fn first(program: &[Step], step: usize) -> Option<Set> {
    match program.get(step)? {
        Step::Literal(literal) => Some(Set::EMPTY.with(literal.first()?)),
        Step::Class(set) => Some(*set),
        Step::Look(_) | Step::Mark(_) => first(program, step + 1),
        Step::Jump(to) => first(program, *to),
        Step::Choice(places) => Some(places.iter().fold(Set::EMPTY, |set, place| set.with(place.first))),
        Step::Split { other, .. } => Some(first(program, step + 1)?.or(first(program, *other)?)),
        // A gap is longer than any word.
        Step::Gap { .. } => Some(Set::ANY),
        Step::Skip { min: 0, .. } => Some(Set::ANY.or(first(program, step + 1)?)),
        Step::Skip { .. } => Some(Set::ANY),
        Step::Run { set, min: 0, .. } => Some(set.or(first(program, step + 1)?)),
        Step::Run { set, .. } => Some(*set),
        Step::Done => None,
    }
}

impl Set {
    const EMPTY: Self = Self([0; 4]);
    /// What `.` means: any byte but a line break.
    const ANY: Self = Self([!(1 << b'\n'), !0, !0, !0]);

    fn of(class: &Class) -> Self {
        let mut set = Self::EMPTY;
        match class {
            Class::Bytes(bytes) => {
                for range in bytes.iter() {
                    set = set.or(Self::range(range.start(), range.end()));
                }
            }
            Class::Unicode(letters) => {
                for range in letters.iter().filter(|range| range.end().is_ascii()) {
                    set = set.or(Self::range(range.start() as u8, range.end() as u8));
                }
            }
        }
        set
    }

    /// The bytes from one to another, 64 at a time: the table asks for `.` ten thousand times.
    fn range(first: u8, last: u8) -> Self {
        let (first, last) = (u32::from(first), u32::from(last));
        Self(std::array::from_fn(|index| {
            let start = 64 * index as u32;
            let end = start + 63;
            if last < start || first > end {
                return 0;
            }
            u64::MAX << first.saturating_sub(start) & u64::MAX >> end.saturating_sub(last)
        }))
    }

    fn with(mut self, byte: u8) -> Self {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
        self
    }

    fn or(self, other: Self) -> Self {
        let [a, b, c, d] = self.0;
        let [e, f, g, h] = other.0;
        Self([a | e, b | f, c | g, d | h])
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, two)| one & two != 0)
    }

    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] & (1 << (byte & 63)) != 0
    }

    fn bytes(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |byte| self.has(*byte))
    }
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
    fn a_range_holds_all_from_its_first_byte_to_its_last() {
        for (first, last) in [(0, 255), (b'a', b'z'), (63, 64), (64, 127), (0, 0), (255, 255), (10, 200)] {
            let range = Set::range(first, last);
            assert!((0..=u8::MAX).all(|byte| range.has(byte) == (first..=last).contains(&byte)), "{first} {last}");
        }
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
