//! First tokens first: whoever is in the middle of a stream lets those go first who have nothing yet.
//!
//! Where many streams are open, most of them have something to do at the same moment. A request that comes then would
//! wait for all of them, and its answer once more. So they are woken a few at a time, behind whatever else there is to do.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// So many are woken at a time: a request waits for their pieces, some ten microseconds each.
const AT_A_TIME: usize = 16;

thread_local! {
    static WAITING: RefCell<Waiting> = RefCell::default();
}

#[derive(Default)]
struct Waiting {
    /// Each is here once, so no more than there are streams.
    streams: VecDeque<Waker>,
    usher: Option<Waker>,
}

/// Wakes the task of a stream when its turn comes; at once on a thread without an usher.
pub(crate) fn wake(stream: &Waker) {
    let queued = WAITING.try_with(|waiting| {
        let waiting = &mut *waiting.borrow_mut();
        let Some(usher) = &waiting.usher else { return false };
        if waiting.streams.is_empty() {
            usher.wake_by_ref();
        }
        waiting.streams.push_back(stream.clone());
        true
    });
    if !queued.unwrap_or(false) {
        stream.wake_by_ref();
    }
}

/// Wakes the streams of this thread in their turn, for as long as the thread serves.
pub async fn usher() {
    poll_fn::<(), _>(|cx| {
        WAITING.with_borrow_mut(|waiting| waiting.usher = Some(cx.waker().clone()));
        for _ in 0..AT_A_TIME {
            let Some(stream) = WAITING.with_borrow_mut(|waiting| waiting.streams.pop_front()) else {
                return Poll::Pending;
            };
            stream.wake();
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

    use super::*;

    /// In which order tasks go on that are woken in this order; those below 100 are in the middle of a stream.
    fn order(woken: &[usize], has_usher: bool) -> Vec<usize> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let tasks = tokio::task::LocalSet::new();
        let went_on = Rc::<RefCell<Vec<usize>>>::default();
        let wakers = Rc::<RefCell<Vec<(usize, Waker)>>>::default();
        tasks.block_on(&runtime, async {
            if has_usher {
                tokio::task::spawn_local(usher());
            }
            let mut waiting = Vec::new();
            for &task in woken {
                let (went_on, wakers) = (Rc::clone(&went_on), Rc::clone(&wakers));
                waiting.push(tokio::task::spawn_local(async move {
                    let mut asleep = false;
                    poll_fn(|cx| {
                        if std::mem::replace(&mut asleep, true) {
                            return Poll::Ready(());
                        }
                        wakers.borrow_mut().push((task, cx.waker().clone()));
                        Poll::Pending
                    })
                    .await;
                    went_on.borrow_mut().push(task);
                }));
            }
            while wakers.borrow().len() < woken.len() {
                tokio::task::yield_now().await;
            }
            for (task, waker) in wakers.borrow().iter() {
                if *task < 100 { wake(waker) } else { waker.wake_by_ref() }
            }
            for task in waiting {
                task.await.unwrap();
            }
        });
        WAITING.with_borrow_mut(|waiting| *waiting = Waiting::default());
        went_on.take()
    }

    #[test]
    fn whoever_is_new_goes_first_and_nobody_is_forgotten() {
        assert_eq!(order(&[1, 2, 100, 3, 101], true), [100, 101, 1, 2, 3]);
        let many: Vec<usize> = (0..5 * AT_A_TIME).collect();
        assert_eq!(order(&many, true), many);
    }

    #[test]
    fn a_thread_without_an_usher_wakes_at_once() {
        assert_eq!(order(&[1, 100, 2], false), [1, 100, 2]);
    }
}
