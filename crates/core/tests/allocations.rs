//! The way of a success allocates nothing: a gateway at full speed must not pay the heap.

use std::sync::Arc;
use std::time::Duration;

use steadfast_core::breaker::Settings;
use steadfast_core::cost::Usage;
use steadfast_core::policy::template;
use steadfast_core::recovery::{Action, Face, Plan, Recovery};
use steadfast_core::route::{Abilities, EndpointId, Model, Needs, Route, Served};
use steadfast_core::world::{Endpoint, Project, Session, Turn, World};
use steadfast_core::{Failure, FailureKind, Instant};

fn plan() -> (World, Plan) {
    let world = World::new(vec![Endpoint::new("endpoint", Settings::default(), 0.2, 1)]);
    let model = Model {
        name: Arc::from("model"),
        vendor: Arc::from("vendor"),
        endpoints: vec![Served { endpoint: EndpointId(0), alias: None }],
        fallback: Vec::new(),
        context_window: None,
        abilities: Abilities::ALL,
        price: None,
    };
    let plan = Plan {
        policy: Arc::new(template("default").expect("a shipped template")),
        route: Arc::new(Route::single(model)),
        needs: Needs::default(),
        face: Face::GATEWAY,
        project: Arc::new(Project::new("project", 1.0, None)),
        session: Arc::new(Session::new(None)),
        turn: Turn::New,
        time_limit: None,
        restarts_used: 0,
        seed: 1,
    };
    (world, plan)
}

#[test]
fn a_success_allocates_nothing() {
    let (world, plan) = plan();
    let now = Instant::from_millis(1);
    let plan_of_the_operation = plan.clone();
    let used = allocation_counter::measure(|| {
        let mut recovery = Recovery::start(plan_of_the_operation, now);
        assert!(matches!(recovery.next(&world, now), Action::Attempt(_)));
        recovery.begun(&world, now);
        recovery.succeeded(Usage::default(), &world, now + Duration::from_secs(1));
    });
    assert_eq!(used.count_total, 0);
}

#[test]
fn a_decision_allocates_only_its_progress() {
    let (world, plan) = plan();
    let now = Instant::from_millis(1);
    let mut recovery = Recovery::start(plan, now);
    assert!(matches!(recovery.next(&world, now), Action::Attempt(_)));
    let failure = Failure::new(FailureKind::ServerError, "test");
    let used = allocation_counter::measure(|| {
        _ = recovery.failed(failure, Usage::default(), &world, now);
    });
    assert!(used.count_total <= 1, "{used:?}");
}
