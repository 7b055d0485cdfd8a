//! Any evidence is classified, and none of it panics: the first bytes choose status, surface and
//! exit, a line of headers follows, the rest is the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use steadfast_core::classify::{Classifier, MESSAGE_BYTES_MAX};
use steadfast_core::{Evidence, Exit, Surface, Timestamp};

fuzz_target!(|bytes: &[u8]| {
    let Some((head, rest)) = bytes.split_first_chunk::<4>() else { return };
    let line_end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (header, body) = rest.split_at(line_end);
    let header = String::from_utf8_lossy(header);
    let headers: Vec<(&str, &str)> = header.split(';').filter_map(|pair| pair.split_once(':')).collect();
    let surface = [Surface::Http, Surface::Network, Surface::Stream, Surface::Process, Surface::Text];
    let evidence = Evidence {
        surface: surface[usize::from(head[0]) % surface.len()],
        status: (head[1] > 0).then(|| u16::from_le_bytes([head[1], head[2]]) % 700),
        headers: &headers,
        body,
        exit: (head[3] > 127).then(|| Exit::Code(i32::from(head[3]))),
        now: Some(Timestamp::from_millis(1_763_000_000_000)),
        ..Evidence::default()
    };
    let failure = Classifier::builtin().classify(&evidence);
    assert!(!failure.rule.is_empty());
    assert!(failure.message.len() <= MESSAGE_BYTES_MAX);
});
