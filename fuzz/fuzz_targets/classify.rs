//! Any evidence is classified, and none of it panics.

#![no_main]

#[path = "../any_evidence.rs"]
mod any_evidence;

libfuzzer_sys::fuzz_target!(|input: &[u8]| any_evidence::any_evidence(input));
