//! Tools that work, hang, die and flood: whatever they do, the member answers.

use serde_json::Value;

use super::{QUICK, Stage};
use crate::Transcript;
use crate::serve::Server;

/// An MCP server with a tool for everything that can happen.
const SERVER: &str = r#"
import json, os, sys, time
def reply(message, result):
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        reply(message, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"}})
    elif method == "tools/list":
        reply(message, {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ["look", "hang", "die", "flood"]]})
    elif method == "tools/call":
        name = message["params"]["name"]
        if name == "look":
            reply(message, {"content": [{"type": "text", "text": "a red door"}]})
        elif name == "hang":
            time.sleep(600)
        elif name == "die":
            os._exit(1)
        else:
            while True:
                sys.stdout.write("x" * 65536)
"#;

/// An MCP server with one tool that answers two calls together, and never one alone. `mute` answers none.
const PAIRS: &str = r#"
import json, sys
pending = []
def reply(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        reply(message["id"], {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"}})
    elif method == "tools/list":
        reply(message["id"], {"tools": [{"name": sys.argv[1], "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        open("called", "a").write("x")
        pending.append(message["id"])
        if sys.argv[1] == "pair" and len(pending) == 2:
            for id in pending:
                reply(id, {"content": [{"type": "text", "text": "both"}]})
            pending = []
"#;

const NOTICE: &str = "(Some tools did not answer this session: responses may be less grounded)";

/// A member that calls this tool in each of two turns and then answers, with what came of it.
fn two_turns(tool: &str, limit: &str) -> (Stage, Transcript) {
    let more = format!("tool_timeout = \"{limit}\"\n[council.tools.eyes]\ncommand = [\"python3\", \"server.py\"]");
    let stage = Stage::with(&["claude", "grok"], QUICK, &more);
    stage.folder.write("server.py", SERVER);
    stage.script("claude", &format!("ok call={tool} words=2"));
    let told = stage.pipe("first\nsecond\n");
    assert_eq!(told.stdout.matches("claude (claude-sonnet-4-5): word-1 word-2\n").count(), 2, "{}", told.stdout);
    assert_eq!(told.stdout.matches("grok (grok-4): I am grok.\n").count(), 2, "{}", told.stdout);
    assert!(told.stdout.contains("you: second\n") && told.code == 0, "{}", told.stdout);
    (stage, told)
}

/// How often claude was asked to answer.
fn asked(stage: &Stage) -> usize {
    stage.asked("claude", "POST")
}

/// What claude was told of the tools it had called, each time it was told.
fn results(stage: &Stage) -> Vec<String> {
    let requests = stage.fake.requests();
    let bodies = requests.iter().filter(|request| request.endpoint == "claude" && request.method == "POST");
    let mut results = Vec::new();
    for body in bodies.map(|request| serde_json::from_slice::<Value>(&request.body).unwrap()) {
        let messages = body["messages"].as_array().into_iter().flatten();
        let parts = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
        for part in parts.filter(|part| part["type"] == "tool_result") {
            results.push(match &part["content"] {
                Value::Array(texts) => texts.iter().filter_map(|text| text["text"].as_str()).collect(),
                text => text.as_str().unwrap_or_default().to_owned(),
            });
        }
    }
    results
}

#[test]
fn what_a_tool_gives_is_told_to_the_member() {
    // The first message comes before the server has started: it is waited for.
    let (stage, told) = two_turns("look", "30s");
    assert!(!told.stdout.contains(NOTICE), "{}", told.stdout);
    assert_eq!(asked(&stage), 4, "each turn with a call and an answer");
    assert_eq!(results(&stage), ["a red door", "a red door"]);
}

#[test]
fn a_tool_that_hangs_is_told_once_and_the_member_answers_without_it() {
    let (stage, told) = two_turns("hang", "2s");
    assert_eq!(told.stdout.matches(NOTICE).count(), 1, "{}", told.stdout);
    assert_eq!(results(&stage), ["", ""], "it is told that nothing came, once a turn");
}

#[test]
fn a_tool_that_dies_or_floods_is_told_once_and_the_member_answers_without_it() {
    for tool in ["die", "flood"] {
        let (stage, told) = two_turns(tool, "30s");
        assert_eq!(told.stdout.matches(NOTICE).count(), 1, "{}", told.stdout);
        assert_eq!(results(&stage), ["", ""], "{tool}");
        assert_eq!(asked(&stage), 4, "{tool}: it is there again in the second turn");
    }
}

#[test]
fn a_server_that_does_not_start_is_named_and_nobody_is_held_up() {
    let more = "[council.tools.eyes]\ncommand = [\"steadfast-no-such-program\"]";
    let stage = Stage::with(&["claude"], QUICK, more);
    let told = stage.pipe("hello\n");
    assert!(told.stdout.contains("claude (claude-sonnet-4-5): I am claude.\n"), "{}", told.stdout);
    assert!(told.stdout.contains("⚠ the tools of `eyes` cannot be used"), "{}", told.stdout);
    assert_eq!(told.code, 0);
}

/// A member that calls the one tool of such a server twice at once, as often as it may: how often it was called, and the answer.
fn called_in_pairs(tool: &str, limit: &str) -> (usize, Transcript) {
    let command = format!("command = [\"python3\", \"server.py\", {tool:?}]");
    let stage =
        Stage::with(&["claude"], QUICK, &format!("tool_timeout = \"{limit}\"\n[council.tools.eyes]\n{command}"));
    stage.folder.write("server.py", PAIRS);
    stage.script("claude", "ok answer=tools words=2");
    let told = stage.pipe("hello\n");
    assert!(told.stdout.contains("claude (claude-sonnet-4-5): word-1 word-2\n"), "{}", told.stdout);
    (stage.folder.read("called").len(), told)
}

#[test]
fn tools_that_are_called_at_once_run_side_by_side() {
    let (calls, told) = called_in_pairs("pair", "30s");
    assert_eq!(calls, 2 * 8, "two in each of the rounds a turn may have");
    assert!(!told.stdout.contains(NOTICE), "{}", told.stdout);
}

#[test]
fn a_server_that_was_late_is_not_waited_for_again_in_the_turn() {
    let (calls, told) = called_in_pairs("mute", "4s");
    assert_eq!(calls, 2, "in the first round alone");
    assert_eq!(told.stdout.matches(NOTICE).count(), 1, "{}", told.stdout);
}

/// A server that was not written for these tests: `steadfast mcp`, beside a running gateway.
#[test]
fn a_member_asks_the_gateway_about_itself_over_mcp() {
    let stage = Stage::with(&["claude"], QUICK, "");
    let gateway = Server::start(&stage.folder, &[], &[]);
    let command = [env!("CARGO_BIN_EXE_steadfast"), "mcp", "--url", &format!("http://{}", gateway.address())];
    let config = stage.folder.read("steadfast.toml");
    let tools = format!("tool_timeout = \"30s\"\n[council.tools.steadfast]\ncommand = {command:?}\n[policies.quick]");
    stage.folder.write("steadfast.toml", &config.replacen("[policies.quick]", &tools, 1));
    stage.script("claude", "ok call=which_models_are_healthy words=2");
    let told = stage.pipe("hello\n");
    assert!(told.stdout.contains("claude (claude-sonnet-4-5): word-1 word-2\n"), "{}", told.stdout);
    assert!(!told.stdout.contains(NOTICE), "{}", told.stdout);
    let results = results(&stage);
    assert!(results.len() == 1 && results[0].contains("claude-sonnet-4-5: can be asked"), "{results:?}");
}
