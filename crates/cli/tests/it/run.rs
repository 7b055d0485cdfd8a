//! `steadfast run` and `spawn` as processes: output, exit codes, Ctrl-C, and what is left behind.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Folder;

const CONFIG: &str = r#"
[policies.quick]
extends = "session-manager"
[policies.quick.on]
rate_limit = [{ retry = 1, every = "10ms" }, "fallback"]
default = [{ retry = 1, every = "10ms" }, "fallback"]
[projects.default]
policy = "quick"
"#;

/// Nothing of the machine's own but where programs are.
fn environment(folder: &Folder) -> Vec<(String, String)> {
    let home = folder.0.display().to_string();
    vec![("HOME".to_owned(), home), ("PATH".to_owned(), std::env::var("PATH").unwrap())]
}

fn run(folder: &Folder, arguments: &[&str]) -> super::Transcript {
    let environment = environment(folder);
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    folder.run_with(arguments, &environment)
}

fn configured() -> Folder {
    let folder = Folder::new();
    folder.write("steadfast.toml", CONFIG);
    folder
}

#[test]
fn a_command_passes_through_as_if_nobody_were_there() {
    let folder = configured();
    run(&folder, &["run", "--", "sh", "-c", "echo out; echo err >&2"]).assert(0, "out\n", "err\n");
}

#[test]
fn a_failure_is_retried_and_told_and_the_story_is_in_the_log() {
    let folder = configured();
    let script =
        "echo $STEADFAST_MODEL; [ $STEADFAST_MODEL = b ] || { echo 'HTTP 429 Too Many Requests' >&2; exit 1; }";
    let done = run(&folder, &["run", "--model", "a", "--chain", "b", "--label", "w", "--", "sh", "-c", script]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "a\na\nb\n"), "{done:?}");
    assert!(done.stderr.contains("steadfast: rate_limit") && done.stderr.contains("fallback to b"), "{done:?}");
    let fallbacks = folder.read(".local/state/steadfast/fallback_decisions.jsonl");
    let entry: serde_json::Value = serde_json::from_str(fallbacks.lines().next().unwrap()).unwrap();
    let told = |name: &str| entry[name].as_str().unwrap().to_owned();
    assert_eq!((told("original_model"), told("fallback_model")), ("a".to_owned(), "b".to_owned()));
    assert_eq!((told("error_type"), told("label")), ("rate_limit".to_owned(), "w".to_owned()));
    assert_eq!((entry["attempt"].as_u64(), entry["max_attempts"].as_u64()), (Some(2), Some(20)));
    let story = run(&folder, &["why", &told("task_id")]);
    assert!(story.code == 0 && story.stdout.contains("rate_limit"), "{story:?}");
}

