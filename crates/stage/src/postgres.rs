//! A PostgreSQL server of one's own.

use std::path::PathBuf;
use std::process::Child;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::folder::Folder;
use crate::process::{free_port, is_root, run, spawn, wait_until};

/// Who runs it where the tests are root: the server refuses to be.
const USER: &str = "postgres";

/// A server that ends with the test process.
#[derive(Debug)]
pub struct Postgres {
    binaries: PathBuf,
    folder: Folder,
    port: u16,
    server: Option<Child>,
}

impl Postgres {
    /// Starts a server with an empty database.
    pub fn start() -> Self {
        let mut server = Self { binaries: binaries(), folder: Folder::new(), port: free_port(), server: None };
        if is_root() {
            run(None, &["chown", USER, &server.folder.path().display().to_string()]);
        }
        let data = server.data();
        let initdb = server.binary("initdb");
        run(
            Some(USER),
            &[&initdb, "-D", &data, "-U", "steadfast", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"],
        );
        server.resume();
        server
    }

    /// One server for all tests of a process.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// The address of a new, empty database.
    pub fn database(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let port = self.port.to_string();
        run(None, &[&self.binary("createdb"), "-h", "127.0.0.1", "-p", &port, "-U", "steadfast", &name]);
        format!("postgres://steadfast@127.0.0.1:{port}/{name}")
    }

    /// Lets it hang: connections stand, and nobody answers.
    pub fn hang(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    /// Tells the server, and the processes it has for each connection.
    fn signal(&self, signal: &str) {
        let Some(server) = &self.server else { return };
        let id = server.id().to_string();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        for process in std::iter::once(id.as_str()).chain(children.split_whitespace()) {
            // Those of connections come and go.
            let _ =
                std::process::Command::new("kill").args([signal, process]).stderr(std::process::Stdio::null()).status();
        }
    }

    /// Kills it as a power failure would.
    pub fn kill(&mut self) {
        // Children that hang would not notice.
        self.go_on();
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    /// Starts it again where it was killed.
    pub fn resume(&mut self) {
        let (port, data) = (self.port.to_string(), self.data());
        let postgres = self.binary("postgres");
        let options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=50"];
        let mut command = vec![postgres.as_str(), "-D", &data, "-p", &port];
        command.extend(options.iter().flat_map(|option| ["-c", option]));
        let ready = self.binary("pg_isready");
        // A killed server leaves processes that hold its memory for a moment; it does not start before they go.
        wait_until("the start of PostgreSQL", || {
            let server = self.server.get_or_insert_with(|| spawn(Some(USER), "QUIT", &command));
            if server.try_wait().is_ok_and(|ended| ended.is_some()) {
                self.server = None;
                return false;
            }
            let asked = std::process::Command::new(&ready).args(["-q", "-h", "127.0.0.1", "-p", &port]).status();
            asked.is_ok_and(|status| status.success())
        });
    }

    fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    fn binary(&self, name: &str) -> String {
        self.binaries.join(name).display().to_string()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where Debian keeps the newest one, or wherever the path leads.
fn binaries() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.map(|version| version.path().join("bin")).filter(|path| path.join("initdb").exists()).max();
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|folder| folder.join("initdb").exists())
    };
    newest.or_else(on_path).expect("the tests need PostgreSQL (Debian: apt-get install postgresql)")
}
