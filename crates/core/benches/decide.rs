//! What deciding costs: the breaker beside `failsafe` and `recloser` in the same run, a success
//! from plan to record, and a full decision. Figures are medians of many batches; the ratios are what
//! to compare between machines.
//!
//! `cargo bench -p steadfast-core --bench decide`, which fails where a figure is missed. Two threads can only be
//! measured where two cores are free; where they are not, it says so.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock; the core does not")]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
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

/// How many calls the other thread makes before it says how far it is.
const LAP: u32 = 500;

/// How many batches are tried for [`BATCHES`] that ran beside another thread.
const BATCHES_BESIDE_MAX: u32 = 20_000;

/// What two measurements of the same thing may differ by on a machine that does other things too.
const NOISE: f64 = 1.1;

/// A promise, and whether it was kept; `None` where that could not be measured.
type Guard = (String, Option<bool>);

fn main() -> ExitCode {
    // `cargo test --all-targets` runs this too, unoptimised: nothing to measure then.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let guards: Vec<Guard> = breakers().into_iter().chain(operations()).collect();
    for (name, kept) in &guards {
        let word = match kept {
            Some(true) => "ok  ",
            Some(false) => "FAIL",
            None => "?   ",
        };
        println!("{word} {name}");
    }
    if guards.iter().any(|(_, kept)| *kept == Some(false)) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn breakers() -> Vec<Guard> {
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

    let alone = [median(&ours), median(&failsafe), median(&recloser)].map(Some);
    let beside = [median_beside_another(&ours), median_beside_another(&failsafe), median_beside_another(&recloser)];
    let mut guards = compare("one thread", alone);
    guards.extend(compare("two threads, one breaker", beside));
    guards
}

/// Prints what a breaker costs: ours, that of `failsafe`, that of `recloser`.
fn compare(title: &str, [ours, failsafe, recloser]: [Option<f64>; 3]) -> Vec<Guard> {
    println!("breaker, admit and record a success, {title}:");
    let print = |name: &str, nanos: Option<f64>| match (ours, nanos) {
        (Some(ours), Some(nanos)) => println!("  {name:<10} {nanos:>7.1} ns   {:>5.2} × steadfast", nanos / ours),
        _ => println!("  {name:<10} not measured: no second core was free for long enough"),
    };
    print("steadfast", ours);
    let guard = |(name, theirs): (&str, Option<f64>)| {
        print(name, theirs);
        let kept = ours.zip(theirs).map(|(ours, theirs)| ours <= NOISE * theirs);
        (format!("a breaker costs no more than that of {name}, {title}"), kept)
    };
    [("failsafe", failsafe), ("recloser", recloser)].into_iter().map(guard).collect()
}

fn operations() -> Vec<Guard> {
    let bench = Bench::new();
    let success = median(&|step| bench.succeed(step));
    let start = median(&|step| drop(black_box(bench.start(step))));
    let decision = bench.decision_nanos();
    let success = success - start;
    println!("operations:");
    println!("  start a plan                           {start:>7.1} ns");
    println!("  admit and record a success             {success:>7.1} ns   (allocations: tests/allocations.rs)");
    println!("  a full decision: failed, then next     {decision:>7.1} ns");
    vec![
        ("a success under 150 ns".to_owned(), Some(success < 150.0)),
        ("a full decision under 500 ns".to_owned(), Some(decision < 500.0)),
    ]
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

/// The median batch's nanoseconds per call by one thread alone.
fn median(call: &impl Fn(u32)) -> f64 {
    middle((0..BATCHES).map(|number| batch(call, number)).collect()).unwrap_or(f64::NAN)
}

/// The same while another thread does the same to the same thing; `None` where the machine did not let two run at once.
///
/// Only batches in which the other came about as far count: on a busy machine one of the two often waits for its turn,
/// and what is measured then is a thread alone, or the wait.
fn median_beside_another(call: &(impl Fn(u32) + Sync)) -> Option<f64> {
    let (over, laps) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Both threads' clocks run at about the same pace, as one clock would.
            for lap in 0.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                (lap * LAP..(lap + 1) * LAP).for_each(call);
                laps.store(lap + 1, Ordering::Relaxed);
            }
        });
        let beside = |number: u32| {
            let before = laps.load(Ordering::Relaxed);
            let nanos = batch(call, number);
            let lapped = laps.load(Ordering::Relaxed) - before;
            (CALLS_PER_BATCH / 2..=2 * CALLS_PER_BATCH).contains(&(lapped * LAP)).then_some(nanos)
        };
        let batches: Vec<f64> = (0..BATCHES_BESIDE_MAX).filter_map(beside).take(BATCHES as usize).collect();
        over.store(true, Ordering::Relaxed);
        if batches.len() < BATCHES as usize { None } else { middle(batches) }
    })
}

/// Nanoseconds per call.
fn batch(call: &impl Fn(u32), number: u32) -> f64 {
    let began = Clock::now();
    (0..CALLS_PER_BATCH).for_each(|step| call(number * CALLS_PER_BATCH + step));
    began.elapsed().as_nanos() as f64 / f64::from(CALLS_PER_BATCH)
}

fn middle(mut batches: Vec<f64>) -> Option<f64> {
    batches.sort_by(f64::total_cmp);
    batches.get(batches.len() / 2).copied()
}