#[test]
fn exit_codes_say_how_it_ended() {
    let folder = configured();
    let code = |arguments: &[&str]| run(&folder, arguments).code;
    assert_eq!(code(&["run", "--", "sh", "-c", "exit 7"]), 1);
    assert_eq!(code(&["run", "--", "sh", "-c", "exit 75"]), 75);
    assert_eq!(code(&["run", "--", "/no/such/program"]), 1);
    assert_eq!(code(&["run"]), 1);
    assert_eq!(code(&["run", "--nonsense"]), 2);
    let nothing = run(&folder, &["run", "--agent", "claude"]);
    assert!(nothing.stderr.contains("the agent is told nothing"), "{nothing:?}");
    let unknown = run(&folder, &["run", "--agent", "clyde", "-t", "x"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("there is no agent `clyde`"), "{unknown:?}");
}

#[test]
fn programs_get_a_line_for_everything_and_the_result_last() {
    let folder = configured();
    let done = run(&folder, &["run", "--json", "--model", "m", "--", "echo", "{model}"]);
    let lines: Vec<serde_json::Value> = done.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(events, ["start", "attempt", "success", "outcome"]);
    let result = &lines.last().unwrap()["result"];
    assert_eq!((result["success"].as_bool(), result["result"].as_str()), (Some(true), Some("m\n")));
    for name in ["session_id", "model_used", "attempts", "fallback_chain", "error"] {
        assert!(result.get(name).is_some(), "{name} is missing in {result}");
    }
}

#[test]
fn many_tasks_of_a_file_and_what_became_of_them() {
    let folder = configured();
    folder.write(
        "tasks.toml",
        r#"
fallback_order = ["b"]
[[tasks]]
label = "good"
model = "a"
command = ["sh", "-c", "echo fine"]
[[tasks]]
label = "moved"
model = "a"
command = ["sh", "-c", "[ $STEADFAST_MODEL = b ] || { echo 'model not found' >&2; exit 1; }"]
[[tasks]]
label = "bad"
model = "a"
command = ["false"]
"#,
    );
    let done = run(&folder, &["spawn", "--file", "tasks.toml", "--json"]);
    let last: serde_json::Value = serde_json::from_str(done.stdout.lines().last().unwrap()).unwrap();
    let result = &last["result"];
    assert_eq!(done.code, 1);
    assert_eq!((result["success"].as_bool(), result["fallback_applied"].as_u64()), (Some(false), Some(1)));
    assert_eq!(result["failed"], serde_json::json!(["bad"]));
    let models: Vec<&str> =
        result["workers"].as_array().unwrap().iter().map(|w| w["model_used"].as_str().unwrap()).collect();
    assert_eq!(models, ["a", "b", "b"]);
    let told = run(&folder, &["spawn", "--quiet", "--label", "w", "one", "two", "--", "echo", "{task}", "{label}"]);
    assert_eq!((told.code, told.stdout.lines().count()), (0, 2));
    assert!(
        told.stdout.starts_with("w  succeeded  echo  1 attempt") && told.stdout.contains("w-2  succeeded"),
        "{told:?}"
    );
}

/// Starts `steadfast run` and waits until the command has said a line, which is returned.
fn started(folder: &Folder, script: &str) -> (std::process::Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
    command.args(["run", "--", "sh", "-c", script]).current_dir(&folder.0).env_clear().envs(environment(folder));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().to_owned())
}

