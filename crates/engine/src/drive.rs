//! The drivers: they make the attempts the core asks for and report how they ended.
//!
//! No policy lives here. What is here is the promise of a stream: what may reach the client when,
//! and what can still be taken back.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use steadfast_core::policy::StreamMode;
use steadfast_core::recovery::Attempt;
use steadfast_dialect::splice::{self, Mode, Splice};
use steadfast_dialect::{Family, Format, Frames, Framing, Operation as Asked, Seen, Watch, error};
use tokio::sync::oneshot;

use crate::attempt::{self, HELD_BYTES_MAX, Opened, Whole};
use crate::foreign::TRANSLATED;
use crate::journal::Kept;
use crate::operation::{Next, Operation};
use crate::relay::Out;
use crate::reply::{Reply, ReplyBody, Verdict, passes_back};
use crate::snapshot::asked_in;
use crate::trouble::Trouble;

/// Two pieces that must be read one at a time are sent this far apart: only the last words of a failure are.
const APART: std::time::Duration = std::time::Duration::from_millis(50);

/// After a stream's terminal event, what belongs to it comes at once.
const TAIL: std::time::Duration = std::time::Duration::from_millis(500);

/// Drives a request whose answer comes in one piece.
///
/// When the client leaves (`gone`), nothing new is started; but an attempt that is under way is
/// let finish, because its answer is paid for anyway, and its answer goes to the journal.
pub(crate) async fn whole(mut operation: Operation, format: Option<Format>, mut gone: oneshot::Receiver<()>) -> Reply {
    loop {
        let next = tokio::select! {
            // The client first: what follows a failure at once must not be started for nobody.
            biased;
            _ = &mut gone => return nobody(),
            next = operation.next() => next,
        };
        let attempt = match next {
            Next::Attempt(attempt) => attempt,
            Next::Failed(verdict) => return refuse(&operation, &verdict),
        };
        match make(&operation, &attempt, format).await {
            Ok(answer) => {
                operation.note_translation(answer.translated.as_ref());
                operation.succeeded(answer.usage);
                let reply = pass(&operation, answer);
                if gone.try_recv() != Err(oneshot::error::TryRecvError::Empty) {
                    keep(&operation, &reply);
                }
                return reply;
            }
            Err(trouble) => {
                if operation.may_repeat() || !trouble.reached {
                    operation.failed(trouble);
                } else {
                    let verdict = operation.broke_off(trouble);
                    return refuse(&operation, &verdict);
                }
            }
        }
    }
}

async fn make(operation: &Operation, attempt: &Attempt, format: Option<Format>) -> Result<Whole, Trouble> {
    let body = attempt_body(operation, attempt, format);
    let (parts, mut body) = attempt::send(operation, attempt, &body).await?;
    attempt::whole(operation, attempt, parts, &mut body, format).await
}

/// Drives a request that nobody looks into: the answer passes as it comes.
pub(crate) async fn pass_through(mut operation: Operation, out: Out) {
    loop {
        let attempt = match operation.next().await {
            Next::Attempt(attempt) => attempt,
            Next::Failed(verdict) => return out.answer(refuse(&operation, &verdict)),
        };
        match attempt::send(&operation, &attempt, &operation.call.body).await {
            Ok((parts, mut body)) => {
                let length = parts.headers.get(CONTENT_LENGTH).filter(|_| body.is_as_it_came()).cloned();
                let mut headers = answer_headers(&operation, parts.headers, None);
                if let Some(length) = length {
                    headers.insert(CONTENT_LENGTH, length);
                }
                out.begin(parts.status, headers);
                loop {
                    match body.pass(&operation).await {
                        Ok(Some(chunk)) => {
                            out.send(chunk).await;
                        }
                        Ok(None) => break operation.passed(),
                        Err(trouble) => {
                            drop(operation.broke_off(trouble));
                            break out.break_off();
                        }
                    }
                }
                return;
            }
            Err(trouble) if trouble.reached && !operation.may_repeat() => {
                let verdict = operation.broke_off(trouble);
                return out.answer(refuse(&operation, &verdict));
            }
            Err(trouble) => operation.failed(trouble),
        }
    }
}

