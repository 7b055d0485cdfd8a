//! A private Redis (or Valkey) on a free port, for one test.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a loaded machine.
const READY_WITHIN: Duration = Duration::from_secs(20);

/// A server that keeps nothing on disk; it ends with the test.
pub(crate) struct Redis {
    program: &'static str,
    port: u16,
    password: Option<&'static str>,
    running: Option<Child>,
}

impl Redis {
    /// Starts a server.
    pub(crate) fn start() -> Self {
        Self::start_as("redis-server", None)
    }

    /// The same of this program, with this password.
    pub(crate) fn start_as(program: &'static str, password: Option<&'static str>) -> Self {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let mut redis = Self { program, port, password, running: None };
        redis.restart();
        redis
    }

    /// The servers there are on this machine: Redis always, Valkey where it is installed.
    pub(crate) fn programs() -> Vec<&'static str> {
        let is_there = |program: &&str| {
            let asked = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            asked.is_ok_and(|status| status.success())
        };
        let found: Vec<_> = ["redis-server", "valkey-server"].into_iter().filter(is_there).collect();
        assert!(!found.is_empty(), "these tests need redis-server: apt-get install redis-server");
        found
    }

    pub(crate) fn url(&self) -> String {
        let password = self.password.map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{password}127.0.0.1:{}", self.port)
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }

    /// Starts it again on the same port, with nothing in it.
    pub(crate) fn restart(&mut self) {
        let port = self.port.to_string();
        let mut command = Command::new(self.program);
        command.args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/"]);
        if let Some(password) = self.password {
            command.args(["--requirepass", password]);
        }
        let running = command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).spawn();
        self.running =
            Some(running.unwrap_or_else(|error| panic!("{}: {error}; apt-get install redis-server", self.program)));
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(began.elapsed() < READY_WITHIN, "it does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Lets it hang: connections stand, nobody answers.
    pub(crate) fn hang(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let id = self.running.as_ref().expect("it runs").id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}
