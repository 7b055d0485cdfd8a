//! OpenTelemetry traces with the GenAI conventions, sent as OTLP over HTTP with JSON.
//!
//! ```text
//! request   server span, with an event per decision
//! └ attempt   client span
//! └ attempt   client span           spans ──▶ queue ──every second or 512──▶ collector
//! ```
//!
//! Off the way of a request: handing a span over never waits. Where the collector is away, spans
//! are kept up to a bound and then lost and counted. A span holds names, kinds, numbers and our own
//! words, and never a prompt, an answer, a provider's message or a key.

mod context;
mod otlp;

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use steadfast_config::{Dialect, Traces};
use steadfast_core::Failure;
use steadfast_core::cost::Usage;
use steadfast_core::decision::Decision;
use steadfast_core::record::Place;
use steadfast_core::recovery::{Attempt, Outcome};
use steadfast_dialect::{Format, Operation as Asked};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::call::Call;
use crate::upstream::{Upstream, Version};

use context::Parent;

/// Spans on their way; some megabytes, and many seconds of ordinary traffic.
const QUEUE_MAX: usize = 8192;

/// What is sent at once.
const BATCH_MAX: usize = 512;

/// The longest a span waits for company.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// A collector that takes longer is away.
const SEND_TIME: Duration = Duration::from_secs(5);

/// A shutdown does not wait longer than this for the last spans.
const LAST_FLUSH: Duration = Duration::from_secs(3);

/// A request that is held for days decides often; its log line holds all of it.
const EVENTS_MAX: usize = 64;

/// Names come from clients and are names, not storage.
const NAME_BYTES_MAX: usize = 256;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Takes finished spans and sends them to the collector.
#[derive(Debug)]
pub(crate) struct Tracer {
    queue: mpsc::Sender<Message>,
    lost: Arc<AtomicU64>,
}

/// The trace of one request under way.
#[derive(Debug)]
pub(crate) struct Trace {
    tracer: Arc<Tracer>,
    parent: Parent,
    operation: &'static str,
    request: Span,
    attempt: Option<Span>,
    /// The status the running attempt was answered with; zero before that.
    status: AtomicU16,
    failure: Option<&'static str>,
    usage: Usage,
}

/// One piece of work.
#[derive(Debug)]
struct Span {
    trace: u128,
    id: u64,
    parent: Option<u64>,
    name: String,
    kind: Kind,
    began_nanos: u64,
    ended_nanos: u64,
    attributes: Vec<Attribute>,
    events: Vec<Event>,
    failed: bool,
}

/// A moment in a span.
#[derive(Debug)]
struct Event {
    name: &'static str,
    at_nanos: u64,
    attributes: Vec<Attribute>,
}

