//! The head of an answer, read from bytes as they come.

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ops::Range;

use bytes::BytesMut;
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode};

use crate::{Body, Malformed};

/// The largest head of an answer; providers send a few kilobytes.
const HEAD_BYTES_MAX: usize = 256 * 1024;

/// The most headers of an answer.
const HEADERS_MAX: usize = 100;

/// The head of an answer, and how its body is read.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// The way to its end.
    pub body: Body,
    /// Whether the connection can be used again after the body.
    pub keeps_alive: bool,
}

/// An answer that is on its way.
#[derive(Debug)]
pub struct Awaited {
    /// The question was HEAD: whatever the answer says, no body follows.
    bodiless: bool,
    /// So many bytes hold no end of a head.
    seen: usize,
}

impl Awaited {
    /// The answer to a request of this method.
    pub fn new(method: &Method) -> Self {
        Self { bodiless: *method == Method::HEAD, seen: 0 }
    }

    /// Takes the head off the buffer, once it is there. What only announces an answer (1xx) is passed over.
    pub fn read(&mut self, buffer: &mut BytesMut) -> Result<Option<Answer>, Malformed> {
        loop {
            // Read again only when a line has ended: a head that comes byte by byte is cheap too.
            if memchr::memchr(b'\n', &buffer[self.seen.min(buffer.len())..]).is_none() {
                self.seen = buffer.len();
                return if self.seen > HEAD_BYTES_MAX { Err(Malformed::HeadTooLarge) } else { Ok(None) };
            }
            let Some(head) = parse(buffer)? else {
                self.seen = buffer.len();
                return if self.seen > HEAD_BYTES_MAX { Err(Malformed::HeadTooLarge) } else { Ok(None) };
            };
            self.seen = 0;
            if head.status == StatusCode::SWITCHING_PROTOCOLS {
                return Err(Malformed::Switched);
            }
            if !head.status.is_informational() {
                return self.answer(head).map(Some);
            }
        }
    }

    fn answer(&self, mut head: Head) -> Result<Answer, Malformed> {
        let length = length(&head)?;
        let never = matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let body = if self.bodiless || never { Body::none() } else { length };
        let said = |word: &str| {
            let values = head.headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
        };
        let keeps_alive = if head.is_http11 { !said("close") } else { said("keep-alive") };
        // Chunks count before a length (RFC 9112, 6.3); but who says both may mean another end than was read to.
        let is_sure = !head.headers.contains_key(TRANSFER_ENCODING) || head.headers.remove(CONTENT_LENGTH).is_none();
        Ok(Answer { status: head.status, keeps_alive: keeps_alive && is_sure, body, headers: head.headers })
    }
}

struct Head {
    status: StatusCode,
    is_http11: bool,
    headers: HeaderMap,
}

/// Takes one head off the buffer.
fn parse(buffer: &mut BytesMut) -> Result<Option<Head>, Malformed> {
    let mut parsed = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let bytes = match config.parse_response_with_uninit_headers(&mut response, buffer, &mut parsed) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLarge),
        Err(error) => return Err(Malformed::Head(error)),
    };
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(Malformed::Head(httparse::Error::Status))?;
    let is_http11 = response.version == Some(1);
    let start = buffer.as_ptr() as usize;
    let place = |value: &[u8]| {
        let from = (value.as_ptr() as usize).wrapping_sub(start);
        from..from + value.len()
    };
    let mut found: Vec<(HeaderName, Range<usize>)> = Vec::with_capacity(response.headers.len());
    for header in response.headers.iter() {
        found.push((name(header.name)?, place(header.value)));
    }
    // Values are parts of the buffer: nothing is copied.
    let head = buffer.split_to(bytes).freeze();
    // Room for what is added on the way to the client, so that the map need not grow.
    let mut headers = HeaderMap::with_capacity(found.len() + 6);
    for (name, range) in found {
        // An empty value stands nowhere in the buffer.
        let value = if range.is_empty() {
            HeaderValue::from_static("")
        } else {
            HeaderValue::from_maybe_shared(head.slice(range))
                .map_err(|_| Malformed::Head(httparse::Error::HeaderValue))?
        };
        headers.append(name, value);
    }
    Ok(Some(Head { status, is_http11, headers }))
}

/// How many names a thread remembers; providers send some tens of different ones.
const NAMES_KEPT: usize = 256;

/// The longest of them.
const NAME_BYTES_KEPT: usize = 64;

thread_local! {
    /// Names of headers that were read lately. They are the same in every answer, and to make one of its letters costs
    /// more than everything else about a header.
    static NAMES: RefCell<[Option<HeaderName>; NAMES_KEPT]> = const { RefCell::new([const { None }; NAMES_KEPT]) };
}

/// The name of a header, in whichever letters it is written.
fn name(written: &str) -> Result<HeaderName, Malformed> {
    let make = || HeaderName::from_bytes(written.as_bytes()).map_err(|_| Malformed::Head(httparse::Error::HeaderName));
    if written.len() > NAME_BYTES_KEPT {
        return make();
    }
    NAMES.with_borrow_mut(|names| {
        let place = &mut names[name_place(written.as_bytes())];
        match place {
            Some(known) if known.as_str() == written || known == written => Ok(known.clone()),
            _ => Ok(place.insert(make()?).clone()),
        }
    })
}

/// Where a name is remembered, whatever the case of its letters.
fn name_place(written: &[u8]) -> usize {
    const SMALL: u64 = u64::from_le_bytes([0x20; 8]);
    let mix = |mixed: u64, word: u64| (mixed.rotate_left(29) ^ (word | SMALL)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (words, rest) = written.as_chunks();
    let mixed = words.iter().fold(written.len() as u64, |mixed, word| mix(mixed, u64::from_le_bytes(*word)));
    let mixed = mix(mixed, rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    (mixed >> 32) as usize % NAMES_KEPT
}

/// Where the body ends, by what the headers say; what they say twice must agree.
fn length(head: &Head) -> Result<Body, Malformed> {
    let mut codings = head.headers.get_all(TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next() {
        if !head.is_http11 || codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
            return Err(Malformed::Length("an unknown transfer-encoding"));
        }
        return Ok(Body::chunked());
    }
    let mut length = None;
    let lengths = head.headers.get_all(CONTENT_LENGTH).iter();
    for said in lengths.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')) {
        let said = number(said.trim_ascii()).ok_or(Malformed::Length("a content-length that is no number"))?;
        if length.is_some_and(|length| length != said) {
            return Err(Malformed::Length("content-lengths that differ"));
        }
        length = Some(said);
    }
    Ok(length.map_or(Body::to_close(), Body::of_length))
}

/// Digits and nothing else: no sign, no blank.
fn number(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(text).ok()?.parse().ok())?
}

#[cfg(test)]
mod tests;
