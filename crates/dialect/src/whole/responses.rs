//! A whole response.

use super::Found;
use crate::json::{Broken, Cursor, Text};
use crate::watch::has_output;

pub(super) fn field<'a>(found: &mut Found<'a>, cursor: &mut Cursor<'a>, key: Text<'a>) -> Result<(), Broken> {
    match key.name() {
        b"output" => found.content |= has_output(cursor)?,
        b"status" => {
            let status = cursor.string()?;
            found.error |= status.is_some_and(|status| status.name() == b"failed");
            found.stop_reason = found.stop_reason.or(status);
        }
        b"incomplete_details" => cursor.object(|cursor, key| {
            match key.name() {
                b"reason" => found.stop_reason = cursor.string()?,
                _ => cursor.skip()?,
            }
            Ok(())
        })?,
        _ => cursor.skip()?,
    }
    Ok(())
}
