//! `cargo xtask corpus`: how well the classifier does on labelled failures.
//!
//! Prints the share that is right, strictly and leniently, how well waits are read, and which
//! kinds are confused; fails below the guards. `--wrapped` asks instead whether the words that programs put
//! around a message change what it means. The shared corpus lives outside the repository:
//! where it is absent the command says so and succeeds.

#![expect(clippy::print_stdout, reason = "the report is the command's output")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use steadfast_core::classify::Classifier;
use steadfast_core::classify::record::Record;
use steadfast_core::{Evidence, FailureKind};

const SHARED_CORPUS: &str = "../shared/corpus/failures.jsonl";
const FIXTURES: &str = "fixtures/failures";

/// The least that must be reached, in percent; and the most invented waits.
struct Guards {
    strict: f64,
    lenient: f64,
    waits: f64,
    invented_max: usize,
}

/// For the corpus the rules were written against.
const SHARED: Guards = Guards { strict: 99.0, lenient: 99.5, waits: 98.0, invented_max: 0 };
/// For everything else.
const OTHERS: Guards = Guards { strict: 90.0, lenient: 95.0, waits: 0.0, invented_max: usize::MAX };

#[derive(Default)]
struct Score {
    records: usize,
    strict: usize,
    lenient: usize,
    waits: usize,
    waits_exact: usize,
    invented: usize,
    confusion: BTreeMap<(FailureKind, FailureKind), usize>,
    misses: Vec<String>,
}

/// What programs and people put around a message. None of it says what happened.
const WRAPPERS: &[(&str, &str)] = &[
    ("Error sending message: ", ""),
    ("[281472477697728] Error handling message: ", ""),
    ("Agent stopped: ", ""),
    ("Run failed: ", ""),
    ("Session error: ", ""),
    ("Tool call failed: ", ""),
    ("Failed to get response from model: ", ""),
    ("Failed to generate response. ", ""),
    ("Error interacting with language model\n", ""),
    ("An error occurred while processing your request: ", ""),
    ("Something went wrong. ", ""),
    ("2026-01-01 10:00:00,123 ERROR agent.runner: ", ""),
    ("Please check your network connection.\n", ""),
    ("", "\nPlease check your network connection and API key."),
    ("", " If this persists, contact support."),
    ("", " Retrying in 5 seconds... (attempt 2/5)"),
    ("", " (request id: req_011CTdPELNN3vsieWLZ3tNBo)"),
    ("Error: ", "\n    at Foo.bar (/app/x.js:10:5)"),
];
/// Bodies that are longer come as they are.
const WRAPPED_BYTES_MAX: usize = 600;
/// The most verdicts that wrappers may change, in percent.
const WRAPPED_CHANGED_MAX: f64 = 3.0;

struct Options {
    paths: Vec<PathBuf>,
    misses: bool,
    wrapped: bool,
}

/// Scores every corpus that is there.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<ExitCode> {
    let options = options(arguments)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the repository")?;
    let shared = root.join(SHARED_CORPUS);
    let paths = if options.paths.is_empty() { default_paths(root, &shared)? } else { options.paths };
    let mut good = true;
    for path in paths {
        if !path.exists() {
            println!("{}: absent, nothing to score", path.display());
            continue;
        }
        if options.wrapped {
            good &= wrapped(&path)?;
            continue;
        }
        let score = score(&path)?;
        let guards = if path.file_name() == shared.file_name() { &SHARED } else { &OTHERS };
        score.print(&path, options.misses);
        good &= score.passes(guards);
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn options(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options { paths: Vec::new(), misses: false, wrapped: false };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--misses" => options.misses = true,
            "--wrapped" => options.wrapped = true,
            "--path" => options.paths.push(arguments.next().context("`--path` needs a file")?.into()),
            other => bail!("unknown argument `{other}`: expected `--path FILE`, `--misses` or `--wrapped`"),
        }
    }
    Ok(options)
}

fn default_paths(root: &Path, shared: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = vec![shared.to_owned()];
    let fixtures = root.join(FIXTURES);
    if fixtures.is_dir() {
        for entry in fixtures.read_dir()? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                paths.push(path);
            }
        }
    }
    paths[1..].sort();
    Ok(paths)
}

fn score(path: &Path) -> anyhow::Result<Score> {
    let text = std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    let mut score = Score::default();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let record =
            Record::from_line(line).with_context(|| format!("{}:{}: not a record", path.display(), number + 1))?;
        score.add(&record);
    }
    Ok(score)
}

