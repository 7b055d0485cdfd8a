//! A limit on waiting that moves with every piece of a stream.
//!
//! A timer that is set anew for each piece costs more than looking at the piece does. This one stays
//! where it is and looks at the limit when it goes off.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use tokio::task::coop::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

/// How long somebody waits.
#[derive(Default)]
pub(crate) struct Patience {
    timer: Option<Pin<Box<Sleep>>>,
    /// When the timer goes off and whom it wakes then. The timer itself is elsewhere in memory: to look at it takes
    /// longer than everything else here.
    set: Option<(Instant, Waker)>,
}

/// The limit came first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Over;

impl Patience {
    /// Waits for something until `limit`. Whoever waited for something else in between says when that was over with `now`:
    /// a timer that went off meanwhile would be taken for one that is set.
    pub(crate) async fn wait<F: Future>(&mut self, now: Instant, limit: Instant, wanted: F) -> Result<F::Output, Over> {
        let mut wanted = pin!(wanted);
        // Of the first time only. Who is asked again may have been woken by the timer.
        let mut now = Some(now);
        poll_fn(|cx| {
            if let Poll::Ready(came) = wanted.as_mut().poll(cx) {
                return Poll::Ready(Ok(came));
            }
            if now.take().is_some_and(|now| self.is_set(now, limit, cx)) {
                return Poll::Pending;
            }
            self.poll_limit(limit, cx).map(Err)
        })
        .await
    }

    /// Whether the timer goes off after `now`, before the limit, and wakes whoever asks.
    pub(crate) fn is_set(&self, now: Instant, limit: Instant, cx: &Context<'_>) -> bool {
        self.set.as_ref().is_some_and(|(at, waker)| now < *at && *at <= limit && waker.will_wake(cx.waker()))
    }

    /// Ready when the limit has come; else whoever asks is woken at it, or before it.
    pub(crate) fn poll_limit(&mut self, limit: Instant, cx: &mut Context<'_>) -> Poll<Over> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(limit)));
        if limit < timer.deadline() {
            timer.as_mut().reset(limit);
        }
        // Unconstrained: a task that has done much is told to wait by a timer that has not looked who asks.
        while pin!(unconstrained(timer.as_mut())).poll(cx).is_ready() {
            if timer.deadline() >= limit {
                return Poll::Ready(Over);
            }
            timer.as_mut().reset(limit);
        }
        self.set = Some((timer.deadline(), cx.waker().clone()));
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use tokio::task::coop::{has_budget_remaining, poll_proceed};

    use super::*;

    #[tokio::test]
    async fn the_limit_holds_whether_it_moves_on_or_comes_nearer() {
        let mut patience = Patience::default();
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!(patience.wait(start, at(5), async { 1 }).await, Ok(1));
        assert_eq!(patience.wait(start, at(60_000), tokio::time::sleep(Duration::from_millis(1))).await, Ok(()));
        // Nearer than the timer was set; a minute later nobody would be here.
        assert_eq!(patience.wait(start, at(20), pending::<()>()).await, Err(Over));
        // Further off than it was set, which has passed.
        assert_eq!(patience.wait(at(21), at(40), pending::<()>()).await, Err(Over));
        assert!(Instant::now() >= at(40));
        // Set for sooner than the limit, and left so: it goes off, and is set anew.
        assert_eq!(patience.wait(at(41), at(60), tokio::task::yield_now()).await, Ok(()));
        assert_eq!(patience.wait(at(42), at(80), pending::<()>()).await, Err(Over));
        assert!(Instant::now() >= at(80));
    }

    #[tokio::test]
    async fn a_task_that_has_done_much_is_woken_all_the_same() {
        let mut patience = Patience::default();
        let now = Instant::now();
        let mut waiting = pin!(patience.wait(now, now + Duration::from_millis(5), pending::<()>()));
        let mut polls = 0;
        let came = poll_fn(|cx| {
            polls += 1;
            assert!(polls < 100, "asked again and again, and the timer does not know who waits");
            while has_budget_remaining() {
                assert!(poll_proceed(cx).map(|budget| budget.made_progress()).is_ready());
            }
            waiting.as_mut().poll(cx)
        });
        assert_eq!(came.await, Err(Over));
    }
}
