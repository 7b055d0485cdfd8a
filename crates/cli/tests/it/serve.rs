//! `steadfast serve` as a process: signals, files, keys, and what it writes where.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use steadfast_fake::Fake;
use tokio::runtime::Runtime;

use super::Folder;

/// Long enough for a loaded machine, short enough to notice a hang.
const LIMIT: Duration = Duration::from_secs(20);

/// A fake provider with a runtime of its own.
pub(crate) struct Provider {
    pub(crate) fake: Fake,
    runtime: Runtime,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let fake = runtime.block_on(Fake::start()).unwrap();
        Self { fake, runtime }
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    pub(crate) fn block_on<T>(&self, task: impl Future<Output = T>) -> T {
        self.runtime.block_on(task)
    }

    pub(crate) fn script(&self, endpoint: &str, specs: &str) {
        self.fake.script(endpoint, specs).unwrap_or_else(|error| panic!("{specs}: {error}"));
    }
}

/// A running `steadfast serve`.
pub(crate) struct Server {
    child: Child,
    address: String,
    stderr: Arc<Mutex<String>>,
}

impl Server {
    pub(crate) fn start(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::start_through(&[], folder, arguments, environment)
    }

    /// The same, with these words before the command.
    pub(crate) fn start_through(
        before: &[&str],
        folder: &Folder,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut words = before.iter().chain([&env!("CARGO_BIN_EXE_steadfast")]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words);
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).current_dir(&folder.0);
        command.env_clear().env("HOME", &folder.0).envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let heard = Arc::clone(&stderr);
        std::thread::spawn(move || {
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                heard.lock().unwrap().push_str(&line);
                line.clear();
            }
        });
        let mut server = Self { child, address: String::new(), stderr };
        server.hears("steadfast is listening on http://");
        let said = server.said();
        let address = said.split("listening on http://").nth(1).unwrap().lines().next().unwrap();
        server.address = address.to_owned();
        server
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn said(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Waits until it has said this.
    #[track_caller]
    pub(crate) fn hears(&self, words: &str) {
        self.until(words, || self.said().contains(words));
    }

    #[track_caller]
    pub(crate) fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < LIMIT, "it never came to `{what}`:\n{}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// How it ends by itself.
    #[track_caller]
    pub(crate) fn code(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(began.elapsed() < LIMIT, "it does not end:\n{}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn send(&self, head: &str, body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        let host = if head.contains("\r\nhost: ") { "" } else { "host: localhost\r\n" };
        let head = format!("{head}connection: close\r\n{host}content-length: {}\r\n\r\n", body.len());
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(body.as_bytes()).unwrap();
        socket
    }

    /// The whole response: head and body.
    pub(crate) fn ask(&self, head: &str, body: &str) -> String {
        let mut answer = Vec::new();
        // A connection that breaks has said what it could.
        let _ = self.send(head, body).read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn chat(&self, more_headers: &str) -> String {
        self.ask(&format!("POST /v1/chat/completions HTTP/1.1\r\n{more_headers}"), &chat("gpt-x", false))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn chat(model: &str, stream: bool) -> String {
    format!(r#"{{"model":"{model}","stream":{stream},"messages":[{{"role":"user","content":"hi"}}]}}"#)
}

fn messages(model: &str) -> String {
    format!(r#"{{"model":"{model}","max_tokens":9,"messages":[{{"role":"user","content":"hi"}}]}}"#)
}

/// Reads from a stream until these words have come.
#[track_caller]
pub(crate) fn read_until(socket: &mut TcpStream, words: &str) -> String {
    let mut heard = String::new();
    let mut buffer = [0; 4096];
    while !heard.contains(words) {
        let bytes = match socket.read(&mut buffer) {
            // A signal for this process, such as that a child of another test ended.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.unwrap(),
        };
        assert!(bytes > 0, "it ended without `{words}`: {heard}");
        heard.push_str(&String::from_utf8_lossy(&buffer[..bytes]));
    }
    heard
}

#[test]
fn without_a_file_the_environment_has_the_keys() {
    let (folder, provider) = (Folder::new(), Provider::start());
    let url = provider.fake.url();
    let urls = [
        ("STEADFAST_ENDPOINTS__ANTHROPIC__URL", url.as_str()),
        ("STEADFAST_ENDPOINTS__OPENAI__URL", url.as_str()),
        ("STEADFAST_ENDPOINTS__GEMINI__URL", url.as_str()),
    ];
    let keys = [("ANTHROPIC_API_KEY", "key-a"), ("OPENAI_API_KEY", "key-o"), ("GEMINI_API_KEY", "key-g")];
    let asked = |server: &Server| {
        provider.fake.reset_counts();
        let own = "authorization: Bearer key-of-client\r\n";
        let answers = [
            server.ask("POST /v1/messages HTTP/1.1\r\nx-api-key: key-of-client\r\n", &messages("claude-x")),
            server.chat(own),
            server.ask(
                "POST /v1beta/models/gemini-x:generateContent?key=key-of-client HTTP/1.1\r\n",
                r#"{"contents":[{"parts":[{"text":"hi"}]}]}"#,
            ),
        ];
        assert!(answers.iter().all(|answer| answer.starts_with("HTTP/1.1 200 ")), "{answers:?}");
        let names = ["x-api-key", "authorization", "x-goog-api-key"];
        let requests = provider.fake.requests();
        let sent = requests.iter().zip(names).map(|(seen, name)| seen.header(name).unwrap_or("").to_owned());
        assert!(requests.iter().all(|seen| seen.query.is_none()), "a key in the query does not travel there");
        sent.collect::<Vec<String>>()
    };
    let server = Server::start(&folder, &[], &[&urls[..], &keys[..]].concat());
    assert_eq!(asked(&server), ["key-a", "Bearer key-o", "key-g"]);
    assert_eq!(server.said().matches("(its own key)").count(), 3, "{}", server.said());
    let server = Server::start(&folder, &[], &urls);
    assert_eq!(asked(&server), ["key-of-client", "Bearer key-of-client", "key-of-client"]);
    assert_eq!(server.said().matches("(the client's own key)").count(), 3, "{}", server.said());
}

#[test]
fn open_to_the_network_it_does_not_start_without_a_token() {
    let folder = Folder::new();
    let refused = folder.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("can be reached from other machines, and there is no admin token"), "{refused:?}");
    assert!(refused.stderr.contains("[admin] token = { env = \"STEADFAST_TOKEN\" }"), "{refused:?}");
    folder.write("steadfast.toml", "[admin]\ntoken = { env = \"STEADFAST_TOKEN\" }");
    let unset = folder.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert!(unset.code == 1 && unset.stderr.contains("STEADFAST_TOKEN is not set"), "{unset:?}");
    let server =
        Server::start(&folder, &["--set", "listen=0.0.0.0:0"], &[("STEADFAST_TOKEN", "a-token-of-some-length")]);
    assert!(server.ask("GET /health HTTP/1.1\r\n", "").starts_with("HTTP/1.1 200 "));
}

#[test]
fn an_address_that_is_taken_is_named() {
    let (folder, taken) = (Folder::new(), std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let address = taken.local_addr().unwrap().to_string();
    let refused = folder.run(&["serve", "--listen", &address]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains(&format!("cannot listen on {address}; `listen` in the")), "{refused:?}");
    assert!(refused.stderr.contains("Address already in use"), "{refused:?}");
}

/// A file with one endpoint `a`, and whatever else.
fn file(provider: &Provider, more: &str) -> String {
    format!(
        "[endpoints.a]\ndialect = \"openai\"\nurl = \"{}\"\n[log]\ndecisions = {{ path = \"log/decisions.jsonl\" }}\n{more}",
        provider.fake.endpoint_url("a")
    )
}

#[test]
fn a_changed_file_and_sighup_reload_it_and_a_bad_one_is_refused() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("steadfast.toml", &file(&provider, ""));
    let server = Server::start(&folder, &[], &[]);
    provider.script("a", "words=200 delay=20ms");
    let mut stream = server.send("POST /v1/chat/completions HTTP/1.1\r\n", &chat("gpt-x", true));
    read_until(&mut stream, "word-2");
    provider.script("a", "ok");

    let project = |name: &str| server.chat(&format!("x-steadfast-project: {name}\r\n"));
    assert!(project("acme").starts_with("HTTP/1.1 400 "));
    folder.write("steadfast.toml", &file(&provider, "[projects.acme]\n"));
    server.until("the change is in force", || project("acme").starts_with("HTTP/1.1 200 "));
    server.hears("configuration reloaded");

    folder.write("steadfast.toml", &file(&provider, "[projects.acme]\npolicy = \"nosuch\"\n"));
    server.hears("unknown policy `nosuch`");
    server.hears("the new configuration is refused; the one before stays in force");
    assert!(server.said().contains("steadfast.toml:7:10"), "with its place: {}", server.said());
    assert!(project("acme").starts_with("HTTP/1.1 200 "), "the one before stays");
    folder.write("steadfast.toml", "listen = [[[");
    server.hears("this is not TOML");
    assert!(project("acme").starts_with("HTTP/1.1 200 "), "the one before stays");

    std::fs::remove_file(folder.0.join("steadfast.toml")).unwrap();
    server.hears("the configuration file is gone; the configuration stays in force");
    assert!(project("acme").starts_with("HTTP/1.1 200 "), "the one before stays");
    folder.write("steadfast.toml", "listen = [[[");

    // The same again, with the signal: nothing changed but the moment.
    let refusals = server.said().matches("the one before stays").count();
    server.signal("-HUP");
    server.until("refused once more", || server.said().matches("the one before stays").count() > refusals);
    folder.write("steadfast.toml", &file(&provider, "[projects.other]\n"));
    server.signal("-HUP");
    server.until("the signal is heard", || project("other").starts_with("HTTP/1.1 200 "));
    assert!(project("acme").starts_with("HTTP/1.1 400 "));
    let rest = read_until(&mut stream, "[DONE]");
    assert!(rest.contains("word-200"), "the stream outlived every reload");
}

#[test]
fn sigterm_lets_a_stream_finish_and_ends_well() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("steadfast.toml", &file(&provider, ""));
    let mut server = Server::start(&folder, &[], &[]);
    provider.script("a", "words=60 delay=20ms");
    let mut stream = server.send("POST /v1/chat/completions HTTP/1.1\r\n", &chat("gpt-x", true));
    read_until(&mut stream, "word-2");
    server.signal("-TERM");
    server.hears("stopping; once more ends it at once");
    server.until("nobody new is taken", || TcpStream::connect(&server.address).is_err());
    assert!(read_until(&mut stream, "[DONE]").contains("word-60"));
    assert_eq!(server.code(), Some(0), "{}", server.said());
    assert!(folder.read("log/decisions.jsonl").contains("\"outcome\":\"succeeded\""));
}

#[test]
fn tasks_are_put_back_at_once_while_a_stream_may_still_finish() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("steadfast.toml", &file(&provider, ""));
    provider.script("a", "words=100000 delay=20ms");
    let path = std::env::var("PATH").unwrap();
    let server = Server::start(&folder, &["--drain", "300"], &[("PATH", &path)]);
    let home = folder.0.display().to_string();
    let environment = [("PATH", path.as_str()), ("HOME", home.as_str())];
    let left = folder
        .run_with(&["run", "--detach", "--quiet", "--", "sh", "-c", "echo $$ > pid; exec sleep 300"], &environment);
    server.until("the task runs", || std::fs::read_to_string(folder.0.join("pid")).is_ok_and(|pid| !pid.is_empty()));
    let mut stream = server.send("POST /v1/chat/completions HTTP/1.1\r\n", &chat("gpt-x", true));
    read_until(&mut stream, "word-2");
    server.signal("-TERM");
    let shown = || folder.run_with(&["tasks", "show", left.stdout.trim()], &environment).stdout;
    server.until("it waits for another", || shown().contains("waiting"));
    // Longer than the words that were on their way.
    read_until(&mut stream, "word-50");
}

#[test]
fn a_stream_that_does_not_end_is_cut_off_by_the_limit_or_the_second_signal() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("steadfast.toml", &file(&provider, ""));
    provider.script("a", "words=100000 delay=20ms");
    let mut server = Server::start(&folder, &["--drain", "1"], &[]);
    let mut stream = server.send("POST /v1/chat/completions HTTP/1.1\r\n", &chat("gpt-x", true));
    read_until(&mut stream, "word-2");
    server.signal("-TERM");
    assert_eq!(server.code(), Some(0), "{}", server.said());
    server.hears("some answers are cut off");
    assert!(folder.read("log/decisions.jsonl").contains("\"outcome\":\"cancelled\""));

    let mut server = Server::start(&folder, &[], &[]);
    let mut stream = server.send("POST /v1/chat/completions HTTP/1.1\r\n", &chat("gpt-x", true));
    read_until(&mut stream, "word-2");
    server.signal("-INT");
    server.hears("stopping; once more ends it at once");
    server.signal("-INT");
    assert_eq!(server.code(), Some(130), "{}", server.said());
}

#[test]
fn after_kill_9_it_starts_and_logs_as_if_nothing_had_been() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("steadfast.toml", &file(&provider, ""));
    let mut server = Server::start(&folder, &[], &[]);
    assert!(server.chat("").starts_with("HTTP/1.1 200 "));
    provider.script("a", "words=100000 delay=20ms");
    let mut stream = server.send("POST /v1/chat/completions HTTP/1.1\r\n", &chat("gpt-x", true));
    read_until(&mut stream, "word-2");
    let path = folder.0.join("log/decisions.jsonl");
    server.until("what happened before is on disk", || {
        std::fs::read_to_string(&path).is_ok_and(|log| log.matches("\"event\":\"attempt\"").count() == 2)
    });
    server.signal("-KILL");
    assert_eq!(server.code(), None, "killed");
    let left = provider.runtime.block_on(
        provider
            .fake
            .wait_for(|seen| seen.iter().any(|seen| matches!(seen.end, steadfast_fake::End::ClientLeft { .. })), LIMIT),
    );
    assert!(left, "the upstream call ended with it");
    // Half a line, as a write that was under way leaves it.
    let mut log = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    log.write_all(b"{\"time\":17,\"event\":\"att").unwrap();

    provider.script("a", "ok");
    let mut server = Server::start(&folder, &[], &[]);
    assert!(server.chat("").starts_with("HTTP/1.1 200 "));
    server.signal("-TERM");
    assert_eq!(server.code(), Some(0));
    let log = folder.read("log/decisions.jsonl");
    let torn: Vec<&str> = log.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_err()).collect();
    assert_eq!(torn, ["{\"time\":17,\"event\":\"att"], "{log}");
    assert!(log.lines().last().unwrap().contains("\"outcome\":\"succeeded\""), "{log}");
}

#[test]
fn a_collector_that_is_away_is_told_once_and_so_is_its_return() {
    let (folder, provider) = (Folder::new(), Provider::start());
    folder.write("steadfast.toml", &file(&provider, ""));
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = collector.local_addr().unwrap();
    drop(collector);
    let url = format!("http://{address}");
    let server = Server::start(&folder, &[], &[("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str())]);
    assert!(server.chat("").starts_with("HTTP/1.1 200 "));
    server.hears("cannot send traces; traffic goes on without");
    // A few more tries of its own, and it does not repeat itself.
    std::thread::sleep(Duration::from_millis(2500));
    assert!(server.chat("").starts_with("HTTP/1.1 200 "));
    assert_eq!(server.said().matches("traces").count(), 2, "the address and the words: {}", server.said());
    let collector = std::net::TcpListener::bind(address).unwrap();
    let receiving = std::thread::spawn(move || {
        let (mut socket, _) = collector.accept().unwrap();
        let head = read_until(&mut socket, "resourceSpans");
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        head
    });
    server.hears("traces are being sent again");
    assert!(receiving.join().unwrap().starts_with("POST /v1/traces HTTP/1.1\r\n"));
}
