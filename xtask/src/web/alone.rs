//! Whether cargo builds the dashboard by itself: without Node it goes on and says what to install, with Node it builds
//! it, and anew only when a source changed.
//!
//! Played with a copy of `web/` and of the crate that embeds it, so that no source of ours is touched. The tests of that crate
//! run in each build: what `/` answers is asserted there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// What belongs to Node.
const NODE: [&str; 4] = ["node", "nodejs", "npm", "npx"];

/// A source tree with the dashboard alone, and where it is built.
struct Alone {
    root: PathBuf,
    target: PathBuf,
}

/// What one build said.
struct Said {
    text: String,
    /// Whether the dashboard was embedded anew.
    built: bool,
}

pub(super) fn check(root: &Path, target: &Path) -> anyhow::Result<()> {
    let folder = target.join("web-alone");
    // A machine that has never built anything.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    let alone = Alone::copy(root, &folder)?;
    let (path, bare) = (std::env::var_os("PATH").unwrap_or_default(), without_node(&folder.join("bin"))?);

    let said = alone.build("without Node", &[("PATH", &bare)])?;
    ensure!(said.text.contains("Node was not found; install Node"), "it does not say what to install: {}", said.text);
    let said = alone.build("where it is not wanted", &[("PATH", &path), ("STEADFAST_WEB", "off".as_ref())])?;
    ensure!(said.built && said.text.contains("STEADFAST_WEB=off said so"), "it was not left out: {}", said.text);
    let said = alone.build("with Node, which came later", &[("PATH", &path)])?;
    ensure!(said.built && !said.text.contains("is left out"), "it was not built: {}", said.text);
    let said = alone.build("once more", &[("PATH", &path)])?;
    ensure!(!said.built, "it was built again, though nothing changed");
    alone.touch("web/README.md")?;
    let said = alone.build("after a file that is no source changed", &[("PATH", &path)])?;
    ensure!(!said.built, "it was built again, though no source changed");
    alone.touch("web/src/main.ts")?;
    let said = alone.build("after a source changed", &[("PATH", &path)])?;
    ensure!(said.built, "it was not built again, though a source changed");
    Ok(())
}

impl Alone {
    fn copy(root: &Path, folder: &Path) -> anyhow::Result<Self> {
        let alone = Self { root: folder.join("tree"), target: folder.join("target") };
        for part in ["crates/web", "web"] {
            let to = alone.root.join(part);
            std::fs::create_dir_all(&to)?;
            // What belongs to the project, and not what somebody who works on it has installed beside it.
            let mut listed = Command::new("git");
            listed.args(["ls-files", "--cached", "--others", "--exclude-standard", part]).current_dir(root);
            for name in lines(&mut listed)? {
                let (from, to) = (root.join(&name), alone.root.join(&name));
                if from.exists() {
                    std::fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
                    std::fs::copy(&from, &to).with_context(|| format!("cannot copy {name}"))?;
                }
            }
        }
        let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
        let (all, one) = ("members = [\"crates/*\", \"xtask\"]", "members = [\"crates/web\"]");
        ensure!(manifest.contains(all), "Cargo.toml lists its members otherwise");
        let manifest = manifest.replace(all, one).replace("default-members = [\"crates/cli\"]", "");
        std::fs::write(alone.root.join("Cargo.toml"), manifest)?;
        std::fs::copy(root.join("Cargo.lock"), alone.root.join("Cargo.lock"))?;
        Ok(alone)
    }

    /// Builds and tests it with nothing but this environment changed.
    fn build(&self, how: &str, environment: &[(&str, &std::ffi::OsStr)]) -> anyhow::Result<Said> {
        let mut command = Command::new(env!("CARGO"));
        command.args(["test", "--verbose", "-p", "steadfast-web"]).current_dir(&self.root);
        command.env("CARGO_TARGET_DIR", &self.target).env_remove("STEADFAST_WEB");
        command.envs(environment.iter().copied());
        let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
        let text = String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned();
        ensure!(output.status.success(), "the dashboard {how} does not build or its tests fail:\n{text}");
        let built = text.lines().any(|line| line.trim_start().starts_with("Compiling steadfast-web"));
        super::talk(&format!("the dashboard {how}: {}", if built { "built" } else { "as it was" }));
        Ok(Said { text, built })
    }

    /// Makes a file look as if somebody had saved it.
    fn touch(&self, name: &str) -> anyhow::Result<()> {
        let path = self.root.join(name);
        let file = std::fs::File::options().append(true).open(&path).with_context(|| format!("there is no {name}"))?;
        file.set_modified(std::time::SystemTime::now()).with_context(|| format!("cannot touch {name}"))
    }
}

/// The search path as it would be where Node is not installed: folders that hold it are stood in for by links to the
/// rest of what they hold.
fn without_node(folder: &Path) -> anyhow::Result<std::ffi::OsString> {
    let mut folders = Vec::new();
    for (number, known) in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).enumerate() {
        if !NODE.iter().any(|name| known.join(name).exists()) {
            folders.push(known);
            continue;
        }
        let other = folder.join(number.to_string());
        std::fs::create_dir_all(&other)?;
        for entry in std::fs::read_dir(&known)?
            .flatten()
            .filter(|entry| !NODE.iter().any(|name| entry.file_name().to_str() == Some(name)))
        {
            std::os::unix::fs::symlink(entry.path(), other.join(entry.file_name()))?;
        }
        folders.push(other);
    }
    Ok(std::env::join_paths(folders)?)
}

fn lines(command: &mut Command) -> anyhow::Result<Vec<String>> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed");
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
