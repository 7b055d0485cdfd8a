//! The words of a text: where they begin, and a rough note of which there are.
//!
//! Every byte of a text passes through here, so it is read once and looked up in a table; what a
//! word consists of is found out only where it is no plain one.

use std::ops::Range;

use super::phrase::{ALWAYS_NOTE, BEYOND_NOTE, KEY_BYTES, LONG_BYTES, NOTE_BITS, head, joined_note, long_note, note};
use super::text::Text;

/// Names of fields that are left out.
const PLAIN_FIELDS: &[&[u8]] = &[b"error", b"message", b"type", b"code", b"param"];

/// Where the words of a text begin, and a rough note of which words there are.
pub(super) struct Words {
    starts: Vec<u32>,
    noted: [u64; NOTE_BITS / 64],
}

/// The first bytes of a word, with the hashes that it is noted and looked up by.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) bytes: u64,
    /// Of [`LONG_BYTES`].
    pub(super) long: u64,
    /// Of [`KEY_BYTES`].
    pub(super) key: u64,
}

impl Head {
    /// The head of the word at `at`.
    #[inline]
    pub(super) fn new(lower: &[u8], at: u32) -> Self {
        let bytes = head(&lower[at as usize..]);
        Self { bytes, long: hash(bytes & mask(LONG_BYTES)), key: hash(bytes & mask(KEY_BYTES)) }
    }
}

impl Words {
    /// None yet.
    pub(super) fn new() -> Self {
        Self { starts: Vec::new(), noted: [0; NOTE_BITS / 64] }
    }

    /// Where they begin, in order.
    pub(super) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Reads `text` once. Calls `word` with where each word begins and its head; calls `code`
    /// with every word that may be a code, in which joints count as letters, and whether it has the
    /// shape of one. Without that shape it stands where the value of a field may.
    pub(super) fn read(&mut self, text: &Text, word: impl FnMut(u32, Head), code: impl FnMut(Range<usize>, bool)) {
        self.find(text, code);
        self.note_all(&text.lower, word);
    }

    /// Finds out where the words begin, and calls `code` with what may be one.
    // Alone, so that what it needs for every word stays in registers.
    #[inline(never)]
    fn find(&mut self, text: &Text, mut code: impl FnMut(Range<usize>, bool)) {
        let shown = text.shown.as_slice();
        self.starts = Vec::with_capacity(shown.len() / 4 + 1);
        let mut address_end = 0;
        // What before a word makes it a value: a quote or bracket, or a separator that a blank may follow.
        let mut before = 0;
        let mut at = 0;
        while let Some(byte) = shown.get(at) {
            let start = at;
            at += 1;
            let first = CLASSES[usize::from(*byte)];
            if first & WORD == 0 {
                if *byte == b' ' {
                    before &= SEPARATOR;
                    continue;
                }
                before = first & (SEPARATOR | QUOTE);
                if *byte == b':' && shown[at..].starts_with(b"//") {
                    address_end = start + address_len(&shown[start..]);
                } else if first == BEYOND && start >= address_end {
                    self.mark(BEYOND_NOTE);
                    self.starts.push(start as u32);
                }
                continue;
            }
            let small = small_len(&shown[at..]);
            at += small;
            // Most words are plain ones that are neither values nor names of fields.
            let is_letter = first & (SMALL | CAPITAL) != 0;
            let behind = shown.get(at).map_or(0, |byte| CLASSES[usize::from(*byte)]);
            if is_letter && before == 0 && behind & (WORD | QUOTE) == 0 {
                if start >= address_end {
                    self.starts.push(start as u32);
                }
                at += usize::from(shown.get(at) == Some(&b' '));
                continue;
            }
            let mut others = if small > 0 { SMALL } else { 0 };
            let mut next = 0;
            while let Some(byte) = shown.get(at) {
                next = *byte;
                let class = CLASSES[usize::from(next)];
                if class & WORD == 0 {
                    break;
                }
                others |= class;
                at += 1;
            }
            let is_field = matches!(next, b'"' | b'\'') && shown.get(at + 1) == Some(&b':');
            // The words of an address say nothing, nor do the names of fields that every error has.
            if start >= address_end && !(is_field && PLAIN_FIELDS.contains(&&text.lower[start..at])) {
                // Every word may begin with a capital, and a number is one word.
                let is_plain = others & !SMALL == 0 && is_letter;
                if is_plain || (first | others) == DIGIT {
                    self.starts.push(start as u32);
                } else {
                    self.add_parts(start..at, text);
                }
            }
            let is_shaped = ((first & JOINT) | (others & (JOINT | CAPITAL))) != 0;
            if (is_shaped || before != 0) && !is_field {
                code(start..at, is_shaped);
            }
            before = 0;
        }
    }

    /// Adds the words that one with joints consists of: `Error` in `APIError` is one, `limit` in
    /// `rate_limit` is none.
    fn add_parts(&mut self, parts: Range<usize>, text: &Text) {
        let mut before = START;
        let start = parts.start;
        for (offset, byte) in text.shown[parts].iter().enumerate() {
            let class = CLASSES[usize::from(*byte)];
            let at = start + offset;
            let begins = before & GOES_ON[usize::from(class) % GOES_ON.len()] == 0
                || class == CAPITAL && text.shown.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            if begins {
                self.starts.push(at as u32);
            } else if before == JOINT {
                self.mark(joined_note(head(&text.lower[at..])));
            }
            before = class;
        }
    }

