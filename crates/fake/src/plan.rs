//! From a decision to what happens on the wire, as a list of actions. Pure: knows no sockets.

use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::answer::blocks;
use crate::call::{Api, Peek, Vendor};
use crate::headers::{Headers, http_date, of_vendor};
use crate::render::{self, Part, Rendered, Saying, quoted};
use crate::schedule::Decision;
use crate::spec::{Body, Fault, Pace, RetryAfter, Spec};
use crate::trouble::{Telling, Told, Trouble, in_stream, refusal};

/// Lets what was written reach the client before the connection is torn down: a reset may overtake it.
const BEFORE_RESET: Duration = Duration::from_millis(5);

/// How often a stream that does nothing else says that it is alive.
const PING_EVERY: Duration = Duration::from_millis(200);

/// Endless headers end here, in case the client reads them all.
const HEADERS_BYTES_MAX: u64 = 1 << 30;

/// What happens to a request.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Before anything else.
    pub(crate) wait: Duration,
    /// None where the answer does not begin as HTTP.
    pub(crate) head: Option<Head>,
    pub(crate) acts: Vec<Act>,
    pub(crate) pace: Option<Pace>,
}

/// Status and headers.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) framing: Framing,
}

/// How the body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
}

/// One thing done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    /// Part of the body.
    Data(Bytes),
    /// Bytes as they are, outside of any framing.
    Raw(Bytes),
    Sleep(Duration),
    /// This part of the body over and over, so many bytes of it.
    Flood(Bytes, u64),
    /// The same outside of any framing.
    FloodRaw(Bytes, u64),
    /// This part of the body again and again, for ever.
    Repeat(Bytes, Duration),
    /// Nothing, for ever.
    Stall,
    /// The end of a whole answer.
    End,
    /// RST.
    Reset,
    /// FIN, whatever is missing.
    Close,
}

/// A request, as far as it matters for its answer.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) api: Api,
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
    pub(crate) peek: &'a Peek<'a>,
    pub(crate) number: u64,
    pub(crate) body_bytes: usize,
}

impl Plan {
    fn sudden(acts: Vec<Act>) -> Self {
        Self { wait: Duration::ZERO, head: None, acts, pace: None }
    }

    /// A whole answer with this body.
    pub(crate) fn whole(status: u16, headers: Headers, body: Bytes) -> Self {
        let framing = Framing::Length(body.len() as u64);
        let head = Head { status, headers, framing };
        Self { wait: Duration::ZERO, head: Some(head), acts: vec![Act::Data(body), Act::End], pace: None }
    }

    /// The answer of our own control paths.
    pub(crate) fn own(status: u16, content_type: &str, body: String) -> Self {
        let mut headers = Headers::default();
        headers.add("content-type", content_type);
        Self::whole(status, headers, Bytes::from(body))
    }
}

