//! LiteLLM, Portkey, new-api and other gateways.

use crate::classify::rule::{Rule, rule};
use crate::kind::FailureKind::{
    AuthError, InvalidRequest, ModelUnavailable, Overloaded, QuotaExhausted, RateLimit, ServerError,
};

pub(super) const RULES: &[Rule] = &[
    rule("litellm.budget", QuotaExhausted)
        .decisive()
        .code(&["ExceededBudget", "budget_exceeded", "BudgetExceededError", "ExceededTokenBudget"])
        .example("ExceededBudget: Crossed spend within 1d. Budget has been exceeded! Current cost: 1.2, Max budget: 1"),
    rule("litellm.cooling_deployments", RateLimit)
        .decisive()
        .status(&[429])
        .text(&["no deployments available for selected model"])
        .example("Error code: 429 - No deployments available for selected model, Try again in 5 seconds."),
    rule("litellm.no_deployments", Overloaded)
        .text(&["no deployments available for selected model"])
        .example("No deployments available for selected model, Try again in 5 seconds."),
    rule("litellm.rate", RateLimit)
        .class()
        .code(&[
            "RateLimitError",
            "RateLimitExceededError",
            "RateLimitException",
            "RateLimitExceeded",
            "ratelimiterror",
        ])
        .example("litellm.RateLimitError: RateLimitError: x"),
    rule("litellm.virtual_key", AuthError)
        .text(&["litellm virtual key expected", "invalid proxy server token passed"])
        .example("LiteLLM Virtual Key expected. Received=abc, expected to start with 'sk-'."),
    rule("litellm.key_model", ModelUnavailable)
        .decisive()
        .text(&[
            r"(?:key|team|user|project|org) (?:\S{1,20} )?not allowed to access model",
            "this key can only access models",
        ])
        .example("key not allowed to access model. This key can only access models=[x]"),
    rule("litellm.provider_missing", InvalidRequest)
        .decisive()
        .text(&["llm provider not provided"])
        .example("LLM Provider NOT provided. Pass in the LLM provider you are trying to call."),
    rule("litellm.parallel", RateLimit)
        .text(&["max parallel requests? limit", "crossed tpm"])
        .example("Crossed TPM / RPM / Max Parallel Request Limit"),
    rule("litellm.invalid_user_message", InvalidRequest)
        .text(&["invalid user message="])
        .example("Invalid user message={'role': 'user'}"),
    rule("newapi.no_channel", ModelUnavailable)
        .decisive()
        .text(&["no available channel for model", "get_channel_failed"])
        .example("No available channel for model gpt-5 under group default"),
    rule("newapi.upstream", ServerError)
        .hint()
        .text(&["bad response status code", r"\bopenai_error\b"])
        .example(r#"{"error":{"type":"upstream_error","message":"openai_error"}}"#),
    rule("newapi.saturated", Overloaded)
        .decisive()
        .text(&["upstream load (?:is )?saturated", "当前分组上游负载已饱和"])
        .example("当前分组上游负载已饱和"),
];
