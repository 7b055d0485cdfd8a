//! `cargo xtask python`: the Python client against the real binary.

use std::process::{Command, ExitCode};

use anyhow::ensure;

use crate::sdk::{execute, install, target_folder};

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    ensure!(arguments.is_empty(), "`python` takes no arguments");
    let root = crate::tidy::root();
    let target = target_folder(root);
    // As the tests build it: with other features everything below would be built once more.
    execute(Command::new(env!("CARGO")).args(["test", "--workspace", "--no-run", "--quiet"]))?;
    let client = root.join("clients/python");
    let python = install(&client.join("requirements.txt"), &target.join("python"))?;
    execute(Command::new(&python).args(["-m", "mypy", "--no-error-summary", "src"]).current_dir(&client))?;
    execute(
        Command::new(&python)
            .args(["-B", "-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
            .current_dir(&client)
            .env("STEADFAST_BINARY", target.join("debug/steadfast")),
    )?;
    Ok(ExitCode::SUCCESS)
}
