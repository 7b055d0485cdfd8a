//! Room for so many connections; who comes when it is full is told so.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Refusals under way; those beyond are closed without a word.
const REFUSALS_MAX: usize = 64;

/// How long a refused client may take to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(2);

/// In the words every SDK reads; which API is spoken is not known yet.
const MESSAGE: &str = "Steadfast serves as many connections as it may: close some, or raise --connections-max";

/// A connection's place, given back when it is dropped.
pub(crate) type Place = OwnedSemaphorePermit;

/// Room for connections.
pub(crate) struct Room {
    places: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    /// Said once while it lasts.
    is_full: bool,
}

impl Room {
    pub(crate) fn new(connections_max: usize) -> Self {
        let places = connections_max.min(Semaphore::MAX_PERMITS);
        let (places, refusals) = (Semaphore::new(places), Semaphore::new(REFUSALS_MAX));
        Self { places: Arc::new(places), refusals: Arc::new(refusals), is_full: false }
    }

    /// A place, where there is one.
    pub(crate) fn take(&mut self) -> Option<Place> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok();
        let was_full = std::mem::replace(&mut self.is_full, place.is_none());
        match (was_full, self.is_full) {
            (false, true) => tracing::warn!("no more connections are taken: raise --connections-max"),
            (true, false) => tracing::info!("connections are taken again"),
            _ => {}
        }
        place
    }

    /// Says why, and closes.
    pub(crate) fn refuse(&self, stream: TcpStream) {
        let Ok(turn) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        tokio::spawn(async move {
            let _ = timeout(REFUSAL_TIME, tell(stream)).await;
            drop(turn);
        });
    }
}

async fn tell(mut stream: TcpStream) -> std::io::Result<()> {
    let body = format!(r#"{{"type":"error","error":{{"type":"overloaded_error","code":503,"message":"{MESSAGE}"}}}}"#);
    let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close";
    let told = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(told.as_bytes()).await?;
    stream.shutdown().await?;
    // Closed with something unread, a connection is reset, and the words above may be lost with it.
    let mut unread = [0; 4096];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}
