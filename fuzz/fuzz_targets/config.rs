//! Any bytes are a configuration or an error that names what is wrong; none of them panics.

#![no_main]

#[path = "../any_config.rs"]
mod any_config;

libfuzzer_sys::fuzz_target!(|input: &[u8]| any_config::any_config(input.to_vec()));
