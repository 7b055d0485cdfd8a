//! The control API over real sockets: who may see what, endpoints, live events, the story of a request.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use steadfast_core::breaker::{Mode, Override};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use crate::control::until;
use crate::harness::{Answer, LIMIT, Speaks, Stage, USUAL, with};

pub(crate) const PROTECTED: &str = r#"
[admin]
token = { env = "TEST_TOKEN" }
[projects.acme]
keys = [{ env = "ACME_KEY" }]
"#;
pub(crate) const TOKEN: &str = "Bearer admin-token-1234567890";
pub(crate) const ACME: &str = "Bearer acme-key-planted-4711";

pub(crate) fn ask(method: Method, path: &str, body: Option<&Value>) -> Request<Full<Bytes>> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    request.header("content-type", "application/json").body(Full::new(body.into())).unwrap()
}

pub(crate) async fn get(stage: &Stage, path: &str) -> Answer {
    stage.send(ask(Method::GET, path, None)).await
}

async fn get_as(stage: &Stage, key: &str, path: &str) -> Answer {
    stage.send(with(ask(Method::GET, path, None), "authorization", key)).await
}

#[tokio::test]
async fn without_a_token_this_machine_may_ask_and_other_peoples_pages_may_not() {
    let stage = Stage::usual("").await;
    assert_eq!(get(&stage, "/api/whoami").await.json(), json!({ "role": "admin" }));
    let foreign = with(ask(Method::GET, "/api/whoami", None), "host", "evil.example");
    assert_eq!(stage.send(foreign).await.json()["error"]["code"], "stranger");
    let page = with(ask(Method::PUT, "/api/endpoints/a/override", None), "origin", "http://localhost:3000");
    assert_eq!(stage.send(page).await.status, 403);
    let missing = get(&stage, "/api/nothing").await;
    assert_eq!((missing.status.as_u16(), &missing.json()["error"]["code"]), (404, &"not_found".into()));
    let method = stage.send(ask(Method::DELETE, "/api/whoami", None)).await;
    assert_eq!((method.status.as_u16(), &method.json()["error"]["code"]), (405, &"method_not_allowed".into()));
}

#[tokio::test]
async fn with_a_token_nobody_gets_in_without_it_but_for_the_health() {
    let stage = Stage::usual(PROTECTED).await;
    assert_eq!(get(&stage, "/api/health").await.json()["status"], "ok");
    for path in ["/api/whoami", "/api/endpoints", "/api/openapi.json", "/api/events", "/api/nothing", "/api"] {
        let answer = get(&stage, path).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["error"]["code"]), (401, &"unauthorized".into()), "{path}");
    }
    assert_eq!(get_as(&stage, TOKEN, "/api/whoami").await.json(), json!({ "role": "admin" }));
    assert_eq!(get_as(&stage, ACME, "/api/whoami").await.json(), json!({ "role": "project", "project": "acme" }));
    assert_eq!(get_as(&stage, "Bearer wrong", "/api/whoami").await.status, 401);
}

