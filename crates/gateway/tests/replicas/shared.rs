//! Two gateways that share what they know through a real Redis, also while it is killed, hung or wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use steadfast_core::breaker::{Mode, Override};
use steadfast_core::budget::Allowance;
use steadfast_core::world::Endpoint;
use steadfast_stage::Redis;
use tokio::task::JoinSet;

use crate::harness::{LIMIT, Speaks, Stage, USUAL, get, with};

/// Two gateways in front of the fake of the first.
async fn pair(redis: &Redis, more: &str) -> (Arc<Stage>, Arc<Stage>) {
    let usual = USUAL.replace("failures = 5 }", "failures = 5, cooldown = \"1s\" }");
    let config = format!("{usual}\n{more}\n[shared]\nurl = \"{}\"", redis.url());
    let one = Stage::new(&config).await;
    let other = Stage::new(&config.replace("FAKE", &one.fake.url())).await;
    for stage in [&one, &other] {
        until("they share", || metric(stage, "steadfast_shared_up") == Some(1)).await;
        until("they know of each other", || metric(stage, "steadfast_shared_replicas") == Some(2)).await;
    }
    (Arc::new(one), Arc::new(other))
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LIMIT, "it never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn metric(stage: &Stage, name: &str) -> Option<u64> {
    let text = stage.engine.metrics();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.parse().ok()
}

/// How often a request waited for an answer that did not come in time. On a machine that is kept busy that happens;
/// then who asked for the first time goes on with an equal part, and that may be too much.
fn in_vain(stage: &Stage) -> u64 {
    metric(stage, "steadfast_shared_waits_in_vain_total").unwrap_or(0)
}

fn endpoint<T>(stage: &Stage, name: &str, look: impl Fn(&Endpoint, steadfast_core::Instant) -> T) -> T {
    let (snapshot, now) = (stage.engine.snapshot(), stage.engine.clock().now());
    let found = snapshot.world.endpoints().find(|(_, endpoint)| &*endpoint.name == name).map(|(_, endpoint)| endpoint);
    look(found.unwrap(), now)
}

fn is_open(stage: &Stage, name: &str) -> bool {
    endpoint(stage, name, |endpoint, now| endpoint.breaker.is_open(now))
}

/// A turn that nobody asked before: the memory of failed turns has nothing to say to it.
fn of_project(project: &str) -> Request<Full<Bytes>> {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    let mut body = Speaks::Messages.body(false);
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    body["messages"][0]["content"] = format!("say something, turn {turn}").into();
    with(crate::harness::post("/v1/messages", &body), "x-steadfast-project", project)
}

