//! `cargo xtask test`: installs what the tests need, and runs all but the slow suite of real clients
//! (`cargo xtask clients`).

mod gather;
mod suite;

use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

use crate::talk;

/// What waits for other programs most of the time, by its own name: each of these lists runs beside the others.
const TOGETHER: &[&[&str]] = &[&["web browser"], &["sdk", "python", "api", "web alone"]];

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    ensure!(arguments.is_empty(), "`test` takes no arguments");
    std::thread::scope(|scope| {
        let gathering = scope.spawn(|| check("packages", gather::run));
        check("build", || cargo(&["test", "--workspace", "--no-run", "--quiet"]))?;
        gathering.join().unwrap_or_else(|_| bail!("installing packages broke off"))
    })?;
    let mut again = check("tests", suite::run)?;
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
        let output =
            Command::new(&itself).args(name.split(' ')).output().with_context(|| format!("cannot run `{name}`"))?;
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

/// Runs one check and says how long it took.
pub(crate) fn check<T>(name: &str, check: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    talk(&format!("── {name}"));
    let began = Instant::now();
    let found = check().with_context(|| format!("the check `{name}` failed"))?;
    talk(&format!("── {name}: fine, {:.0} s", began.elapsed().as_secs_f64()));
    Ok(found)
}

/// Runs a cargo command.
pub(crate) fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(env!("CARGO"));
    // Warnings in docs are broken links, and broken links are lies.
    command.args(arguments).env("RUSTDOCFLAGS", "-D warnings");
    let status = command.status().with_context(|| format!("cannot run cargo {}", arguments.join(" ")))?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    Ok(())
}
