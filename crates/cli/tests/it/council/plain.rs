//! The council as plain lines, through pipes.

use super::stage::pipe;
use super::{QUICK, Stage, Terminal};
use crate::Folder;

#[test]
fn a_pipe_gets_the_conversation_and_nothing_else() {
    let stage = Stage::with(&["claude", "gemini", "grok"], QUICK, "metrics = \"metrics/council.jsonl\"");
    stage.script("gemini", "status=500 x2; ok text=\"I am gemini.\"");
    let told = stage.pipe("hello\n/members\n");
    assert_eq!(
        told.stdout,
        "you: hello\nclaude (claude-sonnet-4-5): I am claude.\ngemini (gemini-2.5-pro): I am gemini.\ngrok (grok-4): I am grok.\n"
    );
    assert!(told.stderr.contains("⚠ gemini error, retrying in 1s… (retry 1/3)"), "{}", told.stderr);
    assert!(told.stderr.contains("claude  claude-sonnet-4-5  here"), "{}", told.stderr);
    assert!(!told.stdout.contains('\u{1b}') && !told.stderr.contains('\u{1b}'));
    assert_eq!(told.code, 0);
    let metrics = stage.folder.read("metrics/council.jsonl");
    let lines: Vec<serde_json::Value> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{metrics}");
    for (attempt, line) in (1..).zip(&lines) {
        let known = ["event", "ai_id", "error_type"].map(|field| line[field].as_str().unwrap());
        assert_eq!(known, ["retry_attempt", "gemini", "server_error"], "{line}");
        assert_eq!(line["attempt"], attempt);
        assert!(
            line["timestamp"].is_string() && line["session_id"].is_string() && line["duration_ms"].is_u64(),
            "{line}"
        );
    }
}

#[test]
fn without_a_file_for_metrics_there_is_none() {
    let stage = Stage::new(QUICK);
    assert_eq!(stage.pipe("hello\n").code, 0);
    let files =
        std::fs::read_dir(&stage.folder.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.collect();
    files.sort();
    assert_eq!(files, [".local", "steadfast.toml"]);
}

#[test]
fn the_fake_council_speaks_into_a_pipe() {
    let folder = Folder::new();
    let told = pipe(&folder, &["council", "--fake"], "hi\n");
    let speakers: Vec<&str> =
        told.stdout.lines().filter_map(|line| line.split_once(": ")).map(|(who, _)| who).collect();
    assert_eq!(speakers[..2], ["you", "claude (claude-sonnet-4-5)"], "{}", told.stdout);
    assert!(told.stdout.lines().count() == 4 && !told.stdout.contains('\u{1b}'), "{}", told.stdout);
    assert_eq!(told.code, 0);
    // It is gone on with as it was begun, and is no session of the person's own council.
    let (_, id) = told.stderr.split_once("Go on with it: steadfast council --fake --resume ").expect(&told.stderr);
    let again = pipe(&folder, &["council", "--fake", "--resume", id.trim()], "");
    assert_eq!((again.code, &*again.stdout), (0, ""), "{}", again.stderr);
    assert!(!folder.0.join(".local/state/steadfast/council").exists());
}

#[test]
fn at_the_end_of_a_pipe_open_questions_are_answered_with_no_at_once() {
    let stage = Stage::new(QUICK);
    for name in ["claude", "gemini"] {
        stage.script(name, "100%: auth");
    }
    let told = stage.pipe("hello\n");
    for name in ["claude", "gemini"] {
        assert!(told.stdout.contains(&format!("✓ Skipping {name} for this session")), "{}", told.stdout);
    }
    assert!(told.stdout.contains("Continuing with 1/3 members."), "{}", told.stdout);
    assert!(!told.stderr.contains("Still deciding"), "nobody is reminded: {}", told.stderr);
    assert_eq!(told.code, 0);
}

#[test]
fn a_pipe_to_nobody_ends_with_a_failure_and_goes_on_later() {
    let stage = Stage::new(QUICK);
    for name in ["claude", "gemini", "grok"] {
        stage.script(name, "100%: invalid");
    }
    let told = stage.pipe("hello\n");
    assert!(told.stdout.contains("All council members offline."), "{}", told.stdout);
    assert_eq!(told.code, 1);
    for name in ["claude", "gemini", "grok"] {
        stage.script(name, "ok text=\"here\"");
    }
    let told = pipe(&stage.folder, &["council", "--resume"], "again\n");
    assert!(told.stdout.ends_with("grok (grok-4): here\n"), "{}", told.stdout);
    let heard = stage.fake.requests().pop().unwrap();
    let heard = String::from_utf8_lossy(&heard.body).into_owned();
    assert!(heard.contains("hello") && heard.contains("again"), "{heard}");
}

/// More lines than may wait for their round: the pipe waits, and none is dropped.
#[test]
fn a_pipe_of_many_lines_has_each_of_them_answered() {
    let stage = Stage::with(&["claude"], QUICK, "");
    let lines: String = (1..=70).map(|number| format!("line {number}\n")).collect();
    let told = stage.pipe(&lines);
    let expected = (1..=70).map(|number| format!("you: line {number}\nclaude (claude-sonnet-4-5): I am claude.\n"));
    assert_eq!(told.stdout, expected.collect::<String>());
}

#[test]
fn without_members_there_is_an_example_to_copy() {
    let folder = Folder::new();
    folder.write("steadfast.toml", "");
    let told = pipe(&folder, &["council"], "");
    assert!(told.stderr.contains("[council]\nmembers = "), "{}", told.stderr);
    assert_eq!(told.code, 1);
}

/// Lines in a terminal, as a screen reader wants them: nothing is drawn, and what broke off is marked.
#[test]
fn plain_lines_in_a_terminal_take_no_screen_and_mark_what_was_lost() {
    let stage = Stage::with(&["claude"], QUICK, "");
    stage.script("claude", "cut=3 text=\"a b c d e f g h\"; ok text=\"a b c d e f g h\"");
    let terminal = Terminal::start(stage, (80, 24), "council --plain", &[]);
    terminal.wait_for("Type to speak with the council");
    terminal.enter("hello");
    terminal.wait_for("claude (claude-sonnet-4-5): a b c d e f g h\n");
    terminal.in_order(&[
        "hello",
        "claude (claude-sonnet-4-5): a b",
        "[Connection lost mid-response]",
        "a b c d e f g h",
    ]);
    assert!(!terminal.is_taken());
    terminal.enter("/quit");
    terminal.wait_for("ended with 0");
    terminal.start_again("council");
    assert!(terminal.is_taken(), "without --plain it is");
}

/// A check names who does not answer and decides nothing; who answered is not asked again at once.
#[test]
fn health_checks_are_told_and_kept_and_everybody_is_tried_all_the_same() {
    let stage = Stage::new(QUICK);
    stage.fake.script("claude", "100%: status=500").unwrap();
    stage.script("claude", "ok text=\"I am claude.\" first=3s");
    for run in 1..=2 {
        let told = stage.pipe("hello\n");
        let named = "(claude did not pass its health check: server error. It will be tried all the same.)";
        assert_eq!(told.stdout.matches("health check").count(), 1, "{}", told.stdout);
        assert!(told.stdout.contains(named), "{}", told.stdout);
        assert!(told.stdout.contains("I am claude.\n"), "{}", told.stdout);
        assert_eq!(["claude", "gemini", "grok"].map(|name| stage.asked(name, "GET")), [run, 1, 1]);
        assert_eq!(stage.asked("claude", "POST"), run);
    }
}
