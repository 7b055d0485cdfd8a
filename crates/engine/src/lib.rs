//! The async driver: runs a `Recovery`, calls endpoints, relays streams, writes the decision log.
//!
//! A face hands in a [`Call`] and gets a [`Reply`]. Everything in between is here: planning,
//! attempts, what of a stream may reach the client when, the journal, metrics and the log. What to
//! do about a failure is decided by `steadfast-core` alone.

mod alerts;
mod attempt;
mod bell;
mod call;
mod clock;
mod drive;
mod echo;
mod failures;
mod foreign;
mod grants;
mod health;
mod journal;
mod key;
mod last;
mod later;
mod limits;
mod live;
mod log;
mod lone;
mod means;
mod metrics;
mod notify;
mod operation;
mod outliving;
mod owners;
mod patience;
pub mod quick;
mod recall;
mod recorder;
mod relay;
mod reply;
mod request;
pub mod secrets;
mod sessions;
mod shape;
mod shared;
mod snapshot;
mod traces;
mod trouble;
mod turns;
mod unpack;
mod upstream;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use steadfast_config::{Config, DecisionLog, Dialect};
use steadfast_core::FailureKind;
use steadfast_core::breaker::{Override, Transition};
use steadfast_core::cost::Usage;
use steadfast_core::decision::Decision;
use steadfast_core::record::{Event, Place, Record};
use steadfast_core::recovery::Outcome;
use steadfast_core::world::Session;
use steadfast_dialect::{Framing, Operation as Asked};
use tokio::sync::oneshot;

pub use call::{Call, Wishes, new_request_id};
pub use clock::Clock;
pub use grants::Grant;
pub use health::Checked;
pub use last::OUT_OF_MONEY;
pub use later::usher;
pub use limits::{LimitOf, RateStatus, Source, Unit};
pub use live::{Batch, Found, Live};
pub use log::{LogFiles, old};
pub use lone::{Answering, Failed, Order};
pub use recorder::Listener;
pub use relay::{BrokeOff, Relay};
pub use reply::{REQUEST_ID, Reply, ReplyBody};
pub use snapshot::{BadRules, Snapshot, dialect_of};
pub use turns::Turn;

use snapshot::Reach;

use crate::drive::operation_name;
use crate::failures::{Failures, Recall};
use crate::health::Checks;
use crate::journal::Journal;
use crate::key::{Key, Keys};
use crate::metrics::Metrics;
use crate::notify::Notifier;
use crate::operation::Operation;
use crate::outliving::Outliving;
use crate::quick::QuickMap;
use crate::recorder::Recorder;
use crate::relay::Out;
use crate::sessions::Sessions;
use crate::shared::Sharing;
use crate::traces::{Trace, Tracer};
use crate::turns::Turns;
use crate::upstream::Upstream;

/// Everything requests share.
#[derive(Debug)]
pub struct Engine {
    snapshot: ArcSwap<Snapshot>,
    upstream: ArcSwap<Upstream>,
    recorder: Recorder,
    live: Arc<Live>,
    tracer: ArcSwapOption<Tracer>,
    checks: Checks,
    pub(crate) clock: Clock,
    pub(crate) sessions: Sessions,
    pub(crate) journal: Journal,
    pub(crate) failures: Failures,
    pub(crate) keys: Keys,
    pub(crate) turns: Turns,
    pub(crate) metrics: Metrics,
    pub(crate) sharing: Sharing,
    /// Names used as labels, made once.
    words: QuickMap<&'static str, Arc<str>>,
}

