//! Child processes that end with the test process, even where that is killed.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// A free port, as far as anybody can tell.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a program; `user` is who runs it where we are root. The kernel sends it `signal` when we end.
pub(crate) fn spawn(user: Option<&str>, signal: &str, command: &[&str]) -> Child {
    let mut arguments: Vec<String> = vec![format!("--pdeathsig={signal}")];
    if let Some(user) = user.filter(|_| is_root()) {
        arguments.extend([format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()]);
    }
    arguments.push("--".to_owned());
    arguments.extend(command.iter().map(|word| (*word).to_owned()));
    let name = command[0].to_owned();
    let (sender, receiver) = sync_channel(1);
    // The signal comes when the thread that started the program ends, so that thread stays.
    std::thread::spawn(move || {
        let child = Command::new("setpriv")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let _ = sender.send(child);
        loop {
            std::thread::park();
        }
    });
    receiver.recv().unwrap().unwrap_or_else(|error| panic!("cannot start {name} with setpriv (util-linux): {error}"))
}

/// Runs a program to its end, as `user` where we are root.
pub(crate) fn run(user: Option<&str>, command: &[&str]) {
    let mut child = spawn(user, "KILL", command);
    let status = child.wait().unwrap();
    assert!(status.success(), "{command:?} ended with {status}");
}

/// Asks again and again until the answer is yes.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not happen within 30 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Says whether we may do everything, and PostgreSQL therefore refuses to run.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|us| us.uid() == 0)
}
