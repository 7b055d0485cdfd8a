//! What deciding costs: the breaker beside `failsafe` and `recloser` in the same run, a success
//! from plan to record, and a full decision; the ratios are what to compare between machines.
//!
//! Alone, the fastest of many batches counts, and those of all three take turns: whatever else the machine does makes a
//! batch slower and never faster. Beside another thread the fastest batch is one in which the two met least, so there it
//! is the median. Our own breaker is measured twice, which shows how far two measurements of one thing lie apart. The
//! guards allow nothing for that: the nearest of the others is further away.
//!
//! `cargo bench -p steadfast-core --bench decide` fails where a figure is missed, and where two threads could not be
//! measured because no second core was free for long enough. `-- --one-core` leaves them out, and says so.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock; the core does not")]

use std::hint::black_box;
use std::ops::Range;
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
const BATCHES: u32 = 200;

/// How many calls the other thread makes before it says how far it is.
const LAP: u32 = 500;

/// How many batches are tried before the next one has its turn beside another thread.
const ROUND: u32 = 20;

/// How long batches are tried until [`BATCHES`] of each have run beside another thread.
const BESIDE_MAX: Duration = Duration::from_secs(60);

/// A promise, and what became of it.
type Guard = (String, Kept);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Yes,
    No,
    /// It could not be measured: nobody knows.
    Unmeasured,
    /// Nobody asked for it.
    LeftOut,
}

