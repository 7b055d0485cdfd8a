//! A whole answer of Gemini.

use super::Found;
use crate::json::{Broken, Cursor, Text};

pub(super) fn field<'a>(found: &mut Found<'a>, cursor: &mut Cursor<'a>, key: Text<'a>) -> Result<(), Broken> {
    match key.name() {
        b"candidates" => cursor.array(|cursor| {
            cursor.object(|cursor, key| match key.name() {
                b"content" => cursor.object(|cursor, key| match key.name() {
                    b"parts" => cursor.array(|cursor| part(found, cursor)),
                    _ => cursor.skip(),
                }),
                b"finishReason" => {
                    found.stop_reason = cursor.string()?;
                    Ok(())
                }
                _ => cursor.skip(),
            })
        }),
        b"promptFeedback" => cursor.object(|cursor, key| {
            match key.name() {
                b"blockReason" => found.stop_reason = cursor.string()?.or(found.stop_reason),
                _ => cursor.skip()?,
            }
            Ok(())
        }),
        _ => cursor.skip(),
    }
}

/// Thoughts alone are no answer.
fn part(found: &mut Found<'_>, cursor: &mut Cursor<'_>) -> Result<(), Broken> {
    let mut thought = false;
    let mut content = false;
    cursor.object(|cursor, key| {
        match key.name() {
            b"thought" => thought |= cursor.is_true()?,
            b"thoughtSignature" => cursor.skip()?,
            b"functionCall" => {
                content = true;
                cursor.skip()?;
            }
            _ => content |= cursor.is_substantial()?,
        }
        Ok(())
    })?;
    found.content |= content && !thought;
    Ok(())
}
