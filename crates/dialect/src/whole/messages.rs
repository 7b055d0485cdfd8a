//! A whole Anthropic message.

use super::Found;
use crate::json::{Broken, Cursor, Text};

pub(super) fn field<'a>(found: &mut Found<'a>, cursor: &mut Cursor<'a>, key: Text<'a>) -> Result<(), Broken> {
    match key.name() {
        b"type" => found.error |= cursor.string()?.is_some_and(|name| name.name() == b"error"),
        b"content" => cursor.array(|cursor| {
            let mut kind: &[u8] = b"";
            let mut text = false;
            cursor.object(|cursor, key| {
                match key.name() {
                    b"type" => kind = cursor.string()?.map_or(&b""[..], Text::name),
                    b"text" => text = cursor.is_substantial()?,
                    _ => cursor.skip()?,
                }
                Ok(())
            })?;
            found.content |= match kind {
                b"text" => text,
                b"thinking" | b"redacted_thinking" => false,
                _ => true,
            };
            Ok(())
        })?,
        b"stop_reason" => found.stop_reason = cursor.string()?,
        _ => cursor.skip()?,
    }
    Ok(())
}
