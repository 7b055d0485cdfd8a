//! Each fault does on the wire what its name says.

use serde_json::{Value, json};
use steadfast_fake::{End, Fake};

use crate::LIMIT;
use crate::client::{
    Answer, CHAT, Client, Ended, GEMINI, GEMINI_ARRAY, GEMINI_SSE, MESSAGES, RESPONSES, STREAMS, ask, body,
    body_with_tool,
};

/// All paths on which models speak, whole.
const WHOLES: &[&str] = &[CHAT, RESPONSES, MESSAGES, GEMINI];

async fn stream(path: &str, spec: &str) -> Answer {
    let fake = Fake::start().await.unwrap();
    ask(fake.addr(), path, spec, &body(path, true)).await
}

async fn whole(path: &str, spec: &str) -> Answer {
    let fake = Fake::start().await.unwrap();
    ask(fake.addr(), path, spec, &body(path, false)).await
}

/// Whether the terminal event of this path is there.
fn terminal(path: &str, text: &str) -> bool {
    let mark = match path {
        CHAT => "[DONE]",
        RESPONSES => "response.completed",
        MESSAGES => "message_stop",
        _ => "finishReason",
    };
    text.contains(mark)
}

#[tokio::test]
async fn each_status_has_a_providers_body() {
    for status in [400, 401, 403, 404, 408, 413, 418, 422, 429, 500, 503, 504, 529] {
        for path in STREAMS {
            let answer = stream(path, &format!("status={status}")).await;
            assert_eq!((answer.status, answer.ended), (status, Ended::Whole));
            assert!(!answer.json()["error"]["message"].as_str().unwrap().is_empty());
            if path.contains("gemini") {
                assert_eq!(answer.json()["error"]["code"], status);
            }
        }
    }
    let page = stream(CHAT, "status=502").await;
    assert!(page.text().starts_with("<html>") && page.header("content-type").unwrap().starts_with("text/html"));
    assert!(stream(CHAT, "cloudflare").await.text().contains("Cloudflare"));
    let own = stream(CHAT, "status=503 body=\"gone fishing\" header=\"x-why: fish\"").await;
    assert_eq!((own.status, own.text().as_str(), own.header("x-why")), (503, "gone fishing", Some("fish")));
}

#[tokio::test]
async fn named_troubles_are_told_as_the_vendor_tells_them() {
    let cases = [
        ("overloaded", CHAT, 503, "overloaded"),
        ("overloaded", MESSAGES, 529, "overloaded_error"),
        ("overloaded", GEMINI, 503, "UNAVAILABLE"),
        ("rate_limit", CHAT, 429, "rate_limit_exceeded"),
        ("rate_limit", MESSAGES, 429, "rate_limit_error"),
        ("rate_limit", GEMINI, 429, "PerMinute"),
        ("quota", CHAT, 429, "insufficient_quota"),
        ("quota", MESSAGES, 400, "credit balance is too low"),
        ("quota", GEMINI, 429, "PerDay"),
        ("weekly_quota", CHAT, 429, "usage_limit_reached"),
        ("weekly_quota", MESSAGES, 429, "rate_limit_error"),
        ("weekly_quota", GEMINI, 429, "QUOTA_EXHAUSTED"),
        ("auth", CHAT, 401, "invalid_api_key"),
        ("auth", MESSAGES, 401, "authentication_error"),
        ("auth", GEMINI, 400, "API_KEY_INVALID"),
        ("context", CHAT, 400, "context_length_exceeded"),
        ("context", MESSAGES, 400, "prompt is too long"),
        ("context", GEMINI, 400, "exceeds the maximum number of tokens"),
        ("filter", CHAT, 400, "invalid_prompt"),
        ("filter", MESSAGES, 400, "content filtering policy"),
        ("filter", GEMINI, 200, "PROHIBITED_CONTENT"),
        ("model", CHAT, 404, "model_not_found"),
        ("model", MESSAGES, 404, "model: claude-opus-4-6"),
        ("model", GEMINI, 404, "models/gemini-2.5-pro is not found"),
        ("server_error", CHAT, 500, "server_error"),
        ("server_error", MESSAGES, 500, "api_error"),
        ("server_error", GEMINI, 500, "INTERNAL"),
        ("state_lost", RESPONSES, 400, "previous_response_not_found"),
    ];
    for (name, path, status, mark) in cases {
        let answer = whole(path, name).await;
        assert_eq!(answer.status, status, "{name} {path}");
        assert!(answer.text().contains(mark), "{name} {path}: {}", answer.text());
        answer.json();
    }
}

