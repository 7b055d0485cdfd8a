//! What lies between a store and PostgreSQL: a wire that can be cut at the worst moment.

use std::collections::HashMap;
use std::io::{Read, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// What happens to the next statement that is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing.
    Passes,
    /// The server never hears of it.
    IsLost,
    /// The server does it, and nobody hears that it did.
    AnswerIsLost,
    /// It lies about until [`Wire::deliver`].
    IsLate,
    /// It lies about.
    Waits,
}

/// A wire to a server on this machine.
#[derive(Clone)]
pub(crate) struct Wire {
    /// The address through the wire.
    pub(crate) address: String,
    next: Arc<(Mutex<Watched>, Condvar)>,
}

/// What becomes of the next statement with these words, in a transaction in which one was made that begins like this.
#[derive(Clone, Copy)]
struct Watched {
    within: &'static str,
    words: &'static str,
    next: Next,
}

impl Watched {
    const NOTHING: Self = Self { within: "", words: "", next: Next::Passes };
}

/// What one connection has said.
#[derive(Default)]
struct Said {
    /// The statements that were prepared on it, by name.
    prepared: HashMap<String, String>,
    /// Those of the transaction under way.
    made: Vec<String>,
}

impl Said {
    /// Prepared statements go by name: what a name stands for follows it where it is given.
    fn hear(&mut self, said: &[u8]) {
        const NAME: &str = "sqlx_s_";
        let text = String::from_utf8_lossy(said);
        if text.contains("BEGIN\0") {
            self.made.clear();
        }
        for (at, _) in text.match_indices(NAME) {
            let Some((name, rest)) = text[at..].split_once('\0') else { continue };
            let sql = rest.split('\0').next().unwrap_or_default();
            if sql.contains(' ') {
                self.prepared.entry(name.to_owned()).or_insert_with(|| sql.to_owned());
            }
            self.made.extend(self.prepared.get(name).cloned());
        }
    }
}

impl Wire {
    /// A wire to the database of this address.
    pub(crate) fn to(address: &str) -> Self {
        let (before, port) = address.rsplit_once(':').unwrap();
        let (port, database) = port.split_once('/').unwrap();
        let server: u16 = port.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("{before}:{}/{database}", listener.local_addr().unwrap().port());
        let wire = Self { address, next: Arc::new((Mutex::new(Watched::NOTHING), Condvar::new())) };
        let accepting = wire.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let answers = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let wire = accepting.clone();
                std::thread::spawn(move || copy(answers.0, answers.1));
                std::thread::spawn(move || wire.ask(client, server));
            }
        });
        wire
    }

    /// Decides about the next statement with these words.
    pub(crate) fn watch(&self, words: &'static str, next: Next) {
        self.set(Watched { words, next, ..Watched::NOTHING });
    }

    /// Decides about the next commit of a transaction in which a statement was made that begins like this.
    pub(crate) fn watch_commit(&self, within: &'static str, next: Next) {
        self.set(Watched { within, words: "COMMIT\0", next });
    }

    fn set(&self, watched: Watched) {
        *self.next.0.lock().unwrap() = watched;
        self.next.1.notify_all();
    }

    /// Brings the statement that was held back.
    pub(crate) fn deliver(&self) {
        assert_eq!(self.next(), Next::Waits, "nothing lies about");
        self.set(Watched::NOTHING);
    }

    /// Says whether the statement has come.
    pub(crate) fn has_met_it(&self) -> bool {
        matches!(self.next(), Next::Passes | Next::Waits)
    }

    fn next(&self) -> Next {
        self.next.0.lock().unwrap().next
    }

    fn ask(&self, mut client: TcpStream, mut server: TcpStream) {
        let mut bytes = [0; 64 * 1024];
        let mut before = Said::default();
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            let said = &bytes[..count];
            before.hear(said);
            match self.meets(said, &before) {
                Next::Passes => {}
                Next::IsLost => break,
                Next::AnswerIsLost => {
                    let _ = client.shutdown(Shutdown::Write);
                    let _ = server.write_all(said);
                    // Ends when the server has seen the end, and so has done what was said before it.
                    let _ = server.shutdown(Shutdown::Write);
                    let _ = std::io::copy(&mut server, &mut std::io::sink());
                    break;
                }
                Next::IsLate | Next::Waits => {
                    let (next, changed) = &*self.next;
                    drop(changed.wait_while(next.lock().unwrap(), |watched| watched.next == Next::Waits).unwrap());
                }
            }
            if server.write_all(said).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    }

    fn meets(&self, said: &[u8], before: &Said) -> Next {
        let Watched { within, words, next } = &mut *self.next.0.lock().unwrap();
        // One that waits is waited for; those that come meanwhile are others.
        let is_watched = matches!(next, Next::IsLost | Next::AnswerIsLost | Next::IsLate);
        let is_within = before.made.iter().any(|sql| sql.starts_with(*within)) || within.is_empty();
        if !is_watched || !is_within || !said.windows(words.len()).any(|part| part == words.as_bytes()) {
            return Next::Passes;
        }
        let after = if *next == Next::IsLate { Next::Waits } else { Next::Passes };
        std::mem::replace(next, after)
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}
