//! Answers that finished after their client had gone, for its automatic retry of the same request.
//!
//! Kept in memory for minutes and in a bounded amount; a restart forgets them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use steadfast_core::Instant;

use crate::key::Key;
use crate::turns::BESIDES_BYTES;

/// All kept answers together.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// Kept answers.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Mutex<VecDeque<Entry>>,
    count: AtomicUsize,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

#[derive(Debug)]
struct Entry {
    key: Key,
    until: Instant,
    answer: Kept,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.answer.body.len() + BESIDES_BYTES
    }
}

impl Journal {
    /// Keeps an answer.
    pub(crate) fn keep(&self, key: Key, answer: Kept, keep_for: Duration, now: Instant) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.until > now && entry.key != key);
        entries.push_back(Entry { key, until: now + keep_for, answer });
        let mut bytes: usize = entries.iter().map(Entry::bytes).sum();
        while bytes > BYTES_MAX {
            bytes -= entries.pop_front().map_or(0, |entry| entry.bytes());
        }
        self.count.store(entries.len(), Ordering::Relaxed);
    }

    /// Whether anything is kept: nearly always not, and then no request is hashed.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Takes the answer to this request out, where one is kept.
    pub(crate) fn take(&self, key: Key, now: Instant) -> Option<Kept> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.until > now);
        let position = entries.iter().position(|entry| entry.key == key);
        let taken = position.and_then(|position| entries.remove(position));
        self.count.store(entries.len(), Ordering::Relaxed);
        taken.map(|entry| entry.answer)
    }
}
