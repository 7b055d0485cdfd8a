//! What each level looks like, at two sizes: whole screens against files. `UPDATE_SCREENS=1` writes them anew; what
//! matters about each is asserted here too.

use std::path::Path;

use super::{QUICK, Terminal};

/// A wait that lasts long enough to be looked at.
const LONG: &str = r#"default = [{ retry = 3, base = "40s", cap = "50s", jitter = 0 }, "defer", "ask", "degrade"]"#;

const SIZES: [(u32, u32); 2] = [(80, 24), (120, 40)];

#[test]
fn level_one_is_seen_in_the_status_bar_only() {
    for (width, height) in SIZES {
        let terminal = Terminal::open(width, height, LONG);
        terminal.script("claude", "100%: status=503");
        terminal.say("Shall we ship on Friday?");
        terminal.wait_for("retrying in");
        let screen = check(&terminal, "level-1", width, height);
        let troubled: Vec<usize> =
            (0..).zip(screen.lines()).filter(|(_, line)| line.contains("claude error")).map(|(row, _)| row).collect();
        assert_eq!(troubled, [height as usize - 3], "{screen}");
    }
}

#[test]
fn level_two_is_a_line_in_the_chat_and_a_welcome() {
    for (width, height) in SIZES {
        let terminal = Terminal::open(width, height, QUICK);
        terminal.script("claude", "status=503 x4; ok text=\"Late, but here.\"");
        terminal.say("Shall we ship on Friday?");
        terminal.wait_for("welcome back!");
        terminal.wait_for_my_turn();
        let screen = check(&terminal, "level-2", width, height);
        assert!(screen.contains("\n(claude skipped due to error, will retry after round)\n"), "{screen}");
        assert!(screen.contains("\n✨ claude rejoined the council: welcome back!\n"), "{screen}");
    }
}

#[test]
fn level_three_asks_in_the_chat_and_above_the_input() {
    for (width, height) in SIZES {
        let terminal = Terminal::open(width, height, QUICK);
        terminal.script("claude", "100%: status=529");
        terminal.say("Shall we ship on Friday?");
        terminal.wait_for("waiting for your answer");
        let screen = check(&terminal, "level-3", width, height);
        assert_eq!(screen.matches("Route to claude-haiku-4-5?").count(), 2, "{screen}");
    }
}

#[test]
fn level_four_counts_who_is_left() {
    for (width, height) in SIZES {
        let terminal = Terminal::open(width, height, QUICK);
        terminal.script("grok", "100%: status=400 body=\"no\"");
        terminal.say("Shall we ship on Friday?");
        terminal.wait_for("grok (offline)");
        terminal.wait_for_my_turn();
        let screen = check(&terminal, "level-4", width, height);
        terminal.in_order(&["⚠ grok offline (", "). Continuing with 2/3 members.", "your turn", "2/3 members"]);
        assert!(screen.lines().next().unwrap().contains("✗ grok (offline)"), "{screen}");
    }
}

/// Compares the screen with its file; what moves by itself is held still.
#[track_caller]
fn check(terminal: &Terminal, name: &str, width: u32, height: u32) -> String {
    let screen = still(&terminal.screen());
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/council/screens/{name}-{width}x{height}.txt"));
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &screen).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(screen == expected, "{}:\n{screen}\nexpected:\n{expected}", file.display());
    screen
}

fn still(screen: &str) -> String {
    let screen = screen.replace(['◐', '◓', '◑'], "◒");
    let Some((before, after)) = screen.split_once("retrying in ") else { return screen };
    format!("{before}retrying in 40{}", after.trim_start_matches(|letter: char| letter.is_ascii_digit()))
}
