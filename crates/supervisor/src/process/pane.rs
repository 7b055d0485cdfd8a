//! A process in a tmux pane: anybody may attach and look over its shoulder.
//!
//! The panes live in a tmux server of their own (`tmux -L steadfast`), so that nobody's windows are disturbed. A pane
//! stays when its process is dead, until its exit status has been read. What the pane shows is copied into files that are
//! read like a pipe, each gone once it is read; standard output and error are one there. A pane or a server that is gone counts as a death.
//!
//! `tmux` closes a pane when it hears of its process's death, and on a busy machine some of what that wrote has not come
//! to it by then. So the process of the pane is a shell: it runs the program, writes a sign behind its last word, and
//! stays until the sign was read here.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process_group};
use steadfast_core::evidence::Exit;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::memory::OutOfMemory;
use super::output::{Stream, Taker};
use super::{CannotRun, Copy, Ended, EndedBy, Launch, Limits, MARK, Stop, end_marked, hand_on, wanted_more};

/// The tmux server that all panes live in.
pub const SERVER: &str = "steadfast";

/// How often a pane is asked for: the server goes with its last pane, and may be going just then.
const NEW_TRIES_MAX: u32 = 4;

/// No argument may be longer, on Linux: 32 pages, with the zero at its end.
const ARGUMENT_BYTES_MAX: usize = 128 * 1024 - 1;

/// How often a pane is looked at. Each look is a process of its own.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How often a dead pane is asked how it died.
const DYING_LOOKS_MAX: u32 = 20;

/// How often its output is looked at.
const READ_EVERY: Duration = Duration::from_millis(50);

/// How long the copy of what a pane showed is waited for once it is closed.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How often the shell of a pane looks whether its sign was read, every 20 ms: whoever reads may have been killed.
const SIGN_LOOKS_MAX: u32 = 500;

/// What a shell says of a program that died of a signal: 128 and its number, of those that end a process.
const DIED_OF: &str = "129|130|131|132|133|134|135|136|137|139|141|142|143|152|153|159";

/// How much one of the files holds.
const FILE_BYTES: u64 = 1 << 20;

/// Enough for files of any pane.
const SUFFIX_LETTERS: u32 = 8;

/// How often it is read before anything else is looked at.
const PIECES_MAX: u32 = 16;

/// What is read of it at once.
const CHUNK_BYTES: u64 = 64 * 1024;

/// A pane of ours.
struct Pane<'a> {
    name: &'a str,
    /// What the names of the files begin with.
    output: PathBuf,
    /// Which of them is read, and how much of it has been.
    file: u64,
    read: u64,
    /// What the shell writes when the program has ended.
    sign: Vec<u8>,
    /// The file that tells the shell that its sign was read.
    heard: PathBuf,
    /// What was read and may be the beginning of the sign.
    held: Vec<u8>,
}

/// What a look at the output came to.
struct Heard {
    any: bool,
    flow: ControlFlow<()>,
}

/// How a pane is.
enum Look {
    Alive,
    /// Its process is gone, and `tmux` does not know how yet.
    Dying,
    Dead(Exit),
    Gone,
}

/// Runs a process in a pane to its end. `folder` holds its files and is the caller's to remove.
pub(super) async fn run(
    launch: &Launch,
    name: &str,
    folder: &Path,
    limits: Limits,
    taker: &mut impl Taker,
    copy: Option<&Copy>,
    stop: &mut watch::Receiver<Stop>,
) -> Result<Ended, CannotRun> {
    let cannot = |source| CannotRun { program: "tmux".to_owned(), source };
    if let Some(source) = cannot_be_passed(launch) {
        return Err(CannotRun { program: launch.program.to_string_lossy().into_owned(), source });
    }
    let mut pane = Pane::new(name, folder, &launch.mark);
    if let Err(error) = pane.start(launch, folder).await {
        pane.close().await;
        return Err(cannot(error));
    }
    let leader = pane.leader().await;
    let memory = OutOfMemory::of(leader.map(|leader| leader.as_raw_pid().unsigned_abs()));
    let (exit, by) = pane.watch_over(leader, limits, taker, copy, stop).await;
    signal(leader, Signal::KILL);
    pane.take_last_words(taker, copy, limits, stop).await;
    let left_others = end_marked(&launch.mark).await > 0;
    Ok(Ended { exit: memory.why(exit), by, left_others })
}

