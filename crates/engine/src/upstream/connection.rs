//! One connection to a provider over HTTP/1.1, moved along by whoever uses it.
//!
//! It has no task of its own: an answer is read by the task that passes it on, when it can be passed
//! on. Dropping it closes it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker, ready};

use bytes::buf::Chain;
use bytes::{Buf as _, Bytes, BytesMut};
use http::Method;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use steadfast_http1::{Answer, Awaited, Body, Malformed};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;

/// The most that is read at once.
const READ_BYTES_MAX: usize = 64 * 1024;

thread_local! {
    /// Where bytes are read into before it is known how many there are. What is kept of them has room
    /// of its own: a small event that is held back must not hold a large buffer.
    static READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES_MAX].into());
}

/// What hyper's connector makes of an address.
pub(super) type Connected = MaybeHttpsStream<TokioIo<TcpStream>>;

trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for S {}

/// Plain, or with TLS: boxed, because its state is large.
enum Io {
    Plain(TcpStream),
    Tls(Box<dyn Stream>),
}

/// A connection and what it is in the middle of.
pub(super) struct Connection {
    io: Io,
    /// What was read and not taken.
    buffer: BytesMut,
    unsent: Chain<Bytes, Bytes>,
    sending: Sending,
}

enum Sending {
    Under,
    Done,
    /// What the provider has said before it closed may still be there to read.
    Failed,
}

/// Why there is no answer, or no more of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("connection closed before message completed")]
    Closed,
    #[error("connection error")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl Connection {
    pub(super) fn new(connected: Connected) -> Self {
        let io = match connected {
            MaybeHttpsStream::Http(tcp) => Io::Plain(tcp.into_inner()),
            MaybeHttpsStream::Https(tls) => Io::Tls(Box::new(tls.into_inner())),
        };
        let unsent = Bytes::new().chain(Bytes::new());
        Self { io, buffer: BytesMut::new(), unsent, sending: Sending::Done }
    }

    /// Whether it can be used again: everything said, nothing left over, and the provider silent.
    pub(super) fn is_idle(&mut self) -> bool {
        // A connection that has something to say between two answers has nothing good to say.
        let mut nobody = Context::from_waker(Waker::noop());
        matches!(self.sending, Sending::Done) && self.buffer.is_empty() && self.poll_fill(&mut nobody).is_pending()
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn ask(&mut self, head: Bytes, body: Bytes, method: &Method) -> Result<Answer, Broken> {
        self.unsent = head.chain(body);
        self.sending = Sending::Under;
        let mut awaited = Awaited::new(method);
        poll_fn(|cx| {
            self.send(cx);
            loop {
                if let Some(answer) = awaited.read(&mut self.buffer)? {
                    return Poll::Ready(Ok(answer));
                }
                if ready!(self.poll_fill(cx))? == 0 {
                    return Poll::Ready(Err(Broken::Closed));
                }
            }
        })
        .await
    }

    /// Whether nothing of the last request has left this machine.
    pub(super) fn sent_nothing(&self, request_bytes: usize) -> bool {
        self.unsent.remaining() == request_bytes
    }

    /// The next piece of the body; `None` at its end.
    pub(super) async fn piece(&mut self, body: &mut Body) -> Result<Option<Bytes>, Broken> {
        poll_fn(|cx| {
            // Some providers begin to answer before they have read the question to its end.
            self.send(cx);
            loop {
                if let Some(piece) = body.take(&mut self.buffer)? {
                    return Poll::Ready(Ok(Some(piece)));
                }
                if body.is_over() {
                    return Poll::Ready(Ok(None));
                }
                if ready!(self.poll_fill(cx))? == 0 {
                    return Poll::Ready(if body.closed() { Ok(None) } else { Err(Broken::Closed) });
                }
            }
        })
        .await
    }

    /// Sends on, as far as it goes. That it fails shows in the answer, or in its absence.
    fn send(&mut self, cx: &mut Context<'_>) {
        while matches!(self.sending, Sending::Under) {
            if !self.unsent.has_remaining() {
                match Pin::new(&mut self.io).poll_flush(cx) {
                    Poll::Pending => return,
                    Poll::Ready(Ok(())) => self.sending = Sending::Done,
                    Poll::Ready(Err(_)) => self.sending = Sending::Failed,
                }
                // The question is not needed any more; the answer may take minutes.
                self.unsent = Bytes::new().chain(Bytes::new());
                return;
            }
            match pin!(self.io.write_buf(&mut self.unsent)).poll(cx) {
                Poll::Pending => return,
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0) | Err(_)) => self.sending = Sending::Failed,
            }
        }
    }

    /// Reads what is there; 0 where there will be no more.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        READ.with_borrow_mut(|room| {
            if self.buffer.is_empty() {
                // Its pieces are somewhere else by now; what is left of it must not hold on to them.
                self.buffer = BytesMut::new();
            }
            let mut read = ReadBuf::new(room);
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut read))?;
            self.buffer.extend_from_slice(read.filled());
            Poll::Ready(Ok(read.filled().len()))
        })
    }
}

impl AsyncRead for Io {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buffer),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, parts),
            Self::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(tcp) => tcp.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
