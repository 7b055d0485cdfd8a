//! What `run`, `spawn` and `tasks` share: how a task is written on the command line, what it is run with, and who is
//! told about it.

pub(crate) mod tell;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use steadfast_config::{Config, Secret, parse_duration};
use steadfast_engine::Engine;
use steadfast_store::Store;
use steadfast_supervisor::process::Stop;
use steadfast_supervisor::{Fleet, Gateway, LetsIn, Observer, Settings, Task, Worker, to_keep};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::clients::Base;
use crate::commands::doctor::probe;
use crate::commands::{data, environment, load_or_refuse, report, talk};
use crate::control;
use crate::decisions;

/// Our own gateway on this machine answers at once or is not there.
const GATEWAY_PATIENCE: Duration = Duration::from_secs(1);

/// How long agents that were asked to end, and then made to, may take to be put back.
const PUT_BACK_MAX: Duration = Duration::from_secs(15);

/// How a task is to be done; the same for `run` and `spawn`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TaskArgs {
    /// The agent: claude, codex, gemini, opencode, openclaw, or one of `[agents]` in the configuration
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// The model to begin with [default: the agent's own choice]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Where to fall back to, in order: MODEL or AGENT:MODEL [default: the configuration's chain]
    #[arg(long, value_name = "MODEL,…", value_delimiter = ',')]
    pub(crate) chain: Option<Vec<String>>,

    /// What the task is called
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,

    /// The policy [default: the project's]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,

    /// The project it belongs to [default: default]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,

    /// The session its model calls belong to [default: one of its own]
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Where it runs [default: here]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// How often a rate limit is retried [default: as the policy says]
    #[arg(long, value_name = "COUNT")]
    retries: Option<u32>,

    /// How long to wait between retries [default: as the policy says]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    retry_delay: Option<f64>,

    /// How long one attempt may take [default: the agent's, 2h]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    timeout: Option<f64>,

    /// How long an attempt may write nothing [default: the agent's, 15m]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    silence: Option<f64>,

    /// How long a run may take with all its attempts [default: 24h]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    deadline: Option<f64>,

    /// What it may cost in dollars, as far as the agent tells
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,

    /// Run it in a tmux pane: `tmux -L steadfast attach -t TASK` looks over its shoulder
    #[arg(long)]
    tmux: bool,

    /// The address of the gateway that agents are pointed at [default: this configuration's, where it runs]
    #[arg(long, value_name = "URL", conflicts_with = "no_gateway")]
    gateway: Option<String>,

    /// Leave agents where they are pointed, also where the gateway runs
    #[arg(long)]
    no_gateway: bool,

    /// Leave it to a worker: `steadfast serve` or `steadfast tasks work`
    #[arg(long)]
    pub(crate) detach: bool,

    /// Write JSON lines: one for everything that happens, the result last
    #[arg(long)]
    pub(crate) json: bool,

    /// Say nothing about attempts and decisions
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How a worker works.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkArgs {
    /// How many tasks run at a time
    #[arg(long, short = 'P', value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1024))]
    parallel: u16,

    /// End when nothing waits or runs any more
    #[arg(long)]
    drain: bool,

    /// How long a task stays with a worker that is not heard of
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = lease)]
    lease: Duration,
}

/// The store, and where what tasks write is kept.
pub(crate) struct Kept {
    pub(crate) store: Store,
    pub(crate) logs: Option<PathBuf>,
    keep: Duration,
}

impl WorkArgs {
    /// The same for a worker within another command.
    pub(crate) fn beside(parallel: u16) -> Self {
        Self { parallel, drain: false, lease: Duration::from_secs(30) }
    }

    pub(crate) fn worker(&self, fleet: Arc<Fleet>, kept: &Kept, observer: Arc<dyn Observer>) -> Worker {
        let settings = Settings {
            parallel: self.parallel.into(),
            lease: self.lease,
            logs: kept.logs.clone(),
            keep: kept.keep,
            drain: self.drain,
        };
        Worker { fleet, store: kept.store.clone(), observer, settings }
    }
}

impl Kept {
    /// The store that the configuration names, or the usual one.
    pub(crate) fn open(config: &Config) -> anyhow::Result<Self> {
        let store = control::open_store(config).context("cannot open the store")?;
        Ok(Self::of(store, config))
    }

    /// The same with a store that is open.
    fn of(store: Store, config: &Config) -> Self {
        let logs = decisions::state_folder(&environment()).map(|folder| folder.join("tasks"));
        Self { store, logs, keep: Duration::from_secs(24 * 60 * 60) * config.keep_days }
    }

