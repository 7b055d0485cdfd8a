//! A call whose arguments come value by value, each with the place where it belongs: Vertex can be asked for that.
//!
//! Rare enough for a tree.

use serde_json::{Map, Value};

use super::answer::Call;
use crate::FRAME_BYTES_MAX;
use crate::json::{Broken, Cursor};
use crate::translate::canon::{Raw, Str, ToolCall};
use crate::translate::read::Outcome;

/// Nobody nests arguments deeper.
const DEPTH_MAX: usize = 64;

/// What has come of a call.
#[derive(Clone, Debug)]
pub(super) struct Partial {
    id: Str<'static>,
    name: Str<'static>,
    arguments: Value,
    bytes: usize,
}

impl Default for Partial {
    fn default() -> Self {
        Self { id: Str::default(), name: Str::default(), arguments: Value::Object(Map::new()), bytes: 0 }
    }
}

impl Partial {
    /// The next part of it.
    pub(super) fn add(&mut self, call: &Call<'_>) -> Outcome<()> {
        if self.id.is_empty() {
            self.id = call.id.owned();
        }
        if self.name.is_empty() {
            self.name = call.name.owned();
        }
        if let Some(arguments) = &call.arguments {
            self.count(arguments)?;
            self.arguments = value(arguments.json())?;
        }
        let Some(values) = &call.values else { return Ok(()) };
        self.count(values)?;
        Cursor::new(values.json().as_bytes()).array(|cursor| self.value(cursor))
    }

    /// The call, when nothing more of it comes.
    pub(super) fn whole(&self) -> ToolCall<'static> {
        let arguments = Raw::made(self.arguments.to_string());
        ToolCall::new(self.id.clone(), self.name.clone(), arguments)
    }

    fn count(&mut self, more: &Raw<'_>) -> Outcome<()> {
        self.bytes += more.json().len();
        if self.bytes > FRAME_BYTES_MAX { broken("a tool call is larger than any may be") } else { Ok(()) }
    }

    /// `{"jsonPath":"$.a[0]","stringValue":"more"}`: strings grow, anything else comes at once.
    fn value(&mut self, cursor: &mut Cursor<'_>) -> Outcome<()> {
        let (mut path, mut found) = (None, None);
        cursor.object(|cursor, key| {
            match key.name() {
                b"jsonPath" => path = cursor.string()?.map(|path| path.decode().into_owned()),
                b"stringValue" | b"numberValue" | b"boolValue" => found = cursor.raw()?.map(value).transpose()?,
                b"nullValue" => {
                    cursor.skip()?;
                    found = Some(Value::Null);
                }
                _ => cursor.skip()?,
            }
            Ok(())
        })?;
        let (Some(path), Some(found)) = (path, found) else { return Ok(()) };
        let Some(place) = place(&mut self.arguments, &path) else {
            return broken("an argument of a tool call has no place");
        };
        match (place, found) {
            (Value::String(text), Value::String(more)) => text.push_str(&more),
            (place, found) => *place = found,
        }
        Ok(())
    }
}

/// The place that a path such as `$.a.b[0]['c d']` leads to, which is made where it is not there yet.
fn place<'v>(root: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    let mut rest = path.strip_prefix('$')?;
    let mut at = root;
    for _ in 0..DEPTH_MAX {
        if rest.is_empty() {
            return Some(at);
        }
        let (step, after) = step(rest)?;
        rest = after;
        at = match step {
            Step::Key(key) => {
                if at.is_null() {
                    *at = Value::Object(Map::new());
                }
                at.as_object_mut()?.entry(key).or_insert(Value::Null)
            }
            Step::Index(index) => {
                if at.is_null() {
                    *at = Value::Array(Vec::new());
                }
                let list = at.as_array_mut()?;
                // They come in order: there is never a gap to fill.
                if index == list.len() {
                    list.push(Value::Null);
                }
                list.get_mut(index)?
            }
        };
    }
    None
}

enum Step<'p> {
    Key(&'p str),
    Index(usize),
}

fn step(path: &str) -> Option<(Step<'_>, &str)> {
    if let Some(name) = path.strip_prefix('.') {
        let (name, rest) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
        return Some((Step::Key(name), rest));
    }
    let inside = path.strip_prefix('[')?;
    if let Some(quote) = inside.chars().next().filter(|first| matches!(first, '\'' | '"')) {
        let (name, rest) = inside[1..].split_once(quote)?;
        return Some((Step::Key(name), rest.strip_prefix(']')?));
    }
    let (index, rest) = inside.split_once(']')?;
    Some((Step::Index(index.parse().ok()?), rest))
}

fn value(json: &str) -> Outcome<Value> {
    serde_json::from_str(json).or(broken("an argument of a tool call is no JSON"))
}

const fn broken<T>(what: &'static str) -> Outcome<T> {
    Err(Broken { at_byte: 0, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parts: &[&str], expected: Option<&str>) {
        let mut partial = Partial::default();
        let added = parts.iter().try_for_each(|values| {
            partial.add(&Call { values: Some(Raw::new(values)), goes_on: true, ..Call::default() })
        });
        let arguments = added.ok().map(|()| partial.whole().arguments.json().to_owned());
        assert_eq!(arguments.as_deref(), expected);
    }

    #[test]
    fn values_find_their_places() {
        check(&[], Some("{}"));
        check(
            &[
                r#"[{"jsonPath":"$.text","stringValue":"a\"b","willContinue":true}]"#,
                r#"[{"jsonPath":"$.text","stringValue":"c"},{"jsonPath":"$.n","numberValue":5}]"#,
                r#"[{"jsonPath":"$.list[0].on","boolValue":true},{"jsonPath":"$.list[1]['a b']","nullValue":null}]"#,
            ],
            Some(r#"{"list":[{"on":true},{"a b":null}],"n":5,"text":"a\"bc"}"#),
        );
        check(&[r#"[{"jsonPath":"$.text","willContinue":false}]"#], Some("{}"));
    }

    #[test]
    fn a_place_that_cannot_be_is_an_error() {
        check(&[r#"[{"jsonPath":"$.a[7]","stringValue":"x"}]"#], None);
        check(&[r#"[{"jsonPath":"a","stringValue":"x"}]"#], None);
        check(&[r#"[{"jsonPath":"$['a","stringValue":"x"}]"#], None);
        check(&[r#"[{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$.a.b","stringValue":"x"}]"#], None);
        check(&[&format!(r#"[{{"jsonPath":"${}","stringValue":"x"}}]"#, ".a".repeat(DEPTH_MAX))], None);
    }
}
