//! Does to the socket what a plan says, and notices a client that leaves meanwhile.

use std::future::Future;
use std::io::Write as _;
use std::pin::pin;

use bytes::BufMut as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep, sleep_until};

use super::{AHEAD_BYTES_MAX, Connection, Left, Next, READ_BYTES};
use crate::ledger::End;
use crate::plan::{Act, Framing, Head, Plan, reason};
use crate::spec::Pace;

/// What is collected before it is written.
const WRITE_BYTES: usize = 64 * 1024;

impl Connection {
    /// Answers as the plan says; tells what comes next and how the request ended.
    pub(super) async fn perform(&mut self, plan: &Plan, next: Next, head_only: bool) -> Result<(Next, End), Left> {
        self.out.clear();
        if !plan.wait.is_zero() {
            self.watch(sleep(plan.wait)).await?;
        }
        let mut chunked = false;
        if let Some(head) = &plan.head {
            chunked = head.framing == Framing::Chunked;
            write_head(&mut self.out, head, next);
        }
        for act in &plan.acts {
            match act {
                Act::Data(_) if head_only => {}
                Act::Data(data) => {
                    frame(&mut self.out, data, chunked);
                    if self.out.len() >= WRITE_BYTES {
                        self.flush(plan.pace).await?;
                    }
                }
                Act::Raw(data) => self.out.extend_from_slice(data),
                Act::Sleep(wait) => {
                    self.flush(plan.pace).await?;
                    self.watch(sleep(*wait)).await?;
                }
                Act::Flood(data, bytes) => self.flood(data, *bytes, chunked, plan.pace).await?,
                Act::FloodRaw(data, bytes) => self.flood(data, *bytes, false, plan.pace).await?,
                Act::Repeat(data, every) => loop {
                    self.flush(plan.pace).await?;
                    self.watch(sleep(*every)).await?;
                    frame(&mut self.out, data, chunked);
                },
                Act::Stall => {
                    self.flush(plan.pace).await?;
                    self.watch(std::future::pending::<()>()).await?;
                }
                Act::End => {
                    if chunked && !head_only {
                        self.out.extend_from_slice(b"0\r\n\r\n");
                    }
                    self.flush(plan.pace).await?;
                    if next == Next::Close {
                        let _ = self.socket.shutdown().await;
                    }
                    return Ok((next, End::Answered));
                }
                Act::Reset => {
                    self.flush(plan.pace).await?;
                    let _ = self.socket.set_zero_linger();
                    return Ok((Next::Close, End::Faulted));
                }
                Act::Close => break,
            }
        }
        self.flush(plan.pace).await?;
        let _ = self.socket.shutdown().await;
        Ok((Next::Close, End::Faulted))
    }

    async fn flood(&mut self, data: &[u8], bytes: u64, chunked: bool, pace: Option<Pace>) -> Result<(), Left> {
        let mut sent = 0;
        while sent < bytes {
            frame(&mut self.out, data, chunked);
            sent += data.len().max(1) as u64;
            if self.out.len() >= WRITE_BYTES {
                self.flush(pace).await?;
            }
        }
        Ok(())
    }

    /// Writes what was collected.
    async fn flush(&mut self, pace: Option<Pace>) -> Result<(), Left> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        match pace {
            None => self.write(&out).await?,
            Some(pace) => {
                let mut due = Instant::now();
                for part in out.chunks(pace.bytes) {
                    self.write(part).await?;
                    due += pace.every;
                    self.watch(sleep_until(due)).await?;
                }
            }
        }
        self.out = out;
        self.out.clear();
        Ok(())
    }

    async fn write(&mut self, data: &[u8]) -> Result<(), Left> {
        let (mut reader, mut writer) = self.socket.split();
        let mut write = pin!(writer.write_all(data));
        loop {
            tokio::select! {
                // An answer that fits the socket's buffer costs no look at the other side.
                biased;
                written = &mut write => return written.map_err(|_| Left),
                read = read_ahead(&mut reader, &mut self.buffer) => read?,
            }
        }
    }

    /// Waits for something, unless the client leaves first.
    async fn watch(&mut self, wait: impl Future<Output = ()>) -> Result<(), Left> {
        let (mut reader, _) = self.socket.split();
        let mut wait = pin!(wait);
        loop {
            tokio::select! {
                biased;
                () = &mut wait => return Ok(()),
                read = read_ahead(&mut reader, &mut self.buffer) => read?,
            }
        }
    }
}

/// Reads what a client sends before it has its answer; ends only when there is something.
async fn read_ahead(reader: &mut tokio::net::tcp::ReadHalf<'_>, buffer: &mut bytes::BytesMut) -> Result<(), Left> {
    if buffer.len() >= AHEAD_BYTES_MAX {
        // Who sends so much is there.
        return std::future::pending().await;
    }
    buffer.reserve(READ_BYTES);
    match reader.read_buf(buffer).await {
        Ok(0) | Err(_) => Err(Left),
        Ok(_) => Ok(()),
    }
}

fn write_head(out: &mut Vec<u8>, head: &Head, next: Next) {
    // Writing to memory cannot fail.
    let _ = write!(out, "HTTP/1.1 {} {}\r\n", head.status, reason(head.status));
    out.put_slice(head.headers.lines().as_bytes());
    if next == Next::Close {
        out.put_slice(b"connection: close\r\n");
    }
    match head.framing {
        Framing::Length(bytes) => drop(write!(out, "content-length: {bytes}\r\n\r\n")),
        Framing::Chunked => out.put_slice(b"transfer-encoding: chunked\r\n\r\n"),
    }
}

fn frame(out: &mut Vec<u8>, data: &[u8], chunked: bool) {
    // An empty chunk would be the end.
    if chunked && !data.is_empty() {
        let _ = write!(out, "{:x}\r\n", data.len());
        out.put_slice(data);
        out.put_slice(b"\r\n");
    } else {
        out.put_slice(data);
    }
}
