//! What the control API acknowledges is on disk by then: somebody else who opens the file sees it.

use http::Method;
use serde_json::{Value, json};
use steadfast_store::{Address, Options, Store};

use crate::api::{ask, get};
use crate::control::{LADDER, failed_turn, send};
use crate::harness::Stage;

/// Another store on the same file; the first one stays as it is.
fn opened_anew(stage: &Stage) -> Store {
    Store::open(Options::new(Address::sqlite(stage.database().display().to_string()), 30)).unwrap()
}

/// What somebody else finds at this moment.
async fn found(stage: &Stage, space: &str, name: &str) -> Option<Value> {
    opened_anew(stage).document(space, name).await.unwrap().and_then(|document| document.body)
}

#[tokio::test]
async fn what_people_set_is_committed_when_it_is_acknowledged() {
    let stage = Stage::kept("[projects.acme]").await;
    let put = async |path: &str, body: Value| {
        let answer = send(&stage, Method::PUT, path, body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    };
    put("/api/policies/mine", json!({ "deadline": "5m" })).await;
    assert_eq!(found(&stage, "policy", "mine").await.unwrap()["deadline"], "5m");
    assert_eq!(stage.send(ask(Method::DELETE, "/api/policies/mine", None)).await.status, 204);
    assert_eq!(found(&stage, "policy", "mine").await, None);
    put("/api/projects/zeta", json!({ "rate": { "requests_per_minute": 7 } })).await;
    assert_eq!(found(&stage, "project", "zeta").await.unwrap()["rate"]["requests_per_minute"], 7);
    put("/api/projects/acme/budget", json!({ "usd_per_day": 3.0 })).await;
    assert_eq!(found(&stage, "project", "acme").await.unwrap()["spend"]["usd_per_day"], 3.0);
    put("/api/endpoints/a/override", json!({ "mode": "forced_open", "reason": "moving", "seconds": 600 })).await;
    assert_eq!(found(&stage, "override", "a").await.unwrap()["reason"], "moving");
    assert_eq!(stage.send(ask(Method::DELETE, "/api/endpoints/a/override", None)).await.status, 200);
    assert_eq!(found(&stage, "override", "a").await, None);

    let made = send(&stage, Method::POST, "/api/projects/acme/keys", json!({ "label": "laptop" })).await.json();
    let id = made["id"].as_str().unwrap();
    assert_eq!(found(&stage, "key", id).await.unwrap()["label"], "laptop");
    assert_eq!(stage.send(ask(Method::DELETE, &format!("/api/projects/acme/keys/{id}"), None)).await.status, 204);
    assert_eq!(found(&stage, "key", id).await, None);
}

#[tokio::test]
async fn climbs_and_notes_are_committed_when_they_are_acknowledged() {
    let stage = Stage::kept(LADDER).await;
    failed_turn(&stage).await;
    let climbs = async || {
        let climbs = opened_anew(&stage).escalations("s1".to_owned()).await.unwrap();
        climbs.into_iter().map(|climb| climb.state).collect::<Vec<_>>()
    };
    let path = "/api/sessions/s1/escalate";
    let climbed = send(&stage, Method::POST, path, json!({ "confirm": true })).await;
    assert_eq!(climbed.status, 200, "{}", climbed.text());
    assert_eq!(climbs().await, ["climbed"]);
    assert_eq!(found(&stage, "climb", "default/s1").await.unwrap()["model"], "claude-big");
    assert_eq!(stage.send(ask(Method::DELETE, path, None)).await.status, 200);
    assert_eq!(climbs().await, ["rolled_back", "climbed"]);
    assert_eq!(found(&stage, "climb", "default/s1").await, None);

    let alerts = get(&stage, "/api/alerts").await.json();
    let id = alerts["items"][0]["id"].as_str().unwrap();
    let noted = send(&stage, Method::POST, &format!("/api/alerts/{id}/acknowledge"), json!({ "note": "on it" })).await;
    assert_eq!(noted.status, 200, "{}", noted.text());
    assert_eq!(found(&stage, "acknowledged", id).await, Some(json!({ "note": "on it" })));
}
