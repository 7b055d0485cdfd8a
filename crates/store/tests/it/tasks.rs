//! Tasks: leases, tokens, and what becomes of those whose worker is gone.

use std::time::Duration;

use serde_json::json;
use steadfast_store::{NewTask, News, Paging, Said, Store, TaskFilter, Wish};

use crate::contract::contract;

const LEASE: Duration = Duration::from_secs(60);

fn task(id: &str, due: i64) -> NewTask {
    let (label, project) = (format!("label of {id}"), "default".to_owned());
    NewTask { id: id.to_owned(), label, project, model: None, due, spec: json!({"task": id}) }
}

fn said(id: &str, token: i64, news: News) -> Said {
    let memory = json!({"attempts": 1});
    Said { id: id.to_owned(), token, news, memory, attempts: 1, restarts: 0, model: None, failure: None }
}

fn over() -> News {
    News::Over { outcome: "succeeded", result: json!({"success": true}) }
}

async fn state(store: &Store, id: &str) -> String {
    store.task(id).await.unwrap().unwrap().summary.state
}

contract! {
async fn a_task_is_leased_to_one_worker_and_ends_once(store: Store) {
    assert_eq!(store.add_tasks(vec![task("a", 0), task("b", i64::MAX / 2)]).await.unwrap(), 2);
    assert_eq!(store.add_tasks(vec![task("a", 0)]).await.unwrap(), 0, "the same id is the same task");
    let turn = store.take_turn("w1", Vec::new(), Vec::new(), 10, LEASE).await.unwrap();
    let [leased] = &turn.leased[..] else { panic!("{turn:?}") };
    assert_eq!((leased.id.as_str(), leased.token, leased.crashes, leased.attempts), ("a", 1, 0, 1));
    assert_eq!(store.take_turn("w2", Vec::new(), Vec::new(), 10, LEASE).await.unwrap().leased, [], "`b` is not due");
    let turn =
        store.take_turn("w1", Vec::new(), vec![said("a", 1, over()), said("a", 1, over())], 0, LEASE).await.unwrap();
    assert_eq!(turn.counted, [true, false], "exactly one end");
    let kept = store.task("a").await.unwrap().unwrap();
    assert_eq!((kept.summary.state.as_str(), kept.result), ("succeeded", Some(json!({"success": true}))));
}

async fn a_worker_that_was_cut_off_changes_nothing(store: Store) {
    store.add_tasks(vec![task("a", 0)]).await.unwrap();
    store.take_turn("w1", Vec::new(), Vec::new(), 1, Duration::ZERO).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let turn = store.take_turn("w2", Vec::new(), Vec::new(), 1, LEASE).await.unwrap();
    let [leased] = &turn.leased[..] else { panic!("{turn:?}") };
    assert_eq!((leased.token, leased.crashes, leased.worker_before.as_deref()), (2, 1, Some("w1")));
    let turn = store.take_turn("w1", Vec::new(), vec![said("a", 1, over())], 0, LEASE).await.unwrap();
    assert_eq!((turn.counted, state(&store, "a").await.as_str()), (vec![false], "running"));
    assert_eq!(store.extend_leases("w1", vec!["a".to_owned()], LEASE).await.unwrap(), []);
    assert_eq!(store.extend_leases("w2", vec!["a".to_owned()], LEASE).await.unwrap().len(), 1);
}

async fn what_is_put_aside_comes_back_when_it_is_due(store: Store) {
    store.add_tasks(vec![task("a", 0)]).await.unwrap();
    store.take_turn("w1", Vec::new(), Vec::new(), 1, LEASE).await.unwrap();
    let later = said("a", 1, News::Later { wait_ms: 60_000 });
    let turn = store.take_turn("w1", Vec::new(), vec![later], 1, LEASE).await.unwrap();
    assert!(turn.leased.is_empty() && turn.next_due_ms.unwrap() > 50_000, "{turn:?}");
    let kept = store.task("a").await.unwrap().unwrap();
    assert_eq!((kept.summary.state.as_str(), kept.memory), ("waiting", json!({"attempts": 1})));
    assert_eq!(store.retry_task("a").await.unwrap(), Wish::Done);
    let turn = store.take_turn("w1", Vec::new(), Vec::new(), 1, LEASE).await.unwrap();
    assert_eq!((turn.leased.len(), turn.leased[0].crashes), (1, 0), "to be put aside is not to crash");
}

async fn what_a_person_stopped_stays_stopped(store: Store) {
    store.add_tasks(vec![task("waits", i64::MAX / 2), task("runs", 0)]).await.unwrap();
    assert_eq!(store.cancel_task("waits").await.unwrap(), Wish::Done);
    store.take_turn("w1", Vec::new(), Vec::new(), 1, Duration::from_millis(1)).await.unwrap();
    assert_eq!(store.cancel_task("runs").await.unwrap(), Wish::Told);
    assert!(store.extend_leases("w1", vec!["runs".to_owned()], Duration::from_millis(1)).await.unwrap()[0].stop);
    tokio::time::sleep(Duration::from_millis(5)).await;
    let turn = store.take_turn("w2", Vec::new(), Vec::new(), 10, LEASE).await.unwrap();
    assert_eq!(turn.leased, [], "its worker is gone, and nobody takes it over");
    assert_eq!((state(&store, "runs").await, state(&store, "waits").await), ("cancelled".into(), "cancelled".into()));
    assert_eq!(store.cancel_task("runs").await.unwrap(), Wish::Nothing);
    assert_eq!(store.cancel_task("nosuch").await.unwrap(), Wish::Unknown);
}

async fn a_stop_while_it_is_put_aside_holds(store: Store) {
    store.add_tasks(vec![task("a", 0)]).await.unwrap();
    store.take_turn("w1", Vec::new(), Vec::new(), 1, LEASE).await.unwrap();
    store.cancel_task("a").await.unwrap();
    store.take_turn("w1", Vec::new(), vec![said("a", 1, News::Later { wait_ms: 0 })], 1, LEASE).await.unwrap();
    assert_eq!(state(&store, "a").await, "cancelled");
}

async fn lists_come_in_pages_and_ids_may_be_short(store: Store) {
    store.add_tasks((0..5).map(|number| task(&format!("task_{number}x"), 0)).collect()).await.unwrap();
    let mut seen = Vec::new();
    let mut paging = Paging { after: None, limit: Some(2) };
    loop {
        let page = store.tasks(TaskFilter::default(), paging.clone()).await.unwrap();
        seen.extend(page.items.into_iter().map(|task| task.id));
        match page.next {
            Some(next) => paging.after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, ["task_4x", "task_3x", "task_2x", "task_1x", "task_0x"]);
    assert_eq!(store.task("task_3").await.unwrap().unwrap().summary.id, "task_3x");
    assert!(store.task("task_").await.unwrap().is_none() && store.task("").await.unwrap().is_none());
    let waiting = TaskFilter { state: Some("running".to_owned()), ..TaskFilter::default() };
    assert!(store.tasks(waiting, Paging::default()).await.unwrap().items.is_empty());
    assert_eq!(store.task_counts().await.unwrap(), [("waiting".to_owned(), 5)]);
}

async fn a_worker_never_leases_what_it_runs_however_the_clock_jumps_and_takes_back_what_it_never_heard_of(store: Store) {
    store.add_tasks(vec![task("a", 0), task("b", 0)]).await.unwrap();
    store.take_turn("w1", Vec::new(), Vec::new(), 2, Duration::ZERO).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    // Both leases have run out. It runs one of them; the answer that told it of the other was lost.
    let turn = store.take_turn("w1", vec!["a".to_owned()], Vec::new(), 2, LEASE).await.unwrap();
    assert_eq!(turn.leased.iter().map(|leased| leased.id.as_str()).collect::<Vec<_>>(), ["b"]);
    let held = store.extend_leases("w1", vec!["a".to_owned()], LEASE).await.unwrap();
    assert_eq!(held.iter().map(|held| (held.id.as_str(), held.token)).collect::<Vec<_>>(), [("a", 1)]);
}
}