#[tokio::test]
async fn when_to_come_back() {
    let header = |answer: &Answer, name: &str| answer.header(name).map(str::to_owned);
    let answer = whole(CHAT, "rate_limit").await;
    assert_eq!(header(&answer, "retry-after").as_deref(), Some("2"));
    assert_eq!(header(&answer, "retry-after-ms").as_deref(), Some("2000"));
    let answer = whole(MESSAGES, "status=529 retry-after=7").await;
    assert_eq!(header(&answer, "retry-after").as_deref(), Some("7"));
    assert_eq!(header(&answer, "x-should-retry").as_deref(), Some("true"));
    let answer = whole(MESSAGES, "rate_limit retry-after=700ms should-retry=false").await;
    assert_eq!((header(&answer, "retry-after"), header(&answer, "retry-after-ms").as_deref()), (None, Some("700")));
    assert_eq!(header(&answer, "x-should-retry").as_deref(), Some("false"));
    let answer = whole(CHAT, "rate_limit retry-after=date:90s").await;
    assert!(header(&answer, "retry-after").unwrap().ends_with("GMT"));
    assert!(answer.text().contains("try again in 1m30s"), "{}", answer.text());
    let answer = whole(CHAT, "rate_limit retry-after=none").await;
    assert_eq!(header(&answer, "retry-after"), None);
    assert!(!answer.text().contains("try again in"));
    let answer = whole(GEMINI, "rate_limit retry-after=44s").await;
    assert_eq!(answer.json()["error"]["details"][2]["retryDelay"], "44s");
    let answer = whole(MESSAGES, "weekly_quota").await;
    assert_eq!(header(&answer, "anthropic-ratelimit-unified-7d-status").as_deref(), Some("rejected"));
    assert_eq!(header(&answer, "retry-after").as_deref(), Some("302400"));
    assert_eq!(whole(MESSAGES, "status=429 body=quota").await.status, 429);
}

#[tokio::test]
async fn no_answer_at_all() {
    for path in [CHAT, MESSAGES, GEMINI_SSE] {
        for (spec, ended) in [("reset", Ended::Reset), ("refuse", Ended::Reset), ("close", Ended::Fin)] {
            let answer = stream(path, spec).await;
            assert_eq!((answer.ended, answer.raw.len()), (ended, 0), "{spec}");
        }
    }
    let garbage = stream(CHAT, "garbage").await;
    assert!(garbage.raw.starts_with(b"SSH-2.0") && garbage.ended == Ended::Fin);
    let half = stream(CHAT, "half-head").await;
    assert!(half.raw.starts_with(b"HTTP/1.1 200 OK\r\n") && half.status == 0 && half.ended == Ended::Fin);
}

#[tokio::test]
async fn an_endpoint_that_refuses_does_not_read_the_request() {
    let fake = Fake::start().await.unwrap();
    fake.script("", "refuse; ok").unwrap();
    let mut client = Client::connect(fake.addr()).await;
    client.write("POST /v1/messages HTTP/1.1\r\ncontent-length: 1000000\r\n\r\n").await;
    assert_eq!(client.answer().await.ended, Ended::Reset);
    assert_eq!(ask(fake.addr(), CHAT, "", &body(CHAT, false)).await.status, 200);
    let faults: Vec<String> = fake.requests().into_iter().map(|request| request.fault).collect();
    assert_eq!(faults, ["refuse", "ok"]);
}

#[tokio::test]
async fn only_headers() {
    for path in STREAMS {
        let answer = stream(path, "reset-after-headers").await;
        assert_eq!((answer.status, answer.body.len(), answer.ended), (200, 0, Ended::Reset), "{path}");
    }
    let answer = whole(CHAT, "reset-after-headers").await;
    assert_eq!((answer.status, answer.body.len(), answer.ended), (200, 0, Ended::Reset));
}

#[tokio::test]
async fn a_stream_is_cut_after_so_many_tokens() {
    for path in STREAMS {
        for (spec, ended) in [("cut=2", Ended::Reset), ("cutfin=2", Ended::Fin), ("end=2", Ended::Whole)] {
            let answer = stream(path, spec).await;
            assert_eq!((answer.status, answer.ended), (200, ended), "{path} {spec}");
            let text = answer.text();
            assert!(text.contains("word-2") && !text.contains("word-3"), "{path} {spec}: {text}");
            assert!(!terminal(path, &text), "{path} {spec}: {text}");
        }
        let none = stream(path, "cut=0").await;
        assert!(!none.text().contains("word-") && none.ended == Ended::Reset, "{path}");
        let all = stream(path, "end=1000 words=2").await;
        assert!(all.text().contains("word-2") && !terminal(path, &all.text()), "{path}: {}", all.text());
    }
    assert_eq!(stream(MESSAGES, "cut=0").await.events().len(), 1);
    assert_eq!(stream(CHAT, "cut=0").await.events()[0]["choices"][0]["delta"]["role"], "assistant");
}

