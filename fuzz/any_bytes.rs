//! What the fuzz target and the test of `crates/dialect/tests/any_bytes.rs` both do with their bytes.

use serde::de::IgnoredAny;
use steadfast_dialect::translate::{self, Stamp, Target};
use steadfast_dialect::{Envelope, Format, Frames, Framing, Request, Route, Seen, Watch, whole};

const PROVIDERS: [(Format, &str); 3] =
    [(Format::Chat, "gpt-5.2"), (Format::Messages, "claude-sonnet-4-5"), (Format::Gemini, "gemini-3-pro")];

/// No answer grows more than this by being translated.
const GROWTH_MAX: usize = 64;

/// Any bytes are a request, an answer and a stream of every format, or none: nothing panics, nothing grows without
/// bound, and what is translated is JSON. The first byte says between which formats.
pub(crate) fn any_bytes(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first() else { return };
    let client = Format::ALL[usize::from(choice % 4)];
    let (provider, model) = PROVIDERS[usize::from(choice / 4 % 3)];
    let framing = |bit: u8| if (choice / bit).is_multiple_of(2) { Framing::Sse } else { Framing::JsonArray };
    let (to_client, from_provider) = (framing(16), framing(32));
    let path = client.address("m", false);
    let request = Request { method: "POST", path: &path, query: None };
    if let Some(route) = Route::of(request, false) {
        let _ = Envelope::peek(&route, request, bytes);
    }
    whole::check(client, bytes);
    let target = Target { format: provider, model, thinks: true };
    let translation = match translate::request(client, bytes, true, target) {
        Ok(translation) => {
            // The cursor is laxer than a parser: only what is JSON must stay so.
            if serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
                serde_json::from_str::<IgnoredAny>(&translation.body).expect("a translated request is JSON");
            }
            translation
        }
        Err(_) => match translate::request(client, b"{}", true, target) {
            Ok(empty) => empty,
            Err(_) => return,
        },
    };
    if serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
        && let Ok(answer) = translation.answer(bytes, Stamp::default())
    {
        serde_json::from_str::<IgnoredAny>(&answer).expect("a translated answer is JSON");
    }
    let mut stream = translation.stream(to_client, Stamp::default());
    let (mut frames, mut watch) = (Frames::new(from_provider), Watch::keeping_text(provider));
    let mut told = 0;
    for chunk in bytes.chunks(97) {
        if frames.feed(chunk.to_vec().into()).is_err() {
            return;
        }
        while let Some(frame) = frames.next() {
            if matches!(watch.see(&frame), Seen::Error | Seen::Malformed) {
                return;
            }
            let Ok(out) = stream.feed(&frame) else { return };
            told += out.len();
        }
    }
    stream.finish();
    assert!(told <= GROWTH_MAX * (bytes.len() + 1024), "{} bytes became {told}", bytes.len());
}
