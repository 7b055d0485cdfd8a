//! The AI SDK, and what JavaScript agents print.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{InvalidRequest, ModelUnavailable, Unknown};

pub(super) const RULES: &[Rule] = &[
    rule("vercel.unsupported", InvalidRequest)
        .decisive()
        .code(&[
            "UnsupportedFunctionalityError",
            "AI_UnsupportedFunctionalityError",
            "AI_InvalidPromptError",
            "InvalidPromptError",
            "AI_InvalidArgumentError",
            "AI_MessageConversionError",
            "AI_InvalidMessageRoleError",
            "AI_UnsupportedModelVersionError",
        ])
        .example("AI_UnsupportedFunctionalityError: 'x' functionality not supported."),
    rule("vercel.no_such_model", ModelUnavailable)
        .decisive()
        .text(&[r"no such (?:language|embedding|image|text\w{0,10})model"])
        .example("AI_NoSuchModelError: No such languageModel: foo"),
    rule("vercel.retries", Unknown).hint().code(&["AI_RetryError"]).example("AI_RetryError: Failed after 3 attempts."),
    rule("vercel.download", InvalidRequest)
        .decisive()
        .code(&["AI_DownloadError"])
        .example("AI_DownloadError: Failed to download https://x/y.png: 404"),
];
