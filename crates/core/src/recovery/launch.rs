//! Starting an attempt: which of the remaining targets may be used right now.

use super::{Attempt, Choice, FIRST, Outcome, Plan, Reason, Recovery, Running, State};
use crate::breaker::{self, Permit};
use crate::cost::Usage;
use crate::decision::{Decision, Refused, Target};
use crate::route::{Model, Place, Unfit};
use crate::time::Instant;
use crate::world::{Endpoint, World};

/// Why no target could be used, the most telling first.
#[derive(Clone, Copy, Default)]
struct Obstacles {
    refused: Option<(Target, Refused, Instant)>,
    money: Option<Reason>,
    unfit: Option<Unfit>,
}

/// What to do about an endpoint that asked to be left alone for a while.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paused {
    Skipped,
    Used,
}

/// A target that may be used now, with what was taken for it.
#[derive(Clone, Copy)]
struct Chosen {
    place: Place,
    target: Target,
    choice: Choice,
    permit: Permit,
    reserved_usd_micros: u64,
}

impl Recovery {
    /// Starts an attempt at the first target that admits it, or ends the operation, or this run
    /// of it: that is a decision.
    pub(super) fn launch(&mut self, world: &World, now: Instant) -> Option<Decision> {
        if now >= self.deadline {
            self.finish(Outcome::GaveUp(Reason::Deadline));
            return None;
        }
        if self.attempts == 0 {
            self.begin_elsewhere(world, now);
        }
        let mut obstacles = Obstacles::default();
        let chosen = self
            .choose_admitted(world, now, Paused::Skipped, &mut obstacles)
            .or_else(|| self.choose_admitted(world, now, Paused::Used, &mut obstacles));
        let chosen = match chosen {
            Some(chosen) => Some(chosen),
            None => {
                let chance = self.rng.f64();
                self.choose_in_panic(world, now, chance, &mut obstacles)
            }
        };
        match chosen {
            Some(chosen) => self.run(chosen, world),
            None => {
                let reason = obstacles.reason(now);
                let held = self
                    .wait_out_limit(reason, now)
                    .or_else(|| self.park(reason, world, now))
                    .or_else(|| self.ask_elsewhere(world, now));
                if let Some(decision) = held.or_else(|| self.restart_or_degrade(reason, now)) {
                    return Some(decision);
                }
                self.finish(Outcome::GaveUp(reason));
            }
        }
        None
    }

    /// Begins at the next target that the session does not shun, where it shuns the first.
    fn begin_elsewhere(&mut self, world: &World, now: Instant) {
        let Plan { session, route, turn, .. } = &self.plan;
        if !session.shuns_any() {
            return;
        }
        let welcome = |place: &Place| {
            let Some((model, target)) = route.look(*place) else { return false };
            let Some(endpoint) = world.endpoint(target.endpoint) else { return false };
            self.fits(model).is_ok() && self.may_reroute_to(*place) && !session.shuns(&model.name, endpoint, *turn, now)
        };
        let found = self.places().find(welcome);
        if let Some(place) = found.filter(|place| *place != self.at) {
            self.move_to(place, Choice::Remembered);
            self.began_at = (!self.plan.route.is_rung(place.model)).then_some(place);
        }
    }

    /// Walks from the current place down the chain: the model's next endpoint, then the next model.
    fn choose_admitted(
        &self,
        world: &World,
        now: Instant,
        paused: Paused,
        obstacles: &mut Obstacles,
    ) -> Option<Chosen> {
        for place in self.places().filter(|place| self.may_reroute_to(*place)) {
            let Some((model, target, endpoint)) = self.usable(place, world, now, obstacles) else { continue };
            if paused == Paused::Skipped && endpoint.is_paused(now) {
                continue;
            }
            if let Some(until) = self.limited_until(endpoint, now) {
                obstacles.refuse(target, Refused::RateLimit, until);
                continue;
            }
            let permit = match endpoint.breaker.admit(now) {
                Ok(permit) => permit,
                Err(refusal) => {
                    obstacles.refuse(target, Refused::Breaker(refusal.cause), refusal.until);
                    continue;
                }
            };
            let Some(reserved_usd_micros) = self.reserve(target, model, endpoint, obstacles, now) else {
                // A place as a probe goes back: no attempt is made.
                endpoint.breaker.record(permit, breaker::Outcome::Neutral, None, now);
                continue;
            };
            let choice = if place == self.at { self.choice } else { Choice::Rerouted };
            return Some(Chosen { place, target, choice, permit, reserved_usd_micros });
        }
        None
    }

    /// Where a person is asked about another model, none is taken unasked because one is refused.
    fn may_reroute_to(&self, place: Place) -> bool {
        !self.plan.face.ask || place.model == self.at.model
    }

    /// No breaker admits the request. Breakers alone would turn a brown-out into an outage, so
    /// each throttle lets through as much as its endpoint has lately accepted: first at the
    /// current place, where the policy wanted to go, then at every other in order.
    fn choose_in_panic(&self, world: &World, now: Instant, chance: f64, obstacles: &mut Obstacles) -> Option<Chosen> {
        let others = self.plan.route.places_from(FIRST);
        let others = others.filter(|place| *place != self.at && self.may_reroute_to(*place));
        for place in std::iter::once(self.at).chain(others) {
            let Some((model, target, endpoint)) = self.usable(place, world, now, obstacles) else { continue };
            // An endpoint that has not served since it failed is judged by its probe alone.
            let judged = !endpoint.throttle.served_last() && endpoint.breaker.has_young_probe(now);
            let limited = self.limited_until(endpoint, now).is_some();
            if judged || limited || endpoint.breaker.is_forced_open(now) || !endpoint.throttle.allow(chance, now) {
                continue;
            }
            let reserved = self.reserve(target, model, endpoint, obstacles, now);
            let Some(reserved_usd_micros) = reserved else { continue };
            let permit = endpoint.breaker.admit_in_panic();
            return Some(Chosen { place, target, choice: Choice::Panic, permit, reserved_usd_micros });
        }
        None
    }

