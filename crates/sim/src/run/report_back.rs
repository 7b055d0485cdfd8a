//! Reporting back to the core: how attempts, repairs and questions ended.

use std::rc::Rc;
use std::time::Duration;

use steadfast_core::breaker::Outcome as Health;
use steadfast_core::cost::Usage;
use steadfast_core::decision::{AllowanceName, Decision, Reason, Skip};
use steadfast_core::recovery::{Answer, Outcome};
use steadfast_core::{Failure, FailureKind, Instant};

use super::Driver;
use crate::invariant::Invariant;
use crate::log::Names;
use crate::op::{Account, Op, Running};
use crate::plant::Plant;
use crate::provider::Reply;
use crate::rare::Rare;
use crate::watch::{Checked, ProbeEnd, Reach, broken, cost};

/// An attempt the driver gave up on.
pub(super) fn timed_out(after: Duration) -> Reply {
    let failure = Failure::new(FailureKind::Timeout, "simulated");
    Reply { latency: after, begins: None, failure: Some(failure), usage: Usage::default() }
}

impl Driver<'_> {
    /// The first content of a probe's answer comes; it still stands where it stood.
    pub(super) fn attempt_begins(&mut self, slot: u32, mut op: Box<Op>, now: Instant) -> Checked {
        let Some(mut running) = op.running.take() else {
            return broken(Invariant::AttemptEndsOnce, "began after its end".to_owned(), op.id, now);
        };
        let reach = self.watch.may_change(&op, &running, Health::Success, now).0;
        let told = op.recovery.begun(&self.stage.world, now);
        self.watch.touched(&self.stage, reach, op.id, now)?;
        self.note_changes(now);
        self.watch.judged(op.id, &mut running, told);
        op.running = Some(running);
        self.ops[slot as usize] = Some(op);
        Ok(())
    }

    pub(super) fn attempt_ends(&mut self, slot: u32, mut op: Box<Op>, now: Instant) -> Checked {
        let Some(mut running) = op.running.take() else {
            return broken(Invariant::AttemptEndsOnce, "ended twice".to_owned(), op.id, now);
        };
        if self.setup.plant == Some(Plant::ReportsTwice) {
            return self.attempt_ends(slot, op, now);
        }
        let failure = running.reply.failure.take();
        let health = failure.as_ref().map_or(Health::Success, |failure| failure.kind.endpoint_outcome());
        let (reach, probe) = self.watch.may_change(&op, &running, health, now);
        if probe == ProbeEnd::LeaseOver {
            self.stats.rare.hit(Rare::ProbeLost);
        }
        if self.watch.is_straggler(&running) {
            self.stats.rare.hit(Rare::Straggler);
        }
        self.watch.attempt_over(&op, &running);
        let usage = running.reply.usage;
        let spent = cost(&self.stage.routes[op.way], running.target.model, usage);
        self.stats.spent_usd_micros += spent;
        self.note_overrun(&op, &running, spent);
        match failure {
            None => {
                op.recovery.succeeded(usage, &self.stage.world, now);
                self.plant(|plant, stage| plant.in_success(&op, &running, stage, now));
                self.watch.succeeded(&op, &running);
                self.reported(&op, &running, spent, reach, now)?;
                if let Some(log) = &mut self.log {
                    let names = Names { route: &self.stage.routes[op.way].route, world: &self.stage.world };
                    log.success(&op, &running, &names, now);
                }
            }
            Some(failure) => {
                self.stats.failure(&mut op, &running, failure.kind, spent, now);
                if failure.kind == FailureKind::QuotaExhausted {
                    self.stats.rare.hit(Rare::SetAside);
                }
                if running.judged {
                    self.stats.rare.hit(Rare::BrokeOff);
                }
                if spent > 0 {
                    self.stats.rare.hit(Rare::ChargedFailure);
                }
                let decision = op.recovery.failed(failure.clone(), usage, &self.stage.world, now);
                self.plant(|plant, stage| plant.in_failure(&running, stage, now));
                self.reported(&op, &running, spent, reach, now)?;
                self.decided(&mut op, Some((&failure, &running)), decision, now)?;
            }
        }
        self.step(slot, op, now)
    }

    /// Takes note of a call that cost more than was held for it.
    fn note_overrun(&mut self, op: &Op, running: &Running, spent: u64) {
        if spent <= running.held_usd_micros {
            return;
        }
        self.stats.rare.hit(Rare::Overran);
        let project = &self.stage.projects[op.project].spend;
        // It is still held: what it cost comes on top.
        let committed = project.ledger().committed() - running.held_usd_micros + spent;
        if project.limit_usd_micros().is_some_and(|limit| committed > limit) {
            self.stats.rare.hit(Rare::BudgetPassed);
        }
    }

    /// What every report must have left behind: money settled, and only the endpoint it came from
    /// changed.
    fn reported(&mut self, op: &Op, running: &Running, spent: u64, reach: Reach, now: Instant) -> Checked {
        let project = &self.stage.projects[op.project];
        self.watch.settled(op.account(), running.held_usd_micros, spent, project, now)?;
        self.watch.touched(&self.stage, reach, op.id, now)?;
        self.note_changes(now);
        let at = running.target.endpoint;
        self.stage.world.endpoint(at).map_or(Ok(()), |endpoint| self.watch.places_agree(at, endpoint, op.id, now))
    }

    /// Checks and notes a decision.
    pub(super) fn decided(
        &mut self,
        op: &mut Op,
        failed: Option<(&Failure, &Running)>,
        mut decision: Decision,
        now: Instant,
    ) -> Checked {
        self.plant(|plant, _| plant.in_decision(&mut decision, failed.map(|(failure, _)| failure), op));
        if op.asked_until.take().is_some_and(|skip| now >= skip) {
            self.stats.rare.hit(Rare::AskSkipped);
        }
        let repeats = self.setup.plant.map_or(1, |plant| plant.repeats(&decision, op));
        for _ in 0..repeats {
            let failure = failed.map(|(failure, _)| failure);
            self.watch.decided(op, failure, &decision, &self.stage.world, now)?;
        }
        let rare = &mut self.stats.rare;
        match decision.reason {
            Reason::AllowanceEmpty(_) if !decision.wait.is_zero() => rare.hit(Rare::Patience),
            Reason::KeepsFailing if !decision.wait.is_zero() => rare.hit(Rare::Doubt),
            _ => {}
        }
        match decision.passed_over {
            Some(Skip::AllowanceEmpty(AllowanceName::Retries)) => rare.hit(Rare::RetriesEmpty),
            Some(Skip::AllowanceEmpty(AllowanceName::Fallbacks)) => rare.hit(Rare::FallbacksEmpty),
            Some(Skip::SessionSpent) => rare.hit(Rare::SessionSpent),
            Some(Skip::WaitTooLong { .. }) => rare.hit(Rare::WaitTooLong),
            _ => {}
        }
        if decision.step == "park" {
            rare.hit(Rare::Parked);
        }
        if decision.warning {
            rare.hit(Rare::Warned);
        }
        if let Some(log) = &mut self.log {
            let names = Names { route: &self.stage.routes[op.way].route, world: &self.stage.world };
            log.decision(op, failed, &decision, &names, now);
        }
        Ok(())
    }

    pub(super) fn repaired(&mut self, slot: u32, mut op: Box<Op>, worked: bool, now: Instant) -> Checked {
        self.stats.rare.hit(if worked { Rare::Repaired } else { Rare::RepairFailed });
        if let Some(decision) = op.recovery.repaired(worked, &self.stage.world, now) {
            self.decided(&mut op, None, decision, now)?;
        }
        self.step(slot, op, now)
    }

    pub(super) fn answered(&mut self, slot: u32, mut op: Box<Op>, answer: Answer, now: Instant) -> Checked {
        self.stats.rare.hit(match answer {
            Answer::Yes => Rare::AskedYes,
            Answer::No => Rare::AskedNo,
        });
        if let Some(decision) = op.recovery.answered(answer, &self.stage.world, now) {
            self.decided(&mut op, None, decision, now)?;
        }
        self.step(slot, op, now)
    }

    /// The caller leaves, whatever is under way.
    pub(super) fn leave(&mut self, slot: u32, now: Instant) -> Checked {
        let Some(mut op) = self.ops[slot as usize].take() else { return Ok(()) };
        let running = if self.setup.plant == Some(Plant::LeavesItRunning) { None } else { op.running.take() };
        let endpoints = self.stage.routes[op.way].endpoints;
        let nothing = Reach { own: endpoints, permitted: 0, beside: endpoints, project: op.project };
        let reach = running.as_ref().map_or(nothing, |running| {
            if running.probe {
                self.stats.rare.hit(Rare::ProbeCancelled);
            }
            self.watch.may_change(&op, running, Health::Neutral, now).0
        });
        op.recovery.cancelled(Usage::default(), &self.stage.world, now);
        self.watch.gives_back(&mut op);
        if let Some(running) = running {
            if self.setup.plant != Some(Plant::LosesCount) {
                self.watch.attempt_over(&op, &running);
            }
            self.watch.settled(op.account(), running.held_usd_micros, 0, &self.stage.projects[op.project], now)?;
        }
        self.watch.touched(&self.stage, reach, op.id, now)?;
        op.turn = op.turn.wrapping_add(1);
        self.step(slot, op, now)
    }

    /// The driver's own task is gone: nobody reports how the attempt ended.
    pub(super) fn vanish(&mut self, slot: u32, mut op: Box<Op>, now: Instant) -> Checked {
        self.stats.rare.hit(Rare::Vanished);
        let outcome = Outcome::Cancelled;
        self.stats.outcome(&op, &outcome, now);
        let Some(running) = op.running.take() else { return Ok(()) };
        self.watch.vanished();
        // Dropping the recovery charges what it held, since nobody knows what it cost; the books
        // must say the same.
        let id = op.id;
        let (purse, project) = (Rc::clone(&op.purse), op.project);
        drop(op);
        self.free.push(slot);
        let account = Account { id, project, purse: &purse };
        let held = running.held_usd_micros;
        self.stats.spent_usd_micros += held;
        self.watch.settled(account, held, held, &self.stage.projects[project], now)
    }
}
