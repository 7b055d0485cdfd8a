//! A future that goes on when nobody waits for it any more.
//!
//! While somebody waits it runs in place, which spares every request a task of its own; dropped
//! before its end it becomes one.

use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that is driven to its end even if it is dropped.
pub(crate) struct Outliving<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send + 'static> Outliving<F> {
    pub(crate) fn new(future: Pin<Box<F>>) -> Self {
        Self(Some(future))
    }
}

impl<F: Future<Output: Send> + Send + 'static> Future for Outliving<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(future) = &mut self.0 else { return Poll::Pending };
        let done = future.as_mut().poll(cx);
        if done.is_ready() {
            self.0 = None;
        }
        done
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Outliving<F> {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and with it the journal.
        if let (Some(future), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn what_is_dropped_half_way_is_finished_all_the_same() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (go, wait) = oneshot::channel::<()>();
            let (done, finished) = oneshot::channel();
            let mut outliving = Box::pin(Outliving::new(Box::pin(async move {
                let _ = wait.await;
                let _ = done.send(7);
            })));
            let polled = std::future::poll_fn(|cx| Poll::Ready(outliving.as_mut().poll(cx).is_ready())).await;
            assert!(!polled, "it waits");
            drop(outliving);
            go.send(()).unwrap();
            assert_eq!(finished.await, Ok(7));
        });
    }
}
