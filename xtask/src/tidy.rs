//! `cargo xtask tidy`: the rules no compiler checks.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};

/// Which of our crates each of our crates may know. A boundary holds only while it is enforced.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("steadfast-core", &[]),
    ("steadfast-dialect", &[]),
    ("steadfast-http1", &[]),
    ("steadfast-web", &[]),
    ("steadfast-config", &["steadfast-core"]),
    ("steadfast-sim", &["steadfast-core"]),
    ("steadfast-fake", &["steadfast-dialect"]),
    ("steadfast-stage", &[]),
    ("steadfast-store", &["steadfast-core"]),
    (
        "steadfast-engine",
        &["steadfast-core", "steadfast-config", "steadfast-dialect", "steadfast-http1", "steadfast-store"],
    ),
    (
        "steadfast-api",
        &[
            "steadfast-core",
            "steadfast-config",
            "steadfast-dialect",
            "steadfast-engine",
            "steadfast-http1",
            "steadfast-store",
        ],
    ),
    (
        "steadfast-supervisor",
        &[
            "steadfast-api",
            "steadfast-core",
            "steadfast-config",
            "steadfast-dialect",
            "steadfast-engine",
            "steadfast-http1",
            "steadfast-store",
        ],
    ),
    (
        "steadfast-gateway",
        &[
            "steadfast-api",
            "steadfast-core",
            "steadfast-config",
            "steadfast-dialect",
            "steadfast-engine",
            "steadfast-http1",
            "steadfast-store",
            "steadfast-web",
        ],
    ),
    (
        "steadfast-council",
        &[
            "steadfast-core",
            "steadfast-config",
            "steadfast-dialect",
            "steadfast-engine",
            "steadfast-http1",
            "steadfast-store",
        ],
    ),
    (
        "steadfast-cli",
        &[
            "steadfast-api",
            "steadfast-core",
            "steadfast-config",
            "steadfast-council",
            "steadfast-dialect",
            "steadfast-engine",
            "steadfast-fake",
            "steadfast-gateway",
            "steadfast-http1",
            "steadfast-sim",
            "steadfast-store",
            "steadfast-supervisor",
            "steadfast-web",
        ],
    ),
];

/// What the core must never be built on: it is sans-IO.
const NEVER_IN_CORE: &[&str] = &["tokio", "hyper", "reqwest", "mio", "socket2", "async-std", "tracing", "log"];

/// Sources that are plain memory by promise, and what they must therefore never name.
const PURE: &[(&str, &[&str])] =
    &[("crates/council/src/coordinator", &["tokio", "ratatui", "crossterm", "steadfast_engine", "std::io", "std::fs"])];

/// A file this long holds more than one idea.
const LINES_MAX: usize = 700;

/// Marks of unfinished work at the start of a line, split so that this file does not find itself.
const UNFINISHED: &[&str] = &[concat!("todo", "!("), concat!("// FIX", "ME"), concat!("// XX", "X")];

/// Papers every visitor looks for.
const PAPERS: &[&str] =
    &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

pub(crate) fn run(_arguments: &[String]) -> anyhow::Result<ExitCode> {
    let mut problems = Vec::new();
    for (name, allowed) in MAY_KNOW {
        problems.extend(boundary(name, allowed)?);
    }
    for file in tracked_files()? {
        problems.extend(source(&file)?);
    }
    for paper in PAPERS.iter().filter(|paper| !root().join(paper).exists()) {
        problems.push(format!("{paper} is missing"));
    }
    ensure!(problems.is_empty(), "not tidy:\n  {}", problems.join("\n  "));
    Ok(ExitCode::SUCCESS)
}

/// Every dependency of `name` that it must not have.
fn boundary(name: &str, allowed: &[&str]) -> anyhow::Result<Vec<String>> {
    let tree = output(env!("CARGO"), &["tree", "-p", name, "-e", "normal", "--prefix", "none", "--format", "{p}"])?;
    let known = tree.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let forbidden = known.filter(|known| {
        let stranger = known.starts_with("steadfast-") && !allowed.contains(known);
        stranger || name == "steadfast-core" && NEVER_IN_CORE.contains(known)
    });
    let mut problems: Vec<String> = forbidden.map(|known| format!("{name} must not know {known}")).collect();
    problems.sort();
    problems.dedup();
    Ok(problems)
}

fn source(file: &str) -> anyhow::Result<Vec<String>> {
    if !file.ends_with(".rs") {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(root().join(file)).with_context(|| format!("cannot read {file}"))?;
    let mut problems = Vec::new();
    let lines = text.lines().count();
    if lines > LINES_MAX {
        problems.push(format!("{file} has {lines} lines: look for the second idea in it"));
    }
    let pure = PURE.iter().filter(|(place, _)| file.starts_with(place)).flat_map(|(_, never)| *never);
    problems.extend(pure.filter(|name| text.contains(**name)).map(|name| format!("{file} must not know {name}")));
    for (number, line) in (1..).zip(text.lines()) {
        if UNFINISHED.iter().any(|mark| line.trim_start().starts_with(mark)) {
            problems.push(format!("{file}:{number} is unfinished: {}", line.trim()));
        }
    }
    if !text.starts_with("//!") && !file.contains("/tests") && !file.ends_with("tests.rs") {
        problems.push(format!("{file} does not say what it is for: start it with //!"));
    }
    Ok(problems)
}

fn tracked_files() -> anyhow::Result<Vec<String>> {
    let files = output("git", &["ls-files"])?;
    Ok(files.lines().filter(|file| root().join(file).exists()).map(str::to_owned).collect())
}

fn output(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let what = || format!("cannot run {program} {}", arguments.join(" "));
    let output = Command::new(program).args(arguments).current_dir(root()).output().with_context(what)?;
    ensure!(output.status.success(), "{}: {}", what(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).with_context(what)
}

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}
