//! A council in a tmux of its own, in front of a fake of its own.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use steadfast_fake::Fake;
use tokio::runtime::Runtime;

use crate::Folder;

/// How long anything may take: a slow machine is no failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Name, wire format, vendor, model, fallback.
const MEMBERS: [(&str, &str, &str, &str, &str); 3] = [
    ("claude", "anthropic", "anthropic", "claude-sonnet-4-5", "claude-haiku-4-5"),
    ("gemini", "gemini", "google", "gemini-2.5-pro", "gemini-2.5-flash"),
    ("grok", "openai", "xai", "grok-4", "grok-4"),
];

pub(super) struct Terminal {
    folder: Folder,
    socket: String,
    runtime: Runtime,
    fake: Fake,
}

impl Terminal {
    /// A council of three whose failures follow these steps.
    pub(super) fn open(width: u32, height: u32, steps: &str) -> Self {
        Self::open_with(width, height, steps, &["claude", "gemini", "grok"])
    }

    pub(super) fn open_with(width: u32, height: u32, steps: &str, members: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let fake = runtime.block_on(Fake::start()).unwrap();
        let folder = Folder::new();
        let mut config = format!("[council]\nmembers = {members:?}\npolicy = \"quick\"\n");
        config += &format!("[policies.quick]\nextends = \"council\"\n[policies.quick.on]\n{steps}\n");
        for (name, dialect, vendor, model, fallback) in MEMBERS {
            let url = fake.endpoint_url(name);
            config += &format!("[council.member.{name}]\nmodel = {model:?}\nfallback = [{fallback:?}]\n");
            config += &format!("[endpoints.{name}]\ndialect = {dialect:?}\nurl = {url:?}\n");
            config += &format!("[models.{model:?}]\nvendor = {vendor:?}\nendpoints = [{name:?}]\n");
            if model != fallback {
                config += &format!("[models.{fallback:?}]\nvendor = {vendor:?}\nendpoints = [{name:?}]\n");
            }
            fake.script(name, &format!("ok text=\"I am {name}.\"")).unwrap();
        }
        folder.write("steadfast.toml", &config);
        let socket = format!("steadfast-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let terminal = Self { folder, socket, runtime, fake };
        let (width, height) = (width.to_string(), height.to_string());
        // The shell stays when the council has gone, so that its last words can be read.
        let shell =
            ["new-session", "-d", "-x", &width, "-y", &height, "env", "-i", "PS1=", "TERM=xterm-256color", "sh"];
        terminal.tmux(&shell);
        terminal.start("");
        terminal.wait_for("the council:");
        terminal
    }

    /// Starts the council in the terminal.
    pub(super) fn start(&self, flags: &str) {
        let (binary, home) = (env!("CARGO_BIN_EXE_steadfast"), self.folder.0.display());
        let lang = "LANG=C.UTF-8";
        let line = format!("cd {home}; clear; {lang} HOME={home} {binary} --config steadfast.toml council {flags}");
        self.tmux(&["send-keys", "-l", &line]);
        self.key("Enter");
    }

    pub(super) fn script(&self, endpoint: &str, model: &str, script: &str) {
        self.fake.script_model(endpoint, model, script).unwrap();
    }

    pub(super) fn fake_count(&self, endpoint: &str) -> usize {
        self.fake.count(endpoint)
    }

    pub(super) fn network_away(&self) {
        self.runtime.block_on(async {
            self.fake.stop_listening().await;
            self.fake.drop_connections().await;
        });
    }

    pub(super) fn network_back(&self) {
        self.runtime.block_on(self.fake.listen_again()).unwrap();
    }

    pub(super) fn keys(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    pub(super) fn key(&self, name: &str) {
        self.tmux(&["send-keys", name]);
    }

    /// Types a line and sends it.
    pub(super) fn enter(&self, text: &str) {
        self.keys(text);
        self.key("Enter");
    }

    /// Pastes as a terminal does, with brackets.
    pub(super) fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// A turn of the mouse wheel, as terminals report it.
    pub(super) fn wheel_down(&self) {
        self.tmux(&["send-keys", "-l", "\u{1b}[<65;10;10M"]);
    }

    pub(super) fn resize(&self, width: u32, height: u32) {
        self.tmux(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    /// Ends the council as nobody can prepare for.
    pub(super) fn kill(&self) {
        let pane = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", pane.trim())).unwrap();
        let pid = children.split_whitespace().next().expect("the council runs");
        assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
        self.wait_for("Killed");
    }

    pub(super) fn read(&self, name: &str) -> String {
        self.folder.read(name)
    }

    /// What is on the screen, lines trimmed at their ends.
    pub(super) fn screen(&self) -> String {
        let screen = self.tmux(&["capture-pane", "-p"]);
        screen.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    #[track_caller]
    pub(super) fn wait_for(&self, text: &str) {
        self.wait_for_count(text, 1);
    }

    #[track_caller]
    pub(super) fn wait_for_count(&self, text: &str, count: usize) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if screen.matches(text).count() >= count {
                return;
            }
            assert!(Instant::now() < deadline, "`{text}` does not come:\n{screen}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// These stand on the screen, one after another.
    #[track_caller]
    pub(super) fn in_order(&self, texts: &[&str]) {
        let screen = self.screen();
        let mut rest = screen.as_str();
        for text in texts {
            let Some((_, after)) = rest.split_once(text) else {
                panic!("`{text}` is not where it should be:\n{screen}")
            };
            rest = after;
        }
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux").args(["-L", &self.socket, "-f", "/dev/null", "-u"]).args(arguments).output();
        let output = output.expect("the tests need tmux (Debian: apt-get install tmux)");
        assert!(output.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}
