//! The driver: a virtual clock that performs what the core asks for and reports back.
//!
//! It holds no policy. Every call into the core is followed by the checks of [`crate::watch`];
//! the first invariant that does not hold ends the run.

mod report_back;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use steadfast_core::Instant;
use steadfast_core::breaker::State;
use steadfast_core::cost::Usage;
use steadfast_core::decision::Reason;
use steadfast_core::policy::Policy;
use steadfast_core::recovery::{Action, Answer, Attempt, Choice, Outcome, Plan, Question, Recovery};
use steadfast_core::route::Needs;
use steadfast_core::world::{Session, Turn};

use crate::invariant::Invariant;
use crate::log::{Log, Names};
use crate::op::{Op, Purse, Running};
use crate::plant::Plant;
use crate::provider::{Call, Provider};
use crate::queue::Queue;
use crate::rare::Rare;
use crate::scenario::{Arrivals, Scenario};
use crate::stage::Stage;
use crate::stats::Stats;
use crate::watch::{Broken, Checked, Reach, Watch, broken, cost};

/// One run: what happens, under which policy, from which seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// What happens to whom.
    pub scenario: Scenario,
    /// What is done about it.
    pub policy: Policy,
    /// All randomness comes from it.
    pub seed: u64,
    /// Whether to keep the decision log.
    pub log: Logging,
    /// A bug put in on purpose, to see it caught.
    pub plant: Option<Plant>,
}

/// Which part of the decision log to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logging {
    /// None.
    Off,
    /// All of it.
    All,
    /// One request's part.
    Only(u64),
}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Finished {
    /// What was counted.
    pub stats: Stats,
    /// The decision log, one JSON record per line.
    pub log: Vec<u8>,
    /// The invariant that did not hold, if one did not.
    pub broken: Option<Box<Broken>>,
}

/// Runs a scenario to its end, or to the first broken invariant.
pub fn simulate(setup: &Setup) -> Finished {
    let (mut scenario, mut policy) = (setup.scenario.clone(), setup.policy.clone());
    if let Some(plant) = setup.plant {
        plant.mislead(&mut scenario, &mut policy);
    }
    let stage = match Stage::new(&scenario, &policy, setup.seed) {
        Ok(stage) => stage,
        Err(error) => {
            let (invariant, detail) = (Invariant::RouteMade, error.to_string());
            let broken = Broken { invariant, detail, request: None, at: Instant::ORIGIN };
            return Finished { stats: Stats::default(), log: Vec::new(), broken: Some(Box::new(broken)) };
        }
    };
    let mut driver = Driver::new(setup, stage);
    let broken = driver.run().err();
    let log = driver.log.map_or_else(Vec::new, |log| log.lines);
    Finished { stats: driver.stats, log, broken }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A request of some client, at a fixed rate.
    Arrival,
    /// A request of this client, after thinking.
    Request(u32),
    /// Ask the core again.
    Wake(OpRef),
    /// The first content of an answer comes.
    Begins(OpRef),
    /// The attempt ends.
    End(OpRef),
    /// The repair worked or not.
    Repaired(OpRef, bool),
    /// The person answers.
    Answer(OpRef, Answer),
    /// The caller leaves.
    Leave(u32, u64),
}

/// An operation at one of its turns.
#[derive(Clone, Copy, Debug)]
struct OpRef {
    slot: u32,
    turn: u64,
}

struct Driver<'a> {
    setup: &'a Setup,
    stage: Stage,
    providers: Vec<Provider>,
    clients: Vec<Client>,
    ops: Vec<Option<Box<Op>>>,
    free: Vec<u32>,
    queue: Queue<Event>,
    rng: fastrand::Rng,
    watch: Watch,
    stats: Stats,
    log: Option<Log>,
    next_op: u64,
    next_session: u64,
    horizon: Instant,
}

struct Client {
    purse: Rc<Purse>,
    session_id: u64,
    turns: u32,
}

/// How long the others in a council speak before a deferred turn comes back.
const ROUND: Duration = Duration::from_secs(8);

/// How long a repair takes.
const REPAIR: Duration = Duration::from_secs(2);

