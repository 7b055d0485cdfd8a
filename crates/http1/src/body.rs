//! The body of an answer, taken off the buffer piece by piece.

use bytes::{Buf as _, Bytes, BytesMut};

use crate::Malformed;

/// The longest line that says how long a chunk is, with its extensions.
const CHUNK_LINE_BYTES_MAX: usize = 4 * 1024;

/// The most digits that a length may have.
const CHUNK_DIGITS_MAX: usize = 15;

/// The most bytes of trailers.
const TRAILER_BYTES_MAX: usize = 16 * 1024;

/// How far the body of an answer has been read.
#[derive(Debug)]
pub struct Body(State);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So many bytes are to come.
    Length(u64),
    /// Everything until the connection ends.
    ToClose,
    /// Of chunks: the line before one.
    ChunkLine,
    /// Of chunks: so many bytes of this one.
    ChunkData(u64),
    /// Of chunks: the line end after one.
    ChunkEnd,
    /// Of chunks: lines after the last one, so many bytes so far.
    Trailers(usize),
    Over,
}

impl Body {
    pub(crate) const fn none() -> Self {
        Self(State::Over)
    }

    pub(crate) const fn of_length(bytes: u64) -> Self {
        Self(if bytes == 0 { State::Over } else { State::Length(bytes) })
    }

    pub(crate) const fn chunked() -> Self {
        Self(State::ChunkLine)
    }

    pub(crate) const fn to_close() -> Self {
        Self(State::ToClose)
    }

    /// Takes the next piece off the buffer; `None` where more must come first, or it is over.
    pub fn take(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, Malformed> {
        if buffer.is_empty() {
            return Ok(None);
        }
        self.skip(buffer)?;
        let (State::Length(left) | State::ChunkData(left)) = &mut self.0 else {
            let rest = self.0 == State::ToClose && !buffer.is_empty();
            return Ok(rest.then(|| buffer.split().freeze()));
        };
        if buffer.is_empty() {
            return Ok(None);
        }
        let bytes = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
        *left -= bytes as u64;
        let over = *left == 0;
        let piece = buffer.split_to(bytes).freeze();
        if over {
            self.0 = if matches!(self.0, State::Length(_)) { State::Over } else { State::ChunkEnd };
            // The end is known as soon as it is there. What is wrong with it is said the next time.
            let _ = self.skip(buffer);
        }
        Ok(Some(piece))
    }

    /// Whether all of it has been taken.
    pub fn is_over(&self) -> bool {
        self.0 == State::Over
    }

    /// The connection has ended and the buffer is taken: says whether that was the end of the body.
    pub fn closed(&mut self) -> bool {
        if self.0 == State::ToClose {
            self.0 = State::Over;
        }
        self.is_over()
    }

    /// Passes over everything that is not data. What is wrong is left where it is.
    fn skip(&mut self, buffer: &mut BytesMut) -> Result<(), Malformed> {
        loop {
            match self.0 {
                State::ChunkLine => {
                    let (bytes, line) = match plain_chunk_line(buffer) {
                        Some(plain) => plain,
                        None => match line(buffer, CHUNK_LINE_BYTES_MAX)? {
                            Some(line) => (chunk_bytes(&buffer[..line - 2])?, line),
                            None => return Ok(()),
                        },
                    };
                    buffer.advance(line);
                    self.0 = if bytes == 0 { State::Trailers(0) } else { State::ChunkData(bytes) };
                }
                State::ChunkEnd => {
                    match buffer.get(..2) {
                        Some(b"\r\n") => buffer.advance(2),
                        None if buffer.is_empty() || **buffer == *b"\r" => return Ok(()),
                        _ => return Err(Malformed::Chunk("it is longer than it said")),
                    }
                    self.0 = State::ChunkLine;
                }
                State::Trailers(before) => {
                    let Some(line) = line(buffer, TRAILER_BYTES_MAX - before)? else { return Ok(()) };
                    buffer.advance(line);
                    let empty = line == 2;
                    self.0 = if empty { State::Over } else { State::Trailers(before + line) };
                }
                State::Length(_) | State::ToClose | State::ChunkData(_) | State::Over => return Ok(()),
            }
        }
    }
}

/// The length of the line at the front, with its end; `None` where that has not come.
fn line(buffer: &[u8], bytes_max: usize) -> Result<Option<usize>, Malformed> {
    let Some(end) = memchr::memchr(b'\n', &buffer[..buffer.len().min(bytes_max)]) else {
        return if buffer.len() < bytes_max { Ok(None) } else { Err(Malformed::Chunk("a line is too long")) };
    };
    // A line end of one's own is where two readers begin to disagree.
    match memchr::memchr(b'\r', &buffer[..end]) {
        Some(at) if at + 1 == end => Ok(Some(end + 1)),
        _ => Err(Malformed::Chunk("a line ends badly")),
    }
}

/// A line of nothing but digits, as nearly all are: how long the chunk is, and the line with its end.
#[inline]
fn plain_chunk_line(buffer: &[u8]) -> Option<(u64, usize)> {
    let mut bytes = 0;
    for (at, byte) in buffer.iter().take(CHUNK_DIGITS_MAX + 1).enumerate() {
        match char::from(*byte).to_digit(16) {
            Some(digit) => bytes = bytes * 16 + u64::from(digit),
            None => return (at > 0 && buffer[at..].starts_with(b"\r\n")).then_some((bytes, at + 2)),
        }
    }
    None
}

/// How long a chunk says it is. Extensions say nothing to us.
fn chunk_bytes(line: &[u8]) -> Result<u64, Malformed> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let rest = line[digits..].trim_ascii_start();
    if digits == 0 || digits > CHUNK_DIGITS_MAX || !(rest.is_empty() || rest[0] == b';') {
        return Err(Malformed::Chunk("its length is no number"));
    }
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0);
    Ok(line[..digits].iter().fold(0, |bytes, digit| bytes * 16 + u64::from(value(*digit))))
}
