//! Plain statements: a subject, and what became of it. Nobody knows which words the next message will have, but every
//! ordinary sentence about a failure should be understood.

use super::*;
use crate::kind::FailureKind::{
    self, AuthError, BadOutput, ContentFilter, ContextLimit, InvalidRequest, ModelUnavailable, NetworkTransient,
    Overloaded, ProcessDied, QuotaExhausted, RateLimit, ServerError, StateLost, StreamInterrupted, Timeout, Unknown,
};

/// One word or phrase of each column, side by side, makes a statement; the columns are parted by `/`, the words by `|`.
struct Grid {
    kind: FailureKind,
    columns: &'static str,
}

const fn grid(kind: FailureKind, columns: &'static str) -> Grid {
    Grid { kind, columns }
}

const GRIDS: &[Grid] = &[
    grid(
        QuotaExhausted,
        "Credits|API credits|Prepaid credits|The account balance|Trial credits / exhausted|have been exhausted|used up|depleted|have run out|ran out",
    ),
    grid(
        QuotaExhausted,
        "You have|Your account has|Your organization has / run out of|insufficient|used up all your|exhausted your|no remaining|no more / credits|funds|free credits",
    ),
    grid(
        QuotaExhausted,
        "Monthly|Daily|Billing|Spending|Budget|Plan|Subscription / limit|quota|cap / reached|exceeded|has been reached|was exceeded",
    ),
    grid(
        QuotaExhausted,
        "You have|You've / reached|hit|exceeded / your|the / monthly|weekly|spending|credit|plan's|free tier / limit|quota",
    ),
    grid(
        RateLimit,
        "Rate limit|Request limit|Requests per minute limit|Tokens per minute limit|Concurrency limit / reached|exceeded|hit|has been exceeded",
    ),
    grid(
        Overloaded,
        "The model|Our servers|The service|The upstream|This model / is overloaded|is at capacity|is too busy|is experiencing high demand|is under heavy load|has no capacity",
    ),
    grid(
        Overloaded,
        "No|No available|Not enough|Insufficient / GPUs|workers|replicas|slots|compute capacity / available|at the moment|to serve this request",
    ),
    grid(
        Overloaded,
        "The model|The endpoint|The server / is still loading|is warming up|is not ready yet|is still starting up|is being loaded",
    ),
    grid(
        ModelUnavailable,
        "The model|Model 'gpt-9'|Deployment my-gpt|The requested model / was not found|does not exist|has been deprecated|has been retired|is no longer available|could not be found",
    ),
    grid(
        ContextLimit,
        "The prompt|Your input|The conversation|Message history / is too long|exceeds the context window|exceeds the token limit|does not fit in the context window|has too many tokens",
    ),
    grid(
        ContentFilter,
        "Your prompt|The response|The image|This message / was flagged by moderation|violates our content policy|was rejected by the safety system|contains prohibited content|did not pass moderation|failed the safety check",
    ),
    grid(
        AuthError,
        "The API key|Your API key|The access token|The credentials / is invalid|has expired|was revoked|is missing|is incorrect|has been disabled",
    ),
    grid(
        AuthError,
        "Invalid|Incorrect|Missing|Expired|Malformed|Revoked / API key|access token|credentials|authorization header|client secret",
    ),
    grid(
        StateLost,
        "The session|Thread|Conversation|Batch|Container|Sandbox|Checkpoint|Job|Vector store / was not found|does not exist|no longer exists|was deleted|is gone",
    ),
    grid(StateLost, "Unknown|No such|Stale / session|thread|conversation|container|sandbox|checkpoint"),
    grid(
        Timeout,
        "The request|Connection|The operation|The tool call|Upstream request|Inference / timed out|has timed out|timed out after 30 seconds|exceeded the timeout",
    ),
    grid(
        NetworkTransient,
        "Could not|Unable to|Failed to / connect to the server|reach the server|establish a connection|connect to proxy",
    ),
    grid(
        StreamInterrupted,
        "The stream|Response stream|SSE stream / ended unexpectedly|was interrupted|closed before completion|was cut off|stopped unexpectedly|ended without a final event",
    ),
    grid(
        ProcessDied,
        "The worker|The agent process|The subprocess|Model runner|MCP server / died|crashed|was killed|exited unexpectedly|exited with code 1|could not be started",
    ),
    grid(
        BadOutput,
        "The response|Model output|The answer|The reply / is not valid JSON|could not be parsed|failed schema validation|is empty|is malformed|has an unexpected format",
    ),
];

