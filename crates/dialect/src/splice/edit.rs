//! Changing a few values in a frame and keeping every other byte.

use std::ops::Range;

use bytes::Bytes;
use serde_json::Value;

use crate::{Frame, Framing};

/// Changes to one text, in any order; ranges do not overlap.
#[derive(Debug, Default)]
pub(super) struct Edits {
    changes: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Puts JSON where another value stands.
    pub(super) fn put(&mut self, range: Option<&Range<usize>>, json: impl Into<String>) {
        if let Some(range) = range {
            self.changes.push((range.clone(), json.into()));
        }
    }

    /// The same for a string that is to be quoted; None leaves what stands there.
    pub(super) fn put_str(&mut self, range: Option<&Range<usize>>, text: Option<&str>) {
        if let Some(text) = text {
            self.put(range, quoted(text));
        }
    }

    /// The frame with its data changed.
    pub(super) fn apply(mut self, frame: &Frame) -> Bytes {
        let data = frame.data();
        self.changes.sort_by_key(|(range, _)| range.start);
        let mut changed = Vec::with_capacity(data.len() + 64);
        let mut at = 0;
        for (range, json) in self.changes {
            changed.extend_from_slice(&data[at..range.start]);
            changed.extend_from_slice(json.as_bytes());
            at = range.end;
        }
        changed.extend_from_slice(&data[at..]);
        wrapped(frame, &changed)
    }
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// An event with a name.
pub(super) fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// The data in the place of the frame's own. An element is never the first: the array is open.
fn wrapped(frame: &Frame, data: &[u8]) -> Bytes {
    if frame.framing() == Framing::JsonArray {
        return [b",\r\n", data].concat().into();
    }
    if let Some(range) = frame.data_range() {
        return [&frame.raw[..range.start], data, &frame.raw[range.end..]].concat().into();
    }
    let mut raw = Vec::new();
    if let Some(event) = frame.event() {
        raw.extend_from_slice(format!("event: {event}\n").as_bytes());
    }
    for line in data.split(|byte| *byte == b'\n') {
        raw.extend_from_slice(b"data: ");
        raw.extend_from_slice(line);
        raw.push(b'\n');
    }
    raw.push(b'\n');
    raw.into()
}
