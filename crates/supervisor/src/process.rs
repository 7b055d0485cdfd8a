//! One process under watch: its output, its silence, its end, and whatever it leaves behind.
//!
//! A process runs in a group of its own and carries a mark in its environment, which its children inherit. Ending it
//! means ending the group, and then whoever left the group but still carries the mark: Gemini CLI and Qwen Code have
//! children that go on calling the API when only their parent is signalled (clients.md 10).

mod group;
mod memory;
pub mod output;
mod pane;

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use steadfast_core::evidence::Exit;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

pub(crate) use group::Group;
pub use group::{MARK, end_marked, end_marked_with_prefix};
use memory::OutOfMemory;
use output::{Stream, Taker};
pub use pane::SERVER as TMUX_SERVER;
pub(crate) use pane::create_private;

/// How long a process has to end after it was asked to.
pub const GRACE: Duration = Duration::from_secs(10);

/// How long its last words are waited for once it is gone: somebody it left behind may hold the pipe.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// More than two pipes hold: whoever writes more than that is still there.
const LAST_BYTES_MAX: usize = 4 << 20;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// What to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables set in addition to the supervisor's own.
    pub environment: Vec<(String, String)>,
    /// Where it runs; the supervisor's own folder otherwise.
    pub folder: Option<PathBuf>,
    /// What it and its children are recognised by; unique to this run.
    pub mark: String,
    /// Whether it is looked for children that left the group even if it ended well. That costs a walk over all
    /// processes of the machine.
    pub thorough: bool,
    /// A tmux pane to run it in.
    pub pane: Option<InPane>,
}

/// A tmux pane.
#[derive(Clone, Debug)]
pub struct InPane {
    /// What its session is called.
    pub name: String,
    /// Where its files are; the caller removes it.
    pub folder: PathBuf,
}

/// When a process counts as stuck.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// It must be over then.
    pub deadline: Instant,
    /// How long it may write nothing.
    pub silence: Duration,
    /// How long it has to end after it was asked to.
    pub grace: Duration,
}

/// How much a process is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// It goes on.
    #[default]
    No,
    /// It is asked to end, and made to after a while.
    Politely,
    /// It ends now.
    Firmly,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit status or signal.
    pub exit: Exit,
    /// Who ended it.
    pub by: EndedBy,
    /// It left others running; they have been ended.
    pub left_others: bool,
}

/// Who ended a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// It did, or somebody who is not us.
    Itself,
    /// We did: it wrote nothing for too long.
    Silence,
    /// We did: its time was up.
    Deadline,
    /// We did: what it writes shows that it gets nowhere.
    Circles,
    /// We did: somebody wanted it stopped.
    Stopped,
}

/// Why a process could not be run.
#[derive(Debug, thiserror::Error)]
#[error("cannot run `{program}`")]
pub struct CannotRun {
    /// The program.
    pub program: String,
    /// Why.
    pub source: std::io::Error,
}

/// Where a copy of the output goes as it comes. A slow reader slows the process down.
pub type Copy = mpsc::Sender<(Stream, Bytes)>;

/// Runs a process to its end.
pub async fn run(
    launch: &Launch,
    limits: Limits,
    taker: &mut impl Taker,
    copy: Option<&Copy>,
    stop: &mut watch::Receiver<Stop>,
) -> Result<Ended, CannotRun> {
    if let Some(InPane { name, folder }) = &launch.pane {
        return pane::run(launch, name, folder, limits, taker, copy, stop).await;
    }
    let cannot = |source| CannotRun { program: launch.program.to_string_lossy().into_owned(), source };
    let mut child = command(launch).spawn().map_err(cannot)?;
    let group = Group::of(&child, &launch.mark);
    let memory = OutOfMemory::of(child.id());
    let mut pipes = Pipes::take(&mut child);
    let (status, by) = watch_over(&mut child, &group, limits, &mut pipes, taker, copy, stop).await.map_err(cannot)?;
    let thorough = launch.thorough || by != EndedBy::Itself || !status.success();
    let left_others = end_others(group, &mut pipes, taker, copy, limits.deadline, stop, thorough).await;
    Ok(Ended { exit: memory.exit(status), by, left_others })
}

fn command(launch: &Launch) -> Command {
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments);
    command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    command.env(MARK, &launch.mark);
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    // Codex and others wait for more input where standard input is open (agents.md 5).
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    command
}

/// The two pipes of a process.
struct Pipes {
    out: Pipe<tokio::process::ChildStdout>,
    err: Pipe<tokio::process::ChildStderr>,
}

struct Pipe<R> {
    reader: Option<R>,
    buffer: Vec<u8>,
}

impl Pipes {
    fn take(child: &mut Child) -> Self {
        Self {
            out: Pipe { reader: child.stdout.take(), buffer: Vec::new() },
            err: Pipe { reader: child.stderr.take(), buffer: Vec::new() },
        }
    }

    fn are_open(&self) -> bool {
        self.out.reader.is_some() || self.err.reader.is_some()
    }

