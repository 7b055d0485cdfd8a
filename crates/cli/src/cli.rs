//! The command line: one definition per flag.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use steadfast_config::Setting;

use crate::commands::config::ConfigArgs;
use crate::commands::council::CouncilArgs;
use crate::commands::demo::DemoArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::explain::ExplainArgs;
use crate::commands::fake::FakeArgs;
use crate::commands::guard::GuardArgs;
use crate::commands::mcp::McpArgs;
use crate::commands::run::RunArgs;
use crate::commands::serve::ServeArgs;
use crate::commands::setup::SetupArgs;
use crate::commands::simulate::SimulateArgs;
use crate::commands::spawn::SpawnArgs;
use crate::commands::tasks::TasksArgs;
use crate::commands::top::TopArgs;
use crate::commands::why::WhyArgs;

/// Keeps AI agents working when models, networks and processes fail.
#[derive(Debug, Parser)]
#[command(name = "steadfast", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) sources: SourceArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where the configuration comes from; the same for every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct SourceArgs {
    /// The configuration file [default: ./steadfast.toml, then the user's config folder]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Set a key over file and environment: --set projects.acme.policy=mine
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<Setting>,

    /// Listen on this address: the same as --set listen=ADDRESS
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See failures being recovered: fake providers, a gateway and live traffic, no keys needed
    Demo(DemoArgs),
    /// Serve the gateway: point your clients at it
    Serve(ServeArgs),
    /// Run a command or an agent, and keep it working until it is done
    Run(RunArgs),
    /// Run many tasks at once, and keep each working until it is done
    Spawn(SpawnArgs),
    /// See, follow, stop and repeat tasks that were left to a worker
    Tasks(TasksArgs),
    /// Talk with several models in one conversation that loses no voice
    Council(CouncilArgs),
    /// Point a client at the gateway: print the lines, or write them
    Setup(SetupArgs),
    /// Check that everything between a client and its models is in order
    Doctor(DoctorArgs),
    /// Tell what happened to a request and why
    Why(WhyArgs),
    /// Watch a running gateway: traffic, failures, breakers, retries that wait
    Top(TopArgs),
    /// Let agents ask about their own failures: an MCP server on standard input and output
    Mcp(McpArgs),
    /// Say what an error means and what each step would do about it
    Explain(ExplainArgs),
    /// Show what a policy does when things fail, before they do
    Simulate(SimulateArgs),
    /// Check, show and start configuration files
    Config(ConfigArgs),
    /// Play a provider that fails by script, to test clients and gateways against
    Fake(FakeArgs),
    /// End what a supervisor leaves behind
    #[command(hide = true)]
    Guard(GuardArgs),
}

fn setting(written: &str) -> Result<Setting, String> {
    Setting::parse(written).ok_or_else(|| "write it as key.path=value".to_owned())
}
