//! Where secrets are fetched: the environment and files, both handed in.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path as FilePath, PathBuf};

use crate::node::Path;
use crate::problem::Report;
use crate::secret::Secret;
use crate::value::{SecretRef, TextOrRef};

/// Fetches secrets.
pub(crate) struct Vault<'a> {
    environment: &'a [(String, String)],
    read: &'a dyn Fn(&FilePath) -> io::Result<String>,
    folder: PathBuf,
    /// Variables that were asked for: not strays, whatever they are called.
    asked: RefCell<BTreeSet<String>>,
}

impl<'a> Vault<'a> {
    pub(crate) fn new(
        environment: &'a [(String, String)],
        read: &'a dyn Fn(&FilePath) -> io::Result<String>,
        folder: PathBuf,
    ) -> Self {
        Self { environment, read, folder, asked: RefCell::default() }
    }

    /// The secret, or a warning that it is not there.
    pub(crate) fn fetch(&self, reference: &SecretRef, at: &Path, report: &Report<'_>) -> Option<Secret> {
        match reference {
            SecretRef::Env(name) => {
                self.asked.borrow_mut().insert(name.clone());
                let found = self.variable(name);
                if found.is_none() {
                    let what = format!("the environment variable {name} is not set");
                    report.warn(&at.key("env"), what, format!("export {name}=… before starting"));
                }
                sound(found?, at, report)
            }
            SecretRef::File(path) => match (self.read)(&self.folder.join(path)) {
                Ok(text) if !text.trim().is_empty() => sound(text.trim(), at, report),
                Ok(_) => {
                    report.warn(&at.key("file"), format!("the file `{path}` is empty"), "write the secret into it");
                    None
                }
                Err(error) => {
                    let what = format!("cannot read the file `{path}`: {error}");
                    report.warn(&at.key("file"), what, "write the secret into it, readable for this user only");
                    None
                }
            },
        }
    }

    /// Text that was written out, or fetched.
    pub(crate) fn text(&self, written: &TextOrRef, at: &Path, report: &Report<'_>) -> Option<Secret> {
        match written {
            TextOrRef::Text(text) => Some(Secret::new(text.as_str())),
            TextOrRef::Ref(reference) => self.fetch(reference, at, report),
        }
    }

    /// The value of a variable that is set.
    pub(crate) fn variable(&self, name: &str) -> Option<&'a str> {
        let found = self.environment.iter().find(|(known, value)| known == name && !value.trim().is_empty());
        found.map(|(_, value)| value.trim())
    }

    /// Whether a secret was looked for in this variable.
    pub(crate) fn asked_for(&self, name: &str) -> bool {
        self.asked.borrow().contains(name)
    }
}

/// A secret is sent in a header: what a header cannot carry is refused here and not at the first call.
fn sound(text: &str, at: &Path, report: &Report<'_>) -> Option<Secret> {
    if text.chars().any(char::is_control) {
        report.refuse(
            at,
            "the secret holds a line break or a control character",
            "store nothing but the secret itself",
        );
        return None;
    }
    Some(Secret::new(text))
}
