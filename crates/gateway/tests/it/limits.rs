//! Rate limits: refused before a call, per project, agent and endpoint, and learned from providers.

use serde_json::Value;
use steadfast_engine::{LimitOf, Source, Unit};

use crate::harness::{Speaks, Stage, get, with};

const LIMITED: &str = "
[projects.acme]
rate = { requests_per_minute = 3 }
[projects.team]
rate = { requests_per_minute = 100, per_agent = 2 }
";

fn of_project(speaks: Speaks, stream: bool, project: &str) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    with(speaks.request(stream), "x-steadfast-project", project)
}

#[tokio::test]
async fn more_than_the_project_may_is_refused_before_any_call() {
    let stage = Stage::usual(LIMITED).await;
    for remaining in ["2", "1", "0"] {
        let served = stage.send(of_project(Speaks::Messages, false, "acme")).await;
        assert_eq!((served.status.as_u16(), served.header("x-steadfast-ratelimit-remaining")), (200, remaining));
    }
    for speaks in Speaks::ALL {
        let refused = stage.send(of_project(speaks, true, "acme")).await;
        let told = refused.json();
        assert_eq!(refused.status, 429, "{told}");
        let error = match speaks {
            Speaks::Chat | Speaks::Responses => &told["error"]["code"],
            Speaks::Messages => &told["error"]["type"],
            Speaks::Gemini | Speaks::Array => &told["error"]["status"],
        };
        assert!(
            ["rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"].map(Value::from).contains(error),
            "{told}"
        );
        let limit = &told["error"]["rate_limit"];
        assert_eq!((&limit["limit"], &limit["remaining"]), (&3.into(), &0.into()), "{told}");
        let wait: u64 = refused.header("retry-after").parse().unwrap();
        assert!(
            (1..=60).contains(&wait) && limit["wait_s"].as_u64().is_some_and(|told| told.min(60) == wait),
            "{told}"
        );
        assert!(limit["reset"].as_str().unwrap().ends_with('Z'), "{told}");
        assert_eq!(refused.header("x-should-retry"), "false");
        assert_eq!(refused.header("x-steadfast-ratelimit-limit"), "3");
        assert_eq!(refused.header("x-steadfast-attempts"), "0");
        let own = match speaks {
            Speaks::Chat | Speaks::Responses => refused.header("x-ratelimit-remaining-requests"),
            Speaks::Messages => refused.header("anthropic-ratelimit-requests-remaining"),
            Speaks::Gemini | Speaks::Array => "0",
        };
        assert_eq!(own, "0", "{speaks:?}");
    }
    assert_eq!(stage.fake.requests().len(), 3, "nobody was called for those that were refused");
    assert_eq!(stage.send(Speaks::Messages.request(false)).await.status, 200, "other projects go on");
    let outcomes = stage.events("outcome", &["outcome", "reason"]);
    assert_eq!(outcomes.iter().filter(|line| line.contains("the project's limit of 3 requests per minute")).count(), 4);
    let metrics = stage.send(get("/metrics")).await.text();
    assert!(metrics.contains("steadfast_rate_limited_total{project=\"acme\",limit=\"project\"} 4"), "{metrics}");
}

#[tokio::test]
async fn clients_are_told_in_the_words_they_stop_at() {
    let stage = Stage::usual("[projects.acme]\nrate = { requests_per_minute = 1 }").await;
    stage.send(of_project(Speaks::Chat, false, "acme")).await;
    let refused = stage.send(with(of_project(Speaks::Chat, false, "acme"), "x-steadfast-client", "ai-sdk")).await;
    assert_eq!(refused.status, 400, "which is all it takes for final");
    assert!(refused.json()["error"]["message"].as_str().unwrap().ends_with("[status 429]"));
    let refused = stage.send(with(of_project(Speaks::Gemini, false, "acme"), "x-steadfast-client", "gemini-cli")).await;
    assert_eq!(refused.json()["error"]["details"][0]["violations"][0]["quotaId"], "RequestsPerDay");
}

#[tokio::test]
async fn one_agent_cannot_use_up_what_its_project_has() {
    let stage = Stage::usual(LIMITED).await;
    let ask =
        |agent: &'static str| stage.send(with(of_project(Speaks::Messages, false, "team"), "x-steadfast-agent", agent));
    assert_eq!([ask("a").await.status, ask("a").await.status, ask("a").await.status], [200, 200, 429]);
    assert_eq!(ask("b").await.status, 200);
    let refused = ask("a").await;
    assert!(refused.text().contains("the agent's limit of 2 requests per minute"), "{}", refused.text());
    let session =
        |id: &'static str| stage.send(with(of_project(Speaks::Messages, false, "team"), "x-steadfast-session", id));
    assert_eq!([session("s").await.status, session("s").await.status, session("s").await.status], [200, 200, 429]);
    let limits = stage.engine.rate_limits();
    let left = |of: LimitOf| limits.iter().find(|status| status.of == of).map(|status| status.remaining);
    let (project, agent) =
        (|| "team".into(), |agent: &str| LimitOf::Agent { project: "team".into(), agent: agent.into() });
    assert_eq!(left(LimitOf::Project { project: project() }), Some(95));
    assert_eq!((left(agent("a")), left(agent("b")), left(agent("s"))), (Some(0), Some(1), Some(0)));
}

