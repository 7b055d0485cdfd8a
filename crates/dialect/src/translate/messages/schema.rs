//! JSON schemas as Anthropic keeps to them (structured outputs, `output_config.format`).
//!
//! A grammar is made from the schema before the model speaks, so only a part of the language is taken: objects are closed,
//! bounds of numbers, lengths and patterns are words to the model, and nothing may contain itself. What
//! Anthropic would reject as too much to compile is not asked of it. After its documentation, read in November 2026.

use std::collections::HashMap;

use crate::json::{Cursor, Kind};
use crate::translate::canon::{Raw, Str};
use crate::translate::read::Outcome;

/// Properties that may be left out, in the whole schema.
const OPTIONAL_MAX: usize = 24;

/// Places that may be of one kind or another, in the whole schema.
const UNIONS_MAX: usize = 16;

/// The formats of strings that are kept to.
const FORMATS: [&str; 10] = [
    "\"date-time\"",
    "\"time\"",
    "\"date\"",
    "\"duration\"",
    "\"email\"",
    "\"hostname\"",
    "\"uri\"",
    "\"ipv4\"",
    "\"ipv6\"",
    "\"uuid\"",
];

/// A schema that Anthropic keeps to.
pub(super) struct Fitting {
    pub(super) schema: Raw<'static>,
    /// Some of it is only said to the model in a description.
    pub(super) loosened: bool,
}

/// The schema as Anthropic takes it; none where it does not.
pub(super) fn fit(schema: &Raw<'_>) -> Option<Fitting> {
    let mut fitter = Fitter::default();
    let mut cursor = Cursor::new(schema.json().as_bytes());
    let made = fitter.schema(&mut cursor).ok().flatten()?;
    let within = fitter.optional <= OPTIONAL_MAX && fitter.unions <= UNIONS_MAX;
    // Other kinds of values at the top are not documented.
    let fits = fitter.is_object && within && !fitter.recurs();
    fits.then(|| Fitting { schema: Raw::made(made), loosened: fitter.loosened })
}

/// What is known of the whole schema so far.
#[derive(Default)]
struct Fitter {
    optional: usize,
    unions: usize,
    loosened: bool,
    /// The last schema read is of an object: at the end that is the whole.
    is_object: bool,
    /// Inside which definition.
    inside: Option<String>,
    /// Which definition mentions which.
    mentions: HashMap<String, Vec<String>>,
}

/// One schema on its way.
#[derive(Default)]
struct Fields {
    out: String,
    description: Option<String>,
    /// What is said in words.
    words: Vec<String>,
    properties: Vec<String>,
    required: Vec<String>,
    is_object: bool,
    is_open: bool,
}

impl Fields {
    fn put(&mut self, name: &str, json: &str) {
        for piece in [if self.out.is_empty() { "" } else { "," }, "\"", name, "\":", json] {
            self.out.push_str(piece);
        }
    }
}

/// A schema's text, or none where Anthropic has no such schema.
type Fitted = Outcome<Option<String>>;

impl Fitter {
    fn schema(&mut self, cursor: &mut Cursor<'_>) -> Fitted {
        if cursor.kind()? != Kind::Object {
            // `true` allows anything: that is nothing to keep to.
            return cursor.skip().map(|()| None);
        }
        let mut fields = Fields::default();
        let mut fits = true;
        cursor.object(|cursor, key| {
            let name = String::from_utf8_lossy(key.raw()).into_owned();
            fits &= self.field(&name, cursor, &mut fields)?;
            Ok(())
        })?;
        self.is_object = fields.is_object;
        Ok(if fits { self.close(fields) } else { None })
    }

