//! What requests share is asked by several threads at once: limits hold there too, and nothing is lost.
//!
//! What every thread counts for itself is added up beside the core's books, so that no book is checked against itself.
//! Time is handed in; how the threads meet is the machine's affair, so each test makes them meet many times.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::hint;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use steadfast_core::breaker::{Breaker, Outcome, Permit, Settings, State};
use steadfast_core::budget::Allowance;
use steadfast_core::cost::{Price, Usage};
use steadfast_core::policy::template;
use steadfast_core::recovery::{Action, Face, Plan, Recovery};
use steadfast_core::route::{Abilities, EndpointId, Model, Needs, Route, Served};
use steadfast_core::spend::SpendBudget;
use steadfast_core::world::{Endpoint, Project, Session, Turn, World};
use steadfast_core::{Failure, FailureKind, Instant};

/// More than the machine has cores, so that threads are also stopped in the middle of things.
const THREADS: usize = 8;

const COOLDOWN: Duration = Duration::from_secs(1);

fn at(secs: u64) -> Instant {
    Instant::from_millis(secs * 1000)
}

/// Runs the same on all threads; each has randomness of its own.
fn on_all<T: Send>(threads: usize, work: impl Fn(usize, fastrand::Rng) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || work(thread, fastrand::Rng::with_seed(thread as u64))))
            .collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// What callers hold and have spent, counted beside the budget: never more than it has.
#[derive(Default)]
struct Shadow {
    committed: AtomicU64,
    refused: AtomicU64,
}

#[test]
fn callers_on_many_threads_never_hold_and_spend_more_than_the_budget() {
    const LIMIT: u64 = 1_000_000;
    for threads in [2, 4, THREADS] {
        let (budget, shadow) = (SpendBudget::new(Some(LIMIT)), Shadow::default());
        let spent = on_all(threads, |_, mut rng| {
            let (mut held, mut spent) = (Vec::new(), 0);
            for _ in 0..20_000 {
                let amount = rng.u64(1..LIMIT / 20);
                if budget.reserve(amount) {
                    held.push(amount);
                    let committed = shadow.committed.fetch_add(amount, SeqCst) + amount;
                    assert!(committed <= LIMIT, "{committed} held and spent");
                } else {
                    shadow.refused.fetch_add(1, SeqCst);
                }
                assert!(budget.ledger().committed() <= LIMIT);
                if held.len() > 3 || rng.bool() {
                    let Some(reserved) = held.pop() else { continue };
                    // Most calls cost next to nothing, or the budget would be spent after a hundred.
                    let actual = if rng.u32(..200) == 0 { rng.u64(..=reserved) } else { rng.u64(..2) };
                    shadow.committed.fetch_sub(reserved - actual, SeqCst);
                    budget.settle(reserved, actual);
                    spent += actual;
                }
            }
            for reserved in held {
                shadow.committed.fetch_sub(reserved, SeqCst);
                budget.settle(reserved, 0);
            }
            spent
        });
        let (ledger, spent) = (budget.ledger(), spent.iter().sum::<u64>());
        assert_eq!((ledger.reserved_usd_micros, ledger.settled_usd_micros), (0, spent));
        assert!(shadow.refused.load(SeqCst) > 0, "{threads} threads never met the limit");
        assert!(budget.would_fit(LIMIT - spent) && !budget.would_fit(LIMIT - spent + 1), "the rest can be spent");
    }
}

/// The bound that `spend` states: what the calls under way, when the last of them was let through, cost beyond what
/// they held.
#[test]
fn calls_that_cost_more_than_was_held_pass_the_budget_by_their_excess_and_no_more() {
    const LIMIT: u64 = 100_000;
    const ESTIMATE: u64 = 1_000;
    const EXCESS_MAX: u64 = 500;
    let budget = SpendBudget::new(Some(LIMIT));
    let done = on_all(THREADS, |_, mut rng| {
        let mut spent = 0;
        while budget.reserve(ESTIMATE) {
            let actual = ESTIMATE + rng.u64(..=EXCESS_MAX);
            budget.settle(ESTIMATE, actual);
            spent += actual;
        }
        spent
    });
    let (ledger, spent) = (budget.ledger(), done.iter().sum::<u64>());
    assert_eq!((ledger.reserved_usd_micros, ledger.settled_usd_micros), (0, spent));
    assert!(spent > LIMIT - ESTIMATE, "refused only when the next one does not fit: {spent}");
    assert!(spent <= LIMIT + THREADS as u64 * EXCESS_MAX, "each thread has one call under way: {spent}");
}

