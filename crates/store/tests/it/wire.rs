//! What lies between a store and PostgreSQL: a wire that can be cut at the worst moment.

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
    /// What becomes of the next statement with these words.
    next: Arc<(Mutex<(&'static str, Next)>, Condvar)>,
}

impl Wire {
    /// A wire to the database of this address.
    pub(crate) fn to(address: &str) -> Self {
        let (before, port) = address.rsplit_once(':').unwrap();
        let (port, database) = port.split_once('/').unwrap();
        let server: u16 = port.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("{before}:{}/{database}", listener.local_addr().unwrap().port());
        let wire = Self { address, next: Arc::new((Mutex::new(("", Next::Passes)), Condvar::new())) };
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
        *self.next.0.lock().unwrap() = (words, next);
        self.next.1.notify_all();
    }

    /// Brings the statement that was held back.
    pub(crate) fn deliver(&self) {
        assert_eq!(self.next(), Next::Waits, "nothing lies about");
        self.watch("", Next::Passes);
    }

    /// Says whether the statement has come.
    pub(crate) fn has_met_it(&self) -> bool {
        matches!(self.next(), Next::Passes | Next::Waits)
    }

    fn next(&self) -> Next {
        self.next.0.lock().unwrap().1
    }

    fn ask(&self, mut client: TcpStream, mut server: TcpStream) {
        let mut bytes = [0; 64 * 1024];
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            let said = &bytes[..count];
            match self.meets(said) {
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
                    drop(changed.wait_while(next.lock().unwrap(), |next| next.1 == Next::Waits).unwrap());
                }
            }
            if server.write_all(said).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    }

    fn meets(&self, said: &[u8]) -> Next {
        let (words, next) = &mut *self.next.0.lock().unwrap();
        // One that waits is waited for; those that come meanwhile are others.
        let is_watched = matches!(next, Next::IsLost | Next::AnswerIsLost | Next::IsLate);
        if !is_watched || !said.windows(words.len()).any(|part| part == words.as_bytes()) {
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
