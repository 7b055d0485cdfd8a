//! A cursor over JSON text: hands out byte ranges, builds no tree, reads nothing twice.
//!
//! Stricter than it must be about structure, laxer about details nobody here needs: it accepts
//! control characters in strings and odd escapes that are never decoded. Whatever `serde_json`
//! accepts, it accepts (to the same depth), with the same values; a test compares the two.

use std::borrow::Cow;
use std::ops::Range;

/// Nesting allowed, as in `serde_json`.
const DEPTH_MAX: u32 = 128;

/// What is wrong with the text, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) at_byte: usize,
    pub(crate) what: &'static str,
}

/// What the next value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

/// A position in JSON text.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
}

/// A string as it stands in the text, without its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text<'a> {
    raw: &'a [u8],
    escaped: bool,
}

type Outcome<T> = Result<T, Broken>;

impl<'a> Cursor<'a> {
    pub(crate) const fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// Where the cursor stands.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// What the next value is; leaves it unread.
    #[inline]
    pub(crate) fn kind(&mut self) -> Outcome<Kind> {
        self.whitespace();
        match self.text.get(self.at) {
            Some(b'"') => Ok(Kind::String),
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(_) => self.broken("expected a value"),
            None => self.broken("ends where a value should be"),
        }
    }

    /// Calls `each` for every key of the object; `each` reads or skips the value. A value of
    /// another kind is skipped, so that a surprise in one field spoils nothing else.
    #[inline]
    pub(crate) fn object(&mut self, mut each: impl FnMut(&mut Self, Text<'a>) -> Outcome<()>) -> Outcome<()> {
        if self.kind()? != Kind::Object {
            return self.skip();
        }
        self.enter()?;
        if self.closes(b'}') {
            return Ok(());
        }
        loop {
            self.whitespace();
            let key = self.quoted()?;
            self.whitespace();
            self.expect(b':', "expected a colon")?;
            each(self, key)?;
            if !self.goes_on(b'}')? {
                return Ok(());
            }
        }
    }

    /// Calls `each` for every element of the array, as [`Self::object`] does for keys.
    #[inline]
    pub(crate) fn array(&mut self, mut each: impl FnMut(&mut Self) -> Outcome<()>) -> Outcome<()> {
        if self.kind()? != Kind::Array {
            return self.skip();
        }
        self.enter()?;
        if self.closes(b']') {
            return Ok(());
        }
        loop {
            each(self)?;
            if !self.goes_on(b']')? {
                return Ok(());
            }
        }
    }

    /// The next value if it is a string; skipped otherwise.
    #[inline]
    pub(crate) fn string(&mut self) -> Outcome<Option<Text<'a>>> {
        match self.kind()? {
            Kind::String => self.quoted().map(Some),
            _ => self.skip().map(|()| None),
        }
    }

    /// The next value if it is a number that is not negative; fractions are cut off.
    pub(crate) fn number(&mut self) -> Outcome<Option<u64>> {
        if self.kind()? != Kind::Number {
            return self.skip().map(|()| None);
        }
        let range = self.value()?;
        let digits = &self.text[range];
        // Up to here no sum can overflow.
        if digits.len() < 19 && digits.iter().all(u8::is_ascii_digit) {
            return Ok(Some(digits.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))));
        }
        let text = std::str::from_utf8(digits).unwrap_or_default();
        let float = || text.parse::<f64>().ok().filter(|number| *number >= 0.0).map(|number| number as u64);
        Ok(text.parse().ok().or_else(float))
    }

    /// Whether the next value is `true`.
    pub(crate) fn is_true(&mut self) -> Outcome<bool> {
        let range = self.value()?;
        Ok(&self.text[range] == b"true")
    }

    /// Whether the next value says anything: neither null nor false nor empty.
    pub(crate) fn is_substantial(&mut self) -> Outcome<bool> {
        let kind = self.kind()?;
        let range = self.value()?;
        let inside =
            |range: Range<usize>| self.text[range.start + 1..range.end - 1].iter().any(|byte| !is_space(*byte));
        Ok(match kind {
            Kind::Null => false,
            Kind::Bool => &self.text[range] == b"true",
            Kind::Number => true,
            Kind::String => range.len() > 2,
            Kind::Object | Kind::Array => inside(range),
        })
    }

    /// The range of the next value, which is read.
    pub(crate) fn value(&mut self) -> Outcome<Range<usize>> {
        self.whitespace();
        let start = self.at;
        self.skip()?;
        Ok(start..self.at)
    }

    /// The next value as it stands; none where it is null.
    pub(crate) fn raw(&mut self) -> Outcome<Option<&'a str>> {
        let range = self.value()?;
        let raw = std::str::from_utf8(&self.text[range]).map_err(|_| Broken { at_byte: self.at, what: "not UTF-8" })?;
        Ok((raw != "null").then_some(raw))
    }

    /// Reads the next value and forgets it.
    pub(crate) fn skip(&mut self) -> Outcome<()> {
        match self.kind()? {
            Kind::String => self.quoted().map(|_| ()),
            Kind::Object => self.object(|cursor, _| cursor.skip()),
            Kind::Array => self.array(Self::skip),
            Kind::Number => self.digits(),
            Kind::Bool if self.text[self.at] == b't' => self.word(b"true"),
            Kind::Bool => self.word(b"false"),
            Kind::Null => self.word(b"null"),
        }
    }

    /// Nothing but whitespace may follow.
    pub(crate) fn end(&mut self) -> Outcome<()> {
        self.whitespace();
        if self.at < self.text.len() { self.broken("text after the value") } else { Ok(()) }
    }

    #[inline]
    fn quoted(&mut self) -> Outcome<Text<'a>> {
        self.expect(b'"', "expected a string")?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let Some(distance) = string_stop(&self.text[self.at..]) else {
                self.at = self.text.len();
                return self.broken("ends inside a string");
            };
            self.at += distance;
            if self.text[self.at] == b'"' {
                let raw = &self.text[start..self.at];
                self.at += 1;
                return Ok(Text { raw, escaped });
            }
            escaped = true;
            if self.at + 1 >= self.text.len() {
                self.at = self.text.len();
                return self.broken("ends inside a string");
            }
            self.at += 2;
        }
    }

    fn digits(&mut self) -> Outcome<()> {
        let rest = &self.text[self.at..];
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        self.at += rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        if rest.first() == Some(&b'-') && !rest.get(1).is_some_and(u8::is_ascii_digit) {
            return self.broken("expected a number");
        }
        Ok(())
    }

    fn word(&mut self, word: &'static [u8]) -> Outcome<()> {
        if !self.text[self.at..].starts_with(word) {
            return self.broken("expected a value");
        }
        self.at += word.len();
        Ok(())
    }

    #[inline]
    fn whitespace(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| is_space(*byte)) {
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8, what: &'static str) -> Outcome<()> {
        if self.text.get(self.at) != Some(&byte) {
            return self.broken(what);
        }
        self.at += 1;
        Ok(())
    }

    fn enter(&mut self) -> Outcome<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH_MAX { self.broken("nested too deeply") } else { Ok(()) }
    }

    #[inline]
    fn closes(&mut self, close: u8) -> bool {
        self.whitespace();
        let closes = self.text.get(self.at) == Some(&close);
        if closes {
            self.at += 1;
            self.depth -= 1;
        }
        closes
    }

    /// After a value: a comma and more, or the end.
    #[inline]
    fn goes_on(&mut self, close: u8) -> Outcome<bool> {
        if self.closes(close) {
            return Ok(false);
        }
        self.expect(b',', "expected a comma or the end of the list")?;
        Ok(true)
    }

    const fn broken<T>(&self, what: &'static str) -> Outcome<T> {
        Err(Broken { at_byte: self.at, what })
    }
}