/// Drives a request whose answer streams.
pub(crate) async fn stream(mut operation: Operation, format: Format, out: Out) {
    let mode = operation.mode;
    let keeps_text = matches!(mode, StreamMode::Regenerate | StreamMode::Resume);
    // The message that is open at the client, once content has reached it.
    let mut open: Option<Open> = None;
    loop {
        let attempt = match operation.next().await {
            Next::Attempt(attempt) => attempt,
            Next::Failed(verdict) => {
                let open = open.as_ref().map(|open| &open.now);
                return fail(&operation, &verdict, format, open, &out).await;
            }
        };
        let (body, seam) = match &open {
            None => (attempt_body(&operation, &attempt, Some(format)), None),
            Some(open) => going_on(&operation, &attempt, format, open),
        };
        // Boxed: a stream of minutes need not keep the room that its first second took.
        let opened = match Box::pin(attempt::begin(&operation, &attempt, format, &body, keeps_text)).await {
            Ok(opened) => opened,
            Err(trouble) => {
                operation.failed(trouble);
                continue;
            }
        };
        match relay(&mut operation, &attempt, opened, seam, &out).await {
            End::Served => return,
            End::Before(trouble) => operation.failed(*trouble),
            End::After { trouble, watch, in_call } => {
                let goes_on = match mode {
                    StreamMode::Fast | StreamMode::Safe => false,
                    StreamMode::Regenerate => watch.sent().regenerable(),
                    StreamMode::Resume => !in_call && watch.sent().resumable() && !operation.call.envelope.json_output,
                };
                if !goes_on {
                    let verdict = operation.broke_off(*trouble);
                    return fail(&operation, &verdict, format, Some(&watch), &out).await;
                }
                operation.failed(*trouble);
                let mut broken = Open { at_break: (*watch).clone(), now: *watch };
                if mode == StreamMode::Regenerate {
                    let mark: Bytes = splice::mark(format, &broken.now).into();
                    broken.saw(&mark, operation.call.envelope.framing);
                    out.send(mark).await;
                }
                open = Some(broken);
            }
        }
    }
}

/// How a stream ended.
enum End {
    /// Whole, and all of it sent.
    Served,
    /// Badly, and nothing of it has reached the client.
    Before(Box<Trouble>),
    /// Badly, and some of it has.
    After {
        trouble: Box<Trouble>,
        watch: Box<Watch>,
        /// A tool call was open.
        in_call: bool,
    },
}

/// What is held back, and whether the client has seen anything of this attempt.
struct Holding {
    pieces: Vec<Bytes>,
    bytes: usize,
    /// The client has seen something of this attempt.
    committed: bool,
    /// A tool call is open: it goes out whole or not at all.
    tool_open: bool,
    /// Content has come: the upstream is not silent.
    first_seen: bool,
}

/// Passes frames on as the mode of the stream allows.
async fn relay(
    operation: &mut Operation,
    attempt: &Attempt,
    mut opened: Box<Opened>,
    mut seam: Option<Box<Seam>>,
    out: &Out,
) -> End {
    operation.note_translation(opened.translated.as_ref());
    let timeouts = operation.policy().timeouts;
    let first_limit = attempt.deadline.min(operation.attempt_began() + timeouts.first_token);
    let mut last_content = first_limit;
    let mut holding = Holding { pieces: Vec::new(), bytes: 0, committed: false, tool_open: false, first_seen: false };
    let mut safe = operation.mode == StreamMode::Safe;
    loop {
        let until = match (holding.first_seen, holding.committed) {
            (false, _) => first_limit,
            // Pings alone are no flow.
            (true, false) => attempt.deadline.min(last_content + timeouts.first_token.max(timeouts.idle)),
            // What flows is not cut off because it is long.
            (true, true) => last_content + timeouts.first_token.max(timeouts.idle),
        };
        let (frame, seen) = match opened.next(operation, until).await {
            Ok(Some(next)) => next,
            Ok(None) => return served(operation, *opened, holding, seam, out).await,
            Err(trouble) => return broken(trouble, *opened, seam, &holding),
        };
        operation.note_tokens(opened.tokens_seen);
        if seen != Seen::Preamble {
            last_content = opened.came;
        }
        let mut piece = match &mut seam {
            None => frame.raw,
            Some(sewn) => match sewn.splice.feed(&frame, &seen) {
                Ok(piece) => piece,
                Err(_) => return broken(opened.charged(operation, diverged()), *opened, seam, &holding),
            },
        };
        let caught_up = seam.as_ref().is_none_or(|seam| seam.splice.caught_up());
        if !holding.first_seen && matches!(seen, Seen::Content | Seen::ToolPart | Seen::ToolWhole) {
            operation.begun(opened.came);
        }
        let release = match seen {
            Seen::Content => {
                if !std::mem::replace(&mut holding.first_seen, true) {
                    operation.first_token();
                }
                !holding.tool_open && caught_up
            }
            Seen::ToolPart => {
                (holding.first_seen, holding.tool_open) = (true, true);
                false
            }
            Seen::ToolWhole => {
                (holding.first_seen, holding.tool_open) = (true, false);
                true
            }
            Seen::Preamble => holding.committed && !holding.tool_open,
            Seen::End => {
                if !opened.watch.has_content() && !holding.committed && !continues(seam.as_deref()) {
                    return broken(opened.charged(operation, empty()), *opened, seam, &holding);
                }
                true
            }
            // Both came back as trouble.
            Seen::Error | Seen::Malformed => false,
        };
        let ended = seen == Seen::End;
        let mut waited = false;
        if !release || safe {
            holding.hold(std::mem::take(&mut piece));
        }
        if release && (!safe || ended) {
            if ended {
                operation.succeeded(opened.counted().or(Some(estimated(operation, &opened))));
                if safe {
                    keep_until_delivered(operation, &opened, &holding, out);
                }
            }
            waited = commit(operation, &mut opened, &mut holding, piece, seam.as_deref_mut(), out).await;
        }
        if holding.bytes > HELD_BYTES_MAX {
            if safe && !holding.tool_open {
                // Memory is bounded: a turn this long goes on as it comes.
                safe = false;
                waited = commit(operation, &mut opened, &mut holding, Bytes::new(), seam.as_deref_mut(), out).await;
            } else {
                return broken(opened.charged(operation, too_much()), *opened, seam, &holding);
            }
        }
        if waited {
            // A client that is slow must not make its provider look silent.
            opened.came = operation.engine.clock.now();
            last_content = opened.came;
        }
        if ended {
            return tail(operation, *opened, seam, out).await;
        }
    }
}

