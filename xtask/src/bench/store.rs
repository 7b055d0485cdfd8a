//! `cargo xtask bench store`: events a second into SQLite, what pages cost with few and with many events stored, and what
//! listing and leasing cost while a hundred thousand tasks wait.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::{talk, tidy};

const USAGE: &str = "`bench store` takes --seconds N, --few EVENTS, --many EVENTS, --only rate|fill|pages|tasks, --folder FOLDER (kept)";

/// Events a second that SQLite must take.
const RATE_MIN: f64 = 20_000.0;

/// What opening a page may take.
const PAGE_MS_MAX: f64 = 50.0;

/// Ten times as many events may take this much longer.
const GROWTH_MAX: f64 = 1.5;

/// How many tasks wait, and what listing or leasing some of them may take.
const TASKS: &str = "100000";
const TASKS_MS_MAX: f64 = 10.0;

struct Options {
    seconds: u32,
    few: u64,
    many: u64,
    only: Option<String>,
    folder: PathBuf,
}

pub(super) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let options = options(arguments)?;
    let load = build()?;
    std::fs::create_dir_all(&options.folder)?;
    let wanted = |part: &str| options.only.as_deref().is_none_or(|only| only == part);
    let file = |events: u64| options.folder.join(format!("{events}.db")).display().to_string();
    let mut is_met = true;
    if wanted("rate") {
        let fresh = options.folder.join("rate.db");
        forget(&fresh);
        let said = ask(&load, &["rate", &fresh.display().to_string(), &options.seconds.to_string()])?;
        let rate = said["per_second"].as_f64().unwrap_or(0.0);
        is_met &= rate >= RATE_MIN && said["lost"] == 0;
        talk(&format!("events a second into SQLite: {rate:.0} (at least {RATE_MIN:.0}), lost: {}", said["lost"]));
        forget(&fresh);
    }
    for events in [options.few, options.many] {
        if wanted("fill") || wanted("pages") && !Path::new(&file(events)).exists() {
            forget(Path::new(&file(events)));
            let said = ask(&load, &["fill", &file(events), &events.to_string()])?;
            talk(&format!("filled with {} events in {} s", said["events"], said["seconds"]));
        }
    }
    if wanted("pages") {
        let few = ask(&load, &["pages", &file(options.few)])?;
        let many = ask(&load, &["pages", &file(options.many)])?;
        is_met &= table(&options, &few, &many)?;
    }
    if wanted("tasks") {
        let fresh = options.folder.join("tasks.db");
        forget(&fresh);
        let sqlite = ask(&load, &["tasks", &fresh.display().to_string(), TASKS])?;
        let postgres = ask(&load, &["tasks", "postgres", TASKS])?;
        is_met &= tasks(&sqlite, &postgres)?;
        forget(&fresh);
    }
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints both columns and their ratio; says whether every page was quick enough.
fn table(options: &Options, few: &Value, many: &Value) -> anyhow::Result<bool> {
    let (few, many) = (few.as_array().context("no figures")?, many.as_array().context("no figures")?);
    let mut is_met = true;
    talk(&format!("{:<40}{:>14}{:>14}{:>8}", "page, median ms", options.few, options.many, "ratio"));
    for (few, many) in few.iter().zip(many) {
        let ms = |figures: &Value| figures["median_ms"].as_f64().unwrap_or(f64::NAN);
        let name = many["page"].as_str().unwrap_or_default();
        // Under a millisecond the ratio is noise.
        is_met &= ms(many) < PAGE_MS_MAX && (ms(many) < 1.0 || ms(many) / ms(few) < GROWTH_MAX);
        talk(&format!("{name:<40}{:>14.2}{:>14.2}{:>8.2}", ms(few), ms(many), ms(many) / ms(few)));
    }
    Ok(is_met)
}

/// Prints what tasks cost on both databases; says whether everything was quick enough.
fn tasks(sqlite: &Value, postgres: &Value) -> anyhow::Result<bool> {
    let (sqlite, postgres) = (sqlite.as_array().context("no figures")?, postgres.as_array().context("no figures")?);
    let mut is_met = true;
    let head = format!("{TASKS} tasks wait, median ms");
    talk(&format!("{head:<40}{:>14}{:>14}", "SQLite", "PostgreSQL"));
    for (sqlite, postgres) in sqlite.iter().zip(postgres) {
        let ms = |figures: &Value| figures["median_ms"].as_f64().unwrap_or(f64::NAN);
        is_met &= ms(sqlite) < TASKS_MS_MAX && ms(postgres) < TASKS_MS_MAX;
        let name = sqlite["page"].as_str().unwrap_or_default();
        talk(&format!("{name:<40}{:>14.2}{:>14.2}", ms(sqlite), ms(postgres)));
    }
    Ok(is_met)
}

fn options(arguments: &[String]) -> anyhow::Result<Options> {
    let folder = target()?.join("bench-store");
    let mut options = Options { seconds: 10, few: 1_000_000, many: 10_000_000, only: None, folder };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = arguments.next().with_context(|| format!("{argument} needs a value; {USAGE}"))?;
        let number = || value.parse::<u64>().with_context(|| format!("{argument} {value}: not a number"));
        match argument.as_str() {
            "--seconds" => options.seconds = u32::try_from(number()?)?,
            "--few" => options.few = number()?,
            "--many" => options.many = number()?,
            "--only" => options.only = Some(value.clone()),
            "--folder" => options.folder = value.into(),
            other => bail!("unknown option {other}; {USAGE}"),
        }
    }
    Ok(options)
}

fn build() -> anyhow::Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "-p", "steadfast-store", "--example", "load"])
        .current_dir(tidy::root())
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the release build failed");
    Ok(target()?.join("release/examples/load"))
}

/// This runs from `target/debug/xtask`, wherever the target folder is.
fn target() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(Path::parent).context("where is the target folder?")?;
    Ok(target.to_owned())
}

/// Runs the load and reads what it says.
fn ask(load: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = Command::new(load).args(arguments).output().context("cannot run the load")?;
    let talk = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{arguments:?} failed: {talk}");
    serde_json::from_slice(&output.stdout).with_context(|| format!("{arguments:?} said something else than JSON"))
}

/// Removes a store with what SQLite keeps beside it.
fn forget(file: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", file.display()));
    }
}
