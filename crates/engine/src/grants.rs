//! Keys for agents that are run beside this gateway: each opens one project for as long as somebody holds it.
//!
//! In memory alone and as hashes; nobody can list them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steadfast_config::Secret;

use crate::secrets::{self, NoRandomness};

/// A key that opens its project until this is dropped.
#[derive(Debug)]
pub struct Grant {
    key: Secret,
    hash: [u8; 32],
    of: Arc<Grants>,
}

/// All keys that are held at the moment.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    known: Mutex<HashMap<[u8; 32], Arc<str>>>,
    /// Nearly always none, and then no key is hashed.
    count: AtomicUsize,
}

impl Grant {
    /// The key itself: for the agent's environment, and nowhere else.
    pub fn key(&self) -> &str {
        self.key.expose()
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let mut known = self.of.lock();
        known.remove(&self.hash);
        self.of.count.store(known.len(), Ordering::Release);
    }
}

impl Grants {
    pub(crate) fn make(self: &Arc<Self>, project: &str) -> Result<Grant, NoRandomness> {
        let mut key = "sfk_".to_owned();
        for byte in secrets::random::<20>()? {
            let _ = write!(key, "{byte:02x}");
        }
        let hash = secrets::hash(&key);
        let mut known = self.lock();
        known.insert(hash, project.into());
        self.count.store(known.len(), Ordering::Release);
        drop(known);
        Ok(Grant { key: Secret::new(key), hash, of: Arc::clone(self) })
    }

    pub(crate) fn project_of(&self, key: &str) -> Option<Arc<str>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.lock().get(&secrets::hash(key)).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Arc<str>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_opens_its_project_as_long_as_somebody_holds_it() {
        let grants = Arc::new(Grants::default());
        let (one, two) = (grants.make("acme").unwrap(), grants.make("zeta").unwrap());
        assert_ne!(one.key(), two.key());
        assert_eq!(grants.project_of(one.key()).as_deref(), Some("acme"));
        let key = one.key().to_owned();
        assert!(!format!("{one:?}").contains(&key), "it is not told by accident");
        drop(one);
        assert_eq!(grants.project_of(&key), None);
        assert_eq!(grants.project_of(two.key()).as_deref(), Some("zeta"));
    }
}