fn main() -> ExitCode {
    let asked = |name: &str| std::env::args().any(|argument| argument == name);
    // `cargo test --all-targets` runs this too, unoptimised: nothing to measure then.
    if !asked("--bench") {
        return ExitCode::SUCCESS;
    }
    let guards: Vec<Guard> = breakers(asked("--one-core")).into_iter().chain(operations()).collect();
    for (name, kept) in &guards {
        let word = match kept {
            Kept::Yes => "ok         ",
            Kept::No => "FAIL       ",
            Kept::Unmeasured => "unmeasured ",
            Kept::LeftOut => "left out   ",
        };
        println!("{word}{name}");
    }
    let good = guards.iter().all(|(_, kept)| matches!(kept, Kept::Yes | Kept::LeftOut));
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn breakers(one_core: bool) -> Vec<Guard> {
    let ours = [Breaker::new(Settings::default(), 1), Breaker::new(Settings::default(), 1)];
    let five_in_a_row =
        failsafe::failure_policy::consecutive_failures(5, failsafe::backoff::constant(Duration::from_secs(30)));
    let failsafe = failsafe::Config::new().failure_policy(five_in_a_row).build();
    let recloser = recloser::Recloser::custom().closed_len(100).build();
    // The clock is read once per event and is not part of these figures.
    let [ours, again] = &ours.map(|breaker| {
        move |step: u32| {
            let now = Instant::from_nanos(u64::from(step) * 100_000);
            if let Ok(permit) = breaker.admit(now) {
                black_box(breaker.record(permit, Outcome::Success, None, now));
            }
        }
    });
    let failsafe = |_| _ = black_box(failsafe.call(|| black_box(Ok::<(), ()>(()))));
    let recloser = |_| _ = black_box(recloser.call(|| black_box(Ok::<(), ()>(()))));
    let all: [&dyn Subject; 4] = [ours, again, &failsafe, &recloser];

    let mut guards = compare("one thread", Ok(fastest_of(all)));
    let beside = if one_core { Err(Kept::LeftOut) } else { beside_another(all).ok_or(Kept::Unmeasured) };
    guards.extend(compare("two threads, one breaker", beside));
    guards
}

/// Prints what a breaker costs: ours, ours once more, that of `failsafe`, that of `recloser`.
fn compare(title: &str, nanos: Result<[f64; 4], Kept>) -> Vec<Guard> {
    println!("breaker, admit and record a success, {title}:");
    let theirs = |name: &str| format!("a breaker costs no more than that of {name}, {title}");
    let [ours, again, failsafe, recloser] = match nanos {
        Ok(nanos) => nanos,
        Err(why) => {
            let words = if why == Kept::LeftOut { "left out" } else { "no second core was free for long enough" };
            println!("  {words}");
            return ["failsafe", "recloser"].map(|name| (theirs(name), why)).into();
        }
    };
    for (name, nanos) in [("steadfast", ours), ("again", again), ("failsafe", failsafe), ("recloser", recloser)] {
        println!("  {name:<10} {nanos:>7.1} ns   {:>5.2} × steadfast", nanos / ours);
    }
    let guard = |name, nanos: f64| (theirs(name), kept(ours <= nanos));
    vec![guard("failsafe", failsafe), guard("recloser", recloser)]
}

const fn kept(is_kept: bool) -> Kept {
    if is_kept { Kept::Yes } else { Kept::No }
}

fn operations() -> Vec<Guard> {
    let bench = Bench::new();
    let [success, start] =
        fastest_of([&|step: u32| bench.succeed(step), &|step: u32| drop(black_box(bench.start(step)))]);
    let decision = bench.decision_nanos();
    let success = success - start;
    println!("operations:");
    println!("  start a plan                           {start:>7.1} ns");
    println!("  admit and record a success             {success:>7.1} ns   (allocations: tests/allocations.rs)");
    println!("  a full decision: failed, then next     {decision:>7.1} ns");
    vec![
        ("a success under 150 ns".to_owned(), kept(success < 150.0)),
        ("a full decision under 500 ns".to_owned(), kept(decision < 500.0)),
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

/// What is measured: called once a batch, so that how it is called costs nothing.
trait Subject: Sync {
    fn run(&self, steps: Range<u32>);
}

impl<F: Fn(u32) + Sync> Subject for F {
    fn run(&self, steps: Range<u32>) {
        steps.for_each(self);
    }
}

/// Nanoseconds per call in the fastest batch of each, by one thread alone.
fn fastest_of<const N: usize>(subjects: [&dyn Subject; N]) -> [f64; N] {
    let mut fastest = [f64::INFINITY; N];
    for number in 0..BATCHES {
        for (fastest, subject) in fastest.iter_mut().zip(subjects) {
            *fastest = fastest.min(batch(subject, number));
        }
    }
    fastest
}

/// Nanoseconds per call in the median batch of each while another thread does the same to the same thing; `None`
/// where the machine did not let two run at once for often enough.
fn beside_another<const N: usize>(subjects: [&dyn Subject; N]) -> Option<[f64; N]> {
    let mut batches = [const { Vec::new() }; N];
    let began = Clock::now();
    for round in 0.. {
        if batches.iter().all(|batches| batches.len() >= BATCHES as usize) {
            return Some(batches.map(middle));
        }
        if began.elapsed() > BESIDE_MAX {
            break;
        }
        for (batches, subject) in batches.iter_mut().zip(subjects) {
            batches.extend(round_beside(subject, round * ROUND..(round + 1) * ROUND));
        }
    }
    None
}

/// The batches of a round in which the other thread came about as far: on a busy machine one of the two often waits
/// for its turn, and what is measured then is a thread alone, or the wait.
fn round_beside(subject: &dyn Subject, numbers: Range<u32>) -> Vec<f64> {
    let (over, laps) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        // Both threads' clocks run at about the same pace, as one clock would.
        let first = numbers.start * (CALLS_PER_BATCH / LAP);
        scope.spawn({
            let (over, laps) = (&over, &laps);
            move || {
                for lap in first.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    subject.run(lap * LAP..(lap + 1) * LAP);
                    laps.store(lap - first + 1, Ordering::Relaxed);
                }
            }
        });
        let beside = |number: u32| {
            let before = laps.load(Ordering::Relaxed);
            let nanos = batch(subject, number);
            let lapped = laps.load(Ordering::Relaxed) - before;
            (CALLS_PER_BATCH / 2..=2 * CALLS_PER_BATCH).contains(&(lapped * LAP)).then_some(nanos)
        };
        let batches = numbers.filter_map(beside).collect();
        over.store(true, Ordering::Relaxed);
        batches
    })
}

/// Nanoseconds per call.
fn batch(subject: &dyn Subject, number: u32) -> f64 {
    let began = Clock::now();
    subject.run(number * CALLS_PER_BATCH..(number + 1) * CALLS_PER_BATCH);
    began.elapsed().as_nanos() as f64 / f64::from(CALLS_PER_BATCH)
}

fn middle(mut batches: Vec<f64>) -> f64 {
    batches.sort_by(f64::total_cmp);
    batches.get(batches.len() / 2).copied().unwrap_or(f64::NAN)
}
