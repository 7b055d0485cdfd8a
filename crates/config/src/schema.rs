//! The JSON schema of the file, for editors: made from the same definition that reads it.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::raw::RawConfig;

/// The schema, in the draft that TOML editors understand.
pub fn schema() -> Value {
    let schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<RawConfig>();
    // `Raw…` is our word for what was written; editors show these names to people.
    let text = Value::from(schema).to_string().replace("\"Raw", "\"").replace("#/definitions/Raw", "#/definitions/");
    let mut schema = serde_json::from_str(&text).unwrap_or_default();
    drop_null(&mut schema);
    if let Value::Object(fields) = &mut schema {
        fields.insert("title".to_owned(), "steadfast.toml".into());
    }
    schema
}

/// TOML has no null: an optional key is absent.
fn drop_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(drop_null),
        Value::Object(fields) => {
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(words)) = fields.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            let null = |schema: &Value| schema.get("type").is_some_and(|name| name == "null");
            if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
                choices.retain(|choice| !null(choice));
                if choices.len() == 1
                    && let Some(Value::Object(only)) = choices.pop()
                {
                    fields.remove("anyOf");
                    if only.contains_key("$ref") {
                        // Beside `$ref`, draft 7 ignores everything else: the description needs `allOf`.
                        fields.insert("allOf".to_owned(), Value::Array(vec![Value::Object(only)]));
                    } else {
                        only.into_iter().for_each(|(name, value)| {
                            fields.entry(name).or_insert(value);
                        });
                    }
                }
            }
            fields.values_mut().for_each(drop_null);
        }
        _ => {}
    }
}
