//! Plays scripts: which spec the next request meets.
//!
//! Rules (steps with conditions) are asked first, in the order written; the first that holds
//! decides. Otherwise the sequence (steps without conditions) goes one step on.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::headers::Allowance;
use crate::script::{Condition, Script};
use crate::spec::{Fault, Spec};

/// The same on every run: a script with shares fails the same requests each time.
const SEED: u64 = 0x5eed;

/// A script being played.
#[derive(Debug)]
pub(crate) struct Schedule {
    rules: Vec<Rule>,
    sequence: Vec<Turn>,
    loops: bool,
    /// The current turn and how often it was played.
    turn: usize,
    played: u32,
    begun: Instant,
    rng: fastrand::Rng,
}

/// What a request meets.
#[derive(Debug, Clone)]
pub(crate) struct Decision {
    pub(crate) spec: Arc<Spec>,
    /// What is left of the rate limit, where there is one.
    pub(crate) allowance: Option<Allowance>,
    /// When the limit that was hit passes.
    pub(crate) reset: Option<Duration>,
}

/// The moment and the request that is decided about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now: Instant,
    /// Requests at this endpoint that are being answered, this one included.
    pub(crate) running: usize,
    pub(crate) stream: bool,
}

#[derive(Debug)]
struct Rule {
    conditions: Vec<Held>,
    spec: Arc<Spec>,
    left: Option<u32>,
}

#[derive(Debug)]
struct Turn {
    spec: Arc<Spec>,
    times: Option<u32>,
}

/// A condition and what it remembers.
#[derive(Debug)]
struct Held {
    condition: Condition,
    /// Of a rate: when its window began. Of a rate or quota: how many requests it let through.
    since: Option<Instant>,
    used: u32,
}

impl Decision {
    pub(crate) fn of(spec: Arc<Spec>) -> Self {
        Self { spec, allowance: None, reset: None }
    }
}

impl Schedule {
    pub(crate) fn new(script: &Script, now: Instant) -> Self {
        let held = |condition: &Condition| Held { condition: *condition, since: None, used: 0 };
        let (rules, sequence): (Vec<_>, Vec<_>) = script.steps.iter().partition(|step| !step.conditions.is_empty());
        let rules = rules.into_iter().map(|step| Rule {
            conditions: step.conditions.iter().map(held).collect(),
            spec: Arc::clone(&step.spec),
            left: step.times,
        });
        let sequence = sequence.into_iter().map(|step| Turn { spec: Arc::clone(&step.spec), times: step.times });
        Self {
            rules: rules.collect(),
            sequence: sequence.collect(),
            loops: script.loops,
            turn: 0,
            played: 0,
            begun: now,
            rng: fastrand::Rng::with_seed(SEED),
        }
    }

    /// What the next request meets.
    pub(crate) fn next(&mut self, moment: Moment) -> Decision {
        let mut allowance = None;
        for rule in &mut self.rules {
            if rule.left == Some(0) {
                continue;
            }
            let mut reset = None;
            let mut holds = true;
            for held in &mut rule.conditions {
                let verdict = held.ask(moment, self.begun, &mut self.rng);
                reset = verdict.reset.or(reset);
                allowance = verdict.allowance.or(allowance);
                if !verdict.holds {
                    holds = false;
                    break;
                }
            }
            if holds {
                rule.left = rule.left.map(|left| left - 1);
                return Decision { spec: Arc::clone(&rule.spec), allowance, reset };
            }
        }
        Decision { spec: self.step(), allowance, reset: None }
    }

    /// Takes the next turn if it is to refuse the connection, which is known before a request is read.
    /// Rules that need chance, counting or the request decide later.
    pub(crate) fn next_if_refused(&mut self, now: Instant) -> Option<Arc<Spec>> {
        let moment = Moment { now, running: 0, stream: false };
        for rule in self.rules.iter_mut().filter(|rule| rule.left != Some(0)) {
            let timed = |held: &Held| matches!(held.condition, Condition::Window(..) | Condition::Flap(..));
            if !rule.conditions.iter().all(timed) {
                return None;
            }
            let begun = self.begun;
            let rng = &mut self.rng;
            if rule.conditions.iter_mut().all(|held| held.ask(moment, begun, rng).holds) {
                if rule.spec.fault != Fault::Refuse {
                    return None;
                }
                rule.left = rule.left.map(|left| left - 1);
                return Some(Arc::clone(&rule.spec));
            }
        }
        let refuses = self.current().is_some_and(|turn| turn.spec.fault == Fault::Refuse);
        refuses.then(|| self.step())
    }

    /// The turn that the sequence has come to.
    fn current(&mut self) -> Option<&Turn> {
        let last = self.sequence.len().checked_sub(1)?;
        loop {
            let turn = self.sequence.get(self.turn)?;
            let times = match turn.times {
                Some(times) => times,
                None if self.turn == last && !self.loops => return self.sequence.get(self.turn),
                None => 1,
            };
            if self.played < times {
                return self.sequence.get(self.turn);
            }
            self.played = 0;
            self.turn = if self.turn == last && self.loops { 0 } else { self.turn + 1 };
        }
    }

    fn step(&mut self) -> Arc<Spec> {
        let spec = self.current().map(|turn| Arc::clone(&turn.spec));
        self.played = self.played.saturating_add(1);
        spec.unwrap_or_else(Spec::ok)
    }
}

/// Whether a condition holds, and what is said about its limit.
struct Verdict {
    holds: bool,
    allowance: Option<Allowance>,
    reset: Option<Duration>,
}

impl Held {
    fn ask(&mut self, moment: Moment, begun: Instant, rng: &mut fastrand::Rng) -> Verdict {
        let since = moment.now.saturating_duration_since(begun);
        let holds = match self.condition {
            Condition::Chance(share) => rng.f64() < share,
            Condition::Window(from, to) => since >= from && to.is_none_or(|to| since < to),
            Condition::Flap(on, off) => {
                let period = (on + off).as_nanos().max(1);
                since.as_nanos() % period < on.as_nanos()
            }
            Condition::Rate(limit, every) => return self.ask_rate(moment.now, limit, every),
            Condition::Quota(limit) => {
                let holds = self.used >= limit;
                self.used = self.used.saturating_add(1);
                holds
            }
            Condition::Concurrency(limit) => moment.running > usize::try_from(limit).unwrap_or(usize::MAX),
            Condition::Stream => moment.stream,
            Condition::Plain => !moment.stream,
        };
        Verdict { holds, allowance: None, reset: None }
    }

    /// A window begins with its first request; what comes beyond the limit waits for its end.
    fn ask_rate(&mut self, now: Instant, limit: u32, every: Duration) -> Verdict {
        let begun = *self.since.get_or_insert(now);
        let mut passed = now.saturating_duration_since(begun);
        if passed >= every {
            (self.since, self.used, passed) = (Some(now), 0, Duration::ZERO);
        }
        let holds = self.used >= limit;
        self.used += u32::from(!holds);
        let reset = every - passed;
        let allowance = Allowance { limit, remaining: limit - self.used, reset };
        Verdict { holds, allowance: Some(allowance), reset: holds.then_some(reset) }
    }
}

#[cfg(test)]
mod tests;
