//! A whole chat completion.

use super::Found;
use crate::json::{Broken, Cursor, Text};

pub(super) fn field<'a>(found: &mut Found<'a>, cursor: &mut Cursor<'a>, key: Text<'a>) -> Result<(), Broken> {
    match key.name() {
        b"choices" => cursor.array(|cursor| {
            cursor.object(|cursor, key| match key.name() {
                b"message" => cursor.object(|cursor, key| message(found, cursor, key)),
                b"finish_reason" => {
                    found.stop_reason = cursor.string()?;
                    found.error |= found.stop_reason.is_some_and(|reason| reason.name() == b"error");
                    Ok(())
                }
                _ => cursor.skip(),
            })
        }),
        b"object" => {
            found.error |= cursor.string()?.is_some_and(|name| name.name() == b"error");
            Ok(())
        }
        _ => cursor.skip(),
    }
}

/// Thinking alone is no answer.
fn message(found: &mut Found<'_>, cursor: &mut Cursor<'_>, key: Text<'_>) -> Result<(), Broken> {
    match key.name() {
        b"content" | b"tool_calls" | b"function_call" | b"refusal" | b"audio" | b"images" => {
            found.content |= cursor.is_substantial()?;
            Ok(())
        }
        _ => cursor.skip(),
    }
}
