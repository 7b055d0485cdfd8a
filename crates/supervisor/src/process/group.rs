//! A process and all who came from it: by their group, and by the mark in their environment.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;

/// The variable that a process and its children carry.
pub const MARK: &str = "STEADFAST_MARK";

/// How often those who carry a mark are looked for: a child that is being started does not carry it yet.
const LOOKS_MAX: u32 = 5;

/// The rest between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A process group of its own. It ends when this is dropped before it is over.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Option<Pid>,
    mark: String,
}

impl Group {
    /// The group that this process leads.
    pub(crate) fn of(child: &Child, mark: &str) -> Self {
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: pid.and_then(Pid::from_raw), mark: mark.to_owned() }
    }

    /// Whether anybody is left in it.
    pub(crate) fn is_there(&self) -> bool {
        self.leader.is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    /// Asks everybody to end.
    pub(crate) fn ask(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends everybody.
    pub(crate) fn end_now(&self) {
        self.signal(Signal::KILL);
    }

    /// What its members carry.
    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// It is over: its number may soon be another's.
    pub(crate) fn forget(&mut self) {
        self.leader = None;
    }

    fn signal(&self, signal: Signal) {
        // Nobody left to hear it is what is wanted.
        let _ = self.leader.map(|leader| kill_process_group(leader, signal));
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end_now();
    }
}

/// Ends every process that carries this mark, and says how many did.
pub async fn end_marked(mark: &str) -> usize {
    end_all(format!("{MARK}={mark}"), Match::Whole).await
}

/// Ends every process whose mark begins so, and says how many did.
pub async fn end_marked_with_prefix(prefix: &str) -> usize {
    end_all(format!("{MARK}={prefix}"), Match::Beginning).await
}

#[derive(Clone, Copy)]
enum Match {
    Whole,
    Beginning,
}

/// Looks until two looks in a row find nobody.
async fn end_all(wanted: String, by: Match) -> usize {
    let mut ended = 0;
    let mut quiet = 0;
    for _ in 0..LOOKS_MAX {
        let wanted = wanted.clone();
        // A walk over a few hundred small files: not on a thread that others wait for.
        let found = tokio::task::spawn_blocking(move || end_carriers(&wanted, by)).await.unwrap_or(0);
        ended += found;
        quiet = if found == 0 { quiet + 1 } else { 0 };
        if quiet == 2 || found == 0 && ended == 0 {
            break;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    ended
}

#[cfg(target_os = "linux")]
fn end_carriers(wanted: &str, by: Match) -> usize {
    let Ok(folder) = std::fs::read_dir("/proc") else { return 0 };
    let own = rustix::process::getpid();
    let mut ended = 0;
    for entry in folder.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        let Some(pid) = pid.filter(|pid| *pid != own) else { continue };
        // Other users' processes cannot be read, and are none of ours.
        let Ok(environment) = std::fs::read(entry.path().join("environ")) else { continue };
        let carries = environment.split(|byte| *byte == 0).any(|variable| match by {
            Match::Whole => variable == wanted.as_bytes(),
            Match::Beginning => variable.starts_with(wanted.as_bytes()),
        });
        if carries && rustix::process::kill_process(pid, Signal::KILL).is_ok() {
            ended += 1;
        }
    }
    ended
}

/// Elsewhere only the group is known.
#[cfg(not(target_os = "linux"))]
fn end_carriers(_wanted: &str, _by: Match) -> usize {
    0
}
