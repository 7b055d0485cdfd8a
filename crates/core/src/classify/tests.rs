//! The table proves itself: every rule's example, and properties that hold for any input.

mod plain;

use std::collections::HashSet;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn classify(text: &str) -> Failure {
    Classifier::builtin().classify(&Evidence::text(text))
}

#[test]
fn numbers_of_any_length_are_numbers() {
    for received in ["7", "12", "123", "1234567"] {
        let body = format!("curl: (28) Operation timed out after 1001 milliseconds with {received} bytes received");
        assert_eq!(classify(&body).rule, "stream.silent", "{body}");
    }
    let none = "curl: (28) Operation timed out after 1001 milliseconds with 0 bytes received";
    assert_eq!(classify(none).kind, FailureKind::Timeout);
}

#[test]
fn a_whole_answer_may_talk_about_failures_and_nothing_need_be_said() {
    let answer = |status, body| {
        let evidence = Evidence { surface: Surface::Http, status: Some(status), ..Evidence::text(body) };
        Classifier::builtin().classify(&evidence).kind
    };
    let talk = r#"{"choices":[{"message":{"content":"HTTP 429 means too many requests"},"finish_reason":"stop"}]}"#;
    assert_eq!(answer(200, talk), FailureKind::Unknown);
    assert_eq!(answer(429, talk), FailureKind::RateLimit);
    assert_eq!(answer(200, ""), FailureKind::BadOutput);
    assert_eq!(answer(202, ""), FailureKind::Unknown);
    assert_eq!(answer(204, ""), FailureKind::Unknown);
}

