//! The rounds: a thread that says and hears, in the background.

use std::error::Error;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use steadfast_config::Shared as Settings;
use steadfast_core::Instant;
use steadfast_core::rate::{RateLimit, Report, Slice};
use steadfast_core::spend::{Allotment, SpendBudget, SpendReport};
use steadfast_core::world::{Endpoint, Project, Session};
use steadfast_store::shared::{Answer, Answered, RateAsk, Round, Shared, SharedError, SpendAsk};
use tokio::sync::oneshot;
use tokio::time::{Instant as Moment, sleep, sleep_until};

use super::facts::{Known, hashed};
use super::{Notes, SessionKey};
use crate::Engine;

/// How often notes are compared while nobody is in a hurry: what trips here opens elsewhere within two of these.
const TICK: Duration = Duration::from_millis(100);

/// The shortest time between two rounds, however many are in a hurry.
const GAP: Duration = Duration::from_millis(1);

/// An answer that takes longer is none.
const ANSWER_WITHIN: Duration = Duration::from_millis(250);

/// How long it is left alone after a failure, at first and at most.
const REST: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(2);

/// Sessions compared in one round; the others have the next.
const SESSIONS_PER_ROUND: usize = 512;

/// A session that was not used for this long gives its part of its budget back.
const SESSION_IDLE: Duration = Duration::from_secs(10 * 60);

/// The way to stop the rounds.
type Stop = oneshot::Sender<oneshot::Sender<()>>;

