//! What a project's key opens: route by route, its own project and nothing of another.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use crate::api::{ACME, PROTECTED, TOKEN, ask};
use crate::harness::{Speaks, Stage, with};

/// Method, path, body, and the status that a key of `acme` gets. Names that begin with `zeta` are another project's.
#[rustfmt::skip]
fn table() -> Vec<(Method, &'static str, Option<Value>, u16)> {
    let (get, put, post, delete) = (Method::GET, Method::PUT, Method::POST, Method::DELETE);
    let retry_policy = || Some(json!({
        "maxRetries": 1, "backoffBase": 1, "backoffMultiplier": 2, "maxBackoff": 3, "retryableErrors": [],
        "autoEscalate": false, "escalateAfterRetries": 3,
    }));
    vec![
        (get.clone(), "/api/health", None, 200),
        (get.clone(), "/api/whoami", None, 200),
        (get.clone(), "/api/now", None, 200),
        (get.clone(), "/api/events", None, 200),
        (get.clone(), "/api/endpoints", None, 200),
        (get.clone(), "/api/endpoints/{name}", None, 200),
        (get.clone(), "/api/endpoints/{name}/history", None, 403),
        (put.clone(), "/api/endpoints/{name}/override", Some(json!({ "mode": "shadow", "reason": "x", "seconds": 1 })), 403),
        (delete.clone(), "/api/endpoints/{name}/override", None, 403),
        (get.clone(), "/api/models", None, 200),
        (get.clone(), "/api/rate-limits", None, 200),
        (get.clone(), "/api/requests", None, 200),
        (get.clone(), "/api/requests/{id}", None, 404),
        (get.clone(), "/api/export/{file}", None, 200),
        (post.clone(), "/api/explain", Some(json!({ "text": "429" })), 200),
        (get.clone(), "/api/policies", None, 403),
        (get.clone(), "/api/policy-templates", None, 403),
        (get.clone(), "/api/policies/{name}", None, 403),
        (put.clone(), "/api/policies/{name}", Some(json!({})), 403),
        (delete.clone(), "/api/policies/{name}", None, 403),
        (post.clone(), "/api/policies/{name}/preview", Some(json!({})), 403),
        (post.clone(), "/api/policies/{name}/simulate", Some(json!({ "scenario": "outage" })), 403),
        (get.clone(), "/api/scenarios", None, 403),
        (get.clone(), "/api/retry-policy", None, 404),
        (put.clone(), "/api/retry-policy", retry_policy(), 403),
        (get.clone(), "/api/projects", None, 200),
        (get.clone(), "/api/projects/{id}", None, 404),
        (put.clone(), "/api/projects/{id}", Some(json!({})), 403),
        (delete.clone(), "/api/projects/{id}", None, 403),
        (get.clone(), "/api/projects/{id}/retry-policy", None, 404),
        (put.clone(), "/api/projects/{id}/retry-policy", retry_policy(), 403),
        (get.clone(), "/api/budgets", None, 200),
        (put.clone(), "/api/projects/{id}/budget", Some(json!({})), 403),
        (get.clone(), "/api/projects/{id}/keys", None, 403),
        (post.clone(), "/api/projects/{id}/keys", Some(json!({ "label": "x" })), 403),
        (delete.clone(), "/api/projects/{id}/keys/{key}", None, 403),
        (get.clone(), "/api/sessions", None, 200),
        (get.clone(), "/api/sessions/{id}", None, 404),
        (get.clone(), "/api/sessions/{id}/events", None, 404),
        (get.clone(), "/api/sessions/{id}/attempts", None, 404),
        (get.clone(), "/api/sessions/{id}/escalations", None, 404),
        (get.clone(), "/api/sessions/{id}/standing", None, 404),
        (get.clone(), "/api/sessions/{id}/turn", None, 404),
        (get.clone(), "/api/sessions/{id}/turn/{index}", None, 404),
        (post.clone(), "/api/sessions/{id}/retry", Some(json!({})), 404),
        (post.clone(), "/api/sessions/{id}/escalate", Some(json!({})), 404),
        (delete.clone(), "/api/sessions/{id}/escalate", None, 404),
        (get.clone(), "/api/settings", None, 403),
        (get.clone(), "/api/alerts", None, 403),
        (post.clone(), "/api/alerts/{id}/acknowledge", Some(json!({})), 403),
        (get.clone(), "/api/analytics", None, 200),
        (get.clone(), "/api/analytics/failures", None, 200),
    ]
}

#[tokio::test]
async fn a_projects_key_sees_its_project_and_nothing_of_another_route_by_route() {
    let stage = Stage::usual(&format!("{PROTECTED}\n[projects.zeta-project]")).await;
    stage.script("a", "server_error; ok");
    let theirs = with(Speaks::Messages.request(false), "authorization", TOKEN);
    let theirs = with(with(theirs, "x-steadfast-project", "zeta-project"), "x-steadfast-session", "zeta-session");
    let request = stage.send(theirs).await.header("x-steadfast-request").to_owned();
    stage.engine.flush();
    assert!(stage.control.store().flush(std::time::Duration::from_secs(10)).await);

    let listed: BTreeSet<String> = table().iter().map(|(method, path, _, _)| format!("{method} {path}")).collect();
    let document = serde_json::to_value(steadfast_api::document([])).unwrap();
    let served: BTreeSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    assert_eq!(listed, served, "every route has its line in the table");

    for (method, path, body, status) in table() {
        let id = match path {
            _ if path.starts_with("/api/requests") => request.as_str(),
            _ if path.starts_with("/api/sessions") => "zeta-session",
            _ if path.starts_with("/api/alerts") => "1",
            _ => "zeta-project",
        };
        let path = path
            .replace("{id}", id)
            .replace("{name}", "a")
            .replace("{key}", "key_1")
            .replace("{index}", "0")
            .replace("{file}", "attempts.csv");
        let unknown = stage.send(ask(method.clone(), &path, body.as_ref())).await;
        assert_eq!(unknown.status == 401, path != "/api/health", "{method} {path} without a token: {}", unknown.text());
        let asked = with(ask(method.clone(), &path, body.as_ref()), "authorization", ACME);
        if path == "/api/events" {
            assert_eq!(stage.open(asked).await.status(), status, "{method} {path}");
            continue;
        }
        let answer = stage.send(asked).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.text());
        assert!(status != 200 || !answer.text().contains("zeta"), "{method} {path}: {}", answer.text());
        assert!(!answer.text().contains("planted"), "{method} {path} shows a secret: {}", answer.text());
    }
}
