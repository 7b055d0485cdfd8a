//! All automation: `cargo xtask <command>`.

mod api;
mod bench;
mod clients;
mod corpus;
mod lint;
mod python;
mod readme_table;
mod sdk;
mod simulate;
mod test;
mod tidy;
mod web;

use std::process::ExitCode;

/// What can be asked for: name, what it does, what runs it.
type Command = (&'static str, &'static str, fn(&[String]) -> anyhow::Result<ExitCode>);

const COMMANDS: &[Command] = &[
    ("api", "the control API against its own OpenAPI document, and MCP", api::run),
    (
        "bench",
        "gateway: against nginx and the direct connection [--rounds N] ..; tasks: a worker against xargs -P",
        bench::run,
    ),
    ("clients", "real SDKs and agents as clients of the gateway [WORD].. only cases with these words", clients::run),
    ("corpus", "score the classifier on labelled failures [--path FILE].. [--misses]", corpus::run),
    ("lint", "formatting, clippy, docs", lint::run),
    ("python", "the Python client against the real binary", python::run),
    ("readme-table", "measure every template in every scenario for the README", readme_table::run),
    ("sdk", "the real SDKs as clients of the gateway", sdk::run),
    ("simulate", "random scenarios, every invariant on every step [--nightly] [--seed NUMBER]", simulate::run),
    ("test", "installs what the tests need and runs them all, but `clients`", test::run),
    ("tidy", "the rules no compiler checks", tidy::run),
    (
        "web",
        "the dashboard in a real browser [alone | browser] one part; [types | screenshots] write those anew",
        web::run,
    ),
];

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        talk(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

fn run() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = arguments.first().and_then(|name| COMMANDS.iter().find(|(known, ..)| known == name));
    match command {
        Some((_, _, run)) => run(&arguments[1..]),
        None => {
            usage();
            Ok(ExitCode::from(2))
        }
    }
}

fn usage() {
    talk("usage: cargo xtask <command>");
    for (name, about, _) in COMMANDS {
        talk(&format!("  {name:<14}{about}"));
    }
}

#[expect(clippy::print_stderr, reason = "the talk of a command line tool")]
fn talk(text: &str) {
    eprintln!("{text}");
}
