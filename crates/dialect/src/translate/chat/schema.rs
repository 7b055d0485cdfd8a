//! JSON schemas as OpenAI accepts them.

use std::borrow::Cow;

use serde_json::Value;

use crate::json::{Cursor, Kind};
use crate::translate::canon::Raw;

const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// A tool's parameters. OpenAI wants an object with properties even where there are none.
pub(super) fn parameters<'s>(schema: Option<&'s Raw<'_>>) -> Cow<'s, str> {
    let Some(json) = schema.map(Raw::json) else { return Cow::Borrowed(NO_PARAMETERS) };
    let mut cursor = Cursor::new(json.as_bytes());
    let (mut has_type, mut has_properties, mut is_empty) = (false, false, true);
    let read = cursor.kind().and_then(|kind| {
        cursor.object(|cursor, key| {
            is_empty = false;
            has_type |= key.name() == b"type";
            has_properties |= key.name() == b"properties";
            cursor.skip()
        })?;
        Ok(kind)
    });
    if read != Ok(Kind::Object) || is_empty {
        return Cow::Borrowed(NO_PARAMETERS);
    }
    let missing = match (has_type, has_properties) {
        (true, true) => return Cow::Borrowed(json),
        (true, false) => r#"{"properties":{},"#,
        (false, true) => r#"{"type":"object","#,
        (false, false) => r#"{"type":"object","properties":{},"#,
    };
    Cow::Owned(json.replacen('{', missing, 1))
}

/// Whether OpenAI can keep to it strictly: every object names all its properties as required and allows
/// no others. Where it cannot, it rejects the whole request.
pub(super) fn fits_strictly(schema: &Raw<'_>) -> bool {
    serde_json::from_str(schema.json()).is_ok_and(|schema| is_closed(&schema))
}

fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            let is_object = properties.is_some() || fields.get("type").is_some_and(|kind| kind == "object");
            let required = fields.get("required").and_then(Value::as_array);
            let is_required = |name: &String| required.is_some_and(|names| names.iter().any(|known| known == name));
            let is_fine = !is_object
                || fields.get("additionalProperties") == Some(&Value::Bool(false))
                    && properties.is_none_or(|properties| properties.keys().all(is_required));
            is_fine && fields.values().all(is_closed)
        }
        Value::Array(values) => values.iter().all(is_closed),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_parameters(schema: &'static str, expected: &str) {
        assert_eq!(parameters(Some(&Raw::new(schema))), expected);
    }

    #[test]
    fn parameters_have_a_type_and_properties() {
        assert_eq!(parameters(None), NO_PARAMETERS);
        check_parameters("{ }", NO_PARAMETERS);
        check_parameters("true", NO_PARAMETERS);
        check_parameters(r#"{"type":"object"}"#, r#"{"properties":{},"type":"object"}"#);
        check_parameters(r#"{"properties":{"a":{}}}"#, r#"{"type":"object","properties":{"a":{}}}"#);
        check_parameters(r#"{"$defs":{}}"#, r#"{"type":"object","properties":{},"$defs":{}}"#);
        check_parameters(r#"{"type":"object","properties":{}}"#, r#"{"type":"object","properties":{}}"#);
    }

    #[track_caller]
    fn check_strict(schema: &'static str, expected: bool) {
        assert_eq!(fits_strictly(&Raw::new(schema)), expected, "{schema}");
    }

    #[test]
    fn strict_schemas_are_closed_at_every_depth() {
        check_strict(
            r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#,
            true,
        );
        check_strict(r#"{"type":"object","properties":{"a":{}},"required":[],"additionalProperties":false}"#, false);
        check_strict(r#"{"type":"object","properties":{"a":{}},"required":["a"]}"#, false);
        check_strict(r#"{"type":"array","items":{"type":"object"}}"#, false);
        check_strict(r#"{"type":"array","items":{"type":"object","additionalProperties":false}}"#, true);
    }
}
