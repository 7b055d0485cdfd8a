//! Schemas: Google's dialect of OpenAPI becomes JSON schema, which everybody else speaks.
//!
//! Types are in capitals there, `nullable` is a field, and lengths may be strings, as Google's JSON has it for
//! large numbers.

use crate::json::{Cursor, Kind};
use crate::translate::Notes;
use crate::translate::canon::Raw;
use crate::translate::read::Outcome;

/// The next value as a JSON schema; none where it is no object.
pub(super) fn lower(cursor: &mut Cursor<'_>, notes: &mut Notes) -> Outcome<Option<Raw<'static>>> {
    match cursor.kind()? {
        Kind::Object => Ok(Some(Raw::made(schema(cursor, notes)?))),
        _ => cursor.skip().map(|()| None),
    }
}

#[derive(Default)]
struct Lowered {
    kind: Option<String>,
    nullable: bool,
    choices: Option<Vec<String>>,
    any_of: Option<Vec<String>>,
    /// Everything else, as it is written.
    fields: String,
}

fn schema(cursor: &mut Cursor<'_>, notes: &mut Notes) -> Outcome<String> {
    if cursor.kind()? != Kind::Object {
        // `true` and `false` are schemas too.
        return Ok(json(cursor)?.to_owned());
    }
    let mut lowered = Lowered::default();
    cursor.object(|cursor, key| {
        match key.name() {
            b"type" => {
                let kind = json(cursor)?.to_ascii_lowercase();
                lowered.kind = Some(kind).filter(|kind| kind != "null" && kind != "\"type_unspecified\"");
            }
            b"nullable" => lowered.nullable = cursor.is_true()?,
            b"enum" => lowered.choices = Some(list(cursor, |cursor| Ok(json(cursor)?.to_owned()))?),
            b"anyOf" | b"any_of" => lowered.any_of = Some(list(cursor, |cursor| schema(cursor, notes))?),
            b"properties" => lowered.put("properties", &map(cursor, notes)?),
            b"defs" | b"$defs" => lowered.put("$defs", &map(cursor, notes)?),
            b"ref" | b"$ref" => lowered.put("$ref", &json(cursor)?.replacen("#/defs/", "#/$defs/", 1)),
            b"items" => lowered.put("items", &schema(cursor, notes)?),
            b"prefixItems" | b"prefix_items" => {
                let items = list(cursor, |cursor| schema(cursor, notes))?;
                lowered.put("prefixItems", &array(&items));
            }
            b"additionalProperties" | b"additional_properties" => {
                lowered.put("additionalProperties", &schema(cursor, notes)?);
            }
            b"minItems" | b"min_items" => lowered.put("minItems", number(cursor)?),
            b"maxItems" | b"max_items" => lowered.put("maxItems", number(cursor)?),
            b"minLength" | b"min_length" => lowered.put("minLength", number(cursor)?),
            b"maxLength" | b"max_length" => lowered.put("maxLength", number(cursor)?),
            b"minProperties" | b"min_properties" => lowered.put("minProperties", number(cursor)?),
            b"maxProperties" | b"max_properties" => lowered.put("maxProperties", number(cursor)?),
            b"example" => lowered.put("examples", &format!("[{}]", json(cursor)?)),
            b"propertyOrdering" | b"property_ordering" => {
                notes.dropped("propertyOrdering");
                cursor.skip()?;
            }
            // A format only for Google: that there is a list of choices.
            b"format" => match json(cursor)? {
                "\"enum\"" => {}
                other => lowered.put("format", other),
            },
            name => {
                lowered.put(&String::from_utf8_lossy(name), json(cursor)?);
            }
        }
        Ok(())
    })?;
    Ok(lowered.written())
}

impl Lowered {
    fn put(&mut self, name: &str, json: &str) {
        let comma = if self.fields.is_empty() { "" } else { "," };
        for piece in [comma, "\"", name, "\":", json] {
            self.fields.push_str(piece);
        }
    }

    fn written(mut self) -> String {
        let is_number = matches!(self.kind.as_deref(), Some("\"integer\"" | "\"number\""));
        if let Some(mut choices) = self.choices.take() {
            if is_number {
                // Google writes these as strings, whatever their type.
                choices.iter_mut().for_each(|choice| *choice = bare(choice).to_owned());
            }
            choices.extend(self.nullable.then(|| "null".to_owned()));
            self.put("enum", &array(&choices));
        }
        if let Some(mut any_of) = self.any_of.take() {
            any_of.extend((self.nullable && self.kind.is_none()).then(|| r#"{"type":"null"}"#.to_owned()));
            self.put("anyOf", &array(&any_of));
        }
        let kind = self.kind.map(|kind| match self.nullable && kind.starts_with('"') {
            true => format!("[{kind},\"null\"]"),
            false => kind,
        });
        match kind {
            Some(kind) if self.fields.is_empty() => ["{\"type\":", &kind, "}"].concat(),
            Some(kind) => ["{\"type\":", &kind, ",", &self.fields, "}"].concat(),
            None => ["{", &self.fields, "}"].concat(),
        }
    }
}

/// Schemas by name: a property may be called `type`.
fn map(cursor: &mut Cursor<'_>, notes: &mut Notes) -> Outcome<String> {
    let mut named = Lowered::default();
    cursor.object(|cursor, key| {
        let lowered = schema(cursor, notes)?;
        named.put(&String::from_utf8_lossy(key.raw()), &lowered);
        Ok(())
    })?;
    Ok(format!("{{{}}}", named.fields))
}

fn list<'a>(
    cursor: &mut Cursor<'a>,
    mut element: impl FnMut(&mut Cursor<'a>) -> Outcome<String>,
) -> Outcome<Vec<String>> {
    let mut elements = Vec::new();
    cursor.array(|cursor| {
        elements.push(element(cursor)?);
        Ok(())
    })?;
    Ok(elements)
}

fn array(elements: &[String]) -> String {
    format!("[{}]", elements.join(","))
}

fn json<'a>(cursor: &mut Cursor<'a>) -> Outcome<&'a str> {
    Ok(cursor.raw()?.unwrap_or("null"))
}

fn number<'a>(cursor: &mut Cursor<'a>) -> Outcome<&'a str> {
    json(cursor).map(bare)
}

