//! The queue of tasks from a seed: workers lease, die, come back, put aside and finish in any order, and a model beside
//! the store says what each step must have come to. The runs between are the core's own, on a clock of their own.
//!
//! A lease either outlasts the test or has run out at once, so no step depends on how fast the machine is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use steadfast_core::breaker::Settings;
use steadfast_core::cost::Usage;
use steadfast_core::policy::template;
use steadfast_core::recovery::{Action, Face, Plan, Recovery};
use steadfast_core::route::{Abilities, EndpointId, Model, Needs, Route, Served};
use steadfast_core::world::{Endpoint, Project, Session, Turn, World};
use steadfast_core::{Failure, FailureKind, Instant};
use steadfast_store::{AddError, Address, Leased, NewTask, News, Said, Store, TASKS_MAX};

const SEEDS: u64 = 8;
const STEPS: usize = 150;
const WORKERS: [&str; 3] = ["w1", "w2", "w3"];
const FOREVER: Duration = Duration::from_secs(3600);

/// (000): at most three restarts, at one, two and four minutes.
const RESTART_WAITS_SECS: [u64; 3] = [60, 120, 240];

/// Who loses more workers than this is given up: it may be what kills them.
const CRASHES_MAX: i64 = 3;

/// What the model knows of a task.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    place: Place,
    token: i64,
    crashes: i64,
    attempts: i64,
    restarts: i64,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Place {
    #[default]
    Waiting,
    Running {
        worker: &'static str,
        /// Its worker is dead, and the lease has run out.
        lost: bool,
    },
    Over,
}

