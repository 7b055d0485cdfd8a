//! Cohere, Voyage, Jina, AI21 and Perplexity.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{AuthError, ContentFilter, ContextLimit, QuotaExhausted, RateLimit};

pub(super) const RULES: &[Rule] = &[
    rule("cohere.trial_key", QuotaExhausted)
        .decisive()
        .text(&[
            r"using a trial key, which is limited to \d{1,9} api calls ?/ ?month",
            "trial keys? (?:is|are) limited",
        ])
        .example("You are using a Trial key, which is limited to 1000 API calls / month."),
    rule("cohere.trial_minute", RateLimit)
        .decisive()
        .text(&[r"limited to \d{1,9} api calls ?/ ?minute"])
        .example("You are using a Trial key, which is limited to 20 API calls / minute."),
    rule("cohere.too_many_tokens", ContextLimit)
        .decisive()
        .text(&["too many tokens: ", r"size limit exceeded by \d{1,9} tokens"])
        .example("too many tokens: total number of tokens in the prompt cannot exceed 4081"),
    rule("cohere.finish_toxic", ContentFilter)
        .decisive()
        .code(&["ERROR_TOXIC"])
        .example(r#"{"finish_reason":"ERROR_TOXIC"}"#),
    rule("cohere.finish_limit", ContextLimit)
        .decisive()
        .code(&["ERROR_LIMIT"])
        .example(r#"{"finish_reason":"ERROR_LIMIT"}"#),
    rule("cohere.blocked_output", ContentFilter)
        .decisive()
        .text(&["blocked (?:output|input): "])
        .example("blocked output: please contact support@cohere.com"),
    rule("voyage.payment", RateLimit).decisive().text(&["reduced rate limits of"]).example(
        "You have not yet added your payment method in the billing page and will have reduced rate limits of 3 RPM",
    ),
    rule("perplexity.session", AuthError)
        .text(&["session cookie may be expired"])
        .example("Perplexity auth failed - session cookie may be expired."),
];
