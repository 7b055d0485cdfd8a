//! Tools against a real server process that misbehaves as it is asked to.

use super::*;

/// Answers `echo`, hangs in `hang.up`, ends in `die`, writes without end in `flood`, refuses in `refuse`, and asks us
/// something by the same number before it answers `ask`. Its list comes in two pages.
const SERVER: &str = r#"
import json, sys, time
def reply(message, result):
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        print("not a message", flush=True)
        reply(message, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "t", "version": "1"}})
    elif method == "tools/list":
        names = ["flood", "refuse", "ask"] if message["params"].get("cursor") == "2" else ["echo", "hang.up", "die"]
        page = {"tools": [{"name": name, "description": "d", "inputSchema": {"type": "object"}} for name in names]}
        reply(message, page if "cursor" in message["params"] else {**page, "nextCursor": "2"})
    elif method == "tools/call":
        name = message["params"]["name"]
        if name == "echo":
            reply(message, {"content": [{"type": "text", "text": message["params"]["arguments"].get("text", "")}]})
        elif name == "hang.up":
            time.sleep(600)
        elif name == "die":
            sys.exit(1)
        elif name == "refuse":
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "no such file"}}), flush=True)
        elif name == "ask":
            heard = []
            for method in ["ping", "roots/list"]:
                print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "method": method}), flush=True)
                answer = json.loads(sys.stdin.readline())
                heard.append("well" if "result" in answer else answer["error"]["message"])
            reply(message, {"content": [{"type": "text", "text": ", ".join(heard)}]})
        else:
            while True:
                sys.stdout.write("x" * 65536)
"#;

async fn tools(limit: Duration) -> Tools {
    let command = ["python3", "-c", SERVER].map(str::to_owned).to_vec();
    let server = ToolServer { name: "test".to_owned(), command };
    let (tools, problems) = connect(&[server], limit).await;
    assert_eq!(problems, Vec::<String>::new());
    tools
}

async fn connect(servers: &[ToolServer], limit: Duration) -> (Tools, Vec<String>) {
    let mut usable = Tools::default();
    let problems = Tools::connect(servers, limit, |tools, _| usable = tools).await;
    (usable, problems)
}

/// Long enough for a server that answers, on a busy machine too.
const GENEROUS: Duration = Duration::from_secs(30);

#[tokio::test]
async fn tools_are_listed_and_called() {
    let tools = tools(GENEROUS).await;
    let names: Vec<&str> = tools.list().iter().map(|tool| tool.name.as_str()).collect();
    let expected = ["echo", "hang_up", "die", "flood", "refuse", "ask"];
    assert_eq!(names, expected, "from both pages, by names that every provider takes");
    assert_eq!(tools.call("echo", r#"{"text":"hello"}"#).await.as_deref(), Ok("hello"));
    assert_eq!(tools.call("echo", "no object").await.as_deref(), Ok(""));
    assert_eq!(tools.call("refuse", "{}").await.as_deref(), Ok("error: no such file"));
    assert_eq!(tools.call("nothing", "{}").await, Err(Silence::Gone));
}

#[tokio::test]
async fn a_server_that_asks_us_something_is_not_taken_for_answering() {
    let tools = tools(GENEROUS).await;
    assert_eq!(tools.call("ask", "{}").await.as_deref(), Ok("well, method not found"));
}

#[tokio::test]
async fn a_tool_that_hangs_gives_nothing_in_its_time() {
    let tools = tools(Duration::from_millis(200)).await;
    assert_eq!(tools.call("hang_up", "{}").await, Err(Silence::Late(0)));
    assert_eq!(tools.call("echo", "{}").await, Err(Silence::Late(0)), "the same server hangs still");
}

#[tokio::test]
async fn a_tool_that_dies_or_floods_gives_nothing_and_is_started_anew_a_few_times() {
    for name in ["die", "flood"] {
        let tools = tools(GENEROUS).await;
        for _ in 0..RESTARTS_MAX {
            assert_eq!(tools.call(name, "{}").await, Err(Silence::Gone));
            assert_eq!(tools.call("echo", r#"{"text":"hello"}"#).await.as_deref(), Ok("hello"));
        }
        assert_eq!(tools.call(name, "{}").await, Err(Silence::Gone));
        assert_eq!(tools.call("echo", "{}").await, Err(Silence::Gone), "enough is enough");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_told() {
    let server = |name: &str, command: &[&str]| ToolServer {
        name: name.to_owned(),
        command: command.iter().map(|part| (*part).to_owned()).collect(),
    };
    let servers = [server("none", &["steadfast-no-such-program"]), server("mute", &["true"])];
    let (tools, mut problems) = connect(&servers, GENEROUS).await;
    problems.sort();
    problems.reverse();
    assert!(tools.list().is_empty());
    assert!(problems[0].starts_with("the tools of `none` cannot be used: cannot run `steadfast-no-such-program`"));
    assert_eq!(problems[1], "the tools of `mute` cannot be used: it ended before it said hello");
}

#[tokio::test]
async fn a_server_that_never_starts_keeps_nobody_from_the_tools_of_another() {
    let server = |name: &str, command: &[&str]| ToolServer {
        name: name.to_owned(),
        command: command.iter().map(|part| (*part).to_owned()).collect(),
    };
    let servers = [server("mute", &["sleep", "600"]), server("test", &["python3", "-c", SERVER])];
    let (sender, mut usable) = mpsc::channel(2);
    let connecting = tokio::spawn(async move {
        Tools::connect(&servers, GENEROUS, |tools, so_far| _ = sender.try_send((tools, so_far))).await
    });
    let (tools, so_far) = usable.recv().await.unwrap();
    assert_eq!(so_far, Progress::Starting);
    assert_eq!(tools.call("echo", r#"{"text":"hello"}"#).await.as_deref(), Ok("hello"));
    connecting.abort();
}
