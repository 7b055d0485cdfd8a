//! The manual checklist of the seed document, line by line, and what it says about questions nobody answers.

use super::{QUICK, Stage, Terminal};

/// "Start session, disconnect WiFi mid-turn, reconnect: verify retry."
#[test]
fn a_network_that_goes_in_mid_turn_and_comes_back_is_retried() {
    let steps = r#"default = [{ retry = 20, base = "200ms", cap = "1s", jitter = 0 }, "defer", "ask", "degrade"]"#;
    let terminal = Terminal::open(80, 24, steps);
    terminal.script("claude", "ok text=\"one two three four five six seven\" delay=150ms");
    terminal.say("hello");
    terminal.wait_for("  one two");
    terminal.network_away();
    terminal.wait_for("[Connection lost mid-response]");
    terminal.wait_for("⚠ claude error, retrying in");
    terminal.network_back();
    terminal.wait_for("  one two three four five six seven\n");
    terminal.wait_for_my_turn();
    terminal.in_order(&["I am gemini.", "I am grok.", "3/3 members"]);
    terminal.assert_lacks("skipped");
}

/// "Fail Claude (mid-turn): verify skip, retry after round."
#[test]
fn a_member_that_fails_in_mid_round_is_skipped_and_retried_after_the_round() {
    let terminal = Terminal::open(80, 40, QUICK);
    terminal.script("claude", "status=503 x4; ok text=\"late but here\" first=3s");
    terminal.say("hello");
    terminal.wait_for("Retrying failed speakers… (claude)");
    terminal.wait_for("✨ claude rejoined the council: welcome back!");
    terminal.wait_for_my_turn();
    terminal.in_order(&[
        "(claude skipped due to error, will retry after round)",
        "● gemini gemini-2.5-pro I am gemini.",
        "▲ grok grok-4 I am grok.",
        "◆ claude claude-sonnet-4-5 late but here",
        "✨ claude rejoined the council",
        "3/3 members",
    ]);
}

/// "Fail Claude (last speaker): verify immediate fallback prompt."
#[test]
fn a_last_speaker_that_fails_is_asked_about_at_once() {
    let stage = Stage::with(&["gemini", "grok", "claude"], QUICK, "");
    let terminal = Terminal::show(stage, (80, 24), "council", &[]);
    terminal.script("claude", "100%: status=529; ok");
    terminal.say("hello");
    terminal.wait_for("waiting for your answer");
    terminal.in_order(&[
        "I am gemini.",
        "I am grok.",
        "⚠ claude (claude-sonnet-4-5) unavailable. Route to claude-haiku-4-5? Type /yes or /no.",
        "⚠ claude (claude-sonnet-4-5) unavailable. Route to claude-haiku-4-5? /yes or /no",
        "waiting for your answer",
    ]);
    terminal.assert_lacks("skipped");
}

/// "Decline fallback: verify graceful degradation", and the way back.
#[test]
fn a_declined_fallback_goes_on_with_two_of_three_members() {
    let terminal = Terminal::open(80, 50, QUICK);
    terminal.script("claude", "100%: auth");
    terminal.say("hello");
    terminal.wait_for("waiting for your answer");
    terminal.enter("/no");
    terminal.wait_for("2/3 members");
    terminal.in_order(&["✓ Skipping claude for this session", "⚠ claude offline", "Continuing with 2/3 members."]);
    terminal.in_order(&["✗ claude (offline)"]);
    let asked = terminal.fake.count("claude");
    terminal.say("and now?");
    terminal.wait_for_my_turn();
    terminal.in_order(&["and now?", "I am gemini.", "I am grok.", "2/3 members"]);
    assert_eq!(terminal.fake.count("claude"), asked, "whoever is out is not asked");
    terminal.script("claude", "ok text=\"back again\"");
    terminal.enter("/retry claude");
    terminal.wait_for("✨ claude rejoined the council");
    terminal.in_order(&["and now?", "back again", "✨ claude rejoined the council", "3/3 members"]);
}

