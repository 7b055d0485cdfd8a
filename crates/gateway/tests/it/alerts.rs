//! Alerts as people are told of them: a webhook, a program, the log.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{LIMIT, Speaks, Stage, USUAL};

/// Reads one posted request and answers with `status`; returns its head and body.
pub(crate) async fn take(listener: &TcpListener, status: &str) -> (String, Value) {
    let (mut socket, _) = tokio::time::timeout(LIMIT, listener.accept()).await.expect("a post in time").unwrap();
    let request = read_request(&mut socket).await;
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    socket.write_all(answer.as_bytes()).await.unwrap();
    request
}

/// What another program makes of the signature: time and hex of the HMAC over both.
fn signed(secret: &str, seconds: &str, body: &str) -> String {
    let program = "import hmac, sys; print(hmac.new(sys.argv[1].encode(), sys.argv[2].encode(), 'sha256').hexdigest())";
    let text = format!("{seconds}.{body}");
    let told = std::process::Command::new("python3").args(["-c", program, secret, &text]).output().unwrap();
    format!("t={seconds},v1={}", String::from_utf8(told.stdout).unwrap().trim())
}

/// A stage that posts its alerts, signed, and has something to post.
async fn signing(hook: &TcpListener) -> Stage {
    let address = hook.local_addr().unwrap();
    let alerts = format!("[alerts]\nwebhook = \"http://{address}/hook\"\nsecret = {{ env = \"TEST_TOKEN\" }}");
    let stage = Stage::new(&format!("{USUAL}\n{alerts}")).await;
    stage.script("a", "server_error");
    stage.script("b", "server_error");
    assert!(stage.send(Speaks::Messages.request(false)).await.status.is_server_error());
    stage.script("a", "ok");
    stage.script("b", "ok");
    stage
}

#[tokio::test]
async fn a_post_is_signed_anew_each_time_and_one_that_is_refused_is_not_repeated() {
    let hook = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stage = signing(&hook).await;
    let mut times = Vec::new();
    for status in ["503 Service Unavailable", "400 Bad Request"] {
        let (head, body) = take(&hook, status).await;
        let line = head.lines().find_map(|line| line.strip_prefix("x-steadfast-signature: ")).unwrap().to_owned();
        let time = line.strip_prefix("t=").unwrap().split(',').next().unwrap().to_owned();
        assert_eq!(line, signed("admin-token-1234567890", &time, &body.to_string()), "{body}");
        assert_eq!(body["state"], "raised", "{body}");
        times.push(time);
    }
    assert_ne!(times[0], times[1], "what is repeated is signed with its own time");
    ask_elsewhere(&stage).await;
    let (_, next) = take(&hook, "200 OK").await;
    assert_eq!(next["alert"], "in_a_row", "the one that was refused is not posted again");
}

#[tokio::test]
async fn an_alert_that_nobody_takes_is_given_up_after_five_posts() {
    let hook = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stage = signing(&hook).await;
    ask_elsewhere(&stage).await;
    for post in 1..=5 {
        let (_, body) = take(&hook, "500 Internal Server Error").await;
        assert_eq!(body["alert"], "chain_failed", "post {post}");
    }
    let (_, next) = take(&hook, "200 OK").await;
    assert_eq!(next["alert"], "in_a_row", "the next one has its turn");
}

async fn read_request(socket: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return (head.to_lowercase(), body);
        }
        assert!(socket.read_buf(&mut bytes).await.unwrap() > 0, "the post broke off: {text}");
    }
}

#[tokio::test]
async fn an_alert_is_posted_until_it_is_taken_and_given_to_a_program() {
    let hook = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let told = std::env::temp_dir().join(format!("steadfast-alert-{}", hook.local_addr().unwrap().port()));
    let stage = Stage::new(&format!(
        "{USUAL}\n[alerts]\nwebhook = \"http://{}/hook\"\ncommand = [\"sh\", \"-c\", \"cat > {}\"]",
        hook.local_addr().unwrap(),
        told.display()
    ))
    .await;
    stage.script("a", "server_error");
    stage.script("b", "server_error");
    assert!(stage.send(Speaks::Messages.request(false)).await.status.is_server_error());

    let (_, first) = take(&hook, "503 Service Unavailable").await;
    let (head, again) = take(&hook, "204 No Content").await;
    assert_eq!(first, again, "what was not taken is posted again");
    assert!(head.starts_with("post /hook ") && head.contains("content-type: application/json"), "{head}");
    assert!(!head.contains("x-steadfast-signature"), "there is no secret to sign with");
    assert_eq!((&again["alert"], &again["state"]), (&"chain_failed".into(), &"raised".into()), "{again}");
    assert!(again["text"].as_str().unwrap().starts_with("every model in the chain of"), "{again}");

    let read = || std::fs::read_to_string(&told).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let given = tokio::time::timeout(LIMIT, async {
        loop {
            match read() {
                Some(given) => return given,
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    });
    assert_eq!(given.await.expect("the program is run"), again);
    std::fs::remove_file(told).unwrap();

    stage.script("b", "ok");
    ask_elsewhere(&stage).await;
    let (_, begun) = take(&hook, "200 OK").await;
    assert_eq!((&begun["alert"], &begun["state"]), (&"in_a_row".into(), &"raised".into()), "{begun}");
    stage.script("a", "ok");
    assert!(stage.send(Speaks::Messages.request(true)).await.status.is_success());
    let (_, over) = take(&hook, "200 OK").await;
    assert_eq!((&over["alert"], &over["state"]), (&"in_a_row".into(), &"resolved".into()), "{over}");
    // The chain has served, and not yet for long.
    assert_eq!(
        stage.events("alert", &["alert", "state"]),
        ["chain_failed raised", "in_a_row raised", "in_a_row resolved"]
    );
}

/// As many failures of the first model as it takes to be told of them, and of the project not yet; the second serves.
/// Another turn than the one that failed, which is answered from memory.
async fn ask_elsewhere(stage: &Stage) {
    stage.script("a", "status=404");
    for _ in 0..3 {
        let answer = stage.send(Speaks::Messages.request(true)).await;
        assert!(answer.status.is_success(), "{}", answer.text());
    }
}
