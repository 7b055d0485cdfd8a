//! The terminal itself, in a tmux of its own.

use std::process::{Command, Output};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use steadfast_core::time::Instant;

use super::Screen;
use super::editor::Editor;
use super::view::{self, Seat, View};
use crate::coordinator::{Doing, Status};

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

/// An empty council of three with this status, drawn.
fn drawn(status: &Status) -> TestBackend {
    let seats = ["claude", "gemini", "grok"].map(|name| Seat { name: name.to_owned(), offline: false });
    let view = View {
        items: Vec::new(),
        seats: &seats,
        status,
        now: Instant::from_millis(0),
        editor: &Editor::default(),
        scroll: 0,
        faults: &[],
        beat: 0,
        colours: true,
        hint: None,
    };
    let mut terminal = Terminal::new(TestBackend::new(60, 6)).unwrap();
    terminal.draw(|frame| _ = view::draw(frame, &view)).unwrap();
    terminal.backend().clone()
}

fn status(retries: u32, warning: bool) -> Status {
    Status { doing: Doing::Idle, asking: None, active: 3, all: 3, retries, warning, waiting: 0 }
}

#[test]
fn many_retries_are_a_warning_in_the_status_bar() {
    for (retries, warning, words) in
        [(19, false, " 19 retries · 3/3 members"), (20, true, " ⚠ 20 retries · 3/3 members")]
    {
        let shown = drawn(&status(retries, warning)).to_string();
        let bar = shown.lines().find(|line| line.contains("your turn")).unwrap();
        assert!(bar.contains(words), "{shown}");
        assert_eq!(bar.contains('⚠'), warning, "{shown}");
    }
}

#[test]
fn members_are_told_apart_by_their_colours() {
    let backend = drawn(&status(0, false));
    let colour = |mark: &str| -> Color {
        let cells = backend.buffer().content();
        cells.iter().find(|cell| cell.symbol() == mark).unwrap().fg
    };
    let colours = ["◆", "●", "▲"].map(colour);
    assert!(!colours.contains(&Color::Reset), "{colours:?}");
    assert!(colours[0] != colours[1] && colours[1] != colours[2] && colours[0] != colours[2], "{colours:?}");
}

fn tmux(socket: &str, arguments: &[&str]) -> Output {
    let output = Command::new("tmux").args(["-L", socket, "-f", "/dev/null", "-u"]).args(arguments).output();
    output.expect("the tests need tmux (Debian: apt-get install tmux)")
}
