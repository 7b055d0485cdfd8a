//! What tells two requests apart.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use crate::call::{Call, Wishes};

/// Headers that change what is asked for: clients negotiate by leaving one of a header's words out.
const MEANT: [&str; 4] = ["anthropic-beta", "anthropic-version", "openai-beta", "accept"];

/// 128 bits of a keyed hash over everything that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key([u64; 2]);

/// Makes keys that nobody outside this process can make.
#[derive(Debug, Default)]
pub(crate) struct Keys([RandomState; 2]);

impl Keys {
    /// The key of a request: who asks, and what. No id that a client sends is trusted to name a
    /// request: Codex sends the same one with every request of a thread.
    pub(crate) fn of(&self, call: &Call) -> Key {
        Key([0, 1].map(|half| {
            let mut hasher = self.0[half].build_hasher();
            let mut put = |part: &[u8]| {
                hasher.write(part);
                hasher.write_u8(0xff);
            };
            put(call.project.as_bytes());
            put(call.method.as_str().as_bytes());
            put(call.path.as_bytes());
            put(call.session.as_deref().unwrap_or("").as_bytes());
            put(call.query.as_deref().unwrap_or("").as_bytes());
            // Another client's credential must not fetch this client's answer.
            for value in call.credential.values() {
                put(value.as_bytes());
            }
            for name in MEANT {
                for value in call.headers.get_all(name) {
                    put(value.as_bytes());
                }
                put(b"");
            }
            // Who asks for another chain or more time asks for something else.
            let Wishes { stream, chain, deadline, park, client_waits: _, again: _ } = &call.wishes;
            for name in chain.iter().flatten() {
                put(name.as_bytes());
            }
            let waits = [deadline, park].map(|wait| wait.map_or(0, |wait| wait.as_nanos()));
            waits.iter().for_each(|wait| put(&wait.to_le_bytes()));
            put(&[stream.map_or(0, |stream| stream as u8 + 1)]);
            put(&call.body);
            hasher.finish()
        }))
    }
}

#[cfg(test)]
impl Key {
    pub(crate) const fn for_tests(number: u64) -> Self {
        Self([number, number])
    }
}
