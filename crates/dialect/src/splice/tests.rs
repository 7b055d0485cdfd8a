mod generated;
mod valid;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Framing;
use crate::fixture::{self, Fixture, all, load};
use generated::stream;
use valid::{Answer, answer};

/// What a client got before the break: the frames of a stream but those of an open tool call, and a watch of them.
fn sent(format: Format, frames: &[Frame]) -> (Vec<u8>, Watch) {
    let mut watch = Watch::keeping_text(format);
    let (mut out, mut held) = (Vec::new(), Vec::new());
    for frame in frames {
        held.extend_from_slice(&frame.raw);
        match watch.see(frame) {
            Seen::ToolPart => {}
            // Seen, and not sent on: this is the break.
            Seen::Error | Seen::Malformed => break,
            _ => out.append(&mut held),
        }
    }
    (out, watch)
}

/// What the client has in the end, if the second stream fits.
fn spliced(format: Format, mode: Mode, first: &[Frame], second: &[Frame]) -> Result<Vec<u8>, Diverged> {
    let (mut out, open) = sent(format, first);
    if mode == Mode::Again {
        out.extend(mark(format, &open));
    }
    let mut splice = Splice::new(format, mode, open);
    let mut watch = Watch::new(format);
    for frame in second {
        let seen = watch.see(frame);
        out.extend_from_slice(&splice.feed(frame, &seen)?);
    }
    assert!(splice.caught_up() || mode == Mode::Prefilled);
    Ok(out)
}

fn fixture_frames(fixture: &Fixture) -> Vec<Frame> {
    fixture::frames(fixture.framing, &fixture.bytes)
}

/// Every fixture that ends well, for a second stream.
fn seconds(fixture: &Fixture) -> Vec<Fixture> {
    let fits = |second: &Fixture| second.format == fixture.format && second.framing == fixture.framing;
    let whole = |second: &Fixture| fixture::watch(second.format, &fixture_frames(second)).1.is_whole();
    all().into_iter().filter(|second| fits(second) && whole(second)).collect()
}

#[test]
fn the_whole_answer_again_is_one_valid_stream_wherever_the_first_broke() {
    let mut tried = 0;
    for fixture in all() {
        let frames = fixture_frames(&fixture);
        for length in 1..frames.len() {
            let (_, open) = sent(fixture.format, &frames[..length]);
            // Azure's first chunk has no name yet: nothing has begun.
            let nameless = fixture.format == Format::Chat && open.id().is_none();
            if nameless || !open.sent().regenerable() || open.is_whole() || open.stop_reason().is_some() {
                continue;
            }
            for second in seconds(&fixture) {
                let second_frames = fixture_frames(&second);
                let out = spliced(fixture.format, Mode::Again, &frames[..length], &second_frames).unwrap();
                let told = answer(fixture.format, fixture.framing, &out)
                    .unwrap_or_else(|problem| panic!("{} {length} {}: {problem}", fixture.name, second.name));
                let again = answer(fixture.format, fixture.framing, &second.bytes).unwrap();
                assert_eq!(told.text, format!("{}{MARK}{}", open.sent().text().unwrap(), again.text));
                assert_eq!(told.tools, again.tools, "{} {length} {}", fixture.name, second.name);
                assert_eq!(told.stop_reason, again.stop_reason);
                tried += 1;
            }
        }
    }
    assert!(tried > 500, "{tried}");
}

