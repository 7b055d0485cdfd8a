//! What part the words of a match play in their sentence.
//!
//! A message names its cause and much besides: what came of it ("resulting in an empty response"),
//! what may be behind it ("this may be due to a network issue"), what one could do about it ("or
//! switch to another model"). And where it says why something happened ("interrupted due to a server
//! error"), the reason is closer to the cause than what it explains. Whatever is said like that is
//! said in passing: it counts, but less than a plain statement.

use std::ops::Range;

use memchr::memmem;

/// How far before and behind a match a sentence is read.
const REACH_BYTES: usize = 90;
/// How far behind a match its reason may be announced: "interrupted unexpectedly due to".
const REASON_BYTES: usize = 30;

/// What turns the rest of a sentence into a guess, a consequence or a piece of advice.
const ASIDES: &[&str] = &[
    " may be ",
    " may have ",
    " might ",
    " could be ",
    " can be ",
    " possibly ",
    " perhaps ",
    " maybe ",
    " probably ",
    " likely ",
    " resulting in ",
    " results in ",
    " leading to ",
    " leads to ",
    " please ",
    " try ",
    " make sure ",
    " ensure ",
    " check ",
    " consider ",
    " switch to ",
    " or use ",
    " if you ",
    " unless ",
    " whether ",
    " such as ",
    " for example ",
];

/// What announces the reason of what was said before it.
const REASONS: &[&str] = &[" due to ", " because ", " caused by ", " as a result of ", " owing to "];

/// Whether the words at `span` are said in passing.
pub(super) fn is_in_passing(lower: &[u8], span: &Range<usize>) -> bool {
    is_aside(lower, span.start) || is_explained(lower, span.end)
}

fn is_aside(lower: &[u8], start: usize) -> bool {
    let before = &lower[start.saturating_sub(REACH_BYTES)..start];
    let begin = before.iter().rposition(|byte| b"\"{}<>|".contains(byte)).map_or(0, |at| at + 1);
    let before = &before[begin..];
    let begin = before.windows(2).rposition(|pair| pair[1] == b' ' && b".!?;:".contains(&pair[0]));
    // From the blank on, so that a mark may be the first word.
    let sentence = &before[begin.map_or(0, |at| at + 1)..];
    // What is asked for politely is what a rule about advice looks for.
    let sentence = sentence.strip_suffix(b"please ").unwrap_or(sentence);
    let says = |mark: &&str| {
        memmem::find(sentence, mark.as_bytes()).is_some()
            || begin.is_none() && sentence.starts_with(&mark.as_bytes()[1..])
    };
    ASIDES.iter().any(says)
}

fn is_explained(lower: &[u8], end: usize) -> bool {
    let behind = &lower[end..lower.len().min(end + REASON_BYTES)];
    let len = behind.iter().position(|byte| b".!?;:\"{}".contains(byte)).unwrap_or(behind.len());
    REASONS.iter().any(|mark| memmem::find(&behind[..len], mark.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_advice_consequences_and_what_is_explained_are_said_in_passing() {
        let table = [
            ("runtime is down. this may be due to a network issue", "network issue", true),
            ("too many requests. resulting in empty response.", "empty response", true),
            ("your queue position is 3. please wait or switch to other models", "other models", true),
            ("response was interrupted due to a server error", "interrupted", true),
            ("response was interrupted due to a server error", "server error", false),
            ("please try again later: model overloaded", "overloaded", false),
            (r#"{"advice":"please wait","error":"model overloaded"}"#, "overloaded", false),
            ("slow down: please reduce your rate", "reduce", false),
            ("check failed", "failed", true),
            ("recheck failed", "failed", false),
            ("model overloaded", "model", false),
        ];
        for (text, words, expected) in table {
            let start = text.find(words).unwrap();
            assert_eq!(is_in_passing(text.as_bytes(), &(start..start + words.len())), expected, "{text}");
        }
    }
}
