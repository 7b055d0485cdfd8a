//! What reading the wire costs: `cargo bench -p steadfast-dialect`.
//!
//! Each case runs in batches and the fastest batch counts: the rest is the machine's noise. Guards: an
//! event of text under 1 µs from bytes to meaning, a body of 1.5 MB under 2 ms, and both faster than
//! building a tree with `serde_json`, measured in the same run.

#![allow(missing_docs, reason = "a program, not a library")]
#![expect(clippy::print_stdout, reason = "the report is the program's output")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use steadfast_dialect::{Envelope, Format, Frames, Framing, Request, Route, Watch};

const BATCHES: u32 = 60;
const BATCH: Duration = Duration::from_millis(2);

/// Text deltas as the providers write them.
const CHAT: &str = "data: {\"id\":\"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG\",\"object\":\"chat.completion.chunk\",\"created\":1741570283,\"model\":\"gpt-4o-2024-08-06\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_f9f4fb6dbf\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null,\"obfuscation\":\"aZ3\"}\n\n";
const RESPONSES: &str = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":117,\"item_id\":\"msg_67c9fdcf37fc8190ba82116e33fb28c507b8b0ad4e5eb654\",\"output_index\":0,\"content_index\":0,\"delta\":\" token\",\"logprobs\":[],\"obfuscation\":\"aZ3\"}\n\n";
const MESSAGES: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" token\"}}\n\n";
const GEMINI: &str = "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \" a few tokens at once, as Gemini does\"}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 11,\"candidatesTokenCount\": 40,\"totalTokenCount\": 51,\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": 11}]},\"modelVersion\": \"gemini-2.5-flash\",\"responseId\": \"Xh5RaN3cK4-DvdIP6ePFqQs\"}\r\n\r\n";

fn main() -> ExitCode {
    // `cargo test --all-targets` runs this too, unoptimised: nothing to measure then.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let mut guards = Vec::new();
    for (format, event) in
        [(Format::Chat, CHAT), (Format::Responses, RESPONSES), (Format::Messages, MESSAGES), (Format::Gemini, GEMINI)]
    {
        let (ours, keeping, tree) = events(format, event);
        println!(
            "{:<10} event: {ours:>6.0} ns, keeping text {keeping:>6.0} ns, tree {tree:>6.0} ns, {:.1} times",
            format.as_str(),
            tree / ours
        );
        guards.push((format!("{} under 1 us", format.as_str()), keeping < 1_000.0 && ours < tree));
    }
    for (name, body) in bodies() {
        let (ours, tree) = envelope(&body);
        let size = body.len() as f64 / 1e6;
        let rate = body.len() as f64 / ours * 1e3;
        println!(
            "{name:<10} body of {size:.1} MB: {:>6.0} us, {rate:.0} MB/s, tree {:>6.0} us",
            ours / 1e3,
            tree / 1e3
        );
        guards.push((format!("{name} under 2 ms"), ours < 2_000_000.0 && ours < tree));
    }
    guards.iter().for_each(|(name, good)| println!("{} {name}", if *good { "ok  " } else { "FAIL" }));
    if guards.iter().all(|(_, good)| *good) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Nanoseconds an event, in chunks of about 16 of them: ours, ours with the text kept, and a tree.
fn events(format: Format, event: &str) -> (f64, f64, f64) {
    const EVENTS: usize = 16;
    let chunk = Bytes::from(event.repeat(EVENTS));
    let read = |watch: &mut Watch, frames: &mut Frames| {
        frames.feed(black_box(chunk.clone())).expect("short frames");
        while let Some(frame) = frames.next() {
            black_box(watch.see(&frame));
        }
    };
    let mut frames = Frames::new(Framing::Sse);
    let mut watch = Watch::new(format);
    let ours = fastest(|| read(&mut watch, &mut frames));
    let keeping = fastest(|| read(&mut Watch::keeping_text(format), &mut frames));
    let tree = fastest(|| {
        frames.feed(black_box(chunk.clone())).expect("short frames");
        while let Some(frame) = frames.next() {
            black_box(serde_json::from_slice::<Value>(&frame.data()).ok());
        }
    });
    let each = EVENTS as f64;
    (ours / each, keeping / each, tree / each)
}

fn envelope(body: &[u8]) -> (f64, f64) {
    let request = Request { method: "POST", path: "/v1/messages", query: None };
    let route = Route::of(request, true).expect("a known path");
    let ours = fastest(|| {
        black_box(Envelope::peek(&route, request, black_box(body)).ok());
    });
    let tree = fastest(|| {
        black_box(serde_json::from_slice::<Value>(black_box(body)).ok());
    });
    (ours, tree)
}

/// A long session of an agent with code in it, and one with screenshots.
fn bodies() -> [(&'static str, Vec<u8>); 2] {
    let code = "    let frame = self.scanner.frame(raw);\n    self.ready.push_back(\"frame\");\n".repeat(40);
    let turn = |n: usize| {
        let call =
            json!({"type": "tool_use", "id": format!("toolu_{n}"), "name": "read", "input": {"path": "src/lib.rs"}});
        let result = json!({"type": "tool_result", "tool_use_id": format!("toolu_{n}"), "content": code});
        [json!({"role": "assistant", "content": [call]}), json!({"role": "user", "content": [result]})]
    };
    let session: Vec<Value> = (0..410).flat_map(turn).collect();
    let image = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAA".repeat(15_000)});
    let shots: Vec<Value> =
        (0..4).map(|_| json!({"role": "user", "content": [{"type": "image", "source": image}]})).collect();
    let body =
        |messages: Vec<Value>| json!({"model": "claude-sonnet-4-5", "stream": true, "messages": messages}).to_string();
    [("session", body(session).into_bytes()), ("images", body(shots).into_bytes())]
}

/// Nanoseconds per call in the fastest batch.
fn fastest(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let started = Instant::now();
        let mut calls = 0_u32;
        while started.elapsed() < BATCH {
            work();
            calls += 1;
        }
        best = best.min(started.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    best
}
