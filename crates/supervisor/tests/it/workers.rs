//! Workers on a real store: what they lose, what they put back, what they leave alone.

use std::sync::Arc;
use std::time::Duration;

use steadfast_store::{AddError, Address, News, Options, Paging, Said, Store, TASKS_MAX, TaskFilter};
use steadfast_supervisor::process::Stop;
use steadfast_supervisor::{Fleet, Settings, Task, Worker, to_keep};
use tokio::sync::watch;

use super::{Folder, Story, eventually};

const QUICK: &str = r#"
[policies.quick]
extends = "session-manager"
[policies.quick.on]
process_died = [{ restart = 3, base = "20ms", multiplier = 2.0, cap = "80ms" }]
default = [{ retry = 1, every = "10ms" }]
[projects.default]
policy = "quick"
"#;

fn open(folder: &Folder) -> Store {
    let path = folder.0.join("steadfast.db").display().to_string();
    Store::open(Options::new(Address::sqlite(path), 30)).unwrap()
}

fn worker(folder: &Folder, store: &Store, mut settings: Settings) -> (Arc<Fleet>, Worker) {
    let fleet = folder.fleet(QUICK);
    settings.logs = Some(folder.0.join("logs"));
    let observer = Arc::new(Story::default());
    (Arc::clone(&fleet), Worker { fleet, store: store.clone(), observer, settings })
}

fn draining() -> Settings {
    Settings { drain: true, parallel: 8, lease: Duration::from_secs(5), ..Settings::default() }
}

fn shell(id: &str, script: &str) -> steadfast_store::NewTask {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    to_keep(&Task { id: id.to_owned(), command, ..Task::default() }.named()).unwrap()
}

async fn state(store: &Store, id: &str) -> String {
    store.task(id).await.unwrap().unwrap().summary.state
}

