//! A command in a terminal of its own (tmux), to be looked at.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::Folder;

/// How long anything may take: a slow machine is no failure.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Screen<'a> {
    folder: &'a Folder,
    socket: String,
}

impl<'a> Screen<'a> {
    /// Starts `steadfast` with these arguments in the folder, with more of an environment.
    pub(crate) fn open(folder: &'a Folder, arguments: &str, environment: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let socket = format!("steadfast-screen-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let screen = Self { folder, socket };
        // Something stays when it has gone, so that its last words can be read.
        let line = format!("trap : INT; '{}' {arguments}; exec cat", env!("CARGO_BIN_EXE_steadfast"));
        let state = format!("XDG_STATE_HOME={}", folder.0.join("state").display());
        let session = ["new-session", "-d", "-x", "100", "-y", "30", "env", &state];
        screen.tmux(&[&session, environment, &["sh", "-c", &line]].concat());
        screen
    }

    /// The picture, once it has all of these words.
    #[track_caller]
    pub(crate) fn until(&self, words: &[&str]) -> String {
        let has_all = |seen: &str| words.iter().all(|word| seen.contains(word));
        self.wait(&format!("all of {words:?}"), || has_all(&self.picture()));
        self.picture()
    }

    /// Waits until it is so.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < PATIENCE, "it never happened: {what}\n{}", self.picture());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A key by its name, such as `C-c`.
    pub(crate) fn key(&self, name: &str) {
        self.tmux(&["send-keys", name]);
    }

    fn picture(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket, "-f", "/dev/null"]).args(arguments);
        let output = command.current_dir(&self.folder.0).stdin(Stdio::null()).output();
        let output = output.expect("tmux, which `cargo xtask test` installs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
