//! `cargo xtask ci`: everything CI checks but the real clients (`cargo xtask clients`), in the order in which it is
//! quickest to know.

mod suite;

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use crate::talk;

/// The cargo commands of the checks that are one.
const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] = &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
const DOCS: &[&str] = &["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"];

/// What waits for other programs most of the time, by its own name: each of these lists runs beside the others.
const TOGETHER: &[&[&str]] = &[&["web"], &["sdk", "python", "api"]];

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    ensure!(arguments.is_empty(), "`ci` takes no arguments");
    check("programs", install_programs)?;
    check("format", || cargo(FORMAT))?;
    check("lints", || cargo(LINTS))?;
    let mut again = check("tests", suite::run)?;
    check("docs", || cargo(DOCS))?;
    again.extend(together()?);
    check("tidy", || crate::tidy::run(&[]).map(drop))?;
    check("corpus", || {
        let code = crate::corpus::run(&[])?;
        ensure!(code == ExitCode::SUCCESS, "the classifier is below its guard");
        Ok(())
    })?;
    for name in again {
        talk(&format!("── passed only when it ran again, so something is wrong with it: {name}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the lists of [`TOGETHER`] side by side; what each check says comes out in one piece. One that fails runs once
/// more; the names of those that passed only then.
fn together() -> anyhow::Result<Vec<String>> {
    let itself = std::env::current_exe().context("this program cannot be found")?;
    let passes = |name: &str| {
        let began = Instant::now();
        let output = Command::new(&itself).arg(name).output().with_context(|| format!("cannot run `{name}`"))?;
        let end = if output.status.success() { "fine" } else { "FAILED" };
        let took = began.elapsed().as_secs_f64();
        talk(&format!("── {name}\n{}{}── {name}: {end}, {took:.0} s", text(&output.stdout), text(&output.stderr)));
        anyhow::Ok(output.status.success())
    };
    let all = |names: &[&str]| {
        let mut again = Vec::new();
        for name in names {
            if !passes(name)? {
                ensure!(passes(name)?, "the check `{name}` failed twice");
                again.push((*name).to_owned());
            }
        }
        Ok(again)
    };
    std::thread::scope(|scope| {
        let lists: Vec<_> = TOGETHER.iter().map(|list| scope.spawn(|| all(list))).collect();
        let ended = lists.into_iter().map(|list| list.join().unwrap_or_else(|_| bail!("a check broke off")));
        Ok(ended.collect::<anyhow::Result<Vec<_>>>()?.concat())
    })
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
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

fn check<T>(name: &str, check: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    talk(&format!("── {name}"));
    let began = Instant::now();
    let found = check().with_context(|| format!("the check `{name}` failed"))?;
    talk(&format!("── {name}: fine, {:.0} s", began.elapsed().as_secs_f64()));
    Ok(found)
}

fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(env!("CARGO"))
        .args(arguments)
        // Warnings in docs are broken links, and broken links are lies.
        .env("RUSTDOCFLAGS", "-D warnings")
        .status()
        .with_context(|| format!("cannot run cargo {}", arguments.join(" ")))?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}