/// What follows the terminal event belongs to the answer, and cannot spoil it any more.
async fn tail(operation: &Operation, mut opened: Opened, mut seam: Option<Box<Seam>>, out: &Out) -> End {
    let mut patience = TAIL;
    loop {
        let until = operation.engine.clock.now() + patience;
        let Ok(Some((frame, seen))) = opened.next(operation, until).await else { break };
        // Some servers say that they are finished with every piece.
        patience = if seen == Seen::Preamble { TAIL } else { operation.policy().timeouts.idle };
        let piece = match &mut seam {
            None => Some(frame.raw.clone()),
            Some(seam) => seam.splice.feed(&frame, &seen).ok(),
        };
        if out.send(piece.unwrap_or_default()).await {
            opened.came = operation.engine.clock.now();
        }
    }
    let rest = opened.frames.rest();
    out.send(rest).await;
    End::Served
}

/// The stream ended whole without an event of its own for it.
async fn served(
    operation: &mut Operation,
    mut opened: Opened,
    mut holding: Holding,
    mut seam: Option<Box<Seam>>,
    out: &Out,
) -> End {
    if !opened.watch.has_content() && !holding.committed && !continues(seam.as_deref()) {
        return broken(opened.charged(operation, empty()), opened, seam, &holding);
    }
    operation.succeeded(opened.counted().or(Some(estimated(operation, &opened))));
    let rest = opened.frames.rest();
    commit(operation, &mut opened, &mut holding, rest, seam.as_deref_mut(), out).await;
    End::Served
}

fn broken(trouble: Trouble, opened: Opened, seam: Option<Box<Seam>>, holding: &Holding) -> End {
    let trouble = Box::new(trouble);
    if !holding.committed {
        return End::Before(trouble);
    }
    let in_call = holding.tool_open || opened.in_foreign_call();
    // The message that is open at the client: of several streams it is made from, not the last one.
    let open = seam.map_or(opened.watch, |seam| seam.open.now);
    End::After { trouble, watch: Box::new(open), in_call }
}

/// From here on the client knows: what was held back goes out, and this piece after it. Says whether the client was too
/// slow to take them at once.
async fn commit(
    operation: &Operation,
    opened: &mut Opened,
    holding: &mut Holding,
    piece: Bytes,
    seam: Option<&mut Seam>,
    out: &Out,
) -> bool {
    if !std::mem::replace(&mut holding.committed, true) {
        // Taken, because the values hold on to the buffer that the head was read into.
        let said = std::mem::take(&mut opened.headers);
        if !out.has_begun() {
            out.begin(opened.status, answer_headers(operation, said, opened.translated.take()));
        }
    }
    holding.bytes = 0;
    if let Some(seam) = seam {
        holding.pieces.iter().chain([&piece]).for_each(|piece| seam.went_out(piece));
    }
    let mut waited = false;
    for held in holding.pieces.drain(..) {
        waited |= out.send(held).await;
    }
    out.send(piece).await || waited
}

