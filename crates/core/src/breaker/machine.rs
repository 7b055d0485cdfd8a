//! The breaker's states behind its lock: open, half-open, overrides, leases.

use std::time::Duration;

use super::suspicion::{Mark, Streak};
use super::{Cause, Gate, Mode, News, Outcome, Override, Permit, Reason, Refusal, Role, Settings, State, Transition};
use crate::backoff::Backoff;
use crate::time::Instant;
use crate::window::mix;

/// A probe younger than this (most calls answer sooner) decides alone: nobody else is let through meanwhile.
const VERDICT_SOON: Duration = Duration::from_secs(5);

/// How long a replica goes by its own probes after they contradicted another's word.
const KNOWS_BETTER: Duration = Duration::from_secs(60);

/// Cooldowns spread by up to this share, so that the replicas of a fleet do not probe together.
const COOLDOWN_JITTER: f64 = 0.1;

#[derive(Debug)]
pub(super) struct Machine {
    phase: Phase,
    /// Counts trips and closings; permits of an older one count nowhere.
    pub(super) generation: u64,
    /// How often it opened since it was last closed: the cooldown doubles with each.
    trips: u32,
    next_probe: u64,
    rng: fastrand::Rng,
    pub(super) word: Option<Override>,
    /// Failures of an adaptive breaker while closed.
    pub(super) streak: Streak,
    /// When something first went wrong since it closed.
    pub(super) troubled_since: Option<Instant>,
    /// Refused for its health checks, whatever traffic says.
    unhealthy: bool,
    /// Refused because another replica said so.
    hearsay: bool,
    /// Until then its own probes know better than another replica.
    knows_better: Instant,
}

#[derive(Debug)]
enum Phase {
    Closed,
    Open { until: Instant },
    HalfOpen { leases: Vec<Lease>, successes: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    probe: u64,
    ends: Instant,
}

impl Machine {
    pub(super) fn new(seed: u64) -> Self {
        let rng = fastrand::Rng::with_seed(seed);
        Self {
            phase: Phase::Closed,
            generation: 0,
            trips: 0,
            next_probe: 0,
            rng,
            word: None,
            streak: Streak::default(),
            troubled_since: None,
            unhealthy: false,
            hearsay: false,
            knows_better: Instant::ORIGIN,
        }
    }

    pub(super) const fn trips(&self) -> u32 {
        self.trips
    }

    pub(super) fn told(&mut self, settings: &Settings, news: News, now: Instant) -> Option<Transition> {
        match (news, &self.phase) {
            (News::Opened { .. }, Phase::Open { until }) if now < *until => None,
            (News::Opened { .. }, _) if now < self.knows_better => None,
            (News::Opened { left, trips }, _) => {
                let from = self.state(now);
                // Not all replicas at once, and for no longer than it could be by itself.
                let spread = 1.0 + COOLDOWN_JITTER * self.rng.f64();
                let until = now + left.min(settings.cooldown_max).min(Backoff::CAP_MAX).mul_f64(spread);
                self.trips = self.trips.max(trips).max(1);
                self.generation += 1;
                self.phase = Phase::Open { until };
                self.hearsay = true;
                Some(Transition { from, to: State::Open { until }, reason: Reason::Told })
            }
            (News::Closed, Phase::Closed) => None,
            (News::Closed, _) if self.unhealthy => None,
            (News::Closed, _) => {
                let from = self.state(now);
                self.hearsay = false;
                Some(Transition { from, reason: Reason::Told, ..self.close() })
            }
        }
    }

    pub(super) fn gate(&self) -> Gate {
        let gate = Gate::new(self.generation, matches!(self.phase, Phase::Closed));
        // An override that has run out still sends callers here, where it is dropped.
        if self.word.is_some() { gate.overridden() } else { gate }
    }