    /// Takes one field; says whether it can be taken at all.
    fn field(&mut self, name: &str, cursor: &mut Cursor<'_>, fields: &mut Fields) -> Outcome<bool> {
        match name {
            "type" => {
                let kind = json(cursor)?;
                self.unions += usize::from(kind.starts_with('['));
                fields.is_object |= kind.contains("\"object\"");
                fields.put(name, kind);
            }
            "properties" => {
                fields.is_object = true;
                let named = self.named(cursor, |_, name| fields.properties.push(name.to_owned()))?;
                return Ok(put_if(fields, name, named));
            }
            "$defs" | "definitions" => {
                let outside = self.inside.take();
                let named = self.named(cursor, |fitter, name| fitter.inside = Some(name.to_owned()))?;
                self.inside = outside;
                return Ok(put_if(fields, name, named));
            }
            "items" => {
                let items = self.schema(cursor)?;
                return Ok(put_if(fields, name, items));
            }
            "anyOf" | "oneOf" => {
                self.unions += 1;
                let list = self.list(cursor)?;
                return Ok(put_if(fields, "anyOf", list));
            }
            "allOf" => {
                let list = self.list(cursor)?;
                return Ok(put_if(fields, name, list.filter(|list| !list.contains("\"$ref\""))));
            }
            "$ref" => {
                let place = json(cursor)?;
                let definition = place.trim_matches('"').rsplit_once('/').map(|(_, name)| name.to_owned());
                let (true, Some(definition)) = (place.starts_with("\"#/"), definition) else { return Ok(false) };
                self.mentions.entry(self.inside.clone().unwrap_or_default()).or_default().push(definition);
                fields.put(name, place);
            }
            "required" => {
                let names = json(cursor)?;
                fields.required = serde_json::from_str(names).unwrap_or_default();
                fields.put(name, names);
            }
            "additionalProperties" => fields.is_open = json(cursor)? != "false",
            "description" => fields.description = cursor.string()?.map(|text| text.decode().into_owned()),
            "enum" => {
                let values = json(cursor)?;
                if values.contains(['{']) {
                    return Ok(false);
                }
                fields.put(name, values);
            }
            "const" | "title" | "default" => fields.put(name, json(cursor)?),
            "format" | "minItems" => {
                let value = json(cursor)?;
                let is_kept = if name == "format" { FORMATS.contains(&value) } else { matches!(value, "0" | "1") };
                if is_kept { fields.put(name, value) } else { fields.words.push(format!("{name}: {value}")) }
            }
            "$schema" | "$id" | "$comment" | "propertyOrdering" => cursor.skip()?,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" | "minLength"
            | "maxLength" | "pattern" | "maxItems" | "uniqueItems" | "minProperties" | "maxProperties" | "examples" => {
                fields.words.push(format!("{name}: {}", json(cursor)?));
            }
            // `not`, `if`, `patternProperties` and the like: no grammar is made of them.
            _ => return cursor.skip().map(|()| false),
        }
        Ok(true)
    }

    /// Puts together what one schema has, closed.
    fn close(&mut self, mut fields: Fields) -> Option<String> {
        if fields.is_open && fields.properties.is_empty() {
            // A map of any names is not to be said.
            return None;
        }
        self.optional += fields.properties.iter().filter(|name| !fields.required.contains(name)).count();
        if !fields.words.is_empty() {
            self.loosened = true;
            let words = format!("{{{}}}", fields.words.join(", "));
            fields.description = Some(match fields.description.take() {
                Some(said) => format!("{said}\n{words}"),
                None => words,
            });
        }
        if let Some(description) = fields.description.take() {
            let quoted = format!("\"{}\"", Str::escape(&description).raw());
            fields.put("description", &quoted);
        }
        if fields.is_object {
            self.loosened |= fields.is_open;
            fields.put("additionalProperties", "false");
        }
        Some(["{", &fields.out, "}"].concat())
    }

    /// Schemas by name.
    fn named(&mut self, cursor: &mut Cursor<'_>, mut meet: impl FnMut(&mut Self, &str)) -> Fitted {
        let mut named = Fields::default();
        let mut fits = true;
        cursor.object(|cursor, key| {
            let name = String::from_utf8_lossy(key.raw()).into_owned();
            meet(self, &name);
            let schema = self.schema(cursor)?;
            fits &= put_if(&mut named, &name, schema);
            Ok(())
        })?;
        Ok(fits.then(|| ["{", &named.out, "}"].concat()))
    }