/// Sends so many requests to each, a few at a time; how many were served, and how many refused with `refused`.
async fn load(stages: [&Arc<Stage>; 2], each: usize, project: &'static str, refused: StatusCode) -> (usize, usize) {
    let mut tasks = JoinSet::new();
    let counts = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    for stage in stages {
        let sent = Arc::new(AtomicUsize::new(0));
        for _ in 0..8 {
            let (stage, counts, sent) = (Arc::clone(stage), Arc::clone(&counts), Arc::clone(&sent));
            tasks.spawn(async move {
                while sent.fetch_add(1, Ordering::Relaxed) < each {
                    let answer = stage.send(of_project(project)).await;
                    let count = match answer.status {
                        StatusCode::OK => &counts.0,
                        status if status == refused => &counts.1,
                        _ => panic!("{} {}", answer.status, answer.text()),
                    };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    (counts.0.load(Ordering::Relaxed), counts.1.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_breaker_that_trips_in_one_opens_in_the_other() {
    for redis in Redis::of_each_kind() {
        let (one, other) = pair(&redis, "").await;
        one.script("a", "server_error");
        for _ in 0..3 {
            one.send(Speaks::Messages.request(false)).await;
        }
        assert!(is_open(&one, "a"));
        // There are ten rounds a second, however long a busy machine's second is.
        let rounds = || [&one, &other].map(|stage| metric(stage, "steadfast_shared_rounds_total").unwrap());
        let before = rounds();
        until("it opens in the other", || is_open(&other, "a")).await;
        let took = [rounds()[0] - before[0], rounds()[1] - before[1]];
        assert!(took.iter().all(|rounds| *rounds <= 10), "{took:?} rounds");
        let asked = one.fake.count("a");
        assert_eq!(other.send(Speaks::Messages.request(false)).await.header("x-steadfast-endpoint"), "b");
        assert_eq!(one.fake.count("a"), asked, "the other did not have to find out itself");
        assert!(other.events("breaker", &["about", "state"]).contains(&"a open".to_owned()), "its log tells");
        one.script("a", "ok");
        let probed = async || one.send(Speaks::Messages.request(false)).await;
        let began = Instant::now();
        while is_open(&one, "a") || probed().await.header("x-steadfast-endpoint") != "a" {
            assert!(began.elapsed() < LIMIT, "it never closes");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        until("it closes in the other", || {
            endpoint(&other, "a", |endpoint, now| endpoint.breaker.state(now) == steadfast_core::breaker::State::Closed)
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persons_word_a_pause_and_an_exhausted_quota_are_known_everywhere() {
    let redis = Redis::start();
    let (one, other) = pair(&redis, "").await;
    let ahead = |secs| one.engine.clock().now() + Duration::from_secs(secs);
    let word = Override { mode: Mode::ForcedOpen, reason: "ana: maintenance".to_owned(), until: ahead(600) };
    endpoint(&one, "a", |endpoint, _| endpoint.breaker.set_override(Some(word.clone())));
    endpoint(&one, "b", |endpoint, _| endpoint.set_aside(ahead(600)));
    endpoint(&one, "oa", |endpoint, _| endpoint.pause(ahead(600)));
    let told =
        |name| endpoint(&other, name, |endpoint, now| endpoint.breaker.current_override(now).map(|word| word.reason));
    until("the word is known", || told("a").as_deref() == Some("ana: maintenance")).await;
    until("the quota is known", || endpoint(&other, "b", |endpoint, now| endpoint.set_aside_until(now).is_some()))
        .await;
    until("the pause is known", || endpoint(&other, "oa", Endpoint::is_paused)).await;
    endpoint(&other, "a", |endpoint, _| endpoint.breaker.set_override(None));
    endpoint(&other, "b", |endpoint, _| endpoint.take_back());
    until("it is taken back everywhere", || !is_open(&one, "a")).await;
    until("it is in use everywhere", || endpoint(&one, "b", |endpoint, now| endpoint.set_aside_until(now).is_none()))
        .await;
    let late =
        Stage::new(&format!("{USUAL}\n[shared]\nurl = \"{}\"", redis.url()).replace("FAKE", &one.fake.url())).await;
    until("who comes late learns it too", || endpoint(&late, "oa", Endpoint::is_paused)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_holds_over_both_together() {
    let redis = Redis::with_password("s3cret-of-redis");
    let (one, other) = pair(&redis, "[projects.acme]\nrate = { requests_per_minute = 60 }").await;
    let (mut served, refused) = load([&one, &other], 150, "acme", StatusCode::TOO_MANY_REQUESTS).await;
    assert_eq!(served + refused, 300);
    // Answers that came too late for those may be in time for these, and what one does not use, the other gets.
    for _ in 0..100 {
        served += load([&one, &other], 1, "acme", StatusCode::TOO_MANY_REQUESTS).await.0;
        tokio::time::sleep(Duration::from_millis(if served < 55 { 50 } else { 1 })).await;
    }
    let failed = [&one, &other].map(|stage| metric(stage, "steadfast_shared_failures_total"));
    assert!(served <= 60, "{served} of 60; rounds that were not answered: {failed:?}");
    assert!(served >= 50, "{served} of 60; rounds that were not answered: {failed:?}");
    assert_eq!(one.fake.requests().len(), served, "nobody was called for those that were refused");
    let refused = one.send(of_project("acme")).await;
    assert_eq!(refused.json()["error"]["rate_limit"]["limit"], 60);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_limit_can_be_used_up_by_one_alone() {
    let redis = Redis::start();
    let (one, other) = pair(&redis, "[projects.acme]\nrate = { requests_per_minute = 5, per_agent = 3 }").await;
    let ask = async |stage: &Stage, agent: &'static str| {
        stage.send(with(of_project("acme"), "x-steadfast-agent", agent)).await.status.as_u16()
    };
    // On a machine that is kept busy an answer may come too late, and then it is 429 for a moment.
    let served = async |stage: &Stage, agent: &'static str| {
        let began = Instant::now();
        loop {
            match ask(stage, agent).await {
                429 if began.elapsed() < LIMIT => tokio::time::sleep(Duration::from_millis(150)).await,
                status => return status,
            }
        }
    };
    for _ in 0..3 {
        assert_eq!(served(&one, "a").await, 200);
    }
    let elsewhere = ask(&other, "a").await;
    if in_vain(&other) > 0 && elsewhere == 200 {
        return;
    }
    assert_eq!(elsewhere, 429, "the agent's limit is one, wherever it asks");
    assert_eq!([served(&other, "b").await, served(&one, "b").await], [200, 200]);
    assert_eq!(ask(&other, "c").await, 429, "the project's limit is one, whoever asks");
}

const SPENDING: &str = "[projects.acme]\nspend = { usd_per_day = 0.002 }
[projects.talk]\nspend = { usd_per_session = 0.0004 }";

/// What a call is held for before it is known what it costs, in millionths of a dollar: a hundred tokens and the question.
const MOST_OF_A_CALL: u64 = 150;

/// What attempts of this stage cost, in millionths of a dollar.
fn spent(stage: &Stage) -> u64 {
    stage.log().iter().filter(|line| line["event"] == "success").filter_map(|line| line["usd_micros"].as_u64()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_holds_over_both_together() {
    let redis = Redis::start();
    let (one, other) = pair(&redis, SPENDING).await;
    one.script("a", "words=20");
    let (served, refused) = load([&one, &other], 200, "acme", StatusCode::PAYMENT_REQUIRED).await;
    assert!(served > 0 && refused > 0, "{served} served, {refused} refused");
    // Those were refused while others held what they did not use in the end. One after the other gets to it all.
    for _ in 0..60 {
        one.send(of_project("acme")).await;
        other.send(of_project("acme")).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let spent = spent(&one) + spent(&other);
    let failed = [&one, &other].map(|stage| metric(stage, "steadfast_shared_failures_total"));
    assert!(spent <= 2_000, "{spent} of 2000; rounds that were not answered: {failed:?}");
    assert!(spent >= 1_500, "{spent} of 2000: nothing is lost between them");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_moves_takes_what_it_spent_along() {
    let redis = Redis::start();
    let (one, other) = pair(&redis, SPENDING).await;
    one.script("a", "words=20");
    let ask = async |stage: &Stage| stage.send(with(of_project("talk"), "x-steadfast-session", "s")).await.status;
    let mut served = 0;
    while ask(if served % 2 == 0 { &one } else { &other }).await == 200 {
        served += 1;
        assert!(served < 100, "there is no end to it");
    }
    assert!(served > 2, "{served}");
    let spent = spent(&one) + spent(&other);
    let ahead = if in_vain(&other) > 0 { 400 / 2 } else { 0 };
    assert!(spent <= 400 + ahead, "{spent} of 400");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traffic_goes_on_without_redis_and_shares_again_by_itself() {
    let mut redis = Redis::start();
    let quiet = format!("{SPENDING}\n[projects.team]\nrate = {{ requests_per_minute = 100, per_agent = 10 }}");
    // There is money enough all the time: whoever is refused for want of it is refused for nothing.
    let both = "rate = { requests_per_minute = 40 }\nspend = { usd_per_day = 0.2 }";
    let limited = quiet.replace("spend = { usd_per_day = 0.002 }", both);
    let (one, other) = pair(&redis, &limited).await;
    let in_session = async || one.send(with(of_project("talk"), "x-steadfast-session", "s")).await.status;
    let of_agent = async || one.send(with(of_project("team"), "x-steadfast-agent", "x")).await.status;
    assert_eq!((in_session().await, of_agent().await), (StatusCode::OK, StatusCode::OK));
    let mut served = 0;
    for _ in 0..5 {
        served += load([&one, &other], 1, "acme", StatusCode::TOO_MANY_REQUESTS).await.0;
    }
    assert_eq!(served, 10);
    let left = |stage: &Stage| {
        let acme = steadfast_engine::LimitOf::Project { project: "acme".into() };
        stage.engine.rate_limits().into_iter().find(|status| status.of == acme).map(|status| status.remaining)
    };
    until("both know what is left", || left(&one) == Some(30) && left(&other) == Some(30)).await;
    // What one still held when the other was told is given back, and told, within a second.
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    redis.kill();
    until("it is missed", || [&one, &other].iter().all(|stage| metric(stage, "steadfast_shared_up") == Some(0))).await;
    let (more, refused) = load([&one, &other], 100, "acme", StatusCode::TOO_MANY_REQUESTS).await;
    assert!(refused > 0 && served + more <= 40, "each keeps to its part of what was left: {served} and {more}");
    assert!(more >= 12, "{more}: each held a part of it");
    assert_eq!(one.send(get("/ready")).await.status, 200, "Redis is no reason not to be ready");
    assert_eq!(
        (in_session().await, of_agent().await),
        (StatusCode::OK, StatusCode::OK),
        "those who were quiet go on too"
    );
    redis.resume();
    until("they share again", || {
        [&one, &other].iter().all(|stage| metric(stage, "steadfast_shared_replicas") == Some(2))
    })
    .await;
    until("both", || [&one, &other].iter().all(|stage| metric(stage, "steadfast_shared_up") == Some(1))).await;
    let (again, _) = load([&one, &other], 100, "acme", StatusCode::TOO_MANY_REQUESTS).await;
    assert!(served + more + again <= 40, "what was started before is not forgotten: {served}, {more}, {again}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_a_redis_that_hangs() {
    let redis = Redis::start();
    let limits = "[projects.free]\nrate = { requests_per_minute = 100000 }\n[projects.few]\nrate = { per_agent = 10 }";
    let (one, other) = pair(&redis, limits).await;
    let both = [&one, &other];
    let waits = || both.map(|stage| metric(stage, "steadfast_shared_waits_total").unwrap());
    let served = async || load(both, 200, "free", StatusCode::TOO_MANY_REQUESTS).await.0;
    assert_eq!(served().await, 400);
    // One of whom nothing is known asks first.
    let of_agent = async |agent| one.send(with(of_project("few"), "x-steadfast-agent", agent)).await.status;
    assert_eq!(of_agent("x").await, StatusCode::OK);
    assert!(waits().iter().sum::<u64>() > 0, "otherwise nothing is shown");
    redis.hang();
    assert_eq!(served().await, 400, "what is held ahead is enough for a while");
    assert_eq!(of_agent("y").await, StatusCode::OK, "who waits in vain has its part");
    let is_missed = || both.iter().all(|stage| metric(stage, "steadfast_shared_up") == Some(0));
    until("it is missed", is_missed).await;
    let before = waits();
    assert_eq!(served().await, 400);
    assert_eq!(waits(), before, "after a round that was not answered nobody waits at all");
    assert!(is_missed());
    redis.go_on();
    until("they share again", || metric(&one, "steadfast_shared_up") == Some(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoints_share_of_retries_holds_over_both_together() {
    let began = Instant::now();
    let redis = Redis::start();
    let sick = "[endpoints.sick]\ndialect = \"anthropic\"\nurl = \"FAKE/@sick\"
[models.claude-sick]\nvendor = \"anthropic\"\nendpoints = [\"sick\"]";
    let (one, other) = pair(&redis, sick).await;
    // The breaker never trips: the share alone holds retries back.
    let until = one.engine.clock().now() + Duration::from_secs(600);
    let word = Override { mode: Mode::ForcedClosed, reason: "ana: as an example".to_owned(), until };
    for stage in [&one, &other] {
        endpoint(stage, "sick", |endpoint, _| endpoint.breaker.set_override(Some(word.clone())));
    }
    one.script("sick", "server_error");
    // All at once: whoever finds the allowance empty waits for it, one after another would take minutes.
    // So few that two allowances, were they not divided, would pay for more than one may.
    let requests = 30;
    let mut tasks = JoinSet::new();
    for (stage, client) in [&one, &other].into_iter().cycle().zip(0..requests) {
        let mut body = Speaks::Messages.body(false);
        body["model"] = "claude-sick".into();
        body["messages"][0]["content"] = format!("client {client}").into();
        let stage = Arc::clone(stage);
        tasks.spawn(async move { stage.open(crate::harness::post("/v1/messages", &body)).await.status() });
    }
    while let Some(status) = tasks.join_next().await {
        assert!(status.unwrap().is_server_error());
    }
    let extra = one.fake.count("sick") as u64 - requests;
    let bound = Allowance::for_retries(0.2).bound(requests, began.elapsed());
    assert!(extra <= bound, "{extra} more attempts than requests, where one gateway could have made {bound}");
    assert!(extra >= 10, "{extra}: what there is for bad minutes is used");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_gives_back_what_it_does_not_use() {
    let redis = Redis::start();
    let (one, other) = pair(&redis, SPENDING).await;
    one.script("a", "words=20");
    let ask = async |stage: &Stage| stage.send(with(of_project("talk"), "x-steadfast-session", "s")).await.status;
    assert_eq!(ask(&one).await, StatusCode::OK);
    let settled = |stage: &Stage| {
        stage.engine.session("talk", "s").map_or(0, |session| session.spend.ledger().settled_usd_micros)
    };
    // The first has had everything at its disposal, for more calls like its own. None comes, so the other gets to it.
    let began = Instant::now();
    while 400 - settled(&one) - settled(&other) > MOST_OF_A_CALL {
        ask(&other).await;
        assert!(began.elapsed() < LIMIT, "{} and {} of 400", settled(&one), settled(&other));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(settled(&other) > settled(&one), "{} and {}", settled(&other), settled(&one));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_or_address_stops_nothing() {
    let redis = Redis::with_password("s3cret-of-redis");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in
        [redis.url().replace("s3cret", "wrong"), format!("redis://{nobody}"), "redis://no.such.host.invalid".to_owned()]
    {
        let config = format!(
            "{USUAL}\n{SPENDING}\n[projects.free]\nrate = {{ requests_per_minute = 2 }}\n[shared]\nurl = \"{url}\""
        );
        let stage = Stage::new(&config).await;
        assert_eq!(stage.send(of_project("acme")).await.status, 200);
        let statuses = [
            stage.send(of_project("free")).await,
            stage.send(of_project("free")).await,
            stage.send(of_project("free")).await,
        ];
        assert_eq!(statuses.map(|answer| answer.status.as_u16()), [200, 200, 429], "its own limits hold");
        until("it was tried", || metric(&stage, "steadfast_shared_failures_total") > Some(0)).await;
        assert_eq!(metric(&stage, "steadfast_shared_up"), Some(0));
        let text = stage.engine.metrics();
        assert!(!text.contains("s3cret") && !text.contains("wrong-of"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_in_redis_end_by_themselves_and_hold_no_secret() {
    let redis = Redis::start();
    let secret = "\n[endpoints.own]\ndialect = \"anthropic\"\nurl = \"FAKE/@own\"\nkey = { env = \"PROVIDER_KEY\" }\nrate = { requests_per_minute = 9 }
[models.claude-own]\nvendor = \"anthropic\"\nendpoints = [\"own\"]\n[projects.team]\nrate = { requests_per_minute = 100, per_agent = 50 }";
    let (one, _other) = pair(&redis, &format!("{SPENDING}{secret}")).await;
    let mut body = Speaks::Messages.body(false);
    body["model"] = "claude-own".into();
    one.script("own", "server_error");
    for project in ["acme", "talk", "team"] {
        let request = with(crate::harness::post("/v1/messages", &body), "x-steadfast-project", project);
        one.send(with(request, "x-steadfast-session", "secret-session-name")).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let cli = |arguments: &[&str]| {
        let output =
            std::process::Command::new("redis-cli").args(["-u", &redis.url()]).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let keys = cli(&["KEYS", "*"]);
    assert!(keys.lines().count() >= 6, "{keys}");
    for key in keys.lines() {
        assert!(key.starts_with("steadfast:"), "{key}");
        // -2 where it has ended since it was listed.
        assert_ne!(cli(&["PTTL", key]).trim(), "-1", "{key} never ends");
        let kind = cli(&["TYPE", key]);
        let held = match kind.trim() {
            "hash" => cli(&["HGETALL", key]),
            "zset" => cli(&["ZRANGE", key, "0", "-1"]),
            _ => cli(&["GET", key]),
        };
        for secret in ["sk-provider-planted", "secret-session-name", "127.0.0.1", "acme", "team"] {
            assert!(!key.contains(secret) && !held.contains(secret), "{key}: {held}");
        }
    }
}
