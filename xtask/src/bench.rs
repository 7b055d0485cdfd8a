//! `cargo xtask bench gateway`: Steadfast against a bare nginx and the direct connection.
//!
//! All columns are measured in the same run, round by round in turn, so that whatever else runs on
//! the machine meets them all. Ratios are taken within a round; medians over rounds are printed.

mod faults;
mod idle;
mod load;
mod report;
mod stage;
mod store;
mod tasks;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};

use self::load::{Request, closed_loop};
use self::report::{Bound, Figure, Single, Table};
use self::stage::{Folder, Served};
use crate::{talk, tidy};

/// What can be set.
#[derive(Debug)]
struct Options {
    rounds: usize,
    round: Duration,
    soak: Duration,
    only: Option<String>,
    /// Measured instead of a build of what is here: to compare with how it was before.
    binary: Option<PathBuf>,
}

const USAGE: &str = "`bench gateway` takes --rounds N, --seconds N (of a round), --soak SECONDS, --only plain|latency|streams|memory|events|soak|faults, --binary FILE";

/// Slow streams that are open at once.
const OPEN_STREAMS: usize = 2000;

/// 50 chunks, each written for itself.
const STREAM: &str = "gpt-5@ok,words=50,delay=1ms";

/// An answer of about 1 KB.
const PLAIN: &str = "gpt-5@ok,words=90";

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let rest = match arguments.split_first().map(|(what, rest)| (what.as_str(), rest)) {
        Some(("gateway", rest)) => rest,
        Some(("store", rest)) => return store::run(rest),
        Some(("tasks", rest)) => return tasks::run(rest, build).map(|()| ExitCode::SUCCESS),
        _ => bail!("expected `bench gateway`, `bench store` or `bench tasks` (--tasks N, --binary FILE); {USAGE}"),
    };
    let options = options(rest)?;
    let binary = options.binary.clone().map_or_else(build, Ok)?;
    // One thread of clients: with the provider and the proxy it shares few cores.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let table = runtime.block_on(measure(&options, &binary))?;
    table.print();
    Ok(if table.missed().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn options(arguments: &[String]) -> anyhow::Result<Options> {
    let (round, soak) = (Duration::from_secs(2), Duration::from_secs(30));
    let mut options = Options { rounds: 7, round, soak, only: None, binary: None };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} needs a value; {USAGE}"))?;
        let number = || value.parse::<u32>().with_context(|| format!("{argument} {value}: not a number"));
        match argument.as_str() {
            "--rounds" => options.rounds = number()?.max(1) as usize,
            "--seconds" => options.round = Duration::from_secs(number()?.max(1).into()),
            "--soak" => options.soak = Duration::from_secs(number()?.max(4).into()),
            "--binary" => options.binary = Some(value.into()),
            "--only" => options.only = Some(value.clone()),
            other => bail!("unknown option {other}; {USAGE}"),
        }
    }
    Ok(options)
}

/// The release build that users run.
fn build() -> anyhow::Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "-p", "steadfast-cli"])
        .current_dir(tidy::root())
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the release build failed");
    // This runs from `target/debug/xtask`, wherever the target folder is.
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(|folder| folder.parent()).context("where is the target folder?")?;
    Ok(target.join("release").join("steadfast"))
}

