//! `steadfast mcp`: an MCP server on standard input and output, with which an agent can ask about itself: why a
//! request failed, which models are well, what its budget is, what an error means.
//!
//! The protocol is JSON-RPC, a message a line. Four tools and no state: a library would be larger than what it saves.

use std::fmt::Write as _;
use std::io::{BufRead as _, Read as _, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use crate::cli::SourceArgs;
use crate::client::{Client, ClientArgs, in_query};

/// Which gateway.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    client: ClientArgs,
}

/// The newest protocol we know; a client that asks for an older one gets that.
const PROTOCOL: &str = "2025-06-18";
const PROTOCOLS: [&str; 3] = ["2024-11-05", "2025-03-26", PROTOCOL];

/// A message is a question, not a book.
const LINE_BYTES_MAX: u64 = 4 << 20;

/// Requests looked through for those of one agent.
const LOOKED_AT: usize = 50;

pub(crate) fn run(args: &McpArgs, sources: &SourceArgs) -> anyhow::Result<ExitCode> {
    let client = Client::of(&args.client, sources)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(answer) = runtime.block_on(answer(&client, &line)) {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
    }
}

/// The answer to a message; none where it is a notification.
async fn answer(client: &Client, line: &[u8]) -> Option<Value> {
    let failed = |id: &Value, code: i32, message: &str| {
        Some(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }))
    };
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return failed(&Value::Null, -32700, "this is not JSON, or too long");
    };
    let id = message.get("id")?;
    let parameters = &message["params"];
    let result = match message["method"].as_str() {
        Some("initialize") => greet(parameters),
        Some("ping") => json!({}),
        Some("tools/list") => json!({ "tools": tools() }),
        Some("tools/call") => match call(client, parameters).await {
            Some(told) => told,
            None => {
                return failed(
                    id,
                    -32602,
                    &format!("there is no tool `{}`", parameters["name"].as_str().unwrap_or("")),
                );
            }
        },
        Some(method) => return failed(id, -32601, &format!("`{method}` is not known here")),
        None => return failed(id, -32600, "a message names a `method`"),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn greet(parameters: &Value) -> Value {
    let asked = parameters["protocolVersion"].as_str().unwrap_or(PROTOCOL);
    let protocol = PROTOCOLS.into_iter().find(|known| *known == asked).unwrap_or(PROTOCOL);
    json!({
        "protocolVersion": protocol,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "steadfast", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Ask here when a model call failed, was slow or came from another model than expected.",
    })
}

fn tools() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let tool = |name: &str, about: &str, properties: Value| {
        json!({
            "name": name,
            "description": about,
            "inputSchema": { "type": "object", "properties": properties, "additionalProperties": false },
            "annotations": { "readOnlyHint": true },
        })
    };
    json!([
        tool(
            "why_did_my_request_fail",
            "Tells what happened to a model request and why: every attempt, failure, wait and change of model. \
             Without arguments, to the last one in which something failed.",
            json!({
                "request": text("the id in the header x-steadfast-request of its answer"),
                "session": text("the conversation whose last failed request is meant"),
                "agent": text("the agent within it"),
            }),
        ),
        tool("which_models_are_healthy", "Tells which models can be asked now, and what keeps the others.", json!({})),
        tool("what_is_my_budget", "Tells what may be spent today, what has been spent, and what is left.", json!({})),
        tool(
            "explain_error",
            "Tells what an error message of a model API means and what Steadfast would do about it.",
            json!({ "text": text("the error, as it was printed"), "status": { "type": "integer", "description": "its HTTP status" } }),
        ),
    ])
}

/// Calls a tool; none where there is no such tool. What goes wrong is told to the agent as the tool's answer.
async fn call(client: &Client, parameters: &Value) -> Option<Value> {
    let arguments = &parameters["arguments"];
    let told = match parameters["name"].as_str()? {
        "why_did_my_request_fail" => why(client, arguments).await,
        "which_models_are_healthy" => models(client).await,
        "what_is_my_budget" => budget(client).await,
        "explain_error" => explain(client, arguments).await,
        _ => return None,
    };
    Some(match told {
        Ok(text) => json!({ "content": [{ "type": "text", "text": text }], "isError": false }),
        Err(error) => json!({ "content": [{ "type": "text", "text": format!("{error:#}") }], "isError": true }),
    })
}

