//! A process that writes to a store until somebody ends it: this test binary, started anew.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use steadfast_store::{Address, Expected, Options, Store};

use crate::traffic::Traffic;

/// Where the store is; set only for the child.
const STORE: &str = "STEADFAST_TEST_STORE";

/// A writing process; killed when it is dropped.
pub(crate) struct Writing {
    pub(crate) process: Child,
    pub(crate) lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Writing {
    /// Starts one, through `before`: words to stand before the command.
    pub(crate) fn start(before: &[&str], file: &str) -> Self {
        let us = std::env::current_exe().unwrap();
        let mut words = before.iter().copied().chain([us.to_str().unwrap()]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(["child::writes_until_it_is_ended", "--exact", "--nocapture", "--test-threads=1"]);
        let mut process = command.env(STORE, file).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// Everything it has said, up to its end.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // The last line may be cut in the middle: nobody has read it, so nothing was acknowledged.
        let lines = self.lines.by_ref().map_while(Result::ok);
        lines.filter(|line| line.ends_with(';')).collect()
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Only where it is started as a child: feeds events, puts documents, and says after each how it went.
#[tokio::test]
async fn writes_until_it_is_ended() {
    let Ok(file) = std::env::var(STORE) else { return };
    let store = Store::open(Options::new(Address::sqlite(file), 30)).unwrap();
    let mut traffic = Traffic::new(now().unsigned_abs());
    let mut out = std::io::stdout();
    // The harness has begun a line of its own.
    writeln!(out).unwrap();
    for number in 0_u64.. {
        let mut batch = Vec::new();
        (0..20).for_each(|_| traffic.request(now(), &mut batch));
        store.feed(&Arc::from(batch));
        let name = format!("{}-{}", number % 7, std::process::id());
        let put = store.put("setting", &name, serde_json::json!({ "number": number }), Expected::Anything).await;
        let health = store.health();
        let (lost, waiting, written) = (health.lost, health.waiting, health.written);
        match put {
            Ok(document) => writeln!(out, "ok {name} {} {number} {written};", document.version).unwrap(),
            Err(error) => writeln!(out, "away {lost} {waiting} {error};").unwrap(),
        }
        out.flush().unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}
