//! A Redis server of one's own.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::folder::Folder;
use crate::process::{free_port, spawn, wait_until};

/// A server that ends with the test process and keeps nothing on disk.
#[derive(Debug)]
pub struct Redis {
    folder: Folder,
    program: &'static str,
    port: u16,
    password: Option<&'static str>,
    server: Option<Child>,
}

impl Redis {
    /// Starts an empty one.
    pub fn start() -> Self {
        Self::start_as("redis-server", None)
    }

    /// The same, for those who know a password.
    pub fn with_password(password: &'static str) -> Self {
        Self::start_as("redis-server", Some(password))
    }

    /// The same of every program of this machine that is one: Redis, and Valkey where it is installed.
    pub fn of_each_kind() -> Vec<Self> {
        let is_there = |program: &&str| {
            let asked = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            asked.is_ok_and(|status| status.success())
        };
        let valkey = ["valkey-server"].into_iter().filter(is_there);
        ["redis-server"].into_iter().chain(valkey).map(|program| Self::start_as(program, None)).collect()
    }

    fn start_as(program: &'static str, password: Option<&'static str>) -> Self {
        let mut server = Self { folder: Folder::new(), program, port: free_port(), password, server: None };
        server.resume();
        server
    }

    /// Its address.
    pub fn url(&self) -> String {
        let password = self.password.map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{password}127.0.0.1:{}", self.port)
    }

    /// Lets it hang: connections stand, and nobody answers.
    pub fn hang(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let id = self.server.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
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
        let mut command = vec![self.program, "--port", &port, "--dir", &folder];
        command.extend(options);
        command.extend(self.password.into_iter().flat_map(|password| ["--requirepass", password]));
        self.server = Some(spawn(None, "KILL", &command));
        wait_until("the start of redis-server (Debian: apt-get install redis-server)", || self.answers());
    }

    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let mut answer = [0; 5];
        let asked = stream.write_all(b"PING\r\n").is_ok() && stream.read_exact(&mut answer).is_ok();
        asked && (&answer == b"+PONG" || &answer == b"-NOAU")
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