    fn list(&mut self, cursor: &mut Cursor<'_>) -> Fitted {
        let mut list = Vec::new();
        cursor.array(|cursor| {
            list.push(self.schema(cursor)?);
            Ok(())
        })?;
        let list: Option<Vec<String>> = list.into_iter().collect();
        Ok(list.map(|list| format!("[{}]", list.join(","))))
    }

    /// Whether a definition contains itself.
    fn recurs(&self) -> bool {
        self.mentions.keys().any(|name| {
            let (mut seen, mut open) = (vec![name.as_str()], vec![name.as_str()]);
            while let Some(next) = open.pop() {
                for mentioned in self.mentions.get(next).into_iter().flatten() {
                    if mentioned == name {
                        return true;
                    }
                    if !seen.contains(&mentioned.as_str()) {
                        seen.push(mentioned);
                        open.push(mentioned);
                    }
                }
            }
            false
        })
    }
}

fn put_if(fields: &mut Fields, name: &str, json: Option<String>) -> bool {
    let Some(json) = json else { return false };
    fields.put(name, &json);
    true
}

fn json<'a>(cursor: &mut Cursor<'a>) -> Outcome<&'a str> {
    Ok(cursor.raw()?.unwrap_or("null"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &'static str, expected: Option<(&str, bool)>) {
        let fitting = fit(&Raw::new(schema));
        let fitting = fitting.as_ref().map(|fitting| (fitting.schema.json(), fitting.loosened));
        assert_eq!(fitting, expected);
        if let Some((json, _)) = expected {
            serde_json::from_str::<serde_json::Value>(json).unwrap();
        }
    }

    #[test]
    fn objects_are_closed_and_the_order_of_properties_is_kept() {
        check(
            r#"{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"object","properties":{}}},"required":["b"]}"#,
            Some((
                r#"{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"object","properties":{},"additionalProperties":false}},"required":["b"],"additionalProperties":false}"#,
                false,
            )),
        );
    }

    #[test]
    fn bounds_are_said_in_words() {
        check(
            r#"{"type":"object","properties":{"n":{"type":"integer","description":"how \"many\"","minimum":1,"maximum":9},"l":{"type":"array","items":{"type":"string","format":"uri"},"minItems":1}}}"#,
            Some((
                r#"{"type":"object","properties":{"n":{"type":"integer","description":"how \"many\"\n{minimum: 1, maximum: 9}"},"l":{"type":"array","items":{"type":"string","format":"uri"},"minItems":1}},"additionalProperties":false}"#,
                true,
            )),
        );
    }

    #[test]
    fn definitions_may_be_used_but_not_contain_themselves() {
        check(
            r##"{"type":"object","properties":{"p":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"object","properties":{"q":{"$ref":"#/$defs/Q"}}},"Q":{"type":"string"}}}"##,
            Some((
                r##"{"type":"object","properties":{"p":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"object","properties":{"q":{"$ref":"#/$defs/Q"}},"additionalProperties":false},"Q":{"type":"string"}},"additionalProperties":false}"##,
                false,
            )),
        );
        check(
            r##"{"type":"object","properties":{"p":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"object","properties":{"p":{"$ref":"#/$defs/P"}}}}}"##,
            None,
        );
        check(r##"{"type":"object","properties":{"p":{"$ref":"https://example.com/p.json"}}}"##, None);
    }

    #[test]
    fn what_has_no_grammar_is_not_asked_for() {
        for schema in [
            r#"{"type":"array","items":{"type":"string"}}"#,
            r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
            r#"{"type":"object","properties":{"a":true}}"#,
            r#"{"type":"object","properties":{"a":{"not":{"type":"string"}}}}"#,
            r#"{"type":"object","properties":{"a":{"enum":[{"x":1}]}}}"#,
            "true",
            "{",
        ] {
            check(schema, None);
        }
        let many: Vec<String> = (0..25).map(|number| format!("\"p{number}\":{{\"type\":\"string\"}}")).collect();
        let many = format!(r#"{{"type":"object","properties":{{{}}}}}"#, many.join(","));
        assert!(fit(&Raw::made(many)).is_none(), "too many that may be left out");
    }
}
