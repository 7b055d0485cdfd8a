//! Tells a future that was woken from one that is only asked again.
//!
//! A connection asks the body that it sends three times for each piece of it: once for the piece, and
//! twice whether there is more. Who was not woken since he was last asked has nothing new to say.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

use crate::later;

/// Stands between a future and whoever polls it.
pub(crate) struct Bell {
    line: Arc<Line>,
    /// What the future is polled with, always the same: who keeps it need not be given it again.
    rope: Waker,
    /// A copy of who listens, to see without a lock that it is the same one still.
    listener: Option<Waker>,
}

/// From the rope to the listener.
pub(crate) struct Line {
    rung: AtomicBool,
    /// The listener lets others go first.
    is_patient: AtomicBool,
    /// It waits for its turn, and need not be queued again.
    is_queued: AtomicBool,
    listener: Mutex<Option<Waker>>,
}

impl Bell {
    /// Rung: nobody has looked yet.
    pub(crate) fn new() -> Self {
        let line = Arc::new(Line {
            rung: AtomicBool::new(true),
            is_patient: AtomicBool::new(false),
            is_queued: AtomicBool::new(false),
            listener: Mutex::default(),
        });
        Self { rope: Waker::from(Arc::clone(&line)), line, listener: None }
    }

    /// Whether it was rung since the last time. When it rings next, the one who asks is woken.
    pub(crate) fn was_rung(&mut self, cx: &Context<'_>) -> bool {
        if !self.listener.as_ref().is_some_and(|listener| listener.will_wake(cx.waker())) {
            self.listener = Some(cx.waker().clone());
            self.line.listener.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&self.listener);
        }
        // After the listener is known: who rings before this is heard here, who rings after it wakes.
        self.line.rung.swap(false, Ordering::AcqRel)
    }

    /// Rings it for whoever is about to ask, without waking him.
    pub(crate) fn ring(&self) {
        self.line.rung.store(true, Ordering::Release);
    }

    /// From now on others are woken before the one who listens here.
    pub(crate) fn let_others_first(&self) {
        self.line.is_patient.store(true, Ordering::Relaxed);
    }

    /// The one to poll the future with.
    pub(crate) const fn rope(&self) -> &Waker {
        &self.rope
    }
}

impl Line {
    /// Its turn has come.
    pub(crate) fn turn(&self) {
        // Swapped, not stored: who rang and found it queued is seen to have rung.
        self.is_queued.swap(false, Ordering::AcqRel);
        // Who was asked meanwhile, for another reason, has heard it.
        if self.rung.load(Ordering::Acquire) {
            self.call();
        }
    }

    fn call(&self) {
        if let Some(listener) = &*self.listener.lock().unwrap_or_else(PoisonError::into_inner) {
            listener.wake_by_ref();
        }
    }
}

impl Wake for Line {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.rung.swap(true, Ordering::AcqRel) {
            // The listener was woken, has a turn, or is about to ask.
            return;
        }
        if !self.is_patient.load(Ordering::Relaxed) {
            self.call();
        } else if !self.is_queued.swap(true, Ordering::AcqRel) && !later::queue(self) {
            self.turn();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn it_rings_for_the_last_who_asked() {
        let (first, second) = (Arc::<Woken>::default(), Arc::<Woken>::default());
        let (one, two) = (Waker::from(Arc::clone(&first)), Waker::from(Arc::clone(&second)));
        let counts = || [&first, &second].map(|woken| woken.0.load(Ordering::Relaxed));
        let mut bell = Bell::new();
        assert!(bell.was_rung(&Context::from_waker(&one)), "nobody has looked yet");
        assert!(!bell.was_rung(&Context::from_waker(&one)));
        bell.rope().wake_by_ref();
        bell.rope().wake_by_ref();
        assert_eq!(counts(), [1, 0], "who knows is not woken again");
        // Rung for the first, heard by the second, who listens from now on.
        assert!(bell.was_rung(&Context::from_waker(&two)));
        bell.let_others_first();
        bell.rope().wake_by_ref();
        assert_eq!(counts(), [1, 1], "there are no others here");
        assert!(bell.was_rung(&Context::from_waker(&two)) && !bell.was_rung(&Context::from_waker(&two)));
        bell.ring();
        assert_eq!(counts(), [1, 1], "who is about to ask need not be woken");
        assert!(bell.was_rung(&Context::from_waker(&two)));
    }
}
