//! What the messages of a body hold: how much text, which images.
//!
//! Walks every value once. Text is not weighed string by string: the size of the whole body less
//! what is no text errs upwards by the keys and brackets, which is the side to err on.

use crate::json::{Broken, Cursor, Kind};

/// About how many bytes of text make a token in English and code.
const BYTES_PER_TOKEN: usize = 4;

/// What an image or file counts, whatever its bytes: about the price of a large image.
const TOKENS_PER_ATTACHMENT: usize = 1_500;

/// A shorter string is text, whatever it looks like.
const ATTACHMENT_BYTES_MIN: usize = 256;

/// What has been found so far.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) images: bool,
    attachments: usize,
    attachment_bytes: usize,
}

impl Content {
    /// Walks the next value.
    pub(super) fn walk(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Broken> {
        match cursor.kind()? {
            Kind::Object => cursor.object(|cursor, key| self.entry(cursor, key.name())),
            Kind::Array => cursor.array(|cursor| self.walk(cursor)),
            Kind::String | Kind::Number | Kind::Bool | Kind::Null => cursor.skip(),
        }
    }

    /// Walks the value of one key, somewhere in the content of a message.
    pub(super) fn entry(&mut self, cursor: &mut Cursor<'_>, key: &[u8]) -> Result<(), Broken> {
        match key {
            b"type" => {
                let name = cursor.string()?.map_or(&b""[..], |text| text.name());
                self.images |= matches!(name, b"image" | b"image_url" | b"input_image");
                Ok(())
            }
            b"data" | b"url" | b"image_url" | b"file_data" | b"result" => self.attachment(cursor),
            b"mimeType" | b"mime_type" => {
                let name = cursor.string()?.map_or(&b""[..], |text| text.name());
                self.images |= name.starts_with(b"image/");
                Ok(())
            }
            // The arguments of a tool call and the schemas of tools are nobody's images.
            b"input" | b"args" | b"arguments" | b"input_schema" | b"parameters" => cursor.skip(),
            _ => self.walk(cursor),
        }
    }

    /// The estimate for a body of this size.
    pub(super) fn tokens(&self, body_bytes: usize) -> u32 {
        let text = body_bytes.saturating_sub(self.attachment_bytes).div_ceil(BYTES_PER_TOKEN);
        u32::try_from(text + self.attachments * TOKENS_PER_ATTACHMENT).unwrap_or(u32::MAX)
    }

    fn attachment(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Broken> {
        if cursor.kind()? != Kind::String {
            return self.walk(cursor);
        }
        let text = cursor.string()?.map_or(&b""[..], |text| text.raw());
        if text.len() >= ATTACHMENT_BYTES_MIN && is_encoded(text) {
            self.attachments += 1;
            self.attachment_bytes += text.len();
        }
        Ok(())
    }
}

/// Whether the text is a data URL or base64; the beginning tells.
fn is_encoded(text: &[u8]) -> bool {
    let is_letter =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\\');
    text.starts_with(b"data:") || text[..ATTACHMENT_BYTES_MIN].iter().all(is_letter)
}
