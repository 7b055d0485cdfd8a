//! The fuzz target of the classifier, run briefly: noise, and words of real failures in any order.

#[path = "../../../fuzz/any_evidence.rs"]
mod any_evidence;

use any_evidence::{HEAD_BYTES, any_evidence};
use proptest::collection::vec;
use proptest::prelude::*;

/// Pieces of real errors and of what stands around them.
const PIECES: &[&str] = &[
    "{\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
    "{\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"retryDelay\":\"12s\"}]}}",
    "event: error\ndata: ",
    "Rate limit reached. Please try again in 6.1s",
    "HTTP/1.1 503 Service Unavailable\r\n",
    "curl: (6) Could not resolve host",
    "<html><head><title>502 Bad Gateway</title></head>",
    "Traceback (most recent call last):\n  File \"a.py\", line 429\n",
    "context_length_exceeded",
    "insufficient_quota",
    "ECONNRESET",
    "exit status 137",
    "resets at 2026-11-18T20:00:00Z",
    "\u{1b}[31m",
    "\\u00e9\\n",
    "429",
    "{",
    "\"",
    "\n",
    " ",
    "…",
];

fn input(head: &[u8], headers: &str, body: &[u8]) -> Vec<u8> {
    [head, headers.as_bytes(), b"\n", body].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn noise_is_survived(bytes in vec(any::<u8>(), 0..600)) {
        any_evidence(&bytes);
    }

    #[test]
    fn any_headers_beside_noise_are_survived(
        head in vec(any::<u8>(), HEAD_BYTES),
        headers in "([ -~]{0,30};){0,4}",
        body in vec(any::<u8>(), 0..200),
    ) {
        any_evidence(&input(&head, &headers, &body));
    }

    #[test]
    fn pieces_of_real_failures_are_survived_wherever_they_are_seen(
        head in vec(any::<u8>(), HEAD_BYTES),
        headers in "[a-h](-?[0-9]{0,12}(ms|s|m)?|20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:.]{0,12}Z|[ -~]{0,20})",
        picks in vec(0..PIECES.len(), 0..10),
    ) {
        let body: String = picks.into_iter().map(|pick| PIECES[pick]).collect();
        any_evidence(&input(&head, &headers, body.as_bytes()));
    }
}