type Attribute = (&'static str, Value);

#[derive(Debug)]
enum Value {
    Text(String),
    Shared(Arc<str>),
    Word(&'static str),
    Number(u64),
}

/// Whose side of a call a span tells; the numbers are OTLP's.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Server = 2,
    Client = 3,
}

#[derive(Debug)]
enum Message {
    Span(Box<Span>),
    /// Answer when everything before this was sent, or could not be.
    Flush(oneshot::Sender<()>),
}

impl Tracer {
    /// Starts the task that sends; it ends when the tracer is dropped and all is sent.
    pub(crate) fn start(settings: Traces, upstream: Upstream, lost: Arc<AtomicU64>) -> Arc<Self> {
        let (queue, spans) = mpsc::channel(QUEUE_MAX);
        let collector = Collector { settings, upstream, lost: Arc::clone(&lost), away: false };
        // Detached on purpose: it outlives a reload by its last batch, and its queue ends it.
        tokio::spawn(collector.run(spans));
        Arc::new(Self { queue, lost })
    }

    /// Sends what is still on its way, for a moment at most.
    pub(crate) async fn flush(&self) {
        let (done, sent) = oneshot::channel();
        let flush = async {
            if self.queue.send(Message::Flush(done)).await.is_ok() {
                let _ = sent.await;
            }
        };
        let _ = timeout(LAST_FLUSH, flush).await;
    }

    fn hand_over(&self, span: Span) {
        if self.queue.try_send(Message::Span(Box::new(span))).is_err() && self.lost.fetch_add(1, Ordering::Relaxed) == 0
        {
            tracing::warn!("traces cannot be sent fast enough: spans are being lost");
        }
    }
}

impl Trace {
    /// Begins the trace of a request, or none where its caller does not want one.
    pub(crate) fn begin(tracer: &Arc<Tracer>, call: &Call, project: &Arc<str>) -> Option<Box<Self>> {
        let parent = Parent::of(&call.headers);
        let (trace, above) = match parent {
            Parent::None => (fastrand::u128(1..), None),
            Parent::Sampled { trace, span } => (trace, Some(span)),
            Parent::Unsampled => return None,
        };
        let operation = operation_name(call.route.operation);
        let model = call.envelope.model.as_deref().map(bounded);
        let mut request = Span::begin(trace, above, Kind::Server, operation, model);
        request.put("gen_ai.operation.name", Value::Word(operation));
        request.put("steadfast.request", Value::Shared(Arc::clone(&call.id)));
        request.put("steadfast.project", Value::Shared(Arc::clone(project)));
        if let Some(model) = model {
            request.put("gen_ai.request.model", Value::Text(model.to_owned()));
        }
        if let Some(session) = &call.session {
            request.put("gen_ai.conversation.id", Value::Shared(Arc::clone(session)));
        }
        if let Some(agent) = &call.agent {
            request.put("gen_ai.agent.id", Value::Shared(Arc::clone(agent)));
        }
        request.put("steadfast.client", Value::Shared(Arc::clone(&call.client.name)));
        Some(Box::new(Self {
            tracer: Arc::clone(tracer),
            parent,
            operation,
            request,
            attempt: None,
            status: AtomicU16::new(0),
            failure: None,
            usage: Usage::default(),
        }))
    }

    /// Tells of a request that the journal had the answer to.
    pub(crate) fn kept(tracer: &Arc<Tracer>, call: &Call) {
        Self::answered(tracer, call, "steadfast.journal", Value::Word("kept"), "succeeded");
    }

    /// Tells of a request that had just failed, and was answered from memory.
    pub(crate) fn repeated(tracer: &Arc<Tracer>, call: &Call, of: &Arc<str>) {
        Self::answered(tracer, call, "steadfast.repeats", Value::Shared(Arc::clone(of)), "gave_up");
    }

    fn answered(tracer: &Arc<Tracer>, call: &Call, name: &'static str, value: Value, outcome: &'static str) {
        let Some(mut trace) = Self::begin(tracer, call, &call.project.as_str().into()) else { return };
        trace.request.put(name, value);
        trace.request.put("steadfast.outcome", Value::Word(outcome));
        trace.request.put("steadfast.attempts", Value::Number(0));
        trace.request.ended_nanos = now_nanos();
        tracer.hand_over(trace.request);
    }

    /// An attempt begins.
    pub(crate) fn attempt(&mut self, attempt: &Attempt, place: &Place, dialect: Dialect) {
        let above = Some(self.request.id);
        let mut span = Span::begin(self.request.trace, above, Kind::Client, self.operation, Some(&place.model));
        span.put("gen_ai.operation.name", Value::Word(self.operation));
        span.put("gen_ai.provider.name", Value::Word(provider(dialect)));
        span.put("gen_ai.request.model", Value::Shared(Arc::clone(&place.model)));
        span.put("steadfast.endpoint", Value::Shared(Arc::clone(&place.endpoint)));
        span.put("steadfast.attempt", Value::Number(attempt.number.into()));
        span.put("steadfast.choice", Value::Word(attempt.choice.name()));
        self.status.store(0, Ordering::Relaxed);
        self.attempt = Some(span);
    }

    /// Tells the provider which span its work belongs to.
    pub(crate) fn mark(&self, headers: &mut HeaderMap) {
        let Some(span) = &self.attempt else { return };
        if let Ok(value) = HeaderValue::try_from(context::traceparent(span.trace, span.id)) {
            headers.insert(TRACEPARENT, value);
        }
        if matches!(self.parent, Parent::None) {
            // The state of a trace that could not be continued says nothing about this one.
            headers.remove(TRACESTATE);
        }
    }

    /// The head of a response has come.
    pub(crate) fn responded(&self, status: StatusCode) {
        self.status.store(status.as_u16(), Ordering::Relaxed);
    }

    /// The first content of a stream has come.
    pub(crate) fn first_token(&mut self) {
        if let Some(span) = &mut self.attempt {
            span.note("first_token", Vec::new());
        }
    }

    /// The attempt served.
    pub(crate) fn succeeded(&mut self, usage: Usage) {
        self.usage = usage;
        self.failure = None;
        self.end_attempt(usage, |_| {});
    }

    /// The attempt failed.
    pub(crate) fn failed(&mut self, failure: &Failure, usage: Usage) {
        self.failure = Some(failure.kind.as_str());
        self.end_attempt(usage, |span| {
            span.failed = true;
            span.put("error.type", Value::Word(failure.kind.as_str()));
            span.put("steadfast.rule", Value::Text(failure.rule.to_string()));
        });
    }

    /// What was decided, in words.
    pub(crate) fn decided(&mut self, decision: &Decision, reason: String, to: Option<&Place>) {
        let mut attributes = vec![
            ("steadfast.kind", Value::Word(decision.kind.as_str())),
            ("steadfast.step", Value::Word(decision.step)),
            ("steadfast.wait_ms", Value::Number(u64::try_from(decision.wait.as_millis()).unwrap_or(u64::MAX))),
            ("steadfast.reason", Value::Text(reason)),
        ];
        if let Some(to) = to {
            attributes.push(("steadfast.to.model", Value::Shared(Arc::clone(&to.model))));
            attributes.push(("steadfast.to.endpoint", Value::Shared(Arc::clone(&to.endpoint))));
        }
        self.request.note("decision", attributes);
    }

    /// The request is over.
    pub(crate) fn end(mut self, outcome: &Outcome, attempts: u32, served: Option<(&Place, Dialect)>) {
        // An attempt that is still running was left by its caller.
        self.end_attempt(Usage::default(), |span| span.put("error.type", Value::Word("cancelled")));
        let mut span = self.request;
        span.put("steadfast.outcome", Value::Word(outcome.name()));
        span.put("steadfast.attempts", Value::Number(attempts.into()));
        if let Some((place, dialect)) = served {
            span.put("gen_ai.provider.name", Value::Word(provider(dialect)));
            span.put("gen_ai.response.model", Value::Shared(Arc::clone(&place.model)));
            span.put("steadfast.endpoint", Value::Shared(Arc::clone(&place.endpoint)));
        }
        span.put_usage(self.usage);
        if matches!(outcome, Outcome::GaveUp(_)) {
            span.failed = true;
            // Some requests end before anything failed: no money, no model that fits.
            span.put("error.type", Value::Word(self.failure.unwrap_or("gave_up")));
        }
        span.ended_nanos = now_nanos();
        self.tracer.hand_over(span);
    }

    fn end_attempt(&mut self, usage: Usage, told: impl FnOnce(&mut Span)) {
        let Some(mut span) = self.attempt.take() else { return };
        let status = self.status.load(Ordering::Relaxed);
        if status != 0 {
            span.put("http.response.status_code", Value::Number(status.into()));
        }
        span.put_usage(usage);
        told(&mut span);
        span.ended_nanos = now_nanos();
        self.tracer.hand_over(span);
    }
}

impl Span {
    fn begin(trace: u128, parent: Option<u64>, kind: Kind, operation: &str, model: Option<&str>) -> Self {
        Self {
            trace,
            id: fastrand::u64(1..),
            parent,
            name: model.map_or_else(|| operation.to_owned(), |model| format!("{operation} {model}")),
            kind,
            began_nanos: now_nanos(),
            ended_nanos: 0,
            attributes: Vec::with_capacity(12),
            events: Vec::new(),
            failed: false,
        }
    }

    fn put(&mut self, name: &'static str, value: Value) {
        self.attributes.push((name, value));
    }

    fn put_usage(&mut self, usage: Usage) {
        if usage != Usage::default() {
            self.put("gen_ai.usage.input_tokens", Value::Number(usage.input_tokens));
            self.put("gen_ai.usage.output_tokens", Value::Number(usage.output_tokens));
        }
    }

    fn note(&mut self, name: &'static str, attributes: Vec<Attribute>) {
        if self.events.len() < EVENTS_MAX {
            self.events.push(Event { name, at_nanos: now_nanos(), attributes });
        }
    }
}

/// The other end, and whether it takes what it is sent.
struct Collector {
    settings: Traces,
    upstream: Upstream,
    lost: Arc<AtomicU64>,
    away: bool,
}

/// What became of a batch.
enum Sent {
    Taken,
    /// It may be taken later.
    Away(String),
    /// It will never be taken.
    Refused(StatusCode),
}

impl Collector {
    async fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut batch: Vec<Span> = Vec::new();
        let mut tick = interval(FLUSH_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                message = queue.recv(), if batch.len() < BATCH_MAX => match message {
                    Some(Message::Span(span)) => {
                        batch.push(*span);
                        if batch.len() < BATCH_MAX {
                            continue;
                        }
                    }
                    Some(Message::Flush(done)) => {
                        self.send(&mut batch).await;
                        let _ = done.send(());
                        continue;
                    }
                    None => {
                        self.send(&mut batch).await;
                        return self.lose(batch.len());
                    }
                },
                _ = tick.tick() => {}
            }
            self.send(&mut batch).await;
            if batch.len() == BATCH_MAX && queue.is_closed() {
                // Nobody is left to wait for the collector, and the queue behind this batch is not read.
                return self.lose(batch.len() + queue.len());
            }
        }
    }

    /// Sends a batch; what may be taken later stays in it.
    async fn send(&mut self, batch: &mut Vec<Span>) {
        if batch.is_empty() {
            return;
        }
        let sent = timeout(SEND_TIME, self.post(batch)).await;
        match sent.unwrap_or_else(|_| Sent::Away("it does not answer".to_owned())) {
            Sent::Taken => {
                batch.clear();
                if std::mem::take(&mut self.away) {
                    let lost = self.lost.load(Ordering::Relaxed);
                    tracing::info!(url = %self.settings.url, lost, "traces are being sent again");
                }
            }
            Sent::Away(error) => {
                if !std::mem::replace(&mut self.away, true) {
                    tracing::warn!(url = %self.settings.url, %error, "cannot send traces; traffic goes on without");
                }
            }
            Sent::Refused(status) => {
                if !std::mem::replace(&mut self.away, true) {
                    tracing::warn!(url = %self.settings.url, %status, "the collector refuses traces; traffic goes on without");
                }
                self.lose(batch.len());
                batch.clear();
            }
        }
    }

    async fn post(&self, batch: &[Span]) -> Sent {
        let mut request = Request::new(Bytes::from(otlp::body(&self.settings.service, batch)));
        *request.method_mut() = Method::POST;
        match self.settings.url.parse() {
            Ok(uri) => *request.uri_mut() = uri,
            Err(_) => return Sent::Away("the address cannot be used".to_owned()),
        }
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &self.settings.headers {
            let header = HeaderName::try_from(name.as_str()).ok().zip(HeaderValue::from_str(value.expose()).ok());
            if let Some((name, mut value)) = header {
                value.set_sensitive(true);
                request.headers_mut().insert(name, value);
            }
        }
        let response = match self.upstream.send(request, Version::Http1).await {
            Ok(response) => response,
            Err(trouble) => return Sent::Away(String::from_utf8_lossy(&trouble.body).into_owned()),
        };
        let status = response.status();
        // Read to its end, so that the connection can be used again.
        drop(response.into_body().some(64 * 1024).await);
        match status {
            status if status.is_success() => Sent::Taken,
            // What the protocol says may be tried again.
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::REQUEST_TIMEOUT
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Sent::Away(format!("it answers {status}")),
            status => Sent::Refused(status),
        }
    }

    fn lose(&self, spans: usize) {
        self.lost.fetch_add(spans as u64, Ordering::Relaxed);
    }
}

