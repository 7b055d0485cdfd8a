use super::*;
use crate::fixture::{self, all, load};

/// Name, what is seen frame by frame, whether it is whole, whether there is content, tokens in and out.
type Case = (&'static str, &'static str, bool, bool, (u64, u64));

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("chat/crlf.sse",                "pcccccppE",   true,  true,  (19, 10)),
    ("chat/cut.sse",                 "pc",          false, true,  (0, 0)),
    ("chat/cut_in_tool.sse",         "pctt",        false, true,  (0, 0)),
    ("chat/filtered.sse",            "pppE",        true,  true,  (0, 0)),
    ("chat/groq_error.sse",          "pX",          false, false, (0, 0)),
    ("chat/malformed.sse",           "pME",         false, false, (0, 0)),
    ("chat/no_terminator.sse",       "pcp",         true,  true,  (0, 0)),
    ("chat/ollama_tool.sse",         "tWE",         true,  true,  (0, 0)),
    ("chat/openrouter_error.sse",    "pppcXE",      false, true,  (0, 0)),
    ("chat/parallel_tools.sse",      "pcttttWpE",   true,  true,  (19, 10)),
    ("chat/refusal.sse",             "pcpE",        true,  true,  (0, 0)),
    ("chat/role_only.sse",           "ppE",         true,  false, (0, 0)),
    ("chat/text.sse",                "pcccccppE",   true,  true,  (19, 10)),
    ("chat/thinking.sse",            "pcccpE",      true,  true,  (6, 9)),
    ("chat/tool.sse",                "ttttttWE",    true,  true,  (0, 0)),
    ("chat/two_choices.sse",         "ppccppE",     true,  true,  (0, 0)),
    ("chat/vllm_error.sse",          "pXE",         false, false, (0, 0)),
    ("gemini/blocked.json",          "Ep",          true,  true,  (8, 0)),
    ("gemini/blocked.sse",           "E",           true,  true,  (8, 0)),
    ("gemini/cut.json",              "c",           false, true,  (11, 0)),
    ("gemini/cut.sse",               "c",           false, true,  (11, 0)),
    ("gemini/error_inside.json",     "cXp",         false, true,  (11, 0)),
    ("gemini/error_inside.sse",      "cX",          false, true,  (11, 0)),
    ("gemini/no_terminator.json",    "ccp",         false, true,  (11, 0)),
    ("gemini/no_terminator.sse",     "cc",          false, true,  (11, 0)),
    ("gemini/parallel_tools.json",   "Ep",          true,  true,  (11, 99)),
    ("gemini/parallel_tools.sse",    "E",           true,  true,  (11, 99)),
    ("gemini/role_only.json",        "Ep",          true,  false, (11, 0)),
    ("gemini/role_only.sse",         "E",           true,  false, (11, 0)),
    ("gemini/streamed_arguments.json", "ttWEp",     true,  true,  (11, 99)),
    ("gemini/streamed_arguments.sse", "ttWE",       true,  true,  (11, 99)),
    ("gemini/text.json",             "ccEp",        true,  true,  (11, 99)),
    ("gemini/text.sse",              "ccE",         true,  true,  (11, 99)),
    ("gemini/thinking.json",         "ccEp",        true,  true,  (11, 99)),
    ("gemini/thinking.sse",          "ccE",         true,  true,  (11, 99)),
    ("gemini/tool.json",             "ccEp",        true,  true,  (11, 99)),
    ("gemini/tool.sse",              "ccE",         true,  true,  (11, 99)),
    ("messages/cut.sse",             "ppc",         false, true,  (2125, 1)),
    ("messages/cut_in_thinking.sse", "ppc",         false, false, (2125, 1)),
    ("messages/cut_in_tool.sse",     "ppcptt",      false, true,  (2125, 1)),
    ("messages/error_first.sse",     "X",           false, false, (0, 0)),
    ("messages/error_inside.sse",    "pppcX",       false, true,  (2125, 1)),
    ("messages/no_terminator.sse",   "ppcpp",       false, true,  (2125, 15)),
    ("messages/parallel_tools.sse",  "ppcptttWttWpE", true, true, (2125, 60)),
    ("messages/refusal.sse",         "ppE",         true,  true,  (2125, 2)),
    ("messages/role_only.sse",       "ppE",         true,  false, (2125, 2)),
    ("messages/text.sse",            "pppcccppE",   true,  true,  (2125, 15)),
    ("messages/thinking.sse",        "ppcccppcppE", true,  true,  (2125, 15)),
    ("messages/tool.sse",            "ppcptttttWpE", true, true,  (2125, 89)),
    ("messages/web_search.sse",      "ppcpttWcppcppE", true, true, (2125, 15)),
    ("responses/cut.sse",            "ppppcc",      false, true,  (0, 0)),
    ("responses/cut_in_tool.sse",    "ppppcppptt",  false, true,  (0, 0)),
    ("responses/error_inside.sse",   "ppX",         false, false, (0, 0)),
    ("responses/failed.sse",         "ppppccX",     false, true,  (0, 0)),
    ("responses/incomplete.sse",     "ppppcpppE",   true,  true,  (37, 11)),
    ("responses/no_terminator.sse",  "ppppcppp",    false, true,  (0, 0)),
    ("responses/parallel_tools.sse", "ppppccppptttWttttWE", true, true, (37, 11)),
    ("responses/role_only.sse",      "ppE",         true,  false, (37, 11)),
    ("responses/text.sse",           "ppppcccpppE", true,  true,  (37, 11)),
    ("responses/thinking.sse",       "ppppcpppppcpppE", true, true, (37, 11)),
    ("responses/tool.sse",           "pptttttttWE", true,  true,  (37, 11)),
];