    pub(super) fn state(&self, now: Instant) -> State {
        match &self.phase {
            Phase::Closed => State::Closed,
            Phase::Open { until } if now < *until => State::Open { until: *until },
            // Whoever asks next is a probe: to an onlooker that is half-open already.
            Phase::Open { .. } | Phase::HalfOpen { .. } => State::HalfOpen,
        }
    }

    pub(super) fn has_young_probe(&self, settings: &Settings, now: Instant) -> bool {
        let Phase::HalfOpen { leases, .. } = &self.phase else { return false };
        let young = |lease: &Lease| now < lease.ends && lease.ends >= now + settings.lease.saturating_sub(VERDICT_SOON);
        leases.iter().any(young)
    }

    pub(super) fn probes_in_flight(&self, now: Instant) -> usize {
        match &self.phase {
            Phase::HalfOpen { leases, .. } => leases.iter().filter(|lease| now < lease.ends).count(),
            Phase::Closed | Phase::Open { .. } => 0,
        }
    }

    /// Whether `admit` would refuse, without asking it.
    pub(super) fn refuses(&self, settings: &Settings, now: Instant) -> bool {
        match self.word_in_force(now).map(|word| word.mode) {
            Some(Mode::ForcedOpen) => return true,
            Some(Mode::ForcedClosed | Mode::Shadow) => return false,
            None => {}
        }
        match &self.phase {
            Phase::Closed => false,
            Phase::Open { until } => now < *until,
            Phase::HalfOpen { .. } => self.probes_in_flight(now) >= settings.probes as usize,
        }
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let phase = match &self.phase {
            Phase::Closed => 1,
            Phase::Open { until } => mix(2, until.as_nanos()),
            Phase::HalfOpen { leases, successes } => {
                leases.iter().fold(mix(3, u64::from(*successes)), |sum, lease| mix(sum, lease.probe))
            }
        };
        [self.generation, u64::from(self.trips), self.next_probe].into_iter().fold(phase, mix)
    }

    pub(super) fn word_in_force(&self, now: Instant) -> Option<&Override> {
        self.word.as_ref().filter(|word| now < word.until)
    }

    pub(super) fn admit(&mut self, settings: &Settings, now: Instant) -> Result<Permit, Refusal> {
        let extra = Permit { generation: self.generation, role: Role::Extra };
        let Some(word) = self.word_in_force(now) else {
            self.word = None;
            return self.decide(settings, now);
        };
        match word.mode {
            Mode::ForcedOpen => Err(Refusal { until: word.until, cause: Cause::Forced }),
            Mode::ForcedClosed => Ok(extra),
            Mode::Shadow => Ok(self.decide(settings, now).unwrap_or(extra)),
        }
    }

    /// Closed and counting: the fast path was not taken only because of an override.
    fn decide(&mut self, settings: &Settings, now: Instant) -> Result<Permit, Refusal> {
        match &mut self.phase {
            Phase::Closed => Ok(Permit { generation: self.generation, role: Role::Traffic(Mark::default()) }),
            Phase::Open { until } if now < *until => Err(Refusal { until: *until, cause: Cause::Open }),
            Phase::Open { .. } => {
                self.phase = Phase::HalfOpen { leases: Vec::new(), successes: 0 };
                self.probe(settings, now)
            }
            Phase::HalfOpen { .. } => self.probe(settings, now),
        }
    }

    fn probe(&mut self, settings: &Settings, now: Instant) -> Result<Permit, Refusal> {
        let Phase::HalfOpen { leases, .. } = &mut self.phase else {
            return Err(Refusal { until: now, cause: Cause::Probing });
        };
        leases.retain(|lease| now < lease.ends);
        if leases.len() >= settings.probes as usize {
            let until = leases.iter().map(|lease| lease.ends).min().unwrap_or(now);
            return Err(Refusal { until, cause: Cause::Probing });
        }
        self.next_probe += 1;
        leases.push(Lease { probe: self.next_probe, ends: now + settings.lease });
        Ok(Permit { generation: self.generation, role: Role::Probe(self.next_probe) })
    }

