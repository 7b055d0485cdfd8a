//! GitHub Models and Copilot.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{AuthError, ContentFilter, ContextLimit, ModelUnavailable, QuotaExhausted, RateLimit};

pub(super) const RULES: &[Rule] = &[
    rule("github.secondary", RateLimit)
        .text(&["exceeded a secondary rate limit"])
        .example("You have exceeded a secondary rate limit. Please wait a few minutes before you try again."),
    rule("github.api_rate", RateLimit)
        .text(&[r"api rate limit exceeded for (?:user|installation|\d)"])
        .example("API rate limit exceeded for user ID 1234567."),
    rule("github.per_day", QuotaExhausted)
        .decisive()
        .window()
        .text(&["per 86400s exceeded", "userby(?:model)?by(?:day|month)"])
        .example("Rate limit of 50 per 86400s exceeded for UserByModelByDay."),
    rule("github.per_minute", RateLimit)
        .text(&["per 60s exceeded", "userby(?:model)?byminute"])
        .example("Rate limit of 10 per 60s exceeded for UserByModelByMinute."),
    rule("copilot.model_rate", RateLimit)
        .decisive()
        .text(&["exhausted this model's rate limit"])
        .example("Sorry, you have exhausted this model's rate limit. Please wait a moment before trying again"),
    rule("copilot.token_usage", RateLimit)
        .decisive()
        .text(&["exceeded your copilot token usage"])
        .example("Sorry, you have exceeded your Copilot token usage. Please review our Terms of Service."),
    rule("copilot.premium", QuotaExhausted)
        .decisive()
        .text(&[
            "premium (?:request|interaction)s?~(?:allowance|limit|quota|exhausted|exceeded)",
            "reached your monthly~(?:chat|premium|completion)",
        ])
        .example("You have exceeded your premium request allowance."),
    rule("copilot.policy", ModelUnavailable)
        .decisive()
        .text(&["check policy enablement", "the requested model is not supported"])
        .example("No model available. Check policy enablement under GitHub Settings > Copilot"),
    rule("copilot.unauthorized", AuthError)
        .text(&["not (?:authorized|licensed) to use (?:this )?copilot", "no access to github copilot"])
        .example("unauthorized: not authorized to use this Copilot feature"),
    rule("copilot.long", ContextLimit)
        .decisive()
        .text(&["oops, the token limit exceeded"])
        .example("Oops, the token limit exceeded. Try to shorten your prompt or start a new conversation."),
    rule("copilot.filtered", ContentFilter)
        .decisive()
        .text(&["filtered by the responsible ai"])
        .example("Sorry, the response was filtered by the Responsible AI Service. Please rephrase your prompt"),
    rule("copilot.public_code", ContentFilter)
        .decisive()
        .text(&["response matched public code"])
        .example("Sorry, the response matched public code so it was blocked. Please rephrase your prompt."),
];