fn signal(child: &std::process::Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn gone(pid: &str) -> bool {
    let limit = Instant::now() + Duration::from_secs(20);
    while Instant::now() < limit {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn ctrl_c_ends_the_whole_group_and_says_130() {
    let folder = configured();
    let (mut child, pid) = started(&folder, "sleep 300 & echo $!; wait");
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(gone(&pid));
}

#[test]
fn a_supervisor_that_is_killed_leaves_nobody_behind() {
    let folder = configured();
    let (mut child, pid) = started(&folder, "trap '' TERM HUP; setsid sleep 300 & echo $!; wait");
    signal(&child, "-KILL");
    child.wait().unwrap();
    assert!(gone(&pid), "the guard ends what its supervisor cannot");
}

#[test]
fn tasks_left_to_a_worker_are_listed_shown_followed_stopped_and_repeated() {
    let folder = configured();
    let left = run(&folder, &["spawn", "--detach", "--quiet", "one", "two", "--", "echo", "{task}", "by {label}"]);
    assert_eq!((left.code, left.stdout.lines().count()), (0, 2), "{left:?}");
    let (one, two) = left.stdout.trim().split_once('\n').unwrap();
    assert_eq!(run(&folder, &["tasks", "cancel", two]).stderr, format!("{two}: stopped\n"));
    let worked = run(&folder, &["tasks", "work", "--drain"]);
    assert_eq!((worked.code, worked.stdout.as_str()), (0, ""), "{worked:?}");
    let list = run(&folder, &["tasks", "list"]).stdout;
    assert!(list.contains(&format!("{one}  succeeded  task-1")), "{list}");
    assert!(list.contains(&format!("{two}  cancelled  task-2")), "{list}");
    assert_eq!(run(&folder, &["tasks", "logs", &one[..12]]).stdout, "one by task-1\n");
    let shown = run(&folder, &["tasks", "show", one, "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((shown["result"]["success"].as_bool(), shown["attempts"].as_i64()), (Some(true), Some(1)));
    assert_eq!(run(&folder, &["tasks", "retry", two]).code, 0);
    assert_eq!(run(&folder, &["tasks", "work", "--drain"]).code, 0);
    assert_eq!(run(&folder, &["tasks", "attach", two]).stdout, "two by task-2\n");
    let unknown = run(&folder, &["tasks", "show", "task_nosuch"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("there is no task `task_nosuch`"), "{unknown:?}");
}

#[test]
fn a_server_runs_what_was_left_to_it() {
    let folder = configured();
    let server = super::serve::Server::start(&folder, &[], &[("PATH", &std::env::var("PATH").unwrap())]);
    let left = run(&folder, &["run", "--detach", "--quiet", "--", "sh", "-c", "echo served by $STEADFAST_GATEWAY"]);
    let id = left.stdout.trim().to_owned();
    let followed = run(&folder, &["tasks", "attach", &id]);
    assert!(followed.stdout.starts_with("served by http://127.0.0.1:"), "{followed:?}");
    assert!(followed.stdout.contains(&format!("/s/{id}")), "calls and task share a session: {followed:?}");
    drop(server);
}

#[test]
fn a_server_runs_tasks_as_it_is_configured_now_and_points_nobody_at_a_door_that_stays_closed() {
    let folder = configured();
    let (path, key) = (std::env::var("PATH").unwrap(), ("TEAM_KEY", "team-key-1234567890"));
    let server = super::serve::Server::start(&folder, &[], &[("PATH", &path), key]);
    folder.write(
        "steadfast.toml",
        &format!("{CONFIG}[projects.team]\nkeys = [{{ env = \"TEAM_KEY\" }}]\n[projects.open]\n"),
    );
    server.hears("configuration reloaded");
    let environment = environment(&folder);
    let mut known: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    known.push(key);
    let told = |project: &str, show: &str| {
        let line = ["run", "--detach", "--quiet", "--project", project, "--", "sh", "-c", show];
        let left = folder.run_with(&line, &known);
        folder.run_with(&["tasks", "attach", left.stdout.trim()], &known).stdout
    };
    let show = "echo at ${STEADFAST_GATEWAY:-nowhere}";
    assert!(told("open", show).starts_with("at http://127.0.0.1:"), "{}", server.said());
    // The server's own environment holds the key, so its agents do.
    assert!(told("team", show).starts_with("at http://127.0.0.1:"), "{}", server.said());
    drop(server);
    folder.write("key", key.1);
    folder.write("steadfast.toml", &format!("{CONFIG}[projects.team]\nkeys = [{{ file = \"key\" }}]\n"));
    let server = super::serve::Server::start(&folder, &[], &[("PATH", &path)]);
    assert_eq!(told("team", show), "at nowhere\n", "{}", server.said());
    server.hears("agents are not pointed at the gateway");
}

#[test]
fn a_page_of_our_own_may_stop_a_task_whatever_the_machine_is_called() {
    let folder = configured();
    folder.write("steadfast.toml", &format!("{CONFIG}[admin]\ntoken = {{ env = \"TOKEN\" }}\n"));
    let server = super::serve::Server::start(&folder, &[], &[("TOKEN", "token-1234567890")]);
    let asked = |origin: &str| {
        let head = "authorization: Bearer token-1234567890\r\ncontent-type: application/json\r\n";
        server.ask(&format!("POST /api/tasks/nosuch/cancel HTTP/1.1\r\nhost: x\r\n{head}origin: {origin}\r\n"), "{}")
    };
    assert!(asked("http://x").starts_with("HTTP/1.1 404 "), "{}", asked("http://x"));
    assert!(asked("http://evil.example").starts_with("HTTP/1.1 403 "));
}

#[test]
fn what_a_task_wrote_is_told_to_its_end_and_to_those_who_may_see_it() {
    let folder = configured();
    let key = ("TEAM_KEY", "team-key-1234567890");
    folder.write("steadfast.toml", &format!("{CONFIG}[projects.team]\nkeys = [{{ env = \"TEAM_KEY\" }}]\n"));
    let mut environment = environment(&folder);
    environment.push((key.0.to_owned(), key.1.to_owned()));
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    // More than one file of a log holds.
    let script = "echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last";
    let left = folder.run_with(&["run", "--detach", "--quiet", "--", "sh", "-c", script], &environment);
    let id = left.stdout.trim();
    assert_eq!(folder.run_with(&["tasks", "work", "--drain"], &environment).code, 0);
    let logged = folder.run_with(&["tasks", "logs", id], &environment).stdout;
    assert!(logged.starts_with("first\nx") && logged.ends_with("x\nlast\n") && logged.len() > 5_000_000);
    let server = super::serve::Server::start(&folder, &[], &[key]);
    let told = |more: &str| server.ask(&format!("GET /api/tasks/{id}/log?bytes=7 HTTP/1.1\r\n{more}"), "");
    let mine = told("host: localhost\r\n");
    assert!(mine.ends_with(r#"{"text":"x\nlast\n","whole":false}"#), "{mine}");
    let theirs = told("host: localhost\r\nauthorization: Bearer team-key-1234567890\r\n");
    assert!(theirs.starts_with("HTTP/1.1 404 "), "{theirs}");
}

#[test]
fn a_task_is_seen_by_its_project_stopped_by_it_and_nobody_elses_business_route_by_route() {
    let folder = configured();
    let keys = "[admin]\ntoken = { env = \"TOKEN\" }\n[projects.team]\nkeys = [{ env = \"TEAM_KEY\" }]\n\
                [projects.zeta]\nkeys = [{ env = \"ZETA_KEY\" }]\n";
    folder.write("steadfast.toml", &format!("{CONFIG}{keys}"));
    let (token, team, zeta) = ("token-1234567890", "team-key-1234567890", "zeta-key-1234567890");
    let path = std::env::var("PATH").unwrap();
    let known = [("TOKEN", token), ("TEAM_KEY", team), ("ZETA_KEY", zeta), ("PATH", path.as_str())];
    let server = super::serve::Server::start(&folder, &[], &known);
    let ask = |key: Option<&str>, method: &str, path: &str, body: &str| {
        let key = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{key}");
        let answer = server.ask(&head, body);
        let status: u16 = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, answer)
    };
    let tasks = r#"{"tasks":[{"task":"zeta-secret","label":"zeta-label","project":"zeta","command":["true"]}]}"#;
    let (_, added) = ask(Some(token), "POST", "/api/tasks", tasks);
    let id = added.split("\"ids\":[\"").nth(1).and_then(|ids| ids.split('"').next()).expect(&added).to_owned();

    // Method, path, body, and what the project itself gets; another one is told of no such task, or not allowed at all.
    let table = [
        ("GET", "/api/tasks", "", 200),
        ("POST", "/api/tasks", tasks, 403),
        ("GET", "/api/tasks/{id}", "", 200),
        ("GET", "/api/tasks/{id}/log", "", 200),
        ("POST", "/api/tasks/{id}/cancel", "{}", 200),
        ("POST", "/api/tasks/{id}/retry", "{}", 403),
        ("GET", "/api/services", "", 403),
        ("GET", "/api/agents", "", 403),
    ];
    let (_, document) = ask(Some(token), "GET", "/api/openapi.json", "");
    let document: serde_json::Value = serde_json::from_str(document.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let served: std::collections::BTreeSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(path, _)| ["/api/tasks", "/api/services", "/api/agents"].iter().any(|ours| path.starts_with(ours)))
        .flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| (method, path)))
        .map(|(method, path)| format!("{} {path}", method.to_uppercase()))
        .collect();
    let listed = table.iter().map(|(method, path, ..)| format!("{method} {path}")).collect();
    assert_eq!(served, listed, "every route has its line in the table");

    for (method, path, body, own) in table {
        let there = path.replace("{id}", &id);
        assert_eq!(ask(None, method, &there, body).0, 401, "{method} {path} without a key");
        let elses = ask(Some(team), method, &there, body);
        let expected = if path.contains("{id}") && own == 200 { 404 } else { own };
        assert_eq!(elses.0, expected, "{method} {path} of another project: {}", elses.1);
        assert!(!elses.1.contains("zeta-"), "{method} {path}: {}", elses.1);
        let mine = ask(Some(zeta), method, &there, body);
        assert_eq!(mine.0, own, "{method} {path} of its own project: {}", mine.1);
    }
    assert!(ask(Some(zeta), "GET", "/api/tasks", "").1.contains("zeta-label"));
    assert_eq!(ask(Some(team), "GET", "/api/tasks?project=zeta", "").0, 403);
}

#[test]
fn as_many_run_at_once_as_are_allowed_and_people_see_how_far_they_are() {
    let folder = configured();
    // Each waits until it is let go, so that the picture can be looked at.
    folder.write("work", "echo + >> log; while [ ! -e go ]; do sleep 0.05; done; sleep 0.1; echo - >> log\n");
    let home = format!("HOME={}", folder.0.display());
    let line = "spawn -P 2 --no-gateway one two three four five -- sh work";
    let screen = super::screen::Screen::open(&folder, line, &[&home]);
    screen.until(&["0/5", "task-1: sh", "task-2: sh"]);
    folder.write("go", "");
    screen.until(&["task-5  succeeded"]);
    let mut running = 0;
    let log = folder.read("log");
    let at_once = log.lines().map(|line| {
        running += if line == "+" { 1 } else { -1 };
        running
    });
    assert_eq!(at_once.max(), Some(2), "{log}");
    assert_eq!(log.lines().count(), 10);
}

#[test]
fn a_service_that_is_not_well_is_told_once_and_reported() {
    let folder = configured();
    folder.write("steadfast.toml", &format!("{CONFIG}[services.mail]\nhealth = \"http://127.0.0.1:1/\"\n"));
    let path = std::env::var("PATH").unwrap();
    let server = super::serve::Server::start(&folder, &[], &[("PATH", &path)]);
    for _ in 0..3 {
        let left = run(&folder, &["run", "--detach", "--quiet", "--", "echo", "worked"]);
        let followed = run(&folder, &["tasks", "attach", left.stdout.trim()]);
        assert_eq!(followed.stdout, "worked\n", "a service that does not come back stops nobody: {followed:?}");
    }
    assert_eq!(server.said().matches("the service is not well").count(), 1, "{}", server.said());
    let answer = server.ask("GET /api/services HTTP/1.1\r\n", "");
    let body: serde_json::Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let mail = &body["services"][0];
    assert_eq!((&mail["name"], &mail["healthy"], &mail["failure_rate"]), (&"mail".into(), &false.into(), &1.0.into()));
}

/// A control group with little memory, gone afterwards; `None` where nobody may make one.
struct Cramped(std::path::PathBuf);

impl Cramped {
    fn new() -> Option<Self> {
        let (name, bytes) = (format!("steadfast-test-{}", std::process::id()), "100000000");
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = |prefix: &str| own.lines().find_map(|line| line.split_once(prefix)).map(|(_, path)| path.to_owned());
        let root = std::path::Path::new("/sys/fs/cgroup");
        let (folder, limit) = match path(":memory:/") {
            Some(path) => (root.join("memory").join(path).join(name), "memory.limit_in_bytes"),
            None => (root.join(path("0::/")?).join(name), "memory.max"),
        };
        std::fs::create_dir(&folder).ok()?;
        let cramped = Self(folder);
        std::fs::write(cramped.0.join(limit), bytes).ok()?;
        // Otherwise it would go on slowly, elsewhere.
        let _ = std::fs::write(cramped.0.join("memory.swap.max"), "0");
        Some(cramped)
    }
}

impl Drop for Cramped {
    fn drop(&mut self) {
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_process_that_the_kernel_kills_for_want_of_memory_is_told_as_such() {
    let Some(cramped) = Cramped::new() else {
        eprintln!("not shown here: this machine lets nobody make control groups with a memory limit");
        return;
    };
    let folder = configured();
    let hungry = "x = bytearray(400_000_000); print(len(x))";
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", cramped.0.display());
    folder.write(
        "steadfast.toml",
        &format!("{CONFIG}[policies.once]\nextends = \"default\"\n[policies.once.on]\nprocess_died = [\"give_up\"]\n"),
    );
    let mut command = Command::new("sh");
    command.args(["-c", &enter, "sh", env!("CARGO_BIN_EXE_steadfast"), "run", "--json", "--policy", "once", "--"]);
    command.args(["python3", "-c", hungry]).current_dir(&folder.0).env_clear().envs(environment(&folder));
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let result = &last["result"];
    assert_eq!(result["error_type"], "process_died", "{result}");
    assert!(result["error"].as_str().unwrap().contains("killed for want of memory"), "{result}");
}
