//! The literals without which a pattern cannot match.
//!
//! All of them together go into one automaton, so that a text is read once for hundreds of
//! patterns and only those with a literal in it are tried. (One `RegexSet` of the table was
//! measured too: see the benchmark.)

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// More alternatives than this are not worth the space.
const LITERALS_MAX: usize = 48;

/// What is known about a pattern before it is compiled.
pub(super) struct Anchors {
    /// One of these is in every match.
    pub(super) literals: Vec<Vec<u8>>,
    /// No match is longer.
    pub(super) len_max: usize,
}

/// The pattern as the regex engine reads it: `~` is a gap.
pub(super) fn expand(pattern: &str) -> String {
    pattern.replace('~', ".{0,60}")
}

/// Finds the anchors of an expanded pattern; `None` if it has none or is unbounded or invalid.
pub(super) fn anchors(pattern: &str) -> Option<Anchors> {
    let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern).ok()?;
    let len_max = hir.properties().maximum_len()?;
    let literals = required(&hir)?;
    Some(Anchors { literals, len_max })
}

/// The best set of literals of which every match contains one.
fn required(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(vec![literal.0.to_vec()]),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Alternation(branches) => {
            let mut literals = Vec::new();
            for branch in branches {
                literals.extend(required(branch)?);
            }
            (literals.len() <= LITERALS_MAX).then_some(literals)
        }
        HirKind::Concat(parts) => parts.iter().filter_map(required).max_by_key(|literals| worth(literals)),
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => None,
    }
}

/// Long literals are rare in a text, and few of them are cheap.
fn worth(literals: &[Vec<u8>]) -> (usize, std::cmp::Reverse<usize>) {
    let shortest = literals.iter().map(Vec::len).min().unwrap_or(0);
    (shortest, std::cmp::Reverse(literals.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_unavoidable_literal_is_chosen() {
        let table = [
            ("context~exceed", "context"),
            ("(?:prompt|input) (?:is )?too long", " too long|too long"),
            ("a?insufficient_balance", "insufficient_balance"),
            ("exit(?:ed)? with (?:code|status)", " with "),
        ];
        for (pattern, expected) in table {
            let found = anchors(&expand(pattern)).unwrap().literals;
            let found: Vec<_> = found.iter().map(|literal| String::from_utf8_lossy(literal).into_owned()).collect();
            assert!(expected.split('|').any(|wanted| found.join("|") == wanted), "{pattern}: {found:?}");
        }
        assert!(anchors("[a-z]+").is_none());
        assert!(anchors("a.*b").is_none());
    }
}
