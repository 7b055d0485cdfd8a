//! What the fuzz target `classify` and the test of `crates/core/tests/any_evidence.rs` both do with their bytes.

use steadfast_core::classify::wait::WAIT_MAX;
use steadfast_core::classify::{Classifier, MESSAGE_BYTES_MAX};
use steadfast_core::{Evidence, Exit, Surface, Timestamp, Transport};

const SURFACES: [Surface; 5] = [Surface::Http, Surface::Network, Surface::Stream, Surface::Process, Surface::Text];

const TRANSPORTS: [Option<Transport>; 14] = [
    None,
    Some(Transport::Refused),
    Some(Transport::Reset),
    Some(Transport::Unreachable),
    Some(Transport::DnsNotFound),
    Some(Transport::DnsTemporary),
    Some(Transport::Certificate),
    Some(Transport::Protocol),
    Some(Transport::Address),
    Some(Transport::ConnectTimeout),
    Some(Transport::ResponseTimeout),
    Some(Transport::IdleTimeout),
    Some(Transport::BodyCut),
    Some(Transport::Cancelled),
];

const PROVIDERS: [Option<&str>; 6] =
    [None, Some("openai"), Some("anthropic"), Some("google"), Some("bedrock"), Some("?")];

/// Headers that are read; whoever looks for trouble need not spell them.
const HEADERS: [&str; 8] = [
    "retry-after",
    "retry-after-ms",
    "date",
    "x-ratelimit-reset",
    "x-ratelimit-reset-requests",
    "anthropic-ratelimit-tokens-reset",
    "x-should-retry",
    "content-type",
];

/// What stands before the headers and the body.
pub(crate) const HEAD_BYTES: usize = 16;

/// Any evidence is classified: nothing panics, the answer is the same twice, message and wait are bounded. The first
/// bytes choose everything that is not text; a line of headers follows, and the rest is the body.
pub(crate) fn any_evidence(input: &[u8]) {
    let Some((&head, rest)) = input.split_first_chunk::<HEAD_BYTES>() else { return };
    let [surface, transport, provider, exit, s0, s1, e0, e1, clock @ ..] = head;
    let line_end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (line, body) = rest.split_at(line_end);
    let line = String::from_utf8_lossy(line);
    let headers: Vec<(&str, &str)> = line.split(';').map(header).collect();
    let now = i64::from_le_bytes(clock);
    let evidence = Evidence {
        provider: one_of(&PROVIDERS, provider),
        surface: one_of(&SURFACES, surface),
        status: status(u16::from_le_bytes([s0, s1])),
        headers: &headers,
        body,
        transport: one_of(&TRANSPORTS, transport),
        exit: ended(exit, i16::from_le_bytes([e0, e1])),
        now: (now != 0).then(|| Timestamp::from_millis(now)),
    };
    let failure = Classifier::builtin().classify(&evidence);
    assert_eq!(failure, Classifier::builtin().classify(&evidence));
    assert!(!failure.rule.is_empty());
    assert!(failure.message.len() <= MESSAGE_BYTES_MAX);
    assert!(failure.retry_after.is_none_or(|wait| wait <= WAIT_MAX));
}

fn one_of<T: Copy>(all: &[T], choice: u8) -> T {
    all[usize::from(choice) % all.len()]
}

/// `name: value`, or a value for the header that its first letter chooses.
fn header(written: &str) -> (&str, &str) {
    let named = written.split_once(':').map(|(name, value)| (name.trim(), value.trim()));
    named.unwrap_or_else(|| (one_of(&HEADERS, written.bytes().next().unwrap_or(0)), written))
}

/// Mostly those that exist; also none, and those that cannot be.
fn status(number: u16) -> Option<u16> {
    match number {
        0 => None,
        1..0x8000 => Some(100 + number % 500),
        _ => Some(number),
    }
}

fn ended(how: u8, number: i16) -> Option<Exit> {
    let number = i32::from(number);
    match how % 6 {
        0 | 1 => None,
        2 => Some(Exit::Code(number)),
        3 => Some(Exit::Code(number << 16)),
        4 => Some(Exit::Signal(number)),
        _ => Some(Exit::OutOfMemory),
    }
}