#[test]
fn what_is_seen() {
    let names: Vec<String> = all().into_iter().map(|fixture| fixture.name).collect();
    assert_eq!(names, CASES.iter().map(|case| case.0).collect::<Vec<_>>(), "every fixture has its line");
    for (name, expected, whole, content, (input_tokens, output_tokens)) in CASES {
        let fixture = load(name);
        let frames = fixture::frames(fixture.framing, &fixture.bytes);
        let (seen, watch) = fixture::watch(fixture.format, &frames);
        assert_eq!(&seen, expected, "{name}");
        assert_eq!((watch.is_whole(), watch.has_content()), (*whole, *content), "{name}");
        let usage = watch.usage().unwrap_or_default();
        assert_eq!(usage, Usage { input_tokens: *input_tokens, output_tokens: *output_tokens }, "{name}");
    }
}

#[test]
fn where_chunks_begin_and_end_changes_nothing() {
    for fixture in all() {
        let whole = fixture::frames(fixture.framing, &fixture.bytes);
        let (seen, _) = fixture::watch(fixture.format, &whole);
        for at in 0..=fixture.bytes.len() {
            let (frames, rest) = fixture::cut(fixture.framing, &fixture.bytes, [at]);
            assert!(frames == whole, "{} cut at {at}", fixture.name);
            let length: usize = frames.iter().map(|frame| frame.raw.len()).sum();
            assert_eq!(length + rest.len(), fixture.bytes.len());
        }
        let bytewise = fixture::cut(fixture.framing, &fixture.bytes, vec![1; fixture.bytes.len()]).0;
        assert!(bytewise == whole, "{} byte by byte", fixture.name);
        assert_eq!(fixture::watch(fixture.format, &bytewise).0, seen);
    }
}

fn see(format: Format, data: &str) -> (Seen, Watch) {
    let mut watch = Watch::keeping_text(format);
    let frames = fixture::frames(Framing::Sse, &format!("data: {data}\n\n").into());
    let seen = frames.iter().map(|frame| watch.see(frame)).last().unwrap();
    (seen, watch)
}

