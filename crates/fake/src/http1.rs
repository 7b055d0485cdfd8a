//! HTTP/1.1 by hand, because faults need the socket: half a head, a wrong length, a reset.

mod perform;
mod request;

use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::http1::request::{Head, Length, chunked_length};
use crate::ledger::End;
use crate::plan::{Plan, script_error};
use crate::shared::{Asked, Shared};

/// A longer head is refused.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// A longer body is refused: twice what any provider takes.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a connection reads at a time.
const READ_BYTES: usize = 16 * 1024;

/// What is read ahead of an answer that is still being written.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// Answers what comes on this connection until either side ends it.
pub(crate) async fn serve(shared: Arc<Shared>, socket: TcpStream) {
    let buffer = BytesMut::with_capacity(READ_BYTES);
    let mut connection = Connection { shared, socket, buffer, out: Vec::with_capacity(READ_BYTES) };
    while let Ok(Next::Request) = connection.request().await {}
}

struct Connection {
    shared: Arc<Shared>,
    socket: TcpStream,
    /// What was read and not used.
    buffer: BytesMut,
    /// What is to be written.
    out: Vec<u8>,
}

/// What comes after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Request,
    Close,
}

/// The client is gone.
#[derive(Debug)]
struct Left;

impl Connection {
    /// Reads and answers one request.
    async fn request(&mut self) -> Result<Next, Left> {
        let head_bytes = loop {
            if let Some(end) = memchr::memmem::find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return self.complain(431, "the head is too long").await;
            }
            self.read().await?;
        };
        let head = self.buffer.split_to(head_bytes);
        let parsed = match Head::parse(&head) {
            Ok(parsed) => parsed,
            Err(problem) => return self.complain(400, problem).await,
        };
        let asked = Asked {
            method: parsed.method,
            target: parsed.target,
            head: &head,
            x_fake: parsed.x_fake,
            speaks_anthropic: parsed.speaks_anthropic,
            upgrades: parsed.upgrades,
            http2: false,
        };
        if let Some(ticket) = self.shared.refuse(&asked) {
            let _ = self.socket.set_zero_linger();
            ticket.end(End::Faulted);
            return Ok(Next::Close);
        }
        if parsed.expects_continue && parsed.length != Length::Known(0) && self.buffer.is_empty() {
            self.socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.map_err(|_| Left)?;
        }
        let body = match self.body(parsed.length).await? {
            Ok(body) => body,
            Err((status, problem)) => return self.complain(status, problem).await,
        };
        let (plan, ticket) = self.shared.answer(&asked, &body);
        // The buffer can be used again only when nothing points into it.
        drop(body);
        let wants_head_only = parsed.method == "HEAD";
        let next = if parsed.keeps_alive { Next::Request } else { Next::Close };
        drop(head);
        match self.perform(&plan, next, wants_head_only).await {
            Ok((next, end)) => {
                if let Some(ticket) = ticket {
                    ticket.end(end);
                }
                Ok(next)
            }
            Err(Left) => Err(Left),
        }
    }

    /// Reads more into the buffer.
    async fn read(&mut self) -> Result<(), Left> {
        self.buffer.reserve(READ_BYTES);
        match self.socket.read_buf(&mut self.buffer).await {
            Ok(0) | Err(_) => Err(Left),
            Ok(_) => Ok(()),
        }
    }

    async fn body(&mut self, length: Length) -> Result<Result<BytesMut, (u16, &'static str)>, Left> {
        match length {
            Length::Known(bytes) if bytes > BODY_BYTES_MAX => Ok(Err((413, "the body is too long"))),
            Length::Known(bytes) => {
                while self.buffer.len() < bytes {
                    self.read().await?;
                }
                Ok(Ok(self.buffer.split_to(bytes)))
            }
            Length::Chunked => self.chunks().await,
        }
    }

    async fn chunks(&mut self) -> Result<Result<BytesMut, (u16, &'static str)>, Left> {
        let mut body = BytesMut::new();
        loop {
            let line = self.line().await?;
            let Some(bytes) = chunked_length(&line) else { return Ok(Err((400, "a chunk has no length"))) };
            if bytes > BODY_BYTES_MAX - body.len() {
                return Ok(Err((413, "the body is too long")));
            }
            if bytes == 0 {
                // Trailers end with an empty line.
                while !self.line().await?.is_empty() {}
                return Ok(Ok(body));
            }
            while self.buffer.len() < bytes + 2 {
                self.read().await?;
            }
            body.extend_from_slice(&self.buffer.split_to(bytes));
            let _ = self.buffer.split_to(2);
        }
    }

    /// The next line, without its end.
    async fn line(&mut self) -> Result<BytesMut, Left> {
        loop {
            if let Some(end) = memchr::memmem::find(&self.buffer, b"\r\n") {
                let line = self.buffer.split_to(end);
                let _ = self.buffer.split_to(2);
                return Ok(line);
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(Left);
            }
            self.read().await?;
        }
    }

    /// Tells a client that does not speak HTTP, and hangs up.
    async fn complain(&mut self, status: u16, problem: &str) -> Result<Next, Left> {
        let plan = Plan::own(status, "application/json", script_error(problem));
        self.perform(&plan, Next::Close, false).await?;
        Ok(Next::Close)
    }
}
