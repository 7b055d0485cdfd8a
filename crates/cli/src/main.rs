//! The `steadfast` binary: commands, flags, wiring.
//!
//! stdout is data, stderr is talk. Exit codes: 0 it worked, 1 it was tried and refused, 2 the
//! command line makes no sense.

mod cli;
mod commands;
mod decisions;
mod story;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match commands::run(&cli) {
        Ok(code) => code,
        Err(error) => {
            commands::talk(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
