//! The body of an OpenAI chat completion.

use super::{Content, Envelope, limit};
use crate::json::{Broken, Cursor, Text};

pub(super) fn field(
    envelope: &mut Envelope,
    content: &mut Content,
    cursor: &mut Cursor<'_>,
    key: Text<'_>,
) -> Result<bool, Broken> {
    match key.name() {
        b"messages" => cursor.array(|cursor| {
            envelope.continues_turn = false;
            let mut instructs = false;
            let start = cursor.at();
            cursor.object(|cursor, key| match key.name() {
                b"role" => {
                    let role = cursor.string()?.map_or(&b""[..], Text::name);
                    envelope.continues_turn = matches!(role, b"tool" | b"function");
                    instructs = matches!(role, b"system" | b"developer");
                    Ok(())
                }
                key => content.entry(cursor, key),
            })?;
            if instructs && envelope.instructions_at.is_none() {
                envelope.instructions_at = Some(start..cursor.at());
            }
            Ok(())
        })?,
        b"max_completion_tokens" => envelope.output_tokens_max = limit(cursor.number()?).or(envelope.output_tokens_max),
        b"max_tokens" => envelope.output_tokens_max = envelope.output_tokens_max.or(limit(cursor.number()?)),
        b"functions" => envelope.tools |= cursor.is_substantial()?,
        b"response_format" => envelope.json_output |= super::is_json_format(cursor)?,
        // OpenAI; OpenRouter; DeepSeek, z.ai and others; Qwen.
        b"reasoning_effort" => envelope.thinking |= super::is_effort(cursor)?,
        b"reasoning" => envelope.thinking |= super::has_effort(cursor)?,
        b"thinking" => envelope.thinking |= super::is_thinking(cursor)?,
        b"enable_thinking" => envelope.thinking |= cursor.is_true()?,
        _ => return Ok(false),
    }
    Ok(true)
}
