//! Events a second, and what pages cost.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use steadfast_core::record::Record;
use steadfast_store::export::{Format, Table};
use steadfast_store::{Filter, NewTask, Paging, Range, SessionFilter, Store, TaskFilter};

use crate::traffic::Traffic;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Requests of one batch, as a recorder hands over.
const BATCH: usize = 200;

/// What may wait before the feeder waits too: here nothing is to be lost.
const WAITING_MAX: usize = 8000;

/// How often each page is opened.
const ROUNDS: usize = 21;

/// Tasks that are queued in one transaction.
const TASKS_AT_ONCE: usize = 5_000;

/// Longer than the measurement takes.
const LEASE: Duration = Duration::from_secs(3600);

/// Feeds as fast as the store takes, for some seconds, and prints events a second and lost ones.
pub(crate) async fn rate(store: &Store, seconds: u64) {
    let mut traffic = Traffic::new(1);
    let began = Instant::now();
    let mut sent = 0_u64;
    while began.elapsed() < Duration::from_secs(seconds) {
        let mut batch = Vec::new();
        (0..BATCH).for_each(|_| traffic.request(now(), &mut batch));
        sent += batch.len() as u64;
        feed(store, batch).await;
    }
    assert!(store.flush(Duration::from_secs(60)).await);
    let took = began.elapsed().as_secs_f64();
    let health = store.health();
    println!(
        "{{\"events\":{sent},\"seconds\":{took:.2},\"per_second\":{:.0},\"lost\":{}}}",
        sent as f64 / took,
        health.lost
    );
    store.close().await;
}

/// Fills a store with events that spread over thirty days.
pub(crate) async fn fill(store: &Store, events: u64) {
    let mut traffic = Traffic::new(events);
    let (end, mut sent) = (now(), 0_u64);
    let began = Instant::now();
    while sent < events {
        let mut batch = Vec::new();
        for _ in 0..BATCH {
            let done = (sent + batch.len() as u64).min(events) as f64 / events as f64;
            traffic.request(end - 30 * DAY + (done * (30 * DAY) as f64) as i64, &mut batch);
        }
        sent += batch.len() as u64;
        feed(store, batch).await;
    }
    assert!(store.flush(Duration::from_secs(120)).await);
    let took = began.elapsed().as_secs_f64();
    println!(
        "{{\"events\":{sent},\"seconds\":{took:.1},\"per_second\":{:.0},\"lost\":{}}}",
        sent as f64 / took,
        store.health().lost
    );
    store.close().await;
}