    fn run(&mut self, chosen: Chosen, world: &World) {
        let Chosen { place, target, choice, permit, reserved_usd_micros } = chosen;
        self.attempts += 1;
        let repeats = self.choice == Choice::Retry && place == self.at;
        if let Some(endpoint) = world.endpoint(target.endpoint).filter(|_| !repeats) {
            endpoint.retries.deposit();
        }
        if place != self.at {
            self.move_to(place, choice);
        }
        let with_context = std::mem::take(&mut self.with_context);
        let of = self.plan.policy.attempts_max;
        let attempt = Attempt { target, number: self.attempts, of, choice, with_context, deadline: self.deadline };
        let paid_fallback = std::mem::take(&mut self.paid_fallback);
        let paid_retry = self.paid_retry.take();
        self.state = State::Running(Running { attempt, permit, reserved_usd_micros, paid_fallback, paid_retry });
    }

    /// The model and endpoint at a place, if the request fits and the credential does not rest.
    fn usable<'a>(
        &'a self,
        place: Place,
        world: &'a World,
        now: Instant,
        obstacles: &mut Obstacles,
    ) -> Option<(&'a Model, Target, &'a Endpoint)> {
        let (model, target) = self.plan.route.look(place)?;
        if let Err(unfit) = self.fits(model) {
            obstacles.unfit = Some(unfit);
            return None;
        }
        let endpoint = world.endpoint(target.endpoint)?;
        if let Some(until) = endpoint.set_aside_until(now) {
            obstacles.refuse(target, Refused::SetAside, until);
            return None;
        }
        Some((model, target, endpoint))
    }

    /// Whether a model may serve this request, as far as is known by now.
    pub(super) fn fits(&self, model: &Model) -> Result<(), Unfit> {
        self.plan.route.check(model, &self.plan.needs)?;
        let outgrown = model.context_window.is_some_and(|window| window <= self.outgrown_window);
        if outgrown { Err(Unfit::Window) } else { Ok(()) }
    }

    /// The most an attempt with this model can cost; `None` where the price is unknown.
    pub(super) fn worst_cost(&self, model: &Model) -> Option<u64> {
        let needs = &self.plan.needs;
        let usage = Usage { input_tokens: needs.input_tokens.into(), output_tokens: needs.output_tokens.into() };
        model.price.map(|price| price.cost_usd_micros(usage))
    }

    /// Until when the endpoint's rate limit is reached. Side questions have limits of their own.
    fn limited_until(&self, endpoint: &Endpoint, now: Instant) -> Option<Instant> {
        if self.plan.needs.free { None } else { endpoint.limited_until(now) }
    }

    /// Holds the most this attempt can cost and counts it against the endpoint's rate limit: all of it,
    /// or nothing.
    fn reserve(
        &self,
        target: Target,
        model: &Model,
        endpoint: &Endpoint,
        obstacles: &mut Obstacles,
        now: Instant,
    ) -> Option<u64> {
        if self.plan.needs.free {
            return Some(0);
        }
        let cost = self.reserve_money(model, obstacles)?;
        if let Err(until) = endpoint.take_rate(now) {
            obstacles.refuse(target, Refused::RateLimit, until);
            self.plan.project.spend.settle(cost, 0);
            self.plan.session.spend.settle(cost, 0);
            return None;
        }
        Some(cost)
    }

    /// Holds the most this attempt can cost, in both budgets or in none.
    fn reserve_money(&self, model: &Model, obstacles: &mut Obstacles) -> Option<u64> {
        let (project, session) = (&self.plan.project.spend, &self.plan.session.spend);
        let worst = self.worst_cost(model);
        if worst.is_none() && (project.is_limited() || session.is_limited()) {
            obstacles.money = Some(Reason::PriceUnknown);
            return None;
        }
        let cost = worst.unwrap_or(0);
        if !project.reserve(cost) {
            obstacles.money = Some(Reason::Money);
            return None;
        }
        if !session.reserve(cost) {
            project.settle(cost, 0);
            obstacles.money = Some(Reason::Money);
            return None;
        }
        Some(cost)
    }
}

impl Obstacles {
    /// Keeps the refusal that ends first: that is when asking again may help.
    fn refuse(&mut self, target: Target, cause: Refused, until: Instant) {
        if self.refused.is_none_or(|(_, _, earlier)| until < earlier) {
            self.refused = Some((target, cause, until));
        }
    }

    fn reason(self, now: Instant) -> Reason {
        if let Some(reason) = self.money {
            return reason;
        }
        if let Some((target, cause, until)) = self.refused {
            return Reason::NoTarget { endpoint: target.endpoint, cause, wait: now.until(until) };
        }
        self.unfit.map_or(Reason::NoEndpoint, Reason::NobodyFits)
    }
}
