//! A tree as TOML text: names in headers, small things inline, a comment for who wrote it.

use std::fmt::Write as _;

use crate::node::{Key, Node, Path, Quoted, Value};

/// Writes the tree; `origin` gives the comment of a value.
pub(super) fn write_toml(text: &mut String, tree: &Node, origin: &dyn Fn(&Path) -> Option<String>) {
    write_table(text, tree, &Path::default(), origin);
}

fn write_table(text: &mut String, table: &Node, at: &Path, origin: &dyn Fn(&Path) -> Option<String>) {
    let Value::Table(entries) = &table.value else { return };
    for (name, node) in entries.iter().filter(|(name, node)| is_inline(&at.key(name), node)) {
        let path = at.key(name);
        let _ = write!(text, "{} = {}", Key(name), Inline(node));
        if let Some(origin) = origin(&path) {
            let _ = write!(text, "  # {origin}");
        }
        text.push('\n');
    }
    for (name, node) in entries.iter().filter(|(name, node)| !is_inline(&at.key(name), node)) {
        let path = at.key(name);
        match &node.value {
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let _ = writeln!(text, "\n[[{path}]]");
                    write_table(text, item, &path.index(index), origin);
                }
            }
            _ => {
                if has_values(node, &path) {
                    let gap = if text.is_empty() { "" } else { "\n" };
                    let _ = writeln!(text, "{gap}[{path}]");
                }
                write_table(text, node, &path, origin);
            }
        }
    }
}

/// Whether the header of a table must be written: one that only holds tables is named by theirs.
fn has_values(node: &Node, at: &Path) -> bool {
    let Value::Table(entries) = &node.value else { return false };
    entries.is_empty() || entries.iter().any(|(name, node)| is_inline(&at.key(name), node))
}

/// Names of users get a header, what lies below them is small.
fn is_inline(at: &Path, node: &Node) -> bool {
    match &node.value {
        Value::Table(_) => at.depth() > 2 && at.last_name() != "on" && !at.to_string().starts_with("council.member."),
        Value::List(items) => !matches!(items.first(), Some(Node { value: Value::Table(_), .. }) if at.depth() == 1),
        _ => true,
    }
}

struct Inline<'a>(&'a Node);

impl std::fmt::Display for Inline<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0.value {
            Value::Text(text) => Quoted(text).fmt(f),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Boolean(word) => write!(f, "{word}"),
            Value::Other(noun) => Quoted(noun).fmt(f),
            Value::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{}", Inline(item))?;
                }
                f.write_str("]")
            }
            Value::Table(entries) if entries.is_empty() => f.write_str("{}"),
            Value::Table(entries) => {
                f.write_str("{")?;
                for (index, (name, node)) in entries.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma} {} = {}", Key(name), Inline(node))?;
                }
                f.write_str(" }")
            }
        }
    }
}
