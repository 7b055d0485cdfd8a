//! The way of one task: attempts as the core asks for them, until one outcome.
//!
//! This is a driver and holds no policy: what to do about a failure comes from `Recovery`. It writes the same records
//! as the gateway does, under the task's id, so `steadfast why` tells a task's story too.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use steadfast_core::cost::Usage;
use steadfast_core::decision::{Decision, Reason, Target};
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::recovery::{Action, Answer, Attempt, Outcome, Recovery};
use steadfast_core::redact::redact;
use steadfast_core::world::World;
use steadfast_core::{Failure, FailureKind, Instant};
use steadfast_engine::OUT_OF_MONEY;
use tokio::sync::{oneshot, watch};

use crate::attempt::{Attempted, Attempting, Verdict, uuid};
use crate::fleet::{Crew, Fleet, PlanError, Planned};
use crate::process::{Copy, Stop, wanted_more};
use crate::task::{Conversation, LastFailure, Memory, Task, TaskOutcome, TaskResult};

/// What is kept of a message for the next attempt.
const MESSAGE_BYTES_MAX: usize = 2_000;

/// Somebody who is told what happens to tasks, as it happens. Must not wait.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn saw(&self, task: &Task, record: &Record);
}

/// Somebody who keeps a task's state before anything is done with it.
pub trait Keeper: Send {
    /// An attempt is about to start; where this fails, it does not.
    fn before_attempt(&mut self, memory: &Memory) -> impl Future<Output = Result<(), Lost>> + Send;

    /// Something was told while an attempt runs that the next one needs, should nobody be left to say it then.
    fn told(&mut self, memory: &Memory) -> impl Future<Output = ()> + Send;

    /// Whether the task is put aside until a new run is due, rather than waited for.
    fn puts_aside(&self) -> bool;
}

/// The task is somebody else's by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the task was taken over by another worker")]
pub struct Lost;

/// What became of a run.
#[derive(Debug)]
pub enum Ending {
    /// It is over; what is known of it stays, should it be run once more.
    Over(Box<TaskResult>, Box<Memory>),
    /// It is to be run anew after this long.
    Later(Duration, Box<Memory>),
    /// Another worker has it.
    Lost,
}

/// Everything a run needs.
pub struct Run<'a, K> {
    /// What tasks share.
    pub fleet: &'a Fleet,
    /// What is to be done.
    pub task: &'a Task,
    /// What is known of it from before.
    pub memory: Memory,
    /// Who is told.
    pub observer: &'a dyn Observer,
    /// Who keeps its state.
    pub keeper: K,
    /// Where a copy of the output goes.
    pub copy: Option<Copy>,
    /// Whether it is still wanted.
    pub stop: watch::Receiver<Stop>,
}

/// A run under way.
struct Way<'a, K> {
    run: Run<'a, K>,
    recovery: Recovery,
    world: Arc<World>,
    crew: Vec<Crew>,
    started: Instant,
    session: String,
    last: Option<Attempted>,
    used: Option<usize>,
}

/// A keeper for a task that lives and dies with this process.
#[derive(Debug, Default)]
pub struct InMemory;

impl Keeper for InMemory {
    async fn before_attempt(&mut self, _memory: &Memory) -> Result<(), Lost> {
        Ok(())
    }

    async fn told(&mut self, _memory: &Memory) {}

    fn puts_aside(&self) -> bool {
        false
    }
}

impl<'a, K: Keeper> Run<'a, K> {
    /// Runs the task to its end, or to its next restart.
    pub async fn go(self) -> Result<Ending, PlanError> {
        let Planned { plan, world, crew } = self.fleet.plan(self.task, &self.memory)?;
        let now = self.fleet.clock.now();
        let session = self.task.session.clone().unwrap_or_else(|| self.task.id.clone());
        let recovery = Recovery::start(plan, now);
        let way = Way { run: self, recovery, world, crew, started: now, session, last: None, used: None };
        way.log_start();
        Ok(way.go().await)
    }
}

