//! What agents need is asked before a prompt, waited for when it is not well, and asked again while they run.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use steadfast_supervisor::{AgentHealth, Task};

use super::{Folder, Story, run};

/// An agent that works only while its address answers.
fn config(folder: &Folder, health: &str) -> String {
    let agent = folder.script("agent", "echo asked; exit 0");
    format!("[agents.mine]\ncommand = [\"{agent}\", \"{{task}}\"]\nhealth = \"{health}\"\n")
}

fn task() -> Task {
    Task { agent: "mine".to_owned(), task: "go".to_owned(), ..Task::default() }
}

/// Answers as many questions as there are words, each with its status.
fn answers(listener: TcpListener, statuses: &'static [&'static str]) {
    std::thread::spawn(move || {
        for status in statuses {
            let Ok((mut socket, _)) = listener.accept() else { return };
            answer(&mut socket, status);
        }
    });
}

fn answer(socket: &mut TcpStream, status: &str) {
    let mut question = [0; 1024];
    let _ = socket.read(&mut question);
    let _ = write!(socket, "HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
}

fn only(status: Vec<AgentHealth>) -> AgentHealth {
    assert_eq!(status.len(), 1, "{status:?}");
    status.into_iter().next().unwrap()
}

#[tokio::test]
async fn an_agent_waits_until_what_it_needs_is_well_again() {
    let (folder, story) = (Folder::new(), Story::default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/health", listener.local_addr().unwrap());
    // After two failures the third answer makes it two thirds, the fourth a half, the fifth less.
    answers(listener, &["503", "503", "200", "200", "200"]);
    let fleet = folder.fleet(&config(&folder, &address));
    assert!(run(&fleet, task(), &story).await.success);
    let after = only(fleet.health.status());
    assert_eq!((after.healthy, after.pings), (true, 5), "{after:?}");
    assert_eq!((after.failure_rate, after.success_rate), (Some(0.4), Some(0.6)));
    assert!(after.latency_ms.is_some() && after.agents == ["mine"], "{after:?}");
    assert!(run(&fleet, task(), &story).await.success);
    assert_eq!(only(fleet.health.status()).pings, 5, "an answer of a moment ago is not asked for again");
}

#[tokio::test]
async fn a_ping_that_cannot_be_made_stops_nobody() {
    let (folder, story) = (Folder::new(), Story::default());
    let fleet = folder.fleet(&config(&folder, "https://127.0.0.1:1/health"));
    assert!(run(&fleet, task(), &story).await.success);
    let asked = only(fleet.health.status());
    assert_eq!((asked.healthy, asked.failure_rate, asked.latency_ms), (true, Some(0.0), None), "{asked:?}");
}
