//! Alerts, breakers and climbs as they are kept, and how long everything is.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use steadfast_core::kind::FailureKind;
use steadfast_core::record::{Climb, Event, Record};
use steadfast_core::time::Timestamp;
use steadfast_stage::{Folder, Postgres};
use steadfast_store::{Address, AlertFilter, Escalation, Expected, Filter, Paging, Range, SessionFilter, Store};

use crate::contract::{contract, feed, keeping, open};
use crate::story::{NOON, Story, alert, breaker, place};

const HOUR: i64 = 60 * 60 * 1000;
const DAY: i64 = 24 * HOUR;

async fn abouts(store: &Store, filter: AlertFilter) -> Vec<String> {
    let page = store.alerts(filter, Paging::default()).await.unwrap();
    page.items.into_iter().map(|alert| alert.about).collect()
}

const OPEN: AlertFilter = AlertFilter { open: true, about: None };

/// Raises three before and after a moment, then says that somebody watches from it on; returns who is left open.
async fn left_open(store: &Store) -> Vec<String> {
    let raised = |about: &str, time| alert("in_a_row", about, "raised", time);
    let batch = vec![raised("long", NOON - 2 * HOUR), raised("short", NOON - 1), raised("new", NOON)];
    feed(store, batch).await;
    store.watch_from(NOON);
    let deadline = Instant::now() + Duration::from_secs(20);
    while abouts(store, OPEN).await.len() == 3 {
        assert!(Instant::now() < deadline, "what was left is never over");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let about = AlertFilter { about: Some("long".to_owned()), ..AlertFilter::default() };
    let over = store.alerts(about, Paging::default()).await.unwrap();
    assert_eq!(over.items[0].resolved, Some(NOON), "its end is the moment in which nobody watched any more");
    abouts(store, OPEN).await
}

#[tokio::test]
async fn what_a_process_before_raised_is_over() {
    assert_eq!(left_open(&open(Address::sqlite(":memory:"))).await, ["new"]);
}

#[tokio::test]
async fn what_another_replica_may_have_raised_is_not_over_for_an_hour() {
    let store = open(Address::postgres(Postgres::shared().database()));
    assert_eq!(left_open(&store).await, ["new", "short"]);
}

contract! {
async fn an_alert_is_raised_once_listed_and_resolved(store: Store) {
    let batch = vec![
        alert("in_a_row", "claude", "raised", NOON),
        alert("chain_failed", "claude", "raised", NOON + 1),
        alert("many_failures", "acme", "raised", NOON + 2),
    ];
    feed(&store, batch).await;
    let first = store.alerts(AlertFilter::default(), Paging { after: None, limit: Some(2) }).await.unwrap();
    assert_eq!(first.items.iter().map(|alert| alert.raised).collect::<Vec<_>>(), [NOON + 2, NOON + 1], "newest first");
    let rest = Paging { after: first.next, limit: Some(2) };
    let rest = store.alerts(AlertFilter::default(), rest).await.unwrap();
    let [oldest] = &rest.items[..] else { panic!("{rest:?}") };
    assert_eq!((oldest.alert.as_str(), oldest.reason.as_str()), ("in_a_row", "in_a_row of claude"));
    assert_eq!((oldest.request.as_deref(), oldest.resolved, rest.next), (Some("req_1"), None, None));

    feed(&store, vec![alert("in_a_row", "claude", "resolved", NOON + 9)]).await;
    assert_eq!(abouts(&store, OPEN).await, ["acme", "claude"], "the other one about it stays");
    let about = AlertFilter { about: Some("claude".to_owned()), ..AlertFilter::default() };
    let about = store.alerts(about, Paging::default()).await.unwrap();
    assert_eq!(about.items.iter().map(|alert| alert.resolved).collect::<Vec<_>>(), [None, Some(NOON + 9)]);
    // Raised again: another alert, and the one before stays as it was.
    feed(&store, vec![alert("in_a_row", "claude", "raised", NOON + 20)]).await;
    assert_eq!(abouts(&store, OPEN).await, ["claude", "acme", "claude"]);
}

async fn a_breakers_changes_are_listed_newest_first(store: Store) {
    let batch = vec![breaker("a", "open", NOON), breaker("b", "open", NOON + 1), breaker("a", "closed", NOON + 2)];
    feed(&store, batch).await;
    let states = async |endpoint: Option<&str>, paging| {
        let page = store.breaker_changes(endpoint.map(str::to_owned), paging).await.unwrap();
        let told = page.items.iter().map(|change| format!("{} {} {}", change.endpoint, change.state, change.time - NOON));
        (told.collect::<Vec<_>>(), page.next)
    };
    assert_eq!(states(Some("a"), Paging::default()).await.0, ["a closed 2", "a open 0"]);
    let (first, next) = states(None, Paging { after: None, limit: Some(2) }).await;
    assert_eq!(first, ["a closed 2", "b open 1"]);
    assert_eq!(states(None, Paging { after: next, limit: Some(2) }).await, (vec!["a open 0".to_owned()], None));
}

async fn a_climb_is_kept_once_whoever_tells_of_it(store: Store) {
    // The policy's, told by the decision of a request.
    let mut story = Story::of("req_1", "acme", NOON).session("s1").attempt("claude")
        .fails(FailureKind::BadOutput, "empty").so_far();
    let decision = story.last_mut().unwrap();
    decision.to = Some(place("gpt"));
    decision.escalation = Some(Climb {
        reason: "auto_after_retries".into(),
        from_usd_micros: Some(10),
        to_usd_micros: Some(50),
    });
    feed(&store, story).await;
    // A person's, committed by the API and then told as a record too.
    let by_person = Escalation {
        session: "s1".to_owned(),
        project: "acme".to_owned(),
        time: NOON + 5000,
        state: "rolled_back".to_owned(),
        reason: "manual".to_owned(),
        from_model: "gpt".to_owned(),
        to_model: "claude".to_owned(),
        ..Escalation::default()
    };
    store.escalate(by_person.clone()).await.unwrap();
    let told = Record {
        about: Some("s1".into()),
        project: Some("acme".into()),
        state: Some("rolled_back".into()),
        ..Record::new(Timestamp::from_millis(NOON + 5000), Event::Escalation, "".into())
    };
    feed(&store, vec![told]).await;
    let kept = store.escalations("s1".to_owned()).await.unwrap();
    let [newest, oldest] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!(*newest, by_person);
    assert_eq!((oldest.state.as_str(), oldest.reason.as_str()), ("climbed", "auto_after_retries"));
    assert_eq!((oldest.from_model.as_str(), oldest.to_model.as_str()), ("claude", "gpt"));
    assert_eq!((oldest.from_usd_micros, oldest.to_usd_micros), (Some(10), Some(50)));
    assert_eq!(oldest.request.as_deref(), Some("req_1"));
    assert_eq!(store.escalations("s2".to_owned()).await.unwrap(), []);
}
}

/// What there is of each table, as `requests failures sessions alerts breakers climbs sums`.
async fn counts(store: &Store, now: i64) -> String {
    let requests = store.requests(Filter::default(), Paging::default()).await.unwrap().items.len();
    let failed = store.requests(Filter { failed: true, ..Filter::default() }, Paging::default()).await.unwrap();
    let sessions = store.sessions(SessionFilter::default(), Paging::default()).await.unwrap().items.len();
    let alerts = abouts(store, AlertFilter::default()).await.join("+");
    let breakers = store.breaker_changes(None, Paging::default()).await.unwrap().items.len();
    let climbs = store.escalations("old".to_owned()).await.unwrap().len();
    let range = Range { from: now - 100 * DAY, to: now + DAY, project: None };
    let summed = store.analytics(range).await.unwrap().totals.requests;
    format!("{requests} {} {sessions} {alerts} {breakers} {climbs} {summed}", failed.items.len())
}

async fn old_rows_go(address: Address) {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let old = now - 60 * DAY;
    let store = open(address.clone());
    let failed = |request: &str, session: &str, time| {
        let story = Story::of(request, "acme", time).session(session).attempt("claude");
        story.fails(FailureKind::Timeout, "late").gives_up()
    };
    feed(&store, failed("req_old", "old", old)).await;
    feed(&store, failed("req_new", "new", now)).await;
    let batch = vec![
        alert("in_a_row", "over", "raised", old),
        alert("in_a_row", "over", "resolved", old + 1),
        alert("in_a_row", "open", "raised", old),
        breaker("a", "open", old),
        breaker("a", "open", now),
    ];
    feed(&store, batch).await;
    let climb =
        Escalation { session: "old".to_owned(), time: old, state: "climbed".to_owned(), ..Escalation::default() };
    store.escalate(climb).await.unwrap();
    store.put("setting", "kept", serde_json::json!(1), Expected::Nothing).await.unwrap();
    assert_eq!(counts(&store, now).await, "2 2 2 open+over 2 1 2");
    store.close().await;

    let store = keeping(address, 30);
    let wanted = "1 1 1 open 1 0 1";
    let deadline = Instant::now() + Duration::from_secs(20);
    while counts(&store, now).await != wanted {
        assert!(Instant::now() < deadline, "{} is left, not {wanted}", counts(&store, now).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(store.document("setting", "kept").await.unwrap().is_some(), "what people wrote stays");
}

#[tokio::test]
async fn old_rows_go_from_every_table_of_a_file_and_open_alerts_stay() {
    let folder = Folder::new();
    old_rows_go(Address::sqlite(folder.join("store.db").display().to_string())).await;
}

#[tokio::test]
async fn old_rows_go_from_every_table_of_a_server_and_open_alerts_stay() {
    old_rows_go(Address::postgres(Postgres::shared().database())).await;
}
