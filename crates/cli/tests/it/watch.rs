//! `steadfast top` and `steadfast mcp` beside a running gateway.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Folder;
use super::screen::Screen;
use super::serve::{Provider, Server};

const CONFIG: &str = r#"
[endpoints.main]
dialect = "anthropic"
url = "FAKE/@a"
[models.claude-one]
endpoints = ["main"]
price = { input = 1.0, output = 1.0 }
[projects.default]
spend = { usd_per_day = 5.0 }
[policies.default.on]
server_error = [{ retry = 1, every = "20ms" }]
"#;

const QUESTION: &str = r#"{"model":"claude-one","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;

/// A gateway whose only endpoint fails twice, and has.
fn failed() -> (Provider, Folder, Server, String) {
    failed_with("")
}

/// The same with more in its file.
fn failed_with(more: &str) -> (Provider, Folder, Server, String) {
    let (provider, folder) = (Provider::start(), Folder::new());
    folder.write("steadfast.toml", &format!("{}\n{more}", CONFIG.replace("FAKE", &provider.fake.url())));
    let server = Server::start(&folder, &[], &[]);
    provider.script("a", "server_error x2; ok");
    let head = "POST /v1/messages HTTP/1.1\r\nx-steadfast-session: s1\r\nanthropic-version: 2023-06-01\r\n";
    let answer = server.ask(head, QUESTION);
    assert!(answer.starts_with("HTTP/1.1 5"), "{answer}");
    let url = format!("http://{}", server.address());
    (provider, folder, server, url)
}

/// Asks a scripted MCP client's questions, and again until `settled` likes the last answer.
fn mcp(folder: &Folder, url: &str, questions: &[Value], settled: impl Fn(&Value) -> bool) -> Vec<Value> {
    let input: String = questions.iter().map(|question| format!("{question}\n")).collect();
    let began = Instant::now();
    loop {
        let told = folder.pipe(&input, &["mcp", "--url", url]);
        assert_eq!(told.code, 0, "{told:?}");
        let answers: Vec<Value> = told.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        if answers.last().is_some_and(&settled) || began.elapsed() > Duration::from_secs(20) {
            return answers;
        }
    }
}

fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

#[test]
fn an_agent_asks_why_its_request_failed_over_mcp() {
    let (_provider, folder, _server, url) = failed();
    let questions = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-03-26" } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        call(3, "which_models_are_healthy", &json!({})),
        call(4, "what_is_my_budget", &json!({})),
        call(5, "explain_error", &json!({ "text": "overloaded_error: Overloaded", "status": 529 })),
        json!({ "jsonrpc": "2.0", "id": 6, "method": "resources/list" }),
        call(7, "sing", &json!({})),
        call(8, "why_did_my_request_fail", &json!({ "session": "s1" })),
    ];
    let text = |answer: &Value| answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let answers = mcp(&folder, &url, &questions, |last| text(last).contains("session"));
    assert_eq!(answers.len(), 8, "a notification has no answer: {answers:?}");
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 4);
    assert!(text(&answers[2]).contains("claude-one: can be asked"), "{answers:?}");
    assert!(text(&answers[3]).contains("of $5.00 spent today"), "{answers:?}");
    assert!(text(&answers[4]).starts_with("overloaded (ProviderError)"), "{answers:?}");
    assert_eq!(answers[5]["error"]["code"], -32601);
    assert_eq!(answers[6]["error"]["code"], -32602);
    let why = text(&answers[7]);
    assert!(why.contains("failed after 2 attempts") && why.contains("server_error"), "{why}");
}

#[test]
fn what_cannot_be_read_or_reached_is_told_to_the_agent() {
    let folder = Folder::new();
    let told = folder.pipe("no json\n\n", &["mcp", "--url", "http://127.0.0.1:9"]);
    assert!(told.stdout.contains("-32700"), "{told:?}");
    let asked = format!("{}\n", call(1, "what_is_my_budget", &json!({})));
    let told = folder.pipe(&asked, &["mcp", "--url", "http://127.0.0.1:9"]);
    assert!(told.stdout.contains("no gateway answers") && told.stdout.contains("\"isError\":true"), "{told:?}");
    let told = folder.run(&["top", "--url", "127.0.0.1:9"]);
    told.assert(1, "", "error: 127.0.0.1:9: write it as http://host:port\n");
}