async fn why(client: &Client, arguments: &Value) -> anyhow::Result<String> {
    let text = |name: &str| arguments[name].as_str().filter(|text| !text.is_empty());
    let request = match text("request") {
        Some(request) => request.to_owned(),
        None => {
            let session = text("session").map(|session| format!("&session={}", in_query(session))).unwrap_or_default();
            let failed = client.get(&format!("/api/requests?failed=true&limit={LOOKED_AT}{session}")).await?;
            let mut failed = failed["items"].as_array().into_iter().flatten();
            let found = failed.find(|request| text("agent").is_none_or(|agent| request["agent"] == agent));
            match found.and_then(|request| request["request"].as_str()) {
                Some(request) => request.to_owned(),
                None => return Ok("No failed request is known.".to_owned()),
            }
        }
    };
    let story = client.get(&format!("/api/requests/{}", in_query(&request))).await?;
    Ok(story["story"].as_str().unwrap_or_default().to_owned())
}

async fn models(client: &Client) -> anyhow::Result<String> {
    let models = client.get("/api/models").await?;
    let endpoints = client.get("/api/endpoints").await?;
    let mut told = String::new();
    let names = |list: &Value| {
        let names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
        names.collect::<Vec<_>>().join(", ")
    };
    for model in models["models"].as_array().into_iter().flatten() {
        let state = match (model["healthy"].as_bool(), model["servable"].as_bool()) {
            (Some(true), _) => "can be asked".to_owned(),
            (_, Some(true)) => format!("cannot be asked itself, others serve for it: {}", names(&model["chain"])),
            _ => "cannot be asked, and nobody serves for it".to_owned(),
        };
        // Writing to memory cannot fail.
        let _ = writeln!(told, "{}: {state}", model["name"].as_str().unwrap_or(""));
    }
    for endpoint in endpoints["endpoints"].as_array().into_iter().flatten() {
        let breaker = endpoint["breaker"]["state"].as_str().unwrap_or("");
        let usable = if endpoint["usable"] == true { "usable" } else { "not usable" };
        let failure =
            endpoint["last_failure"]["kind"].as_str().map(|kind| format!(", last failure {kind}")).unwrap_or_default();
        let _ = writeln!(
            told,
            "endpoint {}: {usable}, breaker {breaker}{failure}",
            endpoint["name"].as_str().unwrap_or("")
        );
    }
    Ok(told)
}

async fn budget(client: &Client) -> anyhow::Result<String> {
    let budgets = client.get("/api/budgets").await?;
    let usd = |micros: &Value| format!("${:.4}", micros.as_u64().unwrap_or(0) as f64 / 1e6);
    let mut told = String::new();
    for budget in budgets["budgets"].as_array().into_iter().flatten() {
        let project = budget["project"].as_str().unwrap_or("");
        let used = usd(&budget["used_usd_micros"]);
        let line = match budget["usd_per_day"].as_f64() {
            Some(limit) => format!("{used} of ${limit:.2} spent today, {} left", usd(&budget["left_usd_micros"])),
            None => format!("{used} spent today, no daily limit"),
        };
        let session =
            budget["usd_per_session"].as_f64().map(|limit| format!("; ${limit:.2} per session")).unwrap_or_default();
        let _ = writeln!(told, "project {project}: {line}{session}");
    }
    Ok(told)
}

async fn explain(client: &Client, arguments: &Value) -> anyhow::Result<String> {
    let mut asked = json!({ "text": arguments["text"].as_str().unwrap_or_default() });
    if let Some(status) = arguments["status"].as_u64() {
        asked["status"] = status.into();
    }
    let told = client.post("/api/explain", &asked).await?;
    let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
    let steps = told["steps"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let steps: Vec<String> = steps.map(|step| format!("  {step}")).collect();
    Ok(format!(
        "{} ({}), by the rule {}\nIf it does not go away, the policy `{}` does this:\n{}",
        text("kind"),
        text("category"),
        text("rule"),
        text("policy"),
        steps.join("\n")
    ))
}
