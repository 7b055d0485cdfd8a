//! HTTP/2 with prior knowledge, on hyper. Healthy answers and streams are whole; what would need
//! the socket resets the stream.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::ledger::End;
use crate::plan::{Act, Framing, Plan};
use crate::shared::{Asked, Shared, Ticket};

/// A longer body is refused: twice what any provider takes.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How far an answer may be ahead of its reader.
const AHEAD_FRAMES: usize = 16;

/// What ends a stream that is to be reset.
type Broken = io::Error;

/// Answers what comes on this connection until either side ends it.
pub(crate) async fn serve(shared: Arc<Shared>, socket: TcpStream) {
    let service = service_fn(move |request| answer(Arc::clone(&shared), request));
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    // A connection that breaks is what this is for.
    let _ = server.serve_connection(TokioIo::new(socket), service).await;
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Answer>, Broken> {
    let (parts, incoming) = request.into_parts();
    let body = read(incoming).await?;
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let mut head = format!("{} {target} HTTP/2.0\r\n", parts.method);
    for (name, value) in &parts.headers {
        head.push_str(&format!("{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes())));
    }
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let asked = Asked {
        method: parts.method.as_str(),
        target: &target,
        head: head.as_bytes(),
        x_fake: header("x-fake"),
        speaks_anthropic: header("anthropic-version").is_some(),
        upgrades: false,
        http2: true,
    };
    let (plan, ticket) = shared.answer(&asked, &body);
    if !plan.wait.is_zero() {
        sleep(plan.wait).await;
    }
    let Some(head) = &plan.head else {
        if plan.acts.first() == Some(&Act::Stall) {
            return std::future::pending().await;
        }
        finish(ticket, End::Faulted);
        return Err(Broken::other("reset by script"));
    };
    let mut response = Response::builder().status(StatusCode::from_u16(head.status).unwrap_or(StatusCode::OK));
    for (name, value) in head.headers.iter() {
        response = response.header(name, value);
    }
    if let Framing::Length(bytes) = head.framing {
        response = response.header("content-length", bytes);
    }
    let (sender, frames) = mpsc::channel(AHEAD_FRAMES);
    let performance = Box::pin(perform(plan, sender, ticket));
    response.body(Answer { frames, performance: Some(performance) }).map_err(Broken::other)
}

fn finish(ticket: Option<Ticket>, end: End) {
    if let Some(ticket) = ticket {
        ticket.end(end);
    }
}

async fn read(mut incoming: Incoming) -> Result<Bytes, Broken> {
    let mut body = BytesMut::new();
    loop {
        let frame = std::future::poll_fn(|ctx| Pin::new(&mut incoming).poll_frame(ctx)).await;
        match frame {
            None => return Ok(body.freeze()),
            Some(Err(problem)) => return Err(Broken::other(problem)),
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap_or_default();
                if body.len() + data.len() > BODY_BYTES_MAX {
                    return Err(Broken::other("the body is too long"));
                }
                body.extend_from_slice(&data);
            }
        }
    }
}

/// Does what the plan says; dropped with the body when the client resets the stream.
async fn perform(plan: Plan, frames: mpsc::Sender<Result<Bytes, Broken>>, ticket: Option<Ticket>) {
    let mut end = End::Faulted;
    for act in plan.acts {
        match act {
            Act::Data(mut data) | Act::Raw(mut data) => {
                while !data.is_empty() {
                    let part = data.split_to(plan.pace.map_or(data.len(), |pace| pace.bytes.min(data.len())));
                    if frames.send(Ok(part)).await.is_err() {
                        return;
                    }
                    if let Some(pace) = plan.pace {
                        sleep(pace.every).await;
                    }
                }
            }
            Act::Sleep(wait) => sleep(wait).await,
            Act::Flood(data, bytes) | Act::FloodRaw(data, bytes) => {
                let mut sent = 0;
                while sent < bytes {
                    sent += data.len().max(1) as u64;
                    if frames.send(Ok(data.clone())).await.is_err() {
                        return;
                    }
                }
            }
            Act::Repeat(data, every) => loop {
                sleep(every).await;
                if frames.send(Ok(data.clone())).await.is_err() {
                    return;
                }
            },
            Act::Stall => std::future::pending().await,
            Act::End => {
                end = End::Answered;
                break;
            }
            Act::Reset | Act::Close => {
                let _ = frames.send(Err(Broken::other("reset by script"))).await;
                break;
            }
        }
    }
    finish(ticket, end);
}

/// A body and the performance that fills it, driven by whoever reads it.
struct Answer {
    frames: mpsc::Receiver<Result<Bytes, Broken>>,
    performance: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Poll::Ready(Some(frame)) = self.frames.poll_recv(ctx) {
            return Poll::Ready(Some(frame.map(Frame::data)));
        }
        if let Some(performance) = &mut self.performance
            && performance.as_mut().poll(ctx).is_ready()
        {
            self.performance = None;
        }
        // What it sent meanwhile, or the end of it all.
        self.frames.poll_recv(ctx).map(|frame| frame.map(|frame| frame.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
