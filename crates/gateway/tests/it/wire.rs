//! Providers whose HTTP is not what it should be, byte by byte.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{Answer, Stage};

/// What the provider does when a question has come.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// Writes this and waits for the next question.
    Say(&'static str),
    /// Writes this and closes the connection.
    SayAndClose(&'static str),
}

/// A provider that answers question after question with these bytes.
struct Wire {
    url: String,
    /// How many questions each connection brought.
    connections: Arc<Mutex<Vec<usize>>>,
}

impl Wire {
    async fn start(acts: &[Act]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let connections: Arc<Mutex<Vec<usize>>> = Arc::default();
        let (acts, counts) = (Arc::new(Mutex::new(VecDeque::from(acts.to_vec()))), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (acts, counts) = (Arc::clone(&acts), Arc::clone(&counts));
                tokio::spawn(async move {
                    let number = {
                        let mut counts = counts.lock().unwrap();
                        counts.push(0);
                        counts.len() - 1
                    };
                    while question(&mut socket).await {
                        counts.lock().unwrap()[number] += 1;
                        let act = acts.lock().unwrap().pop_front();
                        let (Some(Act::Say(text)) | Some(Act::SayAndClose(text))) = act else { return };
                        socket.write_all(text.as_bytes()).await.unwrap();
                        if matches!(act, Some(Act::SayAndClose(_))) {
                            return;
                        }
                    }
                });
            }
        });
        Self { url, connections }
    }

    async fn stage(&self) -> Stage {
        let url = &self.url;
        Stage::new(&format!(
            "listen = \"127.0.0.1:0\"\n[endpoints.wire]\ndialect = \"openai\"\nurl = \"{url}\"\n\
             [models.m]\nvendor = \"openai\"\nendpoints = [\"wire\"]\n\
             [policies.default]\nbreaker = {{ adaptive = false, failures = 50 }}\n[policies.default.on]\n\
             network_transient = [{{ retry = 1, every = \"10ms\" }}]\n\
             stream_interrupted = [{{ retry = 1, every = \"10ms\" }}]\n\
             network_permanent = [{{ retry = 1, every = \"10ms\" }}]\n"
        ))
        .await
    }

    fn connections(&self) -> Vec<usize> {
        self.connections.lock().unwrap().clone()
    }
}

/// Reads a question to its end.
async fn question(socket: &mut TcpStream) -> bool {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() == length.parse::<usize>().unwrap() {
                return true;
            }
        }
        if socket.read_buf(&mut read).await.unwrap_or(0) == 0 {
            return false;
        }
    }
}

