//! Edits of other programs' files: what is asked for changes, every other byte stays, comments included.
//!
//! Text in, text out. An edit that finds what it would write changes nothing.

use std::fmt;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

/// What a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, with comments and the like where the client takes them.
    Json,
    Toml,
    /// `NAME=value` lines.
    Env,
}

/// A value to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Text(String),
    Number(u32),
    Flag(bool),
    EmptyList,
}

/// One value at its place.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    path: Vec<&'static str>,
    setting: Setting,
    /// What is there already is good, whatever it is.
    keep: bool,
}

/// Why a file cannot be edited.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EditError {
    /// It is not what it should be; the parser's words.
    Unreadable(String),
    /// There is something else where a table belongs.
    NotATable { field: String },
}

impl Setting {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Entry {
    pub(crate) fn new(path: &[&'static str], setting: Setting) -> Self {
        Self { path: path.to_vec(), setting, keep: false }
    }

    pub(crate) fn if_absent(self) -> Self {
        Self { keep: true, ..self }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "{why}"),
            Self::NotATable { field } if field.is_empty() => f.write_str("the whole of it is not an object"),
            Self::NotATable { field } => write!(f, "`{field}` is there and is not an object or table"),
        }
    }
}

impl std::error::Error for EditError {}

/// The text with these entries in it.
pub(crate) fn edited(format: Format, text: &str, entries: &[Entry]) -> Result<String, EditError> {
    match format {
        Format::Json => json(text, entries),
        Format::Toml => toml(text, entries),
        Format::Env => Ok(env(text, entries)),
    }
}

fn json(text: &str, entries: &[Entry]) -> Result<String, EditError> {
    // OpenClaw reads JSON5, opencode comments; what the others refuse they refuse themselves.
    let options = ParseOptions { allow_missing_commas: false, ..ParseOptions::default() };
    let root = CstRootNode::parse(text, &options).map_err(|error| EditError::Unreadable(error.to_string()))?;
    let top = root.object_value_or_create().ok_or(EditError::NotATable { field: String::new() })?;
    for entry in entries {
        let Some((last, tables)) = entry.path.split_last() else { continue };
        let mut table = top.clone();
        for (depth, name) in tables.iter().enumerate() {
            table = table
                .object_value_or_create(name)
                .ok_or_else(|| EditError::NotATable { field: entry.path[..=depth].join(".") })?;
        }
        set_in_object(&table, last, entry);
    }
    Ok(root.to_string())
}

fn set_in_object(table: &CstObject, name: &str, entry: &Entry) {
    let value = match &entry.setting {
        Setting::Text(text) => CstInputValue::String(text.clone()),
        Setting::Number(number) => CstInputValue::Number(number.to_string()),
        Setting::Flag(flag) => CstInputValue::Bool(*flag),
        Setting::EmptyList => CstInputValue::Array(Vec::new()),
    };
    match table.get(name) {
        Some(_) if entry.keep => {}
        Some(known) => {
            let same = known.value().is_some_and(|known| match (&entry.setting, known.as_string_lit()) {
                (Setting::Text(text), Some(known)) => known.decoded_value().is_ok_and(|known| known == *text),
                (setting, _) => known.to_string() == plain(setting),
            });
            if !same {
                known.set_value(value);
            }
        }
        None => _ = table.append(name, value),
    }
}

fn plain(setting: &Setting) -> String {
    match setting {
        Setting::Text(text) => text.clone(),
        Setting::Number(number) => number.to_string(),
        Setting::Flag(flag) => flag.to_string(),
        Setting::EmptyList => "[]".to_owned(),
    }
}

fn toml(text: &str, entries: &[Entry]) -> Result<String, EditError> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| EditError::Unreadable(error.to_string().trim_end().to_owned()))?;
    for entry in entries {
        let Some((last, tables)) = entry.path.split_last() else { continue };
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for (depth, name) in tables.iter().enumerate() {
            let implicit = depth + 1 < tables.len();
            let item = table.entry(name).or_insert_with(|| {
                let mut table = Table::new();
                table.set_implicit(implicit);
                Item::Table(table)
            });
            table = item
                .as_table_like_mut()
                .ok_or_else(|| EditError::NotATable { field: entry.path[..=depth].join(".") })?;
        }
        set_in_table(table, last, entry);
    }
    Ok(document.to_string())
}

fn set_in_table(table: &mut dyn TableLike, name: &str, entry: &Entry) {
    let mut value = match &entry.setting {
        Setting::Text(text) => Value::from(text.as_str()),
        Setting::Number(number) => Value::from(i64::from(*number)),
        Setting::Flag(flag) => Value::from(*flag),
        Setting::EmptyList => Value::Array(toml_edit::Array::new()),
    };
    let known = table.get(name).and_then(Item::as_value);
    let same = known.is_some_and(|known| match &entry.setting {
        Setting::Text(text) => known.as_str() == Some(text),
        Setting::Number(number) => known.as_integer() == Some(i64::from(*number)),
        Setting::Flag(flag) => known.as_bool() == Some(*flag),
        Setting::EmptyList => known.as_array().is_some_and(toml_edit::Array::is_empty),
    });
    if same || (entry.keep && table.contains_key(name)) {
        return;
    }
    match table.get_mut(name) {
        // In its place: the comments above and behind it stay.
        Some(item) => {
            if let Some(known) = item.as_value() {
                *value.decor_mut() = known.decor().clone();
            }
            *item = Item::Value(value);
        }
        None => _ = table.insert(name, Item::Value(value)),
    }
}

/// The name and the value of a line, unless it is a comment or blank.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let value = value.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    Some((name.trim(), quoted.unwrap_or(value))).filter(|(name, _)| !name.starts_with('#'))
}

fn env(text: &str, entries: &[Entry]) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for entry in entries {
        let (name, value) = (entry.path.concat(), plain(&entry.setting));
        // Of several, the last one counts.
        let known = lines.iter().rposition(|line| assignment(line).is_some_and(|(known, _)| known == name));
        match known {
            Some(at) if entry.keep || assignment(&lines[at]).is_some_and(|(_, known)| known == value) => {}
            Some(at) => {
                let export = if lines[at].trim_start().starts_with("export ") { "export " } else { "" };
                lines[at] = format!("{export}{name}={value}\n");
            }
            None => {
                if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
                    last.push('\n');
                }
                lines.push(format!("{name}={value}\n"));
            }
        }
    }
    lines.concat()
}

#[cfg(test)]
mod tests;
