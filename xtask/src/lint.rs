//! `cargo xtask lint`: what reads the code and runs none of it.

use std::process::ExitCode;

use anyhow::ensure;

use crate::test::{cargo, check};

/// The checks, and the cargo command that each of them is.
const CHECKS: &[(&str, &[&str])] = &[
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    ("docs", &["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]),
];

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    ensure!(arguments.is_empty(), "`lint` takes no arguments");
    for (name, command) in CHECKS {
        check(name, || cargo(command))?;
    }
    Ok(ExitCode::SUCCESS)
}
