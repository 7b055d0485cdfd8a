//! `steadfast demo`: fake providers that fail on purpose, a gateway, live traffic, and a screen.
//!
//! Everything is real but the providers: the gateway of `steadfast serve` with the shipped policy,
//! on real sockets. What is shown was counted by the clients and by the fake.

mod client;
mod scene;
mod screen;
mod tally;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::{Value, json};
use steadfast_api::{Api, Configuration as _, Control};
use steadfast_core::breaker::State;
use steadfast_engine::Engine;
use steadfast_fake::Fake;
use steadfast_gateway::{Gateway, Settings};
use steadfast_store::{Address, Options, Store};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use self::scene::{CALM, SCENES};
use self::screen::{Breaker, View, by, percent};
use self::tally::{Tail, Tally};
use super::{data, environment, talk};
use crate::cli::SourceArgs;
use crate::screen::Screen;
use crate::{control, decisions};

/// How long to show, and to whom.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// End after this many seconds [default: on Ctrl-C; 20 where stdout is no terminal]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,

    /// For programs: the summary as one JSON object, and nothing else on stdout
    #[arg(long)]
    json: bool,

    /// Do not open the dashboard in a browser
    #[arg(long)]
    no_open: bool,
}

/// Without a terminal nobody is there to press Ctrl-C.
const SECONDS_UNATTENDED: u32 = 20;

/// How many clients there are; together they make some ten requests a second.
const CLIENTS: usize = 8;

/// How long a client thinks between two requests.
const THINKING: Duration = Duration::from_millis(350);

/// How often the picture is drawn.
const TICK: Duration = Duration::from_millis(200);

/// How long requests that are under way may take after the end.
const GRACE: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &DemoArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the runtime")?;
    let shown = runtime.block_on(show(args, sources));
    runtime.shutdown_timeout(Duration::from_secs(1));
    shown
}

/// Everything that runs.
struct Stage {
    fake: Fake,
    engine: Arc<Engine>,
    control: Control,
    address: SocketAddr,
    log: PathBuf,
    tally: Arc<Mutex<Tally>>,
    tail: Tail,
    stop: oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<()>,
    began: Instant,
    began_ms: i64,
}

/// The clients, until they are told to stop.
struct Crowd {
    stopped: Arc<AtomicBool>,
    asking: Arc<AtomicUsize>,
}

async fn show(args: &DemoArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let mut stage = Stage::build(sources).await?;
    let url = format!("http://{}", stage.address);
    talk(&greeting(&url));
    let screen = if args.json { None } else { Screen::take() };
    if screen.is_some() && !args.no_open {
        open_browser(&format!("{url}/"));
    }
    let seconds = args.seconds.or(screen.is_none().then_some(SECONDS_UNATTENDED));
    let whole = seconds.map(|seconds| Duration::from_secs(seconds.into()));
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;

    let crowd = Crowd::gather(&stage);
    let each = scene::scene_time(whole);
    let mut playing = None;
    let mut ticks = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
        }
        let elapsed = stage.began.elapsed();
        if whole.is_some_and(|whole| elapsed >= whole) || screen.as_ref().is_some_and(Screen::is_gone) {
            break;
        }
        let number = usize::try_from(elapsed.as_millis() / each.as_millis()).unwrap_or(0) % SCENES.len();
        if playing.replace(number) != Some(number) {
            SCENES[number].play(&stage.fake)?;
            stage.control.play(SCENES[number].title);
            if screen.is_none() && !args.json {
                data(&format!("{:>6.1}s playing: {}", elapsed.as_secs_f64(), SCENES[number].title))?;
            }
        }
        let fresh = stage.read_log()?;
        match &screen {
            Some(screen) => stage.draw(screen, &url, SCENES[number].title)?,
            None if args.json => {}
            None => stage.say(fresh)?,
        }
    }
    let elapsed = stage.began.elapsed();
    drop(screen);
    // Who has asked gets an answer: otherwise the counts of both sides would not fit together.
    CALM.play(&stage.fake)?;
    stage.control.play(CALM.title);
    talk("ending: answers that are under way may finish; Ctrl-C ends it at once");
    tokio::select! {
        () = crowd.leave() => {}
        () = tokio::time::sleep(GRACE) => {}
        _ = interrupt.recv() => {}
    }
    let unfinished = crowd.asking.load(Ordering::Relaxed);
    stage.end(args.json, elapsed, unfinished).await
}

