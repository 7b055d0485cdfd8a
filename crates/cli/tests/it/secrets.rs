//! One run with planted secrets and texts through everything that can happen, and then a search for
//! them in everything that was written.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::Folder;
use super::serve::{Provider, Server, read_until};

/// What must not be found anywhere. None has a shape that gives it away: hiding by shape is not
/// what this is about.
const PROVIDER_KEY: &str = "Quartzprovider";
const CLIENT_KEY: &str = "Quartzclient";
const PROJECT_KEY: &str = "Quartzproject";
const ADMIN_TOKEN: &str = "Quartzadmin";
const QUERY_KEY: &str = "Quartzquery";
const HEADER: &str = "Quartzheader";
const COLLECTOR: &str = "Quartzcollector";
const IN_FILE: &str = "Quartzfile";
/// An id of the provider's, nobody's secret: folded by its shape.
const UPSTREAM: &str = "Quartz49upstream";
const PROMPT: &str = "Quartzprompt";
const ANSWER: &str = "Quartzanswer";

fn config(provider: &Provider) -> String {
    let url = |name: &str| provider.fake.endpoint_url(name);
    format!(
        r#"
[endpoints.own]
dialect = "openai"
url = "{own}"
key = {{ env = "PROVIDER_KEY" }}
headers = {{ x-account-token = {{ env = "ACCOUNT" }} }}
[endpoints.pinged]
dialect = "openai"
url = "{own}"
key = {{ env = "PROVIDER_KEY" }}
health = {{ path = "/v1/models", every = "1s" }}
[endpoints.h2]
dialect = "openai"
url = "{h2}"
key = {{ env = "PROVIDER_KEY" }}
headers = {{ x-account-token = {{ env = "ACCOUNT" }} }}
http2 = true
[endpoints.client]
dialect = "anthropic"
url = "{client}"
[endpoints.google]
dialect = "gemini"
url = "{google}"
[models.mine]
vendor = "openai"
endpoints = ["own", "h2"]
[projects.acme]
keys = [{{ env = "ACME" }}]
[policies.default]
retry_share = 1.0
breaker = {{ adaptive = false, failures = 1000, floor = 1000 }}
[policies.default.on]
server_error = [{{ retry = 1, every = "10ms", with_context = true }}, "fallback"]
rate_limit = [{{ retry = 1, every = "10ms" }}, "fallback"]
overloaded = [{{ retry = 1, every = "10ms" }}, "fallback"]
network_transient = [{{ retry = 1, every = "10ms" }}, "fallback"]
network_permanent = [{{ retry = 1, every = "10ms" }}, "fallback"]
stream_interrupted = [{{ retry = 1, every = "10ms" }}, "fallback"]
bad_output = [{{ retry = 1, every = "10ms", with_context = true }}, "fallback"]
unknown = [{{ retry = 1, every = "10ms" }}, "fallback"]
[admin]
token = {{ env = "TOKEN" }}
[traces]
endpoint = "http://127.0.0.1:9"
[log]
decisions = {{ path = "decisions.jsonl" }}
"#,
        own = url("own"),
        h2 = url("h2"),
        client = url("client"),
        google = url("google"),
    )
}

