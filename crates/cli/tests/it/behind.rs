//! Agents behind the gateway: judged by what happened to their calls, let in by keys that end with them, paid for once.
//!
//! The agent is a small program that asks one question, and says something untrue where it fails, as clients do that were
//! told so in words that stop them.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::serve::{Provider, Server};
use super::{Folder, Transcript};

const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, sys, urllib.request
base, key = os.environ.get("BASE", ""), os.environ.get("KEY", "")
with open(os.environ["HOME"] + "/told", "a") as told:
    told.write(f"{base} {key}\n")
if not base:
    print("nowhere to go: HTTP 429 daily quota exceeded", file=sys.stderr)
    sys.exit(1)
body = {"model": sys.argv[1], "messages": [{"role": "user", "content": "hi"}]}
headers = {"content-type": "application/json", "authorization": "Bearer the-agents-own", "x-steadfast-key": key}
request = urllib.request.Request(base + "/v1/chat/completions", json.dumps(body).encode(), headers)
try:
    for _ in range(int(os.environ.get("QUESTIONS", "1"))):
        print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
except Exception as error:
    print("You exceeded your current quota, please check your plan and billing details", file=sys.stderr)
    sys.exit(1)
"#;

/// A provider, a gateway in front of it, and an agent that is pointed there.
struct Stage {
    folder: Folder,
    provider: Provider,
    server: Server,
}

impl Stage {
    fn new(more: &str) -> Self {
        let (folder, provider) = (Folder::new(), Provider::start());
        folder.write("agent.py", AGENT);
        let agent = folder.0.join("agent.py");
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        folder.write("key", "team-key-1234567890");
        folder.write(
            "steadfast.toml",
            &format!(
                r#"
[endpoints.main]
dialect = "openai"
url = "{}/@a"
[models.gpt-x]
endpoints = ["main"]
price = {{ input = 1000.0, output = 1000.0 }}
[policies.default]
extends = "default"
[policies.default.on]
server_error = [{{ retry = 1, every = "20ms" }}]
quota_exhausted = ["give_up"]
default = [{{ retry = 3, every = "10ms" }}, "give_up"]
[agents.mine]
command = ["{}", "{{model}}", "{{task}}"]
gateway = {{ BASE = "{{gateway}}", KEY = "{{key}}" }}
[projects.team]
keys = [{{ file = "key" }}]
{more}"#,
                provider.fake.url(),
                agent.display()
            ),
        );
        let path = std::env::var("PATH").unwrap();
        let server = Server::start(&folder, &[], &[("PATH", &path)]);
        Self { folder, provider, server }
    }

    fn run(&self, arguments: &[&str]) -> Transcript {
        let (path, home) = (std::env::var("PATH").unwrap(), self.folder.0.display().to_string());
        let known = [("PATH", path.as_str()), ("HOME", &home), ("STEADFAST_LISTEN", self.server.address())];
        self.folder.run_with(arguments, &known)
    }

    /// What came of a task that is run here, or left to the server.
    fn task(&self, detach: bool, more: &[&str]) -> Value {
        let task = ["run", "--json", "--agent", "mine", "--model", "gpt-x", "-t", "go"];
        if !detach {
            let done = self.run(&[&task[..], more].concat());
            let last = done.stdout.lines().last().unwrap_or_else(|| panic!("{done:?}"));
            return serde_json::from_str::<Value>(last).unwrap()["result"].clone();
        }
        let left = self.run(&[&task[..], &["--detach"], more].concat());
        let left: Value = serde_json::from_str(left.stdout.trim()).unwrap_or_else(|_| panic!("{left:?}"));
        let id = left["task_id"].as_str().unwrap();
        let show = || serde_json::from_str::<Value>(&self.run(&["tasks", "show", id, "--json"]).stdout).unwrap();
        self.server.until("the task is over", || !show()["result"].is_null());
        show()["result"].clone()
    }

