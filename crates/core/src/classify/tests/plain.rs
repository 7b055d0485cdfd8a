//! Plain statements: a subject, and what became of it. Nobody knows which words the next message will have, but every
//! ordinary sentence about a failure should be understood.

use super::*;
use crate::kind::FailureKind::{
    self, AuthError, BadOutput, ContentFilter, ContextLimit, ModelUnavailable, NetworkTransient, Overloaded,
    ProcessDied, QuotaExhausted, RateLimit, StateLost, StreamInterrupted, Timeout,
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
