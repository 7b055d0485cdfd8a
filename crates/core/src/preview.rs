//! What a policy would do about a failure that does not go away: the real `Recovery`, walked
//! through in no time against endpoints that admit everything.

use std::sync::Arc;
use std::time::Duration;

use crate::backoff::{Backoff, Jitter};
use crate::breaker;
use crate::cost::Usage;
use crate::decision::{Decision, Reason};
use crate::failure::Failure;
use crate::policy::{Policy, Step, StepRule};
use crate::recovery::{Action, Answer, Face, Outcome, Plan, Recovery};
use crate::route::{Abilities, EndpointId, Model, Needs, Route, Served};
use crate::time::Instant;
use crate::world::{Endpoint, Project, Session, Turn, World};

/// One decision of the preview.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Previewed {
    /// When it would be made, counted from the first failure.
    pub after: Duration,
    /// What would be decided; its wait is the one without jitter.
    pub decision: Decision,
    /// How the wait is spread.
    pub jitter: Jitter,
}

/// Everything that would happen if this failure came again and again.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// The decisions, in order.
    pub decisions: Vec<Previewed>,
    /// How it would end.
    pub outcome: Outcome,
    /// The route that was walked: the model, and the next model of its chain.
    pub route: Arc<Route>,
}

/// A preview never shows more than this; policies allow at most a hundred attempts.
const DECISIONS_MAX: usize = 200;

/// Walks `policy` through `failure`, repeated until nothing is left. Questions are answered with
/// no and repairs do not work, so that every step of the policy is seen.
pub fn preview(policy: &Policy, failure: &Failure, face: Face) -> Preview {
    let (world, plan) = stage(policy, face);
    let route = Arc::clone(&plan.route);
    let mut recovery = Recovery::start(plan, Instant::ORIGIN);
    let mut now = Instant::ORIGIN;
    let mut decisions = Vec::new();
    let outcome = loop {
        let decision = match recovery.next(&world, now) {
            Action::Done(outcome) => break outcome,
            Action::Wait(until) | Action::Restart(until) => {
                now = until;
                continue;
            }
            Action::Defer => continue,
            Action::Attempt(_) => Some(recovery.failed(failure.clone(), Usage::default(), &world, now)),
            Action::Ask(_) => recovery.answered(Answer::No, &world, now),
            Action::Repair => recovery.repaired(false, &world, now),
            Action::Decided(decision) => Some(decision),
        };
        decisions.extend(decision.map(|decision| {
            let jitter = jitter_of(policy, failure, &decision);
            Previewed { after: now.since(Instant::ORIGIN), decision, jitter }
        }));
        if decisions.len() >= DECISIONS_MAX {
            recovery.cancelled(Usage::default(), &world, now);
        }
    };
    Preview { decisions, outcome, route }
}

/// A model with one endpoint and a chain of one, in a world where nothing is ever refused.
fn stage(policy: &Policy, face: Face) -> (World, Plan) {
    let patient = breaker::Settings { failures: 1000, floor: u32::MAX, ..policy.breaker };
    let endpoints = ["endpoint", "next endpoint"].map(|name| Endpoint::new(name, patient, 1.0, 0));
    let model = |name: &str, endpoint: u16| Model {
        name: Arc::from(name),
        vendor: Arc::from("vendor"),
        endpoints: vec![Served { endpoint: EndpointId(endpoint), alias: None }],
        fallback: Vec::new(),
        // Unknown windows: a full context may find room in the next model.
        context_window: None,
        abilities: Abilities::ALL,
        price: None,
    };
    let route = Route::of(vec![model("the model", 0), model("the next model", 1)], vec![model("the next rung", 0)]);
    let plan = Plan {
        policy: Arc::new(policy.clone().without_jitter()),
        route: Arc::new(route),
        needs: Needs::default(),
        face,
        project: Arc::new(Project::new("preview", 1.0, None)),
        session: Arc::new(Session::new(None)),
        turn: Turn::New,
        time_limit: None,
        restarts_used: 0,
        seed: 0,
    };
    (World::new(endpoints.into()), plan)
}

