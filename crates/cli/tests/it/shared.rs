//! Shared state as an operator meets it: what `serve` says and how often, what `doctor` finds.

use steadfast_stage::Redis;

use super::Folder;
use super::serve::{Provider, Server};

const AWAY: &str = "replicas share nothing";

/// A file with one endpoint, a limited project, and this address.
fn write(folder: &Folder, provider: &Provider, url: &str) {
    let url_of_fake = provider.fake.endpoint_url("a");
    folder.write(
        "steadfast.toml",
        &format!(
            "[endpoints.openai]\ndialect = \"openai\"\nurl = \"{url_of_fake}\"\n[projects.default]\nspend = {{ usd_per_day = 5.0 }}\n\
             rate = {{ requests_per_minute = 1000 }}\n[models.gpt-4o]\nendpoints = [\"openai\"]\n[shared]\nurl = \"{url}\"\n"
        ),
    );
}

fn ask(server: &Server) -> String {
    let body = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hello"}]}"#;
    server.ask("POST /v1/chat/completions HTTP/1.1\r\ncontent-type: application/json\r\n", body)
}

#[test]
fn redis_that_goes_and_comes_is_told_once_each() {
    let (folder, provider, mut redis) = (Folder::new(), Provider::start(), Redis::start());
    write(&folder, &provider, &redis.url());
    let server = Server::start(&folder, &[], &[]);
    let is_up =
        |up: &str| server.ask("GET /metrics HTTP/1.1\r\n", "").contains(&format!("\nsteadfast_shared_up {up}\n"));
    server.until("it shares", || is_up("1"));
    assert!(ask(&server).starts_with("HTTP/1.1 200"));
    redis.kill();
    server.hears(AWAY);
    for _ in 0..20 {
        assert!(ask(&server).starts_with("HTTP/1.1 200"));
    }
    redis.resume();
    server.hears("the shared state is back");
    server.until("it shares again", || is_up("1"));
    assert!(ask(&server).starts_with("HTTP/1.1 200"));
    let said = server.said();
    assert_eq!((said.matches(AWAY).count(), said.matches("state is back: ").count()), (1, 1), "{said}");
}

#[test]
fn a_wrong_address_or_password_is_told_once_and_doctor_knows() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let redis = Redis::with_password("right-password-77");
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let wrong = redis.url().replace("right-password-77", "wrong-password-88");
    for (url, why) in [(format!("redis://{nobody}"), "refused"), (wrong, "assword")] {
        write(&folder, &provider, &url);
        let server = Server::start(&folder, &[], &[]);
        server.hears(AWAY);
        assert!(ask(&server).starts_with("HTTP/1.1 200"));
        assert!(server.ask("GET /ready HTTP/1.1\r\n", "").starts_with("HTTP/1.1 200"));
        std::thread::sleep(std::time::Duration::from_millis(500));
        let said = server.said();
        assert_eq!(said.matches(AWAY).count(), 1, "{said}");
        assert!(said.contains(why) && !said.contains("password-88"), "{said}");
        let found = folder.run_with(&["doctor", "--json"], &[("HOME", &folder.0.display().to_string())]);
        let report: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["check"] == "shared state").unwrap();
        assert_eq!(check["verdict"], "fail", "{check}");
        assert!(!found.stdout.contains("password-88"), "{check}");
    }
    write(&folder, &provider, &redis.url());
    let found = folder.run_with(&["doctor", "--json"], &[("HOME", &folder.0.display().to_string())]);
    let report: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    let told =
        report["checks"].as_array().unwrap().iter().find(|check| check["check"] == "shared state").unwrap().to_string();
    assert!(told.contains("pass") && told.contains("edis"), "{told}");
}
