//! Our own words in the client's shape.
//!
//! A final failure must look as the provider's own would: SDKs raise typed errors by these names
//! and agents decide by them. One table says how each vendor names each kind.

use serde_json::{Value, json};

use crate::{Family, Format, Framing, Watch};

/// The failure that is told to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Final<'a> {
    /// The status of the answer, or the one it would have had.
    pub status: u16,
    /// The kind's name, such as `overloaded`.
    pub kind: &'a str,
    /// What happened, for a person.
    pub message: &'a str,
    /// When another attempt makes sense.
    pub retry_after_s: Option<u64>,
    /// The id under which the story is kept.
    pub request_id: &'a str,
    /// The rate limit that refuses, where one does.
    pub limit: Option<&'a Limit>,
}

/// How a rate limit stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How many requests there are per minute, where that is known.
    pub limit: Option<u64>,
    /// How many are left.
    pub remaining: u64,
    /// In how many seconds all are there again.
    pub reset_s: u64,
    /// When that is, as RFC 3339 says.
    pub reset: String,
    /// In how many seconds the next may start.
    pub wait_s: u64,
}

/// The limit in the headers that the vendor's own answers carry.
pub fn limit_headers(family: Family, limit: &Limit) -> Vec<(&'static str, String)> {
    let (of, left) = (limit.limit.map(|limit| limit.to_string()), limit.remaining.to_string());
    let named = |names: [&'static str; 3], reset: String| {
        let of = of.clone().map(|of| (names[0], of));
        of.into_iter().chain([(names[1], left.clone()), (names[2], reset)]).collect()
    };
    match family {
        Family::OpenAi => named(
            ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
            format!("{}s", limit.reset_s),
        ),
        Family::Anthropic => named(
            [
                "anthropic-ratelimit-requests-limit",
                "anthropic-ratelimit-requests-remaining",
                "anthropic-ratelimit-requests-reset",
            ],
            limit.reset.clone(),
        ),
        // Google says it in the body.
        Family::Gemini => Vec::new(),
    }
}

/// The body of an answer that is an error.
pub fn body(family: Family, error: &Final<'_>) -> Vec<u8> {
    value(family, error).to_string().into_bytes()
}

/// The error as the last words of a stream that has begun. `open` has seen what was sent.
pub fn event(format: Format, framing: Framing, error: &Final<'_>, open: &Watch) -> Vec<u8> {
    let value = match format {
        Format::Responses => failed_response(error, open),
        Format::Chat | Format::Messages | Format::Gemini => value(format.family(), error),
    };
    match (framing, format) {
        (Framing::JsonArray, _) => {
            let before = if open.has_begun() { "," } else { "[" };
            format!("{before}{value}]").into_bytes()
        }
        (Framing::Sse, Format::Messages) => format!("event: error\ndata: {value}\n\n").into_bytes(),
        (Framing::Sse, Format::Responses) => format!("event: response.failed\ndata: {value}\n\n").into_bytes(),
        (Framing::Sse, Format::Chat | Format::Gemini) => format!("data: {value}\n\n").into_bytes(),
    }
}

/// Whether clients would take this text for a full context, and shorten the conversation.
///
/// Agents look for phrases such as these in whatever error they get, and so does a "too many tokens
/// per minute" cost them their history (opencode, pi, OpenClaw; seen 2026-11).
pub fn looks_like_overflow(text: &str) -> bool {
    const PHRASES: [&str; 17] = [
        "prompt is too long",
        "input is too long",
        "prompt too long",
        "too many tokens",
        "token limit",
        "token count",
        "tokens exceed",
        "context window",
        "context length",
        "context_length",
        "context size",
        "context limit",
        "maximum prompt length",
        "reduce the length",
        "request too large",
        "request entity too large",
        "exceeds the limit of",
    ];
    let text = text.to_ascii_lowercase();
    PHRASES.iter().any(|phrase| text.contains(phrase))
}

/// The words of an error event as Google's own JavaScript SDK hears them: bare, and in a piece of their own.
///
/// It passes over an error inside of an event, and Gemini CLI 0.61 then takes an answer that follows a tool's result for
/// whole. Sent before the event, the bare words make it ask again; google-genai for Python raises on either, the Vercel AI SDK
/// hears the event alone (all seen 2026-11).
pub fn bare(format: Format, framing: Framing, event: &[u8]) -> Option<&[u8]> {
    match (format, framing) {
        (Format::Gemini, Framing::Sse) => event.strip_prefix(b"data: "),
        _ => None,
    }
}

/// How the vendors name a kind.
struct Names {
    openai_type: &'static str,
    openai_code: &'static str,
    anthropic: &'static str,
    gemini: &'static str,
}

const fn names(
    openai_type: &'static str,
    openai_code: &'static str,
    anthropic: &'static str,
    gemini: &'static str,
) -> Names {
    Names { openai_type, openai_code, anthropic, gemini }
}

