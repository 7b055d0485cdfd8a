//! Who speaks when, and what becomes of those who cannot.
//!
//! ```text
//!            ┌────────────── round ──────────────┐
//! queue ──▶ floor ──▶ served            deferred ──▶ floor     in order, when the others have spoken
//!            │  └───▶ deferred                                 unless it is the last to speak
//!            ├──────▶ question ──yes──▶ floor                  one at a time; the round goes on meanwhile
//!            └──────▶ offline ◀──no, silence──┘   ──/retry──▶ queue
//! ```
//!
//! One member has the floor at a time, with a `Recovery` of its own that lives from its first attempt in a round to
//! its end, deferred or asked about in between. A question never holds anybody up: the others speak, and
//! the person may go on with the conversation.
//!
//! Knows no clock, no runtime and no terminal: it is told the time, and what it wants done it returns.

mod question;
mod record;
mod status;
#[cfg(test)]
mod tests;
mod turn;
mod words;

use std::collections::VecDeque;
use std::sync::Arc;

use steadfast_core::Failure;
use steadfast_core::cost::Usage;
use steadfast_core::decision::{Decision, Skip};
use steadfast_core::policy::Policy;
use steadfast_core::record::Record;
use steadfast_core::recovery::{self, Answer, Attempt, Outcome};
use steadfast_core::route::{EndpointId, Route};
use steadfast_core::time::Instant;
use steadfast_core::world::{Project, Session, World};

use crate::entry::Entry;
use crate::member::Member;
use turn::{Began, Turn};

pub use record::Metric;
pub use status::{Asking, Doing, Status};

/// How many messages of the person wait for their round at most. Nobody types more ahead; a pipe may.
pub(crate) const WAITING_MAX: usize = 64;

/// What a council begins with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The session's id, for the log.
    pub id: Arc<str>,
    /// Who speaks, in order.
    pub members: Vec<Member>,
    /// What to do about failures.
    pub policy: Arc<Policy>,
    /// The endpoints.
    pub world: Arc<World>,
    /// Who pays.
    pub project: Arc<Project>,
    /// Retries and money of this conversation.
    pub session: Arc<Session>,
    /// All of its randomness.
    pub seed: u64,
    /// How much has been said before, in bytes: a conversation may be resumed.
    pub bytes_said: usize,
    /// What the person said before and nobody has heard yet.
    pub waiting: VecDeque<String>,
}

/// What the coordinator is told.
#[derive(Clone, Debug)]
pub enum Event {
    /// The person said something: a round begins when the one before is over.
    Said(String),
    /// The person answered the question that is open.
    Answered(Answer),
    /// The person wants members back.
    Retry(Whom),
    /// The person gives a member another of its models.
    Switch {
        /// Which member.
        seat: usize,
        /// Which of its models.
        model: String,
    },
    /// The person stops whoever has the floor.
    Stop,
    /// More of the answer to this call.
    Piece {
        /// The call.
        call: u64,
        /// The next words.
        text: String,
    },
    /// The answer to this call is whole.
    Served {
        /// The call.
        call: u64,
        /// What it consumed.
        usage: Usage,
    },
    /// This call failed.
    Failed {
        /// The call.
        call: u64,
        /// How.
        failure: Box<Failure>,
        /// What it consumed all the same.
        usage: Usage,
    },
    /// A tool did not answer in time, or could not be used.
    ToolSilent,
    /// Time has passed.
    Tick,
}

/// Whom a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    /// Everybody who is offline.
    All,
    /// This member.
    Seat(usize),
}

/// What the driver must do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Make this attempt and report its pieces and its end. Any call before it is over.
    Call(Call),
    /// Show this and save it.
    Log(Entry),
    /// Save this: the person said it, and it waits for its round, where it is logged.
    Waits(String),
    /// Write this to the decision log; its time is the driver's to fill in.
    Record(Box<Record>),
    /// Write this to the metrics, where they are kept.
    Measure(Metric),
}

/// One attempt at one target.
#[derive(Clone, Debug)]
pub struct Call {
    /// Names it in reports.
    pub number: u64,
    /// Names the turn it belongs to, in the decision log.
    pub request: Arc<str>,
    /// Who speaks.
    pub seat: usize,
    /// The attempt; its target is a place of `route`.
    pub attempt: Attempt,
    /// The way of this turn.
    pub route: Arc<Route>,
}

