//! The document's four levels, and what the person sees at each.

use super::*;

#[test]
fn members_speak_in_rotation_and_the_next_message_waits_for_its_round() {
    let told = Script::new().play("say hello; piece I am; ok Claude.; say more; ok; ok; ok");
    check(
        &told,
        "0s person: hello
         0s call claude with sonnet (first)
         0s status claude is thinking… [3/3 members]
         0s claude begins
         0s I am
         0s status claude is speaking… [3/3 members]
         0s Claude.
         0s ends
         0s call gemini with pro (first)
         0s status gemini is thinking… [3/3 members]
         0s waits: more
         0s gemini begins
         0s well
         0s status gemini is speaking… [3/3 members]
         0s ends
         0s call grok with grok (first)
         0s status grok is thinking… [3/3 members]
         0s grok begins
         0s well
         0s status grok is speaking… [3/3 members]
         0s ends
         0s person: more
         0s call claude with sonnet (first)
         0s status claude is thinking… [3/3 members]
         0s claude begins
         0s well
         0s status claude is speaking… [3/3 members]
         0s ends
         0s call gemini with pro (first)
         0s status gemini is thinking… [3/3 members]",
    );
}

#[test]
fn level_one_is_seen_in_the_status_bar_only() {
    let mut script = Script::new();
    script.play("say hello");
    let told = script.play("fail timeout; fail server_error; fail rate_limit; ok");
    check(
        &told,
        "0s status ⚠ claude error, retrying in 1s… (retry 1/3) [3/3 members]
         1s call claude with sonnet (retry)
         1s status claude is thinking… [3/3 members]
         1s status ⚠ claude error, retrying in 2s… (retry 2/3) [3/3 members]
         3s call claude with sonnet (retry)
         3s status claude is thinking… [3/3 members]
         3s status ⚠ claude error, retrying in 4s… (retry 3/3) [3/3 members]
         7s call claude with sonnet (retry)
         7s status claude is thinking… [3/3 members]
         7s claude begins
         7s well
         7s status claude is speaking… [3/3 members]
         7s ends
         7s call gemini with pro (first)
         7s status gemini is thinking… [3/3 members]",
    );
}

#[test]
fn a_failing_member_is_skipped_and_speaks_again_after_the_round() {
    let told = Script::new().play(&format!("say hello; {} ok; ok; ok; say again", level_one()));
    check(
        &gist(&told),
        "0s call claude with sonnet (first)
         1s call claude with sonnet (retry)
         3s call claude with sonnet (retry)
         7s call claude with sonnet (retry)
         7s note (claude skipped due to error, will retry after round)
         7s call gemini with pro (first)
         7s call grok with grok (first)
         7s call claude with sonnet (retry)
         7s note ✨ claude rejoined the council: welcome back!
         7s call claude with sonnet (first)",
    );
}

#[test]
fn the_last_speaker_is_not_skipped_but_asked_about_at_once() {
    let mut script = Script::of(&[("gemini", "pro"), ("claude", "sonnet")]);
    let told = script.play(&format!("say hello; ok; {}", level_one()));
    assert!(!told.contains("skipped"), "{told}");
    assert!(told.ends_with(
        "7s note ⚠ claude (sonnet) unavailable. Route to haiku? Type /yes or /no.\n\
         7s status ⚠ claude (sonnet) unavailable. Route to haiku? /yes or /no [2/2 members]\n"
    ));
}

#[test]
fn several_members_are_retried_in_order_and_asked_about_one_after_another() {
    let mut script = Script::new();
    let both = format!("{}{}", level_one(), level_one());
    let told = script.play(&format!("say hello; {both} ok; {both}"));
    check(
        &gist(&told).lines().filter(|line| !line.contains("(retry)")).collect::<Vec<_>>().join("\n"),
        "0s call claude with sonnet (first)
         7s note (claude skipped due to error, will retry after round)
         7s call gemini with pro (first)
         14s note (gemini skipped due to error, will retry after round)
         14s call grok with grok (first)
         21s note ⚠ claude (sonnet) unavailable. Route to haiku? Type /yes or /no.",
    );
    assert!(script.status.contains("(+1 more)"), "gemini's question waits: {}", script.status);
    let told = script.play("yes");
    check(
        &told,
        "28s note ✓ Routing claude to haiku
         28s note ⚠ gemini (pro) unavailable. Route to flash? Type /yes or /no.
         28s call claude with haiku (fallback)
         28s status claude is thinking… | ⚠ gemini (pro) unavailable. Route to flash? /yes or /no [3/3 members]",
    );
    let told = script.play("no; ok");
    check(
        &told,
        "28s note ✓ Skipping gemini for this session
         28s note ⚠ gemini offline (its fallback was declined). Continuing with 2/3 members.
         28s status claude is thinking… [2/3 members]
         28s claude begins
         28s well
         28s status claude is speaking… [2/3 members]
         28s ends
         28s note ✨ claude rejoined the council: welcome back!
         28s status  [2/3 members]",
    );
    assert_eq!(script.council.model(0).map(|model| &**model), Some("haiku"), "for the rest of the session");
    let told = script.play("say next; ok; ok");
    check(&gist(&told), "28s call claude with haiku (first)\n28s call grok with grok (first)");
}

