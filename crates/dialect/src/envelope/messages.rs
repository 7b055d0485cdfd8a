//! The body of an Anthropic message.

use super::{Content, Envelope, limit};
use crate::json::{Broken, Cursor, Kind, Text};

pub(super) fn field(
    envelope: &mut Envelope,
    content: &mut Content,
    cursor: &mut Cursor<'_>,
    key: Text<'_>,
) -> Result<bool, Broken> {
    match key.name() {
        b"messages" => cursor.array(|cursor| {
            envelope.continues_turn = false;
            cursor.object(|cursor, key| match key.name() {
                b"content" if cursor.kind()? == Kind::Array => cursor.array(|cursor| block(envelope, content, cursor)),
                key => content.entry(cursor, key),
            })
        })?,
        b"max_tokens" => envelope.output_tokens_max = limit(cursor.number()?),
        b"thinking" => envelope.thinking |= super::is_thinking(cursor)?,
        b"output_format" => envelope.json_output |= super::is_json_format(cursor)?,
        b"output_config" => cursor.object(|cursor, key| match key.name() {
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

/// Clients put reminders beside the results of tools: one result among the blocks is enough.
fn block(envelope: &mut Envelope, content: &mut Content, cursor: &mut Cursor<'_>) -> Result<(), Broken> {
    cursor.object(|cursor, key| match key.name() {
        b"type" => {
            let kind = cursor.string()?.map_or(&b""[..], Text::name);
            envelope.continues_turn |= kind == b"tool_result";
            content.images |= kind == b"image";
            Ok(())
        }
        key => content.entry(cursor, key),
    })
}
