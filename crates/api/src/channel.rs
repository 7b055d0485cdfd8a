//! A body whose parts come from a task.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use http_body::Frame;
use tokio::sync::mpsc;

/// A reader that takes nothing for this long is gone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A part of a body, or why it breaks off.
pub(crate) type Part = Result<Bytes, BoxError>;

/// A body that ends when its sender is dropped. Bounded: a slow reader slows the task, not the heap.
pub(crate) struct Channel(mpsc::Receiver<Part>);

impl Channel {
    /// A body and where its parts are put; `parts` of them wait at most.
    pub(crate) fn new(parts: usize) -> (mpsc::Sender<Part>, Self) {
        let (sender, receiver) = mpsc::channel(parts);
        (sender, Self(receiver))
    }
}

impl http_body::Body for Channel {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.poll_recv(cx).map(|part| part.map(|part| part.map(Frame::data)))
    }
}
