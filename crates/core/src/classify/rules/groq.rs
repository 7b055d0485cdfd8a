//! Groq.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{AuthError, BadOutput, ModelUnavailable, Overloaded, QuotaExhausted};

pub(super) const RULES: &[Rule] = &[
    rule("groq.tokens_per_day", QuotaExhausted)
        .window()
        .text(&[r"on (?:tokens|requests) per day \((?:tpd|rpd)\)"])
        .example(
            "Rate limit reached for model `x` in organization `y` on tokens per day (TPD): Limit 100000, Used 97050",
        ),
    rule("groq.tool_use_failed", BadOutput)
        .decisive()
        .text(&[
            "tool choice is (?:required|none), but model",
            r"failed to call a function\. please adjust",
            "failed_generation",
        ])
        .example(
            r#"{"error":{"message":"Failed to call a function. Please adjust your prompt.","code":"tool_use_failed"}}"#,
        ),
    rule("groq.json_failed", BadOutput)
        .decisive()
        .text(&["failed to generate json", "failed to validate json"])
        .example("Failed to generate JSON. Please adjust your prompt."),
    rule("groq.terms", ModelUnavailable)
        .decisive()
        .text(&["requires terms acceptance"])
        .example(r#"{"error":{"code":"model_terms_required","message":"The model `x` requires terms acceptance."}}"#),
    rule("groq.flex", Overloaded)
        .code(&["flex_capacity_exceeded"])
        .text(&["flex tier capacity exceeded", "over capacity and"])
        .example(r#"{"error":{"code":"flex_capacity_exceeded","message":"x"}}"#),
    rule("groq.blocked_org", AuthError)
        .decisive()
        .code(&["organization_restricted", "model_permission_blocked_org", "model_permission_blocked_project"])
        .example(r#"{"error":{"code":"organization_restricted","message":"Organization has been restricted."}}"#),
];
