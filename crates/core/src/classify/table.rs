//! The rules compiled: one automaton over every code and every anchor, one pass over the text.
//!
//! A hit of the automaton is only a suspicion. A code is confirmed by what stands around it, a
//! phrase by its regular expression on the few bytes around the hit. Expressions are compiled
//! when first needed. Hits that could not outrank the best match so far are not even tried.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Regex, RegexBuilder};

use super::anchor;
use super::rule::Rule;
use super::wait::WAITS;

/// How often one pattern is tried on one text. A word repeated thousands of times proves no
/// more than a few of them do, and the work stays linear.
const TRIES_MAX: u8 = 12;
/// How many stated waits are kept; a body states one or two.
const WAITS_MAX: usize = 6;

/// Fields whose value is an error code.
const CODE_FIELDS: &[&str] = &[
    "code",
    "type",
    "status",
    "reason",
    "error",
    "err",
    "kind",
    "name",
    "__type",
    "errno",
    "error_code",
    "error_type",
    "errorcode",
    "errortype",
    "err_code",
    "errcode",
    "error_name",
    "error.code",
    "error.type",
    "exception",
    "subcode",
    "category",
    "cause",
    "ret",
    "finish_reason",
    "finishreason",
    "native_finish_reason",
    "stop_reason",
    "stopreason",
    "blockreason",
    "block_reason",
    "status_code",
    "statuscode",
    "x-amzn-errortype",
    "x-ms-error-code",
    "x-error-code",
    "provider_error_code",
    "resultcode",
    "error_msg",
];

/// A compiled table.
pub(super) struct Table {
    rules: Vec<&'static Rule>,
    /// Higher decides: precedence first, then the earlier place in the table.
    ranks: Vec<u32>,
    literals: AhoCorasick,
    /// What each literal may be part of.
    targets: Vec<Vec<Target>>,
    patterns: Vec<Pattern>,
}

/// What a pass over a text found.
#[derive(Default)]
pub(super) struct Found {
    /// The rule that outranks all others that match, and where it does.
    pub(super) rule: Option<(&'static Rule, Range<usize>)>,
    /// Waits the text states: index in the table of waits, and where the value stands.
    pub(super) waits: Vec<(usize, Range<usize>)>,
}

#[derive(Clone, Copy)]
enum Target {
    Code { rule: u16, anywhere: bool },
    Text { pattern: u16 },
    Wait { pattern: u16 },
}

struct Pattern {
    source: String,
    len_max: usize,
    /// Index of its rule, or of its wait.
    owner: u16,
    regex: OnceLock<Option<Regex>>,
}

impl Table {
    /// Compiles `rules` and the waits.
    pub(super) fn new(rules: Vec<&'static Rule>) -> Self {
        let mut builder = Builder::default();
        for (index, rule) in rules.iter().enumerate() {
            for code in rule.codes {
                builder.add_code(index as u16, code);
            }
            for text in rule.texts {
                builder.add_pattern(index as u16, text, |pattern| Target::Text { pattern });
            }
        }
        for (index, wait) in WAITS.iter().enumerate() {
            builder.add_pattern(index as u16, &wait.expanded(), |pattern| Target::Wait { pattern });
        }
        let literals = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&builder.literals)
            .expect("a few thousand short literals are far below the limits of the automaton");
        let ranks = rules.iter().enumerate();
        let ranks = ranks.map(|(index, rule)| (u32::from(rule.precedence()) << 16) | (0xffff - index as u32)).collect();
        Self { rules, ranks, literals, targets: builder.targets, patterns: builder.patterns }
    }

    /// Every rule, in the order of the table.
    pub(super) fn rules(&self) -> &[&'static Rule] {
        &self.rules
    }

