//! What an operation tells the log and the traces.

use std::borrow::Cow;
use std::sync::Arc;

use steadfast_core::cost::Usage;
use steadfast_core::decision::Target;
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::recovery::{Attempt, Outcome, Plan};
use steadfast_dialect::Operation as Asked;

use super::{Operation, millis};
use crate::turns::Turn;

impl Operation {
    pub(super) fn place(&self, target: Target) -> Option<Place> {
        let model = Arc::clone(&self.recovery.plan().route.model(target.model.into())?.name);
        let endpoint = Arc::clone(&self.world.endpoint(target.endpoint)?.name);
        Some(Place { model, endpoint })
    }

    pub(super) fn line(&self, event: Event) -> Record {
        Record::new(self.engine.clock.wall(), event, Arc::clone(&self.call.id))
    }

    pub(super) fn log_start(&self) {
        let Plan { policy, route, project, .. } = self.recovery.plan();
        let places = route.chain().iter().flat_map(|model| {
            let endpoints = model.endpoints.iter().filter_map(|served| self.world.endpoint(served.endpoint));
            endpoints.map(|endpoint| Place { model: Arc::clone(&model.name), endpoint: Arc::clone(&endpoint.name) })
        });
        self.engine.record(Record {
            session: self.call.session.clone(),
            client: Some(Arc::clone(&self.call.client.name)),
            agent: self.call.agent.clone(),
            pattern: self.pattern(),
            repeats: self.repeats(),
            project: Some(Arc::clone(&project.name)),
            policy: Some(policy.name.as_str().into()),
            chain: places.collect(),
            attempts_max: Some(policy.attempts_max),
            ..self.line(Event::Start)
        });
    }

    /// The request that this one repeats: by itself, or because a person wants it.
    fn repeats(&self) -> Option<Arc<str>> {
        let again = self.call.wishes.again.as_ref().map(|call| &call.id);
        self.repeat.as_ref().map(|repeat| &repeat.of).or(again).map(Arc::clone)
    }

    fn pattern(&self) -> Option<Arc<str>> {
        let Asked::Generate(format) = self.call.route.operation else { return None };
        Some(self.call.envelope.pattern(format, &self.call.body).into())
    }

    /// What an attempt cost, where the price is known.
    pub(super) fn cost(&self, target: Target, usage: Usage) -> Option<u64> {
        let price = self.recovery.plan().route.model(target.model.into())?.price?;
        (usage != Usage::default()).then(|| price.cost_usd_micros(usage))
    }

    pub(super) fn log_attempt(&self, attempt: &Attempt) {
        self.engine.record(Record {
            attempt: Some(attempt.number),
            target: self.place(attempt.target),
            choice: Some(Cow::Borrowed(attempt.choice.name())),
            ..self.line(Event::Attempt)
        });
    }

    pub(super) fn trace_attempt(&mut self, attempt: &Attempt) {
        if self.trace.is_none() {
            return;
        }
        let place = self.place(attempt.target);
        let endpoint = self.snapshot.config.endpoint(attempt.target.endpoint);
        if let (Some(trace), Some(place), Some(endpoint)) = (&mut self.trace, place, endpoint) {
            trace.attempt(attempt, &place, endpoint.dialect);
        }
    }

    /// `cut` is what an attempt that was cut short came to.
    pub(super) fn log_outcome(&mut self, outcome: &Outcome, cut: Option<(Target, Usage)>) {
        let took = self.engine.clock.now().since(self.started);
        if let Some(trace) = self.trace.take() {
            let place = self.served_by.and_then(|target| self.place(target));
            let endpoint = self.served_by.and_then(|target| self.snapshot.config.endpoint(target.endpoint));
            trace.end(outcome, self.recovery.attempts(), place.as_ref().zip(endpoint.map(|known| known.dialect)));
        }
        self.engine.count_request(&self.snapshot, &self.call, outcome, took);
        if matches!(self.call.route.operation, Asked::Generate(_)) {
            let served = matches!(outcome, Outcome::Succeeded(_));
            let failure = self.recovery.last_failure().filter(|_| !served).cloned();
            let turn = Turn { call: Arc::clone(&self.call), ended: self.engine.clock.wall(), failure };
            self.engine.turns.keep(turn, self.engine.clock.now());
        }
        let record = Record {
            attempt: Some(self.recovery.attempts()),
            latency_ms: Some(millis(took)),
            usage: cut.map(|(_, usage)| usage),
            usd_micros: cut.and_then(|(target, usage)| self.cost(target, usage)),
            ..self.line(Event::Outcome)
        };
        self.engine.record(record.with_outcome(outcome, &self.world));
    }
}
