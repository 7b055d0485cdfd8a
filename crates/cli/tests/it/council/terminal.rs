//! A council in a tmux of its own.

use std::ops::Deref;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::Stage;

/// How long anything may take: a slow machine is no failure.
const PATIENCE: Duration = Duration::from_secs(30);

const POLL: Duration = Duration::from_millis(25);

pub(super) struct Terminal {
    stage: Stage,
    socket: String,
    environment: Vec<String>,
}

/// A terminal is where the stage is seen.
impl Deref for Terminal {
    type Target = Stage;

    fn deref(&self) -> &Stage {
        &self.stage
    }
}

impl Terminal {
    /// Opens a terminal of this size and starts a council of three in it whose failures follow these steps.
    pub(super) fn open(width: u32, height: u32, steps: &str) -> Self {
        Self::show(Stage::new(steps), (width, height), "council", &[])
    }

    /// Starts `steadfast` with these arguments and more of an environment.
    pub(super) fn show(stage: Stage, (width, height): (u32, u32), arguments: &str, more: &[&str]) -> Self {
        let terminal = Self::start(stage, (width, height), arguments, more);
        terminal.wait_for("the council:");
        terminal
    }

    /// The same, whatever it says first.
    pub(super) fn start(stage: Stage, (width, height): (u32, u32), arguments: &str, more: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let socket = format!("steadfast-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let home = format!("HOME={}", stage.folder.0.display());
        let path = format!("PATH={}", std::env::var("PATH").unwrap());
        let mut environment = vec![home, path, "LANG=C.UTF-8".to_owned(), "TERM=xterm-256color".to_owned()];
        environment.extend(more.iter().map(|variable| (*variable).to_owned()));
        let terminal = Self { stage, socket, environment };
        let (width, height) = (width.to_string(), height.to_string());
        terminal.run(&["new-session", "-d", "-x", &width, "-y", &height], arguments);
        terminal
    }

    /// Starts it once more, in the same terminal.
    pub(super) fn start_again(&self, arguments: &str) {
        self.run(&["respawn-pane", "-k"], arguments);
        self.wait_for("the council:");
    }

    fn run(&self, how: &[&str], arguments: &str) {
        // Something stays when the council has gone, so that its last words can be read.
        let line = format!("'{}' {arguments}; echo \"ended with $?\"; exec cat", env!("CARGO_BIN_EXE_steadfast"));
        let folder = self.stage.folder.0.display().to_string();
        let environment: Vec<&str> = self.environment.iter().map(String::as_str).collect();
        self.tmux(&[how, &["-c", &folder, "env", "-i"], &environment, &["sh", "-c", &line]].concat());
    }

    /// Letters, as typed.
    pub(super) fn keys(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// A key by its name, such as `C-w` or `M-1`.
    pub(super) fn key(&self, name: &str) {
        self.tmux(&["send-keys", name]);
    }

    /// Types a line and sends it.
    pub(super) fn enter(&self, text: &str) {
        self.keys(text);
        self.key("Enter");
    }

    /// Says something to the council, and waits until it is heard.
    #[track_caller]
    pub(super) fn say(&self, text: &str) {
        self.enter(text);
        self.wait_for(&format!("❯ you\n  {text}\n"));
    }

    /// Waits until everybody has spoken.
    #[track_caller]
    pub(super) fn wait_for_my_turn(&self) {
        self.wait_for("\n your turn ");
    }

    /// Pastes as a terminal does, with brackets.
    pub(super) fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// A turn of the mouse wheel, as terminals report it.
    pub(super) fn wheel(&self, up: bool) {
        let button = if up { 64 } else { 65 };
        self.keys(&format!("\u{1b}[<{button};10;10M"));
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
        self.wait_for("ended with 137");
    }

    /// What is on the screen, lines trimmed at their ends.
    pub(super) fn screen(&self) -> String {
        let screen = self.tmux(&["capture-pane", "-p"]);
        screen.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// Whether the whole screen was taken, as editors do.
    pub(super) fn is_taken(&self) -> bool {
        self.tmux(&["display-message", "-p", "#{alternate_on}"]).trim() == "1"
    }

    /// The same with its colours, as a terminal is told them.
    pub(super) fn coloured_screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    #[track_caller]
    pub(super) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    #[track_caller]
    pub(super) fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return;
            }
            assert!(Instant::now() < deadline, "`{what}` does not come:\n{screen}");
            std::thread::sleep(POLL);
        }
    }

    /// Waits until the session file holds this.
    #[track_caller]
    pub(super) fn wait_for_saved(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.stage.session().contains(text) {
            assert!(Instant::now() < deadline, "`{text}` is not saved:\n{}", self.stage.session());
            std::thread::sleep(POLL);
        }
    }

    /// These stand on the screen, one after another; where a line is broken does not matter.
    #[track_caller]
    pub(super) fn in_order(&self, texts: &[&str]) {
        let screen = self.screen();
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut rest = words.as_str();
        for text in texts {
            let Some((_, after)) = rest.split_once(text) else {
                panic!("`{text}` is not where it should be:\n{screen}")
            };
            rest = after;
        }
    }

    #[track_caller]
    pub(super) fn assert_lacks(&self, text: &str) {
        let screen = self.screen();
        assert!(!screen.contains(text), "`{text}`:\n{screen}");
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let Output { status, stdout, stderr } = Command::new("tmux")
            .args(["-L", &self.socket, "-f", "/dev/null", "-u"])
            .args(arguments)
            .output()
            .expect("the tests need tmux (Debian: apt-get install tmux)");
        assert!(status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A server that is gone already is as good; its socket stays where nobody takes it away.
        let tmux = |arguments: &[&str]| Command::new("tmux").args(["-L", &self.socket]).args(arguments).output();
        let socket = tmux(&["display-message", "-p", "#{socket_path}"]);
        _ = tmux(&["kill-server"]);
        if let Ok(socket) = socket {
            _ = std::fs::remove_file(String::from_utf8_lossy(&socket.stdout).trim());
        }
    }
}