/// The message that is open at the client.
#[derive(Clone)]
struct Open {
    /// As it was when its last stream broke.
    at_break: Watch,
    /// With everything that has gone out since.
    now: Watch,
}

impl Open {
    fn saw(&mut self, piece: &Bytes, framing: Framing) {
        let mut frames = Frames::new(framing);
        // What we made ourselves is whole frames, and not too long.
        if frames.feed(piece.clone()).is_ok() {
            while let Some(frame) = frames.next() {
                self.now.see(&frame);
            }
        }
    }
}

/// Where a new stream is sewn into the message that is open at the client.
struct Seam {
    mode: Mode,
    splice: Splice,
    open: Open,
    framing: Framing,
}

impl Seam {
    fn went_out(&mut self, piece: &Bytes) {
        self.open.saw(piece, self.framing);
    }
}

impl Holding {
    fn hold(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.pieces.push(piece);
        }
    }
}

/// The request that goes on with an open message, and how its answer is put into it.
fn going_on(operation: &Operation, attempt: &Attempt, format: Format, open: &Open) -> (Bytes, Option<Box<Seam>>) {
    let plain = operation.call.body.clone();
    let framing = operation.call.envelope.framing;
    let seam = |mode, from: &Watch| {
        let splice = Splice::new(format, mode, from.clone());
        Some(Box::new(Seam { mode, splice, open: open.clone(), framing }))
    };
    if operation.mode == StreamMode::Regenerate {
        // The splice knows that the mark came after the break.
        return (plain, seam(Mode::Again, &open.at_break));
    }
    let model = operation.recovery().plan().route.model(attempt.target.model.into());
    let text = open.now.sent().text();
    // Nobody goes on with a beginning that had to be translated.
    let endpoint = operation.snapshot.config.endpoint(attempt.target.endpoint);
    let as_asked = endpoint.is_some_and(|endpoint| asked_in(endpoint, format) == format);
    let text = text.filter(|_| as_asked);
    let prefilled = model.zip(text).and_then(|(model, text)| splice::prefilled(format, &plain, &model.name, text));
    match prefilled {
        Some(body) => (body.into(), seam(Mode::Prefilled, &open.now)),
        None => (plain, seam(Mode::Reproduced, &open.now)),
    }
}

/// The body an attempt sends; after a bad answer the model may be told what was wrong with it.
fn attempt_body(operation: &Operation, attempt: &Attempt, format: Option<Format>) -> Bytes {
    let plain = || operation.call.body.clone();
    if !attempt.with_context {
        return plain();
    }
    let noted = format
        .zip(operation.retry_note())
        .and_then(|(format, note)| steadfast_dialect::note::with_note(format, &operation.call.body, &note));
    noted.map_or_else(plain, Bytes::from)
}

/// The answer with what happened in its headers.
fn pass(operation: &Operation, answer: Whole) -> Reply {
    let headers = answer_headers(operation, answer.headers, answer.translated);
    Reply { status: answer.status, headers, body: ReplyBody::Whole(answer.body) }
}

/// What the provider said in its headers, without what is not for the client, and what happened.
fn answer_headers(operation: &Operation, mut said: HeaderMap, translated: Option<HeaderValue>) -> HeaderMap {
    let refused: Vec<HeaderName> = said.keys().filter(|name| !passes_back(name)).cloned().collect();
    for name in refused {
        said.remove(name);
    }
    operation.put_headers(&mut said);
    if let Some(told) = translated {
        said.insert(TRANSLATED, told);
    }
    said
}

/// The final failure, in the client's own format; remembered for a client that comes again at once.
pub(crate) fn refuse(operation: &Operation, verdict: &Verdict) -> Reply {
    if operation.leaves_retries_to_client() {
        return verdict.pass_on(&operation.call, operation.headers());
    }
    let reply = verdict.reply(&operation.call, operation.headers());
    operation.remember(verdict, &reply);
    reply
}