    /// Leaves tasks to a worker.
    pub(crate) async fn leave(&self, tasks: &[Task]) -> anyhow::Result<()> {
        let new: Vec<_> = tasks.iter().map(to_keep).collect::<Result<_, _>>()?;
        self.store.add_tasks(new).await.context("the tasks were not taken")?;
        self.store.close().await;
        Ok(())
    }
}

/// Everything tasks are run with.
pub(crate) struct Stage {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) log: tell::Log,
    /// Ends what is left when this process is killed.
    pub(crate) _guard: Option<std::process::Child>,
}

impl TaskArgs {
    /// For a command that says nothing about single tasks.
    pub(crate) fn silent() -> Self {
        Self { quiet: true, ..Self::default() }
    }

    /// A task with everything the command line says, for a prompt or a command.
    pub(crate) fn task(&self, command: &[String]) -> Task {
        let (command, arguments) = match self.agent {
            Some(_) => (Vec::new(), command.to_vec()),
            None => (command.to_vec(), Vec::new()),
        };
        Task {
            agent: self.agent.clone().unwrap_or_default(),
            command,
            arguments,
            model: self.model.clone(),
            chain: self.chain.clone(),
            label: self.label.clone().unwrap_or_default(),
            policy: self.policy.clone(),
            project: self.project.clone(),
            session: self.session.clone(),
            folder: self.folder.clone(),
            max_retries: self.retries,
            retry_delay: self.retry_delay,
            timeout: self.timeout,
            silence: self.silence,
            deadline: self.deadline,
            budget_usd: self.budget,
            tmux: self.tmux,
            ..Task::default()
        }
    }