async fn feed(store: &Store, batch: Vec<Record>) {
    store.feed(&Arc::from(batch));
    while store.health().waiting > WAITING_MAX {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Opens every page some times and prints the median and the longest of each in milliseconds.
pub(crate) async fn pages(store: &Store) {
    let now = now();
    let range = |days: i64, project: Option<&str>| Range {
        from: now - days * DAY,
        to: now,
        project: project.map(str::to_owned),
    };
    let some = |text: &str| Some(text.to_owned());
    let page = Paging { after: None, limit: Some(50) };
    let mut figures = Vec::new();
    for round in 0..=ROUNDS {
        let mut times: Vec<(&str, Duration)> = Vec::new();
        let mut at = Instant::now();
        let mut lap = |name, times: &mut Vec<(&'static str, Duration)>| {
            times.push((name, at.elapsed()));
            at = Instant::now();
        };
        store.analytics(range(30, None)).await.unwrap();
        lap("analytics, 30 days", &mut times);
        store.analytics(range(30, Some("project-3"))).await.unwrap();
        lap("analytics, 30 days, one project", &mut times);
        store.analytics(range(1, None)).await.unwrap();
        lap("analytics, 1 day", &mut times);
        for (name, filter) in [
            ("requests", Filter::default()),
            ("requests of a project", Filter { project: some("project-3"), ..Filter::default() }),
            ("requests behind a kind", Filter { kind: some("timeout"), ..Filter::default() }),
            (
                "requests behind a pattern and a day",
                Filter {
                    failed: true,
                    pattern: some("chat:d9ea8225"),
                    from: Some(now - 10 * DAY),
                    to: Some(now - 9 * DAY),
                    ..Filter::default()
                },
            ),
            ("requests, a filter that fits nothing", Filter { client: some("nobody"), ..Filter::default() }),
        ] {
            store.requests(filter, page.clone()).await.unwrap();
            lap(name, &mut times);
        }
        let sessions = store.sessions(SessionFilter::default(), page.clone()).await.unwrap();
        lap("sessions", &mut times);
        store.session(&sessions.items[0].session, None).await.unwrap();
        lap("one session", &mut times);
        let requests = store.requests(Filter::default(), page.clone()).await.unwrap();
        lap("", &mut times);
        store.records(&requests.items[7].request).await.unwrap();
        lap("one request", &mut times);
        if round > 0 {
            figures.push(times);
        }
    }
    print(&figures);
    store.close().await;
}

/// Queues so many tasks, and prints what a worker's and a person's questions take while they wait.
pub(crate) async fn tasks(store: &Store, count: usize) {
    let task = |number: usize| NewTask {
        id: format!("task-{number:06}"),
        label: format!("t{number}"),
        project: format!("project-{}", number % 10),
        model: None,
        due: 0,
        spec: serde_json::json!({ "command": ["true"], "prompt": "x".repeat(200) }),
    };
    for first in (0..count).step_by(TASKS_AT_ONCE) {
        let tasks = (first..count.min(first + TASKS_AT_ONCE)).map(task).collect();
        store.add_tasks(tasks).await.unwrap();
    }
    let page = Paging { after: None, limit: Some(50) };
    let waiting = || TaskFilter { state: Some("waiting".to_owned()), ..TaskFilter::default() };
    let mut figures = Vec::new();
    for round in 0..=ROUNDS {
        let mut times = Vec::new();
        let mut at = Instant::now();
        let mut lap = |name, times: &mut Vec<(&'static str, Duration)>| {
            times.push((name, at.elapsed()));
            at = Instant::now();
        };
        let first = store.tasks(waiting(), page.clone()).await.unwrap();
        lap("list of 50 that wait", &mut times);
        assert_eq!(first.items.len(), 50);
        store.tasks(waiting(), Paging { after: first.next, limit: Some(50) }).await.unwrap();
        lap("the next 50", &mut times);
        store.tasks(TaskFilter::default(), page.clone()).await.unwrap();
        lap("list of 50 of all", &mut times);
        store.tasks(TaskFilter { project: Some("project-3".to_owned()), ..waiting() }, page.clone()).await.unwrap();
        lap("list of 50 of a project", &mut times);
        let turn = store.take_turn("worker", Vec::new(), Vec::new(), 1, LEASE).await.unwrap();
        lap("lease of one", &mut times);
        assert_eq!(turn.leased.len(), 1);
        let turn = store.take_turn("worker", Vec::new(), Vec::new(), 64, LEASE).await.unwrap();
        lap("lease of 64", &mut times);
        assert_eq!(turn.leased.len(), 64);
        if round > 0 {
            figures.push(times);
        }
    }
    print(&figures);
    store.close().await;
}

/// Prints the median and the longest of each page.
fn print(figures: &[Vec<(&str, Duration)>]) {
    let mut lines = Vec::new();
    for (at, (name, _)) in figures[0].iter().enumerate().filter(|(_, (name, _))| !name.is_empty()) {
        let mut times: Vec<f64> = figures.iter().map(|times| times[at].1.as_secs_f64() * 1000.0).collect();
        times.sort_by(f64::total_cmp);
        lines.push(format!(
            "{{\"page\":\"{name}\",\"median_ms\":{:.2},\"longest_ms\":{:.2}}}",
            times[times.len() / 2],
            times[times.len() - 1]
        ));
    }
    println!("[{}]", lines.join(","));
}

/// Writes every table in every format.
pub(crate) async fn export(store: &Store, folder: &str) {
    for (name, table) in [("requests", Table::Requests), ("attempts", Table::Attempts)] {
        for format in [Format::Csv, Format::Jsonl, Format::Parquet] {
            let mut export = store.export(table, format, Filter::default()).unwrap();
            let path = format!("{folder}/{name}.{}", format.extension());
            let mut file = std::fs::File::create(path).unwrap();
            while let Some(piece) = export.next().await.unwrap() {
                file.write_all(&piece).unwrap();
            }
        }
    }
    store.close().await;
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}
