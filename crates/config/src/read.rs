//! From the tree to typed values, without stopping at the first mistake.
//!
//! Serde would stop there, and would lose the places. [`Read`] reports each problem and goes on;
//! a value that could not be read is simply absent. `section!` writes it for a table: the struct
//! is the one definition from which reading, suggestions and the JSON schema follow.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::node::{Node, Origin, Path, Value};
use crate::problem::Report;

/// A value that can be read from the tree.
pub(crate) trait Read: Sized {
    /// Reads it, or reports why not.
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self>;
}

/// Defines a table of the configuration: every field is optional here, so that a missing one can
/// be told from a wrong one, and the resolver says which are needed.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$doc])* pub(crate) $field: Option<$type>,)*
        }

        impl $name {
            /// Every key of this table.
            pub(crate) const KEYS: [&str; [$(stringify!($field)),*].len()] =
                [$(crate::read::key_name(stringify!($field))),*];
        }

        impl crate::read::Read for $name {
            fn read(
                node: &crate::node::Node, at: &crate::node::Path, report: &crate::problem::Report<'_>,
            ) -> Option<Self> {
                let table = crate::read::Fields::of(node, at, report, &Self::KEYS)?;
                Some(Self { $($field: table.field(crate::read::key_name(stringify!($field))),)* })
            }
        }
    };
}
pub(crate) use section;

/// The key of a field: Rust's own words carry `r#`.
pub(crate) const fn key_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// A table whose keys are fixed.
pub(crate) struct Fields<'a> {
    node: &'a Node,
    at: &'a Path,
    report: &'a Report<'a>,
}

impl<'a> Fields<'a> {
    /// The table, with its unknown keys reported.
    pub(crate) fn of(node: &'a Node, at: &'a Path, report: &'a Report<'a>, known: &[&str]) -> Option<Self> {
        let Value::Table(entries) = &node.value else {
            let what = format!("`{}` must be a table, not {}", at.last_name(), node.value.noun());
            report.refuse(at, what, format!("write it as {{ {} }}", example(known)));
            return None;
        };
        for (name, _) in entries {
            if !known.contains(&name.as_str()) {
                let path = at.key(name);
                report.refuse_key(&path, format!("unknown key `{name}`"), report.suggest(name, known.iter().copied()));
            }
        }
        Some(Self { node, at, report })
    }

    /// The field of this name, where it is there and can be read.
    pub(crate) fn field<T: Read>(&self, name: &str) -> Option<T> {
        T::read(self.node.get(name)?, &self.at.key(name), self.report)
    }
}

/// The first keys of a table, as one would write them.
fn example(known: &[&str]) -> String {
    let mut keys: Vec<String> = known.iter().take(3).map(|key| format!("{key} = …")).collect();
    if known.len() > keys.len() {
        keys.push("…".to_owned());
    }
    keys.join(", ")
}

/// Values by names that the user gives, in file order.
#[derive(Clone, Debug)]
pub(crate) struct Named<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Read> Read for Named<T> {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        let mut named = Vec::new();
        for (name, node) in entries(node, at, report)? {
            let path = at.key(name);
            if name.trim().is_empty() || name.chars().any(char::is_control) {
                report.refuse_key(&path, "a name cannot be empty or hold control characters", "give it a plain name");
                continue;
            }
            named.extend(T::read(node, &path, report).map(|value| (name.clone(), value)));
        }
        Some(Self(named))
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}

fn entries<'a>(node: &'a Node, at: &Path, report: &Report<'_>) -> Option<&'a [(String, Node)]> {
    if let Value::Table(entries) = &node.value {
        return Some(entries);
    }
    expected("a table", node, at, report);
    None
}

/// Reports that something else was written.
pub(crate) fn expected(what: &str, node: &Node, at: &Path, report: &Report<'_>) {
    let last = at.last_name();
    let found = node.value.noun();
    report.refuse(at, format!("`{last}` must be {what}, not {found}"), format!("write {what}"));
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        let Value::List(items) = &node.value else {
            let last = at.last_name();
            let what = format!("`{last}` must be a list, not {}", node.value.noun());
            report.refuse(at, what, format!("put it in brackets: `{last} = [ … ]`"));
            return None;
        };
        let read = items.iter().enumerate().map(|(index, item)| T::read(item, &at.index(index), report));
        // One bad item must not make the list look shorter than it is.
        read.collect::<Vec<_>>().into_iter().collect()
    }
}

impl Read for String {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        match (&node.value, &node.origin) {
            (Value::Text(text), _) => Some(text.clone()),
            // `STEADFAST_…=4` is text where text is wanted, though it would also be a number.
            (
                Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Other(_),
                Origin::Variable { text, .. } | Origin::Flag { text, .. },
            ) => Some(text.clone()),
            _ => {
                let last = at.last_name();
                let what = format!("`{last}` must be text, not {}", node.value.noun());
                report.refuse(at, what, "write it in quotes");
                None
            }
        }
    }
}

impl Read for bool {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        if let Value::Boolean(word) = node.value {
            return Some(word);
        }
        expected("true or false", node, at, report);
        None
    }
}

impl Read for f64 {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        match node.value {
            Value::Float(number) if number.is_finite() => Some(number),
            Value::Integer(number) => Some(number as Self),
            Value::Float(_) => {
                report.refuse(at, format!("`{}` must be a finite number", at.last_name()), "nothing here is endless");
                None
            }
            _ => {
                expected("a number", node, at, report);
                None
            }
        }
    }
}

/// One word of a fixed list.
pub(crate) trait Words: Copy + 'static {
    /// What the words are: "dialect", "kind".
    const NOUN: &'static str;

    /// Every word and its meaning.
    fn all() -> Vec<(&'static str, Self)>;

    /// The word for a meaning.
    fn word(self) -> &'static str
    where
        Self: PartialEq,
    {
        Self::all().into_iter().find(|(_, meaning)| *meaning == self).map_or("", |(word, _)| word)
    }
}

/// A value written as one word of a fixed list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<T>(pub(crate) T);

impl<T: Words> Read for Word<T> {
    fn read(node: &Node, at: &Path, report: &Report<'_>) -> Option<Self> {
        let written = String::read(node, at, report)?;
        let words = T::all();
        let found = words.iter().find(|(word, _)| *word == written).map(|(_, meaning)| Self(*meaning));
        if found.is_none() {
            let help = report.suggest(&written, words.iter().map(|(word, _)| *word));
            report.refuse(at, format!("unknown {} `{written}`", T::NOUN), help);
        }
        found
    }
}

impl<T: Words> JsonSchema for Word<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NOUN.replace(' ', "_").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = T::all().into_iter().map(|(word, _)| word).collect();
        json_schema!({ "type": "string", "enum": words })
    }
}
