//! Whole transcripts of the real binary: what goes to stdout, to stderr, and the exit code.

#![allow(clippy::unwrap_used, reason = "a test says by panicking")]

mod behind;
mod config;
mod council;
mod demo;
mod doctor;
mod explain;
mod fake;
mod kills;
mod run;
mod screen;
mod secrets;
mod serve;
mod setup;
mod shared;
mod simulate;
mod store;
mod tls;
mod watch;
mod why;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own for one test, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("steadfast-cli-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// Runs `steadfast` in this folder with these variables and no others.
    fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Transcript {
        self.command(arguments, environment, "")
    }

    /// Runs `steadfast` in this folder and pipes `input` into it.
    fn pipe(&self, input: &str, arguments: &[&str]) -> Transcript {
        self.command(arguments, &[], input)
    }

    fn command(&self, arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Transcript {
        let mut child = self.prepared(arguments, environment).spawn().unwrap();
        // A command that reads nothing may be gone before it is told anything.
        _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Transcript::of(child)
    }

    fn prepared(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
        command.args(arguments).current_dir(&self.0).env_clear().envs(environment.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `steadfast` in this folder with a standard input that stays open and says nothing, as programs leave it to
    /// those they start.
    fn run_beside_an_open_pipe(&self, arguments: &[&str]) -> Transcript {
        let mut child = self.prepared(arguments, &[]).spawn().unwrap();
        let left_open = child.stdin.take();
        let told = Transcript::of(child);
        drop(left_open);
        told
    }

    fn run(&self, arguments: &[&str]) -> Transcript {
        self.run_with(arguments, &[])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a command said.
#[derive(Debug, PartialEq, Eq)]
struct Transcript {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Transcript {
    /// What a command says until it ends.
    fn of(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn assert(&self, code: i32, stdout: &str, stderr: &str) {
        let expected = Self { code, stdout: stdout.to_owned(), stderr: stderr.to_owned() };
        assert_eq!(*self, expected, "\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
    }
}