async fn ask(stage: &Stage) -> Answer {
    let messages = json!([{ "role": "user", "content": "x" }]);
    stage.post("/v1/chat/completions", &json!({ "model": "m", "messages": messages })).await
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

/// An answer in three chunks, with an extension and a trailer.
const GOOD: Act = Act::Say(
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n\
     0c\r\n{\"choices\":[\r\n1E;x=\"y\"\r\n{\"message\":{\"content\":\"well\"}}\r\n2\r\n]}\r\n0\r\nx-trailer: 1\r\n\r\n",
);

/// Asks twice: the first answer is this one, everything after it is well.
async fn after(first: Act) -> (Vec<usize>, Vec<String>) {
    let wire = Wire::start(&[first, GOOD, GOOD, GOOD]).await;
    let stage = wire.stage().await;
    for _ in 0..2 {
        let answer = ask(&stage).await;
        assert_eq!(answer.status, 200, "{first:?} {}", answer.text());
        assert_eq!(answer.json()["choices"][0]["message"]["content"], "well", "{first:?}");
    }
    (wire.connections(), stage.events("decision", &["kind", "step"]))
}

#[tokio::test]
async fn a_connection_is_used_again_after_an_answer_that_was_whole() {
    assert_eq!(after(GOOD).await, (vec![2], vec![]));
    let long = "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 44\r\n\r\n\
                {\"choices\":[{\"message\":{\"content\":\"well\"}}]}";
    assert_eq!(after(Act::Say(long)).await, (vec![2], vec![]), "what announces an answer is none");
}

#[tokio::test]
async fn a_connection_is_not_used_again_where_that_could_go_wrong() {
    let body = "{\"choices\":[{\"message\":{\"content\":\"well\"}}]}";
    for head in ["HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 44", "HTTP/1.0 200 OK\r\ncontent-length: 44"]
    {
        let text = format!("{head}\r\n\r\n{body}");
        assert_eq!(after(Act::Say(text.leak())).await, (vec![1, 1], vec![]), "{head}");
    }
    let left_over =
        format!("HTTP/1.1 200 OK\r\ncontent-length: 44\r\n\r\n{body}HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad");
    assert_eq!(after(Act::Say(left_over.leak())).await, (vec![1, 1], vec![]));
    let Act::Say(good) = GOOD else { unreachable!() };
    let both = good.replacen("transfer-encoding", "content-length: 7\r\ntransfer-encoding", 1);
    assert_eq!(after(Act::Say(both.leak())).await, (vec![1, 1], vec![]), "chunks count, and nobody is sure");
    let to_close = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
    assert_eq!(after(Act::SayAndClose(to_close.leak())).await, (vec![1, 1], vec![]));
}

#[tokio::test]
async fn a_connection_that_ended_while_idle_is_no_failure() {
    let Act::Say(good) = GOOD else { unreachable!() };
    let wire = Wire::start(&[Act::SayAndClose(good), Act::SayAndClose(good), GOOD]).await;
    let stage = wire.stage().await;
    for _ in 0..3 {
        assert_eq!(ask(&stage).await.status, 200);
        // The end of the connection has to arrive.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(stage.events("decision", &["kind", "step"]), Vec::<String>::new());
    assert_eq!(wire.connections(), [1, 1, 1]);
}

#[tokio::test]
async fn a_provider_that_takes_no_connection_is_given_up_in_time() {
    // Whoever waits in the queue of a listener that never accepts is connected; the next one hears nothing at all.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let brief = std::time::Duration::from_millis(300);
    let mut queued = Vec::new();
    while let Ok(Ok(connected)) = tokio::time::timeout(brief, TcpStream::connect(address)).await {
        queued.push(connected);
    }
    let wire = Wire::start(&[GOOD]).await;
    let stage = Stage::new(&format!(
        "listen = \"127.0.0.1:0\"\n[endpoints.deaf]\ndialect = \"openai\"\nurl = \"http://{address}\"\n\
         [endpoints.wire]\ndialect = \"openai\"\nurl = \"{}\"\n\
         [models.m]\nvendor = \"openai\"\nendpoints = [\"deaf\", \"wire\"]\n\
         [policies.default]\ntimeouts = {{ connect = \"300ms\" }}\n[policies.default.on]\ntimeout = [\"fallback\"]\n",
        wire.url
    ))
    .await;
    let answer = ask(&stage).await;
    let told = stage.events("decision", &["kind", "step"]);
    assert_eq!(answer.status, 200, "{told:?} {}", answer.text());
    assert_eq!(told, ["timeout fallback"]);
}

#[tokio::test]
async fn bytes_that_are_no_answer_are_a_failure_and_never_an_answer() {
    let chunked = |chunks: &str| Act::Say(format!("{CHUNKED}{chunks}").leak());
    let whole = |head: &str| Act::Say(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{{}}").leak());
    for (act, decision) in [
        (chunked("2\r\n{}X\r\n0\r\n\r\n"), "stream_interrupted retry"),
        (chunked("zz\r\n{}\r\n"), "stream_interrupted retry"),
        (chunked("fffffffffffffffff\r\n{}"), "stream_interrupted retry"),
        (chunked("2\n{}\r\n"), "stream_interrupted retry"),
        (Act::SayAndClose("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"), "stream_interrupted retry"),
        (Act::SayAndClose("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{"), "stream_interrupted retry"),
        (Act::SayAndClose(""), "network_transient retry"),
        (Act::SayAndClose("HTTP/1.1 200 OK\r\nx-half: "), "network_transient retry"),
        (whole("content-length: 2\r\ncontent-length: 3"), "network_permanent retry"),
        (whole("transfer-encoding: gzip"), "network_permanent retry"),
        (Act::Say("HTTP/1.1 101 Switching Protocols\r\n\r\n"), "network_permanent retry"),
        (Act::Say("SSH-2.0-OpenSSH\r\n"), "network_permanent retry"),
    ] {
        let (connections, decisions) = after(act).await;
        assert_eq!(decisions, [decision], "{act:?}");
        assert_eq!(connections, [1, 2], "a connection that failed is not used again: {act:?}");
    }
}

#[tokio::test]
async fn an_answer_passes_byte_for_byte_with_what_nobody_knows_in_it() {
    let head = "HTTP/1.1 200 OK\r\nx-new: kept\r\ncontent-type";
    let json = "\r\n{ \"id\" :1e2,\t\"choices\":[ {\"message\":{\"content\":\"h\\u00e9\",\"new\":[ ]}} ] ,\"b\":1.0,\"a\":{ }}\n ";
    let stream = ": a comment\r\n\r\nevent: brand-new\r\ndata: { \"odd\" : 1.0 }\r\nid: 7\r\n\r\n\
                  data: {\"choices\":[ {\"delta\":{\"content\":\"hi\",\"new\":2}} ]}\r\n\r\n: another\r\n\r\n\
                  data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n";
    for (streams, kind, body) in [(false, "application/json", json), (true, "text/event-stream", stream)] {
        let said = format!("{head}: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let wire = Wire::start(&[Act::Say(said.leak())]).await;
        let stage = wire.stage().await;
        let messages = json!([{ "role": "user", "content": "x" }]);
        let request = json!({ "model": "m", "stream": streams, "messages": messages });
        let answer = stage.post("/v1/chat/completions", &request).await;
        assert_eq!((answer.status.as_u16(), answer.text().as_str()), (200, body));
        assert_eq!((answer.header("x-new"), answer.header("content-type")), ("kept", kind));
    }
}
