//! What part the words of a match play in their sentence.
//!
//! A message names its cause and much besides: what came of it ("resulting in an empty response"),
//! what may be behind it ("this may be due to a network issue"), what one could do about it ("or
//! switch to another model"). And where it says why something happened ("interrupted due to a server
//! error"), the reason is closer to the cause than what it explains; and what it denies ("no secrets
//! found") did not happen. Whatever is said like that is said in passing: it counts, but less than a plain statement.

use std::ops::Range;

use super::phrase::starts_with;

/// How far before and behind a match a sentence is read.
const REACH_BYTES: usize = 90;
/// How far behind a match its reason may be announced: "interrupted unexpectedly due to".
const REASON_BYTES: usize = 30;

/// How many words before a match may deny it.
const DENIAL_WORDS: usize = 2;

/// What turns the rest of a sentence into a guess, a consequence or a piece of advice, in the order
/// of the alphabet.
const ASIDES: &[&str] = &[
    "can be ",
    "check ",
    "consider ",
    "could be ",
    "could indicate ",
    "e.g., ",
    "ensure ",
    "expected one of ",
    "for example ",
    "if you ",
    "leading to ",
    "leads to ",
    "likely ",
    "make sure ",
    "may be ",
    "may have ",
    "may indicate ",
    "maybe ",
    "might ",
    "must be one of ",
    "often ",
    "or use ",
    "perhaps ",
    "please ",
    "possibly ",
    "probably ",
    "resulting in ",
    "results in ",
    "should be ",
    "such as ",
    "switch to ",
    "try ",
    "typically ",
    "unless ",
    "usually ",
    "whether ",
];

/// What announces a list of guesses.
const GUESSES: &[&str] = &[
    "often caused by: ",
    "usually caused by: ",
    "may be caused by: ",
    "might be caused by: ",
    "can be caused by: ",
    "could be caused by: ",
    "likely causes: ",
    "possible causes: ",
    "common causes: ",
    "possible reasons: ",
    "common reasons: ",
    "things to check: ",
    "please check: ",
    "e.g. ",
    "for instance: ",
    "for example: ",
];

/// What announces the reason of what was said before it.
const REASONS: &[&str] = &["as a result of ", "because ", "caused by ", "due to ", "owing to "];

/// What a piece of advice begins with, in the order of the alphabet.
const ADVICE: &[&str] = &[
    "check that ",
    "check the ",
    "check your ",
    "ensure ",
    "make sure ",
    "please check ",
    "verify that ",
    "verify your ",
];

const ADVICE_ALIKE: [(u8, u8); 26] = alike(ADVICE);
const ASIDES_ALIKE: [(u8, u8); 26] = alike(ASIDES);
const REASONS_ALIKE: [(u8, u8); 26] = alike(REASONS);

/// What part words play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// They say what happened.
    Statement,
    /// They say something else besides.
    Aside,
    /// They say what to do about it, which is said of many a failure.
    Advice,
}

/// The part that the words at `span` play; `words` are where those of the text begin.
pub(super) fn of(lower: &[u8], words: &[u32], span: &Range<usize>) -> Role {
    // They tell what to do rather than what happened: "check your API key".
    if says(&lower[span.clone()], ADVICE, &ADVICE_ALIKE) {
        return Role::Advice;
    }
    let (before, rest) = words.split_at(words.partition_point(|at| (*at as usize) < span.start));
    let behind = &rest[rest.partition_point(|at| (*at as usize) < span.end)..];
    let is_aside = is_in_address(lower, span.start)
        || is_denied(lower, span.start)
        || is_aside(lower, before, span.start)
        || is_explained(lower, behind, span.end);
    if is_aside { Role::Aside } else { Role::Statement }
}

fn is_aside(lower: &[u8], before: &[u32], start: usize) -> bool {
    // Back to the first word of the sentence.
    let mut word = start;
    for at in before.iter().rev().map(|at| *at as usize) {
        if begins_sentence(lower, word) {
            return GUESSES.iter().any(|guess| lower[..word].ends_with(guess.as_bytes()));
        }
        if start - at > REACH_BYTES {
            break;
        }
        // What is asked for politely is what a rule about advice looks for.
        if says(&lower[at..], ASIDES, &ASIDES_ALIKE) && lower[at..start] != *b"please " {
            return true;
        }
        word = at;
    }
    false
}

fn is_explained(lower: &[u8], behind: &[u32], end: usize) -> bool {
    let near = behind.iter().map(|at| *at as usize).take_while(|at| *at < end + REASON_BYTES);
    near.take_while(|at| !begins_sentence(lower, *at)).any(|at| says(&lower[at..], REASONS, &REASONS_ALIKE))
}

