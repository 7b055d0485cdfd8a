//! What was asked of the fake, in order, bounded. Cheap while nobody looks: a request is kept as
//! raw bytes and read only when someone asks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::call::Route;
use crate::headers::pairs;

/// How many requests are remembered.
const REQUESTS_MAX: usize = 10_000;

/// A longer body is remembered by its length alone.
const BODY_BYTES_MAX: usize = 64 * 1024;

/// What all remembered bodies may weigh together; beyond it the oldest are forgotten.
const BODIES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A request the fake received.
#[derive(Debug, Clone)]
pub struct Received {
    /// The endpoint it was meant for; empty for the default one.
    pub endpoint: String,
    /// `POST`, as a rule.
    pub method: String,
    /// The path without the endpoint's prefix.
    pub path: String,
    /// What stood behind the `?`.
    pub query: Option<String>,
    /// The model asked for; empty where none was.
    pub model: String,
    /// Names in lower case, in the order sent.
    pub headers: Vec<(String, String)>,
    /// The body, unless it was too long to keep or keeping is switched off.
    pub body: Bytes,
    /// How long the body was.
    pub body_bytes: usize,
    /// Whether it came over HTTP/2.
    pub http2: bool,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// When its last byte came.
    pub at: Instant,
    /// How it ended.
    pub end: End,
    /// The spec it met, as written; `ok` for none.
    pub fault: String,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is being answered, or held.
    Running,
    /// It got a whole answer, whatever its status.
    Answered,
    /// The client went away first.
    ClientLeft {
        /// How long after the request.
        after: Duration,
    },
    /// The fake broke the answer off, as the script says.
    Faulted,
}

impl Received {
    /// The value of a header, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// A request as it is kept.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) endpoint: Arc<str>,
    /// The request line and the headers.
    pub(crate) head: Bytes,
    pub(crate) model: String,
    pub(crate) body: Bytes,
    pub(crate) body_bytes: usize,
    pub(crate) http2: bool,
    pub(crate) stream: bool,
    pub(crate) at: Instant,
    pub(crate) end: End,
    pub(crate) fault: Arc<str>,
}

impl Entry {
    pub(crate) fn read(&self) -> Received {
        let head = String::from_utf8_lossy(&self.head);
        let (line, headers) = head.split_once("\r\n").unwrap_or((&head, ""));
        let mut parts = line.split(' ');
        let method = parts.next().unwrap_or_default().to_owned();
        let route = Route::of(parts.next().unwrap_or_default());
        Received {
            endpoint: self.endpoint.to_string(),
            method,
            path: route.path.to_owned(),
            query: route.query.map(str::to_owned),
            model: self.model.clone(),
            headers: pairs(headers).map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect(),
            body: self.body.clone(),
            body_bytes: self.body_bytes,
            http2: self.http2,
            stream: self.stream,
            at: self.at,
            end: self.end,
            fault: self.fault.to_string(),
        }
    }
}

/// The last requests, in order.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: VecDeque<Entry>,
    /// The number of the first entry; numbers never come twice.
    first: u64,
    /// Bodies before this number are forgotten.
    bodies_from: u64,
    bodies_bytes: usize,
}

impl Ledger {
    /// Whether a body of this length is worth keeping.
    pub(crate) fn keeps(body_bytes: usize) -> bool {
        body_bytes <= BODY_BYTES_MAX
    }

    /// Adds a request and gives its number.
    pub(crate) fn add(&mut self, entry: Entry) -> u64 {
        if self.entries.len() == REQUESTS_MAX {
            self.forget_first();
        }
        self.bodies_bytes += entry.body.len();
        self.entries.push_back(entry);
        let number = self.first + self.entries.len() as u64 - 1;
        while self.bodies_bytes > BODIES_BYTES_MAX && self.bodies_from < number {
            let place = usize::try_from(self.bodies_from - self.first).unwrap_or(usize::MAX);
            if let Some(entry) = self.entries.get_mut(place) {
                self.bodies_bytes -= std::mem::take(&mut entry.body).len();
            }
            self.bodies_from += 1;
        }
        number
    }

    /// Says how a request ended; one that is forgotten stays so.
    pub(crate) fn end(&mut self, number: u64, end: End) -> Option<&Entry> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let entry = self.entries.get_mut(place)?;
        entry.end = end;
        Some(entry)
    }

    pub(crate) fn read(&self) -> Vec<Received> {
        self.entries.iter().map(Entry::read).collect()
    }

    pub(crate) fn clear(&mut self) {
        while !self.entries.is_empty() {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some(entry) = self.entries.pop_front() else { return };
        self.bodies_bytes -= entry.body.len();
        self.first += 1;
        self.bodies_from = self.bodies_from.max(self.first);
    }
}
