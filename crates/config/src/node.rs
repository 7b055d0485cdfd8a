//! What was written, as one tree: every value with the place it came from.
//!
//! The layers are merged here, before anything is interpreted, so that a later layer can replace
//! any value of an earlier one and an error still knows who wrote it.

use std::fmt;
use std::ops::Range;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and who wrote it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// A TOML value. Dates are kept by name only: no key takes one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    List(Vec<Node>),
    /// In the order of the file.
    Table(Vec<(String, Node)>),
    /// Something no key takes: a date, or a number beyond 64 bits.
    Other(&'static str),
}

/// Who wrote a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody: it is a default.
    BuiltIn,
    /// The file, at these bytes.
    File { key: Range<usize>, value: Range<usize> },
    /// An environment variable.
    Variable { name: String, text: String },
    /// A flag, such as `--set listen=…`.
    Flag { name: String, text: String },
    /// A person, through the control API.
    Stored,
}

/// Where a value stands in the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Key(String),
    Index(usize),
}

impl Node {
    /// A value that nobody wrote.
    pub(crate) fn built_in(value: Value) -> Self {
        Self { value, origin: Origin::BuiltIn }
    }

    /// The empty tree.
    pub(crate) fn empty() -> Self {
        Self::built_in(Value::Table(Vec::new()))
    }

    /// Takes over a parsed document.
    pub(crate) fn from_toml(table: DeTable<'_>) -> Self {
        Self { value: convert_table(table), origin: Origin::File { key: 0..0, value: 0..0 } }
    }

    /// Takes over what is stored. Null says nothing.
    pub(crate) fn from_stored(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let value = match json {
            Json::Null => Value::Other("nothing"),
            Json::Bool(word) => Value::Boolean(*word),
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Value::Integer(number),
                (None, Some(number)) => Value::Float(number),
                (None, None) => Value::Other("a number beyond 64 bits"),
            },
            Json::String(text) => Value::text(text),
            Json::Array(items) => Value::List(items.iter().map(Self::from_stored).collect()),
            Json::Object(entries) => {
                let said = entries.iter().filter(|(_, value)| !value.is_null());
                Value::Table(said.map(|(name, value)| (name.clone(), Self::from_stored(value))).collect())
            }
        };
        Self { value, origin: Origin::Stored }
    }

    /// The entry of this name, in a table.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// The value at exactly this path.
    pub(crate) fn at(&self, path: &Path) -> Option<&Self> {
        path.0.iter().try_fold(self, |node, part| node.step(part))
    }

    /// The value at this path or the nearest one around it that was written.
    pub(crate) fn nearest(&self, path: &Path) -> &Self {
        let mut node = self;
        for part in &path.0 {
            match node.step(part) {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    fn step(&self, part: &Part) -> Option<&Self> {
        match (part, &self.value) {
            (Part::Key(name), _) => self.get(name),
            (Part::Index(index), Value::List(items)) => items.get(*index),
            (Part::Index(_), _) => None,
        }
    }

    /// Lays `over` on top: tables are merged key by key, anything else is replaced.
    pub(crate) fn merge(&mut self, over: Self) {
        match (&mut self.value, over) {
            (Value::Table(entries), Self { value: Value::Table(new), origin }) => {
                // A table belongs to the file, even where a variable changes a value in it.
                if matches!(origin, Origin::File { .. }) {
                    self.origin = origin;
                }
                // Names within one layer differ: only the older entries can be meant.
                let older = entries.len();
                for (name, node) in new {
                    match entries[..older].iter_mut().find(|(known, _)| *known == name) {
                        Some((_, known)) => known.merge(node),
                        None => entries.push((name, node)),
                    }
                }
            }
            (_, over) => *self = over,
        }
    }

    /// Takes the entry of this name out of a table.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Value::Table(entries) = &mut self.value {
            entries.retain(|(known, _)| known != name);
        }
    }

    /// The entry of this name, to be changed.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        let Value::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|(key, _)| key == name).map(|(_, node)| node)
    }

    /// Puts `value` at a path of names, making the tables on the way.
    pub(crate) fn set(&mut self, names: &[String], value: Self) {
        let origin = value.origin.clone();
        let nested = names.iter().rev().fold(value, |inner, name| Self {
            value: Value::Table(vec![(name.clone(), inner)]),
            origin: origin.clone(),
        });
        self.merge(nested);
    }
}

