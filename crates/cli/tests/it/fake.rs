//! `steadfast fake`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::Folder;

/// A running fake, killed when the test ends.
struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    addr: String,
    usage: String,
}

impl Running {
    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_steadfast"));
        command.args(["fake", "--listen", "127.0.0.1:0"]).args(arguments).current_dir(&folder.0).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut usage = String::new();
        while !usage.ends_with("prints the counts.\n") {
            assert_ne!(stderr.read_line(&mut usage).unwrap(), 0, "it ended: {usage}");
        }
        let addr = usage.lines().next().unwrap().strip_prefix("fake provider on http://").unwrap().to_owned();
        Self { child, stderr, addr, usage }
    }

    fn ask(&self, path: &str, header: &str) -> String {
        let body = r#"{"model":"gpt-5","messages":[{"role":"user","content":"hi"}]}"#;
        let mut socket = TcpStream::connect(&self.addr).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nconnection: close\r\n{header}content-length: {}", body.len());
        socket.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        // A reset is one of the answers.
        let _ = socket.read_to_string(&mut answer);
        answer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line
    }

    /// What Ctrl-C makes it say.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        (self.child.wait().unwrap().code(), stdout)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn help() {
    Folder::new().run(&["fake", "--help"]).assert(
        0,
        "\
Play a provider that fails by script, to test clients and gateways against

Usage: steadfast fake [OPTIONS] [SPEC]

Arguments:
  [SPEC]  What every request meets: 'status=529', 'cut=5', '30%: overloaded; ok delay=20ms' [default: ok]

Options:
      --config <FILE>     The configuration file [default: ./steadfast.toml, then the user's config folder]
      --script <FILE>     A TOML file with scripts for endpoints and models
      --quiet             Say nothing about single requests and keep no bodies
      --set <KEY=VALUE>   Set a key over file and environment: --set projects.acme.policy=mine
      --listen <ADDRESS>  Listen on this address: the same as --set listen=ADDRESS
  -h, --help              Print help

It listens on 127.0.0.1:4242 unless --listen says otherwise. A request may bring its own fault in
the header `x-fake: SPEC` or in its model's name: `gpt-5@SPEC`, `fake-SPEC`. docs/fake.md names all.
",
        "",
    );
}

#[test]
fn requests_are_answered_told_and_counted() {
    let folder = Folder::new();
    folder.write("script.toml", "script = \"ok\"\n[endpoints.b]\nscript = [\"status=503\", \"reset\"]\n");
    let mut fake = Running::start(&folder, &["--script", "script.toml", "ok words=2"]);
    assert!(fake.usage.contains(&format!("base URL http://{}/v1 ", fake.addr)), "{}", fake.usage);

    assert!(fake.ask("/v1/chat/completions", "").contains("\"content\":\"word-1 word-2\""));
    assert!(fake.line().contains(" s  POST /v1/chat/completions  gpt-5  ok words=2: answered in "));
    assert!(fake.ask("/@b/v1/chat/completions", "").starts_with("HTTP/1.1 503 "));
    assert!(fake.line().contains("POST /@b/v1/chat/completions  gpt-5  status=503: answered in "));
    assert_eq!(fake.ask("/@b/v1/chat/completions", ""), "");
    assert!(fake.line().contains("  reset: broken off after "));
    assert!(fake.ask("/v1/chat/completions", "x-fake: status=529\r\n").starts_with("HTTP/1.1 529 "));

    let (code, stdout) = fake.interrupt();
    assert_eq!(code, Some(0));
    assert_eq!(stdout, "default                  2 requests\n@b                       2 requests\n");
}

#[test]
fn quiet() {
    let fake = Running::start(&Folder::new(), &["--quiet", "status=500"]);
    assert!(fake.ask("/v1/chat/completions", "").starts_with("HTTP/1.1 500 "));
    let (code, stdout) = fake.interrupt();
    assert_eq!((code, stdout.as_str()), (Some(0), "default                  1 requests\n"));
}

#[test]
fn what_makes_no_sense_is_told() {
    let folder = Folder::new();
    folder.run(&["fake", "--listen", "127.0.0.1:0", "stauts=500"]).assert(
        1,
        "",
        "error: `stauts=500` is no script: column 1: expected a fault or a setting, found `stauts=500`; did you mean `status`?\n",
    );
    folder.write("script.toml", "[models]\ngpt-5 = \"cut\"\n");
    folder.run(&["fake", "--listen", "127.0.0.1:0", "--script", "script.toml"]).assert(
        1,
        "",
        "error: script.toml is no script: `models.gpt-5`, column 1: expected a number of tokens, such as `cut=5`, found `cut`\n",
    );
    folder.run(&["fake", "--listen", "4242"]).assert(
        1,
        "",
        "error: `4242` is not an address such as 127.0.0.1:4242: invalid socket address syntax\n",
    );
}
