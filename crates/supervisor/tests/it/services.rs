//! Services: a small web server in Python that dies, forgets and comes back.

use std::net::TcpListener;

use steadfast_supervisor::Task;

use super::{Folder, Story, run};

/// A service that counts its starts and knows who registered.
fn config(folder: &Folder, port: u16) -> String {
    let server = folder.0.join("server.py");
    let (starts, registered) = (folder.0.join("starts"), folder.0.join("registered"));
    let script = format!(
        r#"
import http.server, os
open({starts:?}, "a").write("x")
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/die":
            os._exit(1)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
"#
    );
    std::fs::write(&server, script).unwrap();
    format!(
        r#"
[services.mail]
health = "http://127.0.0.1:{port}/health"
start = ["python3", "{}"]
settle = "20s"
cooldown = "1s"
register = ["sh", "-c", "echo {{project}} >> {}"]
[policies.quick]
extends = "default"
[policies.quick.on]
state_lost = [{{ repair = 2 }}, "give_up"]
default = [{{ retry = 1, every = "1200ms" }}]
[projects.default]
policy = "quick"
"#,
        server.display(),
        registered.display()
    )
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn a_dead_service_is_started_before_an_attempt_and_what_it_forgot_is_told_again() {
    let (folder, story) = (Folder::new(), Story::default());
    let port = free_port();
    let fleet = folder.fleet(&config(&folder, port));
    // The first attempt finds its state lost, and is repeated without counting as a retry.
    let script = format!(
        "[ $STEADFAST_ATTEMPT = 1 ] && {{ echo 'project not found: register first' >&2; exit 1; }}; test -s {}/registered",
        folder.0.display()
    );
    let command = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let result = run(&fleet, Task { command, ..Task::default() }, &story).await;
    assert!(result.success, "{result:?}");
    assert_eq!(story.decisions(), ["state_lost repair"]);
    assert_eq!((folder.read("starts").as_str(), folder.read("registered").as_str()), ("x", "default\ndefault\n"));
    let [status] = &fleet.services.status()[..] else { panic!() };
    assert!(status.healthy && status.started_here && status.starts == 1, "{status:?}");
}

#[tokio::test]
async fn a_service_that_dies_comes_back_and_never_twice_at_once() {
    let folder = Folder::new();
    let port = free_port();
    let fleet = folder.fleet(&config(&folder, port));
    let ready = futures(&fleet, 8).await;
    assert!(ready.iter().all(|ready| *ready), "{ready:?}");
    assert_eq!(folder.read("starts"), "x", "eight ask at once, and one starts it");
    let _ = std::process::Command::new("python3")
        .args([
            "-c",
            &format!(
                "import urllib.request as u\ntry: u.urlopen('http://127.0.0.1:{port}/die')\nexcept Exception: pass"
            ),
        ])
        .status();
    super::eventually("the cooldown is over and it is back", || folder.read("starts").len() == 1).await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    assert!(fleet.services.ready("default").await);
    assert_eq!(folder.read("starts"), "xx");
}

async fn futures(fleet: &std::sync::Arc<steadfast_supervisor::Fleet>, count: usize) -> Vec<bool> {
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..count {
        let fleet = std::sync::Arc::clone(fleet);
        all.spawn(async move { fleet.services.ready("default").await });
    }
    all.join_all().await
}

#[tokio::test]
async fn a_service_that_is_restarted_takes_its_children_with_it() {
    let folder = Folder::new();
    let pids = folder.0.join("pids").display().to_string();
    let start = format!("sleep 300 & echo $! >> {pids}; setsid sleep 300 & echo $! >> {pids}; wait");
    let fleet = folder.fleet(&format!(
        "[services.dead]\nhealth = \"http://127.0.0.1:{}/\"\nstart = [\"sh\", \"-c\", \"{start}\"]\nsettle = \"1s\"\ncooldown = \"1s\"",
        free_port()
    ));
    while folder.read("pids").lines().count() < 2 {
        assert!(!fleet.services.ready("default").await);
    }
    let first: Vec<String> = folder.read("pids").lines().take(2).map(str::to_owned).collect();
    assert!(!fleet.services.ready("default").await);
    super::eventually("both are gone", || first.iter().all(|pid| !super::processes::is_alive(pid))).await;
}