impl Stage {
    async fn build(sources: &SourceArgs) -> anyhow::Result<Self> {
        let fake = Fake::start().await.context("cannot start the fake providers")?;
        fake.keep_bodies(false);
        let tally = Arc::new(Mutex::new(Tally::default()));
        let watched = Arc::clone(&tally);
        fake.watch(move |request| lock(&watched).provider(request));
        SCENES[0].play(&fake)?;
        let log = log_path();
        let listen = sources.listen.as_deref().unwrap_or("127.0.0.1:0");
        let script = scene::Script::of(&fake, listen, &log);
        let engine = Engine::start(script.load(&Value::Null).map_err(|problems| anyhow!("{problems}"))?.config)?;
        let settings = Settings { drain: Duration::from_secs(1), ..Settings::default() };
        let store = Store::open(Options::new(Address::sqlite(":memory:"), 1)).context("cannot open a store")?;
        let control = control::start(Arc::clone(&engine), store, Arc::new(script)).await;
        control.play(SCENES[0].title);
        let api = Api::new(control.clone(), []);
        let gateway = Gateway::bind(Arc::clone(&engine), settings).await?.with_api(api);
        let address = gateway.address();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(gateway.serve(async {
            let _ = stopped.await;
        }));
        let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            fake,
            engine,
            control,
            address,
            tally,
            tail: Tail::new(log.clone()),
            log,
            stop,
            serving,
            began: Instant::now(),
            began_ms: i64::try_from(epoch.as_millis()).unwrap_or(0),
        })
    }

    /// Counts what the gateway has decided since the last time, and says how many decisions it were.
    fn read_log(&mut self) -> anyhow::Result<usize> {
        let records = self.tail.read().with_context(|| format!("cannot read {}", self.log.display()))?;
        let decided = records.iter().filter(|record| record.event == steadfast_core::record::Event::Decision).count();
        let mut tally = lock(&self.tally);
        records.into_iter().for_each(|record| tally.record(record));
        Ok(decided)
    }

    fn draw(&self, screen: &Screen, url: &str, scene: &str) -> anyhow::Result<()> {
        let breakers = self.breakers();
        let tally = lock(&self.tally);
        let elapsed = self.began.elapsed();
        let view = View { url, elapsed, scene, tally: &tally, breakers: &breakers, began_ms: self.began_ms };
        screen.show(|rows| screen::draw(&view, rows)).context("cannot draw")
    }

    /// The newest decisions as lines, oldest first.
    fn say(&self, fresh: usize) -> anyhow::Result<()> {
        let lines: Vec<String> = {
            let tally = lock(&self.tally);
            let fresh = tally.recent.iter().take(fresh).collect::<Vec<_>>();
            fresh.iter().rev().map(|record| screen::decision(record, self.began_ms).render(usize::MAX, false)).collect()
        };
        lines.iter().try_for_each(|line| data(line))
    }

    fn breakers(&self) -> Vec<(String, Breaker)> {
        let snapshot = self.engine.snapshot();
        let now = self.engine.clock().now();
        let told = snapshot.world.endpoints().map(|(_, endpoint)| {
            let state = match (endpoint.set_aside_until(now), endpoint.breaker.state(now)) {
                (Some(until), _) => Breaker::SetAside(now.until(until)),
                (None, State::Open { until }) => Breaker::Open(now.until(until)),
                (None, State::HalfOpen) => Breaker::HalfOpen,
                (None, State::Closed) if endpoint.is_paused(now) => Breaker::Paused,
                (None, State::Closed) => Breaker::Closed,
            };
            (endpoint.name.to_string(), state)
        });
        let mut told: Vec<_> = told.collect();
        told.sort_by_key(|(name, _)| scene::ENDPOINTS.iter().position(|known| known == name));
        told
    }

    /// Stops everything and sums up.
    async fn end(mut self, json: bool, elapsed: Duration, unfinished: usize) -> anyhow::Result<ExitCode> {
        let breakers = self.breakers();
        self.engine.flush();
        self.read_log()?;
        let _ = self.stop.send(());
        let _ = self.serving.await;
        let tally = lock(&self.tally);
        if json {
            let mut summary = tally.summary();
            summary["seconds"] = json!(elapsed.as_secs_f64());
            summary["clients"]["unfinished"] = json!(unfinished);
            summary["log"] = json!(self.log.display().to_string());
            let endpoints = breakers.iter().map(|(name, breaker)| {
                let side = tally.endpoints.get(name).copied().unwrap_or_default();
                json!({ "name": name, "ok": side.ok, "failed": side.failed, "breaker": breaker.words() })
            });
            summary["endpoints"] = endpoints.collect::<Value>();
            data(&serde_json::to_string_pretty(&summary)?)?;
        } else {
            data(&summary(&tally, elapsed, unfinished))?;
            talk(&farewell(&tally, &self.log));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Crowd {
    fn gather(stage: &Stage) -> Self {
        let crowd = Self { stopped: Arc::new(AtomicBool::new(false)), asking: Arc::new(AtomicUsize::new(0)) };
        for client in 0..CLIENTS {
            let (stopped, asking) = (Arc::clone(&crowd.stopped), Arc::clone(&crowd.asking));
            let (tally, gateway) = (Arc::clone(&stage.tally), stage.address);
            tokio::spawn(async move {
                // Not all in the same moment.
                tokio::time::sleep(THINKING * client as u32 / CLIENTS as u32).await;
                for number in 0.. {
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    asking.fetch_add(1, Ordering::Relaxed);
                    let asked = client::ask(gateway, client, number).await;
                    lock(&tally).client(asked);
                    asking.fetch_sub(1, Ordering::Relaxed);
                    tokio::time::sleep(THINKING).await;
                }
            });
        }
        crowd
    }

    /// Tells everybody to stop, and waits for those who are waiting for an answer.
    async fn leave(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        while self.asking.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(TICK / 4).await;
        }
    }
}

/// A log of the demo's own, begun anew each time; in the folder for temporary files where there is
/// no better one.
fn log_path() -> PathBuf {
    let usual = decisions::demo_path(&environment()).filter(|path| decisions::fresh(path).is_ok());
    usual.unwrap_or_else(|| std::env::temp_dir().join(format!("steadfast-demo-{}.jsonl", std::process::id())))
}

/// Opens the dashboard where there is a desktop; everybody else has read where it is.
fn open_browser(url: &str) {
    let is_desktop = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    if is_desktop {
        let quiet = std::process::Stdio::null;
        let opened =
            tokio::process::Command::new(program).arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
        if let Err(error) = opened {
            tracing::debug!(%error, program, "cannot open a browser");
        }
    }
}

fn greeting(url: &str) -> String {
    format!(
        "fake providers that fail on purpose, behind a gateway on {url}\n\
         watch it in a browser: the dashboard is at {url}/\n\
         while it runs your own client may join, with any key and any model:\n  \
         OPENAI_BASE_URL={url}/v1\n  ANTHROPIC_BASE_URL={url}\n  GOOGLE_GEMINI_BASE_URL={url}\n"
    )
}

fn summary(tally: &Tally, elapsed: Duration, unfinished: usize) -> String {
    let mut told = String::new();
    // Writing to memory cannot fail.
    let _ = writeln!(
        told,
        "\nclients    {:>6} requests {:>6} served {:>6} failed {:>6} %  in {:.0} s",
        tally.requests(),
        tally.served,
        tally.failed,
        percent(tally.success()),
        elapsed.as_secs_f64(),
    );
    let _ = writeln!(
        told,
        "providers  {:>6} attempts {:>6} served {:>6} failed {:>6} %  {:.2} each",
        tally.providers.all(),
        tally.providers.ok,
        tally.providers.failed,
        percent(tally.providers.share()),
        tally.attempts_per_request(),
    );
    let _ = writeln!(told, "recovered  {:>6} requests{}", tally.recovered, by(tally));
    let mut faults: Vec<_> = tally.faults.iter().collect();
    faults.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (row, some) in faults.chunks(4).enumerate() {
        let some: Vec<String> = some.iter().map(|(words, count)| format!("{words} {count}")).collect();
        let _ = writeln!(told, "{:<9}  {}", if row == 0 { "played" } else { "" }, some.join(", "));
    }
    if let Some(complaint) = &tally.complaint {
        let _ = writeln!(told, "the last complaint of a client: {complaint}");
    }
    if unfinished > 0 {
        let _ = writeln!(told, "{unfinished} requests were still under way and count nowhere");
    }
    if tally.others > 0 {
        let _ = writeln!(told, "your own clients made the providers {} requests more", tally.others);
    }
    told
}

fn farewell(tally: &Tally, log: &std::path::Path) -> String {
    let usual = decisions::demo_path(&environment()).is_some_and(|usual| usual == log);
    let named = if usual { String::new() } else { format!(" --log {}", log.display()) };
    let example = tally.example.as_ref();
    let why = example.map(|(id, _)| format!("  steadfast why {id}{named}   what happened to one of them\n"));
    format!("\nnext:\n{}  steadfast serve                      your own clients and providers", why.unwrap_or_default())
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}
