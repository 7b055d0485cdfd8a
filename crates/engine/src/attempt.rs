//! One attempt: send, wait for the head, and read the answer as far as it must be known.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use steadfast_core::cost::Usage;
use steadfast_core::recovery::Attempt;
use steadfast_core::{Instant, Transport};
use steadfast_dialect::translate::{self, Translation};
use steadfast_dialect::whole::{self, Problem};
use steadfast_dialect::{Format, Frames, Framing, Operation as Asked, Seen, Watch};
use tokio::time::timeout_at;

use crate::foreign::{self, Came, Foreign};
use crate::operation::Operation;
use crate::patience::Patience;
use crate::request;
use crate::snapshot::asked_in;
use crate::trouble::Trouble;
use crate::unpack::Unpack;
use crate::upstream::{Answer, Version};

/// A whole answer is held in memory; one that is larger is no answer of a model.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// As much of an error's body as is read: enough for every provider's words and most pages.
const ERROR_BYTES_MAX: usize = 256 * 1024;

/// An error whose words do not come soon is acted upon without them.
const ERROR_TIME: Duration = Duration::from_secs(5);

/// What a stream holds back at most before its first content, or inside a tool call.
pub(crate) const HELD_BYTES_MAX: usize = 8 * 1024 * 1024;

/// An answer that arrived in one piece.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) usage: Option<steadfast_dialect::watch::Usage>,
    /// What is said of its translation, where it was translated.
    pub(crate) translated: Option<HeaderValue>,
}

/// An answer that streams.
pub(crate) struct Opened {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) frames: Frames,
    /// Sees what the client sees.
    pub(crate) watch: Watch,
    /// Where the provider's format is another.
    foreign: Option<Box<Foreign>>,
    /// What is said of its translation, where it is translated.
    pub(crate) translated: Option<HeaderValue>,
    pub(crate) body: Body,
    /// Content frames so far: about one token each, where the provider does not say.
    pub(crate) tokens_seen: u64,
    /// When the provider sent something last. Whoever lets time pass before he asks for the next frame says so here.
    pub(crate) came: Instant,
    /// How long it may send nothing.
    idle: Duration,
    patience: Patience,
}

/// The rest of a response, unpacked.
pub(crate) struct Body {
    answer: Answer,
    unpack: Option<Unpack>,
    /// The way back to the client's format, where the provider's is another.
    translation: Option<Box<Translation>>,
    /// What is said of a request that could not go as it was to a provider of the client's own format.
    repaired: Option<HeaderValue>,
}

/// Sends an attempt and waits for the head of its response; any status but success is trouble.
pub(crate) async fn send(operation: &Operation, attempt: &Attempt, body: &Bytes) -> Result<(Parts, Body), Trouble> {
    let unknown = || Trouble::transport(Transport::Address, "the target is not configured".to_owned()).unsent();
    let target = attempt.target;
    let endpoint = operation.snapshot.config.endpoint(target.endpoint).ok_or_else(unknown)?;
    let model = operation.recovery().plan().route.model(target.model.into()).ok_or_else(unknown)?;
    let served = model.endpoints.get(usize::from(target.served)).ok_or_else(unknown)?;
    let call = &operation.call;
    let mut repaired = None;
    let (mut request, translation) = match call.route.operation {
        Asked::Generate(client) if asked_in(endpoint, client) == client => {
            let without = translate::without_foreign_seals(client, body);
            repaired = without.as_ref().and_then(|(_, what)| foreign::repaired(client, what));
            let body = without.as_ref().map_or(body, |(body, _)| body);
            (request::build(call, endpoint, model, served, body)?, None)
        }
        Asked::Generate(client) => {
            let provider = asked_in(endpoint, client);
            let (request, translation) =
                request::build_translated(call, client, provider, endpoint, model, served, body)?;
            (request, Some(translation))
        }
        _ => (request::build(call, endpoint, model, served, body)?, None),
    };
    if let Some(trace) = operation.trace() {
        trace.mark(request.headers_mut());
    }
    let version = if endpoint.http2 { Version::Http2 } else { Version::Http1 };
    let limit = head_limit(operation, attempt);
    let sent =
        timeout_at(operation.engine.clock.tokio(limit), operation.engine.upstream().send(request, version)).await;
    let response = sent.unwrap_or_else(|_| Err(silent(Transport::ResponseTimeout)))?;
    let (mut parts, answer) = response.into_parts();
    if let Some(trace) = operation.trace() {
        trace.responded(parts.status);
    }
    let mut body = Body { unpack: Unpack::of(&parts.headers), answer, translation, repaired };
    if body.unpack.is_some() {
        parts.headers.remove(CONTENT_ENCODING);
    }
    let fine = match operation.call.route.operation {
        Asked::Generate(_) | Asked::CountTokens | Asked::Embed => parts.status.is_success(),
        Asked::ListModels | Asked::Other => parts.status.as_u16() < 400,
    };
    if fine {
        operation.answered(attempt, &parts.headers);
        return Ok((parts, body));
    }
    // What an error says helps; that it stops in the middle does not matter.
    let (said, _) = body.read(ERROR_BYTES_MAX, ERROR_TIME, limit, operation).await;
    Err(Trouble::response(parts.status, parts.headers, said))
}

