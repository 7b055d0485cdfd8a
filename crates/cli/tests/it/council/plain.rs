//! The council as plain lines, through pipes.

use steadfast_fake::Fake;
use tokio::runtime::Runtime;

use crate::{Folder, Transcript};

/// A tool that never answers.
const HANGING: &str = r#"
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        time.sleep(600)
    elif "id" in message:
        tools = [{"name": "look", "description": "looks", "inputSchema": {"type": "object"}}]
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools}}), flush=True)
"#;

struct Stage {
    folder: Folder,
    fake: Fake,
    _runtime: Runtime,
}

impl Stage {
    fn new(more: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let fake = runtime.block_on(Fake::start()).unwrap();
        let folder = Folder::new();
        let mut config = String::from("[council]\nmembers = [\"ada\", \"bob\"]\npolicy = \"quick\"\n");
        config += more;
        config += "\n[policies.quick]\nextends = \"council\"\n[policies.quick.on]\n";
        config +=
            "default = [{ retry = 3, base = \"10ms\", cap = \"20ms\", jitter = 0 }, \"defer\", \"ask\", \"degrade\"]\n";
        for (name, model) in [("ada", "claude-sonnet-4-5"), ("bob", "gpt-5")] {
            let dialect = if name == "ada" { "anthropic" } else { "openai" };
            let url = fake.endpoint_url(name);
            config += &format!("[council.member.{name}]\nmodel = {model:?}\nfallback = [{model:?}]\n");
            config += &format!("[endpoints.{name}]\ndialect = {dialect:?}\nurl = {url:?}\n");
            config += &format!("[models.{model:?}]\nendpoints = [{name:?}]\n");
            fake.script(name, &format!("ok text=\"I am {name}.\"")).unwrap();
        }
        folder.write("steadfast.toml", &config);
        Self { folder, fake, _runtime: runtime }
    }

    fn run(&self, input: &str) -> Transcript {
        let home = self.folder.0.display().to_string();
        let environment = [("HOME", home.as_str()), ("PATH", "/usr/local/bin:/usr/bin:/bin")];
        self.folder.command(&["council"], &environment, input)
    }
}

#[test]
fn a_pipe_gets_the_conversation_and_nothing_else() {
    let stage = Stage::new("metrics = \"metrics.jsonl\"");
    stage.fake.script_model("bob", "gpt-5", "status=503 x2; ok text=\"I am bob.\"").unwrap();
    let told = stage.run("hello\n/members\n");
    assert_eq!(told.stdout, "you: hello\nada (claude-sonnet-4-5): I am ada.\nbob (gpt-5): I am bob.\n");
    assert!(told.stderr.contains("bob error, retrying in"), "{}", told.stderr);
    assert!(told.stderr.contains("ada  claude-sonnet-4-5  here"), "{}", told.stderr);
    assert_eq!(told.code, 0);
    let metrics = stage.folder.read("metrics.jsonl");
    let retry = metrics.lines().next().unwrap();
    for part in ["\"event\":\"retry_attempt\"", "\"ai_id\":\"bob\"", "\"attempt\":1", "\"error_type\":\"server_error\""]
    {
        assert!(retry.contains(part), "{retry}");
    }
}

#[test]
fn at_the_end_of_a_pipe_nobody_is_asked_for_long() {
    let stage = Stage::new("");
    for (name, model) in [("ada", "claude-sonnet-4-5"), ("bob", "gpt-5")] {
        stage.fake.script_model(name, model, "100%: status=500").unwrap();
    }
    let told = stage.run("hello\n");
    assert!(told.stdout.contains("(ada skipped due to error, will retry after round)"), "{}", told.stdout);
    assert!(told.stdout.contains("All council members offline."), "{}", told.stdout);
    assert_eq!(told.code, 1);
}

#[test]
fn a_tool_that_hangs_is_told_once_and_the_member_answers_without_it() {
    let server =
        format!("tool_timeout = \"200ms\"\n[council.tools.eyes]\ncommand = [\"python3\", \"-c\", {HANGING:?}]\n");
    let stage = Stage::new(&server);
    stage.fake.script("bob", "ok first=2s text=\"I am bob.\"").unwrap();
    stage.fake.script("ada", "ok first=2s text=\"I am ada.\"; ok call=look text=\"I looked.\"").unwrap();
    // The first round gives the server the time to start.
    let told = stage.run("hello\nlook at this\nand at that\n");
    assert_eq!(told.stdout.matches("Some tools did not answer this session").count(), 1, "{}", told.stdout);
    assert_eq!(told.stdout.matches("ada (claude-sonnet-4-5): I looked.").count(), 2, "{}", told.stdout);
    assert_eq!(told.code, 0);
}

#[test]
fn without_members_there_is_an_example_to_copy() {
    let folder = Folder::new();
    folder.write("steadfast.toml", "");
    let home = folder.0.display().to_string();
    let told = folder.command(&["council"], &[("HOME", &home)], "");
    assert!(told.stderr.contains("[council]\nmembers = "), "{}", told.stderr);
    assert_eq!(told.code, 1);
}
