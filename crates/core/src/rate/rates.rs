//! The limits of a project: one for all of it, one for each of its agents.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{RateLimit, Refusal, Standing};
use crate::time::Instant;

/// Agents that are counted one by one. Their names come from clients.
const AGENTS_MAX: usize = 4096;

/// How fast a project may go.
#[derive(Debug, Default)]
pub struct Rates {
    project: Option<RateLimit>,
    per_agent: Option<u32>,
    agents: Mutex<HashMap<Arc<str>, Arc<RateLimit>>>,
    /// How many replicas there are, as far as is known.
    replicas: AtomicU32,
    /// Whether there is somebody to ask.
    is_shared: AtomicBool,
}

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The project's.
    Project,
    /// The agent's.
    Agent,
}

/// A limit that lets nothing start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Whose it is.
    pub whose: Whose,
    /// Why.
    pub refusal: Refusal,
}

impl Rates {
    /// Requests per minute of a project, and of each agent in it.
    pub fn per_minute(project: Option<u32>, per_agent: Option<u32>) -> Self {
        Self { project: project.map(RateLimit::per_minute), per_agent, ..Self::default() }
    }

    /// Whether there is any limit: a project without one pays nothing.
    pub const fn is_limited(&self) -> bool {
        self.project.is_some() || self.per_agent.is_some()
    }

    /// So many replicas share the limits, those of agents included that are not known yet.
    pub fn share(&self, replicas: u32) {
        self.replicas.store(replicas, Ordering::Relaxed);
        self.is_shared.store(true, Ordering::Relaxed);
    }

    /// Nobody can be asked: agents that are not known yet have this replica's share.
    pub fn on_its_own(&self) {
        self.is_shared.store(false, Ordering::Relaxed);
    }

    /// Whether these are the limits.
    pub fn are(&self, project: Option<u32>, per_agent: Option<u32>) -> bool {
        self.project.as_ref().map(RateLimit::limit) == project && self.per_agent == per_agent
    }

    /// The project's own limit.
    pub const fn project(&self) -> Option<&RateLimit> {
        self.project.as_ref()
    }

    /// Requests per minute of each agent.
    pub const fn per_agent(&self) -> Option<u32> {
        self.per_agent
    }

    /// The agents that were seen lately, with their limits.
    pub fn agents(&self) -> Vec<(Arc<str>, Arc<RateLimit>)> {
        self.lock().iter().map(|(name, limit)| (Arc::clone(name), Arc::clone(limit))).collect()
    }

    /// Starts a request of this agent, if both limits allow it; how the tighter of them stands.
    pub fn take(&self, agent: &str, now: Instant) -> Result<Option<Standing>, Refused> {
        self.take_by(agent, now, RateLimit::take)
    }

    /// The same without asking anybody for more of a shared limit.
    pub fn take_unasked(&self, agent: &str, now: Instant) -> Result<Option<Standing>, Refused> {
        self.take_by(agent, now, |limit, now| limit.take_unasked(now).map_err(Refusal::Reached))
    }

    fn take_by(
        &self,
        agent: &str,
        now: Instant,
        take: impl Fn(&RateLimit, Instant) -> Result<Standing, Refusal>,
    ) -> Result<Option<Standing>, Refused> {
        let limit = self.per_agent.map(|limit| self.agent(agent, limit, now));
        let refused = |whose| move |refusal| Refused { whose, refusal };
        let by_agent = limit.as_ref().map(|limit| take(limit, now).map_err(refused(Whose::Agent))).transpose()?;
        let by_project = self.project.as_ref().map(|limit| take(limit, now).map_err(refused(Whose::Project)));
        match by_project {
            None => Ok(by_agent),
            Some(Ok(standing)) => Ok(Some(by_agent.map_or(standing, |agent| agent.tighter(standing)))),
            Some(Err(refused)) => {
                if let Some(limit) = limit {
                    limit.give_back(now, now);
                }
                Err(refused)
            }
        }
    }

    /// Gives back what a request took that did not start.
    pub fn give_back(&self, agent: &str, taken: Instant, now: Instant) {
        if let Some(limit) = &self.project {
            limit.give_back(taken, now);
        }
        let known = self.per_agent.and_then(|_| self.lock().get(agent).map(Arc::clone));
        if let Some(limit) = known {
            limit.give_back(taken, now);
        }
    }

    fn agent(&self, name: &str, limit: u32, now: Instant) -> Arc<RateLimit> {
        let mut agents = self.lock();
        if let Some(known) = agents.get(name) {
            return Arc::clone(known);
        }
        if agents.len() >= AGENTS_MAX {
            // Who did nothing for a minute has all of the limit again: forgetting changes nothing.
            agents.retain(|_, limit| !limit.is_idle(now));
        }
        // More busy agents than can be counted one by one share the last place.
        let name = if agents.len() >= AGENTS_MAX { "" } else { name };
        let made = || {
            let made = RateLimit::per_minute(limit);
            let replicas = self.replicas.load(Ordering::Relaxed);
            match self.is_shared.load(Ordering::Relaxed) {
                true => made.share(replicas, now),
                false => made.divide_among(replicas),
            }
            Arc::new(made)
        };
        Arc::clone(agents.entry(name.into()).or_insert_with(made))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<RateLimit>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Whose {
    /// The word used in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Agent => "agent",
        }
    }
}

impl Standing {
    /// The one that leaves less room.
    #[must_use]
    pub fn tighter(self, other: Self) -> Self {
        if other.remaining < self.remaining { other } else { self }
    }
}