#[tokio::test]
async fn side_questions_and_plain_projects_are_not_limited() {
    let stage = Stage::usual("[projects.acme]\nrate = { requests_per_minute = 1 }\n[projects.off]\nenabled = false\nrate = { requests_per_minute = 1 }").await;
    for _ in 0..3 {
        let count = crate::harness::post("/v1/messages/count_tokens", &Speaks::Messages.body(false));
        assert_eq!(stage.send(with(count, "x-steadfast-project", "acme")).await.status, 200);
        assert_eq!(stage.send(of_project(Speaks::Messages, false, "off")).await.status, 200);
    }
}

#[tokio::test]
async fn an_endpoint_at_its_limit_is_passed_by() {
    let stage = Stage::usual("[endpoints.limited]\ndialect = \"anthropic\"\nurl = \"FAKE/@limited\"\nrate = { requests_per_minute = 2 }
[models.claude-three]\nvendor = \"anthropic\"\nendpoints = [\"limited\", \"b\"]\n[models.claude-four]\nvendor = \"anthropic\"\nendpoints = [\"limited\"]").await;
    let ask = |model: &str| {
        let mut body = Speaks::Messages.body(false);
        body["model"] = model.into();
        crate::harness::post("/v1/messages", &body)
    };
    let mut served = Vec::new();
    for _ in 0..4 {
        let answer = stage.send(ask("claude-three")).await;
        served.push(format!("{} {}", answer.status.as_u16(), answer.header("x-steadfast-endpoint")));
    }
    assert_eq!(served, ["200 limited", "200 limited", "200 b", "200 b"]);
    assert_eq!(stage.events("attempt", &["choice"]), ["first", "first", "rerouted", "rerouted"]);
    let refused = stage.send(ask("claude-four")).await;
    assert_eq!(refused.status, 429, "the policy waits 3 s for a rate limit, and this one lasts longer");
    let told = refused.json();
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`limited`: nothing is left to try: the rate limit is reached"),
        "{told}"
    );
    assert_eq!(told["error"]["rate_limit"]["limit"], 2, "{told}");
    assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|wait| (1..=60).contains(&wait)));
    assert_eq!(stage.fake.count("limited"), 2);
    let metrics = stage.send(get("/metrics")).await.text();
    assert!(metrics.contains("steadfast_rate_limited_total{project=\"default\",limit=\"endpoint\"} 1"), "{metrics}");
}

#[tokio::test]
async fn what_a_provider_says_about_its_limits_is_heeded() {
    let own_key = "key = { env = \"PROVIDER_KEY\" }\n";
    let config = |more: &str| {
        format!(
            "
[endpoints.told]\ndialect = \"openai\"\nurl = \"FAKE/@told\"\n{own_key}{more}
[models.gpt-three]\nvendor = \"openai\"\nendpoints = [\"told\", \"ob\"]"
        )
    };
    let mut body = Speaks::Chat.body(false);
    body["model"] = "gpt-three".into();
    for (more, expected) in [("", ["told", "told", "ob"]), ("rate = { learn = false }\n", ["told", "told", "told"])] {
        let stage = Stage::usual(&config(more)).await;
        stage.script("told", "rpm=2");
        let mut served = Vec::new();
        for _ in 0..3 {
            let answer = stage.post("/v1/chat/completions", &body).await;
            served.push(answer.header("x-steadfast-endpoint").to_owned());
        }
        if more.is_empty() {
            assert_eq!(served, expected);
            assert_eq!(stage.fake.count("told"), 2, "nobody ran into the limit");
            let limits = stage.engine.rate_limits();
            let said = limits.iter().find(|status| status.source == Source::Provider && status.unit == Unit::Requests);
            let said = said.expect("the provider's own limit is known");
            assert_eq!((said.limit, said.remaining, said.wait.is_zero()), (Some(2), 0, false), "{said:?}");
            let listed = stage.send(get("/api/rate-limits")).await.json();
            let of_told = |unit| {
                let limits = listed["limits"].as_array().unwrap().iter();
                limits.clone().find(|limit| limit["endpoint"] == "told" && limit["unit"] == unit).unwrap()
            };
            let requests = of_told("requests");
            assert_eq!((&requests["of"], &requests["source"]), (&"endpoint".into(), &"provider".into()), "{listed}");
            assert_eq!((&requests["limit"], &requests["remaining"]), (&2.into(), &0.into()), "{listed}");
            assert!(requests["wait_ms"].as_u64().is_some_and(|wait| (1..=60_000).contains(&wait)), "{listed}");
            assert!(requests["reset"].as_str().unwrap().ends_with('Z'), "{listed}");
            assert_eq!(of_told("tokens")["limit"], 2_000_000, "as its headers say: {listed}");
        } else {
            assert_eq!(stage.fake.count("told"), 3, "a provider that says it wrongly is asked all the same");
        }
    }
}
