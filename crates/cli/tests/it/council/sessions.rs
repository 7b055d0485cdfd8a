//! Sessions: killed, resumed, exported.

use super::{QUICK, Terminal};

#[test]
fn a_kill_in_mid_answer_loses_the_unfinished_sentence_at_most() {
    let terminal = Terminal::open(80, 24, QUICK);
    terminal.script(
        "claude",
        "ok text=\"The first sentence is whole. The second one never ends\" delay=100ms; ok text=\"and on it goes\"",
    );
    terminal.say("hello");
    terminal.wait_for("The second one");
    terminal.kill();
    terminal.start_again("council --resume");
    terminal.wait_for("Welcome back to the council");
    terminal.in_order(&["❯ you hello", "◆ claude", "The first sentence is whole.", "[Connection lost mid-response]"]);
    terminal.say("go on");
    terminal.wait_for("and on it goes");
    terminal.wait_for_my_turn();
    terminal.enter("/export out.json");
    terminal.wait_for("Saved to out.json");
    let saved = terminal.folder.read("out.json");
    for part in ["\"text\": \"hello\"", "The first sentence is whole.", "\"ending\": \"lost\"", "and on it goes"] {
        assert!(saved.contains(part), "{part}: {saved}");
    }
}

/// What is said while somebody speaks is nobody's to lose, however the council ends.
#[test]
fn a_message_that_waits_survives_a_kill_and_is_answered() {
    let terminal = Terminal::open(80, 60, QUICK);
    terminal.script("claude", "ok text=\"one two three four\" delay=60s; ok text=\"an answer to it\"");
    terminal.say("first");
    terminal.wait_for("claude is speaking");
    terminal.enter("second");
    terminal.enter("third");
    terminal.wait_for("2 waiting");
    terminal.wait_for_saved("\"third\"");
    terminal.kill();
    terminal.start_again("council --resume");
    terminal.wait_for_my_turn();
    terminal.in_order(&["❯ you first", "❯ you second", "an answer to it", "I am grok.", "❯ you third", "I am grok."]);
    terminal.enter("/quit");
    terminal.wait_for("ended with 0");
    terminal.start_again("council --resume");
    terminal.wait_for_my_turn();
    assert_eq!(terminal.screen().matches("second").count(), 1, "{}", terminal.screen());
}

#[test]
fn a_conversation_is_exported_as_people_and_as_programs_read_it() {
    let terminal = Terminal::open(80, 24, QUICK);
    terminal.script("grok", "status=400 body=\"no\"");
    terminal.say("hello");
    terminal.wait_for("grok (offline)");
    terminal.enter("/export my notes.md");
    terminal.wait_for("Saved to my notes.md");
    terminal.enter("/export notes.JSON");
    terminal.wait_for("Saved to notes.JSON");
    terminal.enter("/export");
    terminal.wait_for("Saved to council-");
    let files = std::fs::read_dir(&terminal.folder.0).unwrap().map(|file| file.unwrap().file_name());
    let named = files.filter_map(|name| name.into_string().ok()).find(|name| name.starts_with("council-")).unwrap();
    assert_eq!(named, format!("council-{}.md", terminal.session_id()));
    assert!(terminal.folder.read(&named).contains("I am gemini."));
    terminal.enter("/export no/such/folder.md");
    terminal.wait_for("Cannot save to no/such/folder.md");
    let text = terminal.folder.read("my notes.md");
    let (title, rest) = text.split_once("\n\n").unwrap();
    assert!(title.starts_with("# Council "), "{text}");
    let expected = "## You\n\nhello\n\n## claude (claude-sonnet-4-5)\n\nI am claude.\n\n## gemini (gemini-2.5-pro)\n\nI am gemini.\n\n> ⚠ grok offline";
    assert!(rest.starts_with(expected), "{text}");
    let json: serde_json::Value = serde_json::from_str(&terminal.folder.read("notes.JSON")).unwrap();
    assert_eq!(json["said"][0]["text"], "hello");
    assert_eq!(json["said"][1]["member"], "claude");
    assert_eq!(json["said"][1]["ending"], "whole");
    assert_eq!(json["said"][3]["by"], "note");
}
