//! `steadfast demo`.

use serde_json::Value;

use crate::Folder;
use crate::screen::Screen;

#[test]
fn failures_are_played_recovered_and_counted() {
    let folder = Folder::new();
    let state = folder.0.join("state").display().to_string();
    let environment = [("XDG_STATE_HOME", state.as_str())];
    let told = folder.run_with(&["demo", "--seconds", "3", "--json"], &environment);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(told.stderr.contains("  OPENAI_BASE_URL=http://127.0.0.1:"), "{}", told.stderr);

    let summary: Value = serde_json::from_str(&told.stdout).unwrap();
    let number = |side: &str, name: &str| summary[side][name].as_u64().unwrap_or_else(|| panic!("{side}.{name}"));
    assert!(number("clients", "recovered") > 0, "{summary:#}");
    assert!(number("providers", "failed") > 0, "{summary:#}");
    assert_eq!(number("clients", "served") + number("clients", "failed"), number("clients", "requests"));
    assert_eq!(number("providers", "ok") + number("providers", "failed"), number("providers", "attempts"));
    let sum = |value: &Value| value.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum(&summary["providers"]["failures"]), number("providers", "failed"), "{summary:#}");
    assert_eq!(sum(&summary["recovered_by"]), number("clients", "recovered"), "{summary:#}");
    assert_eq!(summary["endpoints"].as_array().unwrap().len(), 6);
    assert_eq!(summary["other_attempts"], 0);

    // The example can be looked up, without saying where.
    let id = summary["example"].as_str().unwrap();
    let story = folder.run_with(&["why", id], &environment);
    assert!(story.stdout.starts_with(&format!("{id}: recovered, served by ")), "{story:?}");
}

#[test]
fn without_a_terminal_it_is_a_log_and_a_summary() {
    let folder = Folder::new();
    let state = folder.0.join("state").display().to_string();
    let told = folder.run_with(&["demo", "--seconds", "1"], &[("XDG_STATE_HOME", &state)]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(!told.stdout.contains('\x1b'), "{}", told.stdout);
    let first = told.stdout.lines().next().unwrap();
    assert!(first.ends_with("s playing: openai-a limits the rate, anthropic-a is overloaded"), "{first}");
    for line in ["\nclients    ", "\nproviders  ", "\nrecovered  "] {
        assert!(told.stdout.contains(line), "{line} is missing:\n{}", told.stdout);
    }
    assert!(told.stderr.contains("\n  steadfast serve "), "{}", told.stderr);
}

#[test]
fn in_a_terminal_it_is_a_picture_that_lives_and_the_dashboard_opens() {
    let folder = Folder::new();
    // What a desktop opens addresses with.
    folder.write("xdg-open", "#!/bin/sh\necho \"$1\" > opened\n");
    let made = std::process::Command::new("chmod").args(["+x", "xdg-open"]).current_dir(&folder.0).status();
    assert!(made.unwrap().success());
    let path = format!("PATH={}:{}", folder.0.display(), std::env::var("PATH").unwrap());
    let screen = Screen::open(&folder, "demo", &[&path, "DISPLAY=:9"]);
    let headings = ["what clients see", "what providers did", "recovered", "endpoint     breaker", "last decisions"];
    let seen = screen.until(&[&headings[..], &["openai-a", "-> retry in", "playing  "]].concat());
    let address = seen.split("dashboard ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let opened = || std::fs::read_to_string(folder.0.join("opened")).unwrap_or_default();
    screen.wait("a browser is opened", || Some(opened().trim()) == address);
    screen.key("C-c");
    screen.until(&["clients    ", "providers  ", "steadfast why "]);
}