    /// The next piece of output; `None` once both are closed.
    async fn next(&mut self) -> Option<(Stream, Bytes)> {
        loop {
            let (stream, piece) = tokio::select! {
                piece = self.out.next(), if self.out.reader.is_some() => (Stream::Out, piece),
                piece = self.err.next(), if self.err.reader.is_some() => (Stream::Err, piece),
                else => return None,
            };
            if !piece.is_empty() {
                return Some((stream, piece));
            }
        }
    }
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    /// What there is to read; nothing, once, at its end.
    async fn next(&mut self) -> Bytes {
        let Some(reader) = &mut self.reader else { return Bytes::new() };
        self.buffer.resize(CHUNK_BYTES, 0);
        match reader.read(&mut self.buffer).await {
            Ok(count) if count > 0 => Bytes::copy_from_slice(&self.buffer[..count]),
            // A pipe that cannot be read has ended.
            Ok(_) | Err(_) => {
                self.reader = None;
                Bytes::new()
            }
        }
    }
}

/// Takes output until the process is gone, and sees to it that it goes when it must.
async fn watch_over(
    child: &mut Child,
    group: &Group,
    limits: Limits,
    pipes: &mut Pipes,
    taker: &mut impl Taker,
    copy: Option<&Copy>,
    stop: &mut watch::Receiver<Stop>,
) -> std::io::Result<(ExitStatus, EndedBy)> {
    let mut by = EndedBy::Itself;
    let mut heard = Instant::now();
    let mut firmly_at = None;
    let mut hears = stop.clone();
    let mut wanted = *stop.borrow_and_update();
    if wanted != Stop::No {
        by = EndedBy::Stopped;
        firmly_at = Some(ask(group, wanted, limits.grace));
    }
    loop {
        let alarm = firmly_at.unwrap_or_else(|| limits.deadline.min(heard + limits.silence));
        tokio::select! {
            biased;
            status = child.wait() => return Ok((status?, by)),
            more = wanted_more(stop, wanted), if wanted != Stop::Firmly => {
                wanted = more;
                by = if by == EndedBy::Itself { EndedBy::Stopped } else { by };
                firmly_at = Some(ask(group, wanted, limits.grace));
            }
            () = sleep_until(alarm) => match firmly_at {
                Some(_) => {
                    group.end_now();
                    firmly_at = Some(Instant::now() + limits.grace);
                }
                None => {
                    by = if alarm >= limits.deadline { EndedBy::Deadline } else { EndedBy::Silence };
                    firmly_at = Some(ask(group, Stop::Politely, limits.grace));
                }
            },
            Some((stream, piece)) = pipes.next(), if pipes.are_open() => {
                heard = Instant::now();
                let circles = hand_on(stream, piece, taker, copy, limits.deadline, &mut hears).await.is_break();
                if circles && firmly_at.is_none() {
                    by = EndedBy::Circles;
                    firmly_at = Some(ask(group, Stop::Politely, limits.grace));
                }
            }
        }
    }
}

/// Waits until a stop is wanted more than this. A sender that is gone wants nothing more.
pub(crate) async fn wanted_more(stop: &mut watch::Receiver<Stop>, than: Stop) -> Stop {
    match stop.wait_for(|now| *now > than).await {
        Ok(now) => *now,
        Err(_) => Stop::Firmly,
    }
}

/// Asks a group to end, and says when asking is over.
fn ask(group: &Group, how: Stop, grace: Duration) -> Instant {
    match how {
        Stop::No | Stop::Politely => group.ask(),
        Stop::Firmly => group.end_now(),
    }
    Instant::now() + grace
}

async fn hand_on(
    stream: Stream,
    piece: Bytes,
    taker: &mut impl Taker,
    copy: Option<&Copy>,
    deadline: Instant,
    stop: &mut watch::Receiver<Stop>,
) -> ControlFlow<()> {
    let flow = taker.take(stream, &piece);
    if let Some(copy) = copy {
        // Who wants it stopped does not wait for a reader that is asleep. A reader that is gone is no reason to fail.
        tokio::select! {
            biased;
            sent = copy.send((stream, piece)) => drop(sent),
            _ = wanted_more(stop, Stop::No) => {}
            () = sleep_until(deadline) => {}
        }
    }
    flow
}

/// Ends whoever is left once the process itself is gone, and takes the last words of all.
async fn end_others(
    mut group: Group,
    pipes: &mut Pipes,
    taker: &mut impl Taker,
    copy: Option<&Copy>,
    deadline: Instant,
    stop: &watch::Receiver<Stop>,
    thorough: bool,
) -> bool {
    let mut left = group.is_there();
    if left {
        group.end_now();
    }
    let closed = take_last_words(pipes, taker, copy, deadline, stop).await;
    if thorough || !closed {
        left |= end_marked(group.mark()).await > 0;
    }
    group.forget();
    left
}

/// Takes what is left in the pipes, and says whether they were closed. Only the wait for them is short: what they hold
/// waits for a slow reader as everything before it did.
async fn take_last_words(
    pipes: &mut Pipes,
    taker: &mut impl Taker,
    copy: Option<&Copy>,
    deadline: Instant,
    stop: &watch::Receiver<Stop>,
) -> bool {
    let soon = Instant::now() + LAST_WORDS;
    let (_keep, never) = watch::channel(Stop::No);
    let is_wanted = *stop.borrow() == Stop::No;
    let (mut hears, until) = if is_wanted { (stop.clone(), deadline.max(soon)) } else { (never, soon) };
    let mut patience = LAST_WORDS;
    let mut bytes = 0;
    while bytes < LAST_BYTES_MAX {
        let asked = Instant::now();
        let Ok(next) = timeout(patience, pipes.next()).await else { return false };
        let Some((stream, piece)) = next else { return true };
        patience = patience.saturating_sub(asked.elapsed());
        bytes += piece.len();
        let _ = hand_on(stream, piece, taker, copy, until, &mut hears).await;
    }
    false
}
