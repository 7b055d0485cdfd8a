//! `steadfast doctor` against a real gateway and a real provider, well and not.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::serve::{Provider, Server};
use super::{Folder, Transcript};

/// A gateway with one endpoint of each format, all at the fake.
fn stage(folder: &Folder, provider: &Provider) -> Server {
    let mut file = "[log]\ndecisions = { path = \"log/decisions.jsonl\" }\n".to_owned();
    for dialect in ["openai", "anthropic", "gemini"] {
        file +=
            &format!("[endpoints.{dialect}]\ndialect = \"{dialect}\"\nurl = \"{}\"\n", provider.fake.endpoint_url("a"));
    }
    folder.write("steadfast.toml", &file);
    Server::start(folder, &[], &[])
}

impl Folder {
    fn doctor(&self, arguments: &[&str], more: &[(&str, &str)]) -> Transcript {
        let home = self.0.display().to_string();
        self.run_with(&[&["doctor"], arguments].concat(), &[&[("HOME", home.as_str())], more].concat())
    }

    /// The verdict and the words of one check.
    #[track_caller]
    fn finding(&self, check: &str, arguments: &[&str]) -> (i32, String, String) {
        let said = self.doctor(&[arguments, &["--json"]].concat(), &[]);
        let report: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
        assert_eq!(report["ok"], said.code == 0, "{report}");
        let checks = report["checks"].as_array().unwrap();
        let found = checks.iter().find(|found| found["check"] == check);
        let found = found.unwrap_or_else(|| panic!("no {check} in {report:#}"));
        let words = format!("{} -> {}", found["what"].as_str().unwrap(), found["fix"].as_str().unwrap_or("-"));
        (said.code, found["verdict"].as_str().unwrap().to_owned(), words)
    }

    #[track_caller]
    fn finds(&self, check: &str, arguments: &[&str], code: i32, verdict: &str, words: &str) {
        let found = self.finding(check, arguments);
        assert_eq!((found.0, found.1.as_str()), (code, verdict), "{check}: {}", found.2);
        assert!(found.2.contains(words), "{check}: {}", found.2);
    }
}

#[test]
fn all_is_well() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let server = stage(&folder, &provider);
    let address = ["--listen", server.address()];
    let setup = folder.run_with(
        &["setup", "claude", "--write", "--listen", server.address()],
        &[("HOME", &folder.0.display().to_string())],
    );
    assert_eq!(setup.code, 0, "{setup:?}");
    let said = folder.doctor(&address, &[("OPENAI_BASE_URL", &format!("http://{}/v1", server.address()))]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{said:?}");
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines.last().unwrap().ends_with("checks, 0 to look at, 0 failed"), "{said:?}");
    for check in ["configuration", "decision log", "endpoint openai", "gateway", "ready", "client claude", "request"] {
        assert!(lines.iter().any(|line| line.starts_with(&format!("pass  {check}"))), "{check}: {}", said.stdout);
    }
    assert!(said.stdout.contains("pass  variable OPENAI_BASE_URL"), "{}", said.stdout);
    let requests = provider.fake.requests();
    let paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/v1/models"], "the one request that doctor sends has arrived");
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let fake = provider.fake.addr().to_string();
    let endpoint = format!("[endpoints.a]\ndialect = \"openai\"\nurl = \"http://{fake}\"\n");
    folder.write("steadfast.toml", &endpoint);
    folder.finds("gateway", &["--listen", &nobody], 1, "fail", "nothing answers on http://127.0.0.1:");
    folder.finds("gateway", &["--listen", &nobody], 1, "fail", "-> start `steadfast serve`");
    folder.finds("gateway", &["--listen", &fake], 1, "fail", "but it is not Steadfast");

    folder.write("steadfast.toml", &format!("{endpoint}key = {{ env = \"NO_SUCH_KEY\" }}\n"));
    folder.finds("endpoint a", &["--listen", &nobody], 1, "fail", "NO_SUCH_KEY");
    folder.write("steadfast.toml", &format!("[endpoints.a]\ndialect = \"openai\"\nurl = \"http://{nobody}\"\n"));
    folder.finds("endpoint a", &["--listen", &nobody], 1, "fail", "no connection to 127.0.0.1:");
    folder.write("steadfast.toml", &format!("{endpoint}[log]\ndecisions = {{ path = \".\" }}\n"));
    folder.finds("decision log", &["--listen", &nobody], 1, "fail", "cannot be written");
    folder.write("steadfast.toml", "listen = 7\n");
    folder.finds("configuration", &[], 1, "fail", "steadfast.toml:1");
}

#[test]
fn a_request_that_fails_is_told_with_its_story() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let server = stage(&folder, &provider);
    let address = ["--listen", server.address()];
    provider.script("a", "status=401");
    folder.finds("request", &address, 0, "pass", "asks for a key");
    provider.script("a", "status=404");
    folder.finds("request", &address, 0, "warn", "-> `steadfast why req_");
}

#[test]
fn clients_that_go_elsewhere_are_named() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let server = stage(&folder, &provider);
    let address = ["--listen", server.address()];
    folder.write(".claude/settings.json", "{}");
    folder.finds("client claude", &address, 0, "warn", "-> `steadfast setup claude --write`");
    let longer = format!("{{\"env\":{{\"ANTHROPIC_BASE_URL\":\"http://{}0\"}}}}", server.address());
    folder.write(".claude/settings.json", &longer);
    folder.finds("client claude", &address, 0, "warn", "does not name the gateway");
    let project = format!("{{\"env\":{{\"ANTHROPIC_BASE_URL\":\"http://{}/p/acme\"}}}}", server.address());
    folder.write(".claude/settings.json", &project);
    folder.finds("client claude", &address, 0, "pass", "names the gateway");
    let local = format!("http://localhost:{}/", server.address().rsplit_once(':').unwrap().1);
    let said = folder.doctor(&address, &[("ANTHROPIC_BASE_URL", &local)]);
    assert!(said.stdout.contains("pass  variable ANTHROPIC_BASE_URL"), "{said:?}");
    let said = folder.doctor(&address, &[("ANTHROPIC_BASE_URL", "http://user:secret-word@elsewhere")]);
    assert!(said.stdout.contains("warn  variable ANTHROPIC_BASE_URL"), "{said:?}");
    assert!(!said.stdout.contains("secret-word"), "an address may hold a password: {said:?}");
    assert!(!said.stdout.contains("client codex"), "who is not used is not mentioned: {said:?}");
}

#[test]
fn it_waits_for_the_client_itself() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let server = stage(&folder, &provider);
    let waiting = |client: &str, wait: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
        command.args(["doctor", "--listen", server.address(), "--client", client, "--wait", wait]);
        command.current_dir(&folder.0).env_clear().env("HOME", &folder.0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut child = waiting("claude", "20");
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "waiting up to 20 s for a request: use claude now\n");
    let chat = r#"{"model":"gpt-x","messages":[{"role":"user","content":"hi"}]}"#;
    assert!(server.ask("POST /v1/chat/completions HTTP/1.1\r\n", chat).contains("200 OK"));
    let messages = r#"{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}"#;
    assert!(server.ask("POST /v1/messages HTTP/1.1\r\n", messages).contains("200 OK"));
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert!(said.contains("pass  request of claude      a request for claude-x has arrived (req_"), "{said}");

    let nobody = waiting("gemini", "1").wait_with_output().unwrap();
    let said = String::from_utf8(nobody.stdout).unwrap();
    assert!(!nobody.status.success() && said.contains("fail  request of gemini      none arrived in 1 s"), "{said}");
}