#[tokio::test]
async fn an_endpoint_shows_its_breaker_and_a_person_may_overrule_it() {
    let stage = Stage::usual("").await;
    stage.script("a", "server_error");
    assert!(stage.send(Speaks::Messages.request(false)).await.status.is_success(), "b serves");
    stage.engine.flush();
    let endpoint = get(&stage, "/api/endpoints/a").await.json();
    assert_eq!(endpoint["breaker"]["state"], "closed", "{endpoint}");
    assert_eq!(endpoint["last_failure"]["kind"], "server_error", "{endpoint}");
    assert_eq!(endpoint["models"], json!(["claude-one"]));

    let path = "/api/endpoints/a/override";
    let word = json!({ "mode": "forced_open", "reason": "maintenance", "seconds": 60 });
    let forced = stage.send(ask(Method::PUT, path, Some(&word))).await.json();
    assert_eq!(forced["breaker"]["override"]["mode"], "forced_open", "{forced}");
    assert_eq!((&forced["usable"], &forced["breaker"]["override"]["reason"]), (&false.into(), &"maintenance".into()));
    let before = stage.fake.requests().len();
    let served = stage.send(Speaks::Messages.request(true)).await;
    assert_eq!(served.header("x-steadfast-endpoint"), "b");
    assert_eq!(stage.fake.requests().len(), before + 1, "a is not even asked");

    let released = stage.send(ask(Method::DELETE, path, None)).await.json();
    assert_eq!(released["breaker"]["override"], Value::Null);
    assert_eq!(
        stage.events("breaker", &["about", "state", "reason"]),
        ["a forced_open maintenance", "a automatic null"]
    );
    assert!(stage.control.store().flush(LIMIT).await);
    let history = get(&stage, "/api/endpoints/a/history").await.json();
    let states: Vec<&Value> = history["items"].as_array().unwrap().iter().map(|change| &change["state"]).collect();
    assert_eq!(states, ["automatic", "forced_open"], "newest first");
    assert_eq!(get(&stage, "/api/endpoints/nope/history").await.status, 404);

    for (body, field) in [
        (json!({ "mode": "ajar", "reason": "x", "seconds": 1 }), "mode"),
        (json!({ "mode": "shadow", "reason": " ", "seconds": 1 }), "reason"),
        (json!({ "mode": "shadow", "reason": "x" }), "seconds"),
        (json!({ "mode": "shadow", "reason": "x", "seconds": 8 * 24 * 60 * 60 }), "seconds"),
        (json!({ "mode": "shadow", "reason": "x", "until": "soon" }), "until"),
    ] {
        let refused = stage.send(ask(Method::PUT, path, Some(&body))).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["error"]["field"]),
            (400, &field.into()),
            "{}",
            refused.text()
        );
    }
}

#[tokio::test]
async fn a_request_is_told_in_the_words_of_why_and_only_to_its_project() {
    let stage = Stage::usual(PROTECTED).await;
    stage.script("a", "server_error; ok");
    let mine = stage.send(with(Speaks::Messages.request(false), "authorization", ACME)).await;
    let theirs = stage.send(with(Speaks::Messages.request(true), "authorization", TOKEN)).await;
    stage.engine.flush();
    let path = |answer: &Answer| format!("/api/requests/{}", answer.header("x-steadfast-request"));
    let story = get_as(&stage, ACME, &path(&mine)).await.json();
    assert_eq!((&story["ending"], &story["attempts"]), (&"recovered".into(), &2.into()), "{story}");
    assert!(story["story"].as_str().unwrap().contains("retry in 20ms: retry 1 of 2"), "{story}");
    assert_eq!(story["records"][2]["what"], "waiting");
    assert_eq!(get_as(&stage, TOKEN, &path(&mine)).await.status, 200);
    assert_eq!(get_as(&stage, ACME, &path(&theirs)).await.status, 404, "of another project");
    assert_eq!(get_as(&stage, TOKEN, "/api/requests/req_nope").await.status, 404);
    // A task that ran more than once has a story for each run, by when it began.
    let run = async |began: &str| get_as(&stage, ACME, &format!("{}?started={began}", path(&mine))).await;
    let told = run(story["began"].as_str().unwrap()).await;
    assert_eq!((told.status.as_u16(), told.json()["ending"].as_str()), (200, Some("recovered")));
    assert_eq!(run("2020-01-01T00:00:00Z").await.status, 404, "no run began then");
    let refused = run("yesterday").await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("started"), "{}", refused.text());
}

#[tokio::test]
async fn what_is_kept_is_exported_filtered_as_a_file_and_only_to_its_project() {
    let stage = Stage::usual(PROTECTED).await;
    stage.script("a", "server_error; ok");
    for key in [ACME, ACME, TOKEN] {
        stage.send(with(Speaks::Messages.request(false), "authorization", key)).await;
    }
    stage.engine.flush();
    assert!(stage.control.store().flush(LIMIT).await);
    let rows = async |key, path| {
        let answer = get_as(&stage, key, path).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text().lines().count()
    };
    assert_eq!(rows(TOKEN, "/api/export/requests.jsonl").await, 3);
    assert_eq!(rows(ACME, "/api/export/requests.jsonl").await, 2);
    assert_eq!(rows(ACME, "/api/export/attempts.csv").await, 1 + 3, "a line of names, then one each");
    assert_eq!(rows(ACME, "/api/export/attempts.csv?kind=server_error").await, 1 + 2, "all attempts of that request");
    let file = get_as(&stage, TOKEN, "/api/export/requests.parquet").await;
    assert!(file.body.starts_with(b"PAR1") && file.body.ends_with(b"PAR1"));
    assert_eq!(file.header("content-disposition"), "attachment; filename=\"steadfast-requests.parquet\"");
    assert_eq!(get_as(&stage, TOKEN, "/api/export/sessions.csv").await.status, 404);
    assert_eq!(get_as(&stage, TOKEN, "/api/export/requests.csv?limit=3").await.status, 400, "an export has no parts");
    assert_eq!(get_as(&stage, ACME, "/api/export/requests.csv?project=zeta").await.status, 403);
}