/// A number without the quotes it may stand in; anything else as it is.
fn bare(json: &str) -> &str {
    let inside = json.trim_matches('"');
    let is_number = inside.bytes().next_back().is_some_and(|byte| byte.is_ascii_digit())
        && inside.parse::<f64>().is_ok_and(f64::is_finite)
        && inside.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_number { inside } else { json }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(google: &str, expected: &str) {
        let mut notes = Notes::default();
        let lowered = lower(&mut Cursor::new(google.as_bytes()), &mut notes).unwrap();
        assert_eq!(lowered.as_ref().map(Raw::json), Some(expected));
        serde_json::from_str::<serde_json::Value>(expected).unwrap();
    }

    #[test]
    fn types_are_lower_case_and_names_are_left_alone() {
        check(
            r#"{"type":"OBJECT","properties":{"type":{"type":"STRING","description":"STRING"},"n":{"type":"ARRAY","items":{"type":"INTEGER"}}},"required":["type"],"propertyOrdering":["n","type"]}"#,
            r#"{"type":"object","properties":{"type":{"type":"string","description":"STRING"},"n":{"type":"array","items":{"type":"integer"}}},"required":["type"]}"#,
        );
    }

    #[test]
    fn what_may_be_null_says_so() {
        check(r#"{"nullable":true,"type":"STRING"}"#, r#"{"type":["string","null"]}"#);
        check(
            r#"{"type":"STRING","format":"enum","enum":["a"],"nullable":true}"#,
            r#"{"type":["string","null"],"enum":["a",null]}"#,
        );
        check(
            r#"{"any_of":[{"type":"NUMBER"},{"type":"OBJECT"}],"nullable":true}"#,
            r#"{"anyOf":[{"type":"number"},{"type":"object"},{"type":"null"}]}"#,
        );
    }

    #[test]
    fn numbers_in_strings_are_numbers() {
        check(
            r#"{"type":"ARRAY","maxItems":"3","min_items":1,"items":{"type":"INTEGER","enum":["101","-2"]}}"#,
            r#"{"type":"array","maxItems":3,"minItems":1,"items":{"type":"integer","enum":[101,-2]}}"#,
        );
    }

    #[test]
    fn definitions_are_called_as_elsewhere() {
        check(
            r##"{"defs":{"Pet":{"type":"OBJECT"}},"ref":"#/defs/Pet","example":{"a":1}}"##,
            r##"{"$defs":{"Pet":{"type":"object"}},"$ref":"#/$defs/Pet","examples":[{"a":1}]}"##,
        );
        check("{}", "{}");
        check(r#"{"type":"TYPE_UNSPECIFIED","additionalProperties":false}"#, r#"{"additionalProperties":false}"#);
    }
}
