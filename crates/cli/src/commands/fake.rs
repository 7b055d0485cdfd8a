//! `steadfast fake`: a provider that speaks every format and fails by script.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use clap::Args;
use steadfast_fake::{End, Fake, Received};
use tokio::signal::unix::{SignalKind, signal};

use super::{data, talk};
use crate::cli::SourceArgs;

/// Where it listens unless told otherwise: next to nothing that is known to listen there.
const LISTEN: &str = "127.0.0.1:4242";

/// What to play.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct FakeArgs {
    /// What every request meets: 'status=529', 'cut=5', '30%: overloaded; ok delay=20ms' [default: ok]
    spec: Option<String>,

    /// A TOML file with scripts for endpoints and models
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Say nothing about single requests and keep no bodies
    #[arg(long)]
    quiet: bool,
}

const AFTER_HELP: &str = "\
It listens on 127.0.0.1:4242 unless --listen says otherwise. A request may bring its own fault in
the header `x-fake: SPEC` or in its model's name: `gpt-5@SPEC`, `fake-SPEC`. docs/fake.md names all.";

pub(crate) fn run(args: &FakeArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let written = sources.listen.as_deref().unwrap_or(LISTEN);
    let addr: SocketAddr =
        written.parse().with_context(|| format!("`{written}` is not an address such as {LISTEN}"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(serve(args, addr))
}

async fn serve(args: &FakeArgs, addr: SocketAddr) -> anyhow::Result<ExitCode> {
    let fake = Fake::start_on(addr).await.with_context(|| format!("cannot listen on {addr}"))?;
    if let Some(file) = &args.script {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        fake.load(&text).with_context(|| format!("{} is no script", file.display()))?;
    }
    if let Some(spec) = &args.spec {
        fake.script("", spec).with_context(|| format!("`{spec}` is no script"))?;
    }
    if args.quiet {
        fake.keep_bodies(false);
    } else {
        let begun = Instant::now();
        fake.watch(move |request| talk(&line(request, begun)));
    }
    // Before anybody is told that it runs: a Ctrl-C at once must be counted too.
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    talk(&usage(&fake));
    interrupt.recv().await;
    data(&counts(&fake))?;
    Ok(ExitCode::SUCCESS)
}

fn usage(fake: &Fake) -> String {
    let url = fake.url();
    format!(
        "\
fake provider on {url}

  OpenAI     base URL {url}/v1      OPENAI_BASE_URL
  Anthropic  base URL {url}         ANTHROPIC_BASE_URL
  Gemini     base URL {url}         GOOGLE_GEMINI_BASE_URL
  any key, any model; more endpoints with scripts of their own: {url}/@NAME

  curl {url}/v1/chat/completions -d '{{\"model\":\"gpt-5\",\"messages\":[{{\"role\":\"user\",\"content\":\"hi\"}}]}}'

how to make it fail, strongest first:
  header  x-fake: status=529 retry-after=7
  model   gpt-5@cut=5   claude-opus@error=3:overloaded   fake-rate_limit
  script  curl -X PUT {url}/__fake/script/NAME -d 'status=503 x2; ok'
what came: {url}/__fake/counts and {url}/__fake/requests

Ctrl-C ends it and prints the counts."
    )
}

/// One request in one line.
fn line(request: &Received, begun: Instant) -> String {
    let since = request.at.saturating_duration_since(begun);
    let ms = request.at.elapsed().as_millis();
    let end = match request.end {
        End::Running => "running".to_owned(),
        End::Answered => format!("answered in {ms} ms"),
        End::ClientLeft { after } => format!("client left after {} ms", after.as_millis()),
        End::Faulted => format!("broken off after {ms} ms"),
    };
    let endpoint = if request.endpoint.is_empty() { String::new() } else { format!("/@{}", request.endpoint) };
    let mut line = format!("{:>9.3} s  {} {endpoint}{}", since.as_secs_f64(), request.method, request.path);
    if !request.model.is_empty() {
        // Writing to memory cannot fail.
        let _ = write!(line, "  {}", request.model);
    }
    let _ = write!(line, "{}  {}: {end}", if request.stream { "  stream" } else { "" }, request.fault);
    // What a client sends must not move the cursor.
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn counts(fake: &Fake) -> String {
    let mut text = String::new();
    for (name, count) in fake.counts() {
        let name = if name.is_empty() { "default".to_owned() } else { format!("@{name}") };
        let _ = writeln!(text, "{name:<16} {count:>9} requests");
    }
    text
}