/// Whether a member takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It speaks in every round.
    Here,
    /// It was offline and has a turn to come back with.
    Returning,
    /// It is out until the person wants it back.
    Offline {
        /// Why.
        reason: String,
    },
}

/// A member and what the session knows of it.
#[derive(Debug)]
struct Seat {
    member: Member,
    /// Which of its models it speaks with.
    at: usize,
    presence: Presence,
    /// The model that served it last.
    last_good: Option<Arc<str>>,
}

/// Who speaks when, and what becomes of those who cannot.
#[derive(Debug)]
pub struct Coordinator {
    setup: Setup,
    rng: fastrand::Rng,
    seats: Vec<Seat>,
    /// Who speaks, or waits a moment for its retry.
    floor: Option<Turn>,
    /// Who is yet to speak in this round.
    queue: VecDeque<usize>,
    /// Who speaks again when all have spoken.
    deferred: VecDeque<Turn>,
    /// Whom the person is asked about; the first one is open.
    questions: VecDeque<Turn>,
    nudged: bool,
    /// Who may go on with another model.
    agreed: VecDeque<Turn>,
    /// What the person said meanwhile.
    waiting: VecDeque<String>,
    calls: u64,
    turns: u64,
    bytes_said: usize,
    paused: bool,
    warned: bool,
    spent: bool,
    tool_noticed: bool,
    out: Vec<Action>,
}

impl Coordinator {
    /// A council where everybody is present and nothing has been said.
    pub fn new(setup: Setup) -> Self {
        let seat = |member: &Member| Seat { member: member.clone(), at: 0, presence: Presence::Here, last_good: None };
        Self {
            rng: fastrand::Rng::with_seed(setup.seed),
            seats: setup.members.iter().map(seat).collect(),
            floor: None,
            queue: VecDeque::new(),
            deferred: VecDeque::new(),
            questions: VecDeque::new(),
            nudged: false,
            agreed: VecDeque::new(),
            waiting: setup.waiting.clone(),
            calls: 0,
            turns: 0,
            bytes_said: setup.bytes_said,
            paused: false,
            warned: false,
            spent: false,
            tool_noticed: false,
            out: Vec::new(),
            setup,
        }
    }

    /// Takes an event and says what to do.
    pub fn handle(&mut self, event: Event, now: Instant) -> Vec<Action> {
        match event {
            Event::Said(text) => self.said(text),
            Event::Answered(answer) => self.answered(answer, now),
            Event::Retry(whom) => self.retry(whom),
            Event::Switch { seat, model } => self.switch(seat, &model),
            Event::Stop => self.stop(now),
            Event::Piece { call, text } => self.piece(call, text, now),
            Event::Served { call, usage } => self.served(call, usage, now),
            Event::Failed { call, failure, usage } => self.failed(call, &failure, usage, now),
            Event::ToolSilent => self.tool_silent(),
            Event::Tick => {}
        }
        self.advance(now);
        std::mem::take(&mut self.out)
    }

    /// When it wants to be told the time again, if nothing happens before.
    pub fn wake(&self) -> Option<Instant> {
        let question = self.questions.front().and_then(Turn::question);
        let question = question.map(|question| if self.nudged { question.skip } else { question.nudge });
        let wait = self.floor.as_ref().and_then(|turn| turn.wait_until);
        [question, wait].into_iter().flatten().min()
    }

