//! From a parsed pattern to the steps that run it.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::literal::Literal;
use super::set::Set;

/// Repetitions of anything that may be at least this long are gaps: what follows begins a word.
pub(super) const GAP_BYTES_MIN: u32 = 20;

// With a tag of its own, which is read once per step.
#[repr(u8)]
pub(super) enum Step {
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
pub(super) struct Place {
    /// The byte it begins with.
    pub(super) first: u8,
    /// No later place begins with the same byte: there is no way back to take.
    pub(super) is_last: bool,
    pub(super) step: u16,
}

/// In which order the lengths of a run are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    LongestFirst,
    /// What follows cannot begin inside the run, so that no other length can go on.
    LongestOnly,
}

/// The steps of a pattern.
pub(super) fn program(hir: &Hir) -> Box<[Step]> {
    let mut program = Vec::new();
    compile(hir, &mut program);
    program.push(Step::Done);
    look_ahead(&mut program);
    program.into()
}

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
pub(super) fn letters(class: &Class) -> Option<Vec<Vec<u8>>> {
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
pub(super) fn single(hir: &Hir) -> Option<Set> {
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
