//! `/api/events`: everything as it happens, as server-sent events.
//!
//! Nobody has a queue of his own but for a few parts on their way: a reader that does not keep up is
//! overtaken by the engine's ring and told how much it missed, and one that stands still is dropped.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use steadfast_core::record::Record;
use steadfast_engine::Live;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use crate::caller::Caller;
use crate::channel::{Channel, PATIENCE, Part};
use crate::control::Control;
use crate::problem::{Params, Problem};
use crate::record::RecordView;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Parts under way to one reader, and how large each is at most.
const PARTS_MAX: usize = 4;
const PART_BYTES: usize = 16 * 1024;

/// A reader hears something at least this often.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Which events. Several values are separated by commas; all filters given must fit.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Kinds of record, such as `decision,breaker,alert`.
    event: Option<String>,
    /// What happened in words, such as `waiting,fallback`.
    what: Option<String>,
    /// A request.
    request: Option<String>,
    /// Conversations.
    session: Option<String>,
    /// Projects.
    project: Option<String>,
    /// Kinds of failure.
    kind: Option<String>,
    /// Models asked, serving or failing.
    model: Option<String>,
    /// Endpoints asked, serving or failing.
    endpoint: Option<String>,
    /// Begin with the event of this number, if it is still there; `last-event-id` is for coming back. Default:
    /// with what happens from now on.
    since: Option<u64>,
}

/// Follows what happens, as server-sent events. `event:` is the kind of record, `data:` the record as JSON, `id:` its
/// number: send it as `last-event-id` to go on where you were. `event: missed` says how many were lost in between
/// (`null`: nobody knows, the gateway was started anew). A comment comes at least every 15 seconds.
#[utoipa::path(get, path = "/api/events", tag = "live",
    params(Filter, ("last-event-id" = Option<u64>, Header, description = "the number of the last event seen")),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
pub(crate) async fn follow(
    State(control): State<Control>,
    caller: Caller,
    headers: HeaderMap,
    Params(filter): Params<Filter>,
) -> Result<Response, Problem> {
    let last = match headers
        .get(LAST_EVENT_ID)
        .map(|value| value.to_str().ok().and_then(|text| text.trim().parse::<u64>().ok()))
    {
        Some(None) => return Err(Problem::invalid("last-event-id", "it is the number of an event")),
        Some(Some(last)) => Some(last.saturating_add(1)),
        None => None,
    };
    let filter = Filter { project: caller.narrowed(filter.project.clone())?, ..filter };
    let full = |_| Problem::unavailable("too many readers follow the events: close one, or come back later");
    let permit = Arc::clone(control.readers()).try_acquire_owned().map_err(full)?;
    let live = Arc::clone(control.engine().live());
    let place = last.or(filter.since).unwrap_or_else(|| live.next());
    let (parts, body) = Channel::new(PARTS_MAX);
    tokio::spawn(Reader { live, place, filter, caller, parts, _permit: permit }.read());
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Buffering proxies would hold events back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// One reader and its place.
struct Reader {
    live: Arc<Live>,
    /// The number of the next record to look at.
    place: u64,
    filter: Filter,
    caller: Caller,
    parts: mpsc::Sender<Part>,
    _permit: OwnedSemaphorePermit,
}

impl Reader {
    async fn read(mut self) {
        // The head goes out at once, so that a reader knows that it is connected.
        if self.send(format!("retry: 1000\n: from {}\n\n", self.place)).await.is_none() {
            return;
        }
        loop {
            if self.catch_up().await.is_none() {
                return;
            }
            tokio::select! {
                () = self.live.grown_to(self.place) => {}
                () = self.parts.closed() => return,
                () = tokio::time::sleep(HEARTBEAT) => {
                    // An id without data moves a reader's place and is no event to it.
                    let beat = format!(": alive\nid: {}\n\n", self.place.saturating_sub(1));
                    if self.send(beat).await.is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// Sends what there is from the reader's place on; `None` where nobody reads any more.
    async fn catch_up(&mut self) -> Option<()> {
        let found = self.live.since(self.place);
        let mut part = String::new();
        match found.missed {
            Some(0) => {}
            Some(missed) => missed_notice(&mut part, Some(missed)),
            None => missed_notice(&mut part, None),
        }
        let first = if found.missed.is_none() { 0 } else { self.place };
        for batch in &found.batches {
            for (number, record) in (batch.first..).zip(batch.records.iter()).filter(|(number, _)| *number >= first) {
                self.filter.tell(&self.caller, record, number, &mut part);
                if part.len() >= PART_BYTES {
                    self.send(std::mem::take(&mut part)).await?;
                }
            }
        }
        self.place = found.next;
        if part.is_empty() { Some(()) } else { self.send(part).await }
    }

    async fn send(&self, part: String) -> Option<()> {
        timeout(PATIENCE, self.parts.send(Ok(part.into()))).await.ok()?.ok()
    }
}

fn missed_notice(part: &mut String, missed: Option<u64>) {
    let data = serde_json::json!({ "missed": missed });
    // Writing to memory cannot fail.
    let _ = write!(part, "event: missed\ndata: {data}\n\n");
}

impl Filter {
    /// Appends the record as an event, where it fits.
    fn tell(&self, caller: &Caller, record: &Record, number: u64, part: &mut String) {
        if !self.fits(caller, record) {
            return;
        }
        let Some(view) = RecordView::seen_by(caller, record, Some(number)) else { return };
        if !named(&self.what, Some(view.what)) {
            return;
        }
        let data = serde_json::to_string(&view).unwrap_or_default();
        let _ = write!(part, "id: {number}\nevent: {}\ndata: {data}\n\n", record.event.as_str());
    }

    fn fits(&self, caller: &Caller, record: &Record) -> bool {
        let places = || [&record.target, &record.from, &record.to].into_iter().flatten().chain(&record.chain);
        let model = self.model.is_none() || places().any(|place| named(&self.model, Some(&place.model)));
        let about = record.about.as_deref();
        let endpoint = self.endpoint.is_none()
            || named(&self.endpoint, about)
            || places().any(|place| named(&self.endpoint, Some(&place.endpoint)));
        // A project's key sees breakers too, which belong to nobody.
        let project = named(&self.project, record.project.as_deref())
            || *caller != Caller::Admin && record.event == steadfast_core::record::Event::Breaker;
        project
            && model
            && endpoint
            && named(&self.event, Some(record.event.as_str()))
            && named(&self.request, Some(&record.request))
            && named(&self.session, record.session.as_deref())
            && named(&self.kind, record.kind.map(steadfast_core::FailureKind::as_str))
    }
}

/// Whether a name is among those asked for, where any are.
fn named(wanted: &Option<String>, name: Option<&str>) -> bool {
    wanted.as_ref().is_none_or(|wanted| name.is_some_and(|name| wanted.split(',').any(|one| one.trim() == name)))
}