/// Starts the rounds. They end when they are stopped, or with the engine.
pub(super) fn start(engine: &Arc<Engine>, notes: Arc<Notes>, settings: &Settings) -> io::Result<Stop> {
    let (stop, stopped) = oneshot::channel();
    let (engine, settings) = (Arc::downgrade(engine), settings.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("shared".to_owned()).spawn(move || {
        let rounds = match Shared::new(settings.url.expose(), &settings.prefix, ANSWER_WITHIN) {
            Ok(shared) => Rounds::new(engine, notes, shared),
            Err(error) => return warn_away(&error),
        };
        runtime.block_on(rounds.run(stopped));
    })?;
    Ok(stop)
}

struct Rounds {
    engine: Weak<Engine>,
    notes: Arc<Notes>,
    shared: Shared,
    /// This replica's name.
    replica: String,
    /// What names are hashed with; empty before it was told.
    salt: String,
    proposal: String,
    /// The last round that was answered.
    heard: u64,
    seen: u64,
    known: Known,
    /// Which sessions come next.
    turn: usize,
    warned: bool,
}

/// What was said in a round, to be told what came of it.
#[derive(Default)]
struct Said {
    rates: Vec<(Limited, Report)>,
    spends: Vec<(Budget, SpendReport)>,
}

/// What came of a round.
enum Heard {
    Everything,
    /// Facts alone: nothing is handed out yet.
    Settling,
}

/// Whoever has a rate limit.
enum Limited {
    Project(Arc<Project>),
    Agent(Arc<RateLimit>),
    Endpoint(Arc<Endpoint>),
}

/// Whoever has a budget.
enum Budget {
    Project(Arc<Project>),
    Session(Arc<Session>),
}

impl Rounds {
    fn new(engine: Weak<Engine>, notes: Arc<Notes>, shared: Shared) -> Self {
        Self {
            engine,
            notes,
            shared,
            replica: Shared::random_name(),
            salt: String::new(),
            proposal: Shared::random_name(),
            heard: 0,
            seen: 0,
            known: Known::default(),
            turn: 0,
            warned: false,
        }
    }

    async fn run(mut self, mut stopped: oneshot::Receiver<oneshot::Sender<()>>) {
        let mut rest = Duration::ZERO;
        let mut pause = Duration::ZERO;
        loop {
            let hurried = rest.is_zero();
            let done = tokio::select! {
                biased;
                done = &mut stopped => Some(done),
                () = self.notes.wake.notified(), if hurried => None,
                () = sleep(pause) => None,
            };
            let Some(engine) = self.engine.upgrade() else { return };
            let stopping = done.is_some();
            if let Some(Ok(_)) = done {
                self.let_go(&engine);
            }
            let began = Moment::now();
            let up = self.round(&engine, stopping).await;
            if let Some(done) = done {
                self.notes.is_down();
                self.on_its_own(&engine);
                let _ = done.map(|done| done.send(()));
                return;
            }
            rest = if up { Duration::ZERO } else { (rest * 2).clamp(REST, REST_MAX) };
            pause = if up { TICK } else { rest };
            drop(engine);
            sleep_until(began + GAP).await;
        }
    }

    /// One round; whether it was answered.
    async fn round(&mut self, engine: &Arc<Engine>, leaving: bool) -> bool {
        match self.try_round(engine, leaving).await {
            // It listens, and hands nothing out yet.
            Ok(Heard::Settling) => {
                self.notes.is_down();
                false
            }
            Ok(Heard::Everything) => {
                if !self.notes.up.swap(true, Ordering::Relaxed) && std::mem::take(&mut self.warned) {
                    tracing::info!("the shared state is back: replicas share again");
                }
                true
            }
            Err(error) => {
                self.notes.failed.fetch_add(1, Ordering::Relaxed);
                self.on_its_own(engine);
                self.notes.is_down();
                if !std::mem::replace(&mut self.warned, true) {
                    warn_away(&error);
                }
                false
            }
        }
    }

    async fn try_round(&mut self, engine: &Arc<Engine>, leaving: bool) -> Result<Heard, SharedError> {
        // Once more where this replica is told what names are hashed with.
        for _ in 0..2 {
            let number = self.notes.begun.fetch_add(1, Ordering::AcqRel) + 1;
            let sent = engine.clock.now();
            let (round, said) = match self.salt.as_str() {
                "" => (self.words(number), Said::default()),
                _ => self.gather(engine, number, leaving),
            };
            self.notes.under_way.store(sent.as_nanos().max(1), Ordering::Relaxed);
            let answered = self.shared.round(&round).await;
            self.notes.under_way.store(0, Ordering::Relaxed);
            match answered? {
                Answered::OtherSalt(salt) => self.begin_anew(engine, salt),
                // What is left to it is nobody's any more.
                Answered::Round(_) if leaving => return Ok(Heard::Everything),
                Answered::Round(answer) => {
                    self.heard = number;
                    self.learn(engine, &answer);
                    if answer.settling {
                        said.registered(sent, engine.clock.now());
                        return Ok(Heard::Settling);
                    }
                    said.told(&answer, sent, engine.clock.now());
                    self.notes.answered.send_replace(number);
                    return Ok(Heard::Everything);
                }
            }
        }
        // It forgot everything twice in a row: the next round is soon enough.
        Ok(Heard::Settling)
    }

    /// Names are hashed with another salt: what was there before is forgotten.
    fn begin_anew(&mut self, engine: &Engine, salt: String) {
        let known_before = !std::mem::replace(&mut self.salt, salt).is_empty();
        self.proposal = Shared::random_name();
        self.seen = 0;
        if known_before {
            self.on_its_own(engine);
            self.notes.is_down();
            let now = engine.clock.now();
            self.limits(engine)
                .iter()
                .filter_map(|(_, limited)| limited.limit())
                .for_each(|limit| limit.forgotten(now));
        }
        self.known.clear();
    }

    /// Who speaks.
    fn words(&self, number: u64) -> Round {
        Round {
            number,
            heard: self.heard,
            salt: self.salt.clone(),
            proposal: self.proposal.clone(),
            replica: self.replica.clone(),
            seen: self.seen,
            ..Round::default()
        }
    }

    /// Everything this replica has to say.
    fn gather(&mut self, engine: &Engine, number: u64, leaving: bool) -> (Round, Said) {
        let (snapshot, now) = (engine.snapshot(), engine.clock.now());
        let facts = self.known.changes(&snapshot, &self.salt, now);
        let mut round = Round { leaving, facts, ..self.words(number) };
        let mut said = Said::default();
        for (key, limited) in self.limits(engine) {
            let Some(limit) = limited.limit().filter(|limit| !limited.is_silent(limit, now)) else { continue };
            let (limit, Some(report)) = (limit.limit(), limit.report(now)) else { continue };
            let Report { used, held, short, idle } = report;
            // A project or an endpoint that is quiet has something to go on with all the same.
            let idle = idle && matches!(limited, Limited::Agent(_));
            round.rates.push(RateAsk { key, limit, used, held, short, idle });
            said.rates.push((limited, report));
        }
        let day = engine.clock.day();
        for project in snapshot.known_projects() {
            project.spend.roll(day);
            let key = || format!("{}:{day}", hashed(&self.salt, &["project", &project.name]));
            said.ask(&mut round, Budget::Project(Arc::clone(project)), false, key);
        }
        for (key, session, used) in self.next_sessions() {
            let name = || hashed(&self.salt, &["session", &key.0, &key.1]);
            let is_idle = now.since(used) > SESSION_IDLE && session.spend.ledger().reserved_usd_micros == 0;
            if !said.ask(&mut round, Budget::Session(session), is_idle, name) && is_idle {
                // It has given everything back that it does not use, and that is known.
                self.notes.sessions().remove(&key);
            }
        }
        (round, said)
    }

    /// Those whose turn it is: many more than fit into a round take turns.
    fn next_sessions(&mut self) -> Vec<(SessionKey, Arc<Session>, Instant)> {
        let mut sessions: Vec<_> = self.sessions().collect();
        let first = self.turn % sessions.len().max(1);
        self.turn = first + SESSIONS_PER_ROUND;
        sessions.rotate_left(first);
        // Somebody waits for what nobody has heard of.
        sessions.sort_by_cached_key(|(_, session, _)| !session.spend.is_unheard_of());
        sessions.truncate(SESSIONS_PER_ROUND);
        sessions
    }

    fn sessions(&self) -> impl Iterator<Item = (SessionKey, Arc<Session>, Instant)> {
        let sessions = self.notes.sessions();
        let all: Vec<_> =
            sessions.iter().map(|(key, (session, used))| (key.clone(), Arc::clone(session), *used)).collect();
        all.into_iter()
    }

    /// Every rate limit with its name outside.
    fn limits(&self, engine: &Engine) -> Vec<(String, Limited)> {
        let mut limits = Vec::new();
        for project in engine.snapshot().known_projects() {
            if project.rate.project().is_some() {
                let key = hashed(&self.salt, &["project", &project.name]);
                limits.push((key, Limited::Project(Arc::clone(project))));
            }
            for (agent, limit) in project.rate.agents() {
                limits.push((hashed(&self.salt, &["agent", &project.name, &agent]), Limited::Agent(limit)));
            }
        }
        let endpoints = self.known.endpoints().filter(|(_, endpoint)| endpoint.rate.is_some());
        limits.extend(endpoints.map(|(id, endpoint)| (id.to_owned(), Limited::Endpoint(Arc::clone(endpoint)))));
        limits
    }

    /// What is so elsewhere, and among how many.
    fn learn(&mut self, engine: &Engine, answer: &Answer) {
        let now = engine.clock.now();
        let replicas = answer.replicas.max(1);
        self.notes.replicas.store(replicas, Ordering::Relaxed);
        self.seen = answer.version;
        for fact in &answer.facts {
            self.known.told(engine, fact, now);
        }
        for (_, endpoint) in self.known.endpoints() {
            endpoint.retries.divide_among(replicas);
        }
        for project in engine.snapshot().known_projects() {
            project.fallbacks.divide_among(replicas);
            project.rate.share(replicas);
            if answer.settling {
                project.rate.on_its_own();
            }
        }
    }

    /// Nobody answers: everything goes by what is known.
    fn on_its_own(&self, engine: &Engine) {
        let (now, replicas) = (engine.clock.now(), self.notes.replicas.load(Ordering::Relaxed));
        for project in engine.snapshot().known_projects() {
            project.spend.on_its_own(replicas);
            // First of all: an agent that comes from now on asks nobody.
            project.rate.on_its_own();
        }
        self.limits(engine).iter().filter_map(|(_, limited)| limited.limit()).for_each(|limit| limit.on_its_own(now));
        self.sessions().for_each(|(_, session, _)| session.spend.on_its_own(replicas));
    }

    /// This replica stops: what it holds is for the others.
    fn let_go(&self, engine: &Engine) {
        let now = engine.clock.now();
        self.limits(engine).iter().filter_map(|(_, limited)| limited.limit()).for_each(|limit| limit.let_go(now));
        engine.snapshot().known_projects().for_each(|project| project.spend.let_go());
        self.sessions().for_each(|(_, session, _)| session.spend.let_go());
    }
}

impl Said {
    /// Everybody who said something is told what came of it.
    fn told(&self, answer: &Answer, sent: Instant, now: Instant) {
        let replicas = answer.replicas.max(1);
        for ((limited, report), told) in self.rates.iter().zip(&answer.rates) {
            let [held, remaining] = [told[0], told[1]].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            let [wait, reset] = [told[2], told[3]].map(Duration::from_millis);
            if let Some(limit) = limited.limit() {
                limit.told(report, &Slice { held, remaining, wait, reset, replicas }, sent, now);
            }
        }
        for ((budget, report), told) in self.spends.iter().zip(&answer.spends) {
            let [allotted_usd_micros, others_usd_micros] = *told;
            budget.budget().told(report, &Allotment { allotted_usd_micros, others_usd_micros });
        }
    }

    /// What was said is known, and nothing more.
    fn registered(&self, sent: Instant, now: Instant) {
        for (limited, report) in &self.rates {
            if let Some(limit) = limited.limit() {
                limit.registered(report, sent, now);
            }
        }
    }

    /// Adds a budget to the round, where it has something to say.
    fn ask(&mut self, round: &mut Round, budget: Budget, is_idle: bool, key: impl FnOnce() -> String) -> bool {
        let (Some(limit), Some(report)) = (budget.budget().limit_usd_micros(), budget.budget().report(is_idle)) else {
            return false;
        };
        round.spends.push(SpendAsk {
            key: key(),
            limit,
            committed: report.committed_usd_micros,
            allotted: report.allotted_usd_micros,
            needed: report.needed_usd_micros,
            idle: report.is_idle,
        });
        self.spends.push((budget, report));
        true
    }
}

impl Limited {
    /// Agents who do nothing have nothing to say, and there may be thousands of them.
    fn is_silent(&self, limit: &RateLimit, now: Instant) -> bool {
        matches!(self, Self::Agent(_)) && limit.is_idle(now)
    }

    fn limit(&self) -> Option<&RateLimit> {
        match self {
            Self::Project(project) => project.rate.project(),
            Self::Agent(limit) => Some(limit),
            Self::Endpoint(endpoint) => endpoint.rate.as_ref(),
        }
    }
}

impl Budget {
    fn budget(&self) -> &SpendBudget {
        match self {
            Self::Project(project) => &project.spend,
            Self::Session(session) => &session.spend,
        }
    }
}

fn warn_away(error: &SharedError) {
    let error: &dyn Error = error;
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    tracing::warn!(%error, %cause, "replicas share nothing: this one decides from its own memory until the shared state is back");
}
