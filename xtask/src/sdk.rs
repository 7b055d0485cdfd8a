//! `cargo xtask sdk`: the real SDKs as clients of the gateway.
//!
//! They are installed into a virtual environment under `target/`, pinned, and only anew when the
//! list of them changed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    ensure!(arguments.is_empty(), "`sdk` takes no arguments");
    let root = crate::tidy::root();
    let target = target_folder(root);
    // As the tests build it: with other features everything below would be built once more.
    execute(Command::new(env!("CARGO")).args(["test", "--workspace", "--no-run", "--quiet"]))?;
    let python = install(&root.join("tests/sdk/requirements.txt"), &target.join("sdk"))?;
    let binary = target.join("debug/steadfast");
    execute(Command::new(python).arg(root.join("tests/sdk/check.py")).arg(binary))?;
    Ok(ExitCode::SUCCESS)
}

/// The Python of an environment that holds what is listed.
pub(crate) fn install(list: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let python = folder.join("bin/python");
    let wanted = std::fs::read_to_string(list).with_context(|| format!("cannot read {}", list.display()))?;
    let installed = folder.join("installed.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|known| known == wanted) && python.exists() {
        return Ok(python);
    }
    execute(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder))
        .context("the SDK tests need python3 with venv (Debian: python3-venv)")?;
    execute(
        // What is used of them is compiled when it is used.
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", "-r"])
            .arg(list),
    )?;
    std::fs::write(&installed, wanted).with_context(|| format!("cannot write {}", installed.display()))?;
    Ok(python)
}

pub(crate) fn execute(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

pub(crate) fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}
