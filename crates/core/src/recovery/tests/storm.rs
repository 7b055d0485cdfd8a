//! Recovery while an outage is found out: what the simulator taught, as small cases.

use std::sync::Arc;
use std::time::Duration;

use crate::cost::Usage;
use crate::decision::{Reason, Skip};
use crate::failure::Failure;
use crate::kind::FailureKind;
use crate::policy::{Policy, VendorBoundary, template};
use crate::recovery::{Action, Choice, Face, Outcome, Plan, Recovery};
use crate::route::{Abilities, Catalogue, EndpointId, Model, Needs, Served};
use crate::time::Instant;
use crate::world::{Endpoint, Project, Session, Turn, World};

struct Fixture {
    world: World,
    plan: Plan,
}

/// One model at two endpoints.
fn fixture(policy: Policy, face: Face) -> Fixture {
    let (breaker, retry_share) = (policy.breaker, policy.retry_share);
    let endpoint = |name| Endpoint::new(name, breaker, retry_share, 1);
    let served = |index| Served { endpoint: EndpointId(index), alias: None };
    let model = Model {
        name: "m".into(),
        vendor: "v".into(),
        endpoints: vec![served(0), served(1)],
        fallback: Vec::new(),
        context_window: None,
        abilities: Abilities::ALL,
        price: None,
    };
    let catalogue = Catalogue::new([model], Vec::new());
    let route = catalogue.route(catalogue.model("m").unwrap(), None, VendorBoundary::Open).unwrap();
    let plan = Plan {
        project: Arc::new(Project::new("p", policy.fallback_share, None)),
        session: Arc::new(Session::new(None)),
        route: Arc::new(route),
        needs: Needs::default(),
        face,
        turn: Turn::New,
        time_limit: None,
        restarts_used: 0,
        seed: 1,
        policy: Arc::new(policy),
    };
    Fixture { world: World::new(vec![endpoint("a"), endpoint("b")]), plan }
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn down() -> Failure {
    Failure::new(FailureKind::NetworkTransient, "test")
}

/// Failures of other callers until the breaker opens.
fn shut(world: &World, endpoint: u16, now: Instant) {
    let breaker = &world.endpoint(EndpointId(endpoint)).unwrap().breaker;
    while let Ok(permit) = breaker.admit(now) {
        breaker.record(permit, crate::breaker::Outcome::Failure, None, now);
    }
}

/// Successes of many other callers.
fn serve(world: &World, endpoint: u16, now: Instant) {
    let breaker = &world.endpoint(EndpointId(endpoint)).unwrap().breaker;
    for _ in 0..5000 {
        let permit = breaker.admit(now).unwrap();
        breaker.record(permit, crate::breaker::Outcome::Success, None, now);
    }
}

#[test]
fn with_little_traffic_a_fallback_looks_elsewhere_at_once() {
    let Fixture { world, plan } = fixture(template("default").unwrap(), Face::GATEWAY);
    let fails = |now: u64| {
        let mut recovery = Recovery::start(plan.clone(), at(now));
        assert!(matches!(recovery.next(&world, at(now)), Action::Attempt(_)));
        if now == 1000 {
            shut(&world, 0, at(1100));
        }
        recovery.failed(down(), Usage::default(), &world, at(now + 200))
    };
    let decision = fails(1000);
    assert_eq!((decision.step, decision.passed_over), ("fallback", Some(Skip::KeepsFailing)));
    // The next endpoint has failed since as well: it may be an outage of everything.
    let other = &world.endpoint(EndpointId(1)).unwrap().breaker;
    let permit = other.admit(at(1300)).unwrap();
    other.record(permit, crate::breaker::Outcome::Failure, None, at(1300));
    assert!(!other.is_untried(at(1300)));
    let mut recovery = Recovery::start(plan.clone(), at(1400));
    assert!(matches!(recovery.next(&world, at(1400)), Action::Attempt(_)));
    let decision = recovery.failed(down(), Usage::default(), &world, at(1500));
    assert_eq!((decision.step, decision.reason), ("retry", Reason::KeepsFailing));
}

#[test]
fn extra_attempts_wait_while_an_outage_is_being_found_out() {
    let Fixture { world, plan } = fixture(template("default").unwrap(), Face::GATEWAY);
    serve(&world, 0, at(900));
    let mut recovery = Recovery::start(plan, at(1000));
    assert!(matches!(recovery.next(&world, at(1000)), Action::Attempt(_)));
    shut(&world, 0, at(1100));
    let decision = recovery.failed(down(), Usage::default(), &world, at(1200));
    assert_eq!((decision.step, decision.reason), ("retry", Reason::KeepsFailing));
    assert!(decision.wait > Duration::ZERO);
    // Three seconds later the others have shown that they live.
    let Action::Decided(decision) = recovery.next(&world, at(5000)) else { panic!("looks again") };
    assert_eq!((decision.step, decision.passed_over), ("fallback", Some(Skip::BreakerOpen)));
    let Action::Attempt(attempt) = recovery.next(&world, at(5000)) else { panic!("falls back") };
    assert_eq!((attempt.target.endpoint, attempt.choice), (EndpointId(1), Choice::Fallback));
}

#[test]
fn a_task_that_finds_every_breaker_open_runs_again_later() {
    let Fixture { world, plan } = fixture(template("hardened").unwrap(), Face::TASK);
    shut(&world, 0, at(1000));
    shut(&world, 1, at(1000));
    for endpoint in [0, 1] {
        let throttle = &world.endpoint(EndpointId(endpoint)).unwrap().throttle;
        (0..1000).for_each(|_| throttle.record(false, at(1000)));
    }
    let mut recovery = Recovery::start(plan.clone(), at(2000));
    let Action::Decided(decision) = recovery.next(&world, at(2000)) else { panic!("decides") };
    assert_eq!((decision.step, decision.reason), ("restart", Reason::NewRun { restart: 1, of: 3 }));
    let Action::Restart(again) = recovery.next(&world, at(2000)) else { panic!("restarts") };
    // Five minutes of cooldown are longer than the first minute between runs.
    assert!(again >= at(300_000));
    assert!(matches!(recovery.next(&world, again + Duration::from_secs(60)), Action::Attempt(_)));
    // A request cannot be restarted and is told at once.
    let mut request = Recovery::start(Plan { face: Face::GATEWAY, ..plan }, at(2000));
    assert!(matches!(request.next(&world, at(2000)), Action::Done(Outcome::GaveUp(Reason::NoTarget { .. }))));
}

#[test]
fn a_retry_that_serves_is_given_back() {
    let Fixture { world, plan } = fixture(template("default").unwrap(), Face::GATEWAY);
    let retries = || world.endpoint(EndpointId(0)).unwrap().retries.left();
    let before = retries();
    let mut recovery = Recovery::start(plan, at(0));
    recovery.next(&world, at(0));
    recovery.failed(down(), Usage::default(), &world, at(100));
    assert_eq!(retries(), before - 1);
    let Action::Wait(until) = recovery.next(&world, at(100)) else { panic!("waits") };
    assert!(matches!(recovery.next(&world, until), Action::Attempt(_)));
    recovery.succeeded(Usage::default(), &world, until);
    assert_eq!(retries(), before);
}
