//! What the readers of all formats share.

use super::canon::{Part, Raw, Str};
use crate::json::{Broken, Cursor, Kind};

pub(super) type Outcome<T> = Result<T, Broken>;

/// The next value if it is a string.
pub(super) fn text<'a>(cursor: &mut Cursor<'a>) -> Outcome<Option<Str<'a>>> {
    Ok(cursor.string()?.map(Str::new))
}

/// The next value as it stands; none where it is null.
pub(super) fn raw<'a>(cursor: &mut Cursor<'a>) -> Outcome<Option<Raw<'a>>> {
    Ok(cursor.raw()?.map(Raw::new))
}

/// The next value if it is a number.
pub(super) fn float(cursor: &mut Cursor<'_>) -> Outcome<Option<f64>> {
    match cursor.kind()? {
        Kind::Number => Ok(cursor.raw()?.and_then(|number| number.parse().ok())),
        _ => cursor.skip().map(|()| None),
    }
}

/// The next value if it is true or false.
pub(super) fn truth(cursor: &mut Cursor<'_>) -> Outcome<Option<bool>> {
    match cursor.kind()? {
        Kind::Bool => cursor.is_true().map(Some),
        _ => cursor.skip().map(|()| None),
    }
}

/// The strings of an array, or one string alone.
pub(super) fn texts<'a>(cursor: &mut Cursor<'a>) -> Outcome<Vec<Str<'a>>> {
    let mut found = Vec::new();
    if cursor.kind()? == Kind::String {
        found.extend(text(cursor)?);
    } else {
        cursor.array(|cursor| {
            found.extend(text(cursor)?);
            Ok(())
        })?;
    }
    Ok(found)
}

/// A text that stands alone, or the parts that `each` makes of an array's elements.
pub(super) fn parts<'a>(
    cursor: &mut Cursor<'a>,
    mut each: impl FnMut(&mut Cursor<'a>, &mut Vec<Part<'a>>) -> Outcome<()>,
) -> Outcome<Vec<Part<'a>>> {
    let mut parts = Vec::new();
    if cursor.kind()? == Kind::String {
        parts.extend(text(cursor)?.map(Part::Text));
    } else {
        cursor.array(|cursor| each(cursor, &mut parts))?;
    }
    Ok(parts)
}

/// A name, for comparing; empty where the value is no string.
pub(super) fn name<'a>(cursor: &mut Cursor<'a>) -> Outcome<&'a [u8]> {
    Ok(cursor.string()?.map_or(&b""[..], |text| text.name()))
}