fn convert_table(table: DeTable<'_>) -> Value {
    let mut entries: Vec<_> = table
        .into_iter()
        .map(|(key, value)| {
            let span = key.span();
            let node = convert(value);
            let origin = match node.origin {
                Origin::File { value, .. } => Origin::File { key: span.clone(), value },
                other => other,
            };
            (span.start, key.into_inner().into_owned(), Node { value: node.value, origin })
        })
        .collect();
    // The parser sorts by name; people expect the order they wrote.
    entries.sort_by_key(|(start, _, _)| *start);
    Value::Table(entries.into_iter().map(|(_, name, node)| (name, node)).collect())
}

fn convert(value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Other("a number beyond 64 bits"),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Value::Float(number),
            Err(_) => Value::Other("a number out of range"),
        },
        DeValue::Boolean(word) => Value::Boolean(word),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => Value::List(items.into_iter().map(convert).collect()),
        DeValue::Table(table) => convert_table(table),
    };
    Node { value, origin: Origin::File { key: span.clone(), value: span } }
}

impl Value {
    /// What it is, for "expected …, found …".
    pub(crate) const fn noun(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Boolean(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(noun) => noun,
        }
    }

    /// Text, from anything that is text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A table of these entries, without the absent ones.
    pub(crate) fn table<'a>(entries: impl IntoIterator<Item = (&'a str, Option<Self>)>) -> Self {
        let present = entries.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Node::built_in(value?))));
        Self::Table(present.collect())
    }

    /// A table of these named values.
    pub(crate) fn named(entries: impl IntoIterator<Item = (String, Self)>) -> Self {
        Self::Table(entries.into_iter().map(|(name, value)| (name, Node::built_in(value))).collect())
    }

    /// A list of these values.
    pub(crate) fn list(items: impl IntoIterator<Item = Self>) -> Self {
        Self::List(items.into_iter().map(Node::built_in).collect())
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Text(text) => serializer.serialize_str(text),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Boolean(word) => serializer.serialize_bool(*word),
            Value::Other(noun) => serializer.serialize_str(noun),
            Value::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Value::Table(entries) => {
                let mut table = serializer.serialize_map(Some(entries.len()))?;
                for (name, node) in entries {
                    table.serialize_entry(name, node)?;
                }
                table.end()
            }
        }
    }
}

impl Path {
    /// The path of a top-level key.
    pub(crate) fn of(name: &str) -> Self {
        Self::default().key(name)
    }

    /// The path of an entry below this one.
    pub(crate) fn key(&self, name: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(Part::Key(name.to_owned()));
        Self(parts)
    }

    /// The path of an item of this list.
    pub(crate) fn index(&self, index: usize) -> Self {
        let mut parts = self.0.clone();
        parts.push(Part::Index(index));
        Self(parts)
    }

    /// The path below this one that the core calls `relative`, such as `on.rate_limit[0].retry`.
    pub(crate) fn join(&self, relative: &str) -> Self {
        relative.split('.').fold(self.clone(), |path, part| match part.split_once('[') {
            None => path.key(part),
            Some((name, index)) => {
                let index = index.trim_end_matches(']').parse().unwrap_or(0);
                path.key(name).index(index)
            }
        })
    }

    /// The last name on the path.
    pub(crate) fn last_name(&self) -> &str {
        let mut names = self.0.iter().rev().filter_map(|part| match part {
            Part::Key(name) => Some(name.as_str()),
            Part::Index(_) => None,
        });
        names.next().unwrap_or("")
    }

    /// How deep the path goes.
    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, part) in self.0.iter().enumerate() {
            match part {
                Part::Index(index) => write!(f, "[{index}]")?,
                Part::Key(name) => {
                    let dot = if position == 0 { "" } else { "." };
                    write!(f, "{dot}{}", Key(name))?;
                }
            }
        }
        Ok(())
    }
}

/// A key as TOML writes it: bare where it can be, quoted otherwise.
pub(crate) struct Key<'a>(pub(crate) &'a str);

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !self.0.is_empty() && self.0.bytes().all(bare) { f.write_str(self.0) } else { Quoted(self.0).fmt(f) }
    }
}

/// Text as TOML writes it.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for letter in self.0.chars() {
            match letter {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                letter if letter.is_control() => write!(f, "\\u{:04X}", u32::from(letter))?,
                letter => write!(f, "{letter}")?,
            }
        }
        f.write_str("\"")
    }
}