    /// Whether nothing is going on: nobody speaks, nobody is asked about and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.floor.is_none()
            && self.queue.is_empty()
            && self.deferred.is_empty()
            && self.questions.is_empty()
            && self.agreed.is_empty()
            && self.waiting.is_empty()
    }

    /// The members, in order.
    pub fn members(&self) -> impl Iterator<Item = (&Member, &Presence)> {
        self.seats.iter().map(|seat| (&seat.member, &seat.presence))
    }

    /// The model a member speaks with.
    pub fn model(&self, seat: usize) -> Option<&Arc<str>> {
        self.seats.get(seat).map(Seat::model)
    }

    /// The model that served a member last in this session.
    pub fn last_good(&self, seat: usize) -> Option<&Arc<str>> {
        self.seats.get(seat)?.last_good.as_ref()
    }

    /// Where a member sits, by its name in any case.
    pub fn seat(&self, name: &str) -> Option<usize> {
        self.seats.iter().position(|seat| seat.member.name.eq_ignore_ascii_case(name))
    }

    /// Where each member is asked first.
    pub fn first_endpoints(&self) -> Vec<(String, EndpointId)> {
        let first = self.seats.iter().filter_map(|seat| {
            let served = seat.member.route(0).primary().endpoints.first()?;
            Some((seat.member.name.clone(), served.endpoint))
        });
        first.collect()
    }

    /// The messages that wait for their round.
    pub fn waiting(&self) -> impl Iterator<Item = &str> {
        self.waiting.iter().map(String::as_str)
    }

    fn said(&mut self, text: String) {
        if self.waiting.len() == WAITING_MAX {
            return self.note(words::too_many_waiting(WAITING_MAX));
        }
        if self.floor.is_some() {
            self.out.push(Action::Waits(text.clone()));
        }
        self.waiting.push_back(text);
    }

    /// Whether one more message can wait for its round.
    pub fn takes_more(&self) -> bool {
        self.waiting.len() < WAITING_MAX
    }

    /// Moves on until nothing can be done before something happens.
    fn advance(&mut self, now: Instant) {
        loop {
            self.look_at_question(now);
            let Some(turn) = &mut self.floor else {
                match self.next_turn(now) {
                    Some(turn) => self.floor = Some(turn),
                    None => break,
                }
                continue;
            };
            turn.wait_until = None;
            match turn.recovery.next(&self.setup.world, now) {
                recovery::Action::Attempt(attempt) => {
                    if turn.call.is_none() {
                        self.call(attempt, now);
                    }
                    break;
                }
                recovery::Action::Wait(until) | recovery::Action::Restart(until) => {
                    turn.wait_until = Some(until);
                    break;
                }
                recovery::Action::Ask(_) => self.ask(now),
                recovery::Action::Defer => self.defer(),
                recovery::Action::Repair => {
                    if let Some(decision) = turn.recovery.repaired(false, &self.setup.world, now) {
                        self.decided(&decision, None);
                    }
                }
                recovery::Action::Decided(decision) => self.decided(&decision, None),
                recovery::Action::Done(outcome) => self.leave_floor(outcome, now),
            }
        }
        self.pause_if_alone();
    }

    /// Who speaks next: whom the person agreed about, who has not spoken, who was deferred; then the
    /// person's next message begins a round.
    fn next_turn(&mut self, now: Instant) -> Option<Turn> {
        if let Some(turn) = self.agreed.pop_front() {
            return Some(turn);
        }
        if let Some(seat) = self.queue.pop_front() {
            return Some(self.begin_turn(seat, now));
        }
        if let Some(turn) = self.deferred.pop_front() {
            return Some(turn);
        }
        let text = self.waiting.pop_front()?;
        self.bytes_said += text.len();
        self.log(Entry::Person { text });
        let asked: Vec<usize> = self.questions.iter().map(|turn| turn.seat).collect();
        let here = |(index, seat): &(usize, &Seat)| seat.presence == Presence::Here && !asked.contains(index);
        self.queue = self.seats.iter().enumerate().filter(here).map(|(index, _)| index).collect();
        match self.queue.pop_front() {
            Some(seat) => Some(self.begin_turn(seat, now)),
            None => {
                if asked.is_empty() {
                    self.note(words::nobody_here());
                }
                // Another message may wait.
                self.next_turn(now)
            }
        }
    }

    fn call(&mut self, attempt: Attempt, now: Instant) {
        let Some(turn) = &mut self.floor else { return };
        self.calls += 1;
        turn.call = Some(Began { number: self.calls, attempt, at: now });
        turn.shown_bytes = 0;
        let route = Arc::clone(&turn.recovery.plan().route);
        let call = Call { number: self.calls, request: Arc::clone(&turn.request), seat: turn.seat, attempt, route };
        let record = record::attempt(turn, &attempt, &self.setup.world);
        self.out.push(Action::Record(Box::new(record)));
        self.out.push(Action::Call(call));
    }

    fn piece(&mut self, call: u64, text: String, now: Instant) {
        let Some(turn) = calling(&mut self.floor, call) else { return };
        if text.is_empty() {
            return;
        }
        let begins = turn.shown_bytes == 0;
        turn.shown_bytes += text.len();
        let (seat, model) = (turn.seat, turn.model());
        if begins {
            turn.recovery.begun(&self.setup.world, now);
            let member = self.seats[seat].member.name.clone();
            self.log(Entry::Begin { member, model: model.to_string() });
        }
        self.log(Entry::Piece { text });
    }

    fn served(&mut self, call: u64, usage: Usage, now: Instant) {
        let Some(turn) = calling(&mut self.floor, call) else { return };
        let Some(began) = turn.call.take() else { return };
        let (seat, model, bytes, late) = (turn.seat, turn.model(), turn.shown_bytes, turn.was_out);
        if let Some(turn) = &mut self.floor {
            turn.recovery.succeeded(usage, &self.setup.world, now);
        }
        self.bytes_said += bytes;
        if bytes > 0 {
            self.log(Entry::End);
        }
        let Some(turn) = &self.floor else { return };
        let record = record::success(turn, &began, usage, &self.setup.world, now);
        self.out.push(Action::Record(Box::new(record)));
        let returned = self.seats[seat].presence != Presence::Here;
        self.seats[seat].presence = Presence::Here;
        self.seats[seat].last_good = Some(model);
        self.paused = false;
        if late || returned {
            let name = self.seats[seat].member.name.clone();
            self.measure(Metric::about("recovered", &name));
            self.note(words::rejoined(&name));
        }
    }

    fn failed(&mut self, call: u64, failure: &Failure, usage: Usage, now: Instant) {
        let Some(turn) = calling(&mut self.floor, call) else { return };
        let Some(began) = turn.call.take() else { return };
        let lost = std::mem::take(&mut turn.shown_bytes) > 0;
        turn.last_words = words::failure(failure);
        let decision = turn.recovery.failed(failure.clone(), usage, &self.setup.world, now);
        let name = self.seats[turn.seat].member.name.clone();
        if lost {
            self.log(Entry::Lost);
        }
        let took = now.since(began.at);
        if decision.step == "retry" {
            self.measure(Metric::retry(&name, &decision, failure, took));
        } else {
            self.measure(Metric::failed(&name, failure, took));
        }
        self.decided(&decision, Some((failure, took, usage)));
    }

    /// What every decision means to the person, whoever it is about: retries are for the status bar alone.
    fn decided(&mut self, decision: &Decision, failed: Option<record::Failed<'_>>) {
        if let Some(turn) = &mut self.floor {
            turn.decision = Some(*decision);
            let record = record::decision(turn, decision, failed, &self.setup.world);
            self.out.push(Action::Record(Box::new(record)));
        }
        if decision.warning && !std::mem::replace(&mut self.warned, true) {
            self.note(words::many_retries(self.setup.session.retries_used()));
        }
        if decision.passed_over == Some(Skip::SessionSpent) && !std::mem::replace(&mut self.spent, true) {
            self.note(words::no_more_retries(self.setup.policy.session_retries.max));
        }
    }

    fn defer(&mut self) {
        let Some(mut turn) = self.floor.take() else { return };
        let name = self.seats[turn.seat].member.name.clone();
        turn.was_out = true;
        self.deferred.push_back(turn);
        self.measure(Metric::about("skipped", &name));
        self.note(words::skipped(&name));
    }

    /// A turn whose question was answered with no is over, unless its policy knows more.
    fn finish(&mut self, mut turn: Turn, now: Instant) {
        match turn.recovery.next(&self.setup.world, now) {
            recovery::Action::Done(outcome) => self.over(&turn, outcome, now),
            _ => self.agreed.push_back(turn),
        }
    }

    fn leave_floor(&mut self, outcome: Outcome, now: Instant) {
        if let Some(turn) = self.floor.take() {
            self.over(&turn, outcome, now);
        }
    }

    /// A turn has ended, one way or the other.
    fn over(&mut self, turn: &Turn, outcome: Outcome, now: Instant) {
        let record = record::outcome(turn, &outcome, &self.setup.world, now);
        self.out.push(Action::Record(Box::new(record)));
        let reason = match outcome {
            Outcome::Succeeded(_) | Outcome::Cancelled => return,
            Outcome::GaveUp(reason) if turn.last_words.is_empty() => reason.in_world(&self.setup.world).to_string(),
            Outcome::Degraded if turn.last_words.is_empty() => words::refused(),
            Outcome::GaveUp(_) | Outcome::Degraded => turn.last_words.clone(),
        };
        let seat = turn.seat;
        let name = self.seats[seat].member.name.clone();
        if turn.fell_back {
            self.note(words::fallback_failed(&turn.model(), &reason));
        }
        let returning = self.seats[seat].presence == Presence::Returning;
        let seat = &mut self.seats[seat];
        seat.presence = Presence::Offline { reason: reason.clone() };
        // Whoever comes back begins with its own model.
        seat.at = 0;
        let (active, all) = (self.active(), self.seats.len());
        self.measure(Metric { reason: Some(reason.clone()), ..Metric::about("degraded", &name) });
        let line = if returning { words::still_offline(&name, &reason) } else { words::offline(&name, &reason) };
        self.note(if active > 0 { format!("{line} {}", words::going_on(active, all)) } else { line });
    }

    /// How many take part.
    fn active(&self) -> usize {
        self.seats.iter().filter(|seat| !matches!(seat.presence, Presence::Offline { .. })).count()
    }

    fn pause_if_alone(&mut self) {
        let alone = !self.seats.is_empty() && self.active() == 0;
        if alone && !std::mem::replace(&mut self.paused, true) {
            self.measure(Metric::about("paused", "all"));
            self.note(words::all_offline());
        }
    }

    fn retry(&mut self, whom: Whom) {
        let offline = |seat: &Seat| matches!(seat.presence, Presence::Offline { .. });
        let wanted: Vec<usize> = match whom {
            Whom::All => (0..self.seats.len()).filter(|seat| offline(&self.seats[*seat])).collect(),
            Whom::Seat(seat) if self.seats.get(seat).is_some_and(offline) => vec![seat],
            Whom::Seat(_) => Vec::new(),
        };
        if wanted.is_empty() {
            let name = match whom {
                Whom::All => None,
                Whom::Seat(seat) => self.seats.get(seat).map(|seat| seat.member.name.as_str()),
            };
            return self.note(words::not_offline(name));
        }
        for seat in wanted {
            self.seats[seat].presence = Presence::Returning;
            // A person who asks for it knows more than a quota that was exhausted once.
            for model in self.seats[seat].member.route(0).chain() {
                for served in &model.endpoints {
                    self.setup.world.endpoint(served.endpoint).inspect(|endpoint| endpoint.take_back());
                }
            }
            self.queue.push_back(seat);
            let name = self.seats[seat].member.name.clone();
            self.measure(Metric::about("retry_command", &name));
        }
        self.paused = false;
    }

    fn switch(&mut self, seat: usize, model: &str) {
        let Some(known) = self.seats.get_mut(seat) else { return };
        let text = match known.member.position(model) {
            Some(at) => {
                known.at = at;
                words::speaks_with(&known.member.name, model)
            }
            None => words::not_its_model(&known.member.name, model, known.member.models()),
        };
        self.note(text);
    }

    fn stop(&mut self, now: Instant) {
        let Some(mut turn) = self.floor.take() else { return };
        turn.recovery.cancelled(Usage::default(), &self.setup.world, now);
        self.bytes_said += turn.shown_bytes;
        if turn.shown_bytes > 0 {
            self.log(Entry::Stopped);
        } else {
            self.note(words::stopped(&self.seats[turn.seat].member.name));
        }
        if self.seats[turn.seat].presence == Presence::Returning {
            self.seats[turn.seat].presence = Presence::Here;
        }
        self.over(&turn, Outcome::Cancelled, now);
    }

    fn tool_silent(&mut self) {
        self.measure(Metric::about("tool_timeout", "tools"));
        if !std::mem::replace(&mut self.tool_noticed, true) {
            self.note(words::tool_silent());
        }
    }

    fn log(&mut self, entry: Entry) {
        self.out.push(Action::Log(entry));
    }

    fn note(&mut self, text: String) {
        self.log(Entry::Note { text });
    }

    fn measure(&mut self, metric: Metric) {
        self.out.push(Action::Measure(metric));
    }
}

impl Seat {
    fn model(&self) -> &Arc<str> {
        &self.member.route(self.at).primary().name
    }
}

/// The turn on the floor, if this is its call: what belongs to an earlier one is over.
fn calling(floor: &mut Option<Turn>, call: u64) -> Option<&mut Turn> {
    floor.as_mut().filter(|turn| turn.call.is_some_and(|began| began.number == call))
}