    /// Reads `text` once and returns what outranks everything else in it.
    pub(super) fn search(&self, text: &[u8], status: Option<u16>) -> Found {
        let mut found = Found::default();
        let mut best = 0;
        let mut tries = Vec::new();
        for hit in self.literals.find_overlapping_iter(text) {
            for target in &self.targets[hit.pattern().as_usize()] {
                let span = match *target {
                    Target::Code { rule, anywhere } => {
                        if self.outranks(rule, best, status) && is_code(text, hit.span().range(), anywhere) {
                            Some((rule, hit.span().range()))
                        } else {
                            None
                        }
                    }
                    Target::Text { pattern } => {
                        let owner = self.patterns[usize::from(pattern)].owner;
                        if self.outranks(owner, best, status) && self.may_try(&mut tries, pattern) {
                            self.find(pattern, text, hit.start(), hit.end()).map(|span| (owner, span))
                        } else {
                            None
                        }
                    }
                    Target::Wait { pattern } => {
                        if found.waits.len() < WAITS_MAX && self.may_try(&mut tries, pattern) {
                            self.find_wait(pattern, text, hit.start(), hit.end(), &mut found.waits);
                        }
                        None
                    }
                };
                if let Some((rule, span)) = span {
                    best = self.ranks[usize::from(rule)];
                    found.rule = Some((self.rules[usize::from(rule)], span));
                }
            }
        }
        found
    }

    fn outranks(&self, rule: u16, best: u32, status: Option<u16>) -> bool {
        let index = usize::from(rule);
        if self.ranks[index] <= best {
            return false;
        }
        let statuses = self.rules[index].statuses;
        statuses.is_empty() || status.is_some_and(|status| statuses.contains(&status))
    }

    fn may_try(&self, tries: &mut Vec<u8>, pattern: u16) -> bool {
        if tries.is_empty() {
            tries.resize(self.patterns.len(), 0);
        }
        let tried = &mut tries[usize::from(pattern)];
        *tried += u8::from(*tried <= TRIES_MAX);
        *tried <= TRIES_MAX
    }

    /// Confirms a pattern around the hit of one of its literals.
    fn find(&self, pattern: u16, text: &[u8], start: usize, end: usize) -> Option<Range<usize>> {
        let pattern = &self.patterns[usize::from(pattern)];
        let (from, to) = pattern.window(text, start, end);
        pattern.regex()?.find_at(&text[..to], from).map(|found| found.range())
    }

    fn find_wait(&self, pattern: u16, text: &[u8], start: usize, end: usize, waits: &mut Vec<(usize, Range<usize>)>) {
        let pattern = &self.patterns[usize::from(pattern)];
        let (from, to) = pattern.window(text, start, end);
        let captures = pattern.regex().and_then(|regex| regex.captures_at(&text[..to], from));
        let Some(value) = captures.and_then(|captures| captures.get(1)) else { return };
        let wait = (usize::from(pattern.owner), value.range());
        if !waits.contains(&wait) {
            waits.push(wait);
        }
    }
}

impl Pattern {
    /// The bytes a match that contains the hit can lie in, and one more for a word boundary.
    fn window(&self, text: &[u8], start: usize, end: usize) -> (usize, usize) {
        (start.saturating_sub(self.len_max), (end + self.len_max + 1).min(text.len()))
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| RegexBuilder::new(&self.source).unicode(false).build().ok()).as_ref()
    }
}

/// Whether the bytes at `span` are an error code: a whole word, and a field's value unless the
/// word can be nothing else.
pub(super) fn is_code(text: &[u8], span: Range<usize>, anywhere: bool) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let before = text[..span.start].last();
    if before.is_some_and(is_word) || before == Some(&b'-') || text.get(span.end).is_some_and(is_word) {
        return false;
    }
    // The name of a field is not the value of one.
    if matches!(text[span.end..], [b'"' | b'\'', b':', ..]) {
        return false;
    }
    anywhere || is_code_field(&text[..span.start])
}

/// Whether `before` ends in the name of a code field and its separator: `"code": "`, `code=`.
fn is_code_field(before: &[u8]) -> bool {
    let is_quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'`' | b' ');
    let before = trim_end(before, is_quote);
    let Some((b':' | b'=', before)) = before.split_last() else { return false };
    let before = trim_end(before, is_quote);
    let name = before.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte)).count();
    let name = &before[before.len() - name..];
    CODE_FIELDS.iter().any(|field| field.as_bytes() == name)
}

fn trim_end(bytes: &[u8], drop: impl Fn(u8) -> bool) -> &[u8] {
    let kept = bytes.iter().rposition(|byte| !drop(*byte)).map_or(0, |last| last + 1);
    &bytes[..kept]
}

