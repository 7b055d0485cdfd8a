//! What translation costs: `cargo bench -p steadfast-dialect --bench translate`.
//!
//! Each case runs in batches and the fastest batch counts. Guards: a request of 10 KB and its answer
//! together under 50 µs, an event of a stream under 5 µs from the provider's bytes to the client's, both
//! watched; and a request faster than a tree built and written with `serde_json` in the same run.

#![allow(missing_docs, reason = "a program, not a library")]
#![expect(clippy::print_stdout, reason = "the report is the program's output")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use steadfast_dialect::translate::{self, Stamp, Target};
use steadfast_dialect::{Format, Frames, Framing, Watch};

const BATCHES: u32 = 60;
const BATCH: Duration = Duration::from_millis(2);

const PROVIDERS: [(Format, &str); 3] =
    [(Format::Chat, "gpt-5.2"), (Format::Messages, "claude-sonnet-4-5"), (Format::Gemini, "gemini-3-pro")];

fn main() -> ExitCode {
    // `cargo test --all-targets` runs this too, unoptimised: nothing to measure then.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let mut guards = Vec::new();
    for client in Format::ALL {
        let body = request_body(client);
        let tree = fastest(|| {
            let tree: Value = serde_json::from_slice(black_box(&body)).expect("JSON");
            black_box(tree.to_string());
        });
        for (provider, model) in PROVIDERS.into_iter().filter(|(provider, _)| *provider != client) {
            let target = Target { format: provider, model, thinks: true };
            let translation = translate::request(client, &body, false, target).expect("translates");
            let answer_body = answer(provider);
            let request = fastest(|| {
                black_box(translate::request(client, black_box(&body), false, target).ok());
            });
            let answer = fastest(|| {
                black_box(translation.answer(black_box(&answer_body), Stamp::default()).ok());
            });
            let event = stream_event(&translation, provider, client);
            let name = format!("{} to {}", client.as_str(), provider.as_str());
            println!(
                "{name:<22} request of {:.1} KB {:>5.1} us (tree {:>5.1} us), answer of {:.1} KB {:>5.1} us, event {event:>5.0} ns",
                body.len() as f64 / 1e3,
                request / 1e3,
                tree / 1e3,
                answer_body.len() as f64 / 1e3,
                answer / 1e3,
            );
            guards.push((format!("{name}: under 50 us and a tree"), request + answer < 50_000.0 && request < tree));
            guards.push((format!("{name}: an event under 5 us"), event < 5_000.0));
        }
    }
    guards.iter().filter(|(_, good)| !good).for_each(|(name, _)| println!("FAIL {name}"));
    if guards.iter().all(|(_, good)| *good) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// An agent's turn of about 10 KB: half of it tools, half of it words.
fn request_body(client: Format) -> Vec<u8> {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string", "description": "Where the file is" }, "limit": { "type": "integer" } }, "required": ["path"] });
    let words = "Read the \"file\" and tell me what it does.\n".repeat(8);
    let tools = (0..12).map(|number| (format!("tool_{number}"), "Does one thing well, and says what it did."));
    let turns = 6;
    let body = match client {
        Format::Chat => json!({
            "model": "m",
            "messages": (0..turns).flat_map(|turn| [
                json!({ "role": "user", "content": words }),
                json!({ "role": "assistant", "content": "I look.", "tool_calls": [{ "id": format!("call_{turn}"), "type": "function", "function": { "name": "tool_1", "arguments": "{\"path\":\"src/main.rs\"}" } }] }),
                json!({ "role": "tool", "tool_call_id": format!("call_{turn}"), "content": words }),
            ]).collect::<Vec<_>>(),
            "tools": tools.map(|(name, told)| json!({ "type": "function", "function": { "name": name, "description": told, "parameters": schema } })).collect::<Vec<_>>(),
        }),
        Format::Responses => json!({
            "model": "m",
            "input": (0..turns).flat_map(|turn| [
                json!({ "role": "user", "content": words }),
                json!({ "type": "function_call", "call_id": format!("call_{turn}"), "name": "tool_1", "arguments": "{\"path\":\"src/main.rs\"}" }),
                json!({ "type": "function_call_output", "call_id": format!("call_{turn}"), "output": words }),
            ]).collect::<Vec<_>>(),
            "tools": tools.map(|(name, told)| json!({ "type": "function", "name": name, "description": told, "parameters": schema })).collect::<Vec<_>>(),
        }),
        Format::Messages => json!({
            "model": "m", "max_tokens": 1000,
            "messages": (0..turns).flat_map(|turn| [
                json!({ "role": "user", "content": words }),
                json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": format!("toolu_{turn}"), "name": "tool_1", "input": { "path": "src/main.rs" } }] }),
                json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": format!("toolu_{turn}"), "content": words }] }),
            ]).collect::<Vec<_>>(),
            "tools": tools.map(|(name, told)| json!({ "name": name, "description": told, "input_schema": schema })).collect::<Vec<_>>(),
        }),
        Format::Gemini => json!({
            "contents": (0..turns).flat_map(|_| [
                json!({ "role": "user", "parts": [{ "text": words }] }),
                json!({ "role": "model", "parts": [{ "functionCall": { "name": "tool_1", "args": { "path": "src/main.rs" } } }] }),
                json!({ "role": "user", "parts": [{ "functionResponse": { "name": "tool_1", "response": { "output": words } } }] }),
            ]).collect::<Vec<_>>(),
            "tools": [{ "functionDeclarations": tools.map(|(name, told)| json!({ "name": name, "description": told, "parameters": schema })).collect::<Vec<_>>() }],
        }),
    };
    body.to_string().into_bytes()
}

fn answer(provider: Format) -> Vec<u8> {
    let words = "It reads its arguments and prints them.\n".repeat(40);
    let body = match provider {
        Format::Messages => {
            json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{ "type": "text", "text": words }], "stop_reason": "end_turn", "usage": { "input_tokens": 2500, "output_tokens": 400 } })
        }
        Format::Gemini => {
            json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": words }] }, "finishReason": "STOP" }], "usageMetadata": { "promptTokenCount": 2500, "candidatesTokenCount": 400 }, "modelVersion": "m", "responseId": "r" })
        }
        Format::Chat | Format::Responses => {
            json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{ "index": 0, "message": { "role": "assistant", "content": words }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 2500, "completion_tokens": 400, "total_tokens": 2900 } })
        }
    };
    body.to_string().into_bytes()
}