/// Reads a whole answer and checks that it is one.
pub(crate) async fn whole(
    operation: &Operation,
    attempt: &Attempt,
    parts: Parts,
    body: &mut Body,
    format: Option<Format>,
) -> Result<Whole, Trouble> {
    let idle = operation.policy().timeouts.idle;
    let (bytes, end) = body.read(ANSWER_BYTES_MAX, idle, attempt.deadline, operation).await;
    let began = Usage { input_tokens: operation.call.envelope.input_tokens.into(), output_tokens: 0 };
    end.map_err(|trouble| trouble.with_usage(began))?;
    let Some(format) = format else {
        let usage = whole::embed_usage(&bytes);
        return Ok(Whole { status: parts.status, headers: parts.headers, body: bytes, usage, translated: None });
    };
    let translation = body.translation.take();
    let checked = whole::check(translation.as_ref().map_or(format, |way| way.provider()), &bytes);
    let used = checked.usage.map_or(began, core_usage);
    match checked.problem {
        None => {
            let usage = checked.usage.or(Some(estimate(began, &bytes)));
            let Some(translation) = translation else {
                return Ok(Whole {
                    status: parts.status,
                    headers: parts.headers,
                    body: bytes,
                    usage,
                    translated: body.repaired.take(),
                });
            };
            let answer = translation.answer(&bytes, foreign::stamp(operation));
            let answer = answer.map_err(|_| bad_output("the answer is not what its format says", &parts, &bytes));
            Ok(Whole {
                status: parts.status,
                headers: foreign::headers(&parts.headers, None),
                body: answer.map_err(|trouble| trouble.with_usage(used))?.into(),
                usage,
                translated: foreign::told(&translation),
            })
        }
        Some(Problem::ErrorInside) => Err(Trouble::bad_answer(parts.status, parts.headers, bytes)),
        Some(Problem::NotJson) => Err(bad_output("the answer is not valid JSON", &parts, &bytes).with_usage(used)),
        Some(Problem::Empty) => {
            Err(bad_output("empty response: the answer has no content", &parts, &[]).with_usage(used))
        }
    }
}

/// Takes a successful head as the beginning of a stream. Where the provider answers in one piece, that is one too.
pub(crate) async fn begin(
    operation: &Operation,
    attempt: &Attempt,
    format: Format,
    body: &Bytes,
    keeps_text: bool,
) -> Result<Box<Opened>, Trouble> {
    let (parts, mut answer) = send(operation, attempt, body).await?;
    let framing = operation.call.envelope.framing;
    let watch = if keeps_text { Watch::keeping_text(format) } else { Watch::new(format) };
    // Providers are asked for events, but for a client of Gemini that wants an array.
    let asked = if answer.translation.is_some() { Framing::Sse } else { framing };
    if !streams(&parts, asked) {
        return unfolded(operation, attempt, parts, answer, format, watch).await;
    }
    let translation = answer.translation.take();
    let way = |way: &Translation| Box::new(Foreign::new(way, framing, foreign::stamp(operation)));
    Ok(Box::new(Opened {
        status: parts.status,
        foreign: translation.as_deref().map(way),
        translated: translation.as_deref().map_or(answer.repaired.take(), foreign::told),
        headers: match translation {
            Some(_) => foreign::headers(&parts.headers, Some(framing)),
            None => parts.headers,
        },
        frames: Frames::new(framing),
        watch,
        body: answer,
        tokens_seen: 0,
        came: operation.engine.clock.now(),
        idle: operation.policy().timeouts.idle,
        patience: Patience::default(),
    }))
}

/// An answer in one piece to a client that asked for a stream: read to its end, and told as a stream.
async fn unfolded(
    operation: &Operation,
    attempt: &Attempt,
    parts: Parts,
    mut answer: Body,
    format: Format,
    watch: Watch,
) -> Result<Box<Opened>, Trouble> {
    let framing = operation.call.envelope.framing;
    let whole = whole(operation, attempt, parts, &mut answer, Some(format)).await?;
    let told = steadfast_dialect::unfold::unfold(format, framing, &whole.body);
    let told = told.ok_or_else(|| bad_stream("the answer in one piece cannot be told as a stream"))?;
    let mut frames = Frames::new(framing);
    frames.feed(told.into()).map_err(|_| bad_stream("the answer in one piece is too long for a stream"))?;
    let mut headers = whole.headers;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(foreign::content_type(framing)));
    Ok(Box::new(Opened {
        status: whole.status,
        headers,
        frames,
        watch,
        foreign: None,
        translated: whole.translated,
        body: answer,
        tokens_seen: 0,
        came: operation.engine.clock.now(),
        idle: operation.policy().timeouts.idle,
        patience: Patience::default(),
    }))
}