fn priced_plan(limit_usd_micros: u64) -> (World, Plan) {
    let settings = Settings { failures: 1000, ratio: 1.0, floor: u32::MAX, ..Settings::default() };
    let world = World::new(vec![Endpoint::new("endpoint", settings, 0.2, 1)]);
    let model = Model {
        name: Arc::from("model"),
        vendor: Arc::from("vendor"),
        endpoints: vec![Served { endpoint: EndpointId(0), alias: None }],
        fallback: Vec::new(),
        context_window: None,
        abilities: Abilities::ALL,
        price: Price::from_usd_per_million(1.0, 1.0),
    };
    let plan = Plan {
        policy: Arc::new(template("default").unwrap()),
        route: Arc::new(Route::single(model)),
        needs: Needs { input_tokens: 600, output_tokens: 400, ..Needs::default() },
        face: Face::GATEWAY,
        project: Arc::new(Project::new("project", 1.0, Some(limit_usd_micros))),
        session: Arc::new(Session::new(None)),
        turn: Turn::New,
        time_limit: None,
        restarts_used: 0,
        seed: 1,
    };
    (world, plan)
}

#[test]
fn operations_that_end_in_every_way_on_many_threads_settle_what_they_held_and_keep_the_budget() {
    // A token costs a micro-dollar: an attempt holds a thousand, so five fit at a time and eight ask.
    const LIMIT: u64 = 5_999;
    let (world, plan) = priced_plan(LIMIT);
    let spend = Arc::clone(&plan.project.spend);
    let start = |seed| Recovery::start(Plan { session: Arc::new(Session::new(None)), seed, ..plan.clone() }, at(1));
    let (meet, fit) = (Barrier::new(THREADS), AtomicUsize::new(0));
    let done = on_all(THREADS, |_, mut rng| {
        let mut spent = 0;
        let mut first = start(0);
        meet.wait();
        fit.fetch_add(usize::from(matches!(first.next(&world, at(1)), Action::Attempt(_))), SeqCst);
        meet.wait();
        first.cancelled(Usage::default(), &world, at(1));
        for round in 0..3_000 {
            let mut recovery = start(rng.u64(..));
            if !matches!(recovery.next(&world, at(1)), Action::Attempt(_)) {
                continue;
            }
            assert!(spend.ledger().committed() <= LIMIT);
            thread::yield_now();
            // Almost everything is given back, so that it goes on; who vanishes pays all that was held.
            let usage = Usage { input_tokens: 0, output_tokens: u64::from(round % 1000 == 0) };
            spent += usage.output_tokens;
            match rng.u32(..40) {
                0 if spend.ledger().settled_usd_micros < LIMIT / 2 => {
                    spent += 1_000 - usage.output_tokens;
                    drop(recovery);
                }
                0..=9 => recovery.cancelled(usage, &world, at(2)),
                10..=19 => {
                    let failure = Failure::new(FailureKind::InvalidRequest, "test");
                    recovery.failed(failure, usage, &world, at(2));
                }
                _ => _ = recovery.succeeded(usage, &world, at(2)),
            }
        }
        spent
    });
    let (ledger, spent) = (spend.ledger(), done.iter().sum::<u64>());
    assert_eq!((ledger.reserved_usd_micros, ledger.settled_usd_micros), (0, spent));
    assert!(spent <= LIMIT, "{spent}");
    assert_eq!(fit.load(SeqCst), 5);
}

/// A breaker that is half-open from now on, and the moment.
fn half_open(probes: u32, successes: u32) -> (Breaker, Instant) {
    let lease = Duration::from_secs(3600);
    let settings = Settings {
        failures: 1,
        cooldown: COOLDOWN,
        cooldown_max: COOLDOWN,
        probes,
        successes,
        lease,
        ..Settings::default()
    };
    let breaker = Breaker::new(settings, 1);
    let permit = breaker.admit(at(1)).unwrap();
    breaker.record(permit, Outcome::Failure, None, at(1));
    assert!(matches!(breaker.state(at(1)), State::Open { .. }));
    // Cooldowns are spread by a tenth.
    (breaker, at(1) + 2 * COOLDOWN)
}

#[test]
fn a_half_open_breaker_asked_by_many_threads_at_once_gives_out_all_its_places_and_no_more() {
    const ROUNDS: usize = 200;
    for probes in 1..=4 {
        let (breaker, now) = half_open(probes, 1);
        let (meet, given) = (Barrier::new(THREADS), AtomicUsize::new(0));
        // What was seen is judged when all are through: a thread that stops would keep the others waiting.
        let seen = on_all(THREADS, |_, _| {
            let rounds = (1..=ROUNDS).map(|_| {
                meet.wait();
                let permit = breaker.admit(now).ok();
                given.fetch_add(usize::from(permit.is_some()), SeqCst);
                meet.wait();
                let seen = (given.load(SeqCst), breaker.admit(now).is_ok());
                meet.wait();
                // Its caller left: the place goes to the next.
                if let Some(permit) = permit {
                    breaker.record(permit, Outcome::Neutral, None, now);
                }
                seen
            });
            rounds.collect::<Vec<_>>()
        });
        let all_places: Vec<_> = (1..=ROUNDS).map(|round| (round * probes as usize, false)).collect();
        assert!(seen.iter().all(|seen| *seen == all_places), "of {probes}: {seen:?}");
        assert_eq!(breaker.probes_in_flight(now), 0);
    }
}

