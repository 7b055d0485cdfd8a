//! `cargo xtask clients`: the programs people really run, as clients of the gateway.
//!
//! SDKs and agents are installed from their registries at pinned versions, into `target/`, and only anew when the
//! list of them changed. The cases are in `tests/clients/table.py`; docs/clients.md says what they show.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context as _;

use crate::sdk::{execute, install, target_folder};

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let root = crate::tidy::root();
    let (target, suite) = (target_folder(root), root.join("tests/clients"));
    // As the tests build it: with other features everything below would be built once more.
    execute(Command::new(env!("CARGO")).args(["test", "--workspace", "--no-run", "--quiet"]))?;
    let python = install(&root.join("tests/sdk/requirements.txt"), &target.join("sdk"))?;
    let modules = install_npm(&suite, &target.join("clients"))?;
    let binary = target.join("debug/steadfast");
    execute(Command::new(python).arg(suite.join("run.py")).args([binary, modules]).args(arguments))?;
    Ok(ExitCode::SUCCESS)
}

/// The folder of the packages that the lock file names.
pub(crate) fn install_npm(suite: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let modules = folder.join("node_modules");
    let lock = suite.join("package-lock.json");
    let wanted = std::fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let installed = folder.join("installed.json");
    if std::fs::read_to_string(&installed).is_ok_and(|known| known == wanted) && modules.exists() {
        return Ok(modules);
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for name in ["package.json", "package-lock.json"] {
        std::fs::copy(suite.join(name), folder.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    // Not `npm ci`: it refuses a lock without the packages for other machines, which not every registry has.
    execute(
        Command::new("npm")
            .args(["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(folder),
    )
    .context("the client tests need npm, of Node 20 or later; the clients' own Node is among the packages")?;
    std::fs::write(&installed, wanted).with_context(|| format!("cannot write {}", installed.display()))?;
    Ok(modules)
}
