//! Databases that are away, locked, full or killed: traffic goes on, and the store catches up.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::{Connection as _, Executor as _};
use steadfast_stage::{Folder, Postgres};
use steadfast_store::{Address, Error, Expected, PutError, Store};

use crate::child::Writing;
use crate::contract::open;
use crate::heard;
use crate::story::{NOON, Story};
use crate::wire::{Next, Wire};

/// Longer than the store itself waits for an answer, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(90);

fn feed(store: &Store, from: i64, count: i64) {
    for number in from..from + count {
        let story = Story::of(&format!("req_{number}"), "acme", NOON + number).attempt("claude").served();
        store.feed(&Arc::from(story));
    }
}

async fn has_caught_up(store: &Store, requests: u64) {
    assert!(store.flush(PATIENCE).await, "{:?}", store.health());
    let (health, audit) = (store.health(), store.audit().await.unwrap());
    assert_eq!((health.is_reached, health.lost, audit.requests), (true, 0, requests), "{health:?} {audit:?}");
    assert!(audit.agrees(), "{audit:?}");
}

async fn is_refused(store: &Store) {
    let put = store.put("setting", "a", serde_json::json!(1), Expected::Anything).await;
    assert!(matches!(&put, Err(PutError::Store(Error::Away(_)))), "{put:?}: nobody could have kept it");
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let store = open(Address::sqlite(folder.join("store.db").display().to_string()));
    feed(&store, 0, 1);
    assert!(store.flush(PATIENCE).await);
    for name in ["store.db", "store.db-wal"] {
        let mode = std::fs::metadata(folder.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_yet_costs_nothing_once_it_can() {
    let folder = Folder::new();
    std::fs::write(folder.join("in-the-way"), "").unwrap();
    let store = open(Address::sqlite(folder.join("in-the-way/store.db").display().to_string()));
    feed(&store, 0, 50);
    is_refused(&store).await;
    assert!(store.health().trouble.unwrap().contains("cannot make the folder"));
    std::fs::remove_file(folder.join("in-the-way")).unwrap();
    has_caught_up(&store, 50).await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_as_it_is() {
    let folder = Folder::new();
    let file = folder.join("store.db");
    std::fs::write(&file, "my holiday notes ".repeat(100)).unwrap();
    let store = open(Address::sqlite(file.display().to_string()));
    feed(&store, 0, 1);
    is_refused(&store).await;
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("my holiday notes"));
    std::fs::remove_file(&file).unwrap();
    has_caught_up(&store, 1).await;
}

#[tokio::test]
async fn a_file_that_somebody_else_holds_is_waited_for() {
    let folder = Folder::new();
    let file = folder.join("store.db").display().to_string();
    let store = open(Address::sqlite(file.clone()));
    feed(&store, 0, 10);
    has_caught_up(&store, 10).await;
    let mut other = sqlx::SqliteConnection::connect(&format!("sqlite:{file}")).await.unwrap();
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    feed(&store, 10, 10);
    is_refused(&store).await;
    until("the trouble is said", || !store.health().is_reached).await;
    other.execute("COMMIT").await.unwrap();
    has_caught_up(&store, 20).await;
    store.put("setting", "a", serde_json::json!(1), Expected::Nothing).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_stops_nobody_and_what_waited_is_written_when_there_is_room() {
    let folder = Folder::new();
    let file = folder.join("store.db").display().to_string();
    // No file of that process may grow beyond 2 MB, and being told so must not kill it.
    let before = ["sh", "-c", "trap '' XFSZ; ulimit -S -f 4096; exec \"$@\"", "sh"];
    let mut writing = Writing::start(&before, &file);
    let mut says = |word: &str| {
        let lines = writing.lines.by_ref().map_while(Result::ok);
        lines.filter(|line| line.ends_with(';')).find(|line| line.starts_with(word)).unwrap()
    };
    says("ok");
    let away = says("away");
    assert!(away.contains("full") || away.contains("I/O"), "{away}");
    let pid = writing.process.id().to_string();
    let lifted = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status().unwrap();
    assert!(lifted.success());
    let mut says = |word: &str| {
        let lines = writing.lines.by_ref().map_while(Result::ok);
        lines.filter(|line| line.ends_with(';')).find(|line| line.starts_with(word)).unwrap()
    };
    let written = |line: &str| line.trim_end_matches(';').rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    let first = written(&says("ok"));
    while written(&says("ok")) < first + 1000 {}
    writing.kill();
    let store = open(Address::sqlite(file));
    let audit = store.audit().await.unwrap();
    assert!(audit.agrees(), "{audit:?}");
}

#[tokio::test]
async fn a_server_that_is_killed_and_started_again_loses_nothing() {
    let mut server = Postgres::start();
    let store = open(Address::postgres(server.database()));
    feed(&store, 0, 10);
    has_caught_up(&store, 10).await;
    store.put("setting", "before", serde_json::json!(1), Expected::Nothing).await.unwrap();
    server.kill();
    feed(&store, 10, 10);
    is_refused(&store).await;
    until("the trouble is said", || !store.health().is_reached).await;
    server.resume();
    has_caught_up(&store, 20).await;
    assert!(store.document("setting", "before").await.unwrap().is_some());
}

#[tokio::test]
async fn a_server_that_is_not_there_at_the_start_is_found_later() {
    let mut server = Postgres::start();
    let address = server.database();
    server.kill();
    let store = open(Address::postgres(address));
    feed(&store, 0, 10);
    is_refused(&store).await;
    server.resume();
    has_caught_up(&store, 10).await;
}

/// What a batch of events begins with; upkeep and those who open the store commit too.
const BATCH: &str = "INSERT INTO writers";

/// Batches to which something happens, as `watch` says, are written once.
async fn are_counted_once(batches: i64, what: Next, watch: impl Fn(&Wire)) {
    let wire = Wire::to(&Postgres::shared().database());
    let store = open(Address::postgres(wire.address.clone()));
    feed(&store, 0, 10);
    has_caught_up(&store, 10).await;
    for batch in 1..=batches {
        watch(&wire);
        feed(&store, batch * 10, 10);
        until("it is met", || wire.has_met_it()).await;
        if what == Next::IsLate {
            until("the answer is missed", || !store.health().is_reached).await;
            wire.deliver();
        }
        // More than what is written again.
        feed(&store, batch * 100, 5);
        has_caught_up(&store, 10 + batch as u64 * 15).await;
    }
}

#[tokio::test]
async fn a_commit_that_the_server_never_heard_of_is_made_again() {
    are_counted_once(3, Next::IsLost, |wire| wire.watch_commit(BATCH, Next::IsLost)).await;
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_not_counted_twice() {
    are_counted_once(3, Next::AnswerIsLost, |wire| wire.watch_commit(BATCH, Next::AnswerIsLost)).await;
}

#[tokio::test]
async fn a_commit_that_comes_after_it_was_given_up_is_not_counted_twice() {
    are_counted_once(1, Next::IsLate, |wire| wire.watch_commit(BATCH, Next::IsLate)).await;
}

#[tokio::test]
async fn a_transaction_that_begins_after_it_was_given_up_stands_in_nobodys_way() {
    are_counted_once(1, Next::IsLate, |wire| wire.watch("BEGIN\0", Next::IsLate)).await;
}

#[tokio::test]
async fn a_document_whose_commit_is_in_doubt_is_written_once_and_acknowledged() {
    let wire = Wire::to(&Postgres::shared().database());
    let store = open(Address::postgres(wire.address.clone()));
    let put = async |name: &str, body: i64, expected| {
        let put = store.put("setting", name, serde_json::json!(body), expected).await;
        put.map(|document| document.version)
    };
    assert_eq!(put("a", 1, Expected::Nothing).await.unwrap(), 1);
    for (what, version) in [(Next::AnswerIsLost, 1), (Next::IsLost, 2)] {
        wire.watch_commit("INSERT INTO documents", what);
        assert_eq!(put("a", 10 + version, Expected::Version(version)).await.unwrap(), version + 1);
        assert!(wire.has_met_it(), "otherwise nothing is shown");
    }
    wire.watch_commit("INSERT INTO documents", Next::AnswerIsLost);
    assert_eq!(put("a", 20, Expected::Anything).await.unwrap(), 4, "once, and not twice");
    assert!(wire.has_met_it());
    wire.watch_commit("INSERT INTO documents", Next::AnswerIsLost);
    assert_eq!(store.delete("setting", "a", Expected::Version(4)).await.unwrap().body, None);
    assert!(wire.has_met_it());
}

#[tokio::test]
async fn a_server_that_falls_silent_when_asked_for_its_schema_is_given_up_and_asked_again() {
    let address = Postgres::shared().database();
    open(Address::postgres(address.clone())).close().await;
    let wire = Wire::to(&address);
    wire.watch("to_regclass", Next::IsLate);
    let store = open(Address::postgres(wire.address.clone()));
    until("it is asked", || wire.has_met_it()).await;
    feed(&store, 0, 10);
    let is_missed = || store.health().trouble.is_some_and(|why| why.contains("no answer within 15 s"));
    until("the answer is missed", is_missed).await;
    has_caught_up(&store, 10).await;
    wire.deliver();
}

#[tokio::test]
async fn a_flush_waits_for_what_was_fed_before_it_and_for_nothing_else() {
    let folder = Folder::new();
    let store = open(Address::sqlite(folder.join("store.db").display().to_string()));
    feed(&store, 0, 10);
    has_caught_up(&store, 10).await;
    let mut other =
        sqlx::SqliteConnection::connect(&format!("sqlite:{}", folder.join("store.db").display())).await.unwrap();
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    feed(&store, 10, 10);
    let flushed = {
        let store = store.clone();
        tokio::spawn(async move { store.flush(PATIENCE).await })
    };
    // Whatever comes from now on is not waited for: it never ends.
    let (done, mut is_done) = tokio::sync::oneshot::channel::<()>();
    let feeding = {
        let store = store.clone();
        tokio::spawn(async move {
            let mut number = 1000;
            while is_done.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty) {
                feed(&store, number, 1);
                number += 1;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
    };
    other.execute("COMMIT").await.unwrap();
    assert!(flushed.await.unwrap(), "{:?}", store.health());
    done.send(()).unwrap();
    feeding.await.unwrap();
    assert!(store.audit().await.unwrap().requests >= 20);
}

#[tokio::test]
async fn upkeep_that_gets_no_answer_holds_nobody_up() {
    let wire = Wire::to(&Postgres::shared().database());
    wire.watch("DELETE FROM failures", Next::IsLate);
    let store = open(Address::postgres(wire.address.clone()));
    until("it is done", || wire.has_met_it()).await;
    feed(&store, 0, 10);
    until("the answer is missed", || !store.health().is_reached).await;
    has_caught_up(&store, 10).await;
    wire.deliver();
}

#[tokio::test]
async fn a_statement_that_gets_no_answer_is_given_up_and_made_again() {
    let address = Postgres::shared().database();
    let store = open(Address::postgres(address.clone()));
    feed(&store, 0, 10);
    has_caught_up(&store, 10).await;
    let mut other = sqlx::PgConnection::connect(&address).await.unwrap();
    other.execute("BEGIN").await.unwrap();
    other.execute("LOCK TABLE requests IN EXCLUSIVE MODE").await.unwrap();
    feed(&store, 10, 10);
    until("the writer gives up", || store.health().trouble.is_some_and(|why| why.contains("no answer within"))).await;
    other.execute("COMMIT").await.unwrap();
    has_caught_up(&store, 20).await;
}

#[tokio::test]
async fn a_server_that_hangs_stops_nobody_and_loses_nothing() {
    let server = Postgres::start();
    let store = open(Address::postgres(server.database()));
    feed(&store, 0, 10);
    has_caught_up(&store, 10).await;
    server.hang();
    feed(&store, 10, 10);
    is_refused(&store).await;
    until("the trouble is said", || !store.health().is_reached).await;
    server.go_on();
    has_caught_up(&store, 20).await;
    // Nor does it keep the store from being closed.
    server.hang();
    feed(&store, 20, 10);
    until("the trouble is said again", || !store.health().is_reached).await;
    tokio::time::timeout(PATIENCE, store.close()).await.expect("it gives up");
    server.go_on();
}

#[tokio::test]
async fn what_does_not_fit_in_memory_is_lost_counted_and_told_when_the_store_is_back() {
    let folder = Folder::new();
    std::fs::write(folder.join("in-the-way"), "").unwrap();
    let store = open(Address::sqlite(folder.join("in-the-way/store.db").display().to_string()));
    let ours = folder.path().display().to_string();
    let away = || heard::lines(&[&ours, "WARN", "the store is away"]).len();
    until("it is missed", || away() == 1).await;
    let batch: Arc<[_]> = Story::of("req_big", "acme", NOON).attempt(&"m".repeat(100_000)).served().into();
    let fed = 1000 * batch.len() as u64;
    for _ in 0..1000 {
        store.feed(&batch);
        tokio::task::yield_now().await;
    }
    until("something is lost", || store.health().lost > 0).await;
    std::fs::remove_file(folder.join("in-the-way")).unwrap();
    assert!(store.flush(PATIENCE).await, "{:?}", store.health());
    let (health, audit) = (store.health(), store.audit().await.unwrap());
    assert_eq!(health.lost + health.written, fed, "{health:?}");
    assert_eq!(away(), 1);
    until("it is said", || !heard::lines(&[&ours, "WARN", "the store is back"]).is_empty()).await;
    let back = heard::lines(&[&ours, "WARN", "the store is back"]);
    assert!(back.len() == 1 && back[0].contains(&format!("lost={}", health.lost)), "{back:?} of {health:?}");
    assert_eq!(heard::lines(&[&ours, "WARN"]).len(), 2, "and nothing else");
    assert_eq!((audit.events, audit.events_summed), (health.written, health.written));
}

#[tokio::test]
async fn what_comes_faster_than_the_store_takes_it_is_told_although_the_database_answers() {
    let folder = Folder::new();
    let store = open(Address::sqlite(folder.join("store.db").display().to_string()));
    feed(&store, 0, 10);
    has_caught_up(&store, 10).await;
    // More at once than waits to be read.
    let story = Story::of("req_many", "acme", NOON).attempt("claude").served();
    let many: Arc<[_]> = story.into_iter().cycle().take(128 * 1024 + 1).collect();
    for _ in 0..3 {
        store.feed(&many);
    }
    let ours = folder.path().display().to_string();
    until("the loss is told", || !heard::lines(&[&ours, "events are lost"]).is_empty()).await;
    let lost = 3 * many.len();
    assert_eq!(store.health().lost, lost as u64);
    let told = heard::lines(&[&ours, "WARN"]);
    assert!(told.len() == 1 && told[0].ends_with(&format!("lost={lost}")), "{told:?}");
}
