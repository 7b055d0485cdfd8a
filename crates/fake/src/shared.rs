//! What all connections share: endpoints with their scripts, the ledger, the counters.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::call::{Api, Peek, Route};
use crate::control;
use crate::ledger::{End, Entry, Ledger, Received};
use crate::plan::{Call, Plan, script_error};
use crate::schedule::{Decision, Moment, Schedule};
use crate::script::{Script, ScriptError, parse};
use crate::spec::Spec;

/// How many endpoints one fake plays. Any more are a client that makes names up.
const ENDPOINTS_MAX: usize = 1024;

/// How many scripts that came with requests are remembered per endpoint.
const INLINE_MAX: usize = 1024;

/// Told about every request when it has ended.
type Watcher = Box<dyn Fn(&Received) + Send + Sync>;

/// What all connections share.
#[derive(Default)]
pub(crate) struct Shared {
    default: Arc<Endpoint>,
    endpoints: RwLock<HashMap<String, Arc<Endpoint>>>,
    ledger: Mutex<Ledger>,
    pub(crate) connections: AtomicUsize,
    numbers: AtomicU64,
    pub(crate) drops_bodies: AtomicBool,
    /// Wakes those who wait for requests, if there are any.
    pub(crate) waiters: AtomicUsize,
    pub(crate) changed: Notify,
    pub(crate) watcher: OnceLock<Watcher>,
}

/// One of the endpoints a fake plays.
pub(crate) struct Endpoint {
    name: Arc<str>,
    /// Spares the unscripted a lock.
    scripted: AtomicBool,
    scripts: Mutex<Scripts>,
    count: AtomicUsize,
    running: AtomicUsize,
}

#[derive(Default)]
struct Scripts {
    own: Option<Schedule>,
    models: HashMap<String, Schedule>,
    /// Scripts that came with a request, by their text.
    inline: HashMap<String, Inline>,
}

enum Inline {
    Constant(Arc<Spec>),
    Played(Schedule),
}

/// A request whose head was read.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    /// The request line and the headers.
    pub(crate) head: &'a [u8],
    pub(crate) x_fake: Option<&'a str>,
    pub(crate) speaks_anthropic: bool,
    pub(crate) upgrades: bool,
    pub(crate) http2: bool,
}

/// A request that is being answered. It must be told how that ended; dropped, its client has left.
pub(crate) struct Ticket {
    shared: Arc<Shared>,
    endpoint: Arc<Endpoint>,
    number: u64,
    at: std::time::Instant,
    ended: bool,
}

impl Ticket {
    pub(crate) fn end(mut self, end: End) {
        self.close(end);
    }

    fn close(&mut self, end: End) {
        self.ended = true;
        self.endpoint.running.fetch_sub(1, Ordering::Relaxed);
        let mut ledger = lock(&self.shared.ledger);
        let entry = ledger.end(self.number, end);
        if let Some(watcher) = self.shared.watcher.get() {
            let received = entry.map(Entry::read);
            drop(ledger);
            if let Some(received) = received {
                watcher(&received);
            }
        } else {
            drop(ledger);
        }
        self.shared.wake();
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.ended {
            self.close(End::ClientLeft { after: self.at.elapsed() });
        }
    }
}

impl Default for Endpoint {
    fn default() -> Self {
        Self::named("")
    }
}

