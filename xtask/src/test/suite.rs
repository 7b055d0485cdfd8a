//! The tests of the workspace, with a second chance that is never silent.
//!
//! They use real sockets, processes and databases on machines that have other things to do. One that fails runs once
//! more, by itself, and CI says so at its end; several that fail are no accident.

use std::io::{BufRead as _, BufReader, Write as _};
use std::num::NonZero;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::talk;

/// So many may fail and run again.
const AGAIN_MAX: usize = 3;

/// The variable that says how many tests run at once.
const THREADS: &str = "RUST_TEST_THREADS";

/// Tests at once for each core: most of them wait for sockets, processes and databases.
const TESTS_PER_CORE: usize = 3;

/// Runs all tests; the names of those that passed only when they ran again.
pub(super) fn run() -> anyhow::Result<Vec<String>> {
    let first = cargo_test(&["--no-fail-fast"])?;
    if first.is_well {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = first.failed.iter().map(String::as_str).collect();
    // A program that died told nobody's name.
    ensure!(!names.is_empty() && names.len() == first.failures && first.begun == first.ended, "cargo test failed");
    ensure!(names.len() <= AGAIN_MAX, "{} tests failed: {}", names.len(), names.join(", "));
    talk(&format!("── once more: {}", names.join(", ")));
    let again = cargo_test(&[&["--tests", "--", "--exact"], names.as_slice()].concat())?;
    ensure!(again.is_well, "failed twice: {}", names.join(", "));
    // A test that its name does not find has not passed.
    ensure!(again.passed >= names.len(), "not all of these could be run again: {}", names.join(", "));
    Ok(first.failed)
}

#[derive(Debug, Default)]
struct Told {
    is_well: bool,
    /// Test programs that began, and that came to their end.
    begun: usize,
    ended: usize,
    passed: usize,
    failures: usize,
    /// The names of those that failed, as far as they were told.
    failed: Vec<String>,
}

impl Told {
    /// Reads one line of what the test harness prints.
    fn hear(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("---- ").and_then(|line| line.strip_suffix(" stdout ----")) {
            self.failed.push(name.to_owned());
        } else if let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|line| line.split_once(". ")) {
            let mut counts = counts.split("; ").map(|count| count.split(' ').next()?.parse::<usize>().ok());
            let mut count = || counts.next().flatten().unwrap_or_default();
            self.ended += 1;
            self.passed += count();
            self.failures += count();
        } else if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.begun += 1;
        }
    }
}

/// Runs `cargo test` over the workspace, showing what it prints while it prints it.
fn cargo_test(arguments: &[&str]) -> anyhow::Result<Told> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--workspace", "--quiet"]).args(arguments).stdout(Stdio::piped());
    if std::env::var_os(THREADS).is_none() {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        command.env(THREADS, (TESTS_PER_CORE * cores).to_string());
    }
    let mut child = command.spawn().context("cannot run cargo test")?;
    let Some(printed) = child.stdout.take() else { bail!("cargo test prints nothing") };
    let (mut told, mut screen) = (Told::default(), std::io::stdout());
    for line in BufReader::new(printed).split(b'\n') {
        let line = line.context("cannot read what cargo test prints")?;
        told.hear(String::from_utf8_lossy(&line).trim_end());
        screen.write_all(&line).and_then(|()| screen.write_all(b"\n")).context("cannot print")?;
    }
    told.is_well = child.wait().context("cannot wait for cargo test")?.success();
    Ok(told)
}

#[cfg(test)]
mod told {
    use super::Told;

    #[test]
    fn what_the_harness_prints_is_understood() {
        let mut told = Told::default();
        for line in
            "\nrunning 3 tests\n..F\nfailures:\n\n---- faults::one stdout ----\n\nthread 'faults::one' panicked\n\n\
            failures:\n    faults::one\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n\
            running 40 tests\ntest result: ok. 40 passed; 0 failed; 0 ignored\nrunning 1 test"
                .lines()
        {
            told.hear(line);
        }
        assert_eq!((told.failed, told.passed, told.failures), (vec!["faults::one".to_owned()], 42, 1));
        assert_eq!((told.begun, told.ended), (3, 2), "the last one died");
    }
}
