//! What people change through the control API: in force at once, checked, and still there after a restart.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::api::{ask, get};
use crate::harness::{Answer, Speaks, Stage, post, with};

pub(crate) const LADDER: &str = r#"
[ladders]
one = ["claude-one", "claude-big"]
[models.claude-big]
vendor = "anthropic"
endpoints = ["b"]
price = { input = 5.0, output = 5.0 }
"#;

pub(crate) async fn send(stage: &Stage, method: Method, path: &str, body: Value) -> Answer {
    stage.send(ask(method, path, Some(&body))).await
}

#[track_caller]
pub(crate) fn refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status.as_u16(), &answer.json()["error"]["code"]), (status, &code.into()), "{}", answer.text());
}

#[tokio::test]
async fn a_stored_policy_is_in_force_at_once_and_after_a_restart_and_a_reload_of_the_file() {
    let mut stage = Stage::kept("").await;
    let path = "/api/policies/default";
    let before = get(&stage, path).await;
    assert_eq!((before.header("etag"), &before.json()["source"]), ("\"0\"", &"file".into()));
    let policy = json!({ "extends": "default", "on": { "server_error": ["give_up"] } });
    let stored = send(&stage, Method::PUT, path, policy.clone()).await;
    assert_eq!((stored.header("etag"), &stored.json()["source"]), ("\"1\"", &"stored".into()), "{}", stored.text());

    stage.script("a", "server_error; server_error; server_error");
    let failed = |answer: Answer| (answer.status.is_server_error(), answer.header("x-steadfast-attempts").to_owned());
    let asked = Speaks::Messages.request(false);
    assert_eq!(failed(stage.send(asked).await), (true, "1".to_owned()), "no retry, no fallback");
    stage.control.reload().await.unwrap();
    assert_eq!(get(&stage, path).await.json()["source"], "stored", "a reload of the file does not lose it");
    stage = stage.restart().await;
    assert_eq!(get(&stage, path).await.json()["version"], 1);
    stage.script("a", "server_error; server_error; server_error");
    assert_eq!(failed(stage.send(Speaks::Messages.request(true)).await), (true, "1".to_owned()));

    let taken = stage.send(with(ask(Method::DELETE, path, None), "if-match", "\"9\"")).await;
    refused(&taken, 412, "changed");
    assert_eq!(stage.send(with(ask(Method::DELETE, path, None), "if-match", "\"1\"")).await.status, 204);
    assert_eq!(get(&stage, path).await.json()["source"], "file");
}

#[tokio::test]
async fn a_template_is_shown_as_it_is_shipped_whatever_the_file_makes_of_it() {
    let stage = Stage::usual("[policies.hardened]\ndeadline = \"7s\"").await;
    assert_eq!(get(&stage, "/api/policies/hardened").await.json()["policy"]["deadline"], "7s");
    let shown = get(&stage, "/api/policy-templates").await.json();
    let hardened = shown["templates"].as_array().unwrap().iter().find(|one| one["name"] == "hardened").unwrap();
    assert_ne!(hardened["policy"]["deadline"], "7s", "{hardened}");
}