/// Reads events until `enough` says so.
pub(crate) async fn events_until(
    stage: &Stage,
    request: Request<Full<Bytes>>,
    enough: impl Fn(&str) -> bool,
) -> String {
    let mut body = stage.open(request).await.into_body();
    let mut text = String::new();
    let read = async {
        while !enough(&text) {
            let frame = body.frame().await.expect("the stream goes on").unwrap();
            text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    };
    tokio::time::timeout(LIMIT, read).await.unwrap_or_else(|_| panic!("no such event in:\n{text}"));
    text
}

#[tokio::test]
async fn events_are_followed_live_filtered_and_resumed() {
    let stage = Stage::usual(PROTECTED).await;
    let first = get_as(&stage, TOKEN, "/api/now").await.json()["next_event"].as_u64().unwrap();
    let follow =
        |key: &str, query: &str| with(ask(Method::GET, &format!("/api/events{query}"), None), "authorization", key);
    let live = events_until(&stage, follow(TOKEN, "?event=outcome"), |text| text.contains("retry: 1000"));
    live.await;
    stage.script("a", "server_error; ok; ok");
    stage.send(with(Speaks::Messages.request(false), "authorization", ACME)).await;
    stage.send(with(Speaks::Messages.request(true), "authorization", TOKEN)).await;
    let all = events_until(&stage, follow(TOKEN, &format!("?since={first}")), |text| {
        text.matches("event: outcome").count() == 2
    });
    let all = all.await;
    assert!(all.contains("\"what\":\"waiting\"") && all.contains("\"what\":\"retry_started\""), "{all}");
    let mine = events_until(&stage, follow(ACME, &format!("?since={first}")), |text| text.contains("event: outcome"));
    let mine = mine.await;
    assert!(!mine.contains("\"project\":\"default\""), "{mine}");
    let decisions = events_until(&stage, follow(TOKEN, &format!("?since={first}&event=decision")), |text| {
        text.contains("event: decision")
    });
    assert!(!decisions.await.contains("event: start"));

    // Coming back: the last one seen is not told again, the next is.
    let ids: Vec<u64> = all.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    let again = with(follow(TOKEN, ""), "last-event-id", &ids[2].to_string());
    let again = events_until(&stage, again, |text| text.matches("event: outcome").count() == 2).await;
    assert!(again.contains(&format!("id: {}\n", ids[3])) && !again.contains(&format!("id: {}\n", ids[2])));
    // A number of another run: nobody knows what was missed.
    let other = with(follow(TOKEN, ""), "last-event-id", "7");
    let other = events_until(&stage, other, |text| text.contains("event: outcome")).await;
    assert!(other.contains("event: missed\ndata: {\"missed\":null}"), "{other}");
    assert_eq!(stage.send(follow(ACME, "?project=default")).await.status, 403);
    let unknown = stage.send(follow(TOKEN, "?colour=red")).await;
    assert_eq!((unknown.status.as_u16(), unknown.text().contains("colour")), (400, true), "{}", unknown.text());
}

#[tokio::test]
async fn an_alert_is_found_by_the_model_it_is_about_and_belongs_to_no_project() {
    let stage = Stage::usual(PROTECTED).await;
    let first = get_as(&stage, TOKEN, "/api/now").await.json()["next_event"].as_u64().unwrap();
    stage.script("a", "server_error");
    stage.script("b", "server_error");
    for turn in 0..4 {
        let mut body = Speaks::Messages.body(false);
        body["messages"][0]["content"] = format!("turn {turn}").into();
        let asked = with(crate::harness::post("/v1/messages", &body), "authorization", ACME);
        assert!(stage.send(asked).await.status.is_server_error());
    }
    let follow = async |key: &str, query: &str, last: &'static str| {
        let path = format!("/api/events?since={first}&{query}");
        let request = with(ask(Method::GET, &path, None), "authorization", key);
        events_until(&stage, request, |text| text.contains(last)).await
    };
    let about_one = follow(TOKEN, "event=alert&model=claude-one", "in_a_row").await;
    assert!(about_one.contains("\"alert\":\"chain_failed\""), "{about_one}");
    assert!(!about_one.contains("many_failures") && !about_one.contains("\"about\":\"claude-two\""), "{about_one}");
    let of_acme = follow(ACME, "event=alert", "many_failures").await;
    assert!(!of_acme.contains("chain_failed") && !of_acme.contains("in_a_row"), "models are not its own: {of_acme}");
}

