//! Tools that members may call: MCP servers over their standard input and output.
//!
//! A tool is a help and never a condition. One that hangs, dies, floods or answers nonsense gives nothing, within its
//! time limit, and the model goes on without it.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use steadfast_dialect::translate::converse::Tool;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Answers are thrown away behind this length: a context window is not for one tool.
const RESULT_BYTES_MAX: usize = 64 * 1024;

/// A server that sends a longer line floods, and is ended.
const LINE_BYTES_MAX: usize = 4 << 20;

/// How many tools there may be: more confuse every model.
const TOOLS_MAX: usize = 128;

/// Pages of a server's list of tools that are asked for: a server may say "more" for ever.
const PAGES_MAX: usize = 16;

/// Messages on their way to a server that does not read them.
const MESSAGES_MAX: usize = 32;

/// How often a server that died is started anew in a session.
const RESTARTS_MAX: u32 = 3;

/// Programs may have to be fetched before they start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// The tools of a council.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    list: Vec<Tool>,
    /// For each tool its server and its name there.
    owners: HashMap<String, (usize, String)>,
    servers: Vec<Arc<Place>>,
    limit: Duration,
}

/// Whether more servers are to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Starting,
    Over,
}

/// A server that has started, and the tools it has.
#[derive(Debug)]
struct Started {
    name: String,
    place: Arc<Place>,
    offered: Vec<Tool>,
}

/// Why a tool gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Its time was over. Its server, by its number, hangs or is slow.
    Late(usize),
    /// It is not there, or its server is gone, or what it said is no answer.
    Gone,
}

/// A server to start.
#[derive(Clone, Debug)]
pub struct ToolServer {
    /// What people call it.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// Where a server runs, or one that takes its place when it dies.
#[derive(Debug)]
struct Place {
    command: Vec<String>,
    running: tokio::sync::Mutex<Running>,
}

#[derive(Debug)]
struct Running {
    server: Arc<Server>,
    restarts_left: u32,
}

#[derive(Debug)]
struct Server {
    // Killed when it is dropped.
    _child: Child,
    input: mpsc::Sender<String>,
    waiting: Arc<Waiting>,
    next_id: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting(Mutex<Option<HashMap<u64, oneshot::Sender<Value>>>>);

impl Tools {
    /// Starts the servers together and asks what they offer. Whenever one has started, `usable` is told what can be used by
    /// then; what cannot be used at all comes back.
    pub(crate) async fn connect(
        servers: &[ToolServer],
        limit: Duration,
        mut usable: impl FnMut(Self, Progress),
    ) -> Vec<String> {
        let mut starting = JoinSet::new();
        for (index, server) in servers.iter().enumerate() {
            let command = server.command.clone();
            starting.spawn(async move { (index, start(command).await) });
        }
        let mut started: Vec<Option<Started>> = servers.iter().map(|_| None).collect();
        let mut problems = Vec::new();
        while let Some(finished) = starting.join_next().await {
            let Ok((index, outcome)) = finished else { continue };
            let ToolServer { name, command } = &servers[index];
            match outcome {
                Ok((server, offered)) => {
                    let place = Arc::new(Place::new(command.clone(), server));
                    started[index] = Some(Started { name: name.clone(), place, offered });
                }
                Err(problem) => problems.push(format!("the tools of `{name}` cannot be used: {problem}")),
            }
            usable(Self::of(&started, limit), if starting.is_empty() { Progress::Over } else { Progress::Starting });
        }
        problems
    }

    /// In the order of the configuration, whichever was up first: names that clash are told apart by it.
    fn of(started: &[Option<Started>], limit: Duration) -> Self {
        let mut tools = Self { limit, ..Self::default() };
        started.iter().flatten().for_each(|started| tools.add(started));
        tools
    }

    /// What members may call.
    pub(crate) fn list(&self) -> &[Tool] {
        &self.list
    }

    /// The number of the server that has this tool.
    pub(crate) fn server_of(&self, name: &str) -> Option<usize> {
        self.owners.get(name).map(|(server, _)| *server)
    }

