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
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Answers are thrown away behind this length: a context window is not for one tool.
const RESULT_BYTES_MAX: usize = 64 * 1024;

/// A server that sends a longer line floods, and is ended.
const LINE_BYTES_MAX: usize = 4 << 20;

/// How many tools there may be: more confuse every model.
const TOOLS_MAX: usize = 128;

/// Programs may have to be fetched before they start.
const START_LIMIT: Duration = Duration::from_secs(20);

/// The tools of a council.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    list: Vec<Tool>,
    /// For each tool its server and its name there.
    owners: HashMap<String, (usize, String)>,
    servers: Vec<Server>,
    limit: Duration,
}

/// A server to start.
#[derive(Clone, Debug)]
pub struct ToolServer {
    /// What people call it.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

#[derive(Debug)]
struct Server {
    // Killed when it is dropped.
    _child: Child,
    input: tokio::sync::Mutex<ChildStdin>,
    waiting: Arc<Waiting>,
    next_id: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting(Mutex<Option<HashMap<u64, oneshot::Sender<Value>>>>);

impl Tools {
    /// Starts the servers together and asks what they offer; what cannot be used is told.
    pub(crate) async fn connect(servers: &[ToolServer], limit: Duration) -> (Self, Vec<String>) {
        let starting: Vec<_> =
            servers.iter().map(|server| (server.name.clone(), tokio::spawn(start(server.command.clone())))).collect();
        let mut tools = Self { limit, ..Self::default() };
        let mut problems = Vec::new();
        for (name, starting) in starting {
            match starting.await.unwrap_or_else(|error| Err(error.to_string())) {
                Ok((server, offered)) => tools.add(&name, server, offered),
                Err(problem) => problems.push(format!("the tools of `{name}` cannot be used: {problem}")),
            }
        }
        (tools, problems)
    }

    /// What members may call.
    pub(crate) fn list(&self) -> &[Tool] {
        &self.list
    }

    /// What a tool gives back; nothing where it does not in time.
    pub(crate) async fn call(&self, name: &str, arguments: &str) -> Option<String> {
        let (server, own_name) = self.owners.get(name)?;
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        let asked = json!({ "name": own_name, "arguments": arguments });
        let result = timeout(self.limit, self.servers.get(*server)?.ask("tools/call", &asked)).await.ok()??;
        let parts = result.get("content")?.as_array()?;
        let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        let mut text = texts.join("\n");
        if text.len() > RESULT_BYTES_MAX {
            text.truncate(text.floor_char_boundary(RESULT_BYTES_MAX));
        }
        Some(text)
    }

    fn add(&mut self, server_name: &str, server: Server, offered: Vec<Tool>) {
        let index = self.servers.len();
        self.servers.push(server);
        for tool in offered {
            let own_name = tool.name.clone();
            let mut name = allowed(&own_name);
            if self.owners.contains_key(&name) {
                name = allowed(&format!("{server_name}_{own_name}"));
            }
            if self.list.len() < TOOLS_MAX && !self.owners.contains_key(&name) {
                self.owners.insert(name.clone(), (index, own_name));
                self.list.push(Tool { name, ..tool });
            }
        }
    }
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
        server.ask("initialize", &hello).await.ok_or("it ended before it said hello")?;
        server.tell("notifications/initialized").await;
        let offered = server.ask("tools/list", &json!({})).await.ok_or("it does not say which tools it has")?;
        let tools = offered.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Ok((server, tools.iter().filter_map(offered_tool).collect()))
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
        let input = child.stdin.take().ok_or("it has no standard input")?;
        let output = child.stdout.take().ok_or("it has no standard output")?;
        let waiting = Arc::new(Waiting(Mutex::new(Some(HashMap::new()))));
        tokio::spawn(listen(output, Arc::clone(&waiting)));
        Ok(Self { _child: child, input: tokio::sync::Mutex::new(input), waiting, next_id: AtomicU64::new(1) })
    }

    /// Asks, and waits for the answer; nothing where the server is gone or says that it failed.
    async fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let answer = self.waiting.wait_for(id)?;
        let _forgotten = Forget { waiting: &self.waiting, id };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        let mut answer = answer.await.ok()?;
        answer.get_mut("result").map(Value::take)
    }

    async fn tell(&self, method: &str) {
        // A server that cannot be told will not answer either.
        _ = self.send(&json!({ "jsonrpc": "2.0", "method": method })).await;
    }

    async fn send(&self, message: &Value) -> Option<()> {
        let mut input = self.input.lock().await;
        input.write_all(format!("{message}\n").as_bytes()).await.ok()?;
        input.flush().await.ok()
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

    /// The server is gone: nobody waits for it any more, now or later.
    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Hands answers to those who wait for them, until the server ends or floods.
async fn listen(mut output: ChildStdout, waiting: Arc<Waiting>) {
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
                hand_over(&line, &waiting);
                line.clear();
            }
        }
        if line.len() > LINE_BYTES_MAX {
            break;
        }
    }
    waiting.end();
}

fn hand_over(line: &[u8], waiting: &Waiting) {
    let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
    let Some(id) = message.get("id").and_then(Value::as_u64) else { return };
    if let Some(sender) = waiting.take(id) {
        // Whoever asked may have given up.
        _ = sender.send(message);
    }
}

#[cfg(test)]
mod tests;
