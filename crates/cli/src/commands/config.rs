//! `steadfast config`: check, show, schema, init.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use super::{data, load_or_refuse, policy_named, report, talk};
use crate::cli::SourceArgs;

/// What to do with the configuration.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Say everything that is wrong, with line and fix; exit 1 if anything is
    Check {
        /// The file to check, in place of --config
        file: Option<PathBuf>,
    },
    /// Print what is in force and who said so; secrets print as ***
    Show {
        /// For programs: {"config": …, "origins": {key: who}}
        #[arg(long)]
        json: bool,
        /// Only this policy, all of it, as TOML to paste into a file
        #[arg(long, value_name = "NAME", conflicts_with = "json")]
        policy: Option<String>,
    },
    /// Print the JSON schema of the file, for editors
    Schema,
    /// Write a commented steadfast.toml to start from
    Init {
        /// Replace a file that is already there
        #[arg(long)]
        force: bool,
    },
}

pub(crate) fn run(args: &ConfigArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        ConfigCommand::Check { file } => check(file.as_deref(), sources),
        ConfigCommand::Show { json, policy } => match policy {
            Some(name) => show_policy(name, sources),
            None => show(*json, sources),
        },
        ConfigCommand::Schema => {
            data(&serde_json::to_string_pretty(&steadfast_config::schema())?)?;
            Ok(ExitCode::SUCCESS)
        }
        ConfigCommand::Init { force } => init(*force, sources),
    }
}

fn check(file: Option<&Path>, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let named = file.map(Path::to_owned).or_else(|| sources.config.clone());
    let sources = SourceArgs { config: named, settings: sources.settings.clone(), listen: sources.listen.clone() };
    let Some(loaded) = load_or_refuse(&sources) else { return Ok(ExitCode::FAILURE) };
    report(&loaded.warnings);
    data(&format!("ok: {}", loaded.summary()))?;
    Ok(ExitCode::SUCCESS)
}

fn show(json: bool, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let Some(loaded) = load_or_refuse(sources) else { return Ok(ExitCode::FAILURE) };
    let text = if json { serde_json::to_string_pretty(&loaded.show_json())? } else { loaded.show() };
    data(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn show_policy(name: &str, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let Some(loaded) = load_or_refuse(sources) else { return Ok(ExitCode::FAILURE) };
    let policy = policy_named(&loaded.config, Some(name))?;
    data(&steadfast_config::policy_toml(&loaded.config, &policy.name).unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}

fn init(force: bool, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let path = sources.config.clone().unwrap_or_else(|| PathBuf::from("steadfast.toml"));
    // `create_new` and not a check before: another process may be quicker.
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let mut file = match options.open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            anyhow::bail!("{} is already there; --force replaces it", path.display())
        }
        opened => opened.with_context(|| format!("cannot write {}", path.display()))?,
    };
    file.write_all(steadfast_config::STARTER.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    talk(&format!("wrote {}; `steadfast config check` tells what it means", path.display()));
    Ok(ExitCode::SUCCESS)
}
