//! Every figure of the analytics (SPEC 4.3), from stories in two projects on two days.

use steadfast_core::kind::FailureKind;
use steadfast_store::{Bar, Bucket, Range, Store, Verdict};

use crate::contract::{contract, feed};
use crate::story::{NOON, Story};

const HOUR: i64 = 60 * 60 * 1000;
const DAY: i64 = 24 * HOUR;

/// One that another model serves, one that is simply served, one that fails, one that is served the third time.
async fn tell(store: &Store) {
    let claude = |request: &str, project: &str, time: i64| Story::of(request, project, time).attempt("claude");
    let overloaded = claude("r1", "acme", NOON).fails(FailureKind::Overloaded, "overloaded");
    feed(store, overloaded.attempt("gpt").served()).await;
    feed(store, claude("r2", "acme", NOON + HOUR).served()).await;
    let reset = claude("r3", "zeta", NOON + DAY).fails(FailureKind::NetworkTransient, "connection reset");
    feed(store, reset.gives_up()).await;
    let mut slow = claude("r4", "zeta", NOON + DAY).client("codex").pattern("chat");
    for _ in 0..2 {
        slow = slow.fails(FailureKind::RateLimit, "slow down").attempt("claude");
    }
    feed(store, slow.served()).await;
}

/// `name requests attempts failures rate`.
fn bars(bars: &[Bar]) -> Vec<String> {
    let told = |bar: &Bar| {
        let sums = &bar.measures;
        format!("{} {} {} {} {:.3}", bar.name, sums.requests, sums.attempts, sums.failures, bar.failure_rate)
    };
    bars.iter().map(told).collect()
}

fn buckets(buckets: &[Bucket]) -> Vec<String> {
    let told = |bucket: &Bucket| {
        let sums = &bucket.measures;
        let hours = (bucket.start - NOON) / HOUR;
        format!("{hours} {} {} {} {:.3}", sums.requests, sums.attempts, sums.failures, bucket.failure_rate)
    };
    buckets.iter().map(told).collect()
}

contract! {
async fn every_bar_counts_what_is_its_own(store: Store) {
    tell(&store).await;
    let range = Range { from: NOON - HOUR, to: NOON + DAY + 1, project: None };
    let told = store.analytics(range.clone()).await.unwrap();
    assert_eq!(bars(&told.by_kind), [
        "rate_limit 0 0 2 0.500",
        "network_transient 0 0 1 0.250",
        "overloaded 0 0 1 0.250",
    ]);
    assert_eq!(bars(&told.by_model), ["claude 4 6 4 0.667", "gpt 1 1 0 0.000"]);
    assert_eq!(bars(&told.by_endpoint), ["c-api 4 6 4 0.667", "g-api 1 1 0 0.000"]);
    assert_eq!(bars(&told.by_project), ["zeta 2 4 3 0.750", "acme 2 3 1 0.333"]);
    assert_eq!(bars(&told.by_pattern), ["chat:tools 3 4 2 0.500", "chat 1 3 2 0.667"]);
    assert_eq!(bars(&told.by_client), ["claude-code 3 4 2 0.500", "codex 1 3 2 0.667"]);
    assert_eq!(buckets(&told.by_day), ["-12 2 3 1 0.333", "12 2 4 3 0.750"]);
    assert_eq!(buckets(&told.by_hour), ["0 1 2 1 0.500", "1 1 1 0 0.000", "24 2 4 3 0.750"]);
    let messages: Vec<(&str, &str, i64)> =
        told.messages.iter().map(|said| (said.kind.as_str(), said.message.as_str(), said.count)).collect();
    assert_eq!(messages, [
        ("rate_limit", "slow down", 2),
        ("network_transient", "connection reset", 1),
        ("overloaded", "overloaded", 1),
    ]);

    let one = store.analytics(Range { project: Some("acme".to_owned()), ..range.clone() }).await.unwrap();
    assert_eq!((one.totals.requests, one.totals.failures, one.by_project), (2, 1, Vec::new()));
    let first_day = store.analytics(Range { to: NOON + 2 * HOUR, ..range.clone() }).await.unwrap();
    assert_eq!((first_day.totals.requests, buckets(&first_day.by_day).len()), (2, 1));
    let long = store.analytics(Range { from: NOON - 10 * DAY, ..range }).await.unwrap();
    assert_eq!((long.totals, long.by_hour), (told.totals, Vec::new()), "by day beyond three days, and the same sums");
}

async fn recovery_is_told_in_the_documents_figures_and_held_against_their_targets(store: Store) {
    let range = Range { from: NOON - HOUR, to: NOON + DAY + 1, project: None };
    let nothing = store.analytics(range.clone()).await.unwrap();
    assert_eq!((nothing.recovery.rate, nothing.recovery.latency_p50_ms, nothing.failure_rate), (None, None, 0.0));
    tell(&store).await;
    let told = store.analytics(range).await.unwrap();
    let (totals, recovery) = (&told.totals, &told.recovery);
    assert_eq!((totals.requests, totals.succeeded, totals.gave_up, totals.affected, totals.recovered), (4, 3, 1, 3, 2));
    assert_eq!((totals.usd_micros, totals.input_tokens, totals.output_tokens), (190, 300, 60));
    assert_eq!(format!("{:.3} {:.3}", told.failure_rate, recovery.rate.unwrap()), "0.571 0.667");
    // 1100 ms and one retry for the first, 2200 ms and two for the last.
    assert_eq!((recovery.mean_time_ms, recovery.retries_before_success), (Some(1650.0), Some(1.5)));
    assert_eq!((recovery.fallback_rate, recovery.failed_usd_micros), (Some(0.25), 40));
    // Served after 100, 1200 and 2300 ms, as the bounds of their buckets.
    assert_eq!((recovery.latency_p50_ms, recovery.latency_p95_ms), (Some(1536), Some(3072)));

    let targets: Vec<(&str, Verdict, i64)> =
        told.targets.iter().map(|target| (target.name, target.verdict, target.of)).collect();
    assert_eq!(targets, [
        ("classification", Verdict::NotFromEvents, 0),
        ("network_recovered", Verdict::Fail, 1),
        ("retries_before_success", Verdict::Pass, 2),
        ("false_opens", Verdict::NotFromEvents, 0),
        ("restarts", Verdict::NothingYet, 0),
        ("transient_recovered", Verdict::Fail, 3),
        ("recovery_time_ms", Verdict::Pass, 2),
    ]);
}
}