    /// What a tool gives back, in its time.
    pub(crate) async fn call(&self, name: &str, arguments: &str) -> Result<String, Silence> {
        let (number, own_name) = self.owners.get(name).ok_or(Silence::Gone)?;
        let place = self.servers.get(*number).ok_or(Silence::Gone)?;
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        let asked = json!({ "name": own_name, "arguments": arguments });
        let answering = async { place.server().await?.ask("tools/call", &asked).await };
        let answer = timeout(self.limit, answering).await.map_err(|_| Silence::Late(*number))?;
        let mut text = answer.as_ref().and_then(text_of).ok_or(Silence::Gone)?;
        if text.len() > RESULT_BYTES_MAX {
            text.truncate(text.floor_char_boundary(RESULT_BYTES_MAX));
        }
        Ok(text)
    }

    fn add(&mut self, Started { name: server_name, place, offered }: &Started) {
        let index = self.servers.len();
        self.servers.push(Arc::clone(place));
        for tool in offered {
            let own_name = tool.name.clone();
            let mut name = allowed(&own_name);
            if self.owners.contains_key(&name) {
                name = allowed(&format!("{server_name}_{own_name}"));
            }
            if self.list.len() < TOOLS_MAX && !self.owners.contains_key(&name) {
                self.owners.insert(name.clone(), (index, own_name));
                self.list.push(Tool { name, ..tool.clone() });
            }
        }
    }
}

/// The words of an answer: what the tool gave, or why it could not.
fn text_of(answer: &Value) -> Option<String> {
    if let Some(problem) = answer.get("error") {
        return Some(format!("error: {}", problem.get("message")?.as_str()?));
    }
    let parts = answer.get("result")?.get("content")?.as_array()?;
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    Some(texts.join("\n"))
}

/// A name that every provider takes.
fn allowed(name: &str) -> String {
    let letters = name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' });
    letters.take(64).collect()
}

async fn start(command: Vec<String>) -> Result<(Server, Vec<Tool>), String> {
    let starting = async {
        let server = Server::spawn(&command)?;
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "steadfast-council", "version": env!("CARGO_PKG_VERSION") },
        });
        server.ask_result("initialize", &hello).await.ok_or("it ended before it said hello")?;
        server.tell("notifications/initialized");
        let tools = server.offered().await.ok_or("it does not say which tools it has")?;
        Ok((server, tools))
    };
    timeout(START_LIMIT, starting).await.unwrap_or_else(|_| Err(format!("it did not start within {START_LIMIT:?}")))
}

fn offered_tool(tool: &Value) -> Option<Tool> {
    let text = |key: &str| tool.get(key).and_then(Value::as_str).map(str::to_owned);
    let schema = tool.get("inputSchema").filter(|schema| schema.is_object()).cloned();
    Some(Tool {
        name: text("name")?,
        description: text("description").unwrap_or_default(),
        parameters: schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
    })
}

impl Place {
    fn new(command: Vec<String>, server: Server) -> Self {
        let running = Running { server: Arc::new(server), restarts_left: RESTARTS_MAX };
        Self { command, running: tokio::sync::Mutex::new(running) }
    }

    /// The server, started anew where it has died; nothing where it did too often.
    async fn server(self: &Arc<Self>) -> Option<Arc<Server>> {
        let place = Arc::clone(self);
        // Whoever waits may give up; what has begun to start is there for the next.
        tokio::spawn(async move { place.alive().await }).await.ok()?
    }

    async fn alive(&self) -> Option<Arc<Server>> {
        let mut running = self.running.lock().await;
        if running.server.waiting.is_over() {
            running.restarts_left = running.restarts_left.checked_sub(1)?;
            let (server, _) = start(self.command.clone()).await.ok()?;
            running.server = Arc::new(server);
        }
        Some(Arc::clone(&running.server))
    }
}

