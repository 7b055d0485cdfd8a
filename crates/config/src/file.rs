//! Finding and reading the file.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::node::Node;
use crate::problem::{Problems, Report, Source};

/// The text of a configuration file and the name people know it by.
#[derive(Clone)]
pub struct ConfigFile {
    pub(crate) source: Source,
    /// Relative secret files are looked for here.
    pub(crate) folder: PathBuf,
}

/// The places a file is looked for, in order, when none is named: beside the caller, then in the
/// user's config folder.
pub fn candidates(environment: &[(String, String)]) -> Vec<PathBuf> {
    let variable = |wanted: &str| {
        let found = environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| PathBuf::from(value))
    };
    let config_folder = variable("XDG_CONFIG_HOME").or_else(|| variable("HOME").map(|home| home.join(".config")));
    let beside = PathBuf::from(FILE_NAME);
    [Some(beside), config_folder.map(|folder| folder.join("steadfast").join(FILE_NAME))].into_iter().flatten().collect()
}

const FILE_NAME: &str = "steadfast.toml";

impl fmt::Debug for ConfigFile {
    /// Without the text, which may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigFile").field("name", &self.source.name).finish_non_exhaustive()
    }
}

impl ConfigFile {
    /// A megabyte is thousands of models; more is some other file.
    pub const BYTES_MAX: u64 = 1 << 20;

    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, Problems> {
        let name = path.display().to_string();
        let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
        let refuse = |error: std::io::Error| {
            let help = match error.kind() {
                std::io::ErrorKind::NotFound => "`steadfast config init` writes one to start from",
                std::io::ErrorKind::PermissionDenied => "make it readable for this user",
                _ => "name a readable file with --config",
            };
            Problems::of_file(&name, format!("cannot read the file: {error}"), help)
        };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(refuse)?;
        file.take(Self::BYTES_MAX + 1).read_to_end(&mut bytes).map_err(refuse)?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { folder, ..Self::from_bytes(&name, bytes)? })
    }

    /// Takes text that is already at hand; secret files are relative to the working directory.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, Problems> {
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > Self::BYTES_MAX {
            return Err(Problems::of_file(name, "the file is larger than 1 MiB", "is it the right file?"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => {
                Ok(Self { source: Source { name: name.to_owned(), text, secrets: Vec::new() }, folder: PathBuf::new() })
            }
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                let source = Source { name: name.to_owned(), text, secrets: Vec::new() };
                let nothing = Node::empty();
                let report = Report::new(&nothing, Some(&source));
                report.refuse_bytes(at..at + 1, "this is not UTF-8", "save the file as UTF-8");
                Err(report.finish())
            }
        }
    }
}