struct Queue {
    store: Store,
    rng: fastrand::Rng,
    tasks: BTreeMap<String, Known>,
    /// What workers will say: of some of it they will have lost the right to.
    words: Vec<(&'static str, Said)>,
    ended: u64,
}

/// Names the seed of a test that fails.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

#[tokio::test]
async fn no_task_is_lost_none_is_leased_twice_at_once_and_restarts_are_three_at_most() {
    for seed in 0..SEEDS {
        let _named = Seed(seed);
        let store = crate::contract::open(Address::sqlite(":memory:"));
        let rng = fastrand::Rng::with_seed(seed);
        let mut model = Queue { store, rng, tasks: BTreeMap::new(), words: Vec::new(), ended: 0 };
        for _ in 0..STEPS {
            model.step().await;
        }
        model.finish().await;
    }
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_keeps_what_it_has() {
    let store = crate::contract::open(Address::sqlite(":memory:"));
    store.add_tasks(vec![task("first")]).await.unwrap();
    let many: Vec<NewTask> = (0..TASKS_MAX).map(|number| task(&number.to_string())).collect();
    let refused = store.add_tasks(many).await.unwrap_err();
    assert!(matches!(refused, AddError::Full { waiting: 1 }), "{refused}");
    assert_eq!(store.task_counts().await.unwrap(), [("waiting".to_owned(), 1)], "all or none");
}

fn task(id: &str) -> NewTask {
    NewTask { id: id.to_owned(), label: id.to_owned(), project: "p".to_owned(), model: None, due: 0, spec: json!({}) }
}

impl Queue {
    async fn step(&mut self) {
        match self.rng.u32(..10) {
            0 | 1 => self.add().await,
            2..=5 => {
                let want = self.rng.usize(1..4);
                self.lease(want).await;
            }
            _ => self.say().await,
        }
    }

    async fn add(&mut self) {
        // Some are handed over twice, as by a client that did not hear the answer.
        let id = format!("t{}", self.rng.usize(..self.tasks.len() + 2));
        let is_new = !self.tasks.contains_key(&id);
        let added = self.store.add_tasks(vec![task(&id)]).await.unwrap();
        assert_eq!(added, usize::from(is_new), "{id}");
        self.tasks.entry(id).or_default();
    }

    async fn lease(&mut self, want: usize) {
        let worker = WORKERS[self.rng.usize(..WORKERS.len())];
        let dies = self.rng.u32(..4) == 0;
        let lease = if dies { Duration::ZERO } else { FOREVER };
        let runs = |known: &Known| known.place == (Place::Running { worker, lost: false });
        let runs: Vec<String> = self.tasks.iter().filter(|(_, known)| runs(known)).map(|(id, _)| id.clone()).collect();
        let free = self.tasks.values().filter(|known| known.may_be_leased()).count();
        let turn = self.store.take_turn(worker, runs, Vec::new(), want, lease).await.unwrap();
        assert_eq!(turn.leased.len(), want.min(free), "what waits is leased, and what a dead worker held");
        for leased in turn.leased {
            let known = self.tasks.get_mut(&leased.id).expect("a task that was added");
            assert!(known.may_be_leased(), "{} is leased twice: {known:?}", leased.id);
            known.crashes += i64::from(known.place != Place::Waiting);
            known.token += 1;
            known.attempts += 1;
            known.place = Place::Running { worker, lost: dies };
            assert_eq!((leased.token, leased.crashes, leased.attempts), (known.token, known.crashes, known.attempts));
            assert_eq!(leased.restarts, known.restarts, "{}", leased.id);
            let said = run(&leased, &mut self.rng);
            self.words.push((worker, said));
        }
        if dies {
            // Until the clock that leases go by has gone on.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Some worker has something to say, perhaps one that was taken for dead.
    async fn say(&mut self) {
        if self.words.is_empty() {
            return;
        }
        let (worker, said) = self.words.swap_remove(self.rng.usize(..self.words.len()));
        let known = self.tasks.get_mut(&said.id).expect("a task that was added");
        let holds = matches!(known.place, Place::Running { worker: holder, .. } if holder == worker);
        let counts = holds && known.token == said.token;
        if counts {
            known.attempts = said.attempts.into();
            known.restarts = said.restarts.into();
            let over = matches!(said.news, News::Over { .. });
            known.place = if over { Place::Over } else { Place::Waiting };
            self.ended += u64::from(over);
        }
        let turn = self.store.take_turn(worker, Vec::new(), vec![said.clone()], 0, FOREVER).await.unwrap();
        assert_eq!(turn.counted, [counts], "{said:?} of {worker}");
    }

    /// Everybody says what there is to say, until nothing waits any more: each task has ended, and once.
    async fn finish(&mut self) {
        while self.tasks.values().any(|known| known.place != Place::Over) {
            self.lease(self.tasks.len()).await;
            while !self.words.is_empty() {
                self.say().await;
            }
        }
        assert_eq!(self.ended, self.tasks.len() as u64);
        let counts = self.store.task_counts().await.unwrap();
        assert!(counts.iter().all(|(state, _)| state == "succeeded" || state == "gave_up"), "{counts:?}");
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), self.ended);
    }
}

impl Known {
    fn may_be_leased(&self) -> bool {
        matches!(self.place, Place::Waiting | Place::Running { lost: true, .. })
    }
}

/// What one run of a task comes to: the core decides, and what it decides is checked against (000).
fn run(leased: &Leased, rng: &mut fastrand::Rng) -> Said {
    let before = u32::try_from(leased.restarts.max(leased.crashes)).unwrap();
    let (world, plan) = plan(before, rng.u64(..));
    let mut now = Instant::from_millis(1);
    let mut recovery = Recovery::start(plan, now);
    let over = |outcome| News::Over { outcome, result: json!({}) };
    let works = [0.0, 0.05, 0.5][rng.usize(..3)];
    let news = loop {
        if leased.crashes > CRASHES_MAX {
            break over("gave_up");
        }
        match recovery.next(&world, now) {
            Action::Attempt(_) if rng.f64() < works => {
                recovery.succeeded(Usage::default(), &world, now);
                break over("succeeded");
            }
            Action::Attempt(_) => {
                let failure = Failure::new(FailureKind::NetworkTransient, "test");
                recovery.failed(failure, Usage::default(), &world, now);
            }
            Action::Wait(until) => now = until,
            Action::Restart(at) => {
                let number = recovery.restarts();
                assert_eq!(number, before + 1, "one at a time");
                let secs = RESTART_WAITS_SECS.get(number as usize - 1).expect("three restarts at most");
                assert_eq!(now.until(at).as_secs(), *secs, "restart {number}");
                // Those minutes pass at once.
                break News::Later { wait_ms: 0 };
            }
            Action::Done(_) => break over("gave_up"),
            Action::Decided(_) | Action::Defer => {}
            other @ (Action::Ask(_) | Action::Repair) => panic!("{other:?} for a network failure"),
        }
    };
    let attempts = u32::try_from(leased.attempts).unwrap();
    let (id, token) = (leased.id.clone(), leased.token);
    Said { id, token, news, memory: json!({}), attempts, restarts: recovery.restarts(), model: None, failure: None }
}

/// One endpoint that is refused by nobody: what restarts a task here is that its steps are used up.
fn plan(restarts_used: u32, seed: u64) -> (World, Plan) {
    let settings = Settings { failures: 1000, ratio: 1.0, floor: u32::MAX, ..Settings::default() };
    let model = Model {
        name: "model".into(),
        vendor: "vendor".into(),
        endpoints: vec![Served { endpoint: EndpointId(0), alias: None }],
        fallback: Vec::new(),
        context_window: None,
        abilities: Abilities::ALL,
        price: None,
    };
    let plan = Plan {
        policy: Arc::new(template("hardened").unwrap()),
        route: Arc::new(Route::single(model)),
        needs: Needs::default(),
        face: Face::TASK,
        project: Arc::new(Project::new("p", 1.0, None)),
        session: Arc::new(Session::new(None)),
        turn: Turn::New,
        time_limit: None,
        restarts_used,
        seed,
    };
    (World::new(vec![Endpoint::new("agent", settings, 1.0, seed)]), plan)
}