#[tokio::test]
async fn two_people_cannot_overwrite_each_other_and_what_is_wrong_is_said_field_by_field() {
    let stage = Stage::usual("").await;
    let path = "/api/policies/mine";
    let put = |version: &str, body: &Value| with(ask(Method::PUT, path, Some(body)), "if-match", version);
    let sound = json!({ "extends": "hardened", "deadline": "5m" });
    assert_eq!(stage.send(put("\"0\"", &sound)).await.status, 200);
    refused(&stage.send(put("\"0\"", &sound)).await, 412, "changed");
    assert_eq!(stage.send(put("\"1\"", &sound)).await.header("etag"), "\"2\"");

    let wrong = json!({ "deadline": "soon", "on": { "rate_limit": [{ "retry": 1000 }], "boredom": ["fallback"] } });
    let answer = send(&stage, Method::PUT, path, wrong.clone()).await;
    refused(&answer, 400, "invalid");
    let told: Vec<String> = answer.json()["error"]["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["field"].as_str().unwrap().to_owned())
        .collect();
    for field in ["deadline", "on.rate_limit[0].retry", "on.boredom"] {
        assert!(told.iter().any(|told| told == field), "{field} in {told:?}");
    }
    let preview = send(&stage, Method::POST, "/api/policies/mine/preview", wrong).await.json();
    assert_eq!((&preview["valid"], preview["problems"].as_array().unwrap().len() >= 3), (&false.into(), true));
    let better = json!({ "extends": "hardened", "deadline": "6m" });
    let preview = send(&stage, Method::POST, "/api/policies/mine/preview", better.clone()).await.json();
    assert_eq!(preview["changes"], json!([{ "field": "deadline", "before": "5m", "after": "6m" }]), "{preview}");
    let simulation = json!({ "policy": better, "scenario": "outage" });
    let ran = send(&stage, Method::POST, "/api/policies/mine/simulate", simulation).await.json();
    assert_eq!((&ran["before"]["deadline_s"], &ran["after"]["deadline_s"]), (&300.into(), &360.into()), "{ran}");
    assert_eq!(get(&stage, path).await.json()["version"], 2, "nothing of it was stored");
}

#[tokio::test]
async fn the_design_documents_retry_policy_is_a_real_policy() {
    let stage = Stage::kept("[projects.acme]").await;
    let mut policy = get(&stage, "/api/projects/acme/retry-policy").await.json();
    assert_eq!(policy["id"], "default", "{policy}");
    policy["maxRetries"] = 1.into();
    policy["backoffBase"] = 0.02.into();
    policy["maxBackoff"] = 0.02.into();
    policy["retryableErrors"] = json!(["server_error"]);
    let path = "/api/projects/acme/retry-policy";
    let stored = send(&stage, Method::PUT, path, policy.clone()).await.json();
    assert_eq!((&stored["id"], &stored["maxRetries"]), (&"project-acme".into(), &1.into()), "{stored}");
    assert_eq!(stored["retryableErrors"], json!(["server_error"]));

    stage.script("a", "server_error; server_error; server_error");
    let served = stage.send(with(Speaks::Messages.request(false), "x-steadfast-project", "acme")).await;
    assert_eq!(served.header("x-steadfast-steps"), "retry, fallback", "one retry, then as before");
    assert_eq!(get(&stage, "/api/retry-policy").await.json()["id"], "default", "others keep theirs");
    let stage = stage.restart().await;
    assert_eq!(get(&stage, path).await.json(), stored);

    policy["maxRetries"] = 1000.into();
    let refused = send(&stage, Method::PUT, path, policy.clone()).await;
    assert_eq!(refused.json()["error"]["field"], "maxRetries");
    policy["maxRetries"] = 2.into();
    let all = send(&stage, Method::PUT, "/api/retry-policy", policy).await.json();
    assert_eq!((&all["id"], &all["maxRetries"]), (&"default".into(), &2.into()), "{all}");
}

#[tokio::test]
async fn a_key_is_shown_once_opens_its_project_and_is_revoked() {
    let stage = Stage::kept("[projects.acme]").await;
    let path = "/api/projects/acme/keys";
    let made = send(&stage, Method::POST, path, json!({ "label": "laptop" })).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let (id, key) = (made.json()["id"].as_str().unwrap().to_owned(), made.json()["key"].as_str().unwrap().to_owned());
    let listed = get(&stage, path).await;
    assert_eq!((&listed.json()["keys"][0]["label"], listed.text().contains(&key)), (&"laptop".into(), false));

    let stage = stage.restart().await;
    let bearer = format!("Bearer {key}");
    let mine = with(Speaks::Messages.request(false), "authorization", &bearer);
    assert!(stage.send(mine).await.status.is_success());
    assert_eq!(stage.events("start", &["project"]).last().unwrap(), "acme");
    let seen = stage.send(with(ask(Method::GET, "/api/whoami", None), "authorization", &bearer)).await.json();
    assert_eq!(seen, json!({ "role": "project", "project": "acme" }));
    let keyless = with(Speaks::Messages.request(true), "x-steadfast-project", "acme");
    assert_eq!(stage.send(keyless).await.status, 401, "a project with keys asks for one");

    assert_eq!(stage.send(ask(Method::DELETE, &format!("{path}/{id}"), None)).await.status, 204);
    let seen = stage.send(with(ask(Method::GET, "/api/whoami", None), "authorization", &bearer)).await.json();
    assert_eq!(seen["role"], "admin", "no key of ours: this machine may ask all the same");
    assert!(get(&stage, path).await.json()["keys"].as_array().unwrap().is_empty());
    let text = std::fs::read(stage.database()).unwrap();
    assert!(!text.windows(key.len()).any(|window| window == key.as_bytes()), "the key itself is nowhere on the disk");
}

#[tokio::test]
async fn a_budget_is_changed_and_its_use_is_told() {
    let stage = Stage::usual("[projects.acme]\nspend = { usd_per_day = 1.0 }").await;
    let asked = with(Speaks::Messages.request(false), "x-steadfast-project", "acme");
    assert!(stage.send(asked).await.status.is_success());
    let of = |budgets: Value| {
        budgets["budgets"].as_array().unwrap().iter().find(|b| b["project"] == "acme").cloned().unwrap()
    };
    let budget = of(get(&stage, "/api/budgets").await.json());
    assert!(budget["used_usd_micros"].as_u64().unwrap() > 0 && budget["usd_per_day"] == 1.0, "{budget}");
    let set = send(&stage, Method::PUT, "/api/projects/acme/budget", json!({ "usd_per_day": 0.0 })).await.json();
    assert_eq!((&set["left_usd_micros"], &set["used_usd_micros"]), (&0.into(), &budget["used_usd_micros"]), "{set}");
    let asked = with(Speaks::Messages.request(true), "x-steadfast-project", "acme");
    assert_eq!(stage.send(asked).await.status, 402, "nothing is left");
    let wrong = send(&stage, Method::PUT, "/api/projects/acme/budget", json!({ "usd_per_day": -1.0 })).await;
    assert_eq!(wrong.json()["error"]["field"], "spend.usd_per_day", "{}", wrong.text());
}

/// Has a session fail its turn.
pub(crate) async fn failed_turn(stage: &Stage) {
    stage.script("a", "server_error");
    stage.script("b", "server_error");
    let answer = stage.send(with(Speaks::Messages.request(false), "x-steadfast-session", "s1")).await;
    assert!(answer.status.is_server_error());
    stage.script("a", "ok");
    stage.script("b", "ok");
    settle(stage).await;
}

/// Waits until it is so, much longer than it should take.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(4 * crate::harness::LIMIT, waiting)
        .await
        .unwrap_or_else(|_| panic!("it never happened: {what}"));
}

