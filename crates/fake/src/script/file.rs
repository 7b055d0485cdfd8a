//! The same scripts in a file, for `steadfast fake --script FILE`.
//!
//! ```toml
//! script = "ok delay=20ms"            # the default endpoint
//!
//! [models]                            # models of the default endpoint
//! "gpt-5" = "30%: overloaded"
//!
//! [endpoints.b]
//! script = ["status=503 x2", "ok"]    # a list is joined by `;`
//! models = { "claude-opus" = "quota=100" }
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Script, ScriptError, parse};

/// Everything a file says: the script of an endpoint (no model) or of one of its models.
pub(crate) type ScriptFile = Vec<(String, Option<String>, Script)>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    script: Option<Written>,
    #[serde(default)]
    models: BTreeMap<String, Written>,
    #[serde(default)]
    endpoints: BTreeMap<String, RawEndpoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEndpoint {
    script: Option<Written>,
    #[serde(default)]
    models: BTreeMap<String, Written>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    One(String),
    Many(Vec<String>),
}

/// Reads the text of a file.
pub(crate) fn read(text: &str) -> Result<ScriptFile, ScriptError> {
    let raw: Raw = toml::from_str(text).map_err(|problem| not_toml(text, &problem))?;
    let mut all = Vec::new();
    endpoint(&mut all, "", raw.script, raw.models)?;
    for (name, raw) in raw.endpoints {
        endpoint(&mut all, &name, raw.script, raw.models)?;
    }
    Ok(all)
}

fn endpoint(
    all: &mut ScriptFile,
    name: &str,
    script: Option<Written>,
    models: BTreeMap<String, Written>,
) -> Result<(), ScriptError> {
    let prefix = if name.is_empty() { String::new() } else { format!("endpoints.{name}.") };
    if let Some(written) = script {
        all.push((name.to_owned(), None, parsed(&format!("`{prefix}script`"), written)?));
    }
    for (model, written) in models {
        let script = parsed(&format!("`{prefix}models.{model}`"), written)?;
        all.push((name.to_owned(), Some(model), script));
    }
    Ok(())
}

fn parsed(key: &str, written: Written) -> Result<Script, ScriptError> {
    let text = match written {
        Written::One(text) => text,
        Written::Many(steps) => steps.join("; "),
    };
    parse(&text).map_err(|problem| problem.at_key(key))
}

fn not_toml(text: &str, problem: &toml::de::Error) -> ScriptError {
    let at = problem.span().map_or(0, |span| span.start.min(text.len()));
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    ScriptError {
        place: format!("line {line}, column {column}: "),
        expected: "`script`, `[models]` and `[endpoints.NAME]` in TOML".to_owned(),
        found: format!("this: {}", problem.message()),
        hint: None,
        column,
    }
}