impl<'a> Driver<'a> {
    fn new(setup: &'a Setup, stage: Stage) -> Self {
        let scenario = &setup.scenario;
        let provider = |(index, spec): (usize, &crate::scenario::EndpointSpec)| {
            Provider::new(index, &spec.pace, &scenario.faults, setup.seed)
        };
        let mut driver = Self {
            setup,
            providers: scenario.endpoints.iter().enumerate().map(provider).collect(),
            clients: Vec::new(),
            ops: Vec::new(),
            free: Vec::new(),
            queue: Queue::new(),
            rng: fastrand::Rng::with_seed(setup.seed),
            watch: Watch::new(&stage, &setup.policy, scenario.spend),
            stats: Stats::new(scenario.endpoints.iter().map(|spec| spec.name.clone())),
            log: match setup.log {
                Logging::Off => None,
                Logging::All => Some(Log::new(None)),
                Logging::Only(request) => Some(Log::new(Some(request))),
            },
            stage,
            next_op: 0,
            next_session: 0,
            horizon: Instant::from_millis(u64::from(scenario.seconds) * 1000),
        };
        driver.clients = (0..scenario.clients).map(|_| driver.new_client()).collect();
        if driver.stage.vendor_left_out {
            driver.stats.rare.hit(Rare::VendorLeftOut);
        }
        driver
    }

    fn run(&mut self) -> Checked {
        match self.setup.scenario.arrivals {
            Arrivals::Open { per_sec } => {
                let first = self.pause(1.0 / per_sec);
                self.queue.push(Instant::ORIGIN + first, Event::Arrival);
            }
            Arrivals::Closed { think_secs } => {
                for client in 0..self.setup.scenario.clients {
                    let first = self.pause(think_secs);
                    self.queue.push(Instant::ORIGIN + first, Event::Request(client));
                }
            }
        }
        let mut now = Instant::ORIGIN;
        while let Some((at, event)) = self.queue.pop() {
            debug_assert!(at >= now, "time only moves forward");
            now = at;
            self.handle(event, now)?;
        }
        if let Some(open) = self.ops.iter().flatten().next() {
            return broken(Invariant::Ends, "still open when all is quiet".to_owned(), open.id, now);
        }
        self.plant(|plant, stage| plant.at_the_end(stage, now));
        self.watch.quiet(&self.stage.world, &self.stage.projects, now)
    }

    fn handle(&mut self, event: Event, now: Instant) -> Checked {
        match event {
            Event::Arrival => {
                let Arrivals::Open { per_sec } = self.setup.scenario.arrivals else { return Ok(()) };
                let pause = self.pause(1.0 / per_sec);
                if now + pause < self.horizon {
                    self.queue.push(now + pause, Event::Arrival);
                }
                let client = self.rng.u32(..self.setup.scenario.clients);
                self.begin(client, now)
            }
            Event::Request(client) => self.begin(client, now),
            Event::Wake(op) => match self.take(op) {
                Some(op_at_turn) => self.step(op.slot, op_at_turn, now),
                None => Ok(()),
            },
            Event::Begins(op) => match self.take(op) {
                Some(op_at_turn) => self.attempt_begins(op.slot, op_at_turn, now),
                None => Ok(()),
            },
            Event::End(op) => match self.take(op) {
                Some(op_at_turn) => self.attempt_ends(op.slot, op_at_turn, now),
                None => Ok(()),
            },
            Event::Repaired(op, worked) => match self.take(op) {
                Some(op_at_turn) => self.repaired(op.slot, op_at_turn, worked, now),
                None => Ok(()),
            },
            Event::Answer(op, answer) => match self.take(op) {
                Some(op_at_turn) => self.answered(op.slot, op_at_turn, answer, now),
                None => Ok(()),
            },
            Event::Leave(slot, id) => match &self.ops[slot as usize] {
                Some(op) if op.id == id => self.leave(slot, now),
                _ => Ok(()),
            },
        }
    }

