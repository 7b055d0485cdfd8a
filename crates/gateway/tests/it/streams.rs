//! The promise of a stream, mode by mode and fault by fault.

use http_body_util::BodyExt as _;
use serde_json::json;
use steadfast_fake::End;

use crate::harness::{LIMIT, Speaks, Stage, all_at_once, post, with};

/// Faults after some content: what each does to the stream.
const AFTER: [&str; 7] = ["cut=5", "cutfin=5", "end=5", "malformed=5", "error=5", "stall=5", "no-done"];

/// Faults before any content.
const BEFORE: [&str; 10] = [
    "cut=0",
    "end=0",
    "malformed=0",
    "error=0",
    "nocontent",
    "empty",
    "error200",
    "stall",
    "stall-after-headers",
    "stall=0",
];

/// A policy that soon notices silence, with `more` in it.
pub(crate) fn quick(more: &str) -> String {
    noticing_after("500ms", more)
}

/// The same, which notices silence after a while.
fn noticing_after(silence: &str, more: &str) -> String {
    let timeouts = format!("timeouts = {{ first_token = \"{silence}\", idle = \"{silence}\" }}");
    format!("[projects.default]\npolicy = \"quick\"\n[policies.quick]\n{timeouts}\n{more}")
}

/// A chat stream has said all with its `finish_reason`: without `[DONE]` it is whole (docs/gateway.md).
fn is_harmless(speaks: Speaks, fault: &str) -> bool {
    fault == "no-done" && matches!(speaks, Speaks::Chat)
}

#[tokio::test]
async fn what_fails_before_the_first_content_is_never_noticed() {
    for speaks in Speaks::STREAMS {
        for mode in ["fast", "safe", "regenerate", "resume"] {
            let stage = Stage::usual(&quick("")).await;
            for fault in BEFORE {
                stage.script("a", &format!("{fault} x1; ok"));
                let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", mode)).await;
                let text = answer.text();
                let told = format!(
                    "{speaks:?} {mode} {fault} {:?}\n{text}",
                    stage.events("decision", &["kind", "rule", "step"])
                );
                assert_eq!(answer.status, 200, "{told}");
                assert!(answer.clean && speaks.is_whole(&text) && speaks.error(&text).is_none(), "{told}");
                assert_eq!(speaks.text(&text).matches("word-1 ").count(), 1, "{told}");
            }
        }
    }
}

#[tokio::test]
async fn fast_ends_a_broken_stream_with_a_typed_error_and_never_as_success() {
    for speaks in Speaks::STREAMS {
        let stage = Stage::usual(&quick("breaker = { adaptive = false, failures = 50 }")).await;
        for fault in AFTER.into_iter().filter(|fault| !is_harmless(speaks, fault)) {
            stage.script("a", &format!("{fault} x1; ok"));
            // A turn of its own each: one that breaks off again and again would be a loop.
            let turn = with(speaks.request(true), "x-steadfast-session", fault);
            let answer = stage.send(turn).await;
            let text = answer.text();
            let told = format!("{speaks:?} {fault} {text}");
            assert_eq!(answer.status, 200, "{told}");
            assert!(speaks.text(&text).contains("word-1"), "{told}");
            assert!(!speaks.is_whole(&text), "{told}");
            let error = speaks.error(&text).unwrap_or_else(|| panic!("no error event: {told}"));
            assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{told}");
            // Gemini CLI passes over the event and hears the bare words before it.
            let bare = text.lines().filter(|line| line.starts_with("{\"error\"")).count();
            assert_eq!(bare, usize::from(matches!(speaks, Speaks::Gemini)), "{told}");
        }
        let broken = AFTER.iter().filter(|fault| !is_harmless(speaks, fault)).count();
        assert_eq!(stage.fake.count("a"), broken, "what was sent cannot be taken back, so nothing is tried again");
    }
}

