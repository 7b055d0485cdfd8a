//! The checks, in the order in which one explains the next.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use steadfast_config::{Config, Credential, Dialect, Endpoint, Loaded};
use steadfast_core::record::{Event, Record};
use steadfast_store::shared::Shared;

use super::{Finding, probe};
use crate::cli::SourceArgs;
use crate::clients::{Base, Client, file};
use crate::commands::config_path;
use crate::decisions;

/// The gateway answers about itself at once.
const SOON: Duration = Duration::from_secs(5);

/// A provider's list of models takes a while, with retries.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the log is looked at while waiting for a client.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(super) fn configuration(sources: &SourceArgs, loaded: &Loaded) -> Finding {
    let from = match config_path(sources) {
        Some(path) => format!("{} loads", path.display()),
        None => "no file; the built-in endpoints".to_owned(),
    };
    if loaded.warnings.is_empty() {
        return Finding::pass("configuration", from);
    }
    Finding::warn("configuration", format!("{from}, with warnings"), "`steadfast config check` prints them")
}

/// Opens the decision log as the gateway would.
pub(super) fn log(config: &Config, environment: &[(String, String)]) -> Finding {
    let check = "decision log";
    let path = match &config.decision_log {
        Some(log) => log.path.clone().into(),
        None => match decisions::default_path(environment) {
            Some(path) => path,
            None => {
                let what = "neither XDG_STATE_HOME nor HOME says where it could be";
                return Finding::warn(check, what, "name it: [log] decisions = { path = \"decisions.jsonl\" }");
            }
        },
    };
    let open = || match OpenOptions::new().append(true).open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            steadfast_engine::LogFiles::open(&decisions::at(&path)).map(drop).map_err(|error| error.to_string())
        }
        opened => opened.map(drop).map_err(|error| error.to_string()),
    };
    match open() {
        Ok(()) => Finding::pass(check, format!("{} can be written", path.display())),
        Err(error) => {
            let fix = "let this user write it, or name another: [log] decisions = { path = … }";
            Finding::fail(check, format!("{} cannot be written: {error}", path.display()), fix)
        }
    }
}

/// Whether what replicas share is there, where they share anything.
pub(super) fn shared(config: &Config) -> Option<Finding> {
    let shared = config.shared.as_ref()?;
    let check = "shared state";
    let fix = "mend [shared] url; until then each gateway decides from its own memory (docs/shared.md)";
    let asked = || -> anyhow::Result<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut shared = Shared::new(shared.url.expose(), &shared.prefix, SOON)?;
        Ok(runtime.block_on(shared.check())?)
    };
    Some(match asked() {
        Ok(server) => Finding::pass(check, format!("{server} answers")),
        Err(error) => Finding::fail(check, format!("{error:#}"), fix),
    })
}