#[tokio::test]
async fn a_whole_answer_is_cut() {
    for path in WHOLES {
        for (spec, ended) in [("cut=2", Ended::Reset), ("cutfin=2", Ended::Fin), ("end=2", Ended::Whole)] {
            let answer = whole(path, spec).await;
            assert_eq!((answer.status, answer.ended), (200, ended), "{path} {spec}");
            assert!(!answer.body.is_empty() && serde_json::from_slice::<Value>(&answer.body).is_err());
        }
        let answer = whole(path, "malformed=2").await;
        assert!(answer.ended == Ended::Whole && serde_json::from_slice::<Value>(&answer.body).is_err());
        let answer = whole(path, "wrong-length").await;
        assert!(answer.ended == Ended::Fin && answer.json().is_object());
    }
}

#[tokio::test]
async fn a_stream_is_cut_inside_of_a_tool_call() {
    for path in STREAMS {
        for (spec, ended) in [("cut-in-tool", Ended::Reset), ("end-in-tool", Ended::Whole)] {
            let fake = Fake::start().await.unwrap();
            let answer = ask(fake.addr(), path, spec, &body_with_tool(path, true)).await;
            let text = answer.text();
            assert_eq!(answer.ended, ended, "{path}");
            assert!(!terminal(path, &text) && !text.contains("days\\\":1}"), "{path}: {text}");
            let begun = match *path {
                GEMINI_SSE | GEMINI_ARRAY => text.contains("candidates"),
                _ => text.contains("weather") && text.contains("ci"),
            };
            assert!(begun, "{path}: {text}");
        }
    }
}

#[tokio::test]
async fn one_event_is_malformed_and_the_stream_goes_on() {
    for path in [CHAT, MESSAGES, RESPONSES, GEMINI_SSE] {
        for spec in ["malformed=0", "malformed=2"] {
            let answer = stream(path, spec).await;
            let events = answer.events();
            let broken = events.iter().filter(|event| event.get("unreadable").is_some()).count();
            assert_eq!((broken, answer.ended), (1, Ended::Whole), "{path}: {}", answer.text());
            assert!(terminal(path, &answer.text()), "{path}");
        }
    }
    assert!(serde_json::from_slice::<Value>(&stream(GEMINI_ARRAY, "malformed=1").await.body).is_err());
}

#[tokio::test]
async fn an_error_inside_of_a_stream() {
    let cases = [
        (CHAT, "/error/type", "server_error"),
        (MESSAGES, "/error/type", "overloaded_error"),
        (RESPONSES, "/response/status", "failed"),
        (GEMINI_SSE, "/error/status", "UNAVAILABLE"),
    ];
    for (path, place, mark) in cases {
        for tokens in [0, 3] {
            let answer = stream(path, &format!("error={tokens}")).await;
            let events = answer.events();
            assert_eq!((answer.status, answer.ended), (200, Ended::Whole));
            assert_eq!(events.last().unwrap().pointer(place), Some(&json!(mark)), "{path}: {}", answer.text());
            assert_eq!(answer.said().split_whitespace().count(), tokens, "{path}: {}", answer.text());
            assert!(!terminal(path, &answer.text()));
        }
    }
    let array = stream(GEMINI_ARRAY, "error=1:rate_limit").await.json();
    assert_eq!(array[1]["error"]["code"], 429);
    assert_eq!(stream(GEMINI_ARRAY, "error=0").await.json()[0]["error"]["code"], 503);
    let failed = stream(RESPONSES, "error=1:context").await.events();
    assert_eq!(failed.last().unwrap()["response"]["error"]["code"], "context_length_exceeded");
    let whole = whole(CHAT, "error=3:quota").await;
    assert_eq!((whole.status, &whole.json()["error"]["code"]), (200, &json!("insufficient_quota")));
}