/// Whether they stand inside an address: a link to a page about an error names that page.
fn is_in_address(lower: &[u8], start: usize) -> bool {
    let before = &lower[start.saturating_sub(REACH_BYTES)..start];
    let word = before.iter().rposition(|byte| b" \"'`(<>".contains(byte)).map_or(before, |blank| &before[blank + 1..]);
    memchr::memmem::find(word, b"://").is_some()
}

/// Whether one of the words before denies them: "no secrets found", "no OpenAI API key found".
fn is_denied(lower: &[u8], start: usize) -> bool {
    let mut before = &lower[..start];
    for _ in 0..DENIAL_WORDS {
        let Some(rest) = before.strip_suffix(b" ") else { return false };
        let word = rest.iter().rev().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let (rest, word) = rest.split_at(rest.len() - word);
        if matches!(word, b"no" | b"without" | b"never" | b"0") {
            return true;
        }
        if word.is_empty() {
            return false;
        }
        before = rest;
    }
    false
}

/// Whether the text begins with one of the marks; `alike` says which of them begin with a letter.
fn says(text: &[u8], marks: &[&str], alike: &[(u8, u8); 26]) -> bool {
    let Some(first @ b'a'..=b'z') = text.first() else { return false };
    let (start, end) = alike[usize::from(first - b'a')];
    start < end && marks[usize::from(start)..usize::from(end)].iter().any(|mark| starts_with(text, mark.as_bytes()))
}

/// Which of the marks begin with each letter.
const fn alike(marks: &[&str]) -> [(u8, u8); 26] {
    let mut alike = [(0, 0); 26];
    let mut index = 0;
    while index < marks.len() {
        let letter = (marks[index].as_bytes()[0] - b'a') as usize;
        let (start, end) = alike[letter];
        alike[letter] = (if end == 0 { index as u8 } else { start }, index as u8 + 1);
        index += 1;
    }
    alike
}

fn begins_sentence(lower: &[u8], at: usize) -> bool {
    matches!(lower[..at], [.., b'.' | b'!' | b'?' | b';' | b':', b' '] | [.., b'"' | b'{' | b'}' | b'<' | b'>' | b'|'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_in_order() {
        assert!(ASIDES.is_sorted() && REASONS.is_sorted());
    }

    #[test]
    fn guesses_advice_denials_consequences_and_what_is_explained_are_no_statements() {
        let table = [
            ("runtime is down. this may be due to a network issue", "network issue", Role::Aside),
            ("too many requests. resulting in empty response.", "empty response", Role::Aside),
            ("your queue position is 3. please wait or switch to other models", "other models", Role::Aside),
            ("response was interrupted due to a server error", "interrupted", Role::Aside),
            ("response was interrupted due to a server error", "server error", Role::Statement),
            ("please try again later: model overloaded", "overloaded", Role::Statement),
            (r#"{"advice": "please wait", "error": "model overloaded"}"#, "overloaded", Role::Statement),
            ("slow down: please reduce your rate", "reduce", Role::Statement),
            ("busy, please try again. queue full", "queue full", Role::Statement),
            ("check failed", "failed", Role::Aside),
            ("it exited. this is often caused by: invalid key", "invalid key", Role::Aside),
            ("caused by: invalid key", "invalid key", Role::Statement),
            ("recheck failed", "failed", Role::Statement),
            ("no reply. check your api key", "check your api key", Role::Advice),
            ("the key is wrong", "key is wrong", Role::Statement),
            ("no api key found in request", "api key found", Role::Aside),
            ("api key found in request", "api key found", Role::Statement),
            ("no openai api key found", "api key found", Role::Aside),
            ("input should be 'stop' or 'safety'", "safety", Role::Aside),
            ("piano secrets found", "secrets found", Role::Statement),
            ("model overloaded", "model", Role::Statement),
            ("no thread found. see https://x.dev/errors/model_not_found/", "model_not_found", Role::Aside),
            ("https://x.dev/errors model_not_found", "model_not_found", Role::Statement),
            ("unknown variant ``, expected one of `stop`, `content_filter`", "content_filter", Role::Aside),
        ];
        for (text, words, expected) in table {
            let start = text.find(words).unwrap();
            let starts: Vec<u32> =
                text.split(' ').map(|word| (word.as_ptr() as usize - text.as_ptr() as usize) as u32).collect();
            assert_eq!(of(text.as_bytes(), &starts, &(start..start + words.len())), expected, "{text}");
        }
    }
}
