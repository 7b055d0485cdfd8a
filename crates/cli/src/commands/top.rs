//! `steadfast top`: what a running gateway is doing, live: traffic, failures, breakers, retries that wait.
//!
//! It looks at the control API once a second. Where stdout is no terminal it prints what it sees once.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;
use steadfast_core::time::Words;
use tokio::signal::unix::{SignalKind, signal};

use super::data;
use crate::cli::SourceArgs;
use crate::client::{Client, ClientArgs};
use crate::screen::{Ink, Line, Screen};

/// Which gateway, and how often.
#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    client: ClientArgs,

    /// Print what there is to see once, and end
    #[arg(long)]
    once: bool,

    /// For programs: the same as one JSON object
    #[arg(long)]
    json: bool,
}

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Requests that are listed where nobody says how much room there is.
const ROWS_PLAIN: usize = 40;

/// What was seen.
struct Seen {
    now: Value,
    endpoints: Value,
    alerts: Value,
}

pub(crate) fn run(args: &TopArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let client = Client::of(&args.client, sources)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    runtime.block_on(show(args, &client))
}

async fn show(args: &TopArgs, client: &Client) -> anyhow::Result<ExitCode> {
    let first = Seen::at(client).await?;
    if args.json {
        let all = serde_json::json!({ "now": first.now, "endpoints": first.endpoints["endpoints"], "alerts": first.alerts["items"] });
        data(&serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let screen = if args.once { None } else { Screen::take() };
    let Some(screen) = screen else {
        let lines: Vec<String> =
            draw(client, &Ok(first), ROWS_PLAIN).iter().map(|line| line.render(usize::MAX, false)).collect();
        data(&lines.join("\n"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut seen = Ok(first);
    while !screen.is_gone() {
        screen.show(|rows| draw(client, &seen, rows)).context("cannot draw")?;
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = interrupt.recv() => break,
            _ = terminate.recv() => break,
        }
        // A gateway that is started anew comes back by itself.
        seen = Seen::at(client).await;
    }
    Ok(ExitCode::SUCCESS)
}

impl Seen {
    async fn at(client: &Client) -> anyhow::Result<Self> {
        let now = client.get("/api/now").await?;
        let endpoints = client.get("/api/endpoints").await?;
        // A project's key sees no alerts.
        let alerts = client.get("/api/alerts?open=true&limit=5").await.unwrap_or_default();
        Ok(Self { now, endpoints, alerts })
    }
}

fn draw(client: &Client, seen: &anyhow::Result<Seen>, rows: usize) -> Vec<Line> {
    let head = Line::of(Ink::Bold, "steadfast top").and(Ink::Plain, format!("  {}  ", client.url()));
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => return vec![head.and(Ink::Bad, format!("{error:#}"))],
    };
    let mut lines = vec![head.and(Ink::Faint, "Ctrl-C ends it"), Line::default()];
    lines.extend(traffic(&seen.now));
    lines.push(Line::default());
    lines.extend(endpoints(&seen.endpoints));
    lines.extend(alerts(&seen.alerts));
    lines.push(Line::default());
    lines.extend(requests(&seen.now));
    lines.truncate(rows.max(1));
    lines
}

fn traffic(now: &Value) -> Vec<Line> {
    let count = |name: &str| now["minute"][name].as_u64().unwrap_or(0);
    let (served, failed) = (count("served"), count("failed"));
    let rates: Vec<u64> = now["traffic"]
        .as_array()
        .map(|seconds| seconds.iter().map(|second| second["requests"].as_u64().unwrap_or(0)).collect())
        .unwrap_or_default();
    let per_second = count("requests") as f64 / rates.len().max(1) as f64;
    let share = if served + failed == 0 { 100.0 } else { served as f64 * 100.0 / (served + failed) as f64 };
    let ink = if failed == 0 { Ink::Good } else { Ink::Bad };
    vec![
        Line::of(Ink::Plain, format!("last minute  {:>6} requests  {per_second:>6.1}/s  ", count("requests")))
            .and(ink, format!("{served} served, {failed} failed ({share:.1} %)")),
        Line::of(
            Ink::Plain,
            format!("attempts     {:>6} failed, {} requests recovered", count("failures"), count("recovered")),
        ),
        Line::of(Ink::Faint, format!("requests/s   {}", bars(&rates))),
    ]
}

/// One sign a second, as high as the traffic was.
fn bars(rates: &[u64]) -> String {
    const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = rates.iter().copied().max().unwrap_or(0).max(1);
    let sign = |rate: &u64| if *rate == 0 { ' ' } else { SIGNS[usize::try_from(rate * 7 / most).unwrap_or(7).min(7)] };
    rates.iter().map(sign).collect()
}

fn endpoints(endpoints: &Value) -> Vec<Line> {
    let known = endpoints["endpoints"].as_array().map_or(&[][..], Vec::as_slice);
    let wide = known.iter().filter_map(|endpoint| endpoint["name"].as_str()).map(str::len).max().unwrap_or(0).max(8);
    let mut lines = vec![Line::of(
        Ink::Faint,
        format!("{:<wide$}  {:<22}{:>7}{:>8}{:>9}  last failure", "endpoint", "breaker", "served", "failed", "latency"),
    )];
    for endpoint in known {
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let breaker = &endpoint["breaker"];
        let state = match breaker["override"]["mode"].as_str() {
            Some(mode) => format!("{mode} (a person)"),
            None if endpoint["set_aside_until"].is_string() => "quota exhausted".to_owned(),
            None => text(&breaker["state"]),
        };
        let ink = match (endpoint["usable"].as_bool(), breaker["state"].as_str()) {
            (Some(true), Some("closed")) => Ink::Good,
            (Some(true), _) => Ink::Doubt,
            _ => Ink::Bad,
        };
        let latency = endpoint["latency_ms"]
            .as_u64()
            .map_or_else(|| "-".to_owned(), |ms| Words(Duration::from_millis(ms)).to_string());
        lines.push(
            Line::of(Ink::Plain, format!("{:<wide$}  ", text(&endpoint["name"]))).and(ink, format!("{state:<22}")).and(
                Ink::Plain,
                format!(
                    "{:>7}{:>8}{latency:>9}  {}",
                    endpoint["minute"]["served"].as_u64().unwrap_or(0),
                    endpoint["minute"]["failures"].as_u64().unwrap_or(0),
                    text(&endpoint["last_failure"]["kind"]),
                ),
            ),
        );
    }
    lines
}

fn alerts(alerts: &Value) -> Vec<Line> {
    let known = alerts["items"].as_array().map_or(&[][..], Vec::as_slice);
    known.iter().map(|alert| Line::of(Ink::Bad, format!("alert: {}", alert["reason"].as_str().unwrap_or("")))).collect()
}

fn requests(now: &Value) -> Vec<Line> {
    let mut lines = vec![Line::of(
        Ink::Plain,
        format!("{} requests under way, {} wait for their next attempt", now["under_way"], now["waiting"]),
    )];
    let time = now["time"].as_str().and_then(|time| time.parse::<jiff::Timestamp>().ok());
    for request in now["requests"].as_array().into_iter().flatten() {
        let text = |name: &str| request[name].as_str().unwrap_or("-").to_owned();
        let left = request["waits_until"].as_str().and_then(|until| until.parse::<jiff::Timestamp>().ok()).zip(time);
        let left = left.map(|(until, time)| u64::try_from(until.as_millisecond() - time.as_millisecond()).unwrap_or(0));
        let state = match left {
            Some(left) => format!("waits {} after {}", Words(Duration::from_millis(left)), text("kind")),
            None => "running".to_owned(),
        };
        let ink = if left.is_some() { Ink::Doubt } else { Ink::Plain };
        lines.push(
            Line::of(Ink::Faint, format!("{}  ", text("request")))
                .and(Ink::Plain, format!("{:<24}  {}/{}  ", text("model"), request["attempt"], request["attempts_max"]))
                .and(ink, state),
        );
    }
    lines
}
