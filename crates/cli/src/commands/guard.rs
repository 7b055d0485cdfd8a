//! `steadfast guard`: started by `run`, `spawn` and `serve` beside themselves. It waits until they are gone, however
//! they went, and ends whatever of theirs is still running: an agent without its supervisor must not go on spending.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use steadfast_supervisor::process::end_marked_with_prefix;

use crate::cli::SourceArgs;

/// Whom to watch over.
#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    /// What the processes are marked with
    id: String,
}

pub(crate) fn run(args: &GuardArgs, _sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    // A session of its own: the Ctrl-C that ends the others must not end it.
    let _ = rustix::process::setsid();
    let mut nothing = Vec::new();
    // Ends when the other end of the pipe is closed, which the kernel does for a process that was killed.
    let _ = std::io::stdin().lock().read_to_end(&mut nothing);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(end_marked_with_prefix(&format!("{}.", args.id)));
    Ok(ExitCode::SUCCESS)
}
