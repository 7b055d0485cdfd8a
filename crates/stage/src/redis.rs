//! A Redis server of one's own.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;

use crate::folder::Folder;
use crate::process::{free_port, spawn, wait_until};

/// A server that ends with the test process and keeps nothing on disk.
#[derive(Debug)]
pub struct Redis {
    folder: Folder,
    port: u16,
    server: Option<Child>,
}

impl Redis {
    /// Starts an empty one.
    pub fn start() -> Self {
        let mut server = Self { folder: Folder::new(), port: free_port(), server: None };
        server.resume();
        server
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Kills it; what it held is gone.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    /// Starts it again, empty, at the same address.
    pub fn resume(&mut self) {
        let (port, folder) = (self.port.to_string(), self.folder.path().display().to_string());
        let options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
        let mut command = vec!["redis-server", "--port", &port, "--dir", &folder];
        command.extend(options);
        self.server = Some(spawn(None, "KILL", &command));
        wait_until("the start of redis-server (Debian: apt-get install redis-server)", || self.answers());
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut answer = [0; 5];
        stream.write_all(b"PING\r\n").is_ok() && stream.read_exact(&mut answer).is_ok() && &answer == b"+PONG"
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
