//! The council in a real terminal (tmux), with the fake behind it: the seed document's own manual checklist, line by line.

mod levels;
mod plain;
mod terminal;

use terminal::Terminal;

/// Level 1 is over in less than a second.
const QUICK: &str =
    r#"default = [{ retry = 3, base = "100ms", cap = "400ms", jitter = 0 }, "defer", "ask", "degrade"]"#;

#[test]
fn a_network_that_comes_back_in_mid_turn_is_retried_and_the_answer_whole() {
    let slow = r#"default = [{ retry = 3, base = "1s", cap = "4s", jitter = 0 }, "defer", "ask", "degrade"]"#;
    let terminal = Terminal::open(80, 24, slow);
    terminal.script("claude", "claude-sonnet-4-5", "ok text=\"one two three four five six seven\" delay=150ms");
    terminal.enter("hello");
    terminal.wait_for("one two");
    terminal.network_away();
    terminal.wait_for("[Connection lost mid-response]");
    terminal.wait_for("claude error, retrying in");
    terminal.network_back();
    terminal.wait_for("one two three four five six seven");
    terminal.wait_for("your turn");
    let screen = terminal.screen();
    assert!(!screen.contains("skipped"), "{screen}");
}

#[test]
fn a_member_that_fails_in_mid_round_is_skipped_and_retried_after_the_round() {
    let terminal = Terminal::open(80, 40, QUICK);
    terminal.script("claude", "claude-sonnet-4-5", "status=503 x4; ok text=\"late but here\"");
    terminal.enter("hello");
    terminal.wait_for("rejoined the council: welcome back!");
    terminal.wait_for("your turn");
    terminal.in_order(&[
        "(claude skipped due to error, will retry after round)",
        "● gemini",
        "▲ grok",
        "◆ claude",
        "late but here",
        "✨ claude rejoined the council",
        "3/3 members",
    ]);
}

#[test]
fn a_last_speaker_that_fails_is_asked_about_at_once() {
    let terminal = Terminal::open_with(80, 24, QUICK, &["gemini", "claude"]);
    terminal.script("claude", "claude-sonnet-4-5", "100%: status=529; ok");
    terminal.enter("hello");
    terminal.wait_for("Route to claude-haiku-4-5? /yes or");
    let screen = terminal.screen();
    assert!(!screen.contains("skipped"), "{screen}");
    terminal.in_order(&["● gemini", "unavailable. Route to claude-haiku-4-5? Type /yes", "waiting for your answer"]);
}

#[test]
fn a_declined_fallback_goes_on_with_two_of_three_members() {
    let terminal = Terminal::open(80, 40, QUICK);
    terminal.script("claude", "claude-sonnet-4-5", "100%: auth");
    terminal.enter("hello");
    terminal.wait_for("Route to claude-haiku-4-5? /yes or");
    terminal.enter("/no");
    terminal.wait_for("2/3 members");
    terminal.in_order(&["✓ Skipping claude for this session", "claude offline", "Continuing with 2/3 members."]);
    let asked = terminal.fake_count("claude");
    terminal.enter("and now?");
    terminal.wait_for_count("▲ grok  grok-4", 2);
    assert_eq!(terminal.fake_count("claude"), asked, "whoever is out is not asked");
    terminal.script("claude", "claude-sonnet-4-5", "ok text=\"back again\"");
    terminal.enter("/retry claude");
    terminal.wait_for("✨ claude rejoined the council");
    terminal.wait_for("3/3 members");
}

#[test]
fn an_accepted_fallback_speaks_with_the_other_model() {
    let terminal = Terminal::open(80, 40, QUICK);
    terminal.script("claude", "claude-sonnet-4-5", "100%: auth");
    terminal.script("claude", "claude-haiku-4-5", "ok text=\"haiku speaks\"");
    terminal.enter("hello");
    terminal.wait_for("Route to claude-haiku-4-5? /yes or");
    terminal.enter("/yes");
    terminal.wait_for("rejoined the council");
    terminal.in_order(&["✓ Routing claude to claude-haiku-4-5", "◆ claude  claude-haiku-4-5", "haiku speaks"]);
    terminal.enter("/model");
    terminal.wait_for("claude: claude-sonnet-4-5, claude-haiku-4-5 (now)");
}