async fn measure(options: &Options, binary: &Path) -> anyhow::Result<Table> {
    let folder = Folder::new()?;
    let workers = std::thread::available_parallelism()?.get();
    let fake = stage::fake(&folder, binary)?;
    let nginx = stage::nginx(&folder, fake.addr, workers)?;
    // The figures are meant with decision log and metrics; what keeping requests adds to them stands beside.
    let gateway = stage::keeping(&folder, binary, fake.addr, false)?;
    let keeping = stage::steadfast(&folder, binary, fake.addr)?;
    let sides = Sides { direct: fake.addr, nginx: &nginx, gateway: &gateway, options };
    let kept = Sides { gateway: &keeping, ..sides };
    let wanted = |part: &str| options.only.as_deref().is_none_or(|only| only == part);
    let mut table = Table::default();
    if wanted("plain") {
        talk("64 connections");
        let rounds = sides.rounds(&Request::chat(PLAIN, 2000, false), 64).await?;
        table.figure("requests/s, 64 connections", &rounds, |round| round.per_second, Bound::AtLeast(0.6));
        table.figure("CPU per request, us, 64 connections", &rounds, |round| round.processor_us, Bound::AtMost(2.5));
        table.figure("p50, us, 64 connections", &rounds, |round| round.p50_us, Bound::None);
        table.figure("p99, us, 64 connections", &rounds, |round| round.p99_us, Bound::None);
    }
    if wanted("latency") {
        for connections in [1, 16] {
            talk(&format!("{connections} connections"));
            let rounds = sides.rounds(&Request::chat(PLAIN, 2000, false), connections).await?;
            let many = if connections == 1 { "connection" } else { "connections" };
            let named = |what: &str| format!("{what}, us, {connections} {many}");
            table.figure(&named("p50"), &rounds, |round| round.p50_us, Bound::AtMost(1.5));
            table.figure(&named("p99"), &rounds, |round| round.p99_us, Bound::AtMost(1.5));
            let rounds = kept.rounds(&Request::chat(PLAIN, 2000, false), connections).await?;
            table.figure(&named("requests kept: p50"), &rounds, |round| round.p50_us, Bound::None);
            table.figure(&named("requests kept: p99"), &rounds, |round| round.p99_us, Bound::None);
        }
    }
    if wanted("streams") {
        talk("200 streams at once");
        let rounds = sides.rounds(&Request::chat(STREAM, 2000, true), 200).await?;
        table.figure("streams/s, 200 at once, 50 chunks", &rounds, |round| round.per_second, Bound::AtLeast(0.3));
        table.figure("CPU per stream, us", &rounds, |round| round.processor_us, Bound::None);
        table.figure("first token p50, us", &rounds, |round| round.first_token_p50_us, Bound::AtMost(1.5));
        table.figure("first token p99, us", &rounds, |round| round.first_token_p99_us, Bound::None);
    }
    drop((gateway, keeping));
    if wanted("memory") {
        talk(&format!("{OPEN_STREAMS} open streams"));
        let fresh = stage::steadfast(&folder, binary, fake.addr)?;
        let ours = faults::open_streams(&fresh, OPEN_STREAMS).await?;
        drop(fresh);
        let theirs = faults::open_streams(&nginx, OPEN_STREAMS).await?;
        let name = format!("resident KiB per stream, {OPEN_STREAMS} slow streams");
        table.single(&Single { name, ours, theirs: Some(theirs), bound: Bound::AtMost(40.0) });
    }
    drop(nginx);
    if wanted("events") {
        talk("requests kept, and not");
        let ours = events(options, &folder, binary, fake.addr).await?;
        let name = "requests/s with every request kept / with none, 64 connections".to_owned();
        table.single(&Single { name, ours, theirs: None, bound: Bound::AtLeast(0.9) });
    }
    if wanted("soak") {
        let seconds = options.soak.as_secs();
        talk(&format!("soak, {seconds} s"));
        let fresh = stage::steadfast(&folder, binary, fake.addr)?;
        let ours = faults::soak(&fresh, options.soak).await?;
        let name = format!("memory at the end of a soak of {seconds} s / in its second quarter");
        table.single(&Single { name, ours, theirs: None, bound: Bound::AtMost(1.05) });
    }
    if wanted("faults") {
        talk("a large body, an outage");
        let ours = faults::large_body(async |upstream| stage::steadfast(&folder, binary, upstream)).await?;
        let name = "attempts that carried a body of 1.5 MB whole, of 3".to_owned();
        table.single(&Single { name, ours, theirs: None, bound: Bound::AtLeast(3.0) });
        let fresh = stage::steadfast(&folder, binary, fake.addr)?;
        let ours = faults::outage(&fake, fresh.addr).await?;
        let name = "upstream requests per client request, outage, 200 clients".to_owned();
        table.single(&Single { name, ours, theirs: None, bound: Bound::AtMost(1.3) });
    }
    Ok(table)
}

/// Throughput with the store at work over that without, the median of rounds in turn.
async fn events(options: &Options, folder: &Folder, binary: &Path, upstream: SocketAddr) -> anyhow::Result<f64> {
    let keeps = stage::keeping(folder, binary, upstream, true)?;
    let forgets = stage::keeping(folder, binary, upstream, false)?;
    let request = Request::chat(PLAIN, 2000, false);
    let mut ratios = Vec::new();
    for round in 0..=options.rounds {
        let kept = one(keeps.addr, None, &request, 64, options.round).await.context("with a store")?;
        let forgot = one(forgets.addr, None, &request, 64, options.round).await.context("without")?;
        if round > 0 {
            ratios.push(kept.per_second / forgot.per_second);
        }
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[ratios.len() / 2])
}

/// Who is compared.
#[derive(Clone, Copy)]
struct Sides<'a> {
    direct: SocketAddr,
    nginx: &'a Served,
    gateway: &'a Served,
    options: &'a Options,
}

impl Sides<'_> {
    /// The same load on each in turn, over and over: direct, nginx, Steadfast.
    async fn rounds(&self, request: &Request, connections: usize) -> anyhow::Result<Vec<[Figure; 3]>> {
        let warm = Duration::from_millis(300);
        let mut rounds = Vec::new();
        for round in 0..=self.options.rounds {
            // The first one is for caches, pools and page tables.
            let time = if round == 0 { warm } else { self.options.round };
            let direct = one(self.direct, None, request, connections, time).await.context("direct")?;
            let nginx = one(self.nginx.addr, Some(self.nginx), request, connections, time).await.context("nginx")?;
            let gateway =
                one(self.gateway.addr, Some(self.gateway), request, connections, time).await.context("Steadfast")?;
            if round > 0 {
                rounds.push([direct, nginx, gateway]);
            }
        }
        Ok(rounds)
    }
}

async fn one(
    to: SocketAddr,
    process: Option<&Served>,
    request: &Request,
    connections: usize,
    time: Duration,
) -> anyhow::Result<Figure> {
    let used = || process.map_or(Duration::ZERO, Served::processor_time);
    let before = used();
    let seen = closed_loop(to, request, connections, time).await?;
    Ok(Figure::of(seen, used().saturating_sub(before)))
}
