//! The whole way from what was written to what is true.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::file::ConfigFile;
use crate::layers::{self, Setting};
use crate::node::{self, Node, Origin};
use crate::problem::{Problems, Report, Source};
use crate::raw::RawConfig;
use crate::read::Read;
use crate::resolve::{self, Vault};

/// Everything a configuration is made of.
pub struct Sources<'a> {
    /// The file, where there is one.
    pub file: Option<ConfigFile>,
    /// The environment: all of it, because secrets live there too.
    pub environment: Vec<(String, String)>,
    /// Flags, in order.
    pub settings: Vec<Setting>,
    /// Reads a file that holds a secret.
    pub read_secret: &'a dyn Fn(&Path) -> io::Result<String>,
}

/// A configuration that may be used.
pub struct Loaded {
    /// What is true.
    pub config: Config,
    /// What deserves a second look.
    pub warnings: Problems,
    pub(crate) tree: Node,
    pub(crate) source: Option<Source>,
}

/// Loads a configuration, or says everything that is wrong with it.
pub fn load(sources: Sources<'_>) -> Result<Loaded, Problems> {
    load_with(sources, &serde_json::Value::Null)
}

/// The same with what people stored through the control API laid over file, environment and flags:
/// `{"policies": {…}, "projects": {…}}`.
pub fn load_with(sources: Sources<'_>, stored: &serde_json::Value) -> Result<Loaded, Problems> {
    let Sources { file, environment, settings, read_secret } = sources;
    let (mut source, folder) = match file {
        Some(file) => (Some(file.source), file.folder),
        None => (None, PathBuf::new()),
    };
    let written = source.as_mut().map(layers::parse).transpose()?.unwrap_or_else(Node::empty);
    let mut tree = if written.get("endpoints").is_some() { Node::empty() } else { layers::built_in(&environment) };
    tree.merge(written);
    let stray = layers::lay_environment(&mut tree, &environment, &RawConfig::KEYS);
    layers::lay_settings(&mut tree, &settings)?;
    if !stored.is_null() {
        layers::lay_stored(&mut tree, stored);
    }

    let report = Report::new(&tree, source.as_ref());
    let raw = RawConfig::read(&tree, &node::Path::default(), &report).unwrap_or_default();
    let vault = Vault::new(&environment, read_secret, folder);
    let config = resolve::resolve(&raw, &report, &vault);
    for stray in stray.iter().filter(|stray| !vault.asked_for(&stray.name)) {
        let what = format!("the environment variable {} names no key", stray.name);
        report.warn(&node::Path::default(), what, format!("did you mean {}?", stray.near));
    }
    let refused = report.refused();
    let problems = report.finish();
    match config {
        Some(config) if !refused => Ok(Loaded { config, warnings: problems, tree, source }),
        _ => Err(problems),
    }
}

impl fmt::Debug for Loaded {
    /// Without the text and the tree, which hold passwords of addresses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("config", &self.config).field("warnings", &self.warnings).finish_non_exhaustive()
    }
}

impl Loaded {
    /// Who wrote the value at `path`, in words; `None` where it is a default.
    pub(crate) fn origin(&self, path: &node::Path) -> Option<String> {
        match &self.tree.at(path)?.origin {
            Origin::BuiltIn => None,
            Origin::Variable { name, .. } => Some(name.clone()),
            Origin::Flag { name, .. } => Some(name.clone()),
            Origin::Stored => Some("the control API".to_owned()),
            Origin::File { key, .. } => {
                let source = self.source.as_ref()?;
                Some(format!("{}:{}", source.name, source.line_number(key.start)))
            }
        }
    }
}
