//! A half-open breaker admits exactly its probes: no more, and no fewer while somebody asks.

use steadfast_core::Instant;
use steadfast_core::breaker::{Cause, State};
use steadfast_core::decision::{Reason, Refused};
use steadfast_core::route::EndpointId;
use steadfast_core::world::{Endpoint, World};

use super::{Checked, EndpointBook, Watch, broken};
use crate::invariant::Invariant;

impl EndpointBook {
    fn probes_in_flight(&self, now: Instant) -> usize {
        self.probes.iter().filter(|(_, ends)| now < *ends).count()
    }
}

impl Watch {
    /// (B3) An attempt is a probe; its place is taken until it ends or its lease does.
    pub(super) fn takes_place(&mut self, at: EndpointId, endpoint: &Endpoint, id: u64, now: Instant) -> Checked {
        let book = &mut self.endpoints[usize::from(at.0)];
        book.probes.retain(|(_, ends)| now < *ends);
        book.probes.push((id, now + self.policy.breaker.lease));
        let probes = book.probes.len().max(endpoint.breaker.probes_in_flight(now));
        if probes > self.policy.breaker.probes as usize {
            let detail = format!("{probes} of {} at {}", self.policy.breaker.probes, endpoint.name);
            return broken(Invariant::ProbesOnly, detail, id, now);
        }
        self.places_agree(at, endpoint, id, now)
    }

    /// (B3) A half-open breaker says that it would admit if, and only if, a place is free.
    pub(crate) fn places_agree(&self, at: EndpointId, endpoint: &Endpoint, id: u64, now: Instant) -> Checked {
        if endpoint.breaker.state(now) != State::HalfOpen {
            return Ok(());
        }
        let taken = self.endpoints[usize::from(at.0)].probes_in_flight(now);
        let is_free = taken < self.policy.breaker.probes as usize;
        let invariant = match (is_free, endpoint.breaker.is_open(now)) {
            (true, false) | (false, true) => return Ok(()),
            (true, true) => Invariant::ProbesAdmitted,
            (false, false) => Invariant::ProbesOnly,
        };
        let detail = format!("{taken} of {} places at {} are taken", self.policy.breaker.probes, endpoint.name);
        broken(invariant, detail, id, now)
    }

    /// (B2 B3) Where a breaker is said to have refused, it is open, or all places of its probes are taken.
    pub(super) fn refused(&self, reason: Reason, world: &World, id: u64, now: Instant) -> Checked {
        let (Reason::NoTarget { endpoint: at, cause: Refused::Breaker(cause), .. }
        | Reason::Parked { endpoint: at, cause: Some(Refused::Breaker(cause)) }) = reason
        else {
            return Ok(());
        };
        let Some(endpoint) = world.endpoint(at) else { return Ok(()) };
        let taken = self.endpoints[usize::from(at.0)].probes_in_flight(now);
        let state = endpoint.breaker.state(now);
        let is_so = match cause {
            Cause::Open => matches!(state, State::Open { .. }),
            Cause::Probing => state == State::HalfOpen && taken >= self.policy.breaker.probes as usize,
            Cause::Forced => endpoint.breaker.is_forced_open(now),
        };
        if is_so {
            return Ok(());
        }
        let detail = format!("{} refused as {cause:?}: {state:?}, {taken} places taken", endpoint.name);
        broken(Invariant::ProbesAdmitted, detail, id, now)
    }
}
