//! The way of an answer to its client: a driver puts pieces out, the connection takes them.
//!
//! The driver is a future that lives inside the response body and runs only while the client's
//! connection asks for more. So a slow reader slows the upstream, a client that leaves drops the
//! driver with everything it holds, and no task or channel stands between the two sockets.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use http_body::{Body, Frame};
use steadfast_config::Heartbeat as Known;
use steadfast_dialect::Format;
use steadfast_dialect::heartbeat::Beat;
use tokio::time::Instant;

use crate::Engine;
use crate::bell::Bell;
use crate::call::Call;
use crate::key::Key;
use crate::means::{client_waits, with_margin};
use crate::patience::Patience;
use crate::reply::{Reply, ReplyBody};

/// What may wait for the client before the upstream is not read any further.
const QUEUED_BYTES_MAX: usize = 64 * 1024;

/// Where a driver puts what goes to the client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Out(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Boxed: it is gone before the pieces come.
    head: Option<Box<Head>>,
    /// The head is out, or will be: there is no way back to another status.
    begun: bool,
    /// What waits; nearly always one piece, so that one has its place here.
    first: Bytes,
    more: Vec<Bytes>,
    queued_bytes: usize,
    /// The journal keeps this answer until the client has it all.
    kept: Option<Key>,
    /// The answer broke off and its format has no word for it.
    broken: bool,
}

/// The head of a response.
#[derive(Debug)]
enum Head {
    Whole(Reply),
    Stream(StatusCode, HeaderMap),
}

type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A response body that drives its own making.
pub struct Relay {
    engine: Arc<Engine>,
    driver: Option<Driver>,
    out: Out,
    heartbeat: Option<Beating>,
    /// Rung by whatever the driver or the heartbeat waits for.
    bell: Bell,
}

/// A heartbeat and when it is due.
struct Beating {
    beat: Heartbeat,
    due: Instant,
    patience: Patience,
}

/// What keeps a client waiting. The first one sends the head: the status is spent then, so it is not
/// sent early.
#[derive(Clone, Copy)]
pub(crate) struct Heartbeat {
    pub(crate) bytes: &'static [u8],
    /// How long the head may be held back.
    pub(crate) first: Duration,
    /// A stream that is silent for this long gets one.
    pub(crate) every: Duration,
}

/// What keeps this client waiting, and from when on; none where nothing does.
///
/// A failure that still has a status of its own is told best, so the head of clients that are known
/// to wait is held back for longer; never for longer than the client itself waits.
pub(crate) fn heartbeat(call: &Call, format: Format, every: Duration) -> Option<Heartbeat> {
    let beat = match call.client.heartbeat {
        Known::Format => Beat::of(format),
        Known::Ping => Beat::Ping,
        Known::Comment => Beat::Comment,
        // In other formats there is no such event.
        Known::Event if format == Format::Responses => Beat::Event,
        Known::Event => Beat::of(format),
        Known::Blank => Beat::Blank,
        Known::Never => return None,
    };
    let patience = client_waits(call).map_or(Duration::MAX, with_margin);
    let first = call.client.head_wait.map_or(every, |head| head.max(every)).min(patience);
    Some(Heartbeat { bytes: beat.bytes(call.envelope.framing), first, every })
}

/// The upstream's answer broke off in a format that has no word for it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the upstream's answer broke off")]
pub struct BrokeOff;

impl Out {
    /// Answers in one piece, with its own status. Only before the head is out.
    pub(crate) fn answer(&self, reply: Reply) {
        let mut state = self.lock();
        state.begun = true;
        state.head = Some(Box::new(Head::Whole(reply)));
    }