/// A number that no other request has: the same turn again would be answered from memory.
fn fresh() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(9);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn chat(stream: bool) -> String {
    let seed = fresh();
    format!(r#"{{"model":"mine","stream":{stream},"seed":{seed},"messages":[{{"role":"user","content":"{PROMPT}"}}]}}"#)
}

fn messages(stream: bool) -> String {
    let most = fresh();
    format!(
        r#"{{"model":"claude-x","stream":{stream},"max_tokens":{most},"messages":[{{"role":"user","content":"{PROMPT}"}}]}}"#
    )
}

/// What tells about traffic.
const API: [&str; 9] = [
    "/api/now",
    "/api/requests?limit=200",
    "/api/sessions",
    "/api/endpoints",
    "/api/projects",
    "/api/analytics",
    "/api/analytics/failures",
    "/api/alerts",
    "/api/export/attempts.jsonl",
];

/// Where the provider's own words come back as they are.
const MESSAGES: &str = "POST /v1/messages HTTP/1.1\r\n";
const CHAT: &str = "POST /v1/chat/completions HTTP/1.1\r\n";

#[test]
fn nothing_that_is_written_holds_a_secret_or_a_text() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("steadfast.toml", &config(&provider));
    let environment = [
        ("PROVIDER_KEY", PROVIDER_KEY),
        ("ACCOUNT", HEADER),
        ("ACME", PROJECT_KEY),
        ("TOKEN", ADMIN_TOKEN),
        ("OTEL_EXPORTER_OTLP_HEADERS", &format!("authorization=Basic {COLLECTOR}")),
        ("RUST_LOG", "trace"),
    ];
    let mut server = Server::start(&folder, &["--drain", "1"], &environment);
    let client = format!("authorization: Bearer {CLIENT_KEY}\r\n");
    let project = format!("authorization: Bearer {PROJECT_KEY}\r\n");

    // What the client gets and does not own: everything from endpoints with a key of ours. What
    // the provider echoes of the client's own key or words is the client's.
    let mut seen_by_clients = Vec::new();
    let all = [
        format!(r#"text="{ANSWER}""#),
        "status=500".to_owned(),
        format!(r#"status=401 body="Incorrect API key provided: KEY ({HEADER}).""#),
        format!(r#"status=500 body="cannot serve KEY" x2; text="{ANSWER}""#),
        "rate_limit retry-after=0".to_owned(),
        "reset".to_owned(),
        "garbage".to_owned(),
        format!(r#"text="{ANSWER} {ANSWER} {ANSWER} {ANSWER} {ANSWER}" cut=3"#),
        format!(r#"text="{ANSWER} {ANSWER} {ANSWER} {ANSWER} {ANSWER}" error=3"#),
        format!(r#"text="{ANSWER} {ANSWER} {ANSWER} {ANSWER} {ANSWER}" malformed=3"#),
        "error200".to_owned(),
        "empty".to_owned(),
    ];
    for script in &all {
        // Each says back the key that it was sent.
        let keys = [PROVIDER_KEY, PROVIDER_KEY, CLIENT_KEY, QUERY_KEY];
        for (endpoint, key) in ["own", "h2", "client", "google"].into_iter().zip(keys) {
            let script =
                if endpoint == "client" || endpoint == "google" { script.replace(HEADER, "") } else { script.clone() };
            provider.script(endpoint, &script.replace("KEY", key));
        }
        for stream in [false, true] {
            seen_by_clients.push(server.ask(&format!("{CHAT}{project}"), &chat(stream)));
            server.ask(&format!("{MESSAGES}{client}"), &messages(stream));
            let method = if stream { "streamGenerateContent" } else { "generateContent" };
            let google = format!("POST /v1beta/models/gemini-x:{method}?key={QUERY_KEY} HTTP/1.1\r\n");
            let (seed, text) = (fresh(), format!(r#"{{"parts":[{{"text":"{PROMPT}"}}]}}"#));
            server.ask(&google, &format!(r#"{{"contents":[{text}],"generationConfig":{{"seed":{seed}}}}}"#));
        }
    }
    // What a provider says about somebody else's matters reaches the client, and no log.
    provider.script("client", &format!(r#"status=400 body="invalid: {UPSTREAM}, you said {PROMPT}""#));
    let own_words = server.ask(&format!("{MESSAGES}{client}"), &messages(false));
    assert!(own_words.contains(UPSTREAM), "passed on as it is: {own_words}");

    // Requests that are refused here.
    let broken = format!(r#"{{"model":"mine","messages":[{PROMPT}"#);
    seen_by_clients.push(server.ask(&format!("{CHAT}{project}"), &broken));
    seen_by_clients.push(server.ask(&format!("GET /nowhere?key={QUERY_KEY} HTTP/1.1\r\n{client}"), ""));
    seen_by_clients.push(server.ask(&format!("{MESSAGES}{client}x-steadfast-project: acme\r\n"), &messages(false)));
    seen_by_clients.push(server.ask(&format!("{MESSAGES}{client}x-steadfast-deadline: never\r\n"), &messages(false)));

    // The control API, about everything that happened.
    let admin = format!("authorization: Bearer {ADMIN_TOKEN}\r\n");
    let told: Vec<String> = API.iter().map(|path| server.ask(&format!("GET {path} HTTP/1.1\r\n{admin}"), "")).collect();
    assert!(told.iter().all(|told| told.starts_with("HTTP/1.1 200")), "{told:?}");
    let api = told.join("\n");
    assert!(api.contains("auth_error"), "there is something to search: {api}");

    // Reloads, good and bad.
    folder.write("steadfast.toml", &format!("{}\n[projects.more]\n", config(&provider)));
    server.hears("configuration reloaded");
    let plain = config(&provider).replace("token = { env = \"TOKEN\" }", &format!("token = \"{IN_FILE}\""));
    folder.write("steadfast.toml", &plain);
    server.hears("holds a secret in plain text");
    folder.write("steadfast.toml", &plain.replace(&format!("\"{IN_FILE}\""), &format!("\"{IN_FILE}")));
    server.hears("this is not TOML");

    let metrics = server.ask("GET /metrics HTTP/1.1\r\n", "");
    assert!(metrics.contains("steadfast_attempts_total{endpoint=\"own\",result=\"auth_error\"}"), "{metrics}");
    seen_by_clients.push(server.ask("GET /ready HTTP/1.1\r\n", ""));

    // One answer is under way when it ends.
    provider.script("client", "words=10000 delay=20ms");
    let mut open = server.send(&format!("{MESSAGES}{client}"), &messages(true));
    read_until(&mut open, "word-2");
    server.signal("-TERM");
    assert_eq!(server.code(), Some(0), "{}", server.said());

    let log = folder.read("decisions.jsonl");
    let (said, seen) = (server.said(), seen_by_clients.join("\n"));
    assert!(said.len() > 1000 && log.lines().count() > 100, "there is something to search");
    let secrets = [PROVIDER_KEY, CLIENT_KEY, PROJECT_KEY, ADMIN_TOKEN, QUERY_KEY, HEADER, COLLECTOR, IN_FILE, UPSTREAM];
    for secret in secrets {
        for (place, text) in
            [("stderr", &said), ("the log", &log), ("metrics", &metrics), ("the API", &api), ("answers", &seen)]
        {
            assert!(!text.contains(secret), "`{secret}` is in {place}: {}", around(text, secret));
        }
    }
    for words in [PROMPT, ANSWER] {
        for (place, text) in [("stderr", &said), ("the log", &log), ("metrics", &metrics), ("the API", &api)] {
            assert!(!text.contains(words), "`{words}` is in {place}: {}", around(text, words));
        }
    }
    let mut files = Vec::new();
    all_files(&folder.0, &mut files);
    assert!(files.iter().any(|file| file.ends_with("steadfast.db")), "the store is searched too: {files:?}");
    for file in files.iter().filter(|file| !file.ends_with("steadfast.toml")) {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
        for words in secrets.into_iter().chain([PROMPT, ANSWER]) {
            assert!(!text.contains(words), "`{words}` is in {}: {}", file.display(), around(&text, words));
        }
    }
    assert!(seen.contains(ANSWER), "clients do get their answers");
    // A model that is told what went wrong before is not told our key.
    let told_of_failure = provider.fake.requests().into_iter().filter(|seen| seen.endpoint == "own");
    let bodies: Vec<String> = told_of_failure.map(|seen| String::from_utf8_lossy(&seen.body).into_owned()).collect();
    assert!(bodies.iter().any(|body| body.contains("cannot serve ***")), "{bodies:?}");
    assert!(bodies.iter().all(|body| !body.contains(PROVIDER_KEY)), "{bodies:?}");
}

fn all_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => all_files(&path, found),
            path => found.push(path),
        }
    }
}

/// The place in a text, for whoever must find out how it came there.
fn around(text: &str, words: &str) -> String {
    let at = text.find(words).unwrap_or(0);
    let (start, end) = (text.floor_char_boundary(at.saturating_sub(200)), text.ceil_char_boundary(at + 200));
    text[start..end.min(text.len())].to_owned()
}