#[test]
fn a_question_is_put_once_nudges_at_thirty_seconds_and_skips_at_sixty() {
    let mut script = Script::of(&[("claude", "sonnet"), ("grok", "grok")]);
    script.play("say hello; fail auth_error; ok");
    let told = script.play("wait 29; wait 1; wait 29; wait 1");
    check(
        &told,
        "30s status Still deciding on claude? Route to haiku: /yes or /no (auto-skip in 30s) [2/2 members]
         59s status Still deciding on claude? Route to haiku: /yes or /no (auto-skip in 1s) [2/2 members]
         60s note No response after 60s. Auto-skipping claude. Type /retry claude to re-enable.
         60s note ⚠ claude offline (nobody answered). Continuing with 1/2 members.
         60s status  [1/2 members]",
    );
}

#[test]
fn a_question_that_waits_for_another_has_its_own_sixty_seconds() {
    let mut script = Script::new();
    let told = script.play("say hello; fail auth_error; fail auth_error; ok; wait 60; wait 59; wait 1");
    let notes: Vec<&str> = told.lines().filter(|line| line.contains("note")).collect();
    check(
        &notes.join("\n"),
        "0s note ⚠ claude (sonnet) unavailable. Route to haiku? Type /yes or /no.
         60s note No response after 60s. Auto-skipping claude. Type /retry claude to re-enable.
         60s note ⚠ claude offline (nobody answered). Continuing with 2/3 members.
         60s note ⚠ gemini (pro) unavailable. Route to flash? Type /yes or /no.
         120s note No response after 60s. Auto-skipping gemini. Type /retry gemini to re-enable.
         120s note ⚠ gemini offline (nobody answered). Continuing with 1/3 members.",
    );
}

#[test]
fn a_question_holds_nobody_up() {
    let mut script = Script::new();
    let told = script.play("say hello; fail auth_error; ok; ok; say and what else?; ok; yes; ok; ok");
    check(
        &gist(&told),
        "0s call claude with sonnet (first)
         0s note ⚠ claude (sonnet) unavailable. Route to haiku? Type /yes or /no.
         0s call gemini with pro (first)
         0s call grok with grok (first)
         0s call gemini with pro (first)
         0s call grok with grok (first)
         0s note ✓ Routing claude to haiku
         0s call claude with haiku (fallback)
         0s note ✨ claude rejoined the council: welcome back!",
    );
    assert!(script.council.is_idle());
}

#[test]
fn answers_that_nobody_asked_for_change_nothing() {
    let mut script = Script::new();
    assert_eq!(script.play("yes; no"), "0s status  [3/3 members]\n");
    script.play("say hello");
    assert_eq!(script.play("yes; no; yes"), "");
}

#[test]
fn a_member_without_a_fallback_is_left_out_and_the_session_goes_on() {
    let mut script = Script::of(&[("claude", "sonnet"), ("grok", "grok")]);
    let told = script.play(&format!("say hello; ok; {} say next; ok", level_one()));
    check(
        &gist(&told),
        "0s call claude with sonnet (first)
         0s call grok with grok (first)
         1s call grok with grok (retry)
         3s call grok with grok (retry)
         7s call grok with grok (retry)
         7s note ⚠ grok offline (server error). Continuing with 1/2 members.
         7s call claude with sonnet (first)",
    );
    assert!(script.council.is_idle());
}

#[test]
fn a_fallback_that_fails_too_is_told_and_the_member_left_out() {
    let mut script = Script::of(&[("claude", "sonnet")]);
    let told = script.play("say hello; fail quota_exhausted");
    assert!(gist(&told).contains("note ⚠ claude offline (quota exhausted)."), "the same credential: {told}");
    let mut script = Script::of(&[("claude", "sonnet")]);
    let told = script.play("say hello; fail auth_error; yes; fail invalid_request");
    check(
        &gist(&told),
        "0s call claude with sonnet (first)
         0s note ⚠ claude (sonnet) unavailable. Route to haiku? Type /yes or /no.
         0s note ✓ Routing claude to haiku
         0s call claude with haiku (fallback)
         0s note ✗ haiku also failed: invalid request
         0s note ⚠ claude offline (invalid request).
         0s note ⚠ All council members offline. Session paused; nothing is lost.",
    );
    assert_eq!(script.council.model(0).map(|model| &**model), Some("sonnet"), "it returns with its own model");
}