impl Server {
    fn spawn(command: &[String]) -> Result<Self, String> {
        let (program, arguments) = command.split_first().ok_or("the command names no program")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot run `{program}`: {error}"))?;
        let stdin = child.stdin.take().ok_or("it has no standard input")?;
        let output = child.stdout.take().ok_or("it has no standard output")?;
        let waiting = Arc::new(Waiting(Mutex::new(Some(HashMap::new()))));
        let (input, messages) = mpsc::channel(MESSAGES_MAX);
        tokio::spawn(hand_in(stdin, messages));
        tokio::spawn(listen(output, Arc::clone(&waiting), input.clone()));
        Ok(Self { _child: child, input, waiting, next_id: AtomicU64::new(1) })
    }

    /// Asks, and waits for the answer; nothing where the server is gone or does not read.
    async fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let answer = self.waiting.wait_for(id)?;
        let _forgotten = Forget { waiting: &self.waiting, id };
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.input.send(message.to_string()).await.ok()?;
        answer.await.ok()
    }

    async fn ask_result(&self, method: &str, params: &Value) -> Option<Value> {
        self.ask(method, params).await?.get_mut("result").map(Value::take)
    }

    /// The tools it has, page by page.
    async fn offered(&self) -> Option<Vec<Tool>> {
        let mut tools = Vec::new();
        let mut params = json!({});
        for _ in 0..PAGES_MAX {
            let page = self.ask_result("tools/list", &params).await?;
            let offered = page.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            tools.extend(offered.iter().filter_map(offered_tool));
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(cursor) if tools.len() < TOOLS_MAX => params = json!({ "cursor": cursor }),
                _ => break,
            }
        }
        Some(tools)
    }

    fn tell(&self, method: &str) {
        // A server that cannot be told will not answer either.
        _ = self.input.try_send(json!({ "jsonrpc": "2.0", "method": method }).to_string());
    }
}

/// Somebody who stopped waiting is not kept in mind.
struct Forget<'a> {
    waiting: &'a Waiting,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        drop(self.waiting.take(self.id));
    }
}

impl Waiting {
    fn wait_for(&self, id: u64) -> Option<oneshot::Receiver<Value>> {
        let (sender, receiver) = oneshot::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.insert(id, sender);
        Some(receiver)
    }

    fn take(&self, id: u64) -> Option<oneshot::Sender<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.remove(&id)
    }

    fn is_over(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The server is gone: nobody waits for it any more, now or later.
    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Writes messages one after another. A task of its own: an asker who gives up must not leave half a message behind.
async fn hand_in(mut stdin: ChildStdin, mut messages: mpsc::Receiver<String>) {
    while let Some(mut message) = messages.recv().await {
        message.push('\n');
        if stdin.write_all(message.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// Hands answers to those who wait for them, until the server ends or floods.
async fn listen(mut output: ChildStdout, waiting: Arc<Waiting>, input: mpsc::Sender<String>) {
    let mut line: Vec<u8> = Vec::new();
    let mut chunk = vec![0; 16 * 1024];
    loop {
        let read = output.read(&mut chunk).await.unwrap_or(0);
        if read == 0 {
            break;
        }
        for part in chunk[..read].split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if line.last() == Some(&b'\n') {
                hand_over(&line, &waiting, &input);
                line.clear();
            }
        }
        if line.len() > LINE_BYTES_MAX {
            break;
        }
    }
    waiting.end();
}

fn hand_over(line: &[u8], waiting: &Waiting, input: &mpsc::Sender<String>) {
    let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
    if let Some(method) = message.get("method") {
        if let Some(id) = message.get("id") {
            // A server that does not read what it asked for does without.
            _ = input.try_send(reply(method, id).to_string());
        }
        return;
    }
    let Some(id) = message.get("id").and_then(Value::as_u64) else { return };
    if let Some(sender) = waiting.take(id) {
        // Whoever asked may have given up.
        _ = sender.send(message);
    }
}

/// What a server's own request is answered with: we are there, and can do nothing else for it.
fn reply(method: &Value, id: &Value) -> Value {
    if method == "ping" {
        return json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "method not found" } })
}

#[cfg(test)]
mod tests;