    /// A request comes in.
    fn begin(&mut self, client: u32, now: Instant) -> Checked {
        let scenario = &self.setup.scenario;
        if self.clients[client as usize].turns >= scenario.turns {
            self.clients[client as usize] = self.new_client();
        }
        let seed = self.rng.u64(..);
        let large = scenario.large > 0.0 && self.rng.f64() < scenario.large;
        let mut usage = Usage { input_tokens: self.rng.u64(500..1500), output_tokens: self.rng.u64(50..600) };
        if scenario.underestimated > 0.0 && self.rng.f64() < scenario.underestimated {
            let times = self.rng.u64(2..6);
            usage = Usage { input_tokens: usage.input_tokens * times, output_tokens: usage.output_tokens * times };
        }
        let leaves = scenario.leaves > 0.0 && self.rng.f64() < scenario.leaves;
        let (way, project) = (client as usize % self.stage.routes.len(), client as usize % self.stage.projects.len());
        let state = &mut self.clients[client as usize];
        state.turns += 1;
        // The caller promises a bit more than it uses, as callers do, but for those who underestimate it.
        let needs = Needs { tokens: 0, input_tokens: 1500, output_tokens: 600, ..Needs::default() };
        let plan = Plan {
            policy: Arc::clone(&self.stage.policy),
            route: Arc::clone(&self.stage.routes[way].route),
            needs,
            face: scenario.face,
            project: Arc::clone(&self.stage.projects[project]),
            session: Arc::clone(&state.purse.session),
            // Agents come back with tool results more often than with a new question.
            turn: if seed.is_multiple_of(3) { Turn::New } else { Turn::Continues },
            time_limit: None,
            restarts_used: 0,
            seed,
        };
        let op = Op {
            id: self.next_op,
            client,
            project,
            way,
            session_id: state.session_id,
            recovery: Recovery::start(plan, now),
            purse: Rc::clone(&state.purse),
            started: now,
            tokens: if large { 500_000 } else { 2000 },
            usage,
            running: None,
            turn: self.next_op << 20,
            attempts: 0,
            attempts_in_run: 0,
            retries: 0,
            fallbacks: 0,
            restarts: 0,
            first_failure: None,
            had_network_failure: false,
            had_transient_failure: false,
            last: None,
            panicked: false,
            free_return: false,
            began: None,
            began_on_rung: false,
            parked: Duration::ZERO,
            retrying: false,
            paid_fallback: false,
            paid_retry: None,
            retries_here: 0,
            retries_allowed_here: 0,
            triggers_here: Vec::new(),
            rung: None,
            may_escalate: false,
            asked_until: None,
            restart_due: None,
        };
        self.next_op += 1;
        self.watch.begun();
        self.stats.request(scenario.cause, now);
        if let Some(log) = &mut self.log {
            let names = Names { route: &self.stage.routes[way].route, world: &self.stage.world };
            log.start(&op, &names, &self.stage.policy, &self.stage.projects[project], now);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.ops.push(None);
            self.ops.len() as u32 - 1
        });
        if leaves {
            let after = self.pause(3.0);
            self.queue.push(now + after, Event::Leave(slot, op.id));
        }
        self.step(slot, Box::new(op), now)
    }

    /// Asks the core what to do, and does it.
    fn step(&mut self, slot: u32, mut op: Box<Op>, now: Instant) -> Checked {
        loop {
            if op.restart_due.is_some_and(|due| now >= due) {
                Watch::run_anew(&mut op);
            }
            let mut action = op.recovery.next(&self.stage.world, now);
            self.plant(|plant, stage| plant.in_action(&mut action, &op, stage, now));
            let endpoints = self.stage.routes[op.way].endpoints;
            let reach = Reach { own: endpoints, permitted: endpoints, beside: endpoints, project: op.project };
            self.watch.touched(&self.stage, reach, op.id, now)?;
            self.note_changes(now);
            op.turn = op.turn.wrapping_add(1);
            let at = OpRef { slot, turn: op.turn };
            match action {
                Action::Attempt(attempt) => return self.attempt(slot, op, attempt, now),
                Action::Wait(until) => {
                    if until >= op.recovery.deadline() {
                        return broken(Invariant::WaitInTime, format!("until {until}"), op.id, now);
                    }
                    self.wake(until, at, &op);
                }
                Action::Restart(until) => {
                    self.stats.rare.hit(Rare::Restarted);
                    self.queue.push(until, Event::Wake(at));
                }
                Action::Defer => {
                    self.stats.rare.hit(Rare::Deferred);
                    self.queue.push((now + ROUND).min(op.recovery.deadline()), Event::Wake(at));
                }
                Action::Repair => {
                    let worked = self.rng.f64() < self.setup.scenario.repair_works;
                    self.queue.push((now + REPAIR).min(op.recovery.deadline()), Event::Repaired(at, worked));
                }
                Action::Ask(question) => self.ask(&mut op, at, &question, now)?,
                Action::Decided(decision) => {
                    self.decided(&mut op, None, decision, now)?;
                    continue;
                }
                Action::Done(outcome) => return self.done(slot, &op, outcome, now),
            }
            self.ops[slot as usize] = Some(op);
            return Ok(());
        }
    }

    /// Plans to ask the core again.
    fn wake(&mut self, until: Instant, at: OpRef, op: &Op) {
        let until = match self.setup.plant {
            Some(Plant::ForgetsToWake) => return,
            Some(Plant::Oversleeps) => op.recovery.deadline() + Duration::from_secs(1),
            _ => until,
        };
        self.queue.push(until, Event::Wake(at));
    }

    fn attempt(&mut self, slot: u32, mut op: Box<Op>, mut attempt: Attempt, mut now: Instant) -> Checked {
        self.plant(|plant, stage| plant.in_attempt(&mut attempt, &op, stage, &mut now));
        let way = &self.stage.routes[op.way];
        let probe = self.watch.attempt(&mut op, &attempt, way, &self.stage.world, now)?;
        match attempt.choice {
            Choice::Panic => self.stats.rare.hit(Rare::Panic),
            Choice::Rerouted => self.stats.rare.hit(Rare::Rerouted),
            Choice::Escalation => self.stats.rare.hit(Rare::Escalated),
            Choice::Remembered => self.stats.rare.hit(Rare::Remembered),
            Choice::First | Choice::Retry | Choice::Fallback => {}
        }
        let target = attempt.target;
        let worst = cost(way, target.model, Usage { input_tokens: 1500, output_tokens: 600 });
        self.watch.held(op.account(), worst, &self.stage.projects[op.project], now)?;
        let window = way.route.model(target.model.into()).and_then(|model| model.context_window);
        let call = Call { tokens: op.tokens, window, usage: op.usage };
        let mut reply = self.providers[usize::from(target.endpoint.0)].answer(&call, now);
        let longest = now.until(attempt.deadline).min(self.setup.scenario.attempt_timeout);
        if reply.latency >= longest {
            reply = report_back::timed_out(longest);
        }
        let generation = self.stage.world.endpoint(target.endpoint).map_or(0, |endpoint| endpoint.breaker.generation());
        let running = Running {
            target,
            choice: attempt.choice,
            started: now,
            generation,
            held_usd_micros: worst,
            paid_fallback: std::mem::take(&mut op.paid_fallback),
            paid_retry: op.paid_retry.take(),
            probe,
            judged: false,
            lease: self.stage.policy.breaker.lease,
            reply,
        };
        self.stats.attempt(&running, self.setup.scenario.cause, now);
        if let Some(log) = &mut self.log {
            let names = Names { route: &way.route, world: &self.stage.world };
            log.attempt(&op, &running, &names, now);
        }
        let vanishes = self.setup.scenario.vanishes;
        if vanishes > 0.0 && self.rng.f64() < vanishes {
            op.running = Some(running);
            return self.vanish(slot, op, now);
        }
        let at = OpRef { slot, turn: op.turn };
        // To every other attempt the core says that it makes no difference.
        if let Some(begins) = running.reply.begins.filter(|_| running.probe) {
            self.queue.push(now + begins, Event::Begins(at));
        }
        self.queue.push(now + running.reply.latency, Event::End(at));
        op.running = Some(running);
        self.ops[slot as usize] = Some(op);
        Ok(())
    }

    fn ask(&mut self, op: &mut Op, at: OpRef, question: &Question, now: Instant) -> Checked {
        if question.skip > op.recovery.deadline() {
            let detail = format!("a question until {}", question.skip);
            return broken(Invariant::WaitInTime, detail, op.id, now);
        }
        let person = self.setup.scenario.person;
        let after = self.pause(person.secs);
        op.asked_until = Some(question.skip);
        if self.rng.f64() < person.answers && now + after < question.skip {
            let answer = if self.rng.f64() < person.agrees { Answer::Yes } else { Answer::No };
            self.queue.push(now + after, Event::Answer(at, answer));
        } else {
            self.queue.push(question.skip, Event::Wake(at));
        }
        Ok(())
    }

    fn done(&mut self, slot: u32, op: &Op, outcome: Outcome, now: Instant) -> Checked {
        self.watch.outcome(op, &outcome, &self.stage.world, now)?;
        if self.setup.plant == Some(Plant::EndsTwice) {
            self.watch.outcome(op, &outcome, &self.stage.world, now)?;
        }
        self.note_outcome(op, &outcome, now);
        self.stats.outcome(op, &outcome, now);
        if let Some(log) = &mut self.log {
            log.outcome(op, &outcome, &self.stage.world, now);
        }
        self.free.push(slot);
        if let Arrivals::Closed { think_secs } = self.setup.scenario.arrivals {
            let think = self.pause(think_secs);
            if now + think < self.horizon {
                self.queue.push(now + think, Event::Request(op.client));
            }
        }
        Ok(())
    }

    fn note_outcome(&mut self, op: &Op, outcome: &Outcome, now: Instant) {
        let rare = &mut self.stats.rare;
        match outcome {
            Outcome::GaveUp(Reason::Money) => rare.hit(Rare::MoneyRefused),
            Outcome::GaveUp(Reason::PriceUnknown) => rare.hit(Rare::PriceUnknown),
            Outcome::GaveUp(Reason::Deadline) => rare.hit(Rare::Deadline),
            Outcome::GaveUp(Reason::AttemptsSpent) => rare.hit(Rare::AttemptsSpent),
            Outcome::GaveUp(Reason::NobodyFits(_)) => rare.hit(Rare::NobodyFits),
            Outcome::Degraded => rare.hit(Rare::Degraded),
            Outcome::Cancelled => rare.hit(Rare::Cancelled),
            Outcome::GaveUp(_) | Outcome::Succeeded(_) => {}
        }
        if matches!(outcome, Outcome::GaveUp(_)) && op.restarts > 0 {
            rare.hit(Rare::RestartsSpent);
        }
        if now == op.recovery.deadline() {
            rare.hit(Rare::Deadline);
        }
        if !matches!(outcome, Outcome::Succeeded(_)) && op.rung.is_some() {
            rare.hit(Rare::RolledBack);
        }
    }

    /// Puts the bug in, if there is to be one.
    fn plant(&self, bug: impl FnOnce(Plant, &Stage)) {
        if let Some(plant) = self.setup.plant {
            bug(plant, &self.stage);
        }
    }

    /// Takes note of breakers that changed.
    fn note_changes(&mut self, now: Instant) {
        if self.watch.changes.is_empty() {
            return;
        }
        for change in self.watch.changes.drain(..) {
            self.stats.endpoints[change.endpoint].changes.push((now, change.to));
            match (change.from, change.to) {
                (State::Closed, State::Open { .. }) => {
                    let false_open = self.providers[change.endpoint].is_false_open(now);
                    self.stats.rare.hit(Rare::TrippedInARow);
                    self.stats.opens.of += 1;
                    if false_open {
                        self.stats.opens.part += 1;
                        self.stats.rare.hit(Rare::FalseOpen);
                    }
                }
                (State::HalfOpen, State::Open { .. }) => self.stats.rare.hit(Rare::ProbeFailed),
                (State::HalfOpen, State::Closed) => self.stats.rare.hit(Rare::ProbeClosed),
                _ => {}
            }
        }
        let in_cause = self.setup.scenario.cause.is_some_and(|span| span.contains(now));
        if in_cause && self.stats.all_open.is_none() {
            let all = self.stage.world.endpoints().all(|(_, endpoint)| endpoint.breaker.state(now) != State::Closed);
            self.stats.all_open = all.then_some(now);
        }
    }

    fn new_client(&mut self) -> Client {
        let session = Arc::new(Session::new(self.setup.scenario.spend.session_usd_micros));
        let purse = Purse { session, ledger: Cell::default() };
        self.next_session += 1;
        // Sessions do not all begin at once.
        let turns = if self.clients.is_empty() { self.rng.u32(..self.setup.scenario.turns.max(1)) } else { 0 };
        Client { purse: Rc::new(purse), session_id: self.next_session, turns }
    }

    /// A random pause of this many seconds on average.
    fn pause(&mut self, mean_secs: f64) -> Duration {
        let chance = 1.0 - self.rng.f64();
        Duration::from_secs_f64((-chance.ln() * mean_secs).min(1e6))
    }

    /// The operation, if it still stands where the event was planned.
    fn take(&mut self, at: OpRef) -> Option<Box<Op>> {
        self.ops[at.slot as usize].take_if(|op| op.turn == at.turn)
    }
}
