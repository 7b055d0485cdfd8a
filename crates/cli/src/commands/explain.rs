//! `steadfast explain`: what an error means and what each step would do about it.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use steadfast_core::backoff::Jitter;
use steadfast_core::classify::record::Record;
use steadfast_core::classify::{Classifier, RULES_VERSION};
use steadfast_core::decision::Skip;
use steadfast_core::policy::Policy;
use steadfast_core::preview::{Preview, preview};
use steadfast_core::recovery::{Face, Outcome};
use steadfast_core::time::Words;
use steadfast_core::{Evidence, Exit, Failure, FailureKind, Surface, Timestamp};

use super::{data, load_or_refuse, policy_named, talk};
use crate::cli::SourceArgs;

/// What failed, and under which policy to look at it.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The error, as it was printed; without it, or with '-', standard input is read
    text: Vec<String>,

    /// The HTTP status of the response
    #[arg(long, value_name = "STATUS", value_parser = clap::value_parser!(u16).range(100..600))]
    status: Option<u16>,

    /// A response header, such as 'retry-after: 7'
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,

    /// Where it was seen [default: http with --status, process with --exit or --signal, else text]
    #[arg(long, value_name = "WHERE")]
    surface: Option<SurfaceArg>,

    /// The exit status of a process
    #[arg(long, value_name = "CODE", conflicts_with = "signal")]
    exit: Option<i32>,

    /// The signal that ended a process
    #[arg(long, value_name = "NUMBER")]
    signal: Option<i32>,

    /// Who answered, as a hint
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// The tool whose call failed, for steps that are for one tool only
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// The policy to explain it under [default: the one of project `default`]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,

    /// What would act on it: a gateway request, an agent task or a council turn
    #[arg(long, value_name = "FACE", default_value = "gateway")]
    face: FaceArg,

    /// For programs: one JSON object
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,

    /// Read recorded failures as JSON lines on standard input and write one line for each
    #[arg(long, conflicts_with_all = ["text", "status", "headers", "surface", "exit", "signal", "provider"])]
    jsonl: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SurfaceArg {
    Http,
    Network,
    Stream,
    Process,
    Text,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FaceArg {
    Gateway,
    Task,
    Council,
}

/// More is never read: the classifier looks at the ends of a body, not at its gigabytes.
const STDIN_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How long standard input may be silent where there is something to explain without it. A command that fails at the
/// other end of a pipe mostly says something sooner; programs that leave a pipe open and write nothing would wait for ever.
const SILENCE_MAX: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &ExplainArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let Some(loaded) = load_or_refuse(sources) else { return Ok(ExitCode::FAILURE) };
    let policy = policy_named(&loaded.config, args.policy.as_deref())?;
    let classifier = Classifier::with_rules(&loaded.config.rules).context("cannot use the rules of the config")?;
    if args.jsonl {
        return explain_lines(&classifier, &policy, args.tool.as_deref());
    }
    let flags_say_enough = args.status.is_some() || args.exit.is_some() || args.signal.is_some();
    let text = match args.text.as_slice() {
        [] => piped_text(flags_say_enough)?,
        [dash] if dash == "-" => text_that_was_asked_for()?,
        words => words.join(" "),
    };
    if text.trim().is_empty() && !flags_say_enough {
        bail!("nothing to explain: give the error as an argument, pipe it in, or say --status 429");
    }
    let headers: Vec<(&str, &str)> = args.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let evidence = Evidence {
        provider: args.provider.as_deref(),
        surface: surface(args),
        status: args.status,
        headers: &headers,
        body: text.as_bytes(),
        transport: None,
        exit: args.exit.map(Exit::Code).or(args.signal.map(Exit::Signal)),
        now: Some(now()),
    };
    let failure = Failure { tool: args.tool.clone(), ..classifier.classify(&evidence) };
    let preview = preview(&policy, &failure, args.face.into());
    if args.json {
        data(&serde_json::to_string_pretty(&whole(&failure, &policy, &preview))?)?;
    } else {
        data(&story(&failure, &policy, &preview))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One line for each recorded failure; a line that cannot be read is told and passed over.
fn explain_lines(classifier: &Classifier, policy: &Policy, tool: Option<&str>) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let mut input = io::stdin().lock();
    for number in 1.. {
        let mut line = Vec::new();
        let read = input.by_ref().take(STDIN_BYTES_MAX).read_until(b'\n', &mut line);
        if read.context("cannot read standard input")? == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        let record = match Record::from_line(&line) {
            Ok(record) => record,
            Err(error) => {
                talk(&format!("error: line {number} of standard input is not a recorded failure: {error}"));
                code = ExitCode::FAILURE;
                continue;
            }
        };
        let headers = record.header_pairs();
        let failure = classifier.classify(&record.evidence(&headers));
        let steps = policy.steps(&failure).1.iter().filter(|rule| rule.applies_to(tool));
        let steps: Vec<&str> = steps.map(|rule| rule.step.name()).collect();
        let told = json!({
            "id": record.id,
            "kind": failure.kind,
            "category": failure.category(),
            "retry_after_ms": failure.retry_after.map(millis),
            "rule": failure.rule,
            "steps": steps,
        });
        data(&told.to_string())?;
    }
    Ok(code)
}

/// For people: what it is, why, and what happens next.
fn story(failure: &Failure, policy: &Policy, preview: &Preview) -> String {
    let mut told = String::new();
    _ = writeln!(told, "{} ({})", failure.kind, failure.category());
    _ = writeln!(told, "  why      rule {} (rules version {RULES_VERSION})", failure.rule);
    if !failure.message.is_empty() {
        _ = writeln!(told, "  message  {}", failure.message);
    }
    if let Some(tool) = &failure.tool {
        _ = writeln!(told, "  tool     a call of {tool} failed");
    }
    if let Some(wait) = failure.retry_after {
        _ = writeln!(told, "  wait     the other side asks for {}", Words(wait));
    }
    if failure.kind == FailureKind::Unknown {
        _ = writeln!(told, "  note     perhaps no failure at all; if it is one, [[rules]] in the config can teach it");
    }
    let (trigger, _) = policy.steps(failure);
    _ = writeln!(told, "\nWhat policy `{}` does about `{trigger}` if it keeps failing:", policy.name);
    for step in &preview.decisions {
        let decision = &step.decision;
        let wait = wait_words(decision.wait, step.jitter);
        let to = decision.to.filter(|to| *to != decision.from).and_then(|to| preview.route.model(to.model.into()));
        let to = to.map(|model| format!(" to {}", model.name)).unwrap_or_default();
        // That a step was used up can be seen from the lines above.
        let telling = decision.passed_over.filter(|skip| *skip != Skip::UsedUp);
        let skip = telling.map(|skip| format!(" ({skip})")).unwrap_or_default();
        let what = format!("{}{to}{wait}", decision.step);
        _ = writeln!(told, "  {:>8}  {what:<30} {}{skip}", Words(step.after), decision.reason);
    }
    told
}

fn whole(failure: &Failure, policy: &Policy, preview: &Preview) -> Value {
    let steps: Vec<Value> = preview
        .decisions
        .iter()
        .map(|step| {
            json!({
                "after_ms": millis(step.after),
                "step": step.decision.step,
                "wait_ms": millis(step.decision.wait),
                "jitter": step.jitter,
                "reason": step.decision.reason.to_string(),
                "passed_over": step.decision.passed_over.map(|skip| skip.to_string()),
            })
        })
        .collect();
    let outcome = match preview.outcome {
        Outcome::Succeeded(_) => "succeeded",
        Outcome::GaveUp(_) => "gave_up",
        Outcome::Degraded => "degraded",
        Outcome::Cancelled => "cancelled",
    };
    json!({
        "kind": failure.kind,
        "category": failure.category(),
        "retry_after_ms": failure.retry_after.map(millis),
        "rule": failure.rule,
        "rules_version": RULES_VERSION,
        "status": failure.status,
        "tool": failure.tool,
        "message": failure.message,
        "policy": policy.name,
        "trigger": policy.steps(failure).0.to_string(),
        "steps": steps,
        "outcome": outcome,
    })
}

fn wait_words(wait: Duration, jitter: Jitter) -> String {
    let words = Words(wait);
    match jitter {
        _ if wait.is_zero() => String::new(),
        Jitter::Spread(0.0) => format!(" in {words}"),
        Jitter::Spread(share) => format!(" in {words} ± {:.0} %", share * 100.0),
        Jitter::Full => format!(" within {words}"),
        Jitter::Decorrelated => format!(" in {words} or more"),
    }
}

/// The error from standard input; nothing where a person sits there and types flags only, or where nobody writes and
/// the flags say enough.
fn piped_text(flags_say_enough: bool) -> anyhow::Result<String> {
    if io::stdin().is_terminal() {
        return Ok(String::new());
    }
    if flags_say_enough && !begins_within(SILENCE_MAX) {
        let silence = Words(SILENCE_MAX);
        talk(&format!("nothing came on standard input for {silence}: explained without it; '-' waits until it ends"));
        return Ok(String::new());
    }
    read_text()
}

/// The error from standard input, however long it takes.
fn text_that_was_asked_for() -> anyhow::Result<String> {
    if io::stdin().is_terminal() {
        talk("reading the error from standard input; Ctrl-D ends it");
    }
    read_text()
}

/// Whether standard input has something to say, or ends, in this time. The thread that waits for it otherwise ends
/// with the process.
fn begins_within(patience: Duration) -> bool {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // What came stays in the buffer, for whoever reads next; an error comes again there.
        _ = io::stdin().lock().fill_buf();
        _ = sender.send(());
    });
    receiver.recv_timeout(patience).is_ok()
}

fn read_text() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(STDIN_BYTES_MAX).read_to_end(&mut bytes).context("cannot read standard input")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn surface(args: &ExplainArgs) -> Surface {
    match args.surface {
        Some(SurfaceArg::Http) => Surface::Http,
        Some(SurfaceArg::Network) => Surface::Network,
        Some(SurfaceArg::Stream) => Surface::Stream,
        Some(SurfaceArg::Process) => Surface::Process,
        Some(SurfaceArg::Text) => Surface::Text,
        None if args.status.is_some() => Surface::Http,
        None if args.exit.is_some() || args.signal.is_some() => Surface::Process,
        None => Surface::Text,
    }
}

fn header(written: &str) -> Result<(String, String), String> {
    let (name, value) = written.split_once(':').ok_or("write it as 'name: value'")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The wall clock, for reset times that are given as a moment.
fn now() -> Timestamp {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp::from_millis(since_epoch.map_or(0, |since| since.as_millis() as i64))
}

impl From<FaceArg> for Face {
    fn from(face: FaceArg) -> Self {
        match face {
            FaceArg::Gateway => Self::GATEWAY,
            FaceArg::Task => Self::TASK,
            FaceArg::Council => Self::COUNCIL,
        }
    }
}
