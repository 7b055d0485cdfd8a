//! One call: the conversation is put to one model, and what it says is reported piece by piece.
//!
//! Tools that the model calls are run on the way, and the model asked again with what they gave. For the
//! coordinator all of that is one attempt: where any of it fails, the whole answer is made again.

use std::collections::HashSet;
use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method};
use steadfast_core::cost::Usage;
use steadfast_core::policy::Policy;
use steadfast_core::{Failure, FailureKind};
use steadfast_dialect::translate::converse::{self, Conversation, Heard, Listener, ToolCall, Turn};
use steadfast_dialect::{Envelope, Request, Route};
use steadfast_engine::{Engine, Failed, Order};
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use crate::coordinator::{Call, Event};
use crate::tools::{Progress, Silence, Tools};

/// How often a model may call tools before it must answer.
const TOOL_ROUNDS_MAX: usize = 8;

/// How many tools it may call at once; the others give nothing.
const TOOLS_AT_ONCE_MAX: usize = 32;

/// An answer is cut off here: nobody reads a megabyte.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Everything one call needs.
#[derive(Debug)]
pub(crate) struct Speaker {
    pub(crate) engine: Arc<Engine>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) call: Call,
    pub(crate) session: Arc<str>,
    pub(crate) member: String,
    pub(crate) system: String,
    pub(crate) turns: Vec<Turn>,
    pub(crate) tools: Arc<Tools>,
    /// Servers of tools that were late in this turn: they are not waited for again.
    pub(crate) late: HashSet<usize>,
}

/// The tools, as their servers start.
#[derive(Clone, Debug)]
pub(crate) struct Toolbox {
    pub(crate) tools: watch::Receiver<(Arc<Tools>, Progress)>,
    /// Nobody waits for them any longer than this.
    pub(crate) wait_until: tokio::time::Instant,
}

impl Toolbox {
    /// What there is once all have started, or nobody waits any longer.
    async fn open(mut self) -> (Arc<Tools>, Progress) {
        // Whoever starts them may be gone: what there is, is there.
        _ = timeout_at(self.wait_until, self.tools.wait_for(|(_, so_far)| *so_far == Progress::Over)).await;
        let usable = self.tools.borrow();
        (Arc::clone(&usable.0), usable.1)
    }
}

impl Speaker {
    /// Makes the call and reports it; a listener that is gone ends it.
    pub(crate) async fn speak(mut self, tools: Toolbox, events: Sender<Event>) {
        let call = self.call.number;
        let (tools, so_far) = tools.open().await;
        self.tools = tools;
        if so_far == Progress::Starting {
            _ = events.send(Event::ToolSilent).await;
        }
        let mut usage = Usage::default();
        let report = match self.answer(&mut usage, &events).await {
            Ok(()) => Event::Served { call, usage },
            Err(failure) => Event::Failed { call, failure: Box::new(failure), usage },
        };
        // Nobody is left to hear it when the council has ended.
        _ = events.send(report).await;
    }

    async fn answer(&mut self, usage: &mut Usage, events: &Sender<Event>) -> Result<(), Failure> {
        let mut said_bytes = 0;
        for round in 0..=TOOL_ROUNDS_MAX {
            let may_call = round < TOOL_ROUNDS_MAX;
            let (text, calls) = self.ask(may_call, usage, &mut said_bytes, events).await?;
            if calls.is_empty() {
                break;
            }
            let results = self.run_tools(&calls, events).await;
            self.turns.push(Turn::By { text, calls });
            self.turns.extend(results);
        }
        if said_bytes == 0 {
            let words = "empty response: the model said nothing".to_owned();
            return Err(Failure { message: words, ..Failure::new(FailureKind::BadOutput, "council.silent") });
        }
        Ok(())
    }

