//! The body of Gemini's generateContent.

use super::{Content, Envelope, limit};
use crate::json::{Broken, Cursor, Text};

pub(super) fn field(
    envelope: &mut Envelope,
    content: &mut Content,
    cursor: &mut Cursor<'_>,
    key: Text<'_>,
) -> Result<bool, Broken> {
    match key.name() {
        b"contents" => cursor.array(|cursor| {
            envelope.continues_turn = false;
            cursor.object(|cursor, key| match key.name() {
                b"parts" => cursor.array(|cursor| part(envelope, content, cursor)),
                key => content.entry(cursor, key),
            })
        })?,
        b"generationConfig" | b"generation_config" => {
            cursor.object(|cursor, key| generation_config(envelope, cursor, key))?;
        }
        // Gemini streams by its path; the body has no such field.
        b"stream" => cursor.skip()?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn part(envelope: &mut Envelope, content: &mut Content, cursor: &mut Cursor<'_>) -> Result<(), Broken> {
    cursor.object(|cursor, key| {
        envelope.continues_turn |= matches!(key.name(), b"functionResponse" | b"function_response");
        content.entry(cursor, key.name())
    })
}

fn generation_config(envelope: &mut Envelope, cursor: &mut Cursor<'_>, key: Text<'_>) -> Result<(), Broken> {
    match key.name() {
        b"maxOutputTokens" | b"max_output_tokens" => envelope.output_tokens_max = limit(cursor.number()?),
        b"responseMimeType" | b"response_mime_type" => {
            let kind = cursor.string()?.map_or(&b""[..], Text::name);
            envelope.json_output |= kind == b"application/json";
        }
        b"thinkingConfig" | b"thinking_config" => cursor.object(|cursor, key| {
            envelope.thinking |= match key.name() {
                // Zero switches it off, -1 leaves it to the model.
                b"thinkingBudget" | b"thinking_budget" => cursor.number()? != Some(0),
                b"includeThoughts" | b"include_thoughts" => cursor.is_true()?,
                b"thinkingLevel" | b"thinking_level" => cursor.is_substantial()?,
                _ => cursor.skip().map(|()| false)?,
            };
            Ok(())
        })?,
        _ => cursor.skip()?,
    }
    Ok(())
}
