//! The effective configuration, written out: what is true, who said so, and no secrets.

mod effective;
mod toml_text;

use std::fmt::Write as _;

use steadfast_core::policy::{Policy, template};

use crate::config::Config;
use crate::load::Loaded;
use crate::node::{Node, Path, Value};
use crate::secret;

use toml_text::write_toml;

impl Loaded {
    /// The effective configuration as TOML; every value that somebody wrote says who.
    pub fn show(&self) -> String {
        let effective = Node::built_in(effective::tree(&self.config));
        let mut text = String::new();
        write_toml(&mut text, &effective, &|path| self.origin(path).map(|origin| secret::mask(&origin)));
        text
    }

    /// The same for programs: `{"config": …, "origins": {"listen": "flag --listen …"}}`.
    pub fn show_json(&self) -> serde_json::Value {
        let effective = Node::built_in(effective::tree(&self.config));
        let mut origins = serde_json::Map::new();
        collect_origins(self, &effective, &Path::default(), &mut origins);
        serde_json::json!({ "config": effective, "origins": origins })
    }

    /// One line on what was loaded.
    pub fn summary(&self) -> String {
        let config = &self.config;
        let counts = [
            (config.endpoints.len(), "endpoint"),
            (config.catalogue.models().count(), "model"),
            (config.projects.len(), "project"),
            (config.rules.len(), "rule"),
        ];
        let mut text = String::new();
        for (count, noun) in counts {
            let comma = if text.is_empty() { "" } else { ", " };
            let plural = if count == 1 { "" } else { "s" };
            let _ = write!(text, "{comma}{count} {noun}{plural}");
        }
        text
    }
}

/// One policy as TOML that can be pasted into a file and loads to the same policy.
pub fn policy_toml(config: &Config, name: &str) -> Option<String> {
    let policy: &Policy = config.policies.get(name)?;
    let root = config.roots.get(name).map_or("default", String::as_str);
    let policies = Value::named([(name.to_owned(), effective::policy(policy, root))]);
    let tree = Node::built_in(Value::named([("policies".to_owned(), policies)]));
    let mut text = String::new();
    write_toml(&mut text, &tree, &|_| None);
    Some(text)
}

/// The same for programs: what stands below the policy's name.
pub fn policy_json(config: &Config, name: &str) -> Option<serde_json::Value> {
    let policy: &Policy = config.policies.get(name)?;
    let root = config.roots.get(name).map_or("default", String::as_str);
    as_json(policy, root)
}

/// A template as it is shipped, whatever a file makes of it.
pub fn template_json(name: &str) -> Option<serde_json::Value> {
    as_json(&template(name)?, name)
}

fn as_json(policy: &Policy, root: &str) -> Option<serde_json::Value> {
    serde_json::to_value(Node::built_in(effective::policy(policy, root))).ok()
}

fn collect_origins(loaded: &Loaded, node: &Node, at: &Path, origins: &mut serde_json::Map<String, serde_json::Value>) {
    if let Value::Table(entries) = &node.value {
        for (name, node) in entries {
            collect_origins(loaded, node, &at.key(name), origins);
        }
    } else if let Some(origin) = loaded.origin(at) {
        origins.insert(at.to_string(), secret::mask(&origin).into());
    }
}
