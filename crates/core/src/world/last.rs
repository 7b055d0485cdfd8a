//! How the last request of a session failed for good.
//!
//! A client is told so in words that stop it, which need not be what happened. Whoever runs that client asks here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::failure::Failure;

/// A request that failed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFailure {
    /// Its name.
    pub request: Arc<str>,
    /// The model it asked for.
    pub asked: Arc<str>,
    /// Where it failed last, `model@endpoint`; empty where it got nowhere.
    pub place: String,
    /// How.
    pub failure: Failure,
}

#[derive(Debug, Default)]
pub(super) struct Last {
    failure: Mutex<Option<LastFailure>>,
    /// How many there were: nearly always none, and then nobody takes the lock.
    count: AtomicU64,
}

impl Last {
    pub(super) fn failed(&self, failure: LastFailure) {
        *self.lock() = Some(failure);
        self.again();
    }

    pub(super) fn again(&self) {
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Another model that serves meanwhile, such as the small one for titles, says nothing about this one.
    pub(super) fn served(&self, asked: &str) {
        if self.count.load(Ordering::Acquire) > 0 {
            let mut failure = self.lock();
            if failure.as_ref().is_some_and(|failure| *failure.asked == *asked) {
                *failure = None;
            }
        }
    }

    pub(super) fn known(&self) -> (u64, Option<LastFailure>) {
        let count = self.count.load(Ordering::Acquire);
        (count, self.lock().clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<LastFailure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::FailureKind;

    #[test]
    fn what_failed_is_known_until_its_model_serves() {
        let last = Last::default();
        assert_eq!(last.known(), (0, None));
        let failure = |asked: &str| LastFailure {
            request: "r".into(),
            asked: asked.into(),
            place: "m@e".to_owned(),
            failure: Failure::new(FailureKind::ServerError, "test"),
        };
        last.failed(failure("big"));
        last.served("small");
        assert_eq!(last.known(), (1, Some(failure("big"))), "another model says nothing about this one");
        last.again();
        assert_eq!(last.known(), (2, Some(failure("big"))));
        last.served("big");
        assert_eq!(last.known(), (2, None));
    }
}