impl<K: Keeper> Way<'_, K> {
    async fn go(mut self) -> Ending {
        loop {
            let now = self.run.fleet.clock.now();
            match self.recovery.next(&self.world, now) {
                Action::Attempt(attempt) => {
                    if self.attempt(&attempt).await.is_err() {
                        return Ending::Lost;
                    }
                }
                Action::Wait(until) => self.wait(until).await,
                Action::Restart(at) if self.run.keeper.puts_aside() => {
                    let memory = Memory { restarts: self.recovery.restarts(), ..std::mem::take(&mut self.run.memory) };
                    return Ending::Later(now.until(at), Box::new(memory));
                }
                Action::Restart(at) => self.wait(at).await,
                Action::Decided(decision) => self.decided(&decision, None),
                Action::Done(outcome) => return self.finish(&outcome),
                Action::Repair => {
                    let worked = self.repair().await;
                    let now = self.run.fleet.clock.now();
                    if let Some(decision) = self.recovery.repaired(worked, &self.world, now) {
                        self.decided(&decision, None);
                    }
                }
                // Nobody is there to be asked, and the core is told so by the face.
                Action::Ask(_) | Action::Defer => {
                    if let Some(decision) = self.recovery.answered(Answer::No, &self.world, now) {
                        self.decided(&decision, None);
                    }
                }
            }
        }
    }

    /// Waits, unless it is stopped meanwhile.
    async fn wait(&mut self, until: Instant) {
        let stopped = tokio::select! {
            () = self.run.fleet.clock.sleep_until(until) => false,
            _ = wanted_more(&mut self.run.stop, Stop::No) => true,
        };
        if stopped {
            let now = self.run.fleet.clock.now();
            self.recovery.cancelled(Usage::default(), &self.world, now);
        }
    }

    async fn attempt(&mut self, attempt: &Attempt) -> Result<(), Lost> {
        if *self.run.stop.borrow() != Stop::No {
            let now = self.run.fleet.clock.now();
            self.recovery.cancelled(Usage::default(), &self.world, now);
            return Ok(());
        }
        let place = usize::from(attempt.target.model);
        self.used = Some(place);
        let crew = self.crew[place].clone();
        self.run.memory.attempts += 1;
        self.run.memory.restarts = self.recovery.restarts();
        if !self.run.memory.models.contains(&crew.name) {
            self.run.memory.models.push(crew.name.clone());
        }
        let before = self.run.memory.conversation.take();
        self.run.memory.conversation = crew.conversation(before.as_ref());
        // Stored before it starts: a task that kills its supervisor is not revived for ever.
        self.run.keeper.before_attempt(&self.run.memory).await?;
        let project = Arc::clone(&self.recovery.plan().project.name);
        // Those that do not come back in time are the attempt's to complain about.
        self.run.fleet.services.ready(&project).await;
        let address = self.run.fleet.address(self.run.task.project.as_deref(), &crew);
        let mut stop = self.run.stop.clone();
        tokio::select! {
            _ = self.run.fleet.health.ready(&crew.agent_name, address.as_deref()) => {}
            // The attempt is told so itself.
            _ = wanted_more(&mut stop, Stop::No) => {}
        }
        self.log_attempt(attempt);
        let began = self.run.fleet.clock.now();
        let attempting = Attempting {
            fleet: self.run.fleet,
            task: self.run.task,
            crew: &crew,
            memory: &self.run.memory,
            // A new run is told what happened to the one before it.
            with_context: attempt.with_context || self.run.memory.restarts > 0,
            number: self.run.memory.attempts,
            deadline: self.run.fleet.clock.tokio(attempt.deadline),
            session: &self.session,
        };
        let (tell, told) = oneshot::channel();
        let attempted = tokio::select! {
            biased;
            attempted = attempting.make(self.run.copy.as_ref(), &mut self.run.stop, tell) => attempted,
            never = keep_told(&mut self.run.keeper, &self.run.memory, &crew, told) => match never {},
            never = self.run.fleet.health.watch(&crew.agent_name, address.as_deref()) => match never {},
        };
        self.settle(&attempted, before);
        let now = self.run.fleet.clock.now();
        match &attempted.verdict {
            Verdict::Done => {
                self.recovery.succeeded(attempted.told.usage, &self.world, now);
                self.log_success(attempt, &attempted, now.since(began));
            }
            Verdict::Stopped => self.recovery.cancelled(attempted.told.usage, &self.world, now),
            Verdict::Failed(failure) => {
                let failure = without_secrets(failure.clone());
                self.run.memory.failure = Some(LastFailure {
                    kind: failure.kind,
                    message: cut(&failure.message, MESSAGE_BYTES_MAX),
                    output: redact(&attempted.output).into_owned(),
                });
                let usage = attempted.told.usage;
                let decision = match failure.rule.as_ref() {
                    OUT_OF_MONEY => self.recovery.out_of_money(failure.clone(), usage, &self.world, now),
                    _ => self.recovery.failed(failure.clone(), usage, &self.world, now),
                };
                self.decided(&decision, Some((&failure, now.since(began), attempted.told.usage)));
            }
        }
        self.last = Some(attempted);
        Ok(())
    }

    /// Counts what an attempt used, and remembers its conversation.
    fn settle(&mut self, attempted: &Attempted, before: Option<Conversation>) {
        let memory = &mut self.run.memory;
        memory.usage.input_tokens += attempted.told.usage.input_tokens;
        memory.usage.output_tokens += attempted.told.usage.output_tokens;
        memory.conversation = attempted.conversation.clone().or(before);
        if let Some(cost) = attempted.told.usd_micros {
            memory.usd_micros = memory.usd_micros.saturating_add(cost);
            let plan = self.recovery.plan();
            if !attempted.charged {
                plan.session.spend.settle(0, cost);
                plan.project.spend.settle(0, cost);
            }
        }
    }

    /// A conversation that its agent has lost is begun anew; services the agent needs are looked after.
    async fn repair(&mut self) -> bool {
        let lost = self.recovery.last_failure().is_some_and(|failure| failure.kind == FailureKind::StateLost);
        let forgot = lost && self.run.memory.conversation.take().is_some();
        let project = Arc::clone(&self.recovery.plan().project.name);
        self.run.fleet.services.repair(&project).await || forgot
    }

    fn finish(mut self, outcome: &Outcome) -> Ending {
        let record = Record {
            attempt: Some(self.run.memory.attempts),
            latency_ms: Some(millis(self.run.fleet.clock.now().since(self.started))),
            ..self.line(Event::Outcome)
        };
        self.tell(&record.with_outcome(outcome, &self.world));
        let failure = self.recovery.last_failure();
        let kind = failure.map(|failure| failure.kind);
        let told = match outcome {
            Outcome::Succeeded(_) => TaskOutcome::Succeeded,
            Outcome::Cancelled => TaskOutcome::Cancelled,
            Outcome::GaveUp(Reason::Money | Reason::PriceUnknown) => TaskOutcome::BudgetSpent,
            Outcome::GaveUp(Reason::NoTarget { .. }) => TaskOutcome::NotNow,
            // Money or time that is used up comes back; what nobody understands does not pass by itself.
            Outcome::GaveUp(_) | Outcome::Degraded => match kind {
                Some(FailureKind::Unknown | FailureKind::BadOutput | FailureKind::ContentFilter) | None => {
                    TaskOutcome::GaveUp
                }
                Some(FailureKind::QuotaExhausted) => TaskOutcome::NotNow,
                Some(kind) if kind.may_pass() => TaskOutcome::NotNow,
                Some(_) => TaskOutcome::GaveUp,
            },
        };
        let error = match outcome {
            Outcome::Succeeded(_) => None,
            Outcome::Cancelled => Some("it was stopped".to_owned()),
            Outcome::Degraded => Some("it was given up".to_owned()),
            Outcome::GaveUp(reason) => {
                let reason = reason.in_world(&self.world).to_string();
                let said = failure.map(|failure| failure.message.as_str()).filter(|said| !said.is_empty());
                Some(said.map_or_else(|| reason.clone(), |said| format!("{said} ({reason})")))
            }
        };
        let memory = std::mem::take(&mut self.run.memory);
        let task = self.run.task;
        let success = told == TaskOutcome::Succeeded;
        let last = self.last.take();
        let result = last.map(|last| if last.told.result.is_empty() { last.output } else { last.told.result });
        let result = TaskResult {
            success,
            session_id: memory.conversation.as_ref().map(|conversation| conversation.id.clone()),
            model_used: self.crew[self.used.unwrap_or(0)].name.clone(),
            attempts: memory.attempts,
            fallback_chain: memory.models.clone(),
            error,
            task_id: task.id.clone(),
            label: task.label.clone(),
            original_model: self.crew[0].name.clone(),
            outcome: told,
            error_type: kind.filter(|_| !success),
            result: result.unwrap_or_default(),
            restarts: memory.restarts,
            usage: memory.usage,
            cost_usd: (memory.usd_micros > 0).then(|| memory.usd_micros as f64 / 1e6),
            took_ms: millis(self.run.fleet.clock.now().since(self.started)),
        };
        Ending::Over(Box::new(result), Box::new(memory))
    }

    fn decided(&mut self, decision: &Decision, failed: Option<(&Failure, Duration, Usage)>) {
        let bare = self.line(Event::Decision);
        let bare = match failed {
            Some((failure, latency, usage)) => Record {
                latency_ms: Some(millis(latency)),
                usage: (usage != Usage::default()).then_some(usage),
                ..bare.with_failure(failure)
            },
            None => bare,
        };
        self.tell(&Record {
            from: Some(self.place(decision.from)),
            to: decision.to.map(|to| self.place(to)),
            ..bare.with_decision(decision, &self.world)
        });
    }

    fn log_start(&self) {
        let plan = self.recovery.plan();
        let chain = (0..plan.route.chain().len()).map(|index| self.place_at(index));
        self.tell(&Record {
            client: Some(self.crew[0].agent_name.as_str().into()),
            policy: Some(plan.policy.name.as_str().into()),
            chain: chain.collect(),
            attempts_max: Some(plan.policy.attempts_max),
            ..self.line(Event::Start)
        });
    }

    fn log_attempt(&self, attempt: &Attempt) {
        self.tell(&Record {
            attempt: Some(attempt.number),
            attempts_max: Some(attempt.of),
            target: Some(self.place(attempt.target)),
            choice: Some(Cow::Borrowed(attempt.choice.name())),
            ..self.line(Event::Attempt)
        });
    }

    fn log_success(&self, attempt: &Attempt, attempted: &Attempted, took: Duration) {
        let usage = attempted.told.usage;
        self.tell(&Record {
            attempt: Some(attempt.number),
            target: Some(self.place(attempt.target)),
            latency_ms: Some(millis(took)),
            usage: (usage != Usage::default()).then_some(usage),
            usd_micros: attempted.told.usd_micros,
            ..self.line(Event::Success)
        });
    }

    fn line(&self, event: Event) -> Record {
        Record {
            session: Some(self.session.as_str().into()),
            project: Some(Arc::clone(&self.recovery.plan().project.name)),
            agent: Some(self.run.task.label.as_str().into()),
            ..Record::new(self.run.fleet.clock.wall(), event, self.run.task.id.as_str().into())
        }
    }

    fn tell(&self, record: &Record) {
        self.run.observer.saw(self.run.task, record);
    }

    fn place(&self, target: Target) -> Place {
        self.place_at(usize::from(target.model))
    }

    fn place_at(&self, index: usize) -> Place {
        let crew = &self.crew[index.min(self.crew.len() - 1)];
        Place { model: crew.name.as_str().into(), endpoint: crew.agent_name.as_str().into() }
    }
}

/// Keeps the conversation that an agent tells of while it runs. Nobody waits for it.
async fn keep_told<K: Keeper>(
    keeper: &mut K,
    memory: &Memory,
    crew: &Crew,
    told: oneshot::Receiver<String>,
) -> std::convert::Infallible {
    if let Ok(id) = told.await
        && !crew.agent.resume.is_empty()
        && memory.conversation.as_ref().is_none_or(|known| known.id != id)
    {
        let conversation = Some(Conversation { agent: crew.agent_name.clone(), id, begun: true });
        keeper.told(&Memory { conversation, ..memory.clone() }).await;
    }
    std::future::pending().await
}

fn without_secrets(failure: Failure) -> Failure {
    Failure { message: redact(&failure.message).into_owned(), ..failure }
}

fn cut(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes.min(text.len()))].to_owned()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A session of its own for a task that names none.
pub fn new_session() -> String {
    uuid()
}
