//! The terminal itself, in a tmux of its own.

use std::process::{Command, Output};

use super::Screen;

/// Set where this test runs itself in a terminal.
const INSIDE: &str = "STEADFAST_TEST_PANIC";

#[test]
fn a_panic_can_be_read_and_leaves_the_terminal_as_it_was() {
    if std::env::var_os(INSIDE).is_some() {
        let _screen = Screen::open(None).unwrap();
        panic!("this is read");
    }
    let test = std::env::current_exe().unwrap();
    let name = "screen::tests::a_panic_can_be_read_and_leaves_the_terminal_as_it_was";
    let line = format!("{INSIDE}=1 '{}' --exact {name} --nocapture; stty -a; echo over; cat", test.display());
    let socket = format!("steadfast-panic-{}", std::process::id());
    tmux(&socket, &["new-session", "-d", "-x", "150", "-y", "50", &line]);
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let mut shown = String::new();
    while !shown.contains("\nover\n") && std::time::Instant::now() < limit {
        std::thread::sleep(std::time::Duration::from_millis(20));
        shown = String::from_utf8(tmux(&socket, &["capture-pane", "-p"]).stdout).unwrap();
    }
    let state = tmux(&socket, &["display-message", "-p", "#{alternate_on} #{mouse_any_flag}"]);
    let file = tmux(&socket, &["display-message", "-p", "#{socket_path}"]);
    tmux(&socket, &["kill-server"]);
    // It may have taken it away itself.
    _ = std::fs::remove_file(String::from_utf8_lossy(&file.stdout).trim());
    assert!(shown.contains("this is read"), "{shown}");
    assert!(shown.contains(" icanon ") && shown.contains(" echo "), "{shown}");
    assert_eq!(String::from_utf8(state.stdout).unwrap(), "0 0\n");
}

fn tmux(socket: &str, arguments: &[&str]) -> Output {
    let output = Command::new("tmux").args(["-L", socket, "-f", "/dev/null", "-u"]).args(arguments).output();
    output.expect("the tests need tmux (Debian: apt-get install tmux)")
}