impl Opened {
    /// The next frame and what it means; `None` at the end of a stream that is whole.
    pub(crate) async fn next(
        &mut self,
        operation: &Operation,
        until: Instant,
    ) -> Result<Option<(steadfast_dialect::Frame, Seen)>, Trouble> {
        loop {
            if let Some(frame) = self.frames.next() {
                let seen = self.watch.see(&frame);
                self.tokens_seen += u64::from(matches!(seen, Seen::Content | Seen::ToolPart | Seen::ToolWhole));
                return match seen {
                    Seen::Error => Err(self.error_event(operation, frame.data().into_owned().into())),
                    Seen::Malformed => Err(self.malformed(operation)),
                    seen => Ok(Some((frame, seen))),
                };
            }
            match self.foreign.as_mut().and_then(|foreign| foreign.next()) {
                None => {}
                Some(Came::Bytes(bytes)) => {
                    self.put(operation, bytes)?;
                    continue;
                }
                Some(Came::Error(said)) => return Err(self.error_event(operation, said)),
                Some(Came::Malformed) => return Err(self.malformed(operation)),
            }
            let clock = &operation.engine.clock;
            let (now, limit) = (clock.tokio(self.came), clock.tokio(until.min(self.came + self.idle)));
            let next = self.patience.wait(now, limit, self.body.chunk()).await;
            if self.upstream().is_whole()
                && !matches!(next, Ok(Ok(Some(_))))
                && let Some(end) = self.foreign.as_mut().and_then(|foreign| foreign.finish())
            {
                self.put(operation, end)?;
                continue;
            }
            let chunk = match next {
                Err(_) if self.upstream().is_whole() => return Ok(None),
                Err(_) if self.tokens_seen == 0 => {
                    return Err(self.charged(operation, silent(Transport::ResponseTimeout)));
                }
                Err(_) => return Err(self.charged(operation, silent(Transport::IdleTimeout).in_stream())),
                Ok(Err(_)) if self.upstream().is_whole() => return Ok(None),
                Ok(Err(trouble)) => return Err(self.charged(operation, trouble)),
                Ok(Ok(chunk)) => chunk,
            };
            let Some(chunk) = chunk else { return self.ended(operation) };
            self.came = operation.engine.clock.now();
            match &mut self.foreign {
                None => self.put(operation, chunk)?,
                Some(foreign) => {
                    let fed = foreign.feed(chunk);
                    fed.map_err(|_| self.charged(operation, bad_stream("an event of the stream is too long")))?;
                }
            }
        }
    }

    /// Takes bytes in the client's format.
    fn put(&mut self, operation: &Operation, bytes: Bytes) -> Result<(), Trouble> {
        let fed = self.frames.feed(bytes);
        fed.map_err(|_| self.charged(operation, bad_stream("an event of the stream is too long")))
    }

    /// Sees what the provider sends.
    fn upstream(&self) -> &Watch {
        self.foreign.as_ref().map_or(&self.watch, |foreign| &foreign.watch)
    }

    /// Whether the provider is in the middle of a tool call that is translated.
    pub(crate) fn in_foreign_call(&self) -> bool {
        self.foreign.as_ref().is_some_and(|foreign| foreign.in_call)
    }

    /// The tool whose call has come in part, or in no shape that can be told.
    fn open_tool(&self) -> Option<&str> {
        let in_call = self.foreign.as_ref().map_or(self.watch.in_call(), |foreign| foreign.in_call);
        self.upstream().last_tool().filter(|_| in_call)
    }

    /// What the provider counted, as far as it has said.
    pub(crate) fn counted(&self) -> Option<steadfast_dialect::watch::Usage> {
        self.upstream().usage()
    }

    fn ended(&self, operation: &Operation) -> Result<Option<(steadfast_dialect::Frame, Seen)>, Trouble> {
        if self.upstream().is_whole() {
            return Ok(None);
        }
        let words = "the stream has no terminal event".to_owned();
        Err(self.charged(operation, Trouble::transport(Transport::BodyCut, words).in_stream()))
    }

    fn error_event(&self, operation: &Operation, said: Bytes) -> Trouble {
        self.charged(operation, Trouble { surface: steadfast_core::Surface::Stream, ..bad_stream("") }.saying(said))
    }

    fn malformed(&self, operation: &Operation) -> Trouble {
        self.charged(operation, bad_stream("malformed event in the stream: the data is not valid JSON"))
    }

