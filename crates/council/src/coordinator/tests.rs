//! Scripts of events against the printed list of actions.

mod chaos;
mod levels;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use steadfast_core::breaker::Settings;
use steadfast_core::cost::Usage;
use steadfast_core::policy::{VendorBoundary, template};
use steadfast_core::recovery::Answer;
use steadfast_core::route::{Abilities, Catalogue, EndpointId, Model, Served};
use steadfast_core::world::{Endpoint, Project, Session, World};
use steadfast_core::{Failure, FailureKind};

use super::*;

const VENDORS: [&str; 3] = ["anthropic", "google", "xai"];

/// Claude and Gemini may fall back, Grok never.
fn catalogue() -> Catalogue {
    let model = |name: &str, vendor: usize, fallback: &[&str]| Model {
        name: name.into(),
        vendor: VENDORS[vendor].into(),
        endpoints: vec![Served { endpoint: EndpointId(vendor as u16), alias: None }],
        fallback: fallback.iter().map(|name| Arc::from(*name)).collect(),
        context_window: None,
        abilities: Abilities::ALL,
        price: None,
    };
    Catalogue::new(
        [
            model("sonnet", 0, &["haiku"]),
            model("haiku", 0, &[]),
            model("pro", 1, &["flash"]),
            model("flash", 1, &[]),
            model("grok", 2, &["grok"]),
        ],
        Vec::new(),
    )
}

fn member(name: &str, model: &str) -> Member {
    let catalogue = catalogue();
    let model = catalogue.model(model).expect("a known model");
    Member::new(name, &catalogue, model, None, VendorBoundary::Strict).expect("a possible chain")
}

fn setup(members: &[(&str, &str)]) -> Setup {
    let breaker = Settings { failures: u32::MAX, ratio: 1.0, floor: u32::MAX, ..Settings::default() };
    let endpoints = VENDORS.iter().map(|name| Endpoint::new(name, breaker, 10.0, 1)).collect();
    Setup {
        id: "s".into(),
        members: members.iter().map(|(name, model)| member(name, model)).collect(),
        policy: Arc::new(template("council").expect("a template")),
        world: Arc::new(World::new(endpoints)),
        project: Arc::new(Project::new("council", 1.0, None)),
        session: Arc::new(Session::new(None)),
        seed: 1,
        bytes_said: 0,
        waiting: VecDeque::new(),
    }
}

/// A council that is told a script.
struct Script {
    council: Coordinator,
    now: Instant,
    call: Option<u64>,
    status: String,
    told: String,
    /// What was written to the metrics.
    measured: String,
}

impl Script {
    fn new() -> Self {
        Self::of(&[("claude", "sonnet"), ("gemini", "pro"), ("grok", "grok")])
    }

    fn of(members: &[(&str, &str)]) -> Self {
        Self {
            council: Coordinator::new(setup(members)),
            now: Instant::from_millis(0),
            call: None,
            status: String::new(),
            told: String::new(),
            measured: String::new(),
        }
    }

    /// Plays events separated by `;`, and says what came of them.
    fn play(&mut self, script: &str) -> String {
        for event in script.split(';').map(str::trim).filter(|event| !event.is_empty()) {
            self.event(event);
        }
        std::mem::take(&mut self.told)
    }

    fn event(&mut self, event: &str) {
        let (word, rest) = event.split_once(' ').unwrap_or((event, ""));
        let reports = matches!(word, "ok" | "fail" | "piece");
        while reports && self.call.is_none() {
            self.now = self.council.wake().expect("somebody to report about");
            self.tell(Event::Tick);
        }
        let call = self.call.unwrap_or_default();
        let usage = Usage { input_tokens: 10, output_tokens: 10 };
        match word {
            "say" => self.tell(Event::Said(rest.to_owned())),
            "piece" => self.tell(Event::Piece { call, text: rest.to_owned() }),
            "ok" => {
                self.tell(Event::Piece { call, text: if rest.is_empty() { "well" } else { rest }.to_owned() });
                self.call = None;
                self.tell(Event::Served { call, usage });
            }
            "fail" => {
                self.call = None;
                let failure = Box::new(Failure::new(rest.parse().expect("a kind"), "test"));
                self.tell(Event::Failed { call, failure, usage });
            }
            "yes" => self.tell(Event::Answered(Answer::Yes)),
            "no" => self.tell(Event::Answered(Answer::No)),
            "retry" if rest == "all" => self.tell(Event::Retry(Whom::All)),
            "retry" => {
                let seat = self.council.seat(rest).expect("a member");
                self.tell(Event::Retry(Whom::Seat(seat)));
            }
            "model" => {
                let (name, model) = rest.split_once(' ').expect("a member and a model");
                let seat = self.council.seat(name).expect("a member");
                self.tell(Event::Switch { seat, model: model.to_owned() });
            }
            "stop" => {
                self.call = None;
                self.tell(Event::Stop);
            }
            "tool" => self.tell(Event::ToolSilent),
            "wait" => self.wait(Duration::from_secs(rest.parse().expect("seconds"))),
            other => panic!("`{other}` is not known to the script"),
        }
    }

