//! A limit on waiting that moves with every piece of a stream.
//!
//! A timer that is set anew for each piece costs more than looking at the piece does. This one stays
//! where it is and looks at the limit when it goes off.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Poll, ready};

use tokio::time::{Instant, Sleep, sleep_until};

/// How long somebody waits.
#[derive(Default)]
pub(crate) struct Patience(Option<Pin<Box<Sleep>>>);

/// The limit came first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Over;

impl Patience {
    /// Waits for something until `limit`.
    pub(crate) async fn wait<F: Future>(&mut self, limit: Instant, wanted: F) -> Result<F::Output, Over> {
        let mut wanted = pin!(wanted);
        poll_fn(|cx| {
            if let Poll::Ready(came) = wanted.as_mut().poll(cx) {
                return Poll::Ready(Ok(came));
            }
            let timer = self.0.get_or_insert_with(|| Box::pin(sleep_until(limit)));
            if limit < timer.deadline() {
                timer.as_mut().reset(limit);
            }
            loop {
                ready!(timer.as_mut().poll(cx));
                if timer.deadline() >= limit {
                    return Poll::Ready(Err(Over));
                }
                timer.as_mut().reset(limit);
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn the_limit_holds_whether_it_moves_on_or_comes_nearer() {
        let mut patience = Patience::default();
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        assert_eq!(patience.wait(at(5), async { 1 }).await, Ok(1));
        assert_eq!(patience.wait(at(60_000), tokio::time::sleep(Duration::from_millis(1))).await, Ok(()));
        // Nearer than the timer was set; a minute later nobody would be here.
        assert_eq!(patience.wait(at(20), pending::<()>()).await, Err(Over));
        // Further off than it was set.
        assert_eq!(patience.wait(at(40), pending::<()>()).await, Err(Over));
        assert!(Instant::now() >= at(40));
    }
}
