//! What a process writes, within bounds: whole lines as they come, and the last of everything.

use std::collections::VecDeque;
use std::ops::ControlFlow;

/// How much of the end of its output a process is judged by.
const TAIL_BYTES: usize = 64 * 1024;

/// Agents put whole files into a line of their events; a longer one is skipped.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Where a process writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Somebody who is told what a process writes, as it comes.
pub trait Taker {
    /// Takes a piece, and says whether the process may go on.
    fn take(&mut self, stream: Stream, piece: &[u8]) -> ControlFlow<()>;
}

/// The end of a text that may be endless.
#[derive(Debug, Default)]
pub struct Tail {
    bytes: VecDeque<u8>,
    total: u64,
}

/// Cuts pieces into lines.
#[derive(Debug, Default)]
pub struct Lines {
    part: Vec<u8>,
    /// The line is too long: it is passed over to its end.
    skipping: bool,
}

impl Tail {
    /// Adds a piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let kept = &piece[piece.len().saturating_sub(TAIL_BYTES)..];
        let over = (self.bytes.len() + kept.len()).saturating_sub(TAIL_BYTES);
        self.bytes.drain(..over);
        self.bytes.extend(kept);
    }

    /// What is kept.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes.iter().copied().collect()
    }

    /// Whether anything but blanks was written last.
    pub fn is_blank(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_whitespace)
    }

    /// How much was written in all.
    pub const fn total(&self) -> u64 {
        self.total
    }
}

impl Lines {
    /// Adds a piece and hands over every line that it ends.
    pub fn push(&mut self, mut piece: &[u8], mut line: impl FnMut(&[u8])) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = (&piece[..end], &piece[end + 1..]);
            piece = rest;
            if std::mem::take(&mut self.skipping) {
                self.part.clear();
            } else if self.part.is_empty() {
                line(head);
            } else {
                self.part.extend_from_slice(head);
                line(&self.part);
                self.part.clear();
            }
        }
        if self.part.len() + piece.len() > LINE_BYTES_MAX {
            self.skipping = true;
            self.part = Vec::new();
        }
        if !self.skipping {
            self.part.extend_from_slice(piece);
        }
    }

    /// Hands over what no line break ended.
    pub fn finish(&mut self, mut line: impl FnMut(&[u8])) {
        if !self.part.is_empty() {
            line(&std::mem::take(&mut self.part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let mut see = |line: &[u8]| seen.push(String::from_utf8_lossy(line).into_owned());
        for piece in pieces {
            lines.push(piece, &mut see);
        }
        lines.finish(&mut see);
        seen
    }

    #[test]
    fn lines_are_whole_wherever_the_pieces_end() {
        assert_eq!(lines(&[b"one\ntw", b"o\n\nthr", b"ee"]), ["one", "two", "", "three"]);
        assert_eq!(lines(&[b"one\n"]), ["one"]);
        assert!(lines(&[b""]).is_empty());
    }

    #[test]
    fn a_line_without_end_is_passed_over_and_the_next_is_read() {
        let long = vec![b'x'; LINE_BYTES_MAX / 2 + 1];
        assert_eq!(lines(&[b"one\n", &long, &long, b"x\ntwo\n"]), ["one", "two"]);
    }

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = Tail::default();
        tail.push(&vec![b'a'; TAIL_BYTES]);
        tail.push(b"end");
        assert_eq!(tail.to_vec().len(), TAIL_BYTES);
        assert!(tail.to_vec().ends_with(b"aend"));
        assert_eq!(tail.total(), TAIL_BYTES as u64 + 3);
        assert!(!tail.is_blank() && Tail::default().is_blank());
    }
}