/// The final failure of a stream: with a status of its own, or as an event where that is spent.
async fn fail(operation: &Operation, verdict: &Verdict, format: Format, open: Option<&Watch>, out: &Out) {
    let reply = refuse(operation, verdict);
    if !out.has_begun() {
        return out.answer(reply);
    }
    let fresh = Watch::new(format);
    let event = verdict.event(&operation.call, format, open.unwrap_or(&fresh));
    if let Some(bare) = error::bare(format, operation.call.envelope.framing, &event) {
        tokio::time::sleep(APART).await;
        out.send(event.slice_ref(bare)).await;
        tokio::time::sleep(APART).await;
    }
    out.send(event).await;
}

/// Nobody is there to read it.
fn nobody() -> Reply {
    Reply { status: StatusCode::BAD_GATEWAY, headers: HeaderMap::new(), body: ReplyBody::Whole(Bytes::new()) }
}

/// Keeps an answer whose client had gone.
fn keep(operation: &Operation, reply: &Reply) {
    let keep_for = operation.policy().journal;
    let (true, ReplyBody::Whole(body)) = (!keep_for.is_zero(), &reply.body) else { return };
    let engine = &operation.engine;
    let mut headers = reply.headers.clone();
    headers.insert("x-steadfast-journal", HeaderValue::from_static("kept"));
    let answer = Kept { status: reply.status, headers, body: body.clone() };
    engine.journal.keep(engine.keys.of(&operation.call), answer, keep_for, engine.clock.now());
}

/// A turn that is whole before any of it is sent is kept until the client has it all.
fn keep_until_delivered(operation: &Operation, opened: &Opened, holding: &Holding, out: &Out) {
    let keep_for = operation.policy().journal;
    // The end of an array comes after its last element.
    if keep_for.is_zero() || operation.call.envelope.framing == Framing::JsonArray {
        return;
    }
    let mut headers = answer_headers(operation, opened.headers.clone(), opened.translated.clone());
    headers.insert("x-steadfast-journal", HeaderValue::from_static("kept"));
    let body = holding.pieces.concat().into();
    let engine = &operation.engine;
    let key = engine.keys.of(&operation.call);
    engine.journal.keep(key, Kept { status: opened.status, headers, body }, keep_for, engine.clock.now());
    out.is_kept(key);
}

fn estimated(operation: &Operation, opened: &Opened) -> steadfast_dialect::watch::Usage {
    let usage = opened.usage(operation);
    steadfast_dialect::watch::Usage { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens }
}

/// What each operation is called in metrics.
pub(crate) const fn operation_name(asked: Asked) -> &'static str {
    match asked {
        Asked::Generate(format) => format.as_str(),
        Asked::CountTokens => "count_tokens",
        Asked::Embed => "embed",
        Asked::ListModels => "models",
        Asked::Other => "other",
    }
}

/// Whether a stream only goes on with what was sent: having nothing to add is an answer then.
fn continues(seam: Option<&Seam>) -> bool {
    seam.is_some_and(|seam| seam.mode == Mode::Prefilled)
}

fn empty() -> Trouble {
    bad("empty response: the stream ended without any content")
}

fn diverged() -> Trouble {
    bad("the new stream does not reproduce what was already sent")
}

fn too_much() -> Trouble {
    bad("what must be held back of the answer is larger than any may be")
}

fn bad(words: &'static str) -> Trouble {
    Trouble::bad_answer(StatusCode::OK, HeaderMap::new(), Bytes::from_static(words.as_bytes()))
}

/// The engine's own answer for calls that cannot be planned.
pub(crate) fn unplanned(call: &crate::call::Call, verdict: &Verdict) -> Reply {
    let mut headers = HeaderMap::new();
    if let Ok(id) = HeaderValue::from_str(&call.id) {
        headers.insert(crate::reply::REQUEST_ID, id);
    }
    verdict.reply(call, headers)
}

/// An estimate in the words of the client's own vendor.
pub(crate) fn estimated_tokens(call: &crate::call::Call) -> Reply {
    let tokens = call.envelope.input_tokens;
    let body = match call.route.family {
        Family::Gemini => format!("{{\"totalTokens\":{tokens}}}"),
        Family::Anthropic => format!("{{\"input_tokens\":{tokens}}}"),
        Family::OpenAi => format!("{{\"object\":\"response.input_tokens\",\"input_tokens\":{tokens}}}"),
    };
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(TRANSLATED, HeaderValue::from_static("estimate"));
    if let Ok(id) = HeaderValue::from_str(&call.id) {
        headers.insert(crate::reply::REQUEST_ID, id);
    }
    Reply { status: StatusCode::OK, headers, body: ReplyBody::Whole(body.into()) }
}