    /// What the attempt cost so far: as the provider counted, or as far as can be told.
    pub(crate) fn usage(&self, operation: &Operation) -> Usage {
        let estimate =
            Usage { input_tokens: operation.call.envelope.input_tokens.into(), output_tokens: self.tokens_seen };
        let counted = self.counted().map_or(estimate, core_usage);
        Usage {
            input_tokens: if counted.input_tokens == 0 { estimate.input_tokens } else { counted.input_tokens },
            output_tokens: counted.output_tokens.max(self.tokens_seen),
        }
    }

    /// A failure of what came so far: an answer of no use is paid for all the same.
    pub(crate) fn charged(&self, operation: &Operation, trouble: Trouble) -> Trouble {
        trouble.with_usage(self.usage(operation)).in_call_of(self.open_tool())
    }
}

impl Body {
    /// The next chunk; `None` at the end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, Trouble> {
        loop {
            let Some(data) = self.answer.piece().await? else { return Ok(None) };
            let data = match &mut self.unpack {
                None => data,
                Some(unpack) => unpack.feed(&data).map_err(|()| bad_stream("cannot decode the compressed answer"))?,
            };
            if !data.is_empty() {
                return Ok(Some(data));
            }
        }
    }

    /// The body up to a number of bytes, and whether that was all of it.
    async fn read(
        &mut self,
        bytes_max: usize,
        idle: Duration,
        deadline: Instant,
        operation: &Operation,
    ) -> (Bytes, Result<(), Trouble>) {
        let clock = &operation.engine.clock;
        let mut whole = BytesMut::new();
        loop {
            let limit = (clock.now() + idle).min(deadline);
            let chunk = match timeout_at(clock.tokio(limit), self.chunk()).await {
                Err(_) => return (whole.freeze(), Err(silent(Transport::IdleTimeout).in_stream())),
                Ok(Err(trouble)) => return (whole.freeze(), Err(trouble)),
                Ok(Ok(None)) => return (whole.freeze(), Ok(())),
                Ok(Ok(Some(chunk))) => chunk,
            };
            if whole.is_empty() && chunk.len() <= bytes_max && self.answer.is_over() {
                return (chunk, Ok(()));
            }
            let room = bytes_max - whole.len();
            whole.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return (whole.freeze(), Err(bad_stream("the answer is larger than any answer may be")));
            }
        }
    }

    /// The next chunk of an answer nobody looks into.
    pub(crate) async fn pass(&mut self, operation: &Operation) -> Result<Option<Bytes>, Trouble> {
        let clock = &operation.engine.clock;
        let limit = clock.now() + operation.policy().timeouts.first_token;
        let next = timeout_at(clock.tokio(limit), self.chunk()).await;
        next.unwrap_or_else(|_| Err(silent(Transport::IdleTimeout).in_stream()))
    }

    /// Whether its bytes are passed on as they came.
    pub(crate) const fn is_as_it_came(&self) -> bool {
        self.unpack.is_none()
    }
}

impl Trouble {
    fn saying(self, body: Bytes) -> Self {
        Self { body, ..self }
    }
}

/// When the head of the response is due.
fn head_limit(operation: &Operation, attempt: &Attempt) -> Instant {
    let began = operation.attempt_began();
    began + operation.policy().timeouts.head(operation.call.envelope.stream, began.until(attempt.deadline))
}

/// Whether a response is a stream at all: some providers answer a streaming request in one piece.
fn streams(parts: &Parts, asked: Framing) -> bool {
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    asked == Framing::JsonArray || !kind.starts_with("application/json")
}

fn silent(transport: Transport) -> Trouble {
    let words = match transport {
        Transport::IdleTimeout => "the stream fell silent: idle timeout",
        _ => "timed out waiting for the response to begin",
    };
    Trouble::transport(transport, words.to_owned())
}

fn bad_stream(words: &str) -> Trouble {
    Trouble::bad_answer(StatusCode::OK, HeaderMap::new(), Bytes::from(words.to_owned()))
}

/// An answer that arrived and is unusable, with the beginning of it for the classifier.
fn bad_output(words: &str, parts: &Parts, body: &[u8]) -> Trouble {
    const SHOWN_BYTES: usize = 4 * 1024;
    let shown = String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES)]);
    let said = if shown.trim_start().starts_with('<') { shown.into_owned() } else { words.to_owned() };
    Trouble::bad_answer(parts.status, parts.headers.clone(), said.into())
}

/// What an answer cost whose provider does not say: about four bytes of it a token.
fn estimate(asked: Usage, answer: &[u8]) -> steadfast_dialect::watch::Usage {
    steadfast_dialect::watch::Usage { input_tokens: asked.input_tokens, output_tokens: answer.len() as u64 / 4 }
}

pub(crate) fn core_usage(usage: steadfast_dialect::watch::Usage) -> Usage {
    Usage { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens }
}
