//! The layers: built-in endpoints < file < environment < flags < what people stored, merged into one tree.
//!
//! Each value remembers who wrote it. The environment is handed in, never read here.

use toml::de::DeTable;

use crate::models::{self, Provider};
use crate::node::{Node, Origin, Path, Value};
use crate::problem::{Problems, Report, Source};
use crate::secret;
use crate::suggest;

/// What is asked for: `--set key.path=value`, or a flag of its own such as `--listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The flag, for messages: `--set` or `--listen`.
    flag: String,
    /// The key it sets.
    key: String,
    /// The value as written.
    value: String,
}

impl Setting {
    /// `--set key.path=value`; `None` without an equals sign.
    pub fn parse(written: &str) -> Option<Self> {
        let (key, value) = split_setting(written)?;
        Some(Self { flag: "--set".to_owned(), key: key.trim().to_owned(), value: value.to_owned() })
    }

    /// A flag of its own that sets `key`.
    pub fn flag(flag: &str, key: &str, value: &str) -> Self {
        Self { flag: flag.to_owned(), key: key.to_owned(), value: value.to_owned() }
    }
}

/// Parses the file: its tree, or every syntax error in it. Also notes where the file holds secrets,
/// so that no line shown later gives one away.
pub(crate) fn parse(source: &mut Source) -> Result<Node, Problems> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let tree = Node::from_toml(table.into_inner());
    source.secrets = secret::written_secrets(&tree);
    if errors.is_empty() {
        return Ok(tree);
    }
    let nothing = Node::empty();
    let report = Report::new(&nothing, Some(source));
    for error in errors {
        let help = match error.message() {
            message if message.contains("duplicate key") => "keep one of the two",
            message if message.contains("string") => "text stands in quotes: key = \"value\"",
            _ => "see https://toml.io for the format",
        };
        let bytes = error.span().unwrap_or(0..0);
        report.refuse_bytes(bytes, format!("this is not TOML: {}", error.message()), help);
    }
    Err(report.finish())
}

/// The three endpoints that exist without any file, with the keys that the environment has.
pub(crate) fn built_in(environment: &[(String, String)]) -> Node {
    let is_set = |name: &str| environment.iter().any(|(known, value)| known == name && !value.is_empty());
    let endpoints = models::WITHOUT_FILE.iter().filter_map(|name| models::provider_named(name));
    let endpoints =
        endpoints.map(|provider| (provider.name.to_owned(), described(provider, is_set(provider.variable))));
    let mut tree = Node::empty();
    tree.set(&["endpoints".to_owned()], Node::built_in(Value::named(endpoints)));
    tree
}

/// A well-known provider as one would write it.
pub(crate) fn described(provider: &Provider, with_key: bool) -> Value {
    let key = with_key.then(|| Value::table([("env", Some(Value::text(provider.variable)))]));
    Value::table([
        ("dialect", Some(Value::text(provider.dialect.as_str()))),
        ("url", Some(Value::text(provider.url))),
        ("key", key),
    ])
}

/// Lays `STEADFAST_…` variables over the tree; returns those that look like one but are none.
///
/// `__` stands between levels. A name in the tree is found whatever its case and signs, because a
/// variable cannot be called `MODELS__claude-haiku-4-5`.
pub(crate) fn lay_environment(tree: &mut Node, environment: &[(String, String)], top_level: &[&str]) -> Vec<Stray> {
    lay_standard(tree, environment);
    let mut stray = Vec::new();
    for (name, text) in environment {
        let Some(path) = name.strip_prefix(PREFIX) else { continue };
        if text.is_empty() || OTHER_VARIABLES.contains(&name.as_str()) {
            continue;
        }
        let segments: Vec<String> = path.split("__").take(DEPTH_MAX).map(str::to_ascii_lowercase).collect();
        if !top_level.contains(&segments[0].as_str()) {
            let near = suggest::nearest(&segments[0], top_level.iter().copied());
            stray.extend(
                near.map(|near| Stray { name: name.clone(), near: format!("{PREFIX}{}", near.to_uppercase()) }),
            );
            continue;
        }
        let names = known_names(tree, &segments);
        let origin = Origin::Variable { name: name.clone(), text: text.clone() };
        tree.set(&names, value(text, &origin));
    }
    stray
}

/// Lays the variables that every program with traces, or behind a proxy, knows over the tree.
fn lay_standard(tree: &mut Node, environment: &[(String, String)]) {
    let variable = |wanted: &str| environment.iter().find(|(name, text)| name == wanted && !text.trim().is_empty());
    let either = |wanted: &str| variable(wanted).or_else(|| variable(&wanted.to_ascii_lowercase()));
    let mut lay = |path: [&str; 2], name: &str, text: &str, value: Value| {
        let origin = Origin::Variable { name: name.to_owned(), text: text.to_owned() };
        tree.set(&path.map(str::to_owned), Node { value, origin });
    };
    if let Some((name, text)) = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        lay(["traces", "endpoint"], name, text, Value::text(text.trim()));
    } else if let Some((name, text)) = variable("OTEL_EXPORTER_OTLP_ENDPOINT") {
        // The general address is a base; only the one for traces is complete.
        let whole = format!("{}/v1/traces", text.trim().trim_end_matches('/'));
        lay(["traces", "endpoint"], name, &whole, Value::text(whole.as_str()));
    }
    if let Some((name, text)) = variable("OTEL_SERVICE_NAME") {
        lay(["traces", "service"], name, text, Value::text(text.trim()));
    }
    if let Some((name, text)) = either("HTTPS_PROXY").or_else(|| either("ALL_PROXY")) {
        lay(["proxy", "url"], name, text, Value::text(text.trim()));
    }
    if let Some((name, text)) = either("NO_PROXY") {
        let hosts = text.split(',').map(str::trim).filter(|host| !host.is_empty());
        let origin = || Origin::Variable { name: name.clone(), text: text.clone() };
        let hosts = hosts.map(|host| Node { value: Value::text(host), origin: origin() }).collect();
        lay(["proxy", "except"], name, text, Value::List(hosts));
    }
}