/// Whether a verdict stays what it is when the usual words stand around the message: of every record that is
/// right, how many wrappers change it.
fn wrapped(path: &Path) -> anyhow::Result<bool> {
    let text = std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    let mut tried = 0;
    let mut changed = vec![0; WRAPPERS.len()];
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let record =
            Record::from_line(line).with_context(|| format!("{}:{}: not a record", path.display(), number + 1))?;
        let headers = record.header_pairs();
        let evidence = record.evidence(&headers);
        let kind = Classifier::builtin().classify(&evidence).kind;
        let is_failure = record.kind == Some(kind) && kind != FailureKind::Unknown;
        if !is_failure || record.body.len() > WRAPPED_BYTES_MAX || record.body.trim_start().starts_with('<') {
            continue;
        }
        for ((before, after), changed) in WRAPPERS.iter().zip(&mut changed) {
            let body = format!("{before}{}{after}", record.body);
            let wrapped = Evidence { body: body.as_bytes(), ..evidence };
            tried += 1;
            *changed += usize::from(Classifier::builtin().classify(&wrapped).kind != kind);
        }
    }
    let share = if tried == 0 { 0.0 } else { percent(changed.iter().sum(), tried) };
    println!("{}: {share:.2} % of {tried} wrapped messages mean something else", path.display());
    for ((before, after), changed) in WRAPPERS.iter().zip(changed).filter(|(_, changed)| *changed > 0) {
        println!("  {changed:>5}  {:?}", format!("{before}...{after}"));
    }
    Ok(share <= WRAPPED_CHANGED_MAX)
}

impl Score {
    fn add(&mut self, record: &Record<'_>) {
        let Some(label) = record.kind else { return };
        let headers = record.header_pairs();
        let failure = Classifier::builtin().classify(&record.evidence(&headers));
        let wait_ms = failure.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let strict = failure.kind == label;
        let lenient = strict || record.alt.contains(&failure.kind);
        self.records += 1;
        self.strict += usize::from(strict);
        self.lenient += usize::from(lenient);
        self.waits += usize::from(record.retry_after_ms.is_some());
        self.waits_exact += usize::from(record.retry_after_ms.is_some() && wait_ms == record.retry_after_ms);
        self.invented += usize::from(record.retry_after_ms.is_none() && wait_ms.is_some());
        if !strict {
            *self.confusion.entry((label, failure.kind)).or_default() += 1;
        }
        if !strict || wait_ms != record.retry_after_ms {
            let body: String = record.body.chars().take(220).collect();
            let mark = if lenient { "~" } else { "x" };
            let status = record.status.map(|status| format!(" {status}")).unwrap_or_default();
            self.misses.push(format!(
                "{mark} {} [{}{status}] {label} not {} by {}; wait {:?} not {wait_ms:?}\n    {body:?}",
                record.id,
                record.surface.as_deref().unwrap_or("-"),
                failure.kind,
                failure.rule,
                record.retry_after_ms
            ));
            let matches = Classifier::builtin().matches(&record.evidence(&headers));
            self.misses.extend(
                matches
                    .iter()
                    .map(|(rule, words)| format!("    {:?} {} {}: {words:?}", rule.weight, rule.kind, rule.name)),
            );
        }
    }

    fn print(&self, path: &Path, misses: bool) {
        println!("{}: {} records", path.display(), self.records);
        println!("  strict  {:>6.2} %", percent(self.strict, self.records));
        println!("  lenient {:>6.2} %", percent(self.lenient, self.records));
        println!(
            "  waits   {:>6.2} % of {} exact, {} invented",
            percent(self.waits_exact, self.waits),
            self.waits,
            self.invented
        );
        if !self.confusion.is_empty() {
            println!("  labelled              classified            records");
        }
        for ((label, kind), count) in &self.confusion {
            println!("  {label:<20}  {kind:<20}  {count:>7}");
        }
        if misses {
            self.misses.iter().for_each(|miss| println!("  {miss}"));
        }
    }

    fn passes(&self, guards: &Guards) -> bool {
        let figures = [
            ("strict", percent(self.strict, self.records), guards.strict),
            ("lenient", percent(self.lenient, self.records), guards.lenient),
            ("waits", percent(self.waits_exact, self.waits), guards.waits),
        ];
        let mut good = true;
        for (name, figure, guard) in figures {
            if figure < guard {
                println!("  {name} is below its guard of {guard} %");
                good = false;
            }
        }
        if self.invented > guards.invented_max {
            println!("  {} waits are invented", self.invented);
            good = false;
        }
        good
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}