impl Call<'_> {
    /// What happens to this request.
    pub(crate) fn plan(&self, decision: &Decision) -> Plan {
        let spec = &*decision.spec;
        let mut plan = self.undelayed(decision);
        plan.wait += spec.wait;
        plan.pace = spec.pace;
        plan
    }

    /// A refusal in the vendor's shape.
    pub(crate) fn refuse(&self, status: u16, message: &str) -> Plan {
        let told = refusal(self.api.vendor(), status, message, self.number);
        self.tell(&Decision::of(Spec::ok()), told)
    }

    fn undelayed(&self, decision: &Decision) -> Plan {
        let spec = &*decision.spec;
        match spec.fault {
            Fault::Refuse | Fault::Reset => Plan::sudden(vec![Act::Reset]),
            Fault::Close => Plan::sudden(vec![Act::Close]),
            Fault::Stall => Plan::sudden(vec![Act::Stall]),
            Fault::Garbage => {
                let garbage =
                    b"SSH-2.0-OpenSSH_9.6\r\n\x00\x00\x01\xfc\x0a\x14\xde\xad\xbe\xef this is not HTTP\r\n\r\n";
                Plan::sudden(vec![Act::Raw(Bytes::from_static(garbage)), Act::Close])
            }
            Fault::HalfHead => {
                let half = Bytes::from_static(b"HTTP/1.1 200 OK\r\ncontent-type: applica");
                Plan::sudden(vec![Act::Raw(half), Act::Close])
            }
            Fault::EndlessHeaders => {
                let line = Bytes::from(format!("x-endless: {}\r\n", "fake".repeat(256)));
                let begin = Act::Raw(Bytes::from_static(b"HTTP/1.1 200 OK\r\n"));
                Plan::sudden(vec![begin, Act::FloodRaw(line, HEADERS_BYTES_MAX), Act::Reset])
            }
            Fault::Status(status) if !(200..300).contains(&status) => self.status(decision, status),
            Fault::Trouble(trouble) => self.trouble(decision, trouble, None),
            Fault::Error200(trouble) => self.trouble(decision, trouble, Some(200)),
            // Without a stream there is nothing to put an error event into.
            Fault::Error(_, trouble) if !self.stream => self.trouble(decision, trouble, Some(200)),
            _ if self.api.generates() => self.generate(decision),
            _ => self.plain(decision),
        }
    }

    fn telling(&self, decision: &Decision, trouble: Trouble) -> Telling<'_> {
        let reset = match &decision.spec.retry_after {
            None => decision.reset.or(trouble.lasts()),
            Some(RetryAfter::Seconds(seconds)) => Some(Duration::from_secs(*seconds)),
            Some(RetryAfter::Millis(ms)) => Some(Duration::from_millis(*ms)),
            Some(RetryAfter::Date(ahead)) => Some(*ahead),
            Some(RetryAfter::Never | RetryAfter::Literal(_)) => None,
        };
        Telling { vendor: self.api.vendor(), model: self.model, number: self.number, reset, status: None }
    }

    fn status(&self, decision: &Decision, status: u16) -> Plan {
        let vendor = self.api.vendor();
        let named = match &decision.spec.body {
            Some(Body::Trouble(trouble)) => Some(*trouble),
            _ => Trouble::of_status(status, vendor),
        };
        match named {
            Some(trouble) => self.trouble(decision, trouble, Some(status)),
            None => self.tell(decision, refusal(vendor, status, reason(status), self.number)),
        }
    }

    fn trouble(&self, decision: &Decision, trouble: Trouble, status: Option<u16>) -> Plan {
        // An error inside a 200 keeps the code of the error it is.
        let shown = status.filter(|status| *status != 200);
        let mut told = trouble.tell(&Telling { status: shown, ..self.telling(decision, trouble) });
        told.status = status.unwrap_or(told.status);
        self.tell(decision, told)
    }

    fn tell(&self, decision: &Decision, told: Told) -> Plan {
        let spec = &*decision.spec;
        let mut headers = of_vendor(self.api.vendor(), self.number, decision.allowance.unwrap_or_default());
        headers.add("content-type", told.content_type);
        if spec.gzip {
            headers.add("content-encoding", "gzip");
        }
        for (name, value) in told.headers.iter() {
            headers.remove(name);
            headers.add(name, value);
        }
        settle(&mut headers, spec);
        let body = match &spec.body {
            Some(Body::Literal(text)) => text.to_string(),
            Some(Body::Trouble(_)) | None => told.body,
        };
        let mut plan = Plan::whole(told.status, headers, squeezed(spec, body.into()));
        plan.wait = spec.first;
        plan
    }

    fn head(&self, decision: &Decision, streams: bool, framing: Framing) -> Head {
        let spec = &*decision.spec;
        let vendor = self.api.vendor();
        let mut headers = of_vendor(vendor, self.number, decision.allowance.unwrap_or_default());
        let events = streams && self.api != Api::GenerateArray;
        headers.add(
            "content-type",
            match (vendor, events) {
                (Vendor::OpenAi | Vendor::Anthropic, true) => "text/event-stream; charset=utf-8",
                (Vendor::Gemini, true) => "text/event-stream",
                (Vendor::OpenAi | Vendor::Anthropic, false) => "application/json",
                (Vendor::Gemini, false) => "application/json; charset=UTF-8",
            },
        );
        if events && vendor != Vendor::Gemini {
            headers.add("cache-control", "no-cache");
        }
        if spec.gzip && !matches!(spec.fault, Fault::Huge(_)) {
            headers.add("content-encoding", "gzip");
        }
        settle(&mut headers, spec);
        let status = if let Fault::Status(status) = spec.fault { status } else { 200 };
        Head { status, headers, framing }
    }

    /// An answer in which a model speaks.
    fn generate(&self, decision: &Decision) -> Plan {
        let spec = &*decision.spec;
        let prefill = if self.api == Api::Messages { self.peek.prefill() } else { None };
        if let Some(prefill) = &prefill {
            if spec.refuses_prefill {
                return self.refuse(400, "This model does not support assistant message prefill. The conversation must end with a user message.");
            }
            if prefill.ends_with(char::is_whitespace) {
                return self.refuse(400, "messages: final assistant content cannot end with trailing whitespace");
            }
        }
        let blocks = blocks(spec, self.peek, prefill.as_deref());
        let asked = self.api != Api::Chat || !self.stream || spec.never_streams || self.peek.wants_usage();
        let saying = Saying {
            api: self.api,
            model: self.model,
            number: self.number,
            blocks: &blocks,
            input_tokens: self.input_tokens(),
            tells_usage: asked && !spec.hides_usage,
        };
        if let Fault::Huge(bytes) = spec.fault {
            return self.huge(decision, &saying, bytes);
        }
        // An array of Gemini's is one piece already.
        if self.stream && (!spec.never_streams || self.api == Api::GenerateArray) {
            return self.stream(decision, &saying);
        }
        let body = Bytes::from(render::whole(&saying));
        let tokens = crate::answer::tokens(&blocks);
        let mut plan = self.body(decision, body, tokens);
        plan.wait += spec.first + spec.delay.saturating_mul(u32::try_from(tokens).unwrap_or(u32::MAX));
        plan
    }

    /// An answer in which no model speaks.
    fn plain(&self, decision: &Decision) -> Plan {
        let tokens = self.input_tokens();
        let body = match self.api {
            Api::Embeddings => {
                let base64 = self.peek.encoding_format.as_deref() == Some("base64");
                render::embeddings(self.model, self.peek.inputs(), self.peek.dimensions, base64, tokens)
            }
            Api::CountTokens | Api::GeminiCountTokens => render::count_tokens(self.api.vendor(), tokens),
            Api::Models(vendor) if self.model.is_empty() => render::model_list(vendor),
            Api::Models(vendor) => render::one_model(vendor, self.model),
            Api::Upgrade => return self.refuse(426, "Upgrade Required"),
            Api::StoredResponse => return self.refuse(404, "Response with id 'resp_fake' not found."),
            _ => return self.refuse(404, "Not found: the fake provider does not serve this path"),
        };
        let mut plan = self.body(decision, Bytes::from(body), 2);
        plan.wait += decision.spec.first;
        plan
    }

    /// A whole JSON answer under a fault that needs one.
    fn body(&self, decision: &Decision, body: Bytes, tokens: usize) -> Plan {
        let spec = &*decision.spec;
        let body = squeezed(spec, body);
        let length = body.len();
        let until = |count: u32| {
            let count = usize::try_from(count).unwrap_or(usize::MAX).min(tokens);
            body.slice(..(length - 1) * (count + 1) / (tokens + 2))
        };
        let half = || body.slice(..length / 2);
        let whole = Framing::Length(length as u64);
        let (framing, acts) = match spec.fault {
            Fault::Cut(count) => (whole, vec![Act::Data(until(count)), Act::Sleep(BEFORE_RESET), Act::Reset]),
            Fault::CutFin(count) => (whole, vec![Act::Data(until(count)), Act::Close]),
            Fault::CutInTool => (whole, vec![Act::Data(half()), Act::Sleep(BEFORE_RESET), Act::Reset]),
            Fault::End(count) => (Framing::Chunked, vec![Act::Data(until(count)), Act::End]),
            Fault::EndInTool => (Framing::Chunked, vec![Act::Data(half()), Act::End]),
            Fault::Malformed(count) => {
                let broken = until(count);
                (Framing::Length(broken.len() as u64), vec![Act::Data(broken), Act::End])
            }
            Fault::Empty => (Framing::Length(0), vec![Act::End]),
            Fault::ResetAfterHeaders => (whole, vec![Act::Sleep(BEFORE_RESET), Act::Reset]),
            Fault::StallAfterHeaders => (whole, vec![Act::Stall]),
            Fault::StallAt(count) | Fault::PingAt(count) => (whole, vec![Act::Data(until(count)), Act::Stall]),
            Fault::WrongLength => (Framing::Length(length as u64 + 10), vec![Act::Data(body), Act::Close]),
            _ => (whole, vec![Act::Data(body), Act::End]),
        };
        Plan { wait: Duration::ZERO, head: Some(self.head(decision, false, framing)), acts, pace: None }
    }

    fn stream(&self, decision: &Decision, saying: &Saying<'_>) -> Plan {
        let spec = &*decision.spec;
        let rendered = render::stream(saying);
        let (kept, tail) = self.ending(decision, saying, &rendered);
        let broken = match spec.fault {
            Fault::Malformed(count) => Some(rendered.after(count).max(rendered.first_token())),
            _ => None,
        };
        let mut gzip = spec.gzip.then(Gzip::new);
        let mut acts = Vec::with_capacity(kept * if spec.delay.is_zero() { 1 } else { 2 } + 4);
        let mut wait = spec.first;
        for (index, (part, event)) in rendered.iter().take(kept).enumerate() {
            if matches!(part, Part::Token | Part::Tool) {
                if !wait.is_zero() {
                    acts.push(Act::Sleep(wait));
                }
                wait = spec.delay;
            }
            let event = if broken == Some(index) { half_event(&event) } else { event };
            acts.push(Act::Data(gzip.as_mut().map_or(event.clone(), |gzip| gzip.part(&event))));
        }
        for act in tail {
            let act = match (act, &mut gzip) {
                (Act::Data(data), Some(gzip)) => Act::Data(gzip.part(&data)),
                (act, _) => act,
            };
            if act == Act::End {
                acts.extend(gzip.take().map(|gzip| Act::Data(gzip.finish())));
            }
            acts.push(act);
        }
        let mut framing = Framing::Chunked;
        if spec.fault == Fault::WrongLength {
            framing = Framing::Length(rendered.bytes.len() as u64 + 10);
        }
        if spec.fault == Fault::Empty {
            framing = Framing::Length(0);
        }
        Plan { wait: Duration::ZERO, head: Some(self.head(decision, true, framing)), acts, pace: None }
    }

    /// How many events a stream sends, and what comes after them.
    fn ending(&self, decision: &Decision, saying: &Saying<'_>, rendered: &Rendered) -> (usize, Vec<Act>) {
        let all = rendered.events.len();
        let reset = || vec![Act::Sleep(BEFORE_RESET), Act::Reset];
        match decision.spec.fault {
            Fault::Cut(count) => (rendered.after(count), reset()),
            Fault::CutFin(count) => (rendered.after(count), vec![Act::Close]),
            Fault::End(count) => (rendered.after(count), vec![Act::End]),
            Fault::CutInTool | Fault::EndInTool => {
                let (kept, half) = rendered.inside_tool();
                let mut acts: Vec<Act> = half.map(Act::Data).into_iter().collect();
                acts.extend(if decision.spec.fault == Fault::CutInTool { reset() } else { vec![Act::End] });
                (kept, acts)
            }
            Fault::Error(count, trouble) => {
                let kept = rendered.after(count);
                let told = in_stream(trouble, &self.telling(decision, trouble));
                let event = render::error_event(saying, &told, kept);
                (kept, vec![Act::Data(Bytes::from(event)), Act::End])
            }
            Fault::Empty => (0, vec![Act::End]),
            Fault::NoDone => (rendered.before_done(), vec![Act::End]),
            Fault::ResetAfterHeaders => (0, reset()),
            Fault::StallAfterHeaders => (0, vec![Act::Stall]),
            Fault::StallAt(count) => (rendered.after(count), vec![Act::Stall]),
            Fault::PingAt(count) => {
                let ping = Bytes::from_static(render::keep_alive(self.api).as_bytes());
                (rendered.after(count), vec![Act::Repeat(ping, PING_EVERY)])
            }
            Fault::WrongLength => (all, vec![Act::Close]),
            _ => (all, vec![Act::End]),
        }
    }

    /// An answer of at least so many bytes that would be well formed at its end.
    fn huge(&self, decision: &Decision, saying: &Saying<'_>, bytes: u64) -> Plan {
        let (before, filler, after) = if self.stream {
            let rendered = render::stream(saying);
            let first = rendered.first_token();
            let events: Vec<(Part, Bytes)> = rendered.iter().collect();
            let joined =
                |events: &[(Part, Bytes)]| events.iter().flat_map(|(_, event)| event.to_vec()).collect::<Vec<u8>>();
            let (start, rest) = events.split_at(first.min(events.len()));
            let (token, rest) = rest.split_at(1.min(rest.len()));
            (joined(start), joined(token).repeat(16), joined(rest))
        } else {
            let whole = render::whole(saying);
            // Inside of the first word, so the filler becomes part of a JSON string.
            let at = whole.find("word-").unwrap_or(whole.len() / 2);
            (whole.as_bytes()[..at].to_vec(), b"word-0 ".repeat(1024), whole.as_bytes()[at..].to_vec())
        };
        let acts = vec![Act::Data(before.into()), Act::Flood(filler.into(), bytes), Act::Data(after.into()), Act::End];
        let head = Some(self.head(decision, self.stream, Framing::Chunked));
        Plan { wait: Duration::ZERO, head, acts, pace: None }
    }

    /// Four bytes are a token, as everybody's rule of thumb has it.
    fn input_tokens(&self) -> usize {
        (self.body_bytes / 4).max(1)
    }
}