/// "Accept fallback: verify model switch and successful retry."
#[test]
fn an_accepted_fallback_speaks_with_the_other_model() {
    let terminal = Terminal::open(80, 40, QUICK);
    terminal.script("claude", "100%: auth");
    terminal.fake.script_model("claude", "claude-haiku-4-5", "ok text=\"haiku speaks\"").unwrap();
    terminal.say("hello");
    terminal.wait_for("waiting for your answer");
    terminal.enter("/yes");
    terminal.wait_for("rejoined the council");
    terminal.in_order(&[
        "✓ Routing claude to claude-haiku-4-5",
        "◆ claude claude-haiku-4-5 haiku speaks",
        "3/3 members",
    ]);
    terminal.enter("/model");
    terminal.wait_for("claude: claude-sonnet-4-5, claude-haiku-4-5 (now)");
    terminal.enter("/yes");
    terminal.wait_for("Nothing is asked.");
    // What served it last is kept, and every session begins with its own model all the same.
    terminal.wait_for_saved(r#""event":"last_good","member":"claude","model":"claude-haiku-4-5""#);
    terminal.enter("/quit");
    terminal.wait_for("ended with 0");
    terminal.start_again(&format!("council --resume {}", terminal.session_id()));
    terminal.enter("/members");
    terminal.wait_for("claude  claude-sonnet-4-5  here, last served by claude-haiku-4-5");
    terminal.script("claude", "ok text=\"sonnet again\"");
    terminal.start_again("council");
    terminal.say("anew");
    terminal.wait_for_my_turn();
    terminal.in_order(&["❯ you anew", "◆ claude claude-sonnet-4-5 sonnet again", "I am grok."]);
}

/// "Fail all AIs: verify total failure error message"; nothing is lost, and they come back.
#[test]
fn when_all_fail_the_session_pauses_and_names_the_next_steps() {
    let terminal = Terminal::open(80, 50, QUICK);
    for name in ["claude", "gemini", "grok"] {
        terminal.script(name, "100%: invalid");
    }
    terminal.say("hello");
    terminal.wait_for("⚠ Session paused: all members offline. /retry all or /quit");
    terminal.in_order(&[
        "⚠ All council members offline. Session paused; nothing is lost.",
        "Possible causes:",
        "- the network connection",
        "- an outage at the providers",
        "- API keys that are not valid",
        "Next steps:",
        "1. Check your connection; `steadfast doctor` checks keys and endpoints",
        "2. Type /retry all to reconnect",
        "3. Type /export to save your work, or /quit and resume later",
        "0/3 members",
    ]);
    terminal.script("grok", "ok text=\"I am back\"");
    terminal.enter("/retry all");
    terminal.wait_for("✨ grok rejoined the council");
    terminal.wait_for("1/3 members");
    terminal.in_order(&["✗ claude still unavailable", "✗ gemini still unavailable", "I am back"]);
}

/// "Mid-stream disconnect: verify partial response handling."
#[test]
fn an_answer_cut_in_the_middle_stays_marked_and_is_made_again_in_full() {
    let terminal = Terminal::open(80, 24, QUICK);
    terminal.script("claude", "cut=3 text=\"a b c d e f g h\"; ok text=\"a b c d e f g h\"");
    terminal.say("hello");
    terminal.wait_for_my_turn();
    terminal.in_order(&["◆ claude", "a b", "[Connection lost mid-response]", "◆ claude", "a b c d e f g h ● gemini"]);
    let told = terminal.fake.requests().into_iter().rfind(|request| request.endpoint == "grok").unwrap();
    let told = String::from_utf8_lossy(&told.body).into_owned();
    assert_eq!(told.matches("a b c").count(), 1, "the others hear the whole answer only: {told}");
}

/// Nobody answers a question: a reminder, and then it counts as no. The next question gets its own time.
#[test]
fn a_question_nobody_answers_is_reminded_of_and_then_counts_as_no() {
    let steps = r#"auth_error = [{ ask = true, nudge = "1s", skip = "5s" }, "degrade"]"#;
    let terminal = Terminal::open(80, 40, steps);
    terminal.script("claude", "100%: auth");
    terminal.script("gemini", "100%: auth");
    terminal.say("hello");
    terminal.wait_for("(+1 more)");
    terminal.wait_for("Still deciding on claude? Route to claude-haiku-4-5: /yes or /no (auto-skip in");
    terminal.wait_for("No response after 5s. Auto-skipping claude. Type /retry claude to re-enable.");
    terminal.wait_for("⚠ gemini (gemini-2.5-pro) unavailable.");
    terminal.enter("/no");
    terminal.wait_for("1/3 members");
    terminal.wait_for_my_turn();
}
