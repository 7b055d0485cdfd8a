//! A time limit passed.

use crate::classify::rule::{Rule, connection, rule};
use crate::kind::FailureKind::Timeout;

pub(in crate::classify::rules) const RULES: &[Rule] = &[
    connection("timeout.passed", Timeout)
        .text(&[
            r"\bno (?:first token|response|output|reply|answer|data|activity|progress)\b~\bwithin \d",
            r"\btimeout\(\w",
            r"^timeout\b[.:!]?$",
            r"\brun timeout\b",
            r"\btimeout was reached\b",
            r"\bran (?:for )?too long\b",
            r"\btimeout$",
            r"\b(?:exceeded|exceeds) (?:the )?(?:maximum |max )?(?:allowed )?(?:run ?time|execution time|duration|wait(?:ing)? time|processing time)\b",
            r"\bwaited (?:for )?(?:too long|\d{1,9} ?(?:ms|s|sec|seconds|minutes))\b~(?:giv|but|without)",
            r"\btimed[- ]?out\b",
            r"\btime[- ]?out (?:was |has been |of \S{1,14} )?(?:exceeded|reached|expired|elapsed|occurred|error|waiting|after|while|on|during|to|at:)\b",
            r"\b(?:request|connection|connect|read|response|network|operation|gateway|socket|write|header|headers|handshake|execution|tool|command|call|generation|upstream|inference|query|stream|pool|server|hit|i/o|io|api|model|idle|task|job|client|function|backend) time-?out\b",
            r"\btime-?out ?(?:error|exception|expired)\b",
            r"\bdeadline(?: has| was)? ?(?:exceeded|elapsed|expired|passed|has elapsed)\b",
            r"\b(?:exceeded|reached|hit|after|due to|because of|a) (?:the |its |a )?(?:\S{1,16} )?(?:time limit|timeout|deadline|time-out)\b",
            r"\btook too long\b",
            r"\b(?:did not|didn't|no) (?:respond|response|reply|answer|complete|finish)(?:ed)? (?:in time|within|after \d)",
            r"\btime limit (?:exceeded|reached)",
            r"\baborted due to timeout\b",
            r"\bexpired before\b~(?:response|complet)",
        ])
        .not(&["**Check configured timeout:** The default is 60000ms"])
        .example("The request timed out."),
    rule("timeout.code", Timeout)
        .code(&[
            "TooSlowError",
            "TimeoutExceeded",
            "RequestTimeout",
            "OperationTimedOut",
            "ReadTimeoutException",
            "HttpRequestTimeout",
            "timeout_error",
            "TimeoutError",
            "TimeoutException",
            "request_timeout",
            "gateway_timeout",
            "deadline_exceeded",
            "DEADLINE_EXCEEDED",
            "APITimeoutError",
            "APIConnectionTimeoutError",
            "timeout",
            "timed_out",
            "upstream_timeout",
            "model_timeout",
            "inference_timeout",
            "tool_timeout",
            "idle_timeout",
            "RequestTimeoutException",
            "ConnectTimeoutError",
            "ReadTimeoutError",
        ])
        .not(&["e2b.exceptions.TimeoutException: The sandbox was not found"])
        .example(r#"{"error":{"type":"timeout_error","message":"no"}}"#),
];