    /// Leaves tasks to a worker, where they could be run.
    pub(crate) fn leave(&self, tasks: &[Task], sources: &crate::cli::SourceArgs) -> anyhow::Result<ExitCode> {
        let Some(loaded) = load_or_refuse(sources) else { return Ok(ExitCode::FAILURE) };
        let config = Arc::new(loaded.config);
        let fleet = Fleet::new(Arc::clone(&config), None, std::env::temp_dir())?;
        let here = std::env::current_dir().context("this folder is gone")?;
        let tasks: Vec<Task> = tasks
            .iter()
            .map(|task| Task {
                folder: Some(task.folder.clone().map_or_else(|| here.clone(), |f| here.join(f))),
                ..task.clone()
            })
            .collect();
        for task in &tasks {
            fleet.check(task)?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
        runtime.block_on(Kept::open(&config)?.leave(&tasks))?;
        for task in &tasks {
            data(&if self.json {
                serde_json::json!({ "task_id": task.id, "label": task.label }).to_string()
            } else {
                task.id.clone()
            })?;
        }
        if !self.quiet && !self.json {
            talk("left to a worker; `steadfast tasks list` shows how they do");
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prepares to run tasks; `None` where the configuration cannot be used, which has been said.
    pub(crate) fn stage(&self, sources: &crate::cli::SourceArgs) -> anyhow::Result<Option<Stage>> {
        let Some(loaded) = load_or_refuse(sources) else { return Ok(None) };
        if !self.quiet {
            report(&loaded.warnings);
        }
        let mut config = loaded.config;
        let environment = environment();
        if let Err(error) = decisions::with_default(&mut config, &environment) {
            talk(&format!("there will be no decision log: {error:#}"));
        }
        let state = decisions::state_folder(&environment);
        let folder = state.clone().unwrap_or_else(std::env::temp_dir).join("attempts");
        let log = tell::Log::open(config.decision_log.as_ref(), state.as_deref());
        let gateway = self.gateway(&config);
        let fleet = Arc::new(Fleet::new(Arc::new(config), gateway, folder)?);
        fleet.tidy();
        let guard = guard(&fleet.id).inspect_err(|error| talk(&format!("nobody watches over this process: {error:#}")));
        Ok(Some(Stage { fleet, log, _guard: guard.ok() }))
    }

    /// Where the gateway is, where it runs.
    fn gateway(&self, config: &Config) -> Option<Gateway> {
        if self.no_gateway || !config.enabled {
            return None;
        }
        if let Some(url) = &self.gateway {
            return Some(Gateway { url: url.trim_end_matches('/').to_owned(), lets_in: LetsIn::NotOurs, token: None });
        }
        let answer = probe::get(config.listen, "/", "", GATEWAY_PATIENCE).ok()?;
        // Somebody else may listen there.
        let ours = answer.status == 200 && answer.body.starts_with("Steadfast is running");
        ours.then(|| gateway_at(config.listen, config.admin_token.clone()))
    }
}

/// A worker beside a gateway.
pub(crate) struct Beside {
    stop: watch::Sender<Stop>,
    working: Option<tokio::task::JoinHandle<()>>,
    fleet: Arc<Fleet>,
    kept: Kept,
    _guard: Option<std::process::Child>,
}

/// Starts a worker beside a gateway, on another runtime than the one that serves.
pub(crate) fn work_beside(
    engine: &Arc<Engine>,
    store: &Store,
    address: SocketAddr,
    parallel: u16,
    on: &Handle,
) -> Beside {
    let state = decisions::state_folder(&environment());
    let kept = Kept::of(store.clone(), &engine.snapshot().config);
    // The engine writes the decision log.
    let log = tell::Log::open(None, state.as_deref());
    let folder = state.unwrap_or_else(std::env::temp_dir).join("attempts");
    let fleet = Arc::new(Fleet::beside(Arc::clone(engine), Some(gateway_at(address, None)), folder));
    let guard = guard(&fleet.id).ok();
    let observer = Arc::new(tell::Engine { engine: Arc::clone(engine), log });
    let worker = WorkArgs::beside(parallel).worker(Arc::clone(&fleet), &kept, observer);
    let (stop, stopped) = watch::channel(Stop::No);
    let working = (parallel > 0).then(|| on.spawn(worker.work(stopped)));
    Beside { stop, working, fleet, kept, _guard: guard }
}

/// Our own gateway, as those who listen there are let in.
fn gateway_at(listen: SocketAddr, token: Option<Secret>) -> Gateway {
    let lets_in = if listen.ip().is_loopback() { LetsIn::ThisMachine } else { LetsIn::Keys };
    Gateway { url: Base::new(listen, None).as_str().to_owned(), lets_in, token }
}

impl Beside {
    /// What the control API says about tasks.
    pub(crate) fn routes(&self) -> utoipa_axum::router::OpenApiRouter {
        steadfast_supervisor::api::routes(Arc::clone(&self.fleet), self.kept.store.clone(), self.kept.logs.clone())
    }

    /// What tells the worker to put back what runs.
    pub(crate) fn stop(&self) -> watch::Sender<Stop> {
        self.stop.clone()
    }

    /// Waits until everything is put back, and no longer where the store is away.
    pub(crate) async fn end(self) {
        let Some(mut working) = self.working else { return };
        self.stop.send_replace(Stop::Politely);
        if tokio::time::timeout(PUT_BACK_MAX, &mut working).await.is_err() {
            self.stop.send_replace(Stop::Firmly);
            let _ = working.await;
        }
    }
}

/// Starts the process that ends everything of this supervisor when it is killed itself.
fn guard(id: &str) -> anyhow::Result<std::process::Child> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let mut command = std::process::Command::new(own);
    command.args(["guard", id]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().context("cannot start the guard")
}

/// The first Ctrl-C, SIGTERM or SIGHUP asks politely, the second ends everything.
pub(crate) fn stop_signal() -> anyhow::Result<watch::Receiver<Stop>> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut hangup = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    let (stop, stopped) = watch::channel(Stop::No);
    tokio::spawn(async move {
        for wanted in [Stop::Politely, Stop::Firmly] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = hangup.recv() => {}
            }
            if wanted == Stop::Politely {
                talk("stopping; once more ends it at once");
            }
            stop.send_replace(wanted);
        }
        std::future::pending::<()>().await;
    });
    Ok(stopped)
}

/// The text of a task from a file, or from standard input for `-`.
pub(crate) fn read_task(path: &Path) -> anyhow::Result<String> {
    const BYTES_MAX: u64 = 16 << 20;
    use std::io::Read as _;
    let mut text = String::new();
    let mut take = |reader: &mut dyn std::io::Read| reader.take(BYTES_MAX).read_to_string(&mut text);
    if path == Path::new("-") {
        take(&mut std::io::stdin().lock()).context("cannot read standard input")?;
    } else {
        let mut file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        take(&mut file).with_context(|| format!("cannot read {}", path.display()))?;
    }
    ensure!(!text.trim().is_empty(), "{} is empty: there is no task in it", path.display());
    Ok(text)
}

fn lease(written: &str) -> Result<Duration, String> {
    let known =
        parse_duration(written).filter(|lease| (Duration::from_millis(500)..Duration::from_secs(3600)).contains(lease));
    known.ok_or_else(|| format!("`{written}` is not a duration between 500ms and 1h"))
}

fn seconds(written: &str) -> Result<f64, String> {
    let help = || format!("`{written}` is not a duration such as 90s, 15m or 1h30m");
    parse_duration(written).map(|duration| duration.as_secs_f64()).ok_or_else(help)
}
