//! What every store does, whichever database it is in.

use std::sync::Arc;
use std::time::Duration;

use steadfast_core::kind::FailureKind;
use steadfast_core::record::Record;
use steadfast_store::{Address, Expected, Filter, Options, Paging, PutError, Range, SessionFilter, Store};

use crate::story::{NOON, Story};

/// Runs each test on a SQLite file, a SQLite database in memory and PostgreSQL.
macro_rules! contract {
    ($($(#[$attribute:meta])* async fn $name:ident($store:ident: Store) $body:block)*) => {
        $(
            $(#[$attribute])*
            async fn $name($store: Store) $body
        )*
        mod sqlite_file {
            $(#[tokio::test] async fn $name() {
                let folder = steadfast_stage::Folder::new();
                let address = steadfast_store::Address::sqlite(folder.join("store.db").display().to_string());
                super::$name(crate::contract::open(address)).await;
            })*
        }
        mod sqlite_memory {
            $(#[tokio::test] async fn $name() {
                super::$name(crate::contract::open(steadfast_store::Address::sqlite(":memory:"))).await;
            })*
        }
        mod postgres {
            $(#[tokio::test] async fn $name() {
                let server = steadfast_stage::Postgres::shared();
                super::$name(crate::contract::open(steadfast_store::Address::postgres(server.database()))).await;
            })*
        }
    };
}
pub(crate) use contract;

/// Keeps everything: stories are told of fixed days, however late it is.
pub(crate) fn open(address: Address) -> Store {
    keeping(address, 36_500)
}

/// Keeps what happened for so many days.
pub(crate) fn keeping(address: Address, days: u32) -> Store {
    // Before any store says something: a line that was said to nobody may be said to nobody for good.
    crate::heard::listen();
    Store::open(Options::new(address, days)).unwrap()
}

pub(crate) async fn feed(store: &Store, records: Vec<Record>) {
    store.feed(&Arc::from(records));
    assert!(store.flush(Duration::from_secs(20)).await, "{:?}", store.health());
}

