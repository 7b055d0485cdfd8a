//! `steadfast serve`: the gateway, until it is told to stop.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use clap::Args;
use steadfast_api::{Api, Control, ReloadError};
use steadfast_config::{Config, Credential};
use steadfast_engine::Engine;
use steadfast_gateway::{CONNECTIONS_MAX, Gateway, Settings, Workers};
use steadfast_supervisor::process::Stop;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};

use super::{config_path, load_or_refuse, report, talk};
use crate::cli::SourceArgs;
use crate::control::{self, AsFlagsSay, add_log};
use crate::tasks;

/// How to serve.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// How long open answers may go on after Ctrl-C or SIGTERM, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    drain: u64,
    /// The largest request body, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1024))]
    body_max: u16,
    /// How many tasks of `spawn --detach` run here at a time; 0 leaves them to others
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(0..=1024))]
    tasks: u16,
    /// The most connections of clients at once; more are refused. Fewer where the system allows fewer open files
    #[arg(long, value_name = "NUMBER", default_value_t = CONNECTIONS_MAX)]
    connections_max: usize,
    /// Write no decision log where the configuration names none; `steadfast why` has nothing to tell then
    #[arg(long)]
    no_log: bool,
}

/// How often the file is looked at. A change counts when two looks agree: who is still writing would
/// have half a file put in force, and an empty one is valid.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &ServeArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    start_log();
    // Before it is read: a change in between must not be missed.
    let known = modified(sources);
    let Some(loaded) = load_or_refuse(sources) else { return Ok(ExitCode::FAILURE) };
    report(&loaded.warnings);
    let mut config = loaded.config;
    add_log(&mut config, args.no_log);
    // This one accepts, checks and reloads; connections have threads of their own.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    // The control API and what is kept: no question about traffic slows traffic down.
    let control = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("control")
        .enable_all()
        .build()
        .context("cannot start the runtime of the control API")?;
    let engine = runtime.block_on(serve(args, sources, config, known, control.handle()))?;
    // What is detached must not hold up the end.
    runtime.shutdown_timeout(Duration::from_secs(1));
    control.shutdown_timeout(Duration::from_secs(1));
    // Requests whose clients had gone ended with the runtime; the log has an end for them too.
    engine.flush();
    Ok(ExitCode::SUCCESS)
}

async fn serve(
    args: &ServeArgs,
    sources: &SourceArgs,
    config: Config,
    known: Option<Modified>,
    runtime: &Handle,
) -> anyhow::Result<Arc<Engine>> {
    let engine = Engine::start(config)?;
    let settings = Settings {
        body_bytes_max: usize::from(args.body_max) * 1024 * 1024,
        drain: Duration::from_secs(args.drain),
        connections_max: args.connections_max.min(connections_possible()),
        ..Settings::default()
    };
    let store = control::open_store(&engine.snapshot().config).context("cannot open the store")?;
    let gateway = Gateway::bind(Arc::clone(&engine), settings).await?;
    let configuration = Arc::new(AsFlagsSay { sources: sources.clone(), no_log: args.no_log });
    let starting = control::start(Arc::clone(&engine), store.clone(), configuration);
    let control = runtime.spawn(starting).await.context("cannot start the control API")?;
    // After what people stored is in force.
    let tasks = tasks::work_beside(&engine, &store, gateway.address(), args.tasks, runtime);
    let (answering, routes) = (control.clone(), Some(tasks.routes()));
    let api =
        runtime.spawn(async move { Api::new(answering, routes) }).await.context("cannot start the control API")?;
    let gateway = gateway.with_api(api);
    let helped = Arc::clone(&engine);
    let workers = Workers::start(move || helped.lend_a_hand()).context("cannot start the threads that serve")?;
    let (signal, stop_tasks) = (stop_signal()?, tasks.stop());
    let stop = async move {
        signal.await;
        // At once: agents would go on against a gateway that takes nobody new.
        stop_tasks.send_replace(Stop::Politely);
    };
    talk(&greeting(&gateway, &engine));
    let reloads = tokio::spawn(reload_on_change(control, sources.clone(), known));
    gateway.serve_on(workers, stop).await;
    reloads.abort();
    tasks.end().await;
    engine.stop().await;
    store.close().await;
    Ok(engine)
}

