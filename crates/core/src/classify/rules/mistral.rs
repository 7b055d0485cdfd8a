//! Mistral.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{ContextLimit, InvalidRequest, ModelUnavailable, Overloaded, RateLimit};

pub(super) const RULES: &[Rule] = &[
    rule("mistral.capacity", Overloaded)
        .decisive()
        .text(&["service tier capacity exceeded"])
        .example("Service tier capacity exceeded for this model."),
    rule("mistral.requests", RateLimit)
        .text(&["requests rate limit exceeded"])
        .example(r#"{"message":"Requests rate limit exceeded"}"#),
    rule("mistral.invalid_model", ModelUnavailable)
        .decisive()
        .text(&[r"\binvalid model: ?[\w.-]{1,60}"])
        .example(r#"{"message":"Invalid model: mistral-huge","type":"invalid_model","code":"1500"}"#),
    rule("mistral.too_large", ContextLimit)
        .decisive()
        .text(&[r"prompt contains \d{1,9} tokens", "too large for model with"])
        .example("Prompt contains 40001 tokens, too large for model with 32768 maximum context length"),
    rule("mistral.order", InvalidRequest)
        .decisive()
        .text(&[
            "expected last role",
            "not the same number of function calls and responses",
            "unexpected role .{1,12} after role",
        ])
        .example("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"),
];