/// Nanoseconds from a provider's event of text to the client's, both watched, in chunks of 16.
fn stream_event(translation: &translate::Translation, provider: Format, client: Format) -> f64 {
    const EVENTS: usize = 16;
    let event = match provider {
        Format::Chat | Format::Responses => {
            "data: {\"id\":\"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG\",\"object\":\"chat.completion.chunk\",\"created\":1741570283,\"model\":\"gpt-4o-2024-08-06\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_f9f4fb6dbf\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null,\"obfuscation\":\"aZ3\"}\n\n"
        }
        Format::Messages => {
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" token\"}}\n\n"
        }
        Format::Gemini => {
            "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \" a few tokens at once, as Gemini does\"}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 11,\"candidatesTokenCount\": 40,\"totalTokenCount\": 51,\"promptTokensDetails\": [{\"modality\": \"TEXT\",\"tokenCount\": 11}]},\"modelVersion\": \"gemini-2.5-flash\",\"responseId\": \"Xh5RaN3cK4-DvdIP6ePFqQs\"}\r\n\r\n"
        }
    };
    let chunk = Bytes::from(event.repeat(EVENTS));
    let (mut frames, mut watch) = (Frames::new(Framing::Sse), Watch::new(provider));
    let (mut sent, mut sent_watch) = (Frames::new(Framing::Sse), Watch::new(client));
    let took = fastest(|| {
        // A new stream for each chunk: the client's end holds the whole text.
        let mut stream = translation.stream(Framing::Sse, Stamp::default());
        frames.feed(black_box(chunk.clone())).expect("short frames");
        while let Some(frame) = frames.next() {
            black_box(watch.see(&frame));
            sent.feed(stream.feed(&frame).expect("a good frame")).expect("short frames");
            while let Some(frame) = sent.next() {
                black_box(sent_watch.see(&frame));
            }
        }
    });
    took / EVENTS as f64
}

/// Nanoseconds a call, of the fastest batch.
fn fastest(mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..BATCHES {
        let (began, mut calls) = (Instant::now(), 0_u32);
        while began.elapsed() < BATCH {
            work();
            calls += 1;
        }
        best = best.min(began.elapsed().as_nanos() as f64 / f64::from(calls));
    }
    best
}