#[test]
fn a_stream_that_repeats_itself_goes_on_where_it_broke() {
    let mut tried = 0;
    for fixture in all() {
        let frames = fixture_frames(&fixture);
        let (_, whole) = fixture::watch(fixture.format, &frames);
        for length in 1..frames.len() {
            let (_, open) = sent(fixture.format, &frames[..length]);
            if !whole.is_whole() || !open.sent().resumable() || open.is_whole() || open.stop_reason().is_some() {
                continue;
            }
            let out = spliced(fixture.format, Mode::Reproduced, &frames[..length], &frames).unwrap();
            let told = answer(fixture.format, fixture.framing, &out)
                .unwrap_or_else(|problem| panic!("{} {length}: {problem}", fixture.name));
            assert_eq!(told, answer(fixture.format, fixture.framing, &fixture.bytes).unwrap(), "{}", fixture.name);
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried}");
}

#[test]
fn what_differs_is_not_gone_on_with() {
    for format in Format::ALL {
        let framing = Framing::Sse;
        let first = fixture::frames(framing, &stream(format, framing, 1, &["Hello ", "world"], None));
        let cut = generated::frames_with_text(format, &first);
        let (_, open) = sent(format, &first[..cut]);
        assert!(open.sent().resumable(), "{format:?} {:?}", open.sent());
        let text = open.sent().text().unwrap().to_owned();
        for (pieces, tool) in [
            (vec!["Hello World"], None),
            (vec!["Hi"], None),
            (vec!["Hell"], None),
            (vec![], Some("f")),
            (vec!["Hel"], Some("f")),
        ] {
            let second = fixture::frames(framing, &stream(format, framing, 2, &pieces, tool));
            let same = pieces.concat().starts_with(&text);
            let told = spliced(format, Mode::Reproduced, &first[..cut], &second);
            assert_eq!(told.is_ok(), same, "{format:?} {pieces:?} after {text:?}");
        }
    }
}

#[test]
fn without_the_text_nothing_is_gone_on_with() {
    let fixture = load("chat/text");
    let frames = fixture_frames(&fixture);
    let mut open = Watch::new(Format::Chat);
    let seen = frames[..3].iter().map(|frame| open.see(frame)).last().unwrap();
    let mut splice = Splice::new(Format::Chat, Mode::Reproduced, open);
    assert!(!splice.caught_up());
    assert_eq!(splice.feed(&frames[2], &seen), Err(Diverged));
}

#[test]
fn marks() {
    let marked = |name: &str, length: usize| {
        let fixture = load(name);
        let frames = fixture_frames(&fixture);
        let (_, open) = sent(fixture.format, &frames[..length]);
        String::from_utf8(mark(fixture.format, &open)).unwrap()
    };
    let delta = r#"{"delta":{"text":"\n\n[Connection lost mid-response]\n\n","type":"text_delta"},"index":INDEX,"type":"content_block_delta"}"#;
    let delta = |index: &str| format!("event: content_block_delta\ndata: {}\n\n", delta.replace("INDEX", index));
    assert_eq!(marked("messages/cut", 3), delta("0"));
    assert!(marked("messages/cut_in_tool", 6).ends_with(&delta("1")));
    let from_thinking = marked("messages/cut_in_thinking", 3);
    assert!(from_thinking.starts_with("event: content_block_stop") && from_thinking.ends_with(&delta("1")));
    assert!(marked("gemini/cut.json", 1).starts_with(",\r\n{"));
}

#[test]
fn prefills() {
    let body = br#"{"model":"x", "messages":[{"role":"user","content":"Hi"} ] ,"max_tokens":9}"#;
    let made = prefilled(Format::Messages, body, "claude-sonnet-4-5-20250929", "Hello \"you\" \n").unwrap();
    let text = r#"{"content":[{"text":"Hello \"you\"","type":"text"}],"role":"assistant"}"#;
    let expected = format!(r#"{{"model":"x", "messages":[{{"role":"user","content":"Hi"}} ,{text}] ,"max_tokens":9}}"#);
    assert_eq!(String::from_utf8(made).unwrap(), expected);

    let with = |key: &str, value: Value| {
        let mut body = json!({"messages": [{"role": "user", "content": "Hi"}]});
        body[key] = value;
        prefilled(Format::Messages, body.to_string().as_bytes(), "claude-3-5-haiku-latest", "Hello").is_some()
    };
    assert!(with("tools", json!([{"name": "f"}])));
    assert!(with("tool_choice", json!({"type": "auto"})));
    assert!(with("thinking", json!({"type": "disabled"})));
    assert!(!with("thinking", json!({"type": "enabled", "budget_tokens": 1024})));
    assert!(!with("tool_choice", json!({"type": "any"})));
    assert!(!with("output_config", json!({"format": {"type": "json_schema"}})));
    assert!(!with("messages", json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "{"}])));
    assert!(!with("messages", json!([])));
    assert!(!with("messages", json!("Hi")));
    assert_eq!(prefilled(Format::Messages, body, "claude-3-opus", " \n"), None);
    assert_eq!(prefilled(Format::Messages, b"{", "claude-3-opus", "Hello"), None);
    assert_eq!(prefilled(Format::Chat, body, "claude-3-opus", "Hello"), None);
}

