//! What the tests need and cargo does not bring: Debian packages, Python packages, npm packages.

use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::sdk::{install, target_folder};

/// Lists of Python packages, and the folder of each below `target/`.
const PYTHON: &[(&str, &str)] = &[
    ("tests/sdk/requirements.txt", "sdk"),
    ("clients/python/requirements.txt", "python"),
    ("tests/api/requirements.txt", "api"),
];

/// Installs everything that is missing. Each check does so for itself too: this is for doing it while the compiler works.
pub(super) fn run() -> anyhow::Result<()> {
    install_programs()?;
    // The tests of the dashboard say what is left out where there is none.
    crate::web::browser_is_there();
    let root = crate::tidy::root();
    let target = target_folder(root);
    for (list, folder) in PYTHON {
        install(&root.join(list), &target.join(folder)).with_context(|| format!("cannot install {list}"))?;
    }
    crate::clients::install_npm(&root.join("tests/web"), &target.join("web-tests"))?;
    Ok(())
}

/// What the tests start, and the Debian package that brings it.
const PROGRAMS: &[(&str, &str)] =
    &[("tmux", "tmux"), ("redis-server", "redis-server"), ("redis-cli", "redis-tools"), ("postgres", "postgresql")];

/// Terminals and databases are real in the tests; those that are missing are installed, where that is possible.
fn install_programs() -> anyhow::Result<()> {
    let missing: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let apt = |arguments: &[&str]| {
        let status = Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status();
        status.is_ok_and(|status| status.success())
    };
    // The list of packages may be old or not there at all.
    let updated = apt(&["update", "-qq"]);
    let installed = apt(&[&["install", "-y", "-qq", "--no-install-recommends"], missing.as_slice()].concat());
    let list = missing.join(" ");
    ensure!(updated && installed, "the tests need packages that could not be installed: apt-get install {list}");
    Ok(())
}

/// Whether a program can be found: in the path, or where Debian keeps PostgreSQL's.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders = std::env::split_paths(&path).chain(versions.map(|version| version.path().join("bin")));
    folders.map(|folder| folder.join(program)).any(|file| file.is_file())
}
