//! Any bytes are a request, an answer and a stream of every format, or none: nothing panics, and what is
//! translated is JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;
use steadfast_dialect::translate::{self, Stamp, Target};
use steadfast_dialect::{Envelope, Format, Frames, Framing, Request, Route, Seen, Watch, whole};

const PROVIDERS: [(Format, &str); 3] =
    [(Format::Chat, "gpt-5.2"), (Format::Messages, "claude-sonnet-4-5"), (Format::Gemini, "gemini-3-pro")];

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let client = Format::ALL[usize::from(choice % 4)];
    let (provider, model) = PROVIDERS[usize::from(choice / 4 % 3)];
    let framing = if choice / 16 % 2 == 0 { Framing::Sse } else { Framing::JsonArray };
    let path = client.address("m", false);
    let request = Request { method: "POST", path: &path, query: None };
    if let Some(route) = Route::of(request, false) {
        let _ = Envelope::peek(&route, request, bytes);
    }
    whole::check(client, bytes);
    let target = Target { format: provider, model, thinks: true };
    let Ok(translation) = translate::request(client, bytes, true, target) else {
        let Ok(empty) = translate::request(client, b"{}", true, target) else { return };
        return back(&empty, provider, framing, bytes);
    };
    // The cursor is laxer than a parser: only what is JSON must stay so.
    if serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        serde_json::from_str::<IgnoredAny>(&translation.body).expect("a translated request is JSON");
    }
    back(&translation, provider, framing, bytes);
});

fn back(translation: &translate::Translation, provider: Format, framing: Framing, bytes: &[u8]) {
    if serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
        && let Ok(answer) = translation.answer(bytes, Stamp::default())
    {
        serde_json::from_str::<IgnoredAny>(&answer).expect("a translated answer is JSON");
    }
    let mut stream = translation.stream(framing, Stamp::default());
    let (mut frames, mut watch) = (Frames::new(Framing::Sse), Watch::keeping_text(provider));
    for chunk in bytes.chunks(97) {
        if frames.feed(chunk.to_vec().into()).is_err() {
            return;
        }
        while let Some(frame) = frames.next() {
            if matches!(watch.see(&frame), Seen::Error | Seen::Malformed) || stream.feed(&frame).is_err() {
                return;
            }
        }
    }
    stream.finish();
}