#[test]
fn models_that_accept_a_prefill() {
    let accepts = |model: &str| {
        let body = br#"{"messages":[{"role":"user","content":"Hi"}]}"#;
        prefilled(Format::Messages, body, model, "Hello").is_some()
    };
    for model in [
        "claude-3-5-sonnet-20241022",
        "claude-opus-4-20250514",
        "claude-opus-4-1",
        "claude-sonnet-4",
        "claude-haiku-4-5",
        "anthropic/claude-sonnet-4.5",
        "us.anthropic.claude-sonnet-4-20250514-v1:0",
        "claude-3-7-sonnet@20250219",
    ] {
        assert!(accepts(model), "{model}");
    }
    for model in [
        "claude-opus-4-6",
        "claude-sonnet-4.6",
        "claude-sonnet-5",
        "claude-fable-5",
        "claude-opus-4-10",
        "gpt-5",
        "",
        "claude-",
    ] {
        assert!(!accepts(model), "{model}");
    }
}

fn pieces() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[a-c é🙂\n\"\\\\]{1,4}", 1..8)
}

proptest! {
    /// However the two streams cut the text into deltas, the client has it once and whole.
    #[test]
    fn a_repeated_text_is_told_once(first in pieces(), sizes in proptest::collection::vec(1..4_usize, 30), cut in 0..12_usize, tool: bool) {
        let text = first.concat();
        let mut second: Vec<String> = Vec::new();
        let mut left = text.chars();
        for size in sizes {
            second.push(left.by_ref().take(size).collect());
        }
        second.push(left.collect());
        second.retain(|piece| !piece.is_empty());
        for (format, framing) in generated::FORMS {
            let first = fixture::frames(framing, &stream(format, framing, 1, &first, None));
            let second = fixture::frames(framing, &stream(format, framing, 2, &second, tool.then_some("f")));
            let cut = cut.min(first.len());
            let (_, open) = sent(format, &first[..cut]);
            if !open.sent().resumable() || open.is_whole() || open.stop_reason().is_some() {
                continue;
            }
            let out = spliced(format, Mode::Reproduced, &first[..cut], &second).unwrap();
            let told = answer(format, framing, &out).map_err(TestCaseError::fail)?;
            prop_assert_eq!(&told.text, &text);
            prop_assert_eq!(told.tools, usize::from(tool));
        }
    }

    /// A prefill loses the whitespace at its end; the client does not see it twice.
    #[test]
    fn a_prefilled_text_goes_on(first in pieces(), more in "[a-c é]{0,6}", tool: bool) {
        let sent_text = first.concat();
        let kept = sent_text.trim_end();
        prop_assume!(!kept.is_empty());
        let continued = format!("{}{more}", &sent_text[kept.len()..]);
        for (format, framing) in generated::FORMS {
            let first = fixture::frames(framing, &stream(format, framing, 1, &first, None));
            let text_frames = generated::frames_with_text(format, &first);
            let second = fixture::frames(framing, &stream(format, framing, 2, std::slice::from_ref(&continued), tool.then_some("f")));
            let out = spliced(format, Mode::Prefilled, &first[..text_frames], &second).unwrap();
            let told = answer(format, framing, &out).map_err(TestCaseError::fail)?;
            prop_assert_eq!(told.text, format!("{sent_text}{more}"));
        }
    }

    #[test]
    fn nothing_panics(first in proptest::collection::vec(any::<u8>(), 0..200), second in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..20_usize) {
        for fixture in [load("messages/tool"), load("chat/tool"), load("responses/tool"), load("gemini/tool")] {
            let frames = fixture_frames(&fixture);
            let (_, open) = sent(fixture.format, &frames[..cut.min(frames.len())]);
            mark(fixture.format, &open);
            for mode in [Mode::Again, Mode::Reproduced, Mode::Prefilled] {
                let mut splice = Splice::new(fixture.format, mode, open.clone());
                let noise = [&b"data: "[..], &first, b"\n\ndata: ", &second, b"\n\n"].concat();
                for frame in fixture::frames(Framing::Sse, &noise.into()) {
                    let _ = splice.feed(&frame, &Seen::Content);
                }
            }
        }
        let _ = prefilled(Format::Messages, &first, "claude-3-opus", "x");
    }
}

#[test]
fn the_generated_streams_are_valid_themselves() {
    for (format, framing) in generated::FORMS {
        let bytes = stream(format, framing, 1, &["a", "b"], Some("f"));
        let expected = Answer { text: "ab".into(), tools: 1, stop_reason: generated::stop_reason(format, true).into() };
        assert_eq!(answer(format, framing, &bytes).unwrap(), expected, "{format:?}");
    }
}
