//! A folder that vanishes with the value that names it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder under `target/tmp`.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one that is empty.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        if number == 0 {
            sweep();
        }
        let path = base().join(format!("stage-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of something in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes what tests left that were killed, or that kept a server for all of them.
fn sweep() {
    for entry in std::fs::read_dir(base()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix("stage-").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// `target/tmp`, found from the test that runs: it lies in `target/<profile>/deps`.
fn base() -> PathBuf {
    let binary = std::env::current_exe().unwrap();
    let profile = binary.ancestors().find(|path| path.join("deps").is_dir() || path.join("CACHEDIR.TAG").is_file());
    let target = profile.map(|path| if path.join("deps").is_dir() { path.parent().unwrap_or(path) } else { path });
    target.map_or_else(std::env::temp_dir, |target| target.join("tmp"))
}
