//! `/api/events`: everything as it happens, as server-sent events.
//!
//! Nobody has a queue of his own but for a few parts on their way: a reader that does not keep up is
//! overtaken by the engine's ring and told how much it missed, and one that stands still is dropped. Its
//! stream ends with a word about that, for which there is always room.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use steadfast_core::record::{Event, Record};
use steadfast_engine::Live;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use crate::caller::Caller;
use crate::channel::{Channel, Part};
use crate::control::Control;
use crate::problem::{Params, Problem};
use crate::record::RecordView;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Parts under way to one reader, and how large each is at most.
const PARTS_MAX: usize = 4;
const PART_BYTES: usize = 16 * 1024;

/// A reader that takes nothing for this long is dropped: it holds one of the few places, and can come back to its own.
const STILL_MAX: Duration = Duration::from_secs(20);

/// How long events are gathered before a reader is sent them.
const GATHER: Duration = Duration::from_millis(10);

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
    /// Models asked, serving or failing, or that an alert is about.
    model: Option<String>,
    /// Endpoints asked, serving or failing.
    endpoint: Option<String>,
    /// Begin with the event of this number, if it is still there; `last-event-id` is for coming back. Default:
    /// with what happens from now on.
    since: Option<u64>,
}

/// Follows what happens, as server-sent events. `event:` is the kind of record, `data:` the record as JSON, `id:` its
/// number: send it as `last-event-id` to go on where you were. `event: missed` says how many were lost in between
/// (`null`: nobody knows, the gateway was started anew). A comment comes at least every 15 seconds. A reader that takes
/// nothing for 20 seconds is dropped: its stream ends with `event: dropped`, and it may come back as usual.
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
    // One more than a reader may have under way, for the last word.
    let (parts, body) = Channel::new(PARTS_MAX + 1);
    let last_word = parts.clone().try_reserve_owned().map_err(|_| Problem::unavailable("nobody reads"))?;
    let reader = Reader { live, place, filter, caller, parts, _permit: permit };
    tokio::spawn(async move {
        if reader.read().await == Err(Gone::StoodStill) {
            last_word.send(Ok(dropped_notice().into()));
        }
    });
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

/// Why a reader is not served any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    /// It left.
    Left,
    /// It is there and takes nothing.
    StoodStill,
}

impl Reader {
    /// Serves the reader until it is gone.
    async fn read(mut self) -> Result<Infallible, Gone> {
        // The head goes out at once, so that a reader knows that it is connected.
        self.send(format!("retry: 1000\n: from {}\n\n", self.place)).await?;
        loop {
            self.catch_up().await?;
            tokio::select! {
                // Those who tell what happened, and serve, would wake this one for every few records.
                () = self.live.grown_to(self.place) => tokio::time::sleep(GATHER).await,
                () = self.parts.closed() => return Err(Gone::Left),
                () = tokio::time::sleep(HEARTBEAT) => {
                    // An id without data moves a reader's place and is no event to it.
                    self.send(format!(": alive\nid: {}\n\n", self.place.saturating_sub(1))).await?;
                }
            }
        }
    }

    /// Sends what there is from the reader's place on.
    async fn catch_up(&mut self) -> Result<(), Gone> {
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
        if part.is_empty() { Ok(()) } else { self.send(part).await }
    }

    async fn send(&self, part: String) -> Result<(), Gone> {
        let sent = timeout(STILL_MAX, self.parts.send(Ok(part.into()))).await;
        sent.map_err(|_| Gone::StoodStill)?.map_err(|_| Gone::Left)
    }
}

fn dropped_notice() -> String {
    let data = serde_json::json!({ "dropped": format!("nothing was taken for {} s", STILL_MAX.as_secs()) });
    format!("event: dropped\ndata: {data}\n\n")
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
        let about = record.about.as_deref();
        // What an alert without a project is about is a model.
        let is_about_model = record.event == Event::Alert && record.project.is_none();
        let model = self.model.is_none()
            || is_about_model && named(&self.model, about)
            || places().any(|place| named(&self.model, Some(&place.model)));
        let endpoint = self.endpoint.is_none()
            || named(&self.endpoint, about)
            || places().any(|place| named(&self.endpoint, Some(&place.endpoint)));
        // A project's key sees breakers too, which belong to nobody.
        let project = named(&self.project, record.project.as_deref())
            || *caller != Caller::Admin && record.event == Event::Breaker;
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
