//! A broken invariant, made small: the seed, the scenario, and the shortest trace that shows it.

use std::fmt;

use crate::run::{Logging, Setup, simulate};
use crate::watch::Broken;

/// A broken invariant with the smallest run found that shows it.
#[derive(Debug, thiserror::Error)]
pub struct Trouble {
    /// The run.
    pub setup: Box<Setup>,
    /// What did not hold.
    #[source]
    pub broken: Box<Broken>,
    /// The last lines of the offending request's log.
    pub trace: Vec<String>,
}

/// How many lines of the trace are kept.
const TRACE_LINES: usize = 30;

/// How many smaller runs are tried.
const TRIES_MAX: u32 = 60;

impl Trouble {
    /// Looks for a smaller run that breaks the same invariant.
    pub fn shrink(setup: &Setup, broken: Box<Broken>) -> Self {
        let mut smallest = Self { setup: Box::new(setup.clone()), broken, trace: Vec::new() };
        let mut tries = 0;
        while let Some(smaller) = smallest.smaller(&mut tries) {
            smallest = smaller;
        }
        if let Some(request) = smallest.broken.request {
            let log = simulate(&Setup { log: Logging::Only(request), ..(*smallest.setup).clone() }).log;
            let lines: Vec<String> = String::from_utf8_lossy(&log).lines().map(str::to_owned).collect();
            smallest.trace = lines[lines.len().saturating_sub(TRACE_LINES)..].to_vec();
        }
        smallest
    }

    fn smaller(&self, tries: &mut u32) -> Option<Self> {
        let scenario = &self.setup.scenario;
        let until = (self.broken.at.as_millis() / 1000 + 1) as u32;
        let mut candidates = vec![
            scenario.clone().with_seconds(until.min(scenario.seconds)),
            scenario.clone().with_seconds(scenario.seconds / 2),
            scenario.clone().with_clients(scenario.clients / 2),
            scenario.clone().with_clients(scenario.clients * 4 / 5),
        ];
        let mut one_project = scenario.clone();
        one_project.projects = 1;
        candidates.push(one_project);
        for dropped in 0..scenario.faults.len() {
            let mut fewer = scenario.clone();
            fewer.faults.remove(dropped);
            candidates.push(fewer);
        }
        for candidate in candidates.into_iter().filter(|candidate| candidate != scenario) {
            *tries += 1;
            if *tries > TRIES_MAX {
                return None;
            }
            let setup = Setup { scenario: candidate, log: Logging::Off, ..(*self.setup).clone() };
            match simulate(&setup).broken {
                Some(broken) if broken.invariant == self.broken.invariant => {
                    return Some(Self { setup: Box::new(setup), broken, trace: Vec::new() });
                }
                _ => {}
            }
        }
        None
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setup { scenario, policy, seed, .. } = &*self.setup;
        writeln!(f, "broken invariant: {}", self.broken)?;
        writeln!(
            f,
            "seed {seed}, scenario {}, policy {}, {} clients, {} seconds, {} projects, faults {:?}",
            scenario.name, policy.name, scenario.clients, scenario.seconds, scenario.projects, scenario.faults
        )?;
        for line in &self.trace {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}