/// The conventions' word for an operation, and our own where they have none.
const fn operation_name(asked: Asked) -> &'static str {
    match asked {
        Asked::Generate(Format::Gemini) => "generate_content",
        Asked::Generate(Format::Chat | Format::Responses | Format::Messages) => "chat",
        Asked::Embed => "embeddings",
        Asked::CountTokens => "count_tokens",
        Asked::ListModels => "list_models",
        Asked::Other => "other",
    }
}

/// The conventions' word for whose format is spoken; `steadfast.endpoint` says who it is.
const fn provider(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => "anthropic",
        Dialect::OpenAi => "openai",
        Dialect::Gemini => "gcp.gemini",
    }
}

fn bounded(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES_MAX)]
}

fn now_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_collector_takes_is_lost_and_counted_and_waits_for_nobody() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // It listens and never answers.
            let collector = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/v1/traces", collector.local_addr().unwrap());
            let settings = Traces { url, service: "test".to_owned(), headers: Vec::new() };
            let lost = Arc::new(AtomicU64::new(0));
            let tracer = Tracer::start(settings, Upstream::new(SEND_TIME, None), Arc::clone(&lost));
            let span = || Span::begin(1, None, Kind::Server, "chat", None);
            for _ in 0..BATCH_MAX {
                tracer.hand_over(span());
            }
            // The task has a batch, not necessarily a full one, and waits for the collector with it.
            let (_held, _) = collector.accept().await.unwrap();
            for _ in 0..QUEUE_MAX + 100 {
                tracer.hand_over(span());
            }
            let lost = lost.load(Ordering::Relaxed);
            assert!((100..100 + BATCH_MAX as u64).contains(&lost), "{lost}");
        });
    }
}