impl<'a> Text<'a> {
    /// The content of a string, escapes included.
    pub(crate) fn of(raw: &'a [u8]) -> Self {
        Self { raw, escaped: memchr::memchr(b'\\', raw).is_some() }
    }

    /// The bytes as they stand, escapes included.
    #[inline]
    pub(crate) const fn raw(self) -> &'a [u8] {
        self.raw
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The bytes, for comparing with names. A name spelled with escapes matches nothing.
    #[inline]
    pub(crate) const fn name(self) -> &'a [u8] {
        self.raw
    }

    /// The text with its escapes resolved; broken surrogates become the replacement character.
    pub(crate) fn decode(self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(unescape(self.raw)) } else { String::from_utf8_lossy(self.raw) }
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// How far it is to the next quote or backslash. Keys and short values end within a few bytes, where
/// setting up the vectorised search would cost more than it finds: the first words are compared whole.
#[inline]
fn string_stop(text: &[u8]) -> Option<usize> {
    const NEAR: usize = 32;
    let (words, _) = text.get(..NEAR).unwrap_or(text).as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let hits = bytes_equal(word, b'"') | bytes_equal(word, b'\\');
        if hits != 0 {
            return Some(number * 8 + hits.trailing_zeros() as usize / 8);
        }
    }
    let done = words.len() * 8;
    if done < NEAR {
        return text[done..].iter().position(|byte| matches!(byte, b'"' | b'\\')).map(|distance| done + distance);
    }
    memchr::memchr2(b'"', b'\\', &text[done..]).map(|distance| done + distance)
}

/// The high bit of the first byte of the word that equals this one, and perhaps of later ones.
#[inline]
const fn bytes_equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let difference = word ^ (LOW * byte as u64);
    difference.wrapping_sub(LOW) & !difference & HIGH
}

fn unescape(raw: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        let plain = memchr::memchr(b'\\', &raw[at..]).unwrap_or(raw.len() - at);
        bytes.extend_from_slice(&raw[at..at + plain]);
        at += plain;
        let Some(letter) = raw.get(at + 1) else { break };
        at += 2;
        match letter {
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'b' => bytes.push(8),
            b'f' => bytes.push(12),
            b'u' => {
                let (letter, read) = code_point(&raw[at..]);
                at += read;
                bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The character after `\u`, and how many bytes it took; two escapes make one where they are a pair.
fn code_point(rest: &[u8]) -> (char, usize) {
    let hex = |at: usize| {
        let digits = rest.get(at..at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let Some(first) = hex(0) else { return (char::REPLACEMENT_CHARACTER, 0) };
    let is_pair = (0xD800..0xDC00).contains(&first) && rest.get(4..6) == Some(b"\\u");
    match hex(6).filter(|second| is_pair && (0xDC00..0xE000).contains(second)) {
        Some(second) => {
            let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 10)
        }
        None => (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 4),
    }
}

#[cfg(test)]
mod tests;
