//! What deciding costs: the breaker beside `failsafe` and `recloser` in the same run, a success
//! from plan to record, and a full decision. Figures are medians of many batches; the ratios are what
//! to compare between machines.
//!
//! `cargo bench -p steadfast-core --bench decide`

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock; the core does not")]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant as Clock};

use failsafe::CircuitBreaker as _;
use steadfast_core::breaker::{Breaker, Outcome, Settings};
use steadfast_core::cost::Usage;
use steadfast_core::policy::template;
use steadfast_core::recovery::{Face, Plan, Recovery};
use steadfast_core::route::{Abilities, EndpointId, Model, Needs, Route, Served};
use steadfast_core::world::{Endpoint, Project, Session, Turn, World};
use steadfast_core::{Failure, FailureKind, Instant};

const CALLS_PER_BATCH: u32 = 20_000;
const BATCHES: u32 = 60;

fn main() {
    breakers();
    operations();
}

fn breakers() {
    let ours = Breaker::new(Settings::default(), 1);
    let five_in_a_row =
        failsafe::failure_policy::consecutive_failures(5, failsafe::backoff::constant(Duration::from_secs(30)));
    let failsafe = failsafe::Config::new().failure_policy(five_in_a_row).build();
    let recloser = recloser::Recloser::custom().closed_len(100).build();
    // The clock is read once per event and is not part of these figures.
    let ours = |step: u32| {
        let now = Instant::from_nanos(u64::from(step) * 100_000);
        if let Ok(permit) = ours.admit(now) {
            black_box(ours.record(permit, Outcome::Success, None, now));
        }
    };
    let failsafe = |_| _ = black_box(failsafe.call(|| black_box(Ok::<(), ()>(()))));
    let recloser = |_| _ = black_box(recloser.call(|| black_box(Ok::<(), ()>(()))));

    for (title, threads) in [("one thread", 1), ("two threads, one breaker", 2)] {
        println!("breaker, admit and record a success, {title}:");
        let ours = median(threads, &ours);
        for (name, nanos) in
            [("steadfast", ours), ("failsafe", median(threads, &failsafe)), ("recloser", median(threads, &recloser))]
        {
            println!("  {name:<10} {nanos:>7.1} ns   {:>5.2} × steadfast", nanos / ours);
        }
    }
}

fn operations() {
    let bench = Bench::new();
    let success = median(1, &|step| bench.succeed(step));
    let start = median(1, &|step| drop(black_box(bench.start(step))));
    let decision = bench.decision_nanos();
    println!("operations:");
    println!("  start a plan                           {start:>7.1} ns");
    println!("  admit and record a success             {:>7.1} ns   (at most 150)", success - start);
    println!("  a full decision: failed, then next     {decision:>7.1} ns   (at most 500)");
}

/// One policy, one route of three models, a healthy world.
struct Bench {
    world: World,
    plan: Plan,
}

impl Bench {
    fn new() -> Self {
        let policy = template("default").expect("a shipped template");
        // A decision is measured, not a tripped breaker or an empty allowance.
        let settings = Settings { failures: 1000, floor: u32::MAX, ..policy.breaker };
        let endpoints = (0..3).map(|id| Endpoint::new(&format!("endpoint-{id}"), settings, 1.0, id)).collect();
        let served = |id| Served { endpoint: EndpointId(id), alias: None };
        let route = Route::single(Model {
            name: Arc::from("model"),
            vendor: Arc::from("vendor"),
            endpoints: (0..3).map(served).collect(),
            fallback: Vec::new(),
            context_window: Some(200_000),
            abilities: Abilities::ALL,
            price: None,
        });
        let plan = Plan {
            policy: Arc::new(policy),
            route: Arc::new(route),
            needs: Needs::default(),
            face: Face::GATEWAY,
            project: Arc::new(Project::new("project", 1.0, None)),
            session: Arc::new(Session::new(None)),
            turn: Turn::New,
            time_limit: None,
            restarts_used: 0,
            seed: 1,
        };
        Self { world: World::new(endpoints), plan }
    }

    fn start(&self, step: u32) -> Recovery {
        Recovery::start(Plan { seed: step.into(), ..self.plan.clone() }, moment(step))
    }

    fn succeed(&self, step: u32) {
        let mut recovery = self.start(step);
        black_box(recovery.next(&self.world, moment(step)));
        recovery.succeeded(Usage::default(), &self.world, moment(step));
        black_box(recovery.next(&self.world, moment(step)));
    }

    /// `failed` and the `next` after it, without building the operation or its failure.
    fn decision_nanos(&self) -> f64 {
        let mut best = f64::MAX;
        for batch in 0..BATCHES {
            let mut waiting: Vec<(Recovery, Failure)> = (0..200)
                .map(|step| {
                    // Each operation has a session of its own, or its retries would run out.
                    let session = Arc::new(Session::new(None));
                    let plan = Plan { seed: step, session, ..self.plan.clone() };
                    let mut recovery = Recovery::start(plan, moment(batch));
                    recovery.next(&self.world, moment(batch));
                    (recovery, Failure::new(FailureKind::RateLimit, "bench"))
                })
                .collect();
            let began = Clock::now();
            for (recovery, failure) in &mut waiting {
                let failure = std::mem::replace(failure, Failure::new(FailureKind::Unknown, "bench"));
                black_box(recovery.failed(failure, Usage::default(), &self.world, moment(batch)));
                black_box(recovery.next(&self.world, moment(batch)));
            }
            best = best.min(began.elapsed().as_nanos() as f64 / waiting.len() as f64);
        }
        best
    }
}

fn moment(step: u32) -> Instant {
    Instant::ORIGIN + Duration::from_micros(u64::from(step))
}

/// The median batch's nanoseconds per call, while `threads - 1` other threads do the same.
fn median(threads: usize, call: &(impl Fn(u32) + Sync)) -> f64 {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| {
                // Both threads' clocks run at about the same pace, as one clock would.
                let mut step = 0;
                while !over.load(Ordering::Relaxed) {
                    (step..step + 1_000).for_each(call);
                    step += 1_000;
                }
            });
        }
        let batch = |batch: u32| {
            let began = Clock::now();
            (0..CALLS_PER_BATCH).for_each(|step| call(batch * CALLS_PER_BATCH + step));
            began.elapsed().as_nanos() as f64 / f64::from(CALLS_PER_BATCH)
        };
        let mut batches: Vec<f64> = (0..BATCHES).map(batch).collect();
        over.store(true, Ordering::Relaxed);
        batches.sort_by(f64::total_cmp);
        batches[batches.len() / 2]
    })
}