/// Each endpoint's key, and whether there is a way to it. Nothing is sent: a key may still be wrong.
pub(super) fn endpoints(config: &Config) -> Vec<Finding> {
    std::thread::scope(|scope| {
        let asked: Vec<_> = config.endpoints.iter().map(|one| scope.spawn(|| endpoint(one))).collect();
        asked.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

fn endpoint(endpoint: &Endpoint) -> Finding {
    let check = format!("endpoint {}", endpoint.name);
    let key = match &endpoint.credential {
        Credential::Own(_) => "its own key is there and was not tried",
        Credential::Client => "clients bring their own keys",
        Credential::Missing { wanted } => {
            let what = format!("no key: {wanted} is not there, as seen from here");
            return Finding::fail(check, what, "set it for `steadfast serve`, or take `key` out of the endpoint");
        }
    };
    match probe::connects(endpoint.url.as_str()) {
        Ok(host) => Finding::pass(check, format!("a connection to {host} stands; {key}")),
        Err(why) => {
            Finding::fail(check, why, format!("look at `url` of [endpoints.{}], or at the network", endpoint.name))
        }
    }
}

/// Whether the gateway answers, and would serve.
pub(super) fn gateway(config: &Config) -> Vec<Finding> {
    let (check, address) = ("gateway", reachable(config));
    let health = match probe::get(address, "/health", "", SOON) {
        Ok(answer) if answer.status == 200 && answer.body.contains("\"status\":\"ok\"") => answer,
        Ok(_) => {
            let what = format!("something answers on {address}, but it is not Steadfast");
            return vec![Finding::fail(check, what, "stop it, or choose another `listen`")];
        }
        Err(error) => {
            let what = format!("nothing answers on http://{address}: {error}");
            return vec![Finding::fail(
                check,
                what,
                "start `steadfast serve`; with another `listen`, name the same one here",
            )];
        }
    };
    let alive = Finding::pass(check, format!("http://{address}/health answers {}", health.status));
    let ready = match probe::get(address, "/ready", "", SOON) {
        Ok(answer) if answer.status == 200 => Finding::pass("ready", answer.body),
        Ok(answer) => Finding::fail(
            "ready",
            format!("{} {}", answer.status, answer.body),
            "no endpoint could serve: see the endpoints above",
        ),
        Err(error) => {
            Finding::fail("ready", format!("/ready does not answer: {error}"), "look at what `steadfast serve` says")
        }
    };
    vec![alive, ready]
}

/// Whether the files of the clients that are in use name the gateway.
pub(super) fn clients(base: &Base, environment: &[(String, String)]) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        Client::WITH_FILES.iter().filter_map(|client| client_file(*client, base, environment)).collect();
    // A variable wins over most of these files.
    for name in ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"] {
        let Some((_, value)) = environment.iter().find(|(known, value)| known == name && !value.is_empty()) else {
            continue;
        };
        let check = format!("variable {name}");
        findings.push(if base.is_in(value) {
            Finding::pass(check, "names the gateway")
        } else {
            // An address may hold a password.
            Finding::warn(
                check,
                "names another address",
                format!("unset {name}, or let it begin with {}", base.as_str()),
            )
        });
    }
    findings
}

/// None where the client has no file here.
fn client_file(client: Client, base: &Base, environment: &[(String, String)]) -> Option<Finding> {
    let check = format!("client {}", client.name());
    let fix = format!("`steadfast setup {} --write`", client.name());
    let recipe = client.recipe(base, environment).ok()?;
    let texts: Vec<Option<String>> = recipe.files.iter().map(|change| file::read(&change.path).ok()?).collect();
    let present = recipe.files.iter().zip(&texts).find(|(_, text)| text.is_some());
    let path = present?.0.path.display().to_string();
    let mut drafts = recipe.files.iter().map(file::draft);
    Some(if drafts.all(|draft| draft.is_ok_and(|draft| draft.is_done())) {
        Finding::pass(check, format!("{path} points at the gateway"))
    } else if texts.iter().flatten().any(|text| base.is_in(text)) {
        Finding::pass(check, format!("{path} names the gateway, though not in the words of `steadfast setup`"))
    } else {
        Finding::warn(check, format!("{path} does not name the gateway"), fix)
    })
}

/// One free request through the gateway, to the end.
pub(super) fn request(config: &Config) -> Finding {
    let check = "request";
    let (path, headers) = match config.endpoints.first().map(|endpoint| endpoint.dialect) {
        Some(Dialect::Anthropic) => ("/v1/models", "anthropic-version: 2023-06-01\r\n"),
        Some(Dialect::Gemini) => ("/v1beta/models", ""),
        _ => ("/v1/models", ""),
    };
    let answer = match probe::get(reachable(config), path, headers, PATIENCE) {
        Ok(answer) => answer,
        Err(error) => {
            return Finding::fail(
                check,
                format!("GET {path} got no answer: {error}"),
                "look at what `steadfast serve` says",
            );
        }
    };
    let status = answer.status;
    let told = |what: &str| match (answer.header("x-steadfast-request"), answer.header("x-steadfast-endpoint")) {
        (Some(id), Some(endpoint)) => format!("GET {path}: {status} {what} {endpoint} ({id})"),
        (Some(id), None) => format!("GET {path}: {status} {what} ({id})"),
        _ => format!("GET {path}: {status} {what}"),
    };
    let why = || match answer.header("x-steadfast-request") {
        Some(id) => format!("`steadfast why {id}`"),
        None => "look at what `steadfast serve` says".to_owned(),
    };
    match status {
        200..=299 => Finding::pass(check, told("through the gateway from")),
        401 | 403 => Finding::pass(check, told("arrived; it asks for a key, which doctor does not send:")),
        400..=499 => Finding::warn(check, told("arrived and was refused by"), why()),
        _ => Finding::fail(check, told("arrived and failed at"), why()),
    }
}

/// Waits for a request that the client itself sends.
pub(super) fn arrival(config: &Config, client: Client, patience: Duration) -> Finding {
    let check = format!("request of {}", client.name());
    let Some(log) = &config.decision_log else {
        return Finding::fail(
            check,
            "there is no decision log to see it in",
            "name one: [log] decisions = { path = … }",
        );
    };
    let path = Path::new(&log.path);
    let mut seen = path.metadata().map_or(0, |found| found.len());
    let began = Instant::now();
    while began.elapsed() < patience {
        std::thread::sleep(LOOK_EVERY);
        let Ok(news) = read_from(path, &mut seen) else { continue };
        let record = news.lines().filter_map(|line| decisions::record(line.as_bytes()));
        if let Some(record) = record.into_iter().find(|record| is_from(record, config, client)) {
            let model = record.chain.first().map_or("a model", |place| &*place.model);
            return Finding::pass(check, format!("a request for {model} has arrived ({})", record.request));
        }
    }
    let fix = format!("`steadfast setup {}` says what it needs; was it started anew since?", client.name());
    Finding::fail(check, format!("none arrived in {} s", patience.as_secs()), fix)
}

/// What was written since the last look, whole lines only.
fn read_from(path: &Path, seen: &mut u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    // The log was begun anew.
    if file.metadata()?.len() < *seen {
        *seen = 0;
    }
    file.seek(SeekFrom::Start(*seen))?;
    let mut news = Vec::new();
    file.read_to_end(&mut news)?;
    news.truncate(news.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
    *seen += news.len() as u64;
    Ok(String::from_utf8_lossy(&news).into_owned())
}

/// The log does not say who asked, but where it went, and so in which format.
fn is_from(record: &Record, config: &Config, client: Client) -> bool {
    let dialect = match client {
        Client::Claude => Some(Dialect::Anthropic),
        Client::Codex | Client::Cursor => Some(Dialect::OpenAi),
        Client::Gemini => Some(Dialect::Gemini),
        Client::Opencode | Client::Openclaw | Client::Python | Client::Node => None,
    };
    let asked = record.chain.first().and_then(|place| {
        let mut endpoints = config.endpoints.iter();
        endpoints.find(|endpoint| endpoint.name == place.endpoint)
    });
    record.event == Event::Start && dialect.is_none_or(|dialect| asked.is_some_and(|asked| asked.dialect == dialect))
}

/// The address under which this machine reaches the gateway.
fn reachable(config: &Config) -> SocketAddr {
    let base = Base::new(config.listen, None);
    base.as_str().trim_start_matches("http://").parse().unwrap_or(config.listen)
}