    /// A probe's result. A failure whose lease has ended, or anything from an earlier half-open,
    /// counts nowhere.
    pub(super) fn probed(
        &mut self,
        settings: &Settings,
        (probe, generation): (u64, u64),
        outcome: Outcome,
        hint: Option<Duration>,
        now: Instant,
    ) -> Option<Transition> {
        let Phase::HalfOpen { leases, successes } = &mut self.phase else { return None };
        match leases.iter().position(|lease| lease.probe == probe && now < lease.ends) {
            Some(held) => _ = leases.swap_remove(held),
            // Its place was given away, but good news is good news: a call may outlast a lease,
            // and an endpoint whose calls all do would never close.
            None if outcome == Outcome::Success && generation == self.generation => {}
            None => return None,
        }
        match outcome {
            Outcome::Neutral => None,
            Outcome::Failure | Outcome::Degraded => Some(self.trip(settings, Reason::ProbeFailed, hint, now)),
            Outcome::Success => {
                *successes += 1;
                if *successes < settings.successes {
                    return None;
                }
                if std::mem::take(&mut self.hearsay) {
                    self.knows_better = now + KNOWS_BETTER;
                }
                Some(self.close())
            }
        }
    }

    /// How a probe ended after its verdict. While others are still asked for theirs, one that broke
    /// off after all opens the breaker again; in every other state its generation is over.
    pub(super) fn broke_off(
        &mut self,
        settings: &Settings,
        generation: u64,
        outcome: Outcome,
        hint: Option<Duration>,
        now: Instant,
    ) -> Option<Transition> {
        let undecided = matches!(self.phase, Phase::HalfOpen { .. }) && generation == self.generation;
        let bad = matches!(outcome, Outcome::Failure | Outcome::Degraded);
        (undecided && bad).then(|| self.trip(settings, Reason::ProbeFailed, hint, now))
    }

    pub(super) fn trip(
        &mut self,
        settings: &Settings,
        reason: Reason,
        hint: Option<Duration>,
        now: Instant,
    ) -> Transition {
        let from = self.state(now);
        let until = now + self.cooldown(settings, hint);
        self.hearsay = false;
        self.trips = self.trips.saturating_add(1);
        self.generation += 1;
        self.phase = Phase::Open { until };
        Transition { from, to: State::Open { until }, reason }
    }

    pub(super) fn refuse_unhealthy(&mut self, settings: &Settings, until: Instant, now: Instant) -> Option<Transition> {
        self.unhealthy = true;
        let transition = match &mut self.phase {
            Phase::Open { until: open } => {
                *open = until.max(*open);
                return None;
            }
            Phase::Closed | Phase::HalfOpen { .. } => self.trip(settings, Reason::HealthChecks, None, now),
        };
        let Phase::Open { until: open } = &mut self.phase else { return None };
        *open = until.max(*open);
        Some(Transition { to: State::Open { until: *open }, ..transition })
    }

    pub(super) fn end_unhealthy(&mut self, now: Instant) {
        if std::mem::take(&mut self.unhealthy)
            && let Phase::Open { until } = &mut self.phase
        {
            *until = now.min(*until);
        }
    }

    fn close(&mut self) -> Transition {
        self.generation += 1;
        self.trips = 0;
        self.troubled_since = None;
        self.phase = Phase::Closed;
        Transition { from: State::HalfOpen, to: State::Closed, reason: Reason::ProbesSucceeded }
    }

    /// Doubles with every trip since it was last closed. The endpoint may ask for more, within
    /// the same bound: nobody's header opens a breaker for a day.
    fn cooldown(&mut self, settings: &Settings, hint: Option<Duration>) -> Duration {
        let doubled = settings.cooldown.saturating_mul(1 << self.trips.min(20)).min(settings.cooldown_max);
        let wanted = doubled.max(hint.unwrap_or_default()).min(settings.cooldown_max);
        wanted.min(Backoff::CAP_MAX).mul_f64(1.0 + COOLDOWN_JITTER * self.rng.f64())
    }
}