    /// Notes the words that were found and calls `word` with each. In a loop of its own, in which the
    /// little that is done for every word needs no call.
    #[inline(never)]
    fn note_all(&mut self, lower: &[u8], mut word: impl FnMut(u32, Head)) {
        self.mark(ALWAYS_NOTE);
        for index in 0..self.starts.len() {
            let at = self.starts[index];
            let head = Head::new(lower, at);
            // Each hash is worked out once for the notes and the lookup.
            debug_assert_eq!((noted_at(head.key), noted_at(head.long)), (note(head.bytes), long_note(head.bytes)));
            self.mark(noted_at(head.key));
            self.mark(noted_at(head.long));
            word(at, head);
        }
    }

    #[inline]
    fn mark(&mut self, note: usize) {
        self.noted[note / 64] |= 1 << (note % 64);
    }

    /// Whether one of some notes is there: then the word may be, otherwise it is not.
    pub(super) fn has_one(&self, notes: &[u16]) -> bool {
        notes.iter().any(|note| self.is_noted(*note))
    }

    /// Whether one of a few notes is there. After the last of them stands the first again.
    #[inline]
    pub(super) fn has_any<const N: usize>(&self, notes: &[u16; N]) -> bool {
        let first = notes[0];
        self.is_noted(first) || notes[1..].iter().take_while(|note| **note != first).any(|note| self.is_noted(*note))
    }

    #[inline]
    fn is_noted(&self, note: u16) -> bool {
        self.noted[usize::from(note / 64) % (NOTE_BITS / 64)] >> (note % 64) & 1 != 0
    }
}

/// The first bytes of a head, one to all.
pub(super) const fn mask(bytes: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - 8 * bytes)
}

/// The hash of some first bytes.
pub(super) fn hash(bytes: u64) -> u64 {
    bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Where a word is noted whose head has this hash.
fn noted_at(hash: u64) -> usize {
    (hash >> 48) as usize % NOTE_BITS
}

/// Classes of bytes, as far as words go; all others are zero.
const SMALL: u8 = 1;
const CAPITAL: u8 = 1 << 1;
const DIGIT: u8 = 1 << 2;
const JOINT: u8 = 1 << 3;
const HYPHEN: u8 = 1 << 4;
/// What a word consists of.
const WORD: u8 = SMALL | CAPITAL | DIGIT | JOINT | HYPHEN;
/// The first byte of a letter beyond ASCII, which is a word of its own.
const BEYOND: u8 = 1 << 5;
const SEPARATOR: u8 = 1 << 6;
const QUOTE: u8 = 1 << 7;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => SMALL,
            b'A'..=b'Z' => CAPITAL,
            b'0'..=b'9' => DIGIT,
            b'_' => JOINT,
            b'-' => HYPHEN,
            0xc2.. => BEYOND,
            b':' | b'=' => SEPARATOR,
            b'"' | b'\'' | b'[' => QUOTE,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// What stands before the first byte of a word.
const START: u8 = BEYOND;

/// Behind which classes of bytes one of each class goes on with a word. Joints and hyphens begin none.
const GOES_ON: [u8; 1 + WORD as usize] = {
    let mut goes_on = [!0; 1 + WORD as usize];
    goes_on[SMALL as usize] = SMALL | CAPITAL | JOINT;
    goes_on[CAPITAL as usize] = CAPITAL | JOINT;
    goes_on[DIGIT as usize] = DIGIT;
    goes_on
};

/// How many small letters a text begins with, eight at a time: most words consist of them, and a rest
/// that is shorter than eight is left to whoever goes on.
fn small_len(text: &[u8]) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let mut len = 0;
    while let Some(block) = text.get(len..).and_then(<[u8]>::first_chunk) {
        let bytes = u64::from_le_bytes(*block);
        // The highest bit of a byte tells: below `a`, or beyond `z`. What is borrowed spoils only bytes
        // behind the first that is told.
        let others = (bytes.wrapping_sub(EACH * b'a' as u64) | (EACH * b'z' as u64).wrapping_sub(bytes)) & HIGH;
        if others != 0 {
            return len + (others.trailing_zeros() / 8) as usize;
        }
        len += block.len();
    }
    len
}

/// How far an address goes on after its scheme.
fn address_len(shown: &[u8]) -> usize {
    shown.iter().position(|byte| matches!(byte, b' ' | b'"' | b'\'' | b'<' | b'>' | b')' | b',')).unwrap_or(shown.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let text = Text { shown: text.into(), lower: text.to_ascii_lowercase().into() };
        let mut words = Words::new();
        words.read(&text, |_, _| {}, |_, _| {});
        let rest = |at: &u32| String::from_utf8_lossy(&text.shown[*at as usize..]).chars().take(3).collect();
        words.starts().iter().map(rest).collect()
    }

    #[test]
    fn words_begin_at_capitals_digits_and_other_scripts() {
        assert_eq!(words("Rate limit"), ["Rat", "lim"]);
        assert_eq!(words("APIError rate_limit gpt-4o"), ["API", "Err", "rat", "gpt", "4o", "o"]);
        assert_eq!(words("余额 low"), ["余额 ", "额 l", "low"]);
    }

    #[test]
    fn addresses_and_plain_fields_say_nothing() {
        assert_eq!(words(r#"{"message":"see https://a.test/rate-limit now"}"#), ["see", "htt", "now"]);
    }

    #[test]
    fn a_word_may_be_a_code_by_its_shape_or_its_place() {
        let text = r#"plain RateLimit x_y, "code": "tokens" name=oops and: last"#;
        let text = Text { shown: text.into(), lower: text.to_ascii_lowercase().into() };
        let mut reported = Vec::new();
        Words::new().read(&text, |_, _| {}, |word, shaped| reported.push((text.shown[word].to_vec(), shaped)));
        let reported: Vec<_> = reported.iter().map(|(word, shaped)| (str::from_utf8(word).unwrap(), *shaped)).collect();
        assert_eq!(reported, [("RateLimit", true), ("x_y", true), ("tokens", false), ("oops", false), ("last", false)]);
    }
}
