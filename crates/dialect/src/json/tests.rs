use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn parse(text: &str) -> Result<Value, Broken> {
    let mut cursor = Cursor::new(text.as_bytes());
    let value = tree(&mut cursor)?;
    cursor.end()?;
    Ok(value)
}

/// Builds the tree that the cursor is there to avoid, to compare it with that of `serde_json`.
fn tree(cursor: &mut Cursor<'_>) -> Result<Value, Broken> {
    Ok(match cursor.kind()? {
        Kind::Object => {
            let mut map = serde_json::Map::new();
            cursor.object(|cursor, key| {
                map.insert(key.decode().into_owned(), tree(cursor)?);
                Ok(())
            })?;
            map.into()
        }
        Kind::Array => {
            let mut list = Vec::new();
            cursor.array(|cursor| {
                list.push(tree(cursor)?);
                Ok(())
            })?;
            list.into()
        }
        Kind::String => cursor.string()?.unwrap().decode().into_owned().into(),
        Kind::Bool => cursor.is_true()?.into(),
        Kind::Null => cursor.skip().map(|()| Value::Null)?,
        Kind::Number => {
            let range = cursor.value()?;
            serde_json::from_slice(&cursor.text[range]).unwrap_or(Value::Null)
        }
    })
}

#[test]
fn what_is_broken_and_where() {
    for (text, at_byte) in [
        ("", 0),
        ("{", 1),
        ("[1,]", 3),
        ("{\"a\"}", 4),
        ("{\"a\":}", 5),
        ("{a:1}", 1),
        ("\"abc", 4),
        ("\"abc\\", 5),
        ("nul", 0),
        ("[1 2]", 3),
        ("{} x", 3),
        ("-", 1),
    ] {
        assert_eq!(parse(text).map_err(|broken| broken.at_byte), Err(at_byte), "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    assert!(parse(&("[".repeat(128) + &"]".repeat(128))).is_ok());
    assert!(parse(&"[".repeat(100_000)).is_err());
}

#[test]
fn escapes() {
    for text in [r#""\u00e9\ud83d\ude42\n\"\\\/\b\f\r\t""#, r#""a\u4f60""#, r#""""#] {
        assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }
    assert_eq!(parse(r#""\ud83d-\ud83d\u0041\u12""#).unwrap(), "\u{fffd}-\u{fffd}A\u{fffd}12");
}

#[test]
fn numbers() {
    let number = |text: &str| Cursor::new(text.as_bytes()).number().unwrap();
    assert_eq!(
        [number("12"), number("1.9"), number("1e3"), number("-1"), number("\"1\"")],
        [Some(12), Some(1), Some(1000), None, None]
    );
}

#[test]
fn substance() {
    for (text, expected) in [("null", false), ("\"\"", false), ("[ ]", false), ("{}", false), ("false", false)]
        .into_iter()
        .chain([("\"a\"", true), ("[1]", true), ("{\"a\":1}", true), ("true", true), ("0", true)])
    {
        assert_eq!(Cursor::new(text.as_bytes()).is_substantial(), Ok(expected), "{text}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reads_what_serde_reads(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        prop_assert_eq!(parse(&text).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
    }

    #[test]
    fn refuses_only_what_serde_refuses(text in "[\\[\\]{}:,\"\\\\ 0-9a-fn-u.\\-]{0,24}") {
        if parse(&text).is_err() {
            prop_assert!(serde_json::from_str::<Value>(&text).is_err());
        }
    }

    #[test]
    fn does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = tree(&mut Cursor::new(&bytes));
    }
}
