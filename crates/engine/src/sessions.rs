//! Conversations by their id: what each remembers between its requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use steadfast_core::Instant;
use steadfast_core::world::Session;

/// Sessions are remembered for a day after their last request, and this many at most.
const IDLE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const SESSIONS_MAX: usize = 50_000;

/// Conversations by project and id.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    known: Mutex<ByProject>,
}

type ByProject = HashMap<Arc<str>, HashMap<Arc<str>, Known>>;

#[derive(Debug)]
struct Known {
    session: Arc<Session>,
    used: Instant,
}

impl Sessions {
    /// The session of this id; a new one where it is not known. Its limit is set when it begins.
    pub(crate) fn get(
        &self,
        project: &Arc<str>,
        id: &str,
        limit_usd_micros: Option<u64>,
        now: Instant,
    ) -> Arc<Session> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get_mut(project).and_then(|sessions| sessions.get_mut(id)) {
            known.used = now;
            return Arc::clone(&known.session);
        }
        if known.values().map(HashMap::len).sum::<usize>() >= SESSIONS_MAX {
            forget(&mut known, now);
        }
        let session = Arc::new(Session::new(limit_usd_micros));
        let entry = Known { session: Arc::clone(&session), used: now };
        known.entry(Arc::clone(project)).or_default().insert(id.into(), entry);
        session
    }

    /// The session of this id, where it is known.
    pub(crate) fn known(&self, project: &str, id: &str) -> Option<Arc<Session>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(project)?.get(id).map(|known| Arc::clone(&known.session))
    }

    /// How many are known.
    pub(crate) fn len(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).values().map(HashMap::len).sum()
    }
}

/// Makes room: what was idle for a day goes, and if that is not enough the longer idle half.
fn forget(known: &mut ByProject, now: Instant) {
    let mut used: Vec<Instant> = known.values().flat_map(HashMap::values).map(|known| known.used).collect();
    let middle = used.len() / 2;
    let (_, median, _) = used.select_nth_unstable(middle);
    let oldest = (now - IDLE_MAX).max(*median);
    for sessions in known.values_mut() {
        sessions.retain(|_, known| known.used > oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_the_same_until_it_is_forgotten() {
        let sessions = Sessions::default();
        let project: Arc<str> = "p".into();
        let at = Instant::from_millis;
        let first = sessions.get(&project, "s", None, at(1));
        assert!(Arc::ptr_eq(&first, &sessions.get(&project, "s", None, at(2))));
        assert!(!Arc::ptr_eq(&first, &sessions.get(&"q".into(), "s", None, at(2))), "projects do not share sessions");
        for id in 0..SESSIONS_MAX as u64 {
            sessions.get(&project, &format!("n{id}"), None, at(10 + id));
        }
        assert!(sessions.len() <= SESSIONS_MAX);
        assert!(!Arc::ptr_eq(&first, &sessions.get(&project, "s", None, at(100_000))));
    }
}