    fn told(&self) -> Vec<String> {
        self.folder.read("told").lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_task_is_judged_by_what_happened_to_its_calls_and_retries_nothing_twice() {
    for detach in [false, true] {
        let stage = Stage::new("");
        stage.provider.script("a", "status=500");
        let result = stage.task(detach, &[]);
        assert_eq!((&result["error_type"], &result["attempts"]), (&"server_error".into(), &1.into()), "{result}");
        let error = result["error"].as_str().unwrap();
        assert!(error.contains("req_") && error.contains("gpt-x@main"), "{error}");
        assert_eq!(stage.provider.fake.count("a"), 2, "the gateway has retried it, and nobody else has");
        let without = stage.task(detach, &["--no-gateway"]);
        // Only here it can be left out; what is left to the server is behind it.
        let kind = if detach { "server_error" } else { "quota_exhausted" };
        assert_eq!(without["error_type"], kind, "{without}");
    }
}

#[test]
fn the_wait_a_provider_asks_for_reaches_the_task() {
    let stage = Stage::new("");
    stage.provider.script("a", "rate_limit retry-after=300");
    let done = stage.run(&["run", "--json", "--agent", "mine", "--model", "gpt-x", "-t", "go"]);
    let lines: Vec<Value> = done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let decision = lines.iter().find(|line| line["event"] == "decision").unwrap_or_else(|| panic!("{done:?}"));
    assert_eq!(decision["kind"], "rate_limit", "{decision}");
    assert!(decision["retry_after_ms"].as_u64().unwrap() > 250_000, "{decision}");
    assert_eq!(done.code, 75);
}

#[test]
fn agents_of_a_project_with_keys_are_let_in_by_a_key_that_ends_with_them() {
    let stage = Stage::new("");
    let result = stage.task(true, &["--project", "team"]);
    assert_eq!(result["success"], true, "{result}\n{}", stage.server.said());
    let told = stage.told();
    let (base, key) = told[0].split_once(' ').unwrap();
    assert!(base.contains("/p/team/s/") && key.starts_with("sfk_"), "{told:?}");
    let sent = stage.provider.fake.requests();
    assert_eq!(sent[0].header("authorization"), Some("Bearer the-agents-own"), "its own key goes to the provider");
    assert_eq!(sent[0].header("x-steadfast-key"), None, "ours goes nowhere");
    let head = |key: &str| format!("authorization: Bearer {key}\r\nx-steadfast-project: team\r\n");
    let answer = stage.server.chat(&head(key));
    assert!(answer.starts_with("HTTP/1.1 401 "), "it ended with the task: {answer}");
    assert!(stage.server.chat(&head("team-key-1234567890")).starts_with("HTTP/1.1 200 "));
    for file in ["decisions.jsonl", ".local/state/steadfast/decisions.jsonl"] {
        let log = std::fs::read_to_string(stage.folder.0.join(file)).unwrap_or_default();
        assert!(!log.contains(key));
    }
    let kept = std::fs::read(stage.folder.0.join(".local/state/steadfast/steadfast.db")).unwrap();
    assert!(!kept.windows(key.len()).any(|part| part == key.as_bytes()) && !stage.server.said().contains(key));
    // A supervisor of its own has the project's key from the same configuration.
    let result = stage.task(false, &["--project", "team"]);
    assert_eq!(result["success"], true, "{result}");
    assert!(stage.told()[1].ends_with(" team-key-1234567890"), "{:?}", stage.told());
    // Nobody needs one without.
    assert_eq!(stage.task(false, &[])["success"], true);
    assert!(stage.told()[2].ends_with(' '), "{:?}", stage.told());
}

#[test]
fn calls_and_task_have_one_budget() {
    let stage = Stage::new("");
    // Each answer costs a few cents at this price, and the agent tells nothing of it.
    let free = stage.task(true, &[]);
    let cost = free["cost_usd"].as_f64().unwrap_or_else(|| panic!("{free}"));
    assert!(cost > 0.0);
    let result = stage.task(true, &["--budget", &format!("{}", cost / 2.0)]);
    assert_eq!((&result["outcome"], &result["attempts"]), (&"budget_spent".into(), &1.into()), "{result}");
    let here = stage.task(false, &["--budget", "1000"]);
    assert_eq!(here["cost_usd"].as_f64(), Some(cost), "a supervisor of its own asks what it cost: {here}");
}

#[test]
fn what_agents_need_is_asked_how_it_is() {
    let stage = Stage::new("");
    assert_eq!(stage.task(true, &[])["success"], true);
    let answer = stage.server.ask("GET /api/agents HTTP/1.1\r\n", "");
    let body: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let [asked] = body["agents"].as_array().unwrap().as_slice() else { panic!("{body}") };
    assert_eq!(asked["address"], format!("http://{}/health", stage.server.address()), "{body}");
    assert_eq!((&asked["healthy"], &asked["agents"]), (&true.into(), &serde_json::json!(["mine"])));
    assert_eq!((asked["success_rate"].as_f64(), asked["failure_rate"].as_f64()), (Some(1.0), Some(0.0)));
    assert!(asked["latency_ms"].as_f64().is_some() && asked["pings"].as_u64() == Some(1), "{body}");
}