impl Rendered {
    /// How many events there are up to the so-manieth piece of content; none means after the start.
    fn after(&self, tokens: u32) -> usize {
        if tokens == 0 {
            return self.events.iter().take_while(|(part, _)| *part == Part::Start).count();
        }
        let content = |(_, (part, _)): &(usize, &(Part, usize))| matches!(part, Part::Token | Part::Tool);
        let place = usize::try_from(tokens).unwrap_or(usize::MAX) - 1;
        let found = self.events.iter().enumerate().filter(content).nth(place);
        found.map_or_else(|| self.before_finish(), |(index, _)| index + 1)
    }

    fn first_token(&self) -> usize {
        let content = |(part, _): &(Part, usize)| matches!(part, Part::Token | Part::Tool);
        self.events.iter().position(content).unwrap_or(0)
    }

    fn before_finish(&self) -> usize {
        let last = |(part, _): &(Part, usize)| matches!(part, Part::Finish | Part::Done);
        self.events.iter().position(last).unwrap_or(self.events.len())
    }

    fn before_done(&self) -> usize {
        self.events.iter().position(|(part, _)| *part == Part::Done).unwrap_or(self.events.len())
    }

    /// Where the middle of the first tool call is; half an event, where the call is a single one.
    fn inside_tool(&self) -> (usize, Option<Bytes>) {
        let Some(first) = self.events.iter().position(|(part, _)| *part == Part::Tool) else {
            let tokens = self.events.iter().filter(|(part, _)| *part == Part::Token).count();
            return (self.after(u32::try_from(tokens / 2).unwrap_or(0)), None);
        };
        match self.events[first..].iter().take_while(|(part, _)| *part == Part::Tool).count() {
            1 => {
                let event = self.iter().nth(first).map(|(_, event)| event.slice(..event.len() / 2));
                (first, event)
            }
            pieces => (first + pieces / 2, None),
        }
    }
}