#[test]
fn plain_statements_are_understood() {
    let mut wrong = Vec::new();
    for grid in GRIDS {
        for statement in statements(grid.columns) {
            let kind = classify(&statement).kind;
            if kind != grid.kind {
                wrong.push(format!("{statement}: {kind} instead of {}", grid.kind));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every choice of one word of each column.
fn statements(columns: &str) -> Vec<String> {
    columns.split(" / ").fold(vec![String::new()], |begun, column| {
        let continued = |start: &String| {
            let start = start.clone();
            column.split('|').map(move |word| format!("{start} {word}").trim_start().to_owned())
        };
        begun.iter().flat_map(continued).collect()
    })
}

/// Messages of one kind with words of another in them.
#[test]
fn what_only_sounds_alike_is_told_apart() {
    let table = [
        (
            Surface::Text,
            None,
            "Upload rejected\nFile \"report.pdf\" is too large: maximum upload size is 32 MB",
            InvalidRequest,
        ),
        (Surface::Text, None, "Request failed\napp.rb:12:in `call': rate limit exceeded for 'gpt-4'", RateLimit),
        (
            Surface::Text,
            None,
            "Error running agent\nopenai.rb:10:in `chat': model not found: 'gpt-9'",
            ModelUnavailable,
        ),
        (Surface::Http, Some(429), "Moderation failed: rate limit reached for omni-moderation-latest", RateLimit),
        (
            Surface::Http,
            Some(503),
            "Moderation failed: service unavailable, upstream moderation service is overloaded",
            Overloaded,
        ),
        (Surface::Http, Some(500), "Content moderation failed: internal server error", ServerError),
        (Surface::Text, None, "openai.APIConnectionError: moderation failed: connection refused", NetworkTransient),
        (Surface::Http, Some(401), "Request denied: invalid API key for the moderation API", AuthError),
        (Surface::Text, None, "You are not allowed to use the moderation endpoint with this key", AuthError),
        (
            Surface::Text,
            None,
            "Account suspended by risk control, please contact support to verify your identity",
            AuthError,
        ),
        (Surface::Text, None, "429 rate limited by risk control, please retry after 30s", RateLimit),
        (Surface::Text, None, "AccessDenied: principal failed the policy check for bedrock:InvokeModel", AuthError),
        (Surface::Text, None, "Pod failed safety checks: container OOMKilled", ProcessDied),
        (Surface::Http, Some(403), r#"{"error":{"code":"blacklist","message":"IP address blocked"}}"#, AuthError),
        (
            Surface::Http,
            Some(429),
            "An error occurred (ThrottlingException) when calling the InvokeModel operation: Too many tokens.",
            RateLimit,
        ),
        (Surface::Http, Some(429), r#"{"message":"Too many tokens"}"#, RateLimit),
        (Surface::Text, None, "chat_completion failed: 429 Too Many Requests;", RateLimit),
        (Surface::Text, None, "worker_process 123 exited on signal 9;", ProcessDied),
        (Surface::Text, None, "3 files changed but git push failed: connection timed out", Timeout),
        (
            Surface::Stream,
            None,
            "websocket closed by server before response.completed: code 1000 (normal closure)",
            StreamInterrupted,
        ),
        (Surface::Stream, None, "stream disconnected before completion: connection closed normally", StreamInterrupted),
        (Surface::Text, None, "Language server exited with code 0 unexpectedly before initialize", ProcessDied),
        (Surface::Http, Some(429), "You have exceeded your tier's requests per minute limit", RateLimit),
        (Surface::Http, Some(429), "You have exceeded your plan's request limit of 60 per minute", RateLimit),
        (
            Surface::Http,
            Some(429),
            "Too many requests per minute on the free tier; update your billing information to raise the limit",
            RateLimit,
        ),
        (Surface::Text, None, "Unknown parameter: token_balance", InvalidRequest),
        (Surface::Text, None, "You've hit your Codex Pro Lite limit", QuotaExhausted),
        (
            Surface::Http,
            Some(404),
            r#"{"error":"Unknown API endpoint: /v1/image/generations not found"}"#,
            InvalidRequest,
        ),
        (Surface::Http, Some(404), "Not Found: no image support on this endpoint", InvalidRequest),
        (Surface::Http, Some(404), "the function does not exist: POST /v1/foo", InvalidRequest),
        (
            Surface::Text,
            None,
            "400 Bad Request: session.expires_at exceeds maximum session duration of 3600 seconds",
            InvalidRequest,
        ),
        (Surface::Text, None, "could not find table sessions; process exited with code 1", ProcessDied),
        (Surface::Text, None, r#"{"result":"","error":"rate limit exceeded"}"#, RateLimit),
        (
            Surface::Text,
            None,
            r#"{"type":"result","subtype":"error","result":"","message":"request timed out after 60s"}"#,
            Timeout,
        ),
        (Surface::Text, None, "JSON parse error: expected token not found, got EOF", BadOutput),
        (Surface::Text, None, "invalid client version: please upgrade to 1.2", InvalidRequest),
        (Surface::Http, Some(429), "Concurrent requests limit exceeded for your organization", RateLimit),
        (Surface::Text, None, "patch failed: not enough context remaining in hunk", BadOutput),
        (Surface::Text, None, "Kubernetes: security context exceeds allowed privileges", Unknown),
        (Surface::Text, None, "Using session timeout of 3600 seconds", Unknown),
    ];
    for (surface, status, body, kind) in table {
        let failure = Classifier::builtin().classify(&Evidence { surface, status, ..Evidence::text(body) });
        assert_eq!(failure.kind, kind, "by {}: {body}", failure.rule);
    }
}
