//! A core for each thread that serves.
//!
//! Left to the kernel, two threads that serve often share a core, while the clients and providers they talk to have the
//! other. Neither sleeps long enough to be moved, and one waits a whole tick of the clock (4 ms) until the other is
//! made to stop: a fifth to a quarter of the p99 with 16 connections (docs/benchmarks.md). So each stays on a core of
//! its own.

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores of this process, one for each of its threads that serve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cores {
    #[cfg(target_os = "linux")]
    all: CpuSet,
}

#[cfg(target_os = "linux")]
impl Cores {
    /// `None` where there are more cores than threads: a container whose share is two of sixty-four has no two that are
    /// its own, and its neighbours would choose the same.
    pub(crate) fn for_each_of(threads: usize) -> Option<Self> {
        let all = sched_getaffinity(None).ok()?;
        (all.count() as usize == threads).then_some(Self { all })
    }

    /// This thread stays on the core with this number among them.
    pub(crate) fn stay_on(&self, number: usize) {
        let Some(core) = (0..CpuSet::MAX_CPU).filter(|core| self.all.is_set(*core)).nth(number) else { return };
        let mut one = CpuSet::new();
        one.set(core);
        allow(&one);
    }

    /// This thread may go to any of them: who is started by one that stays would stay with it.
    pub(crate) fn roam(&self) {
        allow(&self.all);
    }
}

#[cfg(target_os = "linux")]
fn allow(cores: &CpuSet) {
    if let Err(error) = sched_setaffinity(None, cores) {
        tracing::debug!(%error, "cannot choose the cores of a thread");
    }
}

/// Elsewhere the kernel decides.
#[cfg(not(target_os = "linux"))]
impl Cores {
    pub(crate) fn for_each_of(_threads: usize) -> Option<Self> {
        None
    }

    pub(crate) fn stay_on(&self, _number: usize) {}

    pub(crate) fn roam(&self) {}
}