#[test]
fn every_example_is_decided_by_its_rule() {
    let mut wrong = Vec::new();
    for rule in Classifier::builtin().rules() {
        let mut evidence = Evidence::text(rule.example);
        evidence.status = rule.statuses.first().copied();
        let failure = Classifier::builtin().classify(&evidence);
        if failure.rule != rule.name {
            wrong.push(format!("{} is decided by {} ({}): {}", rule.name, failure.rule, failure.kind, rule.example));
        }
        for text in rule.not {
            let failure = classify(text);
            if failure.rule == rule.name {
                wrong.push(format!("{} must not decide: {text}", rule.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_is_well_formed() {
    let mut names = HashSet::new();
    let mut wrong = Vec::new();
    for rule in rules::all() {
        assert!(names.insert(rule.name), "{} twice", rule.name);
        assert!(rule.name.contains('.') && !rule.example.is_empty(), "{}", rule.name);
        assert!(!rule.codes.is_empty() || !rule.texts.is_empty(), "{} matches nothing", rule.name);
        for text in rule.texts {
            let classes = text.replace("\\S", "").replace("\\W", "").replace("\\D", "");
            assert_eq!(classes, classes.to_ascii_lowercase(), "{}: texts are matched in lower case", rule.name);
            match phrase::Phrase::new(text) {
                Err(error) => wrong.push(format!("{}: {text}: {error:?}", rule.name)),
                Ok(phrase) => {
                    let is_word =
                        |start: &Vec<u8>| start.len() >= 2 && (start[0].is_ascii_alphanumeric() || start[0] >= 0xc2);
                    if !phrase.starts.iter().all(is_word) {
                        wrong.push(format!("{}: {text} begins with no word", rule.name));
                    }
                }
            }
        }
    }
    for wait in wait::WAITS {
        if let Err(error) = phrase::Phrase::new(&wait.expanded()) {
            wrong.push(format!("{}: {error:?}", wait.expanded()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rules_have_their_weight() {
    // A specific message beats a generic code, a code beats a status, a status beats a wrapper.
    let table = [
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
            "quota_exhausted",
        ),
        (
            429,
            r#"{"error":{"code":"rate_limit_exceeded","message":"Request too large for gpt-4o in organization x"}}"#,
            "context_limit",
        ),
        (429, "The engine is currently overloaded, please try again later", "overloaded"),
        (403, r#"{"error":{"code":"rate_limited"}}"#, "rate_limit"),
        (503, r#"{"error":{"type":"invalid_request_error"}}"#, "server_error"),
        (500, "upstream said: Error code: 429 - {}", "rate_limit"),
        (200, "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\"}}", "overloaded"),
        (404, "404 page not found", "invalid_request"),
        (404, r#"{"error":"model \"x\" not found"}"#, "model_unavailable"),
        (404, r#"{"error":{"message":"No such batch: batch_1"}}"#, "state_lost"),
        (418, "", "invalid_request"),
        (500, "driver.lua:266: path must be a string", "server_error"),
        (400, "path must be a string", "invalid_request"),
        (446, "", "content_filter"),
        (410, "", "state_lost"),
        // What is said in passing weighs less than a plain statement, but more than a status.
        (500, "Too Many Requests. Resulting in an empty response.", "rate_limit"),
        (503, "Response was interrupted due to a server error", "server_error"),
        (400, "Please reduce the length of the messages", "context_limit"),
        (400, "ConnectError: [unauthenticated] Error", "auth_error"),
        (302, "", "network_permanent"),
        (200, "<html><body>Welcome</body></html>", "bad_output"),
        (200, "", "bad_output"),
        (200, r#"{"usage":{"output_tokens":429},"stop_reason":"end_turn"}"#, "unknown"),
    ];
    for (status, body, expected) in table {
        let failure = Classifier::builtin().classify(&Evidence::http(status, &[], body.as_bytes()));
        assert_eq!(failure.kind.as_str(), expected, "{status} {body}: {}", failure.rule);
    }
}

/// Found by the fuzzer.
#[test]
fn a_quoted_word_that_is_longer_than_any_code_is_none() {
    let long = format!("error: '{} failed'", "r".repeat(100));
    assert_eq!(Classifier::builtin().classify(&Evidence::text(&long)).kind, FailureKind::Unknown);
}

#[test]
fn whoever_was_not_reached_is_not_to_blame() {
    let kind = |surface| {
        let evidence = Evidence { surface, ..Evidence::text("Request failed with error: Transport(Error)") };
        Classifier::builtin().classify(&evidence).kind
    };
    assert_eq!(kind(Surface::Network), FailureKind::NetworkTransient);
    assert_eq!(kind(Surface::Http), FailureKind::ServerError);
    assert_eq!(kind(Surface::Text), FailureKind::Unknown);
}

#[test]
fn a_time_limit_is_one_after_the_response_began_too() {
    let kind = |body| {
        let evidence = Evidence { surface: Surface::Stream, ..Evidence::text(body) };
        Classifier::builtin().classify(&evidence).kind
    };
    assert_eq!(kind("generate_reply timed out waiting for generation_created event."), FailureKind::Timeout);
    assert_eq!(kind("Stream idle timeout - partial response received"), FailureKind::StreamInterrupted);
}

#[test]
fn typed_evidence_counts_where_the_text_is_silent() {
    let kind = |evidence: &Evidence<'_>| Classifier::builtin().classify(evidence).kind;
    assert_eq!(kind(&Evidence::transport(Transport::Refused)), FailureKind::NetworkTransient);
    assert_eq!(kind(&Evidence::transport(Transport::BodyCut)), FailureKind::StreamInterrupted);
    let reset = Evidence { surface: Surface::Stream, ..Evidence::transport(Transport::Reset) };
    assert_eq!(kind(&reset), FailureKind::StreamInterrupted);
    let exit = |exit, output: &'static str| {
        kind(&Evidence { surface: Surface::Process, exit: Some(exit), ..Evidence::text(output) })
    };
    assert_eq!(exit(Exit::Code(0), ""), FailureKind::Unknown);
    assert_eq!(exit(Exit::Code(1), ""), FailureKind::ProcessDied);
    assert_eq!(exit(Exit::Code(75), ""), FailureKind::RateLimit);
    assert_eq!(exit(Exit::Code(124), ""), FailureKind::Timeout);
    assert_eq!(exit(Exit::Signal(2), ""), FailureKind::Cancelled);
    assert_eq!(exit(Exit::OutOfMemory, ""), FailureKind::ProcessDied);
    assert_eq!(exit(Exit::Code(1), "Error: 429 Too Many Requests"), FailureKind::RateLimit);
}

#[test]
fn the_same_words_mean_a_cut_stream_once_the_response_began() {
    let kind = |surface| {
        let evidence = Evidence { surface, ..Evidence::text("read: connection reset by peer") };
        Classifier::builtin().classify(&evidence).kind
    };
    assert_eq!(kind(Surface::Network), FailureKind::NetworkTransient);
    assert_eq!(kind(Surface::Stream), FailureKind::StreamInterrupted);
}

#[test]
fn a_users_rule_comes_first() {
    let rule = UserRule {
        name: Some("tea".to_owned()),
        status: Some(418),
        body: Some("short and\nstout".to_owned()),
        retry_after: Some(Duration::from_secs(9)),
        ..UserRule::new(FailureKind::Overloaded)
    };
    let by_code = UserRule { code: Some("E_POT".to_owned()), ..UserRule::new(FailureKind::Cancelled) };
    let by_header = UserRule {
        header: Some(("X-Pot".to_owned(), Some("cold".to_owned()))),
        ..UserRule::new(FailureKind::StateLost)
    };
    let by_pattern = UserRule {
        pattern: Some("^pot [0-9]+$".to_owned()),
        provider: Some("Kitchen".to_owned()),
        ..UserRule::new(FailureKind::BadOutput)
    };
    let classifier = Classifier::with_rules(&[rule, by_code, by_header, by_pattern]).unwrap();
    let body = br#"{"message":"I am Short and\nStout"}"#;
    let failure = classifier.classify(&Evidence::http(418, &[], body));
    assert_eq!((failure.kind, failure.rule.as_ref()), (FailureKind::Overloaded, "user.tea"));
    assert_eq!(failure.retry_after, Some(Duration::from_secs(9)));
    assert_eq!(classifier.classify(&Evidence::http(417, &[], body)).rule, "status.4xx");
    let kind = |evidence: &Evidence<'_>| classifier.classify(evidence).kind;
    assert_eq!(kind(&Evidence::text("E_POT: 429 Too Many Requests")), FailureKind::Cancelled);
    assert_eq!(kind(&Evidence::text("E_POTS")), FailureKind::Unknown);
    assert_eq!(kind(&Evidence::http(500, &[("x-pot", "Cold!")], b"")), FailureKind::StateLost);
    assert_eq!(kind(&Evidence { provider: Some("kitchen"), ..Evidence::text("pot 7") }), FailureKind::BadOutput);
    assert_eq!(kind(&Evidence::text("pot 7")), FailureKind::Unknown);
}

#[test]
fn a_bad_rule_is_refused_by_name() {
    let error = |rule: UserRule| Classifier::with_rules(&[rule]).err().map(|error| error.to_string()).unwrap();
    let rule = UserRule::new(FailureKind::Timeout);
    assert!(error(rule.clone()).starts_with("rule `1` says nothing to match"));
    assert!(
        error(UserRule { name: Some("x".into()), status: Some(7), ..rule.clone() })
            .starts_with("rule `x` has status 7")
    );
    assert!(error(UserRule { body: Some(" ".into()), ..rule.clone() }).contains("empty `body`"));
    assert!(error(UserRule { pattern: Some("(".into()), ..rule }).contains("bad pattern"));
}

proptest! {
    /// Pieces of real errors in any order: harder on the matcher than noise.
    #[test]
    fn any_mixture_of_examples_is_classified(picks in proptest::collection::vec(any::<proptest::sample::Index>(), 1..12)) {
        let rules = rules::all();
        let text: Vec<&str> = picks.iter().map(|pick| pick.get(&rules).example).collect();
        let text = text.join(" ");
        prop_assert_eq!(classify(&text), classify(&text));
    }

    /// Without a letter nothing is said, whatever the numbers.
    #[test]
    fn numbers_prove_nothing(text in "[0-9 .,:;/+*#-]{0,80}") {
        let text = format!("~ {text}");
        prop_assert_eq!(classify(&text).kind, FailureKind::Unknown);
    }

    /// A port, a count, a line: no number makes a failure of a harmless sentence.
    #[test]
    fn numbers_in_harmless_sentences_prove_nothing(number in 400_u32..600, form in 0..6_usize) {
        let forms = ["listening on port {}", "read {} bytes", "line {} of main.rs", "took {}ms", "{} tests passed", "worker {} is ready"];
        let text = forms[form].replace("{}", &number.to_string());
        prop_assert_eq!(classify(&text).kind, FailureKind::Unknown, "{}", text);
    }
}

#[test]
fn a_task_that_ends_with_a_status_of_its_own_has_not_died() {
    let task = |exit, body: &str| {
        let evidence = Evidence { surface: Surface::Process, exit: Some(exit), ..Evidence::text(body) };
        Classifier::builtin().classify_task(&evidence).kind
    };
    assert_eq!(task(Exit::Code(1), ""), FailureKind::Unknown);
    assert_eq!(task(Exit::Code(1), "2 tests failed"), FailureKind::Unknown);
    assert_eq!(task(Exit::Code(1), "Error: 429 Too Many Requests"), FailureKind::RateLimit);
    assert_eq!(task(Exit::Signal(11), ""), FailureKind::ProcessDied);
    assert_eq!(task(Exit::Code(137), ""), FailureKind::ProcessDied);
}

/// SPEC 1.3: at least 120 patterns, over these providers and network stacks.
#[test]
fn the_table_speaks_of_every_provider_and_stack_it_promises() {
    let rules: Vec<_> = Classifier::builtin().rules().collect();
    let patterns: usize = rules.iter().map(|rule| rule.texts.len() + rule.codes.len()).sum();
    assert!(rules.len() >= 120 && patterns >= 120, "{} rules, {patterns} patterns", rules.len());
    let promised = [
        "openai",
        "anthropic",
        "google",
        "azure",
        "bedrock",
        "openrouter",
        "groq",
        "mistral",
        "xai",
        "deepseek",
        "ollama",
        "vllm",
        "llamacpp",
        "node",
        "python",
        "go",
        "rust",
        "curl",
    ];
    for name in promised {
        let of_it = |rule: &&&Rule| rule.name.split('.').next() == Some(name);
        assert!(rules.iter().filter(of_it).count() > 0, "no rule of {name}");
    }
}

#[test]
fn a_sentence_about_a_setting_is_no_code() {
    let kind = |status, body: &str| Classifier::builtin().classify(&Evidence::http(status, &[], body.as_bytes())).kind;
    for body in [
        r#"{"error":"invalid timeout value"}"#,
        r#"{"error":"timeout must be positive"}"#,
        r#"{"message":"unknown field timeout"}"#,
        r#"{"message":"rate limit value must be a number"}"#,
        r#"{"code":"INVALID_TIMEOUT"}"#,
        r#"{"error":"INVALID_TIMEOUT_VALUE"}"#,
        r#"{"code":"UNSUPPORTED_TIMEOUT_PARAMETER"}"#,
        r#"{"type":"InvalidTimeoutValue"}"#,
    ] {
        assert_eq!(kind(400, body), FailureKind::InvalidRequest, "{body}");
    }
    assert_eq!(kind(402, r#"{"error":"plan canceled"}"#), FailureKind::QuotaExhausted);
    assert_eq!(kind(504, r#"{"code":"LLM_TIMEOUT"}"#), FailureKind::Timeout);
}

#[test]
fn what_sounds_like_a_manual_may_be_a_failure() {
    for text in [
        "Changes could not be saved: 503 Service Unavailable",
        "Updates are rate limited: 429 Too Many Requests",
        "RateLimitError: Too many requests. This error is returned when you exceed your rate limit",
        "The upstream proxy reconnects failed after 3 attempts: ECONNREFUSED",
        "By default the request timed out after 30 seconds",
    ] {
        assert_ne!(Classifier::builtin().classify(&Evidence::text(text)).kind, FailureKind::Unknown, "{text}");
    }
}
