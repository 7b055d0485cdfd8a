//! Scripts of outcomes against the printed list of decisions: one per template step and per rule
//! of SPEC 2.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::backoff::{Backoff, Jitter};
use crate::breaker::{Mode, Override, Settings};
use crate::cost::Price;
use crate::decision::Reason;
use crate::policy::{Escalate, SessionRetries, Step, StepRule, VendorBoundary, template};
use crate::route::{Abilities, Catalogue, EndpointId, Model, Served};
use crate::world::{Endpoint, Turn};

mod begun;
mod edges;
mod limits;
mod memory;
mod properties;
mod rules;
mod storm;
mod templates;

/// A small world: `sonnet` is served at two endpoints and falls back to `haiku` (same vendor),
/// then `gpt`. The ladder above it is `opus`, then `giant`.
struct Script {
    policy: Policy,
    face: Face,
    world: World,
    project: Project,
    session: Arc<Session>,
    needs: Needs,
    now: Instant,
    primary: &'static str,
    chain: Option<Vec<&'static str>>,
    turn: Turn,
    time_limit: Option<Duration>,
    /// What was reported last.
    failed: Option<Failure>,
}

thread_local! {
    /// The steps of shipped templates that the scripts of this thread saw taken: template, trigger, step.
    static TAKEN: RefCell<BTreeSet<(String, String, &'static str)>> = RefCell::default();
}

const ENDPOINTS: [&str; 4] = ["one", "two", "three", "four"];

impl Script {
    fn new(policy: &str) -> Self {
        let settings = Settings { cooldown: Duration::from_secs(20), ..Settings::default() };
        let endpoint = |(seed, name): (usize, &&str)| Endpoint::new(name, settings, 0.2, seed as u64);
        let world = World::new(ENDPOINTS.iter().enumerate().map(endpoint).collect());
        Self {
            policy: template(policy).expect("a shipped template").without_jitter(),
            face: Face::GATEWAY,
            world,
            project: Project::new("default", 1.0, None),
            session: Arc::new(Session::new(None)),
            needs: Needs::default(),
            now: Instant::from_millis(0),
            primary: "sonnet",
            chain: None,
            turn: Turn::New,
            time_limit: None,
            failed: None,
        }
    }

    fn face(mut self, face: Face) -> Self {
        self.face = face;
        self
    }

    fn policy(mut self, change: impl FnOnce(&mut Policy)) -> Self {
        change(&mut self.policy);
        self
    }

    fn on(self, trigger: &str, steps: Vec<Step>) -> Self {
        let trigger = trigger.parse().expect("a trigger");
        self.policy(|policy| policy.on.set(trigger, steps.into_iter().map(StepRule::from).collect()))
    }

    fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    fn chain(mut self, chain: &[&'static str]) -> Self {
        self.chain = Some(chain.to_vec());
        self
    }

    fn start(&mut self) -> Recovery {
        let catalogue = catalogue();
        let chain: Option<Vec<Arc<str>>> =
            self.chain.as_ref().map(|names| names.iter().map(|name| Arc::from(*name)).collect());
        let primary = catalogue.model(self.primary).expect("a known model");
        let route = catalogue.route(primary, chain.as_deref(), self.policy.vendor_boundary).expect("a possible route");
        let project = std::mem::replace(&mut self.project, Project::new("taken", 1.0, None));
        let plan = Plan {
            policy: Arc::new(self.policy.clone()),
            route: Arc::new(route),
            needs: self.needs,
            face: self.face,
            project: Arc::new(project),
            session: Arc::clone(&self.session),
            turn: self.turn,
            time_limit: self.time_limit,
            restarts_used: 0,
            seed: 7,
        };
        Recovery::start(plan, self.now)
    }

    /// Plays the script and returns what happened, a line each.
    ///
    /// The script is a list of reports, separated by `;`: `200`, a status or a kind (with
    /// `retry-after:SECONDS` and `tool:NAME`; `begun` before it: the answer had begun), `yes`, `no`, `silence`, `repaired`, `broken`,
    /// `cancel`. Waits pass by themselves.
    fn play(&mut self, script: &str) -> String {
        let mut recovery = self.start();
        let mut told = String::new();
        let mut reports = script.split(';').map(str::trim);
        loop {
            let action = recovery.next(&self.world, self.now);
            let route = Arc::clone(&recovery.plan().route);
            let at = format!("{:>4}s ", self.now.as_millis() / 1000);
            match action {
                Action::Attempt(attempt) => {
                    let context = if attempt.with_context { " with context" } else { "" };
                    let (number, choice) = (attempt.number, format!("{:?}", attempt.choice).to_lowercase());
                    _ = writeln!(told, "{at}attempt {number} {}{context} ({choice})", name(&route, attempt.target));
                    let Some(report) = reports.next().filter(|report| !report.is_empty()) else { return told };
                    self.report(&mut recovery, report, &mut told);
                }
                Action::Wait(until) => self.now = until,
                Action::Restart(due) => {
                    _ = writeln!(told, "{at}restart due");
                    self.now = due;
                }
                Action::Defer => _ = writeln!(told, "{at}deferred"),
                Action::Ask(question) => {
                    let to = name(&route, question.to);
                    let nudge = question.nudge.since(self.now).as_secs();
                    _ = writeln!(told, "{at}asked about {to}, nudge in {nudge}s");
                    let decision = match reports.next() {
                        Some("yes") => recovery.answered(Answer::Yes, &self.world, self.now),
                        Some("no") => recovery.answered(Answer::No, &self.world, self.now),
                        Some("silence") => {
                            self.now = question.skip;
                            continue;
                        }
                        other => panic!("a question, and the script says {other:?}"),
                    };
                    self.tell(&route, &decision.expect("a question was open"), &mut told);
                }
                Action::Repair => {
                    _ = writeln!(told, "{at}repairing");
                    let worked = reports.next() == Some("repaired");
                    if let Some(decision) = recovery.repaired(worked, &self.world, self.now) {
                        self.tell(&route, &decision, &mut told);
                    }
                }
                Action::Decided(decision) => self.tell(&route, &decision, &mut told),
                Action::Done(outcome) => {
                    let words = match outcome {
                        Outcome::Succeeded(target) => format!("succeeded with {}", name(&route, target)),
                        Outcome::GaveUp(reason) => format!("gave up: {}", reason.in_world(&self.world)),
                        Outcome::Degraded => "degraded".to_owned(),
                        Outcome::Cancelled => "cancelled".to_owned(),
                    };
                    _ = writeln!(told, "{at}{words}");
                    assert_eq!(recovery.next(&self.world, self.now), Action::Done(outcome), "an outcome is final");
                    let left: Vec<&str> = reports.filter(|report| !report.is_empty()).collect();
                    assert!(left.is_empty(), "the script goes on after the end: {left:?}\n{told}");
                    return told;
                }
            }
        }
    }

    fn report(&mut self, recovery: &mut Recovery, report: &str, told: &mut String) {
        let usage = Usage { input_tokens: 1_000, output_tokens: 100 };
        match report {
            "200" => _ = recovery.succeeded(usage, &self.world, self.now),
            "cancel" => recovery.cancelled(usage, &self.world, self.now),
            _ => {
                self.failed = Some(failure(report.strip_prefix("begun ").unwrap_or(report)));
                let decision = match report.strip_prefix("begun ") {
                    Some(report) => recovery.broke_off(failure(report), usage, &self.world, self.now),
                    None => recovery.failed(failure(report), usage, &self.world, self.now),
                };
                let route = Arc::clone(&recovery.plan().route);
                self.tell(&route, &decision, told);
            }
        }
    }

    fn tell(&self, route: &Route, decision: &Decision, told: &mut String) {
        self.note(decision);
        let wait = if decision.wait.is_zero() { String::new() } else { format!(" in {:?}", decision.wait) };
        let to = decision.to.filter(|to| *to != decision.from).map(|to| format!(" to {}", name(route, to)));
        let skip = decision.passed_over.map(|skip| format!(" [{skip}]")).unwrap_or_default();
        let warning = if decision.warning { " (warning)" } else { "" };
        let Decision { kind, step, reason, .. } = decision;
        let at = self.now.as_millis() / 1000;
        _ = writeln!(told, "{at:>4}s {kind}: {step}{}{wait}: {reason}{skip}{warning}", to.unwrap_or_default());
    }

    /// Notes which step of its template a decision took. A list that a script made itself proves nothing about the
    /// template's, nor does what was decided beside the list.
    fn note(&self, decision: &Decision) {
        let shipped = template(&self.policy.name).expect("a shipped template").without_jitter();
        let from_the_list = match decision.step {
            "give_up" => matches!(decision.reason, Reason::PolicyGivesUp | Reason::CallerLeft),
            _ => !matches!(decision.reason, Reason::PersonAgreed | Reason::AllowanceEmpty(_) | Reason::KeepsFailing),
        };
        if let Some(failure) = self.failed.as_ref().filter(|_| from_the_list && shipped.on == self.policy.on) {
            let trigger = self.policy.steps(failure).0.to_string();
            TAKEN.with_borrow_mut(|taken| taken.insert((shipped.name, trigger, decision.step)));
        }
    }
}

/// The printed story, compared line by line without indentation.
#[track_caller]
fn check(told: &str, expected: &str) {
    let lines =
        |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (told, expected) = (lines(told), lines(expected));
    assert!(told == expected, "told:\n{}\n\nexpected:\n{}", told.join("\n"), expected.join("\n"));
}

fn catalogue() -> Catalogue {
    catalogue_of(|model| model)
}

fn catalogue_of(changed: impl Fn(Model) -> Model) -> Catalogue {
    let model = |name: &str, vendor: &str, endpoints: &[u16], window: u32, usd: f64, fallback: &[&str]| Model {
        name: Arc::from(name),
        vendor: Arc::from(vendor),
        endpoints: endpoints.iter().map(|id| Served { endpoint: EndpointId(*id), alias: None }).collect(),
        fallback: fallback.iter().map(|name| Arc::from(*name)).collect(),
        context_window: Some(window),
        abilities: Abilities { images: name != "haiku", ..Abilities::ALL },
        price: Price::from_usd_per_million(usd, 5.0 * usd),
    };
    Catalogue::new(
        [
            model("sonnet", "anthropic", &[0, 1], 200_000, 3.0, &["haiku", "gpt"]),
            model("haiku", "anthropic", &[2], 200_000, 1.0, &[]),
            model("gpt", "openai", &[3], 400_000, 2.0, &[]),
            model("opus", "anthropic", &[0], 200_000, 15.0, &[]),
            model("giant", "anthropic", &[1], 1_000_000, 30.0, &[]),
        ]
        .map(changed),
        vec![vec!["sonnet".into(), "opus".into(), "giant".into()]],
    )
}

/// `429 retry-after:7 tool:bash` or `timeout`.
fn failure(report: &str) -> Failure {
    let mut words = report.split_whitespace();
    let what = words.next().expect("a report");
    let mut failure = match what.parse::<u16>() {
        Ok(status) => {
            let kind = match status {
                429 => FailureKind::RateLimit,
                529 => FailureKind::Overloaded,
                500..=599 => FailureKind::ServerError,
                other => panic!("{other} is not in the test's little table"),
            };
            Failure { status: Some(status), ..Failure::new(kind, "test") }
        }
        Err(_) => Failure::new(what.parse().expect("a kind"), "test"),
    };
    for word in words {
        match word.split_once(':').expect("name:value") {
            ("retry-after", secs) => failure.retry_after = Some(Duration::from_secs(secs.parse().unwrap())),
            ("tool", tool) => failure.tool = Some(tool.to_owned()),
            (other, _) => panic!("`{other}` is not known to the script"),
        }
    }
    failure
}

fn name(route: &Route, target: Target) -> String {
    let model = route.model(target.model.into()).map_or("?", |model| &*model.name);
    format!("{model}@{}", ENDPOINTS[usize::from(target.endpoint.0)])
}