/// Why the engine cannot start or take a configuration.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The classification rules do not compile.
    #[error(transparent)]
    Rules(#[from] BadRules),
    /// The thread that records what happens cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The decision log cannot be opened.
    #[error("cannot write the decision log `{path}`")]
    Log {
        /// Its path.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl Engine {
    /// Starts with a configuration. Needs a tokio runtime.
    pub fn start(config: Config) -> Result<Arc<Self>, EngineError> {
        let log = config.decision_log.as_ref().map(open_log).transpose()?;
        let upstream = upstream_for(&config);
        // The table of prices is read on its first use: better now than within a request.
        drop(config.unlisted("", Dialect::OpenAi));
        let snapshot = Snapshot::new(config)?;
        let metrics = Metrics::default();
        let tracer = snapshot.config.traces.clone();
        let tracer = tracer.map(|traces| Tracer::start(traces, upstream.clone(), Arc::clone(&metrics.spans_lost)));
        let clock = Clock::start();
        let live = Live::new(clock.wall());
        let recorder = Recorder::start(log, Arc::clone(&live), clock).map_err(EngineError::Thread)?;
        let engine = Arc::new(Self {
            upstream: ArcSwap::from_pointee(upstream),
            snapshot: ArcSwap::from_pointee(snapshot),
            recorder,
            live,
            tracer: ArcSwapOption::new(tracer),
            checks: Checks::default(),
            clock,
            sessions: Sessions::default(),
            journal: Journal::default(),
            failures: Failures::default(),
            keys: Keys::default(),
            turns: Turns::default(),
            metrics,
            sharing: Sharing::default(),
            words: words(),
        });
        engine.turns.keep_for(engine.snapshot().config.keep_turns);
        engine.recorder.listen(Box::new(Notifier::start(&engine)));
        engine.checks.follow(&engine, &engine.snapshot());
        engine.sharing.follow(&engine, engine.snapshot().config.shared.as_ref());
        Ok(engine)
    }

    /// Puts another configuration in force for requests that come from now on.
    pub fn reload(self: &Arc<Self>, config: Config) -> Result<(), EngineError> {
        let before = self.snapshot();
        let log_changed = before.config.decision_log != config.decision_log;
        let log = config.decision_log.as_ref().filter(|_| log_changed).map(open_log).transpose()?;
        let ways = |config: &Config| (connect_timeout(config), config.proxy.clone());
        let upstream = (ways(&before.config) != ways(&config)).then(|| upstream_for(&config));
        let traces = (before.config.traces != config.traces).then(|| config.traces.clone());
        self.snapshot.store(Arc::new(before.next(config)?));
        self.failures.clear();
        if log_changed {
            self.recorder.log_to(log);
        }
        if let Some(upstream) = upstream {
            self.upstream.store(Arc::new(upstream));
        }
        if let Some(traces) = traces {
            let (upstream, lost) = (self.upstream.load(), &self.metrics.spans_lost);
            let start = |traces| Tracer::start(traces, Upstream::clone(&upstream), Arc::clone(lost));
            self.tracer.store(traces.map(start));
        }
        self.turns.keep_for(self.snapshot().config.keep_turns);
        self.checks.follow(self, &self.snapshot());
        self.sharing.follow(self, self.snapshot().config.shared.as_ref());
        Ok(())
    }

    /// The configuration in force.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The driver's clock.
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Answers a call.
    pub async fn call(self: &Arc<Self>, call: Call) -> Reply {
        let call = Arc::new(call);
        let remembered = call.wishes.again.is_none() && (!self.journal.is_empty() || !self.failures.is_empty());
        let key = remembered.then(|| self.keys.of(&call));
        if let Some(kept) = key.and_then(|key| self.journal.take(key, self.clock.now())) {
            self.metrics.journal_hits.fetch_add(1, Ordering::Relaxed);
            if let Some(tracer) = self.tracer().as_ref() {
                Trace::kept(tracer, &call);
            }
            return Reply { status: kept.status, headers: kept.headers, body: ReplyBody::Whole(kept.body) };
        }
        if let Some(estimate) = self.estimate(&call) {
            return estimate;
        }
        let repeat = match key.map_or(Recall::Fresh, |key| self.recall(&call, key)) {
            Recall::Fresh => None,
            Recall::Again(repeat) => Some(repeat),
            Recall::Answer { repeat, answer, rest } => return self.answer_repeat(&call, &repeat, answer, rest),
        };
        let taken = match self.count_against_limits(&call).await {
            Ok(taken) => taken,
            Err(refused) => return refused,
        };
        let operation = match Operation::plan(self, Arc::clone(&call), repeat, taken) {
            Ok(operation) => operation,
            Err(verdict) => {
                if let Some(taken) = taken {
                    self.uncount(&call, taken);
                }
                return drive::unplanned(&call, &verdict);
            }
        };
        match call.route.operation {
            _ if operation.plain => self.pass_through(operation).await,
            Asked::Generate(format) if call.envelope.stream => {
                let out = Out::default();
                let framing = call.envelope.framing;
                let beat = relay::heartbeat(&call, format, operation.policy().timeouts.heartbeat);
                let driver = Box::pin(drive::stream(operation, format, out.clone()));
                Relay::reply(self, out, driver, beat, early_head(&call, framing)).await
            }
            Asked::Generate(format) => Self::whole(operation, Some(format)).await,
            Asked::CountTokens | Asked::Embed | Asked::ListModels => Self::whole(operation, None).await,
            Asked::Other => self.pass_through(operation).await,
        }
    }

    /// Everything that is counted, as Prometheus reads it.
    pub fn metrics(&self) -> String {
        self.metrics.log_lost.store(self.recorder.lost(), Ordering::Relaxed);
        let mut text = self.metrics.render(&self.snapshot(), self.clock.now());
        self.sharing.render(&mut text);
        text
    }

    /// How many sessions are known.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// A conversation that is known.
    pub fn session(&self, project: &str, id: &str) -> Option<Arc<Session>> {
        self.sessions.known(project, id)
    }

    /// The same; a new one where it is not known. `None` where there is no such project.
    pub fn open_session(&self, project: &str, id: &str) -> Option<Arc<Session>> {
        let snapshot = self.snapshot();
        let configured = snapshot.config.projects.get(project)?;
        let project = &snapshot.project(project)?.name;
        Some(self.sessions.get(project, id, configured.usd_micros_per_session, self.clock.now()))
    }

    /// A key for this project, for an agent that is run beside this gateway. It ends with what is returned.
    pub fn grant(&self, project: &str) -> Result<Grant, secrets::NoRandomness> {
        self.snapshot.load().grants.make(project)
    }

    /// The last turn of a conversation, as long as it is kept.
    pub fn last_turn(&self, project: &str, session: &str) -> Option<Turn> {
        self.turns.last(project, session, self.clock.now())
    }

    /// Writes what is still on its way to the decision log.
    pub fn flush(&self) {
        self.recorder.flush();
    }

    /// Ends what the engine does by itself, and sends and writes what is still on its way. Requests
    /// are over by now.
    pub async fn stop(&self) {
        self.checks.stop();
        self.sharing.stop().await;
        if let Some(tracer) = self.tracer.load_full() {
            tracer.flush().await;
        }
        self.flush();
    }

    /// How many tokens a request takes that no endpoint of the client's own family can count: its model is
    /// served elsewhere.
    fn estimate(&self, call: &Call) -> Option<Reply> {
        let (Asked::CountTokens, Some(model)) = (call.route.operation, &call.envelope.model) else { return None };
        let snapshot = self.snapshot();
        let project = snapshot.config.project(Some(&call.project));
        let is_served = |reach| {
            let route = snapshot.route(project, model, call.route.family, reach);
            route.chain().iter().any(|model| !model.endpoints.is_empty())
        };
        let elsewhere = !is_served(Reach::Own) && is_served(Reach::All);
        elsewhere.then(|| drive::estimated_tokens(call))
    }

    /// An answer that nobody looks into.
    async fn pass_through(self: &Arc<Self>, operation: Operation) -> Reply {
        let out = Out::default();
        let driver = Box::pin(drive::pass_through(operation, out.clone()));
        Relay::reply(self, out, driver, None, HeaderMap::new()).await
    }

    /// An answer in one piece is made to its end where the journal may want it: a client that
    /// leaves does not take it along.
    ///
    /// Boxed here, because a connection keeps room for the largest future it ever awaits.
    fn whole(operation: Operation, format: Option<steadfast_dialect::Format>) -> impl Future<Output = Reply> {
        let (alive, gone) = oneshot::channel();
        let kept = format.is_some() && !operation.policy().journal.is_zero();
        let making = Box::pin(drive::whole(operation, format, gone));
        async move {
            let reply = if kept { Outliving::new(making).await } else { making.await };
            drop(alive);
            reply
        }
    }

    pub(crate) fn upstream(&self) -> Guard<Arc<Upstream>> {
        self.upstream.load()
    }

    /// What happened lately, for readers who watch.
    pub const fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// For threads that serve, when they have nothing to do: tells a handful of what happened to those who keep and
    /// show it. Takes some microseconds and waits for nothing.
    pub fn lend_a_hand(&self) {
        self.recorder.lend_a_hand();
    }

    /// Hands everything that happens from now on to `listener` too.
    pub fn listen(&self, listener: Box<dyn Listener>) {
        self.recorder.listen(listener);
    }

    /// Takes note of something that happened; never waits.
    pub fn record(&self, record: Record) {
        self.recorder.record(record);
    }

    /// What the health checks of an endpoint have found, where it has some.
    pub fn checked(&self, endpoint: &str) -> Option<Checked> {
        self.checks.found(endpoint)
    }

    /// Puts a person's word over a breaker's own, or takes it back, and says so; `false` where there is no such
    /// endpoint.
    pub fn override_breaker(&self, endpoint: &str, word: Option<Override>) -> bool {
        let snapshot = self.snapshot();
        let Some(known) = snapshot.known_endpoints().iter().find(|known| *known.name == *endpoint) else {
            return false;
        };
        let (state, reason) = match &word {
            Some(word) => (word.mode.name(), Some(word.reason.clone().into())),
            None => ("automatic", None),
        };
        known.breaker.set_override(word);
        self.record(Record {
            about: Some(Arc::clone(&known.name)),
            state: Some(state.into()),
            reason,
            ..Record::new(self.clock.wall(), Event::Breaker, Arc::default())
        });
        tracing::info!(endpoint, state, "a person changed a breaker");
        true
    }

    pub(crate) fn tracer(&self) -> Guard<Option<Arc<Tracer>>> {
        self.tracer.load()
    }

    pub(crate) fn forget_kept(&self, key: Key) {
        drop(self.journal.take(key, self.clock.now()));
    }

    pub(crate) fn breaker_changed(&self, endpoint: &Arc<str>, transition: &Transition, request: &Arc<str>) {
        let state = self.word(transition.to.name());
        self.metrics.breaker_changes.add([endpoint, &state], 1);
        self.record(Record {
            about: Some(Arc::clone(endpoint)),
            state: Some(transition.to.name().into()),
            ..Record::new(self.clock.wall(), Event::Breaker, Arc::clone(request))
        });
        tracing::info!(%endpoint, state = transition.to.name(), "breaker changed");
    }

    pub(crate) fn count_attempt(&self, place: Option<&Place>, result: &'static str) {
        if let Some(place) = place {
            self.metrics.attempts.add([&place.endpoint, &self.word(result)], 1);
        }
    }

    pub(crate) fn count_decision(&self, decision: &Decision) {
        self.metrics.decisions.add([&self.word(decision.kind.as_str()), &self.word(decision.step)], 1);
    }

    pub(crate) fn count_tokens(&self, snapshot: &Snapshot, place: Option<&Place>, usage: Usage) {
        let Some(place) = place else { return };
        let model = self.model_label(snapshot, &place.model);
        if usage.input_tokens > 0 {
            self.metrics.tokens.add([&model, &self.word("input")], usage.input_tokens);
        }
        if usage.output_tokens > 0 {
            self.metrics.tokens.add([&model, &self.word("output")], usage.output_tokens);
        }
    }

    pub(crate) fn count_request(&self, snapshot: &Snapshot, call: &Call, outcome: &Outcome, took: Duration) {
        let model = match &call.envelope.model {
            Some(model) => self.model_label(snapshot, model),
            None => self.word("none"),
        };
        let operation = self.word(operation_name(call.route.operation));
        self.metrics.requests.add([&operation, &model, &self.word(outcome.name())], 1);
        self.metrics.request_seconds.record(took);
    }

    /// Only configured names become labels: clients may send any number of others.
    fn model_label(&self, snapshot: &Snapshot, model: &str) -> Arc<str> {
        match snapshot.config.catalogue.model(model) {
            Some(model) => Arc::clone(&model.name),
            None => self.word("other"),
        }
    }

    pub(crate) fn word(&self, word: &'static str) -> Arc<str> {
        self.words.get(word).map_or_else(|| word.into(), Arc::clone)
    }
}

fn open_log(settings: &DecisionLog) -> Result<LogFiles, EngineError> {
    LogFiles::open(settings).map_err(|source| EngineError::Log { path: settings.path.clone(), source })
}

fn upstream_for(config: &Config) -> Upstream {
    Upstream::new(connect_timeout(config), config.proxy.as_ref())
}

/// The longest any policy allows: one connection serves them all.
fn connect_timeout(config: &Config) -> Duration {
    let policies = config.projects.values().map(|project| project.policy.timeouts.connect);
    policies.max().unwrap_or(Duration::from_secs(10))
}

/// The head of a stream that begins before its answer does.
fn early_head(call: &Call, framing: Framing) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let kind = match framing {
        Framing::Sse => "text/event-stream",
        Framing::JsonArray => "application/json",
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(id) = HeaderValue::from_str(&call.id) {
        headers.insert(REQUEST_ID, id);
    }
    headers
}

/// Every label value that is a word of ours.
fn words() -> QuickMap<&'static str, Arc<str>> {
    let steps = ["retry", "fallback", "escalate", "repair", "defer", "ask", "restart", "degrade", "give_up", "park"];
    let others = ["ok", "input", "output", "other", "none", "closed", "open", "half_open", "memory", "upstream"];
    let limits = ["project", "agent", "endpoint"];
    let outcomes = ["succeeded", "gave_up", "degraded", "cancelled"];
    let operations = ["chat", "responses", "messages", "gemini", "count_tokens", "embed", "models"];
    let kinds = FailureKind::ALL.into_iter().map(FailureKind::as_str);
    let all = steps.into_iter().chain(others).chain(limits).chain(outcomes).chain(operations).chain(kinds);
    all.map(|word| (word, Arc::from(word))).collect()
}
