//! Thinking that another vendor's model did, on its way back through the client.
//!
//! A vendor seals its model's thinking and rejects seals it did not make. A client is shown what a
//! stand-in thought under a seal of ours, and sends it back in the next turn, perhaps to the vendor
//! itself: there it is taken out.

use std::ops::Range;

use bytes::Bytes;

use super::read::{Outcome, name};
use crate::Format;
use crate::json::{Cursor, Kind};

/// The seal on thinking that the client's own vendor did not do.
pub(super) const FOREIGN: &str = "c3RlYWRmYXN0OmZvcmVpZ24";

/// What a turn says that had nothing but thinking in it: an empty one would be rejected.
const NOTHING: &str = r#"{"type":"text","text":"(no answer)"}"#;

/// A request to the client's own vendor without the thinking of others, and the name of what was left out; none where there
/// is nothing to leave out.
pub fn without_foreign_seals(format: Format, body: &Bytes) -> Option<(Bytes, &'static str)> {
    memchr::memmem::find(body, FOREIGN.as_bytes())?;
    let mut cut = Cut { body, out: Vec::with_capacity(body.len()), from: 0 };
    let (read, what) = match format {
        Format::Messages => (cut.turns(), "thinking"),
        Format::Responses => (cut.items(), "reasoning"),
        // Neither knows seals.
        Format::Chat | Format::Gemini => return None,
    };
    // What cannot be read its vendor will say.
    read.ok().filter(|()| cut.from > 0)?;
    cut.out.extend_from_slice(&body[cut.from..]);
    Some((cut.out.into(), what))
}

struct Cut<'a> {
    body: &'a Bytes,
    out: Vec<u8>,
    /// What comes before is written.
    from: usize,
}

impl Cut<'_> {
    fn turns(&mut self) -> Outcome<()> {
        let body = self.body.clone();
        Cursor::new(&body).object(|cursor, key| match key.name() {
            b"messages" => cursor.array(|cursor| {
                cursor.object(|cursor, key| match key.name() {
                    b"content" => self.array(cursor, b"signature", NOTHING),
                    _ => cursor.skip(),
                })
            }),
            _ => cursor.skip(),
        })
    }

    fn items(&mut self) -> Outcome<()> {
        let body = self.body.clone();
        Cursor::new(&body).object(|cursor, key| match key.name() {
            b"input" => self.array(cursor, b"encrypted_content", ""),
            _ => cursor.skip(),
        })
    }

    /// Leaves out the elements whose `field` is our seal.
    fn array(&mut self, cursor: &mut Cursor<'_>, field: &[u8], instead: &str) -> Outcome<()> {
        if cursor.kind()? != Kind::Array {
            return cursor.skip();
        }
        let mut all: Option<Range<usize>> = None;
        let mut kept = Vec::new();
        let mut foreign = false;
        cursor.array(|cursor| {
            cursor.kind()?;
            let start = cursor.at();
            let mut is_ours = false;
            cursor.object(|cursor, key| {
                if key.name() == field {
                    is_ours = name(cursor)? == FOREIGN.as_bytes();
                    return Ok(());
                }
                cursor.skip()
            })?;
            let end = cursor.at();
            all = Some(all.as_ref().map_or(start, |all| all.start)..end);
            foreign |= is_ours;
            if !is_ours {
                kept.push(start..end);
            }
            Ok(())
        })?;
        let (Some(all), true) = (all, foreign) else { return Ok(()) };
        self.out.extend_from_slice(&self.body[self.from..all.start]);
        for (number, range) in kept.iter().enumerate() {
            if number > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(&self.body[range.clone()]);
        }
        if kept.is_empty() {
            self.out.extend_from_slice(instead.as_bytes());
        }
        self.from = all.end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: Format, body: &str, expected: &str) {
        let body = Bytes::from(body.replace("OURS", FOREIGN));
        let without = without_foreign_seals(format, &body);
        assert_eq!(without.map_or(body, |(without, _)| without), expected);
    }

    #[test]
    fn foreign_thinking_is_taken_out_and_nothing_else() {
        check(
            Format::Messages,
            r#"{ "messages":[{"role":"assistant","content":[ {"type":"thinking","thinking":"hm","signature":"OURS"} , {"type":"text","text":"a"} ]},{"role":"user","content":"OURS"}],"x": 1.0}"#,
            r#"{ "messages":[{"role":"assistant","content":[ {"type":"text","text":"a"} ]},{"role":"user","content":"c3RlYWRmYXN0OmZvcmVpZ24"}],"x": 1.0}"#,
        );
        check(
            Format::Responses,
            r#"{"input":[{"type":"message"},{"type":"reasoning","encrypted_content":"OURS"},{"type":"reasoning","encrypted_content":"theirs"}]}"#,
            r#"{"input":[{"type":"message"},{"type":"reasoning","encrypted_content":"theirs"}]}"#,
        );
    }

    #[test]
    fn a_turn_is_never_empty() {
        check(
            Format::Messages,
            r#"{"messages":[{"content":[{"signature":"OURS"}]}]}"#,
            r#"{"messages":[{"content":[{"type":"text","text":"(no answer)"}]}]}"#,
        );
    }

    #[test]
    fn what_cannot_be_read_is_left_to_its_vendor() {
        check(
            Format::Messages,
            r#"{"messages":[{"signature":"OURS"#,
            r#"{"messages":[{"signature":"c3RlYWRmYXN0OmZvcmVpZ24"#,
        );
    }
}