/// Waits until everything is stored.
pub(crate) async fn settle(stage: &Stage) {
    stage.engine.flush();
    assert!(stage.control.store().flush(std::time::Duration::from_secs(10)).await);
}

#[tokio::test]
async fn a_failed_turn_is_tried_again_with_its_error_as_the_preview_shows_it() {
    let stage = Stage::usual(LADDER).await;
    failed_turn(&stage).await;
    let path = "/api/sessions/s1/retry";
    let preview = send(&stage, Method::POST, path, json!({ "withErrorContext": true, "preview": true })).await.json();
    assert_eq!((&preview["kind"], &preview["model"]), (&"server_error".into(), &"claude-one".into()), "{preview}");
    let note = preview["body"]["messages"][1]["content"].as_str().unwrap();
    assert!(note.starts_with("Previous attempt failed with the following error:"), "{note}");
    assert_eq!(preview["note"], note);

    let before = stage.fake.requests().len();
    let edited = json!({ "withErrorContext": true, "note": "mind the gap", "model": "claude-two" });
    let answer = send(&stage, Method::POST, path, edited).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-steadfast-model")), (200, "claude-two"), "{}", answer.text());
    let sent: Value = serde_json::from_slice(&stage.fake.requests()[before].body).unwrap();
    assert_eq!((&sent["messages"][1]["content"], &sent["model"]), (&"mind the gap".into(), &"claude-two".into()));

    settle(&stage).await;
    let again = answer.header("x-steadfast-request");
    let story = get(&stage, &format!("/api/requests/{again}")).await.json();
    assert_eq!(story["records"][0]["repeats"], preview["request"], "{story}");
    let attempts = get(&stage, "/api/sessions/s1/attempts").await.json();
    let attempts = attempts["items"].as_array().unwrap();
    assert!(attempts.iter().any(|attempt| attempt["succeeded"] == false && attempt["error"] == "server_error"));
    assert!(attempts.iter().any(|attempt| attempt["succeeded"] == true && attempt["model"] == "claude-two"));

    // The same again, without a note: what was first asked, not what was made of it.
    let before = stage.fake.requests().len();
    assert_eq!(send(&stage, Method::POST, path, json!({})).await.status, 200);
    let sent: Value = serde_json::from_slice(&stage.fake.requests()[before].body).unwrap();
    assert_eq!(sent["messages"].as_array().unwrap().len(), 1, "notes do not pile up");
    refused(&send(&stage, Method::POST, "/api/sessions/nobody/retry", json!({})).await, 404, "not_found");
    let broken = send(&stage, Method::POST, path, json!({ "body": { "messages": "no" , "model": 7 } })).await;
    assert_eq!(broken.status, 400, "{}", broken.text());
}

