//! A change to a client's file on disk: with a backup beside it, whole or not at all, and undone exactly.
//!
//! `settings.json.steadfast-backup` is the file as it was before the first change, and stays so until the undo.
//! Where there was no file, `settings.json.steadfast-absent` says so.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::Change;
use super::edit::edited;

/// A configuration is a page or two; a larger file is something else.
const BYTES_MAX: u64 = 16 << 20;

/// What a file says now, and what it would say.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The file itself, behind whatever links lead to it.
    path: PathBuf,
    /// None where there is no file.
    pub(crate) before: Option<String>,
    pub(crate) after: String,
}

/// What became of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It said so already.
    Unchanged,
    Written {
        /// Where the file is as it was; none where there was no file.
        backup: Option<PathBuf>,
    },
    /// It is as it was before the first change.
    Restored {
        /// Where it is as it was before the undo, if others have changed it since.
        kept: Option<PathBuf>,
    },
    /// It was not there before the first change, and is gone.
    Removed {
        /// As above.
        kept: Option<PathBuf>,
    },
    /// There is no backup.
    NothingToUndo,
}

/// Reads the file and works out the change.
pub(crate) fn draft(change: &Change) -> anyhow::Result<Draft> {
    let path = behind_links(&change.path)?;
    let before = read(&path)?;
    let after = edited(change.format, before.as_deref().unwrap_or_default(), &change.entries)
        .map_err(|error| anyhow::anyhow!("cannot change {}: {error}; it stays as it is", change.path.display()))?;
    Ok(Draft { path, before, after })
}

impl Draft {
    /// Whether the file says already what it should.
    pub(crate) fn is_done(&self) -> bool {
        self.before.as_deref() == Some(&self.after)
    }

    /// Writes it.
    pub(crate) fn write(&self) -> anyhow::Result<Outcome> {
        if self.is_done() {
            return Ok(Outcome::Unchanged);
        }
        let (backup, absent) = (beside(&self.path, "backup"), beside(&self.path, "absent"));
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        // The oldest backup is the user's own file; a second change must not replace it.
        if !backup.exists() && !absent.exists() {
            match &self.before {
                Some(text) => replace(&backup, text, Some(&self.path))?,
                None => replace(&absent, "", None)?,
            }
        }
        replace(&self.path, &self.after, self.before.as_ref().map(|_| self.path.as_path()))?;
        Ok(Outcome::Written { backup: backup.exists().then_some(backup) })
    }
}

/// Takes every change back.
pub(crate) fn undo(change: &Change) -> anyhow::Result<Outcome> {
    let path = behind_links(&change.path)?;
    let (backup, absent) = (beside(&path, "backup"), beside(&path, "absent"));
    let original = read(&backup)?;
    if original.is_none() && !absent.exists() {
        return Ok(Outcome::NothingToUndo);
    }
    let now = read(&path)?;
    let ours = edited(change.format, original.as_deref().unwrap_or_default(), &change.entries);
    let theirs = now.as_ref().filter(|now| ours.as_ref() != Ok(now) && original.as_ref() != Some(now));
    let kept = match theirs {
        Some(text) => {
            let kept = unused(&path)?;
            replace(&kept, text, Some(&path))?;
            Some(kept)
        }
        None => None,
    };
    if original.is_some() {
        // The backup itself comes back: with its permissions, byte for byte.
        fs::rename(&backup, &path).with_context(|| format!("cannot restore {}", path.display()))?;
        return Ok(Outcome::Restored { kept });
    }
    if now.is_some() {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    fs::remove_file(&absent).with_context(|| format!("cannot remove {}", absent.display()))?;
    Ok(Outcome::Removed { kept })
}

/// Reads a text file; none where there is none.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        Ok(found) => {
            ensure!(found.is_file(), "{} is not a file", path.display());
            ensure!(found.len() <= BYTES_MAX, "{} is too large for a configuration", path.display());
        }
    }
    fs::read_to_string(path).map(Some).with_context(|| format!("cannot read {}", path.display()))
}

/// Configurations are often links into a folder under version control: the file changes, the link stays.
fn behind_links(path: &Path) -> anyhow::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(path) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            ensure!(fs::symlink_metadata(path).is_err(), "{} is a link to a file that is gone", path.display());
            Ok(path.to_owned())
        }
        Err(error) => Err(error).with_context(|| format!("cannot find {}", path.display())),
    }
}

fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".steadfast-{what}"));
    path.with_file_name(name)
}

/// A name beside the file that nobody uses.
fn unused(path: &Path) -> anyhow::Result<PathBuf> {
    let names = (0..100).map(|number| match number {
        0 => beside(path, "undone"),
        number => beside(path, &format!("undone-{number}")),
    });
    names.into_iter().find(|path| !path.exists()).with_context(|| {
        format!("there are a hundred files beside {} that an undo has kept; remove some", path.display())
    })
}

/// Puts a whole file in place of another in one move, readable by those who may read `like`, or by its owner alone.
fn replace(path: &Path, text: &str, like: Option<&Path>) -> anyhow::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let new = beside(path, "new");
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        if let Some(like) = like {
            file.set_permissions(fs::metadata(like)?.permissions())?;
        }
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