contract! {
async fn a_request_that_recovered_is_listed_counted_and_told_in_full(store: Store) {
    let records = Story::of("req_1", "acme", NOON)
        .session("s1")
        .attempt("claude")
        .fails(FailureKind::Overloaded, "overloaded")
        .attempt("gpt")
        .served();
    feed(&store, records.clone()).await;

    assert_eq!(store.records("req_1").await.unwrap(), records);
    let attempts = steadfast_store::attempts(&records);
    assert_eq!(attempts.iter().map(|attempt| attempt.succeeded).collect::<Vec<_>>(), [Some(false), Some(true)]);

    let page = store.requests(Filter::default(), Paging::default()).await.unwrap();
    let [request] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!((request.request.as_str(), request.outcome.as_deref()), ("req_1", Some("succeeded")));
    assert_eq!((request.attempts, request.failures, request.fallbacks), (2, 1, 1));
    assert_eq!((request.usd_micros, request.failed_usd_micros), (60, 10));

    let page = store.sessions(SessionFilter::default(), Paging::default()).await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!((page.items[0].requests, page.items[0].failures), (1, 1));

    let range = Range { from: NOON - 1, to: NOON + 1, project: None };
    let analytics = store.analytics(range).await.unwrap();
    assert_eq!((analytics.totals.requests, analytics.totals.failures, analytics.totals.recovered), (1, 1, 1));
    assert_eq!(analytics.by_kind[0].name, "overloaded");
    assert_eq!(analytics.messages[0].message, "overloaded");
    assert_eq!(analytics.recovery.mean_time_ms, Some(1100.0));
}

async fn every_run_of_a_task_is_a_row_with_a_story_of_its_own(store: Store) {
    let run = |time| Story::of("task_1", "acme", time).session("task_1").attempt("claude");
    let first = run(NOON).fails(FailureKind::Overloaded, "overloaded").gives_up();
    let second = run(NOON + 60_000).served();
    feed(&store, first.clone()).await;
    feed(&store, second.clone()).await;

    let page = store.requests(Filter::default(), Paging::default()).await.unwrap();
    let [newest, oldest] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!((newest.request.as_str(), oldest.request.as_str()), ("task_1", "task_1"));
    assert_eq!(store.records_of_run("task_1", oldest.started).await.unwrap(), first);
    assert_eq!(store.records_of_run("task_1", newest.started).await.unwrap(), second);
    assert_eq!(store.records("task_1").await.unwrap(), second, "the last one, where nobody says");

    // One that is over and one that is not, neither of them written yet.
    let (third, fourth) = (run(NOON + 120_000).served(), run(NOON + 180_000).so_far());
    store.feed(&Arc::from([third.clone(), fourth.clone()].concat()));
    assert_eq!(store.records("task_1").await.unwrap(), fourth);
    assert_eq!(store.records_of_run("task_1", NOON + 120_000).await.unwrap(), third);
    assert_eq!(store.records_of_run("task_1", NOON).await.unwrap(), first);
    assert!(store.records_of_run("task_1", NOON + 1).await.unwrap().is_empty());
}

async fn a_document_is_not_overwritten_by_somebody_who_did_not_read_it(store: Store) {
    let first = store.put("policy", "global", serde_json::json!({"a": 1}), Expected::Nothing).await.unwrap();
    assert_eq!(first.version, 1);
    let second = store.put("policy", "global", serde_json::json!({"a": 2}), Expected::Version(1)).await.unwrap();
    assert_eq!(second.version, 2);
    let error = store.put("policy", "global", serde_json::json!({"a": 3}), Expected::Version(1)).await.unwrap_err();
    let PutError::Conflict(Some(current)) = error else { panic!("{error}") };
    assert_eq!(*current, second);
    assert!(store.put("policy", "global", serde_json::json!({}), Expected::Nothing).await.is_err());
    assert_eq!(store.document("policy", "global").await.unwrap(), Some(second.clone()));
    let gone = store.delete("policy", "global", Expected::Version(2)).await.unwrap();
    assert_eq!(store.document("policy", "global").await.unwrap(), None);
    assert_eq!(store.changes(second.change).await.unwrap(), [gone]);
    assert_eq!(store.documents("policy", Paging::default()).await.unwrap().items, []);
}

async fn behind_every_bar_there_is_a_list_of_requests(store: Store) {
    for number in 0..5 {
        let story = Story::of(&format!("req_{number}"), "acme", NOON + number * 1000).attempt("claude");
        feed(&store, story.fails(FailureKind::RateLimit, "slow down").gives_up()).await;
    }
    feed(&store, Story::of("req_good", "acme", NOON).attempt("gpt").served()).await;
    feed(&store, Story::of("req_now", "other", NOON).attempt("gpt").so_far()).await;
    let list = async |filter: Filter| {
        let page = store.requests(filter, Paging::default()).await.unwrap();
        page.items.into_iter().map(|request| request.request).collect::<Vec<_>>()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(list(Filter { kind: some("rate_limit"), ..Filter::default() }).await.len(), 5);
    assert_eq!(list(Filter { failed: true, model: some("gpt"), ..Filter::default() }).await, [""; 0]);
    assert_eq!(list(Filter { model: some("gpt"), ..Filter::default() }).await, ["req_good"]);
    assert_eq!(list(Filter { outcome: some("succeeded"), ..Filter::default() }).await, ["req_good"]);
    let late = Filter { kind: some("rate_limit"), from: Some(NOON + 3000), ..Filter::default() };
    assert_eq!(list(late).await, ["req_4", "req_3"]);

    let first = Paging { after: None, limit: Some(4) };
    let page = store.requests(Filter { failed: true, ..Filter::default() }, first).await.unwrap();
    assert_eq!(page.items.len(), 4);
    let second = Paging { after: page.next, limit: Some(4) };
    let page = store.requests(Filter { failed: true, ..Filter::default() }, second).await.unwrap();
    assert_eq!((page.items.len(), page.items[0].request.as_str(), page.next), (1, "req_0", None));
}

async fn sessions_are_listed_to_the_last_however_far_back_one_that_fits_lies(store: Store) {
    // More than a page looks at in one go, and the two that fit are the oldest.
    let story = |number: i64| Story::of(&format!("req_{number}"), "acme", NOON + number).session(&format!("s{number}"));
    let mut records = Vec::new();
    for number in 0..2 {
        records.extend(story(number).client("codex").attempt("claude").fails(FailureKind::Timeout, "late").gives_up());
    }
    for number in 2000..4100 {
        records.extend(story(number).attempt("claude").served());
    }
    feed(&store, records).await;
    let all = async |filter: SessionFilter, limit| {
        let (mut seen, mut paging) = (Vec::new(), Paging { after: None, limit: Some(limit) });
        loop {
            let page = store.sessions(filter.clone(), paging.clone()).await.unwrap();
            seen.extend(page.items.into_iter().map(|session| session.session));
            match page.next {
                Some(next) => paging.after = Some(next),
                None => return seen,
            }
        }
    };
    assert_eq!(all(SessionFilter { failed: true, ..SessionFilter::default() }, 1).await, ["s1", "s0"]);
    let of_codex = SessionFilter { client: Some("codex".to_owned()), ..SessionFilter::default() };
    assert_eq!(all(of_codex, 50).await, ["s1", "s0"]);
    assert_eq!(all(SessionFilter::default(), 200).await.len(), 2102);

    let search = |text: &str| SessionFilter { search: Some(text.to_owned()), ..SessionFilter::default() };
    assert_eq!(all(search("ODEX"), 1).await, ["s1", "s0"], "by the program, in capitals or not");
    assert_eq!(all(search("s409"), 3).await.len(), 10);
    assert_eq!(all(search("s1"), 50).await, ["s1"], "once, though it is looked for by its name and by its text");
    assert_eq!(all(search("s_"), 50).await, [""; 0], "a sign of LIKE is a letter like others");
    let first = store.sessions(search("s0"), Paging { after: None, limit: Some(1) }).await.unwrap();
    assert_eq!(first.items[0].session, "s0", "a whole name is found with the first page, however old");
}

async fn sessions_of_one_name_and_moment_are_told_apart_by_their_projects(store: Store) {
    for project in ["acme", "zeta", "mine"] {
        feed(&store, Story::of(&format!("req_{project}"), project, NOON).session("s1").attempt("gpt").served()).await;
    }
    let (mut seen, mut paging) = (Vec::new(), Paging { after: None, limit: Some(1) });
    for _ in 0..3 {
        let page = store.sessions(SessionFilter::default(), paging.clone()).await.unwrap();
        seen.extend(page.items.into_iter().map(|session| session.project));
        paging.after = page.next;
    }
    assert_eq!((seen, paging.after), (vec!["acme".to_owned(), "mine".to_owned(), "zeta".to_owned()], None));
}
}