async fn until(store: &Store, id: &str, wanted: &str) {
    for _ in 0..400 {
        if state(store, id).await == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("`{id}` is never {wanted}: {:?}", store.task(id).await);
}

#[tokio::test]
async fn what_waits_is_run_and_said_and_written_down() {
    let folder = Folder::new();
    let store = open(&folder);
    let tasks = vec![
        shell("good", "echo hello"),
        shell("bad", "exit 3"),
        shell("dies", "[ $STEADFAST_ATTEMPT = 2 ] || kill -KILL $$; echo back"),
    ];
    store.add_tasks(tasks).await.unwrap();
    let (_keep, stop) = watch::channel(Stop::No);
    worker(&folder, &store, draining()).1.work(stop).await;
    assert_eq!(state(&store, "good").await, "succeeded");
    let bad = store.task("bad").await.unwrap().unwrap();
    assert_eq!(
        (bad.summary.state.as_str(), bad.summary.attempts, bad.summary.kind.as_deref()),
        ("gave_up", 2, Some("unknown"))
    );
    let dies = store.task("dies").await.unwrap().unwrap();
    assert_eq!((dies.summary.state.as_str(), dies.summary.restarts, dies.summary.attempts), ("succeeded", 1, 2));
    assert_eq!(dies.result.unwrap()["result"], "back\n");
    assert_eq!(folder.read("logs/good.log"), "hello\n");
}

#[tokio::test]
async fn a_hundred_tasks_over_two_workers_run_once_each() {
    let folder = Folder::new();
    let store = open(&folder);
    let ran = folder.0.join("ran");
    let script = format!("echo $STEADFAST_TASK_ID >> {}", ran.display());
    store.add_tasks((0..100).map(|number| shell(&format!("t{number}"), &script)).collect()).await.unwrap();
    let (_keep, stop) = watch::channel(Stop::No);
    let (one, two) = (worker(&folder, &store, draining()).1, worker(&folder, &open(&folder), draining()).1);
    tokio::join!(one.work(stop.clone()), two.work(stop));
    assert_eq!(store.task_counts().await.unwrap(), [("succeeded".to_owned(), 100)]);
    let ran = std::fs::read_to_string(ran).unwrap();
    let mut ids: Vec<&str> = ran.lines().collect();
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!((all, ids.len()), (100, 100));
}

#[tokio::test]
async fn a_person_stops_a_task_that_runs() {
    let folder = Folder::new();
    let store = open(&folder);
    store.add_tasks(vec![shell("long", "sleep 300")]).await.unwrap();
    let (keep, stop) = watch::channel(Stop::No);
    let settings = Settings { drain: false, ..draining() };
    let working = tokio::spawn(worker(&folder, &store, settings).1.work(stop));
    until(&store, "long", "running").await;
    store.cancel_task("long").await.unwrap();
    until(&store, "long", "cancelled").await;
    keep.send_replace(Stop::Politely);
    working.await.unwrap();
}

#[tokio::test]
async fn a_worker_that_goes_puts_its_tasks_back() {
    let folder = Folder::new();
    let store = open(&folder);
    let begun = folder.0.join("begun");
    let script = format!("[ -e {0} ] && exit 0; touch {0}; sleep 300", begun.display());
    store.add_tasks(vec![shell("long", &script)]).await.unwrap();
    let (keep, stop) = watch::channel(Stop::No);
    let working = tokio::spawn(worker(&folder, &store, Settings { drain: false, ..draining() }).1.work(stop));
    eventually("it runs", || begun.exists()).await;
    keep.send_replace(Stop::Politely);
    working.await.unwrap();
    assert_eq!(state(&store, "long").await, "waiting");
    let (_keep, stop) = watch::channel(Stop::No);
    worker(&folder, &store, draining()).1.work(stop).await;
    assert_eq!(state(&store, "long").await, "succeeded");
}

#[tokio::test]
async fn a_task_whose_worker_vanished_is_taken_over_and_not_for_ever() {
    let folder = Folder::new();
    let store = open(&folder);
    store.add_tasks(vec![shell("once", "echo done"), shell("killer", "echo done")]).await.unwrap();
    // Workers that lease and are never heard of again.
    for ghost in ["g1", "g2", "g3", "g4"] {
        store.take_turn(ghost, Vec::new(), Vec::new(), 2, Duration::from_millis(1)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
        if ghost == "g1" {
            let (_keep, stop) = watch::channel(Stop::No);
            let settings = Settings { parallel: 1, ..draining() };
            let (fleet, worker) = worker(&folder, &store, settings);
            worker.work(stop).await;
            assert_eq!(state(&store, "once").await, "succeeded");
            let late = Said {
                id: "once".to_owned(),
                token: 1,
                news: News::Over { outcome: "gave_up", result: serde_json::json!({}) },
                memory: serde_json::json!({}),
                attempts: 9,
                restarts: 9,
                model: None,
                failure: None,
            };
            let turn = store.take_turn("g1", Vec::new(), vec![late], 0, Duration::ZERO).await.unwrap();
            assert_eq!((turn.counted, state(&store, "once").await.as_str()), (vec![false], "succeeded"));
            drop(fleet);
            store.retry_task("killer").await.unwrap();
        }
    }
    store.take_turn("g5", Vec::new(), Vec::new(), 2, Duration::from_millis(1)).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let (_keep, stop) = watch::channel(Stop::No);
    worker(&folder, &store, draining()).1.work(stop).await;
    let killer = store.task("killer").await.unwrap().unwrap();
    assert_eq!(killer.summary.state, "gave_up", "{killer:?}");
    assert!(killer.summary.error.unwrap().contains("its worker died 4 times"));
}

#[tokio::test]
async fn a_worker_that_cannot_extend_its_leases_ends_what_it_runs() {
    let folder = Folder::new();
    let store = open(&folder);
    let pid = folder.0.join("pid");
    let script = format!("echo $$ > {}; sleep 300", pid.display());
    store.add_tasks(vec![shell("long", &script)]).await.unwrap();
    let (keep, stop) = watch::channel(Stop::No);
    let settings = Settings { drain: false, lease: Duration::from_millis(900), ..draining() };
    let working = tokio::spawn(worker(&folder, &store, settings).1.work(stop));
    eventually("it runs", || pid.exists() && !folder.read("pid").is_empty()).await;
    // Nobody answers any more.
    store.close().await;
    let pid = folder.read("pid").trim().to_owned();
    eventually("it is ended", || !std::path::Path::new(&format!("/proc/{pid}")).exists()).await;
    keep.send_replace(Stop::Firmly);
    working.await.expect("a store that is away keeps no worker that is told to end");
    let again = open(&folder);
    let page = again.tasks(TaskFilter::default(), Paging::default()).await.unwrap();
    assert_eq!(page.items[0].state, "running", "it is for the next worker to take over");
}

#[tokio::test]
async fn a_task_that_another_worker_has_does_not_run_on() {
    let folder = Folder::new();
    let store = open(&folder);
    let pid = folder.0.join("pid");
    store.add_tasks(vec![shell("long", &format!("echo $$ > {}; exec sleep 300", pid.display()))]).await.unwrap();
    let (keep, stop) = watch::channel(Stop::No);
    let (fleet, worker) = worker(&folder, &store, Settings { drain: false, ..draining() });
    let working = tokio::spawn(worker.work(stop));
    eventually("it runs", || !folder.read("pid").is_empty()).await;
    // As if the machine had slept: the lease is gone, and another has the task.
    let back = Said {
        id: "long".to_owned(),
        token: 1,
        news: News::Later { wait_ms: 0 },
        memory: serde_json::json!({}),
        attempts: 1,
        restarts: 0,
        model: None,
        failure: None,
    };
    store.take_turn(&fleet.id, vec!["long".to_owned()], vec![back], 0, Duration::ZERO).await.unwrap();
    let turn = store.take_turn("other", Vec::new(), Vec::new(), 1, Duration::from_secs(60)).await.unwrap();
    assert_eq!(turn.leased.len(), 1);
    let pid = folder.read("pid").trim().to_owned();
    eventually("it is ended here", || !std::path::Path::new(&format!("/proc/{pid}")).exists()).await;
    let kept = store.task("long").await.unwrap().unwrap().summary;
    assert_eq!((kept.state.as_str(), kept.worker.as_deref()), ("running", Some("other")));
    keep.send_replace(Stop::Politely);
    working.await.unwrap();
}

#[tokio::test]
async fn a_conversation_outlives_a_worker_that_is_killed_and_the_agent_is_told() {
    // One is given the name of its conversation, the other tells it.
    let named = r#"command = ["AGENT", "{task}", "--session-id", "{session}"]"#;
    let claude = r#"{"type":"system","subtype":"init","session_id":"'$3'"}"#;
    let done = r#"{"type":"result","subtype":"success","is_error":false,"result":"done"}"#;
    resumes_after_a_kill("claude", named, claude, done).await;
    let thread = r#"{"type":"thread.started","thread_id":"th_1"}"#;
    let done = r#"{"type":"turn.completed"}"#;
    resumes_after_a_kill("codex", r#"command = ["AGENT", "{task}"]"#, thread, done).await;
}

async fn resumes_after_a_kill(name: &str, command: &str, begun: &str, done: &str) {
    let folder = Folder::new();
    let agent = folder.script(
        "agent",
        &format!(
            "echo \"$@\" | tr '\\n' ' ' >> {0}/told; echo >> {0}/told\necho '{begun}'\n[ \"$2\" = --resume ] || exec sleep 300\necho '{done}'",
            folder.0.display()
        ),
    );
    let resume = format!(r#"resume = ["{agent}", "{{task}}", "--resume", "{{session}}"]"#);
    let config = format!("{QUICK}\n[agents.{name}]\n{}\n{resume}\n", command.replace("AGENT", &agent));
    let store = open(&folder);
    let task = Task { id: "talk".to_owned(), agent: name.to_owned(), task: "think".to_owned(), ..Task::default() };
    store.add_tasks(vec![to_keep(&task.named()).unwrap()]).await.unwrap();
    let worker = |lease: u64| {
        let settings = Settings { lease: Duration::from_millis(lease), ..draining() };
        Worker { fleet: folder.fleet(&config), store: store.clone(), observer: Arc::new(Story::default()), settings }
    };
    // A runtime of its own, which ends as a process does that is killed: nobody says anything.
    let killed = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (_keep, stop) = watch::channel(Stop::No);
    killed.spawn(worker(900).work(stop));
    let mut kept = serde_json::Value::Null;
    for _ in 0..400 {
        kept = store.task("talk").await.unwrap().unwrap().memory["conversation"]["id"].clone();
        if kept.is_string() && !folder.read("told").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    killed.shutdown_background();
    let (_keep, stop) = watch::channel(Stop::No);
    worker(5000).work(stop).await;
    assert_eq!(state(&store, "talk").await, "succeeded");
    let told = folder.read("told");
    let second = told.lines().nth(1).unwrap();
    assert!(second.trim_end().ends_with(&format!("--resume {}", kept.as_str().unwrap())), "{told}");
    assert!(second.contains("its worker died while it ran"), "{told}");
}

#[tokio::test]
async fn somebody_who_has_it_run_once_more_gives_it_all_its_restarts() {
    let folder = Folder::new();
    let store = open(&folder);
    store.add_tasks(vec![shell("dies", "kill -KILL $$")]).await.unwrap();
    for attempts in [4, 8] {
        let (_keep, stop) = watch::channel(Stop::No);
        worker(&folder, &store, draining()).1.work(stop).await;
        let dies = store.task("dies").await.unwrap().unwrap().summary;
        assert_eq!((dies.state.as_str(), dies.attempts, dies.restarts), ("not_now", attempts, 3));
        store.retry_task("dies").await.unwrap();
    }
}

#[tokio::test]
async fn a_queue_that_would_be_too_long_refuses_at_once_and_keeps_nothing_of_it() {
    let folder = Folder::new();
    let store = open(&folder);
    store.add_tasks(vec![shell("first", "true")]).await.unwrap();
    let many = (0..TASKS_MAX).map(|number| steadfast_store::NewTask { id: format!("t{number}"), ..shell("t", "true") });
    let refused = store.add_tasks(many.collect()).await.unwrap_err();
    assert!(matches!(refused, AddError::Full { waiting: 1 }), "{refused}");
    assert_eq!(store.task_counts().await.unwrap(), [("waiting".to_owned(), 1)]);
}