#[test]
fn when_all_fail_the_session_pauses_and_names_the_next_steps() {
    let terminal = Terminal::open(80, 40, QUICK);
    for (name, model) in [("claude", "claude-sonnet-4-5"), ("gemini", "gemini-2.5-pro"), ("grok", "grok-4")] {
        terminal.script(name, model, "100%: invalid");
    }
    terminal.enter("hello");
    terminal.wait_for("Session paused: all members offline.");
    terminal.in_order(&["All council members offline", "Possible causes:", "Next steps:", "/retry all to reconnect"]);
    terminal.script("grok", "grok-4", "ok text=\"I am back\"");
    terminal.enter("/retry all");
    terminal.wait_for("✨ grok rejoined the council");
    terminal.wait_for("1/3 members");
}

#[test]
fn an_answer_cut_in_the_middle_stays_marked_and_is_made_again_in_full() {
    let terminal = Terminal::open(80, 24, QUICK);
    let whole = "ok text=\"a b c d e f g h\"";
    terminal.script("claude", "claude-sonnet-4-5", &format!("cut=3 text=\"a b c d e f g h\"; {whole}"));
    terminal.enter("hello");
    terminal.wait_for("your turn");
    terminal.in_order(&["◆ claude", "  a b", "[Connection lost mid-response]", "◆ claude", "  a b c d e f g h"]);
}

#[test]
fn a_question_leaves_what_is_being_typed_alone() {
    let terminal = Terminal::open(80, 24, QUICK);
    terminal.script("claude", "claude-sonnet-4-5", "100%: auth");
    terminal.script("grok", "grok-4", "ok text=\"slow and steady\" first=1s");
    terminal.enter("hello");
    terminal.keys("half a sent");
    terminal.wait_for("Route to claude-haiku-4-5? /yes or");
    terminal.keys("ence");
    terminal.wait_for("❯ half a sentence");
    terminal.wait_for("slow and steady");
}

#[test]
fn a_kill_in_mid_answer_loses_the_unfinished_sentence_at_most() {
    let terminal = Terminal::open(80, 24, QUICK);
    let text =
        "ok text=\"The first sentence is whole. The second one never ends because the process dies now\" delay=100ms";
    terminal.script("claude", "claude-sonnet-4-5", text);
    terminal.enter("hello");
    terminal.wait_for("The second one never");
    terminal.kill();
    terminal.script("claude", "claude-sonnet-4-5", "ok text=\"and on it goes\"");
    terminal.start("--resume");
    terminal.wait_for("Welcome back to the council");
    terminal.in_order(&["hello", "◆ claude", "The first sentence is whole.", "[Connection lost mid-response]"]);
    terminal.enter("go on");
    terminal.wait_for("and on it goes");
    terminal.enter("/export out.json");
    terminal.wait_for("Saved to out.json");
    let saved = terminal.read("out.json");
    assert!(saved.contains("The first sentence is whole."), "{saved}");
    assert!(saved.contains("\"ending\": \"lost\""), "{saved}");
    terminal.enter("/quit");
    terminal.wait_for("steadfast council --resume");
}

#[test]
fn paste_history_completion_and_the_wheel_work_as_people_expect() {
    let terminal = Terminal::open(80, 24, QUICK);
    terminal.paste("two\nlines");
    terminal.wait_for("❯ two\n  lines");
    terminal.key("Enter");
    terminal.wait_for("your turn");
    terminal.key("Up");
    terminal.wait_for("❯ two\n  lines\n");
    terminal.key("C-c");
    terminal.keys("/ret");
    terminal.key("Tab");
    terminal.keys("g");
    terminal.key("Tab");
    terminal.wait_for("❯ /retry gemini");
    terminal.key("C-u");
    terminal.enter("/help");
    terminal.wait_for("bring members back");
    terminal.key("PageUp");
    terminal.wait_for("↑ ");
    terminal.wheel_down();
    terminal.resize(100, 30);
    terminal.wait_for("your turn");
    terminal.key("C-c");
    terminal.wait_for("Ctrl+C again leaves");
    terminal.key("C-c");
    terminal.wait_for("steadfast council --resume");
}
