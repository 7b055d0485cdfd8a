//! Which tool an agent was using when it ended: one that has not answered, or the last one where it failed.
//!
//! Tools fail all the time, and agents go on. So a failure is the tool's only while nothing has followed it.

/// Agents call a few tools at once; of more the oldest is forgotten.
const OPEN_MAX: usize = 64;

/// The tools an agent has called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    /// Those that have not answered, by the id of the call.
    open: Vec<(String, String)>,
    /// The tool that answered last, where it failed.
    failed: Option<String>,
}

impl Tools {
    /// The tool whose call is the last thing the agent told of.
    pub fn last(&self) -> Option<&str> {
        let waiting = self.open.last().map(|(_, name)| name);
        self.failed.as_ref().or(waiting).map(String::as_str).filter(|name| !name.is_empty())
    }

    pub(super) fn called(&mut self, id: &str, name: &str) {
        self.failed = None;
        if self.open.len() >= OPEN_MAX {
            self.open.remove(0);
        }
        self.open.push((id.to_owned(), name.to_owned()));
    }

    /// A tool answered, by the id of the call.
    pub(super) fn answered(&mut self, id: &str, failed: bool) {
        let known = self.open.iter().position(|(open, _)| open == id);
        let name = known.map(|at| self.open.remove(at).1);
        self.failed = name.filter(|_| failed);
    }

    /// The agent said or did something else.
    pub(super) fn went_on(&mut self) {
        self.failed = None;
    }
}
