//! DeepSeek.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{AuthError, ContentFilter, InvalidRequest, Overloaded, QuotaExhausted};

pub(super) const RULES: &[Rule] = &[
    rule("deepseek.balance", QuotaExhausted).decisive().text(&[r"insufficient balance\x22"]).example(
        r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
    ),
    rule("deepseek.auth_fails", AuthError)
        .text(&["authentication fails"])
        .example("Authentication Fails, Your api key: ****1234 is invalid"),
    rule("deepseek.reasoning_history", InvalidRequest)
        .decisive()
        .text(&[r"reasoning_content\S{0,2} (?:in the|is missing|must|is not)"])
        .example("The reasoning_content in the thinking mode must be passed back to the API."),
    rule("deepseek.busy", Overloaded)
        .text(&["the server is busy"])
        .example("The server is busy. Please try again later."),
    rule("deepseek.content_risk", ContentFilter)
        .decisive()
        .text(&["content exists risk"])
        .example(r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}"#),
];