    /// Sends the head of a stream, where it is not out yet.
    pub(crate) fn begin(&self, status: StatusCode, headers: HeaderMap) {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.begun, true) {
            state.head = Some(Box::new(Head::Stream(status, headers)));
        }
    }

    /// Whether the head is out.
    pub(crate) fn has_begun(&self) -> bool {
        self.lock().begun
    }

    /// The journal keeps this answer; it may forget it when the client has it all.
    pub(crate) fn is_kept(&self, key: Key) {
        self.lock().kept = Some(key);
    }

    /// The answer broke off: the connection is cut, because a clean end would be a lie.
    pub(crate) fn break_off(&self) {
        self.lock().broken = true;
    }

    /// Puts a piece out, and waits while too many are waiting; says whether it had to.
    pub(crate) async fn send(&self, piece: Bytes) -> bool {
        if piece.is_empty() {
            return false;
        }
        {
            let mut state = self.lock();
            state.queued_bytes += piece.len();
            if state.first.is_empty() {
                state.first = piece;
            } else {
                state.more.push(piece);
            }
            if state.queued_bytes <= QUEUED_BYTES_MAX {
                return false;
            }
        }
        // Nobody wakes who waits here: the body that polls this driver takes the pieces out, rings its bell because they
        // were too many, and is polled again.
        poll_fn(|_| if self.lock().queued_bytes <= QUEUED_BYTES_MAX { Poll::Ready(()) } else { Poll::Pending }).await;
        true
    }

    /// Everything that is waiting, in one piece.
    fn take(&self) -> Option<Bytes> {
        let mut state = self.lock();
        let bytes = std::mem::take(&mut state.queued_bytes);
        let first = std::mem::take(&mut state.first);
        if state.more.is_empty() {
            return Some(first).filter(|piece| !piece.is_empty());
        }
        let mut joined = BytesMut::with_capacity(bytes);
        joined.extend_from_slice(&first);
        for piece in state.more.drain(..) {
            joined.extend_from_slice(&piece);
        }
        Some(joined.freeze())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay {
    /// Runs a driver until it knows how the response begins, and makes the response.
    ///
    /// `heartbeat` is what keeps the client waiting; without one it waits as long as it takes.
    pub(crate) async fn reply(
        engine: &Arc<Engine>,
        out: Out,
        driver: Driver,
        heartbeat: Option<Heartbeat>,
        early_head: HeaderMap,
    ) -> Reply {
        engine.metrics.streams_open.fetch_add(1, Ordering::Relaxed);
        let bell = Bell::new();
        let heartbeat = heartbeat.map(|beat| Beating::new(beat, &bell));
        let mut relay = Self { engine: Arc::clone(engine), driver: Some(driver), out, heartbeat, bell };
        let head = poll_fn(|cx| relay.poll_head(cx)).await;
        match head {
            Some(Head::Whole(reply)) => reply,
            Some(Head::Stream(status, headers)) => Reply { status, headers, body: ReplyBody::Stream(relay) },
            None => Reply { status: StatusCode::OK, headers: early_head, body: ReplyBody::Stream(relay) },
        }
    }

    /// The head; none where the client must not wait any longer for it.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Option<Head>> {
        if !self.bell.was_rung(cx) {
            return Poll::Pending;
        }
        self.poll_driver();
        let mut state = self.out.lock();
        if let Some(head) = state.head.take() {
            // There may be more than the head.
            self.bell.ring();
            return Poll::Ready(Some(*head));
        }
        let due = self.heartbeat.as_mut().is_some_and(|beating| beating.is_due(&self.bell));
        // A driver that ended without a word has nothing to say: an empty stream.
        if due || self.driver.is_none() {
            state.begun = true;
            // The heartbeat that is due goes out behind the head.
            self.bell.ring();
            return Poll::Ready(None);
        }
        Poll::Pending
    }

    fn poll_driver(&mut self) {
        if let Some(driver) = &mut self.driver
            && driver.as_mut().poll(&mut Context::from_waker(self.bell.rope())).is_ready()
        {
            self.driver = None;
        }
    }
}

impl Beating {
    fn new(beat: Heartbeat, bell: &Bell) -> Self {
        let mut beating = Self { beat, due: Instant::now() + beat.first, patience: Patience::default() };
        if beating.is_due(bell) {
            bell.ring();
        }
        beating
    }

    /// Something went out: the next one is due later.
    fn put_off(&mut self, bell: &Bell) {
        let now = Instant::now();
        self.due = now + self.beat.every;
        if !self.patience.is_set(now, self.due, &Context::from_waker(bell.rope())) && self.is_due(bell) {
            bell.ring();
        }
    }

    /// Whether one is due; else the bell rings when one may be.
    fn is_due(&mut self, bell: &Bell) -> bool {
        self.patience.poll_limit(self.due, &mut Context::from_waker(bell.rope())).is_ready()
    }
}

impl Body for Relay {
    type Data = Bytes;
    type Error = BrokeOff;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if !self.bell.was_rung(cx) {
            return Poll::Pending;
        }
        // The driver first: it reads whatever the upstream has ready, so that many small events
        // become one write.
        self.poll_driver();
        if let Some(piece) = self.out.take() {
            let Self { heartbeat, bell, driver, .. } = &mut *self;
            bell.let_others_first();
            if driver.is_none() || piece.len() > QUEUED_BYTES_MAX {
                // There is an end to tell, or room again for a driver that waits for it.
                bell.ring();
            }
            if let Some(beating) = heartbeat {
                beating.put_off(bell);
            }
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if self.driver.is_none() {
            let mut state = self.out.lock();
            // Asked again, it says so again.
            self.bell.ring();
            if std::mem::take(&mut state.broken) {
                return Poll::Ready(Some(Err(BrokeOff)));
            }
            let kept = state.kept.take();
            drop(state);
            if let Some(key) = kept {
                self.engine.forget_kept(key);
            }
            return Poll::Ready(None);
        }
        let Self { heartbeat, bell, engine, .. } = &mut *self;
        if let Some(beating) = heartbeat
            && beating.is_due(bell)
        {
            beating.put_off(bell);
            engine.metrics.heartbeats.fetch_add(1, Ordering::Relaxed);
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(beating.beat.bytes)))));
        }
        Poll::Pending
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.engine.metrics.streams_open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("driving", &self.driver.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_driver_waits_while_too_much_is_out_and_knows_that_it_did() {
        let (out, mut cx) = (Out::default(), Context::from_waker(Waker::noop()));
        let piece = |bytes: usize| Bytes::from(vec![b'x'; bytes]);
        assert_eq!(pin!(out.send(piece(QUEUED_BYTES_MAX))).poll(&mut cx), Poll::Ready(false));
        let mut more = pin!(out.send(piece(1)));
        assert!(more.as_mut().poll(&mut cx).is_pending());
        assert_eq!(out.take().map(|taken| taken.len()), Some(QUEUED_BYTES_MAX + 1));
        assert_eq!(more.poll(&mut cx), Poll::Ready(true));
        assert_eq!(out.take(), None);
    }
}
