//! First tokens first: whoever is in the middle of a stream lets those go first who have nothing yet.
//!
//! Where many streams are open, most of them have something to do at the same moment. A request that comes then would
//! wait for all of them, and its answer once more. So they are woken a few at a time, behind whatever else there is to do.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::bell::Line;

/// So many are woken at a time: a request waits for their pieces, some ten microseconds each.
const AT_A_TIME: usize = 16;

thread_local! {
    static WAITING: RefCell<Waiting> = RefCell::default();
}

#[derive(Default)]
struct Waiting {
    /// Each is here once, so no more than there are streams.
    streams: VecDeque<Arc<Line>>,
    usher: Option<Waker>,
}

/// Puts a stream behind the others of this thread; false where nobody calls them.
pub(crate) fn queue(stream: &Arc<Line>) -> bool {
    let queued = WAITING.try_with(|waiting| {
        let waiting = &mut *waiting.borrow_mut();
        let Some(usher) = &waiting.usher else { return false };
        if waiting.streams.is_empty() {
            usher.wake_by_ref();
        }
        waiting.streams.push_back(Arc::clone(stream));
        true
    });
    queued.unwrap_or(false)
}

/// Calls the streams that were queued on this thread in their turn, for as long as the thread serves.
pub async fn usher() {
    poll_fn::<(), _>(|cx| {
        WAITING.with_borrow_mut(|waiting| waiting.usher = Some(cx.waker().clone()));
        for _ in 0..AT_A_TIME {
            let Some(stream) = WAITING.with_borrow_mut(|waiting| waiting.streams.pop_front()) else {
                return Poll::Pending;
            };
            stream.turn();
        }
        // Behind those who were just woken.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::task::Context;

    use super::*;
    use crate::bell::Bell;

    /// Tasks that wait for a bell each; those below 100 are in the middle of a stream.
    #[derive(Clone, Default)]
    struct Tasks {
        ropes: Rc<RefCell<Vec<Waker>>>,
        went_on: Rc<RefCell<Vec<usize>>>,
    }

    impl Tasks {
        async fn one(self, task: usize) {
            let mut bell = Bell::new();
            if task < 100 {
                bell.let_others_first();
            }
            assert!(bell.was_rung(&Context::from_waker(Waker::noop())), "nobody has looked yet");
            self.ropes.borrow_mut().push(bell.rope().clone());
            poll_fn(|cx| if bell.was_rung(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
            self.went_on.borrow_mut().push(task);
        }

        /// In which order they go on when their bells are rung in this order.
        fn order(rung: &[usize], has_usher: bool) -> Vec<usize> {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let tasks = Self::default();
            tokio::task::LocalSet::new().block_on(&runtime, async {
                if has_usher {
                    tokio::task::spawn_local(usher());
                }
                let waiting: Vec<_> =
                    rung.iter().map(|task| tokio::task::spawn_local(tasks.clone().one(*task))).collect();
                while tasks.ropes.borrow().len() < rung.len() {
                    tokio::task::yield_now().await;
                }
                tasks.ropes.borrow().iter().for_each(Waker::wake_by_ref);
                for task in waiting {
                    task.await.unwrap();
                }
            });
            WAITING.with_borrow_mut(|waiting| *waiting = Waiting::default());
            tasks.went_on.take()
        }
    }

    #[test]
    fn whoever_is_new_goes_first_and_nobody_is_forgotten() {
        assert_eq!(Tasks::order(&[1, 2, 100, 3, 101], true), [100, 101, 1, 2, 3]);
        let many: Vec<usize> = (0..5 * AT_A_TIME).collect();
        assert_eq!(Tasks::order(&many, true), many);
    }

    #[test]
    fn a_thread_without_an_usher_wakes_at_once() {
        assert_eq!(Tasks::order(&[1, 100, 2], false), [1, 100, 2]);
    }

    #[test]
    fn a_stream_that_rings_while_it_waits_is_queued_once() {
        let mut bell = Bell::new();
        bell.let_others_first();
        WAITING.with_borrow_mut(|waiting| waiting.usher = Some(Waker::noop().clone()));
        for _ in 0..3 {
            assert!(bell.was_rung(&Context::from_waker(Waker::noop())), "asked before its turn, for another reason");
            bell.rope().wake_by_ref();
        }
        let waiting = WAITING.take();
        assert_eq!(waiting.streams.len(), 1);
    }
}
