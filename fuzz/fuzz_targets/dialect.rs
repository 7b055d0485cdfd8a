//! Any bytes are a request, an answer and a stream of every format, or none.

#![no_main]

#[path = "../any_bytes.rs"]
mod any_bytes;

libfuzzer_sys::fuzz_target!(|input: &[u8]| any_bytes::any_bytes(input));