#[test]
fn places_of_probes_that_come_and_go_on_many_threads_are_never_given_out_twice() {
    for probes in 1..=3 {
        let (breaker, now) = half_open(probes, 1);
        let out = AtomicUsize::new(0);
        let admitted = on_all(THREADS, |_, _| {
            let mut admitted = 0;
            for _ in 0..5_000 {
                let Ok(permit) = breaker.admit(now) else {
                    thread::yield_now();
                    continue;
                };
                admitted += 1;
                let before = out.fetch_add(1, SeqCst);
                assert!(before < probes as usize, "{before} are out already");
                out.fetch_sub(1, SeqCst);
                breaker.record(permit, Outcome::Neutral, None, now);
            }
            admitted
        });
        assert!(admitted.iter().sum::<u32>() > 0, "whoever asks first finds a place");
        assert_eq!((breaker.state(now), breaker.probes_in_flight(now)), (State::HalfOpen, 0));
    }
}

#[test]
fn probes_that_end_on_many_threads_at_once_change_the_state_once() {
    let probes = THREADS as u32;
    for (outcome, successes) in [(Outcome::Failure, 1), (Outcome::Success, 1), (Outcome::Success, probes)] {
        for _ in 0..100 {
            let (breaker, now) = half_open(probes, successes);
            let permits: Vec<Permit> = (0..THREADS).map(|_| breaker.admit(now).unwrap()).collect();
            let (meet, generation) = (Barrier::new(THREADS), breaker.generation());
            let changes = on_all(THREADS, |thread, _| {
                meet.wait();
                breaker.record(permits[thread], outcome, None, now).is_some()
            });
            assert_eq!(changes.iter().filter(|changed| **changed).count(), 1, "{outcome:?} of {successes}");
            assert_eq!(breaker.generation(), generation + 1);
            assert_eq!(breaker.state(now) == State::Closed, outcome == Outcome::Success);
        }
    }
}

/// What a retry allowance starts with, and what trickles in, in attempts: by the documents and not by the code.
const BURST: u64 = 10;
const TRICKLE_SECS: u64 = 10;

#[test]
fn an_allowance_emptied_by_many_threads_at_once_pays_for_what_it_held() {
    for _ in 0..100 {
        let allowance = Allowance::for_retries(0.2);
        let paid = on_all(THREADS, |_, _| (0..BURST).filter(|_| allowance.withdraw(at(0))).count() as u64);
        assert_eq!((paid.iter().sum::<u64>(), allowance.left()), (BURST, 0));
    }
}

/// Two threads ask in the same second, again and again, as near to each other as they get.
#[test]
fn what_trickles_in_is_paid_out_once_however_many_threads_ask() {
    const SECS: u64 = 100_000;
    let allowance = Allowance::for_retries(0.0);
    let reached = [AtomicU64::new(0), AtomicU64::new(0)];
    let paid = on_all(2, |thread, mut rng| {
        let asked = (0..=SECS).filter(|secs| {
            reached[thread].store(*secs, SeqCst);
            for spins in 0.. {
                if reached[1 - thread].load(SeqCst) >= *secs {
                    break;
                }
                // The other may be waiting for this core.
                if spins < 1_000 { hint::spin_loop() } else { thread::yield_now() }
            }
            // Who came last is ahead by the time that news takes between two cores.
            (0..rng.u32(..50)).for_each(|_| hint::spin_loop());
            allowance.withdraw(at(*secs))
        });
        asked.count() as u64
    });
    // Whoever is paid asks at once, so nothing is lost to the cap either.
    assert_eq!(paid.iter().sum::<u64>(), BURST + SECS / TRICKLE_SECS);
}

#[test]
fn deposits_and_withdrawals_of_many_threads_keep_the_share_and_lose_nothing_below_the_cap() {
    const EACH: u64 = 10_000;
    let allowance = Allowance::for_retries(0.2);
    while allowance.withdraw(at(0)) {}
    let paid = on_all(THREADS, |_, _| {
        let paid = (0..EACH).filter(|_| {
            allowance.deposit();
            allowance.withdraw(at(0))
        });
        paid.count() as u64
    });
    // Nobody deposits twice without asking in between, so the balance stays far below its cap.
    let deposited = THREADS as u64 * EACH;
    assert_eq!(paid.iter().sum::<u64>() + allowance.left(), deposited / 5);
}