#[test]
fn single_events() {
    let chat = |delta: &str| format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    let cases = [
        (Format::Chat, chat(r#"{"role":"assistant","content":""}"#), Seen::Preamble),
        (Format::Chat, chat(r#"{"content":"","tool_calls":[],"function_call":null,"audio":null}"#), Seen::Preamble),
        (Format::Chat, chat(r#"{"reasoning":"Hm"}"#), Seen::Content),
        (Format::Chat, chat(r#"{"reasoning_details":[{"type":"reasoning.text","text":"Hm"}]}"#), Seen::Content),
        (Format::Chat, chat(r#"{"content":[{"type":"thinking","thinking":[]}]}"#), Seen::Content),
        (Format::Chat, chat(r#"{"function_call":{"name":"f","arguments":""}}"#), Seen::ToolPart),
        (Format::Chat, chat(r#"{"never_seen":{"a":1}}"#), Seen::Content),
        (Format::Chat, r#"{"choices":[{"index":0,"finish_reason":null}]}"#.into(), Seen::Preamble),
        (Format::Chat, r#"{"choices":[]}"#.into(), Seen::Preamble),
        (Format::Chat, r#"{"error":null,"choices":[{"delta":{"content":"a"}}]}"#.into(), Seen::Content),
        (Format::Chat, r#"{"error":"upstream"}"#.into(), Seen::Error),
        (Format::Chat, " [DONE] ".into(), Seen::End),
        (Format::Chat, "[1]".into(), Seen::Malformed),
        (Format::Chat, "oops".into(), Seen::Malformed),
        (Format::Chat, r#"{"choices":[]} trailing"#.into(), Seen::Malformed),
        (Format::Messages, r#"{"type":"vertex_event","x":1}"#.into(), Seen::Content),
        (Format::Messages, r#"{"error":{"message":"x"}}"#.into(), Seen::Error),
        (Format::Messages, r#"{"type":"message_stop"}"#.into(), Seen::End),
        (Format::Responses, r#"{"type":"keepalive"}"#.into(), Seen::Preamble),
        (Format::Responses, r#"{"type":"response.audio.delta","delta":"UklG"}"#.into(), Seen::Content),
        (Format::Responses, "[DONE]".into(), Seen::Preamble),
        (Format::Responses, r#"{"error":{"message":"x"}}"#.into(), Seen::Error),
        (
            Format::Responses,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call"}}"#.into(),
            Seen::ToolWhole,
        ),
        (Format::Gemini, r#"{"usageMetadata":{"promptTokenCount":1}}"#.into(), Seen::Preamble),
        (Format::Gemini, r#"{"error":{"code":503}}"#.into(), Seen::Error),
        (Format::Gemini, "null".into(), Seen::Malformed),
    ];
    for (format, data, expected) in cases {
        assert_eq!(see(format, &data).0, expected, "{format:?} {data}");
    }
}

#[test]
fn a_tool_call_the_provider_never_finished_is_not_released_by_the_end() {
    let fixture = load("chat/cut_in_tool");
    let mut bytes = fixture.bytes.to_vec();
    bytes.extend_from_slice(b"data: [DONE]\n\n");
    let (seen, watch) = fixture::watch(Format::Chat, &fixture::frames(Framing::Sse, &bytes.into()));
    assert_eq!(seen, "pcttM");
    assert!(!watch.is_whole());
}

#[test]
fn the_tool_whose_call_is_open_is_known_by_name() {
    let tools = |format: Format, events: &[&str]| {
        let written: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let mut watch = Watch::new(format);
        let told = fixture::frames(Framing::Sse, &written.into()).into_iter().map(|frame| {
            watch.see(&frame);
            let tool = watch.last_tool().unwrap_or("-").to_owned();
            if watch.in_call() { format!("in {tool}") } else { tool }
        });
        told.collect::<Vec<_>>()
    };
    let chat = |delta: &str| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#);
    let chat = [
        chat(r#"{"content":"Hm"}"#),
        chat(r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"bash","arguments":""}}]}"#),
        chat(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"name\":\"no\""}}]}"#),
        chat(r#"{"tool_calls":[{"index":1,"id":"d","custom":{"name":"edit","input":""}}]}"#),
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned(),
        chat(r#"{"function_call":{"name":"old","arguments":""}}"#),
        chat("[]") + "oops",
    ];
    let chat: Vec<&str> = chat.iter().map(String::as_str).collect();
    assert_eq!(tools(Format::Chat, &chat), ["-", "in bash", "in bash", "in edit", "edit", "in old", "in old"]);
    let messages = [
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"bash","input":{}}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t"}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    assert_eq!(tools(Format::Messages, &messages), ["in bash", "in bash", "bash", "in -", "in -"]);
    let responses = [
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","name":"bash"}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"x"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"custom_tool_call","name":"bash"}}"#,
    ];
    assert_eq!(tools(Format::Responses, &responses), ["in bash", "in bash", "bash"]);
    let part = |call: &str| format!(r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{call}}}]}}}}]}}"#);
    let gemini = [r#"{"name":"bash","willContinue":true}"#, r#"{"willContinue":true}"#, "{}"].map(part);
    let gemini: Vec<&str> = gemini.iter().map(String::as_str).collect();
    assert_eq!(tools(Format::Gemini, &gemini), ["in bash", "in bash", "bash"]);
}

#[test]
fn a_name_no_policy_could_speak_of_is_not_kept() {
    let name = "x".repeat(TOOL_BYTES_MAX + 1);
    let (seen, watch) = see(
        Format::Messages,
        &format!(r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","name":"{name}"}}}}"#),
    );
    assert_eq!((seen, watch.in_call(), watch.last_tool()), (Seen::ToolPart, true, None));
}

#[test]
fn thinking_alone_is_no_answer() {
    let (seen, watch) = see(Format::Chat, r#"{"choices":[{"delta":{"reasoning":"Hm"},"finish_reason":"stop"}]}"#);
    assert_eq!(seen, Seen::Content);
    assert!(watch.is_whole() && !watch.has_content());
}

#[test]
fn what_was_sent() {
    let sent = |name: &str| {
        let fixture = load(name);
        let frames = fixture::frames(fixture.framing, &fixture.bytes);
        let (_, watch) = fixture::watch(fixture.format, &frames);
        let sent = watch.sent();
        (sent.text().unwrap().to_owned(), sent.resumable(), sent.regenerable())
    };
    assert_eq!(sent("chat/cut"), ("Hello".into(), true, true));
    assert_eq!(sent("messages/cut"), ("Hello".into(), true, true));
    assert_eq!(sent("responses/cut"), ("Hi there".into(), true, true));
    assert_eq!(sent("gemini/cut"), ("Hello".into(), true, true));
    assert_eq!(sent("gemini/cut.json"), ("Hello".into(), true, true));
    assert_eq!(sent("chat/text").0, "Hello! How can I\n\n\"help\" – 你好 🙂?");
    // The call was held back: the client has only the text.
    assert_eq!(sent("messages/cut_in_tool"), ("Let me look.".into(), true, true));
    assert_eq!(sent("chat/cut_in_tool"), ("Let me see.".into(), true, true));
    assert_eq!(sent("messages/cut_in_thinking"), (String::new(), false, false));
    assert_eq!(sent("messages/thinking"), ("27 * 453 = 12,231".into(), false, true));
    assert_eq!(sent("messages/tool"), ("Okay, let's check.".into(), false, false));
    assert_eq!(sent("chat/two_choices"), ("AB".into(), false, false));
}

#[test]
fn text_beyond_the_bound_is_not_kept() {
    let mut watch = Watch::keeping_text(Format::Chat);
    let long = "x".repeat(100_000);
    let chunk = format!(r#"data: {{"choices":[{{"delta":{{"content":"{long}"}}}}]}}"#) + "\n\n";
    for frame in fixture::frames(Framing::Sse, &chunk.repeat(4).into()) {
        assert_eq!(watch.see(&frame), Seen::Content);
    }
    assert_eq!((watch.sent().text(), watch.sent().text_bytes()), (None, 400_000));
    assert!(!watch.sent().resumable() && !watch.sent().regenerable());
}

#[test]
fn models_and_reasons() {
    for (name, model, reason) in [
        ("chat/text", "gpt-4o-2024-08-06", Some("stop")),
        ("chat/cut", "gpt-4o-2024-08-06", None),
        ("messages/refusal", "claude-sonnet-4-5-20250929", Some("refusal")),
        ("responses/incomplete", "gpt-5-2025-08-07", Some("max_output_tokens")),
        ("responses/text", "gpt-5-2025-08-07", Some("completed")),
        ("gemini/blocked", "gemini-2.5-flash", Some("PROHIBITED_CONTENT")),
    ] {
        let fixture = load(name);
        let (_, watch) = fixture::watch(fixture.format, &fixture::frames(fixture.framing, &fixture.bytes));
        assert_eq!((watch.model(), watch.stop_reason()), (Some(model), reason), "{name}");
    }
}

proptest::proptest! {
    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400), json in noise()) {
        for format in Format::ALL {
            let framed = [b"data: ", &bytes[..], b"\n\ndata: ", json.as_bytes(), b"\n\n"].concat();
            fixture::watch(format, &fixture::frames(Framing::Sse, &framed.into()));
            let array = [b"[", json.as_bytes(), b",", &bytes[..], b"]"].concat();
            fixture::watch(format, &fixture::frames(Framing::JsonArray, &array.into()));
        }
    }
}

/// JSON made of the words the formats use, in any order and place.
fn noise() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    const WORDS: &[&str] = &[
        "type",
        "choices",
        "delta",
        "index",
        "message",
        "content",
        "parts",
        "candidates",
        "finishReason",
        "error",
        "item",
        "response.output_item.done",
        "content_block_start",
        "tool_use",
        "function_call",
        "text",
        "usage",
        "output_index",
    ];
    let word = || proptest::sample::select(WORDS);
    let leaf =
        prop_oneof![word().prop_map(|word| format!("\"{word}\"")), "-?[0-9]{1,3}", "null|true|false|\\{\\}|\\[\\]"];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        let entry = (word(), inner.clone()).prop_map(|(word, value)| format!("\"{word}\":{value}"));
        prop_oneof![
            proptest::collection::vec(entry, 0..5).prop_map(|entries| format!("{{{}}}", entries.join(","))),
            proptest::collection::vec(inner, 0..5).prop_map(|values| format!("[{}]", values.join(","))),
        ]
    })
}

/// Events of a stream, of which `TEXT` stands for any text.
const EVENTS: [(Format, &[&str]); 2] = [
    (
        Format::Chat,
        &[
            r#"data: {"id":"a","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":null}]}"#,
            r#"data: {"id":"a","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":"stop"}]}"#,
            r#"data: {"choices":[{"index":1,"delta":{"content":"TEXT"}}],"usage":{"prompt_tokens":3,"completion_tokens":5}}"#,
            r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0}]}}]}"#,
            r#"data: {"choices":[{"index":0,"delta":{"reasoning":"TEXT"}}]}"#,
            r#"data: {"error":{"message":"TEXT"}}"#,
            "event: error\ndata: {\"choices\":[{\"delta\":{\"content\":\"TEXT\"}}]}",
            "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"TEXT\"}}]}",
            ": ping",
            "data: [DONE]",
        ],
    ),
    (
        Format::Messages,
        &[
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}"#,
            r#"data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"TEXT"}}"#,
            r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"TEXT"}}"#,
            r#"data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","name":"f"}}"#,
            r#"data: {"type":"content_block_stop","index":2}"#,
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"TEXT"}}"#,
            "event: ping\ndata: {\"type\":\"ping\"}",
            r#"data: {"type":"message_stop"}"#,
        ],
    ),
];

proptest::proptest! {
    /// A frame that is only compared with the last one means what it means to who reads it.
    #[test]
    fn alike_frames_mean_the_same(
        which in 0..EVENTS.len(),
        picked in proptest::collection::vec((0..16_usize, 1..4_usize), 0..12),
        texts in proptest::collection::vec(r#"[a-z é"\\,]{0,4}|\\\\n|\\\\""#, 1..6),
    ) {
        let (format, events) = EVENTS[which];
        let picked = picked.iter().flat_map(|(event, times)| std::iter::repeat_n(events[event % events.len()], *times));
        let written: Vec<String> = picked
            .zip(texts.iter().cycle())
            .map(|(event, text)| format!("{}\n\n", event.replace("TEXT", text)))
            .collect();
        let (mut watch, mut reader) = (Watch::keeping_text(format), Watch::keeping_text(format));
        for frame in &fixture::frames(Framing::Sse, &written.concat().into()) {
            reader.alike.forget();
            proptest::prop_assert_eq!(watch.see(frame), reader.see(frame), "{:?}", frame.raw);
            proptest::prop_assert_eq!(format!("{:?}{:?}", watch.known, watch.state), format!("{:?}{:?}", reader.known, reader.state));
        }
    }
}

#[test]
fn the_text_of_alike_frames_is_kept() {
    let chunk = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let written: String = ["One ", "two ", "", "th\\u0072ee ", "four"].map(chunk).concat();
    let mut watch = Watch::keeping_text(Format::Chat);
    let seen: Vec<Seen> = fixture::frames(Framing::Sse, &written.into()).iter().map(|frame| watch.see(frame)).collect();
    assert_eq!(seen, [Seen::Content, Seen::Content, Seen::Preamble, Seen::Content, Seen::Content]);
    assert_eq!(watch.sent().text(), Some("One two three four"));
}
