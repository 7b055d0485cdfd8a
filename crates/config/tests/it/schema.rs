//! The schema for editors.

use serde_json::Value;
use steadfast_config::schema;

#[test]
fn every_key_is_described_and_nothing_may_be_null() {
    let schema = schema();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    let mut keys = 0;
    walk(&schema, &mut keys);
    assert!(keys > 90, "{keys} keys");
    assert_eq!(schema["properties"]["endpoints"]["type"], "object");
    assert_eq!(schema["additionalProperties"], false);
    let triggers = schema["definitions"]["Policy"]["properties"]["on"]["propertyNames"]["anyOf"].to_string();
    assert!(triggers.contains("rate_limit") && triggers.contains("ProviderError") && triggers.contains("^http_"));
}

fn walk(schema: &Value, keys: &mut usize) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| walk(item, keys)),
        Value::Object(fields) => {
            assert_ne!(fields.get("type"), Some(&"null".into()));
            if let Some(Value::Array(words)) = fields.get("enum") {
                assert!(words.iter().all(Value::is_string), "{words:?}");
            }
            if let Some(Value::Object(properties)) = fields.get("properties") {
                for (name, property) in properties {
                    *keys += 1;
                    assert!(property["description"].is_string(), "`{name}` has no description: {property}");
                }
            }
            fields.values().for_each(|value| walk(value, keys));
        }
        _ => {}
    }
}