impl<'a> Pane<'a> {
    fn new(name: &'a str, folder: &Path, mark: &str) -> Self {
        let (output, heard) = (folder.join("pane.out."), folder.join("heard"));
        // A command for terminals that no terminal knows, so that nobody sees it.
        let sign = format!("\x1b]7741;{mark}\x07").into_bytes();
        Self { name, output, file: 0, read: 0, sign, heard, held: Vec::new() }
    }

    /// `tmux` takes a name for the beginning of one, unless it is told not to.
    fn session(&self) -> String {
        format!("={}", self.name)
    }

    /// The pane of it.
    fn target(&self) -> String {
        format!("={}:", self.name)
    }

    /// Takes it away.
    async fn close(&self) {
        // One that is gone is what is wanted.
        let _ = self.tmux(&["kill-session", "-t", &self.session()]).await;
    }

    /// Starts a shell that waits until its output is copied, and runs the program then.
    async fn start(&self, launch: &Launch, folder: &Path) -> std::io::Result<()> {
        create_private(folder)?;
        let (settings, script, ready) = (folder.join("tmux.conf"), folder.join("start.sh"), folder.join("ready"));
        fs::write(&settings, "set -g history-limit 50000\nset -g status off\n")?;
        // Variables may hold keys: in a file of the owner's, and not on a command line that everybody can see.
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&script)?;
        file.write_all(start_script(launch, &script, &ready, &self.heard).as_bytes())?;
        let (settings, script) = (settings.display().to_string(), script.display().to_string());
        let mut new = vec!["-f", &settings, "new-session", "-d", "-s", self.name, "-x", "200", "-y", "50"];
        let here = launch.folder.as_ref().map(|folder| folder.display().to_string());
        if let Some(here) = &here {
            new.extend(["-c", here]);
        }
        // A server that somebody else started never read the settings.
        let target = self.target();
        new.extend(["sh", &script, ";", "set-option", "-w", "-t", &target, "remain-on-exit", "on"]);
        // A supervisor that was killed has left its pane.
        self.close().await;
        let mut tries = 1;
        while let Err(error) = self.tmux(&new).await {
            if tries == NEW_TRIES_MAX || error.kind() != std::io::ErrorKind::Other {
                return Err(error);
            }
            tries += 1;
            sleep(LOOK_EVERY).await;
        }
        let files = quoted(&self.output.display().to_string());
        let copied = quoted(&self.copied().display().to_string());
        let into = format!("umask 077; split -b {FILE_BYTES} -a {SUFFIX_LETTERS} - {files}; : > {copied}");
        self.tmux(&["pipe-pane", "-t", &self.target(), &into]).await?;
        File::create(ready)?;
        Ok(())
    }

    /// The file that is there once everything is copied.
    fn copied(&self) -> PathBuf {
        self.output.with_file_name("copied")
    }

    /// Closes the pane, and takes what it showed and nobody has read yet. `tmux` calls a pane dead when it has handed
    /// everything on; whoever writes it down is a process of its own, and may not have had its turn.
    async fn take_last_words(
        &mut self,
        taker: &mut impl Taker,
        copy: Option<&Copy>,
        limits: Limits,
        stop: &mut watch::Receiver<Stop>,
    ) {
        self.close().await;
        let until = Instant::now() + LAST_WORDS;
        while !self.copied().exists() && Instant::now() < until {
            let _ = self.read_on(taker, copy, limits, stop).await;
            sleep(READ_EVERY).await;
        }
        while self.read_on(taker, copy, limits, stop).await.any {}
        let rest = std::mem::take(&mut self.held);
        if !rest.is_empty() {
            let _ = hand_on(Stream::Out, rest.into(), taker, copy, limits.deadline, stop).await;
        }
    }

    async fn leader(&self) -> Option<Pid> {
        let text = self.tmux(&["list-panes", "-t", &self.target(), "-F", "#{pane_pid}"]).await.ok()?;
        text.trim().parse().ok().and_then(Pid::from_raw)
    }

    async fn watch_over(
        &mut self,
        leader: Option<Pid>,
        limits: Limits,
        taker: &mut impl Taker,
        copy: Option<&Copy>,
        stop: &mut watch::Receiver<Stop>,
    ) -> (Exit, EndedBy) {
        let mut by = EndedBy::Itself;
        let mut wanted = Stop::No;
        let mut heard = Instant::now();
        let mut look_at = Instant::now();
        let mut dying = 0;
        let mut firmly_at: Option<Instant> = None;
        let mut hears = stop.clone();
        loop {
            let Heard { any, flow } = self.read_on(taker, copy, limits, &mut hears).await;
            if any {
                heard = Instant::now();
            }
            if flow.is_break() && firmly_at.is_none() {
                by = EndedBy::Circles;
                signal(leader, Signal::TERM);
                firmly_at = Some(Instant::now() + limits.grace);
            }
            if Instant::now() >= look_at {
                look_at = Instant::now() + LOOK_EVERY;
                match self.look().await {
                    Look::Alive => {}
                    Look::Dying if dying < DYING_LOOKS_MAX => {
                        dying += 1;
                        self.nudge().await;
                    }
                    // An old one never tells of a signal.
                    Look::Dying => return (Exit::Signal(1), by),
                    Look::Dead(exit) => return (exit, by),
                    Look::Gone => {
                        let _ = taker.take(Stream::Err, b"\ntmux: pane is dead, killed with its session\n");
                        return (Exit::Signal(1), by);
                    }
                }
            }
            let alarm = firmly_at.unwrap_or_else(|| limits.deadline.min(heard + limits.silence));
            tokio::select! {
                more = wanted_more(stop, wanted), if wanted != Stop::Firmly => {
                    wanted = more;
                    by = if by == EndedBy::Itself { EndedBy::Stopped } else { by };
                    signal(leader, if wanted == Stop::Firmly { Signal::KILL } else { Signal::TERM });
                    firmly_at = Some(Instant::now() + limits.grace);
                }
                () = sleep_until(alarm) => {
                    if firmly_at.is_none() {
                        by = if alarm >= limits.deadline { EndedBy::Deadline } else { EndedBy::Silence };
                    }
                    signal(leader, if firmly_at.is_some() { Signal::KILL } else { Signal::TERM });
                    firmly_at = Some(Instant::now() + limits.grace);
                }
                () = sleep(READ_EVERY) => {}
            }
        }
    }

    /// Hands on what has come, and says whether anything has and whether it may go on.
    async fn read_on(
        &mut self,
        taker: &mut impl Taker,
        copy: Option<&Copy>,
        limits: Limits,
        stop: &mut watch::Receiver<Stop>,
    ) -> Heard {
        let mut heard = Heard { any: false, flow: ControlFlow::Continue(()) };
        for _ in 0..PIECES_MAX {
            let Some(piece) = self.piece() else { break };
            heard.any = true;
            if hand_on(Stream::Out, piece, taker, copy, limits.deadline, stop).await.is_break() {
                heard.flow = ControlFlow::Break(());
            }
        }
        heard
    }

    fn piece(&mut self) -> Option<Bytes> {
        loop {
            // Looked for first: a file is complete once there is a next one.
            let is_complete = self.path(self.file + 1).exists();
            let rest = self.rest().unwrap_or_default();
            self.read += rest.len() as u64;
            if rest.is_empty() && !is_complete {
                return None;
            }
            if rest.is_empty() {
                // One that cannot be removed goes with the folder.
                let _ = fs::remove_file(self.path(self.file));
                (self.file, self.read) = (self.file + 1, 0);
            }
            let piece = self.without_sign(&rest);
            if !piece.is_empty() {
                return Some(piece.into());
            }
        }
    }

    /// What was held back and this, without the sign. Where that was, the shell is told.
    fn without_sign(&mut self, rest: &[u8]) -> Vec<u8> {
        let mut piece = std::mem::take(&mut self.held);
        piece.extend_from_slice(rest);
        if let Some(at) = memchr::memmem::find(&piece, &self.sign) {
            piece.drain(at..at + self.sign.len());
            // Where it cannot be written, the shell ends by itself after a while.
            let _ = File::create(&self.heard);
        }
        let held = (1..self.sign.len()).rev().find(|len| piece.ends_with(&self.sign[..*len])).unwrap_or(0);
        self.held = piece.split_off(piece.len() - held);
        piece
    }

    fn rest(&self) -> std::io::Result<Vec<u8>> {
        let mut file = File::open(self.path(self.file))?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut piece = Vec::new();
        file.take(CHUNK_BYTES).read_to_end(&mut piece)?;
        Ok(piece)
    }

    /// The file of this number, as `split` names it: `aaaaaaaa`, `aaaaaaab` and so on.
    fn path(&self, number: u64) -> PathBuf {
        let mut path = self.output.clone().into_os_string();
        let letter = |place: u32| char::from(b'a' + (number / 26_u64.pow(place) % 26) as u8);
        path.push((0..SUFFIX_LETTERS).rev().map(letter).collect::<String>());
        path.into()
    }

    /// Gives the server a child that ends. It misses the end of one at times (tmux 3.3a, several panes at once), and asks
    /// after all of them when it hears of the next.
    async fn nudge(&self) {
        // One that is gone needs none.
        let _ = self.tmux(&["run-shell", "-b", "true"]).await;
    }

    async fn look(&self) -> Look {
        let format = "#{pane_dead} #{pane_dead_status} #{pane_dead_signal}";
        match self.tmux(&["list-panes", "-t", &self.target(), "-F", format]).await {
            Ok(text) => looked(&text),
            Err(_) => Look::Gone,
        }
    }

    async fn tmux(&self, arguments: &[&str]) -> std::io::Result<String> {
        let mut command = Command::new("tmux");
        command.args(["-L", SERVER]).args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        // The server would hand it on to every pane.
        command.env_remove(MARK).env_remove("TMUX");
        let output = command.output().await?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// What the system would say to these arguments. In a pane a shell would say it, and be taken for the agent.
fn cannot_be_passed(launch: &Launch) -> Option<std::io::Error> {
    use std::os::unix::ffi::OsStrExt as _;
    let parts = || std::iter::once(&launch.program).chain(&launch.arguments).map(|part| part.as_bytes());
    if parts().any(|part| part.contains(&0)) {
        return Some(std::io::ErrorKind::InvalidInput.into());
    }
    parts().any(|part| part.len() > ARGUMENT_BYTES_MAX).then(|| rustix::io::Errno::TOOBIG.into())
}

fn looked(text: &str) -> Look {
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    if words.next() != Some("1") {
        return Look::Alive;
    }
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<i32>().ok());
    let (status, by_signal) = (number(words.next()), number(words.next()));
    match (status, by_signal) {
        (_, Some(signal)) if signal > 0 => Look::Dead(Exit::Signal(signal)),
        (Some(code), _) => Look::Dead(Exit::Code(code)),
        (None, _) => Look::Dying,
    }
}

