use super::*;
use crate::fixture::{self, load};

const KINDS: [&str; 18] = [
    "network_transient",
    "network_permanent",
    "timeout",
    "rate_limit",
    "quota_exhausted",
    "overloaded",
    "server_error",
    "model_unavailable",
    "context_limit",
    "content_filter",
    "auth_error",
    "invalid_request",
    "state_lost",
    "stream_interrupted",
    "process_died",
    "bad_output",
    "cancelled",
    "unknown",
];

fn failure(kind: &str, status: u16, retry_after_s: Option<u64>) -> Final<'_> {
    Final { status, kind, message: "every target \"failed\"", retry_after_s, request_id: "sf-1", limit: None }
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn bodies() {
    let error = failure("overloaded", 529, Some(7));
    assert_eq!(
        parsed(&body(Family::OpenAi, &error)),
        json!({"error": {"message": error.message, "type": "server_error", "param": null, "code": "server_is_overloaded"}})
    );
    assert_eq!(
        parsed(&body(Family::Anthropic, &error)),
        json!({"type": "error", "error": {"type": "overloaded_error", "message": error.message}, "request_id": "sf-1"})
    );
    assert_eq!(
        parsed(&body(Family::Gemini, &error)),
        json!({"error": {"code": 529, "message": error.message, "status": "UNAVAILABLE", "details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}]}})
    );
}

#[test]
fn names_by_kind_and_by_status() {
    let anthropic =
        |kind, status| parsed(&body(Family::Anthropic, &failure(kind, status, None)))["error"]["type"].clone();
    assert_eq!(anthropic("auth_error", 401), "authentication_error");
    assert_eq!(anthropic("auth_error", 403), "permission_error");
    assert_eq!(anthropic("breaker_open", 503), "overloaded_error");
    assert_eq!(anthropic("breaker_open", 429), "rate_limit_error");
    assert_eq!(anthropic("something", 418), "invalid_request_error");
    assert_eq!(anthropic("something", 413), "request_too_large");
    assert_eq!(anthropic("something", 500), "api_error");
    let quota = parsed(&body(Family::Gemini, &failure("quota_exhausted", 429, None)));
    assert_eq!(quota["error"]["details"][0]["violations"][0]["quotaId"], "RequestsPerDay");
    assert!(parsed(&body(Family::Gemini, &failure("timeout", 504, None)))["error"].get("details").is_none());
}

#[test]
fn every_error_event_is_seen_as_one() {
    let framings = [
        (Format::Chat, Framing::Sse),
        (Format::Responses, Framing::Sse),
        (Format::Messages, Framing::Sse),
        (Format::Gemini, Framing::Sse),
        (Format::Gemini, Framing::JsonArray),
    ];
    for (format, framing) in framings {
        for kind in KINDS {
            let open = Watch::new(format);
            let bytes = event(format, framing, &failure(kind, 500, Some(3)), &open).into();
            let (seen, _) = fixture::watch(format, &fixture::frames(framing, &bytes));
            assert!(seen.starts_with('X'), "{format:?} {kind}: {seen}");
        }
    }
}

#[test]
fn the_error_of_an_array_closes_it() {
    let fixture = load("gemini/cut.json");
    let frames = fixture::frames(fixture.framing, &fixture.bytes);
    let (_, open) = fixture::watch(Format::Gemini, &frames);
    let mut stream: Vec<u8> = frames.iter().flat_map(|frame| frame.raw.to_vec()).collect();
    stream.extend(event(Format::Gemini, Framing::JsonArray, &failure("overloaded", 503, None), &open));
    assert_eq!(parsed(&stream).as_array().unwrap().len(), 2);
    let alone =
        event(Format::Gemini, Framing::JsonArray, &failure("overloaded", 503, None), &Watch::new(Format::Gemini));
    assert_eq!(parsed(&alone).as_array().unwrap().len(), 1);
}

#[test]
fn a_failed_response_goes_on_with_the_open_one() {
    let fixture = load("responses/cut");
    let (_, open) = fixture::watch(Format::Responses, &fixture::frames(Framing::Sse, &fixture.bytes));
    let bytes = event(Format::Responses, Framing::Sse, &failure("rate_limit", 429, Some(2)), &open).into();
    let frames = fixture::frames(Framing::Sse, &bytes);
    let value = parsed(&frames[0].data());
    assert_eq!(frames[0].event(), Some("response.failed"));
    assert_eq!(value["sequence_number"], 6);
    assert_eq!(value["response"]["id"], open.id().unwrap());
    assert_eq!(value["response"]["status"], "failed");
    assert_eq!(value["response"]["error"]["code"], "rate_limit_exceeded");
    assert!(value["response"]["error"]["message"].as_str().unwrap().ends_with("Please try again in 2s."));
}

#[test]
fn what_clients_take_for_a_full_context_is_known() {
    for text in [
        "Prompt is too long: 205411 tokens > 200000 maximum",
        "Too many tokens, please wait",
        "context_length_exceeded",
    ] {
        assert!(looks_like_overflow(text), "{text}");
    }
    for text in ["Overloaded", "You exceeded your current quota", "Rate limit reached for requests", ""] {
        assert!(!looks_like_overflow(text), "{text}");
    }
}