#[tokio::test]
async fn safe_holds_the_turn_back_so_that_nothing_is_ever_seen_of_a_failure() {
    for speaks in Speaks::STREAMS {
        let stage = Stage::usual(&quick("stream = \"safe\"")).await;
        for fault in AFTER.into_iter().filter(|fault| !is_harmless(speaks, fault)) {
            stage.script("a", &format!("{fault} x1; ok"));
            let answer = stage.send(speaks.request(true)).await;
            let text = answer.text();
            assert!(speaks.is_whole(&text) && speaks.error(&text).is_none(), "{speaks:?} {fault} {text}");
            assert_eq!(speaks.text(&text).matches("word-1 ").count(), 1, "{speaks:?} {fault} {text}");
        }
    }
}

#[tokio::test]
async fn regenerate_marks_the_break_and_sends_the_whole_answer() {
    for speaks in Speaks::STREAMS {
        let stage = Stage::usual(&quick("")).await;
        for fault in AFTER.into_iter().filter(|fault| !is_harmless(speaks, fault)) {
            stage.script("a", &format!("{fault} x1; ok"));
            let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", "regenerate")).await;
            let text = answer.text();
            let told = format!("{speaks:?} {fault} {text}");
            assert!(speaks.is_whole(&text) && speaks.error(&text).is_none(), "{told}");
            let said = speaks.text(&text);
            let (before, after) = said.split_once("[Connection lost mid-response]").unwrap_or_else(|| panic!("{told}"));
            assert!(before.contains("word-1") && after.contains("word-1 word-2"), "{told}");
        }
    }
}

#[tokio::test]
async fn resume_continues_plain_text_without_a_seam() {
    for speaks in Speaks::STREAMS {
        let stage = Stage::usual(&quick("")).await;
        stage.script("a", "ok");
        let expected = speaks.text(&stage.send(speaks.request(true)).await.text());
        for fault in AFTER.into_iter().filter(|fault| !is_harmless(speaks, fault)) {
            stage.script("a", &format!("{fault} x1; ok"));
            let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", "resume")).await;
            let text = answer.text();
            assert!(speaks.is_whole(&text) && speaks.error(&text).is_none(), "{speaks:?} {fault} {text}");
            assert_eq!(speaks.text(&text), expected, "{speaks:?} {fault}");
        }
    }
}

#[tokio::test]
async fn a_stream_may_break_more_than_once() {
    for speaks in Speaks::STREAMS {
        let stage = Stage::usual("").await;
        stage.script("a", "ok");
        let expected = speaks.text(&stage.send(speaks.request(true)).await.text());
        stage.script("a", "cut=5 x1; error=9 x1; ok");
        let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", "resume")).await.text();
        assert!(speaks.is_whole(&answer) && speaks.error(&answer).is_none(), "{speaks:?} {answer}");
        assert_eq!(speaks.text(&answer), expected, "{speaks:?}");
        stage.script("a", "cut=5 x1; error=9 x1; ok");
        let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", "regenerate")).await.text();
        assert!(speaks.is_whole(&answer) && speaks.error(&answer).is_none(), "{speaks:?} {answer}");
        let said = speaks.text(&answer);
        let parts: Vec<&str> = said.split("[Connection lost mid-response]").map(str::trim).collect();
        assert_eq!((parts.len(), parts[2]), (3, expected.as_str()), "{speaks:?} {said}");
        stage.script("a", "cut=5");
        let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", "resume")).await.text();
        assert!(speaks.error(&answer).is_some() || speaks.is_whole(&answer), "{speaks:?} {answer}");
    }
}

#[tokio::test]
async fn a_continued_answer_may_come_from_another_model() {
    let stage = Stage::usual("[models.claude-3-5-sonnet-one]\nvendor = \"anthropic\"\nendpoints = [\"a\"]\nfallback = [\"claude-3-5-haiku-two\"]\n[models.claude-3-5-haiku-two]\nvendor = \"anthropic\"\nendpoints = [\"b\"]").await;
    stage.script("a", "cut=5");
    let mut request = Speaks::Messages.request(true);
    let body = r#"{"messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":100,"model":"claude-3-5-sonnet-one"}"#;
    *request.body_mut() = bytes::Bytes::from(body).into();
    let answer = stage.send(with(request, "x-steadfast-stream", "resume")).await.text();
    assert!(Speaks::Messages.is_whole(&answer) && Speaks::Messages.error(&answer).is_none(), "{answer}");
    assert!(stage.fake.count("b") == 1 && Speaks::Messages.text(&answer).contains("word-5 word-6"), "{answer}");
}

