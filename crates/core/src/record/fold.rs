//! What a provider said, folded: ids, numbers, names and everything quoted become signs.
//!
//! So that a thousand errors that differ in a request id are one line of a table, and so that no
//! part of a prompt, which some providers quote back, is kept.

use crate::failure::Failure;
use crate::kind::FailureKind;
use crate::redact;

/// More tells nobody more.
const CHARS_MAX: usize = 160;

/// What a provider said about a failure, folded; `None` where it said nothing that may be kept.
pub(super) fn message(failure: &Failure) -> Option<String> {
    // These speak about what was asked or answered, often in its own words.
    let quotes = matches!(failure.kind, FailureKind::ContentFilter | FailureKind::BadOutput);
    if quotes || failure.message.is_empty() {
        return None;
    }
    let folded = fold(&redact::redact(&failure.message));
    (!folded.is_empty()).then_some(folded)
}

/// Folds a text of any length into one short line.
fn fold(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next().filter(|_| out.chars().count() < CHARS_MAX) {
        let taken = match first {
            '"' | '\'' | '`' | '“' | '‘' => quoted(rest, first, &mut out),
            first if first.is_whitespace() || first.is_control() => {
                push_once(&mut out, ' ');
                first.len_utf8()
            }
            first if is_word(first) => word(rest, &mut out),
            first => {
                out.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    let cut: String = out.trim().chars().take(CHARS_MAX).collect();
    cut
}

/// Takes a quoted part and leaves its quotes; an apostrophe is not one.
fn quoted(rest: &str, open: char, out: &mut String) -> usize {
    let close = match open {
        '“' => '”',
        '‘' => '’',
        other => other,
    };
    let after_word = out.chars().last().is_some_and(char::is_alphanumeric);
    let inner = &rest[open.len_utf8()..];
    match inner.find(close) {
        Some(end) if !(open == '\'' && after_word) => {
            out.extend([open, '…', close]);
            open.len_utf8() + end + close.len_utf8()
        }
        // What is never closed may be all of a prompt.
        None if open != '\'' => {
            out.extend([open, '…']);
            rest.len()
        }
        _ => {
            out.push(open);
            open.len_utf8()
        }
    }
}

/// Takes a word: as it stands where it is one, a sign where it is a number, an id, a name or an address.
fn word(rest: &str, out: &mut String) -> usize {
    let end = rest.find(|letter: char| !is_word(letter)).unwrap_or(rest.len());
    let whole = &rest[..end];
    // The stop at the end of a sentence is no part of its last word.
    let word = whole.trim_end_matches(['.', ':', '/', '-', '@']);
    let tail = &whole[word.len()..];
    let is_address = word.contains("://") || word.contains('@');
    let is_path = word.matches('/').count() > 1;
    let is_name = word.bytes().any(|byte| byte.is_ascii_digit()) || word.contains('_') || word.len() > 24;
    if word.is_empty() || !(is_address || is_path || is_name) {
        out.push_str(word);
    } else {
        push_once(out, '#');
    }
    out.push_str(tail);
    end
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':' | '/' | '@')
}

fn push_once(out: &mut String, sign: char) {
    if !out.ends_with(sign) {
        out.push(sign);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_that_differ_in_ids_and_numbers_are_one() {
        let cases = [
            (
                "Rate limit reached for gpt-4o in organization org-A1b2 on tokens per min (TPM): Limit 30000, Used 29803. Please try again in 6.1s.",
                "Rate limit reached for # in organization # on tokens per min (TPM): Limit #, Used #. Please try again in #.",
            ),
            ("The model `gpt-9` does not exist", "The model `…` does not exist"),
            ("can't reach http://10.0.0.1:8080/v1: refused", "can't reach #: refused"),
            ("prompt is too long: 201,234 tokens > 200000 maximum", "prompt is too long: #,# tokens > # maximum"),
            ("Overloaded", "Overloaded"),
            ("bad request \"tell me about my secret", "bad request \"…"),
            ("a\n\n  b", "a b"),
            ("a\u{7}\u{7}b", "a b"),
            ("the tool “search” and ‘its’ 'name' failed", "the tool “…” and ‘…’ '…' failed"),
            ("don't do 'this'", "don't do '…'"),
            ("said 'never closed", "said 'never closed"),
            ("mail a@b.example or read /etc/hosts, and/or wait", "mail # or read #, and/or wait"),
            ("a snake_case or a-rather-long-hyphenated-name", "a # or #"),
            ("just-twenty-four-letters", "just-twenty-four-letters"),
            ("adjust-twenty-four-letter", "#"),
            ("1 2 3", "# # #"),
            ("see: / and // or -", "see: / and // or -"),
            ("done. (v2):", "done. (#):"),
        ];
        for (said, folded) in cases {
            assert_eq!(fold(said), folded);
        }
    }

    #[test]
    fn a_line_that_is_cut_ends_with_no_blank() {
        assert_eq!(fold(&"abc ".repeat(60)), "abc ".repeat(CHARS_MAX / 4).trim_end());
    }

    #[test]
    fn what_speaks_of_the_prompt_is_not_kept() {
        let blocked = Failure { message: "you asked for x".into(), ..Failure::new(FailureKind::ContentFilter, "r") };
        assert_eq!(message(&blocked), None);
        assert_eq!(message(&Failure { kind: FailureKind::BadOutput, ..blocked }), None);
        let blank = Failure { message: " \n".into(), ..Failure::new(FailureKind::Overloaded, "r") };
        assert_eq!(message(&blank), None);
        let busy = Failure { message: "Overloaded".into(), ..Failure::new(FailureKind::Overloaded, "r") };
        assert_eq!(message(&busy).as_deref(), Some("Overloaded"));
        assert_eq!(message(&Failure::new(FailureKind::Overloaded, "r")), None);
    }

    proptest! {
        #[test]
        fn any_text_folds_into_a_short_line(text in any::<String>()) {
            let folded = fold(&text);
            prop_assert!(folded.chars().count() <= CHARS_MAX);
            prop_assert!(!folded.contains('\n'));
        }

        #[test]
        fn no_digit_and_nothing_quoted_is_left(text in "[a-z \"`0-9]{0,80}") {
            prop_assert!(!fold(&text).bytes().any(|byte| byte.is_ascii_digit()));
        }
    }
}