/// The table. A kind that is not in it is named by its status.
#[rustfmt::skip]
fn names_of(kind: &str, status: u16) -> Names {
    match kind {
        "rate_limit"        => names("rate_limit_error", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"),
        "quota_exhausted"   => names("insufficient_quota", "insufficient_quota", "billing_error", "RESOURCE_EXHAUSTED"),
        "overloaded"        => names("server_error", "server_is_overloaded", "overloaded_error", "UNAVAILABLE"),
        "timeout"           => names("server_error", "timeout", "timeout_error", "DEADLINE_EXCEEDED"),
        "model_unavailable" => names("invalid_request_error", "model_not_found", "not_found_error", "NOT_FOUND"),
        "state_lost"        => names("invalid_request_error", "not_found", "not_found_error", "NOT_FOUND"),
        "context_limit"     => names("invalid_request_error", "context_length_exceeded", "invalid_request_error", "INVALID_ARGUMENT"),
        "content_filter"    => names("invalid_request_error", "content_filter", "invalid_request_error", "INVALID_ARGUMENT"),
        "auth_error" if status == 403
                            => names("permission_error", "permission_denied", "permission_error", "PERMISSION_DENIED"),
        "auth_error"        => names("authentication_error", "invalid_api_key", "authentication_error", "UNAUTHENTICATED"),
        "invalid_request" if status == 413
                            => names("invalid_request_error", "request_too_large", "request_too_large", "INVALID_ARGUMENT"),
        "invalid_request"   => names("invalid_request_error", "invalid_prompt", "invalid_request_error", "INVALID_ARGUMENT"),
        "cancelled"         => names("server_error", "cancelled", "api_error", "CANCELLED"),
        "network_transient" | "network_permanent" | "stream_interrupted"
                            => names("server_error", "server_error", "api_error", "UNAVAILABLE"),
        "server_error" | "process_died" | "bad_output" | "unknown"
                            => names("server_error", "server_error", "api_error", "INTERNAL"),
        _ => match status {
            401 => names_of("auth_error", 401),
            403 => names_of("auth_error", 403),
            402 => names_of("quota_exhausted", 402),
            404 => names_of("model_unavailable", 404),
            408 | 504 => names_of("timeout", status),
            429 => names_of("rate_limit", 429),
            400..500 => names_of("invalid_request", status),
            503 | 529 => names_of("overloaded", status),
            _ => names_of("server_error", status),
        },
    }
}

/// The error as the vendor writes it; where a rate limit refuses, with how it stands.
fn value(family: Family, error: &Final<'_>) -> Value {
    let mut value = bare_value(family, error);
    if let Some(Limit { limit, remaining, reset_s, reset, wait_s }) = error.limit {
        value["error"]["rate_limit"] = json!({
            "limit": limit, "remaining": remaining, "reset": reset, "reset_s": reset_s, "wait_s": wait_s,
        });
    }
    value
}

fn bare_value(family: Family, error: &Final<'_>) -> Value {
    let names = names_of(error.kind, error.status);
    let message = error.message;
    match family {
        Family::OpenAi => {
            json!({"error": {"message": message, "type": names.openai_type, "param": null, "code": names.openai_code}})
        }
        Family::Anthropic => {
            let inner = json!({"type": names.anthropic, "message": message});
            json!({"type": "error", "error": inner, "request_id": error.request_id})
        }
        Family::Gemini => {
            let mut inner = json!({"code": error.status, "message": message, "status": names.gemini});
            let details = details(error);
            if !details.is_empty() {
                inner["details"] = details.into();
            }
            json!({"error": inner})
        }
    }
}

/// Google's way to say when to come back. Gemini CLI reads it here and nowhere else; a quota
/// counted per day is what stops it from trying on.
fn details(error: &Final<'_>) -> Vec<Value> {
    let quota = (error.kind == "quota_exhausted").then(|| {
        let violation = json!({"quotaMetric": "steadfast/requests", "quotaId": "RequestsPerDay"});
        json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]})
    });
    let retry = error.retry_after_s.map(
        |seconds| json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s")}),
    );
    quota.into_iter().chain(retry).collect()
}

/// A whole response object: SDKs validate it. Codex decides by the code, and reads from the message
/// how long to wait.
fn failed_response(error: &Final<'_>, open: &Watch) -> Value {
    let code = names_of(error.kind, error.status).openai_code;
    let message = match error.retry_after_s {
        Some(seconds) if code == "rate_limit_exceeded" && !error.message.contains("try again in") => {
            format!("{} Please try again in {seconds}s.", error.message)
        }
        _ => error.message.to_owned(),
    };
    let id = open.id().map_or_else(|| format!("resp_{}", error.request_id), str::to_owned);
    json!({
        "type": "response.failed",
        "sequence_number": open.sequence_next(),
        "response": {
            "id": id,
            "object": "response",
            "created_at": open.created(),
            "status": "failed",
            "error": {"code": code, "message": message},
            "incomplete_details": null,
            "instructions": null,
            "max_output_tokens": null,
            "metadata": {},
            "model": open.model().unwrap_or_default(),
            "output": [],
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "reasoning": {"effort": null, "summary": null},
            "store": false,
            "temperature": null,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "truncation": "disabled",
            "usage": null,
            "user": null,
        },
    })
}

#[cfg(test)]
mod tests;
