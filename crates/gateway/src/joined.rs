//! A client's socket that takes small things in one piece.
//!
//! What hyper writes comes in parts: a piece of a stream is its length, its bytes and a line end. To gather them the
//! kernel takes half a microsecond longer than to take one part, and copying a few hundred bytes takes some nanoseconds.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// More than this is not worth a copy.
const JOINED_BYTES_MAX: usize = 4 * 1024;

thread_local! {
    static ROOM: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(JOINED_BYTES_MAX));
}

/// The socket.
pub(crate) struct Joined(pub(crate) TcpStream);

impl AsyncWrite for Joined {
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let socket = Pin::new(&mut self.0);
        if parts.len() < 2 || parts.iter().map(|part| part.len()).sum::<usize>() > JOINED_BYTES_MAX {
            return socket.poll_write_vectored(cx, parts);
        }
        ROOM.with_borrow_mut(|room| {
            room.clear();
            parts.iter().for_each(|part| room.extend_from_slice(part));
            socket.poll_write(cx, room)
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl AsyncRead for Joined {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn parts_arrive_in_their_order_whether_they_are_joined_or_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut socket = Joined(listener.accept().await.unwrap().0);
        let long = vec![b'x'; JOINED_BYTES_MAX];
        let mut sent = Vec::new();
        for parts in [&[&b"3\r\n"[..], b"abc", b"\r\n"][..], &[b"one"], &[&long, b"end"], &[b"", b""], &[b"a", &long]] {
            let slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
            let written = poll_fn(|cx| Pin::new(&mut socket).poll_write_vectored(cx, &slices)).await.unwrap();
            let whole = parts.concat();
            assert_eq!(written, whole.len(), "an empty socket has room");
            sent.extend(whole);
        }
        socket.shutdown().await.unwrap();
        let mut came = Vec::new();
        client.read_to_end(&mut came).await.unwrap();
        assert!(came == sent);
    }
}
