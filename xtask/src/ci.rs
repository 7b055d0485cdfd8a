//! `cargo xtask ci`: everything CI checks but the real clients (`cargo xtask clients`), in the order in which it is
//! quickest to know.

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, ensure};

/// One check: what it is called and the cargo command that makes it.
const CARGO_CHECKS: &[(&str, &[&str])] = &[
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    ("tests", &["test", "--workspace", "--quiet"]),
    ("docs", &["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]),
];

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    ensure!(arguments.is_empty(), "`ci` takes no arguments");
    check("tmux", find_tmux)?;
    for (name, arguments) in CARGO_CHECKS {
        check(name, || cargo(arguments))?;
    }
    check("sdk", || crate::sdk::run(&[]).map(drop))?;
    check("python", || crate::python::run(&[]).map(drop))?;
    check("web", || crate::web::run(&[]).map(drop))?;
    check("api", || crate::api::run(&[]).map(drop))?;
    check("tidy", || crate::tidy::run(&[]).map(drop))?;
    check("corpus", || {
        let code = crate::corpus::run(&[])?;
        ensure!(code == ExitCode::SUCCESS, "the classifier is below its guard");
        Ok(())
    })
    .map(|()| ExitCode::SUCCESS)
}

/// The council is tested in a real terminal; where there is none to drive, it is installed.
fn find_tmux() -> anyhow::Result<()> {
    let found = || Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success());
    if found() {
        return Ok(());
    }
    let install = Command::new("apt-get").args(["install", "-y", "--no-install-recommends", "tmux"]).status();
    ensure!(
        install.is_ok_and(|status| status.success()) && found(),
        "the tests need tmux (Debian: apt-get install tmux)"
    );
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the talk of a command line tool")]
fn check(name: &str, check: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    eprintln!("── {name}");
    let began = Instant::now();
    check().with_context(|| format!("the check `{name}` failed"))?;
    eprintln!("── {name}: fine, {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
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
