//! `cargo xtask web`: the dashboard in a real browser, against the real binary and the fake provider.
//!
//! `cargo xtask web` also says whether the types in `web/src/lib/schema.ts` are those of the control API, and whether cargo
//! builds the dashboard by itself; `web alone` says the latter only, `web browser` all but that. `cargo xtask web types`
//! writes the types anew; `cargo xtask web screenshots` writes the pictures of the README.

mod alone;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, ensure};

use crate::sdk::{execute, target_folder};

/// Where a browser may be.
const BROWSERS: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let known = matches!(words[..], [] | ["alone" | "browser" | "types" | "screenshots"]);
    ensure!(known, "`web` takes nothing, `alone`, `browser`, `types` or `screenshots`");
    let root = crate::tidy::root();
    let target = target_folder(root);
    if matches!(words[..], [] | ["alone"]) {
        alone::check(root, &target)?;
    }
    if words == ["alone"] {
        return Ok(ExitCode::SUCCESS);
    }
    let types = root.join("web/src/lib/schema.ts");
    let written = types_of(root)?;
    if words == ["types"] {
        std::fs::write(&types, written).with_context(|| format!("cannot write {}", types.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let known = std::fs::read_to_string(&types).with_context(|| format!("cannot read {}", types.display()))?;
    ensure!(known == written, "web/src/lib/schema.ts is not what docs/openapi.json says: run `cargo xtask web types`");
    if !browser_is_there() {
        talk("SKIPPED: no Chromium was found, and it could not be installed (Debian: apt-get install chromium)");
        return Ok(ExitCode::SUCCESS);
    }
    // As the tests build it: with other features everything below would be built once more.
    execute(Command::new(env!("CARGO")).args(["test", "--workspace", "--no-run", "--quiet"]))?;
    let suite = root.join("tests/web");
    let modules = crate::clients::install_npm(&suite, &target.join("web-tests"))?;
    let mut command = Command::new("node");
    command.arg(suite.join("run.mjs")).arg(target.join("debug/steadfast")).arg(modules);
    if words == ["screenshots"] {
        command.arg(root.join("docs/images"));
    }
    execute(&mut command)?;
    Ok(ExitCode::SUCCESS)
}

/// The types that the document of the control API comes to.
fn types_of(root: &Path) -> anyhow::Result<String> {
    let script = root.join("web/scripts/types.mjs");
    let output = Command::new("node").arg(script).arg(root.join("docs/openapi.json")).output();
    let output = output.context("the dashboard's tests need Node 20.19 or later")?;
    ensure!(output.status.success(), "cannot read docs/openapi.json: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).context("the types are not UTF-8")
}

/// Whether there is a browser, installed if that is possible.
pub(crate) fn browser_is_there() -> bool {
    let there = || BROWSERS.iter().map(PathBuf::from).any(|path| path.exists());
    if there() {
        return true;
    }
    let install = ["install", "--yes", "--no-install-recommends", "chromium"];
    let quietly = |command: &mut Command| command.stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    quietly(Command::new("apt-get").args(["update", "--quiet"]))
        && quietly(Command::new("apt-get").args(install).env("DEBIAN_FRONTEND", "noninteractive"))
        && there()
}

#[expect(clippy::print_stderr, reason = "the talk of a command line tool")]
fn talk(text: &str) {
    eprintln!("{text}");
}
