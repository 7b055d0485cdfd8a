//! The keyboard: whatever happens, what is typed is the person's.

use super::{QUICK, Stage, Terminal};

#[test]
fn a_question_leaves_what_is_being_typed_alone() {
    let terminal = Terminal::open(80, 24, QUICK);
    terminal.script("claude", "100%: auth");
    terminal.script("grok", "ok text=\"slow and steady\" first=1s");
    terminal.say("hello");
    terminal.keys("half a sent");
    terminal.wait_for("❯ half a sent\n");
    terminal.wait_for("Route to claude-haiku-4-5? /yes or");
    terminal.keys("ence");
    terminal.wait_for("❯ half a sentence\n");
    terminal.wait_for("slow and steady");
    terminal.key("Enter");
    terminal.wait_for("❯ you\n  half a sentence\n");
}

#[test]
fn several_lines_are_pasted_as_one_message_and_come_back_from_the_history() {
    let terminal = Terminal::open(80, 40, QUICK);
    terminal.say("first");
    terminal.wait_for_my_turn();
    terminal.paste("two\nlines");
    terminal.wait_for("❯ two\n  lines\nEnter send");
    terminal.key("Enter");
    terminal.wait_for("❯ you\n  two\n  lines\n");
    terminal.wait_for_my_turn();
    terminal.keys("dra");
    terminal.key("Up");
    terminal.wait_for("❯ two\n  lines\nEnter send");
    terminal.key("Up");
    terminal.key("Up");
    terminal.wait_for("❯ first\nEnter send");
    terminal.key("Down");
    terminal.key("Down");
    terminal.key("Down");
    terminal.wait_for("❯ dra\nEnter send");
    assert_eq!(terminal.fake.count("grok"), 2 + 1, "two messages, and one look whether it is there");
}

#[test]
fn commands_and_names_are_completed_and_words_are_deleted() {
    let terminal = Terminal::open(80, 24, QUICK);
    terminal.keys("/ret");
    terminal.key("Tab");
    terminal.wait_for("❯ /retry\n");
    terminal.keys("g");
    terminal.key("Tab");
    terminal.wait_for("❯ /retry gemini\n");
    terminal.key("Tab");
    terminal.wait_for("❯ /retry grok\n");
    terminal.key("C-u");
    // A blank of Chinese and Japanese keyboards; deleting behind it once ended the council.
    terminal.keys("好\u{3000}one");
    terminal.key("C-w");
    terminal.key("M-BSpace");
    terminal.keys("two");
    terminal.wait_for("❯ two\n");
    terminal.key("C-j");
    terminal.keys("three");
    terminal.wait_for("❯ two\n  three\nEnter send");
}

#[test]
fn one_can_scroll_and_resize_and_leave() {
    let terminal = Terminal::open(80, 24, QUICK);
    terminal.say("hello");
    terminal.wait_for_my_turn();
    terminal.enter("/help");
    terminal.wait_for("bring members back");
    terminal.assert_lacks("This is the council");
    terminal.key("PageUp");
    terminal.wait_for("↑ ");
    terminal.wait_for("This is the council");
    terminal.key("Escape");
    terminal.wait_until("no scroll", |screen| !screen.contains("↑ "));
    terminal.wheel(true);
    terminal.wait_for("↑ 3 lines");
    terminal.wheel(false);
    terminal.wait_until("no scroll", |screen| !screen.contains("↑ "));
    terminal.resize(120, 40);
    terminal
        .wait_until("a wider screen", |screen| screen.contains("This is the council") && screen.lines().count() == 40);
    terminal.resize(20, 6);
    terminal.wait_until("a tiny screen", |screen| screen.lines().count() == 6 && screen.contains("3/3 members"));
    terminal.resize(80, 24);
    terminal.keys("typed");
    terminal.wait_for("❯ typed\n");
    terminal.key("C-c");
    terminal.wait_for("❯\n");
    terminal.key("C-c");
    terminal.wait_for("Ctrl+C again leaves");
    terminal.key("C-c");
    terminal.wait_for("steadfast council --resume");
    terminal.wait_for("ended with 0");
}

