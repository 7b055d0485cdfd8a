//! xAI.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{AuthError, ContentFilter, InvalidRequest, ModelUnavailable, QuotaExhausted};

pub(super) const RULES: &[Rule] = &[
    rule("xai.guidelines", ContentFilter)
        .decisive()
        .text(&["content violates usage guidelines", r"safety_check_type_\w{2,40}"])
        .example("Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_DATA_LEAKAGE"),
    rule("xai.team_blocked", AuthError)
        .decisive()
        .text(&["(?:api key|team) is (?:currently )?(?:blocked|disabled)"])
        .example("Your team is blocked from this API"),
    rule("xai.no_credits", QuotaExhausted)
        .decisive()
        .text(&["doesn't have any credits", "used all available credits or reached its monthly spending limit"])
        .example("Your newly created teams doesn't have any credits yet."),
    rule("xai.argument", InvalidRequest)
        .class()
        .text(&["client specified an invalid argument"])
        .example(r#"{"code":"Client specified an invalid argument","error":"bad temperature"}"#),
    rule("xai.no_permission", AuthError)
        .class()
        .text(&["caller does not have permission"])
        .example(r#"{"code":"The caller does not have permission to execute the specified operation"}"#),
    rule("xai.missing", ModelUnavailable)
        .class()
        .text(&["some requested entity was not found"])
        .example(r#"{"code":"Some requested entity was not found","error":"grok-9"}"#),
];