#[test]
fn when_all_are_gone_the_session_pauses_and_comes_back_by_retry() {
    let mut script = Script::new();
    let gone = "say hello; fail invalid_request; fail invalid_request; fail invalid_request;";
    let told = script.play(gone);
    let pauses = told.lines().filter(|line| line.contains("All council members offline")).count();
    assert_eq!(pauses, 1, "{told}");
    assert!(script.status.contains("Session paused"), "{}", script.status);
    let told = script.play("say still there?");
    assert!(told.contains("note Nobody is here to answer. Your message is kept"), "{told}");
    let told = script.play("retry all; ok; fail invalid_request; ok");
    check(
        &gist(&told),
        "0s call claude with sonnet (first)
         0s note ✨ claude rejoined the council: welcome back!
         0s call gemini with pro (first)
         0s note ✗ gemini still unavailable: invalid request. Continuing with 2/3 members.
         0s call grok with grok (first)
         0s note ✨ grok rejoined the council: welcome back!",
    );
    check(
        &gist(&script.play("retry grok; retry gemini; ok; retry all")),
        "0s note grok is not offline.
         0s call gemini with pro (first)
         0s note ✨ gemini rejoined the council: welcome back!
         0s note Nobody is offline.",
    );
}

#[test]
fn a_returning_member_speaks_in_its_own_place_again() {
    let mut script = Script::new();
    script.play("say hello; fail invalid_request; ok; ok; retry claude; ok");
    check(
        &gist(&script.play("say next; ok; ok; ok")),
        "0s call claude with sonnet (first)
         0s call gemini with pro (first)
         0s call grok with grok (first)",
    );
}

#[test]
fn an_answer_lost_in_the_middle_stays_and_is_made_again_in_full() {
    let mut script = Script::of(&[("claude", "sonnet")]);
    let told = script.play("say hello; piece The first; piece  half; fail stream_interrupted; ok The whole answer.");
    check(
        &told,
        "0s person: hello
         0s call claude with sonnet (first)
         0s status claude is thinking… [1/1 members]
         0s claude begins
         0s The first
         0s status claude is speaking… [1/1 members]
         0s half
         0s lost
         0s status ⚠ claude error, retrying in 1s… (retry 1/3) [1/1 members]
         1s call claude with sonnet (retry)
         1s status claude is thinking… [1/1 members]
         1s claude begins
         1s The whole answer.
         1s status claude is speaking… [1/1 members]
         1s ends
         1s status  [1/1 members]",
    );
}

#[test]
fn thirty_retries_a_session_with_a_warning_at_twenty() {
    let mut script = Script::of(&[("grok", "grok"), ("claude", "sonnet")]);
    let mut notes = String::new();
    for _ in 0..12 {
        let told = script.play("retry all; say go on");
        notes += &told;
        while script.call.is_some() || script.council.wake().is_some() {
            notes += &script.play(if script.council.status().asking.is_some() { "no" } else { "fail server_error" });
        }
    }
    let count = |what: &str| notes.lines().filter(|line| line.contains(what)).count();
    assert_eq!(count("High failure rate (20 retries in this session)"), 1, "{notes}");
    assert_eq!(count("has used all of its 30 retries"), 1, "{notes}");
    assert_eq!(count("(retry)\n") + notes.matches("retrying in").count(), 30, "{notes}");
}

#[test]
fn a_retry_that_serves_is_not_counted_against_the_session() {
    let mut script = Script::of(&[("claude", "sonnet")]);
    for _ in 0..40 {
        script.play("say go on; fail timeout; ok");
    }
    assert_eq!(script.council.status().retries, 0);
}

#[test]
fn reports_about_a_call_that_is_over_change_nothing() {
    let mut script = Script::new();
    script.play("say hello");
    let usage = Usage::default();
    let failure = Box::new(Failure::new(FailureKind::Timeout, "test"));
    for event in [
        Event::Piece { call: 99, text: "late".to_owned() },
        Event::Served { call: 99, usage },
        Event::Failed { call: 0, failure, usage },
    ] {
        script.tell(event);
    }
    assert_eq!(script.told, "");
}

#[test]
fn a_member_speaks_with_the_model_the_person_chose() {
    let mut script = Script::of(&[("claude", "sonnet")]);
    let told = script.play("model claude haiku; say hello; ok; model claude gpt; model claude sonnet; say more");
    check(
        &gist(&told),
        "0s note ✓ claude speaks with haiku from its next turn on
         0s call claude with haiku (first)
         0s note gpt is none of the models of claude: sonnet, haiku
         0s note ✓ claude speaks with sonnet from its next turn on
         0s call claude with sonnet (first)",
    );
}

