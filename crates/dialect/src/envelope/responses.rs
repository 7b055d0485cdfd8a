//! The body of an OpenAI response.

use super::{Content, Envelope, limit};
use crate::json::{Broken, Cursor, Text};

pub(super) fn field(
    envelope: &mut Envelope,
    content: &mut Content,
    cursor: &mut Cursor<'_>,
    key: Text<'_>,
) -> Result<bool, Broken> {
    match key.name() {
        // A string, or items of which messages are one type.
        b"input" => cursor.array(|cursor| {
            envelope.continues_turn = false;
            cursor.object(|cursor, key| match key.name() {
                b"type" => {
                    let kind = cursor.string()?.map_or(&b""[..], Text::name);
                    envelope.continues_turn = kind.ends_with(b"_output");
                    Ok(())
                }
                key => content.entry(cursor, key),
            })
        })?,
        b"max_output_tokens" => envelope.output_tokens_max = limit(cursor.number()?),
        b"reasoning" => envelope.thinking |= super::has_effort(cursor)?,
        b"text" => cursor.object(|cursor, key| match key.name() {
            b"format" => {
                envelope.json_output |= super::is_json_format(cursor)?;
                Ok(())
            }
            _ => cursor.skip(),
        })?,
        _ => return Ok(false),
    }
    Ok(true)
}
