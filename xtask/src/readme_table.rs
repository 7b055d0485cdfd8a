//! `cargo xtask readme-table`: measures every template in every scenario and writes the README's
//! table between its marks.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};

const BEGIN: &str = "<!-- table -->\n";
const END: &str = "<!-- /table -->";
const CLIENTS: u32 = 1_000;
const SEEDS: u64 = 5;

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    ensure!(arguments.is_empty(), "`readme-table` takes no arguments");
    let path = crate::tidy::root().join("README.md");
    let readme = fs::read_to_string(&path).context("cannot read README.md")?;
    let (before, rest) = readme.split_once(BEGIN).context("README.md has no <!-- table -->")?;
    let (_, after) = rest.split_once(END).context("README.md has no <!-- /table -->")?;
    let table = steadfast_sim::table(CLIENTS, SEEDS).map_err(|trouble| anyhow::anyhow!("{trouble}"))?;
    fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).context("cannot write README.md")?;
    Ok(ExitCode::SUCCESS)
}