#[tokio::test]
async fn an_answer_whose_end_alone_was_lost_is_ended() {
    let model = "[models.claude-3-5-haiku-x]\nvendor = \"anthropic\"\nendpoints = [\"a\"]";
    let stage = Stage::usual(model).await;
    stage.script("a", "words=5 end=5 x1; words=5");
    let mut request = Speaks::Messages.request(true);
    let body =
        r#"{"model":"claude-3-5-haiku-x","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":100}"#;
    *request.body_mut() = bytes::Bytes::from(body).into();
    let answer = stage.send(with(request, "x-steadfast-stream", "resume")).await.text();
    assert!(Speaks::Messages.is_whole(&answer) && Speaks::Messages.error(&answer).is_none(), "{answer}");
    assert_eq!(Speaks::Messages.text(&answer), "word-1 word-2 word-3 word-4 word-5");
}

/// Faults inside the call of `answer=tool words=5`, or of `answer=text+tool words=5`; Gemini's is a single event.
fn in_call(speaks: Speaks, answer: &str) -> [String; 4] {
    let words = if answer == "text+tool" { 5 } else { 0 };
    let inside = words + if matches!(speaks, Speaks::Gemini | Speaks::Array) { 0 } else { 2 };
    let faults = ["cut-in-tool", "end-in-tool", "stall=N", "malformed=N"];
    faults.map(|fault| format!("answer={answer} words=5 {}", fault.replace('N', &inside.to_string())))
}