#[test]
fn a_person_may_stop_an_answer_and_the_round_goes_on() {
    let mut script = Script::of(&[("claude", "sonnet"), ("gemini", "pro")]);
    let told = script.play("say hello; piece Well,; stop; stop");
    check(
        &told,
        "0s person: hello
         0s call claude with sonnet (first)
         0s status claude is thinking… [2/2 members]
         0s claude begins
         0s Well,
         0s status claude is speaking… [2/2 members]
         0s stopped
         0s call gemini with pro (first)
         0s status gemini is thinking… [2/2 members]
         0s note gemini was stopped before it said anything
         0s status  [2/2 members]",
    );
}

#[test]
fn silent_tools_are_told_once_a_session() {
    let told = Script::new().play("say hello; tool; tool; ok; tool");
    assert_eq!(told.matches("Some tools did not answer").count(), 1, "{told}");
}

#[test]
fn everything_that_befalls_a_member_is_measured() {
    let mut script = Script::new();
    script.play("say hello; fail auth_error; fail auth_error; tool; ok; yes; ok; no");
    script.play(
        "say next; fail auth_error; ok; wait 60; say more; fail timeout; fail timeout; fail timeout; fail timeout",
    );
    script.play("retry grok; ok");
    check(
        &script.measured,
        "failed claude auth_error
         fallback_asked claude sonnet haiku
         failed gemini auth_error
         tool_timeout tools
         fallback_accepted claude sonnet haiku
         fallback_asked gemini pro flash
         recovered claude
         fallback_declined gemini pro flash
         degraded gemini (its fallback was declined)
         failed claude auth_error
         fallback_asked claude haiku sonnet
         fallback_timeout claude
         degraded claude (nobody answered)
         retry_attempt grok 1 timeout
         retry_attempt grok 2 timeout
         retry_attempt grok 3 timeout
         failed grok timeout
         degraded grok (timeout)
         paused all
         retry_command grok
         recovered grok",
    );
    let mut script = Script::new();
    script.play(&format!("say hello; {} ok; ok; ok", level_one()));
    let expected = "failed claude server_error\nskipped claude\nrecovered claude\n";
    assert!(script.measured.ends_with(expected), "{}", script.measured);
}

#[test]
fn whoever_failed_in_the_round_is_named_while_it_is_asked_again() {
    let told = Script::new().play(&format!("say hello; {} ok; ok; fail timeout; ok", level_one()));
    let after = told.split_once("grok begins").map(|(_, after)| after).unwrap_or_default();
    let status = after.lines().filter_map(|line| line.split_once("status ")).map(|(_, status)| status);
    check(
        &status.collect::<Vec<_>>().join("\n"),
        "grok is speaking… [3/3 members]
         Retrying failed speakers… (claude) [3/3 members]
         ⚠ claude error, retrying in 1s… (retry 1/3) [3/3 members]
         Retrying failed speakers… (claude) [3/3 members]
         claude is speaking… [3/3 members]
         [3/3 members]",
    );
}

#[test]
fn what_waited_when_a_session_ended_is_heard_when_it_goes_on() {
    let mut script = Script::new();
    let waiting = ["and then?".to_owned(), "why?".to_owned()].into();
    script.council = Coordinator::new(Setup { waiting, ..setup(&[("claude", "sonnet")]) });
    script.tell(Event::Tick);
    let told = script.play("ok; ok");
    let said: Vec<&str> = told.lines().filter(|line| line.contains("person") || line.contains("waits")).collect();
    assert_eq!(said, ["0s person: and then?", "0s person: why?"], "{told}");
    assert!(script.council.is_idle());
}

#[test]
fn a_pipe_cannot_fill_memory_with_messages() {
    let mut script = Script::new();
    for _ in 0..100 {
        script.play("say hello");
    }
    assert_eq!(script.council.waiting().count(), WAITING_MAX);
}

#[test]
fn a_chain_that_leaves_the_vendor_is_refused_at_the_start() {
    let catalogue = catalogue();
    let sonnet = catalogue.model("sonnet").unwrap();
    let chain: [Arc<str>; 1] = ["pro".into()];
    let error = Member::new("claude", &catalogue, sonnet, Some(&chain), VendorBoundary::Strict).unwrap_err();
    assert_eq!(error.to_string(), "`pro` in the chain of `sonnet` is made by `google`, not `anthropic`");
    assert!(Member::new("claude", &catalogue, sonnet, Some(&chain), VendorBoundary::Open).is_ok());
}
