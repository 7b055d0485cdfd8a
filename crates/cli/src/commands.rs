//! One file per command, and what they share.

pub(crate) mod config;
pub(crate) mod council;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod fake;
pub(crate) mod guard;
pub(crate) mod mcp;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod setup;
pub(crate) mod simulate;
pub(crate) mod spawn;
pub(crate) mod tasks;
pub(crate) mod top;
pub(crate) mod why;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use steadfast_config::{Config, ConfigFile, Loaded, Problems, Setting, Sources};
use steadfast_core::policy::Policy;

use crate::cli::{Cli, Command, SourceArgs};

/// Runs the command that was asked for.
pub(crate) fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    match &cli.command {
        Command::Demo(args) => demo::run(args, &cli.sources),
        Command::Serve(args) => serve::run(args, &cli.sources),
        Command::Council(args) => council::run(args, &cli.sources),
        Command::Setup(args) => setup::run(args, &cli.sources),
        Command::Doctor(args) => doctor::run(args, &cli.sources),
        Command::Why(args) => why::run(args, &cli.sources),
        Command::Top(args) => top::run(args, &cli.sources),
        Command::Mcp(args) => mcp::run(args, &cli.sources),
        Command::Explain(args) => explain::run(args, &cli.sources),
        Command::Simulate(args) => simulate::run(args, &cli.sources),
        Command::Config(args) => config::run(args, &cli.sources),
        Command::Fake(args) => fake::run(args, &cli.sources),
        Command::Run(args) => run::run(args, &cli.sources),
        Command::Spawn(args) => spawn::run(args, &cli.sources),
        Command::Tasks(args) => tasks::run(args, &cli.sources),
        Command::Guard(args) => guard::run(args, &cli.sources),
    }
}

/// Loads the configuration as the flags say.
pub(crate) fn load(args: &SourceArgs) -> Result<Loaded, Problems> {
    load_with(args, &serde_json::Value::Null)
}

/// The same with what people stored laid over it.
pub(crate) fn load_with(args: &SourceArgs, stored: &serde_json::Value) -> Result<Loaded, Problems> {
    let environment = environment();
    let path = path_in(args, &environment);
    let file = path.map(|path| ConfigFile::open(&path)).transpose()?;
    // A flag of its own is more deliberate than `--set`, so it comes last.
    let listen = args.listen.iter().map(|address| Setting::flag("--listen", "listen", address));
    let settings = args.settings.iter().cloned().chain(listen).collect();
    let sources = Sources { file, environment, settings, read_secret: &read_secret };
    steadfast_config::load_with(sources, stored)
}

/// The configuration file that is used, where there is one.
pub(crate) fn config_path(args: &SourceArgs) -> Option<PathBuf> {
    path_in(args, &environment())
}

fn path_in(args: &SourceArgs, environment: &[(String, String)]) -> Option<PathBuf> {
    let named = args.config.clone().or_else(|| {
        let found = environment.iter().find(|(name, value)| name == "STEADFAST_CONFIG" && !value.is_empty());
        found.map(|(_, path)| path.into())
    });
    named.or_else(|| steadfast_config::candidates(environment).into_iter().find(|path| path.exists()))
}

/// Loads the configuration; what is wrong with it is told, and then there is none.
pub(crate) fn load_or_refuse(args: &SourceArgs) -> Option<Loaded> {
    load(args).inspect_err(report).ok()
}

/// The policy of this name, or that of project `default`.
pub(crate) fn policy_named(config: &Config, name: Option<&str>) -> anyhow::Result<Arc<Policy>> {
    let Some(name) = name else { return Ok(Arc::clone(&config.project(None).policy)) };
    let known = || config.policies.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let policy = config.policies.get(name);
    policy.map(Arc::clone).with_context(|| format!("there is no policy `{name}`; there are {}", known()))
}

/// Tells everything that is wrong or deserves a second look.
pub(crate) fn report(problems: &Problems) {
    if problems.is_empty() {
        return;
    }
    let count = |count: usize, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        count => Some(format!("{count} {noun}s")),
    };
    let counts = [count(problems.errors(), "error"), count(problems.warnings(), "warning")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    talk(&format!("{problems}\n{}", counts.join(", ")));
}

/// Says something to the person at the terminal.
pub(crate) fn talk(text: &str) {
    // Nobody left to tell is no reason to fail.
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

/// Writes data; a reader that has seen enough (`| head`) is no error.
pub(crate) fn data(text: &str) -> anyhow::Result<()> {
    match writeln!(io::stdout().lock(), "{}", text.trim_end()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// The environment as text; what is not text cannot be meant for us.
pub(crate) fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Reads a secret from a file, bounded: a secret is a line, not a disk.
fn read_secret(path: &Path) -> io::Result<String> {
    use io::Read as _;
    const BYTES_MAX: u64 = 64 * 1024;
    let mut text = String::new();
    std::fs::File::open(path)?.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