#[test]
fn top_shows_traffic_breakers_and_failures() {
    let (_provider, folder, _server, url) = failed();
    let began = Instant::now();
    let told = loop {
        let told = folder.run(&["top", "--once", "--url", &url]);
        // The alert is in the list as soon as it is stored.
        if told.stdout.contains("alert:") || began.elapsed() > Duration::from_secs(20) {
            break told;
        }
    };
    assert_eq!(told.code, 0, "{told:?}");
    let line = |start: &str| told.stdout.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    assert!(
        line("last minute").contains("1 requests") && line("last minute").contains("0 served, 1 failed"),
        "{told:?}"
    );
    assert!(line("attempts").contains("2 failed"), "{told:?}");
    assert!(line("main").contains("closed") && line("main").ends_with("server_error"), "{told:?}");
    assert!(line("alert:").contains("every model in the chain of `claude-one` failed"), "{told:?}");
    let json: Value = serde_json::from_str(&folder.run(&["top", "--json", "--url", &url]).stdout).unwrap();
    assert_eq!(json["now"]["minute"]["failures"], 2, "{json}");
}

#[test]
fn what_a_person_forced_open_is_shown_as_such_and_its_model_cannot_be_asked() {
    let (_provider, folder, server, url) = failed();
    let word = r#"{"mode":"forced_open","reason":"moving house","seconds":600}"#;
    let put = server.ask("PUT /api/endpoints/main/override HTTP/1.1\r\ncontent-type: application/json\r\n", word);
    assert!(put.starts_with("HTTP/1.1 200 "), "{put}");
    let told = folder.run(&["top", "--once", "--url", &url]);
    let line = told.stdout.lines().find(|line| line.starts_with("main")).unwrap_or_default();
    assert!(line.contains("forced_open (a person)"), "{told:?}");
    let answers = mcp(&folder, &url, &[call(1, "which_models_are_healthy", &json!({}))], |_| true);
    let text = answers[0]["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("claude-one: cannot be asked, and nobody serves for it"), "{text}");
    assert!(text.contains("endpoint main: not usable"), "{text}");
}

#[test]
fn top_shows_a_retry_that_waits() {
    let (provider, folder) = (Provider::start(), Folder::new());
    let config = CONFIG.replace("FAKE", &provider.fake.url()).replace("20ms", "1m");
    folder.write("steadfast.toml", &config);
    let server = Server::start(&folder, &[], &[]);
    provider.script("a", "server_error");
    let _asking = server.send("POST /v1/messages HTTP/1.1\r\nanthropic-version: 2023-06-01\r\n", QUESTION);
    let url = format!("http://{}", server.address());
    let began = Instant::now();
    let told = loop {
        let told = folder.run(&["top", "--once", "--url", &url]).stdout;
        if told.contains("waits ") || began.elapsed() > Duration::from_secs(20) {
            break told;
        }
    };
    assert!(told.contains("1 requests under way, 1 wait for their next attempt"), "{told}");
    let line = told.lines().find(|line| line.contains("waits ")).unwrap_or_default();
    assert!(line.contains("claude-one") && line.contains("1/8") && line.ends_with("after server_error"), "{told}");
}

#[test]
fn an_alert_that_could_not_be_told_is_in_the_log() {
    let (_provider, _folder, server, _) = failed_with("[alerts]\ncommand = [\"sh\", \"-c\", \"exit 7\"]");
    server.hears("the command for alerts failed");
    assert!(server.said().contains("exit status: 7"), "{}", server.said());
}

#[test]
fn top_draws_a_live_screen_in_a_terminal() {
    let (_provider, folder, _server, url) = failed();
    let screen = Screen::open(&folder, &format!("top --url {url}"), &[]);
    screen.until(&["steadfast top", "server_error", "endpoint", "closed", "requests/s"]);
}
