//! One retry owner: what each client is told, and what reaches the upstream when it repeats.
//!
//! The clients here repeat as the real ones were measured to (2026-11).

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

use crate::harness::{Answer, LIMIT, Speaks, Stage, get, post, with};

/// A client: how it shows itself, and when it asks again.
#[derive(Clone, Copy)]
struct Client {
    name: &'static str,
    shows: (&'static str, &'static str),
    speaks: Speaks,
    stream: bool,
    again: fn(&Answer) -> bool,
}

const fn client(
    name: &'static str,
    shows: (&'static str, &'static str),
    speaks: Speaks,
    stream: bool,
    again: fn(&Answer) -> bool,
) -> Client {
    Client { name, shows, speaks, stream, again }
}

#[rustfmt::skip]
const CLIENTS: [Client; 15] = [
    client("claude-code", ("user-agent", "claude-cli/2.1.325 (external, sdk-cli)"), Speaks::Messages, true, claude_code),
    client("codex", ("originator", "codex_exec"), Speaks::Responses, true, codex),
    client("gemini-cli", ("user-agent", "GeminiCLI-tui/0.61.0"), Speaks::Gemini, true, gemini_cli),
    client("qwen-code", ("user-agent", "QwenCode/0.24.4 (linux; x64)"), Speaks::Chat, true, by_status),
    client("opencode", ("user-agent", "opencode/1.18.33"), Speaks::Chat, true, by_status),
    client("opencode", ("x-session-affinity", "ses_1"), Speaks::Messages, true, by_status),
    client("openclaw", ("x-steadfast-client", "openclaw"), Speaks::Chat, true, by_status),
    client("ai-sdk", ("user-agent", "ai/7.0.169 ai-sdk/openai/4.0.114"), Speaks::Responses, true, by_status),
    client("anthropic-python", ("user-agent", "AsyncAnthropic/Python 2.8.0"), Speaks::Messages, false, sdk),
    client("anthropic-node", ("user-agent", "Anthropic/JS 1.8.0"), Speaks::Messages, true, sdk),
    client("openai-python", ("user-agent", "OpenAI/Python 2.54.0"), Speaks::Chat, false, sdk),
    client("openai-node", ("user-agent", "OpenAI/JS 7.53.0"), Speaks::Responses, false, sdk),
    client("google-python", ("x-goog-api-client", "google-genai-sdk/3.1.0 gl-python/3.12"), Speaks::Gemini, false, |_| false),
    client("google-node", ("user-agent", "google-genai-sdk/2.1.0 gl-node/v24.21.0"), Speaks::Gemini, true, |_| false),
    client("unknown", ("user-agent", "curl/8.5.0"), Speaks::Chat, false, |_| false),
];

fn is_temporary(answer: &Answer) -> bool {
    matches!(answer.status.as_u16(), 408 | 409 | 429 | 500..)
}

fn by_status(answer: &Answer) -> bool {
    is_temporary(answer)
}

fn sdk(answer: &Answer) -> bool {
    is_temporary(answer) && answer.header("x-should-retry") != "false"
}

fn claude_code(answer: &Answer) -> bool {
    let overloaded = answer.status == 529 || answer.text().contains("overloaded_error");
    overloaded || answer.header("x-should-retry") != "false" && (is_temporary(answer) || answer.status == 401)
}

fn codex(answer: &Answer) -> bool {
    match answer.status.as_u16() {
        400 | 404 => false,
        429 => answer.headers.contains_key("retry-after"),
        _ => true,
    }
}

fn gemini_cli(answer: &Answer) -> bool {
    is_temporary(answer) && !answer.text().contains("PerDay")
}

impl Client {
    fn turn(&self, words: &str) -> Request<Full<Bytes>> {
        let mut body = self.speaks.body(self.stream);
        body["words"] = words.into();
        with(post(self.speaks.path(self.stream), &body), self.shows.0, self.shows.1)
    }
}

fn all_fail(stage: &Stage, fault: &str) {
    for endpoint in ["a", "b"] {
        stage.script(endpoint, fault);
    }
}