    /// Asks once: what is said, and which tools are called.
    async fn ask(
        &self,
        may_call: bool,
        usage: &mut Usage,
        said_bytes: &mut usize,
        events: &Sender<Event>,
    ) -> Result<(String, Vec<ToolCall>), Failure> {
        let order = self.order(may_call)?;
        let failed = |usage: &mut Usage, failed: Failed| {
            add(usage, failed.usage);
            failed.failure
        };
        let mut answering = self.engine.attempt(order).await.map_err(|error| failed(usage, error))?;
        let mut listener = Listener::default();
        let (mut text, mut calls) = (String::new(), Vec::new());
        while let Some(frame) = answering.next().await.map_err(|error| failed(usage, error))? {
            let heard = listener.hear(&frame).map_err(|malformed| {
                let message = format!("the answer cannot be read: {malformed}");
                Failure { message, ..Failure::new(FailureKind::BadOutput, "council.unreadable") }
            })?;
            for heard in heard {
                match heard {
                    Heard::Text(words) => {
                        *said_bytes += words.len();
                        text.push_str(&words);
                        let piece = Event::Piece { call: self.call.number, text: words };
                        // Nobody is left to hear it: the task is about to be ended.
                        _ = events.send(piece).await;
                    }
                    Heard::Call(call) => calls.push(call),
                }
            }
            if *said_bytes > ANSWER_BYTES_MAX {
                calls.clear();
                break;
            }
        }
        add(usage, answering.usage());
        Ok((text, calls))
    }

    /// Runs the tools side by side: together they take as long as the slowest, and that is bounded.
    async fn run_tools(&mut self, calls: &[ToolCall], events: &Sender<Event>) -> Vec<Turn> {
        let mut running = JoinSet::new();
        for (index, call) in calls.iter().enumerate().take(TOOLS_AT_ONCE_MAX) {
            if self.tools.server_of(&call.name).is_some_and(|server| self.late.contains(&server)) {
                continue;
            }
            let (tools, call) = (Arc::clone(&self.tools), call.clone());
            running.spawn(async move { (index, tools.call(&call.name, &call.arguments).await) });
        }
        let mut given = vec![None; calls.len()];
        while let Some(finished) = running.join_next().await {
            match finished {
                Ok((index, Ok(text))) => given[index] = Some(text),
                Ok((_, Err(Silence::Late(server)))) => _ = self.late.insert(server),
                Ok((_, Err(Silence::Gone))) | Err(_) => {}
            }
        }
        if given.contains(&None) {
            _ = events.send(Event::ToolSilent).await;
        }
        let results = calls.iter().zip(given);
        results.map(|(call, text)| Turn::Result { id: call.id.clone(), text: text.unwrap_or_default() }).collect()
    }

    fn order(&self, may_call: bool) -> Result<Order, Failure> {
        let unable =
            |words: String| Failure { message: words, ..Failure::new(FailureKind::InvalidRequest, "council.request") };
        let target = self.call.attempt.target;
        let model =
            self.call.route.model(target.model.into()).ok_or_else(|| unable("the model is unknown".to_owned()))?;
        let tools = if may_call && model.abilities.tools { self.tools.list() } else { &[] };
        let conversation = Conversation { model: &model.name, system: &self.system, turns: &self.turns, tools };
        let body: bytes::Bytes = conversation.request().into();
        let asked = Request { method: "POST", path: converse::PATH, query: None };
        let route = Route::of(asked, false).ok_or_else(|| unable("the path is unknown".to_owned()))?;
        let envelope = Envelope::peek(&route, asked, &body).map_err(|malformed| unable(malformed.to_string()))?;
        let snapshot = self.engine.snapshot();
        let client = snapshot.config.client("unknown").ok_or_else(|| unable("no client is known".to_owned()))?;
        let call = steadfast_engine::Call {
            id: Arc::clone(&self.call.request),
            method: Method::POST,
            path: converse::PATH.to_owned(),
            query: None,
            headers: headers(),
            body,
            route,
            envelope,
            project: steadfast_config::DEFAULT_PROJECT.to_owned(),
            session: Some(Arc::clone(&self.session)),
            agent: Some(self.member.as_str().into()),
            client: Arc::clone(client),
            credential: HeaderMap::new(),
            wishes: steadfast_engine::Wishes::default(),
        };
        let (policy, route) = (Arc::clone(&self.policy), Arc::clone(&self.call.route));
        Ok(Order { call, policy, route, attempt: self.call.attempt })
    }
}

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(USER_AGENT, HeaderValue::from_static("steadfast-council"));
    headers
}

fn add(sum: &mut Usage, more: Usage) {
    sum.input_tokens += more.input_tokens;
    sum.output_tokens += more.output_tokens;
}