/// A folder that nobody else can look into.
pub(crate) fn create_private(folder: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn signal(leader: Option<Pid>, signal: Signal) {
    // Nobody left to hear it is what is wanted.
    let _ = leader.map(|leader| kill_process_group(leader, signal));
}

/// Everything the program needs, in a script that removes itself.
fn start_script(launch: &Launch, script: &Path, ready: &Path, heard: &Path) -> String {
    let mut text = format!("rm -f {}\n", quoted(&script.display().to_string()));
    let own = std::env::vars().filter(|(name, _)| is_name(name) && name != "TMUX" && name != "TMUX_PANE");
    let own = own.filter(|(name, _)| name != "TERM" && name != "PWD");
    let mark = (MARK.to_owned(), launch.mark.clone());
    for (name, value) in own.chain(launch.environment.iter().cloned()).chain([mark]).filter(|(name, _)| is_name(name)) {
        let _ = writeln!(text, "export {name}={}", quoted(&value));
    }
    let [ready, heard] = [ready, heard].map(|file| quoted(&file.display().to_string()));
    let parts = std::iter::once(&launch.program).chain(&launch.arguments);
    let parts: Vec<String> = parts.map(|part| quoted(&part.to_string_lossy())).collect();
    let (program, mark) = (parts.join(" "), quoted(&launch.mark));
    // Signals go to all of the pane; the shell outlives them, and in the end dies of what its program died of.
    let _ = write!(
        text,
        "while [ ! -e {ready} ]; do sleep 0.02; done\n\
         trap : HUP INT QUIT TERM\n\
         {program} </dev/null\n\
         code=$? looks=0\n\
         printf '\\033]7741;%s\\007' {mark}\n\
         while [ ! -e {heard} ] && [ $looks -lt {SIGN_LOOKS_MAX} ]; do looks=$((looks + 1)); sleep 0.02; done\n\
         trap - HUP INT QUIT TERM\n\
         ulimit -c 0\n\
         case $code in {DIED_OF}) kill -$((code - 128)) $$;; esac\n\
         exit $code\n"
    );
    text
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A text as a shell reads it back.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_pane_says_how_it_died() {
        let told = |text: &str| match looked(text) {
            Look::Alive => "alive".to_owned(),
            Look::Dying => "dying".to_owned(),
            Look::Dead(exit) => format!("{exit:?}"),
            Look::Gone => "gone".to_owned(),
        };
        assert_eq!(told("0  \n"), "alive");
        assert_eq!(told("1 3 \n"), "Code(3)");
        assert_eq!(told("1 0 \n"), "Code(0)");
        assert_eq!(told("1  9\n"), "Signal(9)");
        assert_eq!(told("1  \n"), "dying");
    }

    #[test]
    fn files_are_named_as_split_names_them() {
        let pane = Pane::new("", Path::new("/f"), "m");
        let named = |number| pane.path(number).display().to_string();
        assert_eq!((named(0), named(27)), ("/f/pane.out.aaaaaaaa".to_owned(), "/f/pane.out.aaaaaabb".to_owned()));
    }

    #[test]
    fn the_sign_is_taken_out_wherever_it_is_cut() {
        let folder = std::env::temp_dir().join(format!("steadfast-pane-{}", std::process::id()));
        create_private(&folder).unwrap();
        let text = b"one \x1b]77 two\x1b]7741;m\x07 three";
        for cut in 0..=text.len() {
            let mut pane = Pane::new("", &folder, "m");
            let read = [pane.without_sign(&text[..cut]), pane.without_sign(&text[cut..])].concat();
            assert_eq!(String::from_utf8(read).unwrap(), "one \x1b]77 two three", "{cut}");
            fs::remove_file(&pane.heard).expect("the shell was told");
        }
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        let odd = "it's \"$HOME\" `x` \\ \n end";
        let output =
            std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(odd))]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), odd);
        assert!(is_name("_A1") && !is_name("1A") && !is_name("A-B") && !is_name(""));
    }
}