#[tokio::test]
async fn a_session_climbs_after_its_estimate_stays_there_over_a_restart_and_returns_when_the_rung_fails() {
    let stage = Stage::kept(LADDER).await;
    let ask_in_s1 = || with(Speaks::Messages.request(false), "x-steadfast-session", "s1");
    assert!(stage.send(ask_in_s1()).await.status.is_success());
    settle(&stage).await;
    let path = "/api/sessions/s1/escalate";
    let estimate = send(&stage, Method::POST, path, json!({})).await.json();
    assert_eq!((&estimate["from"], &estimate["to"]), (&"claude-one".into(), &"claude-big".into()), "{estimate}");
    assert_eq!((&estimate["percent"], &estimate["confirmed"]), (&400.into(), &false.into()), "{estimate}");
    assert_eq!(stage.send(ask_in_s1()).await.header("x-steadfast-model"), "claude-one", "an estimate changes nothing");
    let climbed = send(&stage, Method::POST, path, json!({ "confirm": true })).await.json();
    assert_eq!((&climbed["record"]["toModel"], &climbed["record"]["reason"]), (&"claude-big".into(), &"manual".into()));
    assert_eq!(stage.send(ask_in_s1()).await.header("x-steadfast-model"), "claude-big");
    refused(&send(&stage, Method::POST, path, json!({ "confirm": true })).await, 409, "at_the_top");

    let stage = stage.restart().await;
    let mut other = Speaks::Messages.body(false);
    other["max_tokens"] = 99.into();
    let answer = stage.send(with(post(Speaks::Messages.path(false), &other), "x-steadfast-session", "s1")).await;
    assert_eq!(answer.header("x-steadfast-model"), "claude-big", "it sticks over a restart");
    // The rung does not serve: the session returns, says so, and a restart does not bring the climb back.
    stage.script("b", "model");
    let answer = stage.send(ask_in_s1()).await;
    assert_eq!(answer.header("x-steadfast-model"), "claude-one", "{}", answer.text());
    settle(&stage).await;
    assert_eq!(stage.events("escalation", &["about", "state"]).last().unwrap(), "s1 rolled_back");
    let listed = get(&stage, "/api/sessions/s1/escalations").await.json();
    let states: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|item| item["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["rolled_back", "climbed"], "{listed}");
    let gone = tokio::time::timeout(crate::harness::LIMIT, async {
        while stage.control.store().document("climb", "default/s1").await.unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    });
    gone.await.expect("the climb is forgotten");
    let stage = stage.restart().await;
    stage.script("b", "ok");
    assert_eq!(stage.send(ask_in_s1()).await.header("x-steadfast-model"), "claude-one");

    let climbed = send(&stage, Method::POST, path, json!({ "confirm": true, "to": "claude-big" })).await;
    assert_eq!(climbed.status, 200, "{}", climbed.text());
    let back = stage.send(ask(Method::DELETE, path, None)).await.json();
    assert_eq!((&back["state"], &back["toModel"]), (&"rolled_back".into(), &"claude-one".into()), "{back}");
    let sideways = send(&stage, Method::POST, path, json!({ "to": "gpt-one" })).await;
    assert_eq!(sideways.json()["error"]["field"], "to", "{}", sideways.text());
}

#[tokio::test]
async fn an_estimate_is_what_a_turn_costs_and_what_the_budget_cannot_bear_is_not_done() {
    let stage = Stage::usual(LADDER).await;
    let ask_in_s1 = || with(Speaks::Messages.request(false), "x-steadfast-session", "s1");
    assert!(stage.send(ask_in_s1()).await.status.is_success());
    settle(&stage).await;
    let path = "/api/sessions/s1/escalate";
    let estimate = send(&stage, Method::POST, path, json!({})).await.json();
    let tokens = |name: &str| estimate["tokens_per_turn"][name].as_u64().unwrap();
    // A dollar for a million tokens, and five.
    let turn = tokens("input_tokens") + tokens("output_tokens");
    assert!(turn > 0, "{estimate}");
    assert_eq!((&estimate["from_usd_micros"], &estimate["to_usd_micros"]), (&turn.into(), &(5 * turn).into()));
    assert_eq!((&estimate["percent"], &estimate["affordable"]), (&400.into(), &true.into()), "{estimate}");
    assert_eq!(estimate["ladder"], json!(["claude-big"]), "{estimate}");

    // Enough for a turn where the session stands, not for one where it would climb to.
    let budget = json!({ "usd_per_day": (2 * turn) as f64 / 1e6 });
    assert_eq!(send(&stage, Method::PUT, "/api/projects/default/budget", budget).await.status, 200);
    let estimate = send(&stage, Method::POST, path, json!({})).await.json();
    assert_eq!((&estimate["left_usd_micros"], &estimate["affordable"]), (&turn.into(), &false.into()), "{estimate}");
    refused(&send(&stage, Method::POST, path, json!({ "confirm": true })).await, 409, "over_budget");
    assert_eq!(get(&stage, "/api/sessions/s1/escalations").await.json()["items"], json!([]));
    assert_eq!(send(&stage, Method::PUT, "/api/projects/default/budget", json!({})).await.status, 200);
    assert_eq!(stage.send(ask_in_s1()).await.header("x-steadfast-model"), "claude-one");
}

#[tokio::test]
async fn a_climb_of_the_policy_is_among_the_sessions_escalations() {
    let more = "[models.large]\nvendor = \"anthropic\"\nendpoints = [\"b\"]\ncontext_window = 1000000\n\
                [models.small]\nvendor = \"anthropic\"\nendpoints = [\"a\"]\ncontext_window = 200000\n\
                [ladders]\nx = [\"small\", \"large\"]";
    let stage = Stage::usual(more).await;
    stage.script("a", "context");
    let mut body = Speaks::Messages.body(false);
    body["model"] = "small".into();
    let answer = stage.send(with(post("/v1/messages", &body), "x-steadfast-session", "s1")).await;
    assert_eq!(answer.header("x-steadfast-model"), "large", "{}", answer.text());
    settle(&stage).await;
    let listed = get(&stage, "/api/sessions/s1/escalations").await.json();
    let [climb] = &listed["items"].as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!((&climb["fromModel"], &climb["toModel"]), (&"small".into(), &"large".into()), "{climb}");
    assert_eq!((&climb["reason"], &climb["state"]), (&"context_limit".into(), &"climbed".into()), "{climb}");
}

#[tokio::test]
async fn an_alert_that_a_restart_left_open_is_over() {
    let stage = Stage::kept("").await;
    failed_turn(&stage).await;
    let open = get(&stage, "/api/alerts?open=true").await.json();
    assert_eq!(open["items"][0]["alert"], "chain_failed", "{open}");
    let stage = stage.restart().await;
    // Nobody else would say that it is over.
    until("it ends", async || get(&stage, "/api/alerts?open=true").await.json()["items"] == json!([])).await;
    let all = get(&stage, "/api/alerts").await.json();
    assert!(all["items"][0]["resolved"].as_str().unwrap() > all["items"][0]["raised"].as_str().unwrap(), "{all}");
}

#[tokio::test]
async fn failures_are_told_by_day_and_by_what_was_said() {
    let stage = Stage::usual("").await;
    failed_turn(&stage).await;
    assert!(stage.send(Speaks::Messages.request(true)).await.status.is_success());
    settle(&stage).await;
    let told = get(&stage, "/api/analytics/failures").await.json();
    let full = get(&stage, "/api/analytics").await.json();
    // Three attempts at the one and three at the other failed, and a last one served.
    assert_eq!((&full["totals"]["attempts"], &told["totalFailures"]), (&7.into(), &6.into()), "{full}");
    let days: Vec<&Value> = told["failureRateByDay"].as_object().unwrap().values().collect();
    assert_eq!(days, [&json!(6.0 / 7.0)], "{told}");
    let said = &told["topErrorMessages"][0];
    assert_eq!((said["count"].as_i64(), said["message"].as_str().unwrap().is_empty()), (Some(6), false), "{told}");
}

#[tokio::test]
async fn what_was_spent_today_is_not_forgotten_with_a_restart() {
    let stage = Stage::kept("").await;
    assert!(stage.send(Speaks::Messages.request(false)).await.status.is_success());
    settle(&stage).await;
    let used = |budgets: Value| budgets["budgets"][0]["used_usd_micros"].as_u64().unwrap();
    let before = used(get(&stage, "/api/budgets").await.json());
    let stage = stage.restart().await;
    assert_eq!((used(get(&stage, "/api/budgets").await.json()), before > 0), (before, true));
}

#[tokio::test]
async fn what_was_spent_before_and_while_the_store_was_away_is_counted_when_it_is_back() {
    let stage = Stage::kept("[projects.acme]\nspend = { usd_per_day = 1.0 }").await;
    let spend = async |stage: &Stage| {
        let asked = with(Speaks::Messages.request(false), "x-steadfast-project", "acme");
        assert!(stage.send(asked).await.status.is_success());
    };
    let used =
        async |stage: &Stage| get(stage, "/api/projects/acme").await.json()["budget"]["used_usd_micros"].as_u64();
    spend(&stage).await;
    settle(&stage).await;
    let before = used(&stage).await.unwrap();
    assert!(before > 0);
    // Somebody took the file away and left something in its place.
    let aside = |folder: &std::path::Path| {
        std::fs::create_dir(folder.join("aside")).unwrap();
        for name in ["steadfast.db", "steadfast.db-wal", "steadfast.db-shm"] {
            let _ = std::fs::rename(folder.join(name), folder.join("aside").join(name));
        }
        std::fs::create_dir(folder.join("steadfast.db")).unwrap();
    };
    let stage = stage.restart_after(aside).await;
    assert_eq!(used(&stage).await, Some(0), "nobody knows better yet");
    spend(&stage).await;
    let meanwhile = used(&stage).await.unwrap();
    let database = stage.database();
    std::fs::remove_dir(&database).unwrap();
    let aside = database.with_file_name("aside");
    for file in std::fs::read_dir(&aside).unwrap().flatten() {
        std::fs::rename(file.path(), database.with_file_name(file.file_name())).unwrap();
    }
    until("everything is counted", async || used(&stage).await == Some(before + meanwhile)).await;
}

#[tokio::test]
async fn a_file_that_is_read_again_beside_a_change_takes_nothing_of_it_away() {
    let stage = Stage::usual("").await;
    for round in 1..=20 {
        let (stored, written) = (format!("{round}s"), format!("{}s", 30 + round));
        stage.rewrite(&format!("{}\n[policies.ours]\ndeadline = \"{written}\"", crate::harness::USUAL));
        let change = json!({ "extends": "default", "deadline": stored });
        let (changed, reloaded) =
            tokio::join!(send(&stage, Method::PUT, "/api/policies/default", change), stage.control.reload());
        assert_eq!((changed.status.as_u16(), reloaded.is_ok()), (200, true), "{}", changed.text());
        let deadline =
            async |name| get(&stage, &format!("/api/policies/{name}")).await.json()["policy"]["deadline"].clone();
        assert_eq!((deadline("default").await, deadline("ours").await), (stored.into(), written.into()));
    }
}

#[tokio::test]
async fn a_project_is_not_overwritten_by_somebody_who_did_not_read_it() {
    let stage = Stage::usual("").await;
    let path = "/api/projects/acme";
    let put = async |version: &str, rate: u32| {
        let settings = json!({ "rate": { "requests_per_minute": rate } });
        stage.send(with(ask(Method::PUT, path, Some(&settings)), "if-match", version)).await
    };
    let made = put("\"0\"", 10).await;
    assert_eq!((made.status.as_u16(), made.header("etag")), (200, "\"1\""), "{}", made.text());
    refused(&put("\"0\"", 20).await, 412, "changed");
    assert_eq!(put("\"1\"", 30).await.json()["requests_per_minute"], 30);
    let read = get(&stage, path).await;
    assert_eq!((read.header("etag"), &read.json()["version"]), ("\"2\"", &2.into()));
    assert_eq!(read.json()["stored"], json!({ "rate": { "requests_per_minute": 30 } }));
    let take_back = async |version: &str| stage.send(with(ask(Method::DELETE, path, None), "if-match", version)).await;
    refused(&take_back("\"1\"").await, 412, "changed");
    assert_eq!(take_back("\"2\"").await.status, 204);
    assert_eq!(get(&stage, path).await.status, 404, "the file knows no such project");
}

#[tokio::test]
async fn a_session_is_told_with_everything_that_happened_in_it() {
    let stage = Stage::usual("").await;
    failed_turn(&stage).await;
    assert!(stage.send(with(Speaks::Messages.request(true), "x-steadfast-session", "s1")).await.status.is_success());
    assert!(stage.send(with(Speaks::Messages.request(true), "x-steadfast-session", "s2")).await.status.is_success());
    settle(&stage).await;
    let session = get(&stage, "/api/sessions/s1").await.json();
    assert_eq!((&session["session"], &session["project"]), (&"s1".into(), &"default".into()), "{session}");
    assert_eq!((&session["requests"], &session["succeeded"], &session["gave_up"]), (&2.into(), &1.into(), &1.into()));
    assert_eq!((&session["failures"], &session["kind"]), (&6.into(), &"server_error".into()), "{session}");
    assert!(session["began"].as_str() < session["last"].as_str(), "{session}");

    let told = get(&stage, "/api/sessions/s1/events").await.json();
    let words = |told: &Value| -> Vec<String> {
        let items = told["items"].as_array().unwrap();
        items.iter().map(|record| record["event"].as_str().unwrap().to_owned()).collect()
    };
    let served = ["start", "attempt", "success", "outcome"];
    assert!(words(&told).starts_with(&served.map(str::to_owned)), "the newest request first, from its start: {told}");
    assert_eq!(words(&told).iter().filter(|word| *word == "decision").count(), 6, "{told}");
    assert!(told["items"].as_array().unwrap().iter().all(|record| record["session"] != "s2"), "{told}");
    let first = get(&stage, "/api/sessions/s1/events?limit=1").await.json();
    assert_eq!(words(&first), served, "{first}");
    let cursor = first["next"].as_str().unwrap();
    let rest = get(&stage, &format!("/api/sessions/s1/events?limit=1&cursor={cursor}")).await.json();
    assert_eq!(words(&rest), words(&told)[served.len()..], "{rest}");
    assert_eq!(get(&stage, "/api/sessions/s1/events?limit=21").await.status, 400);
    assert_eq!(get(&stage, "/api/sessions/nope").await.status, 404);
}

#[tokio::test]
async fn an_override_is_set_and_taken_back_on_whichever_replica() {
    let one = Stage::kept("").await;
    let other = one.beside("").await;
    let path = "/api/endpoints/a/override";
    let said =
        async |stage: &Stage| get(stage, "/api/endpoints/a").await.json()["breaker"]["override"]["reason"].clone();
    let word = json!({ "mode": "forced_open", "reason": "moving house", "seconds": 600 });
    assert_eq!(send(&one, Method::PUT, path, word).await.status, 200);
    until("the other knows", async || said(&other).await == "moving house").await;
    assert_eq!(other.send(ask(Method::DELETE, path, None)).await.status, 200);
    until("the first knows that it is over", async || said(&one).await == Value::Null).await;
    assert_eq!(
        one.send(Speaks::Messages.request(false)).await.header("x-steadfast-endpoint"),
        "a",
        "and asks it again"
    );
}

#[tokio::test]
async fn an_override_of_a_breaker_survives_a_restart() {
    let stage = Stage::kept("").await;
    let word = json!({ "mode": "forced_open", "reason": "moving house", "seconds": 600 });
    assert_eq!(send(&stage, Method::PUT, "/api/endpoints/a/override", word).await.status, 200);
    let stage = stage.restart().await;
    let endpoint = get(&stage, "/api/endpoints/a").await.json();
    assert_eq!(endpoint["breaker"]["override"]["reason"], "moving house", "{endpoint}");
    assert_eq!(stage.send(ask(Method::DELETE, "/api/endpoints/a/override", None)).await.status, 200);
    let stage = stage.restart().await;
    assert_eq!(get(&stage, "/api/endpoints/a").await.json()["breaker"]["override"], Value::Null);
}

#[tokio::test]
async fn lists_and_analytics_tell_what_happened() {
    let stage = Stage::usual("").await;
    failed_turn(&stage).await;
    assert!(stage.send(with(Speaks::Messages.request(true), "x-steadfast-session", "s2")).await.status.is_success());
    settle(&stage).await;
    let failures = get(&stage, "/api/analytics/failures").await.json();
    assert_eq!(failures["totalFailures"], failures["byErrorType"]["server_error"], "{failures}");
    assert!(failures["byModel"]["claude-one"].as_i64().unwrap() >= 3, "{failures}");
    let full = get(&stage, "/api/analytics").await.json();
    assert_eq!((&full["totals"]["requests"], &full["totals"]["gave_up"]), (&2.into(), &1.into()), "{full}");
    let failed = get(&stage, "/api/requests?failed=true").await.json();
    assert_eq!((failed["items"].as_array().unwrap().len(), &failed["items"][0]["session"]), (1, &"s1".into()));
    let first = get(&stage, "/api/requests?limit=1").await.json();
    let cursor = first["next"].as_str().unwrap();
    let second = get(&stage, &format!("/api/requests?limit=1&cursor={cursor}")).await.json();
    assert_ne!(first["items"][0]["request"], second["items"][0]["request"]);
    let sessions = get(&stage, "/api/sessions?failed=true").await.json();
    assert_eq!((&sessions["items"][0]["session"], &sessions["items"][0]["can_retry"]), (&"s1".into(), &true.into()));
    let alerts = get(&stage, "/api/alerts").await.json();
    assert_eq!(alerts["items"][0]["alert"], "chain_failed", "{alerts}");
    assert!(alerts["items"][0]["resolved"].is_null(), "one request that was served is no sign: {alerts}");
    let open = get(&stage, "/api/alerts?open=true").await.json();
    assert_eq!(open["items"], alerts["items"]);
    let id = alerts["items"][0]["id"].as_str().unwrap();
    let noted = send(&stage, Method::POST, &format!("/api/alerts/{id}/acknowledge"), json!({ "note": "on it" })).await;
    assert_eq!(noted.status, 200, "{}", noted.text());
    assert_eq!(get(&stage, "/api/alerts").await.json()["items"][0]["acknowledged"]["note"], "on it");
    let models = get(&stage, "/api/models").await.json();
    let one = models["models"].as_array().unwrap().iter().find(|model| model["name"] == "claude-one").unwrap();
    assert_eq!((&one["chain"], &one["healthy"]), (&json!(["claude-two"]), &true.into()), "{one}");
    for path in
        ["/api/requests?limit=0", "/api/requests?limit=201", "/api/requests?cursor=zz", "/api/requests?from=now"]
    {
        assert_eq!(get(&stage, path).await.status, 400, "{path}");
    }
}
