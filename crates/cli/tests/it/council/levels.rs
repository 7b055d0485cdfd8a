//! What each level looks like, at two sizes: screens against files. `UPDATE_SCREENS=1` writes them anew.

use std::path::Path;

use super::terminal::Terminal;

/// A wait that lasts long enough to be looked at.
const LONG: &str = r#"default = [{ retry = 3, base = "40s", cap = "50s", jitter = 0 }, "defer", "ask", "degrade"]"#;

const SIZES: [(u32, u32); 2] = [(80, 24), (120, 40)];

#[test]
fn level_one_looks_like_this() {
    for (width, height) in SIZES {
        let terminal = Terminal::open(width, height, LONG);
        terminal.script("claude", "claude-sonnet-4-5", "100%: status=503");
        terminal.enter("Shall we ship on Friday?");
        terminal.wait_for("retrying in");
        check(&terminal, "level-1", width, height);
    }
}

#[test]
fn level_two_looks_like_this() {
    for (width, height) in SIZES {
        let terminal = Terminal::open(width, height, super::QUICK);
        terminal.script("claude", "claude-sonnet-4-5", "status=503 x4; ok text=\"Late, but here.\"");
        terminal.enter("Shall we ship on Friday?");
        terminal.wait_for("welcome back!");
        terminal.wait_for("your turn");
        check(&terminal, "level-2", width, height);
    }
}

#[test]
fn level_three_looks_like_this() {
    for (width, height) in SIZES {
        let terminal = Terminal::open(width, height, super::QUICK);
        terminal.script("claude", "claude-sonnet-4-5", "100%: status=529");
        terminal.enter("Shall we ship on Friday?");
        terminal.wait_for("waiting for your answer");
        check(&terminal, "level-3", width, height);
    }
}

#[test]
fn level_four_looks_like_this() {
    for (width, height) in SIZES {
        let terminal = Terminal::open(width, height, super::QUICK);
        terminal.script("grok", "grok-4", "100%: invalid");
        terminal.enter("Shall we ship on Friday?");
        terminal.wait_for("Continuing with 2/3 members.");
        terminal.wait_for("your turn");
        check(&terminal, "level-4", width, height);
    }
}

/// Compares the screen with its file; what moves by itself is held still.
#[track_caller]
fn check(terminal: &Terminal, name: &str, width: u32, height: u32) {
    let screen = still(&terminal.screen());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/council/{name}-{width}x{height}.txt"));
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        std::fs::write(&file, &screen).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(screen == expected, "{}:\n{screen}\nexpected:\n{expected}", file.display());
}

fn still(screen: &str) -> String {
    let screen = screen.replace(['◐', '◓', '◑'], "◒");
    let mut parts = screen.split("retrying in ");
    let mut held = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        held.push_str("retrying in 40");
        held.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    held
}