    /// Lets time pass, moment by moment as the coordinator wishes.
    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(wake) = self.council.wake().filter(|wake| *wake <= end) {
            self.now = self.now.max(wake);
            self.tell(Event::Tick);
        }
        self.now = end;
        self.tell(Event::Tick);
    }

    fn tell(&mut self, event: Event) {
        for action in self.council.handle(event, self.now) {
            let line = match action {
                Action::Call(call) => {
                    assert!(self.call.replace(call.number).is_none(), "one call at a time");
                    let model = call.route.model(call.attempt.target.model.into()).expect("a model of the route");
                    let (name, _) = self.council.members().nth(call.seat).map(|(m, p)| (&m.name, p)).expect("a seat");
                    format!("call {name} with {} ({})", model.name, call.attempt.choice.name())
                }
                Action::Log(Entry::Person { text }) => format!("person: {text}"),
                Action::Log(Entry::Begin { member, .. }) => format!("{member} begins"),
                Action::Log(Entry::Piece { text }) => text.trim().to_owned(),
                Action::Log(Entry::End) => "ends".to_owned(),
                Action::Log(Entry::Lost) => "lost".to_owned(),
                Action::Log(Entry::Stopped) => "stopped".to_owned(),
                Action::Log(Entry::Note { text }) => format!("note {}", text.lines().next().unwrap_or_default()),
                Action::Waits(text) => format!("waits: {text}"),
                Action::Measure(metric) => {
                    self.measure(&metric);
                    continue;
                }
                Action::Record(_) => continue,
            };
            self.line(&line);
        }
        let status = self.council.status();
        let parts = [status.doing_words(self.now), status.asking_words(self.now).unwrap_or_default()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let status = format!("{} [{}]", parts.join(" | "), status.members_words());
        if self.status != status {
            self.status.clone_from(&status);
            self.line(&format!("status {status}"));
        }
    }

    /// Everything but how long it took.
    fn measure(&mut self, metric: &Metric) {
        let Metric { event, ai_id, attempt, error_type, duration_ms, primary_model, fallback_model, reason } = metric;
        assert_eq!(duration_ms.is_some(), error_type.is_some(), "{metric:?}");
        let mut parts = vec![(*event).to_owned(), ai_id.clone()];
        parts.extend(attempt.map(|attempt| attempt.to_string()));
        parts.extend(error_type.map(|kind| kind.as_str().to_owned()));
        parts.extend(primary_model.iter().chain(fallback_model).cloned());
        parts.extend(reason.iter().map(|reason| format!("({reason})")));
        _ = writeln!(self.measured, "{}", parts.join(" "));
    }

    fn line(&mut self, line: &str) {
        _ = writeln!(self.told, "{}s {line}", self.now.as_millis() / 1000);
    }
}

/// The printed story, compared line by line without indentation.
#[track_caller]
fn check(told: &str, expected: &str) {
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let (told, expected) = (lines(told), lines(expected));
    assert!(told == expected, "told:\n{}\n\nexpected:\n{}", told.join("\n"), expected.join("\n"));
}

/// What is said to the person and asked of providers, without the status bar and the answers themselves.
fn gist(told: &str) -> String {
    let kept =
        told.lines().filter(|line| line.contains("s call ") || line.contains("s note ") || line.contains("s lost"));
    kept.map(|line| format!("{line}\n")).collect()
}

/// How many times a call fails until level 1 is used up: the attempt and three retries.
fn level_one() -> &'static str {
    "fail server_error; fail server_error; fail server_error; fail server_error;"
}