/// Plays clients against faults at every target, each on a stage of its own and all at once.
async fn each<F: Future<Output = ()> + Send + 'static>(
    clients: &[Client],
    faults: &[&'static str],
    play: fn(Stage, Client, &'static str) -> F,
) {
    let mut plays = tokio::task::JoinSet::new();
    for client in clients {
        for fault in faults {
            let stage = Stage::usual("").await;
            all_fail(&stage, fault);
            plays.spawn(play(stage, *client, fault));
        }
    }
    while let Some(played) = plays.join_next().await {
        played.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    }
}

#[tokio::test]
async fn every_client_stops_at_once_when_nobody_serves() {
    let faults = ["overloaded", "server_error", "rate_limit", "rate_limit retry-after=9", "reset", "cut=0", "quota"];
    each(&CLIENTS, &faults, |stage, client, fault| async move {
        let mut asked = 0;
        let last = loop {
            let answer = stage.send(client.turn("the same")).await;
            asked += 1;
            if asked == 10 || !(client.again)(&answer) {
                break answer;
            }
        };
        let told = format!("{} {fault}: {} {}", client.name, last.status, last.text());
        assert_eq!(asked, 1, "{told}");
        assert_eq!(stage.log()[0]["client"], client.name, "{told}");
        assert!(last.status.as_u16() >= 400 && last.header("x-should-retry") == "false", "{told}");
        let after = last.header("retry-after");
        assert!(after.is_empty() || (1..=60).contains(&after.parse::<u64>().unwrap()), "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_blind_repeat_of_any_client_reaches_nobody() {
    each(&CLIENTS, &["server_error", "overloaded"], |stage, client, fault| async move {
        let first = stage.send(client.turn("the same")).await;
        let upstream = stage.fake.requests().len();
        for number in 1..=20 {
            let again = stage.send(client.turn("the same")).await;
            assert_eq!((again.status, &again.body), (first.status, &first.body), "{} {fault}", client.name);
            assert_eq!(again.header("x-steadfast-repeat"), number.to_string());
            assert_eq!(again.header("x-steadfast-attempts"), "0");
            assert_ne!(again.header("x-steadfast-request"), first.header("x-steadfast-request"));
        }
        assert_eq!(stage.fake.requests().len(), upstream, "{} {fault}", client.name);
    })
    .await;
}

/// Clients that do not care what they are told: each repeats a turn as often as it was measured to
/// behind a proxy that says nothing.
#[tokio::test]
async fn an_outage_is_not_multiplied() {
    each(
        &[CLIENTS[0], CLIENTS[1], CLIENTS[3], CLIENTS[4], CLIENTS[10]],
        &["server_error"],
        |stage, client, fault| async move {
            let repeats = match client.name {
                "claude-code" => 11,
                "codex" => 30,
                "qwen-code" => 28,
                "opencode" => 6,
                _ => 3,
            };
            // So many that an outage is believed in: about forty attempts at an endpoint are.
            let turns = (132 / repeats).max(5);
            for turn in 0..turns {
                for _ in 0..repeats {
                    // A short one: nobody waits for an allowance to fill.
                    let turn = with(client.turn(&format!("turn {turn}")), "x-steadfast-deadline", "300ms");
                    stage.send(turn).await;
                }
            }
            let (asked, upstream) = (turns * repeats, stage.fake.requests().len());
            println!("{} {fault}: {upstream} upstream of {asked} asked", client.name);
            assert!(upstream * 10 <= asked * 13, "{} {fault}: {upstream} of {asked}", client.name);
        },
    )
    .await;
}

#[tokio::test]
async fn what_is_wrong_in_itself_passes_untouched_and_every_time() {
    each(&CLIENTS, &["status=400", "status=422"], |stage, client, fault| async move {
        for number in 1..=3 {
            let answer = stage.send(client.turn("the same")).await;
            let status: u16 = fault["status=".len()..].parse().unwrap();
            assert_eq!((answer.status.as_u16(), stage.fake.requests().len()), (status, number), "{}", client.name);
            assert!(!answer.text().contains("Steadfast"), "{}: {}", client.name, answer.text());
        }
    })
    .await;
}

#[tokio::test]
async fn a_repeat_is_told_in_the_log_the_metrics_and_to_its_session() {
    let stage = Stage::usual("").await;
    all_fail(&stage, "server_error");
    let turn = || with(CLIENTS[0].turn("the same"), "x-claude-code-session-id", "s1");
    let first = stage.send(turn()).await;
    let retries = stage.engine.session("default", "s1").unwrap().retries_used();
    for _ in 0..3 {
        stage.send(turn()).await;
    }
    assert_eq!(stage.engine.session("default", "s1").unwrap().retries_used(), retries + 3, "repeats are retries");
    let repeats = stage.events("start", &["repeats"]);
    let failed = first.header("x-steadfast-request");
    assert_eq!(repeats, ["null", failed, failed, failed]);
    let reasons = stage.events("outcome", &["outcome", "attempt", "reason"]);
    assert!(
        reasons[1].starts_with("gave_up 0 the same request failed just before, and is asked again in"),
        "{reasons:?}"
    );
    let metrics = stage.engine.metrics();
    assert!(metrics.contains("steadfast_repeats_total{answer=\"memory\"} 3"), "{metrics}");
}

#[tokio::test]
async fn another_turn_and_another_caller_are_not_affected() {
    let stage = Stage::usual("").await;
    all_fail(&stage, "server_error");
    let client = CLIENTS[10];
    stage.send(client.turn("the same")).await;
    let upstream = || stage.fake.requests().len();
    let before = upstream();
    stage.send(client.turn("another")).await;
    assert!(upstream() > before, "another turn is tried");
    let before = upstream();
    stage.send(with(client.turn("the same"), "authorization", "Bearer sk-another-client")).await;
    assert!(upstream() > before, "another caller's turn is tried");
    let before = upstream();
    stage.send(with(client.turn("the same"), "x-steadfast-session", "s9")).await;
    assert!(upstream() > before, "another session's turn is tried");
}

#[tokio::test]
async fn a_provider_that_is_well_again_is_reached_again() {
    let stage = Stage::usual("").await;
    all_fail(&stage, "server_error");
    let turn = || with(CLIENTS[10].turn("the same"), "x-steadfast-session", "s1");
    assert_eq!(stage.send(turn()).await.status, 500);
    assert_eq!(stage.send(turn()).await.header("x-steadfast-repeat"), "1");
    all_fail(&stage, "ok");
    let served = tokio::time::timeout(LIMIT, async {
        while stage.send(turn()).await.status != 200 {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    });
    served.await.expect("the rest is over in seconds");
    let session = stage.engine.session("default", "s1").unwrap();
    assert!(session.retries_used() <= 4, "what was charged is given back: {}", session.retries_used());
    assert_eq!(stage.send(turn()).await.status, 200, "and it is forgotten");
}

#[tokio::test]
async fn somebody_elses_success_ends_the_rest() {
    let stage = Stage::usual("").await;
    all_fail(&stage, "server_error");
    let client = CLIENTS[10];
    assert_eq!(stage.send(client.turn("the same")).await.status, 500);
    all_fail(&stage, "ok");
    assert_eq!(stage.send(client.turn("another")).await.status, 200);
    assert_eq!(stage.send(client.turn("the same")).await.status, 200);
}

#[tokio::test]
async fn a_turn_that_keeps_breaking_off_is_a_loop_at_last() {
    let stage = Stage::usual("").await;
    all_fail(&stage, "end=3");
    for _ in 0..60 {
        stage.send(CLIENTS[4].turn("the same")).await;
    }
    let upstream = stage.fake.requests().len();
    assert!(upstream <= 4, "{upstream} of 60");
}

#[tokio::test]
async fn another_configuration_forgets_what_failed() {
    let stage = Stage::usual("").await;
    all_fail(&stage, "auth");
    let turn = || CLIENTS[10].turn("the same");
    assert_eq!(stage.send(turn()).await.status, 401);
    assert_eq!(stage.send(turn()).await.header("x-steadfast-repeat"), "1");
    all_fail(&stage, "ok");
    stage.reload(crate::harness::USUAL);
    assert_eq!(stage.send(turn()).await.status, 200);
}

#[tokio::test]
async fn who_is_known_to_wait_gets_a_status_and_others_an_event() {
    let config = "[projects.default]\npolicy = \"beats\"\n[policies.beats]\ntimeouts = { heartbeat = \"100ms\" }";
    let outcome = async |client: Client| {
        let stage = Stage::usual(config).await;
        all_fail(&stage, "rate_limit wait=400ms");
        stage.send(client.turn("one")).await
    };
    let claude = outcome(CLIENTS[0]).await;
    assert_eq!((claude.status.as_u16(), claude.header("x-should-retry")), (429, "false"), "{}", claude.text());
    let gemini = outcome(CLIENTS[2]).await;
    assert_eq!(gemini.status, 429);
    assert_eq!(gemini.json()["error"]["details"][0]["violations"][0]["quotaId"], "RequestsPerDay");
    let codex = outcome(CLIENTS[1]).await;
    assert_eq!(codex.status, 200, "{}", codex.text());
    let error = Speaks::Responses.error(&codex.text()).unwrap();
    assert_eq!(error["code"], "server_is_overloaded", "the code at which it stops: {error}");
}

#[tokio::test]
async fn the_configuration_can_teach_another_client() {
    let mine = "[clients.mine]\nmatch = [\"x-mine: yes\"]\nlike = \"codex\"\nfinal = { default = 418 }\nsession = [\"x-talk\"]";
    let stage = Stage::usual(mine).await;
    all_fail(&stage, "server_error");
    let request = with(with(Speaks::Chat.request(false), "x-mine", "oh yes"), "x-talk", "t1");
    let answer = stage.send(request).await;
    assert_eq!(answer.status, 418, "{}", answer.text());
    assert_eq!(stage.events("start", &["client", "session"]), ["mine t1"]);
    let unknown = stage.send(with(Speaks::Chat.request(false), "x-steadfast-client", "nobody")).await;
    assert_eq!(unknown.status, 400);
    assert!(unknown.text().contains("there is no client `nobody`: there are mine, claude-code"), "{}", unknown.text());
}

#[tokio::test]
async fn the_configuration_can_change_a_client_that_is_known() {
    let changed = "[clients.google-node]\nfinal = { server_error = 418 }\nsession = [\"x-talk\"]\n\
        [clients.codex]\nmatch = [\"x-robot\"]\nheartbeat = \"ping\"\n\
        [projects.default]\npolicy = \"beats\"\n[policies.beats]\ntimeouts = { heartbeat = \"100ms\" }";
    let stage = Stage::usual(changed).await;
    let google = |name: &str, words: &str| {
        let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
        with(Client { stream: false, ..*client }.turn(words), "x-talk", "t1")
    };
    all_fail(&stage, "server_error");
    assert_eq!(stage.send(google("google-node", "one")).await.status, 418);
    assert_eq!(stage.send(google("google-python", "one")).await.status, 500, "others are told as before");
    all_fail(&stage, "overloaded");
    assert_eq!(stage.send(google("google-node", "two")).await.status, 503, "and what is not changed stays");
    let who = ["google-node t1", "google-python null", "google-node t1"];
    assert_eq!(stage.events("start", &["client", "session"]), who);

    all_fail(&stage, "ok wait=2s");
    let robot = stage.send(with(Speaks::Responses.request(true), "x-robot", "1")).await.text();
    assert!(robot.contains("event: ping\n") && Speaks::Responses.is_whole(&robot), "{robot}");
    let other = stage.send(with(Speaks::Responses.request(true), "originator", "codex_exec")).await.text();
    assert!(other.contains(": keepalive\n") && Speaks::Responses.is_whole(&other), "{other}");
    assert_eq!(stage.events("start", &["client"])[3..], ["codex", "unknown"], "by the new sign alone");
    let metrics = stage.engine.metrics();
    let beats = metrics.lines().find_map(|line| line.strip_prefix("steadfast_heartbeats_total "));
    assert!(beats.is_some_and(|beats| beats != "0"), "{metrics}");
}

#[tokio::test]
async fn bursts_of_side_questions_trip_no_breaker() {
    let stage = std::sync::Arc::new(Stage::usual("").await);
    all_fail(&stage, "rate_limit retry-after=30");
    let mut burst = tokio::task::JoinSet::new();
    for number in 0..30 {
        let stage = std::sync::Arc::clone(&stage);
        burst.spawn(async move {
            let mut body = Speaks::Messages.body(false);
            body["number"] = number.into();
            stage.post("/v1/messages/count_tokens?beta=true", &body).await.status.as_u16()
        });
    }
    while let Some(status) = burst.join_next().await {
        assert_eq!(status.unwrap(), 429);
    }
    all_fail(&stage, "ok");
    let answer = stage.send(Speaks::Messages.request(false)).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-model")), (200, "claude-one"), "{}", answer.text());
    let metrics = stage.engine.metrics();
    assert!(!metrics.contains("steadfast_breaker_changes_total{"), "{metrics}");
}

/// Who asked, by the log's first line.
async fn who(stage: &Stage, request: Request<Full<Bytes>>) -> String {
    assert_eq!(stage.send(request).await.status, 200);
    stage.events("start", &["client", "project", "session", "agent"]).pop().unwrap()
}

#[tokio::test]
async fn who_asks_is_told_by_what_clients_send_anyway() {
    let stage = Stage::usual("[projects.acme]").await;
    let as_client = |headers: &[(&'static str, &str)], speaks: Speaks| {
        headers.iter().fold(speaks.request(false), |request, (name, value)| with(request, name, value))
    };
    let claude =
        [("user-agent", "claude-cli/2.1.325"), ("x-claude-code-session-id", "s1"), ("x-claude-code-agent-id", "a1")];
    assert_eq!(who(&stage, as_client(&claude, Speaks::Messages)).await, "claude-code default s1 a1");
    let codex =
        [("originator", "codex_exec"), ("session-id", "t1"), ("x-openai-subagent", "review"), ("thread-id", "t2")];
    assert_eq!(who(&stage, as_client(&codex, Speaks::Responses)).await, "codex default t1 review");
    let opencode = [("user-agent", "opencode/1.18.33"), ("x-session-id", "ses_1"), ("x-opencode-project", "acme")];
    assert_eq!(who(&stage, as_client(&opencode, Speaks::Chat)).await, "opencode acme ses_1 null");
    let sdk = [("user-agent", "OpenAI/Python 2.54.0"), ("openai-project", "proj_elsewhere")];
    assert_eq!(who(&stage, as_client(&sdk, Speaks::Chat)).await, "openai-python default null null");
    let mut body: Value = Speaks::Messages.body(false);
    body["metadata"] = json!({ "user_id": "{\"session_id\":\"s7\"}" });
    assert_eq!(who(&stage, post("/v1/messages", &body)).await, "unknown default s7 null");
}

#[tokio::test]
async fn who_asks_can_stand_in_the_base_url() {
    let keyed = "[projects.open]\n[projects.acme]\nkeys = [{ env = \"ACME_KEY\" }]";
    let stage = Stage::usual(keyed).await;
    let at = |prefix: &str, speaks: Speaks| post(&format!("{prefix}{}", speaks.path(false)), &speaks.body(false));
    for speaks in Speaks::ALL {
        let told = who(&stage, at("/p/open/s/se%20ssion/a/helper/c/codex", speaks)).await;
        assert_eq!(told, "codex open se ssion helper", "{speaks:?}");
        assert_eq!(who(&stage, at("/s/two", speaks)).await, "unknown default two null");
    }
    let header = with(at("/s/path", Speaks::Chat), "x-session-id", "theirs");
    assert_eq!(who(&stage, header).await, "unknown default path null", "what people set counts more");
    let refused = stage.send(at("/p/acme/s/one", Speaks::Chat)).await;
    assert_eq!(refused.status, 401, "a project that has keys is not entered without one");
    let entered = with(at("/p/acme/s/one", Speaks::Chat), "authorization", "Bearer acme-key-planted-4711");
    assert_eq!(who(&stage, entered).await, "unknown acme one null");
    assert_eq!(stage.send(get("/p/nobody/v1/models")).await.status, 400);
}

#[tokio::test]
async fn memory_and_escalation_follow_the_session_in_the_base_url() {
    let stage = Stage::usual("").await;
    let turn = || post("/s/one/v1/messages", &Speaks::Messages.body(false));
    stage.script("a", "server_error x3; ok");
    assert_eq!(stage.send(turn()).await.header("x-steadfast-model"), "claude-two");
    let next = stage.send(turn()).await;
    assert_eq!((next.header("x-steadfast-model"), next.header("x-steadfast-attempts")), ("claude-two", "1"));
}

#[tokio::test]
async fn an_answer_that_broke_off_is_asked_for_again_and_comes_from_elsewhere() {
    for speaks in Speaks::ALL {
        let stage = Stage::usual("").await;
        stage.script("a", "cut=3");
        // No session: the request alone is known again.
        let broken = stage.send(speaks.request(true)).await.text();
        assert!(speaks.error(&broken).is_some(), "{speaks:?} {broken}");
        let again = stage.send(speaks.request(true)).await.text();
        assert!(speaks.is_whole(&again), "{speaks:?} {again}");
        assert_eq!(stage.fake.requests().pop().unwrap().endpoint, "b", "{speaks:?}");
    }
}

#[tokio::test]
async fn an_answer_that_broke_off_is_not_told_in_words_that_end_the_turn() {
    let stage = Stage::usual("").await;
    stage.script("a", "cut=3");
    let codex = with(Speaks::Responses.request(true), "originator", "codex_cli_rs");
    let error = Speaks::Responses.error(&stage.send(codex).await.text()).unwrap();
    assert_ne!(error["code"], "server_is_overloaded", "{error}");
}

#[tokio::test]
async fn a_turn_is_known_by_what_it_asks_and_by_no_id_its_client_sends() {
    for id in ["x-client-request-id", "idempotency-key", "x-request-id"] {
        let stage = Stage::usual("").await;
        let client = CLIENTS[10];
        for words in ["one", "two"] {
            assert_eq!(stage.send(with(client.turn(words), id, "the same")).await.status, 200);
        }
        assert_eq!(stage.fake.requests().len(), 2, "{id}");
        all_fail(&stage, "server_error");
        for words in ["one", "two"] {
            let failed = stage.send(with(client.turn(words), id, "the same")).await;
            assert_eq!((failed.status.as_u16(), failed.header("x-steadfast-repeat")), (500, ""), "{id} {words}");
        }
        let upstream = stage.fake.requests().len();
        let again = stage.send(with(client.turn("one"), id, "another")).await;
        assert_eq!((again.header("x-steadfast-repeat"), stage.fake.requests().len()), ("1", upstream), "{id}");
    }
}

#[tokio::test]
async fn an_escalation_follows_the_session_however_it_is_named() {
    let ladder = "[models.large]\nvendor = \"anthropic\"\nendpoints = [\"b\"]\ncontext_window = 1000000\n\
                  [models.small]\nvendor = \"anthropic\"\nendpoints = [\"a\"]\ncontext_window = 200000\n\
                  [ladders]\nx = [\"small\", \"large\"]";
    let body = json!({ "model": "small", "max_tokens": 10, "messages": [{ "role": "user", "content": "x" }] });
    for (path, header) in [
        ("/s/one/v1/messages", ("accept", "*/*")),
        ("/v1/messages", ("x-claude-code-session-id", "one")),
        ("/v1/messages", ("x-steadfast-session", "one")),
    ] {
        let stage = Stage::usual(ladder).await;
        let turn = || with(post(path, &body), header.0, header.1);
        stage.script("a", "context x1; ok");
        assert_eq!(stage.send(turn()).await.header("x-steadfast-steps"), "escalate", "{path} {header:?}");
        let next = stage.send(turn()).await;
        let told = (next.header("x-steadfast-model"), next.header("x-steadfast-attempts"));
        assert_eq!(told, ("large", "1"), "{path} {header:?}");
        let stranger = stage.post("/s/two/v1/messages", &body).await;
        assert_eq!(stranger.header("x-steadfast-model"), "small", "{path} {header:?}");
    }
}