fn jitter_of(policy: &Policy, failure: &Failure, decision: &Decision) -> Jitter {
    let exact = Jitter::Spread(0.0);
    if matches!(decision.reason, Reason::ProviderWait { .. }) {
        return exact;
    }
    let (_, steps) = policy.steps(failure);
    let taken = |rule: &&StepRule| rule.step.name() == decision.step && rule.applies_to(failure.tool.as_deref());
    let backoff = steps.iter().filter(taken).find_map(|rule| match &rule.step {
        Step::Retry(retry) => Some(retry.backoff),
        Step::Restart(restart) => Some(restart.backoff),
        _ => None,
    });
    backoff.as_ref().map_or(exact, Backoff::jitter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::FailureKind;
    use crate::policy::{TEMPLATES, template};

    fn steps(policy: &str, kind: FailureKind, face: Face) -> Vec<String> {
        let policy = template(policy).unwrap();
        let preview = preview(&policy, &Failure::new(kind, "test"), face);
        preview
            .decisions
            .iter()
            .map(|step| format!("{:?} {} {:?}", step.after, step.decision.step, step.decision.wait))
            .collect()
    }

    #[test]
    fn shows_every_step_with_its_time() {
        assert_eq!(
            steps("session-manager", FailureKind::RateLimit, Face::GATEWAY),
            [
                "0ns retry 5s",
                "5s retry 5s",
                "10s retry 5s",
                "15s fallback 0ns",
                "15s retry 5s",
                "20s retry 5s",
                "25s retry 5s",
                "30s give_up 0ns"
            ]
        );
    }

    #[test]
    fn a_preview_of_any_template_and_kind_ends() {
        for (name, _) in TEMPLATES {
            for kind in FailureKind::ALL {
                for face in [Face::GATEWAY, Face::TASK, Face::COUNCIL] {
                    let preview = preview(&template(name).unwrap(), &Failure::new(kind, "test"), face);
                    assert!(!preview.decisions.is_empty(), "{name} {kind}");
                    assert!(preview.decisions.len() < DECISIONS_MAX, "{name} {kind}");
                }
            }
        }
    }

    #[test]
    fn jitter_is_told_beside_the_wait() {
        let policy = template("hardened").unwrap();
        let preview = preview(&policy, &Failure::new(FailureKind::Timeout, "test"), Face::GATEWAY);
        assert_eq!(preview.decisions[0].jitter, Jitter::Spread(0.2));
        assert_eq!(preview.decisions[0].decision.wait, Duration::from_secs(1));
    }

    #[test]
    fn a_wait_the_provider_asked_for_is_exact() {
        let failure =
            Failure { retry_after: Some(Duration::from_secs(7)), ..Failure::new(FailureKind::RateLimit, "test") };
        let preview = preview(&template("hardened").unwrap(), &failure, Face::GATEWAY);
        assert_eq!(preview.decisions[0].jitter, Jitter::Spread(0.0));
        assert_eq!(preview.decisions[0].decision.wait, Duration::from_secs(7));
    }

    #[test]
    fn a_restart_is_told_with_its_own_spread() {
        let mut policy = template("hardened").unwrap();
        let backoff = Backoff::doubling(Duration::from_secs(60), Duration::from_secs(240), Jitter::Full);
        let steps = vec![Step::Restart(crate::policy::Restart { max: 1, backoff }).into()];
        policy.on.set(crate::policy::Trigger::Kind(FailureKind::Unknown), steps);
        let preview = preview(&policy, &Failure::new(FailureKind::Unknown, "test"), Face::TASK);
        let told: Vec<_> = preview.decisions.iter().map(|step| (step.decision.step, step.jitter)).collect();
        assert_eq!(told, [("restart", Jitter::Full), ("give_up", Jitter::Spread(0.0))]);
    }

    #[test]
    fn a_breaker_that_would_trip_hides_no_step() {
        let decided = |breaker: breaker::Settings| {
            let policy = Policy { breaker, ..template("hardened").unwrap() };
            let steps = preview(&policy, &Failure::new(FailureKind::Timeout, "test"), Face::GATEWAY).decisions;
            steps.iter().map(|step| step.decision.step).collect::<Vec<_>>()
        };
        let patient = decided(breaker::Settings::default());
        assert_eq!(patient.iter().filter(|step| **step == "retry").count(), 5);
        for adaptive in [false, true] {
            let touchy = breaker::Settings { failures: 1, floor: 1, ratio: 0.01, adaptive, ..Default::default() };
            assert_eq!(decided(touchy), patient);
        }
    }
}