#[test]
fn whoever_speaks_can_be_stopped() {
    let terminal = Terminal::open(80, 24, QUICK);
    terminal.script("claude", "ok text=\"one two three four\" delay=20s");
    terminal.say("hello");
    terminal.wait_for("claude is speaking");
    terminal.key("C-c");
    terminal.wait_for("[Stopped]");
    terminal.wait_for_my_turn();
    terminal.in_order(&["◆ claude", "one", "[Stopped]", "I am gemini.", "I am grok."]);
}

#[test]
fn without_colours_marks_and_names_say_the_same() {
    for (variables, coloured) in [(vec!["NO_COLOR=1"], false), (vec![], true)] {
        let terminal = Terminal::show(Stage::new(QUICK), (80, 24), "council", &variables);
        terminal.script("claude", "100%: auth");
        terminal.say("hello");
        terminal.wait_for("waiting for your answer");
        assert_eq!(has_colours(&terminal.coloured_screen()), coloured);
        terminal.in_order(&["● gemini", "▲ grok", "⚠ claude"]);
    }
}

/// Whether any escape sequence sets a colour; bold and reversed are none.
fn has_colours(screen: &str) -> bool {
    let sequences = screen.split("\u{1b}[").skip(1).filter_map(|rest| rest.split_once('m'));
    let mut codes = sequences.flat_map(|(codes, _)| codes.split(';')).filter_map(|code| code.parse::<u32>().ok());
    codes.any(|code| matches!(code, 30..=38 | 40..=48 | 90..=97 | 100..=107))
}

/// `--fake` needs no configuration, and its faults are a key away.
#[test]
fn a_newcomer_sees_a_fault_and_how_it_is_mended() {
    let terminal = Terminal::show(Stage::new(QUICK), (80, 40), "council --fake", &[]);
    terminal.wait_for("These providers are fake. Alt+1 to Alt+6, or /fault N, makes them fail.");
    terminal.keys("/fa");
    terminal.key("Tab");
    terminal.keys("1");
    terminal.key("Enter");
    terminal.wait_for("Fault: hiccup: claude fails twice");
    terminal.say("hello");
    terminal.wait_for("⚠ claude error, retrying in 1s… (retry 2/3)");
    terminal.wait_for("claude is speaking");
    terminal.key("M-3");
    terminal.wait_for("Fault: grok down");
    terminal.wait_for("⚠ grok error, retrying in");
    terminal.key("M-6");
    terminal.wait_for("Fault: all well");
    terminal.wait_for_my_turn();
    terminal.in_order(&["◆ claude", "● gemini", "▲ grok", "3/3 members"]);
    terminal.assert_lacks("skipped");
}

/// The other faults of `--fake`, each to its end.
#[test]
fn a_newcomer_sees_every_level_and_the_way_back() {
    let terminal = Terminal::show(Stage::new(QUICK), (120, 60), "council --fake", &[]);
    terminal.key("M-4");
    terminal.wait_for("Fault: cut: claude breaks off in mid-answer");
    terminal.say("one");
    terminal.wait_for("[Connection lost mid-response]");
    terminal.wait_for_my_turn();
    terminal.in_order(&["Let me think", "[Connection lost mid-response]", "◆ claude", "Let me think"]);
    terminal.in_order(&["[Connection lost mid-response]", "● gemini", "▲ grok", "3/3 members"]);
    terminal.key("M-2");
    terminal.wait_for("Fault: claude down");
    terminal.say("two");
    terminal.wait_for("(claude skipped due to error, will retry after round)");
    terminal.wait_for("Route to claude-haiku-4-5? /yes or /no");
    terminal.enter("/no");
    terminal.wait_for("2/3 members");
    terminal.key("M-5");
    terminal.wait_for("Fault: all down");
    terminal.say("three");
    terminal.wait_for("Route to gemini-2.5-flash? /yes or /no");
    terminal.enter("/no");
    terminal.wait_for("⚠ Session paused: all members offline. /retry all or /quit");
    terminal.key("M-6");
    terminal.wait_for("Fault: all well");
    terminal.enter("/retry all");
    terminal.wait_for("✨ grok rejoined the council");
    terminal.wait_for("3/3 members");
}
