//! stub
use std::process::ExitCode;
use clap::Args;
use crate::cli::SourceArgs;
/// Demo.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {}
pub(crate) fn run(_args: &DemoArgs, _sources: &SourceArgs) -> anyhow::Result<ExitCode> { Ok(ExitCode::SUCCESS) }
