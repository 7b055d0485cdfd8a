//! Any bytes.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;

use crate::translate::{Stamp, Target, request};
use crate::{Format, Frames, Framing};

const MESSAGES: Target<'static> = Target { format: Format::Messages, model: "claude-sonnet-4-5", thinks: false };

/// Feeds a stream; what it cannot read it must say.
fn feed(provider: Format, client: Format, body: &[u8]) {
    let prompt = json!({"messages": [], "stream_options": {"include_usage": true}}).to_string();
    let target = Target { format: provider, model: "m", thinks: true };
    let Ok(translation) = request(client, prompt.as_bytes(), false, target) else { return };
    let mut stream = translation.stream(Framing::Sse, Stamp::default());
    let mut frames = Frames::new(Framing::Sse);
    frames.feed(Bytes::copy_from_slice(body)).unwrap();
    while let Some(frame) = frames.next() {
        if stream.feed(&frame).is_err() {
            return;
        }
    }
    stream.finish();
    let _ = translation.answer(body, Stamp::default());
}

const REQUEST: &str = include_str!("../../../../fixtures/translate/requests/chat/agent.json");
const ANSWER: &str = include_str!("../../../../fixtures/translate/answers/chat/tools.json");
const STREAM: &str = include_str!("../../../../fixtures/chat/parallel_tools.sse");

/// A text with some bytes changed or left out.
fn spoiled(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![any::<u8>(), prop::sample::select(b"{}[]\",:\\0n".as_slice())];
    let changes = prop::collection::vec((0..text.len(), prop::option::of(byte)), 1..6);
    changes.prop_map(move |changes| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.min(bytes.len() - 1);
            match byte {
                Some(byte) => bytes[at] = byte,
                None => {
                    bytes.remove(at);
                }
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn no_bytes_break_a_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = request(Format::Chat, &bytes, false, MESSAGES);
        let event = [b"data: ", bytes.as_slice(), b"\n\n"].concat();
        feed(Format::Chat, Format::Messages, &event);
        feed(Format::Messages, Format::Chat, &event);
    }

    #[test]
    fn no_spoiled_text_breaks_a_reader(body in spoiled(REQUEST), answer in spoiled(ANSWER), stream in spoiled(STREAM)) {
        let _ = request(Format::Chat, &body, false, MESSAGES);
        feed(Format::Chat, Format::Messages, &answer);
        feed(Format::Chat, Format::Messages, &stream);
    }
}