impl Endpoint {
    fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            scripted: AtomicBool::new(false),
            scripts: Mutex::default(),
            count: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
        }
    }

    /// Replaces the script of the endpoint, or of one of its models.
    pub(crate) fn set(&self, model: Option<&str>, script: &Script) {
        let mut scripts = lock(&self.scripts);
        let schedule = Schedule::new(script, Instant::now());
        match model {
            None => scripts.own = Some(schedule),
            Some(model) => drop(scripts.models.insert(model.to_owned(), schedule)),
        }
        self.scripted.store(true, Ordering::Release);
    }

    /// Takes the next turn of the script if it is to refuse the connection.
    fn refuses(&self) -> Option<Arc<Spec>> {
        if !self.scripted.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.scripts).own.as_mut()?.next_if_refused(Instant::now())
    }

    fn decide(&self, asked: &Asked<'_>, model: &str, stream: bool) -> Result<Decision, ScriptError> {
        let moment = || Moment {
            now: Instant::now(),
            // This one was counted already.
            running: self.running.load(Ordering::Relaxed),
            stream,
        };
        if let Some(text) = asked.x_fake {
            return self.inline(text, moment());
        }
        if let Some(text) = in_model(model) {
            match self.inline(text, moment()) {
                Err(problem) if looks_meant(model, text) => return Err(problem),
                Err(_) => {}
                decided => return decided,
            }
        }
        if !self.scripted.load(Ordering::Acquire) {
            return Ok(Decision::of(Spec::ok()));
        }
        let mut scripts = lock(&self.scripts);
        let scripts = &mut *scripts;
        let schedule = scripts.models.get_mut(model).or(scripts.own.as_mut());
        Ok(schedule.map_or_else(|| Decision::of(Spec::ok()), |schedule| schedule.next(moment())))
    }

    /// Plays a script that came with the request. The same text goes on where it was.
    fn inline(&self, text: &str, moment: Moment) -> Result<Decision, ScriptError> {
        let mut scripts = lock(&self.scripts);
        if !scripts.inline.contains_key(text) {
            let script = parse(text)?;
            let inline = match script.constant() {
                Some(spec) => Inline::Constant(Arc::clone(spec)),
                None => Inline::Played(Schedule::new(&script, moment.now)),
            };
            if scripts.inline.len() >= INLINE_MAX {
                scripts.inline.clear();
            }
            scripts.inline.insert(text.to_owned(), inline);
        }
        Ok(match scripts.inline.get_mut(text) {
            Some(Inline::Constant(spec)) => Decision::of(Arc::clone(spec)),
            Some(Inline::Played(schedule)) => schedule.next(moment),
            None => Decision::of(Spec::ok()),
        })
    }
}

impl Shared {
    /// The endpoint of this name, made when it is first named.
    pub(crate) fn endpoint(&self, name: &str) -> Arc<Endpoint> {
        if name.is_empty() {
            return Arc::clone(&self.default);
        }
        let known = self.endpoints.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(endpoint) = known.get(name) {
            return Arc::clone(endpoint);
        }
        drop(known);
        let mut known = self.endpoints.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ENDPOINTS_MAX && !known.contains_key(name) {
            return Arc::clone(&self.default);
        }
        let endpoint = known.entry(name.to_owned()).or_insert_with(|| Arc::new(Endpoint::named(name)));
        Arc::clone(endpoint)
    }

    /// Answers a request: what is to happen, and who must be told how it ended. Control requests
    /// are not counted.
    pub(crate) fn answer(self: &Arc<Self>, asked: &Asked<'_>, body: &[u8]) -> (Plan, Option<Ticket>) {
        let route = Route::of(asked.target);
        if let Some(path) = route.path.strip_prefix("/__fake/") {
            return (control::answer(self, asked.method, path, route.query, body), None);
        }
        let (api, named) = route.api(asked.method, asked.speaks_anthropic, asked.upgrades);
        let read = Peek::of(body);
        let unreadable = read.is_err();
        let peek = read.unwrap_or_default();
        let model = named.as_deref().or(peek.model.as_deref()).unwrap_or_default();
        let stream = match api {
            Api::GenerateStream | Api::GenerateArray => true,
            Api::Chat | Api::Responses | Api::Messages => peek.stream.unwrap_or(false),
            _ => false,
        };
        let endpoint = self.endpoint(&route.endpoint);
        endpoint.count.fetch_add(1, Ordering::Relaxed);
        endpoint.running.fetch_add(1, Ordering::Relaxed);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let call = Call { api, model, stream, peek: &peek, number, body_bytes: body.len() };
        let decided = endpoint.decide(asked, model, stream);
        let fault =
            decided.as_ref().map_or_else(|_| "script error".into(), |decision| Arc::clone(&decision.spec.written));
        let ticket = self.ticket(endpoint, asked, body, model, stream, fault);
        let plan = match decided {
            Err(problem) => {
                let message = format!("the fake provider cannot read its script: {problem}");
                Plan::own(400, "application/json", script_error(&message))
            }
            // What is wrong with a request is found only by a provider that is well.
            Ok(decision) if decision.spec.fault != crate::spec::Fault::Ok => call.plan(&decision),
            Ok(_) if unreadable => call.refuse(400, unreadable_message(api)),
            Ok(decision) => match peek.missing(api) {
                Some(message) => call.refuse(400, message),
                None => call.plan(&decision),
            },
        };
        (plan, Some(ticket))
    }