#[tokio::test]
async fn a_200_that_is_none() {
    for path in STREAMS {
        let error = stream(path, "error200").await;
        assert_eq!((error.status, error.ended), (200, Ended::Whole));
        assert!(error.json()["error"].is_object() && error.header("content-type") == Some("application/json"));
        let empty = stream(path, "empty").await;
        assert_eq!((empty.status, empty.body.len(), empty.ended), (200, 0, Ended::Whole));
        let silent = stream(path, "nocontent").await;
        assert!(terminal(path, &silent.text()) && silent.said().is_empty(), "{path}: {}", silent.text());
        let endless = stream(path, "no-done").await;
        assert!(!terminal(path, &endless.text()) && endless.text().contains("word-16"), "{path}");
        assert_eq!(endless.ended, Ended::Whole);
    }
    assert!(stream(CHAT, "no-done").await.text().contains("finish_reason\":\"stop\""));
    assert!(stream(MESSAGES, "no-done").await.text().contains("message_delta"));
    assert_eq!(whole(CHAT, "nocontent").await.json()["choices"][0]["message"]["content"], "");
    assert_eq!(whole(CHAT, "empty").await.body.len(), 0);
}

#[tokio::test]
async fn a_stall_lasts_until_the_client_leaves() {
    for (spec, seen) in [("stall", ""), ("stall-after-headers", "\r\n\r\n"), ("stall=2", "word-2")] {
        let fake = Fake::start().await.unwrap();
        let mut client = Client::connect(fake.addr()).await;
        client.send(CHAT, spec, &body(CHAT, true)).await;
        let text = client.read_until(|text| text.contains(seen)).await;
        assert!(fake.wait_for(|requests| requests.len() == 1, LIMIT).await);
        assert_eq!(fake.requests()[0].end, End::Running);
        assert!(!text.contains("word-3"), "{spec}: {text}");
        drop(client);
        let left = |end: End| matches!(end, End::ClientLeft { .. });
        assert!(fake.wait_for(|requests| left(requests[0].end), LIMIT).await, "{spec}");
    }
}

#[tokio::test]
async fn nothing_but_pings() {
    let fake = Fake::start().await.unwrap();
    let mut client = Client::connect(fake.addr()).await;
    client.send(MESSAGES, "ping=1", &body(MESSAGES, true)).await;
    let text = client.read_until(|text| text.matches("event: ping").count() >= 3).await;
    assert!(text.contains("word-1") && !text.contains("word-2"));
}

#[tokio::test]
async fn a_slow_answer_comes_in_pieces() {
    let fake = Fake::start().await.unwrap();
    let mut client = Client::connect(fake.addr()).await;
    client.send(CHAT, "words=3 first=1ms delay=1ms wait=1ms", &body(CHAT, true)).await;
    assert_eq!(client.answer().await.said(), "word-1 word-2 word-3");
    client.send(CHAT, "words=1 drip=700/1ms", &body(CHAT, false)).await;
    assert_eq!(client.answer().await.said(), "word-1");
}

#[tokio::test]
async fn a_huge_answer() {
    for path in [CHAT, GEMINI_SSE] {
        let answer = stream(path, "huge=1MB").await;
        assert!(answer.body.len() > 1 << 20 && answer.ended == Ended::Whole && terminal(path, &answer.text()));
    }
    let answer = whole(CHAT, "huge=1MB").await;
    assert!(answer.said().len() > 1 << 20 && answer.ended == Ended::Whole);
}

#[tokio::test]
async fn headers_without_end() {
    let fake = Fake::start().await.unwrap();
    let mut client = Client::connect(fake.addr()).await;
    client.send(CHAT, "endless-headers", &body(CHAT, true)).await;
    let text = client.read_until(|text| text.len() > 300_000).await;
    assert!(text.starts_with("HTTP/1.1 200 OK\r\nx-endless: ") && !text.contains("\r\n\r\n"));
    drop(client);
    assert!(fake.wait_for(|requests| requests[0].end != End::Running, LIMIT).await);
}

#[tokio::test]
async fn how_requests_end_is_known() {
    let fake = Fake::start().await.unwrap();
    for spec in ["ok", "status=500", "cut=1", "end=1", "reset", "wrong-length"] {
        ask(fake.addr(), CHAT, spec, &body(CHAT, true)).await;
    }
    assert!(fake.wait_for(|all| all.iter().all(|request| request.end != End::Running), LIMIT).await);
    let ends: Vec<End> = fake.requests().iter().map(|request| request.end).collect();
    use End::{Answered, Faulted};
    assert_eq!(ends, [Answered, Answered, Faulted, Answered, Faulted, Faulted]);
}