#[tokio::test]
async fn a_tool_call_arrives_whole_or_not_at_all() {
    let modes = ["fast", "safe", "regenerate", "resume"];
    let cases = Speaks::STREAMS.into_iter().flat_map(|speaks| modes.map(|mode| (speaks, mode)));
    all_at_once(cases, |(speaks, mode)| async move {
        let ask = || with(post(speaks.path(true), &speaks.body_with_tool()), "x-steadfast-stream", mode);
        for answer in ["tool", "text+tool"] {
            for fault in in_call(speaks, answer) {
                // Long enough that a busy machine does not make silence of its own.
                let policy = if fault.contains("stall") { noticing_after("3s", "") } else { String::new() };
                let stage = Stage::usual(&policy).await;
                stage.script("a", &format!("{fault} x1; answer={answer} words=5"));
                stage.script("b", &format!("answer={answer} words=5"));
                let text = stage.send(ask()).await.text();
                let told = format!("{speaks:?} {mode} {fault} {text}");
                // Of a call of Gemini's, which is a single event, nothing had come: only text broke off.
                let known = !matches!(speaks, Speaks::Gemini | Speaks::Array);
                let noticed = answer != "tool" && (mode == "fast" || mode == "resume" && known);
                assert_eq!((speaks.error(&text).is_some(), speaks.is_whole(&text)), (noticed, !noticed), "{told}");
                assert_eq!(text.contains("weather"), !noticed, "no piece of the call: {told}");
                assert_eq!(stage.fake.requests().len(), if noticed { 1 } else { 2 }, "{told}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_step_for_a_tool_is_taken_where_a_call_of_that_tool_breaks() {
    // Gemini's call is a single event: where it does not come, nobody knows whose it was.
    all_at_once([Speaks::Chat, Speaks::Responses, Speaks::Messages], |speaks| async move {
        for (fault, tool) in in_call(speaks, "tool").iter().flat_map(|fault| [(fault, "weather"), (fault, "bash")]) {
            let steps = format!(r#"[{{ fallback = true, tool = "{tool}" }}, {{ retry = 1, every = "20ms" }}]"#);
            let on = ["stream_interrupted", "network_transient", "bad_output", "timeout"];
            let on: String = on.iter().map(|kind| format!("{kind} = {steps}\n")).collect();
            let stage = Stage::usual(&noticing_after("3s", &format!("[policies.quick.on]\n{on}"))).await;
            stage.script("a", &format!("{fault} x1; answer=tool words=5"));
            stage.script("b", "answer=tool words=5");
            let text = stage.send(post(speaks.path(true), &speaks.body_with_tool())).await.text();
            let decided = stage.events("decision", &["step", "passed_over"]);
            let told = format!("{speaks:?} {fault} {tool}: {decided:?} {text}");
            assert!(speaks.is_whole(&text) && speaks.error(&text).is_none(), "{told}");
            let expected = match tool {
                "weather" => "fallback null",
                _ => "retry the step is for another tool",
            };
            assert_eq!(decided, [expected], "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_step_for_a_tool_is_passed_over_where_text_breaks_or_a_call_was_whole() {
    let steps = r#"[{ give_up = true, tool = "weather" }, { retry = 1, every = "20ms" }]"#;
    let policy = quick(&format!("stream = \"safe\"\n[policies.quick.on]\nstream_interrupted = {steps}"));
    for (speaks, fault) in [(Speaks::Chat, "answer=text+tool cut=2"), (Speaks::Messages, "answer=tool no-done")] {
        let stage = Stage::usual(&policy).await;
        stage.script("a", &format!("{fault} x1; answer=tool words=5"));
        let text = stage.send(post(speaks.path(true), &speaks.body_with_tool())).await.text();
        let decided = stage.events("decision", &["kind", "step"]);
        assert!(speaks.is_whole(&text) && speaks.error(&text).is_none(), "{speaks:?} {fault} {decided:?} {text}");
        assert_eq!(decided, ["stream_interrupted retry"], "{speaks:?} {fault} {text}");
    }
}

#[tokio::test]
async fn nothing_is_resumed_inside_json_or_thinking() {
    for speaks in Speaks::ALL {
        let mut json = speaks.body(true);
        match speaks {
            Speaks::Chat => json["response_format"] = json!({ "type": "json_object" }),
            Speaks::Responses => json["text"] = json!({ "format": { "type": "json_object" } }),
            Speaks::Gemini | Speaks::Array => {
                json["generationConfig"] = json!({ "responseMimeType": "application/json" });
            }
            Speaks::Messages => {
                let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
                json["output_config"] = json!({ "format": { "type": "json_schema", "schema": schema } });
            }
        }
        for (body, script) in [(json, "answer=json"), (speaks.body(true), "answer=thinking")] {
            let stage = Stage::usual("").await;
            stage.script("a", &format!("{script} cut=3 x1; {script}"));
            let request = with(post(speaks.path(true), &body), "x-steadfast-stream", "resume");
            let text = stage.send(request).await.text();
            let told = format!("{speaks:?} {script} {text}");
            assert!(speaks.error(&text).is_some() && !speaks.is_whole(&text), "{told}");
            assert_eq!(stage.fake.requests().len(), 1, "{told}");
        }
    }
}

#[tokio::test]
async fn a_stream_without_its_end_is_told_by_a_rule_of_our_own() {
    let stage = Stage::usual("").await;
    stage.script("a", "end=5");
    stage.send(Speaks::Messages.request(true)).await;
    assert_eq!(
        stage.events("decision", &["kind", "rule", "from"])[0].split(' ').take(2).collect::<Vec<_>>(),
        ["stream_interrupted", "stream.cut"]
    );
}

#[tokio::test]
async fn silence_is_told_as_a_timeout_and_another_model_answers() {
    for fault in ["stall", "stall-after-headers", "stall=0"] {
        let stage = Stage::usual(&quick("")).await;
        stage.script("a", fault);
        let answer = stage.send(Speaks::Messages.request(true)).await;
        assert_eq!(answer.header("x-steadfast-model"), "claude-two", "{fault} {}", answer.text());
        let kinds = stage.events("decision", &["kind"]);
        assert!(kinds.iter().all(|kind| kind == "timeout" || kind == "stream_interrupted"), "{fault} {kinds:?}");
    }
}

#[tokio::test]
async fn an_answer_in_one_piece_reaches_a_client_that_asked_for_a_stream_as_one() {
    for speaks in Speaks::ALL {
        for mode in ["fast", "safe", "regenerate", "resume"] {
            let stage = Stage::usual("").await;
            stage.script("a", "no-stream");
            let answer = stage.send(with(speaks.request(true), "x-steadfast-stream", mode)).await;
            let text = answer.text();
            let told = format!("{speaks:?} {mode} {:?} {text}", stage.events("decision", &["kind", "rule"]));
            assert!(answer.status == 200 && answer.clean, "{told}");
            assert!(answer.header("content-type").starts_with("text/event-stream"), "{told}");
            assert!(speaks.is_whole(&text) && speaks.error(&text).is_none(), "{told}");
            assert!(speaks.text(&text).contains("word-1 word-2"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_cancels_the_upstream_call_at_once() {
    let stage = Stage::usual("").await;
    stage.script("a", "words=10000 delay=20ms");
    let mut response = stage.open(Speaks::Messages.request(true)).await;
    response.body_mut().frame().await.unwrap().unwrap();
    drop(response);
    assert!(stage.fake.wait_for(|seen| matches!(seen[0].end, End::ClientLeft { .. }), LIMIT).await);
    assert_eq!(stage.events("outcome", &["outcome"]), ["cancelled"]);
}

#[tokio::test]
async fn a_slow_reader_slows_the_upstream_and_not_the_heap() {
    // Held back until it is whole, an answer is so only up to a bound: then it goes on as it comes.
    for mode in ["fast", "safe"] {
        let stage = Stage::usual("").await;
        stage.script("a", "huge=40MB");
        let asked = || with(Speaks::Messages.request(true), "x-steadfast-stream", mode);
        let mut slow = stage.open(asked()).await;
        slow.body_mut().frame().await.unwrap().unwrap();
        let quick = stage.send(asked()).await;
        assert!(quick.clean && quick.body.len() > 40 << 20, "{mode}: {}", quick.body.len());
        let ends: Vec<End> = stage.fake.requests().into_iter().map(|seen| seen.end).collect();
        // The one who reads has everything by now; what the other does not read is still at the provider.
        assert_eq!(ends, [End::Running, End::Answered], "{mode}");
    }
}

#[tokio::test]
async fn compressed_answers_and_http2_are_understood() {
    let stage = Stage::usual("[endpoints.h2]\ndialect = \"openai\"\nurl = \"FAKE/@h2\"\nhttp2 = true\n[models.two]\nvendor = \"openai\"\nendpoints = [\"h2\"]").await;
    stage.script("a", "gzip");
    for stream in [false, true] {
        let answer = stage.send(Speaks::Messages.request(stream)).await;
        assert!(answer.status == 200 && answer.text().contains("word-1"), "{:?} {}", answer.headers, answer.text());
        assert_eq!(answer.header("content-encoding"), "");
    }
    for stream in [false, true] {
        let body =
            serde_json::json!({ "model": "two", "stream": stream, "messages": [{ "role": "user", "content": "hi" }] });
        let answer = stage.post("/v1/chat/completions", &body).await;
        assert!(answer.status == 200 && answer.text().contains("word-1"), "{}", answer.text());
    }
    assert!(stage.fake.requests().iter().filter(|seen| seen.endpoint == "h2").all(|seen| seen.http2));
}

#[tokio::test]
async fn an_upstream_gone_mad_does_no_harm() {
    for fault in ["endless-headers", "garbage", "huge=100MB", "wrong-length"] {
        for stream in [false, true] {
            if matches!(fault, "huge=100MB" | "wrong-length") && stream {
                // A stream may be long, and it is whole when its terminal event has come.
                continue;
            }
            let stage = Stage::usual("").await;
            stage.script("a", fault);
            let answer = stage.send(Speaks::Messages.request(stream)).await;
            let told = format!("{fault} {stream} {:?}", stage.events("decision", &["kind", "rule", "step"]));
            assert_eq!(answer.status, 200, "{told}");
            assert_eq!(answer.header("x-steadfast-model"), "claude-two", "{told}");
        }
    }
}