#[derive(Default)]
struct Builder {
    literals: Vec<Vec<u8>>,
    targets: Vec<Vec<Target>>,
    patterns: Vec<Pattern>,
    known: std::collections::HashMap<Vec<u8>, usize>,
}

impl Builder {
    fn add_literal(&mut self, literal: Vec<u8>, target: Target) {
        let index = *self.known.entry(literal).or_insert_with_key(|literal| {
            self.literals.push(literal.clone());
            self.targets.push(Vec::new());
            self.literals.len() - 1
        });
        self.targets[index].push(target);
    }

    fn add_code(&mut self, rule: u16, code: &str) {
        let anywhere = is_identifier(code);
        for spelling in spellings(code) {
            // With hyphens it may be an ordinary compound: "rate-limit".
            let anywhere = anywhere && (!spelling.contains('-') || code.contains('-'));
            self.add_literal(spelling.into_bytes(), Target::Code { rule, anywhere });
        }
    }

    fn add_pattern(&mut self, owner: u16, source: &str, target: impl Fn(u16) -> Target) {
        let source = anchor::expand(source);
        let Some(anchors) = anchor::anchors(&source) else {
            debug_assert!(false, "pattern without anchors: {source}");
            return;
        };
        let pattern = self.patterns.len() as u16;
        self.patterns.push(Pattern { source, len_max: anchors.len_max, owner, regex: OnceLock::new() });
        let mut literals = anchors.literals;
        literals.sort();
        literals.dedup();
        for literal in literals {
            self.add_literal(literal, target(pattern));
        }
    }
}

/// Whether a code cannot be mistaken for an ordinary word: several words in one, or capitals that
/// no word has.
pub(super) fn is_identifier(code: &str) -> bool {
    let words = words(code).len();
    let capitals = code.bytes().filter(u8::is_ascii_uppercase).count();
    let shouted = code.len() >= 5 && capitals == code.len();
    let mixed = capitals >= 2 && capitals < code.len();
    let number = code.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    (words > 1 || shouted || mixed) && !number
}

/// The same code as other stacks spell it: `rate_limit_error`, `rate-limit-error`, `RateLimitError`.
fn spellings(code: &str) -> Vec<String> {
    let words = words(code);
    if words.len() < 2 || code.contains(['.', ':', '-']) {
        return vec![code.to_ascii_lowercase()];
    }
    let mut spellings: Vec<_> = ["", "_", "-"].iter().map(|separator| words.join(separator)).collect();
    let verbatim = code.to_ascii_lowercase();
    if !spellings.contains(&verbatim) {
        spellings.push(verbatim);
    }
    spellings
}

/// The words of a code, in lower case: split at underscores and at capitals after small letters.
fn words(code: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_small = false;
    for letter in code.chars() {
        let starts_word = after_small && letter.is_ascii_uppercase();
        let ended = words.last().is_some_and(|word| !word.is_empty());
        if (letter == '_' || starts_word) && ended {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.push(letter.to_ascii_lowercase());
        }
        after_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_as_a_field_or_where_it_can_be_nothing_else() {
        let code = |text: &str, code: &str| {
            let start = text.find(code).unwrap();
            is_code(text.as_bytes(), start..start + code.len(), is_identifier(code))
        };
        assert!(code(r#"{"type": "tokens"}"#, "tokens"));
        assert!(code("{'code': '1302'}", "1302"));
        assert!(code("code=1302,", "1302"));
        assert!(code("402 insufficient_balance_error (1008)", "insufficient_balance_error"));
        assert!(!code("1302 tokens", "1302"));
        assert!(!code(r#"{"max":"tokens"}"#, "tokens"));
        assert!(!code("my_rate_limit_exceeded_2", "rate_limit_exceeded"));
    }

    #[test]
    fn codes_are_known_in_every_spelling() {
        assert_eq!(spellings("rate_limit_error"), ["ratelimiterror", "rate_limit_error", "rate-limit-error"]);
        assert_eq!(spellings("ThrottlingException")[1], "throttling_exception");
        assert_eq!(spellings("ECONNRESET"), ["econnreset"]);
        assert!(is_identifier("ECONNRESET") && !is_identifier("tokens") && !is_identifier("1302"));
    }
}
