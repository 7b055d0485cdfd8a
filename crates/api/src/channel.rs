//! A body whose parts come from a task.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use tokio::sync::mpsc;

/// A body that ends when its sender is dropped. Bounded: a slow reader slows the task, not the heap.
pub(crate) struct Channel(mpsc::Receiver<Bytes>);

impl Channel {
    /// A body and where its parts are put; `parts` of them wait at most.
    pub(crate) fn new(parts: usize) -> (mpsc::Sender<Bytes>, Self) {
        let (sender, receiver) = mpsc::channel(parts);
        (sender, Self(receiver))
    }
}

impl http_body::Body for Channel {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}
