//! `cargo xtask api`: the control API against its own OpenAPI document (schemathesis), and the MCP server with the
//! official client.

use std::process::{Command, ExitCode};

use anyhow::ensure;

use crate::sdk::{execute, install, target_folder};

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    ensure!(arguments.is_empty(), "`api` takes no arguments");
    let root = crate::tidy::root();
    let target = target_folder(root);
    // As the tests build it: with other features everything below would be built once more.
    execute(Command::new(env!("CARGO")).args(["test", "--workspace", "--no-run", "--quiet"]))?;
    let python = install(&root.join("tests/api/requirements.txt"), &target.join("api"))?;
    execute(Command::new(python).arg(root.join("tests/api/check.py")).arg(target.join("debug/steadfast")))?;
    Ok(ExitCode::SUCCESS)
}