/// What a person needs to know to begin.
fn greeting(gateway: &Gateway, engine: &Engine) -> String {
    let address = gateway.address();
    let snapshot = engine.snapshot();
    let endpoints: Vec<String> = snapshot
        .config
        .endpoints
        .iter()
        .map(|endpoint| {
            let key = match &endpoint.credential {
                Credential::Client => "the client's own key",
                Credential::Own(_) => "its own key",
                Credential::Missing { .. } => "NO KEY",
            };
            format!("  {:<12} {} ({key})", endpoint.name, endpoint.url)
        })
        .collect();
    let log = match &snapshot.config.decision_log {
        Some(log) => format!("`steadfast why REQUEST` tells a request's story from {}", log.path),
        None => "no decision log is written".to_owned(),
    };
    format!(
        "steadfast is listening on http://{address}\n\
         the dashboard is at http://{address}/\n\
         \n\
         OPENAI_BASE_URL=http://{address}/v1  ANTHROPIC_BASE_URL=http://{address}  GOOGLE_GEMINI_BASE_URL=http://{address}\n\
         \n{}\n\n\
         {log}\n\
         /health  /ready  /metrics  /api/openapi.json    Ctrl-C stops; SIGHUP or a change of the file reloads it",
        endpoints.join("\n")
    )
}

/// The first Ctrl-C or SIGTERM asks politely; the second ends the process.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        talk("stopping; once more ends it at once");
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(130);
        });
    })
}

/// Loads the configuration again on SIGHUP and when the file changed. A bad one is refused, and
/// the one in force stays.
async fn reload_on_change(control: Control, sources: SourceArgs, mut known: Option<Modified>) {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return };
    let mut looked = known.clone();
    let mut there = true;
    loop {
        let asked = tokio::select! {
            _ = hangup.recv() => true,
            () = tokio::time::sleep(LOOK_EVERY) => false,
        };
        let now = modified(&sources);
        let settled = std::mem::replace(&mut looked, now.clone()) == now;
        if !asked && (now == known || !settled) {
            continue;
        }
        if now.is_none() && known.is_some() {
            // Without a file the built-in endpoints would be served: nobody asked for that.
            if asked || std::mem::take(&mut there) {
                tracing::warn!("the configuration file is gone; the configuration stays in force");
            }
            continue;
        }
        there = true;
        known = now;
        let listen = control.engine().snapshot().config.listen;
        match control.reload().await {
            Err(ReloadError::Problems(problems)) => {
                report(&problems);
                tracing::warn!("the new configuration is refused; the one before stays in force");
            }
            Err(error) => tracing::warn!(%error, "the new configuration is refused; the one before stays"),
            Ok(loaded) => {
                report(&loaded.warnings);
                tracing::info!("configuration reloaded");
                if loaded.config.listen != listen {
                    tracing::warn!(listen = %loaded.config.listen, "`listen` changes with a restart only");
                }
            }
        }
    }
}

/// Which file it is, when it last changed, and its length.
type Modified = (PathBuf, SystemTime, u64);

/// When the file last changed, and which one it is.
fn modified(sources: &SourceArgs) -> Option<Modified> {
    let path = config_path(sources)?;
    let meta = std::fs::metadata(&path).ok()?;
    Some((path, meta.modified().ok()?, meta.len()))
}

/// How many clients there are files for: each may need a connection to a provider too, and the log, the store and
/// the runtime some of their own. The process takes as many as it may have.
#[cfg(unix)]
fn connections_possible() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const OWN_FILES: u64 = 64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let files = if raised { maximum } else { current };
    let clients = files.map_or(u64::MAX, |files| files.saturating_sub(OWN_FILES) / 2).max(1);
    usize::try_from(clients).unwrap_or(usize::MAX)
}

/// The database's driver tells its own troubles as warnings; the store says them once, and better.
const LOGGED: &str = "info,sqlx=error";

/// Talk about what happens goes to stderr; `RUST_LOG` sets how much.
fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(LOGGED));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // Whoever set one up before us keeps it.
    let _ = log.with_ansi(false).try_init();
}
