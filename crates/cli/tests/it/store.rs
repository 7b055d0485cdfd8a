//! A store that is away, locked, full or refuses: `serve` goes on, and says once each what an operator needs.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use steadfast_stage::Postgres;

use super::Folder;
use super::serve::{Provider, Server};

/// A file with one endpoint `a`, a policy that retries once, and this store.
fn write(folder: &Folder, provider: &Provider, store: &str) {
    let url = provider.fake.endpoint_url("a");
    folder.write(
        "steadfast.toml",
        &format!(
            "[endpoints.a]\ndialect = \"openai\"\nurl = \"{url}\"\n[models.gpt-x]\nendpoints = [\"a\"]\n\
             [policies.default.on]\nserver_error = [{{ retry = 1, every = \"20ms\" }}]\n[store]\nurl = \"{store}\"\n"
        ),
    );
}

fn put_policy(server: &Server) -> String {
    let policy = r#"{"extends":"default","on":{"server_error":["give_up"]}}"#;
    server.ask("PUT /api/policies/default HTTP/1.1\r\ncontent-type: application/json\r\n", policy)
}

/// What holds while the store is away: requests are served, nothing is acknowledged, the policy stays as it was.
fn goes_on(server: &Server, provider: &Provider) {
    for number in 0..20 {
        let answer = server.chat(&format!("x-number: {number}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    server.hears("the store is away");
    let refused = put_policy(server);
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("store_away"), "{refused}");
    provider.script("a", "server_error; ok");
    let answer = server.chat("");
    assert!(answer.starts_with("HTTP/1.1 200 "), "the policy before retries: {answer}");
}

/// What holds once it is there again: it says so, nothing is lost, and what is written is in force.
fn is_back(server: &Server, provider: &Provider, requests: usize) {
    server.hears("the store is back, nothing was lost");
    let count = || server.ask("GET /api/requests?limit=200 HTTP/1.1\r\n", "").matches("\"request\":").count();
    server.until("every request is in the list", || count() == requests);
    server.until("a policy is taken", || put_policy(server).starts_with("HTTP/1.1 200 "));
    provider.script("a", "server_error; ok");
    assert!(server.chat("").starts_with("HTTP/1.1 5"), "the policy is in force");
    let said = server.said();
    // That the last request failed is an alert of its own.
    let warnings = said.lines().filter(|line| line.contains("WARN") && !line.contains("alert:")).count();
    assert_eq!((warnings, said.matches("ERROR").count()), (1, 0), "{said}");
}

#[test]
fn a_database_that_is_away_at_the_start_is_told_once_and_found_later() {
    let (folder, provider, mut postgres) = (Folder::new(), Provider::start(), Postgres::start());
    write(&folder, &provider, &postgres.database());
    postgres.kill();
    let server = Server::start(&folder, &[], &[]);
    goes_on(&server, &provider);
    server.hears("until the store is back, what was stored through the control API is not in force");
    postgres.resume();
    is_back(&server, &provider, 21);
}

#[test]
fn a_database_that_is_killed_is_told_once_and_loses_nothing() {
    let (folder, provider, mut postgres) = (Folder::new(), Provider::start(), Postgres::start());
    write(&folder, &provider, &postgres.database());
    let server = Server::start(&folder, &[], &[]);
    assert!(server.chat("").starts_with("HTTP/1.1 200 "));
    postgres.kill();
    goes_on(&server, &provider);
    postgres.resume();
    is_back(&server, &provider, 22);
}

/// Another program that does something with the file, and then holds what it has begun.
fn python(folder: &Folder, statements: &[&str]) -> Child {
    let program = "import sqlite3, sys\nfile = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)\n\
                   for statement in sys.argv[2:]: file.execute(statement)\nprint('done', flush=True)\nsys.stdin.read()";
    let mut command = Command::new("python3");
    command.args(["-c", program, "store.db"]).args(statements).current_dir(&folder.0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "done\n");
    child
}

#[test]
fn a_file_that_somebody_else_holds_is_told_once_and_waited_for() {
    let (folder, provider) = (Folder::new(), Provider::start());
    write(&folder, &provider, "sqlite:store.db");
    let server = Server::start(&folder, &[], &[]);
    assert!(server.chat("").starts_with("HTTP/1.1 200 "));
    let mut other = python(&folder, &["BEGIN EXCLUSIVE"]);
    goes_on(&server, &provider);
    drop(other.stdin.take());
    other.wait().unwrap();
    is_back(&server, &provider, 22);
}

#[test]
fn a_full_disk_is_told_once_and_written_to_when_there_is_room() {
    let (folder, provider) = (Folder::new(), Provider::start());
    write(&folder, &provider, "sqlite:store.db");
    // To be told that a file may not grow must not kill it.
    let server = Server::start_through(&["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"], &folder, &["--no-log"], &[]);
    assert!(server.chat("").starts_with("HTTP/1.1 200 "));
    let limit = |bytes: &str| {
        let limited = Command::new("prlimit").args(["--pid", &server.pid().to_string(), bytes]).status().unwrap();
        assert!(limited.success());
    };
    server.until("the first request is in the list", || {
        server.ask("GET /api/requests HTTP/1.1\r\n", "").contains("\"request\":")
    });
    limit("--fsize=1:unlimited");
    goes_on(&server, &provider);
    limit("--fsize=unlimited");
    is_back(&server, &provider, 22);
}

#[test]
fn events_that_are_refused_are_told_once_with_their_number() {
    let (folder, provider) = (Folder::new(), Provider::start());
    write(&folder, &provider, "sqlite:store.db");
    let server = Server::start(&folder, &[], &[]);
    server.until("the tables are there", || {
        server.ask("GET /api/requests HTTP/1.1\r\n", "").starts_with("HTTP/1.1 200 ")
    });
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON requests BEGIN SELECT raise(ABORT, 'no'); END";
    let mut other = python(&folder, &[refuse]);
    drop(other.stdin.take());
    other.wait().unwrap();
    for _ in 0..3 {
        assert!(server.chat("").starts_with("HTTP/1.1 200 "));
    }
    server.hears("events are lost");
    // Start, attempt, success and outcome of each.
    let said = server.said();
    assert!(said.contains("lost=12"), "{said}");
    assert_eq!((said.matches("events are lost").count(), said.matches("refuses events").count()), (1, 1), "{said}");
}
