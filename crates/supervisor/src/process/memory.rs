//! Whether the kernel killed a process for want of memory: a SIGKILL, and a count that rose meanwhile.
//!
//! The count belongs to the process's control group, so a neighbour in the same group may raise it. Both together are
//! the best evidence there is without watching the kernel's log.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;

use steadfast_core::evidence::Exit;

/// What a shell returns for a command that SIGKILL ended.
const KILLED: i32 = 128 + SIGKILL;
const SIGKILL: i32 = 9;

/// The kernel's count when the process began.
#[derive(Debug)]
pub(super) struct OutOfMemory {
    events: Option<PathBuf>,
    before: u64,
}

impl OutOfMemory {
    pub(super) fn of(pid: Option<u32>) -> Self {
        let events = pid.and_then(events_file);
        let before = events.as_ref().map_or(0, kills);
        Self { events, before }
    }

    /// What the exit status means.
    pub(super) fn exit(&self, status: ExitStatus) -> Exit {
        let exit = match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            // Neither happens on no system we know.
            (None, None) => Exit::Code(-1),
        };
        self.why(exit)
    }

    /// The same where the exit is known already.
    pub(super) fn why(&self, exit: Exit) -> Exit {
        let killed = matches!(exit, Exit::Signal(SIGKILL) | Exit::Code(KILLED));
        let rose = || self.events.as_ref().is_some_and(|events| kills(events) > self.before);
        if killed && rose() { Exit::OutOfMemory } else { exit }
    }
}

/// Where the kernel counts the kills of the process's control group, in either version of them.
fn events_file(pid: u32) -> Option<PathBuf> {
    let groups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    groups.lines().filter_map(file_of).find(|file| file.exists())
}

/// The same for a line such as `0::/user.slice` or `4:memory:/docker/1`.
fn file_of(line: &str) -> Option<PathBuf> {
    let (controllers, path) = line.split_once(':')?.1.split_once(":/")?;
    let root = PathBuf::from("/sys/fs/cgroup");
    if controllers.is_empty() {
        return Some(root.join(path).join("memory.events"));
    }
    let counts = controllers.split(',').any(|controller| controller == "memory");
    counts.then(|| root.join("memory").join(path).join("memory.oom_control"))
}

fn kills(events: &PathBuf) -> u64 {
    let text = std::fs::read_to_string(events).unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_known() {
        let told = |line| file_of(line).map(|file| file.display().to_string()).unwrap_or_default();
        assert_eq!(told("0::/user.slice/a"), "/sys/fs/cgroup/user.slice/a/memory.events");
        assert_eq!(told("4:memory:/docker/1"), "/sys/fs/cgroup/memory/docker/1/memory.oom_control");
        assert_eq!(told("3:cpu,cpuacct:/x"), "");
    }

    #[test]
    fn a_kill_counts_as_want_of_memory_only_where_the_count_rose() {
        let folder = std::env::temp_dir().join(format!("steadfast-oom-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let events = folder.join("memory.events");
        std::fs::write(&events, "low 0\noom 1\noom_kill 1\n").unwrap();
        let memory = OutOfMemory { before: kills(&events), events: Some(events.clone()) };
        let killed = ExitStatus::from_raw(SIGKILL);
        assert_eq!(memory.exit(killed), Exit::Signal(SIGKILL));
        std::fs::write(&events, "oom_kill 2\n").unwrap();
        assert_eq!(memory.exit(killed), Exit::OutOfMemory);
        assert_eq!(memory.exit(ExitStatus::from_raw(KILLED << 8)), Exit::OutOfMemory, "a shell says it in its own way");
        assert_eq!(memory.exit(ExitStatus::from_raw(1 << 8)), Exit::Code(1));
        assert_eq!(memory.exit(ExitStatus::from_raw(15)), Exit::Signal(15));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