/// Lays what people stored over the tree. A stored policy stands in place of the file's of the same name, because a
/// policy is one document; of a project only what is stored is replaced.
pub(crate) fn lay_stored(tree: &mut Node, stored: &serde_json::Value) {
    let stored = Node::from_stored(stored);
    let policies = stored.get("policies").map(|policies| &policies.value);
    if let (Some(Value::Table(policies)), Some(written)) = (policies, tree.get_mut("policies")) {
        policies.iter().for_each(|(name, _)| written.remove(name));
    }
    tree.merge(stored);
}

/// A variable that begins like ours but names no key.
pub(crate) struct Stray {
    pub(crate) name: String,
    pub(crate) near: String,
}

/// Lays the flags over the tree; later ones win.
pub(crate) fn lay_settings(tree: &mut Node, settings: &[Setting]) -> Result<(), Problems> {
    for setting in settings {
        let shown = match setting.flag.as_str() {
            "--set" => format!("--set {}", secret::mask(&format!("{}={}", setting.key, setting.value))),
            flag => format!("{flag} {}", secret::mask(&setting.value)),
        };
        let Some(names) = split_key(&setting.key) else {
            let nothing =
                Node { value: Value::Table(Vec::new()), origin: Origin::Flag { name: shown, text: String::new() } };
            let report = Report::new(&nothing, None);
            report.refuse(&Path::default(), "this names no key", "write --set key.path=value");
            return Err(report.finish());
        };
        let origin = Origin::Flag { name: shown, text: setting.value.clone() };
        tree.set(&names, value(&setting.value, &origin));
    }
    Ok(())
}

const PREFIX: &str = "STEADFAST_";

/// Variables with our prefix that other parts of Steadfast read.
const OTHER_VARIABLES: [&str; 1] = ["STEADFAST_CONFIG"];

/// A TOML value where the text is one, otherwise the text itself.
fn value(text: &str, origin: &Origin) -> Node {
    let document = format!("value = {text}");
    let parsed = DeTable::parse(&document).ok().map(|table| Node::from_toml(table.into_inner()));
    let value = parsed.and_then(|tree| match tree.value {
        // Exactly one: a line break in the text must not bring in further keys.
        Value::Table(mut entries) if entries.len() == 1 => entries.pop().map(|(_, node)| node.value),
        _ => None,
    });
    let mut node = Node { value: value.unwrap_or_else(|| Value::text(text)), origin: origin.clone() };
    own(&mut node, origin);
    node
}

fn own(node: &mut Node, origin: &Origin) {
    node.origin = origin.clone();
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| own(item, origin)),
        Value::Table(entries) => entries.iter_mut().for_each(|(_, entry)| own(entry, origin)),
        _ => {}
    }
}

/// The names in the tree that a variable's segments mean.
fn known_names(tree: &Node, segments: &[String]) -> Vec<String> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    let mut node = Some(tree);
    let mut names = Vec::new();
    for segment in segments {
        let known = node.and_then(|node| match &node.value {
            Value::Table(entries) => {
                let exact = entries.iter().find(|(name, _)| name == segment);
                exact.or_else(|| entries.iter().find(|(name, _)| plain(name) == plain(segment)))
            }
            _ => None,
        });
        names.push(known.map_or_else(|| segment.clone(), |(name, _)| name.clone()));
        node = known.map(|(_, node)| node);
    }
    names
}

/// Splits at the first equals sign outside quotes.
fn split_setting(written: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    let at = written.find(|letter| {
        quoted ^= letter == '"';
        letter == '=' && !quoted
    })?;
    Some((&written[..at], &written[at + 1..]))
}

/// The names of a dotted key; quotes keep dots: `models."gpt-4.1".vendor`.
fn split_key(key: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut quoted = false;
    for letter in key.chars() {
        match letter {
            '"' => quoted = !quoted,
            '.' if !quoted => names.push(std::mem::take(&mut name)),
            letter => name.push(letter),
        }
    }
    names.push(name);
    let sound = !quoted && names.len() <= DEPTH_MAX && names.iter().all(|name| !name.trim().is_empty());
    sound.then(|| names.iter().map(|name| name.trim().to_owned()).collect())
}

/// Deeper than any key.
const DEPTH_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_split_at_the_first_equals_sign_outside_quotes() {
        assert_eq!(Setting::parse("a.b=c=d"), Some(Setting::flag("--set", "a.b", "c=d")));
        assert_eq!(Setting::parse("a"), None);
        assert_eq!(split_key("models.\"gpt-4.1\".vendor").unwrap(), ["models", "gpt-4.1", "vendor"]);
        assert_eq!(split_key("a..b"), None);
        assert_eq!(split_key(""), None);
        assert_eq!(split_key("\"a"), None);
    }

    #[test]
    fn text_that_is_toml_becomes_a_value() {
        let origin = Origin::BuiltIn;
        assert_eq!(value("3", &origin).value, Value::Integer(3));
        assert_eq!(value("true", &origin).value, Value::Boolean(true));
        assert_eq!(value("10m", &origin).value, Value::text("10m"));
        assert_eq!(value("\"10m\"", &origin).value, Value::text("10m"));
        assert_eq!(value("1\nother = 2", &origin).value, Value::text("1\nother = 2"));
        assert!(matches!(value("[\"a\"]", &origin).value, Value::List(items) if items.len() == 1));
    }
}