    /// Whether the endpoint refuses connections; asked before the body is read.
    pub(crate) fn refuse(self: &Arc<Self>, asked: &Asked<'_>) -> Option<Ticket> {
        let route = Route::of(asked.target);
        if route.path.starts_with("/__fake/") || asked.x_fake.is_some() {
            return None;
        }
        let endpoint = self.endpoint(&route.endpoint);
        let spec = endpoint.refuses()?;
        endpoint.count.fetch_add(1, Ordering::Relaxed);
        endpoint.running.fetch_add(1, Ordering::Relaxed);
        Some(self.ticket(endpoint, asked, &[], "", false, Arc::clone(&spec.written)))
    }

    fn ticket(
        self: &Arc<Self>,
        endpoint: Arc<Endpoint>,
        asked: &Asked<'_>,
        body: &[u8],
        model: &str,
        stream: bool,
        fault: Arc<str>,
    ) -> Ticket {
        let at = std::time::Instant::now();
        let keeps = !self.drops_bodies.load(Ordering::Relaxed) && Ledger::keeps(body.len());
        let entry = Entry {
            endpoint: Arc::clone(&endpoint.name),
            head: Bytes::copy_from_slice(asked.head),
            model: model.to_owned(),
            body: if keeps { Bytes::copy_from_slice(body) } else { Bytes::new() },
            body_bytes: body.len(),
            http2: asked.http2,
            stream,
            at,
            end: End::Running,
            fault,
        };
        let number = lock(&self.ledger).add(entry);
        self.wake();
        Ticket { shared: Arc::clone(self), endpoint, number, at, ended: false }
    }

    /// All requests that are remembered.
    pub(crate) fn requests(&self) -> Vec<Received> {
        lock(&self.ledger).read()
    }

    /// How many requests an endpoint got.
    pub(crate) fn count(&self, endpoint: &str) -> usize {
        if endpoint.is_empty() {
            return self.default.count.load(Ordering::Relaxed);
        }
        let known = self.endpoints.read().unwrap_or_else(PoisonError::into_inner);
        known.get(endpoint).map_or(0, |endpoint| endpoint.count.load(Ordering::Relaxed))
    }

    /// How many requests each endpoint got.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let known = self.endpoints.read().unwrap_or_else(PoisonError::into_inner);
        let named = known.iter().map(|(name, endpoint)| (name.clone(), endpoint.count.load(Ordering::Relaxed)));
        named.chain([(String::new(), self.count(""))]).collect()
    }

    /// Forgets all requests and counts; scripts go on.
    pub(crate) fn reset(&self) {
        let known = self.endpoints.read().unwrap_or_else(PoisonError::into_inner);
        for endpoint in known.values().chain([&self.default]) {
            endpoint.count.store(0, Ordering::Relaxed);
        }
        lock(&self.ledger).clear();
    }

    fn wake(&self) {
        if self.waiters.load(Ordering::SeqCst) > 0 {
            self.changed.notify_waiters();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The script in a model's name: `anything@SPEC` or `fake-SPEC`.
fn in_model(model: &str) -> Option<&str> {
    match model.split_once('@') {
        Some((_, text)) => Some(text),
        None => model.strip_prefix("fake-"),
    }
    .filter(|text| !text.is_empty())
}

/// Whether the name was meant as a script: `fake-model` and `claude@20250514` need not be.
fn looks_meant(model: &str, text: &str) -> bool {
    let dated = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains(['=', '%', ':', '.']);
    let plain = text == "latest" || text == "default";
    if model.contains('@') { !dated && !plain } else { text.contains('=') }
}

fn unreadable_message(api: Api) -> &'static str {
    match api.vendor() {
        crate::call::Vendor::OpenAi => {
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
        }
        crate::call::Vendor::Anthropic => "The request body is not valid JSON",
        crate::call::Vendor::Gemini => "Invalid JSON payload received. Unexpected token.",
    }
}