/// Something to tell, as long as wanted.
fn tell(stage: &Stage, count: usize, bytes: usize) {
    let until = stage.engine.clock().now() + Duration::from_secs(600);
    let word = Override { mode: Mode::Shadow, reason: "x".repeat(bytes), until };
    for number in 0..count {
        stage.engine.override_breaker("a", Some(word.clone()));
        if number % 100 == 99 {
            stage.engine.flush();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stands_still_is_dropped_and_told_so_and_goes_on_where_it_was() {
    let stage = Stage::usual("").await;
    let readers = async || get(&stage, "/api/now").await.json()["readers"].clone();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut reader = socket.connect(stage.address).await.unwrap();
    reader.write_all(b"GET /api/events HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    until("it is served", async || readers().await == 1).await;
    // More than sockets hold, and not so much that it is overtaken.
    tell(&stage, 2_000, 8 * 1024);
    until("it is dropped", async || readers().await == 0).await;
    let mut text = String::new();
    tokio::time::timeout(LIMIT, reader.read_to_string(&mut text)).await.expect("the stream has an end").unwrap();
    let notice = "event: dropped\ndata: {\"dropped\":\"nothing was taken for 20 s\"}\n\n";
    let end = text.trim_end_matches("\r\n0\r\n\r\n");
    assert!(end.ends_with(notice), "{}", &text[text.len().saturating_sub(300)..]);

    let last: u64 = text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).next_back().unwrap();
    let come_back = || with(ask(Method::GET, "/api/events", None), "last-event-id", &last.to_string());
    let again = events_until(&stage, come_back(), |text| text.contains("event: breaker")).await;
    assert!(again.contains(&format!("id: {}\n", last + 1)) && !again.contains("missed"));
    // More than is held for those who come back.
    tell(&stage, 9_000, 1);
    stage.engine.flush();
    let late = events_until(&stage, come_back(), |text| text.contains("event: breaker")).await;
    let missed = late.lines().find_map(|line| line.strip_prefix("data: {\"missed\":")?.strip_suffix('}')?.parse().ok());
    assert!(missed.is_some_and(|missed: u64| missed > 0), "{}", &late[..200]);
}

#[tokio::test]
async fn a_retry_that_waits_is_shown_with_its_countdown() {
    let slow = USUAL.replace("[{ retry = 2, every = \"20ms\" }, \"fallback\"]", "[{ retry = 2, every = \"10s\" }]");
    let stage = Stage::new(&slow).await;
    stage.script("a", "server_error; ok");
    let asking = stage.open(with(Speaks::Messages.request(false), "x-steadfast-session", "s1"));
    let seen = tokio::time::timeout(LIMIT, async {
        loop {
            let now = get(&stage, "/api/now").await.json();
            if now["waiting"] == 1 {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let now = tokio::select! {
        _ = asking => panic!("it should wait"),
        now = seen => now.expect("seen in time"),
    };
    let waiting = &now["requests"][0];
    assert_eq!((&waiting["state"], &waiting["kind"]), (&"waiting".into(), &"server_error".into()), "{now}");
    assert_eq!((&waiting["attempt"], &waiting["session"]), (&1.into(), &"s1".into()), "{now}");
    assert!(waiting["waits_until"].as_str().unwrap() > now["time"].as_str().unwrap(), "{now}");
}