/// The event with its JSON broken off in the middle, still an event.
fn half_event(event: &Bytes) -> Bytes {
    let mut half = event[..event.len() / 2].to_vec();
    half.extend_from_slice(b"\n\n");
    half.into()
}

/// What the spec says about headers overrides what the provider would send.
fn settle(headers: &mut Headers, spec: &Spec) {
    if let Some(retry_after) = &spec.retry_after {
        headers.remove("retry-after");
        headers.remove("retry-after-ms");
        match retry_after {
            RetryAfter::Never => {}
            RetryAfter::Seconds(seconds) => headers.add("retry-after", seconds),
            RetryAfter::Millis(ms) => headers.add("retry-after-ms", ms),
            RetryAfter::Date(ahead) => headers.add("retry-after", http_date(*ahead)),
            RetryAfter::Literal(text) => headers.add("retry-after", text.replace(['\r', '\n'], " ")),
        }
    }
    if let Some(should) = spec.should_retry {
        headers.remove("x-should-retry");
        headers.add("x-should-retry", should);
    }
    for (name, value) in &spec.headers {
        headers.remove(name);
        headers.add(name, value);
    }
}

fn squeezed(spec: &Spec, body: Bytes) -> Bytes {
    if !spec.gzip {
        return body;
    }
    let mut gzip = Gzip::new();
    let mut out = gzip.part(&body).to_vec();
    out.extend_from_slice(&gzip.finish());
    out.into()
}

/// A gzip stream whose every part can be read as soon as it arrives.
struct Gzip(GzEncoder<Vec<u8>>);

impl Gzip {
    fn new() -> Self {
        Self(GzEncoder::new(Vec::new(), Compression::fast()))
    }

    fn part(&mut self, data: &[u8]) -> Bytes {
        // Writing to memory cannot fail.
        let _ = self.0.write_all(data).and_then(|()| self.0.flush());
        std::mem::take(self.0.get_mut()).into()
    }

    fn finish(self) -> Bytes {
        self.0.finish().unwrap_or_default().into()
    }
}

/// The words that go with a status.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Payload Too Large",
        418 => "I'm a teapot",
        422 => "Unprocessable Entity",
        424 => "Failed Dependency",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        499 => "Client Closed Request",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Site is overloaded",
        _ => "Unknown",
    }
}

/// JSON of our own error, for scripts that make no sense.
pub(crate) fn script_error(message: &str) -> String {
    format!(
        "{{\"error\":{{\"message\":{},\"type\":\"fake_script_error\",\"param\":null,\"code\":\"fake_script\"}}}}",
        quoted(message)
    )
}
