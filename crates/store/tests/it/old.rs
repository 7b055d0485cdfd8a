//! Stores of before: old schemas are brought up, newer ones left alone, old rows go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::{Connection as _, Executor as _};
use steadfast_stage::{Folder, Postgres};
use steadfast_store::{Address, AlertFilter, Filter, Paging};

use crate::contract::keeping;
use crate::story::{NOON, Story};

/// A store of schema 1 with a request, a session, an alert, a climb and a policy in it, as `sqlite3 .dump` wrote it.
const SCHEMA_1: &str = include_str!("../fixtures/schema-1.sql");

/// The same as PostgreSQL was told it: schema 1 differed in these words alone.
fn schema_1_of_postgres() -> String {
    SCHEMA_1.replace(" WITHOUT ROWID", "").replace("INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY")
}

async fn load(folder: &Folder, dump: &'static str) -> String {
    let file = folder.join("store.db").display().to_string();
    let mut connection = sqlx::SqliteConnection::connect(&format!("sqlite:{file}?mode=rwc")).await.unwrap();
    connection.execute(sqlx::raw_sql(dump)).await.unwrap();
    connection.close().await.unwrap();
    file
}

#[tokio::test]
async fn a_file_of_schema_1_opens_with_everything_in_it() {
    let folder = Folder::new();
    has_everything(Address::sqlite(load(&folder, SCHEMA_1).await)).await;
}

#[tokio::test]
async fn a_database_of_schema_1_opens_with_everything_in_it() {
    let address = Postgres::shared().database();
    let mut connection = sqlx::PgConnection::connect(&address).await.unwrap();
    connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(schema_1_of_postgres()))).await.unwrap();
    connection.close().await.unwrap();
    has_everything(Address::postgres(address)).await;
}

async fn has_everything(address: Address) {
    let store = keeping(address, 3650);
    let page = store.requests(Filter::default(), Paging::default()).await.unwrap();
    assert_eq!(page.items[0].request, "req_old");
    assert_eq!(store.records("req_old").await.unwrap().len(), 6);
    assert_eq!(store.document("policy", "global").await.unwrap().unwrap().version, 1);
    let session = store.session("s1", None).await.unwrap().unwrap();
    let climbs: Vec<_> = session.escalations.iter().map(|climb| (&*climb.from_model, &*climb.to_model)).collect();
    assert_eq!(climbs, [("claude", "opus")]);
    let alerts = store.alerts(AlertFilter::default(), Paging::default()).await.unwrap().items;
    assert_eq!((alerts.len(), alerts[0].alert.as_str(), alerts[0].about.as_str()), (1, "in_a_row", "claude"));
    assert_eq!((alerts[0].resolved, alerts[0].request.as_deref()), (Some(NOON + 5000), Some("req_old")));
    assert_eq!(store.alert(alerts[0].id).await.unwrap().as_ref(), Some(&alerts[0]));
    assert_eq!(store.breaker_changes(None, Paging::default()).await.unwrap().items[0].endpoint, "c-api");
    store.feed(&Arc::from(Story::of("req_new", "acme", NOON).attempt("claude").served()));
    assert!(store.flush(Duration::from_secs(10)).await);
    let audit = store.audit().await.unwrap();
    assert_eq!((audit.requests, audit.requests_summed), (2, 2));
}

#[tokio::test]
async fn a_store_of_a_newer_program_is_left_alone_and_named() {
    let folder = Folder::new();
    let file = load(
        &folder,
        "CREATE TABLE steadfast_schema (version BIGINT NOT NULL); INSERT INTO steadfast_schema VALUES (999);",
    )
    .await;
    let store = keeping(Address::sqlite(file), 30);
    let error = store.requests(Filter::default(), Paging::default()).await.unwrap_err();
    assert!(error.to_string().contains("schema 999, written by a newer Steadfast"), "{error}");
}

#[tokio::test]
async fn what_is_older_than_it_is_kept_goes_and_its_space_too() {
    let folder = Folder::new();
    let file = folder.join("store.db").display().to_string();
    let store = keeping(Address::sqlite(&file), 36_500);
    let long_ago = NOON - 400 * 24 * 60 * 60 * 1000;
    for number in 0..3000 {
        let story = Story::of(&format!("req_{number}"), "acme", long_ago + number).session("old").attempt("claude");
        store.feed(&Arc::from(story.fails(steadfast_core::kind::FailureKind::Timeout, "late").gives_up()));
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    store.feed(&Arc::from(Story::of("req_new", "acme", now).attempt("claude").served()));
    assert!(store.flush(Duration::from_secs(20)).await);
    assert_eq!(store.audit().await.unwrap().requests, 3001);
    store.close().await;
    let before = std::fs::metadata(&file).unwrap().len();

    let store = keeping(Address::sqlite(&file), 30);
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let audit = store.audit().await.unwrap();
        if (audit.requests, audit.requests_summed, audit.failures) == (1, 1, 0) {
            break;
        }
        assert!(Instant::now() < deadline, "{audit:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(store.session("old", None).await.unwrap().is_none());
    while std::fs::metadata(&file).unwrap().len() >= before / 2 {
        assert!(Instant::now() < deadline, "the file stays as large as it was");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
